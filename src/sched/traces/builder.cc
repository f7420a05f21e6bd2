#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::int64_t floor_seconds(std::int64_t nanoseconds) {
  return nanoseconds / kNanoseconds - (nanoseconds % kNanoseconds < 0 ? 1 : 0);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; });
}

bool earlier(const Job& a, const Job& b) { return a.submitted < b.submitted; }

}  // namespace

Split split_gpus(std::int32_t gpus, std::int32_t node_gpus) {
  CHECK(gpus >= 0 && node_gpus >= 1, "the number of GPUs is negative, or a server has none");
  if (gpus <= node_gpus) return {1, gpus};
  std::int32_t each = node_gpus;
  while (gpus % each != 0) --each;
  return {gpus / each, each};
}

std::uint64_t TraceBuilder::bits(const Cell& cell, std::vector<std::string>& names) {
  std::uint64_t bits = 0;
  const std::string text = cell.field.str();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    const std::string_view name = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      if (names.size() == kMaxModels) {
        cells_.error(cell, fmt::format("more than {} names in the column `{}`", kMaxModels, cell.name));
        return 0;
      }
      found = names.insert(names.end(), std::string(name));
    }
    bits |= std::uint64_t{1} << static_cast<unsigned>(found - names.begin());
  }
  return bits;
}

void TraceBuilder::submitted_at(Job& job, std::int64_t nanoseconds) {
  calendar_ = true;
  job.submitted = Moment(nanoseconds);
}

void TraceBuilder::add(Job job, const SourceLocation& place) {
  if (cells_.take_failure()) return;
  if (const std::string problem = problem_of(job); !problem.empty()) {
    cells_.diagnostics().error(place, problem);
    return;
  }
  for (const std::string* text : {&job.name, &job.tenant, &job.user, &job.job_file}) {
    if (!has_control(*text)) continue;
    cells_.diagnostics().error(place, "a control character in a name of the job");
    return;
  }
  if (workload.jobs.size() == kMaxJobs) {
    if (!full_)
      cells_.diagnostics().error(place, fmt::format("the trace has more than {} jobs, the maximum", kMaxJobs));
    full_ = true;
    return;
  }
  workload.jobs.push_back(std::move(job));
}

// A whole second as the origin preserves the fractions as written.
void TraceBuilder::rebase() {
  if (!calendar_ || workload.jobs.empty()) return;
  const auto first = std::min_element(workload.jobs.begin(), workload.jobs.end(), earlier);
  const std::int64_t origin = floor_seconds(first->submitted.count());
  for (Job& job : workload.jobs) job.submitted = Moment(job.submitted.count() - origin * kNanoseconds);
  workload.origin = origin;
}

void TraceBuilder::order() {
  std::int64_t late = 0;
  for (std::size_t i = 1; i < workload.jobs.size(); ++i) {
    late += earlier(workload.jobs[i], workload.jobs[i - 1]) ? 1 : 0;
  }
  if (late == 0) return;
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(), earlier);
  note(fmt::format("{} rows are out of order; jobs are sorted by submit time", late));
}

void TraceBuilder::name_apart() {
  std::unordered_map<std::string_view, std::int64_t> seen;  // how often; never iterated, so its order does not matter
  seen.reserve(workload.jobs.size());
  std::vector<std::pair<std::size_t, std::int64_t>> again;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const std::int64_t count = ++seen[workload.jobs[i].name];
    if (count > 1) again.emplace_back(i, count);
  }
  if (again.empty()) return;
  std::unordered_map<std::string, std::int64_t> next;  // owns its keys: the names below change
  for (const auto& [i, count] : again) next[workload.jobs[i].name] = 2;
  std::vector<std::pair<std::size_t, std::string>> renamed;
  std::unordered_map<std::string, bool> taken;
  for (const auto& [i, count] : again) {
    const std::string& name = workload.jobs[i].name;
    std::int64_t& number = next[name];
    std::string candidate = fmt::format("{}#{}", name, number++);
    while (seen.find(candidate) != seen.end() || taken.count(candidate) != 0) {
      candidate = fmt::format("{}#{}", name, number++);
    }
    taken[candidate] = true;
    renamed.emplace_back(i, std::move(candidate));
  }
  for (auto& [i, name] : renamed) workload.jobs[i].name = std::move(name);
  note(fmt::format("{} jobs have a duplicate name; #2, #3 and so on were appended to theirs", again.size()));
}

void TraceBuilder::set_limits() {
  if (!(options_->limit_factor > 0)) return;
  std::int64_t count = 0;
  for (Job& job : workload.jobs) {
    if (job.limit != kUnlimited || job.run_time == kUnlimited) continue;
    const double limit = std::max(1.0, static_cast<double>(job.run_time.count()) * options_->limit_factor);
    if (limit < static_cast<double>(kUnlimited.count())) job.limit = Duration(std::llround(limit));
    ++count;
  }
  if (count > 0)
    note(fmt::format("{} no time limit; {:g} times the run time is used",
                     count == 1 ? "1 job has" : fmt::format("{} jobs have", count), options_->limit_factor));
}

std::optional<Workload> TraceBuilder::finish(bool unique_names) {
  if (cells_.diagnostics().has_errors()) return std::nullopt;
  rebase();
  order();
  if (!unique_names) name_apart();
  set_limits();
  for (const auto& [why, count] : skipped_) {
    workload.skipped += count;
    note(fmt::format("{} rows skipped: {}", count, why));
  }
  return std::move(workload);
}

}  // namespace weft::sched
