#include "cli/sim/sweep_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <filesystem>

#include "base/file.h"
#include "base/test_places.h"
#include "cli/sim/sweep_engines.h"
#include "workload/sweep/results.h"

namespace weft::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using world::ArrayTask;

// Answers lists in order; the last one is repeated.
class FakeArrays final : public world::JobArrays {
 public:
  Result<std::vector<ArrayTask>> list(const std::string& name) override {
    names.push_back(name);
    Result<std::vector<ArrayTask>> answer = lists.front();
    if (lists.size() > 1) lists.pop_front();
    return answer;
  }
  Result<std::uint32_t> submit(const std::string& script) override {
    scripts.push_back(script);
    if (refusal) return *refusal;
    return 17;
  }

  std::deque<Result<std::vector<ArrayTask>>> lists;
  std::vector<std::string> names;
  std::vector<std::string> scripts;
  std::optional<Error> refusal;
};

std::vector<ArrayTask> tasks(std::initializer_list<const char*> states, std::uint32_t job = 17) {
  std::vector<ArrayTask> all;
  for (const char* state : states) all.push_back({job, all.size(), state, "Resources"});
  return all;
}

class SweepArrayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/weft_sweep_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    hooks_.note = [this](const std::string& text) { notes_.push_back(text); };
    hooks_.progress = [this](const ArrayProgress& now) { progress_.push_back(now); };
    hooks_.wait = [this](Duration) {
      ++waits_;
      for (; !write_.empty() && write_.front().first <= waits_; write_.pop_front()) finish(write_.front().second);
      return waits_ < interrupt_at_;
    };
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static workload::Sweep sweep() {
    const std::string examples = source_dir() + "/examples/";
    workload::SweepFiles files{"pod16.yaml", *read_file(examples + "pod16.yaml"), "train.job.yaml",
                               *read_file(examples + "train.job.yaml")};
    return *workload::Sweep::make(files, {*workload::parse_sweep_axis("job.training.parallel.tensor=1,2,4,8")});
  }
  [[nodiscard]] std::string results() const { return (folder_ / "sweep.ndjson").string(); }
  void finish(std::uint64_t point) const {
    const Error reason{ErrorCode::invalid_input, "not simulated in this test", {}};
    ASSERT_TRUE(workload::append_sweep_row(results(), workload::sweep_row(sweep().point(point), reason)).ok());
  }
  Result<ArrayOutcome> run(bool again = false) {
    workload::SlurmSweep plan;
    plan.command = {"weft"};
    plan.points = sweep().size();
    SlurmSweepEngine engine(engine_, plan);
    return run_array(engine, sweep(), results(), again, hooks_);
  }

  std::filesystem::path folder_;
  FakeArrays engine_;
  ArrayHooks hooks_;
  std::vector<std::string> notes_;
  std::vector<ArrayProgress> progress_;
  std::deque<std::pair<int, std::uint64_t>> write_;  // at this wait, the result of this point
  int waits_ = 0;
  int interrupt_at_ = 1'000;
};

TEST_F(SweepArrayTest, MissingPointsRunAndAreWaitedFor) {
  finish(1);
  engine_.lists = {tasks({}), tasks({"PENDING", "PENDING", "PENDING"}), tasks({"RUNNING", "COMPLETED", "PENDING"}),
                   tasks({"COMPLETED", "COMPLETED", "COMPLETED"})};
  write_ = {{2, 0}, {3, 2}, {3, 3}};
  const Result<ArrayOutcome> outcome = run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->missing, 0U);
  EXPECT_TRUE(outcome->ends.empty());
  ASSERT_EQ(engine_.scripts.size(), 1U);
  EXPECT_THAT(engine_.scripts[0], HasSubstr("--array=0,2-3%16"));
  EXPECT_THAT(engine_.scripts[0], HasSubstr("--job-name=" + engine_.names[0]));
  ASSERT_EQ(progress_.size(), 3U);
  EXPECT_EQ(progress_[0].done, 1U);
  EXPECT_EQ(progress_[0].waiting, 3U);
  EXPECT_EQ(progress_[1].done, 2U);
  EXPECT_EQ(progress_[1].running, 1U);
  EXPECT_EQ(progress_[2].done, 4U);
  EXPECT_THAT(notes_, Contains(HasSubstr("3 points as Slurm job 17")));
  EXPECT_THAT(notes_, Contains(HasSubstr("Slurm's reason: Resources")));
}

TEST_F(SweepArrayTest, AnArrayOfAnEarlierCallIsFound) {
  engine_.lists = {tasks({"FAILED", "RUNNING", "RUNNING"}, 9), tasks({}, 9)};
  write_ = {{1, 0}, {1, 1}, {1, 2}, {1, 3}};
  const Result<ArrayOutcome> outcome = run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(engine_.scripts.empty());
  EXPECT_EQ(outcome->missing, 0U);
  EXPECT_THAT(notes_, Contains(HasSubstr("job 9 of an earlier call")));
}

TEST_F(SweepArrayTest, NothingIsConcludedFromAListThatFailed) {
  const Error silent{ErrorCode::unavailable, "no answer", {}};
  engine_.lists = {silent};
  EXPECT_FALSE(run().ok());
  EXPECT_TRUE(engine_.scripts.empty()) << "an earlier array may still run";
  engine_.lists = {tasks({}), silent, silent, tasks({"RUNNING"}), tasks({"COMPLETED"})};
  write_ = {{4, 0}, {4, 1}, {4, 2}, {4, 3}};
  waits_ = 0;
  const Result<ArrayOutcome> outcome = run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->missing, 0U);
  EXPECT_THAT(notes_, Contains(HasSubstr("Slurm does not answer: no answer")));
  EXPECT_THAT(notes_, Contains("Slurm answers again"));
}

TEST_F(SweepArrayTest, PointsWithoutAResultAreReported) {
  engine_.lists = {tasks({"TIMEOUT"}, 3), tasks({"TIMEOUT", "OUT_OF_MEMORY", "COMPLETED", "COMPLETED"})};
  write_ = {{1, 2}, {1, 3}};
  const Result<ArrayOutcome> outcome = run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->missing, 2U);
  EXPECT_EQ(outcome->ends, (std::map<std::string, std::uint64_t>{{"OUT_OF_MEMORY", 1}, {"TIMEOUT", 1}}));
}

TEST_F(SweepArrayTest, AnInterruptLeavesTheArray) {
  engine_.lists = {tasks({}), tasks({"RUNNING"})};
  interrupt_at_ = 3;
  const Result<ArrayOutcome> outcome = run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_THAT(notes_, Contains(HasSubstr("scancel 17")));
}

TEST_F(SweepArrayTest, ASubmissionWithoutAnAnswerIsNotRepeated) {
  engine_.lists = {tasks({})};
  engine_.refusal = Error{ErrorCode::timeout, "sbatch timed out", {}};
  const Result<ArrayOutcome> outcome = run();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::unavailable);
  EXPECT_THAT(outcome.error().text(), HasSubstr("run the same command again"));
  EXPECT_EQ(engine_.scripts.size(), 1U);
}

TEST_F(SweepArrayTest, CompleteOrDamagedResults) {
  for (std::uint64_t point = 0; point < 4; ++point) finish(point);
  ASSERT_TRUE(run().ok());
  EXPECT_TRUE(engine_.names.empty()) << "nothing to ask Slurm for";
  engine_.lists = {tasks({}), tasks({"COMPLETED"})};
  ASSERT_TRUE(run(true).ok());
  ASSERT_EQ(engine_.scripts.size(), 1U);
  EXPECT_THAT(engine_.scripts[0], HasSubstr("--array=0-3%16")) << "with --again, points that failed";
  ASSERT_TRUE(write_file(results(), "not a row\n").ok());
  EXPECT_FALSE(run().ok());
}

TEST_F(SweepArrayTest, TheNameIdentifiesTheSweep) {
  const std::string name = array_name(sweep(), "/a/sweep.ndjson");
  EXPECT_EQ(name, array_name(sweep(), "/a/sweep.ndjson"));
  EXPECT_NE(name, array_name(sweep(), "/b/sweep.ndjson"));
  EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
}

}  // namespace
}  // namespace weft::cli
