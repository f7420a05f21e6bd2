#include "health/judge/straggler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "oob/manage/sensors_view.h"

namespace weft::health {
namespace {

constexpr double kMadToDeviation = 1.4826;  // of a normal distribution
constexpr double kMaxSeconds = 1e6;
constexpr std::int64_t kMaxStep = std::int64_t{1} << 53;
constexpr std::uint32_t kMaxRank = 1U << 20U;
constexpr std::size_t kMaxNames = 256;  // bytes of a job, node or stage
constexpr std::size_t kBaselineWindows = 8;
constexpr std::size_t kRecentWindows = 8;
constexpr std::size_t kMaxStages = 256;  // that notes are kept of
constexpr std::uint64_t kMinLate = 64;

double median(std::vector<double> values) { return oob::median_of(values); }

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0 && seconds <= kMaxSeconds; }

Duration duration_of(double seconds) { return Duration(static_cast<std::int64_t>(seconds * 1e9)); }

}  // namespace

std::string_view to_text(JobLimit limit) {
  constexpr std::array<std::string_view, 3> kTexts = {"no busy times", "too few nodes to compare",
                                                      "too many nodes are slower: a mixed job"};
  return kTexts[static_cast<std::size_t>(limit)];
}

Signal signal_of(const StragglerFinding& finding, sched::Moment at) {
  Signal signal;
  signal.name = "job:straggler";
  signal.node = finding.node;
  signal.part = fmt::format("job {} rank {}", finding.job, finding.rank);
  signal.at = at;
  signal.text =
      fmt::format("job {}: rank {} takes {:.3f} times as long as the median of {} nodes, in {} windows in a row",
                  finding.job, finding.rank, finding.ratio, finding.peers, finding.windows);
  signal.details = {{"job", finding.job},
                    {"stage", finding.stage},
                    {"ratio", fmt::format("{:.3f}", finding.ratio)},
                    {"peers", std::to_string(finding.peers)}};
  signal.source = SignalSource::job;
  return signal;
}

std::vector<Signal> signals_of(const HangFinding& finding) {
  Signal signal;
  signal.name = "job:hang";
  signal.part = "job " + finding.job;
  signal.at = finding.since + finding.limit;
  signal.text = fmt::format("job {}: no step after step {} for {:.0f} s, more than {:.0f} s", finding.job, finding.step,
                            sched::seconds_of(finding.silent), sched::seconds_of(finding.limit));
  signal.details = {{"job", finding.job}, {"step", std::to_string(finding.step)}};
  signal.source = SignalSource::job;
  std::vector<Signal> out;
  for (const std::string& node : finding.behind) {
    out.push_back(signal);
    out.back().node = node;
  }
  if (out.empty()) out.push_back(std::move(signal));
  return out;
}

StragglerJudge::StragglerJudge(const StragglerSettings& settings) : settings_(settings) {
  settings_.window_steps = std::clamp(settings_.window_steps, 1U, 4096U);
  settings_.windows = std::max(settings_.windows, 1U);
}

bool StragglerJudge::is_valid(const JobStep& report) const {
  const bool named = !report.job.empty() && !report.node.empty() && report.job.size() <= kMaxNames &&
                     report.node.size() <= kMaxNames && report.stage.size() <= kMaxNames;
  return named && report.step >= 0 && report.step <= kMaxStep && report.rank < kMaxRank &&
         report.at >= sched::Moment() && is_time(report.step_seconds.value_or(0)) &&
         is_time(report.busy_seconds.value_or(0));
}

// Forgets the job that was silent for longest if there are too many.
StragglerJudge::JobState& StragglerJudge::job_of(const std::string& name) {
  const auto found = jobs_.find(name);
  if (found != jobs_.end()) return found->second;
  if (jobs_.size() >= kMaxJobs) {
    const auto silent = std::min_element(jobs_.begin(), jobs_.end(),
                                         [](const auto& a, const auto& b) { return a.second.heard < b.second.heard; });
    jobs_.erase(silent);
  }
  return jobs_[name];
}

bool StragglerJudge::is_late(const JobState& job, const JobStep& report) const {
  return job.newest_window >= 0 && window_of(report.step) < job.newest_window - 1;
}

// A late report that is newer than everything that is known of the job: it runs again from a checkpoint. So it does if
// nothing but late reports arrive; one alone, without a time, may have been on its way for long.
bool StragglerJudge::is_restart(const JobState& job, const JobStep& report) const {
  if (!is_late(job, report)) return false;
  return report.at > job.latest || job.late_in_a_row >= std::max<std::uint64_t>(kMinLate, 2 * job.nodes.size());
}

// Its nodes may be others.
void StragglerJudge::restart(JobState& job) {
  job.nodes.clear();
  job.step_times.clear();
  job.late_in_a_row = 0;
  job.last_step = -1;
  job.newest_window = -1;
  job.judged = -1;
  job.slow_streak = 0;
  job.notes.clear();
}

void StragglerJudge::add(const JobStep& report) {
  if (!is_valid(report)) {
    ++counts_.invalid;
    return;
  }
  JobState& job = job_of(report.job);
  job.heard = ++heard_;
  if (is_restart(job, report)) {
    restart(job);
    ++counts_.restarts;
  }
  if (is_late(job, report)) {
    ++counts_.late;
    ++job.late_in_a_row;
    return;
  }
  job.late_in_a_row = 0;
  auto node = job.nodes.find(report.node);
  if (node == job.nodes.end()) {
    if (job.nodes.size() >= kMaxNodes) {
      ++counts_.beyond;
      return;
    }
    node = job.nodes.try_emplace(report.node).first;
  }
  if (report.phase == JobPhase::compute) {
    note_step_time(job, report);
    add_sample(job, node->second, report);
  }
  note_progress(job, node->second, report);
  job.newest_window = std::max(job.newest_window, window_of(report.step));
  close_windows(report.job, job);
}

// A job makes progress when a node reports another step than before; after a restart that is an earlier one.
void StragglerJudge::note_progress(JobState& job, NodeState& node, const JobStep& report) {
  const sched::Moment at = report.at == sched::Moment() ? job.latest : report.at;
  if (at >= node.latest) {
    if (report.step != node.last_step) job.progress = std::max(job.progress, at);
    node.last_step = report.step;
    node.latest = at;
  }
  job.last_step = std::max(job.last_step, report.step);
  if (at < job.latest) return;
  job.phase = report.phase;
  job.latest = at;
  // A pause is no silence: what follows it is counted from its last report.
  if (report.phase != JobPhase::compute) job.progress = at;
}

// One time per step is enough: it is the same for all ranks. Where none is reported, the time since the step before.
void StragglerJudge::note_step_time(JobState& job, const JobStep& report) {
  std::optional<double> seconds = report.step_seconds;
  const bool follows = job.last_step >= 0 && report.step > job.last_step && job.phase == JobPhase::compute;
  if (!seconds && follows && job.progress != sched::Moment() && report.at > job.progress)
    seconds = sched::seconds_of(report.at - job.progress) / static_cast<double>(report.step - job.last_step);
  if (!seconds) return;
  std::vector<StepTime>& times = job.step_times[window_of(report.step)];
  const auto same = [&](const StepTime& each) { return each.step == report.step; };
  if (std::none_of(times.begin(), times.end(), same)) times.push_back({report.step, *seconds});
}

void StragglerJudge::add_sample(JobState& job, NodeState& node, const JobStep& report) {
  if (!report.busy_seconds) {
    ++counts_.used;
    return;
  }
  job.has_busy = true;
  if (node.stage != report.stage) {  // its windows of another stage cannot be compared
    node.stage = report.stage;
    node.open.clear();
    node.streak = 0;
  }
  Samples& samples = node.open[window_of(report.step)];
  const std::uint64_t offset = static_cast<std::uint64_t>(report.step) % settings_.window_steps;
  const std::uint64_t key = std::uint64_t{report.rank} * settings_.window_steps + offset;
  const auto place =
      std::lower_bound(samples.begin(), samples.end(), key, [](const Sample& a, std::uint64_t b) { return a.key < b; });
  if (place != samples.end() && place->key == key) {
    ++counts_.duplicate;
  } else if (samples.size() >= kMaxRanksPerNode * settings_.window_steps) {
    ++counts_.beyond;
  } else {
    samples.insert(place, {key, *report.busy_seconds});
    ++counts_.used;
  }
}

// A window is complete when the one after the next has begun: reports of one window arrive in any order.
void StragglerJudge::close_windows(const std::string& name, JobState& job) {
  const std::int64_t last = job.newest_window - 2;
  if (last <= job.judged) return;
  std::vector<std::int64_t> windows;
  for (const auto& [window, times] : job.step_times) windows.push_back(window);
  for (const auto& [node_name, node] : job.nodes) {
    for (const auto& [window, samples] : node.open) windows.push_back(window);
  }
  std::sort(windows.begin(), windows.end());
  windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
  for (const std::int64_t window : windows) {
    if (window <= last) judge_window(name, job, window);
  }
  job.judged = last;
}

void StragglerJudge::judge_window(const std::string& name, JobState& job, std::int64_t window) {
  ++windows_;
  judge_job(job, window);
  std::map<std::string, std::vector<Timed>> stages;
  for (auto node = job.nodes.begin(); node != job.nodes.end(); ++node) {
    const auto samples = node->second.open.find(window);
    if (samples == node->second.open.end()) {
      node->second.streak = 0;
      continue;
    }
    Timed timed{node, -1, 0};
    std::vector<double> seconds;
    const Samples& all = samples->second;
    for (std::size_t i = 0; i < all.size();) {
      const std::uint64_t rank = all[i].key / settings_.window_steps;
      seconds.clear();
      for (; i < all.size() && all[i].key / settings_.window_steps == rank; ++i) seconds.push_back(all[i].seconds);
      const double middle = oob::median_of(seconds);
      if (middle > timed.seconds) timed = {node, middle, static_cast<std::uint32_t>(rank)};
    }
    stages[node->second.stage].push_back(timed);
    node->second.open.erase(samples);
  }
  job.notes.clear();
  if (stages.empty() && !job.has_busy)
    job.notes[""] = {name, "", JobLimit::no_busy_times, static_cast<std::uint32_t>(job.nodes.size())};
  for (auto& [stage, timed] : stages) judge_stage(name, job, stage, timed);
}

void StragglerJudge::judge_stage(const std::string& name, JobState& job, const std::string& stage,
                                 std::vector<Timed>& timed) {
  const auto most = static_cast<std::size_t>(settings_.max_share * static_cast<double>(timed.size()));
  const auto note = [&](JobLimit limit, std::size_t nodes) {
    if (job.notes.size() < kMaxStages) job.notes[stage] = {name, stage, limit, static_cast<std::uint32_t>(nodes)};
    for (const Timed& each : timed) each.node->second.streak = 0;
  };
  if (most == 0) return note(JobLimit::too_few_peers, timed.size());
  std::vector<double> values;
  values.reserve(timed.size());
  for (const Timed& each : timed) values.push_back(each.seconds);
  const double middle = median(values);
  for (double& value : values) value = std::abs(value - middle);
  const double deviation = std::max(kMadToDeviation * median(values), settings_.floor * middle);
  const double limit = std::max(settings_.ratio * middle, middle + settings_.deviations * deviation);
  const auto is_slow = [&](const Timed& each) { return middle > 0 && each.seconds > limit; };
  const auto slow = static_cast<std::size_t>(std::count_if(timed.begin(), timed.end(), is_slow));
  // Bimodal times make the deviations large: a mixed job may have none above `limit` and is then not noted.
  if (slow > most) return note(JobLimit::mixed, slow);
  for (const Timed& each : timed) {
    NodeState& node = each.node->second;
    node.streak = is_slow(each) ? node.streak + 1 : 0;
    node.ratio = middle > 0 ? each.seconds / middle : 1;
    node.rank = each.rank;
    node.peers = static_cast<std::uint32_t>(timed.size());
    if (node.streak == settings_.windows && new_.size() < kMaxNew)
      new_.push_back({name, each.node->first, stage, node.ratio, node.rank, node.streak, node.peers});
  }
}

void StragglerJudge::judge_job(JobState& job, std::int64_t window) {
  const auto found = job.step_times.find(window);
  if (found == job.step_times.end()) return;
  std::vector<double> seconds;
  for (const StepTime& each : found->second) seconds.push_back(each.seconds);
  job.step_times.erase(found);
  const double middle = oob::median_of(seconds);
  job.medians.push_back(middle);
  if (job.medians.size() > kRecentWindows) job.medians.erase(job.medians.begin());
  if (job.baseline.size() < kBaselineWindows) {
    job.baseline.push_back(middle);
    return;
  }
  job.slow_streak = middle > settings_.slowdown * median(job.baseline) ? job.slow_streak + 1 : 0;
}

void StragglerJudge::remove_job(const std::string& job) { jobs_.erase(job); }

std::vector<StragglerFinding> StragglerJudge::take_new_suspects() { return std::exchange(new_, {}); }

std::vector<StragglerFinding> StragglerJudge::suspects() const {
  std::vector<StragglerFinding> out;
  for (const auto& [name, job] : jobs_) {
    for (const auto& [node_name, node] : job.nodes) {
      if (node.streak >= settings_.windows)
        out.push_back({name, node_name, node.stage, node.ratio, node.rank, node.streak, node.peers});
    }
  }
  return out;
}

std::vector<SlowdownFinding> StragglerJudge::slowdowns() const {
  std::vector<SlowdownFinding> out;
  for (const auto& [name, job] : jobs_) {
    if (job.slow_streak < settings_.windows) continue;
    const double now = job.medians.back();
    out.push_back({name, now / median(job.baseline), now, job.slow_streak});
  }
  return out;
}

// Of the last windows, or of the steps since then.
std::optional<double> StragglerJudge::median_step(const JobState& job) {
  std::vector<double> seconds = job.medians;
  if (seconds.empty()) {
    for (const auto& [window, times] : job.step_times) {
      for (const StepTime& each : times) seconds.push_back(each.seconds);
    }
  }
  if (seconds.empty()) return std::nullopt;
  return oob::median_of(seconds);
}

std::vector<HangFinding> StragglerJudge::hangs(sched::Moment now) const {
  std::vector<HangFinding> out;
  for (const auto& [name, job] : jobs_) {
    const std::optional<double> step = median_step(job);
    // The first step takes as long as it does; so do pauses.
    if (!step || job.phase != JobPhase::compute || job.progress == sched::Moment() || now <= job.progress) continue;
    HangFinding finding;
    finding.limit = std::max(duration_of(settings_.hang_factor * *step), settings_.hang_minimum);
    finding.silent = now - job.progress;
    if (finding.silent <= finding.limit) continue;
    finding.job = name;
    finding.step = job.last_step;
    finding.since = job.progress;
    for (const auto& [node_name, node] : job.nodes) {
      if (node.last_step < job.last_step && finding.behind.size() < kMaxBehind) finding.behind.push_back(node_name);
    }
    out.push_back(std::move(finding));
  }
  return out;
}

std::size_t StragglerJudge::sample_count() const {
  std::size_t count = 0;
  for (const auto& [name, job] : jobs_) {
    for (const auto& [node_name, node] : job.nodes) {
      for (const auto& [window, samples] : node.open) count += samples.size();
    }
  }
  return count;
}

std::vector<JobNote> StragglerJudge::notes() const {
  std::vector<JobNote> out;
  for (const auto& [name, job] : jobs_) {
    for (const auto& [stage, note] : job.notes) out.push_back(note);
  }
  return out;
}

}  // namespace weft::health
