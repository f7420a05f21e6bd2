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
      {.id = "LV001",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "two cables are swapped",
       .reason = "Each of the two links comes up and every light is green, but rails mix, routing expects other "
                 "neighbours and a fault is later sought on the wrong cable.",
       .source = "IEEE 802.1AB; NVIDIA Cumulus Linux, Prescriptive Topology Manager",
       .fix = "exchange the two plugs at one side",
       .example = {.file = kTable,
                   .from = "Ethernet4    train002      be2           R           be2\nEthernet8    train003 ",
                   .to = "Ethernet4    train003      be2           R           be2\nEthernet8    train002 "},
       .run = report_of<LiveKind::swapped>},
      {.id = "LV002",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a cable goes to another port than planned",
       .reason =
           "Configuration, addresses and fault reports follow the plan: what is cabled otherwise gets the wrong ones.",
       .source = "IEEE 802.1AB; NVIDIA Cumulus Linux, Prescriptive Topology Manager",
       .fix = "move the plug, or lay it down under `cables` of the cluster file if it is to stay",
       .example = {.file = kTable,
                   .from = "Ethernet448  be-spine001   Ethernet16 ",
                   .to = "Ethernet448  be-spine001   Ethernet400"},
       .run = report_of<LiveKind::miswired>},
      {.id = "LV003",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host's port is cabled to a leaf of another rail",
       .reason =
           "Rail-optimized fabrics carry the traffic of GPU i on rail i without crossing a spine; one plug on the "
           "wrong rail sends that traffic through the spines and slows every collective the host takes part in.",
       .source = "NVIDIA, rail-optimized topologies for DGX SuperPOD",
       .fix = "plug the cable into the leaf of its own rail",
       .example = {.file = kTable, .from = "Ethernet16   train005      be2 ", .to = "Ethernet16   train005      be3 "},
       .run = report_of<LiveKind::wrong_rail>},
      {.id = "LV004",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a port is cabled to another fabric",
       .reason = "The four fabrics are separate so that none can hurt another; a cable between two of them ends that.",
       .source = "weft: four fabrics, physically separate",
       .fix = "plug the cable into its own fabric",
       .example = {.file = kTable, .from = "Ethernet20   train006      be2 ", .to = "Ethernet20   train006      sto1"},
       .run = report_of<LiveKind::wrong_fabric>},
      {.id = "LV005",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a planned cable is not there",
       .reason = "The device at one end lists its neighbours and this one is not among them, while the other end is "
                 "alive: the cable is unplugged, dead, or its port is down.",
       .source = "IEEE 802.1AB",
       .fix = "plug it in, or look at the port and the optics at both ends",
       .example = {.file = kTable,
                   .from = "Ethernet508  be-spine004   Ethernet28    BR          to be-train-u001-leaf2\n",
                   .to = ""},
       .run = report_of<LiveKind::missing>},
      {.id = "LV006",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "something that the design does not have is there",
       .reason = "A neighbour, a report or a host under a name that the cluster file does not know: a stranger on a "
                 "fabric, or a device that still has its old name.",
       .source = "IEEE 802.1AB",
       .fix = "name the device as the design does, add it to the cluster file, or unplug it",
       .example = {.file = kTable, .from = "Ethernet24   train007 ", .to = "Ethernet24   lab-box7 "},
       .run = report_of<LiveKind::unknown_device>},
      {.id = "LV007",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "a cable is on a port that the plan leaves free",
       .reason = "A link that nobody planned is not configured, not watched, and may close a loop.",
       .source = "IEEE 802.1AB",
       .fix = "unplug it, or put it into the cluster file",
       .example = {.file = kTable,
                   .from = "Ethernet508  be-spine004   Ethernet28    BR          to be-train-u001-leaf2\n",
                   .to = "Ethernet508  be-spine004   Ethernet28    BR          to be-train-u001-leaf2\n"
                         "Ethernet72   be-spine004   Ethernet400   BR          spare\n"},
       .run = report_of<LiveKind::unplanned>},
      {.id = "LV008",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "two reports contradict each other about a port",
       .reason = "A port has one cable. When reports give it two, one of them is old (LLDP keeps neighbours for two "
                 "minutes) or something between the two passes LLDP frames on.",
       .source = "IEEE 802.1AB, 9.2.5: neighbours live for txTTL",
       .fix = "collect the reports again at one time, then compare once more",
       .example = {.file = kNeighbors,
                   .from = R"("ifname", "value": "Ethernet0"}, "descr": "train001 be2")",
                   .to = R"("ifname", "value": "Ethernet4"}, "descr": "train001 be2")"},
       .run = report_of<LiveKind::disagreement>},
  };
}

std::vector<Rule> link_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "LV009",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a link runs at another speed than planned",
       .reason = "One slow port sets the pace of every collective that its host takes part in; a speed that is not the "
                 "planned one mostly means a wrong or failing cable, a lost lane or a forced setting.",
       .source = "InfiniBand and Ethernet training: lanes are dropped when they fail",
       .fix = "look at the optics and lanes of the link, then at speed and FEC settings of both ends",
       .example = {.file = kHost,
                   .from = R"("0000:5e:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 400000)",
                   .to = R"("0000:5e:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 200000)"},
       .run = report_of<LiveKind::wrong_speed>},
      {.id = "LV010",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a planned port of a host is down",
       .reason = "Jobs that span the host lose a rail, or do not start.",
       .source = "Linux, Documentation/networking/operstates",
       .fix = "look at cable, optics and the switch port",
       .example = {.file = kHost,
                   .from = R"("0000:9c:00.0", "pci_device": "15b3:1021", "state": "up")",
                   .to = R"("0000:9c:00.0", "pci_device": "15b3:1021", "state": "down")"},
       .run = report_of<LiveKind::link_down>},
      {.id = "LV011",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host's port has another MTU than its fabric",
       .reason = "Ends that differ in MTU lose what is too large without a word: RDMA picks the smaller path MTU and "
                 "slows down, TCP hangs.",
       .source = "InfiniBand Trade Association, RoCE v2; Linux networking",
       .fix = "set the MTU of the fabric on the interface",
       .example =
           {.file = kHost,
            .from = R"("0000:bc:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 400000, "mtu": 9000)",
            .to = R"("0000:bc:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 400000, "mtu": 1500)"},
       .run = report_of<LiveKind::wrong_mtu>},
      {.id = "LV012",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host's port has another address than planned",
       .reason =
           "Peers, access lists and job launchers use the planned address; two hosts may end up with the same one.",
       .source = "weft: the address plan of the cluster file",
       .fix = "give the interface its planned address and prefix length",
       .example = {.file = kHost, .from = R"("10.66.0.2/26")", .to = R"("10.66.0.29/26")"},
       .run = report_of<LiveKind::wrong_address>},
      {.id = "LV013",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host has a default route on a fabric that is to have none",
       .reason = "Traffic to anywhere then leaves by the backend or storage fabric: it crowds out training and joins "
                 "networks that are to be separate.",
       .source = "weft: only the frontend leads out",
       .fix = "remove the gateway from that interface",
       .example = {.file = kHost,
                   .from = R"("addresses": ["10.67.0.2/26"],)",
                   .to = R"("addresses": ["10.67.0.2/26"], "default_route": true,)"},
       .run = report_of<LiveKind::default_route>},
      {.id = "LV014",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "a host has an interface that nobody planned",
       .reason = "An interface that is up and in no plan is a way in or out that no rule watches, often a cable left "
                 "from installation.",
       .source = "weft: every port is in the cluster file",
       .fix = "take it down, or add it to the cluster file",
       .example = {.file = kHost,
                   .from = R"("driver": "cdc_ether")",
                   .to = R"("driver": "ixgbe", "speed_mbps": 10000)"},
       .run = report_of<LiveKind::extra_interface>},
  };
}

std::vector<Rule> host_state_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "LV015",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host has fewer GPUs than planned",
       .reason = "A GPU that fell off the bus leaves its host unable to run the jobs it is counted for.",
       .source = "NVIDIA, XID 79: GPU has fallen off the bus",
       .fix = "drain the host, reset or replace the GPU",
       .example = {.file = kHost,
                   .from = "    {\"pci\": \"0000:4e:00.0\", \"name\": \"NVIDIA H100 80GB HBM3\", \"numa\": 0},\n",
                   .to = ""},
       .run = report_of<LiveKind::few_gpus>},
      {.id = "LV016",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host has fewer network ports than planned",
       .reason = "A missing adapter is a missing rail: its GPU sends over another's.",
       .source = "weft: the port plan of the cluster file",
       .fix = "reseat or replace the adapter, and look whether its driver is loaded",
       .example =
           {.file = kHost,
            .from = R"("physical": true, "rdma_device": "mlx5_9", "link_layer": "Ethernet")",
            .to = R"("physical": true, "virtual_function": true, "rdma_device": "mlx5_9", "link_layer": "Ethernet")"},
       .run = report_of<LiveKind::few_ports>},
      {.id = "LV017",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "a backend port has fewer virtual functions than pods need",
       .reason = "A pod without a virtual function on some rail stays pending, or runs on fewer rails than its peers.",
       .source = "sriov-network-operator: numVfs; NVIDIA Network Operator",
       .fix = "set numVfs in the policy of the port",
       .example = {.file = kHost,
                   .from = R"("vfs": 8, "vfs_max": 16, "physical": true, "rdma_device": "mlx5_6")",
                   .to = R"("vfs": 0, "vfs_max": 16, "physical": true, "rdma_device": "mlx5_6")"},
       .run = report_of<LiveKind::few_functions>},
      {.id = "LV018",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "RoCE v2 addresses are at different GID indices",
       .reason = "Jobs are given one GID index for all ranks. Where it means another entry on some port, that port "
                 "talks RoCE v1, or not at all.",
       .source = "NCCL: NCCL_IB_GID_INDEX; Linux RDMA, gid_attrs/types",
       .fix = "give all ports the same number of addresses (IPv6 ones too), or leave the index to NCCL 2.21 and later",
       .example = {.file = kHost,
                   .from = R"("tx_prio3_pause": 332}, "gid_indices_rocev2": [3])",
                   .to = R"("tx_prio3_pause": 332}, "gid_indices_rocev2": [5])"},
       .run = report_of<LiveKind::mixed_gids>},
      {.id = "LV019",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "reverse path filtering is strict on a port of several rails",
       .reason = "With several ports of a host in one routed fabric, an answer may come in by another port than the "
                 "one the kernel would send by; strict filtering drops it.",
       .source = "RFC 3704; Linux, Documentation/networking/ip-sysctl: rp_filter",
       .fix = "set rp_filter to 2 (loose) on these ports",
       .example = {.file = kHost,
                   .from = R"("net.ipv4.conf.enp77s0np0.rp_filter": "2")",
                   .to = R"("net.ipv4.conf.enp77s0np0.rp_filter": "1")"},
       .run = report_of<LiveKind::strict_filter>},
      {.id = "LV020",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host forwards packets on the backend or storage fabric",
       .reason = "A host that routes joins the fabrics it is on: whoever reaches its frontend address can reach the "
                 "backend. Kubernetes needs forwarding, but not on these interfaces.",
       .source = "Linux, Documentation/networking/ip-sysctl: conf/*/forwarding",
       .fix = "set net.ipv4.conf.INTERFACE.forwarding=0 on backend and storage ports",
       .example = {.file = kHost,
                   .from = R"("net.ipv4.conf.enp94s0np0.forwarding": "0")",
                   .to = R"("net.ipv4.conf.enp94s0np0.forwarding": "1")"},
       .run = report_of<LiveKind::forwarding>},
      {.id = "LV021",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "pauses were counted on a priority that is not lossless",
       .reason = "Somebody sends or obeys PFC on a class that is planned to drop: traffic is marked wrongly, or one "
                 "end has PFC on for it, and what shares the class stops with it.",
       .source = "IEEE 802.1Qbb; Microsoft, RDMA over Commodity Ethernet at Scale (SIGCOMM 2016)",
       .fix = "find the end that has PFC on for the priority, and the sender that marks so",
       .example = {.file = kHost, .from = R"("rx_prio3_pause": 1348)", .to = R"("rx_prio5_pause": 1348)"},
       .run = report_of<LiveKind::lossy_pause>},
      {.id = "LV022",
       .severity = Severity::note,
       .needs = RuleNeeds::live,
       .title = "a device was not seen, and its like were",
       .reason = "Most devices of its group were seen by a neighbour or handed in facts, this one was not. Its cables "
                 "cannot be judged: it is off, or runs no LLDP agent.",
       .source = "IEEE 802.1AB",
       .fix = "look whether it is up, and start lldpd on it",
       .example = {.file = kTable, .from = "Ethernet60   train016      be2           R           be2\n", .to = ""},
       .run = report_silent},
  };
}

std::vector<Rule> switch_state_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "LV023",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a port's description names another device than planned",
       .reason = "Whoever looks for a fault reads the description first, and then goes to the wrong rack.",
       .source = "weft: the cabling plan",
       .fix = "write the planned neighbour into the description",
       .example = {.file = kSwitch,
                   .from = R"("description": "train005 be1")",
                   .to = R"("description": "train007 be1")"},
       .run = report_of<LiveKind::description>},
      {.id = "LV024",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a port with a planned cable is switched off",
       .reason = "The link never comes up, though cable and optics are good.",
       .source = "weft: the cabling plan",
       .fix = "switch the port on (no shutdown, admin_status up)",
       .example =
           {.file = kSwitch,
            .from =
                R"("description": "train009 be1", "speed": "400000", "mtu": "9216", "fec": "rs", "autoneg": "off", "admin_status": "up")",
            .to =
                R"("description": "train009 be1", "speed": "400000", "mtu": "9216", "fec": "rs", "autoneg": "off", "admin_status": "down")"},
       .run = report_of<LiveKind::port_off>},
      {.id = "LV025",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a port is configured for another speed than planned",
       .reason = "The link stays down, or runs slower than its fabric.",
       .source = "weft: the cabling plan",
       .fix = "set speed and breakout of the port as planned",
       .example = {.file = kLeafOob,
                   .from = "  description train-r001-pdu1 mgmt\n",
                   .to = "  description train-r001-pdu1 mgmt\n  speed 100\n"},
       .run = report_of<LiveKind::configured_speed>},
      {.id = "LV026",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a host's port is in another VLAN than its subnet",
       .reason = "The host reaches neither its gateway nor its peers, or reaches those of another rail or fabric.",
       .source = "weft: the address plan",
       .fix = "put the port into the VLAN of the subnet",
       .example = {.file = kSwitch, .from = R"("Vlan600|Ethernet8")", .to = R"("Vlan601|Ethernet8")"},
       .run = report_of<LiveKind::configured_vlan>},
      {.id = "LV027",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a BGP number is not the planned one",
       .reason = "Sessions do not come up, or paths through two switches with the same number are refused as loops.",
       .source = "RFC 4271, 6.2 and 9.1.2; RFC 7938, 5.2",
       .fix = "set the planned number at both ends",
       .example = {.file = kSwitch,
                   .from = R"("default|Ethernet448": {"asn": "4200000001")",
                   .to = R"("default|Ethernet448": {"asn": "4200000002")"},
       .run = report_of<LiveKind::configured_asn>},
      {.id = "LV028",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a switch has another name than planned",
       .reason = "Its neighbours report it under that name, and logs, alerts and inventories miss it.",
       .source = "weft: the device names",
       .fix = "set the planned host name",
       .example = {.file = kSwitch, .from = R"("hostname": "be-train-u001-leaf1")", .to = R"("hostname": "leaf-01")"},
       .run = report_of<LiveKind::configured_name>},
      {.id = "LV029",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a switch port passes smaller frames than planned",
       .reason = "Hosts' frames still fit, but VLAN tags and tunnels add to them; the first such frame is dropped "
                 "without a word.",
       .source = "RFC 4459; vendors' guides for RoCE: MTU 9216 on switch ports",
       .fix = "set the planned MTU on the port",
       .example = {.file = kSwitch,
                   .from = R"("description": "train010 be1", "speed": "400000", "mtu": "9216")",
                   .to = R"("description": "train010 be1", "speed": "400000", "mtu": "9000")"},
       .run = report_of<LiveKind::configured_mtu>},
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
