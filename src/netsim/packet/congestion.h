// Congestion control of one connection: what each transport does with a notification, an ACK, a loss and the passing of
// time. Pure functions of the connection's Control; they know nothing of queues and events, so papers' algebra can be
// tested on them alone. Timers are not events: what they would have done is worked out when the connection next acts.
#pragma once

#include "netsim/packet/state.h"

namespace weft::netsim {

// What an ACK tells.
struct AckInfo {
  std::int64_t now = 0;         // ps
  std::int64_t round_trip = 0;  // ps, of the packet it answers
  std::int64_t bytes = 0;       // newly acknowledged, on the wire
  std::uint32_t sequence = 0;   // all before it have arrived
  std::uint32_t next = 0;       // next number the sender will use
  bool marked = false;
  bool moved = false;  // `sequence` is higher than before
  const Telemetry* telemetry = nullptr;
};

// All rates start at the line's, windows at one bandwidth-delay product (tcp: 10 packets, RFC 6928).
void start_control(Control& control, const TransportOptions& options, BitRate line, SimTime round_trip);

// Receiver-driven: packets of a message that may be sent before the receiver asks, one window of them.
[[nodiscard]] std::int64_t unasked_packets(const Control& control, const Sender& sender);

// DCQCN (Zhu et al., SIGCOMM 2015, section 3.1 and the HPCC repository's rdma-hw).
void dcqcn_notify(Control& control, const DcqcnOptions& options, std::int64_t now);
// Brings timers up to `now` and counts `bytes` just sent. True when the rate changed.
bool dcqcn_advance(Control& control, const DcqcnOptions& options, std::int64_t now, std::int64_t bytes);

void hpcc_on_ack(Control& control, const TransportOptions& options, const AckInfo& ack);
void nscc_on_ack(Control& control, const TransportOptions& options, const AckInfo& ack);
// True when the packet at ack.sequence is to be sent again (third duplicate).
bool tcp_on_ack(Control& control, const TransportOptions& options, const AckInfo& ack);
// A timeout or, for transports without duplicate counting, a detected loss.
void on_loss(Control& control, const TransportOptions& options, bool timeout);

}  // namespace weft::netsim
