#include "serve/daemon/etcd_candidacy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <iterator>
#include <random>
#include <utility>

namespace weft::serve {
namespace {

constexpr Duration kPause = milliseconds(100);  // a request to resign is noticed after so long
constexpr Duration kWatch = milliseconds(300);  // and one to stop following
constexpr Duration kAfterError = milliseconds(500);
constexpr std::size_t kMaxUpdates = 10'000;  // that were not taken

// Unique per process, also of one that has the number of an earlier one.
std::string make_identity() {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  std::random_device random;
  return fmt::format("{}:{}:{:08x}{:08x}", host.data(), ::getpid(), random(), random());
}

std::chrono::nanoseconds chrono_of(Duration duration) { return std::chrono::nanoseconds(duration.count()); }

}  // namespace

EtcdCandidacy::EtcdCandidacy(const EtcdSettings& settings, std::string fingerprint, std::function<void()> wake)
    : keys_{settings.connection.prefix},
      fingerprint_(std::move(fingerprint)),
      wake_(std::move(wake)),
      lease_connection_(settings.connection),
      copy_connection_(settings.connection),
      election_(lease_connection_.client(), {keys_.leader(), make_identity(), settings.address}) {}

Result<std::unique_ptr<EtcdCandidacy>> EtcdCandidacy::open(const EtcdSettings& settings, const std::string& fingerprint,
                                                           std::function<void()> wake) {
  std::unique_ptr<EtcdCandidacy> candidacy(new EtcdCandidacy(settings, fingerprint, std::move(wake)));
  store::EtcdReader reader(candidacy->copy_connection_.client(), candidacy->keys_, fingerprint);
  if (const Result<bool> found = reader.refresh(); !found.ok()) {
    Error error = found.error();
    if (error.code == ErrorCode::timeout) error.code = ErrorCode::unavailable;
    return error;
  }
  // Signals are the server's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  candidacy->lease_thread_ = std::thread([raw = candidacy.get()] { raw->keep_lease(); });
  candidacy->copy_thread_ = std::thread([raw = candidacy.get()] { raw->keep_copy(); });
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return candidacy;
}

EtcdCandidacy::~EtcdCandidacy() {
  held_until_ = 0;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  copy_connection_.stop();
  if (lease_thread_.joinable()) lease_thread_.join();
  if (copy_thread_.joinable()) copy_thread_.join();
  election_.resign();
}

etcd::Fence EtcdCandidacy::fence() const {
  const std::lock_guard lock(mutex_);
  return fence_;
}

void EtcdCandidacy::resign(Duration pause) {
  held_until_ = 0;
  {
    const std::lock_guard lock(mutex_);
    resign_ = pause;
  }
  changed_.notify_all();
}

void EtcdCandidacy::follow(bool on) {
  {
    const std::lock_guard lock(mutex_);
    if ((follows_ % 2 == 1) == on) return;
    ++follows_;
    followed_.updates.clear();
    followed_.current_as_of.reset();
    view_.current_as_of.reset();
  }
  changed_.notify_all();
}

Followed EtcdCandidacy::take() {
  const std::lock_guard lock(mutex_);
  return {std::exchange(followed_.updates, {}), followed_.current_as_of};
}

GroupView EtcdCandidacy::view() const {
  const std::lock_guard lock(mutex_);
  GroupView view = view_;
  if (view.problem.empty()) view.problem = copy_problem_;
  return view;
}

void EtcdCandidacy::publish() {
  const std::lock_guard lock(mutex_);
  view_.leader = election_.leader_address();
  view_.problem = election_.problem();
  fence_ = election_.fence();
  if (!resign_ && !stopping_) held_until_ = election_.leads_until().count();
}

void EtcdCandidacy::keep_lease() {
  Duration not_before{};
  while (!stopping_) {
    std::optional<Duration> resign;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, chrono_of(kPause), [&] { return stopping_ || resign_.has_value(); });
      resign = std::exchange(resign_, {});
    }
    if (stopping_) return;
    if (resign) {
      election_.resign();
      not_before = etcd::boot_time() + *resign;
    }
    if (etcd::boot_time() < not_before) continue;
    const bool led = election_.is_leader();
    election_.step();
    publish();
    if (led != election_.is_leader()) wake_();
  }
}

void EtcdCandidacy::keep_copy() {
  std::unique_ptr<store::EtcdFollower> follower;
  int generation = 0;
  bool failed = false;
  while (!stopping_) {
    {
      std::unique_lock lock(mutex_);
      if (failed) changed_.wait_for(lock, chrono_of(kAfterError), [&] { return stopping_.load(); });
      changed_.wait(lock, [&] { return stopping_ || (follows_ % 2 == 1 && followed_.updates.size() < kMaxUpdates); });
      if (stopping_) return;
      if (generation != follows_) {
        generation = follows_;
        follower = std::make_unique<store::EtcdFollower>(copy_connection_.client(), keys_, fingerprint_);
      }
    }
    Result<std::optional<store::FollowerUpdate>> update = follower->step(kWatch);
    failed = !update.ok();
    bool has_update = false;
    {
      const std::lock_guard lock(mutex_);
      if (generation != follows_) continue;
      copy_problem_ = failed ? update.error().text() : "";
      if (!failed) view_.current_as_of = followed_.current_as_of = follower->current_as_of();
      has_update = !failed && update->has_value();
      if (has_update) followed_.updates.push_back(std::move(**update));
    }
    if (has_update) wake_();
  }
}

}  // namespace weft::serve
