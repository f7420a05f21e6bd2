#include "serve/daemon/kube_lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/utf8.h"

namespace weft::serve {
namespace {

constexpr Duration kMaxUnreachable = milliseconds(60'000);  // at the start
constexpr Duration kPause = milliseconds(200);              // a stop is noticed after so long

kube::ClientOptions short_requests() {
  kube::ClientOptions options;
  options.deadline = milliseconds(4'000);  // below the renew deadline
  options.max_tries = 1;
  return options;
}

}  // namespace

KubeLease::KubeLease(const kube::ClusterAccess& access, kube::ElectionOptions options)
    : connection_(std::make_unique<KubeConnection>(access, "lease", short_requests())),
      options_(std::move(options)),
      election_(connection_->client, options_) {}

Result<std::unique_ptr<KubeLease>> KubeLease::acquire(const kube::ClusterAccess& access, kube::ElectionOptions options,
                                                      const std::function<void(std::string_view)>& log) {
  std::unique_ptr<KubeLease> lease(new KubeLease(access, std::move(options)));
  if (Status taken = lease->wait_for_lease(log); !taken.ok()) return taken.error();
  // Signals are the owner's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  lease->thread_ = std::thread([raw = lease.get()] { raw->keep(); });
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return lease;
}

Status KubeLease::wait_for_lease(const std::function<void(std::string_view)>& log) {
  oob::SystemClock& clock = connection_->clock;
  Duration answered = clock.now();
  bool noted = false;
  for (;;) {
    election_.step();
    publish();
    if (is_held()) return {};
    const std::string holder = printable(election_.holder(), 200);
    if (election_.is_renewed()) {
      return Error{ErrorCode::refused,
                   fmt::format("another weft serve controls these jobs: {} holds the lease {} and renews it; stop it "
                               "first, or use another --namespace",
                               in_backticks(holder), in_backticks(options_.lease.text())),
                   {}};
    }
    if (election_.problem().empty()) answered = clock.now();
    if (clock.now() - answered > kMaxUnreachable) return Error{ErrorCode::unavailable, election_.problem(), {}};
    if (!holder.empty() && !noted && log) {
      log(fmt::format("waiting until the lease {} of {} expires, unless it is renewed",
                      in_backticks(options_.lease.text()), in_backticks(holder)));
      noted = true;
    }
    if (!clock.sleep(std::max(election_.idle_for(), kPause))) return Error{ErrorCode::unavailable, "stopped", {}};
  }
}

KubeLease::~KubeLease() {
  if (!thread_.joinable()) return;
  held_until_ = 0;
  stopping_ = true;
  thread_.join();
  (void)election_.release().ok();  // if it fails, the lease expires
}

void KubeLease::publish() {
  held_until_ = election_.leads_until().count();
  std::string problem = election_.problem();
  if (problem.empty() && !is_held())
    problem = fmt::format("the lease {} belongs to {}", options_.lease.text(), printable(election_.holder(), 200));
  const std::lock_guard lock(mutex_);
  problem_ = std::move(problem);
}

void KubeLease::keep() {
  while (!stopping_) {
    (void)connection_->clock.sleep(std::min(std::max(election_.idle_for(), milliseconds(1)), kPause));
    election_.step();
    if (!stopping_) publish();
  }
}

bool KubeLease::is_held() const { return connection_->clock.now().count() < held_until_.load(); }

std::string KubeLease::problem() const {
  if (is_held()) return {};
  const std::lock_guard lock(mutex_);
  return problem_.empty() ? "the lease could not be renewed in time" : problem_;
}

}  // namespace weft::serve
