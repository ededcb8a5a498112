// moe/experts/shapes.h — expert layers of published models by name, for measuring and for selection without a model.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "moe/experts/experts.h"

namespace octet {

/// The layer that `--shape` names, for one token; nullopt for an unknown name.
std::optional<MoeProblem> find_moe_shape(std::string_view name);

std::vector<std::string_view> moe_shape_names();

}  // namespace octet
