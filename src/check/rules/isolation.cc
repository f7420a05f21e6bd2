// IS: isolation between the four fabrics, over the whole path.
#include "check/rules/isolation.h"

#include <algorithm>

namespace weft::check {
namespace {

constexpr std::string_view kFourFabrics =
    "DGX SuperPOD reference architecture RA-11333: compute, storage, in-band and out-of-band networks on separate "
    "switches and VRFs; RFC 4364 for VRFs";
constexpr std::string_view kRoutesOfPods =
    "Container Networking Architecture for AI Workloads (Patel): default route only on eth0, specific routes on net1 "
    "and up";
constexpr std::string_view kBmcGuidance = "NSA/CISA, Harden Baseboard Management Controllers, June 2023: isolated VLAN";

std::vector<Rule> design_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "IS001",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a fabric exchanges routes with another",
       .reason = "A VRF with routes to another fabric's subnets carries that fabric's traffic, faults and attackers: a "
                 "storage burst then fills lossless queues of the backend, and a login node can reach RDMA targets "
                 "without authentication.",
       .source = kFourFabrics,
       .fix = "remove the fabric from `routes_to`; connect hosts that need both fabrics to both",
       .example = {.file = "pod16.yaml",
                   .from = "external: {links: 4}}",
                   .to = "external: {links: 4}, routes_to: [storage]}"},
       .run = check_route_exchange},
      {.id = "IS002",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "default route on the backend or storage fabric",
       .reason = "A host with two default routes may reply on the wrong one: non-RDMA traffic uses lossless rails, and "
                 "frontend connections fail together with the rail.",
       .source = kRoutesOfPods,
       .fix = "set `default_route: false`; configure specific routes on the rails",
       .example = {.file = "pod16.yaml",
                   .from = "system: cumulus\n",
                   .to = "system: cumulus\n    default_route: true\n"},
       .run = check_data_fabric_default_route},
      {.id = "IS003",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "no default route on the frontend",
       .reason = "The frontend is the only fabric with external connectivity: without a default route there, hosts "
                 "cannot reach registries or identity services.",
       .source = kRoutesOfPods,
       .fix = "set `fabrics.frontend.default_route: true`",
       .example = {.file = "pod16.yaml",
                   .from = "external: {links: 4}}",
                   .to = "external: {links: 4}, default_route: false}"},
       .run = check_frontend_default_route},
      {.id = "IS004",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "two fabrics share a VRF",
       .reason = "One VRF name means one routing table on every switch that has both fabrics: the first cable, session "
                 "or shared switch between them joins both without any visible configuration line.",
       .source = kFourFabrics,
       .fix = "give each fabric its own `vrf`",
       .example = {.file = "pod16.yaml", .from = "system: cumulus\n", .to = "system: cumulus\n    vrf: backend\n"},
       .run = check_shared_vrf},
      {.id = "IS005",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "two fabrics use the same VLAN",
       .reason =
           "A trunk between the two fabrics joins their broadcast domains, and neither configuration shows the error.",
       .source = kFourFabrics,
       .fix = "set `vlan` so that the fabrics' VLAN ranges (one VLAN per rail) do not overlap",
       .example = {.file = "pod16.yaml", .from = "system: cumulus\n", .to = "system: cumulus\n    vlan: 606\n"},
       .run = check_shared_vlan},
      {.id = "IS006",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a switch carries another fabric's VLAN",
       .reason = "The switch is part of both fabrics' broadcast domains: any port in that VLAN joins the other network "
                 "and bypasses every access list.",
       .source = kFourFabrics,
       .fix = "remove the VLAN from the switch and from its ports",
       .example = {.file = "running/oob-leaf001.cfg", .from = "", .to = "vlan 700\n  name storage-rail1\n"},
       .run = check_foreign_vlan},
      {.id = "IS007",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "BMCs are reachable from hosts other than the jump hosts",
       .reason =
           "Access to a BMC is equivalent to physical access. CVE-2024-54085 let anyone who could reach a BMC take it "
           "over without a password; one compromised BMC or PDU that can reach all others compromises the cluster.",
       .source = kBmcGuidance,
       .fix = "set `fabrics.oob.jump_only: true` and apply the access list to the out-of-band gateway and ports",
       .example = {.file = "pod16.yaml", .from = "entry: vpn\n", .to = "entry: vpn\n    jump_only: false\n"},
       .run = check_bmc_access},
      {.id = "IS008",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the out-of-band network is routed to the frontend",
       .reason = "Only an access list separates every frontend host from the BMCs, compromised BMCs can reach the "
                 "hosts, and the out-of-band network depends on the frontend, which it must survive.",
       .source = kBmcGuidance,
       .fix = "set `fabrics.oob.gateway: none`; give operators access through the jump host",
       .example = {.file = "pod16.yaml", .from = "entry: vpn\n", .to = "entry: vpn\n    gateway: frontend\n"},
       .run = check_oob_route_to_frontend},
      {.id = "IS009",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the out-of-band network is routed to the site",
       .reason = "BMCs can send to the site network, and only an access list protects them from it. Services that need "
                 "external access (time, logs, firmware) can run on the jump hosts.",
       .source = kBmcGuidance,
       .fix = "set `fabrics.oob.gateway: none` and relay through the jump hosts",
       .example = {.file = "pod16.yaml", .from = "entry: vpn\n", .to = "entry: vpn\n    gateway: site\n"},
       .run = check_oob_route_to_site},
      {.id = "IS020",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "backend or storage has links to the site",
       .reason =
           "RDMA targets do not authenticate clients. A link to the site's routers announces them to the whole site.",
       .source = kFourFabrics,
       .fix = "remove `external` from the fabric; import data over the frontend or a gateway pool",
       .example = {.file = "pod16.yaml",
                   .from = "system: cumulus\n",
                   .to = "system: cumulus\n    external: {links: 2}\n"},
       .run = check_data_fabric_external_links},
      {.id = "IS021",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "IPv6 prefixes of two fabrics overlap",
       .reason = "Hosts on both fabrics may use either interface for such an address, and routes inside a fabric "
                 "cannot be distinguished from routes between the two.",
       .source = "RFC 4193: one randomly chosen /48 per site network",
       .fix = "give each fabric its own `ipv6` prefix",
       .example = {.file = "pod16.yaml",
                   .from = "bandwidth_percent: 60}\n  storage:\n",
                   .to =
                       "bandwidth_percent: 60}\n    ipv6: \"fd00:60::/48\"\n  storage:\n    ipv6: \"fd00:60::/48\"\n"},
       .run = check_ipv6_prefix_overlap},
  };
}

std::vector<Rule> config_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "IS010",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a host forwards between fabrics",
       .reason = "A server has a port on every fabric. With ip_forward it routes between them without any switch "
                 "access list: any neighbor on a rail can send through it.",
       .source =
           "RFC 1122 section 3.1: a host does not forward unless made a gateway; Linux kernel, ip-sysctl: ip_forward",
       .fix = "set net.ipv4.ip_forward = 0; if pods need forwarding, enable it on their interfaces only "
              "(net.ipv4.conf.<interface>.forwarding applies to packets that the interface receives)",
       .example = {.file = "running/sysctl.conf", .from = "net.ipv4.ip_forward = 0", .to = "net.ipv4.ip_forward = 1"},
       .run = check_host_forwarding},
      {.id = "IS011",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a pod forwards between fabrics",
       .reason = "With ip_forward and several networks the pod routes between eth0 and the RDMA rails and bypasses "
                 "every NetworkPolicy.",
       .source = kRoutesOfPods,
       .fix = "remove the sysctl, or the networks that the pod does not need",
       .example =
           {.file = "running/train-job.yaml",
            .from = "          priorityClassName: training-high\n",
            .to = "          priorityClassName: training-high\n"
                  "          securityContext:\n            sysctls: [{name: net.ipv4.ip_forward, value: \"1\"}]\n"},
       .run = check_pod_forwarding},
      {.id = "IS012",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a static route leads into another fabric",
       .reason =
           "The path is complete: the packet shown is delivered. VRFs isolate only networks that no route connects.",
       .source = kFourFabrics,
       .fix = "remove the route",
       .example = {.file = "running/sto-train-u001-leaf1.nvue",
                   .from = "",
                   .to = "nv set vrf storage router static 10.60.0.0/16 via 10.60.0.1\n"},
       .run = check_static_routes_between_fabrics},
      {.id = "IS013",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a VRF imports another fabric's routes",
       .reason = "A route leak is not visible in either VRF's own configuration: the packet shown passes from one to "
                 "the other.",
       .source = "RFC 4364 section 4.3.1: a VRF reaches every route it imports",
       .fix = "remove the import",
       .example =
           {.file = "running/sto-train-u001-leaf1.nvue",
            .from = "",
            .to = "nv set vrf storage router bgp address-family ipv4-unicast route-import from-vrf list backend\n"},
       .run = check_vrf_route_imports},
      {.id = "IS014",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "an interface of one fabric is in another fabric's VRF",
       .reason = "The switch routes between the two fabrics as between its own subnets.",
       .source = kFourFabrics,
       .fix = "remove the address, or move the interface into its own fabric's VRF on that fabric's switches",
       .example = {.file = "running/sto-train-u001-leaf1.nvue",
                   .from = "",
                   .to =
                       "nv set interface vlan710 ip vrf storage\nnv set interface vlan710 ip address 10.60.0.30/26\n"},
       .run = check_interface_vrf},
      {.id = "IS015",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a switch of the backend, storage or out-of-band fabric has a default route",
       .reason = "Packets to unknown destinations are forwarded instead of dropped: one more route elsewhere completes "
                 "a leak.",
       .source = kRoutesOfPods,
       .fix = "remove the route; only the frontend has a default route",
       .example = {.file = "running/sto-train-u001-leaf1.nvue",
                   .from = "",
                   .to = "nv set vrf storage router static 0.0.0.0/0 via 10.70.0.254\n"},
       .run = check_configured_default_routes},
      {.id = "IS016",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "an access list rule never matches",
       .reason = "Rules are evaluated in order: an earlier rule with the opposite action matches all of its packets, "
                 "so the protection or access that the rule describes is not in effect.",
       .source = "Al-Shaer and Hamed, Firewall Policy Advisor, IM 2003: shadowing",
       .fix = "move the narrower rule up, or remove it",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "  50 deny ip any any log\n",
                   .to = "  50 deny ip any any log\n  60 permit tcp host 10.135.0.5 10.128.0.0/10 eq 443\n"},
       .run = check_shadowed_acl_rules},
      {.id = "IS017",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "an access list is not applied to any interface",
       .reason = "It filters no traffic, so what it was written to protect is open.",
       .source = "Cisco Nexus 9000 NX-OS Security Configuration Guide, IP ACLs",
       .fix = "apply it, or remove it",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "",
                   .to = "ip access-list OLD-JUMP\n  10 permit ip host 10.135.0.5 any\n"},
       .run = check_unused_acl},
      {.id = "IS018",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "the access list of the BMC gateway permits hosts other than the jump hosts",
       .reason = "The list is the last protection of the BMCs' power control. It must permit the jump hosts only.",
       .source = kBmcGuidance,
       .fix = "permit only the addresses of the jump hosts",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "  50 deny ip any any log\n",
                   .to = "  50 permit tcp any 10.128.0.0/10 eq 443\n  60 deny ip any any log\n"},
       .run = check_oob_acl_sources},
      {.id = "IS019",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "the BMC gateway has no access list",
       .reason = "The design allows only jump hosts to reach the BMCs, but the interface that routes for the BMCs does "
                 "not enforce it.",
       .source = kBmcGuidance,
       .fix = "apply the jump hosts' access list to the interface",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "  ip access-group JUMP-ONLY in\n  ip access-group JUMP-ONLY out\n",
                   .to = ""},
       .run = check_oob_gateway_acl},
      {.id = "IS022",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a pod network uses another fabric's subnet",
       .reason = "Pods use addresses of the frontend or the out-of-band network: traffic for those addresses is sent "
                 "to a rail, and addresses no longer identify the fabric.",
       .source = kRoutesOfPods,
       .fix = "give the attachment a subnet of its own rail",
       .example =
           {.file = "running/attachments.yaml",
            .from = "\"range\": \"10.67.0.0/26\", \"range_start\": \"10.67.0.18\", \"range_end\": \"10.67.0.30\"",
            .to = "\"range\": \"10.20.50.224/27\", \"range_start\": \"10.20.50.226\", \"range_end\": \"10.20.50.250\""},
       .run = check_attachment_fabric},
      {.id = "IS023",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a NetworkPolicy is used to protect an RDMA subnet",
       .reason = "Policies are enforced in the kernel's path of eth0. RDMA and secondary networks bypass them, so the "
                 "rule has no effect.",
       .source = "Kubernetes Network Plumbing WG, multi-networkpolicy: kernel interfaces only; OKD: multi-network "
                 "policy, SR-IOV",
       .fix = "remove the range from the policy; isolate by VRF, access list and partition",
       .example = {.file = "running/policies.yaml",
                   .from = "    - to: [{podSelector: {}}]\n",
                   .to = "    - to: [{podSelector: {}}]\n    - to: [{ipBlock: {cidr: 10.70.0.0/16}}]\n"},
       .run = check_network_policy_on_rdma_subnet},
      {.id = "IS024",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a BGP session joins two fabrics",
       .reason = "The two sides exchange routes: both VRFs then carry both fabrics.",
       .source = kFourFabrics,
       .fix = "remove the neighbor",
       .example = {.file = "running/sto-train-u001-leaf1.nvue",
                   .from = "",
                   .to = "nv set vrf storage router bgp neighbor 10.60.0.1 remote-as external\n"
                         "nv set vrf storage router bgp neighbor 10.60.0.1 bfd enable on\n"},
       .run = check_bgp_between_fabrics},
      {.id = "IS025",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "the management port shares the data ports' routing table",
       .reason = "SONiC routes between eth0 and the front panel unless the management VRF is enabled: every host of "
                 "the fabric can then reach the out-of-band network through its leaf.",
       .source = "SONiC management VRF design: separation of the out-of-band network and the data plane",
       .fix = "set MGMT_VRF_CONFIG|vrf_global mgmtVrfEnabled to true",
       .example = {.file = "running/be-train-u001-leaf1.json",
                   .from = "\"mgmtVrfEnabled\": \"true\"",
                   .to = "\"mgmtVrfEnabled\": \"false\""},
       .run = check_management_vrf},
      {.id = "IS026",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "an interface applies an access list that does not exist",
       .reason = "NX-OS accepts the name and filters no traffic.",
       .source = "Cisco Nexus 7000 Command Reference, ip access-group: a deleted list does not affect traffic",
       .fix = "define the list, or apply the right one",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "  ip access-group JUMP-ONLY out\n",
                   .to = "  ip access-group JUMP-HOSTS out\n"},
       .run = check_missing_acl},
  };
}

}  // namespace

std::vector<Rule> isolation_rules() {  // NOLINT(readability-function-size): a table
  std::vector<Rule> rules = design_rules();
  for (Rule& rule : config_rules()) rules.push_back(rule);
  std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.id < b.id; });
  return rules;
}

}  // namespace weft::check
