// Runs programs from a test, with their input and output in files of a folder that is removed with the suite: the weft
// executable for end-to-end tests (weft_binary), a shell, a tool that validates weft's output.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/test_places.h"

namespace weft::testing_program {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Outcome {
  int code = -1;  // 128 + signal when one ended it
  std::string out;
  std::string err;
};

inline std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void put(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Only one suite of a binary may derive from it: the folder is per process.
class ProgramTest : public testing::Test {
 protected:
  static void make_folder(const std::string& name) {
    folder_ = fs::path(testing::TempDir()) / ("weft_" + name + "_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static std::string file(const std::string& name, const std::string& text) {
    put(folder_ / name, text);
    return (folder_ / name).string();
  }

  static pid_t start(const Words& words, const std::string& input = {}) {
    put(folder_ / "stdin", input);
    const pid_t child = ::fork();
    if (child == 0) become(words);
    return child;
  }
  // Waits until a child has a handler for the signal, as reported by the kernel. False if it ended without one.
  static bool wait_until_caught(pid_t child, int signal) {
    for (;;) {
      std::ifstream status("/proc/" + std::to_string(child) + "/status");
      bool alive = false;
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("State:")) alive = line.find('Z') == std::string::npos;
        if (!line.starts_with("SigCgt:")) continue;
        if ((std::stoull(line.substr(7), nullptr, 16) >> static_cast<unsigned>(signal - 1) & 1U) != 0) return true;
      }
      if (!alive) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  static Outcome wait(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = contents(folder_ / "stdout");
    outcome.err = contents(folder_ / "stderr");
    return outcome;
  }
  static Outcome run(const Words& words, const std::string& input = {}) { return wait(start(words, input)); }

  static inline fs::path folder_;

 private:
  [[noreturn]] static void become(const Words& words) {
    const auto redirect = [&](const char* name, int flags, int descriptor) {
      const int file = ::open((folder_ / name).c_str(), flags, 0600);  // NOLINT(cppcoreguidelines-pro-type-vararg)
      if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(126);
    };
    redirect("stdin", O_RDONLY, STDIN_FILENO);
    redirect("stdout", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect("stderr", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
};

}  // namespace weft::testing_program
