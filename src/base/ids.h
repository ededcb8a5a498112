// base/ids.h — ids that must not be mixed up. Each is one 32-bit integer with its own type.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace octet {

template <class Tag>
struct Id {
  int32_t value = -1;
  constexpr auto operator<=>(const Id&) const = default;
};

using TokenId = Id<struct TokenIdTag>;      // index into the vocabulary
using PageId = Id<struct PageIdTag>;        // index of a page of the KV cache
using ExpertId = Id<struct ExpertIdTag>;    // routed expert, in the whole model
using RequestId = Id<struct RequestIdTag>;  // one submitted request of an engine

}  // namespace octet

template <class Tag>
struct std::hash<octet::Id<Tag>> {
  size_t operator()(octet::Id<Tag> id) const noexcept { return std::hash<int32_t>{}(id.value); }
};
