#include "world/local/helper_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "world/local/checkpoint.h"
#include "world/local/engine_state.h"
#include "world/local/process_table.h"
#include "world/local/supervisor.h"
#include "world/local/user_rights.h"

namespace weft::world {
namespace {

constexpr int kLockDescriptor = 3;
constexpr int kUsageError = 64;
constexpr std::size_t kMaxOutput = 64U << 20U;

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

int write_fields(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) {
    text += replace_all(field, std::string_view("\0", 1), "?");
    text += '\0';
  }
  text += "end";
  text += '\0';
  return write_all(STDOUT_FILENO, text).error == 0 ? 0 : 1;
}

int verify(const std::vector<std::string>& arguments) {
  control::JobNumber job = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  if (arguments.size() < 4 || !read_number(arguments[1], job) || !read_number(arguments[2], uid) ||
      !read_number(arguments[3], gid))
    return kUsageError;
  if (become_user(find_account(uid).name, uid, gid) != 0) return 1;
  const NewestCheckpoint newest = find_newest({arguments.begin() + 4, arguments.end()}, job);
  return write_fields({newest.intact ? newest.intact->name : "", newest.intact ? newest.intact->path : "",
                       std::to_string(newest.intact ? newest.intact->step : 0), join(newest.rejected, "; "),
                       newest.readable ? "1" : "0"});
}

int prepare(const std::vector<std::string>& arguments) {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  if (arguments.size() < 3 || !read_number(arguments[1], uid) || !read_number(arguments[2], gid)) return kUsageError;
  std::string problem;
  for (std::size_t at = 3; at < arguments.size(); ++at) {
    if (const Status made = make_checkpoint_directory(arguments[at], uid, gid); !made.ok())
      problem = made.error().message;
  }
  return write_fields({problem});
}

// As the user, by a rename: a reader sees the old text or the new one.
Status write_mark(const std::string& file, const std::string& text, std::uint32_t uid, std::uint32_t gid) {
  const std::string directory = file.substr(0, file.rfind('/'));
  const std::string volume = directory.substr(0, directory.rfind('/'));
  struct stat info {};
  if (::stat(volume.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Error{ErrorCode::unavailable,
                 fmt::format("the checkpoint volume {} is not mounted on the machine of weft serve", volume),
                 {}};
  }
  if (Status made = make_checkpoint_directory(directory, uid, gid); !made.ok()) return made;
  const ActAsUser rights(uid, gid);
  if (!rights.ok()) return Error{ErrorCode::refused, fmt::format("cannot act as user {}", uid), {}};
  return write_file(file, text + "\n");
}

int mark(const std::vector<std::string>& arguments) {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  if (arguments.size() < 5 || !read_number(arguments[1], uid) || !read_number(arguments[2], gid)) return kUsageError;
  std::string problem;
  for (std::size_t at = 4; at < arguments.size() && problem.empty(); ++at) {
    if (const Status written = write_mark(arguments[at], arguments[3], uid, gid); !written.ok())
      problem = written.error().text();
  }
  return write_fields({problem});
}

int scan(const std::vector<std::string>& arguments) {
  std::vector<std::string> fields;
  for (std::size_t at = 1; at < arguments.size();) {
    control::AttemptName name;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::int64_t since = 0;
    std::size_t count = 0;
    if (arguments.size() - at < 6 || !read_number(arguments[at], name.job) ||
        !read_number(arguments[at + 1], name.attempt) || !read_number(arguments[at + 2], uid) ||
        !read_number(arguments[at + 3], gid) || !read_number(arguments[at + 4], since) ||
        !read_number(arguments[at + 5], count) || count > arguments.size() - at - 6)
      return kUsageError;
    at += 6;
    const ActAsUser rights(uid, gid);
    for (std::size_t end = at + count; at < end; ++at) {
      const Result<std::vector<CheckpointInfo>> found = list_checkpoints(arguments[at], since);
      if (!found.ok() || !rights.ok()) continue;
      for (const CheckpointInfo& checkpoint : *found) {
        if (checkpoint.attempt != name) continue;
        fields.insert(fields.end(), {std::to_string(name.job), std::to_string(name.attempt), checkpoint.name,
                                     std::to_string(checkpoint.step), std::to_string(checkpoint.took.count()),
                                     std::to_string(checkpoint.written_ns)});
      }
    }
  }
  return write_fields(fields);
}

// Signals are blocked while a child is not yet a process of its own: it must not run the engine's handlers.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

void close_from(unsigned first) {
  if (::syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  const long limit = ::sysconf(_SC_OPEN_MAX);
  for (int fd = static_cast<int>(first); fd < (limit > 0 ? limit : 65536); ++fd) ::close(fd);
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    pointers.push_back(const_cast<char*>(text.c_str()));  // NOLINT(cppcoreguidelines-pro-type-const-cast): execv
  pointers.push_back(nullptr);
  return pointers;
}

struct HelperDescriptors {
  int output = -1;  // -1: /dev/null
  int lock = -1;    // -1: none
};

// In the child. Only async-signal-safe calls until exec: the engine's process may have threads then.
[[noreturn]] void become_helper(const std::vector<char*>& program, const std::vector<std::string>& arguments,
                                const HelperDescriptors& descriptors, pid_t engine) {
  const bool lives_on = descriptors.lock >= 0;
  if (lives_on) {
    ::setsid();
  } else {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != engine) ::_exit(1);  // it died before the line above
  }
  // The descriptors may have the very numbers that they move to; these copies are above them.
  const int lock = lives_on ? ::fcntl(descriptors.lock, F_DUPFD, 10) : -1;
  const int output = descriptors.output >= 0 ? ::fcntl(descriptors.output, F_DUPFD, 10) : -1;
  const int null = ::open("/dev/null", O_RDWR);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  ::dup2(null, STDIN_FILENO);
  ::dup2(output >= 0 ? output : null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
  if (lock >= 0) ::dup2(lock, kLockDescriptor);
  close_from(lock >= 0 ? kLockDescriptor + 1 : kLockDescriptor);
  for (int signal = 1; signal < NSIG; ++signal) (void)::signal(signal, SIG_DFL);
  (void)::signal(SIGPIPE, SIG_IGN);
  ::umask(022);
  (void)!::chdir("/");
  sigset_t none;
  sigemptyset(&none);
  (void)::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  if (program.empty()) ::_exit(run_helper(arguments));
  ::execv(program.front(), program.data());
  ::_exit(127);
}

Result<pid_t> fork_helper(const std::vector<std::string>& program, const std::vector<std::string>& arguments,
                          const HelperDescriptors& descriptors) {
  std::vector<std::string> words = program;
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> pointers = program.empty() ? std::vector<char*>() : pointers_to(words);
  const pid_t engine = ::getpid();
  const SignalsBlocked guard;
  const pid_t child = ::fork();
  if (child == 0) become_helper(pointers, arguments, descriptors, engine);
  if (child < 0)
    return Error{
        ErrorCode::unavailable, fmt::format("cannot start a process: {}", std::generic_category().message(errno)), {}};
  return child;
}

}  // namespace

int run_helper(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return kUsageError;
  if (arguments[0] == "supervise" && arguments.size() == 2) {
    ::fcntl(kLockDescriptor, F_SETFD, FD_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg): not for the ranks
    return run_supervisor(arguments[1], FileDescriptor(kLockDescriptor));
  }
  if (arguments[0] == "verify") return verify(arguments);
  if (arguments[0] == "prepare") return prepare(arguments);
  if (arguments[0] == "mark") return mark(arguments);
  if (arguments[0] == "scan") return scan(arguments);
  return kUsageError;
}

Result<pid_t> start_supervisor(const std::vector<std::string>& program, const std::string& folder,
                               const FileDescriptor& lock) {
  return fork_helper(program, {"supervise", folder}, {-1, lock.get()});
}

HelperProcess::HelperProcess(HelperProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)), received_(std::move(other.received_)) {}

HelperProcess& HelperProcess::operator=(HelperProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(received_, other.received_);
  return *this;
}

HelperProcess::~HelperProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  // One that hangs in the kernel is left to init rather than waited for.
  for (int round = 0; round < 100; ++round) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
    ::usleep(5'000);
  }
}

Result<HelperProcess> HelperProcess::start(const std::vector<std::string>& program,
                                           const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return file_error(errno, "create a pipe", "helper");
  HelperProcess helper;
  helper.output_ = FileDescriptor(ends[0]);
  const FileDescriptor write_end(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  const Result<pid_t> child = fork_helper(program, arguments, {ends[1], -1});
  if (!child.ok()) return child.error();
  helper.pid_ = *child;
  return helper;
}

std::optional<Result<std::vector<std::string>>> HelperProcess::poll() {
  std::array<char, 16384> piece{};
  while (output_.ok()) {
    const ssize_t got = ::read(output_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got <= 0) {
      output_.close();
      break;
    }
    if (received_.size() < kMaxOutput) received_.append(piece.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  const pid_t reaped = pid_ > 0 ? ::waitpid(pid_, &status, WNOHANG) : -1;
  if (reaped == 0) return std::nullopt;
  pid_ = 0;
  std::vector<std::string> fields;
  for (const std::string_view field : split(received_, '\0')) fields.emplace_back(field);
  if (fields.size() >= 2 && fields[fields.size() - 2] == "end" && fields.back().empty()) {
    fields.resize(fields.size() - 2);
    return Result<std::vector<std::string>>(std::move(fields));
  }
  std::string how = "gave no answer";
  if (reaped > 0 && WIFSIGNALED(status)) how = fmt::format("was killed by {}", signal_name(WTERMSIG(status)));
  if (reaped > 0 && WIFEXITED(status)) how = fmt::format("ended with status {}", WEXITSTATUS(status));
  return Result<std::vector<std::string>>(Error{ErrorCode::unavailable, "the helper process " + how, {}});
}

}  // namespace weft::world
