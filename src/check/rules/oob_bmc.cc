// OB, second part: credentials, logging and BMC settings. A compromised BMC has full control of its server.
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
  report.add("oob", section(input, oob(input).place), "access to BMCs and switches is not logged");
}

void check_oob_syslog_location(const CheckInput& input, Report& report) {
  const model::Sourced<std::string>& syslog = oob(input).syslog;
  if (!syslog.has_value()) return;
  const std::string_view fabric = data_fabric_of(input, *syslog);
  if (fabric.empty()) return;
  report.at(syslog, section(input, oob(input).place), "oob",
            fmt::format("the log of the out-of-band network is stored on the {} ({})", fabric, *syslog));
}

void check_syslog_address(const CheckInput& input, Report& report) {
  const model::Sourced<std::string>& syslog = oob(input).syslog;
  const Result<Ipv4> address = parse_ipv4(syslog.has_value() ? *syslog : "");
  if (!address.ok()) return;
  for (const model::Port& port : input.cluster().ports()) {
    if (port.fabric != model::FabricKind::oob || port.address != *address) continue;
    report.at(
        syslog, section(input, oob(input).place), "oob",
        fmt::format("the log server's address {} belongs to `{}`", *syslog, input.cluster().name_of(port.device)));
    return;
  }
}

void check_bmc_credential_source(const CheckInput& input, Report& report) {
  if (oob(input).credentials.has_value()) return;
  report.add("oob", section(input, oob(input).place), "the location of the BMC credentials is not set");
}

// A reference names a location (vault:path, env:NAME, $NAME, /path, https://...); anything else may be the secret
// itself.
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
          "`credentials` appears to contain the secret itself instead of a reference")
      .length = static_cast<std::uint16_t>(std::min<std::size_t>(credentials->size(), 200));
}

void check_bmc_factory_password(const CheckInput& input, Report& report) {
  if (!*bmc(input).default_credentials) return;
  report.at(bmc(input).default_credentials, section(input, oob(input).place), "bmc",
            "some BMCs still use the factory password");
}

void check_bmc_shared_password(const CheckInput& input, Report& report) {
  if (*bmc(input).unique_passwords) return;
  report.at(bmc(input).unique_passwords, section(input, oob(input).place), "bmc", "all BMCs share one password");
}

void check_ipmi_over_lan(const CheckInput& input, Report& report) {
  if (!*bmc(input).ipmi_over_lan) return;
  report.at(bmc(input).ipmi_over_lan, section(input, oob(input).place), "bmc", "BMCs accept IPMI over LAN");
}

bool is_suite_enabled(const CheckInput& input, std::int64_t suite) {
  const std::vector<std::int64_t>& suites = *bmc(input).cipher_suites;
  return std::find(suites.begin(), suites.end(), suite) != suites.end();
}

void check_ipmi_cipher_zero(const CheckInput& input, Report& report) {
  if (!is_suite_enabled(input, 0)) return;
  report.at(bmc(input).cipher_suites, section(input, oob(input).place), "bmc", "BMCs accept cipher suite 0");
}

void check_ipmi_cipher_suites(const CheckInput& input, Report& report) {
  std::string weak;
  for (const std::int64_t suite : *bmc(input).cipher_suites) {
    if (suite != 0 && suite != kCipherGood) weak += fmt::format("{}{}", weak.empty() ? "" : ", ", suite);
  }
  if (weak.empty() || is_suite_enabled(input, 0)) return;
  report.at(bmc(input).cipher_suites, section(input, oob(input).place), "bmc",
            fmt::format("BMCs accept cipher suite{} {} in addition to or instead of {}",
                        weak.find(',') == std::string::npos ? "" : "s", weak, kCipherGood));
}

void check_bmc_certificates(const CheckInput& input, Report& report) {
  if (*bmc(input).verify_tls) return;
  report.at(bmc(input).verify_tls, section(input, oob(input).place), "bmc", "the BMCs' certificates are not verified");
}

void check_bmc_firewall(const CheckInput& input, Report& report) {
  if (*bmc(input).firewall) return;
  report.at(bmc(input).firewall, section(input, oob(input).place), "bmc", "BMCs accept connections from any address");
}

void check_bmc_host_interface(const CheckInput& input, Report& report) {
  if (!*bmc(input).host_interface) return;
  report.at(bmc(input).host_interface, section(input, oob(input).place), "bmc",
            "the operating system of a server has unrestricted access to its BMC");
}

void check_bmc_firmware_attestation(const CheckInput& input, Report& report) {
  if (*bmc(input).firmware_measured) return;
  report.at(bmc(input).firmware_measured, section(input, oob(input).place), "bmc",
            "BMC firmware is not verified against a list of known images");
}

void check_oob_switch_backups(const CheckInput& input, Report& report) {
  if (*oob(input).config_backup) return;
  report.at(oob(input).config_backup, section(input, oob(input).place), "oob",
            "configurations of out-of-band switches are not backed up");
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
       .reason = "Without logs an intrusion cannot be traced: missing logs are one of the three worst flaws of "
                 "management networks.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): log every access centrally",
       .fix = "set `syslog` to a server on the out-of-band network",
       .example = {.file = "pod16.yaml", .from = "    syslog: 10.128.0.10\n", .to = ""},
       .run = check_bmc_syslog},
      {.id = "OB020",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the out-of-band log is stored in band",
       .reason = "If that fabric is down, accesses are not logged when it matters most.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): log every access centrally",
       .fix = "log to a server on the out-of-band network",
       .example = {.file = "pod16.yaml", .from = "    syslog: 10.128.0.10\n", .to = "    syslog: 10.20.50.5\n"},
       .run = check_oob_syslog_location},
      {.id = "OB021",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "the location of the BMC credentials is not set",
       .reason = "During an outage the search for a password can take longer than the repair.",
       .source = kGuide,
       .fix = "set `credentials` to a reference such as vault:path",
       .example = {.file = "pod16.yaml", .from = "    credentials: vault:oob/bmc\n", .to = ""},
       .run = check_bmc_credential_source},
      {.id = "OB022",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a BMC password is in the cluster file",
       .reason = "The file is shared and versioned; the password gives control over every server.",
       .source = kGuide,
       .fix = "replace it with a reference (vault:path) and change the password",
       .example = {.file = "pod16.yaml", .from = "credentials: vault:oob/bmc", .to = "credentials: Calvin-2024"},
       .run = check_bmc_password_in_file},
      {.id = "OB023",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "BMCs use the factory password",
       .reason = "Factory passwords are printed in manuals and are tried first by every scanner.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): default credentials; NSA and CISA, "
                 "Harden Baseboard Management Controllers (2023)",
       .fix = "change passwords when a server is commissioned",
       .example = {.file = "pod16.yaml",
                   .from = "unique_passwords: true}",
                   .to = "unique_passwords: true, default_credentials: true}"},
       .run = check_bmc_factory_password},
      {.id = "OB024",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "BMCs share a password",
       .reason = "An attacker who obtains it from one BMC (IPMI discloses a hash to any client) controls all of them.",
       .source = "CVE-2013-4786; NVIDIA infrastructure controllers rotate to one password per BMC",
       .fix = "set a unique password per BMC",
       .example = {.file = "pod16.yaml", .from = "unique_passwords: true", .to = "unique_passwords: false"},
       .run = check_bmc_shared_password},
      {.id = "OB025",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "IPMI over LAN is enabled",
       .reason = "The IPMI login discloses a salted hash of the password to any client before authentication. This is "
                 "part of the specification and cannot be patched.",
       .source = "CVE-2013-4786 (IPMI 2.0 RAKP)",
       .fix = "use Redfish and set `ipmi_over_lan: false`",
       .example = {.file = "pod16.yaml", .from = "ipmi_over_lan: false", .to = "ipmi_over_lan: true"},
       .run = check_ipmi_over_lan},
      {.id = "OB026",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "cipher suite 0 is enabled",
       .reason = "It disables authentication: any password is accepted.",
       .source = "CVE-2013-4782; IPMI 2.0, table 22-20",
       .fix = "enable only suite 17",
       .example = {.file = "pod16.yaml", .from = "cipher_suites: [17]", .to = "cipher_suites: [0, 17]"},
       .run = check_ipmi_cipher_zero},
      {.id = "OB027",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "weak IPMI cipher suites are enabled",
       .reason =
           "Suites below 17 use SHA-1 or MD5, or do not encrypt; clients such as FreeIPMI still try suite 3 first.",
       .source = "IPMI 2.0 errata 7, suite 17; Canonical MAAS warns of any other",
       .fix = "enable only suite 17",
       .example = {.file = "pod16.yaml", .from = "cipher_suites: [17]", .to = "cipher_suites: [3, 17]"},
       .run = check_ipmi_cipher_suites},
      {.id = "OB028",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "certificates of BMCs are not verified",
       .reason = "A man in the middle can read the password and impersonate the BMC.",
       .source = kGuide,
       .fix = "install certificates and set `verify_tls: true`",
       .example = {.file = "pod16.yaml",
                   .from = "unique_passwords: true}",
                   .to = "unique_passwords: true, verify_tls: false}"},
       .run = check_bmc_certificates},
      {.id = "OB029",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "BMCs accept connections from any address",
       .reason = "One wrong route exposes the subnet to tenants; authentication bypasses in BMC firmware are actively "
                 "exploited.",
       .source = "CVE-2024-54085 (AMI MegaRAC, CVSS 10, exploited); NSA and CISA, Harden Baseboard Management "
                 "Controllers (2023)",
       .fix = "enable the BMC's own firewall for the management subnet",
       .example = {.file = "pod16.yaml",
                   .from = "unique_passwords: true}",
                   .to = "unique_passwords: true, firewall: false}"},
       .run = check_bmc_firewall},
      {.id = "OB030",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "servers have unrestricted access to their BMCs",
       .reason = "A tenant with root on a server can then control its BMC and persist there through reinstallation.",
       .source = "CVE-2024-54085 is reachable over the host's Redfish interface",
       .fix = "disable or restrict the host interface",
       .example = {.file = "pod16.yaml",
                   .from = "unique_passwords: true}",
                   .to = "unique_passwords: true, host_interface: true}"},
       .run = check_bmc_host_interface},
      {.id = "OB031",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "BMC firmware is not attested",
       .reason =
           "An implant in a BMC persists through every reinstallation, and signature checks alone have been bypassed.",
       .source = "CVE-2025-7937 and CVE-2025-6198 (bypass of the root of trust)",
       .fix = "compare versions and measured images with a list of known images",
       .example = {.file = "pod16.yaml",
                   .from = kBmc,
                   .to = "    bmc: {ipmi_over_lan: false, cipher_suites: [17], unique_passwords: true, "
                         "firmware_measured: false}\n"},
       .run = check_bmc_firmware_attestation},
      {.id = "OB032",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "out-of-band switches are not backed up",
       .reason = "A failed switch is replaced in an hour; rebuilding its configuration from memory takes a day.",
       .source =
           "How to Build an AI Cluster That Won't Burn Down (Undercode): back up out-of-band switch configurations",
       .fix = "set `config_backup: true`",
       .example = {.file = "pod16.yaml", .from = "    config_backup: true\n", .to = "    config_backup: false\n"},
       .run = check_oob_switch_backups},
      {.id = "OB039",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the log server has the address of another device",
       .reason = "Two hosts have the same address: logs are sent to a BMC, and the BMC is unreachable.",
       .source = "address plan of the cluster (`weft show addresses --fabric oob`)",
       .fix = "choose an address that is free in the plan",
       .example = {.file = "pod16.yaml", .from = "    syslog: 10.128.0.10\n", .to = "    syslog: 10.128.0.16\n"},
       .run = check_syslog_address},
  };
}

}  // namespace weft::check
