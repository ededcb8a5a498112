#include "models/config_reader.h"

#include <cmath>

namespace octet {
namespace {

/// A value as a message shows it: short, whatever the file holds.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  return text;
}

}  // namespace

ConfigReader::ConfigReader(const Json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) fail(ErrorCode::bad_config, where_, ": expected a JSON object, got ", shown(object));
}

const Json* ConfigReader::find(const std::string& key) const {
  const auto it = object_->find(key);
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

bool ConfigReader::has(const std::string& key) const { return find(key) != nullptr; }

bool ConfigReader::is_list(const std::string& key) const {
  const Json* value = find(key);
  return value != nullptr && value->is_array();
}

int64_t ConfigReader::integer(const std::string& key, int64_t low, int64_t high) const {
  const Json* value = find(key);
  if (value == nullptr) refuse(key, "expected a whole number, but the key is missing");
  // Some writers store whole numbers as 8.0.
  const bool whole = value->is_number_integer() || (value->is_number_float() && std::abs(value->get<double>()) < 1e15 &&
                                                    value->get<double>() == std::floor(value->get<double>()));
  const bool huge = value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (!whole || huge || value->get<int64_t>() < low || value->get<int64_t>() > high) {
    refuse(key, "expected a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ", got " +
                    shown(*value));
  }
  return value->get<int64_t>();
}

int64_t ConfigReader::integer(const std::string& key, int64_t low, int64_t high, int64_t if_missing) const {
  return has(key) ? integer(key, low, high) : if_missing;
}

double ConfigReader::number(const std::string& key) const {
  const Json* value = find(key);
  if (value == nullptr) refuse(key, "expected a number, but the key is missing");
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    refuse(key, "expected a finite number, got " + shown(*value));
  }
  return value->get<double>();
}

double ConfigReader::number(const std::string& key, double if_missing) const {
  return has(key) ? number(key) : if_missing;
}

double ConfigReader::positive(const std::string& key, double if_missing) const {
  const double value = number(key, if_missing);
  if (value <= 0) refuse(key, "expected a number above 0, got " + shown(*find(key)));
  return value;
}

bool ConfigReader::boolean(const std::string& key, bool if_missing) const {
  const Json* value = find(key);
  if (value == nullptr) return if_missing;
  if (!value->is_boolean()) refuse(key, "expected true or false, got " + shown(*value));
  return value->get<bool>();
}

std::string ConfigReader::text(const std::string& key, const std::string& if_missing) const {
  const Json* value = find(key);
  if (value == nullptr) return if_missing;
  if (!value->is_string()) refuse(key, "expected a string, got " + shown(*value));
  return value->get<std::string>();
}

std::vector<int64_t> ConfigReader::integers(const std::string& key) const {
  const Json* value = find(key);
  std::vector<int64_t> list;
  if (value == nullptr) return list;
  if (!value->is_array()) refuse(key, "expected a list of whole numbers, got " + shown(*value));
  for (const Json& entry : *value) {
    if (!entry.is_number_integer()) refuse(key, "expected a list of whole numbers, it holds " + shown(entry));
    list.push_back(entry.get<int64_t>());
  }
  return list;
}

std::vector<std::string> ConfigReader::texts(const std::string& key) const {
  const Json* value = find(key);
  std::vector<std::string> list;
  if (value == nullptr) return list;
  if (!value->is_array()) refuse(key, "expected a list of strings, got " + shown(*value));
  for (const Json& entry : *value) {
    if (!entry.is_string()) refuse(key, "expected a list of strings, it holds " + shown(entry));
    list.push_back(entry.get<std::string>());
  }
  return list;
}

std::optional<ConfigReader> ConfigReader::object(const std::string& key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return ConfigReader(*value, where_ + ": " + key);
}

void ConfigReader::refuse(const std::string& key, const std::string& message) const {
  fail(ErrorCode::bad_config, where_, ": ", key, ": ", message);
}

}  // namespace octet
