// Value::from_json: JSON text to values, keeping key order, without an intermediate document.
#include "base/json.h"
#include "tokenizer/template/value.h"

namespace octet::jinja {
namespace {

constexpr size_t kMaxJsonDepth = 64;

// Receives nlohmann's parse events. Throws octet::Error itself; only syntax errors come through parse_error.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view where, ErrorCode code) : where_(where), code_(code) {}

  bool null() override { return add(Value::none()); }
  bool boolean(bool value) override { return add(Value::boolean(value)); }
  bool number_integer(number_integer_t value) override { return add(Value::integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<uint64_t>(INT64_MAX)) return add(Value::integer(static_cast<int64_t>(value)));
    return add(Value::big_integer(std::to_string(value)));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    // Integers beyond 64 bits arrive here too, with their digits.
    const bool is_integer = text.find_first_of(".eE") == std::string::npos;
    return add(is_integer ? Value::big_integer(text) : Value::real(value));
  }
  bool string(string_t& value) override { return add(Value::text(std::move(value))); }
  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override { return open(true); }
  bool key(string_t& key) override {
    Level& level = levels_.back();
    level.key = Value::text(std::move(key));
    if (level.dict.find(level.key)) {
      fail(code_, where_, ": key \"", level.key.as_text(), "\" stands twice in one JSON object");
    }
    return true;
  }
  bool end_object() override {
    Value value = Value::dict(std::move(levels_.back().dict));
    levels_.pop_back();
    return add(std::move(value));
  }
  bool start_array(size_t) override { return open(false); }
  bool end_array() override {
    Value value = Value::list(std::move(levels_.back().items));
    levels_.pop_back();
    return add(std::move(value));
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) override {
    fail_json(code_, where_, e.what());
  }

  Value take() { return std::move(result_); }

 private:
  struct Level {
    bool is_object;
    Dict dict;
    std::vector<Value> items;
    Value key;
  };

  bool open(bool is_object) {
    if (levels_.size() >= kMaxJsonDepth) {
      fail(code_, where_, ": JSON is nested deeper than ", kMaxJsonDepth, " levels; flatten the document");
    }
    levels_.push_back({is_object, {}, {}, {}});
    return true;
  }

  bool add(Value value) {
    if (levels_.empty()) {
      result_ = std::move(value);
    } else if (levels_.back().is_object) {
      levels_.back().dict.set(levels_.back().key, std::move(value));
    } else {
      levels_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::string_view where_;
  ErrorCode code_;
  std::vector<Level> levels_;
  Value result_;
};

}  // namespace

Value Value::from_json(std::string_view json, std::string_view where, ErrorCode code) {
  Builder builder(where, code);
  try {
    Json::sax_parse(json.begin(), json.end(), &builder);
  } catch (const Failure& e) {  // a value larger than any template may hold
    fail(e.code(), where, ": ", e.message());
  }
  return builder.take();
}

}  // namespace octet::jinja
