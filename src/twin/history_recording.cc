#include "twin/history_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "twin/incident_finder.h"
#include "twin/job_times.h"

namespace weft::twin {
namespace {

constexpr const char* kVolume = "/checkpoints";

Duration whole(Duration time) { return milliseconds(time.count() / 1'000'000); }

// "2 jobs", "1 job".
std::string jobs_text(std::size_t count) { return fmt::format("{} job{}", count, count == 1 ? "" : "s"); }

class Maker {
 public:
  Maker(const History& history, const sched::Machine& machine, const std::string& cluster)
      : history_(history), machine_(machine), launch_(measure_launch(history)) {
    RecordingSpec& spec = out_.spec;
    spec.recording = given(std::int64_t{1});
    spec.cluster = given(cluster);
    spec.nodes = given(names_hash(machine));
    spec.length = given(whole(history.until - history.from));
    spec.repair = given(history.repair);
    out_.notes = history.notes;
  }

  NotedRecording make() {
    add_jobs();
    add_incidents();
    add_outcome();
    add_notes();
    return std::move(out_);
  }

 private:
  void add_jobs() {
    std::map<std::string, std::size_t> names;
    for (const HistoryJob& job : history_.jobs) ++names[job.spec.shape.name];
    std::vector<RecordedJob> jobs;
    for (std::size_t j = 0; j < history_.jobs.size(); ++j) {
      const HistoryJob& job = history_.jobs[j];
      // Waited only: the twin has no one who cancels it.
      if (job.end == control::JobState::canceled && job.attempts.empty()) {
        ++never_started_;
        names_.emplace_back();
        continue;
      }
      std::string name = job.spec.shape.name;
      for (std::size_t n = j + 1;
           names[job.spec.shape.name] > 1 && (name == job.spec.shape.name || names.contains(name));
           n += history_.jobs.size()) {
        name = fmt::format("{}-{}", job.spec.shape.name, n);
      }
      ++names[name];
      names_.push_back(name);
      jobs.push_back(recorded(job, name));
    }
    out_.spec.jobs = given(std::move(jobs));
  }

  RecordedJob recorded(const HistoryJob& job, const std::string& name) {
    const JobTimes times = measure_times(history_, job, launch_);
    TwinJob twin;
    twin.spec = played_spec(job, times, name);
    twin.submitted = whole(job.submitted - history_.from);
    twin.launch = whole(times.launch);
    twin.load = whole(times.load);
    twin.restore = whole(times.restore);
    twin.stall = twin.write = whole(times.stall);
    if (times.stop) twin.stop = whole(*times.stop);
    if (times.verify) twin.verify = whole(*times.verify);
    twin.step = times.step ? std::max(whole(*times.step), milliseconds(1)) : sched::seconds(1);
    Duration work{};
    for (std::size_t a = 0; a < job.attempts.size(); ++a) {
      const Duration kept = kept_time(history_, job, times, a);
      std::int64_t milli = 0;
      for (const HistoryPart& part : job.attempts[a].parts) milli += part.milli;
      work += kept;
      productive_ += gpu_time(milli, whole(kept));
    }
    const bool finished = job.end == control::JobState::done || job.end == control::JobState::canceled;
    if (finished) twin.work = std::max(whole(work), milliseconds(1));
    RecordedJob out = recorded_job(twin);
    if (job.ended != sched::kNever) out.ended = given(whole(job.ended - history_.from));
    out.attempts = given(static_cast<std::int64_t>(job.attempts.size()));
    std::int64_t interruptions = 0;
    for (const HistoryAttempt& attempt : job.attempts) interruptions += attempt.interrupted ? 1 : 0;
    out.interruptions = given(interruptions);
    interruptions_ += interruptions;
    count(job, times);
    return out;
  }

  // Without what the twin does not need and a file should not have: commands, environments, paths.
  [[nodiscard]] control::JobSpec played_spec(const HistoryJob& job, const JobTimes& times,
                                             const std::string& name) const {
    control::JobSpec spec = job.spec;
    spec.shape.name = name;
    spec.shape.excluded.clear();
    spec.command = {"recorded"};
    spec.environment.clear();
    spec.directory = spec.output = spec.image = "";
    spec.uid = spec.gid = 0;
    spec.engine = lease::LeaseOwner::none;
    if (spec.shape.user.empty()) spec.shape.user = "recorded";
    const bool wrote = std::any_of(job.attempts.begin(), job.attempts.end(), [](const HistoryAttempt& each) {
      return each.restored || !each.checkpoints.empty();
    });
    if (!spec.checkpoint.volumes.empty()) spec.checkpoint.volumes = {kVolume};
    if (history_.has_checkpoints && !wrote && job.end) spec.checkpoint.volumes.clear();
    if (times.interval)
      spec.checkpoint.interval = std::max(whole(*times.interval), whole(times.stall) + milliseconds(1));
    if (times.stall >= milliseconds(1)) spec.checkpoint.write_time = whole(times.stall);
    // No one releases a held job in the replay.
    if (job.released) {
      spec.restart.max_failures = std::max(spec.restart.max_failures, job.held ? job.failures - 1 : job.failures);
    }
    return spec;
  }

  void count(const HistoryJob& job, const JobTimes& times) {
    canceled_ += job.end == control::JobState::canceled ? 1U : 0U;
    released_ += job.released ? 1U : 0U;
    cut_ += !job.attempts.empty() && job.attempts.front().cut ? 1U : 0U;
    const bool ran = !job.attempts.empty() && job.attempts.front().running != sched::kNever;
    unmeasured_ += history_.has_checkpoints && ran && !times.step ? 1U : 0U;
    measured_ += times.step ? 1U : 0U;
  }

  void add_incidents() {
    const double days =
        static_cast<double>(machine_.nodes().size()) * sched::seconds_of(history_.until - history_.from) / 86'400;
    FoundIncidents found = find_incidents(history_, days);
    std::vector<RecordedIncident> incidents;
    for (Incident& incident : found.incidents) {
      for (Duration* time : {&incident.at, &incident.detect, &incident.abort, &incident.repair}) *time = whole(*time);
      RecordedIncident& each =
          incidents.emplace_back(recorded_incident(incident, found.faults, machine_.node(incident.node).name));
      if (incident.job >= 0) each.job = given(names_[static_cast<std::size_t>(incident.job)]);
    }
    out_.spec.faults = given(spec_of(found.faults));
    out_.spec.incidents = given(std::move(incidents));
  }

  void add_outcome() {
    GpuTime held = 0;
    for (const HistoryJob& job : history_.jobs) {
      for (const HistoryAttempt& attempt : job.attempts) {
        for (const HistoryPart& part : attempt.parts) {
          const sched::Moment end = std::min({part.ended, attempt.ended, history_.until});
          if (end > attempt.start) held += gpu_time(part.milli, end - attempt.start);
        }
      }
    }
    const GpuTime all = gpu_time(machine_.gpus() * sched::kWholeGpu, out_.spec.length.value);
    RecordedOutcome outcome;
    if (history_.has_checkpoints) outcome.productive = given(std::max(productive_, GpuTime{0}) / 1'000'000);
    outcome.held = given(held / 1'000'000);
    outcome.all = given(all / 1'000'000);
    outcome.interruptions = given(interruptions_);
    out_.spec.outcome = given(outcome);
  }

  void add_notes() {
    std::vector<std::string>& notes = out_.notes;
    if (measured_ > 0) {
      notes.push_back(fmt::format(
          "Of {}, the time of a step and that from the start of the processes to the first step follow from the times "
          "of checkpoints; a job is assumed to wait while a checkpoint is written.",
          jobs_text(measured_)));
    }
    if (unmeasured_ > 0) {
      notes.push_back(fmt::format(
          "{} did not write two checkpoints in one attempt: all time from the start of the processes on is taken for "
          "computing.",
          jobs_text(unmeasured_)));
    }
    if (canceled_ > 0) {
      notes.push_back(fmt::format("{} canceled by people: played as if the work had been done then, and counted so.",
                                  jobs_text(canceled_)));
    }
    if (never_started_ > 0)
      notes.push_back(fmt::format("{} canceled before the first start: left out.", jobs_text(never_started_)));
    if (released_ > 0) {
      notes.push_back(fmt::format(
          "{} released by people after too many failures: more failures are allowed instead, without the wait.",
          jobs_text(released_)));
    }
    if (cut_ > 0)
      notes.push_back(
          fmt::format("{} ran already at the start: it starts again there in the replay.", jobs_text(cut_)));
  }

  const History& history_;
  const sched::Machine& machine_;
  Duration launch_;
  NotedRecording out_;
  std::vector<std::string> names_;  // by position in the history; "": left out
  GpuTime productive_ = 0;
  std::int64_t interruptions_ = 0;
  std::size_t canceled_ = 0;
  std::size_t never_started_ = 0;
  std::size_t released_ = 0;
  std::size_t cut_ = 0;
  std::size_t measured_ = 0;
  std::size_t unmeasured_ = 0;
};

}  // namespace

NotedRecording make_recording(const History& history, const sched::Machine& machine, const std::string& cluster) {
  return Maker(history, machine, cluster).make();
}

}  // namespace weft::twin
