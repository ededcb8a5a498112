#include "sampling/stop_strings.h"

#include <algorithm>
#include <utility>

namespace octet {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& s) { return s.empty(); });
}

std::string StopStrings::push(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  // The stop string that is complete first counts, and of those that end there the longest: the text before it is
  // shown. So what is shown does not depend on how the text is split.
  size_t first = std::string::npos, end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = held_.find(stop);
    if (at == std::string::npos || std::pair(at + stop.size(), at) > std::pair(end, first)) continue;
    first = at;
    end = at + stop.size();
  }
  if (first != std::string::npos) {
    stopped_ = true;
    std::string shown = held_.substr(0, first);
    held_.clear();
    return shown;
  }
  // Hold back the longest end of the text that is a beginning of some stop string.
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > keep; --length) {
      if (held_.compare(held_.size() - length, length, stop, 0, length) == 0) keep = length;
    }
  }
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return shown;
}

std::string StopStrings::finish() {
  std::string rest;
  std::swap(rest, held_);
  return rest;
}

}  // namespace octet
