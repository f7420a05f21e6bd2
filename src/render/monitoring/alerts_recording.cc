// Recording rules: designed values as series, and ratios that both alerts and dashboards use.
#include <fmt/format.h>

#include <map>
#include <set>

#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

void add_pools(const Watch& watch, std::vector<RecordingRule>& out) {
  for (const PoolPlan& pool : watch.plan().pools()) {
    const Labels label = {{"pool", pool.name()}};
    std::size_t links = 0;
    for (const RailPlan& rail : pool.rails) links += rail.fabric == model::FabricKind::storage ? 1U : 0U;
    if (links > 0 && pool.spec->role.value != model::PoolRole::storage) {
      out.push_back({"weft:storage_paths:designed", fmt::format("vector({})", links), label});
    }
    if (!pool.has_gpus()) continue;
    out.push_back({"weft:gpus:designed", fmt::format("vector({})", pool.server->gpus.value), label});
    out.push_back({"weft:gpu_tdp:watts", fmt::format("vector({})", pool.gpu->tdp->count() / 1000), label});
    if (!pool.gpu->nvlink_bandwidth.has_value()) continue;
    out.push_back({"weft:gpu_nvlink:mbytes_per_second",
                   fmt::format("vector({})", pool.gpu->nvlink_bandwidth->per_second.count() / 1'000'000), label});
  }
}

// The number is in a label of the switch's target; a rule converts each number that occurs into a value.
void add_sessions(const Watch& watch, std::vector<RecordingRule>& out) {
  std::set<std::uint32_t> numbers;
  for (const model::DeviceGroup& group : watch.cluster().groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.fabric == model::FabricKind::oob) continue;
    if (!watch.fabric(group.fabric).ethernet) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      numbers.insert(watch.designed_sessions(static_cast<model::DeviceId>(model::index_of(group.first) + i)));
    }
  }
  numbers.erase(0);
  for (const std::uint32_t number : numbers) {
    out.push_back({"weft:bgp_sessions:designed",
                   fmt::format("{0} * group by (instance, fabric) (up{{job=\"snmp\",sessions=\"{0}\"}})", number),
                   {{"sessions", fmt::format("{}", number)}}});
  }
}

void add_ratings(const Watch& watch, std::vector<RecordingRule>& out) {
  std::map<std::string, std::int64_t> ratings;  // by model
  for (const model::DeviceGroup& group : watch.cluster().groups()) {
    if (group.kind == model::DeviceKind::pdu && group.count > 0) {
      ratings[group.pdu->id->text] = group.pdu->rating->count() / 1000;
    }
  }
  for (const auto& [model, watts] : ratings) {
    out.push_back({"weft:pdu_rating:watts", fmt::format("vector({})", watts), {{"model", model}}});
  }
}

}  // namespace

std::vector<RecordingRule> designed_rules(const Watch& watch) {
  std::vector<RecordingRule> out;
  add_pools(watch, out);
  add_sessions(watch, out);
  add_ratings(watch, out);
  return out;
}

std::vector<RecordingRule> derived_rules(const Watch& watch) {
  std::vector<RecordingRule> out;
  for (const FabricWatch& fabric : watch.fabrics()) {
    if (!fabric.present || !fabric.lossless) continue;
    const Labels priority = {{"priority", fmt::format("{}", fabric.priority)}};
    const std::string_view kind = model::to_text(fabric.kind);
    // ConnectX counts pauses in microseconds.
    out.push_back({"weft:pfc_paused:ratio",
                   fmt::format("rate(node_ethtool_received_prio{}_pause_duration{{fabric=\"{}\"}}[5m]) / 1e6",
                               fabric.priority, kind),
                   priority});
    out.push_back({"weft:pfc_pausing:ratio",
                   fmt::format("rate(node_ethtool_transmitted_prio{}_pause_duration{{fabric=\"{}\"}}[5m]) / 1e6",
                               fabric.priority, kind),
                   priority});
  }
  out.push_back({"weft:ecn_marked:ratio",
                 "rate(node_infiniband_np_ecn_marked_roce_packets_received_total{fabric!=\"\"}[5m])\n"
                 "/ rate(node_infiniband_port_packets_received_total[5m])"});
  out.push_back({"weft:port_receive:ratio",
                 "rate(node_infiniband_port_data_received_bytes_total{fabric!=\"\"}[5m])\n"
                 "/ node_infiniband_rate_bytes_per_second"});
  out.push_back({"weft:port_transmit:ratio",
                 "rate(node_infiniband_port_data_transmitted_bytes_total{fabric!=\"\"}[5m])\n"
                 "/ node_infiniband_rate_bytes_per_second"});
  // FRR on SONiC and Cumulus; CISCO-BGP4-MIB on NX-OS; BGP4-MIB on EOS. Six is established (RFC 4273).
  out.push_back({"weft:bgp_sessions:established",
                 "sum by (instance, fabric) (frr_bgp_peer_state{afi=\"ipv4\",safi=\"unicast\"} == bool 1)\n"
                 "or sum by (instance, fabric) (cbgpPeer2State == bool 6)\n"
                 "or sum by (instance, fabric) (bgpPeerState == bool 6)"});
  return out;
}

}  // namespace weft::render::watch
