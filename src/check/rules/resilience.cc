// RE: the effect of a single failure of a switch, a rack, a feed or a control plane member. Replication of data, jobs
// and services are in rules/resilience_data.cc.
#include "check/rules/resilience.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/host_range.h"
#include "check/core/rule_tools.h"
#include "check/failures/failure_analysis.h"

namespace weft::check {
namespace {

constexpr model::FabricKind kDataFabrics[] = {model::FabricKind::backend, model::FabricKind::storage,
                                              model::FabricKind::frontend};
constexpr std::int64_t kSpinesForRoce = 4;

std::string range_of(const model::Cluster& cluster, const std::vector<model::DeviceId>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const model::DeviceId id : devices) names.push_back(cluster.name_of(id));
  return fold_hosts(std::move(names));
}

std::string range_of(const model::Cluster& cluster, const std::vector<model::RackId>& racks) {
  std::vector<std::string> names;
  names.reserve(racks.size());
  for (const model::RackId id : racks) names.push_back(cluster.rack(id).name);
  return fold_hosts(std::move(names));
}

// Spines of one plane: planes cannot replace each other if a port belongs to only one.
std::uint32_t spines_of(const model::FabricPlan& plan) { return plan.spines / std::max(plan.planes, 1U); }

void check_single_spine(const CheckInput& input, Report& report) {
  const model::Cluster& cluster = input.cluster();
  for (const model::FabricKind kind : kDataFabrics) {
    const std::vector<model::DeviceId>& cut = input.failures().weakness(kind).cut_switches;
    if (cut.empty()) continue;
    const model::FabricSpec& fabric = input.cluster().data_fabric_spec(kind);
    report.at(fabric.spines, section(input, fabric.place), std::string(model::to_text(kind)),
              fmt::format("without {}, leaves of the {} fabric cannot reach each other", range_of(cluster, cut),
                          model::to_text(kind)));
  }
}

void check_spine_count(const CheckInput& input, Report& report) {
  for (const model::FabricKind kind : {model::FabricKind::backend, model::FabricKind::storage}) {
    const model::FabricPlan& plan = input.cluster().fabric(kind);
    const model::FabricSpec& fabric = input.cluster().data_fabric_spec(kind);
    if (!plan.present || plan.tiers < 2 || plan.network != model::NetworkKind::ethernet || !*fabric.qos->lossless)
      continue;
    const std::uint32_t spines = spines_of(plan);
    if (spines < 2 || spines >= kSpinesForRoce) continue;
    report.at(fabric.spines, section(input, fabric.place), std::string(model::to_text(kind)),
              fmt::format("{} spines: the loss of one removes {:.0f}% of a leaf's uplinks, of two {}", spines,
                          input.failures().weakness(kind).uplink_share,
                          spines == 2 ? "all" : fmt::format("{:.0f}%", 200.0 / spines)));
  }
}

void check_server_link_count(const CheckInput& input, Report& report) {
  const model::Cluster& cluster = input.cluster();
  for (const model::FabricKind kind : kDataFabrics) {
    std::map<int, std::vector<model::DeviceId>> by_pool;
    for (const model::DeviceId id : input.failures().weakness(kind).single_homed) {
      if (!cluster.group_of(id).manager) by_pool[cluster.group_of(id).pool].push_back(id);
    }
    for (const auto& [pool, servers] : by_pool) {
      if (pool < 0) continue;
      const model::PoolSpec& spec = input.spec().pools.value[static_cast<std::size_t>(pool)];
      const model::LinksSpec& links = *spec.links;
      const model::Sourced<std::int64_t>& given = kind == model::FabricKind::backend   ? links.backend
                                                  : kind == model::FabricKind::storage ? links.storage
                                                                                       : links.frontend;
      report.at(given, spec.place, range_of(cluster, servers),
                fmt::format("{} server{} of pool `{}` {} one link to the {} fabric", servers.size(),
                            servers.size() == 1 ? "" : "s", spec.name->text, servers.size() == 1 ? "has" : "have",
                            model::to_text(kind)));
    }
  }
}

void check_server_leaf_count(const CheckInput& input, Report& report) {
  const model::Cluster& cluster = input.cluster();
  for (const model::FabricKind kind : kDataFabrics) {
    std::map<int, std::vector<model::DeviceId>> by_pool;
    for (const model::DeviceId id : input.failures().weakness(kind).one_switch) {
      by_pool[cluster.group_of(id).pool].push_back(id);
    }
    const model::FabricSpec& fabric = input.cluster().data_fabric_spec(kind);
    for (const auto& [pool, servers] : by_pool) {
      // If the file moves a cable, that line is the one to change; otherwise the wiring.
      SourceLocation place = fabric.wiring.place.known() ? fabric.wiring.place : section(input, fabric.place);
      for (const model::CableSpec& cable : *input.spec().cables) {
        const std::string host = cable.from->substr(0, cable.from->find(':'));
        if (cluster.find_device(host) == servers.front()) place = cable.place;
      }
      report.add(range_of(cluster, servers), place,
                 fmt::format("all links of {} to the {} fabric end on one switch ({})",
                             servers.size() == 1 ? "the server" : fmt::format("each of {} servers", servers.size()),
                             model::to_text(kind), model::text_of(cluster.fabric(kind).wiring)));
    }
  }
}

void check_rack_dependents(const CheckInput& input, Report& report) {
  const std::vector<FarRack>& racks = input.failures().far_racks();
  if (racks.empty()) return;
  std::vector<model::RackId> ids;
  FarRack worst = racks.front();
  for (const FarRack& each : racks) {
    ids.push_back(each.rack);
    if (each.servers > worst.servers) worst = each;
  }
  const model::SiteSpec& site = *input.spec().site;
  const SourceLocation place = site.service_racks.place.known() ? site.service_racks.place
                               : site.switches.place.known()    ? site.switches.place
                                                                : section(input, site.place);
  report.add(
      range_of(input.cluster(), ids), place,
      fmt::format(
          "{} rack{} contain{} all leaves of some servers: the loss of `{}` disconnects {} servers of other racks",
          racks.size(), racks.size() == 1 ? "" : "s", racks.size() == 1 ? "s" : "",
          input.cluster().rack(worst.rack).name, worst.servers));
}

void check_feed_count(const CheckInput& input, Report& report) {
  const model::SiteSpec& site = *input.spec().site;
  if (*site.feeds != 1) return;
  report.at(site.feeds, section(input, site.place), "site", "the whole site depends on one power feed");
}

void check_feed_dependents(const CheckInput& input, Report& report) {
  const model::SiteSpec& site = *input.spec().site;
  if (*site.feeds < 2) return;
  for (const PowerWeakness& weak : input.failures().power().weak) {
    const model::DeviceGroup& group = input.cluster().groups()[weak.group];
    report.at(site.feeds, section(input, site.place), range_of(input.cluster(), weak.lost),
              fmt::format("{} of {} devices of `{}` fail with a feed: they need {} of {} power supplies and feed {} "
                          "supplies {} of them",
                          weak.lost.size(), group.count, group.name, weak.supplies.needed, weak.supplies.fitted,
                          design::views::feed_name(weak.feed), weak.on_feed));
  }
}

void check_rack_feed_count(const CheckInput& input, Report& report) {
  const model::SiteSpec& site = *input.spec().site;
  const std::vector<model::RackId>& racks = input.failures().power().one_feed;
  std::map<int, std::vector<model::RackId>> by_pool;
  for (const model::RackId id : racks) by_pool[input.cluster().rack(id).pool].push_back(id);
  for (const auto& [pool, ids] : by_pool) {
    const model::Sourced<std::int64_t>& given =
        pool < 0 ? site.service_rack_pdus
        : input.spec().pools.value[static_cast<std::size_t>(pool)].pdus_per_rack.from_file()
            ? input.spec().pools.value[static_cast<std::size_t>(pool)].pdus_per_rack
            : site.pdus_per_rack;
    report.at(given, section(input, site.place), range_of(input.cluster(), ids),
              fmt::format("{} rack{} {} one PDU, so they use one of {} feeds", ids.size(), ids.size() == 1 ? "" : "s",
                          ids.size() == 1 ? "has" : "have", *site.feeds));
  }
}

// Power that the PDUs of a rack supply after losing the feed with most of them.
Power left_after_feed(const CheckInput& input, const model::Rack& rack) {
  const model::SiteSpec& site = *input.spec().site;
  const std::int64_t feeds = std::min<std::int64_t>(*site.feeds, rack.pdus);
  return *input.cluster().catalog().pdu(*site.pdu)->rating * (rack.pdus - (rack.pdus + feeds - 1) / feeds);
}

// A rack's limit defaults to its PDUs with one feed lost; only a limit set in the file can be too high.
void check_pdu_load_after_feed_loss(const CheckInput& input, Report& report) {
  const model::Cluster& cluster = input.cluster();
  std::vector<model::RackId> racks;
  for (const model::RackId id : input.failures().power().overloaded) {
    if (cluster.rack(id).limit > left_after_feed(input, cluster.rack(id))) racks.push_back(id);
  }
  if (racks.empty()) return;
  const model::SiteSpec& site = *input.spec().site;
  model::RackId worst = racks.front();
  for (const model::RackId id : racks) {
    if (cluster.rack(id).power > cluster.rack(worst).power) worst = id;
  }
  const model::Rack& rack = cluster.rack(worst);
  report.at(
      site.rack_power, section(input, site.place), range_of(cluster, racks),
      fmt::format("{} rack{} draw{} more than the PDUs on the remaining feeds supply when one fails: `{}` {} of {}",
                  racks.size(), racks.size() == 1 ? "" : "s", racks.size() == 1 ? "s" : "", rack.name,
                  about(rack.power), about(left_after_feed(input, rack))));
}

bool has_control(const CheckInput& input) { return !input.failures().control().members.empty(); }

void check_etcd_member_count(const CheckInput& input, Report& report) {
  const model::ControlPlaneSpec& control = *input.spec().control_plane;
  if (!has_control(input) || *control.etcd_members >= 3) return;
  report.at(control.etcd_members, section(input, control.place), "control-plane",
            fmt::format("{} etcd member{}: the loss of one stops the control plane", *control.etcd_members,
                        *control.etcd_members == 1 ? "" : "s"));
}

void check_etcd_racks(const CheckInput& input, Report& report) {
  const ControlAnalysis& control = input.failures().control();
  if (control.members.size() < 3 || control.on_gpu_servers || control.survives(control.most_in_rack)) return;
  const model::SiteSpec& site = *input.spec().site;
  const model::ControlPlaneSpec& spec = *input.spec().control_plane;
  const SourceLocation place = site.service_racks.place.known() ? site.service_racks.place
                               : spec.pool.place.known()        ? spec.pool.place
                                                                : section(input, spec.place);
  report.add(
      "control-plane", place,
      fmt::format("{} of {} etcd members are in rack `{}`; its loss loses the quorum of {}", control.most_in_rack,
                  control.members.size(), input.cluster().rack(control.worst_rack).name, control.quorum));
}

void check_etcd_servers(const CheckInput& input, Report& report) {
  const ControlAnalysis& control = input.failures().control();
  if (!control.on_gpu_servers) return;
  const model::ControlPlaneSpec& spec = *input.spec().control_plane;
  report.at(spec.pool, section(input, spec.place), range_of(input.cluster(), control.members),
            fmt::format("etcd runs on GPU servers of pool `{}`", *spec.pool));
}

void check_api_limits(const CheckInput& input, Report& report) {
  const model::ControlPlaneSpec& control = *input.spec().control_plane;
  if (*control.api_limits || !runs_kubernetes(input.spec())) return;
  report.at(control.api_limits, section(input, control.place), "control-plane", "the API server has no request limits");
}

void check_ingress_replicas(const CheckInput& input, Report& report) {
  const model::ControlPlaneSpec& control = *input.spec().control_plane;
  if (*control.ingress_replicas >= 2 || !runs_kubernetes(input.spec())) return;
  report.at(control.ingress_replicas, section(input, control.place), "control-plane",
            fmt::format("{} ingress replica{}", *control.ingress_replicas, *control.ingress_replicas == 1 ? "" : "s"));
}

void check_fabric_manager_count(const CheckInput& input, Report& report) {
  for (const model::FabricKind kind : {model::FabricKind::backend, model::FabricKind::storage}) {
    for (const model::ManagerSpec& manager : *input.cluster().data_fabric_spec(kind).managers) {
      if (*manager.count != 1) continue;
      report.at(manager.count, manager.place, manager.name->text,
                fmt::format("`{}` is the only manager of the {} fabric", manager.name->text, model::to_text(kind)));
    }
  }
}

void check_login_server_count(const CheckInput& input, Report& report) {
  for (const model::PoolSpec& pool : *input.spec().pools) {
    if (*pool.role != model::PoolRole::login || *pool.count != 1) continue;
    report.at(pool.count, pool.place, pool.name->text, "one login server for all users");
  }
}

void check_failure_detection(const CheckInput& input, Report& report) {
  for (const model::FabricKind kind : kDataFabrics) {
    const model::FabricPlan& plan = input.cluster().fabric(kind);
    const model::FabricSpec& fabric = input.cluster().data_fabric_spec(kind);
    if (!plan.present || plan.network != model::NetworkKind::ethernet || *fabric.bfd) continue;
    report.at(
        fabric.bfd, section(input, fabric.place), std::string(model::to_text(kind)),
        fmt::format("the {} fabric detects a failed neighbor by BGP's hold time instead of BFD", model::to_text(kind)));
  }
}

void check_hash_seeds(const CheckInput& input, Report& report) {
  for (const model::FabricKind kind : kDataFabrics) {
    const model::FabricPlan& plan = input.cluster().fabric(kind);
    const model::FabricSpec& fabric = input.cluster().data_fabric_spec(kind);
    if (!plan.present || plan.tiers < 2 || plan.network != model::NetworkKind::ethernet || *fabric.hash_seeds) continue;
    report.at(fabric.hash_seeds, section(input, fabric.place), std::string(model::to_text(kind)),
              fmt::format("leaves and spines of the {} fabric use the same hash seed: after a failure flows use only "
                          "part of the remaining links",
                          model::to_text(kind)));
  }
}

}  // namespace

std::vector<Rule> resilience_site_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "RE001",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a single switch connects a fabric",
       .reason = "When it fails or is upgraded, leaves lose connectivity and every job that spans them fails.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: single switch failure, at "
                 "least two spines with ECMP",
       .fix = "set `spines` to 4 or more (at least 2)",
       .example = {.file = "pod16.yaml", .from = "    spines: 4\n", .to = "    spines: 1\n"},
       .run = check_single_spine},
      {.id = "RE002",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "fewer than four spines on a lossless fabric",
       .reason = "With two spines a double failure together with congestion can cause PFC storms, and the loss of one "
                 "halves the bandwidth.",
       .source = "Juniper JVD for AI data centers: a minimum of 4 spines in each fabric",
       .fix = "set `spines: 4`",
       .example = {.file = "pod16.yaml", .from = "    spines: 4\n", .to = "    spines: 2\n"},
       .run = check_spine_count},
      {.id = "RE003",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "servers have one link to a fabric",
       .reason = "The failure of a cable, an optic or a leaf disconnects them from that fabric.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: servers dual-homed to "
                 "separate leaves",
       .fix = "give the pool two `links` or more to the fabric",
       .example = {.file = "pod16.yaml",
                   .from = "server: login-1u, count: 2}",
                   .to = "server: login-1u, count: 2, links: {frontend: 1}}"},
       .run = check_server_link_count},
      {.id = "RE004",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "all links of a server end on one switch",
       .reason = "The loss of that leaf disconnects the server: two cables to one switch are not redundant.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: servers dual-homed to "
                 "separate leaves",
       .fix = "connect the links to different leaves: `wiring: rail-optimized`, `dual-tor` or `pairs`",
       .example = {.file = "pod16.yaml",
                   .from = "",
                   .to = "\ncables:\n  - {from: \"login001:fe2\", to: \"fe-leaf001a:p50\"}\n"},
       .run = check_server_leaf_count},
      {.id = "RE005",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the loss of a rack disconnects servers of other racks",
       .reason = "All leaves of those servers are in one rack: a breaker trip, a coolant leak or a wrong cable there "
                 "disconnects them although their own rack works.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), High Availability: no two members of a pair in "
                 "one rack or power domain",
       .fix = "spread the leaves: more `site.service_racks`, or `switches: central`",
       .example = {.file = "pod16.yaml",
                   .from = "  service_rack_pdus: 3\n",
                   .to = "  service_rack_pdus: 3\n  switches: row\n"},
       .run = check_rack_dependents},
      {.id = "RE006",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "only one power feed",
       .reason = "Its failure, or maintenance upstream, stops the whole site.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: power unit failure, dual "
                 "supplies and N+1 PDUs",
       .fix = "add a second feed (`site.feeds`)",
       .example = {.file = "pod16.yaml", .from = "  feeds: 3 ", .to = "  feeds: 1 "},
       .run = check_feed_count},
      {.id = "RE007",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the loss of a feed stops servers",
       .reason = "Servers with six power supplies that need four cannot run on one of two feeds: they have two feeds "
                 "without redundancy.",
       .source = "weft catalog: power supplies fitted and needed, from vendor data sheets (4+2 and 5+1, not 3+3)",
       .fix = "use three feeds, servers with N+N power supplies, or accept the finding with a suppression",
       .example = {.file = "pod16.yaml", .from = "  feeds: 3 ", .to = "  feeds: 2 "},
       .run = check_feed_dependents},
      {.id = "RE008",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "racks are connected to one feed",
       .reason = "The site has more feeds, but these racks do not use them: all power supplies of every device are on "
                 "one feed.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: dual supplies and N+1 PDUs "
                 "in each rack",
       .fix = "give each rack one PDU per feed",
       .example = {.file = "pod16.yaml", .from = "  service_rack_pdus: 3\n", .to = "  service_rack_pdus: 1\n"},
       .run = check_rack_feed_count},
      {.id = "RE009",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "racks overload their PDUs when a feed fails",
       .reason =
           "The load of the failed feed moves to the others; their breakers trip in sequence and the rack loses power.",
       .source = "NFPA 70 and vendor guidance: size each PDU for the load with one feed lost",
       .fix = "use larger or more PDUs, fewer servers per rack, or limit `rack_power` to the remaining capacity",
       .example = {.file = "pod16.yaml", .from = "  pdu: pdu-35kw\n", .to = "  pdu: pdu-7kw-1ph\n  rack_power: 40kW\n"},
       .run = check_pdu_load_after_feed_loss},
      {.id = "RE010",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "fewer than three etcd members",
       .reason = "A quorum is more than half: one or two members do not tolerate any loss.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: three etcd members in "
                 "separate fault domains; etcd documentation, failure tolerance",
       .fix = "set `control_plane.etcd_members: 3`",
       .example = {.file = "pod16.yaml", .from = "etcd_members: 3", .to = "etcd_members: 1"},
       .run = check_etcd_member_count},
      {.id = "RE011",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the loss of one rack loses the etcd quorum",
       .reason = "Three members in two racks tolerate the loss of only one of the two racks.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), High Availability: no two members in one rack "
                 "or power domain",
       .fix = "put the members into separate racks (`site.service_racks: 3` or more)",
       .example = {.file = "pod16.yaml",
                   .from = "  service_rack_pdus: 3\n",
                   .to = "  service_rack_pdus: 3\n  service_racks: 2\n"},
       .run = check_etcd_racks},
      {.id = "RE012",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the control plane runs on GPU servers",
       .reason = "etcd needs low and stable disk latency; a job that saturates the node delays heartbeats and causes "
                 "leader changes. GPU servers also have the highest failure rates.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: separate pool for the "
                 "control plane; etcd documentation, disks",
       .fix = "use a pool with `role: infrastructure`",
       .example = {.file = "pod16.yaml", .from = "pool: infra, etcd_members", .to = "pool: infer, etcd_members"},
       .run = check_etcd_servers},
      {.id = "RE013",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the API server has no request limits",
       .reason = "One client in a loop, or thousands of pods that start together, block all other clients, including "
                 "schedulers.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: API server overload; "
                 "Kubernetes API priority and fairness",
       .fix = "set `control_plane.api_limits: true`",
       .example = {.file = "pod16.yaml",
                   .from = "ingress_replicas: 2}",
                   .to = "ingress_replicas: 2, api_limits: false}"},
       .run = check_api_limits},
      {.id = "RE014",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "only one ingress replica",
       .reason = "Its crash, or a drain of its node, disconnects every user until it restarts.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: ingress pod crash, several "
                 "replicas and a disruption budget",
       .fix = "set `control_plane.ingress_replicas: 2` or more",
       .example = {.file = "pod16.yaml", .from = "ingress_replicas: 2}", .to = "ingress_replicas: 1}"},
       .run = check_ingress_replicas},
      {.id = "RE015",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "only one fabric manager",
       .reason = "Without it routes are not recomputed: the next link failure is not routed around.",
       .source = "NVIDIA UFM documentation, high availability: two managers with failover",
       .fix = "set `count: 2` on the manager",
       .example = {.file = "pod16.yaml",
                   .from = "    spines: 4\n",
                   .to =
                       "    spines: 4\n    managers: [{name: fm, server: ufm-appliance-ndr, count: 1, speed: 400G}]\n"},
       .run = check_fabric_manager_count},
      {.id = "RE016",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "only one login server",
       .reason = "While it is down, users cannot submit, monitor or cancel jobs.",
       .source = "Life of an AI Job in Fabric: submission starts on a login node",
       .fix = "add a second login server",
       .example = {.file = "pod16.yaml", .from = "server: login-1u, count: 2}", .to = "server: login-1u, count: 1}"},
       .run = check_login_server_count},
      {.id = "RE017",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "failed neighbors are detected slowly",
       .reason = "BGP's hold time is seconds to minutes; collectives time out before traffic is rerouted. BFD detects "
                 "the failure in less than a second.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: ECMP reroutes in less than 1 "
                 "s; RFC 5880",
       .fix = "set `bfd: true`",
       .example = {.file = "pod16.yaml", .from = "    spines: 4\n", .to = "    spines: 4\n    bfd: false\n"},
       .run = check_failure_detection},
      {.id = "RE018",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "all tiers use the same hash seed",
       .reason = "With the same seed a spine repeats the leaf's choice, so part of its links are idle (hash "
                 "polarization); after a failure the remaining links are used even less evenly.",
       .source = "vendor ECMP guides: different seed per tier; RDMA over Ethernet at scale (SIGCOMM 2024)",
       .fix = "set `hash_seeds: true`",
       .example = {.file = "pod16.yaml", .from = "    spines: 4\n", .to = "    spines: 4\n    hash_seeds: false\n"},
       .run = check_hash_seeds},
  };
}

std::vector<Rule> resilience_rules() {  // NOLINT(readability-function-size): a table
  std::vector<Rule> all = resilience_site_rules();
  std::vector<Rule> more = resilience_data_rules();
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

}  // namespace weft::check
