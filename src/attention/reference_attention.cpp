// The definition of attention: keys and values are expanded from the cache, scores are plain dot products, the softmax
// is the textbook one, and everything is summed in double.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/attention.h"
#include "numerics/dequantize.h"

namespace octet {
namespace {

double dot(const double* a, const float* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * static_cast<double>(b[i]);
  return sum;
}

double dot(const float* a, const float* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// Turns scores into weights that sum to 1.
void softmax(std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
}

/// The keys that a row may see: its selection, or every position from `first` to `last`.
std::vector<int32_t> visible_keys(const KeySelection& selection, int64_t row, int64_t first, int64_t last) {
  if (!selection.all_keys) {
    const auto t = static_cast<size_t>(row);
    return {selection.keys.begin() + selection.offsets[t], selection.keys.begin() + selection.offsets[t + 1]};
  }
  std::vector<int32_t> keys;
  for (int64_t key = first; key <= last; ++key) keys.push_back(static_cast<int32_t>(key));
  return keys;
}

class ReferenceAttention final : public AttentionBackend {
 public:
  explicit ReferenceAttention(ThreadPool& threads) : threads_(threads) {}

  std::string_view name() const override { return "reference"; }

  void latent(const LatentAttention& a, View2<const float> q, std::span<const AttentionSpan> spans,
              const KeySelection& selection, View2<float> out) override {
    threads_.for_chunks(a.num_heads, 1, [&](int64_t head, int64_t) {
      const std::vector<double> kv_b = expand_head(a, head);  // [nope + value, latent]
      for (const AttentionSpan& span : spans) latent_head(a, head, kv_b, q, span, selection, out);
    });
  }

  void grouped(const GroupedAttention& a, View2<const float> q, std::span<const AttentionSpan> spans,
               View2<float> out) override {
    const int64_t values = a.num_kv_heads * a.head_dim;  // where a cache row's values begin
    threads_.for_chunks(a.num_q_heads, 1, [&](int64_t head, int64_t) {
      const int64_t kv = head / (a.num_q_heads / a.num_kv_heads) * a.head_dim;
      for (const AttentionSpan& span : spans) {
        for (int64_t i = 0; i < span.query_len; ++i) {
          const int64_t position = span.position + i;
          const int64_t first = a.window > 0 ? std::max<int64_t>(0, position - a.window + 1) : 0;
          const float* query = q.row(span.first_row + i) + head * a.head_dim;
          std::vector<double> p;
          for (int64_t t = first; t <= position; ++t) {
            p.push_back(static_cast<double>(a.scale) * dot(query, span.cache.row(t) + kv, a.head_dim));
          }
          softmax(p);
          for (int64_t d = 0; d < a.head_dim; ++d) {
            double sum = 0;
            for (int64_t t = first; t <= position; ++t) {
              sum += p[static_cast<size_t>(t - first)] * static_cast<double>(span.cache.row(t)[values + kv + d]);
            }
            out(span.first_row + i, head * a.head_dim + d) = static_cast<float>(sum);
          }
        }
      }
    });
  }

  void select_keys(const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights,
                   std::span<const AttentionSpan> spans, KeySelection& selection,
                   std::vector<float>* margins) override {
    selection = {};
    selection.all_keys = std::all_of(spans.begin(), spans.end(), [&](const AttentionSpan& span) {
      return span.position + span.query_len <= indexer.top_k;
    });
    if (margins) margins->assign(static_cast<size_t>(q.rows), std::numeric_limits<float>::infinity());
    if (selection.all_keys) return;
    std::vector<std::vector<int32_t>> chosen(static_cast<size_t>(q.rows));
    for (const AttentionSpan& span : spans) {
      threads_.for_chunks(span.query_len, 1, [&](int64_t i, int64_t) {
        const auto row = static_cast<size_t>(span.first_row + i);
        chosen[row] = choose(indexer, q.row(span.first_row + i), head_weights.row(span.first_row + i), span,
                             span.position + i, margins ? &(*margins)[row] : nullptr);
      });
    }
    selection.offsets.push_back(0);
    for (const std::vector<int32_t>& keys : chosen) {
      selection.keys.insert(selection.keys.end(), keys.begin(), keys.end());
      selection.offsets.push_back(static_cast<int64_t>(selection.keys.size()));
    }
  }

 private:
  static std::vector<double> expand_head(const LatentAttention& a, int64_t head) {
    const int64_t rows = a.nope + a.value;
    std::vector<double> kv_b(static_cast<size_t>(rows * a.latent));
    for (int64_t r = 0; r < rows; ++r) dequantize_row(a.kv_b, head * rows + r, kv_b.data() + r * a.latent);
    return kv_b;
  }

  static void latent_head(const LatentAttention& a, int64_t head, const std::vector<double>& kv_b, View2<const float> q,
                          const AttentionSpan& span, const KeySelection& selection, View2<float> out) {
    // [k_nope_h,t ; v_h,t] = kv_b_h c_t for every cached position of the sequence.
    const int64_t rows = a.nope + a.value;
    const int64_t context = span.position + span.query_len;
    std::vector<double> kv(static_cast<size_t>(context * rows));
    for (int64_t t = 0; t < context; ++t) {
      const float* c = span.cache.row(t);
      for (int64_t r = 0; r < rows; ++r)
        kv[static_cast<size_t>(t * rows + r)] = dot(&kv_b[static_cast<size_t>(r * a.latent)], c, a.latent);
    }
    for (int64_t i = 0; i < span.query_len; ++i) {
      const float* query = q.row(span.first_row + i) + head * (a.nope + a.rope);
      const std::vector<int32_t> keys = visible_keys(selection, span.first_row + i, 0, span.position + i);
      std::vector<double> p;
      for (const int32_t t : keys) {
        const double content = dot(&kv[static_cast<size_t>(t * rows)], query, a.nope);
        const double place = dot(query + a.nope, span.cache.row(t) + a.latent, a.rope);
        p.push_back(static_cast<double>(a.scale) * (content + place));
      }
      softmax(p);
      for (int64_t d = 0; d < a.value; ++d) {
        double sum = 0;
        for (size_t j = 0; j < keys.size(); ++j) sum += p[j] * kv[static_cast<size_t>(keys[j] * rows + a.nope + d)];
        out(span.first_row + i, head * a.value + d) = static_cast<float>(sum);
      }
    }
  }

  /// The min(top_k, position + 1) best keys, ascending; equal scores: the lower key wins.
  static std::vector<int32_t> choose(const KeyIndexer& indexer, const float* q, const float* head_weights,
                                     const AttentionSpan& span, int64_t position, float* margin) {
    const double scale =
        1.0 / std::sqrt(static_cast<double>(indexer.num_heads) * static_cast<double>(indexer.head_dim));
    std::vector<double> scores;
    std::vector<int32_t> order;
    for (int64_t t = 0; t <= position; ++t) {
      double score = 0;
      for (int32_t h = 0; h < indexer.num_heads; ++h) {
        const double product = dot(q + h * indexer.head_dim, span.cache.row(t), indexer.head_dim);
        score += static_cast<double>(head_weights[h]) * std::max(product, 0.0);
      }
      scores.push_back(score * scale);
      order.push_back(static_cast<int32_t>(t));
    }
    const auto count = static_cast<size_t>(std::min(indexer.top_k, position + 1));
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
    });
    if (margin && count < order.size()) {
      *margin =
          static_cast<float>(scores[static_cast<size_t>(order[count - 1])] - scores[static_cast<size_t>(order[count])]);
    }
    order.resize(count);
    std::sort(order.begin(), order.end());
    return order;
  }

  ThreadPool& threads_;
};

}  // namespace

std::unique_ptr<AttentionBackend> make_reference_attention(ThreadPool& threads) {
  return std::make_unique<ReferenceAttention>(threads);
}

}  // namespace octet
