#include "netsim/packet/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "netsim/packet/congestion.h"

namespace weft::netsim {

namespace {

constexpr std::uint32_t kPauseFrame = 64;  // bytes on the wire, IEEE 802.3 31B

// A place between 0 and 2^20 for each node, such that nodes with much traffic between them are close: pods one after
// the other with their hosts, switches above the pods spread evenly. Independent of the number of threads.
std::vector<std::uint32_t> places_of(const Network& network) {
  constexpr std::uint64_t kRange = 1U << 20U;
  std::uint8_t top = 0;
  for (const Node& node : network.nodes()) top = std::max(top, node.tier);
  std::uint32_t groups = 1;
  std::uint64_t tops = 0;
  for (const Node& node : network.nodes()) {
    if (node.kind != NodeKind::network_switch || node.scale_up) continue;
    if (top > 1 && node.tier == top) {
      ++tops;
    } else {
      groups = std::max(groups, node.group + 1);
    }
  }
  std::vector<std::uint32_t> places(network.nodes().size(), 0);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Node& node = network.nodes()[i];
    if (node.kind != NodeKind::network_switch || node.scale_up) continue;
    const bool above = top > 1 && node.tier == top;
    places[i] = static_cast<std::uint32_t>(above ? seen++ * kRange / tops : node.group * kRange / groups);
  }
  const auto follow = [&](NodeKind kind, bool scale_up) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Node& node = network.nodes()[i];
      if (node.kind != kind || node.scale_up != scale_up) continue;
      for (const LinkId link : network.out_links(static_cast<NodeId>(i))) {
        const NodeId other = network.link(link).to;
        if (!scale_up && network.node(other).scale_up) continue;
        places[i] = places[model::index_of(other)];
        break;
      }
    }
  };
  follow(NodeKind::endpoint, false);
  follow(NodeKind::network_switch, true);
  return places;
}

bool splits_packets(RoutingMode mode) {
  return mode == RoutingMode::adaptive || mode == RoutingMode::flowlet || mode == RoutingMode::spray;
}

}  // namespace

PacketWorld::PacketWorld(Routes& routes_in, const TransferGraph& graph_in, const SimOptions& options_in, int shards)
    : routes(routes_in),
      network(routes_in.network()),
      graph(graph_in),
      options(options_in),
      per_packet_routing(splits_packets(routes_in.options().mode)),
      pfc(options_in.switches.pfc),
      alpha_(options_in.switches.alpha),
      lossy_alpha_(options_in.switches.lossy_alpha) {
  plan_queues();
  number_ports(shards);
  build_ports();
  build_switches();
  build_connections();
}

void PacketWorld::plan_queues() {
  for (const TrafficClassOptions& c : options.classes) {
    QueuePlan plan;
    plan.lossless = c.lossless && pfc;
    plan.strict = c.strict;
    plan.ecn = c.ecn;
    plan.mark_probability = c.ecn_probability;
    plan.largest = static_cast<std::uint32_t>(
        std::max(c.transport.payload.count() + c.transport.header.count(), c.transport.control.count()));
    largest_wire_ = std::max(largest_wire_, plan.largest);
    smallest_wire_ = std::min(smallest_wire_, static_cast<std::uint32_t>(c.transport.control.count()));
    plans.push_back(plan);
  }
  QueuePlan notifications;
  notifications.strict = true;
  notifications.largest = kPauseFrame;
  plans.push_back(notifications);
  largest_wire_ = std::max(largest_wire_, kPauseFrame);
  queues = static_cast<std::uint32_t>(plans.size());
  for (std::uint32_t q = 0; q < queues; ++q) {
    if (plans[q].strict) strict_mask = static_cast<std::uint16_t>(strict_mask | (1U << q));
    const std::uint32_t weight = q < options.classes.size() ? options.classes[q].weight : 1;
    plans[q].quantum = weight * largest_wire_;
  }
}

void PacketWorld::number_ports(int shards) {
  const std::vector<std::uint32_t> places = places_of(network);
  std::vector<std::uint32_t> order(network.nodes().size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return places[a] < places[b]; });
  port_of_link.assign(network.links().size(), kNil);
  shard_of.assign(network.nodes().size(), 0);
  // A place is never split: a pod and its hosts stay on one shard.
  std::map<std::uint32_t, std::size_t> links_at;
  for (std::uint32_t n = 0; n < places.size(); ++n) {
    links_at[places[n]] += network.out_links(static_cast<NodeId>(n)).size();
  }
  const auto count = static_cast<std::size_t>(shards);
  std::map<std::uint32_t, std::uint8_t> shard_at;
  std::size_t before = 0;
  for (const auto& [place, links] : links_at) {
    const std::size_t middle = before + links / 2;
    shard_at[place] = static_cast<std::uint8_t>(
        std::min(count - 1, middle * count / std::max<std::size_t>(1, network.links().size())));
    before += links;
  }
  for (const std::uint32_t node : order) {
    shard_of[node] = shard_at[places[node]];
    for (const LinkId link : network.out_links(static_cast<NodeId>(node))) {
      port_of_link[model::index_of(link)] = static_cast<std::uint32_t>(link_of_port.size());
      link_of_port.push_back(model::index_of(link));
    }
  }
  lookahead = INT64_MAX;
  for (const Link& link : network.links()) {
    if (shard_of[model::index_of(link.from)] == shard_of[model::index_of(link.to)]) continue;
    lookahead = std::min(lookahead, link.delay.count());
  }
}

const std::int64_t* PacketWorld::wire_times(BitRate rate) {
  auto& table = wire_times_[rate.count()];
  if (!table) {
    table = std::make_unique<std::int64_t[]>(largest_wire_ + 1);
    for (std::uint32_t bytes = 0; bytes <= largest_wire_; ++bytes) {
      table[bytes] = serialization_time(Bytes(bytes), rate).count();
    }
  }
  return table.get();
}

const std::uint32_t* PacketWorld::cell_charges(Bytes cell) {
  auto& table = charges_[cell.count()];
  if (!table) {
    table = std::make_unique<std::uint32_t[]>(largest_wire_ + 1);
    const auto size = static_cast<std::uint32_t>(std::max<std::int64_t>(1, cell.count()));
    for (std::uint32_t bytes = 0; bytes <= largest_wire_; ++bytes) table[bytes] = (bytes + size - 1) / size * size;
  }
  return table.get();
}

void PacketWorld::build_ports() {
  ports.resize(link_of_port.size());
  reverse.resize(ports.size());
  counters.resize(ports.size());
  lanes.resize(ports.size() * queues);
  clocks.resize(lanes.size());
  ingress.resize(lanes.size());
  thresholds.resize(lanes.size());
  for (std::uint32_t p = 0; p < ports.size(); ++p) {
    const Link& link = network.links()[link_of_port[p]];
    Port& port = ports[p];
    port.from = model::index_of(link.from);
    port.to = model::index_of(link.to);
    port.to_endpoint = network.node(link.to).kind == NodeKind::endpoint;
    port.from_endpoint = network.node(link.from).kind == NodeKind::endpoint;
    port.delay = link.delay.count() + (port.to_endpoint ? 0 : options.switches.latency.count());
    port.wire_time = wire_times(link.rate);
    port.shard_to = shard_of[port.to];
    port.cut_through = options.switches.cut_through && !port.to_endpoint;
    for (const LinkId next : network.out_links(link.to)) {
      if (network.link(next).rate > link.rate) port.cut_through = false;
    }
    reverse[p] = port_of_link[model::index_of(link.reverse)];
    for (std::uint32_t q = 0; q < options.classes.size(); ++q) {
      const TrafficClassOptions& c = options.classes[q];
      const auto scaled = [&](Bytes at_100g) {
        return multiply_divide(at_100g.count(), link.rate.count(), 100'000'000'000);
      };
      thresholds[lane_of(p, q)] = {scaled(c.ecn_min), scaled(c.ecn_max)};
    }
  }
}

void PacketWorld::build_switches() {
  switches.resize(network.nodes().size());
  for (std::size_t n = 0; n < switches.size(); ++n) {
    const Node& node = network.nodes()[n];
    if (node.kind != NodeKind::network_switch) continue;
    SwitchState& state = switches[n];
    const SwitchBuffer& buffer = network.buffers()[node.buffer];
    const Bytes total = options.switches.buffer.count() > 0 ? options.switches.buffer : buffer.total;
    state.charge = cell_charges(buffer.cell);
    std::int64_t reserved = 0;
    std::int64_t most = 0;
    for (const LinkId out : network.out_links(static_cast<NodeId>(n))) {
      const Link& in = network.link(network.link(out).reverse);
      // After the packet that crosses the threshold: a full packet may be leaving in the reverse direction before the
      // pause frame, the frame and the cable delay count twice, and the sender finishes the packet it has begun (IEEE
      // 802.1Qbb annex O). The cable may be full of the smallest packets, which use their cells least efficiently.
      const std::int64_t delay = ports[port_of_link[model::index_of(out)]].delay + in.delay.count() +
                                 options.switches.latency.count() + options.switches.response.count();
      const std::int64_t wire = multiply_divide(delay, in.rate.count(), 8'000'000'000'000) + kPauseFrame;
      const std::int64_t small = smallest_wire_;
      const std::int64_t pipe = (wire + small - 1) / small * state.charge[smallest_wire_];
      const std::int64_t needed = pipe + 3 * std::int64_t{state.charge[largest_wire_]};
      most = std::max(most, needed);
    }
    state.headroom = options.switches.headroom.count() > 0 ? options.switches.headroom.count() : most;
    for (std::uint32_t q = 0; q < options.classes.size(); ++q) {
      if (!plans[q].lossless) continue;
      reserved += state.headroom * static_cast<std::int64_t>(network.out_links(static_cast<NodeId>(n)).size());
    }
    state.shared_size = total.count() - reserved;
    if (state.shared_size < total.count() / 10) {
      if (warnings.empty()) {
        warnings.push_back(fmt::format(
            "{}: headroom of its {} ports ({}) leaves less than a tenth of the buffer ({}) shared; a tenth is used",
            network.name_of(static_cast<NodeId>(n)), network.out_links(static_cast<NodeId>(n)).size(),
            about(Bytes(reserved)), about(total)));
      }
      state.shared_size = total.count() / 10;
    }
  }
}

std::uint32_t PacketWorld::add_route(const FlowKey& key) {
  if (known_routes_.size() <= key.queue_pair) known_routes_.resize(key.queue_pair + 1);
  const std::uint64_t pair = (std::uint64_t{model::index_of(key.source)} << 32U) | model::index_of(key.destination);
  const auto [entry, fresh] = known_routes_[key.queue_pair].try_emplace(pair, 0);
  if (!fresh) return entry->second;
  path_.clear();
  if (!routes.path(key, path_)) {
    known_routes_[key.queue_pair].erase(entry);
    return kNil;
  }
  entry->second = static_cast<std::uint32_t>(route_table.size());
  for (const LinkId link : path_) route_table.push_back(port_of_link[model::index_of(link)]);
  return entry->second;
}

std::uint32_t PacketWorld::route_of(std::uint32_t transfer, std::uint32_t part, bool back) {
  const Transfer& t = graph.transfers()[transfer];
  const NodeId from = back ? t.destination : t.source;
  const NodeId to = back ? t.source : t.destination;
  return add_route(flow_key(network, from, to, part, routes.options().seed));
}

bool PacketWorld::takes_any_order(const TransportOptions& transport) const {
  return per_packet_routing || transport.recovery == Recovery::selective || transport.kind == Transport::tcp;
}

void PacketWorld::add_connection(std::uint32_t transfer, std::uint32_t part) {
  const Transfer& t = graph.transfers()[transfer];
  const TransportOptions& transport = transport_of(t.traffic_class);
  const std::uint32_t forth = route_of(transfer, part, false);
  const std::uint32_t back = route_of(transfer, part, true);
  CHECK(forth != kNil && back != kNil, "a transfer without a way");
  const std::int64_t bytes = t.bytes.count() / t.queue_pairs + (part < t.bytes.count() % t.queue_pairs ? 1 : 0);
  const std::int64_t payload = transport.payload.count();
  const std::int64_t packets = std::max<std::int64_t>(1, (bytes + payload - 1) / payload);
  CHECK(packets < kNil, "a transfer of more than 4 thousand million packets");
  const std::int64_t last = std::max<std::int64_t>(1, bytes - (packets - 1) * payload);

  Sender sender;
  sender.transfer = transfer;
  sender.port = route_table[forth];
  sender.route = forth + 1;
  sender.message_packets = static_cast<std::uint32_t>(packets);
  sender.to_message_end = sender.message_packets;
  sender.full_wire = static_cast<std::uint16_t>(payload + transport.header.count());
  sender.last_wire = static_cast<std::uint16_t>(last + transport.header.count());
  sender.queue = t.traffic_class;
  sender.class_index = t.traffic_class;
  const bool by_rate = transport.kind == Transport::dcqcn || transport.kind == Transport::pfc_only;
  sender.windowed = !by_rate || transport.window != kNoWindow;
  sender.adjusts =
      transport.kind == Transport::hpcc || transport.kind == Transport::nscc || transport.kind == Transport::tcp;
  sender.pulled = transport.kind == Transport::receiver;
  sender.one_by_one = takes_any_order(transport);
  senders.push_back(sender);

  Receiver receiver;
  receiver.transfer = transfer;
  receiver.port = route_table[back];
  receiver.route = back + 1;
  receiver.message_packets = sender.message_packets;
  receiver.to_message_end = sender.message_packets;
  receiver.queue = t.traffic_class;
  receiver.class_index = t.traffic_class;
  receiver.full_payload = static_cast<std::uint32_t>(payload);
  receiver.last_payload = static_cast<std::uint32_t>(last);
  receiver.full_wire = sender.full_wire;
  receiver.tolerant = takes_any_order(transport);
  receivers.push_back(std::move(receiver));
}

void PacketWorld::build_connections() {
  const std::size_t count = graph.size();
  transfers.resize(count);
  started.assign(count, kNever);
  finished.assign(count, kNever);
  const std::uint64_t instances = graph.instance_count();
  if (instances <= kMaxRecorded) {
    instance_times.assign(instances, kNever);
    first_instance.reserve(count);
  }
  std::size_t connections = 0;
  for (const Transfer& t : graph.transfers()) connections += t.queue_pairs;
  senders.reserve(connections);
  receivers.reserve(connections);
  std::size_t instance = 0;
  for (std::uint32_t t = 0; t < count; ++t) {
    transfers[t].first_connection = static_cast<std::uint32_t>(senders.size());
    transfers[t].waiting = graph.dependency_count(static_cast<TransferId>(t));
    if (instances <= kMaxRecorded) first_instance.push_back(instance);
    instance += graph.transfers()[t].rounds;
    for (std::uint32_t part = 0; part < graph.transfers()[t].queue_pairs; ++part) add_connection(t, part);
  }
  controls.resize(senders.size());
  for (std::uint32_t c = 0; c < senders.size(); ++c) {
    const Link& first = network.links()[link_of_port[senders[c].port]];
    const TransportOptions& transport = transport_of(senders[c].class_index);
    const HostCost host = host_cost(transport, network, static_cast<LinkId>(link_of_port[senders[c].port]));
    controls[c].host_overhead = host.overhead.count();
    const BitRate line = host.limit.count() > 0 ? std::min(first.rate, host.limit) : first.rate;
    start_control(controls[c], transport, line, round_trip_of(c));
    senders[c].byte_time = 8e12 / controls[c].rate;
    senders[c].throttled = controls[c].line_rate < first.rate.count();
    senders[c].window = static_cast<std::int64_t>(controls[c].window);
    receivers[c].unasked = static_cast<std::uint32_t>(unasked_packets(controls[c], senders[c]));
  }
}

SimTime PacketWorld::round_trip_of(std::uint32_t connection) const {
  const Sender& sender = senders[connection];
  const Receiver& receiver = receivers[connection];
  const auto control = static_cast<std::size_t>(transport_of(sender.class_index).control.count());
  std::int64_t total = 0;
  for (std::uint32_t r = sender.route - 1;; ++r) {
    const Port& port = ports[route_table[r]];
    total += port.wire_time[sender.full_wire] + port.delay;
    if (port.to_endpoint) break;
  }
  for (std::uint32_t r = receiver.route - 1;; ++r) {
    const Port& port = ports[route_table[r]];
    total += port.wire_time[control] + port.delay;
    if (port.to_endpoint) break;
  }
  return SimTime(total);
}

template <class End>
bool PacketWorld::reroute(End& end, std::uint32_t connection, bool back) {
  const std::uint32_t part = connection - transfers[end.transfer].first_connection;
  const std::uint32_t route = route_of(end.transfer, part, back);
  if (route == kNil) return false;
  end.port = route_table[route];
  end.route = route + 1;
  return true;
}

bool PacketWorld::reroute_data(std::uint32_t connection) { return reroute(senders[connection], connection, false); }

bool PacketWorld::reroute_acks(std::uint32_t connection) { return reroute(receivers[connection], connection, true); }

void PacketWorld::forget_routes() { known_routes_.clear(); }

bool PacketWorld::has_remote_triggers() const {
  for (std::uint32_t t = 0; t < graph.size(); ++t) {
    const auto id = static_cast<TransferId>(t);
    const Transfer& from = graph[id];
    const bool at_receiver = transport_of(from.traffic_class).ends_at_receiver;
    const NodeId knows = at_receiver ? from.destination : from.source;
    for (const TransferId next : graph.dependents(id)) {
      if (graph[next].source != knows) return true;
    }
    for (const TransferId next : graph.round_followers(id)) {
      if (graph[next].source != knows) return true;
    }
  }
  return false;
}

}  // namespace weft::netsim
