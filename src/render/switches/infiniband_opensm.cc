// OpenSM's own files: opensm.conf and partitions.conf, for the site and for the simulator.
#include <fmt/format.h>

#include <algorithm>

#include "render/switches/infiniband_plan.h"

namespace weft::render::ib {
namespace {

constexpr int kDefaultPkey = 0x7fff;  // IBTA 10.9.1.2
constexpr int kHighestPriority = 15;
constexpr std::size_t kMembersPerLine = 6;

struct Option {
  std::string_view name;
  std::string value;
  std::string_view why;  // "" if obvious
};

// Fat trees have their own engine; if the tree is too irregular for it, Up/Down is also free of credit loops. A single
// tier has no loops.
std::string routing_engine(const Fabric& fabric) {
  if (fabric.plan->tiers < 2) return "minhop";
  const bool adaptive = fabric.spec->load_balancing.value != model::LoadBalancing::ecmp;
  return adaptive ? "ar_ftree,ftree,updn" : "ftree,updn";
}

std::vector<Option> options_of(const Fabric& fabric, bool simulated) {
  const std::string place = simulated ? std::string() : fmt::format("/etc/opensm/{}/", model::to_text(fabric.kind));
  const std::string logs = simulated ? std::string() : "/var/log/";
  const auto guid = simulated ? fabric.nodes[fabric.first_sm].port_guid() : 0;
  const std::string kind(model::to_text(fabric.kind));
  std::vector<Option> options = {
      {"guid", guid_text(guid),
       simulated ? "simulated port of the subnet manager" : "replaced by guids.sh with the port GUID"},
      {"subnet_prefix", subnet_prefix(fabric.kind), "unique per fabric"},
      {"sm_priority", std::to_string(kHighestPriority), "guids.sh lowers it by one on each standby"},
      {"lmc", "0", "one LID per port: fat-tree routing spreads the load"},
      {"routing_engine", routing_engine(fabric), "fallback if the topology is not a fat tree"}};
  if (fabric.plan->tiers >= 2) {
    options.push_back({"root_guid_file", place + "root_guids.conf", "the switches of the top tier"});
    options.push_back({"cn_guid_file", place + "cn_guids.conf", "servers, balanced first"});
    options.push_back({"io_guid_file", place + "io_guids.conf", "storage and managers"});
  }
  const std::vector<Option> rest = {
      {"partition_config_file", place + "partitions.conf", ""},
      {"part_enforce", "both", "switches drop packets of other partitions, in and out"},
      {"node_name_map_name", place + "node-name-map", ""},
      {"sweep_interval", "10", "seconds"},
      {"sweep_on_trap", "TRUE", ""},
      {"max_wire_smps", "16", ""},
      {"sminfo_polling_timeout", "1000", "ms: a standby takes over after four missed polls"},
      {"polling_retry_number", "4", ""},
      {"max_op_vls", "3", "VL0 to VL3 (IBTA 14.2.5.6), supported by adapters and switches"},
      {"qos", "TRUE", ""},
      {"qos_max_vls", "4", ""},
      {"qos_high_limit", "4", "x 4 KiB of high priority before low priority is served"},
      {"qos_vlarb_high", "0:64,1:64,2:64,3:64", "equal weights; a job selects its lane with NCCL_IB_SL"},
      {"qos_vlarb_low", "0:64,1:64,2:64,3:64", ""},
      {"qos_sl2vl", "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,15", "four service levels, repeated; SL15 carries no data"},
      {"log_file", fmt::format("{}opensm-{}.log", logs, kind), ""},
      {"log_max_size", "100", "MB"},
      {"log_flags", "0x03", ""},
      {"force_log_flush", "TRUE", "flush the log after each message"},
      {"dump_files_dir", simulated ? "." : "/var/log/", ""},
      {"console", "off", ""}};
  options.insert(options.end(), rest.begin(), rest.end());
  return options;
}

void add_members(std::string& text, const std::vector<std::string>& members) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    text += i % kMembersPerLine == 0 ? (i == 0 ? "\n  " : ",\n  ") : ", ";
    text += members[i];
  }
  text += " ;\n";
}

}  // namespace

std::string opensm_conf(const model::Cluster& cluster, const Fabric& fabric, bool simulated) {
  std::string text = comment_heading(
      cluster, fmt::format("OpenSM of the {} fabric{}", model::to_text(fabric.kind), simulated ? ", simulated" : ""));
  for (const Option& option : options_of(fabric, simulated)) {
    if (!option.why.empty()) text += fmt::format("# {}\n", option.why);
    text += fmt::format("{} {}\n", option.name, option.value);
  }
  return text;
}

// GUIDs on site are unknown before the first sweep: until guids.sh has written the complete file there is only the
// default partition; if tenants are isolated, only managers are full members.
std::string partitions_conf(const model::Cluster& cluster, const Fabric& fabric, bool simulated) {
  std::string text = comment_heading(cluster, fmt::format("Partitions of the {} fabric", model::to_text(fabric.kind)));
  const std::string flags = fmt::format("ipoib, mtu={}", mtu_code(fabric.spec->mtu.value));
  bool limited = false;
  for (const Node& node : fabric.nodes) limited = limited || !node.full;
  std::vector<std::string> members = {limited ? "ALL=limited" : "ALL=full", "ALL_SWITCHES=full", "SELF=full"};
  for (const Node& node : fabric.nodes) {
    if (limited && simulated && !node.is_switch() && node.full) {
      members.push_back(guid_text(node.port_guid()) + "=full");
    }
  }
  text += fmt::format("Default=0x{:04x}, {} :", kDefaultPkey, flags);
  add_members(text, members);
  for (std::uint32_t t = 0; simulated && t < fabric.tenants.size(); ++t) {
    const Tenant& tenant = fabric.tenants[t];
    members.clear();
    for (const Node& node : fabric.nodes) {
      const bool member = std::find(node.tenants.begin(), node.tenants.end(), t) != node.tenants.end();
      if (member) members.push_back(guid_text(node.port_guid()) + "=full");
    }
    text += fmt::format("{}=0x{:04x}, {}{} :", tenant.name, tenant.pkey, tenant.first ? "indx0, " : "", flags);
    add_members(text, members);
  }
  return text;
}

// Input of guids.sh: partitions, then nodes by their descriptions.
std::string node_table(const model::Cluster& cluster, const Fabric& fabric) {
  std::string text = comment_heading(
      cluster, fmt::format("Nodes of the {} fabric by description, for guids.sh", model::to_text(fabric.kind)));
  const std::string flags = fmt::format("ipoib, mtu={}", mtu_code(fabric.spec->mtu.value));
  text += fmt::format("partition\tDefault\t0x{:04x}\t{}\n", kDefaultPkey, flags);
  for (const Tenant& tenant : fabric.tenants) {
    text +=
        fmt::format("partition\t{}\t0x{:04x}\t{}{}\n", tenant.name, tenant.pkey, tenant.first ? "indx0, " : "", flags);
  }
  for (std::size_t i = 0; i < fabric.managers.size(); ++i) {
    text +=
        fmt::format("manager\t{}\t{}\n", cluster.name_of(fabric.managers[i]), kHighestPriority - static_cast<int>(i));
  }
  for (const Node& node : fabric.nodes) {
    std::string tenants;
    for (const std::uint32_t t : node.tenants) tenants += (tenants.empty() ? "" : ",") + fabric.tenants[t].name;
    text +=
        fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", node.is_switch() ? "switch" : "adapter", node.description, node.renamed,
                    to_text(node.role), node.full ? "full" : "limited", tenants.empty() ? "-" : tenants);
  }
  return text;
}

}  // namespace weft::render::ib
