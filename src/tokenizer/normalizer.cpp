#include "tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/error.h"
#include "tokenizer/utf8.h"

namespace octet {
namespace {

constexpr int kLongestDecomposition = 32;  // code points; Unicode's longest is 18 (U+FDFA)

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

int combining_class(utf8proc_int32_t code_point) { return utf8proc_get_property(code_point)->combining_class; }

// Full decomposition without canonical order.
std::vector<utf8proc_int32_t> decompose(std::string_view text, bool compatibility) {
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> code_points;
  code_points.reserve(text.size());
  utf8proc_int32_t parts[kLongestDecomposition];
  while (!text.empty()) {
    const utf8::Step step = utf8::first_character(text);
    OCTET_CHECK(step.form == utf8::Form::whole);
    int boundary_class = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(step.code_point), parts,
                                               kLongestDecomposition, options, &boundary_class);
    OCTET_CHECK(count >= 0 && count <= kLongestDecomposition);
    code_points.insert(code_points.end(), parts, parts + count);
    text.remove_prefix(step.length);
  }
  return code_points;
}

// utf8proc's own ordering takes quadratic time in the length of a run of marks; a text can be one such run.
void order_marks(std::vector<utf8proc_int32_t>& code_points) {
  const auto is_starter = [](utf8proc_int32_t c) { return combining_class(c) == 0; };
  const auto is_mark = [](utf8proc_int32_t c) { return combining_class(c) != 0; };
  for (auto run = code_points.begin(); run != code_points.end();) {
    run = std::find_if(run, code_points.end(), is_mark);
    const auto end = std::find_if(run, code_points.end(), is_starter);
    std::stable_sort(run, end,
                     [](utf8proc_int32_t a, utf8proc_int32_t b) { return combining_class(a) < combining_class(b); });
    run = end;
  }
}

std::string normalize(std::string_view text, Normalizer::Form form) {
  const bool compatibility = form == Normalizer::Form::nfkc || form == Normalizer::Form::nfkd;
  const bool composed = form == Normalizer::Form::nfc || form == Normalizer::Form::nfkc;
  std::vector<utf8proc_int32_t> code_points = decompose(text, compatibility);
  order_marks(code_points);
  if (composed) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const auto size = static_cast<utf8proc_ssize_t>(code_points.size());
    const utf8proc_ssize_t new_size = utf8proc_normalize_utf32(code_points.data(), size, options);
    OCTET_CHECK(new_size >= 0 && new_size <= size);
    code_points.resize(static_cast<size_t>(new_size));
  }
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t c : code_points) utf8::append(static_cast<char32_t>(c), out);
  return out;
}

}  // namespace

std::string Normalizer::apply(std::string_view text) const {
  std::string result(text);
  if (is_ascii(text)) return result;  // every form leaves ASCII as it is
  for (const Form form : forms_) result = normalize(result, form);
  return result;
}

}  // namespace octet
