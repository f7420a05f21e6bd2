#include "twin/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/human_format.h"

namespace weft::twin {
namespace {

using Align = Column::Align;

constexpr std::size_t kJobsShown = 12;  // for people; programs get all

double seconds_of(Duration duration) { return static_cast<double>(duration.count()) * 1e-9; }
Cell time_cell(Duration duration) { return {seconds_of(duration), format_duration(duration)}; }
Cell share_cell(double share) { return {share, format_percent(share, 2)}; }
Cell hours_cell(double hours) { return {hours, format_number(hours)}; }

// Time between an incident and the report of telemetry, and until the node is in service again.
struct Course {
  double detect = 0;
  double out = 0;
  std::uint64_t detected = 0;
  std::uint64_t returned = 0;
};
Course course_of(const TwinResult& result, std::size_t cause) {
  Course course;
  for (const IncidentCourse& each : result.courses) {
    if (each.incident.cause + 1 != cause) continue;
    if (const auto detected = detection_time(each)) {
      course.detect += seconds_of(*detected);
      ++course.detected;
    }
    if (const auto out = out_time(each)) {
      course.out += seconds_of(*out);
      ++course.returned;
    }
  }
  if (course.detected > 0) course.detect /= static_cast<double>(course.detected);
  if (course.returned > 0) course.out /= static_cast<double>(course.returned);
  return course;
}

FactsSection facts_of(const TwinResult& result, bool all) {
  FactsSection facts{
      "run",
      fmt::format("{}: {} of operation, seed {}", result.cluster, format_duration(result.length), result.seed),
      {}};
  const auto add = [&](std::string key, std::string title, Cell value) {
    facts.facts.push_back({std::move(key), std::move(title), std::move(value)});
  };
  add("cluster", "Cluster", Cell(result.cluster));
  add("seed", "Seed", Cell(result.seed));
  add("length_s", "Time simulated", time_cell(result.length));
  add("nodes", "Nodes", Cell(result.nodes, group_digits(static_cast<std::uint64_t>(result.nodes))));
  add("gpus", "GPUs", Cell(result.gpus, group_digits(static_cast<std::uint64_t>(result.gpus))));
  add("goodput", "Goodput (productive GPU time)", share_cell(result.goodput()));
  add("ettr", "Effective training time ratio", share_cell(result.ettr()));
  add("availability", "Availability of GPUs", share_cell(result.availability()));
  add("utilization", "Utilization (GPUs held by jobs)", share_cell(result.utilization()));
  add("incidents", "Incidents", Cell(std::uint64_t{result.courses.size()}));
  add("interruptions", "Interruptions of jobs", Cell(result.interruptions()));
  add("fault_rate", "Failure rate asked for",
      Cell(result.fault_rate, fmt::format("{} per 1,000 node-days", format_number(result.fault_rate))));
  if (all) {
    add("turns", "Turns of the controller", Cell(result.turns));
    add("records", "Journal records", Cell(result.records));
    add("hash", "Hash of the journal", Cell(fmt::format("{:016x}", result.hash)));
  }
  return facts;
}

TableSection uses_table(const TwinResult& result) {
  TableSection table{"time",
                     "Where the GPU time went",
                     {{"use", "GPU time", Align::left, false},
                      {"share", "Share", Align::right, false},
                      {"gpu_hours", "GPU-hours", Align::right, false}},
                     {}};
  for (std::size_t u = 0; u < kUses; ++u) {
    const auto use = static_cast<Use>(u);
    if (result.time[u] == 0) continue;
    table.rows.push_back({Cell(std::string(key_of(use)), std::string(to_text(use))), share_cell(result.share(use)),
                          hours_cell(gpu_hours(result.time[u]))});
  }
  return table;
}

TableSection causes_table(const TwinResult& result, bool all) {
  TableSection table{"causes",
                     "Lost GPU-hours by cause",
                     {{"cause", "Cause", Align::left, false},
                      {"incidents", "Incidents", Align::right, false, 9},
                      {"interruptions", "Interruptions", Align::right, false, 3},
                      {"lost_gpu_hours", "Lost GPU-h", Align::right, false, 10},
                      {"lost", "Work", Align::right, false, 5},
                      {"undetected", "Unnoticed", Align::right, false, 4},
                      {"stopping", "Stop", Align::right, false, 4},
                      {"starting", "Restart", Align::right, false, 5},
                      {"out", "Node out", Align::right, false, 5},
                      {"detect_s", "Noticed after", Align::right, true},
                      {"out_s", "Back after", Align::right, false, 2}},
                     {}};
  std::vector<std::size_t> order(result.causes.size());
  for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
  std::stable_sort(order.begin() + 1, order.end(), [&](std::size_t a, std::size_t b) {
    return result.causes[a].lost_hours() > result.causes[b].lost_hours();
  });
  for (const std::size_t c : order) {
    const CauseResult& cause = result.causes[c];
    if (c == 0 || (cause.incidents == 0 && !all)) continue;
    const Course course = course_of(result, c);
    table.rows.push_back(
        {Cell(cause.name, cause.title), Cell(cause.incidents), Cell(cause.interruptions),
         hours_cell(cause.lost_hours()), hours_cell(cause.hours(Use::lost)), hours_cell(cause.hours(Use::undetected)),
         hours_cell(cause.hours(Use::stopping)), hours_cell(cause.hours(Use::starting)),
         hours_cell(cause.node_out_hours()),
         course.detected == 0
             ? Cell()
             : Cell(course.detect, format_duration(Duration(static_cast<std::int64_t>(course.detect * 1e9)))),
         course.returned == 0
             ? Cell()
             : Cell(course.out, format_duration(Duration(static_cast<std::int64_t>(course.out * 1e9))))});
  }
  return table;
}

TableSection sizes_table(const TwinResult& result) {
  TableSection table{"sizes",
                     "Jobs by size",
                     {{"gpus", "GPUs up to", Align::right, false},
                      {"jobs", "Jobs", Align::right, false},
                      {"gpu_hours", "GPU-hours", Align::right, false},
                      {"interruptions", "Interruptions", Align::right, false},
                      {"ettr", "ETTR", Align::right, false},
                      {"ettr_queued", "ETTR with queue", Align::right, false},
                      {"wait_mean_s", "Mean wait", Align::right, false}},
                     {}};
  for (const SizeClass& size : by_size(result)) {
    table.rows.push_back(
        {Cell(size.gpus, group_digits(static_cast<std::uint64_t>(size.gpus))), Cell(size.jobs),
         hours_cell(size.gpu_hours), Cell(size.interruptions), share_cell(size.ettr), share_cell(size.ettr_queued),
         Cell(size.wait_mean, format_duration(Duration(static_cast<std::int64_t>(size.wait_mean * 1e9))))});
  }
  return table;
}

TableSection jobs_table(const TwinResult& result, bool all) {
  TableSection table{"jobs",
                     "Jobs",
                     {{"job", "Job", Align::left, false},
                      {"gpus", "GPUs", Align::right, false, 9},
                      {"state", "State", Align::left, false, 8},
                      {"ettr", "ETTR", Align::right, false, 9},
                      {"ettr_queued", "ETTR with queue", Align::right, true},
                      {"attempts", "Attempts", Align::right, false, 5},
                      {"interruptions", "Interruptions", Align::right, false, 6},
                      {"checkpoints", "Checkpoints", Align::right, false, 4},
                      {"first_wait_s", "First wait", Align::right, false, 3},
                      {"waits_s", "Later waits", Align::right, false, 3},
                      {"ended_s", "Ended after", Align::right, true}},
                     {}};
  for (const JobResult& job : result.jobs) {
    if (!all && table.rows.size() >= kJobsShown) break;
    const TwinWorld::JobAccount& account = job.account;
    const char* state = account.done ? "done" : job.held ? "held" : account.attempts == 0 ? "waiting" : "unfinished";
    table.rows.push_back({Cell(job.name),
                          Cell(static_cast<double>(job.milli_gpus) / sched::kWholeGpu,
                               format_number(static_cast<double>(job.milli_gpus) / sched::kWholeGpu)),
                          Cell(state), job.ettr < 0 ? Cell() : share_cell(job.ettr),
                          job.ettr_queued < 0 ? Cell() : share_cell(job.ettr_queued), Cell(account.attempts),
                          Cell(account.interruptions), Cell(account.checkpoints), time_cell(account.first_wait),
                          time_cell(account.waits), account.done ? time_cell(account.ended - kTwinStart) : Cell()});
  }
  return table;
}

}  // namespace

std::vector<SizeClass> by_size(const TwinResult& result) {
  struct Sums {
    SizeClass size;
    double productive = 0, all = 0, queued = 0, wait = 0;
  };
  std::map<std::int64_t, Sums> sums;
  for (const JobResult& job : result.jobs) {
    if (job.account.attempts == 0) continue;
    std::int64_t bound = 1;
    while (bound * sched::kWholeGpu < job.milli_gpus) bound *= 2;
    Sums& sum = sums[bound];
    sum.size.gpus = bound;
    ++sum.size.jobs;
    sum.size.interruptions += job.account.interruptions;
    double all = 0;
    for (const GpuTime each : job.account.time) all += gpu_hours(each);
    sum.size.gpu_hours += all;
    all += gpu_hours(gpu_time(job.milli_gpus, job.account.waits));
    sum.all += all;
    sum.queued += all + gpu_hours(gpu_time(job.milli_gpus, job.account.first_wait));
    sum.productive += gpu_hours(job.account.time[static_cast<std::size_t>(Use::productive)]);
    sum.wait += seconds_of(job.account.first_wait);
  }
  std::vector<SizeClass> classes;
  for (auto& [bound, sum] : sums) {
    sum.size.ettr = sum.all > 0 ? sum.productive / sum.all : 0;
    sum.size.ettr_queued = sum.queued > 0 ? sum.productive / sum.queued : 0;
    sum.size.wait_mean = sum.wait / static_cast<double>(sum.size.jobs);
    classes.push_back(sum.size);
  }
  return classes;
}

std::vector<std::string> findings(const TwinResult& result) {
  std::vector<std::string> found;
  const double all = gpu_hours(result.total());
  double overhead = 0;
  std::vector<std::pair<double, Use>> parts;
  for (const Use use : {Use::checkpoint, Use::lost, Use::undetected, Use::stopping, Use::starting, Use::slow}) {
    parts.emplace_back(gpu_hours(result.time[static_cast<std::size_t>(use)]), use);
    overhead += parts.back().first;
  }
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (overhead > 0) {
    found.push_back(
        fmt::format("{} of the GPU time that jobs held was not productive; the largest part: {} ({} of all GPU time).",
                    format_percent(overhead / (overhead + gpu_hours(result.time[0])), 1), to_text(parts[0].second),
                    format_percent(parts[0].first / all, 2)));
  }
  const CauseResult* worst = nullptr;
  for (std::size_t c = 1; c < result.causes.size(); ++c) {
    if (worst == nullptr || result.causes[c].lost_hours() > worst->lost_hours()) worst = &result.causes[c];
  }
  const double sum = result.lost_hours();
  if (worst != nullptr && sum > 0) {
    found.push_back(fmt::format("{} costs most: {} of the GPU-hours lost by incidents.", worst->title,
                                format_percent(worst->lost_hours() / sum, 0)));
  }
  const Duration waits = result.waits();
  if (waits.count() > 0 && result.jobs.size() == 1) {
    found.push_back(
        fmt::format("After interruptions the job waited for nodes and delays for {}.", format_duration(waits)));
  }
  return found;
}

Document result_document(const TwinResult& result, bool all) {
  Document document;
  document.kind = "twin";
  document.sections.emplace_back(facts_of(result, all));
  document.sections.emplace_back(uses_table(result));
  document.sections.emplace_back(causes_table(result, all));
  if (all || result.jobs.size() > 1) document.sections.emplace_back(sizes_table(result));
  if (all || result.jobs.size() <= kJobsShown) document.sections.emplace_back(jobs_table(result, all));
  for (std::string& each : findings(result)) document.notes.push_back(std::move(each));
  for (const std::string& each : result.notes) document.notes.push_back(each);
  return document;
}

}  // namespace weft::twin
