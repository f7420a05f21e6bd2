// weft oob rotate: rotate the passwords of many BMCs without lockouts.
#include "oob/manage/rotate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/framework/context.h"
#include "cli/oob/input.h"
#include "cli/operate/oob_remote.h"

namespace weft::cli {
namespace {

constexpr std::uint32_t kDefaultLimit = 64;  // devices per run without --limit: a rack or two

// What would be done to each group of devices.
Exit show_plan(Context& context, OobSetup& setup, const std::vector<std::uint32_t>& targets) {
  std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>> plans;
  for (const std::uint32_t target : targets) {
    const oob::Target& device = setup.inventory().targets()[target];
    const Result<oob::Credential> credential = setup.fleet().credentials.find(device.name, device.group);
    if (!credential.ok()) {
      plans[{"", "none: the store has no credential for it"}].push_back(target);
    } else if (credential->pending) {
      plans[{credential->user, "finish an earlier rotation"}].push_back(target);
    } else if (setup.fleet().credentials.has_own(device.name)) {
      plans[{credential->user, "a new password"}].push_back(target);
    } else {
      plans[{credential->user, "a unique password instead of a shared one"}].push_back(target);
    }
  }
  Document document;
  document.kind = "rotate_plan";
  TableSection table{
      "plan",
      "Plan",
      {{"devices", "Devices", Column::Align::right}, {"user", "User"}, {"step", "Step"}, {"hosts", "Hosts"}},
      {}};
  table.rows.reserve(plans.size());
  for (const auto& [plan, devices] : plans)
    table.rows.push_back({static_cast<std::uint64_t>(devices.size()), plan.first, plan.second, setup.fold(devices)});
  document.sections.emplace_back(std::move(table));
  if (!setup.fleet().credentials.writable())
    document.notes.push_back(
        fmt::format("{} is read-only: a rotation would be refused", setup.fleet().credentials.name()));
  return context.deliver(document);
}

Document report_document(const OobSetup& setup, const oob::RotateReport& report) {
  // Worst first.
  std::map<std::pair<int, std::string>, std::vector<std::uint32_t>> ends;
  for (const oob::RotateOutcome& outcome : report.outcomes)
    ends[{-static_cast<int>(outcome.result), outcome.text}].push_back(outcome.target);
  Document document;
  document.kind = "rotate";
  document.sections.emplace_back(FactsSection{"rotation",
                                              "Rotation",
                                              {{"operation", "Operation", report.operation},
                                               {"done", "Done", report.count(oob::RotateResult::done)},
                                               {"not_done", "Not done", report.count(oob::RotateResult::not_done)},
                                               {"unknown", "Unknown", report.count(oob::RotateResult::unknown)}}});
  TableSection table{"outcomes",
                     "Outcomes",
                     {{"result", "Result"},
                      {"devices", "Devices", Column::Align::right},
                      {"text", "What happened"},
                      {"hosts", "Hosts"}},
                     {}};
  table.rows.reserve(ends.size());
  for (const auto& [end, devices] : ends) {
    table.rows.push_back({std::string(to_text(static_cast<oob::RotateResult>(-end.first))),
                          static_cast<std::uint64_t>(devices.size()), end.second, setup.fold(devices)});
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

std::vector<std::uint32_t> chosen_targets(OobSetup& setup, bool resume) {
  std::vector<std::uint32_t> targets = setup.chosen();
  if (resume) return pending_targets(setup.fleet(), targets);
  // "all" means all devices that have a controller.
  if (setup.all_chosen()) {
    std::erase_if(targets, [&](std::uint32_t target) {
      return setup.inventory().targets()[target].endpoint.protocol == oob::Protocol::none;
    });
  }
  return targets;
}

Exit run_rotate(Context& context) {
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, 0, use_of(context));
  if (setup == nullptr) return code;
  oob::RotateOptions options;
  options.resume = context.arguments().has("settle");
  options.user = context.arguments().value("user");
  const std::vector<std::uint32_t> targets = chosen_targets(*setup, options.resume);
  if (targets.empty()) {
    context.note(options.resume ? "no incomplete rotation was found" : "none of these devices has a BMC");
    return options.resume ? Exit::ok : Exit::usage;
  }
  if (const std::optional<Exit> ended = setup->permit(context, "rotate", targets, kDefaultLimit)) return *ended;
  const ActionTerms terms = setup->terms();
  if (terms.dry_run) return show_plan(context, *setup, targets);
  options.reason = terms.reason;
  const Result<oob::RotateReport> report = oob::rotate(setup->fleet(), targets, options);
  if (!report.ok()) return context.failed(report.error());
  Exit outcome = Exit::partial;
  if (report->count(oob::RotateResult::done) == report->outcomes.size()) {
    outcome = Exit::ok;
  } else if (report->none_reached()) {
    outcome = Exit::unavailable;
  }
  return context.deliver(report_document(*setup, *report), outcome);
}

}  // namespace

Command oob_rotate_command() {
  Command command;
  command.name = "oob rotate";
  command.summary = "Rotate BMC passwords, unique per BMC";
  command.usage = "CLUSTER [HOSTS] --reason TEXT --yes [OPTIONS]";
  command.description = {
      "Each device gets a random password of 20 characters. It is stored as pending in the credential store before it "
      "is set on the BMC, and the old one is kept until a session was opened with the new one: a crash at any time "
      "does not lock out any user. Incomplete rotations are finished by the next rotation or with --settle.",
      "The store must be a writable file or program. Exit code 0 if all devices are done, 3 if some are not, 4 if "
      "refused, 5 if no device could be reached."};
  command.examples = {
      {"weft oob rotate cluster.yaml 'train[001-016]' --dry-run", "What would be done"},
      {"weft oob rotate cluster.yaml rack:R01 --reason 'away from the defaults' --yes", "One rack"},
      {"weft oob rotate cluster.yaml --settle --reason 'after the crash' --yes", "Finish incomplete rotations"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options =
      joined(joined({{.name = "settle", .help = "only finish incomplete rotations"},
                     {.name = "user", .value = "NAME", .help = "only devices where weft uses this account"}},
                    oob_action_options()),
             oob_options());
  command.options.push_back(catalog_option());
  command.options.push_back(output_option());
  command.options.push_back(file_option());
  command.run = run_rotate;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli
