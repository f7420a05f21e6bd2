#include "workload/sweep/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "workload/result/life_sample.h"
#include "workload/sweep/slurm.h"

namespace weft::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SweepResults : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("weft_sweep_" + std::to_string(::getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "results.ndjson").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::string path_;
};

Sweep small_sweep() {
  Result<Sweep> sweep = Sweep::make({"c", "weft: 1\n", "j", "job: 1\n"},
                                    {{"job.training.parallel.tensor", {"1", "2", "8"}}, {"job.nodes", {"4"}}});
  EXPECT_TRUE(sweep.ok());
  return std::move(*sweep);
}

SweepRow row_at(const Sweep& sweep, std::uint64_t index, double speed) {
  LifeResult life = sample::life();
  life.tokens_per_second *= speed;
  life.step = SimTime(static_cast<std::int64_t>(static_cast<double>(life.step.count()) / speed));
  return sweep_row(sweep.point(index), life);
}

TEST_F(SweepResults, RowRoundTrips) {
  const SweepRow row = row_at(small_sweep(), 1, 1);
  const Result<std::vector<SweepRow>> rows = read_sweep_rows("x", sweep_line(row));
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(sweep_line(rows->front()), sweep_line(row));
  EXPECT_EQ(rows->front().settings, row.settings);
  EXPECT_DOUBLE_EQ(rows->front().figures[1], 1.46);
  EXPECT_EQ(rows->front().bound_by, "tensor communication");
}

TEST_F(SweepResults, InterruptedSweepIsResumed) {
  const Sweep sweep = small_sweep();
  EXPECT_THAT(missing_points(sweep, *load_sweep_rows(path_)), ElementsAre(0U, 1U, 2U));
  ASSERT_TRUE(append_sweep_row(path_, row_at(sweep, 1, 1)).ok());
  // The next writer dies in the middle of a line.
  const std::string half = sweep_line(row_at(sweep, 0, 1)).substr(0, 70);
  std::ofstream(path_, std::ios::app) << half;
  EXPECT_THAT(missing_points(sweep, *load_sweep_rows(path_)), ElementsAre(0U, 2U));
  ASSERT_TRUE(append_sweep_row(path_, row_at(sweep, 2, 1)).ok());
  EXPECT_THAT(*read_file(path_), Not(HasSubstr(half)));
  EXPECT_THAT(missing_points(sweep, *load_sweep_rows(path_)), ElementsAre(0U));
  const Error error{ErrorCode::invalid_input, "tensor 1 does not divide", "job.yaml:3:1"};
  ASSERT_TRUE(append_sweep_row(path_, sweep_row(sweep.point(0), error)).ok());
  EXPECT_THAT(missing_points(sweep, *load_sweep_rows(path_)), IsEmpty());
  EXPECT_THAT(missing_points(sweep, *load_sweep_rows(path_), true), ElementsAre(0U));
  ASSERT_TRUE(append_sweep_row(path_, row_at(sweep, 0, 1)).ok());
  EXPECT_THAT(missing_points(sweep, *load_sweep_rows(path_), true), IsEmpty());
  EXPECT_EQ(load_sweep_rows(path_)->size(), 3U);
}

TEST_F(SweepResults, ConcurrentWritersLoseNothing) {
  const Sweep sweep = small_sweep();
  std::vector<std::thread> writers;
  writers.reserve(4);
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 25; ++i) {
        SweepRow row = row_at(sweep, 0, 1);
        row.id = std::to_string(writer * 100 + i);
        EXPECT_TRUE(append_sweep_row(path_, row).ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const Result<std::vector<SweepRow>> rows = load_sweep_rows(path_);
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_EQ(rows->size(), 100U);
}

TEST_F(SweepResults, InvalidFilesAreErrorsWithTheirLine) {
  const std::string good = sweep_line(row_at(small_sweep(), 0, 1));
  for (const char* bad :
       {"{]\n", "7\n", "{\"kind\": \"sweep_point\"}\n", "{\"id\": \"a\", \"kind\": \"sweep_point\"}\n"}) {
    const Result<std::vector<SweepRow>> rows = read_sweep_rows("r.ndjson", good + bad);
    ASSERT_FALSE(rows.ok()) << bad;
    EXPECT_EQ(rows.error().where, "r.ndjson:2");
  }
  EXPECT_FALSE(append_sweep_row("/nowhere/at/all", row_at(small_sweep(), 0, 1)).ok());
  EXPECT_FALSE(load_sweep_rows(folder_.string()).ok());
}

TEST_F(SweepResults, TableIsSortedAndTheBestIsMarked) {
  const Sweep sweep = small_sweep();
  std::vector<SweepRow> rows = {row_at(sweep, 0, 0.5), row_at(sweep, 1, 2), row_at(sweep, 2, 1)};
  const auto order = [&](std::string_view by) {
    const Result<Document> document = sweep_document(rows, by);
    EXPECT_TRUE(document.ok());
    std::string text;
    for (const auto& row : std::get<TableSection>(document->sections[0]).rows) {
      text += std::get<std::string>(row[1].value) + (row[0].shown == "*" ? "*" : "") + " ";
    }
    return text;
  };
  EXPECT_EQ(order("tokens_per_s"), "2* 8 1 ");
  EXPECT_EQ(order("step_s"), "2* 8 1 ");  // less is better
  EXPECT_EQ(order("job.training.parallel.tensor"), "1 2* 8 ");
  rows[1].fits = false;
  EXPECT_EQ(order("tokens_per_s"), "8* 1 2 ");
  rows[2] = sweep_row(sweep.point(2), Error{ErrorCode::invalid_input, "no", ""});
  EXPECT_EQ(order("tokens_per_s"), "1* 2 8 ");
  const std::string text = write(*sweep_document(rows), {});
  EXPECT_THAT(text, HasSubstr("out of memory"));
  EXPECT_THAT(text, HasSubstr("1 of 3 points could not be simulated"));
  EXPECT_THAT(text, HasSubstr("* best by tokens_per_s: 1,436,405"));  // 512 x 8192 / 1.46 / 2
  EXPECT_THAT(sweep_document(rows, "token_per_s").error().message, HasSubstr("did you mean `tokens_per_s`?"));
  EXPECT_TRUE(sweep_document({}).ok());
}

TEST(SweepSlurm, ArrayHasOneTaskPerPoint) {
  SlurmSweep sweep;
  sweep.points = 64;
  sweep.command = {"weft", "sim", "sweep", "c.yaml", "it's.yaml", "--set", "job.nodes=1,2"};
  sweep.name = "a b\n#SBATCH --uid=0";
  const std::string script = slurm_sweep_script(sweep);
  EXPECT_THAT(script, HasSubstr("#SBATCH --array=0-63%16\n"));
  EXPECT_THAT(
      script,
      HasSubstr("exec weft sim sweep c.yaml 'it'\\''s.yaml' --set job.nodes=1,2 --point \"$SLURM_ARRAY_TASK_ID\"\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --job-name=a_b__SBATCH_--uid=0\n"));
}

TEST(SweepSlurm, MorePointsThanAnArrayHolds) {
  SlurmSweep sweep;
  sweep.points = 2'500;
  sweep.at_once = 0;
  sweep.command = {"weft"};
  const std::string script = slurm_sweep_script(sweep);
  EXPECT_THAT(script, HasSubstr("#SBATCH --array=0-833\n"));  // 834 tasks of 3 points: 2502
  EXPECT_THAT(script, HasSubstr("if ((last > 2499)); then last=2499; fi"));
}

}  // namespace
}  // namespace weft::workload
