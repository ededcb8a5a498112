// checkpoint/weights.h — hands a checkpoint's tensors to a model family as canonical weights, in place.
//
// A family asks for every tensor that it uses by name and shape, and says which ones it knows and leaves out; finish()
// then reports all that is missing, misshapen or surplus in one message. How a tensor is stored is decided here, tensor
// by tensor, by what is there (docs/formats.md), so a family works for every format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/threads.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/load_report.h"
#include "numerics/weight.h"

namespace octet {

/// How the ranks of one model share a weight [N, K].
enum class Split : uint8_t {
  replicated,    // every rank holds all of it
  column_split,  // each rank computes N / ranks outputs: rows are sliced
  row_split,     // each rank takes K / ranks inputs: columns are sliced; rank 0 adds the bias
  expert_split,  // each rank holds E / ranks whole experts; of expert_linear only
};

enum class Bias : uint8_t { none, optional, required };

struct LinearOptions {
  std::string_view module_class = "other";  // for the inventory: "attention", "routed experts", ...
  Split split = Split::replicated;
  Bias bias = Bias::none;
};

/// One matrix of one routed expert, and where it lies if all experts are fused into one tensor [E, rows, K].
struct ExpertMatrix {
  std::string name;  // without ".weight": "model.layers.3.mlp.experts.17.up_proj"
  int32_t expert = 0;
  int32_t num_experts = 0;      // E, whole model
  std::string fused_name;       // "model.layers.3.mlp.experts.gate_up_proj"; empty: this family has no fused form
  int64_t fused_first_row = 0;  // first row of this matrix in its expert's part: 0 for gate, I for up
  int64_t fused_rows = 0;       // rows of one expert's part: 2I for gate and up together
};

/// Tensors of one kind, for `octet inspect`.
struct InventoryRow {
  std::string module_class;
  std::string format;  // "NVFP4", "BF16", ...; "-" for tensors that are left out
  int64_t tensors = 0;
  int64_t bytes = 0;  // in the files, whatever part this rank holds
};

/// Reads one model's weights for one rank. The checkpoint must outlive the table and every view taken from it.
class WeightTable {
 public:
  /// Tensors that no family uses (*.rotary_emb.inv_freq, *.k_scale, *.v_scale) are ignored from the start.
  explicit WeightTable(const Checkpoint& checkpoint, int32_t rank = 0, int32_t num_ranks = 1);

  const Checkpoint& checkpoint() const { return checkpoint_; }

  /// Whether a tensor (full name, with ".weight") is in the checkpoint. Marks nothing.
  bool has(std::string_view name) const { return checkpoint_.find(name) != nullptr; }

  /// This rank's part of a linear layer.
  /// name     without ".weight"
  /// n, k     of the whole layer: y[n] = Σ_k x[k] * w[n, k]
  /// Returns  a view into the checkpoint, of the part's shape. If the tensor is missing or wrong, an empty view of that
  ///          shape; finish() will report it.
  /// Throws   Error(unsupported) for a stored format that octet cannot read, Error(bad_shape) if the ranks do not
  ///          divide the layer.
  WeightView linear(const std::string& name, int64_t n, int64_t k, const LinearOptions& options = {});

  /// As linear(), for one matrix [n, k] of one routed expert, stored by itself or in a fused tensor.
  /// Under expert_split the view of another rank's expert is empty, with n = k = 0.
  WeightView expert_linear(const ExpertMatrix& matrix, int64_t n, int64_t k, const LinearOptions& options = {});

  /// A vector [n] of any plain type as floats: norms, biases. Empty if it is missing or wrong; finish() will report it.
  /// name     in full, with ".weight" or ".bias"
  std::vector<float> vector(const std::string& name, int64_t n, std::string_view module_class = "norms");

  /// Tensors whose full name matches a shell wildcard are known and left out: finish() does not call them surplus.
  void ignore(const std::string& pattern) { ignored_.push_back(pattern); }

  /// To be called once, after the last tensor was taken: throws one Error(bad_checkpoint) that lists every missing,
  /// misshapen and surplus tensor. Nothing but headers and global scales was read until then.
  void finish();

  /// After finish(): throws Error(bad_checkpoint) if a block scale of this rank is zero, negative or not a number.
  /// Cost     reads all block scales once, a ninth of NVFP4 weights. Prefetch first where the disk is slow.
  void check_scales(ThreadPool& pool);

  /// What was taken so far, in order of first use; after finish() also what was left out, as module class "unused".
  const std::vector<InventoryRow>& inventory() const { return inventory_; }

  /// What is odd but harmless, one sentence each: quantized tensors that the settings call unquantized.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Wanted;
  struct ScaledWeight {
    const CheckpointTensor* scales;
    WeightView view;
  };

  const CheckpointTensor* take(const std::string& name, const Wanted& wanted);
  WeightView whole_linear(const std::string& name, int64_t n, int64_t k, std::string_view module_class);
  WeightView nvfp4_linear(const std::string& name, int64_t n, int64_t k, std::string_view module_class);
  WeightView fused_linear(const ExpertMatrix& matrix, int64_t n, int64_t k, std::string_view module_class);
  void take_bias(const std::string& name, const LinearOptions& options, WeightView& w);
  void take_global_scale(const std::string& name, const Wanted& wanted, WeightView& w);
  WeightView rank_part(const std::string& name, const WeightView& w, Split split) const;
  WeightView queued(const std::string& name, const WeightView& part);
  void record(const CheckpointTensor& tensor, std::string_view module_class, std::string_view format);
  bool mark(const CheckpointTensor& tensor);
  void refuse_foreign_format(const std::string& name) const;

  const Checkpoint& checkpoint_;
  int32_t rank_;
  int32_t num_ranks_;
  std::vector<bool> taken_;  // by index into checkpoint_.tensors()
  std::vector<std::string> ignored_;
  std::vector<ScaledWeight> scaled_;  // whose block scales check_scales() looks at
  LoadReport report_;
  std::vector<InventoryRow> inventory_;
  std::vector<std::string> warnings_;
};

}  // namespace octet
