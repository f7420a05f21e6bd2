#include "oob/console/hub.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "oob/console/hub_socket.h"

namespace weft::oob {
namespace {

// How long a keystroke may be delayed: one thread alternates between reading the console and serving clients.
constexpr Duration kTurn = milliseconds(20);
constexpr std::size_t kMaxGuests = 32;
constexpr std::size_t kMaxUnsent = 1U << 20U;  // bytes buffered for a client that does not read
constexpr Duration kFirstGuest = milliseconds(2'000);
constexpr Duration kFarewell = milliseconds(200);

}  // namespace

ConsoleHub::ConsoleHub(Fleet& fleet, std::uint32_t target, std::string folder)
    : fleet_(fleet),
      device_(fleet.inventory.targets()[target].name),
      folder_(std::move(folder)),
      session_(fleet, target, [this](const std::string& text) { tell(text); }) {}

Result<std::unique_ptr<ConsoleHub>> ConsoleHub::open(Fleet& fleet, std::uint32_t target, const std::string& folder,
                                                     const std::string& who, const std::string& why,
                                                     const ConsoleLogOptions& options) {
  std::unique_ptr<ConsoleHub> hub(new ConsoleHub(fleet, target, folder));
  Result<std::unique_ptr<ConsoleLog>> log = ConsoleLog::open(folder, hub->device_, who, why, fleet.clock, options);
  if (!log.ok()) return log.error();
  hub->log_ = std::move(log).value();
  if (const Status opened = hub->session_.open(); !opened.ok()) {
    (void)hub->log_->note("the console did not open: " + opened.error().message);
    // Not "conflict": that means that another weft process is the holder.
    Error error = opened.error();
    if (error.code == ErrorCode::conflict) error.code = ErrorCode::unavailable;
    return error;
  }
  const Result<int> listener = listen_at(folder, hub->device_);
  if (!listener.ok()) return listener.error();
  hub->listener_ = *listener;
  return hub;
}

ConsoleHub::~ConsoleHub() {
  for (Guest& guest : guests_) send(guest, frame_bytes(FrameType::goodbye, {}), false);
  // The goodbye may not reach a slow client; a responsive one receives it at once.
  const Duration end = fleet_.clock.now() + kFarewell;
  bool waiting = true;
  while (waiting && fleet_.clock.now() < end) {
    waiting = false;
    for (Guest& guest : guests_)
      waiting = (write_available(guest.descriptor, guest.out) && !guest.out.empty()) || waiting;
    if (waiting) ::poll(nullptr, 0, 5);
  }
  if (listener_ >= 0) {
    ::close(listener_);
    ::unlink((folder_ + "/" + device_ + ".sock").c_str());
  }
  for (Guest& guest : guests_) ::close(guest.descriptor);
}

void ConsoleHub::run(const std::atomic<bool>& leave) {
  // The client that opened the console must also receive its first byte.
  const Duration first_guest_by = fleet_.clock.now() + kFirstGuest;
  const auto greeted = [&] {
    return std::any_of(guests_.begin(), guests_.end(), [](const Guest& guest) { return guest.greeted; });
  };
  while (!greeted() && !leave.load() && !fleet_.clock.stopped() && fleet_.clock.now() < first_guest_by) {
    accept_guests();
    for (Guest& guest : guests_) serve(guest);
    remove_gone();
    ::poll(nullptr, 0, 1);
  }
  while (!leave.load() && !fleet_.clock.stopped()) {
    const std::string bytes = session_.read(kTurn);
    if (bytes.empty()) {
      (void)log_->tick();
    } else {
      (void)log_->append(bytes);
      show(bytes);
    }
    accept_guests();
    for (Guest& guest : guests_) serve(guest);
    remove_gone();
  }
}

void ConsoleHub::accept_guests() {
  for (;;) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) return;
    if (guests_.size() >= kMaxGuests || !is_peer_trusted(descriptor)) {
      ::close(descriptor);
      continue;
    }
    guests_.emplace_back();
    guests_.back().descriptor = descriptor;
  }
}

void ConsoleHub::serve(Guest& guest) {
  if (!read_available(guest.descriptor, guest.in)) guest.gone = true;
  while (!guest.gone) {
    Result<std::optional<Frame>> frame = take_frame(guest.in);
    if (!frame.ok()) guest.gone = true;
    if (!frame.ok() || !frame->has_value()) break;
    hear(guest, static_cast<char>((*frame)->type) + (*frame)->bytes);
  }
  if (guest.lost > 0 && guest.out.size() < kMaxUnsent / 2) {
    const std::uint64_t lost = guest.lost;
    guest.lost = 0;
    send(guest, frame_bytes(FrameType::note, fmt::format("{} bytes skipped: this view is too slow", lost)), false);
  }
  if (!guest.gone && !write_available(guest.descriptor, guest.out)) guest.gone = true;
}

void ConsoleHub::hear(Guest& guest, const std::string& type_and_bytes) {
  const auto type_of_frame = static_cast<FrameType>(type_and_bytes.front());
  const std::string bytes = type_and_bytes.substr(1);
  if (type_of_frame == FrameType::hello && !guest.greeted) {
    greet(guest, bytes);
  } else if (!guest.greeted) {
    guest.gone = true;
  } else if (type_of_frame == FrameType::input) {
    type(guest, bytes);
  } else if (type_of_frame == FrameType::take && guest.may_write) {
    give_pen(&guest);
  }
}

void ConsoleHub::greet(Guest& guest, const std::string& words) {
  const std::size_t first = std::min(words.find('\n'), words.size());
  const std::size_t second = std::min(words.find('\n', first + 1), words.size());
  const std::string mode = words.substr(0, first);
  const std::string count = first < words.size() ? words.substr(first + 1, second - first - 1) : std::string();
  std::from_chars(count.data(), count.data() + count.size(), guest.replay);
  guest.who = second < words.size() ? printable(std::string_view(words).substr(second + 1), 80) : "someone";
  guest.may_write = mode != "view";
  guest.greeted = true;
  for (const std::string& line : log_->recent(guest.replay)) send(guest, frame_bytes(FrameType::replay, line), true);
  tell(fmt::format("{} joined{}", guest.who, guest.may_write ? "" : " (read-only)"));
  if (mode == "take" || (guest.may_write && writer_ == nullptr)) {
    give_pen(&guest);
  } else if (guest.may_write) {
    send(guest, frame_bytes(FrameType::note, fmt::format("{} has the write lock; ~t takes it over", writer_->who)),
         false);
  }
}

void ConsoleHub::type(Guest& guest, const std::string& bytes) {
  if (!guest.may_write) return;
  if (writer_ == nullptr) give_pen(&guest);
  if (writer_ != &guest) {
    if (!guest.told)
      send(guest, frame_bytes(FrameType::note, fmt::format("{} has the write lock; ~t takes it over", writer_->who)),
           false);
    guest.told = true;
    return;
  }
  if (const Status written = session_.write(bytes); !written.ok())
    send(guest, frame_bytes(FrameType::note, "not sent: " + written.error().message), false);
}

void ConsoleHub::give_pen(Guest* guest) {
  if (writer_ == guest) return;
  const std::string from = writer_ == nullptr ? std::string() : fmt::format(", taken over from {}", writer_->who);
  writer_ = guest;
  guest->told = false;
  tell(fmt::format("{} has the write lock{}", guest->who, from));
}

void ConsoleHub::send(Guest& guest, std::string_view bytes, bool may_be_lost) {
  if (may_be_lost && (guest.lost > 0 || guest.out.size() + bytes.size() > kMaxUnsent)) {
    guest.lost += bytes.size();
    return;
  }
  guest.out += bytes;
}

void ConsoleHub::show(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string frame = frame_bytes(FrameType::output, bytes.substr(0, kMaxFrame));
    for (Guest& guest : guests_) {
      if (guest.greeted) send(guest, frame, true);
    }
    bytes.remove_prefix(std::min(bytes.size(), kMaxFrame));
  }
}

void ConsoleHub::tell(const std::string& text) {
  if (log_ != nullptr) (void)log_->note(text);
  for (Guest& guest : guests_) {
    if (guest.greeted) send(guest, frame_bytes(FrameType::note, text), false);
  }
}

void ConsoleHub::remove_gone() {
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    if (!guest->gone) {
      ++guest;
      continue;
    }
    const std::string who = guest->greeted ? guest->who : std::string();
    if (writer_ == &*guest) writer_ = nullptr;
    ::close(guest->descriptor);
    guest = guests_.erase(guest);
    if (!who.empty()) tell(who + " left");
  }
}

}  // namespace weft::oob
