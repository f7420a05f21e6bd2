#include "check/qos/intent_qos.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/lossless.h"

namespace weft::check {

namespace {

constexpr int kBestEffort = 0;

std::size_t slot(std::int64_t value) { return static_cast<std::size_t>(value); }

void fill_maps(const model::QosSpec& qos, model::FabricKind fabric, config::PortQos& out) {
  const config::Setting<int> rest =
      config::vendor_default(kBestEffort, qos_path(fabric, "dscp") + ": everything else is best effort");
  out.dscp_to_class.fill(rest);
  const int data = static_cast<int>(*qos.priority);
  const int notices = static_cast<int>(*qos.cnp_priority);
  if (*qos.dscp >= 0 && *qos.dscp < config::kDscps) {
    out.dscp_to_class[slot(*qos.dscp)] = setting_from(qos.dscp, data, qos_path(fabric, "dscp"));
  }
  if (*qos.cnp_dscp >= 0 && *qos.cnp_dscp < config::kDscps) {
    out.dscp_to_class[slot(*qos.cnp_dscp)] = setting_from(qos.cnp_dscp, notices, qos_path(fabric, "cnp_dscp"));
  }
  for (int i = 0; i < config::kClasses; ++i) {
    const config::Setting<int> same =
        config::vendor_default(i, qos_path(fabric, "priority") + ": same number throughout");
    out.pcp_to_class[slot(i)] = same;
    out.class_to_group[slot(i)] = same;
    out.class_to_queue[slot(i)] = same;
    out.pfc_to_group[slot(i)] = same;
    out.pfc_to_queue[slot(i)] = same;
  }
}

void fill_pfc(const model::QosSpec& qos, model::FabricKind fabric, config::PortQos& out) {
  out.pfc_mode = setting_from(qos.pfc, *qos.pfc, qos_path(fabric, "pfc"));
  for (int i = 0; i < config::kClasses; ++i) {
    const std::vector<std::int64_t>& list = *qos.pfc_priorities;
    const bool listed = std::find(list.begin(), list.end(), i) != list.end();
    const bool on = listed && *qos.lossless && *qos.pfc != model::PfcMode::off;
    out.pfc[slot(i)] = *qos.pfc == model::PfcMode::off
                           ? setting_from(qos.pfc, false, qos_path(fabric, "pfc"))
                           : setting_from(qos.pfc_priorities, on, qos_path(fabric, "pfc_priorities"));
    out.groups[slot(i)].lossless = setting_from(qos.lossless, on, qos_path(fabric, "lossless"));
  }
}

void fill_queues(const model::QosSpec& qos, model::FabricKind fabric, BitRate speed, config::PortQos& out) {
  const model::EcnThresholds thresholds = model::ecn_thresholds(qos, speed);
  for (config::QueueQos& queue : out.queues) {
    queue.scheduling = config::vendor_default(config::Scheduling::weighted, qos_path(fabric, "bandwidth_percent"));
  }
  config::QueueQos& data = out.queues[slot(*qos.priority)];
  data.ecn = setting_from(qos.ecn, *qos.ecn, qos_path(fabric, "ecn"));
  data.ecn_min = setting_from(qos.ecn_min, thresholds.min, qos_path(fabric, "ecn_min"));
  data.ecn_max = setting_from(qos.ecn_max, thresholds.max, qos_path(fabric, "ecn_max"));
  data.ecn_percent = setting_from(qos.ecn_percent, static_cast<int>(*qos.ecn_percent), qos_path(fabric, "ecn_percent"));
  data.scheduling = config::vendor_default(config::Scheduling::weighted, qos_path(fabric, "bandwidth_percent"));
  data.weight = setting_from(qos.bandwidth_percent, static_cast<int>(*qos.bandwidth_percent),
                             qos_path(fabric, "bandwidth_percent"));
  config::QueueQos& notices = out.queues[slot(*qos.cnp_priority)];
  notices.scheduling = setting_from(qos.cnp_priority, config::Scheduling::strict, qos_path(fabric, "cnp_priority"));
}

void fill_watchdog(const model::QosSpec& qos, model::FabricKind fabric, std::int64_t ports, config::PortQos& out) {
  const model::WatchdogTimes times = model::watchdog_times(qos, ports);
  out.watchdog.on = setting_from(qos.pfc_watchdog, *qos.pfc_watchdog, qos_path(fabric, "pfc_watchdog"));
  out.watchdog.detection =
      setting_from(qos.watchdog_detection, times.detection, qos_path(fabric, "watchdog_detection"));
  out.watchdog.restoration =
      setting_from(qos.watchdog_restoration, times.restoration, qos_path(fabric, "watchdog_restoration"));
  out.watchdog.action = setting_from(qos.watchdog_action, *qos.watchdog_action, qos_path(fabric, "watchdog_action"));
}

bool classes_fit(const model::QosSpec& qos) {
  const auto fits = [](std::int64_t value) { return value >= 0 && value < config::kClasses; };
  return qos.priority.has_value() && qos.dscp.has_value() && fits(*qos.priority) && fits(*qos.cnp_priority);
}

}  // namespace

std::string qos_path(model::FabricKind fabric, std::string_view key) {
  return fmt::format("fabrics.{}.qos.{}", model::to_text(fabric), key);
}

bool has_lossless_class(const model::Cluster& cluster, model::FabricKind fabric) {
  const model::FabricSpec* spec = cluster.find_fabric_spec(fabric);
  return spec != nullptr && cluster.fabric(fabric).present &&
         cluster.fabric(fabric).network == model::NetworkKind::ethernet && *spec->qos->lossless &&
         classes_fit(*spec->qos);
}

config::PortQos intent_port_qos(const model::Cluster& cluster, model::PortId port) {
  config::PortQos out;
  const model::Port& p = cluster.port(port);
  const model::FabricSpec* spec = cluster.find_fabric_spec(p.fabric);
  if (spec == nullptr || !classes_fit(*spec->qos) || cluster.fabric(p.fabric).network != model::NetworkKind::ethernet) {
    return out;
  }
  const model::QosSpec& qos = *spec->qos;
  out.trust = setting_from(qos.trust, *qos.trust, qos_path(p.fabric, "trust"));
  fill_maps(qos, p.fabric, out);
  fill_pfc(qos, p.fabric, out);
  fill_queues(qos, p.fabric, p.speed(), out);
  const model::SwitchModel* model = cluster.group_of(p.device).network_switch;
  if (model == nullptr) return out;
  fill_watchdog(qos, p.fabric, static_cast<std::int64_t>(cluster.ports_of(p.device).size()), out);
  if (const auto asic = model::asic_headroom(*model->asic)) {
    const Length cable(cluster.cable(p.cable).length_mm);
    const model::Headroom room = model::pfc_headroom(*asic, p.speed(), cable, *spec->switch_mtu, p.lanes);
    for (config::GroupQos& group : out.groups) {
      if (!*group.lossless) continue;
      const std::string why =
          fmt::format("headroom of {} for {} m at {}", asic->family, cable.count() / 1000, to_text(p.speed()));
      group.xoff = config::vendor_default(room.xoff, why);
      group.xon = config::vendor_default(room.xon, why);
      group.size = config::vendor_default(room.size, why);
    }
  }
  return out;
}

config::NicConfig intent_nic(const model::Cluster& cluster, model::FabricKind fabric) {
  config::NicConfig nic;
  nic.name = fmt::format("{} NIC", model::to_text(fabric));
  const model::FabricSpec* spec = cluster.find_fabric_spec(fabric);
  if (spec == nullptr || !classes_fit(*spec->qos)) return nic;
  const model::QosSpec& qos = *spec->qos;
  nic.place = spec->qos->place;
  nic.trust = setting_from(qos.trust, *qos.trust, qos_path(fabric, "trust"));
  nic.tos = setting_from(qos.dscp, model::traffic_class_of(static_cast<int>(*qos.dscp)), qos_path(fabric, "dscp"));
  config::PortQos port;
  fill_pfc(qos, fabric, port);
  nic.pfc = port.pfc;
  nic.cnp_dscp = setting_from(qos.cnp_dscp, static_cast<int>(*qos.cnp_dscp), qos_path(fabric, "cnp_dscp"));
  nic.cnp_priority =
      setting_from(qos.cnp_priority, static_cast<int>(*qos.cnp_priority), qos_path(fabric, "cnp_priority"));
  nic.ecn = setting_from(qos.ecn, *qos.ecn, qos_path(fabric, "ecn"));
  nic.global_pause = setting_from(qos.global_pause, *qos.global_pause, qos_path(fabric, "global_pause"));
  nic.mtu = setting_from(spec->mtu, *spec->mtu, fmt::format("fabrics.{}.mtu", model::to_text(fabric)));
  return nic;
}

config::Setting<int> intent_traffic_class(const model::Cluster& cluster, model::FabricKind fabric,
                                          std::string_view variable) {
  for (const auto& [name, value] : *cluster.spec().workload->environment) {
    if (name != variable) continue;
    const auto number = parse_integer(*value);
    if (number && *number >= 0 && *number <= 255) {
      return config::Setting<int>(static_cast<int>(*number), value.place, "workload.environment." + name);
    }
  }
  const model::FabricSpec* spec = cluster.find_fabric_spec(fabric);
  if (spec == nullptr || !spec->qos->dscp.has_value()) return {};
  const int traffic_class = model::traffic_class_of(static_cast<int>(*spec->qos->dscp));
  return setting_from(spec->qos->dscp, traffic_class, qos_path(fabric, "dscp"));
}

}  // namespace weft::check
