// The event stream of one client of a simulated BMC (DSP0266, "Server-sent events"): which events follow, as text. It
// takes them out of the BMC's buffer one by one when the client can receive them, so a client that never reads costs no
// memory. No sockets, no chunks: those are in server.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bmcsim/bmc.h"

namespace weft::bmcsim {

class SimEventStream {
 public:
  // `last_id`: what the client got last, its Last-Event-ID header; empty: it wants what happens from now on. An id that
  // was never sent is answered as a lost one.
  SimEventStream(const SimBmc& bmc, std::uint32_t subscription, std::string_view last_id);

  [[nodiscard]] std::uint32_t subscription() const { return subscription_; }
  // The text of the next event; empty if there is none now.
  [[nodiscard]] std::string next(const SimBmc& bmc);
  // Whether the subscription was deleted, its session ended, or the BMC restarted.
  [[nodiscard]] bool is_over(const SimBmc& bmc) const;
  // Whether the fault of that name drops the connection now.
  [[nodiscard]] bool drops(const SimBmc& bmc) const;
  // When an event is sent that has happened, but is held back; empty if none is.
  [[nodiscard]] std::optional<Duration> due(const SimBmc& bmc) const;

  static constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

 private:
  std::uint32_t subscription_;
  std::uint32_t last_ = 0;  // id of the last event that was sent or left out
  bool last_unknown_ = false;
  std::int64_t sent_ = 0;
};

}  // namespace weft::bmcsim
