// NIC classification, PFC and ECN settings of bare-metal hosts, matching the fabric's switches. One script per fabric.
#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "model/lossless.h"
#include "model/server_ports.h"
#include "render/core/line_file.h"
#include "render/hosts/parts.h"

namespace weft::render {
namespace {

constexpr int kPriorities = 8;
constexpr std::string_view kRing = "8192";  // descriptors; the maximum for mlx5

model::PortUse use_of(model::FabricKind fabric) {
  return fabric == model::FabricKind::backend ? model::PortUse::backend : model::PortUse::storage;
}

const model::NicModel* nic_of(const model::Cluster& cluster, const PoolPlan& pool, model::FabricKind fabric) {
  const model::PortGroup* ports = model::port_group(*pool.server, use_of(fabric));
  return ports == nullptr ? nullptr : cluster.catalog().nic(ports->nic.value);
}

std::vector<std::string> names_of(const PoolPlan& pool, model::FabricKind fabric, bool devices) {
  std::vector<std::string> names;
  for (const RailPlan& rail : pool.rails) {
    if (rail.fabric == fabric) names.push_back(devices ? rail.rdma_device : rail.interface);
  }
  return names;
}

std::string words(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " ") + shell_quote(name);
  return out;
}

// "0,0,0,1,0,0,0,0"
template <class At>
std::string by_priority(At at) {
  std::string out;
  for (int p = 0; p < kPriorities; ++p) out += fmt::format("{}{}", p == 0 ? "" : ",", at(p));
  return out;
}

bool is_paused(const model::QosSpec& qos, int priority) {
  if (qos.pfc.value == model::PfcMode::off) return false;
  const auto& list = qos.pfc_priorities.value;
  return std::find(list.begin(), list.end(), priority) != list.end();
}

// CNPs first (strict); the lossless class has its share, all other traffic shares the rest in class 0.
std::string shares(const model::QosSpec& qos) {
  const std::int64_t share = qos.bandwidth_percent.value;
  return by_priority([&](int p) -> std::int64_t {
    if (p == qos.priority.value) return qos.priority.value == 0 ? 100 : share;
    return p == 0 ? 100 - share : 0;
  });
}

void mellanox_classes(const model::QosSpec& qos, LineFile& file) {
  file.line(fmt::format("  mlnx_qos -i \"$interface\" --trust {} --pfc {}",
                        qos.trust.value == model::TrustMode::dscp ? "dscp" : "pcp",
                        by_priority([&](int p) { return is_paused(qos, p) ? 1 : 0; })));
  file.line(fmt::format("  mlnx_qos -i \"$interface\" --tsa {} --tcbw {}",
                        by_priority([&](int p) { return p == qos.cnp_priority.value ? "strict" : "ets"; }),
                        shares(qos)));
  if (qos.trust.value == model::TrustMode::dscp) {
    for (const auto& [dscp, priority] :
         {std::pair(qos.dscp.value, qos.priority.value), std::pair(qos.cnp_dscp.value, qos.cnp_priority.value)}) {
      file.line(fmt::format("  mlnx_qos -i \"$interface\" --dscp2prio set,{},{} || true", dscp, priority));
    }
  }
  const int on = qos.ecn.value ? 1 : 0;
  file.line("  # DCQCN: reaction point and notification point.");
  for (const std::string_view end : {"roce_np", "roce_rp"}) {
    file.line(fmt::format("  echo {} > \"/sys/class/net/$interface/ecn/{}/enable/{}\"", on, end, qos.priority.value));
  }
  file.line(fmt::format("  echo {} > \"/sys/class/net/$interface/ecn/roce_np/cnp_dscp\"", qos.cnp_dscp.value));
  file.line(fmt::format("  echo {} > \"/sys/class/net/$interface/ecn/roce_np/cnp_802p_prio\"", qos.cnp_priority.value));
}

// dcb(8) of iproute2, for drivers that support the kernel's own interface.
void generic_classes(const model::QosSpec& qos, LineFile& file) {
  std::string pfc = "all:off";
  for (int p = 0; p < kPriorities; ++p) {
    if (is_paused(qos, p)) pfc += fmt::format(" {}:on", p);
  }
  file.line(fmt::format("  dcb pfc set dev \"$interface\" prio-pfc {}", pfc));
  if (qos.trust.value == model::TrustMode::dscp) {
    file.line(fmt::format("  dcb app replace dev \"$interface\" dscp-prio {}:{} {}:{}", qos.dscp.value,
                          qos.priority.value, qos.cnp_dscp.value, qos.cnp_priority.value));
  }
  file.line(fmt::format("  dcb ets set dev \"$interface\" tc-tsa all:ets {}:strict", qos.cnp_priority.value));
  file.line(fmt::format("  dcb ets set dev \"$interface\" tc-bw all:0 0:{} {}:{}", 100 - qos.bandwidth_percent.value,
                        qos.priority.value, qos.bandwidth_percent.value));
}

// Markings for data whose applications set none themselves.
void marking(const model::QosSpec& qos, const std::vector<std::string>& devices, LineFile& file) {
  const int tos = model::traffic_class_of(static_cast<int>(qos.dscp.value));
  file.line(fmt::format("for device in {}; do", words(devices)));
  file.line("  cma_roce_mode -d \"$device\" -p 1 -m 2 > /dev/null");
  file.line(fmt::format("  cma_roce_tos -d \"$device\" -t {} > /dev/null", tos));
  file.line(fmt::format("  echo {} > \"/sys/class/infiniband/$device/tc/1/traffic_class\"", tos));
  file.line("done");
}

std::string script(const RenderInput& input, const PoolPlan& pool, model::FabricKind fabric,
                   const model::NicModel& nic) {
  const model::QosSpec& qos = input.cluster.data_fabric_spec(fabric).qos.value;
  LineFile file = LineFile::script(
      input.cluster, fmt::format("QoS (traffic classes, PFC, ECN) of the {} ports of {}: DSCP {} maps to priority {}.",
                                 model::to_text(fabric), pool.name(), qos.dscp.value, qos.priority.value));
  file.line(fmt::format("for interface in {}; do", words(names_of(pool, fabric, false))));
  file.line(fmt::format("  ethtool -A \"$interface\" autoneg off rx {0} tx {0} || true",
                        qos.global_pause.value ? "on" : "off"));
  file.line(fmt::format("  ethtool -G \"$interface\" rx {0} tx {0} 2> /dev/null || true", kRing));
  if (nic.vendor.value == "NVIDIA") {
    mellanox_classes(qos, file);
  } else {
    generic_classes(qos, file);
  }
  file.line("done").blank();
  if (nic.rdma.value) marking(qos, names_of(pool, fabric, true), file);
  return file.take();
}

constexpr std::string_view kUnit =
    "[Unit]\n"
    "Description=QoS (traffic classes, PFC, ECN) of the %i ports\n"
    "After=network-pre.target systemd-udev-settle.service\n"
    "Wants=systemd-udev-settle.service\n"
    "Before=network.target slurmd.service kubelet.service\n"
    "ConditionPathExists=/usr/local/sbin/weft-nic-qos-%i\n"
    "\n"
    "[Service]\n"
    "Type=oneshot\n"
    "RemainAfterExit=yes\n"
    "ExecStartPre=-/sbin/modprobe rdma_cm\n"
    "ExecStart=/usr/local/sbin/weft-nic-qos-%i\n"
    "\n"
    "[Install]\n"
    "WantedBy=multi-user.target\n";

void add_unit(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  LineFile unit(input.cluster, "Configures QoS of the NICs of " + pool.name() + " at every boot.");
  sink.add({.path = fmt::format("host/{}/systemd/weft-nic-qos@.service", pool.name()),
            .content = unit.take() + std::string(kUnit),
            .device = pool.name(),
            .consumer = "systemd",
            .install = "/etc/systemd/system/weft-nic-qos@.service",
            .apply = "systemctl daemon-reload",
            .stage = Stage::hosts,
            .sources = {"fabrics"}});
}

}  // namespace

void add_nic_qos(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  // If only Kubernetes runs jobs, the NIC configuration operator sets the same.
  if (input.plan.in_kubernetes(pool) && !input.plan.in_slurm(pool)) return;
  bool unit = false;
  for (const model::FabricKind fabric : {model::FabricKind::backend, model::FabricKind::storage}) {
    const model::NicModel* nic = nic_of(input.cluster, pool, fabric);
    const bool lossless = host_has_fabric(input.cluster, pool, fabric) &&
                          !host_fabric_is_infiniband(input.cluster, fabric) &&
                          input.cluster.data_fabric_spec(fabric).qos->lossless.value;
    if (!lossless || nic == nullptr || nic->vendor.value == "Cisco") continue;  // a VIC's classes are in its profile
    if (!unit) add_unit(input, pool, sink);                                     // installed before it is enabled
    unit = true;
    const std::string instance(model::to_text(fabric));
    sink.add({.path = fmt::format("host/{}/nic-qos-{}.sh", pool.name(), instance),
              .content = script(input, pool, fabric, *nic),
              .device = pool.name(),
              .consumer = "weft-nic-qos@.service",
              .install = fmt::format("{}/weft-nic-qos-{}", kHostPrograms, instance),
              .apply = fmt::format("systemctl enable weft-nic-qos@{0} && systemctl restart weft-nic-qos@{0}", instance),
              .mode = "0755",
              .risk = Risk::traffic,
              .stage = Stage::hosts,
              .sources = {fmt::format("fabrics.{}.qos", instance)}});
  }
}

}  // namespace weft::render
