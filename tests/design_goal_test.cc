// End-to-end tests of `weft design --goal`: its designs simulated again by hand, its exit codes, wrong input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/test_places.h"
#include "program.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using testing_program::contents;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::Words;

const std::string kGoal = "train llama-3.1-8b on 300B tokens in 12 days";

class DesignGoalTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() { make_folder("design_goal"); }

  static Outcome weft(Words words) {
    words.insert(words.begin(), weft_binary());
    return run(words);
  }
  static Outcome design(Words words) {
    words.insert(words.begin(), {"design", "--goal", kGoal, "--gpu", "h100-sxm", "--network", "ethernet"});
    return weft(words);
  }
  static std::string in_folder(const std::string& name) { return (folder_ / name).string(); }
};

// Each design of the front, played again by `weft twin run` on the files that were written, takes exactly as long.
TEST_F(DesignGoalTest, DesignsOfTheFrontAreReproducedByHand) {
  const Outcome outcome = design({"--fault-rate", "20", "--seeds", "5,6", "--designs", in_folder("front"), "--page",
                                  in_folder("front.html"), "-o", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json result = Json::parse(outcome.out, nullptr, false);
  const Json& front = result.at("front");
  ASSERT_FALSE(front.empty());
  for (const Json& point : front) {
    const std::string base = in_folder("front") + "/" + point.at("point").get<std::string>();
    double days = 0;
    for (const char* seed : {"5", "6"}) {
      const Outcome again = weft({"twin", "run", base + ".cluster.yaml", "--job", base + ".job.yaml", "--fault-rate",
                                  "20", "--seed", seed, "-o", "json"});
      ASSERT_EQ(again.code, 0) << again.err;
      const Json run = Json::parse(again.out, nullptr, false);
      const Json& job = run.at("jobs").at(0);
      ASSERT_EQ(job.at("state"), "done") << job.dump(2);
      days += job.at("ended_s").get<double>() / 86'400 / 2;
    }
    EXPECT_NEAR(days, point.at("days").get<double>(), 1e-6) << point.dump(2);
  }
  EXPECT_THAT(contents(in_folder("front.html")), HasSubstr("Content-Security-Policy"));
  // Edited files are not overwritten.
  testing_program::put(in_folder("front") + "/A.job.yaml", "job: 1\n");
  EXPECT_EQ(design({"--fault-rate", "20", "--seeds", "1", "--designs", in_folder("front")}).code, 4);
}

TEST_F(DesignGoalTest, AGoalThatCannotBeMetIsAFinding) {
  const Outcome outcome = design({"--max-power", "62kW", "--seeds", "1"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("No design meets the goal"));
  EXPECT_THAT(outcome.out, HasSubstr("late"));
}

TEST_F(DesignGoalTest, SeveralGpusAreCompared) {
  const Outcome outcome = weft({"design", "--goal", kGoal, "--gpu", "h100-sxm, h200-sxm", "--network", "ethernet",
                                "--seeds", "1", "-o", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json result = Json::parse(outcome.out, nullptr, false);
  ASSERT_EQ(result.at("platforms").size(), 2U);
  EXPECT_EQ(result.at("platforms").at(0).at("gpu"), "h100-sxm");
  EXPECT_EQ(result.at("platforms").at(1).at("gpu"), "h200-sxm");
}

TEST_F(DesignGoalTest, AJobFileGivesTheModel) {
  const std::string job = file("tiny.job.yaml",
                               "job: 1\nname: tiny\ntraining:\n  sequence: 4096\n  framework: compiled\n  dimensions: "
                               "{layers: 24, hidden: 2048, heads: 16, ffn: 5632, vocab: 32000}\n");
  const Outcome outcome = weft({"design", "--goal", "train " + job + " on 50B tokens in 5 days", "--gpu", "h100-sxm",
                                "--network", "ethernet", "--seeds", "1", "--designs", in_folder("tiny")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string written = contents(in_folder("tiny") + "/A.job.yaml");
  EXPECT_THAT(written, HasSubstr("framework: compiled"));
  EXPECT_THAT(written, HasSubstr("hidden: 2048"));
}

TEST_F(DesignGoalTest, WrongInputIsNamed) {
  const std::pair<Words, const char*> wrong[] = {
      {{"design", "--goal", "make it fast"}, "a goal begins with `train`"},
      {{"design", "--goal", "train llama-3.1-9b on 1T tokens in 9 days"}, "did you mean `llama-3.1-8b`"},
      {{"design", "--goal", kGoal, "--gpus", "64"}, "mutually exclusive"},
      {{"design", "--goal", kGoal, "--max-cost", "5"}, "--max-cost needs prices"},
      {{"design", "--goal", kGoal, "--max-power", "lots"}, "--max-power"},
      {{"design", "--goal", kGoal, "--gpu", "h100-sxn"}, "h100-sxm"},
      {{"design", "--goal", kGoal, "--profile", "split"}, "--profile split"},
      {{"design", "--goal", kGoal, "--seeds", "1,1"}, "given twice"},
      {{"design", "--goal", kGoal, "--interval", "0s"}, "--interval"},
      {{"design", "--goal", "train nowhere.yaml on 1T tokens in 9 days"}, "nowhere.yaml"},
      {{"design", "--gpus", "64", "--max-power", "5MW"}, "applies to a search with --goal"},
  };
  for (const auto& [words, why] : wrong) {
    const Outcome outcome = weft(words);
    EXPECT_EQ(outcome.code, 2) << why << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(why));
    EXPECT_EQ(outcome.out, "");
  }
  const std::string job = file("wrong.yaml", "job: 1\nname: x\n");
  EXPECT_EQ(weft({"design", "--goal", "train " + job + " on 1T tokens in 9 days"}).code, 2);
}

}  // namespace
}  // namespace weft
