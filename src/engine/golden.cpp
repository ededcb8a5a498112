#include "engine/golden.h"

#include <algorithm>

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

/// Gaps between the two best logits, one a greedy token; empty if the file has none.
std::vector<double> read_margins(const Json& prompt, size_t count, const std::string& where) {
  std::vector<double> margins;
  if (!prompt.contains("greedy_margins")) return margins;
  const Json& list = prompt["greedy_margins"];
  const bool numbers = list.is_array() && list.size() == count &&
                       std::all_of(list.begin(), list.end(), [](const Json& margin) { return margin.is_number(); });
  if (!numbers) fail(ErrorCode::bad_file, where, ": greedy_margins: expected ", count, " numbers, one a greedy id");
  for (const Json& margin : list) margins.push_back(margin.get<double>());
  return margins;
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
    entry.greedy_margins = read_margins(prompt, entry.greedy_ids.size(), where);
    entry.logits = matrix<float>(golden.file_, "logits_all." + number, DType::f32, vocab);
    if (entry.logits.rows == 0) entry.logits = matrix<float>(golden.file_, "logits_last." + number, DType::f32, vocab);
    if (entry.logits.rows == 0) {
      fail(ErrorCode::bad_file, where, ": expected its logits as logits_all.", number, " or logits_last.", number,
           " in golden.safetensors, found neither");
    }
    if (entry.ids.empty() || entry.logits.rows > static_cast<int64_t>(entry.ids.size())) {
      fail(ErrorCode::bad_file, where, ": expected at least as many ids as rows of logits, ", entry.logits.rows);
    }
    golden.prompts_.push_back(std::move(entry));
  }
  if (golden.prompts_.empty()) fail(ErrorCode::bad_file, path, ": prompts: expected at least one prompt, got none");
  constexpr int32_t kMaxLayers = 1 << 12;
  for (int32_t layer = 0; layer < kMaxLayers; ++layer) {
    const View2<const int32_t> ids =
        matrix<int32_t>(golden.file_, "router_ids." + std::to_string(layer), DType::i32, 0);
    if (ids.rows > 0) golden.router_ids_[layer] = ids;
  }
  return golden;
}

}  // namespace octet
