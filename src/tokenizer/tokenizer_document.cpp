#include "tokenizer/tokenizer_document.h"

#include <utility>

#include "tokenizer/json_node.h"
#include "tokenizer/vocabulary.h"

namespace octet {
namespace {

constexpr const char* kMergeForms = R"("a b" or ["a", "b"])";

// Receives the document event by event. Each event goes to the tree, to the vocabulary or to the merges.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(std::string_view where) : where_(where) {}
  TokenizerDocument take() { return std::move(document_); }

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(int64_t v) override { return value(v); }
  bool number_unsigned(uint64_t v) override { return value(v); }
  bool number_float(double v, const std::string&) override { return value(v); }
  bool binary(Json::binary_t&) override { return false; }  // JSON text has none
  bool string(std::string& v) override {
    if (part_ != Part::merges) return value(std::move(v));
    if (in_pair_) {
      pair_.push_back(std::move(v));
    } else {
      add_merge(v);
    }
    return true;
  }

  bool start_object(size_t) override { return open(Json::object(), "vocab", Part::vocab); }
  bool start_array(size_t) override {
    if (part_ != Part::merges) return open(Json::array(), "merges", Part::merges);
    if (in_pair_) refuse_merge("a list in a list");
    in_pair_ = true;
    return true;
  }
  bool key(std::string& name) override {
    if (part_ == Part::tree && open_.back()->contains(name)) {
      fail(ErrorCode::bad_tokenizer, where_, ": key \"", name, "\" stands twice in one JSON object");
    }
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override {
    if (!in_pair_) return close();
    if (pair_.size() != 2) refuse_merge(pair_);
    document_.merges.push_back({std::move(pair_[0]), std::move(pair_[1])});
    pair_.clear();
    in_pair_ = false;
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception& e) override {
    fail_json(ErrorCode::bad_tokenizer, where_, e.what());
  }

 private:
  enum class Part { tree, vocab, merges };

  bool value(Json v) {
    if (part_ == Part::merges) refuse_merge(v);
    if (part_ == Part::vocab) return add_token(v);
    put(std::move(v));
    return true;
  }

  // Begins an object or array, or the large member called `large` if this is it.
  bool open(Json empty, std::string_view large, Part part) {
    if (part_ == Part::vocab) return add_token(empty);
    if (part_ == Part::merges) refuse_merge(empty);
    if (open_.size() >= static_cast<size_t>(JsonLimits{}.max_depth)) {
      fail(ErrorCode::bad_tokenizer, where_, ": JSON is nested deeper than ", JsonLimits{}.max_depth, " levels");
    }
    const bool is_large = open_.size() == 2 && in_model_ && key_ == large;
    if (open_.size() == 1) in_model_ = key_ == "model";
    open_.push_back(&put(std::move(empty)));
    if (is_large) part_ = part;
    return true;
  }

  bool close() {
    part_ = Part::tree;
    open_.pop_back();
    return true;
  }

  // Puts a value in its place in the tree. The place stays where it is while the value is open.
  Json& put(Json v) {
    if (open_.empty()) return document_.tree = std::move(v);
    if (open_.back()->is_array()) return open_.back()->emplace_back(std::move(v));
    return (*open_.back())[key_] = std::move(v);
  }

  bool add_token(const Json& id) {
    const JsonNode node(id, std::string(where_) + ": model.vocab[\"" + key_ + "\"]");
    document_.vocab.push_back({std::move(key_), static_cast<int32_t>(node.integer_below(kMaxTokens))});
    return true;
  }

  void add_merge(const std::string& text) {
    const size_t space = text.find(' ');
    if (space == std::string::npos || space != text.rfind(' ')) refuse_merge(text);
    document_.merges.push_back({text.substr(0, space), text.substr(space + 1)});
  }

  [[noreturn]] void refuse_merge(const Json& got) const {
    const std::string place = ": model.merges[" + std::to_string(document_.merges.size()) + "]";
    JsonNode(got, std::string(where_) + place).mismatch(kMergeForms);
  }

  std::string_view where_;
  TokenizerDocument document_;
  std::vector<Json*> open_;  // objects and arrays of the tree around the present place, outermost first
  std::string key_;          // of the value that comes next, if in an object
  bool in_model_ = false;    // the second one of open_ is "model"
  Part part_ = Part::tree;
  bool in_pair_ = false;  // inside ["a", "b"]
  std::vector<std::string> pair_;
};

}  // namespace

TokenizerDocument read_tokenizer_document(std::string_view json, std::string_view where) {
  Reader reader(where);
  Json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
}

}  // namespace octet
