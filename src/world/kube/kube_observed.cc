#include "world/kube/kube_observed.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "kube/json_fields.h"
#include "kube/object.h"
#include "kube/timestamp.h"

namespace weft::world {
namespace {

using control::Health;

constexpr std::size_t kMaxShownText = 500;
constexpr const char* kGpuResource = "nvidia.com/gpu";

// "8" or 8; of CPUs also "500m". In thousandths.
std::uint32_t milli_of(const Value& object, std::initializer_list<std::string_view> path) {
  std::string text = kube::raw_text(object, path);
  if (text.empty()) {
    const double number = kube::number(object, path).value_or(0);
    return number <= 0 ? 0 : static_cast<std::uint32_t>(std::min(number * 1000, 1e9));
  }
  const bool milli = text.ends_with('m');
  if (milli) text.pop_back();
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  return milli ? number : std::min(number, 1'000'000U) * 1000;
}

std::int64_t time_at(const Value& object, std::initializer_list<std::string_view> path) {
  return kube::parse_timestamp(kube::raw_text(object, path)).value_or(0) / 1000;
}

struct Owner {
  std::string kind;
  std::string name;
};

Owner owner_of(const Value& pod) {
  for (const Value& reference : kube::list(pod, {"metadata", "ownerReferences"})) {
    if (kube::truth(reference, {"controller"}).value_or(false))
      return {kube::raw_text(reference, {"kind"}), kube::raw_text(reference, {"name"})};
  }
  return {"Pod", kube::raw_text(pod, {"metadata", "name"})};
}

bool is_part_of_the_node(const Owner& owner) { return owner.kind == "DaemonSet" || owner.kind == "Node"; }

std::uint32_t requested(const Value& pod, const char* resource) {
  std::uint32_t milli = 0;
  for (const Value& container : kube::list(pod, {"spec", "containers"})) {
    const std::uint32_t limit = milli_of(container, {"resources", "limits", resource});
    milli += limit != 0 ? limit : milli_of(container, {"resources", "requests", resource});
  }
  return milli;
}

// Why a pod does not run: the scheduler's condition, or what its containers wait for.
void read_reason(const Value& pod, ObservedJob& job) {
  for (const Value& condition : kube::list(pod, {"status", "conditions"})) {
    if (kube::raw_text(condition, {"type"}) != "PodScheduled" || kube::raw_text(condition, {"status"}) != "False")
      continue;
    job.reason = printable(kube::raw_text(condition, {"reason"}), kMaxShownText);
    job.reason_text = printable(kube::raw_text(condition, {"message"}), kMaxShownText);
    job.wait = WaitKind::other;
    return;
  }
  for (const Value& status : kube::list(pod, {"status", "containerStatuses"})) {
    const Value* waiting = kube::member(status, {"state", "waiting"});
    if (waiting == nullptr || !job.reason.empty()) continue;
    job.reason = printable(kube::raw_text(*waiting, {"reason"}), kMaxShownText);
    job.reason_text = printable(kube::raw_text(*waiting, {"message"}), kMaxShownText);
    job.wait = WaitKind::other;
  }
  if (job.reason.empty()) job.wait = WaitKind::not_evaluated;
}

struct Group {
  std::vector<const Value*> pods;
  Owner owner;
};

ObservedJob job_of(const std::string& kube_namespace, const Group& group) {
  ObservedJob job;
  job.name = printable(group.owner.name, kMaxShownText);
  job.id = fmt::format("{}/{}", printable(kube_namespace, kMaxShownText), job.name);
  job.account = group.owner.kind;
  job.queue = kube_namespace;
  std::size_t running = 0;
  std::size_t ended = 0;
  std::size_t failed = 0;
  std::set<std::string> nodes;       // of all pods
  std::set<std::string> live_nodes;  // of those that have not ended
  std::uint32_t gpus = 0;
  std::uint32_t cpus = 0;
  for (const Value* pod : group.pods) {
    const std::string phase = kube::raw_text(*pod, {"status", "phase"});
    running += phase == "Running" ? 1U : 0U;
    ended += has_ended(*pod) ? 1U : 0U;
    failed += phase == "Failed" ? 1U : 0U;
    gpus += requested(*pod, kGpuResource) / 1000;
    cpus += requested(*pod, "cpu");
    job.priority = std::max(job.priority, static_cast<std::uint64_t>(std::clamp(
                                              kube::number(*pod, {"spec", "priority"}).value_or(0), 0.0, 4e9)));
    if (const std::string node = kube::raw_text(*pod, {"spec", "nodeName"}); !node.empty()) {
      nodes.insert(node);
      if (!has_ended(*pod)) live_nodes.insert(node);
    }
    const std::int64_t submitted = time_at(*pod, {"metadata", "creationTimestamp"});
    if (job.submitted == 0 || submitted < job.submitted) job.submitted = submitted;
    const std::int64_t started = time_at(*pod, {"status", "startTime"});
    if (started != 0 && (job.started == 0 || started < job.started)) job.started = started;
    if (phase == "Pending" && job.reason.empty()) read_reason(*pod, job);
  }
  const std::size_t count = group.pods.size();
  job.phase = running > 0 ? ObservedPhase::running : ended == count ? ObservedPhase::ended : ObservedPhase::waiting;
  job.state = running > 0 ? "running" : ended < count ? "pending" : failed > 0 ? "failed" : "completed";
  if (job.phase == ObservedPhase::waiting) job.started = 0;
  job.node_count = job.tasks = static_cast<std::uint32_t>(count);
  job.gpus = gpus;
  job.gpus_per_node = count == 0 ? 0 : static_cast<std::uint32_t>((gpus + count - 1) / count);
  job.cpus = (cpus + 999) / 1000;
  if (!live_nodes.empty()) nodes = std::move(live_nodes);
  job.nodes = join(std::vector<std::string>(nodes.begin(), nodes.end()), ",");
  return job;
}

}  // namespace

bool has_ended(const Value& pod) {
  const std::string phase = kube::raw_text(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

PodOwner pod_owner(const Value& pod) {
  const Owner owner = owner_of(pod);
  if (is_part_of_the_node(owner)) return PodOwner::node;
  return owner.kind == "Pod" ? PodOwner::nothing : PodOwner::controller;
}

std::vector<ObservedJob> observe_pods(const std::vector<const Value*>& pods) {
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const Value* pod : pods) {
    const Owner owner = owner_of(*pod);
    const std::string kube_namespace = kube::raw_text(*pod, {"metadata", "namespace"});
    if (owner.name.empty() || is_part_of_the_node(owner)) continue;
    Group& group = groups[{kube_namespace, owner.name + "\n" + owner.kind}];
    group.owner = owner;
    group.pods.push_back(pod);
  }
  std::vector<ObservedJob> jobs;
  std::set<std::string> ids;
  for (const auto& [key, group] : groups) {
    ObservedJob job = job_of(key.first, group);
    if (!ids.insert(job.id).second) job.id += "." + to_lower(group.owner.kind);  // another kind has this name
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<ObservedNode> observe_nodes(const std::vector<const Value*>& nodes, const std::vector<const Value*>& pods) {
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> used;  // GPUs, CPUs; in thousandths
  for (const Value* pod : pods) {
    const std::string node = kube::raw_text(*pod, {"spec", "nodeName"});
    if (node.empty() || has_ended(*pod)) continue;
    used[node].first += requested(*pod, kGpuResource);
    used[node].second += requested(*pod, "cpu");
  }
  std::vector<ObservedNode> observed;
  for (const Value* node : nodes) {
    ObservedNode one;
    one.name = kube::raw_text(*node, {"metadata", "name"});
    one.gpus = milli_of(*node, {"status", "allocatable", kGpuResource}) / 1000;
    one.cpus = milli_of(*node, {"status", "allocatable", "cpu"}) / 1000;
    one.gpus_used = used[one.name].first / 1000;
    one.cpus_used = (used[one.name].second + 999) / 1000;
    std::vector<std::string> why;
    bool ready = false;
    for (const Value& condition : kube::list(*node, {"status", "conditions"})) {
      if (kube::raw_text(condition, {"type"}) == "Ready") ready = kube::raw_text(condition, {"status"}) == "True";
    }
    if (!ready) why.emplace_back("not ready");
    if (kube::truth(*node, {"spec", "unschedulable"}).value_or(false)) why.emplace_back("cordoned");
    for (const Value& taint : kube::list(*node, {"spec", "taints"})) {
      const std::string effect = kube::raw_text(taint, {"effect"});
      const std::string key = kube::raw_text(taint, {"key"});
      if (effect != "NoSchedule" && effect != "NoExecute") continue;
      if (key == "node.kubernetes.io/unschedulable" || key == "node.kubernetes.io/not-ready") continue;
      const std::string value = kube::raw_text(taint, {"value"});
      why.push_back(printable(fmt::format("taint {}{}{}", key, value.empty() ? "" : "=", value), kMaxShownText));
    }
    one.out_of_service = join(why, ", ");
    one.usable = why.empty();
    one.state = ready ? "ready" : "not ready";
    observed.push_back(std::move(one));
  }
  return observed;
}

KubeFinding judge_kube_node(const Value& node) {
  for (const Value& taint : kube::list(node, {"spec", "taints"})) {
    if (kube::raw_text(taint, {"key"}) == "node.kubernetes.io/unreachable")
      return {Health::fatal, "Kubernetes: unreachable"};
  }
  bool ready = false;
  std::string not_ready;
  for (const Value& condition : kube::list(node, {"status", "conditions"})) {
    const std::string type = kube::raw_text(condition, {"type"});
    const bool holds = kube::raw_text(condition, {"status"}) == "True";
    if (type == "Ready") ready = holds;
    // Unknown is not a statement of the kubelet: it is silent, and the node gets a taint for that.
    if (type == "Ready" && kube::raw_text(condition, {"status"}) == "False")
      not_ready = "Kubernetes: not ready: " + printable(kube::raw_text(condition, {"message"}), kMaxShownText);
    if (holds && (type == "KernelDeadlock" || type == "ReadonlyFilesystem"))
      return {Health::fatal, fmt::format("Kubernetes: {}: {}", type,
                                         printable(kube::raw_text(condition, {"message"}), kMaxShownText))};
  }
  if (!not_ready.empty()) return {Health::fatal, not_ready, true};
  const std::uint32_t capacity = milli_of(node, {"status", "capacity", kGpuResource}) / 1000;
  const std::uint32_t allocatable = milli_of(node, {"status", "allocatable", kGpuResource}) / 1000;
  if (ready && allocatable < capacity)
    return {Health::fatal, fmt::format("Kubernetes: {} of {} GPUs are allocatable", allocatable, capacity)};
  return {};
}

}  // namespace weft::world
