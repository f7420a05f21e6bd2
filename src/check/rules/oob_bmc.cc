// OB, second part: credentials, logging and how BMCs are set up. BMCs are small servers with power over large ones.
#include <fmt/format.h>

#include <algorithm>

#include "check/rules/oob.h"

namespace weft::check {
namespace {

constexpr std::int64_t kCipherGood = 17;  // RAKP-HMAC-SHA256, HMAC-SHA256-128, AES-CBC-128 (IPMI 2.0, table 22-20)

const model::OobSpec& oob(const CheckInput& input) { return *input.spec().fabrics->oob; }
const model::BmcSpec& bmc(const CheckInput& input) { return *oob(input).bmc; }

void no_syslog(const CheckInput& input, Report& report) {
  if (oob(input).syslog.has_value()) return;
  report.add("oob", section(input, oob(input).place), "access to BMCs and switches is logged nowhere");
}

void syslog_in_band(const CheckInput& input, Report& report) {
  const model::Sourced<std::string>& syslog = oob(input).syslog;
  if (!syslog.has_value()) return;
  const std::string_view fabric = data_fabric_of(input, *syslog);
  if (fabric.empty()) return;
  report.at(syslog, section(input, oob(input).place), "oob",
            fmt::format("the log of the out-of-band network is kept on the {} ({})", fabric, *syslog));
}

void syslog_taken(const CheckInput& input, Report& report) {
  const model::Sourced<std::string>& syslog = oob(input).syslog;
  const Result<Ipv4> address = parse_ipv4(syslog.has_value() ? *syslog : "");
  if (!address.ok()) return;
  for (const model::Port& port : input.cluster().ports()) {
    if (port.fabric != model::FabricKind::oob || port.address != *address) continue;
    report.at(
        syslog, section(input, oob(input).place), "oob",
        fmt::format("the log server's address {} is that of `{}`", *syslog, input.cluster().name_of(port.device)));
    return;
  }
}

void no_credentials(const CheckInput& input, Report& report) {
  if (oob(input).credentials.has_value()) return;
  report.add("oob", section(input, oob(input).place), "nothing says where the BMCs' credentials are");
}

// A reference names a place (vault:path, env:NAME, $NAME, /path, https://...); anything else may be the secret itself.
bool is_reference(std::string_view text) {
  if (text.empty() || text.front() == '$' || text.front() == '/') return true;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return false;
  const std::string_view scheme = text.substr(0, colon);
  return std::all_of(scheme.begin(), scheme.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+'; });
}

void secret_in_file(const CheckInput& input, Report& report) {
  const model::Sourced<std::string>& credentials = oob(input).credentials;
  if (!credentials.has_value() || is_reference(*credentials)) return;
  report
      .at(credentials, section(input, oob(input).place), "oob",
          "`credentials` looks like the secret itself, not like a reference")
      .length = static_cast<std::uint16_t>(std::min<std::size_t>(credentials->size(), 200));
}

void default_credentials(const CheckInput& input, Report& report) {
  if (!*bmc(input).default_credentials) return;
  report.at(bmc(input).default_credentials, section(input, oob(input).place), "bmc",
            "some BMCs still have the maker's password");
}

void shared_password(const CheckInput& input, Report& report) {
  if (*bmc(input).unique_passwords) return;
  report.at(bmc(input).unique_passwords, section(input, oob(input).place), "bmc", "one password opens every BMC");
}

void ipmi_on(const CheckInput& input, Report& report) {
  if (!*bmc(input).ipmi_over_lan) return;
  report.at(bmc(input).ipmi_over_lan, section(input, oob(input).place), "bmc", "BMCs answer IPMI over the network");
}

bool allows(const CheckInput& input, std::int64_t suite) {
  const std::vector<std::int64_t>& suites = *bmc(input).cipher_suites;
  return std::find(suites.begin(), suites.end(), suite) != suites.end();
}

void cipher_zero(const CheckInput& input, Report& report) {
  if (!allows(input, 0)) return;
  report.at(bmc(input).cipher_suites, section(input, oob(input).place), "bmc", "BMCs accept cipher suite 0");
}

void weak_cipher(const CheckInput& input, Report& report) {
  std::string weak;
  for (const std::int64_t suite : *bmc(input).cipher_suites) {
    if (suite != 0 && suite != kCipherGood) weak += fmt::format("{}{}", weak.empty() ? "" : ", ", suite);
  }
  if (weak.empty() || allows(input, 0)) return;
  report.at(bmc(input).cipher_suites, section(input, oob(input).place), "bmc",
            fmt::format("BMCs accept cipher suite{} {} beside or instead of {}",
                        weak.find(',') == std::string::npos ? "" : "s", weak, kCipherGood));
}

void tls_unchecked(const CheckInput& input, Report& report) {
  if (*bmc(input).verify_tls) return;
  report.at(bmc(input).verify_tls, section(input, oob(input).place), "bmc", "nobody checks the BMCs' certificates");
}

void no_firewall(const CheckInput& input, Report& report) {
  if (*bmc(input).firewall) return;
  report.at(bmc(input).firewall, section(input, oob(input).place), "bmc", "BMCs answer any address");
}

void host_interface(const CheckInput& input, Report& report) {
  if (!*bmc(input).host_interface) return;
  report.at(bmc(input).host_interface, section(input, oob(input).place), "bmc",
            "the operating system of a server may talk to its BMC without restriction");
}

void firmware_unmeasured(const CheckInput& input, Report& report) {
  if (*bmc(input).firmware_measured) return;
  report.at(bmc(input).firmware_measured, section(input, oob(input).place), "bmc",
            "firmware of BMCs is not held against a list of known images");
}

void no_backup(const CheckInput& input, Report& report) {
  if (*oob(input).config_backup) return;
  report.at(oob(input).config_backup, section(input, oob(input).place), "oob",
            "configurations of out-of-band switches are kept nowhere else");
}

}  // namespace

std::string_view data_fabric_of(const CheckInput& input, const std::string& address) {
  const Result<Ipv4> ip = parse_ipv4(address);
  if (!ip.ok()) return {};
  for (const model::FabricKind kind :
       {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend}) {
    if (!input.cluster().fabric(kind).present) continue;
    for (const Ipv4Prefix& subnet : *input.cluster().data_fabric_spec(kind).subnets) {
      if (subnet.contains(*ip)) return model::to_text(kind);
    }
  }
  return {};
}

std::vector<Rule> oob_bmc_rules() {  // NOLINT(readability-function-size): a table
  constexpr std::string_view kGuide = "NSA and CISA, Harden Baseboard Management Controllers (June 2023)";
  constexpr std::string_view kBmc = "    bmc: {ipmi_over_lan: false, cipher_suites: [17], unique_passwords: true}\n";
  return {
      {"OB019",
       Severity::warning,
       RuleNeeds::design,
       "access to BMCs is not logged",
       "Whoever gets in leaves no trace: missing logs are one of the three worst flaws of management networks.",
       "four-fabric hardening guide: log every access centrally",
       "set `syslog` to a server on the out-of-band network",
       {"pod16.yaml", "    syslog: 10.128.0.10\n", ""},
       no_syslog},
      {"OB020",
       Severity::warning,
       RuleNeeds::design,
       "the out-of-band log is kept in band",
       "While that fabric is down, which is when it matters, nothing is logged.",
       "four-fabric hardening guide: log every access centrally",
       "log to a server on the out-of-band network",
       {"pod16.yaml", "    syslog: 10.128.0.10\n", "    syslog: 10.20.50.5\n"},
       syslog_in_band},
      {"OB021",
       Severity::note,
       RuleNeeds::design,
       "nothing says where the BMCs' credentials are",
       "During an outage the search for a password takes longer than the repair.",
       kGuide,
       "set `credentials` to a reference such as vault:path",
       {"pod16.yaml", "    credentials: vault:oob/bmc\n", ""},
       no_credentials},
      {"OB022",
       Severity::error,
       RuleNeeds::design,
       "a BMC password stands in the cluster file",
       "The file is shared and versioned; with it goes power over every server.",
       kGuide,
       "put a reference there (vault:path) and change the password",
       {"pod16.yaml", "credentials: vault:oob/bmc", "credentials: Calvin-2024"},
       secret_in_file},
      {"OB023",
       Severity::error,
       RuleNeeds::design,
       "BMCs with the maker's password",
       "These passwords are printed in manuals and tried first by every scanner.",
       "four-fabric hardening guide: default credentials; NSA and CISA, Harden Baseboard Management Controllers (2023)",
       "change them when a server is taken into service",
       {"pod16.yaml", "unique_passwords: true}", "unique_passwords: true, default_credentials: true}"},
       default_credentials},
      {"OB024",
       Severity::error,
       RuleNeeds::design,
       "BMCs share a password",
       "Who reads it from one (IPMI hands out a hash to anyone) owns them all.",
       "CVE-2013-4786; NVIDIA infrastructure controllers rotate to a password for each BMC",
       "give every BMC a password of its own",
       {"pod16.yaml", "unique_passwords: true", "unique_passwords: false"},
       shared_password},
      {"OB025",
       Severity::error,
       RuleNeeds::design,
       "IPMI over the network is on",
       "Its login hands a salted hash of the password to anyone who asks, before any login. This is in the "
       "specification: no update cures it.",
       "CVE-2013-4786 (IPMI 2.0 RAKP)",
       "use Redfish and set `ipmi_over_lan: false`",
       {"pod16.yaml", "ipmi_over_lan: false", "ipmi_over_lan: true"},
       ipmi_on},
      {"OB026",
       Severity::error,
       RuleNeeds::design,
       "cipher suite 0 is allowed",
       "It means no authentication: any password is accepted.",
       "CVE-2013-4782 and its kin; IPMI 2.0, table 22-20",
       "allow suite 17 alone",
       {"pod16.yaml", "cipher_suites: [17]", "cipher_suites: [0, 17]"},
       cipher_zero},
      {"OB027",
       Severity::warning,
       RuleNeeds::design,
       "weak IPMI cipher suites are allowed",
       "Suites below 17 rest on SHA-1 or MD5, or do not encrypt; clients such as FreeIPMI still ask for suite 3 first.",
       "IPMI 2.0 errata 7, suite 17; Canonical MAAS warns of any other",
       "allow suite 17 alone",
       {"pod16.yaml", "cipher_suites: [17]", "cipher_suites: [3, 17]"},
       weak_cipher},
      {"OB028",
       Severity::warning,
       RuleNeeds::design,
       "certificates of BMCs are not checked",
       "Whoever sits in between reads the password and answers in the BMC's name.",
       kGuide,
       "install certificates and set `verify_tls: true`",
       {"pod16.yaml", "unique_passwords: true}", "unique_passwords: true, verify_tls: false}"},
       tls_unchecked},
      {"OB029",
       Severity::warning,
       RuleNeeds::design,
       "BMCs answer everyone",
       "The subnet is one wrong route away from tenants; authentication bypasses in BMC firmware are in use by "
       "attackers.",
       "CVE-2024-54085 (AMI MegaRAC, CVSS 10, exploited); NSA and CISA, Harden Baseboard Management Controllers (2023)",
       "turn on the BMC's own firewall for the management subnet",
       {"pod16.yaml", "unique_passwords: true}", "unique_passwords: true, firewall: false}"},
       no_firewall},
      {"OB030",
       Severity::warning,
       RuleNeeds::design,
       "servers may talk to their BMCs freely",
       "A tenant with root on a server then owns the machine below it, and stays there through reinstallation.",
       "CVE-2024-54085 is reachable over the host's Redfish interface",
       "turn the host interface off or restrict it",
       {"pod16.yaml", "unique_passwords: true}", "unique_passwords: true, host_interface: true}"},
       host_interface},
      {"OB031",
       Severity::warning,
       RuleNeeds::design,
       "BMC firmware is not measured",
       "An implant in a BMC outlives every reinstallation, and a signature check alone has been bypassed.",
       "CVE-2025-7937 and CVE-2025-6198 (bypass of the root of trust)",
       "hold versions and measured images against a list",
       {"pod16.yaml", kBmc,
        "    bmc: {ipmi_over_lan: false, cipher_suites: [17], unique_passwords: true, firmware_measured: false}\n"},
       firmware_unmeasured},
      {"OB032",
       Severity::warning,
       RuleNeeds::design,
       "out-of-band switches are not backed up",
       "A dead switch is replaced in an hour, its configuration in a day of guessing.",
       "four-fabric guide: back up out-of-band switch configurations",
       "set `config_backup: true`",
       {"pod16.yaml", "    config_backup: true\n", "    config_backup: false\n"},
       no_backup},
      {"OB039",
       Severity::error,
       RuleNeeds::design,
       "the log server has a device's address",
       "Two hosts answer to one address: logs go to a BMC, and the BMC is not reached.",
       "address plan of the cluster (`weft show addresses --fabric oob`)",
       "choose an address that the plan leaves free",
       {"pod16.yaml", "    syslog: 10.128.0.10\n", "    syslog: 10.128.0.16\n"},
       syslog_taken},
  };
}

}  // namespace weft::check
