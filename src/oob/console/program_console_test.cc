#include "oob/console/program_console.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace weft::oob {
namespace {

std::string read_until(ConsoleStream& stream, const std::string& end) {
  std::string text;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (text.find(end) == std::string::npos && std::chrono::steady_clock::now() < limit) {
    const Result<std::string> got = stream.read(milliseconds(100));
    if (!got) break;
    text += *got;
  }
  return text;
}

TEST(ProgramConsole, ReadsAndWritesOnATerminal) {
  const Result<std::unique_ptr<ConsoleStream>> console =
      open_program_console({"sh", "-c", "tty -s && echo terminal; read line; echo \"got $line\"; exit 3"}, "n1");
  ASSERT_TRUE(console.ok()) << console.error().text();
  EXPECT_NE(read_until(**console, "terminal").find("terminal"), std::string::npos);
  ASSERT_TRUE((*console)->write("hello\n").ok());
  const std::string text = read_until(**console, "got hello");
  EXPECT_EQ(text.find("hello"), text.find("got hello") + 4);  // not echoed by our terminal
  Result<std::string> end = (*console)->read(milliseconds(2'000));
  for (int i = 0; i < 50 && end.ok(); ++i) end = (*console)->read(milliseconds(100));
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, ErrorCode::unavailable);
  EXPECT_EQ(end.error().text(), "n1: the console program 'sh' ended with status 3");
}

TEST(ProgramConsole, SilenceIsNotAnError) {
  const Result<std::unique_ptr<ConsoleStream>> console = open_program_console({"sleep", "60"}, "n1");
  ASSERT_TRUE(console.ok());
  const Result<std::string> nothing = (*console)->read(milliseconds(30));
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(*nothing, "");
}

TEST(ProgramConsole, StartFailureIsReported) {
  const Result<std::unique_ptr<ConsoleStream>> missing = open_program_console({"/no/such/program"}, "n1");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(open_program_console({}, "n1").error().code, ErrorCode::invalid_input);
  EXPECT_EQ(open_program_console({""}, "n1").error().code, ErrorCode::invalid_input);
}

// The whole group is killed, including processes that ignore SIGHUP.
TEST(ProgramConsole, AllChildProcessesAreKilledOnClose) {
  pid_t child = 0;
  const auto start = std::chrono::steady_clock::now();
  {
    const Result<std::unique_ptr<ConsoleStream>> console = open_program_console(
        {"sh", "-c", "trap '' HUP TERM; (trap '' HUP TERM; sleep 100) & echo \"pid $!.\"; wait"}, "n1");
    ASSERT_TRUE(console.ok());
    const std::string text = read_until(**console, ".");
    ASSERT_NE(text.find("pid "), std::string::npos);
    child = std::stoi(text.substr(text.find("pid ") + 4));
    EXPECT_EQ(::kill(child, 0), 0);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  // Exited, or a zombie not yet reaped by its new parent: "PID (sleep) Z ...".
  const auto runs = [&] {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string line;
    return std::getline(status, line) && line.find(") Z") == std::string::npos;
  };
  for (int i = 0; i < 3'000 && runs(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(runs());
}

TEST(ProgramConsole, ConcurrentConsolesAreIndependent) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      const std::string word = "console" + std::to_string(i) + "end";
      const Result<std::unique_ptr<ConsoleStream>> console = open_program_console({"echo", word}, "n1");
      ASSERT_TRUE(console.ok());
      EXPECT_NE(read_until(**console, "end").find(word), std::string::npos);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft::oob
