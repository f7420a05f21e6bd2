#include "cli/twin/recording_input.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/file.h"
#include "base/human_format.h"
#include "control/fingerprint.h"
#include "model/yaml_file.h"
#include "sched/traces/reader.h"
#include "store/store_copy.h"
#include "store/store_directory.h"
#include "twin/history_recording.h"
#include "twin/journal_history.h"
#include "twin/slurm_history.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMaxAccounting = std::size_t{2} << 30U;

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool has_journal(const std::string& directory) {
  struct stat info {};
  return ::stat(store::database_path(directory).c_str(), &info) == 0;
}

class SourceReader {
 public:
  SourceReader(Context& context, SchedInput& machine, std::string path, RecordingInput& input)
      : context_(context), machine_(machine), path_(std::move(path)), input_(input) {}

  std::optional<Exit> read() {
    const Arguments& arguments = context_.arguments();
    for (const char* option : {"since", "until"}) {
      if (!arguments.has(option) || sched::parse_time(arguments.value(option))) continue;
      return context_.usage_error(fmt::format("--{}: `{}` is not a time", option, arguments.value(option)),
                                  {"a time such as 2026-10-01T00:00 (UTC) or 2026-10-01T00:00+02:00"});
    }
    if (is_directory(path_)) return read_journal();
    Result<std::string> text = read_file(path_, kMaxAccounting);
    if (!text.ok()) return context_.failed(text.error());
    if (twin::looks_like_sacct(*text)) return read_accounting(std::move(text).value());
    return read_recording_file(std::move(text).value());
  }

 private:
  std::optional<Exit> read_journal() {
    if (context_.arguments().has("incidents")) {
      return context_.usage_error("--incidents is for Slurm's accounting: a journal has the incidents", {"omit it"});
    }
    if (machine_.loaded->cluster == nullptr) {
      return context_.usage_error("a journal belongs to the nodes of a cluster file",
                                  {"give the cluster file of weft serve instead of --plain"});
    }
    const std::string directory = has_journal(path_ + "/journal") ? path_ + "/journal" : path_;
    if (!has_journal(directory)) {
      return context_.failed({ErrorCode::invalid_input,
                              "is not the state directory of a weft serve: it has no journal/journal.db. (Servers of "
                              "a group keep their journal in etcd: it cannot be read from there.)",
                              path_});
    }
    const std::string fingerprint = control::journal_fingerprint(machine_.loaded->cluster->name(), *machine_.machine);
    Result<store::StoreCopy> copy = store::StoreCopy::open(directory, fingerprint);
    if (!copy.ok()) return context_.failed(copy.error());
    std::optional<store::Snapshot> snapshot;
    if (copy->store().first() > 1) {
      Result<std::optional<store::Snapshot>> oldest = copy->store().load_oldest_snapshot();
      if (!oldest.ok()) return context_.failed(oldest.error());
      snapshot = std::move(oldest).value();
    }
    Result<twin::History> history = twin::read_journal(machine_.machine, copy->store(), snapshot);
    if (!history.ok()) {
      Error error = history.error();
      if (error.where.empty()) error.where = store::database_path(directory);
      return context_.failed(error);
    }
    return finish(std::move(history).value());
  }

  std::optional<Exit> read_accounting(std::string text) {
    model::Loaded& loaded = *machine_.loaded;
    const FileId file = loaded.sources.add(path_, std::move(text));
    std::optional<twin::History> history =
        twin::read_sacct(loaded.sources, file, *machine_.machine, loaded.diagnostics);
    if (!context_.report(loaded) || !history) return Exit::usage;
    loaded.diagnostics = Diagnostics();
    if (const std::optional<Exit> exit = read_incidents(*history)) return exit;
    return finish(*std::move(history));
  }

  std::optional<Exit> read_incidents(twin::History& history) {
    if (!context_.arguments().has("incidents")) {
      history.notes.emplace_back(
          "Without --incidents, rows with NODE_FAIL are the only incidents of nodes: one that the job waits for until "
          "the node has booted.");
      return std::nullopt;
    }
    const std::string path = context_.arguments().value("incidents");
    Result<std::string> text = read_file(path);
    if (!text.ok()) return context_.failed(text.error());
    model::Loaded& loaded = *machine_.loaded;
    const FileId file = loaded.sources.add(path, std::move(text).value());
    std::optional<std::vector<twin::Trouble>> troubles =
        twin::read_incident_list(loaded.sources, file, *machine_.machine, loaded.diagnostics);
    if (!context_.report(loaded) || !troubles) return Exit::usage;
    loaded.diagnostics = Diagnostics();
    history.troubles = *std::move(troubles);
    return std::nullopt;
  }

  std::optional<Exit> read_recording_file(std::string text) {
    for (const char* option : {"since", "until", "incidents"}) {
      if (!context_.arguments().has(option)) continue;
      return context_.usage_error(fmt::format("--{} is for journals and accounting: {} is neither", option, path_),
                                  {"a recording is replayed as a whole; edit it to leave out a part"});
    }
    if (text.starts_with('{')) {
      return context_.failed(
          {ErrorCode::invalid_input, "is JSON: give the table that `sacct --parsable2` prints", path_});
    }
    if (text.size() > model::kMaxYamlFile) {
      return context_.failed({ErrorCode::invalid_input,
                              fmt::format("is larger than {} bytes, and is not a table of "
                                          "sacct (its first line has no JobID)",
                                          model::kMaxYamlFile),
                              path_});
    }
    model::Loaded& loaded = *machine_.loaded;
    const FileId file = loaded.sources.add(path_, std::move(text));
    std::optional<twin::Recording> recording = twin::read_recording(loaded.sources, file, loaded.diagnostics);
    if (!context_.report(loaded) || !recording) return Exit::usage;
    loaded.diagnostics = Diagnostics();
    input_.recording = *std::move(recording);
    input_.is_file = true;
    return std::nullopt;
  }

  std::optional<Exit> finish(twin::History history) {
    const Arguments& arguments = context_.arguments();
    sched::Moment from = history.from;
    sched::Moment until = history.until;
    if (arguments.has("since")) from = sched::Moment(sched::parse_time(arguments.value("since")).value_or(0));
    if (arguments.has("until")) until = sched::Moment(sched::parse_time(arguments.value("until")).value_or(0));
    if (from > history.until || until <= std::max(from, history.from)) {
      return context_.usage_error(fmt::format("{} has nothing of that time: it reaches from {} to {}", path_,
                                              format_utc_seconds(history.from.count() / 1'000'000),
                                              format_utc_seconds(history.until.count() / 1'000'000)),
                                  {"choose --since and --until between them"});
    }
    twin::clip_history(history, from, until);
    const std::string cluster =
        machine_.loaded->cluster != nullptr ? machine_.loaded->cluster->name() : machine_.machine_name;
    twin::NotedRecording made = twin::make_recording(history, *machine_.machine, cluster);
    Diagnostics problems;
    std::optional<twin::Recording> recording = twin::read_recording(made.spec, problems);
    if (!recording) {
      const std::vector<Diagnostic> sorted = problems.sorted();
      return context_.failed(
          {ErrorCode::invalid_input, sorted.empty() ? "cannot be replayed" : sorted.front().message, path_});
    }
    input_.spec = std::move(made.spec);
    input_.recording = *std::move(recording);
    input_.notes = std::move(made.notes);
    input_.notes.insert(input_.notes.begin(), fmt::format("{}: {} to {}.", history.source,
                                                          format_utc_seconds(history.from.count() / 1'000'000),
                                                          format_utc_seconds(history.until.count() / 1'000'000)));
    return std::nullopt;
  }

  Context& context_;
  SchedInput& machine_;
  std::string path_;
  RecordingInput& input_;
};

}  // namespace

std::vector<Option> recording_source_options() {
  return {
      {.name = "incidents",
       .value = "FILE",
       .help = "with Slurm's accounting: incident list, a CSV of time, node, cause, detected, repaired, fix, effect",
       .hint = Hint::file},
      {.name = "since", .value = "WHEN", .help = "of a journal or accounting: begin here [default: its first record]"},
      {.name = "until", .value = "TIME", .help = "of a journal or accounting: end here [default: its last record]"},
  };
}

std::optional<Exit> open_recording(Context& context, SchedInput& machine, const std::string& path,
                                   RecordingInput& input) {
  return SourceReader(context, machine, path, input).read();
}

}  // namespace weft::cli
