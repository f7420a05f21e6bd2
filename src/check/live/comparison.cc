#include "check/live/comparison.h"

#include <algorithm>
#include <tuple>

#include "check/live/internal.h"

namespace weft::check {

std::string_view to_text(Confidence confidence) {
  static constexpr std::string_view kNames[] = {"certain", "likely", "low"};
  return kNames[static_cast<std::size_t>(confidence)];
}

std::string_view to_text(LiveKind kind) {
  static constexpr std::string_view kNames[kLiveKinds] = {
      "swapped",          "miswired",        "wrong-rail",     "wrong-fabric",    "missing",       "unknown-device",
      "unplanned",        "disagreement",    "wrong-speed",    "link-down",       "wrong-mtu",     "wrong-address",
      "default-route",    "extra-interface", "few-gpus",       "few-ports",       "few-functions", "mixed-gids",
      "strict-filter",    "forwarding",      "lossy-pause",    "silent",          "description",   "port-off",
      "configured-speed", "configured-vlan", "configured-asn", "configured-name", "configured-mtu"};
  return kNames[static_cast<std::size_t>(kind)];
}

LiveComparison::LiveComparison(const model::Cluster& cluster, const config::ConfigSet& config, const Sources& sources)
    : cluster_(cluster), sources_(sources) {
  const LiveNames names(cluster, config);
  const LiveContext parts{cluster, config, sources, names, differences_, cables_, notes_};
  compare_wiring(parts);
  compare_hosts(parts);
  compare_switches(parts);
  const auto key = [](const LiveDifference& difference) {
    return std::tuple(difference.kind, !difference.place.known(), difference.place.file, difference.place.line,
                      difference.place.column);
  };
  std::stable_sort(differences_.begin(), differences_.end(),
                   [&](const LiveDifference& a, const LiveDifference& b) { return key(a) < key(b); });
}

}  // namespace weft::check
