// sampling/stop_strings.h — finding stop strings in streamed text, also where they are split over tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Takes an answer's text piece by piece and passes on what may be shown: nothing that is or may become part of a stop
/// string, and nothing after one.
class StopStrings {
 public:
  /// Empty strings are ignored.
  explicit StopStrings(std::vector<std::string> stops);

  /// Returns the text that may be shown now. After stopped() it is always empty.
  std::string push(std::string_view piece);
  /// Returns what was held back; at the end of an answer that did not stop.
  std::string finish();
  /// Whether a stop string has been seen. Text from its first character on is never shown.
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;  // not yet shown: it may be the beginning of a stop string
  bool stopped_ = false;
};

}  // namespace octet
