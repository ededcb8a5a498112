// models/config_reader.h — typed, range-checked access to a model's config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace octet {

/// Reads keys of one JSON object. Every message names the file, the key, what was expected and what was found.
/// A key whose value is null counts as missing.
class ConfigReader {
 public:
  /// where: for example "config.json", or "config.json: rope_parameters" for a nested object.
  ConfigReader(const Json& object, std::string where);

  bool has(const std::string& key) const;
  bool is_list(const std::string& key) const;
  /// A whole number in [low, high]. Throws Error(bad_config) if it is missing, of another type or out of range.
  int64_t integer(const std::string& key, int64_t low, int64_t high) const;
  int64_t integer(const std::string& key, int64_t low, int64_t high, int64_t if_missing) const;
  /// A finite number.
  double number(const std::string& key) const;
  double number(const std::string& key, double if_missing) const;
  /// A number above 0.
  double positive(const std::string& key, double if_missing) const;
  bool boolean(const std::string& key, bool if_missing) const;
  std::string text(const std::string& key, const std::string& if_missing) const;
  /// A list of whole numbers; empty if missing.
  std::vector<int64_t> integers(const std::string& key) const;
  /// A list of strings; empty if missing.
  std::vector<std::string> texts(const std::string& key) const;
  /// A nested object; nullopt if missing.
  std::optional<ConfigReader> object(const std::string& key) const;

  const std::string& where() const { return where_; }
  /// Throws Error(bad_config): "<where>: <key>: <message>".
  [[noreturn]] void refuse(const std::string& key, const std::string& message) const;

 private:
  const Json* find(const std::string& key) const;

  const Json* object_;
  std::string where_;
};

}  // namespace octet
