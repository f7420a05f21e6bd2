#include "check/qos/trace_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "check/qos/intent_qos.h"

namespace weft::check {

namespace {

// Defaults: UCX uses this for "auto" on RoCE v2 (openucx/ucx #3061), NCCL uses 0 (src/transport/net_ib).
constexpr int kUcxDefault = 106;
constexpr int kNcclDefault = 0;
constexpr std::size_t kMaxMarkings = 64;

bool is_rdma_resource(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kParts = {"rdma", "roce", "hca", "sriov", "mlnx", "nic"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return contains(name, part); });
}

config::Setting<int> number_setting(const config::Setting<std::string>& text) {
  if (!text.known()) return {};
  const auto value = parse_integer(*text);
  if (!value || *value < 0 || *value > 255) return {};
  config::Setting<int> out(static_cast<int>(*value), text.place, text.path);
  out.by = text.by;
  return out;
}

config::Setting<int> library_default(Flow flow, const SourceLocation& place) {
  config::Setting<int> out = flow == Flow::ucx
                                 ? config::vendor_default(kUcxDefault, "UCX default for RoCE v2")
                                 : config::vendor_default(kNcclDefault, "NCCL default: NCCL_IB_TC is not set");
  out.place = place;
  return out;
}

// nccl.conf on the hosts applies to every job that does not set the variable itself.
config::Setting<int> host_wide(const config::ConfigSet& config, Flow flow) {
  if (flow != Flow::nccl) return {};
  for (const config::SettingsFile& file : config.settings) {
    if (file.kind != config::SettingsFile::Kind::nccl) continue;
    const config::SettingsFile::Entry* entry = file.find(traffic_class_variable(flow));
    if (entry == nullptr) continue;
    return number_setting(config::Setting<std::string>(entry->value, entry->place, entry->key));
  }
  return {};
}

// `nvme connect --tos`, from discovery.conf or a unit file.
void add_nvme(const config::ConfigSet& config, std::vector<TraceMarking>& out) {
  for (const config::SettingsFile& file : config.settings) {
    if (file.kind != config::SettingsFile::Kind::nvme) continue;
    for (const config::SettingsFile::Entry& entry : file.entries) {
      for (const std::string_view option : {"--tos=", "tos=", "--tos "}) {
        const std::size_t at = entry.value.find(option);
        if (at == std::string::npos) continue;
        std::string_view rest = std::string_view(entry.value).substr(at + option.size());
        rest = rest.substr(0, rest.find_first_of(" ,\t"));
        TraceMarking marking;
        marking.name = "NVMe-oF";
        marking.subject = "nvme";
        marking.place = entry.place;
        marking.traffic_class =
            number_setting(config::Setting<std::string>(std::string(rest), entry.place, "nvme tos"));
        marking.explicitly = true;
        if (marking.traffic_class.known()) out.push_back(std::move(marking));
        break;
      }
    }
  }
}

void add_once(std::vector<TraceMarking>& list, TraceMarking marking) {
  if (!marking.traffic_class.known() || list.size() >= kMaxMarkings) return;
  const bool there = std::any_of(list.begin(), list.end(), [&](const TraceMarking& other) {
    return *other.traffic_class == *marking.traffic_class && other.explicitly == marking.explicitly;
  });
  if (!there) list.push_back(std::move(marking));
}

bool uses_ucx(const config::AppConfig& app) {
  return std::any_of(app.environment.begin(), app.environment.end(),
                     [](const config::AppConfig::Variable& variable) { return variable.name.starts_with("UCX_"); });
}

// Whether the template's name contains the fabric's name.
bool named_after(const config::NicConfig& nic, model::FabricKind fabric) {
  static constexpr std::array<std::array<std::string_view, 3>, model::kFabrics> kHints = {
      {{"backend", "compute", "rail"},
       {"storage", "nvme", "sto-"},
       {"frontend", "tenant", "fe-"},
       {"oob", "oob", "oob"}}};
  const auto& hints = kHints[static_cast<std::size_t>(fabric)];
  return std::any_of(hints.begin(), hints.end(), [&](std::string_view hint) { return contains(nic.name, hint); });
}

}  // namespace

std::string_view traffic_class_variable(Flow flow) {
  return flow == Flow::ucx ? "UCX_IB_TRAFFIC_CLASS" : flow == Flow::nccl ? "NCCL_IB_TC" : "tos";
}

model::FabricKind fabric_of(Flow flow) {
  return flow == Flow::nvmeof ? model::FabricKind::storage : model::FabricKind::backend;
}

bool uses_nccl(const config::AppConfig& app) {
  bool gpus = false;
  bool rdma = false;
  for (const config::AppConfig::Variable& variable : app.environment) {
    if (variable.name.starts_with("NCCL_IB_") || variable.name.starts_with("NCCL_NET")) return true;
  }
  for (const config::AppConfig::Resource& resource : app.limits) {
    gpus = gpus || contains(resource.name, "gpu");
    rdma = rdma || is_rdma_resource(resource.name);
  }
  return gpus && rdma;
}

TraceMarking marking_of(const config::ConfigSet& config, const config::AppConfig& app, Flow flow) {
  TraceMarking out;
  out.name = fmt::format("{} ({} {})", flow == Flow::ucx ? "UCX" : "NCCL", app.kind, app.name);
  out.subject = app.name;
  out.place = app.place;
  const config::Setting<std::string>* variable = app.variable(traffic_class_variable(flow));
  if (variable != nullptr) out.traffic_class = number_setting(*variable);
  if (!out.traffic_class.known()) out.traffic_class = host_wide(config, flow);
  out.explicitly = out.traffic_class.known();
  // Variables from a ConfigMap or from mpirun are not visible here: the marking is then unknown. A stand-alone
  // environment file is used as it is.
  const bool hidden = app.more_environment && app.kind != "environment";
  if (!out.traffic_class.known() && !hidden) out.traffic_class = library_default(flow, app.place);
  return out;
}

std::vector<TraceMarking> markings_of(const model::Cluster* cluster, const config::ConfigSet& config, Flow flow) {
  std::vector<TraceMarking> out;
  if (flow == Flow::nvmeof) {
    add_nvme(config, out);
    return out;
  }
  for (const config::AppConfig& app : config.apps) {
    if (flow == Flow::nccl ? uses_nccl(app) : uses_ucx(app)) add_once(out, marking_of(config, app, flow));
  }
  if (out.empty()) {
    TraceMarking host;
    host.name = "NCCL";
    host.subject = "nccl.conf";
    host.traffic_class = host_wide(config, flow);
    host.explicitly = true;
    add_once(out, std::move(host));
  }
  if (out.empty() && cluster != nullptr) {
    TraceMarking intent;
    intent.name = flow == Flow::ucx ? "UCX" : "NCCL";
    intent.traffic_class = intent_traffic_class(*cluster, fabric_of(flow), traffic_class_variable(flow));
    intent.explicitly = contains(intent.traffic_class.path, "environment");
    intent.intent = true;
    add_once(out, std::move(intent));
  }
  return out;
}

std::vector<const config::NicConfig*> nics_of(const config::ConfigSet& config, model::FabricKind fabric) {
  std::vector<const config::NicConfig*> out;
  for (const config::NicConfig& nic : config.nics) {
    if (nic.link_type.known() && contains(*nic.link_type, "nfini")) continue;
    bool other = false;
    for (int f = 0; f < model::kFabrics; ++f) {
      const auto kind = static_cast<model::FabricKind>(f);
      other = other || (kind != fabric && named_after(nic, kind));
    }
    if (!other || named_after(nic, fabric)) out.push_back(&nic);
  }
  return out;
}

}  // namespace weft::check
