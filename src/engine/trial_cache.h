// engine/trial_cache.h — results of backend trials in a file, so that the next start need not repeat them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "moe/experts/selection.h"

namespace octet {

/// Everything that the results of trials depend on, as one line: device and threads, shape, formats, numerics class,
/// and a hash of the kernels' sources in this build.
std::string trial_key(const MoeProblem& problem, const DeviceInfo& device);

/// A file of results by key. Whatever is not a file of this version counts as empty: results can be found out again.
class TrialCache {
 public:
  explicit TrialCache(std::string path) : path_(std::move(path)) {}

  /// Results under a key; empty if there are none. Those of backends that this build does not have are left out.
  std::vector<BackendTrial> find(const std::string& key) const;
  /// Replaces the results under a key, keeps those of other keys, and renames the new file over the old one. Returns
  /// whether that worked; it is no error that a cache cannot be written.
  bool store(const std::string& key, const std::vector<BackendTrial>& trials) const;

 private:
  std::string path_;
};

}  // namespace octet
