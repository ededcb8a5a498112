// checkpoint/checkpoint.h — a model's folder: its tensors by name, whatever files they lie in, and its settings.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/threads.h"
#include "checkpoint/quantization.h"
#include "checkpoint/safetensors.h"

namespace octet {

/// Told how much of a long piece of work is done; from any thread, one call at a time, `done` never falling.
using ProgressFn = std::function<void(int64_t done, int64_t total)>;

/// One tensor, under its name without the prefix of a multimodal wrapper.
struct CheckpointTensor {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;
  const std::byte* data = nullptr;  // mapped; lives as long as the checkpoint; no alignment is promised
  int64_t bytes = 0;
  int32_t file = 0;  // index for Checkpoint::file_name
};

/// An opened checkpoint. Nothing but headers is read by open(); weights stay on disk until they are used or prefetched.
/// Movable; tensors and their data stay where they are.
class Checkpoint {
 public:
  /// Opens every *.safetensors file in the folder (not below it) and reads config.json and, if they are there,
  /// model.safetensors.index.json, hf_quant_config.json and generation_config.json. The table of tensors comes from
  /// the headers; the index must only not name files or tensors that are absent, nor files outside the folder.
  /// Throws   Error(bad_file, bad_config, bad_checkpoint, unsupported) naming file, tensor, expected and got.
  static Checkpoint open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const Json& config() const { return config_; }
  const Json& generation_config() const { return generation_config_; }  // null if there is none
  const Json& hf_quant_config() const { return hf_quant_config_; }      // null if there is none
  const Quantization& quantization() const { return quantization_; }

  /// All tensors, by file and then by place in the file.
  std::span<const CheckpointTensor> tensors() const { return tensors_; }
  /// nullptr if there is no such tensor.
  const CheckpointTensor* find(std::string_view name) const;
  /// Throws Error(bad_checkpoint) if there is no such tensor.
  const CheckpointTensor& require(std::string_view name) const;
  /// Name of a tensor's file, without the folder.
  const std::string& file_name(const CheckpointTensor& tensor) const;
  /// Bytes of all tensors.
  int64_t total_bytes() const { return total_bytes_; }

  /// Reads all files into memory (the page cache) as fast as the disk gives them, and returns when they are there.
  /// Optional: weights that were not prefetched are read when first used, one page at a time.
  /// Throws   Error(bad_file) if a file was cut short after it was opened.
  void prefetch(ThreadPool& pool, const ProgressFn& progress = {}) const;

 private:
  void open_files(const std::vector<std::string>& names);
  void check_index() const;

  std::string folder_;
  std::vector<SafetensorsFile> files_;
  std::vector<std::string> file_names_;
  std::vector<CheckpointTensor> tensors_;
  std::unordered_map<std::string_view, int32_t> by_name_;  // index into tensors_
  int64_t total_bytes_ = 0;
  Json config_;
  Json generation_config_;
  Json hf_quant_config_;
  Quantization quantization_;
};

}  // namespace octet
