#include "moe/experts/selection.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "moe/experts/names.h"

namespace octet {
namespace {

// Differences of time below this are noise of the measurement; table order decides.
constexpr double kSameTime = 1.03;

// Sets of packed copies are tried one by one, 2^N of them.
constexpr size_t kMostPackedCopies = 12;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Names of packed copies with their bytes over all layers. Backends that share a copy name it alike.
using PackedCopies = std::map<std::string, int64_t>;

const BackendTrial* find_trial(const SelectionRequest& request, std::string_view name, int64_t num_tokens) {
  for (const BackendTrial& trial : request.trials) {
    if (trial.name == name && trial.num_tokens == num_tokens) return &trial;
  }
  return nullptr;
}

/// A row with every reason for a refusal but the room for packed weights.
SelectionRow judge(const SelectionRequest& request, const ForcedBackends& forced, const DeviceInfo& device,
                   const ExpertBackendEntry& backend, int64_t num_tokens) {
  MoeProblem problem = request.problem;
  problem.shape.num_tokens = num_tokens;
  SelectionRow row{.num_tokens = num_tokens, .backend = &backend, .bound_us = backend.predicted_us(problem, device)};
  const BackendTrial* trial = find_trial(request, backend.name, num_tokens);
  if (trial != nullptr) row.measured_us = trial->measured_us;
  row.refusal = backend.refuse(problem, device);
  if (!row.refusal && !selects(forced.at(num_tokens), backend.name)) {
    row.refusal = Refusal{Refusal::Code::not_selected, "not what \"" + forced.at(num_tokens) + "\" names"};
  }
  if (!row.refusal && trial != nullptr && trial->mismatch) {
    row.refusal = Refusal{Refusal::Code::mismatch, *trial->mismatch};
  }
  if (!row.refusal) row.state = CandidateState::can_run;
  return row;
}

/// One selection in progress: the rows, and what the backends that can run would keep beside the checkpoint.
class Selector {
 public:
  Selector(const SelectionRequest& request, const DeviceInfo& device, std::span<const ExpertBackendEntry> table)
      : request_(request), table_size_(table.size()) {
    const ForcedBackends forced = parse_forced_backends(request.forced);
    for (const int64_t num_tokens : request.buckets) {
      for (const ExpertBackendEntry& backend : table) {
        rows_.push_back(judge(request, forced, device, backend, num_tokens));
        if (const PackedWeights packed = packed_of(rows_.back()); packed.bytes > 0) {
          copies_[packed.name] = packed.bytes * request.num_layers;
        }
      }
    }
    OCTET_CHECK(copies_.size() <= kMostPackedCopies);
  }

  std::vector<SelectionRow> select() {
    const PackedCopies kept = best_copies();
    for (size_t bucket = 0; bucket < request_.buckets.size(); ++bucket) {
      if (SelectionRow* row = fastest(bucket, kept)) row->state = CandidateState::chosen;
    }
    refuse_copies_without_room();
    return std::move(rows_);
  }

 private:
  /// What a row's backend would keep; nothing for one that is refused.
  PackedWeights packed_of(const SelectionRow& row) const {
    if (row.refusal) return {};
    MoeProblem problem = request_.problem;
    problem.shape.num_tokens = row.num_tokens;
    return row.backend->packed(problem);
  }

  bool has_copy(const SelectionRow& row, const PackedCopies& kept) const {
    const PackedWeights packed = packed_of(row);
    return packed.bytes == 0 || kept.count(packed.name) > 0;
  }

  std::span<SelectionRow> rows_of(size_t bucket) { return std::span(rows_).subspan(bucket * table_size_, table_size_); }

  static double time_of(const SelectionRow& row) { return row.measured_us.value_or(row.bound_us); }

  /// The fastest row of a bucket whose packed weights are among `kept`; nullptr if none can run.
  SelectionRow* fastest(size_t bucket, const PackedCopies& kept) {
    const auto allowed = [&](const SelectionRow& row) { return !row.refusal && has_copy(row, kept); };
    bool any_measured = false;
    for (const SelectionRow& row : rows_of(bucket)) any_measured = any_measured || (allowed(row) && row.measured_us);
    // A bound says less than a measurement, so the two are never compared.
    const auto considered = [&](const SelectionRow& row) { return allowed(row) && (row.measured_us || !any_measured); };
    double least = kNever;
    for (const SelectionRow& row : rows_of(bucket)) {
      if (considered(row)) least = std::min(least, time_of(row));
    }
    for (SelectionRow& row : rows_of(bucket)) {
      if (considered(row) && time_of(row) <= least * kSameTime) return &row;
    }
    return nullptr;
  }

  /// How good a set of copies is: buckets that it leaves unserved, then the sum of its slowdowns, then its bytes.
  struct Cost {
    int64_t unserved = 0;
    double slowdown = 0;
    int64_t bytes = 0;
    bool operator<(const Cost& other) const {
      if (unserved != other.unserved) return unserved < other.unserved;
      if (slowdown != other.slowdown) return slowdown < other.slowdown;
      return bytes < other.bytes;
    }
  };

  Cost cost_of(const PackedCopies& kept) {
    Cost cost;
    for (const auto& [name, bytes] : kept) cost.bytes += bytes;
    for (size_t bucket = 0; bucket < request_.buckets.size(); ++bucket) {
      const SelectionRow* best = fastest(bucket, copies_);
      const SelectionRow* row = fastest(bucket, kept);
      if (row == nullptr) {
        ++cost.unserved;
      } else if (time_of(*best) > 0) {
        cost.slowdown += time_of(*row) / time_of(*best);
      }
    }
    return cost;
  }

  /// The best set of copies that fits into the room.
  PackedCopies best_copies() {
    PackedCopies best;
    Cost least = cost_of(best);
    for (size_t set = 1; set < size_t{1} << copies_.size(); ++set) {
      PackedCopies kept;
      size_t bit = 0;
      for (const auto& copy : copies_) {
        if (set >> bit++ & 1) kept.insert(copy);
      }
      const Cost cost = cost_of(kept);
      if (cost.bytes > request_.packed_room_bytes || !(cost < least)) continue;
      least = cost;
      best = kept;
    }
    return best;
  }

  /// Refuses rows whose copy does not fit beside those of the chosen ones.
  void refuse_copies_without_room() {
    PackedCopies kept;
    for (const SelectionRow& row : rows_) {
      if (row.state != CandidateState::chosen) continue;
      if (const PackedWeights packed = packed_of(row); packed.bytes > 0) kept[packed.name] = copies_.at(packed.name);
    }
    int64_t taken = 0;
    for (const auto& [name, bytes] : kept) taken += bytes;
    for (SelectionRow& row : rows_) {
      if (row.refusal || has_copy(row, kept)) continue;
      const PackedWeights packed = packed_of(row);
      const int64_t bytes = copies_.at(packed.name);
      if (bytes <= request_.packed_room_bytes - taken) continue;
      std::ostringstream reason;
      reason << "needs " << bytes << " bytes for packed weights \"" << packed.name << "\" beside " << taken
             << " of the chosen ones, the memory plan has room for " << request_.packed_room_bytes;
      row.state = CandidateState::refused;
      row.refusal = Refusal{Refusal::Code::memory, reason.str()};
    }
  }

  const SelectionRequest& request_;
  size_t table_size_;
  std::vector<SelectionRow> rows_;
  PackedCopies copies_;  // that some row could use
};

/// "\n    name: refused (code): reason" of every row of a bucket.
std::string reasons_of(std::span<const SelectionRow> rows, int64_t num_tokens) {
  std::ostringstream text;
  for (const SelectionRow& row : rows) {
    if (row.num_tokens != num_tokens || !row.refusal) continue;
    text << "\n    " << row.backend->name << ": " << to_string(row.refusal->code) << ": " << row.refusal->reason;
  }
  return text.str();
}

/// What the aliases in a forced selection stand for, as a last line of its message.
std::string meaning_of(std::string_view forced) {
  const ForcedBackends names = parse_forced_backends(forced);
  std::string text;
  for (const std::string& name : {names.decode, names.prefill}) {
    const std::string_view meaning = alias_meaning(name);
    if (meaning.empty() || text.find("\"" + name + "\"") != std::string::npos) continue;
    text += "\n  \"" + name + "\" stands for " + std::string(meaning);
  }
  return text;
}

}  // namespace

std::string_view to_string(CandidateState state) {
  switch (state) {
    case CandidateState::chosen:
      return "chosen";
    case CandidateState::can_run:
      return "can_run";
    case CandidateState::refused:
      return "refused";
  }
  return "refused";
}

std::vector<SelectionRow> select_expert_backends(const SelectionRequest& request, const DeviceInfo& device,
                                                 std::span<const ExpertBackendEntry> table) {
  return Selector(request, device, table).select();
}

const SelectionRow* chosen_row(std::span<const SelectionRow> rows, int64_t num_tokens) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const SelectionRow& row) {
    return row.num_tokens == num_tokens && row.state == CandidateState::chosen;
  });
  return at == rows.end() ? nullptr : &*at;
}

void check_every_bucket_served(std::span<const SelectionRow> rows, std::string_view forced) {
  std::vector<std::pair<std::string, std::string>> failures;  // buckets that share the reasons, and the reasons
  int64_t last = -1;
  for (const SelectionRow& row : rows) {
    if (row.num_tokens == last) continue;
    last = row.num_tokens;
    if (chosen_row(rows, row.num_tokens) != nullptr) continue;
    const std::string reasons = reasons_of(rows, row.num_tokens);
    if (failures.empty() || failures.back().second != reasons) {
      failures.emplace_back(std::to_string(row.num_tokens), reasons);
    } else {
      failures.back().first += ", " + std::to_string(row.num_tokens);
    }
  }
  if (failures.empty()) return;
  std::ostringstream text;
  for (const auto& [buckets, reasons] : failures) text << "\n  T=" << buckets << ":" << reasons;
  fail(ErrorCode::unsupported, "--moe-runner-backend ", forced.empty() ? "auto" : forced,
       ": no backend that it names can serve these numbers of tokens; every backend says why:", text.str(),
       meaning_of(forced));
}

}  // namespace octet
