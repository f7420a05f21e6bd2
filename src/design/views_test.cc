// Expected numbers are computed here from the cluster file below and the catalog's facts, not from the views.
#include "design/views.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/ip.h"
#include "design/views_common.h"
#include "model/load.h"

namespace weft::design {
namespace {

// 32 servers with 8 GPUs, 8 backend, 2 storage and 2 frontend ports each, and small pools around them.
constexpr const char* kText = R"(weft: 1
name: demo
pools:
  - {name: train, role: training, server: dgx-h100, count: 32}
  - {name: store, role: storage, server: ai400x2, count: 4}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
  - {name: login, role: login, server: login-1u, count: 2}
storage:
  - {name: scratch, kind: lustre, pool: store}
control_plane: {pool: infra, etcd_members: 3}
)";
constexpr std::size_t kServers = 32 + 4 + 3 + 2;

const model::Cluster& demo() {
  static const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("demo.yaml", kText);
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  if (loaded->cluster == nullptr) std::abort();
  return *loaded->cluster;
}

const TableSection& table(const Document& document, std::string_view key) {
  for (const auto& section : document.sections) {
    const auto* found = std::get_if<TableSection>(&section);
    if (found != nullptr && found->key == key) return *found;
  }
  ADD_FAILURE() << "no table " << key;
  static const TableSection kEmpty;
  return kEmpty;
}

const Cell& at(const TableSection& table, const std::vector<Cell>& row, std::string_view key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return row.at(i);
  }
  ADD_FAILURE() << "no column " << key;
  static const Cell kEmpty;
  return kEmpty;
}

std::string text(const TableSection& table, const std::vector<Cell>& row, std::string_view key) {
  const Cell& cell = at(table, row, key);
  if (const auto* string = std::get_if<std::string>(&cell.value)) return *string;
  if (const auto* number = std::get_if<std::int64_t>(&cell.value)) return std::to_string(*number);
  return {};
}

std::int64_t number(const TableSection& table, const std::vector<Cell>& row, std::string_view key) {
  const Cell& cell = at(table, row, key);
  const auto* value = std::get_if<std::int64_t>(&cell.value);
  EXPECT_NE(value, nullptr) << key << " is not a number";
  return value == nullptr ? -1 : *value;
}

double real_number(const TableSection& table, const std::vector<Cell>& row, std::string_view key) {
  const auto* value = std::get_if<double>(&at(table, row, key).value);
  return value == nullptr ? -1.0 : *value;
}

std::int64_t fact(const Document& document, std::string_view key) {
  for (const auto& section : document.sections) {
    const auto* facts = std::get_if<FactsSection>(&section);
    if (facts == nullptr) continue;
    for (const Fact& one : facts->facts) {
      if (one.key == key) return std::get<std::int64_t>(one.value.value);
    }
  }
  ADD_FAILURE() << "no fact " << key;
  return -1;
}

// Every row has a cell for every column, keys are unique and machine-readable.
void expect_regular(const Document& document) {
  for (const auto& section : document.sections) {
    const auto* found = std::get_if<TableSection>(&section);
    if (found == nullptr) continue;
    std::set<std::string> keys;
    for (const Column& column : found->columns) {
      EXPECT_TRUE(keys.insert(column.key).second) << column.key;
      EXPECT_EQ(column.key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos) << column.key;
      EXPECT_FALSE(column.title.empty());
    }
    for (const auto& row : found->rows) ASSERT_EQ(row.size(), found->columns.size()) << found->key;
  }
}

TEST(Views, AreRegularTables) {
  const model::Cluster& cluster = demo();
  for (const Document& document : {summary_view(cluster), racks_view(cluster), nodes_view(cluster),
                                   switches_view(cluster, {}), cables_view(cluster, {}), ports_view(cluster, {}),
                                   addresses_view(cluster, {}), subnets_view(cluster), failure_domains_view(cluster)}) {
    SCOPED_TRACE(document.kind);
    EXPECT_FALSE(document.kind.empty());
    expect_regular(document);
  }
}

TEST(Views, SummaryCountsMatchTheFile) {
  const model::Cluster& cluster = demo();
  const Document summary = summary_view(cluster);
  EXPECT_EQ(fact(summary, "gpus"), 32 * 8);
  EXPECT_EQ(fact(summary, "servers"), static_cast<std::int64_t>(kServers));
  EXPECT_EQ(fact(summary, "links"), static_cast<std::int64_t>(cluster.cables().size()));
  EXPECT_LE(fact(summary, "cables"), fact(summary, "links"));
  std::set<std::uint32_t> assemblies;
  for (const model::Cable& cable : cluster.cables()) assemblies.insert(cable.assembly);
  EXPECT_EQ(fact(summary, "cables"), static_cast<std::int64_t>(assemblies.size()));
  const TableSection& pools = table(summary, "pools");
  ASSERT_EQ(pools.rows.size(), 4U);
  EXPECT_EQ(text(pools, pools.rows[0], "pool"), "train");
  EXPECT_EQ(text(pools, pools.rows[0], "hosts"), "train[001-032]");
  EXPECT_EQ(number(pools, pools.rows[0], "count"), 32);
  EXPECT_EQ(number(pools, pools.rows[0], "gpus"), 256);
  EXPECT_EQ(number(pools, pools.rows[1], "gpus"), 0);
  const TableSection& fabrics = table(summary, "fabrics");
  ASSERT_EQ(fabrics.rows.size(), 4U);
  EXPECT_EQ(text(fabrics, fabrics.rows[0], "fabric"), "backend");
  EXPECT_EQ(number(fabrics, fabrics.rows[0], "host_links"), 32 * 8);
  EXPECT_EQ(number(fabrics, fabrics.rows[0], "host_speed_bps"), 400'000'000'000);
}

TEST(Views, RacksListEveryRackAndDevice) {
  const model::Cluster& cluster = demo();
  const Document document = racks_view(cluster);
  const TableSection& racks = table(document, "racks");
  ASSERT_EQ(racks.rows.size(), cluster.racks().size());
  std::int64_t devices = 0;
  std::int64_t pdus = 0;
  std::int64_t watts_in_racks = 0;
  for (const auto& row : racks.rows) {
    devices += number(racks, row, "devices");
    pdus += number(racks, row, "pdus");
    watts_in_racks += number(racks, row, "power_w");
    EXPECT_LE(number(racks, row, "units_used"), number(racks, row, "units_total"));
  }
  std::int64_t standing = 0;
  for (const model::Device& device : cluster.devices()) standing += device.rack != model::kNone<model::RackId> ? 1 : 0;
  EXPECT_EQ(devices + pdus, standing);
  EXPECT_EQ(watts_in_racks, cluster.total_power().count() / 1000);
}

TEST(Views, NodesListEveryServerOnce) {
  const Document document = nodes_view(demo());
  const TableSection& nodes = table(document, "nodes");
  ASSERT_EQ(nodes.rows.size(), kServers);
  std::set<std::string> hosts;
  std::set<std::string> bmcs;
  std::int64_t gpus = 0;
  for (const auto& row : nodes.rows) {
    hosts.insert(text(nodes, row, "host"));
    bmcs.insert(text(nodes, row, "bmc_address"));
    gpus += number(nodes, row, "gpus");
    if (text(nodes, row, "pool") != "train") continue;
    EXPECT_EQ(number(nodes, row, "backend_ports"), 8);
    EXPECT_EQ(number(nodes, row, "storage_ports"), 2);
    EXPECT_FALSE(text(nodes, row, "backend_address").empty());
  }
  EXPECT_EQ(hosts.size(), kServers);
  EXPECT_EQ(bmcs.size(), kServers);
  EXPECT_EQ(gpus, 256);
}

TEST(Views, SwitchesMatchThePlansAndTheFilter) {
  const model::Cluster& cluster = demo();
  const Document all = switches_view(cluster, {});
  std::size_t sum = 0;
  for (int f = 0; f < model::kFabrics; ++f) {
    const auto kind = static_cast<model::FabricKind>(f);
    const model::FabricPlan& plan = cluster.fabric(kind);
    const Document some = switches_view(cluster, kind);
    const TableSection& switches = table(some, "switches");
    EXPECT_EQ(switches.rows.size(), std::size_t{plan.leaves} + plan.spines + plan.cores) << model::to_text(kind);
    for (const auto& row : switches.rows) {
      EXPECT_EQ(text(switches, row, "fabric"), model::to_text(kind));
      EXPECT_LE(number(switches, row, "cages_used"), number(switches, row, "cages_total"));
      EXPECT_GE(number(switches, row, "ports_used"), number(switches, row, "cages_used"));
    }
    sum += switches.rows.size();
  }
  EXPECT_EQ(table(all, "switches").rows.size(), sum);
}

TEST(Views, CablesHaveStableUniqueLabels) {
  const model::Cluster& cluster = demo();
  const Document all = cables_view(cluster, {});
  const TableSection& cables = table(all, "cables");
  ASSERT_EQ(cables.rows.size(), cluster.cables().size());
  std::map<std::string, std::string> ends;  // by label
  std::set<std::string> plugs;
  for (const auto& row : cables.rows) {
    const std::string a = text(cables, row, "a_device") + ":" + text(cables, row, "a_port");
    const std::string b = text(cables, row, "b_device") + ":" + text(cables, row, "b_port");
    EXPECT_TRUE(ends.emplace(text(cables, row, "label"), a + " " + b).second) << text(cables, row, "label");
    EXPECT_TRUE(plugs.insert(a).second) << a;
    EXPECT_TRUE(plugs.insert(b).second) << b;
    EXPECT_GT(real_number(cables, row, "length_m"), 0.0);
    EXPECT_FALSE(text(cables, row, "cable").empty());
  }
  EXPECT_EQ(text(cables, cables.rows.front(), "label").substr(0, 3), "BE-");
  const Document some = cables_view(cluster, model::FabricKind::frontend);
  const TableSection& frontend = table(some, "cables");
  ASSERT_FALSE(frontend.rows.empty());
  for (const auto& row : frontend.rows) {
    const std::string label = text(frontend, row, "label");
    EXPECT_EQ(label.substr(0, 3), "FE-");
    EXPECT_EQ(ends[label].substr(0, text(frontend, row, "a_device").size()), text(frontend, row, "a_device"));
  }
}

TEST(Views, SplittersShareALabel) {
  const Document document = cables_view(demo(), {});
  const TableSection& cables = table(document, "cables");
  std::map<std::string, std::set<std::string>> legs;
  std::map<std::string, std::string> total;
  for (const auto& row : cables.rows) {
    const std::string assembly = text(cables, row, "assembly");
    if (assembly.empty()) continue;
    const std::string leg = text(cables, row, "leg");
    EXPECT_TRUE(legs[assembly].insert(leg).second);
    total[assembly] = leg.substr(leg.find('/') + 1);
  }
  ASSERT_FALSE(legs.empty());
  for (const auto& [assembly, members] : legs) EXPECT_EQ(std::to_string(members.size()), total[assembly]) << assembly;
}

TEST(Views, CablesAsCsvHaveOneLineEach) {
  const model::Cluster& cluster = demo();
  const std::string csv =
      write(cables_view(cluster, model::FabricKind::backend), OutputStyle{OutputFormat::csv, false});
  std::size_t cables = 0;
  for (const model::Cable& cable : cluster.cables()) cables += cable.fabric == model::FabricKind::backend ? 1U : 0U;
  std::size_t lines = 0;
  for (std::size_t i = csv.find("BE-0"); i != std::string::npos; i = csv.find("BE-0", i + 1)) ++lines;
  EXPECT_EQ(lines, cables);
  EXPECT_NE(csv.find("a_transceiver"), std::string::npos);
}

TEST(Views, PortsReferToEachOther) {
  const model::Cluster& cluster = demo();
  const Document document = ports_view(cluster, {});
  const TableSection& ports = table(document, "ports");
  ASSERT_EQ(ports.rows.size(), cluster.ports().size());
  std::map<std::string, std::string> peers;
  for (const auto& row : ports.rows) {
    peers[text(ports, row, "device") + ":" + text(ports, row, "port")] =
        text(ports, row, "peer_device") + ":" + text(ports, row, "peer_port");
  }
  EXPECT_EQ(peers.size(), ports.rows.size());
  for (const auto& [port, peer] : peers) EXPECT_EQ(peers[peer], port);
}

TEST(Views, AddressesAreUniqueAndInTheirSubnets) {
  const model::Cluster& cluster = demo();
  const Document document = addresses_view(cluster, {});
  const TableSection& addresses = table(document, "addresses");
  std::set<std::string> seen;
  for (const auto& row : addresses.rows) {
    EXPECT_TRUE(seen.insert(text(addresses, row, "fabric") + text(addresses, row, "address")).second)
        << text(addresses, row, "host") << " " << text(addresses, row, "address");
  }
  std::size_t expected = 0;
  for (const model::Port& port : cluster.ports()) expected += port.address.bits != 0 ? 1U : 0U;
  for (const model::Device& device : cluster.devices()) expected += device.loopback.bits != 0 ? 1U : 0U;
  EXPECT_EQ(addresses.rows.size(), expected);

  const Document nets = subnets_view(cluster);
  const TableSection& subnets = table(nets, "subnets");
  EXPECT_EQ(subnets.rows.size(), cluster.subnets().size());
  std::int64_t used = 0;
  for (const auto& row : subnets.rows) {
    used += number(subnets, row, "used");
    EXPECT_LT(number(subnets, row, "used"), number(subnets, row, "size"));
    EXPECT_TRUE(parse_ipv4_prefix(text(subnets, row, "prefix")).ok());
  }
  std::int64_t in_subnets = 0;
  for (const model::Port& port : cluster.ports())
    in_subnets += port.address.bits != 0 && port.subnet != model::kNone<model::SubnetId>;
  EXPECT_EQ(used, in_subnets);
}

const std::vector<Cell>* domain(const TableSection& domains, std::string_view kind, std::string_view fabric) {
  for (const auto& row : domains.rows) {
    if (text(domains, row, "kind") == kind && text(domains, row, "fabric") == fabric) return &row;
  }
  return nullptr;
}

TEST(Views, LeafFailureAffectsOneRail) {
  const Document document = failure_domains_view(demo());
  const TableSection& domains = table(document, "failure_domains");
  const auto* leaf = domain(domains, "leaf", "backend");
  ASSERT_NE(leaf, nullptr);
  // Rail-optimized: each of the 32 servers has one of its eight links on any one leaf.
  EXPECT_EQ(number(domains, *leaf, "servers_lost"), 0);
  EXPECT_EQ(number(domains, *leaf, "servers_degraded"), 32);
  EXPECT_DOUBLE_EQ(real_number(domains, *leaf, "backend_lost_percent"), 12.5);
  EXPECT_DOUBLE_EQ(real_number(domains, *leaf, "storage_lost_percent"), 0.0);
}

TEST(Views, RackFailureAffectsItsServers) {
  const model::Cluster& cluster = demo();
  std::map<std::uint32_t, std::int64_t> servers;
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const auto id = static_cast<model::DeviceId>(d);
    if (cluster.group_of(id).name == "train") ++servers[model::index_of(cluster.device(id).rack)];
  }
  std::int64_t most = 0;
  for (const auto& [rack, count] : servers) most = std::max(most, count);
  const Document document = failure_domains_view(cluster);
  const TableSection& domains = table(document, "failure_domains");
  const auto* rack = domain(domains, "rack", "");
  ASSERT_NE(rack, nullptr);
  EXPECT_EQ(number(domains, *rack, "domains"), static_cast<std::int64_t>(cluster.racks().size()));
  EXPECT_GE(number(domains, *rack, "gpus_lost"), most * 8);
}

TEST(Views, FailureDomainsIncludeStorageAndEtcd) {
  const Document document = failure_domains_view(demo());
  const TableSection& storage = table(document, "storage");
  ASSERT_EQ(storage.rows.size(), 1U);
  EXPECT_EQ(number(storage, storage.rows[0], "servers"), 4);
  const TableSection& members = table(document, "etcd_members");
  EXPECT_EQ(members.rows.size(), 3U);
  EXPECT_EQ(fact(document, "quorum"), 2);
}

TEST(ViewParts, CellsCarryBaseUnits) {
  const Cell speed = views::speed_cell(gigabits(400));
  EXPECT_EQ(std::get<std::int64_t>(speed.value), 400'000'000'000);
  EXPECT_EQ(speed.shown, "400G");
  EXPECT_EQ(std::get<std::int64_t>(views::power_cell(watts(10'200)).value), 10'200);
  EXPECT_DOUBLE_EQ(std::get<double>(views::meters_cell(1500).value), 1.5);
  EXPECT_EQ(views::percent_cell(12.5).shown, "12.5%");
  EXPECT_EQ(views::percent_cell(0.032).shown, "0.03%");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(views::address_cell(Ipv4{}).value));
  EXPECT_EQ(std::get<std::int64_t>(views::ordinal_cell(true, 0).value), 1);
}

}  // namespace
}  // namespace weft::design
