#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <unordered_set>

#include "checkpoint/json_reader.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr int64_t kMaxConfigBytes = 16 << 20;
constexpr int64_t kMaxIndexBytes = 256 << 20;
constexpr int64_t kPrefetchBytes = 8 << 20;  // a request to the system: large enough to stream, small enough to share

// Multimodal wrappers put the text model one level down:
//   model.language_model.layers.0...  and  language_model.model.layers.0...  are both  model.layers.0...
std::string without_wrapper(const std::string& name) {
  constexpr std::string_view kInner = "model.language_model.";
  constexpr std::string_view kOuter = "language_model.";
  if (name.starts_with(kInner)) return "model." + name.substr(kInner.size());
  if (name.starts_with(kOuter)) return name.substr(kOuter.size());
  return name;
}

bool exists(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at counts as absent
  return fs::exists(path, ignored);
}

// An optional settings file; null if it is absent.
Json read_settings(const std::string& path) {
  if (!exists(path)) return {};
  return parse_json(read_text_file(path, kMaxConfigBytes), path, ErrorCode::bad_config);
}

// Names of the folder's *.safetensors files, sorted.
std::vector<std::string> list_weight_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") names.push_back(entry->path().filename().string());
  }
  if (error) {
    fail(ErrorCode::bad_file, folder, ": expected a folder that holds a model, got: ", error.message(),
         "; give the folder that holds config.json");
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A checkpoint must not make octet read files that its user did not put into its folder.
void check_inside(const std::string& folder, const std::string& name) {
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  const fs::path real = fs::canonical(fs::path(folder) / name, error);
  if (!error && real.parent_path() == home) return;
  fail(ErrorCode::bad_file, folder, "/", name, ": expected a file inside the folder, got ",
       error ? "a link that leads nowhere" : "a link out of it",
       "; copy the file itself here (huggingface-cli download with --local-dir makes no links)");
}

struct Index {
  std::unordered_set<std::string> tensors;
  std::unordered_set<std::string> files;
};

// {"metadata": anything, "weight_map": {tensor: file}}
Index read_index(const std::string& path) {
  const std::string text = read_text_file(path, kMaxIndexBytes);
  JsonReader reader(text, path, ErrorCode::bad_file);
  Index index;
  std::unordered_set<std::string> keys;
  reader.object([&](const std::string& key) {
    if (!keys.insert(key).second) reader.wrong("each key once before this byte");
    if (key != "weight_map") return reader.skip_value();
    reader.object([&](const std::string& name) {
      if (!index.tensors.insert(name).second) reader.wrong("each tensor once before this byte");
      index.files.insert(reader.string());
    });
  });
  reader.end();
  if (!keys.contains("weight_map")) {
    fail(ErrorCode::bad_file, path, ": expected \"weight_map\", got none; fetch the file again");
  }
  return index;
}

}  // namespace

Checkpoint Checkpoint::open(const std::string& folder) {
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  const std::vector<std::string> names = list_weight_files(folder);
  const std::string config_path = folder + "/config.json";
  if (!exists(config_path)) {
    fail(ErrorCode::bad_file, config_path, ": expected the model's configuration, got no such file; give the folder ",
         "that holds config.json");
  }
  checkpoint.config_ = read_settings(config_path);
  if (!checkpoint.config_.is_object()) {
    fail(ErrorCode::bad_config, config_path, ": expected an object, got ", checkpoint.config_.type_name(),
         "; restore the published file");
  }
  checkpoint.generation_config_ = read_settings(folder + "/generation_config.json");
  checkpoint.hf_quant_config_ = read_settings(folder + "/hf_quant_config.json");
  // Before the weights, so that a format that octet cannot read is named as such.
  checkpoint.quantization_ = read_quantization(checkpoint.config_, checkpoint.hf_quant_config_, folder);
  checkpoint.open_files(names);
  checkpoint.check_index();
  return checkpoint;
}

void Checkpoint::open_files(const std::vector<std::string>& names) {
  file_names_ = names;
  for (const std::string& name : names) {
    check_inside(folder_, name);
    files_.push_back(SafetensorsFile::open(folder_ + "/" + name));
    const auto file = static_cast<int32_t>(files_.size() - 1);
    for (const TensorInfo& info : files_.back().tensors()) {
      tensors_.push_back({without_wrapper(info.name), info.dtype, info.shape, info.data, info.bytes, file});
      total_bytes_ += info.bytes;
    }
  }
  by_name_.reserve(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const CheckpointTensor& tensor = tensors_[i];
    const auto [other, is_new] = by_name_.emplace(tensor.name, static_cast<int32_t>(i));
    if (is_new) continue;
    fail(ErrorCode::bad_checkpoint, folder_, ": ", tensor.name, ": expected each tensor in one file, got it in ",
         file_name(tensors_[static_cast<size_t>(other->second)]), " and in ", file_name(tensor),
         "; remove the file that does not belong to this checkpoint");
  }
}

void Checkpoint::check_index() const {
  const std::string path = folder_ + "/" + kIndexName;
  if (!exists(path)) {
    if (!files_.empty()) return;
    fail(ErrorCode::bad_file, folder_, ": expected model.safetensors or shards with ", kIndexName,
         ", got no *.safetensors file; fetch the weights");
  }
  const Index index = read_index(path);
  for (const std::string& file : index.files) {
    if (file.find('/') != std::string::npos || file.find('\0') != std::string::npos || file == "..") {
      fail(ErrorCode::bad_file, path, ": expected names of files in the same folder, got \"", file,
           "\"; an index that points elsewhere is refused");
    }
    if (!std::binary_search(file_names_.begin(), file_names_.end(), file)) {
      fail(ErrorCode::bad_file, path, ": expected ", file, " beside it, got no such file; fetch it");
    }
  }
  for (const std::string& name : index.tensors) {
    if (find(without_wrapper(name)) != nullptr) continue;
    fail(ErrorCode::bad_checkpoint, path, ": ", name, ": expected it in a *.safetensors file beside the index, got it ",
         "in none; fetch the shards again");
  }
}

const CheckpointTensor* Checkpoint::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[static_cast<size_t>(found->second)];
}

const CheckpointTensor& Checkpoint::require(std::string_view name) const {
  const CheckpointTensor* tensor = find(name);
  if (tensor == nullptr) {
    fail(ErrorCode::bad_checkpoint, folder_, ": ", name, ": expected this tensor, got none of ", tensors_.size(),
         " tensors by that name; check that every shard is here and that config.json belongs to them");
  }
  return *tensor;
}

const std::string& Checkpoint::file_name(const CheckpointTensor& tensor) const {
  return file_names_[static_cast<size_t>(tensor.file)];
}

void Checkpoint::prefetch(ThreadPool& pool, const ProgressFn& progress) const {
  struct Part {
    const MappedFile* file;
    int64_t begin;
    int64_t count;
  };
  std::vector<Part> parts;
  int64_t total = 0;
  for (const SafetensorsFile& file : files_) {
    const auto size = static_cast<int64_t>(file.mapping().bytes().size());
    for (int64_t begin = 0; begin < size; begin += kPrefetchBytes) {
      parts.push_back({&file.mapping(), begin, std::min(kPrefetchBytes, size - begin)});
    }
    total += size;
  }
  std::mutex mutex;  // guards done, and keeps calls of progress apart
  int64_t done = 0;
  pool.for_chunks(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Part& part = parts[static_cast<size_t>(i)];
      part.file->populate(part.begin, part.count);
      const std::lock_guard lock(mutex);
      done += part.count;
      if (progress) progress(done, total);
    }
  });
}

}  // namespace octet
