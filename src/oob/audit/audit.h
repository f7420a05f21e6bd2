// The hardening audit of live BMCs (row H3): what is open, weak, unlogged or out of reach, which devices have it, and
// the command that mends it. Facts are gathered per device (audit/audit.cc), judged by pure functions (audit/rules.cc),
// and folded by device range. Rule ids are those of `weft check` where they mean the same; OB040 and up are of live
// devices alone.
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

// What the cluster file wants of its BMCs, and who we are.
struct AuditPolicy {
  std::vector<std::string> syslog;  // names and addresses of the cluster's log server; empty: none is set
  std::set<int> suites{17};         // cipher suites that may be offered
  std::vector<Ipv4> jump_hosts;     // out-of-band addresses of the ways in
  bool jump_only = true;            // nobody else may reach BMCs
  std::vector<Ipv4> our_addresses;  // of this machine
  bool advisories_given = false;
  std::vector<Advisory> advisories;
};
[[nodiscard]] AuditPolicy policy_of(const model::Cluster& cluster);
// Every IPv4 address of this machine.
[[nodiscard]] std::vector<Ipv4> own_addresses();

// Questions to the network beside the session; replaced in tests.
struct AuditProbes {
  std::function<Result<IpmiProbe>(const Endpoint&)> ipmi;
  std::function<Result<TlsFacts>(const Endpoint&)> tls;
  std::function<Result<Ipv4>(const std::string& host)> source;
};
[[nodiscard]] AuditProbes network_probes();

// What was learnt of one device. What is empty was not learnt.
struct DeviceFacts {
  std::uint32_t target = 0;
  std::optional<Error> no_session;  // why nobody could log in
  std::optional<BmcIdentity> identity;
  std::optional<BmcSettings> settings;
  std::optional<std::vector<BmcUser>> users;
  std::vector<std::string> untold;  // "settings": asked for in a session and not given
  std::optional<Error> untold_why;  // the last of them
  std::optional<IpmiProbe> ipmi;
  std::optional<TlsFacts> tls;
  std::optional<Ipv4> source;          // we talk to it from here
  std::optional<std::string> open_to;  // user name of a factory login that it takes
  bool stored_default = false;         // the credential store itself holds a factory login for it
};

struct AuditRule {
  std::string_view id;
  Severity severity;
  std::string_view title;
};
[[nodiscard]] const std::vector<AuditRule>& audit_rules();

// One finding on one device. In `mend`, HOSTS stands for the devices of the row and CLUSTER for the cluster file.
struct Finding {
  const AuditRule* rule = nullptr;
  Severity severity = Severity::error;  // the rule's, except for advisories, which bring their own
  std::string what;
  std::string mend;
};
[[nodiscard]] std::vector<Finding> findings_of(const Target& device, const DeviceFacts& facts,
                                               const AuditPolicy& policy);

struct AuditRequest {
  bool try_defaults = false;
  std::string reason;  // goes to the journal with each try
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

// Facts of every device, from F at a time.
[[nodiscard]] std::vector<DeviceFacts> gather_facts(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                                    const AuditRequest& request, const AuditProbes& probes);
// Sets of devices that have the same password in the store.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> shared_passwords(const Fleet& fleet,
                                                                       std::span<const std::uint32_t> targets);
[[nodiscard]] AuditReport judge_fleet(const Fleet& fleet, const model::Cluster* cluster,
                                      std::span<const std::uint32_t> targets, const std::vector<DeviceFacts>& facts,
                                      const AuditPolicy& policy);
// `cluster_file`: as the user gave it, for the commands that mend.
[[nodiscard]] Document audit_document(const Inventory& inventory, const AuditReport& report, const AuditPolicy& policy,
                                      const std::string& cluster_file);

}  // namespace weft::oob
