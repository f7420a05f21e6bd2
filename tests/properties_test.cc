// Properties that hold for every cluster that weft compiles, tested on thousands of random cluster files: ports,
// cables, addresses and names are consistent, fabrics stay separate, and growth renames and renumbers nothing. `show
// domains` and `failures` report the same losses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "base/document.h"
#include "base/random.h"
#include "check/failures/failure_analysis.h"
#include "design/views.h"
#include "model/load.h"
#include "model/server_ports.h"

namespace weft {
namespace {

// Number of files to test; `make test-all` sets many more.
int specs_wanted() {
  const char* given = std::getenv("WEFT_PROPERTY_SPECS");  // NOLINT(concurrency-mt-unsafe): before any thread
  return given != nullptr ? std::atoi(given) : 2000;
}

const std::shared_ptr<const model::Catalog>& catalog() {
  static const std::shared_ptr<const model::Catalog> loaded = [] {
    auto all = model::load_catalog({});
    EXPECT_TRUE(all->catalog) << render_all(all->diagnostics, all->sources, false);
    return all->catalog;
  }();
  return loaded;
}

template <class T>
const T& pick(RandomStream& random, const std::vector<T>& from) {
  return from[random.below(from.size())];
}

struct Draft {
  std::int64_t train = 0;
  std::int64_t store = 0;
  std::int64_t infra = 0;
  std::int64_t per_rack = 0;
  std::int64_t unit = 0;  // 0: weft chooses
  std::string text;       // with {train}, {store} and {infra} as placeholders

  [[nodiscard]] std::string filled(std::int64_t more_train, std::int64_t more_store, std::int64_t more_infra) const {
    return fmt::format(fmt::runtime(text), fmt::arg("train", train + more_train), fmt::arg("store", store + more_store),
                       fmt::arg("infra", infra + more_infra));
  }
};

std::string backend_text(RandomStream& random, bool infiniband, bool planes, bool managers) {
  std::string out = "  backend:\n";
  if (infiniband) {
    out += "    network: infiniband\n    leaf: qm9700\n";
  } else {
    out += fmt::format("    leaf: {}\n",
                       planes ? std::string("sn5600")
                              : pick<std::string>(random, {"sn5600", "nexus-9364d-gx2a", "arista-7060x6-64pe",
                                                           "th5-64x800", "juniper-qfx5220-32cd"}));
  }
  if (planes) out += "    planes: 2\n";
  if (random.chance(0.5)) {
    out += "    wiring: " + pick<std::string>(random, {"rail-optimized", "rail-optimized", "rail-only", "dual-tor"}) +
           "\n";
  }
  out += "    oversubscription: " + pick<std::string>(random, {"1:1", "1:1", "2:1", "3:2", "4:3"}) + "\n";
  if (random.chance(0.15)) out += "    tiers: 3\n";
  if (random.chance(0.2)) out += "    ipv6: fd57:4e00:1::/48\n";
  if (!infiniband && random.chance(0.2)) out += "    switch_links: numbered\n";
  if (managers) {
    out +=
        "    managers:\n      - {{name: ufm, server: ufm-appliance-ndr, count: 2, ports: 1, speed: 400G, back_to_back: "
        "true}}\n";
  }
  return out;
}

// Which of the site's values is drawn first. Files of both orders are tested: they differ in more than the seed, since
// each draw determines which others follow.
enum class DrawOrder { row_length_first, feeds_first };

std::string site_text(RandomStream& random, DrawOrder order) {
  const bool forward = order == DrawOrder::row_length_first;
  std::int64_t first = forward ? random.between(4, 20) : random.between(1, 3);
  const bool by_row = random.chance(0.5);
  std::int64_t last = forward ? random.between(1, 3) : random.between(4, 20);
  if (!forward) std::swap(first, last);
  return fmt::format("site: {{{{row_length: {}, rack_power: 200kW, switches: {}, feeds: {}}}}}\n", first,
                     by_row ? "row" : "central", last);
}

Draft draft(RandomStream& random, DrawOrder order) {
  Draft out;
  const bool infiniband = random.chance(0.3);
  const bool planes = !infiniband && random.chance(0.2);
  const bool split = random.chance(0.25);
  std::string server = pick<std::string>(random, {"hgx-h100", "hgx-h200", "hgx-b200", "dell-xe9680"});
  if (infiniband) server = pick<std::string>(random, {"dgx-h100", "dgx-h200", "dgx-b200"});
  if (planes) server = "hgx-b300";
  out.train = random.between(1, random.chance(0.1) ? 700 : 90);
  out.store = random.between(1, 40);
  out.infra = random.between(3, 9);
  out.per_rack = random.between(1, 4);
  if (random.chance(0.5)) out.unit = random.between(2, 16);
  out.text = fmt::format("weft: 1\nname: random\nprofile: {}\n", split ? "split" : "converged");
  out.text += site_text(random, order);
  out.text += fmt::format("pools:\n  - {{{{name: train, server: {}, count: {{train}}, per_rack: {}{}}}}}\n", server,
                          out.per_rack, out.unit > 0 ? fmt::format(", unit: {}", out.unit) : "");
  if (random.chance(0.3)) {
    out.text +=
        fmt::format("  - {{{{name: infer, role: inference, server: {}, count: {}}}}}\n", server, random.between(1, 20));
  }
  out.text += "  - {{name: infra, role: infrastructure, server: control-1u, count: {infra}}}\n";
  if (random.chance(0.6)) out.text += "  - {{name: login, role: login, server: login-1u, count: 2}}\n";
  const std::string racks = random.chance(0.3) ? ", racks: service" : ", per_rack: 8";
  out.text += fmt::format("  - {{{{name: store, role: storage, server: {}, count: {{store}}{}}}}}\n",
                          random.chance(0.5) ? "storage-nvme-2u" : "storage-400g-2u", racks);
  if (random.chance(0.5)) out.text += "  - {{name: jump, role: jump, server: jump-1u, count: 1}}\n";
  const bool managers = infiniband && random.chance(0.3);
  out.text += "fabrics:\n" + backend_text(random, infiniband, planes, managers);
  out.text += "  storage:\n";
  out.text += infiniband && random.chance(0.5)
                  ? "    network: infiniband\n    leaf: qm9700\n    storage_breakout: 2x200G\n"
                  : "    leaf: " + pick<std::string>(random, {"sn5600", "sn5400", "sn5600"}) + "\n";
  out.text += "    oversubscription: " + pick<std::string>(random, {"1:1", "2:1", "4:3"}) + "\n";
  out.text += "  frontend:\n    subnets: [10.20.0.0/16]\n";
  if (random.chance(0.5)) out.text += fmt::format("    external: {{{{links: {}}}}}\n", random.between(1, 8));
  if (random.chance(0.2)) out.text += "    oversubscription: 1:1\n";
  const bool hang = random.chance(0.2);
  out.text += "  oob:\n";
  out.text += hang ? "    leaf: sn2201\n    uplink_to_frontend: true\n"
                   : "    uplinks: " + std::to_string(random.between(1, 2)) + "\n";
  if (random.chance(0.3)) out.text += "    spare_percent: 10\n";
  return out;
}

struct Compiled {
  Sources sources;
  Diagnostics diagnostics;
  std::shared_ptr<const model::Cluster> cluster;
};

std::unique_ptr<Compiled> compile_text(const std::string& text) {
  auto out = std::make_unique<Compiled>();
  const FileId file = out->sources.add("random.yaml", text);
  const auto root = parse_yaml(out->sources, file, out->diagnostics);
  if (!root) return out;
  std::optional<model::Spec> spec = model::read_spec(*root, out->diagnostics);
  if (!spec) return out;
  model::resolve(*spec, *catalog(), out->diagnostics);
  if (!out->diagnostics.has_errors()) out->cluster = model::compile(std::move(*spec), catalog(), out->diagnostics);
  return out;
}

// The cage groups of a switch or server define the speeds of a cage and its number of lanes.
bool speed_is_legal(const model::Cluster& cluster, const model::Port& port) {
  const model::DeviceGroup& group = cluster.group_of(port.device);
  if (group.kind == model::DeviceKind::external) return true;
  if (group.kind == model::DeviceKind::pdu) return port.speed() == gigabits(1);
  if (group.kind == model::DeviceKind::server) {
    for (const model::PortGroup& ports : group.server->ports.value) {
      const std::uint32_t first = model::first_cage(*group.server, &ports);
      if (port.cage < first || port.cage >= first + ports.count.value / ports.per_cage.value) continue;
      for (const BitRate speed : ports.speeds.value) {
        if (speed == port.speed()) return true;
      }
      for (const model::Breakout& mode : ports.breakouts.value) {
        if (mode.speed == port.speed()) return true;
      }
    }
    return false;
  }
  std::uint32_t first = 0;
  for (const model::CageGroup& cages : group.network_switch->cages.value) {
    const auto count = static_cast<std::uint32_t>(cages.count.value);
    if (port.cage >= first && port.cage < first + count) {
      for (const model::Breakout& mode : cages.breakouts.value) {
        const bool lanes = cages.lanes.value / mode.ports == port.lanes && port.lane % port.lanes == 0;
        if (mode.speed == port.speed() && lanes && port.lane + port.lanes <= cages.lanes.value) return true;
      }
      return false;
    }
    first += count;
  }
  return port.cage == first && port.speed() == gigabits(1);  // the management port
}

void check_ports_and_cables(const model::Cluster& cluster) {
  EXPECT_EQ(cluster.ports().size(), 2 * cluster.cables().size()) << "cable ends = port rows";
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> lanes;  // device, cage, lane
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < cluster.ports().size(); ++i) {
    const auto id = static_cast<model::PortId>(i);
    const model::Port& port = cluster.port(id);
    ASSERT_NE(port.cable, model::kNone<model::CableId>);
    const model::Cable& cable = cluster.cable(port.cable);
    ASSERT_TRUE(cable.a == id || cable.b == id) << "a port's cable ends at it";
    EXPECT_TRUE(speed_is_legal(cluster, port)) << cluster.full_port_name(id) << " at " << to_text(port.speed());
    for (std::uint32_t lane = 0; lane < port.lanes; ++lane) {
      const bool fresh = lanes.emplace(model::index_of(port.device), port.cage, port.lane + lane).second;
      ASSERT_TRUE(fresh) << "lane used twice at " << cluster.full_port_name(id);
    }
    ASSERT_TRUE(names.insert(cluster.full_port_name(id)).second) << cluster.full_port_name(id);
    EXPECT_EQ(cluster.find_port(cluster.full_port_name(id)), id);
  }
  for (const model::Cable& cable : cluster.cables()) {
    const model::Port& a = cluster.port(cable.a);
    const model::Port& b = cluster.port(cable.b);
    EXPECT_EQ(a.speed_mbps, b.speed_mbps);
    EXPECT_NE(a.device, b.device);
    if (cable.role != model::CableRole::oob_frontend) {
      EXPECT_EQ(a.fabric, b.fabric) << "no cable between fabrics";
    }
    const model::Medium& medium = cluster.media()[cable.medium];
    ASSERT_NE(medium.cable, nullptr);
    EXPECT_LE(cable.length_mm, medium.cable->lengths->back().count());
    if (medium.at_a != nullptr) {
      EXPECT_LE(cable.length_mm, medium.at_a->reach->count());
    }
  }
}

// Ports in one cage share one transceiver or splitter.
void check_plugs(const model::Cluster& cluster) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, const void*> plug_of;
  for (const model::Cable& cable : cluster.cables()) {
    const model::Medium& medium = cluster.media()[cable.medium];
    for (const bool at_a : {true, false}) {
      const model::Port& port = cluster.port(at_a ? cable.a : cable.b);
      const model::TransceiverModel* module = at_a ? medium.at_a : medium.at_b;
      const void* plug = module != nullptr ? static_cast<const void*>(module) : medium.cable;
      const auto [at, fresh] = plug_of.emplace(std::pair(model::index_of(port.device), port.cage), plug);
      EXPECT_TRUE(fresh || at->second == plug) << "two kinds of plug in a cage of " << cluster.name_of(port.device);
    }
  }
}

// A switch serves one fabric: only its management port may be on another, the out-of-band one.
void check_fabrics_apart(const model::Cluster& cluster) {
  for (const model::Port& port : cluster.ports()) {
    const model::DeviceGroup& group = cluster.group_of(port.device);
    if (group.kind != model::DeviceKind::network_switch || group.fabric == port.fabric) continue;
    EXPECT_EQ(port.fabric, model::FabricKind::oob);
    EXPECT_EQ(port.speed(), gigabits(1));
  }
}

void check_addresses(const model::Cluster& cluster) {
  std::unordered_map<std::uint32_t, std::uint32_t> owner;
  for (std::size_t i = 0; i < cluster.ports().size(); ++i) {
    const model::Port& port = cluster.ports()[i];
    if (port.address.bits == 0) continue;
    const bool fresh = owner.emplace(port.address.bits, static_cast<std::uint32_t>(i)).second;
    ASSERT_TRUE(fresh) << to_text(port.address) << " twice, at "
                       << cluster.full_port_name(static_cast<model::PortId>(i));
    if (port.subnet == model::kNone<model::SubnetId>) continue;
    const model::Subnet& subnet = cluster.subnet(port.subnet);
    EXPECT_TRUE(subnet.prefix.contains(port.address)) << to_text(port.address) << " in " << to_text(subnet.prefix);
    EXPECT_NE(port.address, subnet.prefix.base);
    EXPECT_NE(port.address.bits, subnet.prefix.base.bits + subnet.prefix.size() - 1) << "broadcast";
    EXPECT_NE(port.address, subnet.gateway);
    EXPECT_EQ(subnet.fabric, port.fabric);
  }
  for (std::size_t i = 0; i < cluster.subnets().size(); ++i) {
    for (std::size_t j = i + 1; j < std::min(cluster.subnets().size(), i + 4); ++j) {
      EXPECT_FALSE(cluster.subnets()[i].prefix.overlaps(cluster.subnets()[j].prefix));
    }
  }
  std::unordered_set<std::uint32_t> numbers;
  for (std::size_t i = 0; i < cluster.devices().size(); ++i) {
    const auto id = static_cast<model::DeviceId>(i);
    const model::DeviceGroup& group = cluster.group_of(id);
    if (group.kind != model::DeviceKind::network_switch) continue;
    const Ipv4 loopback = cluster.device(id).loopback;
    if (loopback.bits != 0) {
      EXPECT_TRUE(numbers.insert(loopback.bits).second) << cluster.name_of(id);
    }
    EXPECT_NE(cluster.oob_address(id).bits, 0U) << cluster.name_of(id) << " cannot be reached out of band";
  }
}

// Every server and PDU is on out-of-band; GPU servers' rails meet distinct leaves, rail i always leaf i of the unit.
void check_members(const model::Cluster& cluster) {
  for (std::size_t i = 0; i < cluster.devices().size(); ++i) {
    const auto id = static_cast<model::DeviceId>(i);
    const model::DeviceGroup& group = cluster.group_of(id);
    if (group.kind == model::DeviceKind::external) continue;
    EXPECT_NE(cluster.device(id).rack, model::kNone<model::RackId>) << cluster.name_of(id);
    if (group.kind != model::DeviceKind::server) continue;
    EXPECT_NE(cluster.oob_address(id).bits, 0U) << cluster.name_of(id);
    if (cluster.fabric(model::FabricKind::backend).wiring != model::Wiring::rail_optimized || group.manager) continue;
    for (const model::PortId port_id : cluster.ports_of(id)) {
      const model::Port& port = cluster.port(port_id);
      if (port.fabric != model::FabricKind::backend) continue;
      const model::Device& leaf = cluster.device(cluster.port(cluster.peer_of(port_id)).device);
      EXPECT_EQ(leaf.rail, port.rail);
      EXPECT_EQ(leaf.plane, port.plane);
      EXPECT_EQ(leaf.unit, cluster.device(id).unit);
    }
  }
}

// Every leaf reaches every spine of its pod with the same number of links, and the stated ratio holds.
void check_clos(const model::Cluster& cluster, model::FabricKind kind) {
  const model::FabricPlan& plan = cluster.fabric(kind);
  if (!plan.present || plan.tiers < 2) return;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> links;
  std::map<std::uint32_t, std::set<std::uint32_t>> spines_of;
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.fabric != kind || cable.role != model::CableRole::leaf_spine) continue;
    const std::uint32_t leaf = model::index_of(cluster.port(cable.a).device);
    const std::uint32_t spine = model::index_of(cluster.port(cable.b).device);
    ++links[{leaf, spine}];
    spines_of[leaf].insert(spine);
    EXPECT_EQ(cluster.devices()[leaf].plane, cluster.devices()[spine].plane);
    EXPECT_EQ(cluster.devices()[leaf].pod, cluster.devices()[spine].pod);
  }
  std::map<std::uint32_t, std::set<std::uint32_t>> counts;
  for (const auto& [ends, count] : links) counts[ends.first].insert(count);
  for (const auto& [leaf, different] : counts)
    EXPECT_EQ(different.size(), 1U) << cluster.name_of(static_cast<model::DeviceId>(leaf));
  EXPECT_EQ(counts.size(), plan.leaves) << "every leaf has uplinks";
}

void check_racks(const model::Cluster& cluster) {
  for (std::size_t r = 0; r < cluster.racks().size(); ++r) {
    const model::Rack& rack = cluster.racks()[r];
    std::set<std::uint32_t> units;
    for (const model::DeviceId id : cluster.devices_in(static_cast<model::RackId>(r))) {
      const model::Device& device = cluster.device(id);
      if (device.rack_unit == 0) continue;
      const model::DeviceGroup& group = cluster.group_of(id);
      const std::int64_t height = group.kind == model::DeviceKind::server ? cluster.server_of(id).height.value
                                                                          : group.network_switch->height.value;
      for (std::int64_t u = 0; u < height; ++u) {
        EXPECT_TRUE(units.insert(device.rack_unit + static_cast<std::uint32_t>(u)).second) << rack.name;
      }
    }
    if (!units.empty()) {
      EXPECT_LE(*units.rbegin(), rack.model->height.value) << rack.name;
    }
    EXPECT_GT(rack.pdus, 0U);
  }
}

// Every device still exists under its name, with its addresses; so does every port of a server.
void check_growth_of_devices(const model::Cluster& before, const model::Cluster& after) {
  for (std::size_t i = 0; i < before.devices().size(); ++i) {
    const auto id = static_cast<model::DeviceId>(i);
    const std::string_view name = before.name_of(id);
    const model::DeviceId now = after.find_device(name);
    ASSERT_NE(now, model::kNone<model::DeviceId>) << name << " lost its name";
    const model::DeviceGroup& group = before.group_of(id);
    EXPECT_EQ(group.kind, after.group_of(now).kind) << name;
    EXPECT_EQ(group.network_switch, after.group_of(now).network_switch) << name;
    // A fabric that gains a tier, or whose pods are divided anew, is renumbered above its leaves.
    const model::FabricPlan& was = before.fabric(group.fabric);
    const model::FabricPlan& is = after.fabric(group.fabric);
    const bool retiered = was.tiers != is.tiers || was.spines * is.pods != is.spines * was.pods;
    if (group.kind == model::DeviceKind::network_switch && group.tier > model::Tier::leaf && retiered) continue;
    EXPECT_EQ(before.device(id).loopback, after.device(now).loopback) << name;
    EXPECT_EQ(before.oob_address(id), after.oob_address(now)) << name;
    if (group.kind != model::DeviceKind::server) continue;
    for (const model::PortId port_id : before.ports_of(id)) {
      const model::PortId port_now = after.find_port(before.full_port_name(port_id));
      ASSERT_NE(port_now, model::kNone<model::PortId>) << before.full_port_name(port_id);
      EXPECT_EQ(before.port(port_id).address, after.port(port_now).address) << before.full_port_name(port_id);
      EXPECT_EQ(before.ipv6_of(port_id), after.ipv6_of(port_now));
    }
  }
}

// Every rack keeps its position and its PDUs.
void check_growth_of_racks(const model::Cluster& before, const model::Cluster& after) {
  std::map<std::string, const model::Rack*> racks;
  for (const model::Rack& rack : after.racks()) racks[rack.name] = &rack;
  for (const model::Rack& rack : before.racks()) {
    ASSERT_TRUE(racks.contains(rack.name)) << rack.name << " is gone";
    const model::Rack& now = *racks[rack.name];
    EXPECT_EQ(std::pair(now.row, now.column), std::pair(rack.row, rack.column)) << rack.name;
    EXPECT_EQ(now.pool, rack.pool) << rack.name;
    ASSERT_EQ(now.pdus, rack.pdus) << rack.name;
    for (std::uint32_t p = 0; p < rack.pdus; ++p) {
      const auto pdu = static_cast<model::DeviceId>(model::index_of(rack.first_pdu) + p);
      const auto pdu_now = static_cast<model::DeviceId>(model::index_of(now.first_pdu) + p);
      EXPECT_EQ(before.name_of(pdu), after.name_of(pdu_now)) << rack.name;
      EXPECT_EQ(after.rack(after.device(pdu_now).rack).name, rack.name);
    }
  }
}

// No device loses a cable: a port of a server or a PDU keeps a cable of its kind. With a `unit` of which one is full,
// the cables from servers to their own backend leaves keep both ends; otherwise a compact design may move a cable to
// another port.
void check_growth_of_cables(const model::Cluster& before, const model::Cluster& after, bool fixed_unit) {
  for (const model::Cable& cable : before.cables()) {
    const model::Port& a = before.port(cable.a);
    const model::DeviceGroup& group = before.group_of(a.device);
    if (group.kind != model::DeviceKind::server && group.kind != model::DeviceKind::pdu) continue;
    const model::PortId now = after.find_port(before.full_port_name(cable.a));
    ASSERT_NE(now, model::kNone<model::PortId>) << before.full_port_name(cable.a) << " lost its cable";
    const model::Port& port = after.port(now);
    EXPECT_EQ(port.fabric, a.fabric) << before.full_port_name(cable.a);
    EXPECT_EQ(after.cable(port.cable).role, cable.role) << before.full_port_name(cable.a);
    if (!fixed_unit || cable.fabric != model::FabricKind::backend || group.name != "train") continue;
    if (cable.role != model::CableRole::host_leaf) continue;
    EXPECT_EQ(after.full_port_name(after.peer_of(now)), before.full_port_name(cable.b))
        << before.full_port_name(cable.a) << " was moved to another port";
  }
}

// Existing devices keep their name, position and addresses.
void check_growth(const model::Cluster& before, const model::Cluster& after, bool fixed_unit) {
  check_growth_of_devices(before, after);
  check_growth_of_racks(before, after);
  check_growth_of_cables(before, after, fixed_unit);
}

void check_all(const model::Cluster& cluster) {
  check_ports_and_cables(cluster);
  check_plugs(cluster);
  check_fabrics_apart(cluster);
  check_addresses(cluster);
  check_members(cluster);
  check_clos(cluster, model::FabricKind::backend);
  check_clos(cluster, model::FabricKind::storage);
  check_clos(cluster, model::FabricKind::frontend);
  check_racks(cluster);
}

// Split into shards so that tests run in parallel.
class Properties : public testing::TestWithParam<int> {};

TEST_P(Properties, HoldForRandomClusters) {
  constexpr int kShards = 8;
  int valid = 0;
  int grown = 0;
  for (int i = GetParam(); i < specs_wanted(); i += kShards) {
    RandomStream random(static_cast<std::uint64_t>(i / 2), "properties");
    const Draft spec = draft(random, i % 2 == 0 ? DrawOrder::row_length_first : DrawOrder::feeds_first);
    const std::string text = spec.filled(0, 0, 0);
    SCOPED_TRACE(fmt::format("spec {}:\n{}", i, text));
    const auto compiled = compile_text(text);
    if (!compiled->cluster) {
      EXPECT_TRUE(compiled->diagnostics.has_errors()) << "refused without a reason";
      continue;
    }
    ++valid;
    check_all(*compiled->cluster);
    const bool store = random.chance(0.3);
    const bool infra = !store && random.chance(0.2);
    const std::int64_t more_train = store || infra ? 0 : spec.per_rack * random.between(1, 12);
    const std::int64_t more_store = store ? random.between(1, 16) : 0;
    const auto larger = compile_text(spec.filled(more_train, more_store, infra ? 2 : 0));
    if (!larger->cluster) continue;
    ++grown;
    check_growth(*compiled->cluster, *larger->cluster, spec.unit > 0 && spec.train >= spec.unit);
    if (HasFailure()) return;
  }
  EXPECT_GE(valid, specs_wanted() * 6 / 10 / kShards);
  EXPECT_GE(grown, specs_wanted() * 3 / 10 / kShards);
}

INSTANTIATE_TEST_SUITE_P(Shard, Properties, testing::Range(0, 8));

// Rows of a document's first table by its first two columns (kind and fabric); cells by the key of their column.
using Cells = std::map<std::string, Cell>;
using Rows = std::map<std::pair<std::string, std::string>, Cells>;

std::string text_in(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell.value);
  return text != nullptr ? *text : std::string();
}

double number_in(const Cell& cell, double otherwise) {
  if (const auto* count = std::get_if<std::int64_t>(&cell.value)) return static_cast<double>(*count);
  const auto* real = std::get_if<double>(&cell.value);
  return real != nullptr ? *real : otherwise;
}

Rows rows_of(const Document& document) {
  const auto& table = std::get<TableSection>(document.sections.front());
  Rows rows;
  for (const std::vector<Cell>& row : table.rows) {
    Cells& cells = rows[{text_in(row[0]), text_in(row[1])}];
    for (std::size_t c = 0; c < row.size(); ++c) cells[table.columns[c].key] = row[c];
  }
  return rows;
}

// One row of `show domains` compared with one of `failures`. For equally bad failures the two may name different ones:
// then only the most affected fabric must agree.
void check_losses(Cells& domain, Cells& failure) {
  constexpr double kRounding = 0.101;  // both tables round to a tenth
  EXPECT_EQ(number_in(domain["domains"], 0), number_in(failure["count"], 0));
  for (const char* key : {"servers_lost", "gpus_lost", "servers_degraded"}) {
    EXPECT_EQ(number_in(domain[key], 0), number_in(failure[key], 0)) << key;
  }
  double worst_lost = 0.0;
  double worst_left = 100.0;
  for (int f = 0; f < model::kFabrics; ++f) {
    const std::string fabric(model::to_text(static_cast<model::FabricKind>(f)));
    const double lost = number_in(domain[fabric + "_lost_percent"], 0);
    const double left = number_in(failure[fabric + "_left_percent"], 100);
    worst_lost = std::max(worst_lost, lost);
    worst_left = std::min(worst_left, left);
    if (text_in(domain["worst"]) == text_in(failure["worst"])) {
      EXPECT_NEAR(lost, 100.0 - left, kRounding) << fabric;
    }
  }
  EXPECT_NEAR(worst_lost, 100.0 - worst_left, kRounding);
}

TEST(FailureDomains, AgreeWithFailuresOnRandomClusters) {
  constexpr int kClusters = 200;
  constexpr int kTries = 2 * kClusters;
  int compared = 0;
  for (int i = 0; i < kTries && compared < kClusters; ++i) {
    RandomStream random(static_cast<std::uint64_t>(i), "failure domains");
    const std::string text = draft(random, DrawOrder::row_length_first).filled(0, 0, 0);
    SCOPED_TRACE(text);
    const auto compiled = compile_text(text);
    if (!compiled->cluster) continue;
    ++compared;
    const model::Cluster& cluster = *compiled->cluster;
    Rows domains = rows_of(design::failure_domains_view(cluster));
    Rows failures = rows_of(check::failures_document(cluster, check::FailureAnalysis(cluster)));
    for (auto& [key, domain] : domains) {
      const bool unit = key.first == "unit (its leaves)";
      const auto failure = failures.find({unit ? "leaves of a unit" : key.first, key.second});
      if (unit && failure == failures.end()) continue;  // if leaves are paired, `failures` covers the pairs
      SCOPED_TRACE(key.first + " " + key.second);
      ASSERT_NE(failure, failures.end());
      check_losses(domain, failure->second);
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(compared, kClusters);
}

// At 62 units the storage fabric has two tiers with 32 spines, at 64 it needs three. The smallest plan with three tiers
// has 16 spines: fewer switches, so fewer service racks, and a rack with its PDUs would disappear.
TEST(Growth, FabricThatOutgrowsTwoTiersKeepsItsSpinesAndTheirRacks) {
  const auto cluster_of = [](int servers) {
    return compile_text(
        fmt::format("weft: 1\nname: grown\nprofile: converged\n"
                    "site: {{row_length: 4, rack_power: 200kW, switches: row, feeds: 1}}\n"
                    "pools:\n"
                    "  - {{name: train, server: hgx-b200, count: {}, per_rack: 1, unit: 16}}\n"
                    "  - {{name: infra, role: infrastructure, server: control-1u, count: 9}}\n"
                    "  - {{name: store, role: storage, server: storage-nvme-2u, count: 6, per_rack: 8}}\n"
                    "fabrics:\n"
                    "  backend: {{leaf: sn5600, oversubscription: \"3:2\"}}\n"
                    "  storage: {{leaf: sn5400, oversubscription: \"4:3\"}}\n"
                    "  frontend: {{subnets: [10.20.0.0/16], external: {{links: 4}}}}\n"
                    "  oob: {{uplinks: 1, spare_percent: 10}}\n",
                    servers));
  };
  const auto before = cluster_of(490);
  const auto after = cluster_of(498);
  ASSERT_TRUE(before->cluster && after->cluster);
  EXPECT_EQ(before->cluster->fabric(model::FabricKind::storage).tiers, 2);
  EXPECT_EQ(after->cluster->fabric(model::FabricKind::storage).tiers, 3);
  EXPECT_GE(after->cluster->fabric(model::FabricKind::storage).spines,
            before->cluster->fabric(model::FabricKind::storage).spines);
  check_growth(*before->cluster, *after->cluster, true);
}

}  // namespace
}  // namespace weft
