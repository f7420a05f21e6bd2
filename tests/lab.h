// For end-to-end tests with real daemons: a temporary folder, programs started and stopped by process id, network
// namespaces with unique names. The Lab cleans everything up when destroyed, even if a test fails.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft::testing_lab {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

struct Outcome {
  int code = -1;  // 128 + signal when one ended it, 124 when it took too long
  std::string out;
};

// Timeouts catch hangs only: a test that is slow on a busy machine must not fail.
constexpr int kPatience = 6;

class Lab {
 public:
  explicit Lab(const std::string& name) {
    std::string pattern = (std::filesystem::temp_directory_path() / ("weft_" + name + "_XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) return;
    folder_ = pattern;
    // Daemons that drop root must still reach their sockets in it.
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;
  ~Lab() {
    for (const std::string& space : spaces_) stop_in(space);
    for (const pid_t pid : started_) stop(pid);
    for (const std::string& space : spaces_) (void)run({"ip", "netns", "del", space});
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  void variable(const std::string& name, const std::string& value) { variables_.emplace_back(name, value); }

  // Runs to completion in the lab's folder; standard error is merged into standard output if `errors` is set.
  Outcome run(const Words& words, int seconds = 20, bool errors = false) {
    const std::filesystem::path out = folder_ / ("out" + std::to_string(++runs_));
    const pid_t pid = spawn(words, out, errors);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds * kPatience);
    Outcome outcome;
    int status = 0;
    while (::waitpid(pid, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end) {
        ::kill(-pid, SIGKILL);
        ::waitpid(pid, &status, 0);
        outcome.code = 124;
        outcome.out = contents(out) + "\n(ended by the test: it took too long)\n";
        return outcome;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = contents(out);
    std::error_code ignored;
    std::filesystem::remove(out, ignored);
    return outcome;
  }
  pid_t start(const Words& words) {
    started_.push_back(spawn(words, folder_ / ("log" + std::to_string(++runs_)), true));
    return started_.back();
  }
  [[nodiscard]] bool alive(pid_t pid) const {
    int status = 0;
    return ::waitpid(pid, &status, WNOHANG) == 0;
  }
  // A network namespace; "" if none can be created here.
  std::string space(const std::string& name) {
    const std::string full = "weft" + std::to_string(::getpid()) + "-" + name;
    if (run({"ip", "netns", "add", full}).code != 0) return {};
    spaces_.push_back(full);
    return full;
  }
  // Whether this machine allows network namespaces connected by veth pairs: a prerequisite of tests.
  bool can_make_networks() {
    const std::string probe = space("probe");
    return !probe.empty() &&
           run({"ip", "-n", probe, "link", "add", "name", "probe0", "type", "veth", "peer", "name", "probe1"}).code ==
               0;
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  static std::string contents(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Waits until `ready` returns true.
  template <class Ready>
  static bool wait(int seconds, Ready ready) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds * kPatience);
    while (!ready()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  }

 private:
  pid_t spawn(const Words& words, const std::filesystem::path& out, bool errors) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid != 0) {
      ::setpgid(pid, pid);  // own process group, also set by the child: either may run first
      return pid;
    }
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
    const int to = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nowhere, STDIN_FILENO);
    ::dup2(to, STDOUT_FILENO);
    ::dup2(errors ? to : nowhere, STDERR_FILENO);
    if (::chdir(folder_.c_str()) != 0) ::_exit(126);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  // Stops it, and the rest of its process group.
  static void stop(pid_t pid) {
    int status = 0;
    pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended < 0) return;  // already gone: its process id may have been reused
    if (ended == 0) ::kill(pid, SIGTERM);
    for (int i = 0; i < 100 && ended == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ended = ::waitpid(pid, &status, WNOHANG);
    }
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, &status, 0);
  }
  // Daemons fork; everything in our namespaces was started by us.
  void stop_in(const std::string& space) {
    for (const int signal : {SIGTERM, SIGKILL}) {
      const bool gone = wait(3, [&] {
        const std::vector<pid_t> left = processes_in(space);
        for (const pid_t pid : left) ::kill(pid, signal);
        for (const pid_t pid : left) ::waitpid(pid, nullptr, WNOHANG);
        return left.empty();
      });
      if (gone) return;
    }
  }
  std::vector<pid_t> processes_in(const std::string& space) {
    std::istringstream list(run({"ip", "netns", "pids", space}).out);
    std::vector<pid_t> found;
    for (pid_t pid = 0; list >> pid;) {
      if (pid > 1) found.push_back(pid);
    }
    return found;
  }

  std::filesystem::path folder_;
  std::vector<pid_t> started_;
  std::vector<std::string> spaces_;
  Variables variables_;
  int runs_ = 0;
};

}  // namespace weft::testing_lab
