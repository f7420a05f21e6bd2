#include "serve/oob/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "serve/oob/test_fleet.h"

namespace weft::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class OobChild : public ::testing::Test {
 protected:
  Result<ChildOutcome> run(const std::string& lines) {
    request_.words = {folder_.script(lines)};
    request_.environment.emplace_back("PATH", "/usr/bin:/bin");
    request_.line = [this](std::string_view line) { lines_.emplace_back(line); };
    return run_child(request_);
  }
  OobTestFolder folder_;
  ChildRequest request_;
  std::vector<std::string> lines_;
};

TEST_F(OobChild, OutputAndExitCodeAreRead) {
  const Result<ChildOutcome> outcome = run("echo out; echo one >&2; printf 'two\\rthree' >&2; exit 3");
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->end, ChildEnd::exited);
  EXPECT_EQ(outcome->code, 3);
  EXPECT_EQ(outcome->out, "out\n");
  EXPECT_THAT(lines_, ElementsAre("one", "two", "three"));
}

TEST_F(OobChild, LinesArePrintableAndBounded) {
  const Result<ChildOutcome> outcome =
      run("printf '\\033[2Jx\\377\\n' >&2; head -c 100000 /dev/zero | tr '\\0' a >&2; echo >&2; echo last >&2");
  ASSERT_TRUE(outcome.ok());
  ASSERT_EQ(lines_.size(), 3U);
  EXPECT_EQ(lines_[0], "?[2Jx?");
  EXPECT_EQ(lines_[1].size(), kMaxChildLine);
  EXPECT_EQ(lines_[2], "last");
}

TEST_F(OobChild, HugeOutputIsDiscardedAndTheChildEndsByItself) {
  request_.max_output = 1000;
  const Result<ChildOutcome> outcome = run("head -c 3000000 /dev/zero | tr '\\0' a; exit 5");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, ChildEnd::exited);
  EXPECT_EQ(outcome->code, 5);
  EXPECT_TRUE(outcome->too_long);
  EXPECT_EQ(outcome->out, std::string(1000, 'a'));
}

TEST_F(OobChild, ASignalIsTold) {
  const Result<ChildOutcome> outcome = run("kill -SEGV $$; sleep 1000");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, ChildEnd::killed);
  EXPECT_EQ(outcome->code, 128 + SIGSEGV);
}

TEST_F(OobChild, TheDeadlineAsksFirst) {
  request_.deadline = milliseconds(300);
  request_.grace = milliseconds(60'000);
  const Result<ChildOutcome> outcome = run("trap 'echo orderly; exit 3' TERM; while :; do sleep 0.05; done");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, ChildEnd::deadline);
  EXPECT_EQ(outcome->code, 3);
  EXPECT_EQ(outcome->out, "orderly\n");
}

TEST_F(OobChild, AfterTheGraceItIsKilled) {
  request_.deadline = milliseconds(1);
  request_.grace = milliseconds(1);
  const Result<ChildOutcome> outcome = run("trap '' TERM; while :; do sleep 0.05; done");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, ChildEnd::deadline);
}

TEST_F(OobChild, ItIsStoppedOnRequest) {
  request_.stopped = [] { return true; };
  const Result<ChildOutcome> outcome = run("exec sleep 1000");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, ChildEnd::stopped);
}

TEST_F(OobChild, ABackgroundProcessDoesNotKeepItOpen) {
  const Result<ChildOutcome> outcome = run("sleep 1000 & echo done");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->out, "done\n");
}

TEST_F(OobChild, NothingIsInherited) {
  ::setenv("WEFT_SECRET", "x", 1);                 // NOLINT(concurrency-mt-unsafe)
  const int open = ::open("/dev/null", O_RDONLY);  // NOLINT(cppcoreguidelines-pro-type-vararg): without O_CLOEXEC
  ASSERT_GE(::fcntl(open, F_DUPFD, 100), 100);     // NOLINT(cppcoreguidelines-pro-type-vararg)
  const Result<ChildOutcome> outcome = run("/usr/bin/env; [ -e /proc/$$/fd/100 ] && echo leaked; cat");
  ::close(open);
  ::close(100);
  ::unsetenv("WEFT_SECRET");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(outcome->out, HasSubstr("PATH=/usr/bin:/bin"));
  EXPECT_THAT(outcome->out, Not(HasSubstr("WEFT_SECRET")));
  EXPECT_THAT(outcome->out, Not(HasSubstr("leaked")));
}

TEST_F(OobChild, WhatCannotBeRunIsAnError) {
  request_.words = {folder_.file("absent")};
  EXPECT_EQ(run_child(request_).error().code, ErrorCode::not_found);
  request_.words = {"weft"};
  EXPECT_EQ(run_child(request_).error().code, ErrorCode::invalid_input) << "PATH is not searched";
  request_.words = {};
  EXPECT_FALSE(run_child(request_).ok());
}

}  // namespace
}  // namespace weft::serve
