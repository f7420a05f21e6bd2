#include "oob/console/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <thread>

#include "base/file_descriptor.h"
#include "oob/console/hub_socket.h"

namespace weft::oob {
namespace {

constexpr int kTurnMs = 50;                            // how long a stop or the end of the time limit may go unnoticed
constexpr Duration kHolderWait = milliseconds(5'000);  // for the holder's socket to appear
constexpr Duration kTakeOverLimit = milliseconds(60'000);  // for a BMC to release the session of a holder that died
constexpr Duration kPause = milliseconds(100);
constexpr std::string_view kHelp = "~. disconnect   ~t take over the write lock   ~~ send ~   ~? help";

// Runs the hub in its own thread while this client is attached.
class Holder {
 public:
  explicit Holder(std::unique_ptr<ConsoleHub> hub) : hub_(std::move(hub)), thread_([this] { hub_->run(leave_); }) {}
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    leave_.store(true);
    thread_.join();
  }

 private:
  std::unique_ptr<ConsoleHub> hub_;
  std::atomic<bool> leave_{false};
  std::thread thread_;
};

class Client {
 public:
  Client(Fleet& fleet, std::uint32_t target, const ConsoleClientOptions& options)
      : fleet_(fleet), target_(target), options_(options), device_(fleet.inventory.targets()[target].name) {}

  Result<ConsoleOutcome> run() {
    if (!options_.until.empty()) {
      Result<ConsoleMatcher> matcher = ConsoleMatcher::make(options_.until);
      if (!matcher.ok()) return matcher.error();
      matcher_ = std::move(matcher).value();
    }
    ConsoleAccess access(fleet_.journal, device_);
    if (const Status begun = access.begin(options_.view ? "view" : "write", options_.why); !begun.ok())
      return begun.error();
    end_at_ = fleet_.clock.now() + options_.limit;
    while (!ended_) {
      if (const Status joined = join(); !joined.ok()) return joined.error();
    }
    access.count(outcome_.read, outcome_.written);
    return outcome_;
  }

 private:
  // Becomes the holder or attaches to the current one; returns when either side ends the connection.
  Status join() {
    std::unique_ptr<Holder> holder;
    Result<std::unique_ptr<ConsoleHub>> hub =
        ConsoleHub::open(fleet_, target_, options_.folder, options_.who, options_.why, options_.log);
    const Error taken = hub.ok() ? Error{} : hub.error();
    if (hub.ok()) {
      if (joined_before_) say("the other process ended; this command now owns the console session");
      holder = std::make_unique<Holder>(std::move(hub).value());
    } else if (taken.code != ErrorCode::conflict) {
      return after_failure(taken);
    }
    Result<int> socket = connect_to(options_.folder, device_);
    const Duration give_up = fleet_.clock.now() + kHolderWait;
    while (!socket.ok() && holder == nullptr && fleet_.clock.now() < give_up) {
      // The holder is opening its session, or is exiting: then the lock is free at the next attempt.
      if (!fleet_.clock.sleep(kPause)) return stop();
      if (joined_before_) return after_failure(taken);
      socket = connect_to(options_.folder, device_);
    }
    if (!socket.ok())
      return Error{ErrorCode::conflict,
                   fmt::format("{}, which only logs it: read {}/{}.log",
                               holder != nullptr ? socket.error().message : taken.message, options_.folder, device_),
                   device_};
    const FileDescriptor connection(*socket);
    attend(connection.get());
    return {};
  }

  // A BMC that still has the session of a dead holder refuses new ones for a while.
  Status after_failure(const Error& error) {
    if (!joined_before_) return error;
    if (lost_at_ == Duration(0)) lost_at_ = fleet_.clock.now();
    if (fleet_.clock.now() - lost_at_ > kTakeOverLimit || error.code == ErrorCode::refused) return error;
    if (is_over()) return {};
    if (!fleet_.clock.sleep(kPause * 10)) return stop();
    return {};
  }

  void attend(int socket) {
    unsent_ = frame_bytes(FrameType::hello, fmt::format("{}\n{}\n{}",
                                                        options_.view                      ? "view"
                                                        : options_.take && !joined_before_ ? "take"
                                                                                           : "write",
                                                        joined_before_ ? 0 : options_.replay, options_.who));
    if (!joined_before_ && !options_.send.empty()) type(options_.send);
    joined_before_ = true;
    lost_at_ = Duration(0);
    heard_.clear();
    while (!ended_) {
      if (!write_available(socket, unsent_)) return;
      std::array<pollfd, 2> watched{{{socket, POLLIN, 0}, {options_.input, POLLIN, 0}}};
      if (!unsent_.empty()) watched[0].events |= POLLOUT;
      (void)::poll(watched.data(), watched.size(), kTurnMs);
      const bool there = read_available(socket, heard_);
      if (!hear()) return;
      if (!there) {
        say("the process that owned the console session ended");
        return;
      }
      if (!ended_ && watched[1].revents != 0) read_keys();
      if (!ended_) (void)is_over();
    }
    // Flush the last keystrokes before detaching.
    (void)write_available(socket, unsent_);
  }

  // False if the holder sent a goodbye.
  bool hear() {
    for (;;) {
      Result<std::optional<Frame>> frame = take_frame(heard_);
      if (!frame.ok()) return false;
      if (!frame->has_value()) return true;
      const std::string& bytes = (*frame)->bytes;
      switch ((*frame)->type) {
        case FrameType::output:
          outcome_.read += bytes.size();
          if (options_.output) options_.output(bytes);
          if (matcher_ && matcher_->feed(bytes)) {
            outcome_.line = matcher_->line();
            finish(ConsoleEnd::seen);
            return true;
          }
          break;
        case FrameType::replay:
          if (options_.replayed) options_.replayed(bytes);
          break;
        case FrameType::note:
          say(bytes);
          break;
        case FrameType::goodbye:
          return false;
        case FrameType::hello:
        case FrameType::input:
        case FrameType::take:
          break;
      }
    }
  }

  void read_keys() {
    std::array<char, 4096> typed{};
    const ssize_t got = ::read(options_.input, typed.data(), typed.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) return finish(ConsoleEnd::left);
    const EscapeKeys::Pressed pressed = keys_.press(std::string_view(typed.data(), static_cast<std::size_t>(got)));
    if (!pressed.send.empty()) type(pressed.send);
    if (pressed.help) say(kHelp);
    if (pressed.take && options_.view) say("read-only view");
    if (pressed.take && !options_.view) unsent_ += frame_bytes(FrameType::take, {});
    if (pressed.leave) finish(ConsoleEnd::left);
  }

  void type(const std::string& bytes) {
    if (options_.view) {
      if (!told_view_) say("read-only view; ~. disconnects");
      told_view_ = true;
      return;
    }
    outcome_.written += bytes.size();
    unsent_ += frame_bytes(FrameType::input, bytes);
  }

  bool is_over() {
    if (fleet_.clock.stopped()) finish(ConsoleEnd::stopped);
    if (!ended_ && options_.limit > Duration(0) && fleet_.clock.now() >= end_at_) finish(ConsoleEnd::time_over);
    return ended_;
  }
  Status stop() {
    finish(ConsoleEnd::stopped);
    return {};
  }
  void finish(ConsoleEnd end) {
    outcome_.end = end;
    ended_ = true;
  }
  void say(std::string_view text) const {
    if (options_.note) options_.note(text);
  }

  Fleet& fleet_;
  std::uint32_t target_;
  const ConsoleClientOptions& options_;
  std::string device_;
  std::optional<ConsoleMatcher> matcher_;
  EscapeKeys keys_;
  ConsoleOutcome outcome_;
  Duration end_at_;
  Duration lost_at_;
  std::string unsent_;
  std::string heard_;
  bool joined_before_ = false;
  bool told_view_ = false;
  bool ended_ = false;
};

}  // namespace

Result<ConsoleOutcome> share_console(Fleet& fleet, std::uint32_t target, const ConsoleClientOptions& options) {
  return Client(fleet, target, options).run();
}

EscapeKeys::Pressed EscapeKeys::press(std::string_view typed) {
  Pressed pressed;
  for (const char c : typed) {
    if (pending_) {
      pending_ = false;
      at_start_ = true;
      if (c == '.') {
        pressed.leave = true;
        return pressed;
      }
      if (c == '?') {
        pressed.help = true;
        continue;
      }
      if (c == 't') {
        pressed.take = true;
        continue;
      }
      if (c != '~') pressed.send += '~';
    } else if (c == '~' && at_start_) {
      pending_ = true;
      continue;
    }
    pressed.send += c;
    at_start_ = c == '\r' || c == '\n';
  }
  return pressed;
}

}  // namespace weft::oob
