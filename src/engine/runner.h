// engine/runner.h — a loaded model with everything that it computes with: threads, kernels, cache and activation
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/memory_plan.h"
#include "models/model.h"

namespace octet {

struct RunnerOptions {
  NumericsClass numerics = NumericsClass::exact16;  // `reference`: plain loops in double; otherwise the fast path
  std::string expert_backend;                       // --moe-runner-backend; empty: by rule
  bool check_scales = true;                         // see ModelOptions
};

/// What steps may need at most; decides the memory plan.
struct StepLimits {
  int64_t max_tokens = 512;     // rows of one step
  int64_t max_logit_rows = 64;  // rows of one step whose logits are wanted
  int64_t cache_tokens = 0;     // capacity of the KV cache; rounded up to whole pages
};

class ModelRunner {
 public:
  /// Loads the model of an opened checkpoint. checkpoint and threads outlive the runner. Throws as load_model does.
  ModelRunner(const Checkpoint& checkpoint, ThreadPool& threads, const RunnerOptions& options);

  /// The memory plan for these limits; takes nothing.
  MemoryPlan plan(const StepLimits& limits) const;
  /// Takes the memory of plan(limits). Once, before the first step.
  void reserve(const StepLimits& limits);

  Model& model() { return *model_; }
  const Model& model() const { return *model_; }
  KvCache& cache() { return *cache_; }
  const MemoryPlan& memory_plan() const { return plan_; }  // of reserve()
  const LoadNotes& notes() const { return notes_; }
  Account& account() { return account_; }
  ThreadPool& threads() { return threads_; }

  /// Runs a step. logits()(i) then belongs to plan.logit_rows[i]. Returns rows whose results must not be used.
  std::vector<RowFault> forward(const StepPlan& plan, StepObserver* observer = nullptr);
  /// [max_logit_rows, V] of the last step.
  View2<const float> logits() const { return logits_; }

 private:
  const Checkpoint& checkpoint_;
  ThreadPool& threads_;
  StepLimits limits_;
  Account account_;
  LoadNotes notes_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<AttentionBackend> attention_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Model> model_;
  MemoryPlan plan_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<KvCache> cache_;
  Buffer logits_buffer_;
  View2<float> logits_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace octet
