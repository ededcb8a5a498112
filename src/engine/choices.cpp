#include "engine/choices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/blocks.h"

namespace octet {
namespace {

/// Index score of every visible key, in double from this path's own queries and cached keys.
std::vector<float> index_scores(const KeyIndexer& indexer, const float* q, const float* head_weights,
                                const AttentionSpan& span, int64_t position) {
  const double scale = 1 / std::sqrt(static_cast<double>(indexer.num_heads) * static_cast<double>(indexer.head_dim));
  std::vector<float> scores;
  for (int64_t t = 0; t <= position; ++t) {
    const float* key = span.cache.row(t);
    double score = 0;
    for (int32_t h = 0; h < indexer.num_heads; ++h) {
      double product = 0;
      for (int64_t d = 0; d < indexer.head_dim; ++d) {
        product += static_cast<double>(q[h * indexer.head_dim + d]) * static_cast<double>(key[d]);
      }
      score += static_cast<double>(head_weights[h]) * std::max(product, 0.0);
    }
    scores.push_back(static_cast<float>(score * scale));
  }
  return scores;
}

/// Gap between the smallest chosen and the largest rejected score.
float selection_margin(const Choice& choice) {
  if (choice.chosen.size() == choice.scores.size()) return std::numeric_limits<float>::infinity();
  std::vector<bool> is_chosen(choice.scores.size(), false);
  for (const int32_t key : choice.chosen) is_chosen[static_cast<size_t>(key)] = true;
  float lowest = std::numeric_limits<float>::infinity(), best_rejected = -lowest;
  for (size_t t = 0; t < choice.scores.size(); ++t) {
    if (is_chosen[t]) {
      lowest = std::min(lowest, choice.scores[t]);
    } else {
      best_rejected = std::max(best_rejected, choice.scores[t]);
    }
  }
  return lowest - best_rejected;
}

/// Whether a flip at an earlier place of the computation can have reached (layer, position).
bool reachable(const std::vector<std::pair<int32_t, int64_t>>& flips, int32_t layer, int64_t position) {
  return std::any_of(flips.begin(), flips.end(),
                     [&](const auto& flip) { return flip.second <= position && flip.first < layer; });
}

}  // namespace

ChoiceRecorder::ChoiceRecorder(const Model& model) {
  for (const MoeBlock* block : model.moe_blocks()) routers_[block->layer] = &block->router;
}

bool ChoiceRecorder::routing(int32_t layer, View2<const float> logits, RoutingTable& table) {
  for (int64_t t = 0; t < logits.rows; ++t) {
    Choice choice{.scores = std::vector<float>(static_cast<size_t>(logits.cols))};
    choice.margin = choice_scores(*routers_.at(layer), logits.row(t), choice.scores);
    choice.chosen.assign(table.ids.begin() + t * table.top_k, table.ids.begin() + (t + 1) * table.top_k);
    std::sort(choice.chosen.begin(), choice.chosen.end());
    choices_.experts[layer].push_back(std::move(choice));
  }
  return false;
}

void ChoiceRecorder::selection(int32_t layer, const KeyIndexer& indexer, View2<const float> q,
                               View2<const float> head_weights, std::span<const AttentionSpan> spans,
                               KeySelection& selection) {
  OCTET_CHECK(spans.size() == 1 && spans[0].first_row == 0);  // one sequence
  for (int64_t t = 0; t < q.rows; ++t) {
    const int64_t position = spans[0].position + t;
    Choice choice{.scores = index_scores(indexer, q.row(t), head_weights.row(t), spans[0], position)};
    if (selection.all_keys) {
      for (int64_t key = 0; key <= position; ++key) choice.chosen.push_back(static_cast<int32_t>(key));
    } else {
      choice.chosen.assign(selection.keys.begin() + selection.offsets[static_cast<size_t>(t)],
                           selection.keys.begin() + selection.offsets[static_cast<size_t>(t) + 1]);
    }
    choice.margin = selection_margin(choice);
    choices_.keys[layer].push_back(std::move(choice));
  }
}

bool ChoiceReplayer::routing(int32_t layer, View2<const float> logits, RoutingTable& table) {
  const auto& recorded = choices().experts;
  const size_t first = recorded.count(layer) ? recorded.at(layer).size() : 0;
  ChoiceRecorder::routing(layer, logits, table);
  for (int64_t t = 0; t < logits.rows; ++t) {
    const std::vector<int32_t>& ids = followed_.experts.at(layer)[first + static_cast<size_t>(t)].chosen;
    std::copy(ids.begin(), ids.end(), table.ids.begin() + t * table.top_k);
  }
  return true;
}

void ChoiceReplayer::selection(int32_t layer, const KeyIndexer& indexer, View2<const float> q,
                               View2<const float> head_weights, std::span<const AttentionSpan> spans,
                               KeySelection& selection) {
  ChoiceRecorder::selection(layer, indexer, q, head_weights, spans, selection);
  if (selection.all_keys) return;
  selection.offsets.assign(1, 0);
  selection.keys.clear();
  for (int64_t t = 0; t < q.rows; ++t) {
    const std::vector<int32_t>& keys = followed_.keys.at(layer)[static_cast<size_t>(spans[0].position + t)].chosen;
    selection.keys.insert(selection.keys.end(), keys.begin(), keys.end());
    selection.offsets.push_back(static_cast<int64_t>(selection.keys.size()));
  }
}

ScoreErrors score_errors(const Choices& reference, const Choices& replayed) {
  ScoreErrors errors;
  const auto compare = [&](const std::map<int32_t, std::vector<Choice>>& a,
                           const std::map<int32_t, std::vector<Choice>>& b, std::map<int32_t, float>& largest) {
    for (const auto& [layer, rows] : a) {
      float& error = largest[layer];
      double squares = 0, norm = 0;
      for (size_t t = 0; t < rows.size(); ++t) {
        const std::vector<float>& other = b.at(layer)[t].scores;
        for (size_t i = 0; i < other.size(); ++i) {
          const double x = rows[t].scores[i], y = other[i];
          if (!std::isfinite(x) && x == y) continue;  // an expert of a dropped group on both sides
          error = std::max(error, static_cast<float>(std::abs(x - y)));
          squares += (x - y) * (x - y);
          norm += x * x;
        }
      }
      if (squares > 0) errors.nmse = std::max(errors.nmse, squares / norm);
    }
  };
  compare(reference.experts, replayed.experts, errors.experts);
  compare(reference.keys, replayed.keys, errors.keys);
  return errors;
}

Flips compare_choices(const Choices& reference, const Choices& free, const ScoreErrors& errors) {
  Flips flips;
  std::vector<std::pair<int32_t, int64_t>> places;  // (layer, position) of the flips so far
  const auto compare = [&](int32_t layer, const std::vector<Choice>& a, const std::vector<Choice>& b, float error) {
    std::vector<std::pair<int32_t, int64_t>> found;
    for (size_t t = 0; t < a.size(); ++t) {
      if (a[t].chosen == b[t].chosen) continue;
      const auto position = static_cast<int64_t>(t);
      ++flips.count;
      flips.first_position = std::min(flips.first_position, position);
      if (a[t].margin > 2 * error && !reachable(places, layer, position)) ++flips.unexplained;
      found.emplace_back(layer, position);
    }
    return found;
  };
  std::map<int32_t, bool> layers;
  for (const auto& entry : reference.experts) layers[entry.first] = true;
  for (const auto& entry : reference.keys) layers[entry.first] = true;
  for (const auto& [layer, unused] : layers) {
    // Keys are chosen before experts; a key flip of this layer reaches its router.
    if (reference.keys.count(layer)) {
      for (auto [l, p] : compare(layer, reference.keys.at(layer), free.keys.at(layer), errors.keys.at(layer))) {
        places.emplace_back(l - 1, p);
      }
    }
    if (reference.experts.count(layer)) {
      const auto found = compare(layer, reference.experts.at(layer), free.experts.at(layer), errors.experts.at(layer));
      places.insert(places.end(), found.begin(), found.end());
    }
  }
  return flips;
}

}  // namespace octet
