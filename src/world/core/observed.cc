#include "world/core/observed.h"

#include <charconv>

#include "base/host_range.h"
#include "base/text.h"

namespace weft::world {
namespace {

std::optional<std::uint32_t> read_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool valid = error == std::errc() && end == text.data() + text.size();
  return valid ? std::optional(number) : std::nullopt;
}

// Whether "0-3,7-9:2%2" has this task.
bool has_task(std::string_view tasks, std::uint32_t task) {
  for (std::string_view part : split(tasks.substr(0, tasks.find('%')), ',')) {
    std::uint32_t step = 1;
    if (const std::size_t colon = part.find(':'); colon != std::string_view::npos) {
      step = read_number(part.substr(colon + 1)).value_or(1);
      part = part.substr(0, colon);
    }
    const std::size_t dash = part.find('-');
    const std::optional<std::uint32_t> first = read_number(part.substr(0, dash));
    const std::optional<std::uint32_t> last =
        dash == std::string_view::npos ? first : read_number(part.substr(dash + 1));
    if (!first || !last || task < *first || task > *last) continue;
    if (step == 0 || (task - *first) % step == 0) return true;
  }
  return false;
}

bool is_task_of(const ObservedJob& job, std::string_view group, std::uint32_t task) {
  if (job.group != group) return false;
  const std::size_t bracket = job.id.find("_[");
  if (bracket == std::string::npos || !job.id.ends_with(']')) return false;
  return has_task(std::string_view(job.id).substr(bracket + 2, job.id.size() - bracket - 3), task);
}

}  // namespace

const ObservedJob* ObservedCluster::find_job(std::string_view id) const {
  if (const auto found = job_positions.find(std::string(id)); found != job_positions.end()) return &jobs[found->second];
  if (id.empty()) return nullptr;
  const std::size_t underscore = id.rfind('_');
  const std::optional<std::uint32_t> task =
      underscore == std::string_view::npos ? std::nullopt : read_number(id.substr(underscore + 1));
  const ObservedJob* best = nullptr;
  for (const ObservedJob& job : jobs) {
    const bool matches = task ? is_task_of(job, id.substr(0, underscore), *task) : job.group == id;
    if (!matches) continue;
    // Of an array, the part that waits; otherwise the newest.
    const auto rank = [](const ObservedJob& each) {
      return std::make_pair(each.phase == ObservedPhase::waiting, each.submitted);
    };
    if (best == nullptr || rank(job) > rank(*best)) best = &job;
  }
  return best;
}

const ObservedNode* ObservedCluster::find_node(const std::string& name) const {
  const auto found = node_positions.find(name);
  return found == node_positions.end() ? nullptr : &nodes[found->second];
}

std::shared_ptr<const ObservedCluster> make_observed(std::string engine, sched::Moment observed,
                                                     std::vector<ObservedJob> jobs, std::vector<ObservedNode> nodes) {
  auto cluster = std::make_shared<ObservedCluster>();
  cluster->engine = std::move(engine);
  cluster->observed = observed;
  cluster->jobs = std::move(jobs);
  cluster->nodes = std::move(nodes);
  cluster->node_positions.reserve(cluster->nodes.size());
  cluster->job_positions.reserve(cluster->jobs.size());
  for (std::uint32_t n = 0; n < cluster->nodes.size(); ++n) cluster->node_positions.emplace(cluster->nodes[n].name, n);
  for (std::uint32_t j = 0; j < cluster->jobs.size(); ++j) {
    const ObservedJob& job = cluster->jobs[j];
    const auto [entry, is_new] = cluster->job_positions.emplace(job.id, j);
    if (!is_new && cluster->jobs[entry->second].submitted < job.submitted) entry->second = j;
    if (job.phase != ObservedPhase::running || job.nodes.empty()) continue;
    const Result<std::vector<std::string>> names = expand_hosts(job.nodes);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const auto found = cluster->node_positions.find(name);
      if (found != cluster->node_positions.end()) cluster->nodes[found->second].jobs.push_back(j);
    }
  }
  return cluster;
}

}  // namespace weft::world
