// LV: what runs against what was designed. Each rule prints one kind of difference of the LiveComparison.
#include <fmt/format.h>

#include <map>
#include <set>

#include "base/host_range.h"
#include "check/core/rule.h"
#include "check/live/comparison.h"

namespace weft::check {
namespace {

constexpr std::size_t kMaxEach = 200;   // findings of a kind whose members all differ
constexpr std::size_t kMaxRelated = 5;  // further places of a finding that stands for many

std::string_view confidence_text(Confidence confidence) {
  switch (confidence) {
    case Confidence::certain:
      return "certain: both ends, or the device itself, say so";
    case Confidence::likely:
      return "likely: one end says so";
    case Confidence::low:
      break;
  }
  return "low confidence: inferred, or reports disagree";
}

Finding& add_one(const LiveDifference& difference, Report& report) {
  Finding& finding = report.add(difference.device, difference.place, difference.message);
  finding.related = difference.related;
  finding.related.push_back({{}, std::string(confidence_text(difference.confidence))});
  return finding;
}

// Many ports with the same thing wrong are one finding.
void add_group(const std::vector<const LiveDifference*>& group, Report& report) {
  if (group.size() == 1) {
    add_one(*group.front(), report);
    return;
  }
  std::set<std::string> devices;
  bool ports = false;
  for (const LiveDifference* difference : group) {
    devices.insert(difference->device);
    ports = ports || !difference->port.empty();
  }
  const std::string subject = fold_hosts({devices.begin(), devices.end()});
  const std::string who = ports ? fmt::format("{} ports of {}: each", group.size(), subject)
                                : fmt::format("{} devices, {}: each", group.size(), subject);
  Finding& finding = report.add(subject, group.front()->place, fmt::format("{} {}", who, group.front()->what));
  for (std::size_t i = 1; i < group.size() && i <= kMaxRelated; ++i) {
    finding.related.push_back({group[i]->place, group[i]->message});
  }
  finding.related.push_back({{}, std::string(confidence_text(group.front()->confidence))});
}

void report_kind(const CheckInput& input, Report& report, LiveKind kind) {
  std::map<std::string, std::vector<const LiveDifference*>> groups;
  std::size_t each = 0;
  for (const LiveDifference& difference : input.comparison().differences()) {
    if (difference.kind != kind) continue;
    if (!difference.what.empty()) {
      groups[difference.what].push_back(&difference);
    } else if (++each <= kMaxEach) {
      add_one(difference, report);
    }
  }
  for (const auto& [what, group] : groups) add_group(group, report);
  if (each <= kMaxEach) return;
  report.add(input.cluster().name(), {}, fmt::format("{} more of this kind are not listed", each - kMaxEach));
}

template <LiveKind Kind>
void report_of(const CheckInput& input, Report& report) {
  report_kind(input, report, Kind);
}

void report_silent(const CheckInput& input, Report& report) {
  if (input.live()) report_kind(input, report, LiveKind::silent);
}

constexpr std::string_view kTable = "running/be-train-u001-leaf2.lldp";
constexpr std::string_view kNeighbors = "running/train001.lldp.json";
constexpr std::string_view kSwitch = "running/be-train-u001-leaf1.json";
constexpr std::string_view kLeafOob = "running/oob-leaf001.cfg";
constexpr std::string_view kHost = "running/train001.host.json";

std::vector<Rule> wiring_rules() {  // NOLINT(readability-function-size): a table
  return {
      {"LV001",
       Severity::error,
       RuleNeeds::live,
       "two cables are swapped",
       "Each of the two links comes up and every light is green, but rails mix, routing expects other neighbours and a "
       "fault is later sought on the wrong cable.",
       "IEEE 802.1AB; NVIDIA Cumulus Linux, Prescriptive Topology Manager",
       "exchange the two plugs at one side",
       {kTable, "Ethernet4    train002      be2           R           be2\nEthernet8    train003 ",
        "Ethernet4    train003      be2           R           be2\nEthernet8    train002 "},
       report_of<LiveKind::swapped>},
      {"LV002",
       Severity::error,
       RuleNeeds::live,
       "a cable goes to another port than planned",
       "Configuration, addresses and fault reports follow the plan: what is cabled otherwise gets the wrong ones.",
       "IEEE 802.1AB; NVIDIA Cumulus Linux, Prescriptive Topology Manager",
       "move the plug, or lay it down under `cables` of the cluster file if it is to stay",
       {kTable, "Ethernet448  be-spine001   Ethernet16 ", "Ethernet448  be-spine001   Ethernet400"},
       report_of<LiveKind::miswired>},
      {"LV003",
       Severity::error,
       RuleNeeds::live,
       "a host's port is cabled to a leaf of another rail",
       "Rail-optimized fabrics carry the traffic of GPU i on rail i without crossing a spine; one plug on the wrong "
       "rail sends that traffic through the spines and slows every collective the host takes part in.",
       "NVIDIA, rail-optimized topologies for DGX SuperPOD",
       "plug the cable into the leaf of its own rail",
       {kTable, "Ethernet16   train005      be2 ", "Ethernet16   train005      be3 "},
       report_of<LiveKind::wrong_rail>},
      {"LV004",
       Severity::error,
       RuleNeeds::live,
       "a port is cabled to another fabric",
       "The four fabrics are separate so that none can hurt another; a cable between two of them ends that.",
       "weft: four fabrics, physically separate",
       "plug the cable into its own fabric",
       {kTable, "Ethernet20   train006      be2 ", "Ethernet20   train006      sto1"},
       report_of<LiveKind::wrong_fabric>},
      {"LV005",
       Severity::error,
       RuleNeeds::live,
       "a planned cable is not there",
       "The device at one end lists its neighbours and this one is not among them, while the other end is alive: the "
       "cable is unplugged, dead, or its port is down.",
       "IEEE 802.1AB",
       "plug it in, or look at the port and the optics at both ends",
       {kTable, "Ethernet508  be-spine004   Ethernet28    BR          to be-train-u001-leaf2\n", ""},
       report_of<LiveKind::missing>},
      {"LV006",
       Severity::warning,
       RuleNeeds::live,
       "something that the design does not have is there",
       "A neighbour, a report or a host under a name that the cluster file does not know: a stranger on a fabric, or a "
       "device that still has its old name.",
       "IEEE 802.1AB",
       "name the device as the design does, add it to the cluster file, or unplug it",
       {kTable, "Ethernet24   train007 ", "Ethernet24   lab-box7 "},
       report_of<LiveKind::unknown_device>},
      {"LV007",
       Severity::warning,
       RuleNeeds::live,
       "a cable is on a port that the plan leaves free",
       "A link that nobody planned is not configured, not watched, and may close a loop.",
       "IEEE 802.1AB",
       "unplug it, or put it into the cluster file",
       {kTable, "Ethernet508  be-spine004   Ethernet28    BR          to be-train-u001-leaf2\n",
        "Ethernet508  be-spine004   Ethernet28    BR          to be-train-u001-leaf2\n"
        "Ethernet72   be-spine004   Ethernet400   BR          spare\n"},
       report_of<LiveKind::unplanned>},
      {"LV008",
       Severity::warning,
       RuleNeeds::live,
       "two reports contradict each other about a port",
       "A port has one cable. When reports give it two, one of them is old (LLDP keeps neighbours for two minutes) or "
       "something between the two passes LLDP frames on.",
       "IEEE 802.1AB, 9.2.5: neighbours live for txTTL",
       "collect the reports again at one time, then compare once more",
       {kNeighbors, R"("ifname", "value": "Ethernet0"}, "descr": "train001 be2")",
        R"("ifname", "value": "Ethernet4"}, "descr": "train001 be2")"},
       report_of<LiveKind::disagreement>},
  };
}

std::vector<Rule> link_rules() {  // NOLINT(readability-function-size): a table
  return {
      {"LV009",
       Severity::error,
       RuleNeeds::live,
       "a link runs at another speed than planned",
       "One slow port sets the pace of every collective that its host takes part in; a speed that is not the planned "
       "one mostly means a wrong or failing cable, a lost lane or a forced setting.",
       "InfiniBand and Ethernet training: lanes are dropped when they fail",
       "look at the optics and lanes of the link, then at speed and FEC settings of both ends",
       {kHost, R"("0000:5e:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 400000)",
        R"("0000:5e:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 200000)"},
       report_of<LiveKind::wrong_speed>},
      {"LV010",
       Severity::error,
       RuleNeeds::live,
       "a planned port of a host is down",
       "Jobs that span the host lose a rail, or do not start.",
       "Linux, Documentation/networking/operstates",
       "look at cable, optics and the switch port",
       {kHost, R"("0000:9c:00.0", "pci_device": "15b3:1021", "state": "up")",
        R"("0000:9c:00.0", "pci_device": "15b3:1021", "state": "down")"},
       report_of<LiveKind::link_down>},
      {"LV011",
       Severity::error,
       RuleNeeds::live,
       "a host's port has another MTU than its fabric",
       "Ends that differ in MTU lose what is too large without a word: RDMA picks the smaller path MTU and slows down, "
       "TCP hangs.",
       "InfiniBand Trade Association, RoCE v2; Linux networking",
       "set the MTU of the fabric on the interface",
       {kHost, R"("0000:bc:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 400000, "mtu": 9000)",
        R"("0000:bc:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 400000, "mtu": 1500)"},
       report_of<LiveKind::wrong_mtu>},
      {"LV012",
       Severity::error,
       RuleNeeds::live,
       "a host's port has another address than planned",
       "Peers, access lists and job launchers use the planned address; two hosts may end up with the same one.",
       "weft: the address plan of the cluster file",
       "give the interface its planned address and prefix length",
       {kHost, R"("10.66.0.2/26")", R"("10.66.0.29/26")"},
       report_of<LiveKind::wrong_address>},
      {"LV013",
       Severity::error,
       RuleNeeds::live,
       "a host has a default route on a fabric that is to have none",
       "Traffic to anywhere then leaves by the backend or storage fabric: it crowds out training and joins networks "
       "that are to be separate.",
       "weft: only the frontend leads out",
       "remove the gateway from that interface",
       {kHost, R"("addresses": ["10.67.0.2/26"],)", R"("addresses": ["10.67.0.2/26"], "default_route": true,)"},
       report_of<LiveKind::default_route>},
      {"LV014",
       Severity::warning,
       RuleNeeds::live,
       "a host has an interface that nobody planned",
       "An interface that is up and in no plan is a way in or out that no rule watches, often a cable left from "
       "installation.",
       "weft: every port is in the cluster file",
       "take it down, or add it to the cluster file",
       {kHost, R"("driver": "cdc_ether")", R"("driver": "ixgbe", "speed_mbps": 10000)"},
       report_of<LiveKind::extra_interface>},
  };
}

std::vector<Rule> host_state_rules() {  // NOLINT(readability-function-size): a table
  return {
      {"LV015",
       Severity::error,
       RuleNeeds::live,
       "a host has fewer GPUs than planned",
       "A GPU that fell off the bus leaves its host unable to run the jobs it is counted for.",
       "NVIDIA, XID 79: GPU has fallen off the bus",
       "drain the host, reset or replace the GPU",
       {kHost, "    {\"pci\": \"0000:4e:00.0\", \"name\": \"NVIDIA H100 80GB HBM3\", \"numa\": 0},\n", ""},
       report_of<LiveKind::few_gpus>},
      {"LV016",
       Severity::error,
       RuleNeeds::live,
       "a host has fewer network ports than planned",
       "A missing adapter is a missing rail: its GPU sends over another's.",
       "weft: the port plan of the cluster file",
       "reseat or replace the adapter, and look whether its driver is loaded",
       {kHost, R"("physical": true, "rdma_device": "mlx5_9", "link_layer": "Ethernet")",
        R"("physical": true, "virtual_function": true, "rdma_device": "mlx5_9", "link_layer": "Ethernet")"},
       report_of<LiveKind::few_ports>},
      {"LV017",
       Severity::warning,
       RuleNeeds::live,
       "a backend port has fewer virtual functions than pods need",
       "A pod without a virtual function on some rail stays pending, or runs on fewer rails than its peers.",
       "sriov-network-operator: numVfs; NVIDIA Network Operator",
       "set numVfs in the policy of the port",
       {kHost, R"("vfs": 8, "vfs_max": 16, "physical": true, "rdma_device": "mlx5_6")",
        R"("vfs": 0, "vfs_max": 16, "physical": true, "rdma_device": "mlx5_6")"},
       report_of<LiveKind::few_functions>},
      {"LV018",
       Severity::warning,
       RuleNeeds::live,
       "RoCE v2 addresses are at different GID indices",
       "Jobs are given one GID index for all ranks. Where it means another entry on some port, that port talks RoCE "
       "v1, "
       "or not at all.",
       "NCCL: NCCL_IB_GID_INDEX; Linux RDMA, gid_attrs/types",
       "give all ports the same number of addresses (IPv6 ones too), or leave the index to NCCL 2.21 and later",
       {kHost, R"("tx_prio3_pause": 332}, "gid_indices_rocev2": [3])",
        R"("tx_prio3_pause": 332}, "gid_indices_rocev2": [5])"},
       report_of<LiveKind::mixed_gids>},
      {"LV019",
       Severity::warning,
       RuleNeeds::live,
       "reverse path filtering is strict on a port of several rails",
       "With several ports of a host in one routed fabric, an answer may come in by another port than the one the "
       "kernel would send by; strict filtering drops it.",
       "RFC 3704; Linux, Documentation/networking/ip-sysctl: rp_filter",
       "set rp_filter to 2 (loose) on these ports",
       {kHost, R"("net.ipv4.conf.enp77s0np0.rp_filter": "2")", R"("net.ipv4.conf.enp77s0np0.rp_filter": "1")"},
       report_of<LiveKind::strict_filter>},
      {"LV020",
       Severity::error,
       RuleNeeds::live,
       "a host forwards packets on the backend or storage fabric",
       "A host that routes joins the fabrics it is on: whoever reaches its frontend address can reach the backend. "
       "Kubernetes needs forwarding, but not on these interfaces.",
       "Linux, Documentation/networking/ip-sysctl: conf/*/forwarding",
       "set net.ipv4.conf.INTERFACE.forwarding=0 on backend and storage ports",
       {kHost, R"("net.ipv4.conf.enp94s0np0.forwarding": "0")", R"("net.ipv4.conf.enp94s0np0.forwarding": "1")"},
       report_of<LiveKind::forwarding>},
      {"LV021",
       Severity::warning,
       RuleNeeds::live,
       "pauses were counted on a priority that is not lossless",
       "Somebody sends or obeys PFC on a class that is planned to drop: traffic is marked wrongly, or one end has PFC "
       "on for it, and what shares the class stops with it.",
       "IEEE 802.1Qbb; Microsoft, RDMA over Commodity Ethernet at Scale (SIGCOMM 2016)",
       "find the end that has PFC on for the priority, and the sender that marks so",
       {kHost, R"("rx_prio3_pause": 1348)", R"("rx_prio5_pause": 1348)"},
       report_of<LiveKind::lossy_pause>},
      {"LV022",
       Severity::note,
       RuleNeeds::live,
       "a device was not seen, and its like were",
       "Most devices of its group were seen by a neighbour or handed in facts, this one was not. Its cables cannot be "
       "judged: it is off, or runs no LLDP agent.",
       "IEEE 802.1AB",
       "look whether it is up, and start lldpd on it",
       {kTable, "Ethernet60   train016      be2           R           be2\n", ""},
       report_silent},
  };
}

std::vector<Rule> switch_state_rules() {  // NOLINT(readability-function-size): a table
  return {
      {"LV023",
       Severity::warning,
       RuleNeeds::both,
       "a port's description names another device than planned",
       "Whoever looks for a fault reads the description first, and then goes to the wrong rack.",
       "weft: the cabling plan",
       "write the planned neighbour into the description",
       {kSwitch, R"("description": "train005 be1")", R"("description": "train007 be1")"},
       report_of<LiveKind::description>},
      {"LV024",
       Severity::error,
       RuleNeeds::both,
       "a port with a planned cable is switched off",
       "The link never comes up, though cable and optics are good.",
       "weft: the cabling plan",
       "switch the port on (no shutdown, admin_status up)",
       {kSwitch,
        R"("description": "train009 be1", "speed": "400000", "mtu": "9216", "fec": "rs", "autoneg": "off", "admin_status": "up")",
        R"("description": "train009 be1", "speed": "400000", "mtu": "9216", "fec": "rs", "autoneg": "off", "admin_status": "down")"},
       report_of<LiveKind::port_off>},
      {"LV025",
       Severity::error,
       RuleNeeds::both,
       "a port is configured for another speed than planned",
       "The link stays down, or runs slower than its fabric.",
       "weft: the cabling plan",
       "set speed and breakout of the port as planned",
       {kLeafOob, "  description train-r001-pdu1 mgmt\n", "  description train-r001-pdu1 mgmt\n  speed 100\n"},
       report_of<LiveKind::configured_speed>},
      {"LV026",
       Severity::error,
       RuleNeeds::both,
       "a host's port is in another VLAN than its subnet",
       "The host reaches neither its gateway nor its peers, or reaches those of another rail or fabric.",
       "weft: the address plan",
       "put the port into the VLAN of the subnet",
       {kSwitch, R"("Vlan600|Ethernet8")", R"("Vlan601|Ethernet8")"},
       report_of<LiveKind::configured_vlan>},
      {"LV027",
       Severity::error,
       RuleNeeds::both,
       "a BGP number is not the planned one",
       "Sessions do not come up, or paths through two switches with the same number are refused as loops.",
       "RFC 4271, 6.2 and 9.1.2; RFC 7938, 5.2",
       "set the planned number at both ends",
       {kSwitch, R"("default|Ethernet448": {"asn": "4200000001")", R"("default|Ethernet448": {"asn": "4200000002")"},
       report_of<LiveKind::configured_asn>},
      {"LV028",
       Severity::warning,
       RuleNeeds::both,
       "a switch has another name than planned",
       "Its neighbours report it under that name, and logs, alerts and inventories miss it.",
       "weft: the device names",
       "set the planned host name",
       {kSwitch, R"("hostname": "be-train-u001-leaf1")", R"("hostname": "leaf-01")"},
       report_of<LiveKind::configured_name>},
      {"LV029",
       Severity::warning,
       RuleNeeds::both,
       "a switch port passes smaller frames than planned",
       "Hosts' frames still fit, but VLAN tags and tunnels add to them; the first such frame is dropped without a "
       "word.",
       "RFC 4459; vendors' guides for RoCE: MTU 9216 on switch ports",
       "set the planned MTU on the port",
       {kSwitch, R"("description": "train010 be1", "speed": "400000", "mtu": "9216")",
        R"("description": "train010 be1", "speed": "400000", "mtu": "9000")"},
       report_of<LiveKind::configured_mtu>},
  };
}

}  // namespace

std::vector<Rule> live_rules() {  // NOLINT(readability-function-size): a table
  std::vector<Rule> rules = wiring_rules();
  for (auto* more : {&link_rules, &host_state_rules, &switch_state_rules}) {
    for (Rule& rule : more()) rules.push_back(rule);
  }
  return rules;
}

}  // namespace weft::check
