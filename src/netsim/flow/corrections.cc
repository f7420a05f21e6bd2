#include "netsim/flow/corrections.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::netsim {

TransportCorrection correction_of(const TrafficClassOptions& options) {
  TransportCorrection correction;
  switch (options.transport.kind) {
    case Transport::hpcc:
      // The window keeps the link's utilization at eta (Li et al., 2019, 3.2), alone or not.
      correction.alone = options.transport.hpcc_target;
      correction.shared = options.transport.hpcc_target;
      break;
    case Transport::dcqcn:
    case Transport::pfc_only:
    case Transport::nscc:
    case Transport::receiver:
    case Transport::tcp:
      break;
  }
  return correction;
}

FlowClass::FlowClass(const TrafficClassOptions& options, const SwitchOptions& switches)
    : options_(&options),
      switches_(&switches),
      correction_(correction_of(options)),
      plain_(options.transport.header.count() == 0 && switches.cut_through) {
  const TransportOptions& t = options.transport;
  if (plain_) {
    correction_ = {};
  } else {
    ack_share_ = static_cast<double>(t.control.count()) /
                 (static_cast<double>(t.ack_every) * static_cast<double>(t.payload.count() + t.header.count()));
  }
}

std::uint64_t FlowClass::packets(Bytes bytes) const {
  const std::int64_t payload = options_->transport.payload.count();
  return static_cast<std::uint64_t>(bytes.count() / payload + (bytes.count() % payload != 0 ? 1 : 0));
}

Bytes FlowClass::wire_bytes(Bytes bytes) const {
  return bytes + static_cast<std::int64_t>(packets(bytes)) * options_->transport.header;
}

std::uint64_t FlowClass::acknowledgements(Bytes bytes) const {
  if (plain_) return 0;
  const std::uint64_t every = options_->transport.ack_every;
  return (packets(bytes) + every - 1) / every;
}

// Delays, and the time of a packet on every link except the slowest, where it is part of the fluid's time.
SimTime FlowClass::one_way(const Network& network, std::span<const LinkId> way, Bytes packet, bool back) const {
  SimTime total;
  SimTime slowest;
  for (const LinkId id : way) {
    const Link& link = network.link(id);
    total += link.delay;
    if (plain_ || switches_->cut_through) continue;
    const SimTime time = serialization_time(packet, link.rate);
    total += time;
    slowest = std::max(slowest, time);
  }
  const auto switches = static_cast<std::int64_t>(way.size()) - 1;
  // A returning packet is not part of the fluid: all its times count.
  return total - (back ? SimTime() : slowest) + switches_->latency * switches;
}

SimTime FlowClass::latency(const Network& network, std::span<const LinkId> way, Bytes bytes) const {
  const TransportOptions& t = options_->transport;
  const Bytes packet = std::min(bytes, t.payload) + t.header;
  SimTime time = one_way(network, way, packet, false) + 2 * host_cost(t, network, way.front()).overhead;
  if (t.ends_at_receiver && correction_.start_round_trips == 0) return time;
  const SimTime back = one_way(network, way, t.control, true);
  const auto start =
      static_cast<std::int64_t>(correction_.start_round_trips * static_cast<double>((time + back).count()));
  time += SimTime(start);
  return t.ends_at_receiver ? time : time + back;
}

SimTime FlowClass::round_trip(const Network& network, std::span<const LinkId> way) const {
  const TransportOptions& t = options_->transport;
  if (t.base_rtt.count() > 0) return t.base_rtt;
  return one_way(network, way, t.payload + t.header, true) + one_way(network, way, t.control, true);
}

double FlowClass::connection_limit(const Network& network, std::span<const LinkId> way) const {
  const TransportOptions& t = options_->transport;
  double limit = std::numeric_limits<double>::infinity();
  const double wire =
      static_cast<double>(t.payload.count() + t.header.count()) / static_cast<double>(t.payload.count());
  const BitRate host = host_cost(t, network, way.front()).limit;
  if (host.count() > 0) limit = static_cast<double>(host.count());
  const SimTime trip = round_trip(network, way);
  if (t.window.count() > 0 && trip.count() > 0) {
    const double bits = static_cast<double>(t.window.count()) * 8 * wire;
    limit = std::min(limit, bits * 1e12 / static_cast<double>(trip.count()));
  }
  return limit;
}

double FlowClass::window(const Network& network, std::span<const LinkId> way) const {
  const TransportOptions& t = options_->transport;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (t.kind == Transport::tcp || t.window == kNoWindow) return kInfinity;
  if (t.window.count() > 0) return static_cast<double>(t.window.count());
  const auto rate = static_cast<double>(network.link(way.front()).rate.count());
  const double product = rate / 8 * static_cast<double>(round_trip(network, way).count()) * 1e-12;
  return std::max(product, static_cast<double>(t.payload.count() + t.header.count()));
}

// Per delivered packet: with n packets in flight, go-back-N transmits (1 - p + p n) / (1 - p) packets (Bertsekas and
// Gallager, Data Networks, 2.4), selective repeat 1 / (1 - p). Each lost one is lost again with probability p, and the
// receiver reports a gap once, so that only the timeout repairs it. TCP: Mathis et al., CCR 1997.
double FlowClass::delivered_share(const Network& network, std::span<const LinkId> way, double loss, double rate) const {
  if (loss <= 0 || plain_) return 1;
  if (loss >= 1 || rate <= 0) return 0;
  const TransportOptions& t = options_->transport;
  const double packet = static_cast<double>((t.payload + t.header).count());
  const double trip = static_cast<double>(round_trip(network, way).count()) * 1e-12;
  if (t.kind == Transport::tcp) {
    const double limit = trip > 0 ? std::sqrt(1.5 / loss) * packet * 8 / trip : rate;
    return std::min(1.0, limit / rate);
  }
  const double flight = std::max(1.0, std::min(window(network, way), rate / 8 * trip) / packet);
  const bool all_again = t.recovery == Recovery::go_back_n;
  const double sent = (all_again ? 1 - loss + loss * flight : 1.0) / (1 - loss);
  const double each = packet * 8 / rate;
  const double timeouts = loss * loss * sent * static_cast<double>(t.timeout.count()) * 1e-12;
  return each / (each * sent + timeouts);
}

double FlowClass::weight(const Network& network, std::span<const LinkId> way) const {
  if (plain_) return 1;
  switch (options_->transport.kind) {
    case Transport::dcqcn:
    case Transport::pfc_only:
    case Transport::hpcc: {
      const double bytes = window(network, way);
      return std::isfinite(bytes) ? bytes / 65'536 : 1;
    }
    case Transport::nscc:  // its window follows the measured delay, which is the same for all flows in one queue
    case Transport::receiver:
    case Transport::tcp:
      break;
  }
  return 1;
}

// The window doubles every round trip from ten packets (RFC 6928) until it covers rate times round trip.
SimTime FlowClass::start_up(const Network& network, std::span<const LinkId> way, Bytes bytes, double rate) const {
  if (plain_ || options_->transport.kind != Transport::tcp) return SimTime();
  const double trip = static_cast<double>(round_trip(network, way).count());
  const auto packet = static_cast<double>((options_->transport.payload + options_->transport.header).count());
  const double product = rate / 8 * trip * 1e-12;
  double left = static_cast<double>(wire_bytes(bytes).count());
  double lost = 0;
  for (double window = 10 * packet; window < product && left > window; window *= 2) {
    lost += trip - window * 8e12 / rate;
    left -= window;
  }
  return SimTime(static_cast<std::int64_t>(lost));
}

}  // namespace weft::netsim
