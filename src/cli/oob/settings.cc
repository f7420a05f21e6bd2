// weft oob settings: show and change the settings of all BMCs.
#include <fmt/format.h>

#include "base/ip.h"
#include "cli/framework/option_reader.h"
#include "cli/oob/device_commands.h"
#include "cli/operate/oob_remote.h"
#include "oob/audit/http_probe.h"
#include "oob/bmc/ask_all.h"
#include "oob/manage/settings_run.h"

namespace weft::cli {
namespace {

std::optional<bool> read_switch(const Arguments& arguments, std::string_view name) {
  if (!arguments.has(name)) return std::nullopt;
  return arguments.value(name) == "on";
}

std::optional<std::vector<std::string>> read_addresses(const Arguments& arguments, std::string_view name) {
  if (!arguments.has(name)) return std::nullopt;
  const std::vector<std::string>& given = arguments.values(name);
  if (given.size() == 1 && given.front() == "none") return std::vector<std::string>{};
  return given;
}

void check_subnets(OptionReader& reader, const std::vector<std::string>& subnets) {
  for (const std::string& subnet : subnets) {
    if (parse_ipv4(subnet).ok()) continue;
    const Result<Ipv4Prefix> prefix = parse_ipv4_prefix(subnet);
    if (!prefix.ok())
      reader.bad("allow", prefix.error().message, "give a subnet such as 10.128.0.0/24, or none to allow all");
  }
}

oob::SettingsChange read_change(OptionReader& reader) {
  const Arguments& arguments = reader.arguments();
  oob::SettingsChange change;
  change.ipmi_over_lan = read_switch(arguments, "ipmi");
  change.http = read_switch(arguments, "http");
  change.ssh = read_switch(arguments, "ssh");
  change.snmp = read_switch(arguments, "snmp");
  change.syslog = read_addresses(arguments, "log-to");
  change.firewall = read_addresses(arguments, "allow");
  change.ntp = read_addresses(arguments, "ntp");
  if (change.firewall) check_subnets(reader, *change.firewall);
  return change;
}

Exit change_them(Context& context, OobSetup& setup, const oob::SettingsChange& change) {
  const std::vector<std::uint32_t> targets = select_with_bmc(context, setup);
  const std::vector<oob::LockOut> lock_outs = oob::lock_outs(
      setup.inventory(), targets, change, oob::jump_addresses(setup.cluster()), oob::source_address_toward);
  if (!lock_outs.empty()) {
    std::string text = "nothing was changed:";
    for (const oob::LockOut& one : lock_outs) text += fmt::format("\n  {} ({})", one.why, setup.fold(one.targets));
    oob::JournalEntry entry;
    entry.operation = oob::new_operation_id();
    entry.verb = "settings.refused";
    entry.detail = Value::map({{"change", oob::describe(change)}, {"why", text}});
    if (const Status noted = setup.fleet().journal.append(std::move(entry)); !noted.ok())
      return context.failed(noted.error());
    return context.failed({ErrorCode::refused, text, {}});
  }
  context.note("settings: " + oob::describe(change));
  if (const std::optional<Exit> stop = setup.permit(context, "settings", targets, kDeviceLimit)) return *stop;
  const ActionTerms terms = setup.terms();
  const Result<std::vector<oob::DeviceEnding>> endings =
      oob::change_settings(setup.fleet(), targets, change, terms.reason, terms.dry_run);
  if (!endings.ok()) return context.failed(endings.error());
  return context.deliver(oob::endings_document(setup.inventory(), "oob-settings-change", *endings),
                         outcome_of(*endings));
}

Exit run_settings(Context& context) {
  OptionReader reader(context.arguments());
  const oob::SettingsChange change = read_change(reader);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup =
      OobSetup::open(context, true, code, 0, oob::is_nothing(change) ? OobUse::read : use_of(context));
  if (setup == nullptr) return code;
  if (!oob::is_nothing(change)) return change_them(context, *setup, change);
  oob::SettingsFleet fleet;
  const std::vector<oob::Unreached> unreached = oob::ask_all(
      setup->fleet(), select_with_bmc(context, *setup),
      [&](oob::OpenBmc& open, std::uint32_t target) {
        Result<oob::BmcSettings> settings = open.bmc->settings();
        if (settings.ok() && settings->http == true)
          settings->http_answer = oob::probe_http(setup->inventory().targets()[target].endpoint, settings->http_port);
        return settings;
      },
      [&](std::uint32_t target, oob::BmcSettings settings) { fleet.add(target, std::move(settings)); });
  return context.deliver(oob::settings_document(setup->inventory(), fleet, unreached), outcome_of(false, unreached));
}

Option on_off(std::string name, std::string help) {
  return {.name = std::move(name),
          .value = "STATE",
          .help = std::move(help),
          .choices = choices_named({"on", "off"}),
          .section = "Changes"};
}

Option addresses(std::string name, std::string value, std::string help) {
  return {.name = std::move(name),
          .value = std::move(value),
          .help = std::move(help),
          .repeatable = true,
          .section = "Changes"};
}

}  // namespace

Command oob_settings_command() {
  Command command;
  command.name = "oob settings";
  command.summary = "Show or harden the settings of all BMCs";
  command.usage = "CLUSTER [HOSTS] [CHANGES] [OPTIONS]";
  command.description = {
      "Lists each setting and value once, with the machines that have it; \"not reported\" if a BMC does not report "
      "it.",
      "With changes, only differences are sent, and the BMC is read until it shows the new value. --allow is refused "
      "if it would lock out this machine or a jump host of the cluster, --ipmi off if IPMI is the only access."};
  command.examples = {
      {"weft oob settings pod16.yaml", "Show differences"},
      {"weft oob settings pod16.yaml @train --ipmi off --http off --reason 'hardening' --yes", "Disable IPMI and HTTP"},
      {"weft oob settings pod16.yaml --log-to 10.128.0.10 --limit 64 --dry-run", "Show BMCs without this log server"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  std::vector<Option> changes = {
      on_off("ipmi", "IPMI over LAN"),
      on_off("http", "plain HTTP without TLS"),
      on_off("ssh", "SSH to the BMC"),
      on_off("snmp", "SNMP"),
      addresses("log-to", "ADDRESS", "syslog server of the BMC; may be repeated; none to disable"),
      addresses("allow", "SUBNET", "subnet that may access the BMC; may be repeated; none to allow all"),
      addresses("ntp", "ADDRESS", "NTP server of the BMC; may be repeated")};
  command.options = joined(
      joined(joined({output_option(), file_option(), catalog_option()}, changes), oob_action_options()), oob_options());
  command.run = run_settings;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli
