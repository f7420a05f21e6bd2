// Compares the actual state with the design: cabling from LLDP and InfiniBand sweeps, hosts from `weft discover`,
// switches from their configuration. Each difference is one record with the planned and the actual value, its source
// and a confidence. Rules (rules/live.cc) and `weft check --live` print them.
//
// A cable counts as missing only if the device at one end sent a report and the other device appears in some report: a
// host without an LLDP agent is not an unplugged host. Cables of BMCs and PDUs are never reported missing, since these
// devices rarely support LLDP.
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
  std::string device;  // the device concerned, or several as a host range
  std::string port;    // "" if it concerns the whole device
  std::string planned;
  std::string seen;
  std::string message;  // one line, including the names
  std::string what;     // the message without names, for merging equal ones; "" if each is reported separately
  SourceLocation place;
  std::vector<Finding::Related> related;
};

// Planned cables by status.
struct CableCount {
  std::uint64_t planned = 0;
  std::uint64_t matching = 0;
  std::uint64_t certain = 0;  // of those, reported by both ends
  std::uint64_t differing = 0;
  std::uint64_t missing = 0;
  std::uint64_t not_reported = 0;  // neither end sent a report
};

class LiveComparison {
 public:
  // All arguments must outlive this object.
  LiveComparison(const model::Cluster& cluster, const config::ConfigSet& config, const Sources& sources);

  [[nodiscard]] const model::Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Sources& sources() const { return sources_; }
  // Sorted by kind, then by location.
  [[nodiscard]] const std::vector<LiveDifference>& differences() const { return differences_; }
  [[nodiscard]] const CableCount& cables() const { return cables_; }
  // What could not be checked, as sentences.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  const model::Cluster& cluster_;
  const Sources& sources_;
  std::vector<LiveDifference> differences_;
  CableCount cables_;
  std::vector<std::string> notes_;
};

// The interfaces of one host with their fabrics. `cluster` may be null: then the fabrics are guesses.
[[nodiscard]] Document discover_document(const config::HostFacts& facts, const model::Cluster* cluster);

}  // namespace weft::check
