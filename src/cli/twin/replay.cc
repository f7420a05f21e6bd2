// weft twin replay: the recorded operation of a cluster, played again: as it was, and with a change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_format.h"
#include "cli/framework/progress.h"
#include "cli/twin/input.h"
#include "cli/twin/recording_input.h"
#include "twin/view.h"

namespace weft::cli {
namespace {

constexpr std::size_t kShownJobs = 20;

// What is compared: hours of GPUs, exact in the recording.
struct Course {
  std::optional<double> productive;  // Slurm's accounting does not know it
  double held = 0;
  double all = 0;
  std::int64_t interruptions = 0;
};

Course course_of(const twin::RecordedOutcome& outcome) {
  const auto hours = [](const model::Sourced<std::int64_t>& seconds) {
    return static_cast<double>(seconds.value) / 3600;
  };
  Course course{{}, hours(outcome.held), hours(outcome.all), outcome.interruptions.value};
  if (outcome.productive.has_value()) course.productive = hours(outcome.productive);
  return course;
}

std::optional<double> productive_share(const Course& course, double of) {
  if (!course.productive) return std::nullopt;
  return of > 0 ? *course.productive / of : 0.0;
}

struct Measure {
  const char* title;
  bool share;
  std::optional<double> (*value)(const Course&);
};
constexpr Measure kMeasures[] = {
    {"Productive GPU-hours", false, [](const Course& c) { return c.productive; }},
    {"GPU-hours held by jobs", false, [](const Course& c) { return std::optional(c.held); }},
    {"Goodput", true, [](const Course& c) { return productive_share(c, c.all); }},
    {"Productive share of what jobs held", true, [](const Course& c) { return productive_share(c, c.held); }},
    {"Interruptions of jobs", false,
     [](const Course& c) { return std::optional(static_cast<double>(c.interruptions)); }},
};

Cell difference(const Measure& measure, const Course& before, const Course& after) {
  const double change = measure.value(after).value_or(0) - measure.value(before).value_or(0);
  const char* sign = change < 0 ? "-" : "+";
  const double size = std::abs(change);
  return {change, measure.share ? fmt::format("{}{:.2f} points", sign, size * 100) : sign + format_number(size)};
}

// When a job ended, since the start.
Cell end_cell(const std::optional<Duration>& ended) {
  if (!ended) return {"-"};
  return {sched::seconds_of(*ended), format_duration(*ended)};
}

class Replay {
 public:
  explicit Replay(Context& context) : context_(context), reader_(context.arguments()) {}

  Exit run() {
    if (const std::optional<Exit> exit = open()) return *exit;
    const std::size_t left = twin::place_incidents(recording_, machine_.machine);
    recording_.plan.options.tenants = machine_.tenants;
    const bool same_nodes = recording_.nodes.empty() || recording_.nodes == twin::names_hash(*machine_.machine);
    const bool changed = change();
    if (!reader_.ok()) return context_.usage_error(reader_.problem(), {reader_.hint()});
    twin::TwinPlan with = recording_.plan;
    if (!same_nodes && recording_.plan.incidents->empty() && !recording_.incidents.empty()) {
      return context_.usage_error("the cluster has none of the nodes of the recording",
                                  {"give the cluster file of it"});
    }
    if (left > 0) notes_.push_back(fmt::format("{} incidents are of nodes that the cluster lacks.", left));
    std::vector<std::pair<std::string, Course>> columns;
    if (recording_.outcome) columns.emplace_back("recorded", course_of(*recording_.outcome));
    if (same_nodes) {
      twin::TwinPlan as_it_was = original_;
      as_it_was.machine = recording_.plan.machine;
      as_it_was.incidents = recording_.plan.incidents;
      as_it_was.options.tenants = machine_.tenants;
      const std::optional<twin::TwinResult> result = play(as_it_was);
      if (!result) return exit_;
      say_whether_same(*result);
      compare_jobs(*result);
      columns.emplace_back("replayed", course_of(twin::outcome_of(*result)));
    } else {
      notes_.emplace_back("The nodes are not those of the recording: it is not replayed as it was.");
    }
    if (changed || !same_nodes) {
      const std::optional<twin::TwinResult> result = play(with);
      if (!result) return exit_;
      columns.emplace_back("changed", course_of(twin::outcome_of(*result)));
    }
    return context_.deliver(document(columns));
  }

 private:
  std::optional<Exit> open() {
    const Arguments& arguments = context_.arguments();
    const bool plain = arguments.has("plain");
    const std::size_t words = plain ? 1 : 2;
    if (arguments.words().size() != words) {
      return context_.usage_error("missing SOURCE or cluster",
                                  {"usage: weft twin replay CLUSTER SOURCE, or --plain SERVERSxGPUS SOURCE"});
    }
    if (const auto exit = open_sched_machine(context_, arguments.word(0), machine_)) return exit;
    RecordingInput input;
    if (const auto exit = open_recording(context_, machine_, arguments.words().back(), input)) return exit;
    recording_ = std::move(input.recording);
    for (const std::string& note : input.notes) context_.note(note);
    original_ = recording_.plan;
    return std::nullopt;
  }

  // The change that the options ask for.
  bool change() {
    twin::TwinPlan& plan = recording_.plan;
    bool changed = false;
    if (const auto interval = reader_.time("interval")) {
      for (twin::TwinJob& job : plan.jobs) job.spec.checkpoint.interval = *interval;
      changed = true;
    }
    if (const auto stall = reader_.time("checkpoint-stall")) {
      for (twin::TwinJob& job : plan.jobs) job.stall = job.write = *stall;
      changed = true;
    }
    if (const auto smaller = reader_.integer("fewer-nodes", 1, 1'000'000)) {
      const auto largest = std::max_element(plan.jobs.begin(), plan.jobs.end(), [](const auto& a, const auto& b) {
        return a.spec.shape.tasks < b.spec.shape.tasks;
      });
      if (largest == plan.jobs.end() || largest->spec.shape.tasks <= *smaller) {
        reader_.bad("fewer-nodes", "the largest job has no more nodes than that");
      } else {
        largest->spec.shape.tasks -= static_cast<std::int32_t>(*smaller);
      }
      changed = true;
    }
    if (context_.arguments().has("no-repair")) {
      plan.options.repair = false;
      changed = true;
    }
    return changed;
  }

  std::optional<twin::TwinResult> play(const twin::TwinPlan& plan) {
    const InterruptGuard guard;
    SimProgressLine line(context_.io(), context_.io().err_is_terminal && !context_.quiet(), "twin");
    twin::TwinHooks hooks;
    hooks.progress = [&](Duration done) {
      netsim::SimProgress progress;
      progress.done = static_cast<std::uint64_t>(done / sched::seconds(3600));
      progress.total = static_cast<std::uint64_t>(plan.length / sched::seconds(3600));
      return line.on_progress(progress);
    };
    Result<twin::TwinResult> result = twin::play(plan, hooks);
    line.finish();
    if (result.ok()) return std::move(result).value();
    const bool interrupted = result.error().code == ErrorCode::unavailable;
    if (interrupted) context_.note("interrupted: no result");
    exit_ = interrupted ? Exit::partial : context_.failed(result.error());
    return std::nullopt;
  }

  void say_whether_same(const twin::TwinResult& result) {
    if (!recording_.outcome || recording_.outcome->journal.value.empty()) return;
    const bool same = recording_.outcome->journal.value == twin::outcome_of(result).journal.value;
    notes_.emplace_back(same ? "Replayed as it was, the journal is the same, record by record."
                             : "Replayed as it was, the journal differs: another version of weft, or an edited file.");
  }

  // How far off the replay is, job by job.
  void compare_jobs(const twin::TwinResult& result) {
    using Align = Column::Align;
    const auto& jobs = recording_.jobs;
    if (std::none_of(jobs.begin(), jobs.end(), [](const twin::JobOutcome& each) { return each.attempts.has_value(); }))
      return;
    TableSection table{"jobs",
                       "Jobs, as recorded and as replayed without a change",
                       {{"job", "Job", Align::left, false},
                        {"recorded_end_s", "Ended", Align::right, false},
                        {"replayed_end_s", "Replayed", Align::right, false},
                        {"recorded_interruptions", "Interruptions", Align::right, false},
                        {"replayed_interruptions", "Replayed", Align::right, false},
                        {"recorded_attempts", "Attempts", Align::right, false},
                        {"replayed_attempts", "Replayed", Align::right, false}},
                       {}};
    const OutputFormat format = context_.output_format();
    const bool all = format != OutputFormat::table && format != OutputFormat::wide;
    const std::size_t shown = all ? jobs.size() : std::min(jobs.size(), kShownJobs);
    for (std::size_t j = 0; j < shown; ++j) {
      const auto& account = result.jobs[j].account;
      std::optional<Duration> ended;
      if (account.done) ended = account.ended - twin::kTwinStart;
      table.rows.push_back({Cell(result.jobs[j].name), end_cell(jobs[j].ended), end_cell(ended),
                            Cell(jobs[j].interruptions.value_or(0)), Cell(account.interruptions),
                            Cell(jobs[j].attempts.value_or(0)), Cell(account.attempts)});
    }
    if (shown < jobs.size()) {
      notes_.push_back(fmt::format("The first {} of {} jobs are shown; -o json has all.", shown, jobs.size()));
    }
    jobs_ = std::move(table);
  }

  Document document(const std::vector<std::pair<std::string, Course>>& columns) {
    using Align = Column::Align;
    TableSection table{"replay",
                       fmt::format("{}: {} replayed", recording_.plan.cluster, format_duration(recording_.plan.length)),
                       {{"measure", "Measure", Align::left, false}},
                       {}};
    for (const auto& [name, course] : columns) table.columns.push_back({name, name, Align::right, false});
    const bool differs = columns.size() > 1 && columns.back().first == "changed";
    if (differs) table.columns.push_back({"difference", "Difference", Align::right, false});
    for (const Measure& measure : kMeasures) {
      std::vector<Cell> row = {Cell(measure.title)};
      for (const auto& [name, course] : columns) {
        const std::optional<double> value = measure.value(course);
        if (value) {
          row.emplace_back(*value, measure.share ? format_percent(*value, 2) : format_number(*value));
        } else {
          row.push_back(Cell("not known"));
        }
      }
      if (differs) row.push_back(difference(measure, columns[columns.size() - 2].second, columns.back().second));
      table.rows.push_back(std::move(row));
    }
    Document document;
    document.kind = "twin_replay";
    document.sections.emplace_back(std::move(table));
    if (jobs_) document.sections.emplace_back(std::move(*jobs_));
    document.notes = std::move(notes_);
    return document;
  }

  Context& context_;
  OptionReader reader_;
  SchedInput machine_;
  twin::Recording recording_;
  twin::TwinPlan original_;
  std::vector<std::string> notes_;
  std::optional<TableSection> jobs_;
  Exit exit_ = Exit::partial;
};

Exit run_replay(Context& context) { return Replay(context).run(); }

}  // namespace

Command twin_replay_command() {
  Command command;
  command.name = "twin replay";
  command.summary = "Replay recorded operation as it was and with a change";
  command.usage = "CLUSTER SOURCE [OPTIONS]";
  command.description = {
      "Plays a recording (jobs, incidents, times of repair; `weft schema recording`) with the control plane of `weft "
      "serve`: first as it was, which shows how far off the twin is, then with the change that the options ask for. "
      "SOURCE is a recording, or one of the sources of `weft twin record`: a state directory of `weft serve`, or a "
      "table "
      "of sacct. `weft twin run --recording` and `weft twin record` write recordings; people edit them, or write them "
      "from tickets.",
      "With a changed cluster file (two more servers) the recording is played on the changed cluster: incidents belong "
      "to nodes by name."};
  command.examples = {
      {"weft twin replay cluster.yaml october.recording.yaml", "How far off is the twin?"},
      {"weft twin replay cluster.yaml october.recording.yaml --fewer-nodes 2",
       "What would two more spares have saved?"},
      {"weft twin replay cluster.yaml october.recording.yaml --interval 10m", "Another checkpoint interval"},
      {"weft twin replay cluster.yaml ~/.local/state/weft/NAME --since 2026-10-01", "The journal of weft serve"},
  };
  Argument cluster = cluster_argument_or({"plain"});
  cluster.help = "the cluster file of the recording, or a changed one; omitted with --plain";
  command.arguments = {cluster,
                       {.name = "SOURCE",
                        .help = "recording, state directory or table of sacct",
                        .hint = Hint::file,
                        .required = false}};
  command.options = {
      {.name = "interval", .value = "TIME", .help = "change: time between checkpoints"},
      {.name = "checkpoint-stall", .value = "TIME", .help = "change: time that a job waits per checkpoint"},
      {.name = "fewer-nodes", .value = "N", .help = "change: the largest job leaves N more nodes free as spares"},
      {.name = "no-repair", .help = "change: people repair every node"},
  };
  for (const Option& option : recording_source_options()) command.options.push_back(option);
  for (const Option& option : sched_input_options()) {
    if (option.name == "plain") command.options.push_back(option);
  }
  for (const Option& option : {output_option(), file_option(), catalog_option()}) command.options.push_back(option);
  command.run = run_replay;
  return command;
}

}  // namespace weft::cli
