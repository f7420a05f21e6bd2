#include "render/monitoring/watch.h"

#include <fmt/format.h>

#include "model/lossless.h"

namespace weft::render::watch {
namespace {

constexpr std::size_t kStations = 3;
// IEEE 802.3 annex 31B: a pause lasts at most 65535 quanta of 512 bit times.
constexpr std::int64_t kLongestPauseBits = 65535 * 512;

FabricWatch data_fabric(const model::Cluster& cluster, model::FabricKind kind, const model::FabricSpec& spec) {
  const model::FabricPlan& plan = cluster.fabric(kind);
  FabricWatch out;
  out.kind = kind;
  out.present = plan.present;
  out.ethernet = plan.network == model::NetworkKind::ethernet;
  const model::QosSpec& qos = spec.qos.value;
  out.lossless =
      out.ethernet && kind != model::FabricKind::frontend && qos.lossless.value && qos.pfc.value != model::PfcMode::off;
  out.priority = qos.priority.value;
  out.ecn_percent = out.ethernet && kind != model::FabricKind::frontend && qos.ecn.value ? qos.ecn_percent.value : 0;
  out.mtu = spec.mtu.value;
  out.speed = plan.host_speed;
  out.system = spec.system.value;
  return out;
}

bool suits_as_station(model::PoolRole role) {
  return role == model::PoolRole::infrastructure || role == model::PoolRole::management;
}

}  // namespace

std::int64_t FabricWatch::storm_frames() const {
  return multiply_divide(speed.count(), kStormPercent, 100 * kLongestPauseBits);
}

Watch::Watch(const RenderInput& input) : input_(input) {
  const model::FabricsSpec& spec = input.cluster.spec().fabrics.value;
  fabrics_[0] = data_fabric(input.cluster, model::FabricKind::backend, spec.backend.value);
  fabrics_[1] = data_fabric(input.cluster, model::FabricKind::storage, spec.storage.value);
  fabrics_[2] = data_fabric(input.cluster, model::FabricKind::frontend, spec.frontend.value);
  FabricWatch& oob = fabrics_[3];
  oob.kind = model::FabricKind::oob;
  oob.present = input.cluster.fabric(model::FabricKind::oob).present;
  oob.mtu = spec.oob->mtu.value;
  oob.speed = input.cluster.fabric(model::FabricKind::oob).host_speed;
  oob.system = spec.oob->system.value;
  find_hosts();
}

void Watch::find_hosts() {
  for (const model::DeviceId id : plan().controllers()) {
    if (stations_.size() < kStations && plan().frontend_address(id) != Ipv4{}) stations_.push_back(id);
  }
  const bool none = stations_.empty();
  const PoolPlan* bridge = nullptr;
  for (const PoolPlan& pool : plan().pools()) {
    const model::DeviceId first = pool.group->first;
    if (plan().frontend_address(first) == Ipv4{}) continue;
    const model::PoolRole role = pool.spec->role.value;
    for (std::uint32_t i = 0; none && suits_as_station(role) && i < pool.group->count; ++i) {
      if (stations_.size() < kStations) stations_.push_back(static_cast<model::DeviceId>(model::index_of(first) + i));
    }
    if (role == model::PoolRole::storage || first_address(cluster(), first, model::FabricKind::storage) == Ipv4{})
      continue;
    // Prefers a login host over a compute server.
    if (bridge == nullptr || (role == model::PoolRole::login && bridge->spec->role.value != model::PoolRole::login))
      bridge = &pool;
  }
  if (bridge != nullptr) storage_bridge_ = bridge->group->first;
}

Ipv4 Watch::lifeline_address(model::DeviceId jump) const {
  for (const model::PortId id : cluster().ports_of(jump)) {
    const model::Port& port = cluster().port(id);
    if (port.fabric == model::FabricKind::oob && port.rail > 0 && port.address != Ipv4{}) return port.address;
  }
  return cluster().oob_address(jump);
}

std::string Watch::unit_name(model::DeviceId device) const {
  const model::UnitId unit = cluster().device(device).unit;
  if (unit == model::kNone<model::UnitId>) return {};
  const model::Unit& which = cluster().units()[model::index_of(unit)];
  if (which.pool < 0) return fmt::format("shared-u{:03}", which.index + 1);
  const model::PoolSpec& pool = cluster().spec().pools.value[static_cast<std::size_t>(which.pool)];
  return fmt::format("{}-u{:03}", pool.name->text, which.index + 1);
}

std::string Watch::rack_name(model::DeviceId device) const {
  const model::RackId rack = cluster().device(device).rack;
  return rack == model::kNone<model::RackId> ? std::string() : cluster().rack(rack).name;
}

std::uint32_t Watch::designed_sessions(model::DeviceId network_switch) const {
  std::uint32_t sessions = 0;
  for (const model::PortId id : cluster().ports_of(network_switch)) {
    const model::CableRole role = cluster().cable(cluster().cable_of(id)).role;
    sessions += role == model::CableRole::leaf_spine || role == model::CableRole::spine_core ? 1U : 0U;
  }
  return sessions;
}

std::string Watch::training_pools() const {
  std::string out;
  for (const PoolPlan& pool : plan().pools()) {
    if (pool.spec->role.value != model::PoolRole::training || !pool.has_gpus()) continue;
    if (!out.empty()) out += '|';
    for (const char c : pool.name()) out += c == '.' ? std::string("[.]") : std::string(1, c);
  }
  return out;
}

Ipv4 first_address(const model::Cluster& cluster, model::DeviceId device, model::FabricKind fabric) {
  for (const model::PortId id : cluster.ports_of(device)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric == fabric && port.address != Ipv4{}) return port.address;
  }
  return {};
}

}  // namespace weft::render::watch
