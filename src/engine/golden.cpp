#include "engine/golden.h"

#include <cstring>

#include "base/json.h"

namespace octet {
namespace {

constexpr int64_t kMaxJsonBytes = int64_t{256} << 20;

std::vector<TokenId> read_ids(const Json& prompt, const char* key, int64_t vocab, const std::string& where) {
  std::vector<TokenId> ids;
  if (!prompt.contains(key) || !prompt[key].is_array())
    fail(ErrorCode::bad_file, where, ": expected a list \"", key, "\"");
  for (const Json& id : prompt[key]) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= vocab) {
      fail(ErrorCode::bad_file, where, ": ", key, ": expected token ids below ", vocab, ", got ", id.dump());
    }
    ids.push_back(TokenId{id.get<int32_t>()});
  }
  return ids;
}

const TensorInfo* find(const SafetensorsFile& file, const std::string& name) {
  for (const TensorInfo& tensor : file.tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

/// Rows of a tensor of 4-byte elements; a vector is one row. Empty if there is no such tensor.
template <class T>
View2<const T> matrix(const SafetensorsFile& file, const std::string& name, DType type, int64_t cols) {
  const TensorInfo* tensor = find(file, name);
  if (tensor == nullptr) return {};
  const Shape& shape = tensor->shape;
  const bool fits = tensor->dtype == type && !shape.empty() && shape.size() <= 2 && (cols == 0 || shape.back() == cols);
  if (!fits || reinterpret_cast<uintptr_t>(tensor->data) % alignof(T) != 0) {
    fail(ErrorCode::bad_checkpoint, file.path(), ": ", name, ": expected ", describe(type, {-1, cols}), ", got ",
         describe(tensor->dtype, shape));
  }
  const int64_t rows = shape.size() == 1 ? 1 : shape.front();
  return View2<const T>(reinterpret_cast<const T*>(tensor->data), rows, shape.back());
}

}  // namespace

Golden Golden::load(const std::string& folder, int64_t vocab) {
  const std::string path = folder + "/golden.json";
  const Json json = parse_json(read_text_file(path, kMaxJsonBytes), path, ErrorCode::bad_file);
  if (!json.is_object() || !json.contains("prompts") || !json["prompts"].is_array()) {
    fail(ErrorCode::bad_file, path, ": expected an object with a list \"prompts\"");
  }
  Golden golden(SafetensorsFile::open(folder + "/golden.safetensors"));
  for (const Json& prompt : json["prompts"]) {
    const std::string number = std::to_string(golden.prompts_.size());
    const std::string where = path + ": prompts[" + number + "]";
    GoldenPrompt entry;
    entry.ids = read_ids(prompt, "ids", vocab, where);
    entry.greedy_ids = read_ids(prompt, "greedy_ids", vocab, where);
    if (prompt.contains("greedy_margins")) {
      for (const Json& margin : prompt["greedy_margins"]) entry.greedy_margins.push_back(margin.get<double>());
    }
    entry.logits = matrix<float>(golden.file_, "logits_all." + number, DType::f32, vocab);
    if (entry.logits.rows == 0) entry.logits = matrix<float>(golden.file_, "logits_last." + number, DType::f32, vocab);
    if (entry.ids.empty() || entry.logits.rows > static_cast<int64_t>(entry.ids.size())) {
      fail(ErrorCode::bad_file, where, ": expected at least as many ids as rows of logits, ", entry.logits.rows);
    }
    golden.prompts_.push_back(std::move(entry));
  }
  constexpr int32_t kMaxLayers = 1 << 12;
  for (int32_t layer = 0; layer < kMaxLayers; ++layer) {
    const View2<const int32_t> ids =
        matrix<int32_t>(golden.file_, "router_ids." + std::to_string(layer), DType::i32, 0);
    if (ids.rows > 0) golden.router_ids_[layer] = ids;
  }
  return golden;
}

}  // namespace octet
