// Sums and samples: what a replay measures over time.
#include <algorithm>
#include <cmath>

#include "sched/replay/replay.h"

namespace weft::sched {
namespace {

// Beyond this many, pairs of samples are merged and the sampling interval doubles: bounds the memory for long traces.
constexpr std::size_t kMaxSamples = 1U << 13U;

Sample merged(const Sample& first, const Sample& second) {
  Sample both = second;
  both.used_gpu_milli = (first.used_gpu_milli + second.used_gpu_milli) / 2;
  both.up_gpu_milli = (first.up_gpu_milli + second.up_gpu_milli) / 2;
  both.waiting_gpu_milli = (first.waiting_gpu_milli + second.waiting_gpu_milli) / 2;
  return both;
}

}  // namespace

void Replay::count(double span) {
  ReplaySums& sums = so_far_.sums;
  const std::int64_t idle = scheduler_.state().free_gpu_milli();
  sums.used_gpu_seconds += span * static_cast<double>(used_milli_) / 1000.0;
  sums.up_gpu_seconds += span * static_cast<double>(scheduler_.state().total_gpu_milli()) / 1000.0;
  waiting_gpu_seconds_ += span * static_cast<double>(waiting_milli_) / 1000.0;
  if (waiting_.empty()) return;
  sums.waiting_seconds += span;
  sums.idle_waiting_gpu_seconds += span * static_cast<double>(idle) / 1000.0;
  if (demands_.begin()->first <= idle) sums.enough_seconds += span;
  if (jobs_[*waiting_.begin()].gpu_milli() <= idle) sums.oldest_enough_seconds += span;
}

void Replay::advance(Moment to) {
  while (to != kNever && to - sampled_ >= sample_every_) {
    const Moment at = sampled_ + sample_every_;
    count(seconds_of(at - now_));
    now_ = at;
    take_sample(at);
  }
  if (to > now_ && to != kNever) {
    count(seconds_of(to - now_));
    now_ = to;
  }
  if (now_ <= so_far_.last_submission) so_far_.arriving = so_far_.sums;
}

void Replay::take_sample(Moment at) {
  const double span = seconds_of(at - sampled_);
  const auto mean = [&](double now, double before) { return std::llround((now - before) / span * 1000.0); };
  Sample sample;
  sample.at = at;
  sample.used_gpu_milli = mean(so_far_.sums.used_gpu_seconds, at_sample_.used_gpu_seconds);
  sample.up_gpu_milli = mean(so_far_.sums.up_gpu_seconds, at_sample_.up_gpu_seconds);
  sample.waiting_gpu_milli = mean(waiting_gpu_seconds_, waiting_at_sample_);
  sample.waiting_jobs = static_cast<std::uint32_t>(waiting_.size());
  sample.running_jobs = static_cast<std::uint32_t>(scheduler_.running().size());
  sample.fragment_permille = fragments();
  const double score = fragmentation_.measure(scheduler_.state()).total;
  sample.score_permille = static_cast<std::uint32_t>(std::llround(score * 1000.0));
  sample.fairness_permille = fairness();
  so_far_.samples.push_back(sample);
  sampled_ = at;
  at_sample_ = so_far_.sums;
  waiting_at_sample_ = waiting_gpu_seconds_;
  std::vector<Sample>& samples = so_far_.samples;
  if (samples.size() < kMaxSamples || sample_every_.count() > kNever.count() / 4) return;
  for (std::size_t i = 0; i + 1 < samples.size(); i += 2) samples[i / 2] = merged(samples[i], samples[i + 1]);
  samples.resize(samples.size() / 2);
  sample_every_ = sample_every_ * 2;
}

// What is idle on nodes where no task of the job fits, and what is left over where some do.
std::uint32_t Replay::fragments() const {
  const State& state = scheduler_.state();
  const std::int64_t idle = state.free_gpu_milli();
  if (waiting_.empty() || idle == 0) return 0;
  const Job& job = jobs_[*waiting_.begin()];
  std::int64_t useful = 0;
  for (std::uint32_t node = 0; node < down_.size(); ++node) {
    const NodeFree& free = state.free(static_cast<NodeId>(node));
    if (!free.up || !accepts(job.task, scheduler_.machine().node(static_cast<NodeId>(node)))) continue;
    useful += std::int64_t{job.task.gpu_total()} * count_fits(job.task, free, kMaxGpus * kMigSlices);
  }
  return static_cast<std::uint32_t>((idle - std::min(idle, useful)) * 1000 / idle);
}

// (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe 1984), over tenants with unmet demand.
std::uint32_t Replay::fairness() const {
  double sum = 0;
  double squares = 0;
  std::uint32_t count = 0;
  for (TenantId tenant = 0; tenant < waiting_of_.size(); ++tenant) {
    if (waiting_of_[tenant] == 0) continue;
    const double weight = std::max(1e-9, scheduler_.tenants().policy(tenant).weight);
    const double share = static_cast<double>(scheduler_.tenants().used(tenant).gpu_milli) / weight;
    sum += share;
    squares += share * share;
    ++count;
  }
  if (count < 2 || squares <= 0) return 0;
  return static_cast<std::uint32_t>(std::llround(1000.0 * sum * sum / (count * squares)));
}

void Replay::wait(std::uint32_t job) {
  if (courses_[job].hopeless) return;
  waiting_.insert(job);
  const std::int64_t demand = jobs_[job].gpu_milli();
  ++demands_[demand];
  waiting_milli_ += demand;
  const TenantId tenant = scheduler_.record(static_cast<JobId>(job)).tenant;
  if (tenant >= waiting_of_.size()) waiting_of_.resize(tenant + 1, 0);
  ++waiting_of_[tenant];
}

void Replay::wait_no_more(std::uint32_t job) {
  if (waiting_.erase(job) == 0) return;
  const std::int64_t demand = jobs_[job].gpu_milli();
  const auto same = demands_.find(demand);
  if (--same->second == 0) demands_.erase(same);
  waiting_milli_ -= demand;
  --waiting_of_[scheduler_.record(static_cast<JobId>(job)).tenant];
}

ReplayResult Replay::result() const {
  ReplayResult result = so_far_;
  for (std::size_t i = 0; i < arrived_; ++i) {
    const Course& course = courses_[i];
    JobOutcome& outcome = result.jobs[i];
    if (course.running) {
      outcome.gpu_seconds += seconds_of(now_ - course.since) * static_cast<double>(course.held_milli) / 1000.0;
    } else if (outcome.end == kNever) {
      outcome.waited += now_ - course.queued;
    }
    if (outcome.first_start == kNever) ++result.never_started;
  }
  result.end = std::max(result.end, result.begin);
  return result;
}

}  // namespace weft::sched
