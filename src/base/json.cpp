#include "base/json.h"

#include <sys/stat.h>

#include <fstream>
#include <unordered_set>
#include <vector>

namespace octet {

void fail_json(ErrorCode code, std::string_view where, std::string_view reason) {
  // The library's text begins "[json.exception.parse_error.101] parse error at line 1, column 2: ...".
  if (const size_t end = reason.find("] "); end != std::string_view::npos) reason.remove_prefix(end + 2);
  fail(code, where, ": not valid JSON: ", reason, "; check that the file was fetched whole");
}

Json parse_json(std::string_view text, std::string_view where, ErrorCode code, JsonLimits limits) {
  std::vector<std::unordered_set<std::string>> keys;  // one set an open object or array
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        if (depth >= limits.max_depth) {
          fail(code, where, ": JSON is nested deeper than ", limits.max_depth,
               " levels, which no file of a model needs; check where it comes from");
        }
        keys.emplace_back();
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        keys.pop_back();
        break;
      case Json::parse_event_t::key:
        if (!keys.back().insert(parsed.get<std::string>()).second) {
          fail(code, where, ": key \"", parsed.get<std::string>(), "\" stands twice in one JSON object");
        }
        break;
      case Json::parse_event_t::value:
        break;
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& e) {
    fail_json(code, where, e.what());
  }
}

std::string read_text_file(const std::string& path, int64_t max_bytes) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    fail(ErrorCode::bad_file, path, ": no such file, or it cannot be read; check the path and its permissions");
  if (!S_ISREG(info.st_mode)) fail(ErrorCode::bad_file, path, ": expected a regular file, got a folder or a device");
  if (info.st_size > max_bytes) {
    fail(ErrorCode::bad_file, path, ": expected at most ", max_bytes, " bytes, got ", info.st_size);
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<size_t>(info.st_size), '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    fail(ErrorCode::bad_file, path, ": could not be read to its end");
  }
  return text;
}

}  // namespace octet
