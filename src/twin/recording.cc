#include "twin/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/random.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace weft::twin {
namespace {

constexpr Duration kMaxLength = sched::seconds(std::int64_t{3660} * 86'400);

std::int64_t gpu_seconds(GpuTime time) { return time / 1'000'000; }

// Times are whole milliseconds: the accounts are.
Duration whole(Duration time) { return milliseconds(time.count() / 1'000'000); }

class Reader {
 public:
  Reader(const RecordingSpec& spec, Diagnostics& diagnostics) : spec_(spec), diagnostics_(diagnostics) {}

  std::optional<Recording> read() {
    std::optional<FaultModel> faults = model_of(spec_.faults.value, diagnostics_);
    if (!faults) return std::nullopt;
    Recording recording;
    TwinPlan& plan = recording.plan;
    plan.faults = *std::move(faults);
    plan.cluster = spec_.cluster.value;
    plan.length = whole(spec_.length.value);
    if (plan.length.count() <= 0 || plan.length > kMaxLength) {
      diagnostics_.error(spec_.length.place, "`length` must be between 1ms and 3660d");
    }
    plan.options.repair = !spec_.repair.has_value() || spec_.repair.value;
    plan.seed = seed();
    recording.nodes = spec_.nodes.value;
    if (spec_.outcome.has_value()) recording.outcome = spec_.outcome.value;
    for (const RecordedJob& each : spec_.jobs.value) job(each);
    std::stable_sort(jobs_.begin(), jobs_.end(),
                     [](const auto& a, const auto& b) { return a.first.submitted < b.first.submitted; });
    for (auto& [job, outcome] : jobs_) {
      plan.jobs.push_back(std::move(job));
      recording.jobs.push_back(outcome);
    }
    for (const RecordedIncident& each : spec_.incidents.value) incident(each, recording);
    std::stable_sort(recording.incidents.begin(), recording.incidents.end(),
                     [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
    if (diagnostics_.has_errors()) return std::nullopt;
    number_jobs(plan.jobs);
    return recording;
  }

 private:
  std::uint64_t seed() {
    std::uint64_t seed = 1;
    const std::string& text = spec_.seed.value;
    if (!spec_.seed.has_value()) return seed;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc() || end != text.data() + text.size()) {
      diagnostics_.error(spec_.seed.place, fmt::format("{} is not a seed", in_backticks(text)),
                         "a number from 0 to 18446744073709551615");
    }
    return seed;
  }

  void job(const RecordedJob& each) {
    Result<control::JobSpec> spec = control::parse_job_spec(each.spec.value);
    std::string problem = spec.ok() ? control::problem_of(*spec) : spec.error().text();
    if (!problem.empty()) {
      diagnostics_.error(each.spec.place, std::move(problem));
      return;
    }
    TwinJob job;
    job.spec = std::move(spec).value();
    job.submitted = whole(each.submitted.value);
    if (each.work.has_value()) job.work = whole(each.work.value);
    job.launch = whole(each.launch.value);
    job.load = whole(each.load.value);
    job.restore = whole(each.restore.value);
    job.stall = whole(each.stall.value);
    job.write = whole(each.write.value);
    job.step = std::max(whole(each.step.value), milliseconds(1));
    if (each.stop.has_value()) job.stop = whole(each.stop.value);
    if (each.verify.has_value()) job.verify = whole(each.verify.value);
    JobOutcome outcome;
    if (each.ended.has_value()) outcome.ended = whole(each.ended.value);
    if (each.attempts.has_value()) outcome.attempts = each.attempts.value;
    if (each.interruptions.has_value()) outcome.interruptions = each.interruptions.value;
    jobs_.emplace_back(std::move(job), outcome);
  }

  // The position of the only job of that name; -1, with a diagnostic, if there is none.
  std::int32_t find_job(const model::Sourced<std::string>& name, const TwinPlan& plan) {
    std::int32_t found = -1;
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
      if (plan.jobs[j].spec.shape.name != name.value) continue;
      if (found >= 0) {
        diagnostics_.error(name.place, fmt::format("two jobs have the name {}", in_backticks(name.value)));
        return -1;
      }
      found = static_cast<std::int32_t>(j);
    }
    if (found < 0) {
      diagnostics_.error(name.place, fmt::format("unknown job {}", in_backticks(name.value)), "list it in `jobs`");
    }
    return found;
  }

  void incident(const RecordedIncident& each, Recording& recording) {
    const std::vector<Cause>& causes = recording.plan.faults.causes;
    const auto cause =
        std::find_if(causes.begin(), causes.end(), [&](const Cause& one) { return one.name == each.cause.value; });
    if (cause == causes.end()) {
      diagnostics_.error(each.cause.place, fmt::format("unknown cause {}", in_backticks(each.cause.value)),
                         "list it in `faults`");
      return;
    }
    Incident incident;
    incident.at = whole(each.at.value);
    incident.cause = static_cast<std::uint32_t>(cause - causes.begin());
    incident.fix = each.fix.value;
    incident.detect = whole(each.detect.value);
    incident.abort = whole(each.abort.value);
    incident.respond = whole(each.respond.value);
    incident.repair = whole(each.repair.value);
    incident.lasts = whole(each.lasts.value);
    incident.returns = whole(each.returns.value);
    if (each.job.has_value()) {
      incident.job = find_job(each.job, recording.plan);
      if (incident.fix != Fix::restart || cause->effect != Effect::exit) {
        diagnostics_.error(each.job.place,
                           "the process of a job failed: needs `fix: restart` and a cause with `effect: exit`");
      }
    }
    if (incident.fix != Fix::restart && incident.detect.count() <= 0 && cause->effect != Effect::slow) {
      diagnostics_.error(each.place, "a node that stays broken must be detected: `detect` is needed");
    }
    recording.incidents.emplace_back(each.node.value, incident);
  }

  const RecordingSpec& spec_;
  Diagnostics& diagnostics_;
  std::vector<std::pair<TwinJob, JobOutcome>> jobs_;
};

}  // namespace

RecordedJob recorded_job(const TwinJob& job) {
  RecordedJob out;
  out.spec = given(control::to_text(job.spec));
  out.submitted = given(job.submitted);
  if (job.work != sched::kUnlimited) out.work = given(job.work);
  out.launch = given(job.launch);
  out.load = given(job.load);
  out.restore = given(job.restore);
  out.stall = given(job.stall);
  out.write = given(job.write);
  out.step = given(job.step);
  out.stop = given(job.stop);
  out.verify = given(job.verify);
  return out;
}

RecordedIncident recorded_incident(const Incident& incident, const FaultModel& faults, const std::string& node) {
  RecordedIncident out;
  out.at = given(incident.at);
  out.node = given(node);
  out.cause = given(faults.causes[incident.cause].name);
  out.fix = given(incident.fix);
  const std::pair<model::Sourced<Duration>*, Duration> times[] = {
      {&out.detect, incident.detect}, {&out.abort, incident.abort}, {&out.respond, incident.respond},
      {&out.repair, incident.repair}, {&out.lasts, incident.lasts}, {&out.returns, incident.returns}};
  for (const auto& [field, time] : times) {
    if (time.count() > 0) *field = given(time);
  }
  return out;
}

RecordedOutcome outcome_of(const TwinResult& result) {
  RecordedOutcome outcome;
  GpuTime held = 0;
  for (std::size_t u = 0; u <= static_cast<std::size_t>(Use::starting); ++u) held += result.time[u];
  outcome.journal = given(fmt::format("{:016x}", result.hash));
  outcome.productive = given(gpu_seconds(result.time[static_cast<std::size_t>(Use::productive)]));
  outcome.held = given(gpu_seconds(held));
  outcome.all = given(gpu_seconds(result.total()));
  outcome.interruptions = given(static_cast<std::int64_t>(result.interruptions()));
  return outcome;
}

std::string names_hash(const sched::Machine& machine) {
  std::uint64_t hash = hash64("");
  for (const sched::NodeShape& node : machine.nodes())
    hash = hash64(fmt::format("{} {}\n", node.name, node.gpus), hash);
  return fmt::format("{:016x}", hash);
}

std::string write_recording(const TwinPlan& plan, const TwinResult& result) {
  RecordingSpec spec;
  spec.recording = given(std::int64_t{1});
  spec.cluster = given(plan.cluster);
  spec.nodes = given(names_hash(*plan.machine));
  spec.length = given(plan.length);
  spec.seed = given(fmt::format("{}", plan.seed));
  spec.repair = given(plan.options.repair);
  spec.faults = given(spec_of(plan.faults));
  spec.outcome = given(outcome_of(result));
  std::vector<RecordedJob> jobs;
  jobs.reserve(plan.jobs.size());
  for (const TwinJob& job : plan.jobs) jobs.push_back(recorded_job(job));
  spec.jobs = given(std::move(jobs));
  std::vector<RecordedIncident> incidents;
  for (const Incident& incident : incidents_of(plan)) {
    RecordedIncident& each =
        incidents.emplace_back(recorded_incident(incident, plan.faults, plan.machine->node(incident.node).name));
    if (incident.job >= 0) each.job = given(plan.jobs[static_cast<std::size_t>(incident.job)].spec.shape.name);
  }
  spec.incidents = given(std::move(incidents));
  return write_recording(spec);
}

std::string write_recording(const RecordingSpec& spec) {
  model::YamlWriter writer;
  writer.open();
  model::schema_of<RecordingSpec>().write(&spec, writer);
  writer.close();
  return writer.finish();
}

std::optional<Recording> read_recording(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (!root) return std::nullopt;
  RecordingSpec spec;
  if (!model::Codec<RecordingSpec>::read(*root, diagnostics, spec) || diagnostics.has_errors()) return std::nullopt;
  return read_recording(spec, diagnostics);
}

std::optional<Recording> read_recording(const RecordingSpec& spec, Diagnostics& diagnostics) {
  return Reader(spec, diagnostics).read();
}

std::size_t place_incidents(Recording& recording, std::shared_ptr<const sched::Machine> machine) {
  recording.plan.machine = std::move(machine);
  std::vector<Incident> placed;
  std::size_t left = 0;
  for (const auto& [name, incident] : recording.incidents) {
    const std::optional<sched::NodeId> node = recording.plan.machine->find(name);
    if (!node && incident.job < 0) {
      ++left;
      continue;
    }
    placed.push_back(incident);
    placed.back().node = node.value_or(sched::NodeId{});
  }
  recording.plan.incidents = std::move(placed);
  return left;
}

}  // namespace weft::twin
