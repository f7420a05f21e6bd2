// What stands out in a replay: a figure, its cause, and what would change it. Thresholds are where a figure begins to
// cost as much as an operator would act on; below them nothing is said.
#include <fmt/format.h>

#include <algorithm>

#include "sched/replay_view.h"

namespace weft::sched {
namespace {

constexpr double kOften = 0.05;       // of the time with work waiting
constexpr double kFarBehind = 5;      // the longest wait over the p99
constexpr double kLongWait = 3600;    // seconds: shorter ones starve nobody
constexpr double kLostShare = 0.01;   // of the GPU-hours used
constexpr double kBroken = 0.5;       // of what is idle
constexpr double kReasonShare = 0.3;  // of the GPU-hours waited
constexpr double kUnfair = 0.5;       // Jain's index of two tenants of which one has nothing
constexpr double kTail = 0.03;        // of utilisation lost in the time after the last submission

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

void find_idle(const ReplayMetrics& m, std::vector<std::string>& notes) {
  if (m.enough_share * m.waiting_share < kOften) return;
  const bool strict = m.backfilled_starts == 0;
  notes.push_back(fmt::format(
      "{}: during {} of the time with work waiting, as many GPUs idled as one of the waiting jobs asks for. {}",
      m.policy, percent(m.enough_share),
      strict
          ? "Strict order holds them back behind the job at the head; backfill with a reservation for that job uses "
            "them (--policy easy, weft)."
          : "They idle in pieces too small, are promised to a job ahead, or lie behind a quota: see why jobs did not "
            "start at once, and the idle GPUs of no use to the oldest."));
}

void find_starving(const ReplayReport& report, const ReplayMetrics& m, std::vector<std::string>& notes) {
  if (m.longest_job == UINT32_MAX || m.all.longest < kLongWait) return;
  if (m.all.longest < kFarBehind * std::max(m.all.p99, 1.0)) return;
  const Job& job = report.jobs[m.longest_job];
  notes.push_back(fmt::format(
      "{}: {} ({:g} GPUs, tenant {}) waited {}, {:.1f} times the p99: jobs that fit in what is left pass it again and "
      "again. A reservation for it, or a priority that grows with age, would start it sooner.",
      m.policy, job.name, static_cast<double>(job.gpu_milli()) / 1000.0, job.tenant.empty() ? "-" : job.tenant,
      span_text(m.all.longest), m.all.longest / std::max(m.all.p99, 1.0)));
}

void find_lost(const ReplayMetrics& m, std::vector<std::string>& notes) {
  if (m.lost_gpu_hours < kLostShare * m.used_gpu_hours || m.lost_gpu_hours <= 0) return;
  notes.push_back(fmt::format(
      "{}: {:.0f} GPU-hours ({} of those used) were work done again after {} preemptions and {} failures. Checkpoints "
      "more often, a grace period, or a time in which young jobs are exempt would cost less.",
      m.policy, m.lost_gpu_hours, percent(m.lost_gpu_hours / m.used_gpu_hours), m.preemptions, m.failures));
}

void find_broken(const ReplayMetrics& m, std::vector<std::string>& notes) {
  if (m.fragmentation < kBroken || m.waiting_share < kOften) return;
  notes.push_back(fmt::format(
      "{}: while work waited, {} of the idle GPUs could not serve the job that had waited longest: they lie on servers "
      "that other jobs share. Packing, tasks of fewer GPUs, or moving jobs (defragmentation) would join them.",
      m.policy, percent(m.fragmentation)));
}

void find_reason(const ReplayMetrics& m, std::vector<std::string>& notes) {
  double sum = 0;
  for (const ReasonFigures& each : m.reasons) sum += each.waited_gpu_hours;
  for (const ReasonFigures& each : m.reasons) {
    if (each.waited_gpu_hours < kReasonShare * sum || sum <= 0) continue;
    const char* remedy = nullptr;
    if (each.reason == Reason::quota) remedy = "a cohort in which tenants lend to each other, or a larger quota";
    if (each.reason == Reason::topology) remedy = "a wider `required` level, or smaller segments";
    if (each.reason == Reason::fragmented) remedy = "packing, or moving jobs (defragmentation)";
    if (each.reason == Reason::order) remedy = "backfill (--policy easy, weft)";
    if (each.reason == Reason::nodes_down) remedy = "spares, or a quicker repair";
    if (remedy == nullptr) continue;
    notes.push_back(fmt::format("{}: {} of the GPU-hours waited began with `{}`; {} would change that.", m.policy,
                                percent(each.waited_gpu_hours / sum), to_text(each.reason), remedy));
  }
}

void find_rest(const ReplayMetrics& m, std::vector<std::string>& notes) {
  if (m.fairness > 0 && m.fairness < kUnfair) {
    notes.push_back(
        fmt::format("{}: fairness {:.2f}: while several tenants wanted more, few held most of the GPUs. Fair share "
                    "(weft), dominant "
                    "shares (drf) or quotas would even it out.",
                    m.policy, m.fairness));
  }
  if (m.utilisation_arriving - m.utilisation > kTail) {
    notes.push_back(fmt::format(
        "{}: utilisation is {} while jobs arrive and {} over the whole replay: the last jobs run on a machine that "
        "empties. Compare policies by the first.",
        m.policy, percent(m.utilisation_arriving), percent(m.utilisation)));
  }
  if (m.never_started > 0) {
    notes.push_back(fmt::format(
        "{}: {} jobs never started: larger than the machine, than a domain of the level they require, than a quota, or "
        "of a GPU model that is not there.",
        m.policy, m.never_started));
  }
}

}  // namespace

std::vector<std::string> replay_findings(const ReplayReport& report) {
  std::vector<std::string> notes;
  for (const ReplayRun& run : report.runs) {
    find_idle(run.metrics, notes);
    find_starving(report, run.metrics, notes);
    find_lost(run.metrics, notes);
    find_broken(run.metrics, notes);
    find_reason(run.metrics, notes);
    find_rest(run.metrics, notes);
  }
  return notes;
}

}  // namespace weft::sched
