// Reachability between fabrics and hosts over the whole path: segments, routing tables (VRFs), access lists and
// forwarding hosts of all four fabrics in one graph, through which sets of packets are pushed until nothing new arrives
// (header space analysis). Devices whose configuration was given count as configured, all others as the cluster file
// intends them; a fabric's equal devices are one node, so that the answer does not take longer for more GPUs. What it
// assumes, always on the side of "reachable": a host may send any packet with its own address into its segment; a VRF's
// switches exchange all their routes; a route is followed even if its next hop is down. It does not follow IPv6,
// spoofed sources, address translation or answers to a packet.
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

// Why packets get from one fabric to another.
enum class CrossingKind : std::uint8_t {
  routes_to,        // the file lets VRFs exchange routes
  oob_gateway,      // the out-of-band VRF has a way out
  shared_vrf,       // one VRF on cabled switches of two fabrics
  external,         // backend or storage linked to the site
  static_route,     // in a running configuration, like the next five
  default_route,    // the same, for 0.0.0.0/0
  vrf_import,       // a VRF takes in another's routes
  bgp_session,      // a neighbor in another fabric
  foreign_address,  // an interface with another fabric's address
  management_port,  // the management port shares the data ports' VRF
  forwarding_host,  // a host with ip_forward in its settings
  forwarding_seen,  // the same, as seen on a running host
  forwarding_pod,   // a pod with ip_forward and several networks
};

struct Crossing {
  struct Member {
    std::string device;  // or pool, pod, fabric
    SourceLocation place;
    std::string text;
  };
  CrossingKind kind = CrossingKind::routes_to;
  std::string from;  // networks on its sides
  std::string to;
  std::vector<Member> members;  // equal ones, in the order of the files
};

struct ReachHop {
  std::string where;  // device, VRF or network
  std::string what;
  SourceLocation place;  // the line that lets the packet pass; may be unknown
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
  bool gave_up = false;           // not worked out to the end: counts as reachable, but there is no path to show
  std::optional<ReachPath> path;  // of one packet, where any gets through

  [[nodiscard]] bool reachable() const { return gave_up || !packets.empty(); }
};

struct ReachViolation {
  std::size_t from = 0;  // zones
  std::size_t to = 0;
  ReachPath path;
};

struct ReachTry {  // one source address of what was asked
  std::string from;
  std::string to;
  bool reached = false;
  bool whole = false;  // everything that was asked about, not a part of it
  bool gave_up = false;
  PacketSet packets;
  std::optional<ReachPath> path;
  std::vector<ReachHop> stopped;  // where and why what did not arrive ended
};

class ReachModel;  // reach/reachability_model.h

class Reachability {
 public:
  // Without a cluster there are no zones, and nothing is reachable. Everything must outlive this.
  Reachability(const model::Cluster* cluster, const config::ConfigSet& config, const Sources& sources);
  ~Reachability();
  Reachability(const Reachability&) = delete;
  Reachability& operator=(const Reachability&) = delete;

  [[nodiscard]] const std::vector<ReachZone>& zones() const;
  // May the one reach the other at all? Same fabric, frontend and site, jump hosts and what they manage.
  [[nodiscard]] bool allowed(std::size_t from, std::size_t to) const;
  [[nodiscard]] const ZoneReach& between(std::size_t from, std::size_t to) const { return matrix_[from][to]; }
  // Every pair that should be apart and is not.
  [[nodiscard]] std::vector<ReachViolation> violations() const;
  // Everything that joins two fabrics, whether or not a whole path uses it.
  [[nodiscard]] const std::vector<Crossing>& crossings() const;
  // Pairs that this one joins: with it alone where that suffices, else as a part of what is there. At most `most`.
  [[nodiscard]] std::vector<ReachViolation> proof(std::uint32_t crossing, std::size_t most = 8) const;
  // A switch group of one fabric that another fabric's cables end on: "oob uplinks on frontend leaves".
  [[nodiscard]] const std::vector<std::string>& shared_switches() const;
  // Whether the rails of a fabric reach each other through its switches.
  [[nodiscard]] bool rails_joined(model::FabricKind fabric) const;

  // Both ends are a device, device:port (or device.port), a zone, or an IPv4 address. `protocol` -1: any; `port` -1:
  // any. An error when an end means nothing.
  [[nodiscard]] Result<std::vector<ReachTry>> trace(std::string_view from, std::string_view to, int protocol,
                                                    int port) const;
  [[nodiscard]] const Sources& sources() const { return sources_; }

 private:
  const Sources& sources_;
  std::unique_ptr<ReachModel> model_;
  std::vector<std::vector<ZoneReach>> matrix_;
};

// "10.60.0.2 -> 10.70.0.2 tcp 22: train001:be1; VRF `backend` ...": for messages and related places.
[[nodiscard]] std::string to_text(const ReachPath& path);

// The matrix of zones, then each violation hop by hop.
[[nodiscard]] Document reachability_document(const Reachability& reachability);
// What `weft trace reach` prints.
[[nodiscard]] Document reach_trace_document(const Reachability& reachability, const std::vector<ReachTry>& tries);
[[nodiscard]] Result<Document> trace_reach(const Reachability& reachability, std::string_view from, std::string_view to,
                                           int protocol = -1, int port = -1);

}  // namespace weft::check
