// One observation of the health of a node: an event (a kernel line, an entry of a BMC's log) or a measurement. Readers
// make signals of what they read; rules (rules.h) say what a signal means. A signal carries no judgment.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sched/machine/moment.h"

namespace weft::health {

// Who observed it. Each is fresh or stale by itself: a BMC that answers does not make the kernel's log fresh.
enum class SignalSource : std::uint8_t { gpu, host, kernel, bmc, network, scheduler, job, other };
inline constexpr std::uint8_t kSignalSources = 8;
[[nodiscard]] const std::vector<std::pair<std::string_view, SignalSource>>& choices_of(SignalSource);

// A detail of a signal that rules may test: {"reg0", "0x200000"}, {"unit", "NETIR"}.
struct SignalDetail {
  std::string key;
  std::string value;
  friend bool operator==(const SignalDetail&, const SignalDetail&) = default;
};

struct Signal {
  // FAMILY:NAME, lower case: "xid:79", "sxid:20034", "aer:fatal", "dcgm:gpu_temp", "ib:link_downed", "sel:psu_lost".
  std::string name;
  std::string node;             // as the source names it; "": the source does not say
  std::string part;             // of the node: "GPU 0000:3b:00", "mlx5_0/1"; "": the node itself
  std::optional<double> value;  // a measurement or a counter; none: an event
  sched::Moment at{};           // of the observation; Moment(): the source does not say
  std::string text;             // what the source wrote, for people
  std::vector<SignalDetail> details;
  SignalSource source = SignalSource::other;
  friend bool operator==(const Signal&, const Signal&) = default;

  // The value of a detail; "": it has none.
  [[nodiscard]] std::string_view detail(std::string_view key) const;
};

}  // namespace weft::health
