// What packets, transports and switches do to a fluid: headers, acknowledgements, store and forward, start-up, and the
// part of a link that a transport leaves unused. First what follows from the mechanism; what had to be measured against
// the packet engine stands in one table, so that it can be measured again.
#pragma once

#include <cstdint>
#include <span>

#include "netsim/sim/options.h"

namespace weft::netsim {

// Measured: the packet engine beside this one on the same transfers. 1 and 0 mean "as the mechanism says".
struct TransportCorrection {
  double alone = 1.0;            // part of a link's rate that a connection alone on it uses
  double shared = 1.0;           // part that two or more use together while the link holds them back
  double start_round_trips = 0;  // round trips before a message flows at its rate
};
[[nodiscard]] TransportCorrection correction_of(const TrafficClassOptions& options);

// A class of traffic as the flow and analytic engines see it.
class FlowClass {
 public:
  FlowClass(const TrafficClassOptions& options, const SwitchOptions& switches);

  // No packets at all: a class without headers on cut-through switches. Bytes flow, and nothing else does.
  [[nodiscard]] bool plain() const { return plain_; }
  [[nodiscard]] std::uint64_t packets(Bytes bytes) const;
  [[nodiscard]] Bytes wire_bytes(Bytes bytes) const;  // with headers
  [[nodiscard]] std::uint64_t acknowledgements(Bytes bytes) const;
  // Bytes of acknowledgements that come back for each byte on the wire, as a limit for long messages.
  [[nodiscard]] double acknowledged_share() const { return ack_share_; }
  [[nodiscard]] Bytes control() const { return options_->transport.control; }
  // From the fluid's end at the sender to the end of a transfer of so many bytes over this way.
  [[nodiscard]] SimTime latency(const Network& network, std::span<const LinkId> way, Bytes bytes) const;
  // What one connection may send in bits per second on the wire, whatever the links have; infinity without a limit.
  [[nodiscard]] double connection_limit(const Network& network, std::span<const LinkId> way) const;
  // What a connection may have on its way at once; flows that wait in one queue have parts of it by their windows.
  // Infinity where there is no limit.
  [[nodiscard]] double window(const Network& network, std::span<const LinkId> way) const;
  // In proportion to what connections share a full link; 1 where the transport makes them equal.
  [[nodiscard]] double weight(const Network& network, std::span<const LinkId> way) const;
  // What a new connection that is alone loses until it sends at its rate (bits per second on the wire): TCP's slow
  // start.
  [[nodiscard]] SimTime start_up(const Network& network, std::span<const LinkId> way, Bytes bytes, double rate) const;
  // Parts of a link's rate: for a flow alone, and for several together.
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
