#include "check/failures/failure_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/host_range.h"
#include "check/failures/failure_survey.h"

namespace weft::check {

using design::views::falls_with_feed;
using design::views::gpus_of;
using design::views::Supplies;
using design::views::supplies_of;

TrainingTime training_time(std::int64_t nodes, double interval_seconds, double write_seconds) {
  TrainingTime time;
  time.nodes = nodes;
  time.failures_per_day = static_cast<double>(nodes) * kFailuresPerNodeDay;
  const double rate = time.failures_per_day / 86'400.0;  // per second
  // E[ETTR] = (1 - N r (u0 + dt/2)) / (1 + w/dt)
  const auto ratio = [&](double interval) {
    const double lost = rate * (kRestartSeconds + interval / 2.0);
    return std::clamp((1.0 - lost) / (1.0 + write_seconds / interval), 0.0, 1.0);
  };
  // Its maximum over dt: with s = 1 - N r u0, dt^2 + 2 w dt = 2 w s / (N r).
  const double spare = std::max(0.0, 1.0 - rate * kRestartSeconds);
  const double best =
      rate > 0.0 ? std::sqrt(write_seconds * write_seconds + 2.0 * write_seconds * spare / rate) - write_seconds
                 : interval_seconds;
  time.best_seconds = std::max(best, 1.0);
  time.ratio = interval_seconds > 0.0 ? ratio(interval_seconds) : 0.0;
  time.best_ratio = ratio(time.best_seconds);
  return time;
}

const Failure* FailureAnalysis::find(std::string_view kind, std::optional<model::FabricKind> fabric) const {
  for (const Failure& failure : failures_) {
    if (failure.kind == kind && failure.fabric == fabric) return &failure;
  }
  return nullptr;
}

const StorageAnalysis* FailureAnalysis::storage_named(std::string_view name) const {
  for (const StorageAnalysis& storage : storage_) {
    if (storage.system->name->text == name) return &storage;
  }
  return nullptr;
}

FailureAnalysis::FailureAnalysis(const model::Cluster& cluster) { FailureSurvey(cluster, *this).run(); }

namespace {

const model::DeviceGroup* group_of_pool(const model::Cluster& cluster, const model::Sourced<std::string>& pool) {
  if (!pool.has_value()) return nullptr;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind == model::DeviceKind::server && group.pool >= 0 && group.name == pool.value) return &group;
  }
  return nullptr;
}

model::DeviceId member_of(const model::DeviceGroup& group, std::uint32_t i) {
  return static_cast<model::DeviceId>(model::index_of(group.first) + i);
}

// The rack that contains the most of the given devices.
std::pair<model::RackId, std::size_t> fullest_rack(const model::Cluster& cluster,
                                                   const std::vector<model::DeviceId>& devices) {
  std::map<std::uint32_t, std::size_t> racks;
  for (const model::DeviceId id : devices) ++racks[model::index_of(cluster.device(id).rack)];
  std::pair<model::RackId, std::size_t> most{model::kNone<model::RackId>, 0};
  for (const auto& [rack, count] : racks) {
    if (count > most.second) most = {static_cast<model::RackId>(rack), count};
  }
  return most;
}

}  // namespace

FailureSurvey::FailureSurvey(const model::Cluster& cluster, FailureAnalysis& out)
    : cluster_(cluster), out_(out), meter_(cluster), role_(cluster.devices().size(), -1) {}

void FailureSurvey::run() {
  find_control();
  find_storage();
  find_power();
  for (int f = 0; f < model::kFabrics; ++f) find_weakness(static_cast<model::FabricKind>(f));
  site_failures();
  for (int f = 0; f < model::kFabrics; ++f) {
    switch_failures(static_cast<model::FabricKind>(f));
    cable_failures(static_cast<model::FabricKind>(f));
  }
  server_failures();
}

void FailureSurvey::find_control() {
  const model::ControlPlaneSpec& control = *cluster_.spec().control_plane;
  ControlAnalysis& out = out_.control_;
  const model::DeviceGroup* group = group_of_pool(cluster_, control.pool);
  if (group == nullptr) return;
  const auto count = std::min<std::uint32_t>(
      static_cast<std::uint32_t>(std::max<std::int64_t>(0, *control.etcd_members)), group->count);
  for (std::uint32_t i = 0; i < count; ++i) out.members.push_back(member_of(*group, i));
  out.quorum = out.members.size() / 2 + 1;
  std::tie(out.worst_rack, out.most_in_rack) = fullest_rack(cluster_, out.members);
  std::map<std::int32_t, std::size_t> rows;
  for (const model::DeviceId id : out.members) {
    role_[model::index_of(id)] = kMember;
    const model::RackId rack = cluster_.device(id).rack;
    if (rack != model::kNone<model::RackId>)
      out.most_in_row = std::max(out.most_in_row, ++rows[cluster_.rack(rack).row]);
    out.on_gpu_servers = out.on_gpu_servers || gpus_of(cluster_, id) > 0;
  }
  for (int feed = 0; feed < *cluster_.spec().site->feeds; ++feed) {
    const auto lost = std::count_if(out.members.begin(), out.members.end(),
                                    [&](model::DeviceId id) { return falls_with_feed(cluster_, id, feed); });
    out.most_on_feed = std::max(out.most_on_feed, static_cast<std::size_t>(lost));
  }
}

void FailureSurvey::find_storage() {
  for (const model::StorageSpec& system : *cluster_.spec().storage) {
    const model::DeviceGroup* group = group_of_pool(cluster_, system.pool);
    if (group == nullptr || group->count == 0 || *system.tier == model::StorageTier::hot) continue;
    StorageAnalysis storage;
    storage.system = &system;
    storage.group = group;
    storage.controllers = *group->server->controllers;
    std::vector<model::DeviceId> servers;
    std::map<std::uint32_t, std::size_t> racks;
    for (std::uint32_t i = 0; i < group->count; ++i) {
      servers.push_back(member_of(*group, i));
      ++racks[model::index_of(cluster_.device(servers.back()).rack)];
      storage.controllers = std::min(storage.controllers, *cluster_.server_of(servers.back()).controllers);
      role_[model::index_of(servers.back())] = static_cast<std::int32_t>(out_.storage_.size());
    }
    storage.racks = racks.size();
    std::tie(storage.worst_rack, storage.most_in_rack) = fullest_rack(cluster_, servers);
    for (int feed = 0; feed < *cluster_.spec().site->feeds; ++feed) {
      const auto lost = std::count_if(servers.begin(), servers.end(),
                                      [&](model::DeviceId id) { return falls_with_feed(cluster_, id, feed); });
      storage.lost_with_feed = std::max(storage.lost_with_feed, static_cast<std::size_t>(lost));
    }
    out_.storage_.push_back(storage);
  }
}

void FailureSurvey::find_power() {
  PowerAnalysis& power = out_.power_;
  const auto feeds = static_cast<int>(*cluster_.spec().site->feeds);
  const Power rating = *cluster_.catalog().pdu(*cluster_.spec().site->pdu)->rating;
  std::vector<bool> one_feed(cluster_.racks().size(), false);
  for (std::uint32_t r = 0; r < cluster_.racks().size(); ++r) {
    const model::Rack& rack = cluster_.racks()[r];
    if (rack.pdus == 0 || rack.used_units == 0) continue;
    const int here = std::min(feeds, static_cast<int>(rack.pdus));
    one_feed[r] = here < 2;
    if (feeds > 1 && here < 2) power.one_feed.push_back(static_cast<model::RackId>(r));
    if (here < 2) continue;
    const std::uint32_t lost = (rack.pdus + static_cast<std::uint32_t>(here) - 1) / static_cast<std::uint32_t>(here);
    if (rack.power > rating * (std::int64_t{rack.pdus} - lost))
      power.overloaded.push_back(static_cast<model::RackId>(r));
  }
  for (std::uint32_t g = 0; g < cluster_.groups().size(); ++g) {
    const model::DeviceGroup& group = cluster_.groups()[g];
    if (group.kind != model::DeviceKind::server && group.kind != model::DeviceKind::network_switch) continue;
    PowerWeakness weak;
    weak.group = g;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const model::DeviceId id = member_of(group, i);
      const Supplies supplies = supplies_of(cluster_, id);
      if (supplies.fitted > 0 && supplies.fitted - 1 < supplies.needed) power.one_supply_short.push_back(id);
      const model::RackId rack = cluster_.device(id).rack;
      if (rack == model::kNone<model::RackId> || one_feed[model::index_of(rack)]) continue;
      bool falls = false;
      for (int feed = 0; feed < feeds; ++feed) {
        if (!falls_with_feed(cluster_, id, feed)) continue;
        falls = true;
        int on_feed = 0;
        for (int psu = 0; psu < supplies.fitted; ++psu) on_feed += cluster_.feed_of_psu(id, psu) == feed ? 1 : 0;
        if (on_feed > weak.on_feed) {
          weak.on_feed = on_feed;
          weak.feed = feed;
          weak.supplies = supplies;
        }
      }
      if (falls) weak.lost.push_back(id);
    }
    if (!weak.lost.empty()) power.weak.push_back(std::move(weak));
  }
}

void FailureSurvey::find_weakness(model::FabricKind fabric) {
  if (!cluster_.fabric(fabric).present) return;
  FabricWeakness& out = out_.weaknesses_[static_cast<std::size_t>(fabric)];
  const design::FabricGraph& graph = meter_.graph(fabric);
  for (const model::DeviceGroup& group : cluster_.groups()) {
    if (group.kind != model::DeviceKind::server) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const model::DeviceId id = member_of(group, i);
      const std::uint32_t links = meter_.links_of(id, fabric);
      if (links == 0) continue;
      if (links == 1) {
        out.single_homed.push_back(id);
        continue;
      }
      model::DeviceId first = model::kNone<model::DeviceId>;
      bool same = true;
      for (const model::PortId port : cluster_.ports_of(id)) {
        if (cluster_.port(port).fabric != fabric || !design::ends_on_host(cluster_.cable(cluster_.cable_of(port)).role))
          continue;
        const model::DeviceId at = cluster_.port(cluster_.peer_of(port)).device;
        same = same && (first == model::kNone<model::DeviceId> || first == at);
        first = at;
      }
      if (same) out.one_switch.push_back(id);
    }
  }
  for (std::uint32_t node = 0; node < graph.graph().nodes(); ++node) {
    const model::DeviceId id = graph.switches()[node];
    if (graph.cuts().nodes[node] && cluster_.group_of(id).tier != model::Tier::leaf) out.cut_switches.push_back(id);
    find_uplinks(graph, node, out);
    for (const model::PortId port : cluster_.ports_of(id)) {
      if (cluster_.cable(cluster_.cable_of(port)).role != model::CableRole::external) continue;
      ++out.way_out_switches;
      break;
    }
  }
  out.cut_cables = graph.bridges();
}

void FailureSurvey::find_uplinks(const design::FabricGraph& graph, std::uint32_t node, FabricWeakness& out) const {
  const model::DeviceId id = graph.switches()[node];
  if (cluster_.group_of(id).tier != model::Tier::leaf) return;
  std::uint64_t all = 0;
  std::uint64_t most = 0;
  model::DeviceId upper = model::kNone<model::DeviceId>;
  for (const design::Graph::Arc& arc : graph.graph().arcs(node)) {
    const model::DeviceId other = graph.switches()[arc.to];
    if (cluster_.group_of(other).tier == model::Tier::leaf &&
        cluster_.group_of(other).fabric == cluster_.group_of(id).fabric)
      continue;
    const std::uint32_t cables = graph.trunk(arc.edge).cables;
    all += cables;
    if (cables <= most) continue;
    most = cables;
    upper = other;
  }
  if (all == 0) return;
  const double share = 100.0 * static_cast<double>(most) / static_cast<double>(all);
  if (share <= out.uplink_share) return;
  out.uplink_share = share;
  out.leaf = id;
  out.upper = upper;
}

}  // namespace weft::check
