// Findings of a replay: a metric, its cause, and a remedy, one sentence for all policies it applies to. Thresholds are
// where an operator would act on the cost; below them nothing is reported.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "sched/replay/view.h"

namespace weft::sched {
namespace {

constexpr double kOften = 0.05;       // of the time with waiting jobs
constexpr double kFarBehind = 5;      // the longest wait over the p99
constexpr double kLongWait = 3600;    // seconds: shorter waits are not starvation
constexpr double kLostShare = 0.01;   // of the GPU-hours used
constexpr double kBroken = 0.5;       // of the idle GPUs
constexpr double kReasonShare = 0.3;  // of the GPU-hours waited
constexpr double kUnfair = 0.5;       // Jain's index of two tenants if one has nothing
constexpr double kTail = 0.03;        // of utilization lost in the time after the last submission

class Findings {
 public:
  explicit Findings(const ReplayReport& report) : report_(report) {}

  std::vector<std::string> all() {
    idle();
    for (const ReplayRun& run : report_.runs) starving(run.metrics);
    broken();
    for (const ReplayRun& run : report_.runs) lost(run.metrics);
    for (const ReplayRun& run : report_.runs) reasons(run.metrics);
    unfair();
    rest();
    return std::move(notes_);
  }

 private:
  // "fifo 85 %, easy 22 %": the policies that meet a condition, each with its value. "" for none.
  template <class Holds, class Figure>
  [[nodiscard]] std::string who(Holds holds, Figure figure) const {
    std::string text;
    for (const ReplayRun& run : report_.runs) {
      if (!holds(run.metrics)) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", run.metrics.policy, figure(run.metrics));
    }
    return text;
  }
  void say(const std::string& who, std::string_view what) {
    if (!who.empty()) notes_.push_back(fmt::format("{}: {}", who, what));
  }

  void idle() {
    const auto figure = [](const ReplayMetrics& m) { return format_percent(m.enough_share, 0); };
    const auto often = [](const ReplayMetrics& m) { return m.enough_share * m.waiting_share >= kOften; };
    const auto strict = [&](const ReplayMetrics& m) { return often(m) && m.backfilled_starts == 0; };
    say(who(strict, figure),
        "of the time with work waiting, as many GPUs were idle as one of the waiting jobs requests. Strict order keeps "
        "it behind the job at the head of the queue; backfill with a reservation for that job uses them (--policy "
        "easy, weft).");
    say(who([&](const ReplayMetrics& m) { return often(m) && !strict(m); }, figure),
        "of the time with work waiting, as many GPUs were idle as one of the waiting jobs requests. They are "
        "fragmented, reserved for a job ahead, or blocked by a quota: see the table of reasons.");
  }

  void starving(const ReplayMetrics& m) {
    if (m.longest_job == UINT32_MAX || m.all.longest < kLongWait) return;
    if (m.all.longest < kFarBehind * std::max(m.all.p99, 1.0)) return;
    const Job& job = report_.jobs[m.longest_job];
    notes_.push_back(fmt::format(
        "{}: {} ({:g} GPUs, tenant {}) waited {}, {}: starvation, other jobs overtake it repeatedly. A reservation for "
        "it, a fair share for its tenant, or a priority that grows with age would start it sooner.",
        m.policy, job.name, static_cast<double>(job.gpu_milli()) / 1000.0, job.tenant.empty() ? "-" : job.tenant,
        span_text(m.all.longest),
        m.all.p99 < 1 ? std::string("while 99 % of jobs waited less than 1 s")
                      : fmt::format("{:.1f} times the p99", m.all.longest / m.all.p99)));
  }

  void lost(const ReplayMetrics& m) {
    if (m.lost_gpu_hours < kLostShare * m.used_gpu_hours || m.lost_gpu_hours <= 0) return;
    notes_.push_back(fmt::format(
        "{}: {:.0f} GPU-hours ({} of those used) were work repeated after {} preemptions and {} failures. "
        "More frequent checkpoints, a grace period, or a minimum run time before preemption would lose less.",
        m.policy, m.lost_gpu_hours, format_percent(m.lost_gpu_hours / m.used_gpu_hours, 0), m.preemptions, m.failures));
  }

  void broken() {
    say(who([](const ReplayMetrics& m) { return m.fragmentation >= kBroken && m.waiting_share >= kOften; },
            [](const ReplayMetrics& m) { return format_percent(m.fragmentation, 0); }),
        "of the idle GPUs, while work waited, were unusable for the job that had waited longest: they are on servers "
        "that other jobs share. Packing, fewer GPUs per task, or defragmentation (--defragment) would make them "
        "usable.");
  }

  void reasons(const ReplayMetrics& m) {
    double sum = 0;
    for (const ReasonFigures& each : m.reasons) sum += each.waited_gpu_hours;
    for (const ReasonFigures& each : m.reasons) {
      if (each.waited_gpu_hours < kReasonShare * sum || sum <= 0) continue;
      const char* remedy = nullptr;
      if (each.reason == Reason::quota) remedy = "a cohort whose tenants lend each other quota, or a larger quota";
      if (each.reason == Reason::topology) remedy = "a wider `required` level, or smaller segments";
      if (each.reason == Reason::fragmented) remedy = "packing, or defragmentation (--defragment)";
      if (each.reason == Reason::order) remedy = "backfill (--policy easy, weft)";
      if (each.reason == Reason::nodes_down) remedy = "spare nodes, or faster repair";
      if (remedy == nullptr) continue;
      notes_.push_back(
          fmt::format("{}: {} of the GPU-hours waited are of jobs first blocked by `{}`; {} would reduce them.",
                      m.policy, format_percent(each.waited_gpu_hours / sum, 0), to_text(each.reason), remedy));
    }
  }

  void unfair() {
    say(who([](const ReplayMetrics& m) { return m.fairness > 0 && m.fairness < kUnfair; },
            [](const ReplayMetrics& m) { return fmt::format("{:.2f}", m.fairness); }),
        "fairness: while several tenants had jobs waiting, few used most of the GPUs. Fair share (weft), dominant "
        "shares (drf) or quotas (--tenant) would balance it.");
  }

  void rest() {
    say(who([](const ReplayMetrics& m) { return m.utilization_arriving - m.utilization > kTail; },
            [](const ReplayMetrics& m) {
              return fmt::format("{} instead of {}", format_percent(m.utilization, 0),
                                 format_percent(m.utilization_arriving, 0));
            }),
        "utilization over the whole replay and while jobs arrive: the last jobs run on an emptying machine. Compare "
        "policies by the latter.");
    say(who([](const ReplayMetrics& m) { return m.never_started > 0; },
            [](const ReplayMetrics& m) { return fmt::format("{}", m.never_started); }),
        "jobs never started: they exceed the machine, a domain of the level they require or a quota, or require a "
        "GPU model that the machine lacks.");
    say(who([](const ReplayMetrics& m) { return m.killed > 0; },
            [](const ReplayMetrics& m) { return fmt::format("{}", m.killed); }),
        "jobs were killed at their time limits before their work was done; --no-kill lets them continue.");
  }

  const ReplayReport& report_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> replay_findings(const ReplayReport& report) { return Findings(report).all(); }

}  // namespace weft::sched
