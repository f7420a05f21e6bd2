// Compares the actual state with the design: cables as LLDP and InfiniBand sweeps show them, hosts as `weft discover`
// saw them, switches as they are configured. Every difference is one record, with what was planned, what was
// seen, where that is written and how sure it is. Rules (rules/live.cc) and `weft check --live` print them.
//
// A cable counts as missing only where a device at either end handed in a report and something else was seen of the
// other: hosts without an LLDP agent are silent, not unplugged. Cables of BMCs and PDUs are never missed, since these
// rarely speak LLDP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "check/core/finding.h"
#include "config/config_set.h"
#include "model/cluster.h"

namespace weft::check {

enum class Confidence : std::uint8_t {
  certain,  // both ends report the same
  likely,   // one end reports it
  low,      // inferred, or the ends disagree
};
[[nodiscard]] std::string_view to_text(Confidence confidence);

enum class LiveKind : std::uint8_t {
  swapped,
  miswired,
  wrong_rail,
  wrong_fabric,
  missing,
  unknown_device,
  unplanned,
  disagreement,
  wrong_speed,
  link_down,
  wrong_mtu,
  wrong_address,
  default_route,
  extra_interface,
  few_gpus,
  few_ports,
  few_functions,
  mixed_gids,
  strict_filter,
  forwarding,
  lossy_pause,
  silent,
  description,
  port_off,
  configured_speed,
  configured_vlan,
  configured_asn,
  configured_name,
  configured_mtu,
};
inline constexpr int kLiveKinds = static_cast<int>(LiveKind::configured_mtu) + 1;
[[nodiscard]] std::string_view to_text(LiveKind kind);

struct LiveDifference {
  LiveKind kind = LiveKind::miswired;
  Confidence confidence = Confidence::likely;
  std::string device;  // whose it is: a name, or several as a host range
  std::string port;    // "" when it is about the whole device
  std::string planned;
  std::string seen;
  std::string message;  // one line with the names in it
  std::string what;     // the same without names: equal ones can be merged; "" if each is reported separately
  SourceLocation place;
  std::vector<Finding::Related> related;
};

// Planned cables by what became of them.
struct CableCount {
  std::uint64_t planned = 0;
  std::uint64_t matching = 0;
  std::uint64_t certain = 0;  // of those, seen from both ends
  std::uint64_t differing = 0;
  std::uint64_t missing = 0;
  std::uint64_t not_reported = 0;  // no device at either end reported
};

class LiveComparison {
 public:
  // All must outlive this.
  LiveComparison(const model::Cluster& cluster, const config::ConfigSet& config, const Sources& sources);

  [[nodiscard]] const model::Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Sources& sources() const { return sources_; }
  // By kind, then by place.
  [[nodiscard]] const std::vector<LiveDifference>& differences() const { return differences_; }
  [[nodiscard]] const CableCount& cables() const { return cables_; }
  // Sentences about what could not be judged.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  const model::Cluster& cluster_;
  const Sources& sources_;
  std::vector<LiveDifference> differences_;
  CableCount cables_;
  std::vector<std::string> notes_;
};

// Counts, then a row for each difference.
[[nodiscard]] Document live_document(const LiveComparison& comparison);
// The interfaces of one host with the fabric each is on. `cluster` may be null: then it is a guess.
[[nodiscard]] Document discover_document(const config::HostFacts& facts, const model::Cluster* cluster);

}  // namespace weft::check
