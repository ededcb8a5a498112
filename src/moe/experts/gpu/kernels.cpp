#include "moe/experts/gpu/kernels.h"

#include <algorithm>

#include "moe/experts/bound.h"

namespace octet::gpu_kernels {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// One operand's part of a stage.
struct OperandBytes {
  int64_t codes;
  int64_t scales;
  int64_t total() const { return codes + scales; }
};

OperandBytes operand_bytes(const WeightFormat& f, int64_t rows, int64_t k) {
  return {.codes = rows * k * code_bits(f.code) / 8,
          .scales = ceil_div(rows, f.block_rows) * ceil_div(k, f.block_columns) * scale_bytes(f.scale)};
}

bool reads(Weights weights, const WeightFormat& f) {
  const bool nvfp4 = f == kNvfp4Weight, mxfp4 = f == kMxfp4Weight;
  const bool fp8_blocks = f.code == CodeType::f8_e4m3 && f.scale == ScaleType::f32 && f.block_rows == 128 &&
                          f.block_columns == 128 && !f.zero_points && !f.permuted;
  switch (weights) {
    case Weights::fp4:
      return nvfp4 || mxfp4;
    case Weights::nvfp4:
      return nvfp4;
    case Weights::mxfp4:
      return mxfp4;
    case Weights::fp8_blocks_or_fp4:
      return fp8_blocks || nvfp4 || mxfp4;
    case Weights::fp8_blocks:
      return fp8_blocks;
    case Weights::bf16:
      return f == kBf16Weight;
  }
  return false;
}

std::string_view describe_weights(Weights weights) {
  switch (weights) {
    case Weights::fp4:
      return "NVFP4 and MXFP4";
    case Weights::nvfp4:
      return "NVFP4";
    case Weights::mxfp4:
      return "MXFP4";
    case Weights::fp8_blocks_or_fp4:
      return "NVFP4, MXFP4 and FP8 with a scale a 128 x 128 block";
    case Weights::fp8_blocks:
      return "FP8 with a scale a 128 x 128 block";
    case Weights::bf16:
      return "BF16";
  }
  return "";
}

std::string architectures(const Kernel& kernel) {
  const std::string lowest = "sm_" + std::to_string(kernel.lowest_capability);
  if (kernel.lowest_capability == kernel.highest_capability) return lowest;
  return lowest + " to sm_" + std::to_string(kernel.highest_capability);
}

std::optional<Refusal> refuse_device(const Kernel& kernel, const DeviceInfo& device) {
  if (device.kind != DeviceKind::cuda) {
    return Refusal{Refusal::Code::instruction_set,
                   "needs CUDA and " + architectures(kernel) + ", the device is a CPU: " + device.name};
  }
  const int32_t capability = device.gpu.compute_capability;
  if (capability < kernel.lowest_capability || capability > kernel.highest_capability) {
    return Refusal{Refusal::Code::instruction_set,
                   "needs " + architectures(kernel) + ", device is sm_" + std::to_string(capability)};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_numerics(const Kernel& kernel, const MoeProblem& problem) {
  const int32_t bits = code_bits(kernel.activations.code);
  if (bits < 8) return std::nullopt;
  const NumericsClass own = bits == 8 ? NumericsClass::int8 : NumericsClass::exact16;
  if (problem.numerics == own) return std::nullopt;
  return Refusal{Refusal::Code::numerics_class, "multiplies " + std::to_string(bits) + "-bit activations (class " +
                                                    std::string(to_string(own)) + "), the engine's class is " +
                                                    std::string(to_string(problem.numerics))};
}

std::optional<Refusal> refuse_weights(const Kernel& kernel, const MoeProblem& problem) {
  for (const WeightFormat& format : {problem.gate_up, problem.down}) {
    if (!reads(kernel.weights, format)) {
      return Refusal{Refusal::Code::format,
                     "reads " + std::string(describe_weights(kernel.weights)) + ", not " + describe(format)};
    }
  }
  if (problem.activation == Activation::clamped_swiglu && !kernel.limits.clamped_swiglu) {
    return Refusal{Refusal::Code::activation, "computes silu, not " + std::string(to_string(problem.activation))};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_shape(const Kernel& kernel, const MoeShape& shape) {
  const Limits& limits = kernel.limits;
  if (shape.top_k > limits.most_top_k) {
    return Refusal{Refusal::Code::routing, "handles at most " + std::to_string(limits.most_top_k) +
                                               " experts a token, the model has " + std::to_string(shape.top_k)};
  }
  if (limits.most_tokens > 0 && shape.num_tokens > limits.most_tokens) {
    return Refusal{Refusal::Code::shape, "made for at most " + std::to_string(limits.most_tokens) + " tokens, got " +
                                             std::to_string(shape.num_tokens)};
  }
  // Each width is the output of one product and the input of the other.
  const int32_t multiple = std::max(limits.columns_multiple, limits.k_multiple);
  for (const auto& [name, width] : {std::pair("hidden size ", shape.hidden), {"expert width ", shape.expert_width}}) {
    if (width % multiple != 0) {
      return Refusal{Refusal::Code::shape,
                     name + std::to_string(width) + " is not a multiple of " + std::to_string(multiple)};
    }
  }
  return std::nullopt;
}

/// The wider of the two formats decides.
std::optional<Refusal> refuse_shared_memory(const Kernel& kernel, const MoeProblem& problem, const DeviceInfo& device) {
  const bool down_is_larger = shared_memory_bytes(kernel, problem.down) > shared_memory_bytes(kernel, problem.gate_up);
  const WeightFormat& weights = down_is_larger ? problem.down : problem.gate_up;
  const int64_t needed = shared_memory_bytes(kernel, weights);
  if (needed <= device.gpu.shared_memory_a_block_bytes) return std::nullopt;
  const OperandBytes a = operand_bytes(kernel.activations, kernel.tile.rows, kernel.tile.k);
  const OperandBytes b = operand_bytes(weights, kernel.tile.columns, kernel.tile.k);
  std::ostringstream reason;
  reason << kernel.stages << " stages x " << a.total() + b.total() << " (A: " << a.codes << " codes + " << a.scales
         << " scales, B: " << b.codes << " + " << b.scales << ") + " << kernel.extra.epilogue << " epilogue + "
         << kernel.extra.barriers << " barriers = " << needed << " bytes of shared memory, " << device.name << " has "
         << device.gpu.shared_memory_a_block_bytes << " a block";
  return Refusal{Refusal::Code::shared_memory, reason.str()};
}

Refusal refuse_absent(const Kernel& kernel) {
  const bool four_bits = code_bits(kernel.activations.code) < 8;
  return {Refusal::Code::not_built,
          std::string("kernel not in this build") +
              (four_bits ? "; it rounds activations to 4 bits, for which there is no numerics class yet" : "")};
}

}  // namespace

int64_t shared_memory_bytes(const Kernel& kernel, const WeightFormat& weights) {
  const OperandBytes a = operand_bytes(kernel.activations, kernel.tile.rows, kernel.tile.k);
  const OperandBytes b = operand_bytes(weights, kernel.tile.columns, kernel.tile.k);
  return kernel.stages * (a.total() + b.total()) + kernel.extra.epilogue + kernel.extra.barriers;
}

std::optional<Refusal> refuse(const Kernel& kernel, const MoeProblem& problem, const DeviceInfo& device) {
  std::optional<Refusal> refusal = refuse_device(kernel, device);
  if (!refusal) refusal = refuse_numerics(kernel, problem);
  if (!refusal) refusal = refuse_weights(kernel, problem);
  if (!refusal) refusal = refuse_shape(kernel, problem.shape);
  if (!refusal) refusal = refuse_shared_memory(kernel, problem, device);
  return refusal ? refusal : refuse_absent(kernel);
}

double predicted_us(const Kernel&, const MoeProblem& problem, const DeviceInfo& device) {
  return expert_read_us(problem, device);
}

std::unique_ptr<ExpertLayer> make(const Kernel& kernel) {
  fail(ErrorCode::unsupported, kernel.name, ": expected a backend of this build, got the description of a kernel that ",
       "is not in it; `octet backends` lists what can run");
}

}  // namespace octet::gpu_kernels
