// Corrections of the fluid model for packet effects: headers, acknowledgments, store-and-forward, start-up, and the
// part of a link that a transport leaves unused. Most follow from the mechanism; those measured against the packet
// engine are in one table, ready to be re-measured.
#pragma once

#include <cstdint>
#include <span>

#include "netsim/sim/options.h"

namespace weft::netsim {

// Measured by running the packet engine on the same transfers. 1 and 0 mean no correction beyond the mechanism.
struct TransportCorrection {
  double alone = 1.0;            // part of a link's rate that a connection alone on it uses
  double shared = 1.0;           // part that two or more use together while the link is their bottleneck
  double start_round_trips = 0;  // round trips before a message flows at its rate
};
[[nodiscard]] TransportCorrection correction_of(const TrafficClassOptions& options);

// A class of traffic as the flow and analytic engines see it.
class FlowClass {
 public:
  FlowClass(const TrafficClassOptions& options, const SwitchOptions& switches);

  // No packets at all: a class without headers on cut-through switches. A pure fluid.
  [[nodiscard]] bool plain() const { return plain_; }
  [[nodiscard]] std::uint64_t packets(Bytes bytes) const;
  [[nodiscard]] Bytes wire_bytes(Bytes bytes) const;  // with headers
  [[nodiscard]] std::uint64_t acknowledgements(Bytes bytes) const;
  // Bytes of acknowledgments returned per byte on the wire, in the limit of long messages.
  [[nodiscard]] double acknowledged_share() const { return ack_share_; }
  [[nodiscard]] Bytes control() const { return options_->transport.control; }
  // Time from the fluid's end at the sender to the end of a transfer of `bytes` over this path.
  [[nodiscard]] SimTime latency(const Network& network, std::span<const LinkId> way, Bytes bytes) const;
  // Maximum rate of one connection in bits per second on the wire, independent of link rates; infinity without a limit.
  [[nodiscard]] double connection_limit(const Network& network, std::span<const LinkId> way) const;
  // Maximum bytes in flight of a connection; flows that wait in one queue share it in proportion to their windows.
  // Infinity without a limit.
  [[nodiscard]] double window(const Network& network, std::span<const LinkId> way) const;
  // Weight with which connections share a full link; 1 where the transport makes them equal.
  [[nodiscard]] double weight(const Network& network, std::span<const LinkId> way) const;
  // Time that a new connection without competitors loses until it sends at `rate` (bits per second on the wire): TCP's
  // slow start.
  [[nodiscard]] SimTime start_up(const Network& network, std::span<const LinkId> way, Bytes bytes, double rate) const;
  // Part of a link's rate that delivers data where the link loses full packets with probability `loss`: go-back-N sends
  // all packets in flight again, and a retransmission that is lost too waits for the timeout.
  [[nodiscard]] double delivered_share(const Network& network, std::span<const LinkId> way, double loss,
                                       double rate) const;
  // Usable parts of a link's rate: for a single flow, and for several together.
  [[nodiscard]] double alone() const { return correction_.alone; }
  [[nodiscard]] double shared() const { return correction_.shared; }
  [[nodiscard]] const TrafficClassOptions& options() const { return *options_; }

 private:
  [[nodiscard]] SimTime round_trip(const Network& network, std::span<const LinkId> way) const;
  [[nodiscard]] SimTime one_way(const Network& network, std::span<const LinkId> way, Bytes packet, bool back) const;

  const TrafficClassOptions* options_;
  const SwitchOptions* switches_;
  TransportCorrection correction_;
  double ack_share_ = 0;
  bool plain_ = false;
};

}  // namespace weft::netsim
