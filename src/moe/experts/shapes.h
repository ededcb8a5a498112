// moe/experts/shapes.h — expert layers of published models by name, so that selection and benchmarks need no
// checkpoint.
#pragma once

#include <span>
#include <string_view>

#include "moe/experts/experts.h"

namespace octet {

/// The expert layer that `--shape NAME` means, with one token. A name that ends in -tp8 is the part of rank 0 of eight:
/// every expert with an eighth of its inner width.
/// Throws Error(bad_usage) with the list of names.
MoeProblem find_moe_shape(std::string_view name);

std::span<const std::string_view> moe_shape_names();

}  // namespace octet
