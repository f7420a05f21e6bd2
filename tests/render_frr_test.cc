// The rendered underlay in operation: the real FRR in network namespaces, built by the rendered lab.sh. Sessions,
// equal-cost paths, reachability and the effect of a lost spine are compared with the compiled cluster, not with the
// configuration.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/test_prerequisites.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing_lab::Lab;
using testing_rendered::load_example;
using testing_rendered::load_rendering;
using testing_rendered::Rendering;

// Two spines, two units of two rails: four leaves, numbered links.
constexpr const char* kSmall = R"(weft: 1
name: bench
pools:
  - {name: train, role: training, server: hgx-h100, count: 4, unit: 2, links: {backend: 2}}
  - {name: store, role: storage, server: storage-nvme-2u, count: 2, racks: service}
fabrics:
  backend: {leaf: sn5600, speed: 400G, wiring: rail-optimized, spines: 2, uplinks: 4, switch_links: numbered}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c}
  oob: {}
)";

enum class Probe { tcp, jumbo };

// Whether a packet from `from` in a namespace reaches `to` and the reply returns: a refused connection counts as a
// reply. The jumbo probe is a datagram of 8,900 bytes with don't-fragment set (the hosts' MTU is 9000).
bool reaches(const std::string& space, Ipv4 from, Ipv4 to, Probe probe = Probe::tcp, int milliseconds = 1500) {
  bool reached = false;
  std::thread([&] {
    const int where = ::open(("/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC);
    if (where < 0 || ::setns(where, CLONE_NEWNET) != 0) return;
    ::close(where);
    const int type = probe == Probe::tcp ? SOCK_STREAM : SOCK_DGRAM;
    const int socket = ::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const auto address = [](Ipv4 ip, std::uint16_t port) {
      sockaddr_in out{};
      out.sin_family = AF_INET;
      out.sin_port = htons(port);
      out.sin_addr.s_addr = htonl(ip.bits);
      return out;
    };
    const sockaddr_in local = address(from, 0);
    const sockaddr_in remote = address(to, 9);
    const int whole = IP_PMTUDISC_DO;
    ::setsockopt(socket, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
    int code = ::bind(socket, reinterpret_cast<const sockaddr*>(&local), sizeof local);
    if (code == 0) code = ::connect(socket, reinterpret_cast<const sockaddr*>(&remote), sizeof remote);
    if (probe == Probe::jumbo && code == 0) {
      const std::string packet(8900, 'x');
      code = static_cast<int>(::send(socket, packet.data(), packet.size(), 0));
    }
    if (code >= 0 || errno == EINPROGRESS) {
      pollfd waiting{socket, static_cast<short>(probe == Probe::tcp ? POLLOUT : POLLIN), 0};
      ::poll(&waiting, 1, milliseconds);
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
      reached = error == ECONNREFUSED;
    }
    ::close(socket);
  }).join();
  return reached;
}

class RenderFrr : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"ip", "vtysh", "bash"}) {
      WEFT_NEEDS_PROGRAM(program);
    }
    WEFT_NEEDS_PROGRAM("/usr/lib/frr/bgpd");
  }
  void TearDown() override {
    if (up_) (void)lab_.run({"bash", script(), "down", "--prefix", prefix_}, 30);
  }
  [[nodiscard]] std::string script() const { return (lab_.folder() / "frr/lab.sh").string(); }

  void bring_up(Rendering& rendering, const testing_lab::Words& options) {
    rendering.render("frr");
    rendering.write_to(lab_.folder());
    testing_lab::Words words = {"bash", script(), "up", "--prefix", prefix_, "--wait", "40"};
    words.insert(words.end(), options.begin(), options.end());
    up_ = true;
    const auto outcome = lab_.run(words, 60, true);
    ASSERT_EQ(outcome.code, 0) << outcome.out;
  }
  [[nodiscard]] std::string space(const std::string& device) const { return prefix_ + "-" + device; }
  Json ask(const std::string& device, const std::string& question) {
    return Json::parse(lab_.run({"vtysh", "-N", space(device), "-c", question}).out, nullptr, false);
  }
  // Established sessions of a switch, by interface or address.
  std::set<std::string> established(const std::string& device) {
    const Json all = ask(device, "show bgp ipv4 unicast summary json");
    std::set<std::string> up;
    if (!all.is_object() || !all.contains("peers")) return up;
    for (const auto& [name, peer] : all.at("peers").items()) {
      if (peer.at("state") == "Established") up.insert(name);
    }
    return up;
  }
  // Next hops of a prefix in the kernel.
  std::size_t next_hops(const std::string& device, const Ipv4Prefix& prefix) {
    const Json routes =
        Json::parse(lab_.run({"ip", "-j", "-n", space(device), "route", "show", to_text(prefix)}).out, nullptr, false);
    if (!routes.is_array() || routes.empty()) return 0;
    const Json& route = routes.front();
    if (!route.contains("nexthops")) return 1;
    std::size_t alive = 0;
    for (const Json& hop : route.at("nexthops")) {
      bool dead = false;
      for (const Json& flag : hop.at("flags")) dead = dead || flag == "linkdown" || flag == "dead";
      alive += dead ? 0U : 1U;
    }
    return alive;
  }
  std::size_t routes(const std::string& device) {
    const Json all = ask(device, "show bgp ipv4 unicast json");
    return all.is_object() && all.contains("routes") ? all.at("routes").size() : 0;
  }
  void stop_daemons(const std::string& device) {
    std::istringstream list(lab_.run({"ip", "netns", "pids", space(device)}).out);
    for (pid_t pid = 0; list >> pid;) ::kill(pid, SIGKILL);
  }

  Lab lab_{"frr"};
  std::string prefix_ = fmt::format("weft{}", ::getpid());
  bool up_ = false;
};

const model::Port& port_of(const model::Cluster& cluster, const std::string& name) {
  const model::PortId id = cluster.find_port(name);
  EXPECT_NE(id, model::kNone<model::PortId>) << name;
  return cluster.port(id);
}

TEST_F(RenderFrr, EveryConfigurationIsAccepted) {
  for (const char* example : {"pod16.yaml", "nexus8.yaml", "superpod-h100-4su.yaml"}) {
    const auto rendering = load_example(example);
    ASSERT_NE(rendering, nullptr);
    rendering->render("frr");
    rendering->write_to(lab_.folder());
    int accepted = 0;
    for (const auto& [path, file] : rendering->sink.files) {
      if (!path.ends_with("frr.conf")) continue;
      const auto outcome = lab_.run({"vtysh", "-C", "-f", path}, 20, true);
      EXPECT_EQ(outcome.code, 0) << path << ": " << outcome.out;
      ++accepted;
    }
    EXPECT_GT(accepted, 2) << example;
  }
}

TEST_F(RenderFrr, ContainerlabTopologyFitsItsSchema) {
  const std::string schema = testing_rendered::test_data_path("schemas/containerlab/clab.schema.json");
  WEFT_NEEDS_DATA("schemas/containerlab/clab.schema.json");
  WEFT_NEEDS_PYTHON("jsonschema, yaml");
  const auto rendering = load_example("pod16.yaml");
  ASSERT_NE(rendering, nullptr);
  rendering->render("frr");
  rendering->write_to(lab_.folder());
  lab_.put("check.py", R"(import json, sys, yaml, jsonschema, collections
topology = yaml.safe_load(open('frr/topology.clab.yml'))
# Without checking the schema itself: it has patterns (\p) that Python's regular expressions do not know.
errors = [e.message for e in jsonschema.Draft7Validator(json.load(open(sys.argv[1]))).iter_errors(topology)]
assert not errors, errors[:5]
ends = collections.Counter(e for link in topology['topology']['links'] for e in link['endpoints'])
assert max(ends.values()) == 1, 'a port with two cables'
nodes = topology['topology']['nodes']
assert all(e.split(':')[0] in nodes and len(e.split(':')[1]) <= 15 for e in ends)
print(len(topology['topology']['links']))
)");
  const auto outcome = lab_.run({python_with("jsonschema, yaml"), "check.py", schema}, 60, true);
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const model::FabricPlan& backend = rendering->cluster().fabric(model::FabricKind::backend);
  const model::FabricPlan& storage = rendering->cluster().fabric(model::FabricKind::storage);
  EXPECT_EQ(std::stoul(outcome.out), backend.host_links + backend.leaf_spine_links + storage.host_links);
}

TEST_F(RenderFrr, SmallFabricRoutesAroundADeadSpine) {
  const auto rendering = load_rendering(kSmall);
  ASSERT_NE(rendering, nullptr);
  const model::Cluster& cluster = rendering->cluster();
  const model::FabricPlan& plan = cluster.fabric(model::FabricKind::backend);
  ASSERT_EQ(plan.leaves, 4U);
  ASSERT_EQ(plan.spines, 2U);
  WEFT_NEEDS_ROOT();
  WEFT_NEEDS(lab_.can_make_networks(), "network namespaces");
  ASSERT_NO_FATAL_FAILURE(bring_up(*rendering, {}));

  // Every leaf-spine cable is a session, seen from both ends, with the far port's address.
  std::map<std::string, std::set<std::string>> designed;
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.role != model::CableRole::leaf_spine || cable.fabric != model::FabricKind::backend) continue;
    const model::Port& a = cluster.port(cable.a);
    const model::Port& b = cluster.port(cable.b);
    designed[cluster.name_of(a.device)].insert(to_text(b.address));
    designed[cluster.name_of(b.device)].insert(to_text(a.address));
  }
  ASSERT_EQ(designed.size(), 6U);
  for (const auto& [device, peers] : designed) EXPECT_EQ(established(device), peers) << device;

  // A leaf has all paths to the other leaves' subnets and only subnets and loopbacks of this fabric.
  const model::Port& source = port_of(cluster, "train001:be1");
  const model::Port& target = port_of(cluster, "train004:be2");
  const Ipv4Prefix remote = cluster.subnet(target.subnet).prefix;
  const std::string leaf = cluster.name_of(cluster.port(cluster.peer_of(cluster.find_port("train001:be1"))).device);
  const std::size_t ways = std::size_t{plan.spines} * plan.links_per_spine;
  EXPECT_TRUE(Lab::wait(10, [&] { return next_hops(leaf, remote) == ways; })) << next_hops(leaf, remote);
  EXPECT_TRUE(Lab::wait(5, [&] { return routes(leaf) == 4U + 6U; })) << routes(leaf);
  EXPECT_EQ(lab_.run({"ip", "-n", space(leaf), "route", "show", "default"}).out, "");

  const std::string host = space("train001");
  EXPECT_TRUE(Lab::wait(5, [&] { return reaches(host, source.address, target.address); }));
  EXPECT_TRUE(reaches(host, source.address, target.address, Probe::jumbo));
  // Storage is a separate network: the backend has no route to it, and its leaf has no route to the backend.
  const model::Port& store = port_of(cluster, "store001:sto1");
  ASSERT_TRUE(reaches(space("train001"), port_of(cluster, "train001:sto1").address, store.address));
  EXPECT_FALSE(reaches(host, source.address, store.address, Probe::tcp, 500));
  EXPECT_FALSE(reaches(space("store001"), store.address, source.address, Probe::tcp, 500));

  // A spine fails silently: BFD detects it, the rest keeps working. Then its links are cut too.
  const auto spine = cluster.find_device("be-spine001");
  ASSERT_NE(spine, model::kNone<model::DeviceId>);
  stop_daemons("be-spine001");
  EXPECT_TRUE(Lab::wait(5, [&] { return next_hops(leaf, remote) == ways / 2; })) << next_hops(leaf, remote);
  int sessions = 0;
  for (const model::PortId id : cluster.ports_of(spine)) {
    const model::PortId peer = cluster.peer_of(id);
    if (cluster.port(peer).address == Ipv4{}) continue;
    ++sessions;
    EXPECT_EQ(established(cluster.name_of(cluster.port(peer).device)).count(to_text(cluster.port(id).address)), 0U);
  }
  EXPECT_GT(sessions, 0);
  EXPECT_TRUE(reaches(host, source.address, target.address));
}

// A frontend with two tiers: one subnet over all leaves, stretched by EVPN over the routed links.
TEST_F(RenderFrr, StretchedFrontendConnectsHostsOfDifferentLeaves) {
  const auto rendering = load_example("superpod-h100-4su.yaml");
  ASSERT_NE(rendering, nullptr);
  const model::Cluster& cluster = rendering->cluster();
  WEFT_NEEDS_ROOT();
  WEFT_NEEDS(lab_.can_make_networks(), "network namespaces");
  ASSERT_NO_FATAL_FAILURE(bring_up(*rendering, {"--fabric", "frontend", "--hosts", "1"}));
  std::map<std::string, Ipv4> hosts;  // one per leaf with hosts
  std::set<std::string> seen;
  for (const model::Cable& cable : cluster.cables()) {
    const model::Port& port = cluster.port(cable.a);
    const bool host = cable.role == model::CableRole::host_leaf && port.fabric == model::FabricKind::frontend;
    if (!host || port.address == Ipv4{}) continue;
    const std::string& leaf = cluster.name_of(cluster.port(cable.b).device);
    const std::string& name = cluster.name_of(port.device);
    if (std::filesystem::exists("/run/netns/" + space(name)) && seen.insert(leaf).second) hosts[name] = port.address;
  }
  ASSERT_GE(hosts.size(), 2U);
  const auto first = *hosts.begin();
  for (const auto& host : hosts) {
    if (host.first == first.first) continue;
    EXPECT_TRUE(Lab::wait(10, [&] { return reaches(space(first.first), first.second, host.second); })) << host.first;
  }
  // The hosts' subnet itself is not routed: only loopbacks of the six leaves and two spines are announced.
  const model::FabricPlan& plan = cluster.fabric(model::FabricKind::frontend);
  EXPECT_EQ(routes("fe-leaf001a"), std::size_t{plan.leaves} + plan.spines);
}

TEST_F(RenderFrr, SliceOfPod16RecoversFromALinkFlap) {
  const auto rendering = load_example("pod16.yaml");
  ASSERT_NE(rendering, nullptr);
  const model::Cluster& cluster = rendering->cluster();
  const model::FabricPlan& plan = cluster.fabric(model::FabricKind::backend);
  WEFT_NEEDS_ROOT();
  WEFT_NEEDS(lab_.can_make_networks(), "network namespaces");
  ASSERT_NO_FATAL_FAILURE(
      bring_up(*rendering, {"--fabric", "backend", "--unit", "train-u001", "--rails", "1,2", "--hosts", "2"}));

  // Unnumbered sessions are named after the leaf's own ports.
  const std::string leaf = "be-train-u001-leaf1";
  std::set<std::string> uplinks;
  for (const model::PortId id : cluster.ports_of(cluster.find_device(leaf))) {
    if (cluster.cable(cluster.cable_of(id)).role != model::CableRole::leaf_spine) continue;
    std::string name = cluster.port_name(id);
    if (const std::size_t slash = name.find('/'); slash != std::string::npos) name[slash] = '-';
    uplinks.insert(name);
  }
  ASSERT_EQ(uplinks.size(), std::size_t{plan.spines} * plan.links_per_spine);
  EXPECT_EQ(established(leaf), uplinks);
  const Ipv4Prefix remote = cluster.subnet(port_of(cluster, "train002:be2").subnet).prefix;
  EXPECT_TRUE(Lab::wait(10, [&] { return next_hops(leaf, remote) == uplinks.size(); })) << next_hops(leaf, remote);
  const Ipv4 source = port_of(cluster, "train001:be1").address;
  const Ipv4 target = port_of(cluster, "train002:be2").address;
  EXPECT_TRUE(Lab::wait(5, [&] { return reaches(space("train001"), source, target, Probe::jumbo); }));

  const auto set_links = [&](const std::string& state) {
    std::string batch;
    for (const model::PortId id : cluster.ports_of(cluster.find_device("be-spine001"))) {
      const std::string far = cluster.name_of(cluster.port(cluster.peer_of(id)).device);
      if (far != leaf && far != "be-train-u001-leaf2") continue;
      std::string name = cluster.port_name(id);
      if (const std::size_t slash = name.find('/'); slash != std::string::npos) name[slash] = '-';
      batch += fmt::format("link set {} {}\n", name, state);
    }
    lab_.put("links", batch);
    EXPECT_EQ(lab_.run({"ip", "-n", space("be-spine001"), "-batch", "links"}).code, 0);
  };
  set_links("down");
  const std::size_t left = uplinks.size() - plan.links_per_spine;
  EXPECT_TRUE(Lab::wait(5, [&] { return next_hops(leaf, remote) == left; })) << next_hops(leaf, remote);
  EXPECT_TRUE(Lab::wait(5, [&] { return reaches(space("train001"), source, target); }));
  set_links("up");
  EXPECT_TRUE(Lab::wait(20, [&] { return next_hops(leaf, remote) == uplinks.size(); })) << next_hops(leaf, remote);
  EXPECT_TRUE(reaches(space("train001"), source, target));
}

}  // namespace
}  // namespace weft
