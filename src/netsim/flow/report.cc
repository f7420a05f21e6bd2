// The result of a run of the flow engine, in the common form, with warnings where its assumptions did not hold.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netsim/flow/run.h"

namespace weft::netsim {

namespace {

constexpr std::size_t kMaxPoints = 1'000'000;

// Time until a sender slows down after a queue starts to build up.
double reaction_seconds(const TrafficClassOptions& options, SimTime round_trip) {
  const double trip = static_cast<double>(round_trip.count()) * 1e-12;
  switch (options.transport.kind) {
    case Transport::pfc_only:
    case Transport::tcp:
      return 1e9;  // never, or not before it has filled the buffer
    case Transport::dcqcn:
      return trip + static_cast<double>(options.transport.dcqcn.cnp_interval.count()) * 1e-12;
    case Transport::hpcc:
    case Transport::nscc:
    case Transport::receiver:
      return trip;
  }
  return trip;
}

}  // namespace

void FlowRun::note_traffic(const Connection& connection, std::int64_t rounds) {
  const FlowClass& c = model_.class_of(transfer_at(connection.transfer).traffic_class);
  traffic_.add(connection.path, c, connection.payload, rounds);
}

// Part of a round that used one path; the rest used another.
void FlowRun::note_part(const Connection& connection, double part) {
  const FlowClass& c = model_.class_of(transfer_at(connection.transfer).traffic_class);
  traffic_.add_part(connection.path, c, connection.payload, part);
}

// Until a round has ended, its entry holds minus the time it could have started, less one.
void FlowRun::note_round_start(std::uint32_t transfer, std::uint32_t round) {
  if (!record_rounds_ || round >= transfer_at(transfer).rounds) return;
  record_of(transfer, round) = SimTime(-1) - now_;
}

void FlowRun::note_round_end(std::uint32_t transfer, std::uint32_t round) {
  if (!record_rounds_) return;
  SimTime& record = record_of(transfer, round);
  record = now_ + record + SimTime(1);
}

// Simulates the rounds after all: if they are few enough to record, they are few enough for this.
void FlowRun::note_ring_rounds(const Ring& ring) {
  const std::size_t count = ring.members.size();
  const std::uint32_t rounds = transfer_at(model::index_of(ring.members[0])).rounds;
  std::vector<SimTime> starts(count);
  std::vector<SimTime> may_start(count);
  for (std::size_t i = 0; i < count; ++i) starts[i] = may_start[i] = ring.times[i].first;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      record_of(model::index_of(ring.members[i]), round) = starts[i] + ring.times[i].move - may_start[i];
    }
    SimTime arrival = starts[count - 1] + ring.times[count - 1].move;
    for (std::size_t i = 0; i < count; ++i) {
      const SimTime here = arrival;
      arrival = starts[i] + ring.times[i].move;
      may_start[i] = std::max(here, ring.times[i].first);
      starts[i] = std::max(here, starts[i] + ring.times[i].send);
    }
  }
}

// Rounds of members that did not end before the run was cut.
void FlowRun::drop_ring_rounds(const Ring& ring) {
  if (!record_rounds_ || !ring.closed_form) return;
  for (const TransferId member : ring.members) {
    if (result_.finished[model::index_of(member)] != kNever) continue;
    for (std::uint32_t round = 0; round < transfer_at(model::index_of(member)).rounds; ++round) {
      record_of(model::index_of(member), round) = kNever;
    }
  }
}

// Payload so far, including rounds in flight.
double FlowRun::delivered() const {
  double bytes = traffic_.payload();
  for (const BundleState& bundle : bundles_) {
    const double moved = bundle.rate * static_cast<double>((now_ - bundle.since).count()) * 1e-12;
    for (const auto& [finish, slot] : bundle.members) {
      const Connection& c = connections_[slot];
      const double left = std::clamp((finish - bundle.served - moved) / c.bits, 0.0, 1.0);
      bytes += static_cast<double>(c.payload.count()) * (1 - left);
    }
  }
  for (const FlowEvent& event : moving_.events()) {
    if (event.kind != FlowEventKind::sent) continue;
    const Connection& c = connections_[event.id];
    const double left = static_cast<double>((event.at - now_).count()) / static_cast<double>(c.send_time.count());
    bytes += static_cast<double>(c.payload.count()) * (1 - std::clamp(left, 0.0, 1.0));
  }
  for (const FlowEvent& event : fixed_.events()) {  // rings in closed form: assumed to progress evenly
    if (event.kind != FlowEventKind::ring_end) continue;
    const Transfer& t = transfer_at(event.id);
    const SimTime start = result_.started[event.id];
    const double part = static_cast<double>((now_ - start).count()) / static_cast<double>((event.at - start).count());
    bytes += static_cast<double>(t.bytes.count()) * t.rounds * std::clamp(part, 0.0, 1.0);
  }
  return bytes;
}

void FlowRun::note_series(SimTime until) {
  if (options_->series_interval.count() <= 0) return;
  const SimTime resume = now_;
  while (series_at_ + options_->series_interval <= until && result_.series.size() < kMaxPoints) {
    series_at_ += options_->series_interval;
    now_ = series_at_;
    const double total = delivered();
    SeriesPoint point;
    point.at = series_at_;
    point.delivered = Bytes(std::llround(total) - std::llround(series_delivered_));
    series_delivered_ = total;
    result_.series.push_back(point);
  }
  now_ = resume;
}

void FlowRun::note_overload() {
  for (const std::uint32_t lane : model_.solver().contended()) {
    if (lane / model_.lane_classes() >= overload_seen_.size()) continue;
    const std::uint32_t link = model::index_of(model_.link_of(lane));
    if (overload_seen_[link]) continue;
    overload_seen_[link] = true;
    note_overload_at(lane);
  }
}

// A full link with more arriving bytes than its switch can buffer: PFC pauses the senders there (or packets are
// dropped), which also affects flows that do not use the link. A smaller excess is enough for ECN marks, after which
// DCQCN recovers slowly.
void FlowRun::note_overload_at(std::uint32_t lane) {
  const Network& network = model_.network();
  const MaxMinSolver& solver = model_.solver();
  const Link& link = network.link(model_.link_of(lane));
  const FlowClass& c = model_.class_of(model_.class_of_lane(lane));
  if (network.node(link.from).kind != NodeKind::network_switch || solver.flows_on(lane) < 2 || c.plain()) return;
  double waiting = 0;    // bytes destined to it
  double in_flight = 0;  // bytes that may be in flight at once
  SimTime latency;
  solver.for_each_bundle_on(lane, [&](std::uint32_t b, double) {
    for (const auto& [finish, slot] : bundles_[b].members) {
      const Connection& connection = connections_[slot];
      waiting += connection.bits / 8;
      latency = std::max(latency, connection.latency);
      in_flight += std::min(c.window(network, model_.paths().way(connection.path)), connection.bits / 8);
    }
  });
  const double demand = solver.demand_on(lane);
  const double over = 1 - solver.capacity(lane) / demand;
  const double time = std::min(reaction_seconds(c.options(), 2 * latency), waiting * 8 / demand);
  const double excess = std::min(demand / 8 * over * time, in_flight);
  const SwitchOptions& switches = options_->switches;
  const Bytes buffer = switches.buffer.count() > 0 ? switches.buffer : network.buffer_of(link.from).total;
  const bool lossless = c.options().lossless && switches.pfc;
  const double alpha = lossless ? switches.alpha : switches.lossy_alpha;
  const double ports = static_cast<double>(network.out_links(link.from).size()) - 1;  // possible ingress ports
  const double queues = lossless ? std::min<double>(solver.flows_on(lane), ports) : 1;
  const double room = static_cast<double>(buffer.count()) * alpha * queues / (1 + alpha * queues);
  const auto count = [&](Overload& overload, double beyond) {
    if (beyond <= 0) return;
    ++overload.links;
    if (beyond <= overload.excess) return;
    overload = {overload.links, model_.link_of(lane), beyond, solver.flows_on(lane)};
  };
  count(lossless ? paused_ : dropped_, excess - room);
  if (c.options().transport.kind != Transport::dcqcn || !c.options().ecn) return;
  const auto rate = static_cast<double>(link.rate.count());
  const double mark = static_cast<double>(c.options().ecn_min.count()) * rate / 1e11;
  count(slowed_, in_flight * over - mark);
}

void FlowRun::report() {
  conclude(result_);
  if (left_ > 0) {
    result_.complete = false;
    result_.end = std::max(result_.end, now_);
    if (next_time() == kNever) {
      result_.warnings.push_back(fmt::format("{} transfers cannot continue: no route to their destination", left_));
    }
    for (std::uint32_t slot = 0; slot < connections_.size(); ++slot) {
      const Connection& c = connections_[slot];
      if (slots_[c.transfer] == kNowhere || !c.sending || c.bundle == FlowModel::kFree) continue;
      note_part(c, 1 - leave(c.bundle, slot) / c.bits);
    }
    for (const Ring& ring : rings_) drop_ring_rounds(ring);
  } else {
    note_series(result_.end + options_->series_interval - SimTime(1));
  }
  result_.totals.events = events_;
  result_.totals.solves = model_.solver().solves();
  report_transfers();
  traffic_.report(model_.network(), model_.paths(), result_);
  report_warnings();
  for (; !before_.empty(); before_.pop_back()) routes_->set_link(before_.back().first, before_.back().second);
}

void FlowRun::report_transfers() {
  std::vector<SimTime>& times = result_.completion_times;
  if (record_rounds_) {
    std::erase_if(times, [](SimTime t) { return t.count() < 0 || t == kNever; });
  } else {
    for (std::size_t i = 0; i < transfers_->size(); ++i) {
      if (result_.finished[i] != kNever) times.push_back(result_.finished[i] - result_.started[i]);
    }
  }
}

void FlowRun::warn_of(const Overload& overload, std::string_view what) {
  if (overload.links == 0) return;
  result_.warnings.push_back(fmt::format("{} links (worst: {} with {} flows) {}", overload.links,
                                         model_.network().link_name(overload.worst), overload.flows, what));
}

void FlowRun::report_warnings() {
  warn_of(paused_, "would exceed their switch buffer: the flow engine does not model PFC pauses and how they spread");
  warn_of(dropped_, "would exceed their switch buffer: the flow engine does not model packet loss");
  warn_of(slowed_, "would mark packets: the flow engine does not model the uneven and lasting slowdown by DCQCN");
  if (meeting_error_ >= 0) {
    result_.warnings.push_back(fmt::format(
        "large rings that share links were computed as if they always shared them: they end at most {:.2g} % too late",
        meeting_error_ * 100));
  }
  if (greatest_tolerance_ > 0) {
    result_.warnings.push_back(
        fmt::format("so many flows share links that ends within {:.2g} % of a flow's duration were merged",
                    greatest_tolerance_ * 100));
  }
  const auto warn = [this](bool when, std::string_view what) {
    if (when) result_.warnings.emplace_back(what);
  };
  const auto has_kind = [this](LinkEvent::Kind kind) {
    return std::any_of(options_->link_events.begin(), options_->link_events.end(),
                       [kind](const LinkEvent& event) { return event.kind == kind; });
  };
  warn(links_change_,
       "flows over a failed link stop until routes have changed; the flow engine does not model packets lost on "
       "the wire and their timeouts");
  warn(has_kind(LinkEvent::Kind::errors),
       "links that lose packets are slower by the mean cost of their retransmissions, from the start of the run");
  warn(has_kind(LinkEvent::Kind::mtu), "the flow engine does not model MTU mismatches");
  warn(!options_->pause_storms.empty(), "the flow engine does not model pause storms");
  warn(options_->switches.watchdog != Watchdog::off && paused_.links > 0,
       "the flow engine does not model the PFC watchdog");
  warn(routes_->options().mode == RoutingMode::flowlet,
       "flowlets keep the path of their hash in the flow engine: a bulk flow has no gaps");
  const bool lossless = std::any_of(options_->classes.begin(), options_->classes.end(),
                                    [](const TrafficClassOptions& c) { return c.lossless; });
  warn(!routes_->options().up_down && lossless && options_->switches.pfc,
       "routes are not up-down: buffers can wait for each other in a cycle (deadlock), which the flow engine does not "
       "detect");
}

}  // namespace weft::netsim
