// EOS files checked against a grammar of EOS commands that is independent of the renderer: every line of every section
// must match a form that the EOS User Manual documents (and that Arista's AVD collection writes); an unknown line, a
// line in the wrong section or wrong indentation fails. Then compared with the design, port by port.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "config/config_set.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_rendered::Edits;
using testing_rendered::load_example;
using testing_rendered::Rendering;

// Parts of patterns: numbers within their documented ranges as far as patterns can express them.
const std::map<std::string, std::string>& pieces() {
  static const std::map<std::string, std::string> all = {
      {"IP", R"((?:\d{1,3}\.){3}\d{1,3})"},
      {"NET", R"((?:\d{1,3}\.){3}\d{1,3}/\d{1,2})"},
      {"IP6", R"([0-9a-f:]+)"},
      {"NET6", R"([0-9a-f:]+/\d{1,3})"},
      {"N", R"(\d+)"},
      {"NAME", R"([A-Za-z0-9][A-Za-z0-9_.-]*)"},
      {"TEXT", R"([!-~](?: ?[!-~])*)"},
      {"SEC", R"(\d{1,2}(?:\.\d{1,3})?)"},
      {"VLANS", R"(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)"},
      {"PORT", R"(Ethernet\d+(?:/\d+)?)"},
      {"TC", R"([0-7])"},
      {"END", R"((?:any|host (?:\d{1,3}\.){3}\d{1,3}|(?:\d{1,3}\.){3}\d{1,3}/\d{1,2})(?: eq \d+)?)"},
  };
  return all;
}

struct Rule {
  const char* section;  // which block; "" for the top
  const char* line;     // with <PIECES>
};

const std::vector<Rule>& grammar() {
  static const std::vector<Rule> all = {
      {"", "service routing protocols model multi-agent"},
      {"", "hostname <NAME>"},
      {"", "ip name-server vrf <NAME> <IP>"},
      {"", "dns domain <NAME>"},
      {"", "logging trap (?:informational|warnings|errors)"},
      {"", "logging vrf <NAME> host <NAME>"},
      {"", "logging vrf <NAME> source-interface (?:Management1|Vlan<N>)"},
      {"", "ntp local-interface vrf <NAME> (?:Management1|Vlan<N>)"},
      {"", "ntp server vrf <NAME> <IP>"},
      {"", "spanning-tree mode (?:mstp|rstp|rapid-pvst)"},
      {"", "no spanning-tree vlan-id <VLANS>"},
      {"", "spanning-tree vlan-id <VLANS> priority <N>"},
      {"", "aaa authentication login default local"},
      {"", "aaa authorization exec default local"},
      {"", "qos map (?:dscp|cos)(?: <N>)+ to traffic-class <TC>"},
      {"", "priority-flow-control pause watchdog default (?:timeout|recovery-time|polling-interval) <SEC>"},
      {"", "priority-flow-control pause watchdog action (?:drop|no-drop)"},
      {"", "ip virtual-router mac-address (?:[0-9a-f]{2}:){5}[0-9a-f]{2}"},
      {"", "ip routing"},
      {"", "ip routing vrf <NAME>"},
      {"", "ip routing ipv6 interfaces vrf <NAME>"},
      {"", "ipv6 unicast-routing vrf <NAME>"},
      {"", "ip load-sharing trident [0-5]"},
      {"", "ip route vrf <NAME> <NET> Vlan<N> <IP>"},
      {"", "end"},
      {"", "qos profile <NAME>"},
      {"qos profile", "qos trust (?:dscp|cos)"},
      {"qos profile", "(?:uc-)?tx-queue <TC>"},
      {"qos profile", "priority-flow-control on"},
      {"qos profile", "priority-flow-control priority <TC> no-drop"},
      {"qos profile", "priority-flow-control pause watchdog"},
      {"qos profile>tx-queue", "no priority"},
      {"qos profile>tx-queue", "priority strict"},
      {"qos profile>tx-queue", "bandwidth percent (?:100|[1-9]?[0-9])"},
      {"qos profile>tx-queue",
       "random-detect ecn minimum-threshold <N> kbytes maximum-threshold <N> kbytes "
       "max-mark-probability (?:100|[1-9][0-9]?)"},
      {"", "vlan <N>"},
      {"vlan", "name <NAME>"},
      {"vlan", "trunk group <NAME>"},
      {"", "vrf instance <NAME>"},
      {"", "interface (?:<PORT>|Port-Channel<N>|Vlan<N>|Loopback<N>|Management<N>)"},
      {"interface", "description <TEXT>"},
      {"interface", "no shutdown"},
      {"interface", "mtu (?:[1-8]\\d{3}|9[01]\\d\\d|920\\d|921[0-4])"},
      {"interface", "speed (?:10g|25g|40g|50g-[12]|100g-[124]|200g-[248]|400g-[48]|800g-8)"},
      {"interface", "channel-group <N> mode active"},
      {"interface", "no switchport"},
      {"interface", "switchport"},
      {"interface", "switchport mode (?:access|trunk)"},
      {"interface", "switchport access vlan <N>"},
      {"interface", "switchport trunk allowed vlan <VLANS>"},
      {"interface", "switchport trunk group <NAME>"},
      {"interface", "vrf <NAME>"},
      {"interface", "no autostate"},
      {"interface", "ip address <NET>(?: secondary)?"},
      {"interface", "ipv6 address <NET6>"},
      {"interface", "ipv6 enable"},
      {"interface", "ip local-proxy-arp"},
      {"interface", "ip virtual-router address <IP>"},
      {"interface", "ipv6 virtual-router address <IP6>"},
      {"interface", "ip access-group <NAME> (?:in|out)"},
      {"interface", "spanning-tree portfast"},
      {"interface", "spanning-tree bpduguard enable"},
      {"interface", "service-profile <NAME>"},
      {"interface", "port-channel lacp fallback individual"},
      {"interface", "mlag <N>"},
      {"", "ip access-list <NAME>"},
      {"ip access-list", "counters per-entry"},
      {"ip access-list", "<N> remark <TEXT>"},
      {"ip access-list", "<N> (?:permit|deny) (?:ip|udp|tcp) <END> <END>(?: log)?"},
      {"", "ip prefix-list <NAME>"},
      {"ip prefix-list", "seq <N> permit <NET> ge <N>"},
      {"", "mlag configuration"},
      {"mlag configuration", "domain-id <NAME>"},
      {"mlag configuration", "local-interface Vlan<N>"},
      {"mlag configuration", "peer-address <IP>"},
      {"mlag configuration", "peer-address heartbeat <IP> vrf <NAME>"},
      {"mlag configuration", "peer-link Port-Channel<N>"},
      {"mlag configuration", "dual-primary detection delay <N> action errdisable all-interfaces"},
      {"mlag configuration", "reload-delay (?:mlag|non-mlag) <N>"},
      {"", "router bfd"},
      {"router bfd", "interval <N> min-rx <N> multiplier <N> default"},
      {"", "router bgp <N>"},
      {"router bgp", "router-id <IP>"},
      {"router bgp", "no bgp default ipv4-unicast"},
      {"router bgp", "neighbor <NAME> peer group"},
      {"router bgp", "neighbor <NAME> bfd"},
      {"router bgp", "neighbor <NAME> ebgp-multihop <N>"},
      {"router bgp", "vrf <NAME>"},
      {"router bgp>vrf", "router-id <IP>"},
      {"router bgp>vrf", "maximum-paths <N> ecmp <N>"},
      {"router bgp>vrf", "bgp listen range <NET> peer-group <NAME> remote-as <N>"},
      {"router bgp>vrf", "neighbor interface <PORT> peer-group <NAME> remote-as <N>"},
      {"router bgp>vrf", "neighbor <IP> peer group <NAME>"},
      {"router bgp>vrf", "neighbor <IP> remote-as <N>"},
      {"router bgp>vrf", "neighbor <IP> description <TEXT>"},
      {"router bgp>vrf", "address-family ipv[46]"},
      {"router bgp>vrf>address-family", "neighbor <NAME> activate"},
      {"router bgp>vrf>address-family", "neighbor <NAME> next-hop address-family ipv6 originate"},
      {"router bgp>vrf>address-family", "neighbor <NAME> prefix-list <NAME> in"},
      {"router bgp>vrf>address-family", "network (?:<NET>|<NET6>)"},
      {"", "management ssh"},
      {"management ssh", "idle-timeout <N>"},
      {"management ssh", "vrf <NAME>"},
      {"management ssh>vrf", "no shutdown"},
  };
  return all;
}

std::regex compiled(std::string pattern) {
  for (const auto& [name, text] : pieces()) {
    const std::string sign = "<" + name + ">";
    for (std::size_t at = pattern.find(sign); at != std::string::npos; at = pattern.find(sign)) {
      pattern.replace(at, sign.size(), "(?:" + text + ")");
    }
  }
  return std::regex(pattern);
}

const std::multimap<std::string, std::regex>& compiled_grammar() {
  static const auto all = [] {
    std::multimap<std::string, std::regex> out;
    for (const Rule& rule : grammar()) out.emplace(rule.section, compiled(rule.line));
    return out;
  }();
  return all;
}

// The name of a block in the grammar.
std::string block_of(const std::string& line) {
  static const char* kBlocks[] = {"qos profile",        "vlan",       "interface",  "ip access-list", "ip prefix-list",
                                  "mlag configuration", "router bfd", "router bgp", "management ssh", "vrf",
                                  "address-family"};
  if (line.find("tx-queue ") != std::string::npos) return "tx-queue";
  for (const char* block : kBlocks) {
    if (line.rfind(block, 0) == 0) return block;
  }
  return {};
}

void expect_grammar(const std::string& path, const std::string& text) {
  std::vector<std::string> open;  // blocks by depth
  std::istringstream lines(text);
  std::size_t number = 0;
  std::map<std::pair<std::string, std::string>, bool> known;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t indent = line.find_first_not_of(' ');
    ASSERT_NE(indent, std::string::npos) << path << ":" << number << ": an empty line";
    ASSERT_EQ(indent % 3, 0U) << path << ":" << number << ": " << line;
    const std::size_t depth = indent / 3;
    ASSERT_LE(depth, open.size()) << path << ":" << number << ": " << line;
    const std::string body = line.substr(indent);
    if (body == "!" || body.rfind("! ", 0) == 0) continue;
    open.resize(depth);
    std::string section;
    for (const std::string& block : open) section += (section.empty() ? "" : ">") + block;
    const auto [at, fresh] = known.emplace(std::pair(section, body), false);
    if (fresh) {
      const auto range = compiled_grammar().equal_range(section);
      for (auto rule = range.first; rule != range.second && !at->second; ++rule) {
        at->second = std::regex_match(body, rule->second);
      }
    }
    EXPECT_TRUE(at->second) << path << ":" << number << ": `" << body << "` is no line of [" << section << "]";
    if (const std::string block = block_of(body); !block.empty()) open.push_back(block);
  }
}

const Edits& arista() {
  static const Edits edits = {
      {"leaf: nexus-9332d-gx2b", "leaf: arista-7060dx5-64s"},
      {"system: nxos", "system: eos"},
      {"leaf: sn5600", "leaf: arista-7060x6-64pe"},
      {"system: cumulus", "system: eos"},
      {"frontend: {leaf: sn4600c, external: {links: 4}}", "frontend: {leaf: arista-7060dx5-64s, external: {links: 4}}"},
      {"spine: sn4600c", "spine: arista-7060dx5-64s"}};
  return edits;
}

struct Case {
  const char* name;
  Edits more;
  bool all_eos = true;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"oob_alone", {}, false},
      {"all_fabrics", {}},
      {"numbered", {{"    spines: 4\n", "    spines: 4\n    switch_links: numbered\n"}}},
      {"three_tiers", {{"    spines: 4\n", "    tiers: 3\n"}, {"    unit: 8\n", "    unit: 2\n"}}},
      {"dual_stack", {{"    spines: 4\n", "    spines: 4\n    ipv6: \"fd00:1::/48\"\n"}}},
      {"pairs",
       {{"frontend: {leaf: arista-7060dx5-64s, external: {links: 4}}",
         "frontend: {leaf: arista-7060dx5-64s, ipv6: \"fd00:3::/48\", tiers: 2, uplinks: 60}"}}},
      {"by_priority",
       {{"qos: {priority: 3, dscp: 26,", "qos: {trust: pcp, pfc_watchdog: false, priority: 3, dscp: 26,"}}},
  };
  return all;
}

class RenderedEos : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    Edits edits = GetParam().all_eos ? arista() : Edits();
    edits.insert(edits.end(), GetParam().more.begin(), GetParam().more.end());
    made_ = load_example("nexus8.yaml", edits);
    ASSERT_NE(made_, nullptr);
    made_->render("eos");
    ASSERT_FALSE(made_->sink.files.empty());
  }
  std::unique_ptr<Rendering> made_;
};

TEST_P(RenderedEos, EveryLineIsACommand) {
  for (const auto& [path, file] : made_->sink.files) expect_grammar(path, file.content);
}

// weft does not parse EOS: parsing it as NX-OS would produce false findings.
TEST_P(RenderedEos, IsNotTakenForAnotherSystem) {
  for (const auto& [path, file] : made_->sink.files)
    EXPECT_EQ(config::detect_kind(path, file.content), config::ConfigKind::unknown) << path;
}

using Blocks = std::map<std::string, std::set<std::string>>;  // interface: its lines

Blocks interfaces_of(const std::string& text) {
  Blocks out;
  std::string open;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.front() != ' ') open = line.rfind("interface ", 0) == 0 ? line.substr(10) : std::string();
    if (!open.empty() && line.front() == ' ') out[open].insert(line.substr(3));
  }
  return out;
}

// Ethernet7/5: by cage and first lane; single-lane cages have no second number.
std::string interface_of(const model::Cluster& cluster, model::PortId id) {
  const model::Port& port = cluster.port(id);
  std::uint32_t first = 0;
  for (const model::CageGroup& row : cluster.group_of(port.device).network_switch->cages.value) {
    const auto count = static_cast<std::uint32_t>(row.count.value);
    if (port.cage < first + count) {
      const std::string name = "Ethernet" + std::to_string(port.cage + 1);
      return row.lanes.value == 1 ? name : name + "/" + std::to_string(port.lane + 1);
    }
    first += count;
  }
  return {};
}

TEST_P(RenderedEos, EveryCabledPortIsAsDesigned) {
  const model::Cluster& cluster = made_->cluster();
  for (const auto& [path, file] : made_->sink.files) {
    SCOPED_TRACE(path);
    const Blocks blocks = interfaces_of(file.content);
    const model::DeviceId device = cluster.find_device(file.device);
    for (const model::PortId id : cluster.ports_of(device)) {
      if (cluster.port_name(id) == "mgmt") continue;
      const model::Port& port = cluster.port(id);
      const model::Port& far = cluster.port(cluster.peer_of(id));
      const auto found = blocks.find(interface_of(cluster, id));
      ASSERT_NE(found, blocks.end()) << cluster.full_port_name(id);
      const std::set<std::string>* lines = &found->second;
      EXPECT_EQ(
          lines->count("description " + cluster.name_of(far.device) + " " + cluster.port_name(cluster.peer_of(id))),
          1U);
      for (const std::string& line : *lines) {  // a member's VLANs are set on its port channel
        if (line.rfind("channel-group ", 0) != 0) continue;
        const auto bundle = blocks.find("Port-Channel" + line.substr(14, line.find(' ', 14) - 14));
        ASSERT_NE(bundle, blocks.end()) << line;
        lines = &bundle->second;
        break;
      }
      const model::CableRole role = cluster.cable(port.cable).role;
      if (role == model::CableRole::host_leaf) {
        const std::int64_t vlan = port.fabric == model::FabricKind::oob ? cluster.spec().fabrics->oob->vlan.value
                                                                        : cluster.subnet(far.subnet).vlan;
        EXPECT_EQ(lines->count("switchport access vlan " + std::to_string(vlan)), 1U) << found->first;
      }
      if (role == model::CableRole::leaf_spine || role == model::CableRole::spine_core) {
        EXPECT_EQ(lines->count("no switchport"), 1U) << found->first;
        const std::string as = " remote-as " + std::to_string(cluster.device(far.device).asn) + "\n";
        const std::string neighbor = port.address.bits != 0
                                         ? "neighbor " + to_text(far.address) + as
                                         : "neighbor interface " + found->first + " peer-group FABRIC" + as;
        EXPECT_NE(file.content.find(neighbor), std::string::npos) << neighbor;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Clusters, RenderedEos, ::testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

// One subnet on several pairs of leaves: hosts are announced individually, and the gateway answers ARP for them.
TEST(RenderedEosPairs, StretchedSubnet) {
  Edits edits = arista();
  edits.emplace_back("frontend: {leaf: arista-7060dx5-64s, external: {links: 4}}",
                     "frontend: {leaf: arista-7060dx5-64s, tiers: 2, uplinks: 60}");
  const auto made = load_example("nexus8.yaml", edits);
  made->render("eos");
  const model::Cluster& cluster = made->cluster();
  ASSERT_GT(cluster.fabric(model::FabricKind::frontend).leaves, 2U);
  std::size_t announced = 0;
  for (const auto& [path, file] : made->sink.files) {
    const model::DeviceGroup& group = cluster.group_of(cluster.find_device(file.device));
    if (group.fabric != model::FabricKind::frontend || group.tier != model::Tier::leaf) continue;
    EXPECT_NE(file.content.find("   ip local-proxy-arp\n"), std::string::npos) << path;
    EXPECT_EQ(file.content.find("network 10.20.50.0/24"), std::string::npos) << path;
    for (const model::PortId id : cluster.ports_of(cluster.find_device(file.device))) {
      const model::Port& far = cluster.port(cluster.peer_of(id));
      if (cluster.cable(cluster.cable_of(id)).role != model::CableRole::host_leaf ||
          far.fabric != model::FabricKind::frontend)
        continue;
      const std::string host = to_text(made->plan->frontend_address(far.device));
      EXPECT_NE(file.content.find("\nip route vrf frontend " + host + "/32 Vlan200 " + host + "\n"), std::string::npos);
      EXPECT_NE(file.content.find("         network " + host + "/32\n"), std::string::npos) << path << " " << host;
      ++announced;
    }
  }
  EXPECT_GT(announced, 20U);
}

// The grammar does reject lines.
TEST(EosGrammar, RejectsWhatEosWouldReject) {
  const auto matches = [](const std::string& section, const std::string& line) {
    const auto range = compiled_grammar().equal_range(section);
    return std::any_of(range.first, range.second,
                       [&](const auto& rule) { return std::regex_match(line, rule.second); });
  };
  EXPECT_TRUE(matches("interface", "mtu 9214"));
  EXPECT_FALSE(matches("interface", "mtu 9216"));
  EXPECT_FALSE(matches("", "mtu 9214"));
  EXPECT_FALSE(matches("interface", "vrf member red"));
  EXPECT_FALSE(matches("interface", "speed 400000"));
  EXPECT_FALSE(matches("interface", "description "));
  EXPECT_FALSE(matches("router bgp", "neighbor Ethernet1 remote-as 1"));
}

}  // namespace
}  // namespace weft
