// engine/verify.h — proof that the paths of this build compute the same model: expert backends against the reference on
// loaded layers, and whole models against golden answers. docs/numerics.md says how a path is judged.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "engine/golden.h"
#include "engine/runner.h"

namespace octet {

/// An expert backend against the reference on loaded layers.
struct BackendCheck {
  std::string name;
  bool ok = false;
  double nmse = 0;     // largest over the layers tried
  std::string reason;  // why it is not ok, or why it cannot run here
};

/// A path of the whole model against the golden answers.
struct GoldenCheck {
  std::string path;     // "reference", "fast-replayed", "fast-free"
  double max_nmse = 0;  // of logits over prompts: reference against golden, fast paths against the reference
  double mean_nmse = 0;
  double max_score_nmse = 0;      // fast-replayed: of the scores that experts and keys are chosen by
  int64_t flips = 0;              // choices of experts or keys that differ from the reference's
  int64_t unexplained_flips = 0;  // ... whose margin in the reference is too large for rounding
  bool greedy_equal = false;      // greedy tokens equal the golden ones wherever the margin allows
  bool has_router = false;        // the golden file holds experts of prompt 0
  bool router_equal = false;      // experts of prompt 0 equal the golden ones, where the golden file holds them
  bool ok = false;
};

struct VerifyResult {
  bool ok = false;
  std::vector<BackendCheck> backends;
  std::vector<GoldenCheck> golden;
};

struct VerifyOptions {
  std::string golden_dir;      // empty: backends only
  std::string expert_backend;  // of the fast path; empty: by rule
  ProgressFn progress;
};

/// Throws as loading does. A disagreement is a result, not an error.
VerifyResult verify(const Checkpoint& checkpoint, ThreadPool& threads, const VerifyOptions& options);

}  // namespace octet
