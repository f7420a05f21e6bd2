// Congestion control of one connection: how each transport reacts to a notification, an ACK, a loss and the passing of
// time. Pure functions of the connection's Control, independent of queues and events, so the papers' algebra can be
// tested on them directly. Timers are not events: their effect is computed when the connection next acts.
#pragma once

#include "netsim/packet/state.h"

namespace weft::netsim {

// What an ACK reports.
struct AckInfo {
  std::int64_t now = 0;         // ps
  std::int64_t round_trip = 0;  // ps, of the acknowledged packet
  std::int64_t bytes = 0;       // newly acknowledged, on the wire
  std::uint32_t sequence = 0;   // all before it have arrived
  std::uint32_t next = 0;       // next number the sender will use
  bool marked = false;
  bool moved = false;  // `sequence` is higher than before
  const Telemetry* telemetry = nullptr;
};

// Rates start at line rate, windows at one bandwidth-delay product (tcp: 10 packets, RFC 6928).
void start_control(Control& control, const TransportOptions& options, BitRate line, SimTime round_trip);

// Receiver-driven: packets of a message that may be sent without credit from the receiver, one window of them.
[[nodiscard]] std::int64_t unasked_packets(const Control& control, const Sender& sender);

// DCQCN (Zhu et al., SIGCOMM 2015, section 3.1 and the HPCC repository's rdma-hw).
void dcqcn_notify(Control& control, const DcqcnOptions& options, std::int64_t now);
// Advances timers to `now` and counts `bytes` just sent. True if the rate changed.
bool dcqcn_advance(Control& control, const DcqcnOptions& options, std::int64_t now, std::int64_t bytes);

void hpcc_on_ack(Control& control, const TransportOptions& options, const AckInfo& ack);
void nscc_on_ack(Control& control, const TransportOptions& options, const AckInfo& ack);
// True if the packet at ack.sequence must be retransmitted (third duplicate).
bool tcp_on_ack(Control& control, const TransportOptions& options, const AckInfo& ack);
// A timeout or, for transports without duplicate counting, a detected loss.
void on_loss(Control& control, const TransportOptions& options, bool timeout);

}  // namespace weft::netsim
