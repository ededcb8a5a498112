// config/cache_path.h — where octet keeps what it can find out again.
#pragma once

#include <string>

namespace octet {

/// The file of backend trials: $XDG_CACHE_HOME/octet/backend-trials.json, else the same under ~/.cache; empty, which
/// means none, without a home.
std::string default_trial_cache();

}  // namespace octet
