// tokenizer/json_node.h — a JSON value that knows its place in tokenizer.json, for messages.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/json.h"

namespace octet {

/// A view of one value of a parsed document, which must outlive it. Every mismatch throws Error(bad_tokenizer) with
/// the document's name and the path of the value.
class JsonNode {
 public:
  JsonNode(const Json& value, std::string place) : value_(&value), place_(std::move(place)) {}

  const Json& value() const { return *value_; }
  /// Document and path, for example "tokenizer.json: model.merges[3]".
  const std::string& place() const { return place_; }

  /// True if the object has `key` with a value other than null.
  bool has(const char* key) const {
    const auto member = object().find(key);
    return member != object().end() && !member->is_null();
  }
  JsonNode at(const char* key) const {
    if (!has(key)) mismatch(std::string("a member \"") + key + "\"");
    return {object().at(key), place_ + (place_.ends_with(": ") ? "" : ".") + key};
  }
  JsonNode at(size_t index) const { return {array().at(index), place_ + "[" + std::to_string(index) + "]"}; }

  const Json& object() const { return checked(value_->is_object(), "an object"); }
  const Json& array() const { return checked(value_->is_array(), "an array"); }
  const std::string& string() const { return checked(value_->is_string(), "a string").get_ref<const std::string&>(); }
  bool boolean() const { return checked(value_->is_boolean(), "true or false").get<bool>(); }
  bool boolean_or(const char* key, bool absent) const { return has(key) ? at(key).boolean() : absent; }
  /// An integer in [0, end).
  int64_t integer_below(int64_t end) const {
    const bool fits = value_->is_number_unsigned() && value_->get<uint64_t>() < static_cast<uint64_t>(end);
    return checked(fits, "an integer from 0 to " + std::to_string(end - 1)).get<int64_t>();
  }

  [[noreturn]] void mismatch(const std::string& expected) const {
    constexpr size_t kShown = 60;
    // In ASCII, so that a cut leaves no half character.
    std::string got = value_->is_structured() ? value_->type_name() : value_->dump(-1, ' ', /*ensure_ascii=*/true);
    if (got.size() > kShown) got = got.substr(0, kShown) + "...";
    fail(ErrorCode::bad_tokenizer, place_, ": expected ", expected, ", got ", got,
         "; fetch the file again or check the tool that wrote it");
  }

 private:
  const Json& checked(bool matches, const std::string& expected) const {
    if (!matches) mismatch(expected);
    return *value_;
  }

  const Json* value_;
  std::string place_;
};

}  // namespace octet
