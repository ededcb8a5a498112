#include "config/cache_path.h"

#include <cstdlib>

namespace octet {
namespace {

/// The variable's value if it is an absolute path, as the XDG specification asks; otherwise empty.
std::string absolute_path_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

std::string default_trial_cache() {
  std::string folder = absolute_path_in("XDG_CACHE_HOME");
  if (folder.empty()) {
    const std::string home = absolute_path_in("HOME");
    if (home.empty()) return "";
    folder = home + "/.cache";
  }
  return folder + "/octet/backend-trials.json";
}

}  // namespace octet
