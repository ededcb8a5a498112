// Quality figures of the bundled model against those of the Hugging Face implementation (specified single-chapter
// values).

#include "engine/evaluate.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/error_of.h"
#include "support/safetensors_writer.h"

namespace octet {
namespace {

constexpr const char* kModel = OCTET_SOURCE_DIR "/models/tiny-glm5-nvfp4";
constexpr const char* kHeldout = OCTET_SOURCE_DIR "/models/tiny-glm5-nvfp4/golden/heldout.jsonl";
constexpr const char* kQuiz = OCTET_SOURCE_DIR "/models/tiny-glm5-nvfp4/golden/quiz.jsonl";

/// Lines [first, first + count) of a file, in a file of their own.
std::string lines_of(const testing::TempFolder& folder, const std::string& path, int first, int count) {
  std::ifstream in(path);
  const std::string out_path = folder.path() + "/lines.jsonl";
  std::ofstream out(out_path);
  int number = 0;
  for (std::string line; std::getline(in, line); ++number) {
    if (number >= first && number < first + count) out << line << "\n";
  }
  return out_path;
}

TEST(EvaluateNll, FirstChaptersMatchTheirGoldenValues) {
  Engine engine({.model_dir = kModel, .max_running_requests = 4});
  const std::vector<double> golden = {6.771759, 5.334672, 4.930063, 3.810630, 5.215663, 4.873812};
  const testing::TempFolder folder;
  for (int chapter = 0; chapter < 6; ++chapter) {
    const std::string data = lines_of(folder, kHeldout, chapter, 1);
    EXPECT_NEAR(evaluate_nll(engine, data, 512, "[gMASK]<sop>", {}).mean_nll, golden[static_cast<size_t>(chapter)],
                1e-4);
  }
}

TEST(EvaluateNll, AllChaptersMatchOnTheReferencePathSlow) {
  Engine engine({.model_dir = kModel, .numerics = NumericsClass::reference, .max_running_requests = 4});
  const NllResult result = evaluate_nll(engine, kHeldout, 512, "[gMASK]<sop>", {});
  EXPECT_EQ(result.tokens, 22627);
  EXPECT_NEAR(result.mean_nll, 5.9425, 0.001);
}

TEST(EvaluateNll, AllChaptersMatchOnTheFastPathSlow) {
  Engine engine({.model_dir = kModel, .max_running_requests = 32});
  const NllResult result = evaluate_nll(engine, kHeldout, 512, "[gMASK]<sop>", {});
  EXPECT_EQ(result.tokens, 22627);
  EXPECT_NEAR(result.mean_nll, 5.9425, 0.001);  // the bar is 0.02
}

TEST(EvaluateAnswers, AFewQuestionsAreAnsweredExactly) {
  Engine engine({.model_dir = kModel, .max_running_requests = 32});
  const testing::TempFolder folder;
  const AnswersResult result = evaluate_answers(engine, lines_of(folder, kQuiz, 0, 24), 96, {});
  EXPECT_EQ(result.count, 24);
  EXPECT_GE(result.exact, 0.95);
}

TEST(EvaluateAnswers, TheWholeQuizIsAnsweredSlow) {
  Engine engine({.model_dir = kModel, .max_running_requests = 32});
  const AnswersResult result = evaluate_answers(engine, kQuiz, 96, {});
  EXPECT_EQ(result.count, 1000);
  EXPECT_GE(result.exact, 0.995);
}

TEST(Evaluate, BadLinesAreNamed) {
  Engine engine({.model_dir = kModel});
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/bad.jsonl";
  const auto error = [&](const std::string& content) {
    std::ofstream(path) << content;
    return testing::error_of(ErrorCode::bad_file, [&] { evaluate_nll(engine, path, 64, "", {}); });
  };
  EXPECT_TRUE(testing::contains(error("{\"text\": \"good\"}\n\n{\"texts\": 1}\n"), "bad.jsonl:3: expected"));
  EXPECT_TRUE(testing::contains(error("{\"text\": \"good\"}\n{\"text\": "), "bad.jsonl:2"));
  EXPECT_TRUE(testing::contains(error("\n"), "at least one line"));
}

}  // namespace
}  // namespace octet
