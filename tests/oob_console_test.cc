// End-to-end tests of `weft oob console`, on consoles that are programs: capture, logs of several hosts in parallel,
// two processes on one console, a real terminal, and a killed owner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/test_places.h"
#include "program.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_program::contents;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::Words;
namespace fs = std::filesystem;

const char* const kEndpoints = R"(weft_endpoints: 1
endpoints:
  train001: {host: 127.0.0.1, console: [sh, -c, 'echo BIOS; printf "train001 login: "; read u; echo "hi $u"; exec cat']}
  train002: {host: 127.0.0.1, console: [sh, -c, 'printf "\033[2Jtrain002 login: "; sleep 100']}
  train003: {host: 127.0.0.1, console: [/nowhere/console]}
)";

class OobConsoleTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    make_folder("oob_console");
    file("endpoints.yaml", kEndpoints);
    ::setenv("OOB_TEST_USER", "admin", 1);         // NOLINT(concurrency-mt-unsafe)
    ::setenv("OOB_TEST_PASSWORD", "secret-1", 1);  // NOLINT(concurrency-mt-unsafe)
  }
  void SetUp() override { fs::remove_all(folder_ / "state"); }
  static Words words(const std::string& hosts, const Words& more) {
    Words all = {weft_binary(),
                 "oob",
                 "console",
                 source_dir() + "/examples/pod16.yaml",
                 hosts,
                 "--endpoints",
                 (folder_ / "endpoints.yaml").string(),
                 "--credentials",
                 "env:OOB_TEST",
                 "--state",
                 (folder_ / "state").string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Outcome weft(const std::string& hosts, const Words& more) { return run(words(hosts, more)); }
  static std::string log(const std::string& host) { return contents(folder_ / "state/consoles" / (host + ".log")); }
};

// A weft process on its own terminal.
class Terminal {
 public:
  explicit Terminal(const Words& words) {
    child_ = ::forkpty(&master_, nullptr, nullptr, nullptr);
    if (child_ != 0) return;
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ~Terminal() {
    if (child_ > 0) ::kill(child_, SIGKILL);
    (void)end();
    ::close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& text) { EXPECT_GT(::write(master_, text.data(), text.size()), 0); }
  // Whether the text appears within a minute.
  bool shows(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
      if (shown_.find(text) != std::string::npos) return true;
      pollfd watched{master_, POLLIN, 0};
      if (::poll(&watched, 1, 100) <= 0) continue;
      char piece[4096];
      const ssize_t got = ::read(master_, piece, sizeof(piece));
      if (got <= 0) break;
      shown_.append(piece, static_cast<std::size_t>(got));
    }
    return shown_.find(text) != std::string::npos;
  }
  [[nodiscard]] bool is_raw() const {
    termios mode{};
    EXPECT_EQ(::tcgetattr(master_, &mode), 0);
    return (mode.c_lflag & static_cast<tcflag_t>(ICANON)) == 0;
  }
  void signal(int number) const { ::kill(child_, number); }
  int end() {
    int status = 0;
    if (child_ > 0 && ::waitpid(child_, &status, 0) == child_) child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] const std::string& shown() const { return shown_; }

 private:
  int master_ = -1;
  pid_t child_ = -1;
  std::string shown_;
};

TEST_F(OobConsoleTest, CapturesUntilATextAppears) {
  Outcome outcome = weft("train001", {"--until-text", "login:", "--for", "60s"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Z | BIOS\n"));
  EXPECT_THAT(outcome.out, HasSubstr("Z | train001 login: \n"));
  EXPECT_THAT(log("train001"), HasSubstr("Z | train001 login: \n"));
  outcome = weft("train001", {"--until-text", "hi [a-z]+$", "--send", "bob\\n", "--for", "60s", "--reason", "drill 7"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(log("train001"), HasSubstr(": drill 7\n"));
  outcome = weft("train001", {"--until-text", "never", "--for", "300ms"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_EQ(weft("train001", {"--for", "300ms"}).code, 0);
  EXPECT_EQ(weft("train001", {"--until-text", "["}).code, 2);
  EXPECT_EQ(weft("train[001-002]", {"--for", "1s"}).code, 2);
  EXPECT_EQ(weft("train001", {"--view", "--take", "--for", "1s"}).code, 2);
  EXPECT_EQ(weft("train001", {}).code, 2);  // no terminal
  // Every connection and disconnection is in the journal.
  const std::string journal = contents(folder_ / "state/journal.ndjson");
  EXPECT_THAT(journal, HasSubstr(R"("verb": "console", "device": "train001")"));
  EXPECT_THAT(journal, HasSubstr("drill 7"));
  EXPECT_THAT(journal, Not(HasSubstr("secret-1")));
}

TEST_F(OobConsoleTest, LogsSeveralHostsInParallel) {
  const Outcome outcome =
      weft("train[001-003]", {"--log-only", "--until-text", "login:", "--for", "60s", "-o", "json"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  const Json rows = Json::parse(outcome.out).at("consoles");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("seen"), true);
  EXPECT_EQ(rows[1].at("line"), "train002 login: ");
  EXPECT_EQ(rows[2].at("seen"), false);
  EXPECT_THAT(rows[2].at("message").get<std::string>(), HasSubstr("/nowhere/console"));
  EXPECT_THAT(log("train002"), HasSubstr("| ^[[2Jtrain002 login: \n"));
}

TEST_F(OobConsoleTest, TwoTerminalsShareOneConsole) {
  Terminal alice(words("train001", {}));
  ASSERT_TRUE(alice.shows("train001 login: ")) << alice.shown();
  EXPECT_TRUE(alice.is_raw());
  Terminal bob(words("train001", {"--view"}));
  ASSERT_TRUE(bob.shows("| BIOS")) << bob.shown();
  alice.type("carol\n");
  ASSERT_TRUE(bob.shows("hi carol")) << bob.shown();
  alice.type("\r~?");
  ASSERT_TRUE(alice.shows("~. disconnect"));
  // The owner is killed: the read-only viewer owns the console now.
  alice.signal(SIGKILL);
  EXPECT_EQ(alice.end(), 128 + SIGKILL);
  ASSERT_TRUE(bob.shows("this command now owns the console session")) << bob.shown();
  bob.type("\r~.");
  EXPECT_EQ(bob.end(), 0);
  EXPECT_FALSE(bob.is_raw());
}

TEST_F(OobConsoleTest, TerminalIsRestoredOnSignals) {
  // AddressSanitizer would turn SIGSEGV into a report and exit code 1.
  const char* given = std::getenv("ASAN_OPTIONS");  // NOLINT(concurrency-mt-unsafe)
  const std::string options = given != nullptr ? std::string(given) + ":handle_segv=0" : "handle_segv=0";
  ::setenv("ASAN_OPTIONS", options.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  for (const int number : {SIGTERM, SIGHUP, SIGABRT, SIGSEGV}) {
    Terminal terminal(words("train001", {}));
    ASSERT_TRUE(terminal.shows("train001 login: ")) << terminal.shown();
    EXPECT_TRUE(terminal.is_raw());
    terminal.signal(number);
    const int code = terminal.end();
    const bool fatal = number == SIGABRT || number == SIGSEGV;
    EXPECT_TRUE(code == 128 + number || (!fatal && code == 0)) << code;
    EXPECT_FALSE(terminal.is_raw()) << number;
  }
}

}  // namespace
}  // namespace weft
