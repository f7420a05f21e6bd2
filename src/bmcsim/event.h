// What happens in a simulated BMC: entries of its logs, and the same as the events that it sends (DSP0268, LogEntry and
// Event). Texts and JSON only; the logs are in bmc.h, what is sent in event_feed.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/value.h"

namespace weft::bmcsim {

enum class SimEventKind : std::uint8_t {
  started,
  power_on,
  power_off,
  hard_reset,
  nmi,
  log_cleared,
  locked_out,
  account_added,
  account_changed,
  account_removed,
  update_done,
  update_failed,
  xid
};

struct SimEvent {
  std::uint32_t id = 0;  // consecutive, per BMC
  SimEventKind kind = SimEventKind::started;
  std::uint8_t gpu = 0;       // of an XID
  std::uint32_t subject = 0;  // the XID, the id of the account, or 1 for an update of the BIOS
  std::int64_t wall_ms = 0;
};

// The log with its entry: the XID log of its GPU, or the event log of the system.
[[nodiscard]] std::string log_path_of(const SimEvent& event);
[[nodiscard]] Value log_entry_value(const SimEvent& event);
// An Event with this one record.
[[nodiscard]] Value event_value(const SimEvent& event);
// The event that says that others were lost (DSP0266, "Event message buffering"). `id`: of the last one that was lost.
[[nodiscard]] Value buffer_exceeded_value(std::uint32_t id, std::int64_t wall_ms);

}  // namespace weft::bmcsim
