// Audit rules: evaluates the facts of one device.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "oob/audit/audit.h"
#include "oob/bmc/cause.h"
#include "oob/manage/users_view.h"

namespace weft::oob {
namespace {

constexpr std::string_view kSettings = "weft oob settings CLUSTER HOSTS ";

const AuditRule& rule(std::string_view id) {
  const std::vector<AuditRule>& rules = audit_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const AuditRule& one) { return one.id == id; });
  CHECK(found != rules.end(), "an audit rule that is not in the table");
  return *found;
}

// "tls://10.0.0.1:6514" and "10.0.0.1" are the same server.
std::string host_part(std::string_view target) {
  if (const std::size_t scheme = target.find("://"); scheme != std::string_view::npos) target.remove_prefix(scheme + 3);
  if (target.starts_with('[')) return std::string(target.substr(1, target.find(']') - 1));
  if (std::count(target.begin(), target.end(), ':') == 1) target = target.substr(0, target.find(':'));
  return std::string(target);
}

// For a BMC that refused before it saw the credentials.
std::string remedy_of(const Error& refusal) {
  const std::string_view cause = cause_text(refusal);
  if (cause == kNotTrusted)
    return "compare its fingerprint at the machine, then run `weft oob trust`, or set `ca` in the endpoints file";
  if (cause == kCertificateChanged)
    return "compare its fingerprint at the machine, then run `weft oob trust --replace`";
  if (cause == kNoCipherSuite) return "set `ciphers` in the endpoints file to suites that it offers";
  if (cause == kRedirected) return "set `host` and `port` in the endpoints file to where it redirects";
  return "update its firmware";
}

// Evaluates one device; each member checks one aspect.
class Judge {
 public:
  Judge(const Target& device, const DeviceFacts& facts, const AuditPolicy& policy)
      : device_(device), facts_(facts), policy_(policy) {}

  std::vector<Finding> run() {
    reach();
    logins();
    ipmi();
    ciphers();
    transport();
    if (facts_.settings) settings(*facts_.settings);
    users();
    firmware();
    return std::move(found_);
  }

 private:
  void add(std::string_view id, std::string what, std::string fix, std::optional<Severity> severity = std::nullopt) {
    const AuditRule& of = rule(id);
    found_.push_back({&of, severity.value_or(of.severity), std::move(what), std::move(fix)});
  }

  void reach() {
    // If the certificate prevented the login, that is the finding.
    const bool by_certificate =
        device_.endpoint.tls.verify && facts_.tls && !facts_.tls->problems.empty() && facts_.no_session;
    if (facts_.no_session && !by_certificate) {
      const std::string why = reason_of(*facts_.no_session);
      const bool is_refused = facts_.no_session->code == ErrorCode::refused;
      if (is_about_credentials(*facts_.no_session))
        add("OB048", "rejects the stored credentials: " + why,
            "weft oob rotate CLUSTER HOSTS, or correct the credential store");
      else if (is_refused)
        add("OB047", "is not reached out of band: " + why, remedy_of(*facts_.no_session));
      else
        add("OB047", "is not reached out of band: " + why, "weft show cables CLUSTER; check port, address and power");
    }
    if (!facts_.untold.empty())
      add("OB052",
          fmt::format("does not report its {}: {}", fmt::join(facts_.untold, " and "), reason_of(*facts_.untold_why)),
          "ask its maker; update its firmware");
    const bool reached = !facts_.no_session || facts_.no_session->code == ErrorCode::refused;
    if (!reached || !facts_.source || !policy_.jump_only || policy_.jump_hosts.empty()) return;
    constexpr std::uint32_t kLoopback = 127;
    if ((facts_.source->bits >> 24U) == kLoopback) return;  // simulated, on this machine
    const auto is_ours = [&](Ipv4 jump) {
      return jump == *facts_.source ||
             std::find(policy_.our_addresses.begin(), policy_.our_addresses.end(), jump) != policy_.our_addresses.end();
    };
    if (std::any_of(policy_.jump_hosts.begin(), policy_.jump_hosts.end(), is_ours)) return;
    add("OB049", fmt::format("is reachable from {}, which is not a jump host", weft::to_text(*facts_.source)),
        "weft render CLUSTER: apply the access list of the out-of-band switches");
  }

  void logins() {
    if (facts_.stored_default)
      add("OB023", "the stored login is one that makers ship", "weft oob rotate CLUSTER HOSTS");
    if (facts_.open_to)
      add("OB023", fmt::format("takes the maker's login of `{}`", *facts_.open_to),
          "weft oob rotate CLUSTER HOSTS, or weft oob users CLUSTER HOSTS --disable " + *facts_.open_to);
  }

  void ipmi() {
    const bool told_on = facts_.settings && facts_.settings->ipmi_over_lan == true;
    const bool heard = facts_.ipmi && facts_.ipmi->answered;
    if (facts_.ipmi && facts_.ipmi->anonymous_login == true)
      add("OB044", "allows anonymous IPMI users",
          device_.endpoint.protocol == Protocol::ipmi
              ? "give user 1 a password or disable it (ipmi-config, section User1)"
              : std::string(kSettings) + "--ipmi off");
    if (!told_on && !heard) return;
    if (device_.endpoint.protocol == Protocol::ipmi) {
      add("OB025", "is managed by IPMI, which hands a hash of its password to anyone",
          "move to Redfish where the BMC has it; until then let jump hosts alone reach it");
      return;
    }
    if (facts_.settings && facts_.settings->ipmi_over_lan == false)
      add("OB025", "reports IPMI as disabled, but answers IPMI",
          std::string(kSettings) + "--ipmi off, then restart the BMC");
    else
      add("OB025", "has IPMI over LAN enabled", std::string(kSettings) + "--ipmi off");
  }

  void ciphers() {
    // The probe without a login takes precedence over the BMC's own report.
    std::vector<int> suites;
    if (facts_.ipmi && !facts_.ipmi->suites.empty()) suites = facts_.ipmi->suites;
    if (suites.empty() && facts_.settings) suites = facts_.settings->cipher_suites;
    std::vector<int> weak;
    for (const int suite : suites) {
      if (suite == 0) add("OB026", "offers cipher suite 0: any password is taken", mend_ciphers());
      if (suite != 0 && suite != 17 && (suite != 3 || !policy_.suites.contains(3))) weak.push_back(suite);
    }
    if (!weak.empty())
      add("OB027", fmt::format("offers cipher suite{} {}", weak.size() == 1 ? "" : "s", fmt::join(weak, ", ")),
          mend_ciphers());
  }

  [[nodiscard]] std::string mend_ciphers() const {
    if (device_.endpoint.protocol != Protocol::ipmi) return std::string(kSettings) + "--ipmi off";
    return "allow suite 17 alone: ipmi-config --category=core, section Rmcpplus_Conf_Privilege";
  }

  void transport() {
    if (device_.endpoint.protocol != Protocol::redfish) return;
    if (!device_.endpoint.tls.verify && device_.endpoint.tls.fingerprint.empty())
      add("OB028", "its certificate is not checked", "install a certificate; leave out --insecure and `verify: false`");
    if (!facts_.tls || facts_.tls->problems.empty()) return;
    add("OB041", fmt::format("its certificate {}", fmt::join(facts_.tls->problems, ", ")),
        "install a certificate of your own authority, or accept this one with `weft oob trust`");
  }

  // By what it answers, if that is known: most BMCs with HTTP enabled only redirect.
  void plain_http(const BmcSettings& settings) {
    const HttpAnswer answer =
        settings.http_answer.value_or(settings.http == true ? HttpAnswer::plain : HttpAnswer::none);
    const std::string fix = std::string(kSettings) + "--http off";
    if (answer == HttpAnswer::plain) {
      add("OB040", "serves plain HTTP without TLS", fix);
    } else if (answer == HttpAnswer::redirect) {
      add("OB040", "redirects plain HTTP to HTTPS", fix, Severity::note);
    } else if (settings.http == true) {
      add("OB040", fmt::format("has HTTP enabled, but nothing answers on port {}", settings.http_port), fix,
          Severity::warning);
    }
  }

  void settings(const BmcSettings& settings) {
    plain_http(settings);
    if (settings.host_interface == true)
      add("OB030", "lets the operating system of its server talk to it",
          "turn the host interface off in the BMC's own pages");
    if (settings.firewall && settings.firewall->empty())
      add("OB029", "accepts connections from every address", std::string(kSettings) + "--allow " + allow_hint());
    if (settings.ntp && settings.ntp->empty())
      add("OB043", "has no NTP server", std::string(kSettings) + "--ntp ADDRESS");
    syslog(settings);
  }

  [[nodiscard]] std::string allow_hint() const {
    std::string text;
    for (const Ipv4 jump : policy_.jump_hosts)
      text += fmt::format("{}{}/32", text.empty() ? "" : " --allow ", weft::to_text(jump));
    return text.empty() ? "SUBNET" : text;
  }

  void syslog(const BmcSettings& settings) {
    if (!settings.syslog) return;
    const std::string server = policy_.syslog.empty() ? "ADDRESS" : policy_.syslog.back();
    if (settings.syslog->empty()) {
      add("OB019", "sends its logs to no log server", std::string(kSettings) + "--log-to " + server);
      return;
    }
    if (policy_.syslog.empty()) return;
    const auto is_planned = [&](const std::string& target) {
      return std::find(policy_.syslog.begin(), policy_.syslog.end(), host_part(target)) != policy_.syslog.end();
    };
    if (std::any_of(settings.syslog->begin(), settings.syslog->end(), is_planned)) return;
    std::vector<std::string> elsewhere = *settings.syslog;
    std::sort(elsewhere.begin(), elsewhere.end());
    add("OB042", told(fmt::format("logs to {}, not to {}", fmt::join(elsewhere, ", "), server)),
        std::string(kSettings) + "--log-to " + server);
  }

  void users() {
    if (!facts_.users) return;
    for (const BmcUser& user : *facts_.users) {
      if (!is_anonymous(user)) continue;
      add("OB044", fmt::format("has an enabled account without a name ({})", to_text(user.role)),
          "disable it in the BMC's web interface (slot " + told(user.id) + ")");
    }
  }

  void firmware() {
    if (!facts_.identity) return;
    std::optional<bool> ipmi;
    if (facts_.settings) ipmi = facts_.settings->ipmi_over_lan;
    if (facts_.ipmi && facts_.ipmi->answered) ipmi = true;
    const std::string version = facts_.identity->firmware.empty() ? "unknown" : told(facts_.identity->firmware);
    for (const Advisory& advisory : policy_.advisories) {
      const Verdict verdict = judge(advisory, *facts_.identity, ipmi);
      if (verdict == Verdict::affected) {
        add("OB045", fmt::format("{}: {} (firmware {})", advisory.id, advisory.title, version),
            mend_firmware(advisory));
        found_.back().severity = advisory.severity;
      } else if (verdict == Verdict::cannot_tell) {
        add("OB046", fmt::format("cannot determine whether {} applies (firmware {})", advisory.id, version),
            "compare with " + advisory.source);
      }
    }
  }

  // Advisories that apply only with IPMI on are fixed by disabling IPMI.
  [[nodiscard]] std::string mend_firmware(const Advisory& advisory) const {
    const bool ipmi_alone = std::all_of(advisory.affects.begin(), advisory.affects.end(),
                                        [](const Affected& affected) { return affected.only_with_ipmi; });
    if (ipmi_alone && device_.endpoint.protocol == Protocol::redfish) return std::string(kSettings) + "--ipmi off";
    return "update as described by the vendor: " + advisory.source;
  }

  const Target& device_;
  const DeviceFacts& facts_;
  const AuditPolicy& policy_;
  std::vector<Finding> found_;
};

}  // namespace

const std::vector<AuditRule>& audit_rules() {
  static const std::vector<AuditRule> rules = {
      {"OB019", Severity::warning, "access to BMCs is not logged"},
      {"OB023", Severity::error, "BMCs with the maker's password"},
      {"OB024", Severity::error, "BMCs share a password"},
      {"OB025", Severity::error, "IPMI over the network is on"},
      {"OB026", Severity::error, "cipher suite 0 is allowed"},
      {"OB027", Severity::warning, "weak IPMI cipher suites are allowed"},
      {"OB028", Severity::warning, "certificates of BMCs are not checked"},
      {"OB029", Severity::warning, "BMCs accept connections from any address"},
      {"OB030", Severity::warning, "servers may talk to their BMCs freely"},
      {"OB040", Severity::error, "a BMC serves plain HTTP"},
      {"OB041", Severity::warning, "a BMC's certificate proves nothing"},
      {"OB042", Severity::warning, "a BMC logs to another server than the cluster's"},
      {"OB043", Severity::warning, "a BMC has no NTP server"},
      {"OB044", Severity::error, "a BMC has users without a name"},
      {"OB045", Severity::error, "BMC firmware has a known hole"},
      {"OB046", Severity::note, "an advisory may apply, but the firmware version is ambiguous"},
      {"OB047", Severity::error, "a device is not reached out of band"},
      {"OB048", Severity::error, "a BMC refuses the stored login"},
      {"OB049", Severity::error, "a BMC is reachable from a host that is not a jump host"},
      {"OB050", Severity::error, "two addresses lead to one BMC"},
      {"OB051", Severity::warning, "a machine is not the one that was planned"},
      {"OB052", Severity::note, "a BMC does not report its settings"},
  };
  return rules;
}

std::vector<Finding> findings_of(const Target& device, const DeviceFacts& facts, const AuditPolicy& policy) {
  return Judge(device, facts, policy).run();
}

}  // namespace weft::oob
