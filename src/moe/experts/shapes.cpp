#include "moe/experts/shapes.h"

#include <array>
#include <sstream>

namespace octet {
namespace {

struct NamedShape {
  std::string_view name;
  int64_t hidden;        // H
  int64_t expert_width;  // I  of one rank
  int32_t num_experts;   // E
  int32_t top_k;         // A
  WeightFormat format;
  Activation activation;
  int32_t num_ranks;
};

// From the models' config.json: hidden_size, moe_intermediate_size over the ranks, the number of routed experts and of
// experts a token.
// clang-format off
constexpr std::array kShapes = {
    NamedShape{"glm5",                6144, 2048, 256, 8, kNvfp4Weight, Activation::silu,           1},
    NamedShape{"glm5-tp8",            6144,  256, 256, 8, kNvfp4Weight, Activation::silu,           8},
    NamedShape{"qwen3-30b-a3b",       2048,  768, 128, 8, kNvfp4Weight, Activation::silu,           1},
    NamedShape{"qwen3-235b-a22b",     4096, 1536, 128, 8, kNvfp4Weight, Activation::silu,           1},
    NamedShape{"qwen3-235b-a22b-tp8", 4096,  192, 128, 8, kNvfp4Weight, Activation::silu,           8},
    NamedShape{"deepseek-v3",         7168, 2048, 256, 8, kNvfp4Weight, Activation::silu,           1},
    NamedShape{"deepseek-v3-tp8",     7168,  256, 256, 8, kNvfp4Weight, Activation::silu,           8},
    NamedShape{"gpt-oss-20b",         2880, 2880,  32, 4, kMxfp4Weight, Activation::clamped_swiglu, 1},
    NamedShape{"gpt-oss-120b",        2880, 2880, 128, 4, kMxfp4Weight, Activation::clamped_swiglu, 1},
    NamedShape{"tiny-glm5",            256,  128,  64, 8, kNvfp4Weight, Activation::silu,           1},
};
// clang-format on

constexpr auto kNames = [] {
  std::array<std::string_view, kShapes.size()> names;
  for (size_t i = 0; i < kShapes.size(); ++i) names[i] = kShapes[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> moe_shape_names() { return kNames; }

MoeProblem find_moe_shape(std::string_view name) {
  for (const NamedShape& s : kShapes) {
    if (s.name != name) continue;
    return {.shape = {.num_tokens = 1,
                      .hidden = s.hidden,
                      .expert_width = s.expert_width,
                      .num_experts = s.num_experts,
                      .top_k = s.top_k},
            .gate_up = s.format,
            .down = s.format,
            .activation = s.activation,
            .ranks = {.rank = 0, .num_ranks = s.num_ranks}};
  }
  std::ostringstream known;
  for (const std::string_view one : kNames) known << (one == kNames.front() ? "" : ", ") << one;
  fail(ErrorCode::bad_usage, "--shape: expected one of ", known.str(), ", got \"", name, "\"");
}

}  // namespace octet
