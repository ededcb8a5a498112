// moe/experts/selection.h — which expert backends serve a layer: a pure function from a problem and a device to a
// table.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "moe/experts/experts.h"

namespace octet {

/// What a trial on a loaded layer found out about one backend for one token count.
struct BackendTrial {
  std::string_view name;
  int64_t num_tokens = 0;
  std::optional<double> measured_us;    // with caches cold; none if it was not timed
  std::optional<std::string> mismatch;  // how it disagreed with the reference
};

/// Everything that a selection depends on, besides the device and the table of backends.
struct SelectionRequest {
  MoeProblem problem;               // of each layer; its num_tokens is replaced bucket by bucket
  std::vector<int64_t> buckets{1};  // token counts to select for
  std::string forced;               // --moe-runner-backend: see moe/experts/names.h; empty: by rule
  int32_t num_layers = 1;           // layers of this kind: what a packed copy costs is counted in each
  int64_t packed_room_bytes = std::numeric_limits<int64_t>::max();  // for packed weights of all layers
  std::vector<BackendTrial> trials;
};

enum class CandidateState : uint8_t { chosen, can_run, refused };

/// "chosen", "can_run" or "refused".
std::string_view to_string(CandidateState state);

/// One backend for one token count.
struct SelectionRow {
  int64_t num_tokens = 0;
  const ExpertBackendEntry* backend = nullptr;
  CandidateState state = CandidateState::refused;
  std::optional<Refusal> refusal;  // exactly if refused
  double bound_us = 0;             // for one layer, at best
  std::optional<double> measured_us;
};

/// The selection table: for each bucket in turn, every backend in the order of `table`. Pure.
/// Refused are those that their own rules refuse, that `forced` leaves out, that a trial found to disagree with the
/// reference, and whose packed weights have no room beside those of the chosen ones. Of the rest the fastest of each
/// bucket is chosen: measured before unmeasured, by measured time or else by bound, table order within 3 %. Where
/// packed weights do not all fit, the set of copies to keep is the one that serves most buckets and slows them least.
/// Throws Error(bad_usage) if `forced` has no meaning; a bucket that nothing can serve is no error here.
std::vector<SelectionRow> select_expert_backends(const SelectionRequest& request, const DeviceInfo& device,
                                                 std::span<const ExpertBackendEntry> table = expert_backends());

/// The row chosen for a bucket; nullptr if there is none.
const SelectionRow* chosen_row(std::span<const SelectionRow> rows, int64_t num_tokens);

/// Throws Error(unsupported) that lists each bucket without a chosen backend with every backend's reason.
void check_every_bucket_served(std::span<const SelectionRow> rows, std::string_view forced);

}  // namespace octet
