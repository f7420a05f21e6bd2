// OB: the out-of-band network as the recovery path. It must not depend on what it recovers, nor on a single component.
// BMC settings are in rules/oob_bmc.cc, switches as configured in rules/oob_config.cc.
#include "check/rules/oob.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/host_range.h"
#include "check/failures/lifeline.h"

namespace weft::check {
namespace {

constexpr std::int64_t kSparePercent = 10;

const model::OobSpec& oob(const CheckInput& input) { return *input.spec().fabrics->oob; }

// A finding about a setting that closes a cycle, with the cycle attached.
template <class T>
void report_dependency(const CheckInput& input, Report& report, const model::Sourced<T>& given, std::string_view key,
                       std::string message) {
  Finding& finding = report.at(given, section(input, oob(input).place), "oob", std::move(message));
  if (const LifelineCycle* cycle = input.lifeline().cycle_of(key)) {
    finding.related.push_back({{}, "recovery has a dependency cycle: " + cycle->text()});
  }
}

void check_oob_uplink(const CheckInput& input, Report& report) {
  if (!*oob(input).uplink_to_frontend) return;
  report_dependency(
      input, report, oob(input).uplink_to_frontend, "fabrics.oob.uplink_to_frontend",
      fmt::format("out-of-band leaves are connected through the frontend: if it fails, {} devices cannot be reached",
                  input.lifeline().unreachable().size()));
}

void check_oob_entry(const CheckInput& input, Report& report) {
  if (*oob(input).entry != model::OobEntry::frontend) return;
  report_dependency(input, report, oob(input).entry, "fabrics.oob.entry",
                    "operators reach the jump hosts through the frontend");
}

void service_on_frontend(const CheckInput& input, Report& report, const model::Sourced<model::Whereabouts>& where,
                         const char* key, std::string message) {
  if (*where != model::Whereabouts::frontend) return;
  report_dependency(input, report, where, std::string("fabrics.oob.services.") + key, std::move(message));
}

void check_oob_dns(const CheckInput& input, Report& report) {
  service_on_frontend(input, report, oob(input).services->dns, "dns", "DNS for BMCs is on the frontend");
}
void check_oob_dhcp(const CheckInput& input, Report& report) {
  service_on_frontend(input, report, oob(input).services->dhcp, "dhcp", "DHCP for BMCs is on the frontend");
}
void check_oob_directory(const CheckInput& input, Report& report) {
  service_on_frontend(input, report, oob(input).services->directory, "directory",
                      "the directory for logins to jump hosts and BMCs is on the frontend");
}
void check_oob_time(const CheckInput& input, Report& report) {
  service_on_frontend(input, report, oob(input).services->time, "time", "the time service is on the frontend");
}

void check_oob_service_reachability(const CheckInput& input, Report& report) {
  if (*oob(input).gateway != model::Whereabouts::none) return;
  const model::OobServicesSpec& services = *oob(input).services;
  const std::pair<const char*, const model::Sourced<model::Whereabouts>*> all[] = {
      {"dns", &services.dns}, {"dhcp", &services.dhcp}, {"directory", &services.directory}, {"time", &services.time}};
  for (const auto& [name, where] : all) {
    if (**where != model::Whereabouts::site) continue;
    report.at(*where, section(input, oob(input).place), "oob",
              fmt::format("`{}` is at the site, and the out-of-band network has no route there", name));
  }
}

void check_credential_location(const CheckInput& input, Report& report) {
  const model::Sourced<std::string>& credentials = oob(input).credentials;
  if (!credentials.has_value() || !is_stored_in_kubernetes(*credentials)) return;
  report_dependency(input, report, credentials, "fabrics.oob.credentials",
                    "the BMC credentials are stored in the Kubernetes cluster that they are needed to recover");
}

const model::PoolSpec* jump_pool(const CheckInput& input) {
  for (const model::PoolSpec& pool : *input.spec().pools) {
    if (*pool.role == model::PoolRole::jump) return &pool;
  }
  return nullptr;
}

void check_jump_host_exists(const CheckInput& input, Report& report) {
  if (!input.lifeline().jump_hosts().empty()) return;
  report.add("oob", section(input, input.spec().pools.place),
             fmt::format("no jump host can reach the BMCs of {} devices",
                         input.lifeline().reachable() + input.lifeline().unreachable().size()));
}

void check_jump_host_redundancy(const CheckInput& input, Report& report) {
  const std::vector<model::DeviceId>& hosts = input.lifeline().jump_hosts();
  if (hosts.size() != 1) return;
  const model::PoolSpec& pool = *jump_pool(input);
  report.at(pool.count, pool.place, input.cluster().name_of(hosts.front()),
            fmt::format("`{}` is the only jump host", input.cluster().name_of(hosts.front())));
}

std::string jump_names(const CheckInput& input) {
  std::vector<std::string> names;
  for (const model::DeviceId id : input.lifeline().jump_hosts()) names.push_back(input.cluster().name_of(id));
  return fold_hosts(std::move(names));
}

bool jumps_in_one_rack(const CheckInput& input) {
  std::set<std::uint32_t> racks;
  for (const model::DeviceId id : input.lifeline().jump_hosts())
    racks.insert(model::index_of(input.cluster().device(id).rack));
  return input.lifeline().jump_hosts().size() > 1 && racks.size() == 1;
}

void check_jump_host_racks(const CheckInput& input, Report& report) {
  if (!jumps_in_one_rack(input)) return;
  const model::PoolSpec& pool = *jump_pool(input);
  const model::RackId rack = input.cluster().device(input.lifeline().jump_hosts().front()).rack;
  report.add(jump_names(input), pool.racks.place.known() ? pool.racks.place : pool.place,
             fmt::format("all {} jump hosts are in rack `{}`", input.lifeline().jump_hosts().size(),
                         rack == model::kNone<model::RackId> ? "-" : input.cluster().rack(rack).name));
}

void check_jump_host_leaves(const CheckInput& input, Report& report) {
  const std::vector<model::DeviceId>& hosts = input.lifeline().jump_hosts();
  if (hosts.size() < 2 || jumps_in_one_rack(input)) return;
  std::set<std::uint32_t> leaves;
  for (const model::DeviceId id : hosts) leaves.insert(model::index_of(input.lifeline().leaf_of_jump(id)));
  const auto leaf = static_cast<model::DeviceId>(*leaves.begin());
  // With a single leaf there is no alternative.
  if (leaves.size() != 1 || leaf == model::kNone<model::DeviceId> || input.cluster().group_of(leaf).count < 2) return;
  SourceLocation place = jump_pool(input)->place;
  for (const model::CableSpec& cable : *input.spec().cables) {
    const model::DeviceId host = input.cluster().find_device(cable.from->substr(0, cable.from->find(':')));
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) place = cable.place;
  }
  report.add(jump_names(input), place,
             fmt::format("all {} jump hosts are connected to `{}`: if it fails, {} devices cannot be reached",
                         hosts.size(), input.cluster().name_of(leaf), input.lifeline().worst_loss().devices));
}

void check_jump_host_oob_port(const CheckInput& input, Report& report) {
  const std::vector<model::DeviceId>& hosts = input.lifeline().jump_hosts();
  std::vector<std::string> names;
  for (const model::DeviceId id : hosts) {
    if (input.lifeline().leaf_of_jump(id) == model::kNone<model::DeviceId>)
      names.push_back(input.cluster().name_of(id));
  }
  if (names.empty()) return;
  const model::PoolSpec& pool = *jump_pool(input);
  report.at(pool.links->oob, pool.place, fold_hosts(std::move(names)),
            "the BMC port is the only out-of-band port of the jump hosts: they can only be reached in band");
}

std::string vendor_of(const CheckInput& input, const std::string& model) {
  const model::SwitchModel* found = input.cluster().catalog().switch_model(model);
  return found == nullptr ? std::string() : *found->vendor;
}

std::string system_of(const CheckInput& input, const model::Sourced<std::string>& system, const std::string& model) {
  if (system.has_value()) return *system;
  const model::SwitchModel* found = input.cluster().catalog().switch_model(model);
  return found == nullptr || found->systems->empty() ? std::string() : found->systems->front();
}

bool same_vendor_everywhere(const CheckInput& input) {
  const std::string mine = vendor_of(input, *oob(input).leaf);
  int fabrics = 0;
  for (int f = 0; f < 3; ++f) {
    if (!input.cluster().fabric(static_cast<model::FabricKind>(f)).present) continue;
    ++fabrics;
    if (vendor_of(input, *input.cluster().data_fabric_spec(static_cast<model::FabricKind>(f)).leaf) != mine)
      return false;
  }
  return fabrics > 0 && mine != "generic";
}

void check_vendor_diversity(const CheckInput& input, Report& report) {
  if (!same_vendor_everywhere(input)) return;
  report.at(oob(input).leaf, section(input, oob(input).place), "oob",
            fmt::format("out-of-band and data fabrics all use {}", vendor_of(input, *oob(input).leaf)));
}

void check_switch_os_diversity(const CheckInput& input, Report& report) {
  if (same_vendor_everywhere(input)) return;
  const std::string mine = system_of(input, oob(input).system, *oob(input).leaf);
  std::string shared;
  for (int f = 0; f < 3; ++f) {
    const auto kind = static_cast<model::FabricKind>(f);
    const model::FabricSpec& fabric = input.cluster().data_fabric_spec(static_cast<model::FabricKind>(f));
    if (kind == model::FabricKind::storage || !input.cluster().fabric(kind).present) continue;
    if (mine.empty() || system_of(input, fabric.system, *fabric.leaf) != mine) continue;
    shared += fmt::format("{}{}", shared.empty() ? "" : " and ", model::to_text(kind));
  }
  if (shared.empty()) return;
  const model::Sourced<std::string>& given = oob(input).system.from_file() ? oob(input).system : oob(input).leaf;
  report.at(given, section(input, oob(input).place), "oob",
            fmt::format("out-of-band runs {}, like the {}", mine, shared));
}

void check_oob_aggregation(const CheckInput& input, Report& report) {
  const model::FabricPlan& plan = input.cluster().fabric(model::FabricKind::oob);
  if (*oob(input).uplink_to_frontend || plan.leaves < 2 || (plan.spines > 1 && *oob(input).uplinks > 1)) return;
  const LifelineLoss& worst = input.lifeline().worst_loss();
  report.at(
      oob(input).uplinks, section(input, oob(input).place), "oob",
      fmt::format("each out-of-band leaf has {} uplink{} to {} aggregation switch{}; the loss of `{}` makes {} devices "
                  "unreachable",
                  *oob(input).uplinks, *oob(input).uplinks == 1 ? "" : "s", plan.spines, plan.spines == 1 ? "" : "es",
                  worst.device == model::kNone<model::DeviceId> ? "-" : input.cluster().name_of(worst.device),
                  worst.devices));
}

void check_oob_spare_ports(const CheckInput& input, Report& report) {
  if (*oob(input).spare_percent >= kSparePercent) return;
  report.at(oob(input).spare_percent, section(input, oob(input).place), "oob",
            fmt::format("{}% of the out-of-band ports are reserved as spares", *oob(input).spare_percent));
}

void check_oob_vlan(const CheckInput& input, Report& report) {
  if (*oob(input).vlan != 1) return;
  report.at(oob(input).vlan, section(input, oob(input).place), "oob", "management traffic is in VLAN 1");
}

}  // namespace

std::vector<Rule> oob_network_rules() {  // NOLINT(readability-function-size): a table
  constexpr std::string_view kServices = "    services: {dns: oob, dhcp: oob, directory: none, time: oob}\n";
  return {
      {.id = "OB001",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the out-of-band network depends on the frontend",
       .reason = "It must work when the frontend is down. If it is connected through frontend switches, it fails with "
                 "them, and the failed switch cannot be power-cycled.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): autonomous out-of-band network with its "
                 "own switches",
       .fix = "use separate aggregation switches: `uplink_to_frontend: false`",
       .example = {.file = "pod16.yaml",
                   .from = "    vlan: 999\n",
                   .to = "    vlan: 999\n    uplink_to_frontend: true\n"},
       .run = check_oob_uplink},
      {.id = "OB002",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "access to the jump hosts depends on the frontend",
       .reason =
           "A jump host that is reached over the frontend cannot be reached when the frontend has to be recovered.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): out-of-band access by VPN or a "
                 "dedicated jump host",
       .fix = "set `entry: vpn`, `cellular` or `console`",
       .example = {.file = "pod16.yaml", .from = "    entry: vpn\n", .to = "    entry: frontend\n"},
       .run = check_oob_entry},
      {.id = "OB003",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "DNS for BMCs is on the frontend",
       .reason = "During an outage names cannot be resolved; tools that use names hang until they time out.",
       .source =
           "How to Build an AI Cluster That Won't Burn Down (Undercode): recovery path independent of what it recovers",
       .fix = "set `services.dns: oob`",
       .example = {.file = "pod16.yaml",
                   .from = kServices,
                   .to = "    services: {dns: frontend, dhcp: oob, directory: none, time: oob}\n"},
       .run = check_oob_dns},
      {.id = "OB004",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "DHCP for BMCs is on the frontend",
       .reason = "After a power failure every BMC requests an address at once; while the frontend is down, none of "
                 "them gets one.",
       .source =
           "How to Build an AI Cluster That Won't Burn Down (Undercode): recovery path independent of what it recovers",
       .fix = "set `services.dhcp: oob`",
       .example = {.file = "pod16.yaml",
                   .from = kServices,
                   .to = "    services: {dns: oob, dhcp: frontend, directory: none, time: oob}\n"},
       .run = check_oob_dhcp},
      {.id = "OB005",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the login directory is on the frontend",
       .reason = "If the frontend is down, jump hosts and BMCs reject all users without a local account.",
       .source =
           "operators' outage reports: login depended on the network that was down; NSA and CISA, Harden BMCs (2023)",
       .fix = "set `services.directory: oob`, or `none` for local accounts from a vault",
       .example = {.file = "pod16.yaml",
                   .from = kServices,
                   .to = "    services: {dns: oob, dhcp: oob, directory: frontend, time: oob}\n"},
       .run = check_oob_directory},
      {.id = "OB006",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "the time service is on the frontend",
       .reason =
           "Clocks drift while it is down: certificate checks fail, and the logs of an incident cannot be correlated.",
       .source = "RFC 8633: NTP best current practices",
       .fix = "set `services.time: oob`",
       .example = {.file = "pod16.yaml",
                   .from = kServices,
                   .to = "    services: {dns: oob, dhcp: oob, directory: none, time: frontend}\n"},
       .run = check_oob_time},
      {.id = "OB007",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "an out-of-band service is unreachable",
       .reason = "The out-of-band network has no route to the service: it never responds.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): run management services on the "
                 "management network",
       .fix = "run the service on the out-of-band network (`oob`)",
       .example = {.file = "pod16.yaml",
                   .from = kServices,
                   .to = "    services: {dns: oob, dhcp: oob, directory: none, time: site}\n"},
       .run = check_oob_service_reachability},
      {.id = "OB008",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "BMC credentials are stored in the cluster that they recover",
       .reason =
           "To log in to the BMC of a control plane server, an operator needs a secret that is stored on that server.",
       .source =
           "How to Build an AI Cluster That Won't Burn Down (Undercode): recovery path independent of what it recovers",
       .fix = "store them in a vault outside of the cluster",
       .example = {.file = "pod16.yaml", .from = "credentials: vault:oob/bmc", .to = "credentials: kubernetes:oob/bmc"},
       .run = check_credential_location},
      {.id = "OB009",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "no jump host",
       .reason = "BMCs are then reachable from everywhere or not at all. A hardened host in between makes access "
                 "logged and revocable.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): access through a dedicated management "
                 "jump host; NSA and CISA, Harden BMCs (2023)",
       .fix = "add a pool with `role: jump`",
       .example = {.file = "pod16.yaml", .from = "  - {name: jump, role: jump, server: jump-1u, count: 2}\n", .to = ""},
       .run = check_jump_host_exists},
      {.id = "OB010",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "only one jump host",
       .reason = "If it is down, is being patched or loses its rack, no BMC can be reached.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): redundancy of the out-of-band network",
       .fix = "add a second one in another rack",
       .example = {.file = "pod16.yaml", .from = "server: jump-1u, count: 2}", .to = "server: jump-1u, count: 1}"},
       .run = check_jump_host_redundancy},
      {.id = "OB011",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "all jump hosts are in one rack",
       .reason = "A fire or a breaker trip in that rack disables all of them.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): redundancy of the out-of-band network",
       .fix = "spread them over racks",
       .example = {.file = "pod16.yaml",
                   .from = "server: jump-1u, count: 2}",
                   .to = "server: jump-1u, count: 2, per_rack: 2}"},
       .run = check_jump_host_racks},
      {.id = "OB012",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "all jump hosts are on one out-of-band leaf",
       .reason = "The loss of that 1G switch disables recovery of every device, not only of those cabled to it.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): redundancy of the out-of-band network",
       .fix = "connect them to different leaves",
       .example = {.file = "pod16.yaml",
                   .from = "",
                   .to = "\ncables:\n  - {from: \"jump001:mgmt1\", to: \"oob-leaf002:p47\"}\n"},
       .run = check_jump_host_leaves},
      {.id = "OB013",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a jump host has no out-of-band port besides its BMC",
       .reason = "The BMC port manages the jump host itself; its operating system cannot use that port.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): jump host on the management network",
       .fix = "set `links: {oob: 2}` on the pool",
       .example = {.file = "pod16.yaml",
                   .from = "server: jump-1u, count: 2}",
                   .to = "server: jump-1u, count: 2, links: {oob: 1}}"},
       .run = check_jump_host_oob_port},
      {.id = "OB014",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "out-of-band and data fabrics use one vendor",
       .reason = "A bug or a vulnerability in that vendor's software disables the data fabrics and the network to "
                 "recover them at the same time.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): vendor-diverse out-of-band",
       .fix = "choose out-of-band switches of another vendor",
       .example = {.file = "pod16.yaml", .from = "    leaf: nexus-9348gc-fx3\n", .to = "    leaf: sn2201\n"},
       .run = check_vendor_diversity},
      {.id = "OB015",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "out-of-band runs the same switch OS as a data fabric",
       .reason = "Hardware of another vendor with the same software shares its bugs, including those triggered by an "
                 "upgrade.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): vendor-diverse out-of-band",
       .fix = "choose another switch OS",
       .example = {.file = "pod16.yaml", .from = "    leaf: nexus-9348gc-fx3\n", .to = "    leaf: plain-1g-48\n"},
       .run = check_switch_os_diversity},
      {.id = "OB016",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "all out-of-band leaves depend on one switch",
       .reason = "Its failure disconnects all leaves from the jump hosts.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): redundancy of the out-of-band network",
       .fix = "set `uplinks: 2`",
       .example = {.file = "pod16.yaml", .from = "    vlan: 999\n", .to = "    vlan: 999\n    uplinks: 1\n"},
       .run = check_oob_aggregation},
      {.id = "OB017",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "few out-of-band ports are spare",
       .reason = "Without spare ports the next PDU, sensor or switch is connected to the frontend and is unreachable "
                 "during an outage.",
       .source = "common practice: a tenth of the management ports spare",
       .fix = "set `spare_percent: 10`",
       .example = {.file = "pod16.yaml", .from = "spare_percent: 15 ", .to = "spare_percent: 9 "},
       .run = check_oob_spare_ports},
      {.id = "OB018",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "out-of-band uses the default VLAN",
       .reason = "Unconfigured ports are in VLAN 1: any device plugged in is in the subnet of every BMC.",
       .source = "NSA network infrastructure security guide (2023): do not use VLAN 1",
       .fix = "choose another `vlan`",
       .example = {.file = "pod16.yaml", .from = "    vlan: 999\n", .to = "    vlan: 1\n"},
       .run = check_oob_vlan},
  };
}

std::vector<Rule> oob_rules() {  // NOLINT(readability-function-size): a table
  std::vector<Rule> all = oob_network_rules();
  for (auto table : {oob_bmc_rules, oob_config_rules}) {
    std::vector<Rule> more = table();
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace weft::check
