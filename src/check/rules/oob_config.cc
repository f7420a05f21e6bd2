// OB, third part: management settings of switches as configured, in every fabric.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "check/core/match.h"
#include "check/rules/oob.h"

namespace weft::check {
namespace {

// The device a configuration is for, else its own name, else its file.
std::string subject_of(const CheckInput& input, const config::SwitchConfig& config) {
  if (input.has_cluster()) {
    const std::vector<model::DeviceId> devices = devices_of(input.cluster(), input.config(), config);
    if (!devices.empty()) return input.cluster().name_of(devices.front());
  }
  if (config.hostname.known()) return *config.hostname;
  return input.sources().path(config.file);
}

SourceLocation start_of(const config::SwitchConfig& config) {
  if (config.hostname.place.known()) return config.hostname.place;
  return SourceLocation{config.file, 1, 1};
}

void check_telnet_enabled(const CheckInput& input, Report& report) {
  for (const config::SwitchConfig& config : input.config().switches) {
    const config::Setting<bool>& setting = config.management.telnet;
    if (!setting.given() || !*setting) continue;
    report.add(subject_of(input, config), setting.place, fmt::format("telnet is enabled ({})", setting.path));
  }
}

void check_factory_accounts(const CheckInput& input, Report& report) {
  for (const config::SwitchConfig& config : input.config().switches) {
    for (const config::Setting<std::string>& user : config.management.default_users) {
      report.add(subject_of(input, config), user.place,
                 fmt::format("account `{}` appears to be a factory account", *user));
    }
  }
}

void check_snmp_community(const CheckInput& input, Report& report) {
  static constexpr std::array<std::string_view, 5> kGuessed = {"public", "private", "cisco", "admin", "community"};
  for (const config::SwitchConfig& config : input.config().switches) {
    for (const config::Setting<std::string>& community : config.management.snmp_communities) {
      if (std::find(kGuessed.begin(), kGuessed.end(), std::string_view(*community)) == kGuessed.end()) continue;
      report.add(subject_of(input, config), community.place,
                 fmt::format("SNMP community `{}` is easy to guess", *community));
    }
  }
}

void check_switch_syslog(const CheckInput& input, Report& report) {
  for (const config::SwitchConfig& config : input.config().switches) {
    if (!config.management.syslog.empty()) continue;
    report.add(subject_of(input, config), start_of(config), "the switch has no syslog server");
  }
}

// NX-OS falls back to local accounts by default if no server responds.
void check_local_login(const CheckInput& input, Report& report) {
  for (const config::SwitchConfig& config : input.config().switches) {
    const std::vector<config::Setting<std::string>>& methods = config.management.aaa_methods;
    if (methods.empty() || config.dialect == config::Dialect::nxos) continue;
    const bool local = std::any_of(methods.begin(), methods.end(),
                                   [](const config::Setting<std::string>& method) { return *method == "local"; });
    if (local || !methods.front().given()) continue;
    report.add(subject_of(input, config), methods.front().place,
               fmt::format("logins use `{}` only, without local fallback", *methods.front()));
  }
}

// Services that a switch needs during recovery must not be on a data fabric.
void check_switch_service_addresses(const CheckInput& input, Report& report) {
  for (const config::SwitchConfig& config : input.config().switches) {
    const config::ManagementConfig& management = config.management;
    const std::pair<const char*, const std::vector<config::Setting<std::string>>*> all[] = {
        {"syslog", &management.syslog},
        {"time", &management.ntp},
        {"name", &management.dns},
        {"login", &management.aaa_servers}};
    for (const auto& [what, servers] : all) {
      for (const config::Setting<std::string>& server : *servers) {
        const std::string_view fabric = data_fabric_of(input, *server);
        if (fabric.empty()) continue;
        report.add(subject_of(input, config), server.place,
                   fmt::format("{} server {} is on the {}", what, *server, fabric));
      }
    }
  }
}

}  // namespace

std::vector<Rule> oob_config_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "OB033",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "telnet is enabled",
       .reason = "Passwords cross the network as plain text.",
       .source = "NSA network infrastructure security guide (2023)",
       .fix = "use SSH: `no feature telnet`",
       .example = {.file = "running/oob-leaf001.cfg", .from = "", .to = "\nfeature telnet\n"},
       .run = check_telnet_enabled},
      {.id = "OB034",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "a factory account exists",
       .reason = "Attackers try factory accounts first.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): default credentials; NSA network "
                 "infrastructure security guide (2023)",
       .fix = "set a unique password or remove the account",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "",
                   .to = "\nusername cisco password 0 cisco role network-admin\n"},
       .run = check_factory_accounts},
      {.id = "OB035",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "an SNMP community is easy to guess",
       .reason = "It allows any client to read the whole configuration, and with write access to change it.",
       .source = "NSA network infrastructure security guide (2023): SNMPv3 only",
       .fix = "use SNMPv3 with authentication and privacy",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "",
                   .to = "\nsnmp-server community public group network-operator\n"},
       .run = check_snmp_community},
      {.id = "OB036",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "a switch has no syslog server",
       .reason = "Its local log buffer is lost at reboot, together with the cause of the reboot.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode): log every access centrally",
       .fix = "add a syslog server on the out-of-band network",
       .example = {.file = "running/oob-leaf001.cfg", .from = "logging server", .to = "no logging console\n!"},
       .run = check_switch_syslog},
      {.id = "OB037",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "no local login as fallback",
       .reason = "If TACACS+, RADIUS or LDAP is unreachable, no operator can log in to repair the switch.",
       .source = "vendor AAA configuration guides: local as the last method",
       .fix = "add `local` as the last method",
       .example = {.file = "running/be-spine001.json",
                   .from = "\"DEVICE_METADATA\": {",
                   .to = "\"AAA\": {\"authentication\": {\"login\": \"tacacs+\"}},\n  \"DEVICE_METADATA\": {"},
       .run = check_local_login},
      {.id = "OB038",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a switch uses servers on a data fabric",
       .reason = "During recovery the switch depends on the failed fabric for DNS, logins, time and logs.",
       .source =
           "How to Build an AI Cluster That Won't Burn Down (Undercode): recovery path independent of what it recovers",
       .fix = "use servers on the out-of-band network",
       .example = {.file = "running/oob-leaf001.cfg", .from = "", .to = "\nntp server 10.20.50.5 use-vrf oob\n"},
       .run = check_switch_service_addresses},
  };
}

}  // namespace weft::check
