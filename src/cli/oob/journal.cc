// weft oob journal: what was done to which device, and whether the journal is unmodified.
#include "oob/journal/journal.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <deque>

#include "base/utf8.h"
#include "cli/framework/context.h"
#include "cli/framework/option_reader.h"
#include "cli/oob/input.h"
#include "cli/operate/oob_remote.h"
#include "oob/journal/scan.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kDefaultTail = 50;
constexpr std::int64_t kMaxTail = 10'000'000;

std::string anchor_text(const std::string& path, const Result<std::optional<oob::AnchorPoint>>& anchor) {
  if (!anchor.ok()) return anchor.error().text();
  if (!anchor->has_value()) return fmt::format("none: {} does not exist or has no entry", path);
  return fmt::format("entry {} in {}", (*anchor)->number, path);
}

Exit verify(Context& context, const std::string& state) {
  const std::string path = oob_journal_path(state);
  const std::string anchor_path = oob_anchor_path(context.io(), state);
  // Before the journal, which commands that run meanwhile write first.
  const Result<std::optional<oob::AnchorPoint>> anchor = oob::read_anchor(anchor_path);
  const Result<oob::JournalVerdict> verdict =
      oob::verify_journal(path, context.arguments().value("head"), anchor.ok() ? *anchor : std::nullopt);
  if (!verdict.ok()) return context.failed(verdict.error());
  Document document;
  document.kind = "journal";
  const bool holds = verdict->problems.empty();
  FactsSection facts{"verdict",
                     "Verdict",
                     {{"journal", "Journal", path},
                      {"holds", "Chain", Cell(holds, holds ? "intact" : "broken")},
                      {"entries", "Entries", verdict->entries},
                      {"head", "Hash of the last entry", verdict->head},
                      {"torn_bytes", "Bytes of an incomplete line", verdict->torn},
                      {"anchor", "Anchor", anchor_text(anchor_path, anchor)}}};
  document.sections.emplace_back(std::move(facts));
  if (!holds) {
    TableSection table{"problems", "Problems", {{"problem", "Problem"}}, {}};
    table.rows.reserve(verdict->problems.size());
    for (const std::string& problem : verdict->problems) table.rows.push_back({problem});
    document.sections.emplace_back(std::move(table));
  }
  document.notes = verdict->notes;
  if (verdict->torn > 0)
    document.notes.emplace_back(
        "the last line is incomplete: a command crashed or is still writing; the next entry records it");
  return context.deliver(document, holds ? Exit::ok : Exit::findings);
}

std::vector<Cell> row_of(const oob::JournalEntry& entry) {
  return {entry.number,
          entry.time,
          entry.who,
          entry.operation,
          std::string(to_text(entry.phase)),
          printable(entry.verb),
          printable(entry.device),
          entry.detail.empty() ? std::string() : printable(write_json_line(entry.detail))};
}

Exit show(Context& context, const std::string& path, std::int64_t tail) {
  const Result<FileDescriptor> file = oob::open_file(path, O_RDONLY);
  if (!file.ok()) return context.failed(file.error());
  const Result<std::uint64_t> size = oob::settled_size(file.value(), path);
  if (!size.ok()) return context.failed(size.error());
  const std::string operation = context.arguments().value("operation");
  std::deque<oob::JournalEntry> kept;
  oob::JournalScan scan;
  scan.on_entry = [&](oob::JournalLine&& line) {
    if (!operation.empty() && line.entry.operation != operation) return;
    kept.push_back(std::move(line.entry));
    if (tail > 0 && kept.size() > static_cast<std::size_t>(tail)) kept.pop_front();
  };
  if (const Status scanned = oob::scan_file(file.value(), size.value(), path, scan); !scanned.ok())
    return context.failed(scanned.error());
  Document document;
  document.kind = "journal";
  TableSection table{"entries",
                     "Entries",
                     {{"number", "Number", Column::Align::right},
                      {"time", "Time"},
                      {"who", "Who"},
                      {"operation", "Operation"},
                      {"phase", "Phase"},
                      {"verb", "Verb"},
                      {"device", "Device"},
                      {"detail", "Detail"}},
                     {}};
  table.rows.reserve(kept.size());
  for (const oob::JournalEntry& entry : kept) table.rows.push_back(row_of(entry));
  document.sections.emplace_back(std::move(table));
  if (scan.problems().empty()) return context.deliver(document);
  document.notes.push_back(
      fmt::format("the hash chain is broken: {}; run with --verify for details", scan.problems().front()));
  return context.deliver(document, Exit::findings);
}

Exit run_journal(Context& context) {
  OptionReader reader(context.arguments());
  const std::int64_t tail = reader.integer("tail", 0, kMaxTail).value_or(kDefaultTail);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const std::string state = oob_state_folder(context);
  const bool verifies = context.arguments().has("verify") || context.arguments().has("head");
  // One operation is shown in full unless --tail limits it.
  const bool whole = context.arguments().has("operation") && !context.arguments().has("tail");
  return verifies ? verify(context, state) : show(context, oob_journal_path(state), whole ? 0 : tail);
}

// --head implies --verify.
Exit run_journal_on_server(Context& context) {
  OobLine line = read_oob_line(context);
  if (context.arguments().has("head")) line.options["verify"] = {""};
  return run_oob_line(context, line);
}

}  // namespace

Command oob_journal_command() {
  Command command;
  command.name = "oob journal";
  command.summary = "Show or verify the journal of out-of-band actions";
  command.usage = "[--verify] [--operation ID] [OPTIONS]";
  command.description = {
      "A write-ahead journal: every action on a BMC is written before it is sent, and its outcome when it was "
      "verified. Each line contains the SHA-256 hash of the previous line, so any change, removal or insertion is "
      "detected. A journal that was cut at its end is detected by the anchor, a file next to the state folder with the "
      "last entry's number and hash (or the file that WEFT_ANCHOR names). A user who may write to both can change "
      "both: "
      "the log server has all lines; give a hash from there as --head.",
      "The exit code is 1 if the hash chain is broken."};
  command.examples = {{"weft oob journal --tail 20", "The last twenty entries"},
                      {"weft oob journal --operation 4f1d9c0a77e2b6d3", "All entries of one operation"},
                      {"weft oob journal --verify --head HASH", "Verify the chain up to a known entry"}};
  command.options = {{.name = "state",
                      .value = "DIR",
                      .help = "folder of the journal, console logs and backups",
                      .fallback = "$WEFT_STATE or ~/.local/state/weft"},
                     {.name = "verify", .help = "verify every line and the hash chain instead of listing entries"},
                     {.name = "head", .value = "HASH", .help = "hash that must be in the chain; implies --verify"},
                     {.name = "operation", .value = "ID", .help = "only the entries of one operation"},
                     {.name = "tail",
                      .value = "N",
                      .help = "only the last N entries; 0 for all",
                      .fallback = std::to_string(kDefaultTail)},
                     output_option(),
                     file_option()};
  command.run = run_journal;
  offer_on_server(command, run_journal_on_server);
  return command;
}

}  // namespace weft::cli
