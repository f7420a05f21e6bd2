// `weft pipeline` with one `weft serve` of engine local: killed over and over while it runs a chain of steps, and used
// with bad input. WEFT_KILLS sets how often it is killed at most (25).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/process.h"
#include "base/random.h"
#include "base/test_places.h"
#include "base/text.h"
#include "lab.h"
#include "program.h"

namespace weft {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing_lab::Lab;
using testing_program::contents;

constexpr int kSteps = 6;

class PipelineKill : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.put(
        "cluster.yaml",
        "weft: 1\nname: four\npools:\n  - {name: train, role: training, server: hgx-h100, count: 4, per_rack: 1}\n");
    server_ = launch({"serve", file("cluster.yaml"), "--state", file("state"), "--socket", file("s")});
    ASSERT_TRUE(Lab::wait(60, [&] { return weft({"status"}).code == 0; })) << contents(file("log"));
  }
  void TearDown() override {
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (lab_.folder() / name).string(); }

  pid_t launch(std::vector<std::string> words) const {
    words.insert(words.begin(), weft_binary());
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int log = ::open(file("log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }
  [[nodiscard]] ProcessOutcome weft(std::vector<std::string> words) const {
    words.insert(words.begin(), weft_binary());
    ProcessRequest request;
    request.words = std::move(words);
    request.limit = milliseconds(600'000);
    request.environment = {{"WEFT_SOCKET", file("s")}};
    const Result<ProcessOutcome> outcome = run_process(request);
    return outcome.ok() ? *outcome : ProcessOutcome{-1, "", outcome.error().text()};
  }

  // Each step notes that it started, and prints what the one before printed with its own number behind it.
  void put_chain() const {
    std::string text = "pipeline: 1\nname: chain\nsteps:\n";
    for (int i = 0; i < kSteps; ++i) {
      const std::string number = std::to_string(i);
      const std::string before = std::to_string(i - 1);
      text += "  - {name: s" + number + ", needs: [" + (i > 0 ? "s" + before : "") +
              "], job: {command: [sh, -c, \"echo x >> " + file("started") + number + "; echo $0" + number + "\", \"" +
              (i > 0 ? "{{steps.s" + before + ".outputs.result}}" : "") + "\"]}}\n";
    }
    lab_.put("chain.yaml", text);
  }

  Lab lab_{"pipeline"};
  pid_t server_ = 0;
};

TEST_F(PipelineKill, EveryStepRunsOnce) {
  if (HasFatalFailure()) return;
  put_chain();
  const char* asked = std::getenv("WEFT_KILLS");  // NOLINT(concurrency-mt-unsafe): nothing changes it
  RandomStream random(static_cast<std::uint64_t>(::getpid()), "kills");
  std::vector<std::string> words = {"pipeline", "run",        file("chain.yaml"), "--socket",   file("s"),
                                    "--state",  file("runs"), "--directory",      lab_.folder()};
  for (int left = asked == nullptr ? 25 : std::atoi(asked); left > 0; --left) {  // NOLINT(cert-err34-c)
    const pid_t runner = launch(words);
    std::this_thread::sleep_for(std::chrono::milliseconds(random.between(10, 900)));
    ::kill(runner, SIGKILL);
    int status = 0;
    ::waitpid(runner, &status, 0);
    if (WIFEXITED(status)) break;  // the run has ended before
    if (std::filesystem::exists(file("runs/chain-1/run.json")))
      words = {"pipeline", "resume", "chain-1", "--state", file("runs")};
  }
  if (words[1] == "run") words.insert(words.end(), {"-o", "json"});
  const ProcessOutcome ended = weft(words);
  EXPECT_EQ(ended.code, 0) << ended.err;
  const ProcessOutcome shown = weft({"pipeline", "show", "chain-1", "--state", file("runs"), "-o", "json"});
  const json view = json::parse(shown.out, nullptr, false);
  ASSERT_TRUE(view.is_object()) << shown.err;
  EXPECT_EQ(view["steps"].back()["result"], "012345");
  for (int i = 0; i < kSteps; ++i) EXPECT_EQ(contents(file("started" + std::to_string(i))), "x\n") << i;
}

TEST_F(PipelineKill, BadInputStartsNothing) {
  if (HasFatalFailure()) return;
  lab_.put("bad.yaml", "pipeline: 1\nname: bad\nsteps: [{name: a, needs: [b], job: {command: [a]}}]\n");
  const ProcessOutcome bad = weft({"pipeline", "run", file("bad.yaml"), "--state", file("runs")});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("bad.yaml:3:9: error: step `a` needs `b`, which does not exist"));
  put_chain();
  const std::vector<std::string> run = {"pipeline", "run", file("chain.yaml"), "--state", file("runs")};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return weft(more);
  };
  EXPECT_EQ(with({"--on", "slurm"}).code, 2);
  EXPECT_EQ(with({"--set", "x=1"}).code, 2);
  EXPECT_EQ(with({"--on", "kubernetes=" + file("s")}).code, 4);  // the server has another engine
  EXPECT_EQ(with({"--socket", file("nobody")}).code, 5);         // no server
  EXPECT_EQ(weft({"pipeline", "show", "chain-1", "--state", file("runs")}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(file("runs")));
  EXPECT_THAT(weft({"job", "list", "--all"}).out, HasSubstr("No jobs."));
}

}  // namespace
}  // namespace weft
