#include "world/core/observed_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/text.h"

namespace weft::world {
namespace {

constexpr std::size_t kMaxNamed = 5;  // jobs or nodes in a sentence; tables have them all

std::set<std::string> names_in(const std::string& list) {
  if (list.empty()) return {};
  const Result<std::vector<std::string>> names = expand_hosts(list);
  if (!names.ok()) return {};
  return {names->begin(), names->end()};
}

bool shares_queue(const std::vector<std::string>& queues, std::string_view wanted) {
  for (const std::string_view queue : split(wanted, ',')) {
    if (std::find(queues.begin(), queues.end(), queue) != queues.end()) return true;
  }
  return false;
}

bool shares_queue(std::string_view a, std::string_view b) {
  std::vector<std::string> queues;
  for (const std::string_view queue : split(a, ',')) queues.emplace_back(queue);
  return shares_queue(queues, b);
}

struct Share {  // of one node
  std::uint32_t cpus = 1;
  std::uint32_t gpus = 0;
  bool whole = false;
};

Share share_of(const ObservedJob& job) {
  const std::uint32_t nodes = std::max(job.node_count, 1U);
  return {std::max(job.cpus / nodes, 1U), job.gpus_per_node, job.exclusive};
}

bool fits(const ObservedNode& node, const Share& share) {
  if (!node.usable) return false;
  if (share.whole) return node.jobs.empty() && node.cpus_used == 0 && node.gpus >= share.gpus;
  return node.cpus >= node.cpus_used + share.cpus && node.gpus >= node.gpus_used + share.gpus;
}

// When everything on the node has ended by its time limit; 0: never.
std::int64_t free_at(const ObservedCluster& cluster, const ObservedNode& node) {
  std::int64_t latest = 1;
  for (const std::uint32_t j : node.jobs) {
    const ObservedJob& job = cluster.jobs[j];
    if (job.ends == 0) return 0;
    latest = std::max(latest, job.ends);
  }
  return latest;
}

std::string list_jobs(const std::vector<const ObservedJob*>& jobs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(jobs.size(), kMaxNamed); ++i) names.push_back(jobs[i]->id);
  return join(names, ", ") + (jobs.size() > kMaxNamed ? ", ..." : "");
}

std::string describe_request(const ObservedJob& job) {
  std::string text = plural(job.node_count, "node");
  if (job.gpus > 0) text += fmt::format(" with {}", plural(job.gpus, "GPU"));
  return text;
}

std::string count_of_fitting(const ObservedJob& job, const WaitFacts& facts) {
  return fmt::format("{} of {} in partition {} had its CPUs and GPUs free when weft looked", facts.fitting,
                     plural(facts.candidates, "node"), job.queue);
}

std::string describe_unavailable(const ObservedCluster& cluster, const ObservedJob& job, const WaitFacts& facts,
                                 const SeesObserved& sees) {
  std::vector<std::string> parts;
  const std::set<std::string> required = names_in(job.required_nodes);
  for (const ObservedNode* node : facts.out_of_service) {
    if (!required.empty() && !required.contains(node->name)) continue;
    if (parts.size() == kMaxNamed) {
      parts.emplace_back("...");
      break;
    }
    parts.push_back(sees ? node->name : fmt::format("{} {}", node->name, node->out_of_service));
  }
  const std::string needed = job.required_nodes.empty() ? "nodes that it needs" : job.required_nodes;
  std::string text = fmt::format("{} cannot use {}", cluster.engine, needed);
  if (!parts.empty()) text += ": " + join(parts, "; ");
  return text;
}

std::string describe_dependency(const ObservedCluster& cluster, const ObservedJob& job, const SeesObserved& sees) {
  std::string text = fmt::format("it depends on {}", job.dependency.empty() ? "other jobs" : job.dependency);
  std::vector<std::string> states;
  std::string digits;
  for (const char c : job.dependency + " ") {
    if ((c >= '0' && c <= '9') || (c == '_' && !digits.empty())) {
      digits += c;
      continue;
    }
    if (!digits.empty() && states.size() < kMaxNamed) {
      if (const ObservedJob* other = cluster.find_job(digits); other != nullptr && (!sees || sees(*other)))
        states.push_back(fmt::format("job {} is {}", other->id, other->state));
    }
    digits.clear();
  }
  return states.empty() ? text : fmt::format("{}; {}", text, join(states, ", "));
}

std::string describe_ahead(const WaitFacts& facts) {
  const char* const others = facts.foreign_ahead ? ", and a job of another tenant, or several" : "";
  if (facts.ahead.empty())
    return facts.foreign_ahead ? "a job of another tenant, or several, with a higher priority come first"
                               : "jobs with a higher priority come first";
  return fmt::format("{} with a higher priority {} first: {}{}", plural(facts.ahead.size(), "job"),
                     facts.ahead.size() == 1 ? "comes" : "come", list_jobs(facts.ahead), others);
}

std::string describe_wait(const ObservedCluster& cluster, const ObservedJob& job, const WaitFacts& facts,
                          const SeesObserved& sees) {
  switch (job.wait) {
    case WaitKind::not_evaluated:
      return fmt::format("{} has given no reason yet", cluster.engine);
    case WaitKind::resources:
      return fmt::format("it waits for resources: it asks for {}; {}", describe_request(job),
                         count_of_fitting(job, facts));
    case WaitKind::priority:
      return describe_ahead(facts);
    case WaitKind::unavailable_nodes:
      return describe_unavailable(cluster, job, facts, sees);
    case WaitKind::dependency:
      return describe_dependency(cluster, job, sees);
    case WaitKind::held_by_user:
      return fmt::format("it is held by its user; `scontrol release {}` lets it start", job.id);
    case WaitKind::held_by_admin:
      return fmt::format("it is held by an administrator, who can release it with `scontrol release {}`", job.id);
    case WaitKind::begin_time:
      return job.eligible == 0 ? "its begin time has not come"
                               : fmt::format("it begins no earlier than {}", format_utc_seconds(job.eligible * 1000));
    case WaitKind::limit:
      return fmt::format("a limit holds it back: {}{}{}", job.reason, job.account.empty() ? "" : ", account ",
                         job.account);
    case WaitKind::partition:
      return fmt::format("partition {} does not admit it now: {}", job.queue, job.reason);
    case WaitKind::reservation:
      return fmt::format("it waits for a reservation of {}", cluster.engine);
    case WaitKind::other:
      break;
  }
  return fmt::format("{}'s reason is {}", cluster.engine, job.reason_text.empty() ? job.reason : job.reason_text);
}

void find_ahead(const ObservedCluster& cluster, const ObservedJob& job, const SeesObserved& sees, WaitFacts& facts) {
  for (const ObservedJob& other : cluster.jobs) {
    const bool waits = other.phase == ObservedPhase::waiting && other.priority > job.priority;
    const bool can_start =
        other.wait == WaitKind::resources || other.wait == WaitKind::priority || other.wait == WaitKind::not_evaluated;
    if (!waits || !can_start || !shares_queue(other.queue, job.queue)) continue;
    if (sees && !sees(other)) {
      facts.foreign_ahead = true;
    } else {
      facts.ahead.push_back(&other);
    }
  }
  std::stable_sort(facts.ahead.begin(), facts.ahead.end(),
                   [](const ObservedJob* a, const ObservedJob* b) { return a->priority > b->priority; });
}

}  // namespace

WaitFacts explain_wait(const ObservedCluster& cluster, const ObservedJob& job, const SeesObserved& sees) {
  WaitFacts facts;
  const Share share = share_of(job);
  const std::set<std::string> excluded = names_in(job.excluded_nodes);
  std::vector<std::int64_t> later;
  for (const ObservedNode& node : cluster.nodes) {
    const bool admits = node.queues.empty() || shares_queue(node.queues, job.queue);
    if (!admits || excluded.contains(node.name)) continue;
    ++facts.candidates;
    facts.queue_gpus += node.gpus;
    if (!node.usable) {
      facts.out_of_service.push_back(&node);
      continue;
    }
    facts.free_gpus += node.gpus - std::min(node.gpus, node.gpus_used);
    if (fits(node, share)) {
      ++facts.fitting;
    } else if (const std::int64_t at = free_at(cluster, node); at > 1 && node.gpus >= share.gpus) {
      later.push_back(at);
    }
  }
  const std::size_t missing = job.node_count > facts.fitting ? job.node_count - facts.fitting : 0;
  if (missing > 0 && missing <= later.size()) {
    std::sort(later.begin(), later.end());
    facts.enough_at = later[missing - 1];
  }
  find_ahead(cluster, job, sees, facts);
  facts.sentence = describe_wait(cluster, job, facts, sees);
  return facts;
}

}  // namespace weft::world
