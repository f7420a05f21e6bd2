#include "netsim/flow/traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace weft::netsim {

FlowTraffic::Count& FlowTraffic::at(std::uint32_t path) {
  if (path >= counts_.size()) counts_.resize(std::max<std::size_t>(path + 1, counts_.size() * 2));
  return counts_[path];
}

void FlowTraffic::add(std::uint32_t path, const FlowClass& traffic_class, Bytes payload, std::int64_t messages) {
  payload_ += static_cast<double>(payload.count()) * static_cast<double>(messages);
  if (path == FlowPaths::kNoWay) return;
  Count& count = at(path);
  const auto packets = static_cast<std::int64_t>(traffic_class.packets(payload)) * messages;
  const auto acknowledgements = static_cast<std::int64_t>(traffic_class.acknowledgements(payload)) * messages;
  count.bytes += traffic_class.wire_bytes(payload).count() * messages;
  count.packets += packets;
  count.acknowledgements += acknowledgements;
  count.acknowledgement_bytes += acknowledgements * traffic_class.control().count();
  packets_ += static_cast<std::uint64_t>(packets);
}

void FlowTraffic::add_part(std::uint32_t path, const FlowClass& traffic_class, Bytes payload, double part) {
  if (path == FlowPaths::kNoWay) return;
  const auto share = [part](double whole) { return static_cast<std::int64_t>(std::llround(part * whole)); };
  Count& count = at(path);
  count.bytes += share(static_cast<double>(traffic_class.wire_bytes(payload).count()));
  count.packets += share(static_cast<double>(traffic_class.packets(payload)));
  const std::int64_t acknowledgements = share(static_cast<double>(traffic_class.acknowledgements(payload)));
  count.acknowledgements += acknowledgements;
  count.acknowledgement_bytes += acknowledgements * traffic_class.control().count();
}

void FlowTraffic::report(const Network& network, const FlowPaths& paths, SimResult& result) const {
  std::vector<double> bytes(network.links().size(), 0);
  std::vector<double> packets(network.links().size(), 0);
  for (std::uint32_t path = 0; path < counts_.size() && path < paths.size(); ++path) {
    const Count& count = counts_[path];
    if (count.bytes == 0) continue;
    const std::size_t hops = paths.way(path).size();
    result.totals.data_hops += static_cast<std::uint64_t>(std::max<std::int64_t>(count.packets, 0)) * hops;
    result.totals.control_hops += static_cast<std::uint64_t>(std::max<std::int64_t>(count.acknowledgements, 0)) * hops;
    paths.for_each_link(path, [&](LinkId link, double share) {
      bytes[model::index_of(link)] += share * static_cast<double>(count.bytes);
      packets[model::index_of(link)] += share * static_cast<double>(count.packets);
      const LinkId back = network.link(link).reverse;
      if (back == model::kNone<LinkId>) return;
      bytes[model::index_of(back)] += share * static_cast<double>(count.acknowledgement_bytes);
      packets[model::index_of(back)] += share * static_cast<double>(count.acknowledgements);
    });
  }
  result.totals.data_packets = packets_;
  result.links.assign(network.links().size(), {});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    LinkStats& stats = result.links[i];
    stats.bytes = Bytes(std::llround(bytes[i]));
    stats.packets = static_cast<std::uint64_t>(std::llround(packets[i]));
    stats.busy = serialization_time(stats.bytes, network.links()[i].rate);
  }
}

void conclude(SimResult& result) {
  std::vector<std::uint32_t> order(result.started.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&result](std::uint32_t a, std::uint32_t b) {
    if (result.started[a] != result.started[b]) return result.started[a] < result.started[b];
    if (result.finished[a] != result.finished[b]) return result.finished[a] < result.finished[b];
    return a < b;
  });
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t value) {
    std::uint64_t state = hash ^ value;
    hash = detail::splitmix64(state);
  };
  for (const std::uint32_t i : order) {
    mix(i);
    mix(static_cast<std::uint64_t>(result.started[i].count()));
    mix(static_cast<std::uint64_t>(result.finished[i].count()));
    if (result.finished[i] == kNever) {
      ++result.unfinished;
    } else {
      result.end = std::max(result.end, result.finished[i]);
    }
  }
  result.trace_hash = hash;
}

}  // namespace weft::netsim
