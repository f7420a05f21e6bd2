#include "world/local/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <list>
#include <system_error>
#include <vector>

#include "world/local/cgroup.h"
#include "world/local/engine_state.h"
#include "world/local/part_folder.h"
#include "world/local/process_table.h"
#include "world/local/rank_process.h"
#include "world/local/user_rights.h"

namespace weft::world {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kFailureGrace = 5'000 * kMillisecond;    // for the other ranks when one has failed
constexpr std::int64_t kOperatorGrace = 10'000 * kMillisecond;  // if an operator sends SIGTERM to the supervisor
constexpr std::int64_t kLookInterval = 500 * kMillisecond;      // for requests whose wake-up signal was lost
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr int kCannotStart = 71;   // EX_OSERR
constexpr int kCannotCreate = 73;  // EX_CANTCREAT

class Supervisor {
 public:
  Supervisor(const std::string& folder, FileDescriptor lock) : folder_(folder), lock_(std::move(lock)) {}

  int run() {
    Result<PartPlan> plan = folder_.read_plan();
    if (!plan.ok()) return kCannotStart;
    plan_ = std::move(plan).value();
    if (!prepare()) return kCannotStart;
    const Result<PartDecision> decision = folder_.decide_start();
    if (!decision.ok() || *decision != PartDecision::start) {
      remove_cgroup(plan_.cgroup);
      return decision.ok() ? 0 : kCannotStart;
    }
    if (make_checkpoint_directories()) start_ranks();
    while (is_any_running()) attend();
    kill_rest();
    for (RankProcess& rank : ranks_) rank.finish_log();
    finish();
    return 0;
  }

 private:
  // Everything that can fail without harm: nothing has been started yet.
  bool prepare() {
    // Orphans of the job become children of this process, so none can escape.
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return false;
    (void)::prctl(PR_SET_NAME, "weft-part", 0, 0, 0);
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGALRM, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU})
      (void)::signal(signal, SIG_IGN);
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : {SIGCHLD, SIGTERM, SIGUSR2}) sigaddset(&watched, signal);
    if (::pthread_sigmask(SIG_SETMASK, &watched, nullptr) != 0) return false;
    signals_ = FileDescriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    const std::optional<ProcessStat> self = read_process(::getpid());
    if (!signals_.ok() || !self || !folder_.write_supervisor(self->id).ok()) return false;
    account_ = find_account(plan_.uid);
    for (RankPlan& rank : plan_.ranks) {
      if (rank.log.starts_with('/')) continue;
      rank.log = fmt::format("{}/{}", plan_.directory.empty() ? account_.home : plan_.directory, rank.log);
    }
    if (!plan_.cgroup.empty() && create_cgroup(plan_.cgroup).ok())
      cgroup_ = open_descriptor(plan_.cgroup + "/cgroup.procs", O_WRONLY);
    return true;
  }

  void note_failure(std::int32_t code, std::string text) {
    if (outcome_.code != 0) return;
    outcome_ = {code, std::move(text)};
  }

  bool make_checkpoint_directories() {
    for (const std::string& directory : plan_.checkpoints) {
      const Status made = make_checkpoint_directory(directory, plan_.uid, plan_.gid);
      if (made.ok()) continue;
      note_failure(kCannotCreate, made.error().message);
      return false;
    }
    return true;
  }

  void start_ranks() {
    const LogOptions log{plan_.log_bytes, plan_.log_files, plan_.uid, plan_.gid, plan_.user_logs};
    for (const RankPlan& plan : plan_.ranks) {
      RankProcess& rank = ranks_.emplace_back(plan, log);
      const int error = rank.start(plan_, account_, cgroup_.get());
      if (error == 0) continue;
      note_failure(kCannotStart, fmt::format("rank {}: cannot start a process: {}", plan.rank,
                                             std::generic_category().message(error)));
      stop_by(monotonic_ns(), monotonic_ns() + kFailureGrace);
      return;
    }
  }

  [[nodiscard]] bool is_any_running() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const RankProcess& rank) { return rank.is_running(); });
  }

  // Earlier deadlines only: a later request never extends an earlier one.
  void stop_by(std::int64_t terminate_at, std::int64_t kill_at) {
    terminate_at_ = std::min(terminate_at_, terminate_at);
    kill_at_ = std::min(kill_at_, kill_at);
  }

  void attend() {
    const std::int64_t now = monotonic_ns();
    if (now >= look_at_) look_for_requests(now);
    if (now >= kill_at_) {
      kill_cgroup(plan_.cgroup);
      for (const RankProcess& rank : ranks_) rank.signal_group(SIGKILL);
      kill_at_ = now + kLookInterval;  // until all have ended
      terminate_at_ = kNever;
    } else if (now >= terminate_at_) {
      for (const RankProcess& rank : ranks_) rank.signal_group(SIGTERM);
      terminate_at_ = kNever;
      terminated_ = true;
    }
    wait_until(std::min({look_at_, terminate_at_, kill_at_}));
    reap();
  }

  void wait_until(std::int64_t moment) {
    std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}};
    for (const RankProcess& rank : ranks_) watched.push_back({rank.output(), POLLIN, 0});  // closed ones are ignored
    const std::int64_t left = std::max<std::int64_t>(moment - monotonic_ns(), 0);
    const auto timeout = static_cast<int>((left + kMillisecond - 1) / kMillisecond);
    if (::poll(watched.data(), watched.size(), timeout) <= 0) return;
    if (watched.front().revents != 0) read_signals();
    std::size_t index = 1;
    for (RankProcess& rank : ranks_) {
      if (watched[index++].revents != 0) (void)rank.read_output();
    }
  }

  void read_signals() {
    std::array<signalfd_siginfo, 16> received{};
    const ssize_t got = ::read(signals_.get(), received.data(), sizeof received);
    for (std::size_t i = 0; got > 0 && i < static_cast<std::size_t>(got) / sizeof(signalfd_siginfo); ++i) {
      if (received[i].ssi_signo == SIGUSR2) look_at_ = 0;
      if (received[i].ssi_signo == SIGTERM) {
        stopped_ = true;
        stop_by(monotonic_ns(), monotonic_ns() + kOperatorGrace);
      }
    }
  }

  void look_for_requests(std::int64_t now) {
    look_at_ = now + kLookInterval;
    if (const control::OperationId notice = folder_.read_notice(); notice != 0 && notice != notice_) {
      notice_ = notice;
      give_notice();
    }
    const std::optional<StopRequest> stop = folder_.read_stop();
    if (!stop) return;
    stopped_ = true;
    if (stop->notice && stop->operation != stop_notice_) {
      stop_notice_ = stop->operation;
      give_notice();
    }
    if (!terminated_) stop_by(stop->terminate_at, stop->kill_at);
    kill_at_ = std::min(kill_at_, std::max(stop->kill_at, now));
  }

  void give_notice() {
    if (plan_.notice_signal <= 0) return;
    for (const RankProcess& rank : ranks_) rank.signal_process(plan_.notice_signal);
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto rank =
          std::find_if(ranks_.begin(), ranks_.end(), [&](const RankProcess& r) { return r.pid() == pid; });
      if (rank == ranks_.end() || !rank->is_running()) continue;  // an orphan of the job
      rank->note_end(status, plan_);
      if (rank->code() == 0) continue;
      note_failure(rank->code(), fmt::format("rank {}: {}", rank->rank(), rank->text()));
      stop_by(terminated_ ? kNever : monotonic_ns(), monotonic_ns() + kFailureGrace);
    }
  }

  // Orphans are children of this process: when it has no children, no process of the part is left.
  void kill_rest() {
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid > 0 || (pid < 0 && errno == EINTR)) continue;
      if (pid < 0) break;
      kill_cgroup(plan_.cgroup);
      for (const ProcessStat& process : find_descendants(::getpid(), list_processes()))
        send_signal(process.id, SIGKILL);
      wait_until(monotonic_ns() + 10 * kMillisecond);
    }
  }

  void finish() {
    if (has_oom_kill(plan_.cgroup)) outcome_.text += "; the kernel killed a process: out of memory";
    if (stopped_) outcome_.text = outcome_.text.empty() ? "stopped" : "stopped; " + outcome_.text;
    if (cgroup_.ok()) remove_cgroup(plan_.cgroup);
    // Its space was reserved, but some file systems need more. While the lock is held the part counts as running: its
    // end is not known to anyone before it is recorded.
    while (!folder_.write_exit(outcome_).ok()) wait_until(monotonic_ns() + kLookInterval);
  }

  PartFolder folder_;
  FileDescriptor lock_;
  FileDescriptor signals_;
  FileDescriptor cgroup_;
  PartPlan plan_;
  UserAccount account_;
  std::list<RankProcess> ranks_;
  ExitRecord outcome_;
  std::int64_t look_at_ = 0;
  std::int64_t terminate_at_ = kNever;
  std::int64_t kill_at_ = kNever;
  bool terminated_ = false;
  bool stopped_ = false;
  control::OperationId notice_ = 0;
  control::OperationId stop_notice_ = 0;
};

}  // namespace

int run_supervisor(const std::string& folder, FileDescriptor lock) { return Supervisor(folder, std::move(lock)).run(); }

}  // namespace weft::world
