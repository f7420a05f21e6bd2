// Reachability between fabrics and hosts over the whole path: segments, routing tables (VRFs), access lists and
// forwarding hosts of all four fabrics form one graph, through which packet sets are propagated to a fixed point
// (header space analysis). Devices with a given configuration are modeled as configured, all others as the cluster file
// intends; identical devices of a fabric are one node, so run time does not grow with the number of GPUs. Assumptions,
// all conservative (toward "reachable"): a host may send any packet with its own address into its segment; the switches
// of a VRF exchange all their routes; a route is followed even if its next hop is down. Not modeled: IPv6, spoofed
// sources, NAT and return traffic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "check/reach/packet_set.h"
#include "config/config_set.h"
#include "model/cluster.h"

namespace weft::check {

// Why packets cross from one fabric to another.
enum class CrossingKind : std::uint8_t {
  routes_to,        // the cluster file lets VRFs exchange routes
  oob_gateway,      // the out-of-band VRF has a gateway
  shared_vrf,       // one VRF on cabled switches of two fabrics
  external,         // backend or storage connected to the site
  static_route,     // in a running config, like the next five
  default_route,    // the same, for 0.0.0.0/0
  vrf_import,       // a VRF imports another's routes
  bgp_session,      // a neighbor in another fabric
  foreign_address,  // an interface with an address of another fabric
  management_port,  // the management port shares the data ports' VRF
  forwarding_host,  // a host configured with ip_forward
  forwarding_seen,  // the same, observed on a running host
  forwarding_pod,   // a pod with ip_forward and several networks
};

struct Crossing {
  struct Member {
    std::string device;  // or pool, pod, fabric
    SourceLocation place;
    std::string text;
  };
  CrossingKind kind = CrossingKind::routes_to;
  std::string from;  // networks on either side
  std::string to;
  std::vector<Member> members;  // equal ones, in file order
};

struct ReachHop {
  std::string where;  // device, VRF or network
  std::string what;
  SourceLocation place;  // the line that permits the packet; may be unknown
};

struct ReachPath {
  Packet packet;
  std::vector<ReachHop> hops;
  std::vector<std::uint32_t> crossings;  // indices into Reachability::crossings(), in order
};

enum class ZoneKind : std::uint8_t { backend, storage, frontend, oob, jump, site, pods };

struct ReachZone {
  ZoneKind kind = ZoneKind::site;
  std::string name;  // "backend", "jump", "pods on storage"
  int fabric = -1;   // FabricKind, -1 for the site
  std::vector<Interval> addresses;
};

struct ZoneReach {
  PacketSet packets;
  bool gave_up = false;           // search incomplete: counts as reachable, without a path to show
  std::optional<ReachPath> path;  // of one packet, if any gets through

  [[nodiscard]] bool reachable() const { return gave_up || !packets.empty(); }
};

struct ReachViolation {
  std::size_t from = 0;  // zones
  std::size_t to = 0;
  ReachPath path;
};

struct ReachTry {  // one source address of the query
  std::string from;
  std::string to;
  bool reached = false;
  bool whole = false;  // all packets of the query get through, not just some
  bool gave_up = false;
  PacketSet packets;
  std::optional<ReachPath> path;
  std::vector<ReachHop> stopped;  // where and why packets were dropped
};

class ReachModel;  // reach/reachability_model.h

class Reachability {
 public:
  // Without a cluster there are no zones, and nothing is reachable. All arguments must outlive this object.
  Reachability(const model::Cluster* cluster, const config::ConfigSet& config, const Sources& sources);
  ~Reachability();
  Reachability(const Reachability&) = delete;
  Reachability& operator=(const Reachability&) = delete;

  [[nodiscard]] const std::vector<ReachZone>& zones() const;
  // Whether policy allows it: same fabric, frontend and site, jump hosts and the devices they manage.
  [[nodiscard]] bool allowed(std::size_t from, std::size_t to) const;
  [[nodiscard]] const ZoneReach& between(std::size_t from, std::size_t to) const { return matrix_[from][to]; }
  // All pairs that must be isolated and are not.
  [[nodiscard]] std::vector<ReachViolation> violations() const;
  // Everything that connects two fabrics, whether or not a complete path uses it.
  [[nodiscard]] const std::vector<Crossing>& crossings() const;
  // Pairs that this crossing connects: by itself if that suffices, else together with the other crossings. At most
  // `most`.
  [[nodiscard]] std::vector<ReachViolation> proof(std::uint32_t crossing, std::size_t most = 8) const;
  // Switch groups of one fabric on which another fabric's cables terminate: "oob uplinks on frontend leaves".
  [[nodiscard]] const std::vector<std::string>& shared_switches() const;
  // Whether the fabric's switches route between its rails.
  [[nodiscard]] bool rails_joined(model::FabricKind fabric) const;

  // Each end is a device, device:port (or device.port), a zone, or an IPv4 address. `protocol` -1: any; `port` -1: any.
  // An error if an end cannot be resolved.
  [[nodiscard]] Result<std::vector<ReachTry>> trace(std::string_view from, std::string_view to, int protocol,
                                                    int port) const;
  [[nodiscard]] const Sources& sources() const { return sources_; }

 private:
  const Sources& sources_;
  std::unique_ptr<ReachModel> model_;
  std::vector<std::vector<ZoneReach>> matrix_;
};

// "10.60.0.2 -> 10.70.0.2 tcp 22: train001:be1; VRF `backend` ...": for messages and related locations.
[[nodiscard]] std::string to_text(const ReachPath& path);

// The matrix of zones, then each violation hop by hop.
[[nodiscard]] Document reachability_document(const Reachability& reachability);
// The output of `weft trace reach`.
[[nodiscard]] Document reach_trace_document(const Reachability& reachability, const std::vector<ReachTry>& tries);
[[nodiscard]] Result<Document> trace_reach(const Reachability& reachability, std::string_view from, std::string_view to,
                                           int protocol = -1, int port = -1);

}  // namespace weft::check
