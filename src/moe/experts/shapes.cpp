#include "moe/experts/shapes.h"

#include <algorithm>
#include <array>

namespace octet {
namespace {

struct NamedShape {
  std::string_view name;
  MoeShape shape;
};

constexpr std::array kShapes = {
    NamedShape{"qwen3-30b-a3b", {.hidden = 2048, .expert_width = 768, .num_experts = 128, .top_k = 8}},
    NamedShape{"glm5-tp8", {.hidden = 6144, .expert_width = 256, .num_experts = 256, .top_k = 8}},
    NamedShape{"tiny-glm5", {.hidden = 256, .expert_width = 128, .num_experts = 64, .top_k = 8}},
};

}  // namespace

std::optional<MoeProblem> find_moe_shape(std::string_view name) {
  const auto at =
      std::find_if(kShapes.begin(), kShapes.end(), [&](const NamedShape& shape) { return shape.name == name; });
  if (at == kShapes.end()) return std::nullopt;
  return MoeProblem{.shape = at->shape, .gate_up = kNvfp4Weight, .down = kNvfp4Weight};
}

std::vector<std::string_view> moe_shape_names() {
  std::vector<std::string_view> names;
  for (const NamedShape& shape : kShapes) names.push_back(shape.name);
  return names;
}

}  // namespace octet
