// tokenizer/normalizer.h — Unicode normalization before text is split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// The four normalization forms of Unicode Standard Annex 15, applied one after the other. Usually none or NFC.
class Normalizer {
 public:
  enum class Form { nfc, nfd, nfkc, nfkd };

  Normalizer() = default;
  explicit Normalizer(std::vector<Form> forms) : forms_(std::move(forms)) {}

  /// Normalizes well-formed UTF-8. Linear time, also in text made of combining marks.
  std::string apply(std::string_view text) const;

 private:
  std::vector<Form> forms_;
};

}  // namespace octet
