// Simulation options: fidelity, traffic classes, behavior of switches and NICs. One set for all three engines; each
// uses the options it models and warns about the others. Defaults are published values, with their source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "netsim/routing/routing.h"

namespace weft::netsim {

enum class Fidelity : std::uint8_t { analytic, flow, packet };

enum class Transport : std::uint8_t {
  dcqcn,     // RoCEv2: rate based, reacts to CNPs (Zhu et al., SIGCOMM 2015)
  pfc_only,  // RoCEv2 without end-to-end control: line rate until paused
  hpcc,      // window from in-band telemetry (Li et al., SIGCOMM 2019)
  nscc,      // window from ECN and delay, designed for packet spraying (after UEC 1.0's NSCC)
  receiver,  // receiver-driven: pull credits paced at the receiver's rate (after EQDS/NDP, UEC's RCCC)
  tcp,       // loss-based window (Reno with fast recovery), kernel costs at the ends
};
enum class Recovery : std::uint8_t { go_back_n, selective };
enum class Watchdog : std::uint8_t { off, drop, forward };

// DCQCN constants: timers and thresholds as in ConnectX (rpg_time_reset, rpg_byte_reset, rpg_threshold), steps as in
// the simulators of HPCC and SimAI (their config files). The paper's own (Zhu et al., SIGCOMM 2015) are alpha_timer and
// rate_timer 55 us, byte_counter 10 MB, fast_recovery 5, additive 40 Mb/s, cnp_interval 50 us, clamp_target true.
struct DcqcnOptions {
  double g = 1.0 / 256;                    // gain of alpha
  SimTime alpha_timer = microseconds(1);   // alpha decays whenever this passes without a CNP
  SimTime rate_timer = microseconds(300);  // T of the rate increase
  Bytes byte_counter{32'767};              // B of the rate increase; 0: timer only
  int fast_recovery = 1;                   // F
  BitRate additive{50'000'000};            // R_AI
  BitRate hyper{100'000'000};              // R_HAI
  BitRate minimum{100'000'000};
  SimTime cnp_interval = microseconds(4);       // notification point: at most one CNP per interval and flow
  SimTime decrease_interval = microseconds(4);  // reaction point: at most one cut per interval
  // True: every cut sets the target to the rate before it, as in the paper. False: only the first cut after the timer
  // has raised the rate, as ConnectX does.
  bool clamp_target = false;
};

inline constexpr Bytes kNoWindow{std::int64_t{1} << 60};  // larger than any buffer; exact as a double

struct TransportOptions {
  Transport kind = Transport::dcqcn;
  Recovery recovery = Recovery::go_back_n;
  Bytes payload{4096};          // of a full packet (the path MTU of the queue pair)
  Bytes header{64};             // per packet on the wire, in addition to the payload
  Bytes control{64};            // ACK, NACK, CNP, pull on the wire
  std::uint32_t ack_every = 1;  // data packets per ACK
  // Limit of unacknowledged bytes of a rate-based connection; 0: one bandwidth-delay product of its path, as in the
  // HPCC and SimAI simulators.
  Bytes window{0};
  SimTime timeout = microseconds(67'109);  // retransmission timeout: 4.096 us x 2^14, as set by verbs libraries
  std::uint32_t retries = 7;               // consecutive timeouts before a connection is aborted, as set by NCCL
  bool ends_at_receiver = true;  // a transfer ends when its last byte has arrived; false: when it is acknowledged
  DcqcnOptions dcqcn;
  double hpcc_target = 0.95;  // eta
  int hpcc_stages = 5;        // maxStage
  SimTime base_rtt{0};        // of hpcc, nscc, receiver; 0: computed per path
  SimTime host_overhead{0};   // per message at each end: system calls, interrupts and wake-ups of tcp
  BitRate host_limit{0};      // payload rate that one connection's software can sustain; 0: no limit
};

// A traffic class: queueing of its packets, and their treatment under congestion.
struct TrafficClassOptions {
  std::string name = "roce";
  std::uint8_t priority = 3;
  bool lossless = true;      // PFC on this priority
  bool strict = false;       // strict priority over classes that are not strict
  std::uint32_t weight = 1;  // of deficit round robin among the others
  bool ecn = true;
  // Marking thresholds at 100 Gb/s; each port scales them by its rate / 100 Gb/s (HPCC: 4 and 16 KB per Gb/s).
  Bytes ecn_min{400'000};
  Bytes ecn_max{1'600'000};
  double ecn_probability = 0.2;  // at ecn_max; beyond it every packet is marked
  TransportOptions transport;
};

struct SwitchOptions {
  Bytes buffer{0};                      // overrides the network's; 0: as built
  double alpha = 1.0 / 8;               // dynamic threshold of an ingress priority: alpha x free shared buffer
  Bytes xoff{0};                        // static threshold instead of the dynamic one; 0: dynamic
  Bytes xon_offset{20'480};             // XON when this far below XOFF (at least 2 packets)
  Bytes headroom{0};                    // per ingress priority; 0: computed from rate, delay and MTU for zero loss
  double lossy_alpha = 1.0;             // dynamic threshold of an egress queue of a lossy class
  bool pfc = true;                      // false: lossless classes drop packets too
  std::uint32_t pause_quanta = 65'535;  // duration of a pause in units of 512 bit times, unless renewed or ended
  SimTime response{0};                  // of a paused sender, beyond the frame in flight
  SimTime latency{0};                   // forwarding latency, added to every hop through a switch
  bool cut_through = false;
  Watchdog watchdog = Watchdog::off;
  SimTime watchdog_detection = microseconds(200'000);
  SimTime watchdog_restoration = microseconds(200'000);
};

// A link fails, recovers, or gets errors or a smaller MTU during the run. Affects both directions.
struct LinkEvent {
  enum class Kind : std::uint8_t { down, up, errors, mtu };
  SimTime at;
  LinkId link = model::kNone<LinkId>;
  Kind kind = Kind::down;
  double loss = 0;  // errors: probability that a full packet is lost on the wire
  Bytes mtu;        // mtu: payload packets larger than this are dropped by the sending port
};
// A faulty NIC that sends pause frames continuously.
struct PauseStorm {
  NodeId endpoint = model::kNone<NodeId>;
  SimTime from;
  SimTime until = kNever;
};

struct SimOptions {
  Fidelity fidelity = Fidelity::packet;
  std::uint64_t seed = 1;
  int threads = 1;
  SimTime end = kNever;  // the run is cut here; unfinished transfers are reported
  std::vector<TrafficClassOptions> classes{TrafficClassOptions{}};
  SwitchOptions switches;
  std::vector<LinkEvent> link_events;
  std::vector<PauseStorm> pause_storms;
  SimTime series_interval{0};       // 0: no time series
  std::size_t pause_log = 100'000;  // pause events kept for the storm tree
};

// Cost of the hosts' software for a connection that begins with link `first`; none inside a host (NVLink).
struct HostCost {
  SimTime overhead;  // per message at each end
  BitRate limit{0};  // on the wire; 0: none
};
[[nodiscard]] HostCost host_cost(const TransportOptions& transport, const Network& network, LinkId first);

// Configures a class as kernel TCP: lossy, unmarked, on priority 0, with the cost of the hosts' software.
void use_tcp(TrafficClassOptions& traffic);

[[nodiscard]] std::string_view to_text(Fidelity fidelity);
[[nodiscard]] std::string_view to_text(Transport transport);

// Rejects invalid options: thresholds out of order, a class without packets, more than 8 priorities.
[[nodiscard]] Status validate(const SimOptions& options, const Network& network);

}  // namespace weft::netsim
