#include "engine/trial_cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"

namespace octet {
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kMostBytes = 16 << 20;  // far above a hundred models; a larger file is not ours

/// The object of entries by key; an empty one if the file is missing, damaged or of another version.
Json read_entries(const std::string& path) {
  try {
    const Json document = parse_json(read_text_file(path, kMostBytes), path, ErrorCode::bad_file);
    if (document.is_object() && document.value("version", Json()) == kVersion &&
        document.value("entries", Json()).is_object()) {
      return document["entries"];
    }
  } catch (const Error&) {
    // As good as no file.
  }
  return Json::object();
}

/// One result; nullopt if it is damaged or about a backend that this build does not have.
std::optional<BackendTrial> read_trial(const Json& json) {
  if (!json.is_object() || !json.value("name", Json()).is_string()) return std::nullopt;
  if (!json.value("tokens", Json()).is_number_integer()) return std::nullopt;
  const ExpertBackendEntry* backend = find_expert_backend(json["name"].get<std::string>());
  if (backend == nullptr) return std::nullopt;
  BackendTrial trial{.name = backend->name, .num_tokens = json["tokens"].get<int64_t>()};
  const Json measured = json.value("measured_us", Json()), mismatch = json.value("mismatch", Json());
  if (measured.is_number() && measured.get<double>() > 0) trial.measured_us = measured.get<double>();
  if (mismatch.is_string()) trial.mismatch = mismatch.get<std::string>();
  return trial;
}

Json write_trial(const BackendTrial& trial) {
  return {{"name", trial.name},
          {"tokens", trial.num_tokens},
          {"measured_us", trial.measured_us ? Json(*trial.measured_us) : Json()},
          {"mismatch", trial.mismatch ? Json(*trial.mismatch) : Json()}};
}

}  // namespace

std::string trial_key(const MoeProblem& problem, const DeviceInfo& device) {
  const MoeShape& s = problem.shape;
  std::ostringstream key;
  key << device.name << ", " << device.num_threads << " threads, H=" << s.hidden << " I=" << s.expert_width
      << " E=" << s.num_experts << " A=" << s.top_k << ", " << describe(problem.gate_up) << ", "
      << describe(problem.down) << ", " << to_string(problem.activation) << ", " << to_string(problem.numerics)
      << ", rank " << problem.ranks.rank << " of " << problem.ranks.num_ranks << ", kernels " << OCTET_KERNEL_HASH;
  return key.str();
}

std::vector<BackendTrial> TrialCache::find(const std::string& key) const {
  std::vector<BackendTrial> trials;
  const Json list = read_entries(path_).value(key, Json::array());
  if (!list.is_array()) return trials;
  for (const Json& one : list) {
    if (const std::optional<BackendTrial> trial = read_trial(one)) trials.push_back(*trial);
  }
  return trials;
}

bool TrialCache::store(const std::string& key, const std::vector<BackendTrial>& trials) const {
  Json entries = read_entries(path_);
  entries[key] = Json::array();
  for (const BackendTrial& trial : trials) entries[key].push_back(write_trial(trial));
  const std::string text = Json{{"version", kVersion}, {"entries", entries}}.dump(1);
  std::error_code error;
  const std::filesystem::path path(path_);
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  // Of this process alone, so that two starts at once cannot mix their halves.
  const std::string unfinished = path_ + "." + std::to_string(::getpid());
  std::ofstream file(unfinished, std::ios::binary);
  file << text << '\n';
  file.close();
  if (file) std::filesystem::rename(unfinished, path_, error);
  if (file && !error) return true;
  std::filesystem::remove(unfinished, error);
  return false;
}

}  // namespace octet
