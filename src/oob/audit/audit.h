// Hardening audit of live BMCs: open access, weak settings, missing logging and unreachable devices, each with the
// affected devices and the command that fixes it. Facts are collected per device (audit/audit.cc), evaluated by pure
// functions (audit/rules.cc), and folded by device range. Rule ids are shared with `weft check` where the meaning is
// the same; OB040 and up apply only to live devices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/document.h"
#include "base/ip.h"
#include "oob/audit/advisories.h"
#include "oob/audit/identity.h"
#include "oob/audit/ipmi_probe.h"
#include "oob/audit/tls_probe.h"
#include "oob/bmc/fleet.h"

namespace weft::oob {

// Requirements of the cluster file on its BMCs, and our own addresses.
struct AuditPolicy {
  std::vector<std::string> syslog;  // names and addresses of the cluster's log server; empty: none is set
  std::set<int> suites{17};         // cipher suites that may be offered
  std::vector<Ipv4> jump_hosts;     // out-of-band addresses of the jump hosts
  bool jump_only = true;            // no other host may reach BMCs
  std::vector<Ipv4> our_addresses;  // of this machine
  bool advisories_given = false;
  std::vector<Advisory> advisories;
};
[[nodiscard]] AuditPolicy policy_of(const model::Cluster& cluster);
// Every IPv4 address of this machine.
[[nodiscard]] std::vector<Ipv4> own_addresses();

// Network probes outside the session; replaced in tests.
struct AuditProbes {
  std::function<Result<IpmiProbe>(const Endpoint&)> ipmi;
  std::function<Result<TlsFacts>(const Endpoint&)> tls;
  std::function<Result<Ipv4>(const std::string& host)> source;
  std::function<HttpAnswer(const Endpoint&, std::uint16_t port)> http{};  // unset: not probed
};
[[nodiscard]] AuditProbes network_probes();

// Facts about one device. Empty members are unknown.
struct DeviceFacts {
  std::uint32_t target = 0;
  std::optional<Error> no_session;  // why the login failed
  std::optional<BmcIdentity> identity;
  std::optional<BmcSettings> settings;
  std::optional<std::vector<BmcUser>> users;
  std::vector<std::string> untold;  // "settings": requested in a session, but not returned
  std::optional<Error> untold_why;  // error of the last of them
  std::optional<IpmiProbe> ipmi;
  std::optional<TlsFacts> tls;
  std::optional<Ipv4> source;          // our source address toward it
  std::optional<std::string> open_to;  // user name of a factory login that it accepts
  bool stored_default = false;         // the credential store itself has a factory login for it
};

struct AuditRule {
  std::string_view id;
  Severity severity;
  std::string_view title;
};
[[nodiscard]] const std::vector<AuditRule>& audit_rules();

// One finding on one device. In `fix`, HOSTS is a placeholder for the devices of the row and CLUSTER for the cluster
// file.
struct Finding {
  const AuditRule* rule = nullptr;
  Severity severity = Severity::error;  // the rule's, except for advisories, which have their own
  std::string what;
  std::string fix;
};
[[nodiscard]] std::vector<Finding> findings_of(const Target& device, const DeviceFacts& facts,
                                               const AuditPolicy& policy);

struct AuditRequest {
  bool try_defaults = false;
  std::string reason;  // journaled with each attempt
};

// A row of the report.
struct FoldedFinding {
  Finding finding;
  std::vector<std::uint32_t> targets;
};
struct AuditReport {
  std::vector<FoldedFinding> findings;  // worst first, then by rule, then most devices
  std::vector<Unreached> unreached;
  std::size_t asked = 0;
  [[nodiscard]] bool has_errors() const;
};

// Facts of every device, F devices in parallel.
[[nodiscard]] std::vector<DeviceFacts> gather_facts(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                                    const AuditRequest& request, const AuditProbes& probes);
// Sets of devices that share a password in the store.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> shared_passwords(const Fleet& fleet,
                                                                       std::span<const std::uint32_t> targets);
[[nodiscard]] AuditReport judge_fleet(const Fleet& fleet, const model::Cluster* cluster,
                                      std::span<const std::uint32_t> targets, const std::vector<DeviceFacts>& facts,
                                      const AuditPolicy& policy);
// `cluster_file`: as given by the user, for the fix commands.
[[nodiscard]] Document audit_document(const Inventory& inventory, const AuditReport& report, const AuditPolicy& policy,
                                      const std::string& cluster_file);

}  // namespace weft::oob
