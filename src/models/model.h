// models/model.h — a loaded model: from a step plan and a cache to logits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "base/account.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weights.h"
#include "dist/comm.h"
#include "kernels/ops.h"
#include "kv_cache/kv_cache.h"
#include "kv_cache/step_plan.h"
#include "models/observer.h"
#include "moe/experts/experts.h"
#include "tensor/buffer.h"

namespace octet {

/// Lines of the step account that every family charges its operations to.
struct StepLines {
  explicit StepLines(Account& account);
  LineId embedding, norms, attention_projections, indexer, attention, router, experts, shared_experts, dense_mlp,
      lm_head;
};

/// What a forward pass computes with. Everything is owned by the engine and outlives the model.
struct Runtime {
  ThreadPool& threads;
  Ops& ops;
  AttentionBackend& attention;
  Comm& comm;
  Arena& arena;
  Account& account;
  StepLines lines;
};

struct MoeBlock;

/// What other parts of octet may know about a model.
struct ModelInfo {
  std::string family;  // "glm_moe_dsa"
  int64_t vocab = 0;   // V  rows of the LM head; ids beyond the tokenizer's are padding
  int64_t hidden = 0;  // H
  int32_t num_layers = 0;
  int64_t max_positions = 0;  // longest context
  MoeProblem moe;             // of the first sparse layer, with one token; num_experts 0: no sparse layer
};

/// A row whose result must not be used: its request fails, the others go on.
struct RowFault {
  int64_t row = 0;
  std::string reason;  // names layer and backend
};

/// How to load a model.
struct ModelOptions {
  RankLayout ranks;
  DeviceInfo device;
  NumericsClass numerics = NumericsClass::exact16;
  std::string expert_backend;  // name or alias; empty or "auto": chosen
  bool check_scales = true;    // read all block scales once and refuse bad ones
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  virtual KvLayout kv_layout() const = 0;
  /// Arena bytes that forward() needs for a step of up to num_tokens rows.
  virtual int64_t activation_bytes(int64_t num_tokens) const = 0;
  /// The routed-expert blocks, in layer order; empty without sparse layers.
  virtual std::vector<const MoeBlock*> moe_blocks() const = 0;

  /// Runs one step: writes the cache rows of every row of the plan, and logits [plan.logit_rows, V].
  /// Returns the rows with NaN or infinity; their logits are meaningless.
  virtual std::vector<RowFault> forward(Runtime& rt, const StepPlan& plan, KvCache& cache, View2<float> logits,
                                        StepObserver* observer) = 0;
};

/// What loading found out beside the weights.
struct LoadNotes {
  std::vector<InventoryRow> inventory;
  std::vector<std::string> warnings;
};

/// Loads the model that config.json of the checkpoint describes; the checkpoint must outlive it.
/// threads  check the weights' scales and repack weights
/// notes    filled if not null
/// Throws   Error(unsupported) with the list of families, or Error(bad_config / bad_checkpoint)
std::unique_ptr<Model> load_model(const Checkpoint& checkpoint, const ModelOptions& options, ThreadPool& threads,
                                  LoadNotes* notes = nullptr);

}  // namespace octet
