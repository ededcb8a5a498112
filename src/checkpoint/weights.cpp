#include "checkpoint/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "checkpoint/wildcard.h"
#include "numerics/dequantize.h"

namespace octet {
namespace {

constexpr std::string_view kUnused = "unused";

// The code of a plain (unquantized) type.
std::optional<CodeType> plain_code(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return CodeType::bf16;
    case DType::f16:
      return CodeType::f16;
    case DType::f32:
      return CodeType::f32;
    default:
      return std::nullopt;
  }
}

bool is_plain(DType dtype) { return plain_code(dtype).has_value(); }
bool is_u8(DType dtype) { return dtype == DType::u8; }
bool is_e4m3(DType dtype) { return dtype == DType::f8_e4m3; }
bool is_f32(DType dtype) { return dtype == DType::f32; }

WeightView plain_view(const std::byte* codes, CodeType code, int64_t n, int64_t k) {
  WeightView w;
  w.format = {.code = code};
  w.n = n;
  w.k = k;
  w.codes = codes;
  w.code_row_bytes = k * code_bits(code) / 8;
  return w;
}

WeightView empty_view(int64_t n, int64_t k) {
  WeightView w;
  w.n = n;
  w.k = k;
  return w;
}

// E4M3 bytes from 0x01 to 0x7e are the finite numbers above zero. Written without a branch, so that it vectorizes.
bool all_positive_e4m3(const std::byte* bytes, int64_t count) {
  uint8_t wrong = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto below_one = static_cast<uint8_t>(static_cast<uint8_t>(bytes[i]) - 1);
    wrong = static_cast<uint8_t>(wrong | (below_one > 0x7d ? 1 : 0));
  }
  return wrong == 0;
}

bool all_block_scales_valid(const WeightView& w) {
  const int64_t count = w.k / w.format.block_columns;
  if (count == w.scale_row_bytes) return all_positive_e4m3(w.scales, w.n * count);
  for (int64_t row = 0; row < w.n; ++row) {
    if (!all_positive_e4m3(w.scales + row * w.scale_row_bytes, count)) return false;
  }
  return true;
}

// Whether every FP4 code is 0 or -0.
bool all_codes_zero(const std::byte* codes, int64_t count) {
  return std::all_of(codes, codes + count, [](std::byte pair) { return (pair & std::byte{0x77}) == std::byte{0}; });
}

}  // namespace

// What a tensor must be.
struct WeightTable::Wanted {
  bool (*accepts)(DType);
  std::string_view dtypes;  // for people
  Shape shape;
  std::string_view module_class;
  std::string_view format;        // for the inventory; empty: the tensor's own type
  std::string_view letters = "";  // for people: what the dimensions are
  bool accepts_one = false;       // [1] for []
  bool is_optional = false;
};

WeightTable::WeightTable(const Checkpoint& checkpoint, int32_t rank, int32_t num_ranks)
    : checkpoint_(checkpoint),
      rank_(rank),
      num_ranks_(num_ranks),
      taken_(checkpoint.tensors().size()),
      ignored_{"*.rotary_emb.inv_freq", "*.k_scale", "*.v_scale"},
      report_(checkpoint) {
  OCTET_CHECK(0 <= rank && rank < num_ranks);
}

// Finds, checks and marks one tensor; nullptr, and a line of the report, if it is missing or wrong.
const CheckpointTensor* WeightTable::take(const std::string& name, const Wanted& wanted) {
  const auto expected = [&] {
    std::string text = std::string(wanted.dtypes) + " " + describe(wanted.shape);
    if (!wanted.letters.empty()) text += " " + std::string(wanted.letters);
    return text;
  };
  const CheckpointTensor* tensor = checkpoint_.find(name);
  if (tensor == nullptr) {
    if (!wanted.is_optional) report_.add_missing(name, expected());
    return nullptr;
  }
  const bool has_shape = tensor->shape == wanted.shape || (wanted.accepts_one && tensor->shape == Shape{1});
  if (!wanted.accepts(tensor->dtype) || !has_shape) {
    // Marked, so that it is not called surplus too; told once, also where many experts share it.
    if (mark(*tensor)) report_.add_wrong(*tensor, expected(), describe(tensor->dtype, tensor->shape));
    return nullptr;
  }
  record(*tensor, wanted.module_class, wanted.format.empty() ? to_string(tensor->dtype) : wanted.format);
  return tensor;
}

// Notes that a tensor was used; false if it was before.
bool WeightTable::mark(const CheckpointTensor& tensor) {
  const auto index = static_cast<size_t>(&tensor - checkpoint_.tensors().data());
  const bool is_new = !taken_[index];
  taken_[index] = true;
  return is_new;
}

void WeightTable::record(const CheckpointTensor& tensor, std::string_view module_class, std::string_view format) {
  if (!mark(tensor)) return;
  auto row = std::find_if(inventory_.begin(), inventory_.end(),
                          [&](const InventoryRow& r) { return r.module_class == module_class && r.format == format; });
  if (row == inventory_.end()) {
    row = inventory_.insert(row, {std::string(module_class), std::string(format)});
  }
  row->tensors += 1;
  row->bytes += tensor.bytes;
}

WeightView WeightTable::linear(const std::string& name, int64_t n, int64_t k, const LinearOptions& options) {
  OCTET_CHECK(options.split != Split::expert_split);
  WeightView w = whole_linear(name, n, k, options.module_class);
  take_bias(name, options, w);
  return queued(name, rank_part(name, w, options.split));
}

WeightView WeightTable::expert_linear(const ExpertMatrix& matrix, int64_t n, int64_t k, const LinearOptions& options) {
  const bool is_fused = !matrix.fused_name.empty() && has(matrix.fused_name) && !has(matrix.name + ".weight");
  WeightView w = is_fused ? fused_linear(matrix, n, k, options.module_class)
                          : whole_linear(matrix.name, n, k, options.module_class);
  if (!is_fused) take_bias(matrix.name, options, w);
  if (options.split != Split::expert_split) return queued(matrix.name, rank_part(matrix.name, w, options.split));
  if (matrix.num_experts % num_ranks_ != 0) {
    fail(ErrorCode::bad_shape, matrix.name, ": expected a number of ranks that divides ", matrix.num_experts,
         " experts, got ", num_ranks_, "; choose another number of ranks");
  }
  const int32_t experts_a_rank = matrix.num_experts / num_ranks_;
  if (matrix.expert / experts_a_rank != rank_) return empty_view(0, 0);
  return queued(matrix.name, w);
}

// A linear layer before it is divided among ranks, without its bias.
WeightView WeightTable::whole_linear(const std::string& name, int64_t n, int64_t k, std::string_view module_class) {
  const CheckpointTensor* weight = checkpoint_.find(name + ".weight");
  const bool is_quantized = weight != nullptr && !is_plain(weight->dtype);
  if (weight == nullptr || is_quantized) refuse_foreign_format(name);
  if (is_quantized && weight->dtype == DType::u8) return nvfp4_linear(name, n, k, module_class);
  const Wanted wanted{is_plain, "BF16, F16 or F32", {n, k}, module_class, "", "[N, K]"};
  weight = take(name + ".weight", wanted);
  if (weight == nullptr) return empty_view(n, k);
  return plain_view(weight->data, *plain_code(weight->dtype), n, k);
}

WeightView WeightTable::nvfp4_linear(const std::string& name, int64_t n, int64_t k, std::string_view module_class) {
  const int32_t group = checkpoint_.quantization().group;
  WeightView w = empty_view(n, k);
  w.format = kNvfp4Weight;
  w.format.block_columns = group;
  const std::string format = describe(w.format);
  if (k % group != 0) {
    fail(ErrorCode::unsupported, checkpoint_.folder(), ": ", name, ": expected K in whole groups of ", group, ", got ",
         k, "; octet reads NVFP4 weights without a partial group");
  }
  const auto* codes = take(name + ".weight", {is_u8, "U8", {n, k / 2}, module_class, format, "[N, K/2]"});
  const auto* scales =
      take(name + ".weight_scale",
           {is_e4m3, "F8_E4M3", {n, k / group}, module_class, format, "[N, K/group], the block scales"});
  Wanted scalar{is_f32, "F32", {}, module_class, format, "or [1], the global scale", /*accepts_one=*/true};
  if (codes != nullptr) w.codes = codes->data;
  w.code_row_bytes = k / 2;
  take_global_scale(name + ".weight_scale_2", scalar, w);
  // Of W4A4 products only; octet keeps activations wider. Calibration leaves odd values in experts that it never
  // reached, so the value is not checked.
  scalar.is_optional = true;
  scalar.letters = "or [1], the activations' scale";
  take(name + ".input_scale", scalar);
  if (codes == nullptr || scales == nullptr) return empty_view(n, k);
  w.scales = scales->data;
  w.scale_row_bytes = k / group;
  if (checkpoint_.quantization().excludes(name)) {
    warnings_.push_back(name + " is stored as " + format + " although the quantization settings exclude it");
  }
  return w;
}

void WeightTable::take_global_scale(const std::string& name, const Wanted& wanted, WeightView& w) {
  const CheckpointTensor* tensor = take(name, wanted);
  if (tensor == nullptr) return;
  std::memcpy(&w.global_scale, tensor->data, sizeof(float));
  const bool is_valid = std::isfinite(w.global_scale) && w.global_scale > 0.0f;
  const bool is_zero_weight =
      w.global_scale == 0.0f && w.codes != nullptr && all_codes_zero(w.codes, w.n * w.code_row_bytes);
  if (!is_valid && !is_zero_weight) {
    report_.add_wrong(*tensor, "a finite scale above 0", std::to_string(w.global_scale));
  }
}

WeightView WeightTable::fused_linear(const ExpertMatrix& matrix, int64_t n, int64_t k, std::string_view module_class) {
  const CheckpointTensor& stored = checkpoint_.require(matrix.fused_name);
  if (!is_plain(stored.dtype)) {
    fail(ErrorCode::unsupported, checkpoint_.file_name(stored), ": ", stored.name,
         ": expected BF16, F16 or F32 for experts in one tensor, got ", to_string(stored.dtype),
         "; octet reads quantized experts as one tensor each");
  }
  const Shape shape{matrix.num_experts, matrix.fused_rows, k};
  const CheckpointTensor* fused =
      take(matrix.fused_name, {is_plain, "BF16, F16 or F32", shape, module_class, "", "[E, N, K]"});
  if (fused == nullptr) return empty_view(n, k);
  const CodeType code = *plain_code(fused->dtype);
  const WeightView all = plain_view(fused->data, code, matrix.num_experts * matrix.fused_rows, k);
  return slice_rows(all, matrix.expert * matrix.fused_rows + matrix.fused_first_row, n);
}

void WeightTable::take_bias(const std::string& name, const LinearOptions& options, WeightView& w) {
  if (options.bias == Bias::none) return;
  Wanted wanted{is_plain, "BF16, F16 or F32", {w.n}, options.module_class, "", "[N]"};
  wanted.is_optional = options.bias == Bias::optional;
  const CheckpointTensor* bias = take(name + ".bias", wanted);
  if (bias == nullptr) return;
  w.bias = bias->data;
  w.bias_code = *plain_code(bias->dtype);
}

WeightView WeightTable::rank_part(const std::string& name, const WeightView& w, Split split) const {
  if (split == Split::replicated || num_ranks_ == 1) return w;
  const bool by_rows = split == Split::column_split;
  const int64_t size = by_rows ? w.n : w.k;
  const int64_t step = by_rows ? w.format.block_rows : w.format.block_columns;
  if (size % (num_ranks_ * step) != 0) {
    fail(ErrorCode::bad_shape, name, ": expected ", size, by_rows ? " rows" : " columns", " in whole blocks of ", step,
         " on each rank, got ", num_ranks_, " ranks; choose a number of ranks that divides ", size / step);
  }
  const int64_t count = size / num_ranks_;
  WeightView part = by_rows ? slice_rows(w, rank_ * count, count) : slice_columns(w, rank_ * count, count);
  if (!by_rows && rank_ == 0) part.bias = w.bias;
  return part;
}

// Queues a part's block scales for finish().
WeightView WeightTable::queued(const std::string& name, const WeightView& part) {
  if (!part.empty() && part.scales != nullptr) scaled_.push_back({checkpoint_.find(name + ".weight_scale"), part});
  return part;
}

std::vector<float> WeightTable::vector(const std::string& name, int64_t n, std::string_view module_class) {
  const CheckpointTensor* tensor = take(name, {is_plain, "BF16, F16 or F32", {n}, module_class, "", ""});
  if (tensor == nullptr) return {};
  std::vector<float> values(static_cast<size_t>(n));
  WeightView column = plain_view(tensor->data, *plain_code(tensor->dtype), 1, n);
  std::vector<double> row(values.size());
  dequantize_row(column, 0, row.data());
  std::transform(row.begin(), row.end(), values.begin(), [](double value) { return static_cast<float>(value); });
  if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
    report_.add_wrong(*tensor, "finite numbers", "infinity or NaN");
  }
  return values;
}

// A linear layer stored in a form that octet knows of but cannot read is named, not called missing or misshapen.
void WeightTable::refuse_foreign_format(const std::string& name) const {
  struct Sign {
    std::string_view suffix;
    std::string_view format;
  };
  constexpr Sign kSigns[] = {
      {".weight_packed", "compressed-tensors"},   {".qweight", "GPTQ or AWQ"},
      {".pre_quant_scale", "ModelOpt NVFP4_AWQ"}, {".svdquant_lora_a", "ModelOpt NVFP4_SVD"},
      {".weight_scale_inv", "FP8 blocks"},        {"_blocks", "MXFP4"},
  };
  const auto refuse = [&](const CheckpointTensor& tensor, std::string_view format) {
    fail(ErrorCode::unsupported, checkpoint_.folder(), "/", checkpoint_.file_name(tensor), ": ", tensor.name,
         ": expected NVFP4 of ModelOpt, BF16, F16 or F32, got ", format, " (", describe(tensor.dtype, tensor.shape),
         "); use a checkpoint of this model in one of those formats");
  };
  for (const Sign& sign : kSigns) {
    const CheckpointTensor* tensor = checkpoint_.find(name + std::string(sign.suffix));
    if (tensor != nullptr) refuse(*tensor, sign.format);
  }
  const CheckpointTensor* weight = checkpoint_.find(name + ".weight");
  if (weight == nullptr) return;
  if (weight->dtype == DType::f8_e4m3) refuse(*weight, "FP8");
  const CheckpointTensor* scales = checkpoint_.find(name + ".weight_scale");
  if (weight->dtype == DType::u8 && scales != nullptr &&
      (scales->dtype == DType::u8 || scales->dtype == DType::f8_e8m0)) {
    refuse(*scales, "MXFP4");
  }
}

void WeightTable::finish() {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    const CheckpointTensor& tensor = checkpoint_.tensors()[i];
    const bool is_ignored = std::any_of(ignored_.begin(), ignored_.end(), [&](const std::string& pattern) {
      return matches_wildcard(pattern, tensor.name);
    });
    if (is_ignored) {
      record(tensor, kUnused, "-");
    } else {
      report_.add_surplus(tensor);
    }
  }
  report_.throw_if_any();
}

void WeightTable::check_scales(ThreadPool& pool) {
  std::vector<uint8_t> is_valid(scaled_.size());
  pool.for_chunks(static_cast<int64_t>(scaled_.size()), 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<size_t>(i);
      is_valid[index] = all_block_scales_valid(scaled_[index].view) ? 1 : 0;
    }
  });
  for (size_t i = 0; i < scaled_.size(); ++i) {
    if (is_valid[i] != 0) continue;
    report_.add_wrong(*scaled_[i].scales, "finite scales above 0", "a zero, negative or NaN scale");
  }
  scaled_.clear();
  report_.throw_if_any();
}

}  // namespace octet
