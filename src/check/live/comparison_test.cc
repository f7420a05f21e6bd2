// Reports of a small cluster, generated from its own cabling plan and then changed in one place: each change must be
// reported as exactly the right difference, and as nothing else.
#include "check/live/comparison.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "check/live/classify.h"
#include "check/live/names.h"
#include "model/load.h"

namespace weft::check {
namespace {

constexpr const char* kEthernet = R"(weft: 1
name: small
pools:
  - {name: train, role: training, server: hgx-h100, count: 4, unit: 4}
  - {name: store, role: storage, server: storage-nvme-2u, count: 2, racks: service}
fabrics:
  backend: {leaf: sn5600, system: sonic, speed: 400G, wiring: rail-optimized}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c}
  oob: {}
)";

constexpr const char* kInfiniBand = R"(weft: 1
name: small
pools:
  - {name: train, role: training, server: hgx-h100, count: 4, unit: 4}
  - {name: store, role: storage, server: storage-nvme-2u, count: 2, racks: service}
fabrics:
  backend: {network: infiniband, leaf: qm9700, speed: 400G, wiring: rail-optimized}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c}
  oob: {}
)";

class Live : public ::testing::Test {
 protected:
  void load(const char* text) {
    loaded_ = model::load_cluster_text("small.yaml", text);
    ASSERT_TRUE(loaded_->cluster) << render_all(loaded_->diagnostics, loaded_->sources, false);
    cluster_ = loaded_->cluster.get();
    file_ = loaded_->sources.add("reports", "x\n");
  }
  [[nodiscard]] model::PortId port(const std::string& name) const {
    const model::PortId id = cluster_->find_port(name);
    EXPECT_NE(id, model::kNone<model::PortId>) << name;
    return id;
  }
  // The LLDP report of `device` if everything were as planned.
  config::LldpReport& report(const std::string& device) {
    config::LldpReport out;
    out.system = device;
    out.file = file_;
    const model::DeviceId id = cluster_->find_device(device);
    EXPECT_NE(id, model::kNone<model::DeviceId>) << device;
    std::uint32_t line = 0;
    for (const model::PortId own : cluster_->ports_of(id)) {
      if (cluster_->port(own).fabric == model::FabricKind::oob) continue;
      const model::PortId far = cluster_->peer_of(own);
      out.neighbors.push_back({cluster_->port_name(own), cluster_->name_of(cluster_->port(far).device),
                               cluster_->port_name(far), "", "", SourceLocation{file_, 1, ++line}});
    }
    set_.lldp.push_back(std::move(out));
    return set_.lldp.back();
  }
  static config::LldpNeighbor& on(config::LldpReport& report, const std::string& local) {
    const auto at = std::find_if(report.neighbors.begin(), report.neighbors.end(),
                                 [&](const config::LldpNeighbor& n) { return n.local_port == local; });
    EXPECT_NE(at, report.neighbors.end()) << local;
    return *at;
  }
  // "kind device port" of every difference.
  std::vector<std::string> differences() {
    comparison_ = std::make_unique<LiveComparison>(*cluster_, set_, loaded_->sources);
    std::vector<std::string> out;
    for (const LiveDifference& d : comparison_->differences()) {
      out.push_back(fmt::format("{} {} {}", to_text(d.kind), d.device, d.port));
    }
    return out;
  }
  [[nodiscard]] const LiveDifference& only() const { return comparison_->differences().at(0); }

  std::unique_ptr<model::Loaded> loaded_;
  const model::Cluster* cluster_ = nullptr;
  FileId file_ = 0;
  config::ConfigSet set_;
  std::unique_ptr<LiveComparison> comparison_;
};
using Strings = std::vector<std::string>;

TEST_F(Live, PlannedCablingHasNoDifference) {
  load(kEthernet);
  for (const char* device : {"train001", "train002", "be-train-u001-leaf1", "be-train-u001-leaf2"}) report(device);
  EXPECT_EQ(differences(), Strings{});
  // Backend ports of train001 and train002 on leaves 1 and 2 are reported by both ends.
  EXPECT_EQ(comparison_->cables().certain, 4U);
  EXPECT_EQ(comparison_->cables().missing, 0U);
  EXPECT_EQ(comparison_->cables().planned, cluster_->cables().size());
}

TEST_F(Live, TwoHostsSwappedOnALeaf) {
  load(kEthernet);
  config::LldpReport& leaf = report("be-train-u001-leaf2");
  const std::string first = cluster_->port_name(cluster_->peer_of(port("train001:be2")));
  const std::string second = cluster_->port_name(cluster_->peer_of(port("train003:be2")));
  std::swap(on(leaf, first).remote_system, on(leaf, second).remote_system);
  EXPECT_EQ(differences(), (Strings{"swapped train001 be2"}));
  EXPECT_EQ(only().confidence, Confidence::likely);
  EXPECT_NE(only().message.find("train001:be2 - be-train-u001-leaf2:" + first), std::string::npos) << only().message;
  EXPECT_NE(only().message.find("train003:be2 - be-train-u001-leaf2:" + second), std::string::npos) << only().message;
  EXPECT_EQ(comparison_->cables().differing, 2U);
}

TEST_F(Live, ReportsFromBothEndsAreCertain) {
  load(kEthernet);
  config::LldpReport& leaf = report("be-train-u001-leaf2");
  const std::string first = cluster_->port_name(cluster_->peer_of(port("train001:be2")));
  const std::string second = cluster_->port_name(cluster_->peer_of(port("train003:be2")));
  std::swap(on(leaf, first).remote_system, on(leaf, second).remote_system);
  on(report("train001"), "be2").remote_port = second;
  on(report("train003"), "be2").remote_port = first;
  EXPECT_EQ(differences(), (Strings{"swapped train001 be2"}));
  EXPECT_EQ(only().confidence, Confidence::certain);
}

TEST_F(Live, TwoRailsOfAHostSwapped) {
  load(kEthernet);
  config::LldpReport& host = report("train002");
  std::swap(on(host, "be3").remote_system, on(host, "be4").remote_system);
  std::swap(on(host, "be3").remote_port, on(host, "be4").remote_port);
  EXPECT_EQ(differences(), (Strings{"swapped train002 be3"}));
  EXPECT_NE(only().message.find("(rails 3 and 4)"), std::string::npos) << only().message;
}

TEST_F(Live, OneCableOnTheWrongRail) {
  load(kEthernet);
  config::LldpReport& leaf = report("be-train-u001-leaf2");
  on(leaf, cluster_->port_name(cluster_->peer_of(port("train004:be2")))).remote_port = "be5";
  EXPECT_EQ(differences(), (Strings{"wrong-rail train004 be5"}));
  EXPECT_NE(only().message.find("rail 5 on a leaf of rail 2"), std::string::npos) << only().message;
}

TEST_F(Live, OneCableOnTheWrongFabric) {
  load(kEthernet);
  config::LldpReport& leaf = report("be-train-u001-leaf2");
  on(leaf, cluster_->port_name(cluster_->peer_of(port("train004:be2")))).remote_port = "sto1";
  EXPECT_EQ(differences(), (Strings{"wrong-fabric train004 sto1"}));
}

TEST_F(Live, ThreeRotatedCablesAreThreeMiswiredCables) {
  load(kEthernet);
  config::LldpReport& leaf = report("be-train-u001-leaf1");
  Strings ports;
  for (const char* host : {"train001:be1", "train002:be1", "train003:be1"}) {
    ports.push_back(cluster_->port_name(cluster_->peer_of(port(host))));
  }
  on(leaf, ports[0]).remote_system = "train002";
  on(leaf, ports[1]).remote_system = "train003";
  on(leaf, ports[2]).remote_system = "train001";
  Strings found = differences();
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (Strings{"miswired train001 be1", "miswired train002 be1", "miswired train003 be1"}));
}

TEST_F(Live, MissingUnknownAndUnplanned) {
  load(kEthernet);
  config::LldpReport& host = report("train001");
  std::erase_if(host.neighbors, [](const config::LldpNeighbor& n) { return n.local_port == "be7"; });
  report("be-train-u001-leaf7").neighbors.clear();
  config::LldpReport& leaf = report("be-train-u001-leaf1");
  on(leaf, cluster_->port_name(cluster_->peer_of(port("train002:be1")))).remote_system = "stranger";
  leaf.neighbors.push_back({"p30/1", "train003", "eth9", "", "", SourceLocation{file_, 1, 99}});
  const Strings found = differences();
  EXPECT_EQ(std::count(found.begin(), found.end(), "missing train001 be7"), 1);
  EXPECT_EQ(std::count(found.begin(), found.end(), "unplanned be-train-u001-leaf1 p30/1"), 1);
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](const std::string& s) { return s.starts_with("unknown"); }),
            1);
}

TEST_F(Live, ReportFromAnUnknownDeviceIsNamed) {
  load(kEthernet);
  config::LldpReport out;
  out.system = "lab7";
  out.file = file_;
  out.neighbors.push_back({"eth0", "train001", "be1", "", "", SourceLocation{file_, 1, 1}});
  set_.lldp.push_back(out);
  const Strings found = differences();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].substr(0, 14), "unknown-device");
}

TEST_F(Live, ContradictingReports) {
  load(kEthernet);
  report("be-train-u001-leaf2");
  config::LldpReport& host = report("train001");
  on(host, "be2").remote_port = cluster_->port_name(cluster_->peer_of(port("train002:be2")));
  EXPECT_EQ(differences(), (Strings{"disagreement train001 be2"}));
  EXPECT_EQ(only().confidence, Confidence::low);
}

TEST_F(Live, SilentHostIsANoteNotAMissingCable) {
  load(kEthernet);
  config::LldpReport& leaf = report("be-train-u001-leaf2");
  std::erase_if(leaf.neighbors, [](const config::LldpNeighbor& n) { return n.remote_system == "train004"; });
  EXPECT_EQ(differences(), (Strings{"silent train004 "}));
}

TEST_F(Live, HostsWithoutLldpAgentsAreNotReported) {
  load(kEthernet);
  config::LldpReport& leaf = report("be-train-u001-leaf2");
  std::erase_if(leaf.neighbors, [](const config::LldpNeighbor& n) { return n.remote_system.starts_with("train"); });
  EXPECT_EQ(differences(), Strings{});
  EXPECT_FALSE(comparison_->notes().empty());
}

TEST_F(Live, PortsKnownByAddressOnly) {
  load(kEthernet);
  // lldpd on Linux sends the MAC address as port id; the name is in the description, or missing.
  config::LldpReport& leaf = report("be-train-u001-leaf2");
  for (config::LldpNeighbor& n : leaf.neighbors) {
    if (!n.remote_system.starts_with("train")) continue;
    n.remote_port = "02:00:00:00:00:01";
    n.remote_system += ".example.org";
  }
  EXPECT_EQ(differences(), Strings{});
}

// InfiniBand ------------------------------------------------------------------------------------------------------

config::IbEnd adapter(int host, int number) { return {fmt::format("train{:03d} mlx5_{}", host, number), "", false, 1}; }

TEST_F(Live, InfiniBandPortNumbersOfTwinPortCages) {
  load(kInfiniBand);
  const LiveNames names(*cluster_, set_);
  // QM9700: two ports per cage, so ports 1 and 2 are cage 1, port 64 is the second of cage 32.
  const std::string leaf = cluster_->name_of(cluster_->port(cluster_->peer_of(port("train001:be1"))).device);
  const LiveEnd one = names.infiniband_end({leaf, "", true, 1});
  ASSERT_NE(one.port, model::kNone<model::PortId>);
  EXPECT_EQ(cluster_->port_name(one.port), "p1/1");
  const LiveEnd two = names.infiniband_end({"MF0;" + leaf + ":QM9700/U1", "", true, 2});
  ASSERT_NE(two.port, model::kNone<model::PortId>);
  EXPECT_EQ(cluster_->port_name(two.port), "p1/2");
  EXPECT_EQ(names.infiniband_end({leaf, "", true, 65}).port, model::kNone<model::PortId>);
  EXPECT_EQ(cluster_->port_name(names.infiniband_end(adapter(2, 3)).port), "be4");
  EXPECT_EQ(cluster_->port_name(names.infiniband_end({"train002 HCA-4", "", false, 1}).port), "be4");
  EXPECT_EQ(names.infiniband_end(adapter(2, 9)).port, model::kNone<model::PortId>);
}

TEST_F(Live, InfiniBandSweep) {
  load(kInfiniBand);
  config::IbFabric fabric;
  fabric.file = file_;
  std::map<std::string, int> number;
  for (const model::Cable& cable : cluster_->cables()) {
    if (cable.fabric != model::FabricKind::backend || cable.role != model::CableRole::host_leaf) continue;
    const model::Port& host = cluster_->port(cable.a);
    const model::Port& leaf = cluster_->port(cable.b);
    config::IbLink link;
    link.a = {fmt::format("{} mlx5_{}", cluster_->name_of(host.device), host.rail), "", false, 1};
    link.b = {cluster_->name_of(leaf.device), "", true, leaf.cage * 2 + leaf.lane / 4 + 1};
    link.width = "4x";
    link.speed = "NDR";
    link.place = SourceLocation{file_, 1, 1};
    fabric.links.push_back(link);
  }
  ASSERT_EQ(fabric.links.size(), 32U);
  set_.infiniband.push_back(fabric);
  // The sweep does not include uplinks, so the spines were not seen and their cables cannot be checked.
  EXPECT_EQ(differences(), Strings{});
  std::swap(set_.infiniband[0].links[0].a, set_.infiniband[0].links[9].a);
  set_.infiniband[0].links[20].speed = "HDR";
  const Strings found = differences();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].substr(0, 7), "swapped");
  EXPECT_EQ(found[1].substr(0, 11), "wrong-speed");
  EXPECT_EQ(only().confidence, Confidence::certain);
}

TEST_F(Live, InfiniBandSweepOfUnknownDevicesIsReported) {
  load(kInfiniBand);
  config::IbFabric fabric;
  fabric.file = file_;
  config::IbLink link;
  link.a = {"node01 mlx5_0", "", false, 1};
  link.b = {"MF0;leaf-1:MQM9700/U1", "", true, 1};
  link.place = SourceLocation{file_, 1, 1};
  fabric.links.push_back(link);
  set_.infiniband.push_back(fabric);
  const Strings found = differences();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].substr(0, 14), "unknown-device");
  // With one known end, the sweep belongs to this fabric.
  set_.infiniband[0].links[0].a = adapter(1, 0);
  for (const std::string& text : differences()) EXPECT_EQ(text.find("node01"), std::string::npos) << text;
}

// Hosts -----------------------------------------------------------------------------------------------------------

class LiveHosts : public Live {
 protected:
  // A host as planned, with kernel interface names that identify nothing.
  config::HostFacts good(const std::string& name) {
    config::HostFacts facts;
    facts.host = name;
    facts.file = file_;
    facts.place = SourceLocation{file_, 1, 1};
    const model::DeviceId id = cluster_->find_device(name);
    int bus = 0x10;
    for (const model::PortId own : cluster_->ports_of(id)) {
      const model::Port& port = cluster_->port(own);
      if (port.fabric == model::FabricKind::oob) continue;
      config::HostInterface interface;
      interface.name = fmt::format("enp{}s0", bus);
      interface.pci = fmt::format("0000:{:02x}:00.0", bus++);
      interface.physical = true;
      interface.state = "up";
      interface.speed_mbps = port.speed_mbps;
      interface.numa = port.rail / 4;
      interface.mtu = port.fabric == model::FabricKind::frontend  ? *cluster_->spec().fabrics->frontend->mtu
                      : port.fabric == model::FabricKind::storage ? *cluster_->spec().fabrics->storage->mtu
                                                                  : *cluster_->spec().fabrics->backend->mtu;
      if (port.fabric != model::FabricKind::frontend) interface.rdma_device = fmt::format("mlx5_{}", bus);
      if (port.fabric == model::FabricKind::backend) {
        interface.vfs = interface.vfs_max = 8;
        interface.gid_indices_rocev2 = {3};
      }
      if (port.address.bits != 0) {
        interface.addresses.push_back(port.address);
        interface.prefixes.push_back(cluster_->subnet(port.subnet).prefix);
      }
      facts.interfaces.push_back(std::move(interface));
    }
    for (int g = 0; g < 8; ++g) facts.gpus.push_back({fmt::format("0000:{:02x}:00.0", 0x80 + g), "H100", g / 4});
    return facts;
  }
  config::HostInterface& first() { return set_.hosts[0].interfaces[0]; }
};

TEST_F(LiveHosts, AsPlanned) {
  load(kEthernet);
  set_.hosts.push_back(good("train001"));
  EXPECT_EQ(differences(), Strings{});
}

TEST_F(LiveHosts, EachChangeIsASeparateDifference) {
  load(kEthernet);
  const struct {
    const char* expected;
    void (*change)(config::HostFacts&);
  } kCases[] = {
      {"link-down train001 be1", [](config::HostFacts& f) { f.interfaces[0].state = "down"; }},
      {"wrong-speed train001 be2", [](config::HostFacts& f) { f.interfaces[1].speed_mbps = 100'000; }},
      {"wrong-mtu train001 be3", [](config::HostFacts& f) { f.interfaces[2].mtu = 1500; }},
      {"wrong-address train001 be4", [](config::HostFacts& f) { f.interfaces[3].addresses[0].bits += 9; }},
      {"wrong-address train001 be5", [](config::HostFacts& f) { f.interfaces[4].prefixes[0].length = 16; }},
      {"default-route train001 be6", [](config::HostFacts& f) { f.interfaces[5].default_route = true; }},
      {"few-functions train001 be7", [](config::HostFacts& f) { f.interfaces[6].vfs = 0; }},
      {"lossy-pause train001 be8",
       [](config::HostFacts& f) {
         f.interfaces[7].pause_counters = {{"rx_prio7_pause", 1}};
       }},
      {"mixed-gids train001 be2", [](config::HostFacts& f) { f.interfaces[1].gid_indices_rocev2 = {5}; }},
      {"few-gpus train001 ", [](config::HostFacts& f) { f.gpus.pop_back(); }},
      {"few-ports train001 ", [](config::HostFacts& f) { f.interfaces.erase(f.interfaces.begin() + 8); }},
      {"strict-filter train001 be1",
       [](config::HostFacts& f) {
         f.sysctls = {{"net.ipv4.conf." + f.interfaces[0].name + ".rp_filter", "1"}};
       }},
      {"forwarding train001 be1",
       [](config::HostFacts& f) {
         f.sysctls = {{"net.ipv4.conf." + f.interfaces[0].name + ".forwarding", "1"}};
       }},
      {"extra-interface train001 eth77",
       [](config::HostFacts& f) {
         config::HostInterface extra;
         extra.name = "eth77";
         extra.physical = true;
         extra.state = "up";
         extra.speed_mbps = 10'000;
         f.interfaces.push_back(extra);
       }},
      {"unknown-device nobody ", [](config::HostFacts& f) { f.host = "nobody"; }},
  };
  for (const auto& c : kCases) {
    set_.hosts.clear();
    set_.hosts.push_back(good("train001"));
    const bool strict = std::string_view(c.expected).starts_with("strict");
    if (strict) set_.hosts[0].sysctls.clear();
    c.change(set_.hosts[0]);
    EXPECT_EQ(differences(), Strings{c.expected}) << c.expected;
  }
}

TEST_F(LiveHosts, PausesOnTheLosslessPriorityAreNotReported) {
  load(kEthernet);
  set_.hosts.push_back(good("train001"));
  const std::int64_t priority = *cluster_->spec().fabrics->backend->qos->priority;
  first().pause_counters = {{fmt::format("rx_prio{}_pause", priority), 10}, {"rx_prio7_pause_duration", 4}};
  EXPECT_EQ(differences(), Strings{});
}

TEST_F(LiveHosts, KernelNamesAreMappedToPortsByAddress) {
  load(kEthernet);
  set_.hosts.push_back(good("train001"));
  config::LldpReport& host = report("train001");
  for (config::LldpNeighbor& n : host.neighbors) {
    const model::PortId own = cluster_->find_port("train001:" + n.local_port);
    for (const config::HostInterface& i : set_.hosts[0].interfaces) {
      const bool same = !i.addresses.empty() && i.addresses[0] == cluster_->port(own).address;
      if (same) n.local_port = i.name;
    }
  }
  EXPECT_EQ(differences(), Strings{});
  std::swap(host.neighbors[0].local_port, host.neighbors[5].local_port);
  EXPECT_EQ(differences(), (Strings{"swapped train001 be1"}));
}

TEST_F(LiveHosts, HostWithoutFactsInAReportingPool) {
  load(kEthernet);
  for (const char* name : {"train001", "train002", "train004"}) set_.hosts.push_back(good(name));
  EXPECT_EQ(differences(), (Strings{"silent train003 "}));
}

TEST_F(LiveHosts, ClassifiesByNeighborAddressAndOrder) {
  load(kEthernet);
  config::HostFacts facts = good("train001");
  facts.interfaces[0].lldp_system = "be-train-u001-leaf1";
  facts.interfaces[0].lldp_port = cluster_->port_name(cluster_->peer_of(port("train001:be1")));
  for (std::size_t i = 2; i < 8; ++i) {
    facts.interfaces[i].addresses.clear();
    facts.interfaces[i].prefixes.clear();
  }
  config::HostInterface bmc;
  bmc.name = "usb0";
  bmc.driver = "cdc_ether";
  bmc.physical = true;
  bmc.state = "up";
  facts.interfaces.push_back(bmc);
  const auto guesses = classify(*cluster_, cluster_->find_device("train001"), facts);
  ASSERT_EQ(guesses.size(), facts.interfaces.size());
  EXPECT_EQ(guesses[0].confidence, GuessConfidence::certain);
  EXPECT_EQ(guesses[1].confidence, GuessConfidence::high);
  EXPECT_EQ(guesses[5].confidence, GuessConfidence::medium);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(cluster_->port_name(guesses[i].port), fmt::format("be{}", i + 1));
  EXPECT_FALSE(guesses.back().fabric);
  const auto alone = classify(facts);
  EXPECT_EQ(alone[0].fabric, model::FabricKind::backend);
  EXPECT_EQ(alone[8].fabric, model::FabricKind::storage);
  for (const InterfaceGuess& guess : alone) EXPECT_EQ(guess.confidence, GuessConfidence::low);
  EXPECT_FALSE(write(discover_document(facts, cluster_), {}).empty());
  EXPECT_NE(write(discover_document(facts, nullptr), {}).find("usb0"), std::string::npos);
}

// A host that reports names which the design lacks, without a host file: nothing says which interface is which rail.
TEST_F(Live, SaysThatPortsAreAssumed) {
  load(kEthernet);
  config::LldpReport& host = report("train001");
  for (config::LldpNeighbor& neighbor : host.neighbors) neighbor.local_port = "ens" + neighbor.local_port;
  std::swap(host.neighbors[0].local_port, host.neighbors[1].local_port);
  EXPECT_EQ(differences(), Strings{});
  const std::vector<std::string>& notes = comparison_->notes();
  const auto is_it = [](const std::string& note) { return note.find("of train001 are known by") != std::string::npos; };
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), is_it)) << testing::PrintToString(notes);
}

}  // namespace
}  // namespace weft::check
