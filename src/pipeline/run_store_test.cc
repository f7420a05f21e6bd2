#include "pipeline/run_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pipeline/pipeline_test_help.h"
#include "pipeline/runner.h"

namespace weft::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = ::testing::TempDir() + "weft_runs_" + std::to_string(::getpid());
  RunStore store_{folder_};
};

TEST_F(RunStoreTest, RunsAreNumberedAndFoundAgain) {
  EXPECT_TRUE(store_.list()->empty());
  RunState first;
  RunState second;
  first.sockets[StepEngine::slurm] = "/s";
  first.parameters["a"] = "b\n\"c";
  first.steps.emplace_back("x", StepRun{StepState::submitted, 2, 7, "running", "r", 5, true, true, {{"result", "ü"}}});
  ASSERT_TRUE(store_.create(first, "p").ok());
  ASSERT_TRUE(store_.create(second, "p").ok());
  EXPECT_THAT(*store_.list(), ElementsAre("p-1", "p-2"));
  EXPECT_NE(first.token, second.token);
  EXPECT_EQ(first.token.size(), 32U);
  const Result<RunState> loaded = store_.load("p-1");
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_EQ(write_run_state(*loaded), write_run_state(first));
  EXPECT_EQ(loaded->find("x")->outputs.at("result"), "ü");
}

TEST_F(RunStoreTest, UnknownAndDamagedRunsAreErrors) {
  EXPECT_EQ(store_.load("p-1").error().code, ErrorCode::not_found);
  EXPECT_EQ(store_.load("../p").error().code, ErrorCode::not_found);
  RunState run;
  ASSERT_TRUE(store_.create(run, "p").ok());
  std::ofstream(folder_ + "/p-1/run.json") << "{";
  EXPECT_THAT(store_.load("p-1").error().text(), HasSubstr("damaged"));
}

TEST_F(RunStoreTest, CancelRequestsAddUp) {
  RunState run;
  ASSERT_TRUE(store_.create(run, "p").ok());
  EXPECT_TRUE(store_.cancel_requests("p-1")->empty());
  ASSERT_TRUE(store_.request_cancel("p-1", {"a"}).ok());
  ASSERT_TRUE(store_.request_cancel("p-1", {"b"}).ok());
  EXPECT_THAT(*store_.cancel_requests("p-1"), ElementsAre("a", "b"));
}

TEST_F(RunStoreTest, OneProcessContinuesARun) {
  RunState run;
  ASSERT_TRUE(store_.create(run, "p").ok());
  {
    const Result<FileDescriptor> lock = store_.lock("p-1");
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(store_.lock("p-1").error().code, ErrorCode::conflict);
  }
  EXPECT_TRUE(store_.lock("p-1").ok());
}

}  // namespace
}  // namespace weft::pipeline
