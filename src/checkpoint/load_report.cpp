#include "checkpoint/load_report.h"

#include <algorithm>

namespace octet {

void LoadReport::add(std::string line) {
  constexpr size_t kMostLines = 1000;
  lines_.push_back(std::move(line));
  if (lines_.size() >= kMostLines) throw_if_any();
}

void LoadReport::add_missing(const std::string& name, const std::string& expected) {
  ++missing_;
  add(name + ": expected " + expected + ", got no such tensor in any file");
}

void LoadReport::add_wrong(const CheckpointTensor& tensor, const std::string& expected, const std::string& got) {
  ++wrong_;
  add(checkpoint_.file_name(tensor) + ": " + tensor.name + ": expected " + expected + ", got " + got);
}

void LoadReport::add_surplus(const CheckpointTensor& tensor) {
  ++surplus_;
  add(checkpoint_.file_name(tensor) + ": " + tensor.name + ": expected no such tensor in this model, got " +
      describe(tensor.dtype, tensor.shape));
}

void LoadReport::throw_if_any() const {
  constexpr size_t kMaxLines = 10;
  if (lines_.empty()) return;
  std::string list;
  for (size_t i = 0; i < std::min(lines_.size(), kMaxLines); ++i) list += "\n  " + lines_[i];
  if (lines_.size() > kMaxLines) list += "\n  and " + std::to_string(lines_.size() - kMaxLines) + " more";
  fail(ErrorCode::bad_checkpoint, checkpoint_.folder(), ": expected the tensors that config.json describes, got ",
       missing_, " missing, ", wrong_, " wrong and ", surplus_, " surplus:", list,
       "\ncheck that config.json belongs to these weights and that every file was fetched whole");
}

}  // namespace octet
