// LV: actual state compared with the design. Each rule reports one kind of difference of the LiveComparison.
#include <fmt/format.h>

#include <map>
#include <set>

#include "base/host_range.h"
#include "check/core/rule.h"
#include "check/live/comparison.h"

namespace weft::check {
namespace {

constexpr std::size_t kMaxEach = 200;   // findings per kind if all members differ
constexpr std::size_t kMaxRelated = 5;  // further locations of a merged finding

std::string_view confidence_text(Confidence confidence) {
  switch (confidence) {
    case Confidence::certain:
      return "certain: reported by both ends or by the device itself";
    case Confidence::likely:
      return "likely: reported by one end";
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

// Ports with the same problem are one finding.
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
void report_differences(const CheckInput& input, Report& report) {
  report_kind(input, report, Kind);
}

void report_silent_devices(const CheckInput& input, Report& report) {
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
       .reason = "Both links come up without an error, but rails are mixed, routing has unexpected neighbors, and "
                 "later faults are attributed to the wrong cable.",
       .source = "IEEE 802.1AB; NVIDIA Cumulus Linux, Prescriptive Topology Manager",
       .fix = "swap the two plugs at one end",
       .example = {.file = kTable,
                   .from = "Ethernet4    train002      be2           R           be2\nEthernet8    train003 ",
                   .to = "Ethernet4    train003      be2           R           be2\nEthernet8    train002 "},
       .run = report_differences<LiveKind::swapped>},
      {.id = "LV002",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a cable is connected to a different port than planned",
       .reason = "Configuration, addresses and fault reports follow the plan: a port that is cabled differently gets "
                 "the wrong ones.",
       .source = "IEEE 802.1AB; NVIDIA Cumulus Linux, Prescriptive Topology Manager",
       .fix = "move the plug, or record the cable under `cables` of the cluster file to keep it",
       .example = {.file = kTable,
                   .from = "Ethernet448  be-spine001   Ethernet16 ",
                   .to = "Ethernet448  be-spine001   Ethernet400"},
       .run = report_differences<LiveKind::miswired>},
      {.id = "LV003",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host's port is cabled to a leaf of another rail",
       .reason = "Rail-optimized fabrics carry the traffic of GPU i on rail i without crossing a spine; one cable on "
                 "the wrong rail sends that traffic through the spines and slows every collective of the host.",
       .source = "NVIDIA, rail-optimized topologies for DGX SuperPOD",
       .fix = "plug the cable into the leaf of its own rail",
       .example = {.file = kTable, .from = "Ethernet16   train005      be2 ", .to = "Ethernet16   train005      be3 "},
       .run = report_differences<LiveKind::wrong_rail>},
      {.id = "LV004",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a port is cabled to another fabric",
       .reason = "The four fabrics are separate so that a fault in one does not affect another; a cable between two of "
                 "them removes that isolation.",
       .source = "weft design: four physically separate fabrics",
       .fix = "plug the cable into its own fabric",
       .example = {.file = kTable, .from = "Ethernet20   train006      be2 ", .to = "Ethernet20   train006      sto1"},
       .run = report_differences<LiveKind::wrong_fabric>},
      {.id = "LV005",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a planned cable is missing",
       .reason = "The device at one end reports its neighbors without this one, while the other end is up: the cable "
                 "is unplugged or broken, or its port is down.",
       .source = "IEEE 802.1AB",
       .fix = "plug it in, or check the port and the optics at both ends",
       .example = {.file = kTable,
                   .from = "Ethernet508  be-spine004   Ethernet28    BR          to be-train-u001-leaf2\n",
                   .to = ""},
       .run = report_differences<LiveKind::missing>},
      {.id = "LV006",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "a device is not in the design",
       .reason = "A neighbor, a report or a host has a name that is not in the cluster file: an unknown device on a "
                 "fabric, or a device with an outdated name.",
       .source = "IEEE 802.1AB",
       .fix = "rename the device to its name in the design, add it to the cluster file, or disconnect it",
       .example = {.file = kTable, .from = "Ethernet24   train007 ", .to = "Ethernet24   lab-box7 "},
       .run = report_differences<LiveKind::unknown_device>},
      {.id = "LV007",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "a cable is on a port that the plan leaves free",
       .reason = "An unplanned link is neither configured nor monitored, and may create a loop.",
       .source = "IEEE 802.1AB",
       .fix = "unplug it, or add it to the cluster file",
       .example = {.file = kTable,
                   .from = "Ethernet508  be-spine004   Ethernet28    BR          to be-train-u001-leaf2\n",
                   .to = "Ethernet508  be-spine004   Ethernet28    BR          to be-train-u001-leaf2\n"
                         "Ethernet72   be-spine004   Ethernet400   BR          spare\n"},
       .run = report_differences<LiveKind::unplanned>},
      {.id = "LV008",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "two reports contradict each other about a port",
       .reason = "A port has one cable. If reports show two, one of them is outdated (LLDP keeps neighbors for two "
                 "minutes) or a device between the two forwards LLDP frames.",
       .source = "IEEE 802.1AB, 9.2.5: neighbor entries expire after txTTL",
       .fix = "collect all reports again at the same time, then compare",
       .example = {.file = kNeighbors,
                   .from = R"("ifname", "value": "Ethernet0"}, "descr": "train001 be2")",
                   .to = R"("ifname", "value": "Ethernet4"}, "descr": "train001 be2")"},
       .run = report_differences<LiveKind::disagreement>},
  };
}

std::vector<Rule> link_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "LV009",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a link runs at a different speed than planned",
       .reason = "One slow port limits every collective of its host; an unexpected speed usually means a wrong or "
                 "failing cable, a lost lane or a forced setting.",
       .source = "InfiniBand and Ethernet link training: failed lanes are dropped",
       .fix = "check optics and lanes of the link, then speed and FEC settings of both ends",
       .example = {.file = kHost,
                   .from = R"("0000:5e:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 400000)",
                   .to = R"("0000:5e:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 200000)"},
       .run = report_differences<LiveKind::wrong_speed>},
      {.id = "LV010",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a planned port of a host is down",
       .reason = "Jobs on the host lose a rail or do not start.",
       .source = "Linux, Documentation/networking/operstates",
       .fix = "check cable, optics and the switch port",
       .example = {.file = kHost,
                   .from = R"("0000:9c:00.0", "pci_device": "15b3:1021", "state": "up")",
                   .to = R"("0000:9c:00.0", "pci_device": "15b3:1021", "state": "down")"},
       .run = report_differences<LiveKind::link_down>},
      {.id = "LV011",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host's port has a different MTU than its fabric",
       .reason = "With different MTUs, frames that are too large are dropped silently: RDMA selects the smaller path "
                 "MTU and slows down, TCP hangs.",
       .source = "InfiniBand Trade Association, RoCE v2; Linux networking",
       .fix = "set the MTU of the fabric on the interface",
       .example =
           {.file = kHost,
            .from = R"("0000:bc:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 400000, "mtu": 9000)",
            .to = R"("0000:bc:00.0", "pci_device": "15b3:1021", "state": "up", "speed_mbps": 400000, "mtu": 1500)"},
       .run = report_differences<LiveKind::wrong_mtu>},
      {.id = "LV012",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host's port has a different address than planned",
       .reason = "Peers, access lists and job launchers use the planned address; two hosts may get the same one.",
       .source = "weft design: the address plan of the cluster file",
       .fix = "give the interface its planned address and prefix length",
       .example = {.file = kHost, .from = R"("10.66.0.2/26")", .to = R"("10.66.0.29/26")"},
       .run = report_differences<LiveKind::wrong_address>},
      {.id = "LV013",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host has a default route on a fabric without external connectivity",
       .reason = "Traffic to other networks then leaves by the backend or storage fabric: it competes with training "
                 "and connects networks that must be separate.",
       .source = "weft design: only the frontend has external connectivity",
       .fix = "remove the gateway from that interface",
       .example = {.file = kHost,
                   .from = R"("addresses": ["10.67.0.2/26"],)",
                   .to = R"("addresses": ["10.67.0.2/26"], "default_route": true,)"},
       .run = report_differences<LiveKind::default_route>},
      {.id = "LV014",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "a host has an unplanned interface",
       .reason = "An interface that is up but not planned is an unmonitored way in or out, often a cable left from "
                 "installation.",
       .source = "weft design: every port is in the cluster file",
       .fix = "disable it, or add it to the cluster file",
       .example = {.file = kHost,
                   .from = R"("driver": "cdc_ether")",
                   .to = R"("driver": "ixgbe", "speed_mbps": 10000)"},
       .run = report_differences<LiveKind::extra_interface>},
  };
}

std::vector<Rule> host_state_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "LV015",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host has fewer GPUs than planned",
       .reason = "A host with a missing GPU cannot run the jobs it is scheduled for.",
       .source = "NVIDIA, XID 79: GPU has fallen off the bus",
       .fix = "drain the host, reset or replace the GPU",
       .example = {.file = kHost,
                   .from = "    {\"pci\": \"0000:4e:00.0\", \"name\": \"NVIDIA H100 80GB HBM3\", \"numa\": 0},\n",
                   .to = ""},
       .run = report_differences<LiveKind::few_gpus>},
      {.id = "LV016",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host has fewer network ports than planned",
       .reason = "A missing adapter is a missing rail: its GPU sends through another GPU's adapter.",
       .source = "weft design: the port plan of the cluster file",
       .fix = "reseat or replace the adapter, and verify that its driver is loaded",
       .example =
           {.file = kHost,
            .from = R"("physical": true, "rdma_device": "mlx5_9", "link_layer": "Ethernet")",
            .to = R"("physical": true, "virtual_function": true, "rdma_device": "mlx5_9", "link_layer": "Ethernet")"},
       .run = report_differences<LiveKind::few_ports>},
      {.id = "LV017",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "a backend port has fewer virtual functions than pods need",
       .reason =
           "A pod without a virtual function on some rail remains pending, or runs on fewer rails than its peers.",
       .source = "sriov-network-operator: numVfs; NVIDIA Network Operator",
       .fix = "set numVfs in the policy of the port",
       .example = {.file = kHost,
                   .from = R"("vfs": 8, "vfs_max": 16, "physical": true, "rdma_device": "mlx5_6")",
                   .to = R"("vfs": 0, "vfs_max": 16, "physical": true, "rdma_device": "mlx5_6")"},
       .run = report_differences<LiveKind::few_functions>},
      {.id = "LV018",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "RoCE v2 addresses are at different GID indices",
       .reason = "Jobs set one GID index for all ranks. A port where that index is a different entry uses RoCE v1, or "
                 "does not communicate at all.",
       .source = "NCCL: NCCL_IB_GID_INDEX; Linux RDMA, gid_attrs/types",
       .fix = "configure the same number of addresses (including IPv6) on all ports, or leave the index unset with "
              "NCCL 2.21 and later",
       .example = {.file = kHost,
                   .from = R"("tx_prio3_pause": 332}, "gid_indices_rocev2": [3])",
                   .to = R"("tx_prio3_pause": 332}, "gid_indices_rocev2": [5])"},
       .run = report_differences<LiveKind::mixed_gids>},
      {.id = "LV019",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "reverse path filtering is strict on a host with several rails",
       .reason = "With several ports of a host in one routed fabric, a reply may arrive on a different port than the "
                 "kernel would use to send; strict filtering drops it.",
       .source = "RFC 3704; Linux, Documentation/networking/ip-sysctl: rp_filter",
       .fix = "set rp_filter to 2 (loose) on these ports",
       .example = {.file = kHost,
                   .from = R"("net.ipv4.conf.enp77s0np0.rp_filter": "2")",
                   .to = R"("net.ipv4.conf.enp77s0np0.rp_filter": "1")"},
       .run = report_differences<LiveKind::strict_filter>},
      {.id = "LV020",
       .severity = Severity::error,
       .needs = RuleNeeds::live,
       .title = "a host forwards packets on the backend or storage fabric",
       .reason = "A host that forwards packets connects its fabrics: a client that reaches its frontend address can "
                 "reach the backend. Kubernetes needs forwarding, but not on these interfaces.",
       .source = "Linux, Documentation/networking/ip-sysctl: conf/*/forwarding",
       .fix = "set net.ipv4.conf.INTERFACE.forwarding=0 on backend and storage ports",
       .example = {.file = kHost,
                   .from = R"("net.ipv4.conf.enp94s0np0.forwarding": "0")",
                   .to = R"("net.ipv4.conf.enp94s0np0.forwarding": "1")"},
       .run = report_differences<LiveKind::forwarding>},
      {.id = "LV021",
       .severity = Severity::warning,
       .needs = RuleNeeds::live,
       .title = "pause frames were counted on a priority that is not lossless",
       .reason = "A device sends or honors PFC on a class that is planned as lossy: traffic is marked wrongly, or one "
                 "end has PFC enabled for it, and all traffic of the class stops with it.",
       .source = "IEEE 802.1Qbb; Microsoft, RDMA over Commodity Ethernet at Scale (SIGCOMM 2016)",
       .fix = "find the end that has PFC enabled for the priority, and the sender that uses the mark",
       .example = {.file = kHost, .from = R"("rx_prio3_pause": 1348)", .to = R"("rx_prio5_pause": 1348)"},
       .run = report_differences<LiveKind::lossy_pause>},
      {.id = "LV022",
       .severity = Severity::note,
       .needs = RuleNeeds::live,
       .title = "a device was not seen, but most of its group were",
       .reason = "Most devices of its group were seen by a neighbor or reported facts, this one was not. Its cables "
                 "cannot be verified: it is off, or does not run an LLDP agent.",
       .source = "IEEE 802.1AB",
       .fix = "check that it is up, and start lldpd on it",
       .example = {.file = kTable, .from = "Ethernet60   train016      be2           R           be2\n", .to = ""},
       .run = report_silent_devices},
  };
}

std::vector<Rule> switch_state_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "LV023",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a port's description names a different device than planned",
       .reason = "Operators read the description first when they look for a fault, and then go to the wrong rack.",
       .source = "weft design: the cabling plan",
       .fix = "write the planned neighbor into the description",
       .example = {.file = kSwitch,
                   .from = R"("description": "train005 be1")",
                   .to = R"("description": "train007 be1")"},
       .run = report_differences<LiveKind::description>},
      {.id = "LV024",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a port with a planned cable is administratively down",
       .reason = "The link never comes up, although cable and optics are good.",
       .source = "weft design: the cabling plan",
       .fix = "enable the port (no shutdown, admin_status up)",
       .example =
           {.file = kSwitch,
            .from =
                R"("description": "train009 be1", "speed": "400000", "mtu": "9216", "fec": "rs", "autoneg": "off", "admin_status": "up")",
            .to =
                R"("description": "train009 be1", "speed": "400000", "mtu": "9216", "fec": "rs", "autoneg": "off", "admin_status": "down")"},
       .run = report_differences<LiveKind::port_off>},
      {.id = "LV025",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a port is configured for a different speed than planned",
       .reason = "The link remains down, or is slower than its fabric.",
       .source = "weft design: the cabling plan",
       .fix = "set speed and breakout of the port to the planned values",
       .example = {.file = kLeafOob,
                   .from = "  description train-r001-pdu1 mgmt\n",
                   .to = "  description train-r001-pdu1 mgmt\n  speed 100\n"},
       .run = report_differences<LiveKind::configured_speed>},
      {.id = "LV026",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a host's port is in a different VLAN than its subnet",
       .reason = "The host cannot reach its gateway or its peers, or reaches those of another rail or fabric.",
       .source = "weft design: the address plan",
       .fix = "put the port into the VLAN of the subnet",
       .example = {.file = kSwitch, .from = R"("Vlan600|Ethernet8")", .to = R"("Vlan601|Ethernet8")"},
       .run = report_differences<LiveKind::configured_vlan>},
      {.id = "LV027",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a BGP AS number differs from the planned one",
       .reason =
           "Sessions do not come up, or paths through two switches with the same AS number are rejected as loops.",
       .source = "RFC 4271, 6.2 and 9.1.2; RFC 7938, 5.2",
       .fix = "set the planned AS number at both ends",
       .example = {.file = kSwitch,
                   .from = R"("default|Ethernet448": {"asn": "4200000001")",
                   .to = R"("default|Ethernet448": {"asn": "4200000002")"},
       .run = report_differences<LiveKind::configured_asn>},
      {.id = "LV028",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a switch has a different name than planned",
       .reason = "Its neighbors report it under that name, and logs, alerts and inventories do not match it.",
       .source = "weft design: the device names",
       .fix = "set the planned host name",
       .example = {.file = kSwitch, .from = R"("hostname": "be-train-u001-leaf1")", .to = R"("hostname": "leaf-01")"},
       .run = report_differences<LiveKind::configured_name>},
      {.id = "LV029",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a switch port has a smaller MTU than planned",
       .reason = "Hosts' frames fit, but VLAN tags and tunnels add headers; the first such frame is dropped silently.",
       .source = "RFC 4459; vendors' guides for RoCE: MTU 9216 on switch ports",
       .fix = "set the planned MTU on the port",
       .example = {.file = kSwitch,
                   .from = R"("description": "train010 be1", "speed": "400000", "mtu": "9216")",
                   .to = R"("description": "train010 be1", "speed": "400000", "mtu": "9000")"},
       .run = report_differences<LiveKind::configured_mtu>},
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
