#include "oob/audit/audit.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "base/human_format.h"
#include "base/quoting.h"
#include "base/text.h"
#include "oob/audit/default_logins.h"
#include "oob/audit/http_probe.h"
#include "oob/bmc/ask_all.h"
#include "oob/manage/settings_run.h"

namespace weft::oob {
namespace {

constexpr Duration kProbeWait = milliseconds(1'000);  // per datagram; on a 1G network they take less than 1 ms
constexpr Duration kTryPause = milliseconds(3'000);   // between two factory logins: a BMC is slow and counts failures
constexpr std::uint16_t kIpmiPort = 623;              // IANA asf-rmcp

// Collects all facts about one device.
class Gatherer {
 public:
  Gatherer(const Fleet& fleet, const AuditRequest& request, const AuditProbes& probes, std::string operation)
      : fleet_(fleet), request_(request), probes_(probes), operation_(std::move(operation)) {}

  [[nodiscard]] DeviceFacts one(std::uint32_t target) const {
    DeviceFacts facts;
    facts.target = target;
    const Target& device = fleet_.inventory.targets()[target];
    const bool direct = device.endpoint.proxy.empty();
    if (direct) look_around(device.endpoint, facts);
    const Result<Credential> credential = fleet_.credentials.find(device.name, device.group);
    if (credential.ok()) facts.stored_default = is_default_login(credential->user, credential->password);
    Result<OpenBmc> open = open_patiently(fleet_, target);
    if (open.ok()) {
      ask(*open->bmc, facts);
      open->bmc.reset();
      if (probes_.http && facts.settings && facts.settings->http != false)
        facts.settings->http_answer = probes_.http(device.endpoint, facts.settings->http_port);
    } else {
      facts.no_session = open.error();
    }
    if (direct) look_at_certificate(device.endpoint, facts);
    if (request_.try_defaults) try_defaults(device, credential, facts);
    return facts;
  }

 private:
  void look_around(const Endpoint& endpoint, DeviceFacts& facts) const {
    if (const Result<Ipv4> source = probes_.source(endpoint.host); source.ok()) facts.source = *source;
    if (Result<IpmiProbe> probe = probes_.ipmi(endpoint); probe.ok()) facts.ipmi = std::move(probe).value();
  }

  // A session opened with verification has already proven the certificate; an unreachable device has none.
  void look_at_certificate(const Endpoint& endpoint, DeviceFacts& facts) const {
    if (endpoint.protocol != Protocol::redfish) return;
    const bool refused = facts.no_session && facts.no_session->code == ErrorCode::refused;
    if (!refused && (facts.no_session || endpoint.tls.verify)) return;
    if (Result<TlsFacts> tls = probes_.tls(endpoint); tls.ok()) facts.tls = std::move(tls).value();
  }

  template <class T>
  static void keep(Result<T> answer, std::string_view name, std::optional<T>& place, DeviceFacts& facts) {
    if (answer.ok()) {
      place = std::move(answer).value();
      return;
    }
    facts.untold.emplace_back(name);
    facts.untold_why = answer.error();
  }

  static void ask(Bmc& bmc, DeviceFacts& facts) {
    keep(bmc.identity(), "identity", facts.identity, facts);
    keep(bmc.settings(), "settings", facts.settings, facts);
    keep(bmc.users(), "accounts", facts.users, facts);
    if (facts.untold.size() < 3) return;
    facts.no_session = facts.untold_why;  // a session without any valid response counts as none
    facts.untold.clear();
  }

  void try_defaults(const Target& device, const Result<Credential>& credential, DeviceFacts& facts) const {
    const bool ours_works = !facts.no_session;
    if (facts.no_session && facts.no_session->code != ErrorCode::refused) return;  // unreachable
    if (ours_works && facts.stored_default) {
      facts.open_to = credential->user;
      return;
    }
    std::vector<const DefaultLogin*> logins = logins_to_try(facts.identity ? facts.identity->manufacturer : "");
    std::size_t left = kMaxDefaultTries;
    if (!ours_works) {
      // Our own refused login already counts as a failure. Spend the remaining attempt on the known account.
      --left;
      const auto is_ours = [&](const DefaultLogin* login) {
        return credential.ok() && login->user == credential->user;
      };
      std::stable_partition(logins.begin(), logins.end(), is_ours);
    }
    bool paused = false;
    for (const DefaultLogin* login : logins) {
      // An account has one password, and ours is a different one.
      if (ours_works && login->user == credential->user) continue;
      if (left-- == 0) return;
      if (std::exchange(paused, true) && !fleet_.clock.sleep(kTryPause)) return;
      const std::optional<bool> taken = try_one(device, *login);
      if (taken == true) facts.open_to = std::string(login->user);
      if (taken != false) return;
    }
  }

  // Empty if unknown: the BMC is busy or unreachable, or the journal could not be written.
  [[nodiscard]] std::optional<bool> try_one(const Target& device, const DefaultLogin& login) const {
    if (!write(device.name, Phase::intent, Value::map({{"user", login.user}, {"source", login.source}})).ok())
      return std::nullopt;
    const Result<std::unique_ptr<Bmc>> bmc =
        fleet_.connector.dial(device.endpoint, std::string(login.user), Secret(std::string(login.password)));
    const bool told_no = !bmc.ok() && bmc.error().code == ErrorCode::refused;
    const std::string_view ending = bmc.ok() ? "taken" : told_no ? "refused" : "unknown";
    (void)write(device.name, Phase::outcome, Value::map({{"ending", ending}}));
    if (bmc.ok()) return true;
    if (told_no) return false;
    return std::nullopt;
  }

  [[nodiscard]] Status write(const std::string& device, Phase phase, Value detail) const {
    JournalEntry entry;
    entry.operation = operation_;
    entry.verb = "audit.default-login";
    entry.phase = phase;
    entry.device = device;
    entry.detail = std::move(detail);
    return fleet_.journal.append(std::move(entry));
  }

  const Fleet& fleet_;
  const AuditRequest& request_;
  const AuditProbes& probes_;
  std::string operation_;
};

Status frame_tries(const Fleet& fleet, const std::string& operation, Phase phase, Value detail) {
  JournalEntry entry;
  entry.operation = operation;
  entry.verb = "audit.default-login";
  entry.phase = phase;
  entry.detail = std::move(detail);
  return fleet.journal.append(std::move(entry));
}

const AuditRule& rule_named(std::string_view id) {
  const std::vector<AuditRule>& rules = audit_rules();
  return *std::find_if(rules.begin(), rules.end(), [&](const AuditRule& rule) { return rule.id == id; });
}

// Findings of all devices, equal ones merged.
class Folder {
 public:
  void add(const Finding& finding, std::uint32_t target) {
    rows_[{finding.severity, finding.rule, finding.what, finding.fix}].push_back(target);
  }
  void add(std::string_view id, const std::string& what, const std::string& fix,
           const std::vector<std::uint32_t>& targets) {
    const AuditRule& rule = rule_named(id);
    for (const std::uint32_t target : targets) add({&rule, rule.severity, what, fix}, target);
  }

  [[nodiscard]] std::vector<FoldedFinding> take() {
    std::vector<FoldedFinding> findings;
    findings.reserve(rows_.size());
    for (auto& [key, targets] : rows_) {
      std::sort(targets.begin(), targets.end());
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      findings.push_back(
          {{std::get<1>(key), std::get<0>(key), std::get<2>(key), std::get<3>(key)}, std::move(targets)});
    }
    std::stable_sort(findings.begin(), findings.end(), [](const FoldedFinding& a, const FoldedFinding& b) {
      if (a.finding.severity != b.finding.severity) return a.finding.severity < b.finding.severity;
      if (a.finding.rule->id != b.finding.rule->id) return a.finding.rule->id < b.finding.rule->id;
      if (a.targets.size() != b.targets.size()) return a.targets.size() > b.targets.size();
      return std::tie(a.finding.what, a.finding.fix) < std::tie(b.finding.what, b.finding.fix);
    });
    return findings;
  }

 private:
  std::map<std::tuple<Severity, const AuditRule*, std::string, std::string>, std::vector<std::uint32_t>> rows_;
};

void add_identity_findings(const Fleet& fleet, const model::Cluster* cluster, const std::vector<DeviceFacts>& facts,
                           Folder& folder) {
  Identities identities;
  for (const DeviceFacts& device : facts) {
    if (device.identity) identities.emplace(device.target, *device.identity);
  }
  for (const SharedIdentity& shared : shared_identities(identities)) {
    folder.add("OB050", fmt::format("have the same {} ({})", shared.kind, shared.value),
               "find the wrong cable or address: weft show cables CLUSTER", shared.targets);
  }
  const std::string fix = "weft oob inventory CLUSTER HOSTS --probe; change the cluster file or the machine";
  for (const OddOneOut& odd : odd_ones_out(fleet.inventory, identities))
    folder.add("OB051", odd.what, fix, {odd.target});
  if (cluster == nullptr) return;
  for (const auto& [target, identity] : identities) {
    const std::string what = model_mismatch(*cluster, fleet.inventory.targets()[target], identity);
    if (!what.empty()) folder.add("OB051", what, fix, {target});
  }
}

std::string_view severity_word(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      break;
  }
  return "note";
}

// Findings about reachability rather than settings; counted separately.
bool is_of_reach(const AuditRule& rule) { return rule.id == "OB047" || rule.id == "OB048"; }

}  // namespace

AuditPolicy policy_of(const model::Cluster& cluster) {
  const model::OobSpec& oob = *cluster.spec().fabrics->oob;
  AuditPolicy policy;
  if (oob.syslog.has_value()) {
    policy.syslog.push_back(*oob.syslog);
    const model::DeviceId device = cluster.find_device(*oob.syslog);
    for (const model::PortId id :
         device == model::kNone<model::DeviceId> ? std::span<const model::PortId>{} : cluster.ports_of(device)) {
      const model::Port& port = cluster.port(id);
      if (port.fabric == model::FabricKind::oob && port.rail != 0 && port.address.bits != 0)  // rail 0: its BMC
        policy.syslog.push_back(weft::to_text(port.address));
    }
  }
  policy.suites.clear();
  for (const std::int64_t suite : *oob.bmc->cipher_suites) policy.suites.insert(static_cast<int>(suite));
  policy.jump_hosts = jump_addresses(cluster);
  policy.jump_only = *oob.jump_only;
  policy.our_addresses = own_addresses();
  return policy;
}

std::vector<Ipv4> own_addresses() {
  std::vector<Ipv4> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, NI_MAXHOST> text{};
    constexpr socklen_t kSize = 16;  // of sockaddr_in
    if (getnameinfo(one->ifa_addr, kSize, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) continue;
    if (const Result<Ipv4> address = parse_ipv4(text.data()); address.ok()) addresses.push_back(*address);
  }
  freeifaddrs(list);
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

AuditProbes network_probes() {
  return {[](const Endpoint& endpoint) {
            const std::uint16_t port = endpoint.protocol == Protocol::ipmi ? endpoint.real_port() : kIpmiPort;
            return probe_open_ipmi(endpoint.host, port, kProbeWait);
          },
          probe_tls, source_address_toward, probe_http};
}

std::vector<DeviceFacts> gather_facts(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                      const AuditRequest& request, const AuditProbes& probes) {
  std::vector<DeviceFacts> facts(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    facts[i].target = targets[i];
    facts[i].no_session = Error{ErrorCode::unavailable, "skipped: the command was stopped", {}};
  }
  AuditRequest allowed = request;
  const std::string operation = new_operation_id();
  const std::vector<std::uint32_t> all(targets.begin(), targets.end());
  if (allowed.try_defaults) {
    const Status begun = frame_tries(
        fleet, operation, Phase::begin,
        Value::map({{"devices", fleet.inventory.fold(all)}, {"count", all.size()}, {"reason", request.reason}}));
    allowed.try_defaults = begun.ok();  // no attempts without a journal entry
  }
  const Gatherer gatherer(fleet, allowed, probes, operation);
  (void)fan_out_over(fleet, targets.size(), [&](std::uint32_t i) { facts[i] = gatherer.one(targets[i]); });
  if (allowed.try_defaults) {
    const auto open =
        std::count_if(facts.begin(), facts.end(), [](const DeviceFacts& one) { return one.open_to.has_value(); });
    (void)frame_tries(fleet, operation, Phase::end, Value::map({{"taken", open}}));
  }
  return facts;
}

std::vector<std::vector<std::uint32_t>> shared_passwords(const Fleet& fleet, std::span<const std::uint32_t> targets) {
  std::map<std::string, std::vector<std::uint32_t>> by_digest;  // digests instead of passwords in memory
  for (const std::uint32_t target : targets) {
    const Target& device = fleet.inventory.targets()[target];
    const Result<Credential> credential = fleet.credentials.find(device.name, device.group);
    if (credential.ok()) by_digest[sha256(credential->password.reveal())].push_back(target);
  }
  std::vector<std::vector<std::uint32_t>> sets;
  for (auto& [digest, sharing] : by_digest) {
    if (sharing.size() > 1) sets.push_back(std::move(sharing));
  }
  std::sort(sets.begin(), sets.end());  // not by digest: that order would leak information
  return sets;
}

AuditReport judge_fleet(const Fleet& fleet, const model::Cluster* cluster, std::span<const std::uint32_t> targets,
                        const std::vector<DeviceFacts>& facts, const AuditPolicy& policy) {
  AuditReport report;
  report.asked = facts.size();
  Folder folder;
  for (const DeviceFacts& device : facts) {
    if (device.no_session) report.unreached.push_back({device.target, *device.no_session});
    for (const Finding& finding : findings_of(fleet.inventory.targets()[device.target], device, policy))
      folder.add(finding, device.target);
  }
  std::vector<std::uint32_t> sharing;
  const std::vector<std::vector<std::uint32_t>> sets = shared_passwords(fleet, targets);
  for (const std::vector<std::uint32_t>& set : sets) sharing.insert(sharing.end(), set.begin(), set.end());
  if (!sharing.empty()) {
    folder.add("OB024", fmt::format("{} stored for {}", plural(sets.size(), "password"), plural(sharing.size(), "BMC")),
               "weft oob rotate CLUSTER HOSTS", sharing);
  }
  add_identity_findings(fleet, cluster, facts, folder);
  report.findings = folder.take();
  return report;
}

bool AuditReport::has_errors() const {
  return std::any_of(findings.begin(), findings.end(), [](const FoldedFinding& row) {
    return row.finding.severity == Severity::error && !is_of_reach(*row.finding.rule);
  });
}

Document audit_document(const Inventory& inventory, const AuditReport& report, const AuditPolicy& policy,
                        const std::string& cluster_file) {
  Document document;
  document.kind = "oob-audit";
  TableSection table{"findings", "", {}, {}};
  table.columns = {{.key = "severity", .title = "Severity"},
                   {.key = "rule", .title = "Rule"},
                   {.key = "title", .title = "Title", .wide = true},
                   {.key = "count", .title = "Count", .align = Column::Align::right},
                   {.key = "what", .title = "Finding", .priority = 3},
                   {.key = "devices", .title = "Devices", .priority = 2},
                   {.key = "fix", .title = "Fix", .priority = 1}};
  for (const FoldedFinding& row : report.findings) {
    const std::string devices = inventory.fold(row.targets);
    const std::string fix =
        replace_all(replace_all(row.finding.fix, "HOSTS", shell_quote(devices)), "CLUSTER", shell_quote(cluster_file));
    table.rows.push_back({severity_word(row.finding.severity), Cell(row.finding.rule->id),
                          Cell(row.finding.rule->title), static_cast<std::uint64_t>(row.targets.size()),
                          row.finding.what, inventory.hosts_cell(row.targets, report.asked), fix});
  }
  const bool sound = table.rows.empty();
  document.sections.emplace_back(std::move(table));
  document.notes.push_back(fmt::format("{} audited, {} unreachable{}", plural(report.asked, "device"),
                                       report.unreached.size(), sound ? "; nothing found" : ""));
  if (!policy.advisories_given)
    document.notes.emplace_back(
        "firmware versions were not checked: give a list of vulnerabilities with --advisories FILE");
  return document;
}

}  // namespace weft::oob
