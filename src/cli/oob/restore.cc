#include "oob/switches/restore.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/framework/option_reader.h"
#include "cli/oob/switch_input.h"
#include "cli/operate/oob_remote.h"

namespace weft::cli {
namespace {

using oob::RestoreResult;
using oob::RestoreState;

Document document_of(const std::vector<RestoreResult>& results, bool plan) {
  TableSection table{.key = "restore", .title = "Restore", .columns = {{"host", "Switch"}}, .rows = {}};
  if (!plan) table.columns.push_back({"state", "Restored"});
  table.columns.push_back({"wanted", "Desired version"});
  table.columns.push_back({"former", "Previous version"});
  table.columns.push_back({"message", "Message"});
  table.columns.push_back({"advice", "What to do"});
  for (const RestoreResult& result : results) {
    std::vector<Cell> row = {result.device};
    if (!plan) row.emplace_back(to_text(result.state));
    row.insert(row.end(), {short_version(result.wanted), short_version(result.former), result.message, result.advice});
    table.rows.push_back(std::move(row));
  }
  Document document{.kind = "oob-restore", .sections = {}, .notes = {}};
  document.sections.emplace_back(std::move(table));
  return document;
}

Exit deliver(Context& context, const std::vector<RestoreResult>& results, bool plan) {
  std::vector<std::string> diffs;
  for (const RestoreResult& result : results) {
    if (!result.diff.empty()) diffs.push_back(result.diff);
  }
  const auto any = [&](RestoreState state) {
    return std::any_of(results.begin(), results.end(),
                       [&](const RestoreResult& result) { return result.state == state; });
  };
  Exit outcome = Exit::ok;
  if (!plan && any(RestoreState::not_done)) outcome = Exit::partial;
  if (!plan && any(RestoreState::unknown)) outcome = Exit::unavailable;
  return deliver_with_texts(context, document_of(results, plan), diffs, outcome);
}

Exit resume(Context& context, SwitchSetup& setup) {
  const Result<std::vector<RestoreResult>> results = oob::resume_restores(setup.fleet(), setup.switches());
  if (!results.ok()) return context.failed(results.error());
  if (results->empty()) {
    context.note("no restore of these switches is incomplete");
    return Exit::ok;
  }
  return deliver(context, *results, false);
}

Exit run_restore(Context& context) {
  if (context.arguments().word(1).empty() && !context.arguments().has("settle"))
    return context.usage_error("missing HOSTS", {"name the switches: HOSTS has no default here"});
  OptionReader reader(context.arguments());
  const std::optional<Duration> within = reader.time("within");
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  Exit code = Exit::ok;
  const std::unique_ptr<SwitchSetup> setup = SwitchSetup::open(context, code);
  if (setup == nullptr) return code;
  if (context.arguments().has("settle")) return resume(context, *setup);
  const ActionTerms terms = setup->oob().terms();
  if (const std::optional<Exit> stop = setup->oob().permit(context, "restore", setup->switch_targets(), 1))
    return *stop;
  oob::RestoreRequest request;
  if (const std::string version = context.arguments().value("which"); !version.empty()) request.version = version;
  request.reason = terms.reason;
  request.back = !context.arguments().has("no-back");
  if (within) request.settle_limit = *within;
  if (terms.dry_run) {
    std::vector<RestoreResult> plans;
    for (const oob::SwitchDevice& device : setup->switches()) {
      plans.push_back(oob::plan_restore(setup->fleet(), device, request));
    }
    return deliver(context, plans, true);
  }
  const Result<std::vector<RestoreResult>> results = oob::restore(setup->fleet(), setup->switches(), request);
  if (!results.ok()) return context.failed(results.error());
  return deliver(context, *results, false);
}

}  // namespace

Command oob_restore_command() {
  Command command;
  command.name = "oob restore";
  command.summary = "Restore a switch to a backed-up config";
  command.usage = "CLUSTER HOSTS [--which WHICH] --reason TEXT --yes [OPTIONS]";
  command.description = {
      "Backs up the running config, pushes the chosen version, reads the switch until it shows the version, and saves "
      "it. If the switch shows something else, the previous config is pushed again (rollback). Each switch ends as "
      "done, not done, or unknown with manual steps. Switches are restored one at a time; the first failure stops the "
      "rest.",
      "A crashed command leaves an incomplete operation: --settle reads the switch and records the outcome; it pushes "
      "nothing."};
  command.examples = {{"weft oob restore cluster.yaml oob-leaf001 --dry-run", "What would change"},
                      {"weft oob restore cluster.yaml oob-leaf001 --which before --reason 'CHG-42 backed out' --yes",
                       "Restore the version before the latest"},
                      {"weft oob restore cluster.yaml switches --settle", "After a crash"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = joined(
      joined(
          {{.name = "which",
            .value = "WHICH",
            .help = "version: latest, before, good, a time (2026-11-16T02:03:04Z) or the prefix of a version name",
            .fallback = "good"},
           {.name = "within", .value = "TIME", .help = "timeout for the switch to show the version", .fallback = "2m"},
           {.name = "no-back", .help = "disable the rollback"},
           {.name = "settle", .help = "record the outcome of crashed restores; pushes nothing"},
           output_option(),
           file_option(),
           catalog_option()},
          oob_action_options()),
      oob_switch_options());
  command.run = run_restore;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli
