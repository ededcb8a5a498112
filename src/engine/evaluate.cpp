#include "engine/evaluate.h"

#include <algorithm>
#include <sstream>

#include "base/clock.h"

namespace octet {
namespace {

/// Strings of one line of a data set.
struct Line {
  std::string where;  // file:number
  std::vector<std::string> values;
};

/// The strings under `keys` of every line; blank lines are passed over.
std::vector<Line> read_lines(const std::string& path, const std::vector<std::string>& keys) {
  constexpr int64_t kMaxBytes = int64_t{4} << 30;
  std::istringstream text(read_text_file(path, kMaxBytes));
  std::vector<Line> rows;
  int64_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = path + ":" + std::to_string(number);
    const Json object = parse_json(line, where, ErrorCode::bad_file);
    Line row{.where = where};
    for (const std::string& key : keys) {
      if (!object.is_object() || !object.contains(key) || !object[key].is_string()) {
        fail(ErrorCode::bad_file, where, ": expected a JSON object with a string \"", key, "\"");
      }
      row.values.push_back(object[key].get<std::string>());
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) fail(ErrorCode::bad_file, path, ": expected at least one line of JSON, found none");
  return rows;
}

/// Runs all submitted requests to their end; each(event) sees every event.
void run_all(Engine& engine, int64_t total, const ProgressFn& progress, const std::function<void(const Event&)>& each) {
  int64_t finished = 0;
  while (engine.step()) {
    for (const Event& event : engine.poll()) {
      if (event.finish == FinishReason::error) {
        fail(ErrorCode::bad_numerics, "one of the texts could not be computed: ", event.error);
      }
      each(event);
      if (event.finish && progress) progress(++finished, total);
    }
  }
}

std::string trimmed(const std::string& text) {
  const char* const space = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(space);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

}  // namespace

NllResult evaluate_nll(Engine& engine, const std::string& data_path, int64_t max_context, const std::string& prefix,
                       const ProgressFn& progress) {
  if (max_context < 2 || max_context > engine.context_length()) {
    fail(ErrorCode::bad_usage, "--max-context: expected from 2 to the context of ", engine.context_length(),
         " tokens, got ", max_context);
  }
  const std::vector<Line> rows = read_lines(data_path, {"text"});
  const std::vector<TokenId> prefix_ids = engine.tokenizer().encode(prefix);
  if (static_cast<int64_t>(prefix_ids.size()) >= max_context) {
    fail(ErrorCode::bad_usage, "--prefix has ", prefix_ids.size(), " tokens; --max-context ", max_context,
         " leaves none for the texts");
  }
  NllResult result;
  int64_t submitted = 0;
  for (const Line& row : rows) {
    std::vector<TokenId> ids = prefix_ids;
    const std::vector<TokenId> text = engine.tokenizer().encode(row.values[0], {.match_special_tokens = false});
    ids.insert(ids.end(), text.begin(), text.end());
    if (static_cast<int64_t>(ids.size()) > max_context) ids.resize(static_cast<size_t>(max_context));
    if (ids.size() < 2) continue;  // nothing to predict
    result.tokens += static_cast<int64_t>(ids.size()) - 1;
    engine.submit({.prompt = std::move(ids), .score_prompt = true});
    ++submitted;
  }
  if (result.tokens == 0) {
    fail(ErrorCode::bad_file, data_path, ": expected texts of which something can be predicted, all are empty");
  }
  const Stopwatch watch;
  double sum = 0;
  run_all(engine, submitted, progress, [&](const Event& event) { sum += event.prompt_nll; });
  result.mean_nll = sum / static_cast<double>(result.tokens);
  result.tokens_per_s = static_cast<double>(result.tokens) / watch.seconds();
  return result;
}

AnswersResult evaluate_answers(Engine& engine, const std::string& data_path, int64_t max_tokens,
                               const ProgressFn& progress) {
  const std::vector<Line> rows = read_lines(data_path, {"question", "answer"});
  std::unordered_map<RequestId, size_t> row_of;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string prompt =
        engine.chat_template().render({ChatMessage{.role = "user", .content = rows[i].values[0]}});
    Request request{.prompt = engine.tokenizer().encode(prompt), .max_tokens = max_tokens};
    request.sampling.temperature = 0;
    try {
      row_of[engine.submit(std::move(request))] = i;
    } catch (const Error& e) {
      fail(e.code(), rows[i].where, ": ", e.what());
    }
  }
  const Stopwatch watch;
  std::vector<std::string> answers(rows.size());
  int64_t tokens = 0, exact = 0;
  run_all(engine, static_cast<int64_t>(rows.size()), progress, [&](const Event& event) {
    answers[row_of.at(event.request)] += event.text;
    if (event.sample) ++tokens;
  });
  for (size_t i = 0; i < rows.size(); ++i) {
    if (trimmed(answers[i]) == trimmed(rows[i].values[1])) ++exact;
  }
  const auto count = static_cast<double>(rows.size());
  return {.exact = static_cast<double>(exact) / count,
          .count = static_cast<int64_t>(rows.size()),
          .mean_tokens = static_cast<double>(tokens) / count,
          .tokens_per_s = static_cast<double>(tokens) / watch.seconds()};
}

}  // namespace octet
