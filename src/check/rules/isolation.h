// What the isolation rules run, in two files by what they look at: the design, and real configuration. Internal to
// check/; the table is in rules/isolation.cc.
#pragma once

#include "check/core/rule.h"
#include "check/reach/reachability.h"

namespace weft::check {

// Reports every crossing of a kind once for each line that makes it, with the path it opens. Where `whole_path` is
// set, one that opens none is passed over.
void report_crossings(const CheckInput& input, Report& report, CrossingKind kind, bool whole_path);
// Puts the hops of a path below a finding.
void add_path(Finding& finding, const Reachability& reachability, const ReachViolation& violation);

// --- rules/isolation_design.cc
void fabrics_exchange_routes(const CheckInput& input, Report& report);
void default_route_beside_frontend(const CheckInput& input, Report& report);
void frontend_without_default_route(const CheckInput& input, Report& report);
void shared_vrf(const CheckInput& input, Report& report);
void shared_vlan(const CheckInput& input, Report& report);
void bmcs_open(const CheckInput& input, Report& report);
void oob_routed_to_frontend(const CheckInput& input, Report& report);
void oob_routed_to_site(const CheckInput& input, Report& report);
void data_fabric_linked_to_site(const CheckInput& input, Report& report);
void shared_ipv6(const CheckInput& input, Report& report);

// --- rules/isolation_config.cc
void foreign_vlan(const CheckInput& input, Report& report);
void forwarding_hosts(const CheckInput& input, Report& report);
void forwarding_pods(const CheckInput& input, Report& report);
void routes_between_fabrics(const CheckInput& input, Report& report);
void vrf_leaks(const CheckInput& input, Report& report);
void foreign_addresses(const CheckInput& input, Report& report);
void configured_default_routes(const CheckInput& input, Report& report);
void bgp_between_fabrics(const CheckInput& input, Report& report);
void management_in_data_vrf(const CheckInput& input, Report& report);
void attachment_on_wrong_fabric(const CheckInput& input, Report& report);
void policy_on_rdma_subnet(const CheckInput& input, Report& report);

// --- rules/isolation_acl.cc
void shadowed_acl_rules(const CheckInput& input, Report& report);
void unused_acl(const CheckInput& input, Report& report);
void missing_acl(const CheckInput& input, Report& report);
void oob_acl_too_wide(const CheckInput& input, Report& report);
void oob_gateway_without_acl(const CheckInput& input, Report& report);

}  // namespace weft::check
