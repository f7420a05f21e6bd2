// weft sim sweep --array slurm on a private Slurm cluster with 16 slurmd: a job array is submitted, interrupted,
// found again and completed. WEFT_SWEEP_POINTS sets the number of points (48; the long version is 1000).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "slurm_fixture.h"
#include "workload/sweep/results.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class SweepSlurm : public testing_slurm::SlurmFixture {
 protected:
  SweepSlurm() : SlurmFixture(16) {}

  // One value of an axis per point; every value is valid.
  [[nodiscard]] testing_lab::Words sweep(int points) const {
    std::string values = "job.training.steps=";
    for (int i = 0; i < points; ++i) values += (i == 0 ? "" : ",") + std::to_string(1'000 + i);
    return {weft_binary(),
            "sim",
            "sweep",
            source_dir() + "/examples/pod32.yaml",
            source_dir() + "/examples/llama-70b.job.yaml",
            "--set",
            values,
            "--array",
            "slurm",
            "--at-once",
            "0",
            "--results",
            file("sweep.ndjson"),
            "--fidelity",
            "analytic"};
  }
  [[nodiscard]] std::size_t rows() const {
    const auto loaded = workload::load_sweep_rows(file("sweep.ndjson"));
    EXPECT_TRUE(loaded.ok());
    return loaded.ok() ? loaded->size() : 0;
  }
};

TEST_F(SweepSlurm, AnInterruptedSweepIsContinued) {
  const char* text = std::getenv("WEFT_SWEEP_POINTS");
  const int points = text != nullptr ? std::atoi(text) : 48;
  const pid_t first = lab_->start(sweep(points));
  while (rows() < 3) pause();
  ::kill(first, SIGINT);
  while (lab_->alive(first)) pause();
  const testing_lab::Outcome second = lab_->run(sweep(points), 3'000, true);  // finds the array
  EXPECT_EQ(second.code, 0) << second.out;
  EXPECT_EQ(rows(), static_cast<std::size_t>(points));
  EXPECT_THAT(second.out, Not(HasSubstr("submitted")));
  const auto loaded = workload::load_sweep_rows(file("sweep.ndjson"));
  for (const workload::SweepRow& row : *loaded) EXPECT_EQ(row.error, "");
  // A complete sweep needs no Slurm.
  ::kill(controller_, SIGKILL);
  EXPECT_EQ(lab_->run(sweep(points), 300, true).code, 0);
}

TEST_F(SweepSlurm, TasksThatWereCanceledRunAgain) {
  slurm({"scontrol", "update", "PartitionName=main", "State=DOWN"});  // nothing starts
  const pid_t first = lab_->start(sweep(20));
  std::string ids;
  while (ids.empty()) ids = slurm({"squeue", "-h", "-o", "%F"});
  slurm({"scancel", std::string(trim(ids))});
  while (lab_->alive(first)) pause();
  EXPECT_EQ(rows(), 0U);
  slurm({"scontrol", "update", "PartitionName=main", "State=UP"});
  const testing_lab::Outcome second = lab_->run(sweep(20), 3'000, true);
  EXPECT_EQ(second.code, 0) << second.out;
  EXPECT_THAT(second.out, HasSubstr("submitted 20 points"));
  EXPECT_EQ(rows(), 20U);
}

TEST_F(SweepSlurm, SlurmThatDoesNotAnswerIsAnError) {
  ::kill(controller_, SIGKILL);
  while (lab_->alive(controller_)) pause();
  const testing_lab::Outcome outcome = lab_->run(sweep(4), 300, true);
  EXPECT_EQ(outcome.code, 5) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("squeue"));
  EXPECT_FALSE(std::filesystem::exists(file("sweep.ndjson")));
}

}  // namespace
}  // namespace weft
