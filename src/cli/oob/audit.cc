// weft oob audit: security audit of live BMCs.
#include "oob/audit/audit.h"

#include "base/file.h"
#include "cli/oob/device_commands.h"
#include "cli/operate/oob_remote.h"
#include "model/yaml_file.h"

namespace weft::cli {
namespace {

// False after the problem was reported.
bool read_advisories(Context& context, oob::AuditPolicy& policy, Exit& code) {
  const std::string path = context.arguments().value("advisories");
  if (path.empty()) return true;
  Result<std::string> text = model::read_yaml_file(path);
  if (!text.ok()) {
    code = context.failed(text.error());
    return false;
  }
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(path, std::move(text).value());
  std::optional<std::vector<oob::Advisory>> advisories = oob::read_advisories(sources, file, diagnostics);
  if (!advisories) {
    code = context.failed({ErrorCode::invalid_input, render_all(diagnostics, sources, false), {}});
    return false;
  }
  policy.advisories = std::move(*advisories);
  policy.advisories_given = true;
  return true;
}

Exit run_audit(Context& context) {
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup =
      OobSetup::open(context, true, code, 0, context.arguments().has("try-defaults") ? OobUse::change : OobUse::read);
  if (setup == nullptr) return code;
  oob::AuditPolicy policy = oob::policy_of(setup->cluster());
  if (!read_advisories(context, policy, code)) return code;
  const std::vector<std::uint32_t> targets = select_with_bmc(context, *setup);
  const oob::AuditRequest request{context.arguments().has("try-defaults"), context.arguments().value("reason")};
  if (request.try_defaults && request.reason.empty())
    return context.failed(
        {ErrorCode::refused, "--try-defaults needs --reason TEXT, which is written to the journal", {}});
  const std::vector<oob::DeviceFacts> facts =
      oob::gather_facts(setup->fleet(), targets, request, oob::network_probes());
  const oob::AuditReport report = oob::judge_fleet(setup->fleet(), &setup->cluster(), targets, facts, policy);
  const Document document = oob::audit_document(setup->inventory(), report, policy, context.arguments().word(0));
  return context.deliver(document, outcome_of(report.has_errors(), report.unreached));
}

}  // namespace

Command oob_audit_command() {
  Command command;
  command.name = "oob audit";
  command.summary = "Audit BMCs for open services, weak settings, missing logs";
  command.usage = "CLUSTER [HOSTS] [--advisories FILE] [--try-defaults] [OPTIONS]";
  command.description = {
      "Reads the settings of every BMC and probes it without credentials: IPMI and its cipher suites, the TLS "
      "certificate, and whether this machine should be able to reach it at all. Each finding lists the affected "
      "machines and the command that fixes it. Nothing is changed.",
      "--advisories compares firmware versions with a list of known vulnerabilities (see examples/advisories.yaml). "
      "--try-defaults tries at most two factory logins per BMC, with a pause; each attempt is journaled.",
      "Exit code 1 if there are findings of severity error, 3 if some devices could not be reached."};
  command.examples = {{"weft oob audit pod16.yaml", "The whole cluster"},
                      {"weft oob audit pod16.yaml @train --advisories advisories.yaml -o json",
                       "With firmware vulnerabilities, as JSON"},
                      {"weft oob audit pod16.yaml --try-defaults --reason 'taking into service'", "New machines"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options =
      joined({{.name = "advisories",
               .value = "FILE",
               .help = "list of known BMC firmware vulnerabilities",
               .hint = Hint::file},
              {.name = "try-defaults", .help = "try at most two factory logins per BMC"},
              {.name = "reason", .value = "TEXT", .help = "reason; written to the journal and sent to the log server"},
              output_option(),
              file_option(),
              catalog_option()},
             oob_options());
  command.run = run_audit;
  offer_on_server(command);
  return command;
}

std::vector<Command> oob_device_commands() {
  return {oob_inventory_command(), oob_sensors_command(), oob_events_command(),
          oob_watch_command(),     oob_metrics_command(), oob_users_command(),
          oob_settings_command(),  oob_audit_command(),   oob_firmware_command()};
}

}  // namespace weft::cli
