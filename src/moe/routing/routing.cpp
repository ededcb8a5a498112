#include "moe/routing/routing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace octet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Indices of the `count` largest values, best first; equal values: the lower index first.
std::vector<int32_t> largest(std::span<const float> values, int32_t count) {
  std::vector<int32_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int32_t a, int32_t b) {
    const float x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  order.resize(static_cast<size_t>(count));
  return order;
}

/// What weights are made from: sigmoid of each logit, or the softmax over all experts.
void score(RouterOptions::Scoring scoring, const float* logits, std::span<float> scores) {
  const auto count = scores.size();
  if (scoring == RouterOptions::Scoring::sigmoid) {
    for (size_t e = 0; e < count; ++e) {
      scores[e] = static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(logits[e]))));
    }
    return;
  }
  const double top = *std::max_element(logits, logits + count);
  double sum = 0;
  for (size_t e = 0; e < count; ++e) sum += std::exp(static_cast<double>(logits[e]) - top);
  for (size_t e = 0; e < count; ++e) {
    scores[e] = static_cast<float>(std::exp(static_cast<double>(logits[e]) - top) / sum);
  }
}

/// A group's value is the sum of its two largest choice scores.
std::vector<float> group_values(const RouterOptions& options, std::span<const float> choice) {
  const int32_t width = options.num_experts / options.num_groups;
  std::vector<float> values;
  for (int32_t group = 0; group < options.num_groups; ++group) {
    const auto members = choice.subspan(static_cast<size_t>(group * width), static_cast<size_t>(width));
    float sum = 0;
    for (const int32_t e : largest(members, std::min(2, width))) sum += members[static_cast<size_t>(e)];
    values.push_back(sum);
  }
  return values;
}

/// Gap between the last of the `count` best values and the best of the rest.
float gap(std::span<const float> values, int32_t count) {
  if (count >= static_cast<int32_t>(values.size())) return kInfinity;
  const std::vector<int32_t> best = largest(values, count + 1);
  return values[static_cast<size_t>(best[static_cast<size_t>(count) - 1])] -
         values[static_cast<size_t>(best[static_cast<size_t>(count)])];
}

/// -infinity for the experts of all but the best groups.
void drop_groups(const RouterOptions& options, std::span<float> choice) {
  if (options.num_groups <= 1) return;
  std::vector<bool> kept(static_cast<size_t>(options.num_groups), false);
  for (const int32_t group : largest(group_values(options, choice), options.top_groups)) {
    kept[static_cast<size_t>(group)] = true;
  }
  const int32_t width = options.num_experts / options.num_groups;
  for (int32_t e = 0; e < options.num_experts; ++e) {
    if (!kept[static_cast<size_t>(e / width)]) choice[static_cast<size_t>(e)] = -kInfinity;
  }
}

/// score + correction of every expert.
void choice_values(const RouterOptions& options, const float* logits, std::span<float> choice) {
  score(options.scoring, logits, choice);
  for (size_t e = 0; e < options.correction.size(); ++e) choice[e] += options.correction[e];
}

}  // namespace

float choice_scores(const RouterOptions& options, const float* logits, std::span<float> scores) {
  choice_values(options, logits, scores);
  float groups = kInfinity;
  if (options.num_groups > 1)
    groups = gap(group_values(options, scores), options.top_groups) / 2;  // sums of two scores
  drop_groups(options, scores);
  return std::min(groups, gap(scores, options.top_k));
}

std::vector<int64_t> route(const RouterOptions& options, View2<const float> logits, std::span<const uint8_t> is_padding,
                           RoutingTable& table) {
  OCTET_CHECK(logits.cols == options.num_experts && options.top_k <= options.num_experts);
  const auto top_k = static_cast<size_t>(options.top_k);
  table.top_k = options.top_k;
  table.ids.assign(static_cast<size_t>(logits.rows) * top_k, -1);
  table.weights.assign(static_cast<size_t>(logits.rows) * top_k, 0.0f);
  std::vector<int64_t> bad_rows;
  std::vector<float> choice(static_cast<size_t>(options.num_experts));
  for (int64_t t = 0; t < logits.rows; ++t) {
    if (!is_padding.empty() && is_padding[static_cast<size_t>(t)]) continue;
    const float* row = logits.row(t);
    if (!std::all_of(row, row + options.num_experts, [](float v) { return std::isfinite(v); })) {
      bad_rows.push_back(t);
      continue;
    }
    choice_values(options, row, choice);
    drop_groups(options, choice);
    const std::vector<int32_t> chosen = largest(choice, options.top_k);
    std::copy(chosen.begin(), chosen.end(), table.ids.begin() + t * options.top_k);
  }
  weigh(options, logits, table);
  return bad_rows;
}

void weigh(const RouterOptions& options, View2<const float> logits, RoutingTable& table) {
  const auto top_k = static_cast<size_t>(table.top_k);
  std::vector<float> scores(static_cast<size_t>(options.num_experts));
  for (int64_t t = 0; t < logits.rows; ++t) {
    const std::span<const int32_t> ids = std::span(table.ids).subspan(static_cast<size_t>(t) * top_k, top_k);
    if (ids.empty() || ids.front() < 0) continue;
    score(options.scoring, logits.row(t), scores);
    double sum = 0;
    for (const int32_t e : ids) sum += static_cast<double>(scores[static_cast<size_t>(e)]);
    if (!options.normalize) {
      sum = 1;
    } else if (options.scoring == RouterOptions::Scoring::sigmoid) {
      sum += 1e-20;  // as published: keeps all-zero scores from dividing by zero
    }
    for (size_t a = 0; a < top_k; ++a) {
      const double weight = static_cast<double>(scores[static_cast<size_t>(ids[a])]) / sum;
      table.weights[static_cast<size_t>(t) * top_k + a] =
          static_cast<float>(weight * static_cast<double>(options.scale));
    }
  }
}

int64_t distinct_experts(const RoutingTable& table, int32_t num_experts) {
  std::vector<bool> seen(static_cast<size_t>(num_experts), false);
  for (const int32_t id : table.ids) {
    if (id >= 0) seen[static_cast<size_t>(id)] = true;
  }
  return std::count(seen.begin(), seen.end(), true);
}

}  // namespace octet
