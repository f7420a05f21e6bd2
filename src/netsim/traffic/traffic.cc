#include "netsim/traffic/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"

namespace weft::netsim {

namespace {

constexpr TransferId kNothing = model::kNone<TransferId>;

TransferId send(TransferGraph& graph, NodeId from, NodeId to, Bytes bytes, SimTime start, const TrafficShape& shape) {
  if (from == to) return kNothing;
  Transfer transfer;
  transfer.source = from;
  transfer.destination = to;
  transfer.bytes = bytes;
  transfer.start = start;
  transfer.traffic_class = shape.traffic_class;
  transfer.queue_pairs = shape.queue_pairs;
  transfer.tag = shape.tag;
  return graph.add(transfer);
}

TransferId send(TransferGraph& graph, NodeId from, NodeId to, const TrafficShape& shape) {
  return send(graph, from, to, shape.bytes, shape.start, shape);
}

// destination[i] of rank i. The same rule as the benchmark workloads, so that results can be compared; the bias of the
// modulo is below 2^-40 for a million ranks.
std::vector<std::uint32_t> random_permutation(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> destination(count);
  std::iota(destination.begin(), destination.end(), 0U);
  std::uint64_t state = seed;
  for (std::size_t i = count - 1; i > 0; --i) {
    std::swap(destination[i], destination[detail::splitmix64(state) % (i + 1)]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (destination[i] == i) std::swap(destination[i], destination[(i + 1) % count]);
  }
  return destination;
}

// Calls `stripe(client, target, bytes)`.
template <class Stripe>
void each_stripe(std::span<const NodeId> clients, std::span<const NodeId> targets, std::uint32_t stripes, Bytes bytes,
                 Stripe stripe) {
  if (targets.empty()) return;
  const std::uint64_t count = std::max<std::uint32_t>(stripes, 1);
  CHECK(clients.size() <= kMaxTransfers / count, "too many stripes");
  const Bytes each = divide_up(bytes, static_cast<std::int64_t>(count));
  for (std::uint64_t c = 0; c < clients.size(); ++c) {
    for (std::uint64_t s = 0; s < count; ++s) stripe(clients[c], targets[(c * count + s) % targets.size()], each);
  }
}

double network_rate(const Network& network, NodeId endpoint) {
  double fabric = 0;
  double all = 0;
  for (const LinkId id : network.out_links(endpoint)) {
    const Link& link = network.link(id);
    const auto rate = static_cast<double>(link.rate.count());
    all += rate;
    if (!network.node(link.to).scale_up) fabric += rate;
  }
  return fabric > 0 ? fabric : all;
}

// Transfers per picosecond that make up `load` of an endpoint's links.
double arrival_rate(const Network& network, NodeId endpoint, double load, Bytes bytes) {
  const double bits = 8.0 * static_cast<double>(bytes.count());
  return std::max(load, 0.0) * network_rate(network, endpoint) / bits / 1e12;
}

}  // namespace

void add_permutation(TransferGraph& graph, std::span<const NodeId> ranks, const TrafficShape& shape) {
  if (ranks.size() < 2) return;
  const std::vector<std::uint32_t> destination = random_permutation(ranks.size(), shape.seed);
  for (std::size_t i = 0; i < ranks.size(); ++i) send(graph, ranks[i], ranks[destination[i]], shape);
}

void add_affine_permutation(TransferGraph& graph, std::span<const NodeId> ranks, std::uint64_t factor,
                            std::uint64_t shift, const TrafficShape& shape) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Uint128 image = static_cast<Uint128>(factor) * i + shift;
    send(graph, ranks[i], ranks[static_cast<std::size_t>(image % ranks.size())], shape);
  }
}

void add_incast(TransferGraph& graph, std::span<const NodeId> sources, NodeId target, const TrafficShape& shape) {
  for (const NodeId source : sources) send(graph, source, target, shape);
}

std::uint64_t all_to_all_count(std::size_t ranks) {
  const Uint128 pairs = ranks < 2 ? 0 : static_cast<Uint128>(ranks) * (ranks - 1);
  return pairs > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(pairs);
}

void add_all_to_all(TransferGraph& graph, std::span<const NodeId> ranks, std::uint32_t in_flight,
                    const TrafficShape& shape) {
  CHECK(all_to_all_count(ranks.size()) <= kMaxTransfers, "too many pairs");
  std::vector<TransferId> sent;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    sent.clear();
    for (std::size_t k = 1; k < ranks.size(); ++k) {
      const TransferId id = send(graph, ranks[r], ranks[(r + k) % ranks.size()], shape);
      if (id == kNothing) continue;
      if (in_flight > 0 && sent.size() >= in_flight) graph.depend(id, sent[sent.size() - in_flight]);
      sent.push_back(id);
    }
  }
}

void add_storage_reads(TransferGraph& graph, std::span<const NodeId> clients, std::span<const NodeId> targets,
                       std::uint32_t stripes, const TrafficShape& shape) {
  each_stripe(clients, targets, stripes, shape.bytes, [&](NodeId client, NodeId target, Bytes bytes) {
    send(graph, target, client, bytes, shape.start, shape);
  });
}

void add_checkpoint(TransferGraph& graph, std::span<const NodeId> clients, std::span<const NodeId> targets,
                    std::uint32_t stripes, const TrafficShape& shape) {
  each_stripe(clients, targets, stripes, shape.bytes, [&](NodeId client, NodeId target, Bytes bytes) {
    send(graph, client, target, bytes, shape.start, shape);
  });
}

void add_background(TransferGraph& graph, const Network& network, std::span<const NodeId> ranks, double load,
                    SimTime until, const TrafficShape& shape) {
  if (ranks.size() < 2 || until <= shape.start) return;
  const RandomStream base(shape.seed, "background");
  const std::uint64_t most = std::max<std::uint64_t>(kMaxTransfers / ranks.size(), 1);
  const auto length = static_cast<double>((until - shape.start).count());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const double rate = arrival_rate(network, ranks[r], load, shape.bytes);
    if (!(rate > 0)) continue;
    RandomStream random = base.split(fmt::format("{}", r));
    double at = 0;  // picoseconds since the start
    for (std::uint64_t n = 0; n < most; ++n) {
      at -= std::log(1.0 - random.uniform()) / rate;  // exponential by inversion
      if (!(at < length)) break;
      const std::size_t peer = (r + 1 + random.below(ranks.size() - 1)) % ranks.size();
      send(graph, ranks[r], ranks[peer], shape.bytes, shape.start + SimTime(static_cast<std::int64_t>(at)), shape);
    }
  }
}

double background_count(const Network& network, std::span<const NodeId> ranks, double load, SimTime until,
                        const TrafficShape& shape) {
  if (ranks.size() < 2 || until <= shape.start) return 0;
  double rate = 0;
  for (const NodeId rank : ranks) rate += arrival_rate(network, rank, load, shape.bytes);
  return rate * static_cast<double>((until - shape.start).count());
}

}  // namespace weft::netsim
