#include "base/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Process, ReturnsOutputErrorsAndExitCode) {
  const Result<ProcessOutcome> outcome = run_process({.words = {"sh", "-c", "echo out; echo bad >&2; exit 7"}});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->code, 7);
  EXPECT_EQ(outcome->out, "out\n");
  EXPECT_EQ(outcome->err, "bad\n");
}

TEST(Process, WritesLargeInput) {
  const std::string input(3'000'000, 'x');
  const Result<ProcessOutcome> outcome = run_process({.words = {"cat"}, .input = input});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->out, input);
}

TEST(Process, UnreadInputIsNotAnError) {
  const Result<ProcessOutcome> outcome = run_process({.words = {"true"}, .input = std::string(1'000'000, 'x')});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->code, 0);
}

TEST(Process, ReportsAMissingProgram) {
  const Result<ProcessOutcome> outcome = run_process({.words = {"no-such-program-here"}});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::not_found);
  EXPECT_EQ(run_process({}).error().code, ErrorCode::invalid_input);
}

TEST(Process, ACleanEnvironmentHasNothingElse) {
  ProcessRequest request{.words = {"env"}, .environment = {{"PATH", "/nowhere:/usr/bin:/bin"}, {"A", "b c"}}};
  request.clean_environment = true;
  const Result<ProcessOutcome> outcome = run_process(request);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->out, "PATH=/nowhere:/usr/bin:/bin\nA=b c\n");
  request.environment = {{"PATH", "/nowhere"}};
  EXPECT_EQ(run_process(request).error().code, ErrorCode::not_found);
}

TEST(Process, TimeoutKillsTheWholeGroup) {
  const std::string marker = testing::TempDir() + "process_marker_" + std::to_string(::getpid());
  int grandchild = 0;
  // On a busy machine the shell may not start the child within the timeout; retry with a longer one.
  for (std::int64_t limit = 100; grandchild == 0 && limit < 60'000; limit *= 5) {
    const Result<ProcessOutcome> outcome = run_process(
        {.words = {"sh", "-c", "sleep 600 & echo $! > " + marker + "; wait"}, .limit = milliseconds(limit)});
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, ErrorCode::timeout);
    std::ifstream(marker) >> grandchild;
  }
  std::remove(marker.c_str());
  ASSERT_GT(grandchild, 0);
  // Gone, or dead and not yet reaped by its new parent: "PID (sleep) Z ...".
  const auto runs = [&] {
    std::ifstream status("/proc/" + std::to_string(grandchild) + "/stat");
    std::string line;
    return std::getline(status, line) && line.find(") Z") == std::string::npos;
  };
  for (int i = 0; i < 6'000 && runs(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(runs()) << "a grandchild outlived the limit";
}

TEST(Process, OutputBeyondTheLimitIsAnError) {
  const Result<ProcessOutcome> outcome = run_process({.words = {"yes"}, .most_output = 100'000});
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message, HasSubstr("more than"));
}

TEST(Process, CanBeStopped) {
  int asked = 0;
  const Result<ProcessOutcome> outcome =
      run_process({.words = {"sleep", "60"}, .stopped = [&] { return ++asked > 2; }});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message, "stopped");
}

TEST(Process, SignalsAndEnvironment) {
  EXPECT_EQ(run_process({.words = {"sh", "-c", "kill -TERM $$"}})->code, 128 + SIGTERM);
  EXPECT_EQ(run_process({.words = {"sh", "-c", "echo $A"}, .environment = {{"A", "b c"}}})->out, "b c\n");
}

TEST(Process, SplitsWordsLikeAShell) {
  EXPECT_THAT(*split_words(" ssh -p 2200  'a b' \"c \\\" d\" e\\ f '' "),
              ElementsAre("ssh", "-p", "2200", "a b", "c \" d", "e f", ""));
  EXPECT_THAT(*split_words("$HOME `x` *"), ElementsAre("$HOME", "`x`", "*"));
  EXPECT_FALSE(split_words("'open").ok());
}

}  // namespace
}  // namespace weft
