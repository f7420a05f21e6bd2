// OB, second part: credentials, logging and how BMCs are set up. BMCs are small servers with power over large ones.
#include <fmt/format.h>

#include <algorithm>

#include "check/rules/oob.h"

namespace weft::check {
namespace {

constexpr std::int64_t kCipherGood = 17;  // RAKP-HMAC-SHA256, HMAC-SHA256-128, AES-CBC-128 (IPMI 2.0, table 22-20)

const model::OobSpec& oob(const CheckInput& input) { return *input.spec().fabrics->oob; }
const model::BmcSpec& bmc(const CheckInput& input) { return *oob(input).bmc; }

void check_bmc_syslog(const CheckInput& input, Report& report) {
  if (oob(input).syslog.has_value()) return;
  report.add("oob", section(input, oob(input).place), "access to BMCs and switches is logged nowhere");
}

void check_oob_syslog_location(const CheckInput& input, Report& report) {
  const model::Sourced<std::string>& syslog = oob(input).syslog;
  if (!syslog.has_value()) return;
  const std::string_view fabric = data_fabric_of(input, *syslog);
  if (fabric.empty()) return;
  report.at(syslog, section(input, oob(input).place), "oob",
            fmt::format("the log of the out-of-band network is kept on the {} ({})", fabric, *syslog));
}

void check_syslog_address(const CheckInput& input, Report& report) {
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

void check_bmc_credential_source(const CheckInput& input, Report& report) {
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

void check_bmc_password_in_file(const CheckInput& input, Report& report) {
  const model::Sourced<std::string>& credentials = oob(input).credentials;
  if (!credentials.has_value() || is_reference(*credentials)) return;
  report
      .at(credentials, section(input, oob(input).place), "oob",
          "`credentials` looks like the secret itself, not like a reference")
      .length = static_cast<std::uint16_t>(std::min<std::size_t>(credentials->size(), 200));
}

void check_bmc_factory_password(const CheckInput& input, Report& report) {
  if (!*bmc(input).default_credentials) return;
  report.at(bmc(input).default_credentials, section(input, oob(input).place), "bmc",
            "some BMCs still have the maker's password");
}

void check_bmc_shared_password(const CheckInput& input, Report& report) {
  if (*bmc(input).unique_passwords) return;
  report.at(bmc(input).unique_passwords, section(input, oob(input).place), "bmc", "one password opens every BMC");
}

void check_ipmi_over_lan(const CheckInput& input, Report& report) {
  if (!*bmc(input).ipmi_over_lan) return;
  report.at(bmc(input).ipmi_over_lan, section(input, oob(input).place), "bmc", "BMCs answer IPMI over the network");
}

bool allows(const CheckInput& input, std::int64_t suite) {
  const std::vector<std::int64_t>& suites = *bmc(input).cipher_suites;
  return std::find(suites.begin(), suites.end(), suite) != suites.end();
}

void check_ipmi_cipher_zero(const CheckInput& input, Report& report) {
  if (!allows(input, 0)) return;
  report.at(bmc(input).cipher_suites, section(input, oob(input).place), "bmc", "BMCs accept cipher suite 0");
}

void check_ipmi_cipher_suites(const CheckInput& input, Report& report) {
  std::string weak;
  for (const std::int64_t suite : *bmc(input).cipher_suites) {
    if (suite != 0 && suite != kCipherGood) weak += fmt::format("{}{}", weak.empty() ? "" : ", ", suite);
  }
  if (weak.empty() || allows(input, 0)) return;
  report.at(bmc(input).cipher_suites, section(input, oob(input).place), "bmc",
            fmt::format("BMCs accept cipher suite{} {} beside or instead of {}",
                        weak.find(',') == std::string::npos ? "" : "s", weak, kCipherGood));
}

void check_bmc_certificates(const CheckInput& input, Report& report) {
  if (*bmc(input).verify_tls) return;
  report.at(bmc(input).verify_tls, section(input, oob(input).place), "bmc", "nobody checks the BMCs' certificates");
}

void check_bmc_firewall(const CheckInput& input, Report& report) {
  if (*bmc(input).firewall) return;
  report.at(bmc(input).firewall, section(input, oob(input).place), "bmc", "BMCs answer any address");
}

void check_bmc_host_interface(const CheckInput& input, Report& report) {
  if (!*bmc(input).host_interface) return;
  report.at(bmc(input).host_interface, section(input, oob(input).place), "bmc",
            "the operating system of a server may talk to its BMC without restriction");
}

void check_bmc_firmware_attestation(const CheckInput& input, Report& report) {
  if (*bmc(input).firmware_measured) return;
  report.at(bmc(input).firmware_measured, section(input, oob(input).place), "bmc",
            "firmware of BMCs is not held against a list of known images");
}

void check_oob_switch_backups(const CheckInput& input, Report& report) {
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
      {.id = "OB019",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "access to BMCs is not logged",
       .reason =
           "Whoever gets in leaves no trace: missing logs are one of the three worst flaws of management networks.",
       .source = "four-fabric hardening guide: log every access centrally",
       .fix = "set `syslog` to a server on the out-of-band network",
       .example = {.file = "pod16.yaml", .from = "    syslog: 10.128.0.10\n", .to = ""},
       .run = check_bmc_syslog},
      {.id = "OB020",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the out-of-band log is kept in band",
       .reason = "While that fabric is down, which is when it matters, nothing is logged.",
       .source = "four-fabric hardening guide: log every access centrally",
       .fix = "log to a server on the out-of-band network",
       .example = {.file = "pod16.yaml", .from = "    syslog: 10.128.0.10\n", .to = "    syslog: 10.20.50.5\n"},
       .run = check_oob_syslog_location},
      {.id = "OB021",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "nothing says where the BMCs' credentials are",
       .reason = "During an outage the search for a password takes longer than the repair.",
       .source = kGuide,
       .fix = "set `credentials` to a reference such as vault:path",
       .example = {.file = "pod16.yaml", .from = "    credentials: vault:oob/bmc\n", .to = ""},
       .run = check_bmc_credential_source},
      {.id = "OB022",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a BMC password stands in the cluster file",
       .reason = "The file is shared and versioned; with it goes power over every server.",
       .source = kGuide,
       .fix = "put a reference there (vault:path) and change the password",
       .example = {.file = "pod16.yaml", .from = "credentials: vault:oob/bmc", .to = "credentials: Calvin-2024"},
       .run = check_bmc_password_in_file},
      {.id = "OB023",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "BMCs with the maker's password",
       .reason = "These passwords are printed in manuals and tried first by every scanner.",
       .source = "four-fabric hardening guide: default credentials; NSA and CISA, Harden Baseboard Management "
                 "Controllers (2023)",
       .fix = "change them when a server is taken into service",
       .example = {.file = "pod16.yaml",
                   .from = "unique_passwords: true}",
                   .to = "unique_passwords: true, default_credentials: true}"},
       .run = check_bmc_factory_password},
      {.id = "OB024",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "BMCs share a password",
       .reason = "Who reads it from one (IPMI hands out a hash to anyone) owns them all.",
       .source = "CVE-2013-4786; NVIDIA infrastructure controllers rotate to a password for each BMC",
       .fix = "give every BMC a password of its own",
       .example = {.file = "pod16.yaml", .from = "unique_passwords: true", .to = "unique_passwords: false"},
       .run = check_bmc_shared_password},
      {.id = "OB025",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "IPMI over the network is on",
       .reason = "Its login hands a salted hash of the password to anyone who asks, before any login. This is in the "
                 "specification: no update cures it.",
       .source = "CVE-2013-4786 (IPMI 2.0 RAKP)",
       .fix = "use Redfish and set `ipmi_over_lan: false`",
       .example = {.file = "pod16.yaml", .from = "ipmi_over_lan: false", .to = "ipmi_over_lan: true"},
       .run = check_ipmi_over_lan},
      {.id = "OB026",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "cipher suite 0 is allowed",
       .reason = "It means no authentication: any password is accepted.",
       .source = "CVE-2013-4782 and its kin; IPMI 2.0, table 22-20",
       .fix = "allow suite 17 alone",
       .example = {.file = "pod16.yaml", .from = "cipher_suites: [17]", .to = "cipher_suites: [0, 17]"},
       .run = check_ipmi_cipher_zero},
      {.id = "OB027",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "weak IPMI cipher suites are allowed",
       .reason = "Suites below 17 rest on SHA-1 or MD5, or do not encrypt; clients such as FreeIPMI still ask for "
                 "suite 3 first.",
       .source = "IPMI 2.0 errata 7, suite 17; Canonical MAAS warns of any other",
       .fix = "allow suite 17 alone",
       .example = {.file = "pod16.yaml", .from = "cipher_suites: [17]", .to = "cipher_suites: [3, 17]"},
       .run = check_ipmi_cipher_suites},
      {.id = "OB028",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "certificates of BMCs are not checked",
       .reason = "Whoever sits in between reads the password and answers in the BMC's name.",
       .source = kGuide,
       .fix = "install certificates and set `verify_tls: true`",
       .example = {.file = "pod16.yaml",
                   .from = "unique_passwords: true}",
                   .to = "unique_passwords: true, verify_tls: false}"},
       .run = check_bmc_certificates},
      {.id = "OB029",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "BMCs answer everyone",
       .reason = "The subnet is one wrong route away from tenants; authentication bypasses in BMC firmware are in use "
                 "by attackers.",
       .source = "CVE-2024-54085 (AMI MegaRAC, CVSS 10, exploited); NSA and CISA, Harden Baseboard Management "
                 "Controllers (2023)",
       .fix = "turn on the BMC's own firewall for the management subnet",
       .example = {.file = "pod16.yaml",
                   .from = "unique_passwords: true}",
                   .to = "unique_passwords: true, firewall: false}"},
       .run = check_bmc_firewall},
      {.id = "OB030",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "servers may talk to their BMCs freely",
       .reason =
           "A tenant with root on a server then owns the machine below it, and stays there through reinstallation.",
       .source = "CVE-2024-54085 is reachable over the host's Redfish interface",
       .fix = "turn the host interface off or restrict it",
       .example = {.file = "pod16.yaml",
                   .from = "unique_passwords: true}",
                   .to = "unique_passwords: true, host_interface: true}"},
       .run = check_bmc_host_interface},
      {.id = "OB031",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "BMC firmware is not measured",
       .reason = "An implant in a BMC outlives every reinstallation, and a signature check alone has been bypassed.",
       .source = "CVE-2025-7937 and CVE-2025-6198 (bypass of the root of trust)",
       .fix = "hold versions and measured images against a list",
       .example = {.file = "pod16.yaml",
                   .from = kBmc,
                   .to = "    bmc: {ipmi_over_lan: false, cipher_suites: [17], unique_passwords: true, "
                         "firmware_measured: false}\n"},
       .run = check_bmc_firmware_attestation},
      {.id = "OB032",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "out-of-band switches are not backed up",
       .reason = "A dead switch is replaced in an hour, its configuration in a day of guessing.",
       .source = "four-fabric guide: back up out-of-band switch configurations",
       .fix = "set `config_backup: true`",
       .example = {.file = "pod16.yaml", .from = "    config_backup: true\n", .to = "    config_backup: false\n"},
       .run = check_oob_switch_backups},
      {.id = "OB039",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the log server has a device's address",
       .reason = "Two hosts answer to one address: logs go to a BMC, and the BMC is not reached.",
       .source = "address plan of the cluster (`weft show addresses --fabric oob`)",
       .fix = "choose an address that the plan leaves free",
       .example = {.file = "pod16.yaml", .from = "    syslog: 10.128.0.10\n", .to = "    syslog: 10.128.0.16\n"},
       .run = check_syslog_address},
  };
}

}  // namespace weft::check
