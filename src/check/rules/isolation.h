// Functions of the isolation rules, grouped by their input: the design, configuration, access lists. Internal to
// check/; the table is in rules/isolation.cc.
#pragma once

#include "check/core/rule.h"
#include "check/reach/reachability.h"

namespace weft::check {

// Reports every crossing of a kind once per line that causes it, with the path it opens. If `whole_path` is set,
// crossings that open no path are skipped.
void report_crossings(const CheckInput& input, Report& report, CrossingKind kind, bool whole_path);
// Attaches the hops of a path to a finding.
void add_path(Finding& finding, const Reachability& reachability, const ReachViolation& violation);

// --- rules/isolation_design.cc
void check_route_exchange(const CheckInput& input, Report& report);
void check_data_fabric_default_route(const CheckInput& input, Report& report);
void check_frontend_default_route(const CheckInput& input, Report& report);
void check_shared_vrf(const CheckInput& input, Report& report);
void check_shared_vlan(const CheckInput& input, Report& report);
void check_bmc_access(const CheckInput& input, Report& report);
void check_oob_route_to_frontend(const CheckInput& input, Report& report);
void check_oob_route_to_site(const CheckInput& input, Report& report);
void check_data_fabric_external_links(const CheckInput& input, Report& report);
void check_ipv6_prefix_overlap(const CheckInput& input, Report& report);

// --- rules/isolation_config.cc
void check_foreign_vlan(const CheckInput& input, Report& report);
void check_host_forwarding(const CheckInput& input, Report& report);
void check_pod_forwarding(const CheckInput& input, Report& report);
void check_static_routes_between_fabrics(const CheckInput& input, Report& report);
void check_vrf_route_imports(const CheckInput& input, Report& report);
void check_interface_vrf(const CheckInput& input, Report& report);
void check_configured_default_routes(const CheckInput& input, Report& report);
void check_bgp_between_fabrics(const CheckInput& input, Report& report);
void check_management_vrf(const CheckInput& input, Report& report);
void check_attachment_fabric(const CheckInput& input, Report& report);
void check_network_policy_on_rdma_subnet(const CheckInput& input, Report& report);

// --- rules/isolation_acl.cc
void check_shadowed_acl_rules(const CheckInput& input, Report& report);
void check_unused_acl(const CheckInput& input, Report& report);
void check_missing_acl(const CheckInput& input, Report& report);
void check_oob_acl_sources(const CheckInput& input, Report& report);
void check_oob_gateway_acl(const CheckInput& input, Report& report);

}  // namespace weft::check
