// weft oob audit: what is open, weak or out of reach on live BMCs.
#include "oob/audit/audit.h"

#include "base/file.h"
#include "cli/oob/care.h"

namespace weft::cli {
namespace {

// False after what is wrong was said.
bool read_advisories(Context& context, oob::AuditPolicy& policy, Exit& code) {
  const std::string path = context.arguments().value("advisories");
  if (path.empty()) return true;
  Result<std::string> text = read_file(path);
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
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code);
  if (setup == nullptr) return code;
  oob::AuditPolicy policy = oob::policy_of(setup->cluster());
  if (!read_advisories(context, policy, code)) return code;
  const std::vector<std::uint32_t> targets = spoken_to(context, *setup);
  const oob::AuditRequest request{context.arguments().has("try-defaults"), context.arguments().value("reason")};
  if (request.try_defaults && request.reason.empty())
    return context.failed(
        {ErrorCode::refused, "say why factory logins are tried with --reason: it goes to the journal", {}});
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
  command.summary = "Find what is open, weak or unlogged on live BMCs";
  command.usage = "CLUSTER [HOSTS] [--advisories FILE] [--try-defaults] [OPTIONS]";
  command.description = {
      "Asks every BMC how it is set up, and the network what a stranger would be told: whether IPMI answers and with "
      "which cipher suites, what the certificate proves, whether this machine should have got through at all. Each "
      "finding has the machines that have it and the command that fixes it. Nothing is changed.",
      "--advisories holds firmware against a list of known holes (see examples/advisories.yaml). --try-defaults tries "
      "at most two factory logins a BMC, with a pause, each in the journal.",
      "Exit 1 when an error was found, 3 when some device could not be asked."};
  command.examples = {
      {"weft oob audit pod16.yaml", "The whole cluster"},
      {"weft oob audit pod16.yaml @train --advisories advisories.yaml -o json", "With firmware, for a report"},
      {"weft oob audit pod16.yaml --try-defaults --reason 'taking into service'", "New machines"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options =
      joined({{.name = "advisories", .value = "FILE", .help = "known holes in BMC firmware", .hint = Hint::file},
              {.name = "try-defaults", .help = "try factory logins, two at most"},
              {.name = "reason", .value = "TEXT", .help = "why; goes to the journal and the log server"},
              output_option(),
              file_option(),
              catalog_option()},
             oob_options());
  command.run = run_audit;
  return command;
}

std::vector<Command> oob_care_commands() {
  return {oob_inventory_command(), oob_sensors_command(),  oob_events_command(),
          oob_users_command(),     oob_settings_command(), oob_audit_command()};
}

}  // namespace weft::cli
