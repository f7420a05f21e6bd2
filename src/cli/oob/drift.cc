#include "oob/switches/drift.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/oob/switch_input.h"
#include "cli/operate/oob_remote.h"
#include "oob/switches/transport_text.h"

namespace weft::cli {
namespace {

using oob::DriftResult;
using oob::DriftState;

constexpr std::size_t kShown = 20;  // statements of each kind in a table; machine formats have the counts and the diff

void add_statements(std::string& text, char mark, const std::vector<std::string>& statements) {
  for (std::size_t i = 0; i < statements.size() && i < kShown; ++i) {
    text += fmt::format("{} {}", mark, oob::masked(statements[i]));
  }
  if (statements.size() > kShown) text += fmt::format("  and {} more\n", statements.size() - kShown);
}

std::string text_of(const DriftResult& result, bool strict) {
  std::string text = result.diff;
  if (result.missing.value_or(0) > 0) {
    text += fmt::format("{}: in the design, not running\n", result.device);
    add_statements(text, '-', result.missing_statements);
  }
  if (strict && result.extra > 0) {
    text += fmt::format("{}: running, not in the design\n", result.device);
    add_statements(text, '+', result.extra_statements);
  }
  return text;
}

Document document_of(const std::vector<DriftResult>& results) {
  TableSection table{.key = "drift", .title = "Drift", .columns = {{"host", "Switch"}}, .rows = {}};
  table.columns.push_back({"state", "Drift"});
  table.columns.push_back({"removed", "Lines removed", Column::Align::right});
  table.columns.push_back({"added", "Lines added", Column::Align::right});
  table.columns.push_back({"missing", "Missing from design", Column::Align::right});
  table.columns.push_back({"extra", "Not in design", Column::Align::right});
  table.columns.push_back({"good", "Compared with"});
  table.columns.push_back({"message", "Message"});
  Document document{.kind = "oob-drift", .sections = {}, .notes = {}};
  bool unmarked = false;
  for (const DriftResult& result : results) {
    unmarked = unmarked || (!result.marked_good && !result.good.empty());
    table.rows.push_back({result.device, to_text(result.state), result.removed, result.added,
                          result.missing ? Cell(*result.missing) : Cell(), result.missing ? Cell(result.extra) : Cell(),
                          short_version(result.good), result.message});
  }
  document.sections.emplace_back(std::move(table));
  if (unmarked)
    document.notes.emplace_back(
        "Some switches have no version marked good and were compared with their latest backup; mark one with `weft oob "
        "backup --good`.");
  return document;
}

Exit run_drift(Context& context) {
  Exit code = Exit::ok;
  const std::unique_ptr<SwitchSetup> setup = SwitchSetup::open(context, code, OobUse::read);
  if (setup == nullptr) return code;
  const oob::DriftRequest request{.offline = context.arguments().has("offline"),
                                  .rendered = context.arguments().value("rendered"),
                                  .strict = context.arguments().has("strict")};
  if (!request.offline) {
    if (const std::optional<Exit> failed = setup->note(context, "switch.drift")) return *failed;
  }
  const std::vector<DriftResult> results = oob::find_drift(setup->fleet(), setup->switches(), request);
  std::vector<std::string> texts;
  for (const DriftResult& result : results) {
    const std::string text = text_of(result, request.strict);
    if (!text.empty() && !context.arguments().has("brief")) texts.push_back(text);
  }
  const auto any = [&](DriftState state) {
    return std::any_of(results.begin(), results.end(),
                       [&](const DriftResult& result) { return result.state == state; });
  };
  Exit outcome = Exit::ok;
  if (any(DriftState::unknown) || any(DriftState::nothing_to_compare)) outcome = Exit::partial;
  if (any(DriftState::drifted)) outcome = Exit::findings;
  return deliver_with_texts(context, document_of(results), texts, outcome);
}

}  // namespace

Command oob_drift_command() {
  Command command;
  command.name = "oob drift";
  command.summary = "Find switches whose running config has drifted";
  command.usage = "CLUSTER [HOSTS] [--rendered DIR] [--offline] [OPTIONS]";
  command.description = {
      "Compares the running config with the last version marked good, as a text diff, and with the design in a folder "
      "written by `weft render`: each statement of the design must be present. Extra statements (defaults, accounts) "
      "are counted, and are drift only with --strict. Timestamps, comments and certificates are ignored.",
      "Exit code 1 if there is drift, 3 if a switch could not be compared."};
  command.examples = {{"weft oob drift cluster.yaml", "Compare all switches with their good versions"},
                      {"weft oob drift cluster.yaml switches --rendered out/ --offline",
                       "Compare the latest backups with the design, offline"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options =
      joined({{.name = "rendered", .value = "DIR", .help = "folder written by `weft render`", .hint = Hint::file},
              {.name = "offline", .help = "use the latest backups instead of connecting to switches"},
              {.name = "strict", .help = "count extra statements as drift"},
              {.name = "brief", .help = "print only the table, without diffs"},
              output_option(),
              file_option(),
              catalog_option()},
             oob_switch_options());
  command.run = run_drift;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli
