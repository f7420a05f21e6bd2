#include "netsim/packet/congestion.h"

#include <algorithm>
#include <cmath>

namespace weft::netsim {

namespace {

double full_wire(const TransportOptions& options) {
  return static_cast<double>(options.payload.count() + options.header.count());
}

void cut_rate(Control& control, const DcqcnOptions& options) {
  const double lowest = static_cast<double>(options.minimum.count());
  control.rate = std::max(lowest, control.rate * (1 - control.alpha / 2));
}

// One step of the increase: fast recovery halves the distance to the target; past F on both clocks it is hyper
// increase, past F on one it is additive.
void raise_rate(Control& control, const DcqcnOptions& options) {
  const auto fast = static_cast<std::uint32_t>(options.fast_recovery);
  const auto line = static_cast<double>(control.line_rate);
  std::uint32_t fewer = std::min(control.time_stages, control.byte_stages);
  // With only one clock, hyper increase begins after one additive step, as in the HPCC repository's simulator.
  if (options.byte_counter.count() == 0) fewer = control.time_stages > fast + 1 ? control.time_stages : 0;
  if (fewer > fast) {
    control.target += static_cast<double>(options.hyper.count());
  } else if (std::max(control.time_stages, control.byte_stages) > fast) {
    control.target += static_cast<double>(options.additive.count());
  }
  control.target = std::min(control.target, line);
  control.rate = std::min(line, (control.rate + control.target) / 2);
  // Repeated halving never reaches the line rate; a millionth below it counts as line rate.
  if (control.rate > line * (1 - 1e-6)) control.rate = line;
}

}  // namespace

void start_control(Control& control, const TransportOptions& options, BitRate line, SimTime round_trip) {
  control.line_rate = line.count();
  control.rate = static_cast<double>(control.line_rate);
  control.target = control.rate;
  control.base_rtt = options.base_rtt.count() > 0 ? options.base_rtt.count() : round_trip.count();
  const double product = control.rate * static_cast<double>(control.base_rtt) / 8e12;
  switch (options.kind) {
    case Transport::tcp:
      control.window = 10 * full_wire(options);
      control.reference = 1e18;
      break;
    case Transport::nscc:
      // UEC's NSCC starts with 1.5 times the bandwidth-delay product and never exceeds it.
      control.window = std::max(1.5 * product, full_wire(options));
      control.reference = control.window;
      break;
    case Transport::hpcc:
    case Transport::receiver:
      control.window = std::max(product, full_wire(options));
      control.reference = control.window;
      break;
    case Transport::dcqcn:
    case Transport::pfc_only:
      // Whole packets, plus the packet being acknowledged: a window rounded down would cost throughput.
      control.window = options.window.count() > 0 ? static_cast<double>(options.window.count())
                                                  : (std::ceil(product / full_wire(options)) + 1) * full_wire(options);
      break;
  }
}

std::int64_t unasked_packets(const Control& control, const Sender& sender) {
  const double packets = std::min(control.reference / sender.full_wire, static_cast<double>(sender.message_packets));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(packets));
}

void dcqcn_notify(Control& control, const DcqcnOptions& options, std::int64_t now) {
  (void)dcqcn_advance(control, options, now, 0);
  if (control.decreased && now - control.last_decrease < options.decrease_interval.count()) return;
  // The paper sets the target at each cut. ConnectX does so only if the timer has raised the rate since the last cut
  // (clamp_tgt_rate off, clamp_tgt_rate_after_time_inc on), so a burst of CNPs does not discard the rate before it.
  if (options.clamp_target || control.time_stages > 0 || !control.decreased) {
    control.target = control.rate;
  }
  if (!control.decreased) control.alpha = 1;
  cut_rate(control, options);
  control.alpha = (1 - options.g) * control.alpha + options.g;
  control.decreased = true;
  control.last_decrease = now;
  control.alpha_time = now;
  control.increase_time = now;
  control.byte_count = 0;
  control.time_stages = 0;
  control.byte_stages = 0;
}

bool dcqcn_advance(Control& control, const DcqcnOptions& options, std::int64_t now, std::int64_t bytes) {
  if (!control.decreased) return false;
  const double before = control.rate;
  while (now - control.alpha_time >= options.alpha_timer.count()) {
    control.alpha *= 1 - options.g;
    control.alpha_time += options.alpha_timer.count();
  }
  while (now - control.increase_time >= options.rate_timer.count()) {
    control.increase_time += options.rate_timer.count();
    ++control.time_stages;
    raise_rate(control, options);
  }
  if (options.byte_counter.count() == 0) return control.rate != before;
  control.byte_count += bytes;
  while (control.byte_count >= options.byte_counter.count()) {
    control.byte_count -= options.byte_counter.count();
    ++control.byte_stages;
    raise_rate(control, options);
  }
  return control.rate != before;
}

namespace {

// HPCC's MeasureInflight: the largest of the links' normalized loads since the last ACK, smoothed over a round trip.
double hpcc_measure(Control& control, const Telemetry& now, double base_rtt_s) {
  double largest = 0;
  double interval = 0;
  for (int i = 0; i < Telemetry::kHops; ++i) {
    const Telemetry::Hop& hop = now.hop[i];
    const Telemetry::Hop& last = control.telemetry->hop[i];
    if (hop.port == kNil) break;
    if (last.port != hop.port || hop.time <= last.time || hop.rate <= 0) continue;
    const double seconds = static_cast<double>(hop.time - last.time) / 1e12;
    const double sent = static_cast<double>(hop.sent_bytes - last.sent_bytes) * 8 / seconds;
    const double rate = static_cast<double>(hop.rate);
    const double queued = static_cast<double>(std::min(hop.queue_bytes, last.queue_bytes)) * 8;
    const double load = queued / (rate * base_rtt_s) + sent / rate;
    if (load > largest) {
      largest = load;
      interval = seconds;
    }
  }
  if (interval <= 0) return control.utilization;
  interval = std::min(interval, base_rtt_s);
  control.utilization = (1 - interval / base_rtt_s) * control.utilization + interval / base_rtt_s * largest;
  return control.utilization;
}

}  // namespace

void hpcc_on_ack(Control& control, const TransportOptions& options, const AckInfo& ack) {
  if (ack.telemetry == nullptr) return;
  if (!control.telemetry) {
    control.telemetry = std::make_unique<Telemetry>(*ack.telemetry);
    control.update_sequence = ack.next;
    return;
  }
  const double rtt = static_cast<double>(control.base_rtt) / 1e12;
  const double load = hpcc_measure(control, *ack.telemetry, rtt);
  *control.telemetry = *ack.telemetry;
  const double most = static_cast<double>(control.line_rate) * rtt / 8;
  // W_AI leaves headroom for many flows to start: W x (1 - eta) / N with the paper's N of 100 or so.
  const double additive = most * (1 - options.hpcc_target) / 100;
  const bool update = ack.sequence > control.update_sequence;
  if (load >= options.hpcc_target || control.stages >= options.hpcc_stages) {
    control.window = control.reference / (std::max(load, 1e-3) / options.hpcc_target) + additive;
    if (update) {
      control.stages = 0;
      control.reference = std::min(control.window, most);
    }
  } else {
    control.window = control.reference + additive;
    if (update) {
      ++control.stages;
      control.reference = std::min(control.window, most);
    }
  }
  if (update) control.update_sequence = ack.next;
  control.window = std::clamp(control.window, full_wire(options), most);
  control.rate = std::min(static_cast<double>(control.line_rate), control.window * 8 / rtt);
}

// After the four cases of UEC's NSCC: marked or not, queueing delay below or above a target of half a round trip.
void nscc_on_ack(Control& control, const TransportOptions& options, const AckInfo& ack) {
  const double mtu = full_wire(options);
  const double most =
      std::max(mtu, 1.5 * static_cast<double>(control.line_rate) * static_cast<double>(control.base_rtt) / 8e12);
  const double target = 0.5 * static_cast<double>(control.base_rtt);
  const double delay = static_cast<double>(std::max<std::int64_t>(0, ack.round_trip - control.base_rtt));
  const auto bytes = static_cast<double>(ack.bytes);
  if (!ack.marked && delay < target) {
    control.window += bytes * mtu / control.window * (1 + 4 * (target - delay) / target);
  } else if (!ack.marked) {
    control.window += bytes * mtu / control.window * 0.25;
  } else if (delay >= target && ack.now - control.last_decrease >= control.base_rtt) {
    const double over = std::min(1.0, (delay - target) / std::max(delay, 1.0));
    control.window *= std::max(0.5, 1 - 0.8 * over);
    control.last_decrease = ack.now;
  }
  control.window = std::clamp(control.window, mtu, most);
}

bool tcp_on_ack(Control& control, const TransportOptions& options, const AckInfo& ack) {
  const double mss = full_wire(options);
  if (!ack.moved) {
    if (++control.stages == 3 && !control.recovering) {
      control.recovering = true;
      control.update_sequence = ack.next;
      control.reference = std::max(control.window / 2, 2 * mss);  // RFC 5681, equation (4)
      control.window = control.reference;
      return true;
    }
    return false;
  }
  control.stages = 0;
  if (control.recovering) {
    if (ack.sequence < control.update_sequence) return true;  // partial ACK: the next hole, RFC 6582
    control.recovering = false;
    control.window = control.reference;
    return false;
  }
  const auto bytes = static_cast<double>(ack.bytes);
  control.window += control.window < control.reference ? bytes : mss * bytes / control.window;
  return false;
}

void on_loss(Control& control, const TransportOptions& options, bool timeout) {
  const double mss = full_wire(options);
  switch (options.kind) {
    case Transport::tcp:
      if (!timeout) return;
      control.reference = std::max(control.window / 2, 2 * mss);
      control.window = mss;
      control.recovering = false;
      control.stages = 0;
      return;
    case Transport::nscc:
      control.window = std::max(mss, control.window / 2);
      return;
    default:
      return;
  }
}

}  // namespace weft::netsim
