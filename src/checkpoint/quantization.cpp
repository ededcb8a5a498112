#include "checkpoint/quantization.h"

#include <algorithm>

#include "checkpoint/wildcard.h"

namespace octet {
namespace {

// One of the two places that hold the settings.
struct Source {
  const Json& settings;
  std::string where;  // file and key
};

const Json& member(const Json& object, const char* key) {
  static const Json kNull;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNull : *found;
}

std::string text_or_empty(const Source& source, const char* key) {
  const Json& value = member(source.settings, key);
  if (value.is_null()) return {};
  if (!value.is_string()) {
    fail(ErrorCode::bad_config, source.where, ".", key, ": expected a string, got ", value.type_name(),
         "; restore the published file");
  }
  return value.get<std::string>();
}

[[noreturn]] void refuse(const Source& source, std::string_view key, const std::string& got) {
  fail(ErrorCode::unsupported, source.where, ".", key, ": expected NVFP4 of ModelOpt (NVFP4, W4A16_NVFP4), got \"", got,
       "\"; octet reads NVFP4, BF16, F16 and F32 weights now: use such a checkpoint of this model");
}

bool is_readable(const std::string& algorithm) { return algorithm == "NVFP4" || algorithm == "W4A16_NVFP4"; }

// MIXED_PRECISION names an algorithm for each module; octet reads it if it can read all of them.
void check_mixed(const Source& source) {
  const Json& layers = member(source.settings, "quantized_layers");
  for (const auto& [module, layer] : layers.items()) {
    const Source at{layer, source.where + ".quantized_layers." + module};
    const std::string algorithm = text_or_empty(at, "quant_algo");
    if (!is_readable(algorithm)) refuse(at, "quant_algo", algorithm);
  }
}

std::string read_algorithm(const Source& source) {
  const std::string method = text_or_empty(source, "quant_method");
  if (!method.empty() && method != "modelopt" && method != "modelopt_fp4") refuse(source, "quant_method", method);
  const std::string algorithm = text_or_empty(source, "quant_algo");
  if (algorithm == "MIXED_PRECISION") {
    check_mixed(source);
    return "NVFP4";
  }
  if (algorithm.empty()) return {};  // settings that concern the KV cache only
  if (!is_readable(algorithm)) refuse(source, "quant_algo", algorithm);
  return algorithm;
}

int32_t checked_group(const Source& source, const Json& value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() == 0 || value.get<uint64_t>() > 1024 ||
      value.get<uint64_t>() % 2 != 0) {
    fail(ErrorCode::bad_config, source.where, ": expected an even group_size of at most 1024, got ", value.dump(),
         "; NVFP4 has 16");
  }
  return value.get<int32_t>();
}

// group_size stands beside quant_algo in hf_quant_config.json and in each group of config_groups in config.json.
int32_t read_group(const Source& source) {
  constexpr int32_t kNvfp4Group = 16;
  std::vector<int32_t> groups;
  if (const Json& size = member(source.settings, "group_size"); !size.is_null()) {
    groups.push_back(checked_group(source, size));
  }
  const Json& config_groups = member(source.settings, "config_groups");
  for (const auto& [name, config_group] : config_groups.items()) {
    const Json& size = member(member(config_group, "weights"), "group_size");
    if (!size.is_null()) groups.push_back(checked_group(source, size));
  }
  const auto differs = [&](int32_t group) { return group != groups.front(); };
  if (std::any_of(groups.begin(), groups.end(), differs)) {
    fail(ErrorCode::unsupported, source.where, ": expected one group_size for all weights, got several; octet reads ",
         "checkpoints with one");
  }
  return groups.empty() ? kNvfp4Group : groups.front();
}

std::vector<std::string> read_exclude(const Source& source, const char* key) {
  std::vector<std::string> patterns;
  const Json& list = member(source.settings, key);
  if (list.is_null()) return patterns;
  const auto is_text = [](const Json& item) { return item.is_string(); };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_text)) {
    fail(ErrorCode::bad_config, source.where, ".", key, ": expected a list of module names, got ", list.type_name(),
         "; restore the published file");
  }
  for (const Json& item : list) patterns.push_back(item.get<std::string>());
  return patterns;
}

Quantization read_source(const Source& source, const char* exclude_key) {
  Quantization quantization;
  if (source.settings.is_null()) return quantization;
  if (!source.settings.is_object()) {
    fail(ErrorCode::bad_config, source.where, ": expected an object, got ", source.settings.type_name(),
         "; restore the published file");
  }
  quantization.algorithm = read_algorithm(source);
  quantization.group = read_group(source);
  quantization.exclude = read_exclude(source, exclude_key);
  return quantization;
}

}  // namespace

bool Quantization::excludes(std::string_view module) const {
  return std::any_of(exclude.begin(), exclude.end(),
                     [&](const std::string& pattern) { return matches_wildcard(pattern, module); });
}

Quantization read_quantization(const Json& config, const Json& hf_quant_config, std::string_view where) {
  const std::string folder(where);
  const Source in_config{member(config, "quantization_config"), folder + "/config.json: quantization_config"};
  const Source in_legacy{member(hf_quant_config, "quantization"), folder + "/hf_quant_config.json: quantization"};
  Quantization newer = read_source(in_config, "ignore");
  Quantization legacy = read_source(in_legacy, "exclude_modules");
  if (newer.algorithm.empty()) return legacy;
  if (legacy.algorithm.empty()) return newer;
  if (newer.algorithm != legacy.algorithm || newer.group != legacy.group) {
    fail(ErrorCode::bad_config, folder, ": expected config.json and hf_quant_config.json to agree, got ",
         newer.algorithm, " (group ", newer.group, ") and ", legacy.algorithm, " (group ", legacy.group,
         "); restore the published files");
  }
  return newer;
}

}  // namespace octet
