// What a simulated BMC sends: a bounded buffer of its last events, and the subscriptions of those who listen. A BMC
// that was never listened to has none. The stream of one client is in event_stream.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "bmcsim/event.h"

namespace weft::bmcsim {

inline constexpr std::size_t kMaxBufferedEvents = 64;
inline constexpr std::size_t kMaxSubscriptions = 10;  // per BMC; bmcweb has the same limit

// An open stream; Redfish lists it as an EventDestination.
struct SimSubscription {
  std::uint32_t id = 0;
  std::uint32_t session = 0;  // that opened it; 0: HTTP Basic
};

class SimEventFeed {
 public:
  // `newest`: the id of the last event before this one.
  explicit SimEventFeed(std::uint32_t newest) : newest_(newest) {}

  void add(const SimEvent& event);
  // The BMC restarts: buffer and subscriptions are lost.
  void clear();

  [[nodiscard]] const std::vector<SimSubscription>& subscriptions() const { return subscriptions_; }
  [[nodiscard]] bool has_subscription(std::uint32_t id) const;
  [[nodiscard]] bool has_session(std::uint32_t session) const;  // whether one of its streams is open
  [[nodiscard]] std::uint32_t session_of(std::uint32_t id) const;
  // The id of a new one; 0 if there are too many.
  [[nodiscard]] std::uint32_t subscribe(std::uint32_t session);
  bool unsubscribe(std::uint32_t id);
  void end_session(std::uint32_t session);

  struct Following {
    const SimEvent* event = nullptr;  // null: none yet
    bool lost = false;                // there were others before it that are no longer buffered
  };
  // The event after the one with this id.
  [[nodiscard]] Following after(std::uint32_t id) const;
  [[nodiscard]] std::uint32_t newest() const { return newest_; }

 private:
  std::uint32_t newest_;
  std::uint32_t next_subscription_ = 1;
  std::deque<SimEvent> buffer_;
  std::vector<SimSubscription> subscriptions_;
};

}  // namespace weft::bmcsim
