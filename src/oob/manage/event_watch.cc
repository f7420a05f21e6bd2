#include "oob/manage/event_watch.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "base/check.h"
#include "oob/bmc/ask_all.h"
#include "oob/manage/event_merge.h"

namespace weft::oob {
namespace {

constexpr Duration kFirstPause = milliseconds(5'000);  // before dialing again; doubled up to kMaxPause
constexpr Duration kMaxPause = milliseconds(60'000);
constexpr Duration kReadSlice = milliseconds(1'000);
// After an event that may not be the only one: a BMC writes its log some time after it sends.
constexpr Duration kCatchUp = milliseconds(2'000);

// Reports of many threads, one at a time.
class Reporter {
 public:
  Reporter(const WatchSink& sink, std::size_t targets) : sink_(sink), states_(targets, WatchState::connecting) {}

  void events(std::uint32_t target, const std::vector<LogEvent>& events) {
    if (events.empty()) return;
    const std::lock_guard lock(mutex_);
    sink_.events(target, events);
  }
  void state(std::size_t index, std::uint32_t target, WatchState state, const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (states_[index] == state) return;
    states_[index] = state;
    sink_.state(target, state, why);
  }
  void unread(std::uint32_t target, const UnreadLog& log) {
    const std::lock_guard lock(mutex_);
    sink_.unread(target, log);
  }
  [[nodiscard]] std::vector<WatchState> states() {
    const std::lock_guard lock(mutex_);
    return states_;
  }

 private:
  const WatchSink& sink_;
  std::mutex mutex_;
  std::vector<WatchState> states_;
};

// One device.
class DeviceWatch {
 public:
  DeviceWatch(const Fleet& fleet, std::size_t index, std::uint32_t target, const WatchOptions& options,
              Reporter& reporter)
      : fleet_(fleet),
        index_(index),
        target_(target),
        options_(options),
        reporter_(reporter),
        end_(fleet.clock.now() + options.length),
        merger_(fleet.clock.wall_ms(), options.since_ms) {}

  void run() {
    Duration pause = kFirstPause;
    while (!is_over()) {
      const Status ended = watch_session();
      if (is_over()) return;
      if (!ended.ok() && ended.error().code == ErrorCode::refused) {
        reporter_.state(index_, target_, WatchState::given_up, ended.error().message);
        return;
      }
      if (!ended.ok()) reporter_.state(index_, target_, WatchState::unreachable, ended.error().message);
      if (std::exchange(was_read_, false)) pause = kFirstPause;
      sleep(pause);
      pause = std::min(pause * 2, kMaxPause);
    }
  }

 private:
  [[nodiscard]] bool is_over() const {
    return fleet_.clock.stopped() || (options_.length != Duration() && fleet_.clock.now() >= end_);
  }
  [[nodiscard]] Duration until_end(Duration wanted) const {
    return options_.length == Duration() ? wanted : std::clamp(end_ - fleet_.clock.now(), Duration(), wanted);
  }
  void sleep(Duration time) { (void)fleet_.clock.sleep(until_end(time)); }

  // From the login until the BMC no longer answers.
  Status watch_session() {
    Result<OpenBmc> open = open_patiently(fleet_, target_);
    if (!open.ok()) return open.error();
    Bmc& bmc = *open->bmc;
    may_stream_ = true;
    std::unique_ptr<EventStream> stream;  // opened before the logs are read, so that nothing is between them
    while (!is_over()) {
      if (stream == nullptr && may_stream_) stream = open_stream(bmc);
      if (Status read = read_logs(bmc); !read.ok()) return read;
      reporter_.state(index_, target_, stream == nullptr ? WatchState::polling : WatchState::streaming, {});
      if (stream == nullptr) {
        sleep(options_.interval);
      } else if (const Duration began = fleet_.clock.now(); !follow(*stream).ok()) {
        stream.reset();  // the logs say what it would have; then another one
        if (fleet_.clock.now() - began >= options_.interval) stream_pause_ = kCatchUp;
        sleep(stream_pause_);
        stream_pause_ = std::min(stream_pause_ * 2, options_.interval);
      }
    }
    return {};
  }

  std::unique_ptr<EventStream> open_stream(Bmc& bmc) {
    Result<std::unique_ptr<EventStream>> stream = bmc.event_stream(last_id_);
    if (stream.ok()) return std::move(stream).value();
    const ErrorCode code = stream.error().code;
    // Another attempt with each reading of the logs, unless the BMC has none.
    may_stream_ = code != ErrorCode::not_found && code != ErrorCode::refused;
    return nullptr;
  }

  Status read_logs(Bmc& bmc) {
    const Result<EventLogs> logs = bmc.event_logs({});
    if (!logs.ok() && logs.error().code != ErrorCode::not_found) return logs.error();
    was_read_ = true;
    if (!logs.ok()) return {};  // it has no log
    reporter_.events(target_, merger_.take_logs(*logs));
    std::set<std::string> unread;
    for (const UnreadLog& log : logs->unread) {
      unread.insert(log.log);
      if (!unread_.contains(log.log)) reporter_.unread(target_, log);
    }
    unread_ = std::move(unread);
    return {};
  }

  // Until the logs should be read again. An error if the stream ended.
  Status follow(EventStream& stream) {
    Duration until = fleet_.clock.now() + options_.interval * kRecheck;
    while (!is_over() && fleet_.clock.now() < until) {
      Result<SentEvents> sent = stream.read(until_end(std::min(kReadSlice, until - fleet_.clock.now())));
      if (!sent.ok()) return sent.error();
      last_id_ = stream.last_id();
      if (sent->incomplete) until = std::min(until, fleet_.clock.now() + kCatchUp);
      reporter_.events(target_, merger_.take_sent(std::move(sent->events)));
    }
    return {};
  }

  const Fleet& fleet_;
  const std::size_t index_;
  const std::uint32_t target_;
  const WatchOptions& options_;
  Reporter& reporter_;
  const Duration end_;
  EventMerger merger_;
  std::string last_id_;
  std::set<std::string> unread_;
  Duration stream_pause_ = kCatchUp;
  bool may_stream_ = true;
  bool was_read_ = false;
};

}  // namespace

std::string_view to_text(WatchState state) {
  switch (state) {
    case WatchState::connecting:
      return "connecting";
    case WatchState::streaming:
      return "streaming";
    case WatchState::polling:
      return "polling";
    case WatchState::unreachable:
      return "unreachable";
    case WatchState::given_up:
      break;
  }
  return "given up";
}

std::vector<WatchState> watch_events(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                     const WatchOptions& options, const WatchSink& sink) {
  CHECK(targets.size() <= static_cast<std::size_t>(kMaxFanOut), "one thread per target");
  Reporter reporter(sink, targets.size());
  (void)fan_out(static_cast<std::uint32_t>(targets.size()), static_cast<int>(std::max<std::size_t>(targets.size(), 1)),
                fleet.clock, [&](std::uint32_t i) { DeviceWatch(fleet, i, targets[i], options, reporter).run(); });
  return reporter.states();
}

}  // namespace weft::oob
