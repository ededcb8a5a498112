#include "tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <optional>

#include "tokenizer/utf8.h"

namespace octet {
namespace {

using Behavior = PreTokenizer::Behavior;
using Split = PreTokenizer::Split;

struct Segment {
  size_t begin;
  size_t end;
  bool is_match;
};

std::optional<RegexSearch::Match> find(const Split& split, std::string_view piece, size_t from, RegexSearch& search) {
  if (const auto* regex = std::get_if<Regex>(&split.pattern)) return search.find(*regex, piece, from);
  const auto& literal = std::get<std::string>(split.pattern);
  const size_t begin = piece.find(literal, from);
  if (begin == std::string_view::npos) return std::nullopt;
  return RegexSearch::Match{begin, begin + literal.size()};
}

// Matches and gaps in order; empty matches are kept, since they end the gap before them.
void find_segments(const Split& split, std::string_view piece, RegexSearch& search, std::vector<Segment>& segments) {
  segments.clear();
  size_t gap_begin = 0;
  size_t from = 0;
  while (from <= piece.size()) {
    const auto match = find(split, piece, from, search);
    if (!match) break;
    const bool empty_after_match = match->begin == match->end && from != 0 && match->end == gap_begin &&
                                   !segments.empty() && segments.back().is_match != split.invert;
    if (!empty_after_match) {
      if (match->begin > gap_begin) segments.push_back({gap_begin, match->begin, split.invert});
      segments.push_back({match->begin, match->end, !split.invert});
      gap_begin = match->end;
    }
    from = match->end;
    if (match->begin == match->end) {
      if (from == piece.size()) break;
      from += utf8::first_character(piece.substr(from)).length;
    }
  }
  if (gap_begin < piece.size()) segments.push_back({gap_begin, piece.size(), split.invert});
}

// Whether `next` joins the segment before it.
bool joins(Behavior behavior, const Segment& previous, const Segment& next) {
  switch (behavior) {
    case Behavior::contiguous:
      return previous.is_match == next.is_match;
    case Behavior::merged_with_previous:
      return !previous.is_match && next.is_match;
    case Behavior::merged_with_next:
      return previous.is_match && !next.is_match;
    case Behavior::removed:
    case Behavior::isolated:
      return false;
  }
  return false;
}

void append_pieces(const Split& split, std::string_view piece, const std::vector<Segment>& segments,
                   std::vector<std::string_view>& out) {
  for (size_t i = 0; i < segments.size(); ++i) {
    const size_t begin = segments[i].begin;
    if (split.behavior == Behavior::removed && segments[i].is_match) continue;
    while (i + 1 < segments.size() && joins(split.behavior, segments[i], segments[i + 1])) ++i;
    if (segments[i].end > begin) out.push_back(piece.substr(begin, segments[i].end - begin));
  }
}

}  // namespace

Pieces PreTokenizer::split(std::string_view text, RegexSearch& search) const {
  Pieces pieces;
  if (!text.empty()) pieces.views.push_back(text);
  std::vector<std::string_view> next;
  std::vector<Segment> segments;
  for (const Step& step : steps_) {
    next.clear();
    for (const std::string_view piece : pieces.views) {
      if (const auto* split = std::get_if<Split>(&step)) {
        find_segments(*split, piece, search, segments);
        append_pieces(*split, piece, segments, next);
      } else if (piece.front() == ' ') {
        next.push_back(piece);
      } else {
        next.push_back(pieces.owned.emplace_back(" " + std::string(piece)));
      }
    }
    pieces.views.swap(next);
  }
  return pieces;
}

}  // namespace octet
