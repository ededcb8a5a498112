#include "engine/runner.h"

#include "models/blocks.h"

namespace octet {
ModelRunner::ModelRunner(const Checkpoint& checkpoint, ThreadPool& threads, const RunnerOptions& options)
    : checkpoint_(checkpoint), threads_(threads), comm_(make_single_comm()) {
  DeviceInfo device = this_cpu();
  device.num_threads = threads.num_threads();
  const bool reference = options.numerics == NumericsClass::reference;
  ops_ = reference ? make_reference_ops(threads) : make_cpu_ops(threads, device);
  attention_ = reference ? make_reference_attention(threads) : make_cpu_attention(threads, device);
  const ModelOptions model_options{.ranks = comm_->layout(),
                                   .device = device,
                                   .numerics = options.numerics,
                                   .expert_backend = options.expert_backend,
                                   .check_scales = options.check_scales};
  model_ = load_model(checkpoint, model_options, threads, &notes_);
}

MemoryPlan ModelRunner::plan(const StepLimits& limits) const {
  int64_t packed = 0;
  for (const MoeBlock* block : model_->moe_blocks()) packed += block->packed_bytes;
  MemoryPlan plan;
  plan.lines.push_back({"weights (mapped)", checkpoint_.total_bytes()});
  plan.lines.push_back({"packed weights", packed});
  plan.lines.push_back({"kv cache", saturating_product(pages_for(limits.cache_tokens) * kPageTokens,
                                                       model_->kv_layout().bytes_per_token())});
  plan.lines.push_back({"activations", model_->activation_bytes(limits.max_tokens)});
  plan.lines.push_back({"logits", limits.max_logit_rows * model_->info().vocab * 4});
  return plan;
}

void ModelRunner::reserve(const StepLimits& limits) {
  OCTET_CHECK(!runtime_ && limits.cache_tokens > 0);
  limits_ = limits;
  plan_ = plan(limits);
  arena_ = std::make_unique<Arena>(model_->activation_bytes(limits.max_tokens));
  cache_ = std::make_unique<KvCache>(model_->kv_layout(), pages_for(limits.cache_tokens));
  const int64_t vocab = model_->info().vocab;
  logits_buffer_ = Buffer(limits.max_logit_rows * vocab * 4);
  logits_ = View2<float>(logits_buffer_.as<float>(), limits.max_logit_rows, vocab);
  runtime_ = std::make_unique<Runtime>(Runtime{.threads = threads_,
                                               .ops = *ops_,
                                               .attention = *attention_,
                                               .comm = *comm_,
                                               .arena = *arena_,
                                               .account = account_,
                                               .lines = StepLines(account_)});
}

std::vector<RowFault> ModelRunner::forward(const StepPlan& plan, StepObserver* observer) {
  const auto rows = static_cast<int64_t>(plan.logit_rows.size());
  OCTET_CHECK(runtime_ && plan.num_tokens() <= limits_.max_tokens && rows <= limits_.max_logit_rows);
  return model_->forward(*runtime_, plan, *cache_, logits_.slice(0, rows), observer);
}

}  // namespace octet
