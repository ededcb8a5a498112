// engine/choices.h — the discrete choices of a forward pass over one sequence: which experts, which keys. Recorded from
// one path, replayed on another, compared between two (docs/numerics.md).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/model.h"
#include "models/observer.h"

namespace octet {

/// One choice of one row: what was chosen, and the scores that it was chosen by.
struct Choice {
  std::vector<int32_t> chosen;  // ascending
  std::vector<float> scores;    // of every candidate: experts, or keys 0..position
  float margin = 0;             // smallest change of scores that could change the choice
};

/// All choices of a sequence: [kind and layer][position].
struct Choices {
  std::map<int32_t, std::vector<Choice>> experts;  // by layer
  std::map<int32_t, std::vector<Choice>> keys;     // by layer; rows that chose all keys have an infinite margin
};

/// Records the choices of a path that runs one sequence, row after row.
class ChoiceRecorder : public StepObserver {
 public:
  /// The model's routers say how logits become choice scores.
  explicit ChoiceRecorder(const Model& model);

  bool routing(int32_t layer, View2<const float> logits, RoutingTable& table) override;
  void selection(int32_t layer, const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights,
                 std::span<const AttentionSpan> spans, KeySelection& selection) override;

  const Choices& choices() const { return choices_; }

 private:
  std::map<int32_t, const RouterOptions*> routers_;
  Choices choices_;
};

/// Records like a ChoiceRecorder, but makes the path follow another path's choices.
class ChoiceReplayer final : public ChoiceRecorder {
 public:
  ChoiceReplayer(const Model& model, const Choices& followed) : ChoiceRecorder(model), followed_(followed) {}

  bool routing(int32_t layer, View2<const float> logits, RoutingTable& table) override;
  void selection(int32_t layer, const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights,
                 std::span<const AttentionSpan> spans, KeySelection& selection) override;

 private:
  const Choices& followed_;
};

/// Differences of choice scores between two paths that made the same choices.
struct ScoreErrors {
  // Largest one, by layer. A choice whose margin is above twice this cannot flip for the difference's sake.
  std::map<int32_t, float> experts;
  std::map<int32_t, float> keys;
  // NMSE of a layer's scores, the largest of all layers: bounds what may be explained so.
  double nmse = 0;
};
ScoreErrors score_errors(const Choices& reference, const Choices& replayed);

/// How often a path that ran free chose otherwise than the reference.
struct Flips {
  int64_t count = 0;
  int64_t unexplained = 0;  // margin above twice the score error, and no flip before it that could have caused it
  bool before(int64_t position) const { return first_position <= position; }
  int64_t first_position = INT64_MAX;
};
Flips compare_choices(const Choices& reference, const Choices& free, const ScoreErrors& errors);

}  // namespace octet
