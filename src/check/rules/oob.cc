// OB: the out-of-band network as a lifeline. It may lean on nothing that it is there to rescue, and nothing single. How
// BMCs are set up is in rules/oob_bmc.cc, switches as configured in rules/oob_config.cc.
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

// A finding about a choice that closes a cycle, with the cycle below it.
template <class T>
void leans(const CheckInput& input, Report& report, const model::Sourced<T>& given, std::string_view key,
           std::string message) {
  Finding& finding = report.at(given, section(input, oob(input).place), "oob", std::move(message));
  if (const LifelineCycle* cycle = input.lifeline().cycle_of(key)) {
    finding.related.push_back({{}, "recovery goes in a circle: " + cycle->text()});
  }
}

void check_oob_uplink(const CheckInput& input, Report& report) {
  if (!*oob(input).uplink_to_frontend) return;
  leans(input, report, oob(input).uplink_to_frontend, "fabrics.oob.uplink_to_frontend",
        fmt::format("out-of-band leaves hang off the frontend: with it down, {} devices cannot be reached",
                    input.lifeline().unreachable().size()));
}

void check_oob_entry(const CheckInput& input, Report& report) {
  if (*oob(input).entry != model::OobEntry::frontend) return;
  leans(input, report, oob(input).entry, "fabrics.oob.entry", "people reach the jump hosts through the frontend");
}

void service_on_frontend(const CheckInput& input, Report& report, const model::Sourced<model::Whereabouts>& where,
                         const char* key, std::string message) {
  if (*where != model::Whereabouts::frontend) return;
  leans(input, report, where, std::string("fabrics.oob.services.") + key, std::move(message));
}

void check_oob_dns(const CheckInput& input, Report& report) {
  service_on_frontend(input, report, oob(input).services->dns, "dns", "names of BMCs are resolved on the frontend");
}
void check_oob_dhcp(const CheckInput& input, Report& report) {
  service_on_frontend(input, report, oob(input).services->dhcp, "dhcp",
                      "BMCs get their addresses from a service on the frontend");
}
void check_oob_directory(const CheckInput& input, Report& report) {
  service_on_frontend(input, report, oob(input).services->directory, "directory",
                      "logins to jump hosts and BMCs are checked by a directory on the frontend");
}
void check_oob_time(const CheckInput& input, Report& report) {
  service_on_frontend(input, report, oob(input).services->time, "time", "time comes from a service on the frontend");
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
  if (!credentials.has_value() || !kept_in_kubernetes(*credentials)) return;
  leans(input, report, credentials, "fabrics.oob.credentials",
        "the BMCs' credentials rest in the Kubernetes that they are needed to rescue");
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
             fmt::format("no jump host leads to the BMCs of {} devices",
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
             fmt::format("all {} jump hosts stand in rack `{}`", input.lifeline().jump_hosts().size(),
                         rack == model::kNone<model::RackId> ? "-" : input.cluster().rack(rack).name));
}

void check_jump_host_leaves(const CheckInput& input, Report& report) {
  const std::vector<model::DeviceId>& hosts = input.lifeline().jump_hosts();
  if (hosts.size() < 2 || jumps_in_one_rack(input)) return;
  std::set<std::uint32_t> leaves;
  for (const model::DeviceId id : hosts) leaves.insert(model::index_of(input.lifeline().leaf_of_jump(id)));
  const auto leaf = static_cast<model::DeviceId>(*leaves.begin());
  // With one leaf in that part of the room there is nowhere else to go.
  if (leaves.size() != 1 || leaf == model::kNone<model::DeviceId> || input.cluster().group_of(leaf).count < 2) return;
  SourceLocation place = jump_pool(input)->place;
  for (const model::CableSpec& cable : *input.spec().cables) {
    const model::DeviceId host = input.cluster().find_device(cable.from->substr(0, cable.from->find(':')));
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) place = cable.place;
  }
  report.add(jump_names(input), place,
             fmt::format("all {} jump hosts are on `{}`: when it fails, {} devices cannot be reached", hosts.size(),
                         input.cluster().name_of(leaf), input.lifeline().worst_loss().devices));
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
            "the only out-of-band port of the jump hosts is their BMC's: they are reached in band or not at all");
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
            fmt::format("out-of-band and data fabrics all are {}'s", vendor_of(input, *oob(input).leaf)));
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
            fmt::format("out-of-band runs {} as the {} does", mine, shared));
}

void check_oob_aggregation(const CheckInput& input, Report& report) {
  const model::FabricPlan& plan = input.cluster().fabric(model::FabricKind::oob);
  if (*oob(input).uplink_to_frontend || plan.leaves < 2 || (plan.spines > 1 && *oob(input).uplinks > 1)) return;
  const LifelineLoss& worst = input.lifeline().worst_loss();
  report.at(
      oob(input).uplinks, section(input, oob(input).place), "oob",
      fmt::format("each out-of-band leaf has {} uplink{} to {} aggregation switch{}; the loss of `{}` takes {} devices "
                  "out of reach",
                  *oob(input).uplinks, *oob(input).uplinks == 1 ? "" : "s", plan.spines, plan.spines == 1 ? "" : "es",
                  worst.device == model::kNone<model::DeviceId> ? "-" : input.cluster().name_of(worst.device),
                  worst.devices));
}

void check_oob_spare_ports(const CheckInput& input, Report& report) {
  if (*oob(input).spare_percent >= kSparePercent) return;
  report.at(oob(input).spare_percent, section(input, oob(input).place), "oob",
            fmt::format("{}% of the out-of-band ports are kept free", *oob(input).spare_percent));
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
       .title = "the out-of-band network hangs off the frontend",
       .reason = "It is there for the day the frontend does not answer. Joined through frontend switches it goes down "
                 "with them, and nobody can power-cycle the switch that did it.",
       .source = "four-fabric guide: autonomous out-of-band, its own switches end to end",
       .fix = "give it an aggregation of its own: `uplink_to_frontend: false`",
       .example = {.file = "pod16.yaml",
                   .from = "    vlan: 999\n",
                   .to = "    vlan: 999\n    uplink_to_frontend: true\n"},
       .run = check_oob_uplink},
      {.id = "OB002",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the way in leads through the frontend",
       .reason = "A jump host that is reached over the network it must rescue is out of reach when it is needed.",
       .source = "four-fabric guide: out-of-band access by VPN or a dedicated jump host",
       .fix = "set `entry: vpn`, `cellular` or `console`",
       .example = {.file = "pod16.yaml", .from = "    entry: vpn\n", .to = "    entry: frontend\n"},
       .run = check_oob_entry},
      {.id = "OB003",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "names of BMCs are resolved on the frontend",
       .reason = "During an outage nobody remembers addresses; tools that use names hang until they time out.",
       .source = "four-fabric guide: recovery path independent of what it recovers",
       .fix = "set `services.dns: oob`",
       .example = {.file = "pod16.yaml",
                   .from = kServices,
                   .to = "    services: {dns: frontend, dhcp: oob, directory: none, time: oob}\n"},
       .run = check_oob_dns},
      {.id = "OB004",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "BMCs get addresses from the frontend",
       .reason = "After a power cut every BMC asks at once, and no one answers: none of them has an address.",
       .source = "four-fabric guide: recovery path independent of what it recovers",
       .fix = "set `services.dhcp: oob`",
       .example = {.file = "pod16.yaml",
                   .from = kServices,
                   .to = "    services: {dns: oob, dhcp: frontend, directory: none, time: oob}\n"},
       .run = check_oob_dhcp},
      {.id = "OB005",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "logins are checked on the frontend",
       .reason = "With the frontend down, jump hosts and BMCs refuse everyone who has no local account.",
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
       .title = "time comes from the frontend",
       .reason = "Clocks drift apart while it is down: certificates fail, and logs of an incident do not line up.",
       .source = "NTP best current practices, RFC 8633",
       .fix = "set `services.time: oob`",
       .example = {.file = "pod16.yaml",
                   .from = kServices,
                   .to = "    services: {dns: oob, dhcp: oob, directory: none, time: frontend}\n"},
       .run = check_oob_time},
      {.id = "OB007",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a service is out of reach",
       .reason = "The out-of-band network has no route to where the service is: it never answers.",
       .source = "four-fabric guide: services of the management network on the management network",
       .fix = "run the service on the out-of-band network (`oob`)",
       .example = {.file = "pod16.yaml",
                   .from = kServices,
                   .to = "    services: {dns: oob, dhcp: oob, directory: none, time: site}\n"},
       .run = check_oob_service_reachability},
      {.id = "OB008",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "credentials rest in what they must rescue",
       .reason = "To log in to the BMC of a control server one needs a secret that the control server has to hand out.",
       .source = "recovery path independent of what it recovers",
       .fix = "keep them in a vault outside of the cluster",
       .example = {.file = "pod16.yaml", .from = "credentials: vault:oob/bmc", .to = "credentials: kubernetes:oob/bmc"},
       .run = check_credential_location},
      {.id = "OB009",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "no jump host",
       .reason = "BMCs are then reached from anywhere, or from nowhere. One guarded host in between is what makes "
                 "access logged and revocable.",
       .source = "four-fabric guide: access through a dedicated management jump host; NSA and CISA, Harden BMCs (2023)",
       .fix = "add a pool with `role: jump`",
       .example = {.file = "pod16.yaml", .from = "  - {name: jump, role: jump, server: jump-1u, count: 2}\n", .to = ""},
       .run = check_jump_host_exists},
      {.id = "OB010",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "one jump host",
       .reason = "When it is down, is being patched or stands in the rack that burns, nobody reaches any BMC.",
       .source = "four-fabric guide: redundancy of the out-of-band network",
       .fix = "add a second one in another rack",
       .example = {.file = "pod16.yaml", .from = "server: jump-1u, count: 2}", .to = "server: jump-1u, count: 1}"},
       .run = check_jump_host_redundancy},
      {.id = "OB011",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "jump hosts in one rack",
       .reason = "One rack, one fire, one breaker: both are gone.",
       .source = "four-fabric guide: redundancy of the out-of-band network",
       .fix = "spread them over racks",
       .example = {.file = "pod16.yaml",
                   .from = "server: jump-1u, count: 2}",
                   .to = "server: jump-1u, count: 2, per_rack: 2}"},
       .run = check_jump_host_racks},
      {.id = "OB012",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "jump hosts on one out-of-band leaf",
       .reason =
           "The loss of that 1G switch takes every path of recovery, not only to the devices that are cabled to it.",
       .source = "four-fabric guide: redundancy of the out-of-band network",
       .fix = "cable them to different leaves",
       .example = {.file = "pod16.yaml",
                   .from = "",
                   .to = "\ncables:\n  - {from: \"jump001:mgmt1\", to: \"oob-leaf002:p47\"}\n"},
       .run = check_jump_host_leaves},
      {.id = "OB013",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a jump host without an out-of-band port of its own",
       .reason = "The BMC's port manages the jump host; its operating system cannot use it to reach anything.",
       .source = "four-fabric guide: jump host on the management network",
       .fix = "set `links: {oob: 2}` on the pool",
       .example = {.file = "pod16.yaml",
                   .from = "server: jump-1u, count: 2}",
                   .to = "server: jump-1u, count: 2, links: {oob: 1}}"},
       .run = check_jump_host_oob_port},
      {.id = "OB014",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "one vendor for everything",
       .reason =
           "A bug or a hole in that vendor's software takes the data fabrics and the way to repair them together.",
       .source = "four-fabric guide: vendor-diverse out-of-band",
       .fix = "choose out-of-band switches of another vendor",
       .example = {.file = "pod16.yaml", .from = "    leaf: nexus-9348gc-fx3\n", .to = "    leaf: sn2201\n"},
       .run = check_vendor_diversity},
      {.id = "OB015",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "out-of-band runs the same system as a data fabric",
       .reason = "Another vendor's box with the same software shares its bugs, and the upgrade that triggers them.",
       .source = "four-fabric guide: vendor-diverse out-of-band",
       .fix = "choose another network operating system",
       .example = {.file = "pod16.yaml", .from = "    leaf: nexus-9348gc-fx3\n", .to = "    leaf: plain-1g-48\n"},
       .run = check_switch_os_diversity},
      {.id = "OB016",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "out-of-band leaves hang on one switch",
       .reason = "Its failure cuts all leaves off from the jump hosts.",
       .source = "four-fabric guide: redundancy of the out-of-band network",
       .fix = "set `uplinks: 2`",
       .example = {.file = "pod16.yaml", .from = "    vlan: 999\n", .to = "    vlan: 999\n    uplinks: 1\n"},
       .run = check_oob_aggregation},
      {.id = "OB017",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "few out-of-band ports are kept free",
       .reason = "The PDU, the sensor or the switch that comes next is then hung on the frontend, and is missing on "
                 "the day of the outage.",
       .source = "operators' practice: a tenth of the management ports spare",
       .fix = "set `spare_percent: 10`",
       .example = {.file = "pod16.yaml", .from = "spare_percent: 15 ", .to = "spare_percent: 9 "},
       .run = check_oob_spare_ports},
      {.id = "OB018",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "out-of-band uses the default VLAN",
       .reason = "Ports that nobody configured are in VLAN 1: whoever plugs in is next to every BMC.",
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
