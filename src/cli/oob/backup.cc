#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/host_range.h"
#include "cli/oob/switch_input.h"
#include "cli/operate/oob_remote.h"
#include "oob/switches/drift_diff.h"
#include "oob/switches/transport_text.h"

namespace weft::cli {
namespace {

using oob::BackupResult;
using oob::BackupState;

std::string diff_of(SwitchSetup& setup, const oob::SwitchDevice& device, const BackupResult& result) {
  const Result<std::string> before = setup.store().read(result.device, result.former);
  const Result<std::string> after = setup.store().read(result.device, result.version);
  if (!before.ok() || !after.ok()) return (before.ok() ? after : before).error().text() + "\n";
  const oob::TextDiff diff =
      oob::unified_diff(oob::normalized(*device.system, *before), oob::normalized(*device.system, *after),
                        fmt::format("{} {}", result.device, short_version(result.former)),
                        fmt::format("{} {}", result.device, short_version(result.version)));
  return diff.empty() ? fmt::format("{}: only comments or certificates differ\n", result.device)
                      : oob::masked(diff.text);
}

// Table for people: one row per result, with the switches folded into ranges.
TableSection folded(const std::vector<BackupResult>& results) {
  std::map<std::pair<BackupState, std::string>, std::vector<std::string>> groups;
  for (const BackupResult& result : results) groups[{result.state, result.message}].push_back(result.device);
  TableSection table{.key = "backups", .title = "Backups", .columns = {{"state", "State"}}, .rows = {}};
  table.columns.push_back({"count", "Switches", Column::Align::right});
  table.columns.push_back({"hosts", "Hosts"});
  table.columns.push_back({"message", "Message"});
  for (const auto& [key, hosts] : groups) {
    table.rows.push_back({to_text(key.first), hosts.size(), fold_hosts(hosts), key.second});
  }
  return table;
}

TableSection each(const std::vector<BackupResult>& results, const std::vector<std::string>& diffs) {
  TableSection table{.key = "backups", .title = "Backups", .columns = {{"host", "Switch"}}, .rows = {}};
  for (const char* key : {"system", "state", "version", "former", "message", "diff"})
    table.columns.push_back({key, key});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const BackupResult& result = results[i];
    table.rows.push_back(
        {result.device, result.system, to_text(result.state), result.version, result.former, result.message, diffs[i]});
  }
  return table;
}

Exit run_backup(Context& context) {
  Exit code = Exit::ok;
  const std::unique_ptr<SwitchSetup> setup = SwitchSetup::open(context, code);
  if (setup == nullptr) return code;
  if (const std::optional<Exit> failed = setup->note(context, "switch.backup")) return *failed;
  const std::vector<oob::SwitchDevice>& switches = setup->switches();
  const std::vector<BackupResult> results = oob::back_up(setup->fleet(), switches, context.arguments().has("good"));
  std::vector<std::string> diffs(results.size());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!context.arguments().has("diff") || results[i].state != BackupState::changed) continue;
    diffs[i] = diff_of(*setup, switches[i], results[i]);
    texts.push_back(diffs[i]);
  }
  const auto bad = std::count_if(results.begin(), results.end(), [](const BackupResult& result) {
    return result.state == BackupState::failed || result.state == BackupState::suspect;
  });
  const OutputFormat format = context.output_format();
  const bool table = format == OutputFormat::table || format == OutputFormat::wide;
  Document document{.kind = "oob-backup", .sections = {}, .notes = {}};
  document.sections.emplace_back(table ? folded(results) : each(results, diffs));
  const bool all = static_cast<std::size_t>(bad) == results.size();
  return deliver_with_texts(context, document, texts, bad == 0 ? Exit::ok : all ? Exit::unavailable : Exit::partial);
}

}  // namespace

Command oob_backup_command() {
  Command command;
  command.name = "oob backup";
  command.summary = "Back up the running configs of switches";
  command.usage = "CLUSTER [HOSTS] [--good] [--diff] [OPTIONS]";
  command.description = {
      "Fetches the running config of every switch and stores it as a version if it changed: each content once, named "
      "by its SHA-256, never removed. Timestamps and counters in the text are ignored.",
      "Output that cannot be a config (empty, an error message, truncated, ten times shorter than the last) is "
      "quarantined, and the exit code is 3."};
  command.examples = {{"weft oob backup cluster.yaml", "All switches"},
                      {"weft oob backup cluster.yaml 'oob-leaf[001-012]' --diff", "Some switches, with the changes"},
                      {"weft oob backup cluster.yaml --good", "All switches, marked as the reference for drift"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = joined({{.name = "good", .help = "mark the stored versions as good"},
                            {.name = "diff", .help = "show what changed since the last backup"},
                            output_option(),
                            file_option(),
                            catalog_option()},
                           oob_switch_options());
  command.run = run_backup;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli
