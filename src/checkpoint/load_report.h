// checkpoint/load_report.h — everything that is wrong with a checkpoint's tensors, told at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace octet {

/// Collects tensors that are missing, wrong or surplus, so that a user sees all of them and not the first only. Gives
/// up after a thousand: a configuration that lies about layers or experts must not cost time and memory without bound.
class LoadReport {
 public:
  explicit LoadReport(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  void add_missing(const std::string& name, const std::string& expected);
  void add_wrong(const CheckpointTensor& tensor, const std::string& expected, const std::string& got);
  void add_surplus(const CheckpointTensor& tensor);

  /// Throws one Error(bad_checkpoint) with the counts and the first ten tensors; returns if there is nothing to tell.
  void throw_if_any() const;

 private:
  void add(std::string line);

  const Checkpoint& checkpoint_;
  std::vector<std::string> lines_;  // missing and wrong ones in the order of loading, then surplus ones
  int64_t missing_ = 0;
  int64_t wrong_ = 0;
  int64_t surplus_ = 0;
};

}  // namespace octet
