#include "job_namespace/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/host_range.h"
#include "base/utf8.h"
#include "job_namespace/job_files.h"
#include "kube/json_fields.h"
#include "kube/object.h"
#include "kube/timestamp.h"

namespace weft::job_namespace {
namespace {

using world::JobRun;
using world::SlurmState;

constexpr std::int64_t kAbsentLimit = 600;  // seconds, without accounting: slurmctld lists ended jobs for 300 s
constexpr std::int64_t kMinToken = 3'600;   // seconds; API servers refuse less than 600
constexpr std::int64_t kMaxToken = 86'400;  // then it is renewed
constexpr std::int64_t kTokenMargin = 600;  // after the time limit of the job
constexpr std::int64_t kPodGrace = 5;       // seconds: Slurm waits for the GPUs
constexpr std::int64_t kSetUpLimit = 60;    // seconds
constexpr std::int64_t kRetryDelay = 10;    // seconds, after a refusal
constexpr std::size_t kMaxProblem = 2'000;

bool holds_nodes(SlurmState state) { return state == SlurmState::running || state == SlurmState::suspended; }

// Of a run whose id Slurm lists: another state than these means that it is over, also if the job is queued again.
bool may_hold_nodes(SlurmState state) {
  return holds_nodes(state) || state == SlurmState::configuring || state == SlurmState::unknown;
}

struct KeyParts {
  std::uint32_t id = 0;
  std::int64_t started = 0;
};
std::optional<KeyParts> parse_key(const std::string& key) {
  KeyParts parts;
  const std::size_t dash = key.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const char* const middle = key.data() + dash;
  const char* const end = key.data() + key.size();
  const auto id = std::from_chars(key.data(), middle, parts.id);
  const auto started = std::from_chars(middle + 1, end, parts.started);
  if (id.ec != std::errc() || id.ptr != middle || started.ec != std::errc() || started.ptr != end) return std::nullopt;
  return parts;
}

}  // namespace

Status Controller::turn(std::int64_t now) {
  const Result<std::vector<JobRun>> runs = slurm_.list_runs();
  if (!runs.ok()) return runs.error();
  const Result<kube::ObjectList> list =
      client_.list(kube::kNamespaces, {"", fmt::format("{}={}", kInstanceLabel, options_.objects.instance), ""});
  if (!list.ok()) return list.error();
  ByName existing;
  for (const Value& object : list->items) {
    const Result<kube::ObjectMeta> meta = kube::read_meta(object);
    if (!meta.ok()) return meta.error();
    existing[meta->name.name] = {kube::label_of(object, kKeyLabel), meta->uid, meta->deleting};
  }
  std::set<std::string> wanted;
  std::vector<const JobRun*> asking;
  for (const JobRun& run : *runs) {
    if (!holds_nodes(run.state) || !asks_for_namespace(run.comment)) continue;
    wanted.insert(key_of(run));
    asking.push_back(&run);
  }
  if (Status found = find_labels(wanted, existing); !found.ok()) return found;
  SlurmNodes nodes;
  const bool has_new = std::any_of(asking.begin(), asking.end(), [&](const JobRun* run) { return is_due(*run, now); });
  if (has_new) {
    Result<std::vector<world::SlurmNode>> all = slurm_.list_nodes();
    if (!all.ok()) return all.error();
    for (world::SlurmNode& node : *all) nodes[node.name] = std::move(node);
  }
  for (const JobRun* run : asking) keep(*run, nodes, existing, now);
  for (const auto& [name, each] : existing) {
    if (!wanted.contains(each.key) && (each.deleting || is_over(each.key, *runs, now))) remove(name, each);
  }
  std::erase_if(made_, [&](const auto& entry) { return !wanted.contains(entry.second.plan.key); });
  std::erase_if(begun_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  std::erase_if(refused_, [&](const auto& entry) {
    if (wanted.contains(entry.first)) return false;
    remove_job_files(options_.state, entry.first);
    return true;
  });
  std::erase_if(removing_, [&](const std::string& name) { return !existing.contains(name); });
  remove_labels();
  return {};
}

void Controller::keep(const JobRun& run, const SlurmNodes& nodes, const ByName& existing, std::int64_t now) {
  const std::string name = name_of(run);
  const auto found = existing.find(name);
  if (const auto made = made_.find(name); made != made_.end()) {
    if (found == existing.end() || found->second.deleting)
      return refuse(run, fmt::format("namespace {} was deleted while the job runs", name), now);
    if (now < made->second.renew_at) return;
    const Result<std::int64_t> renewed = give_token(made->second.plan, now);
    if (renewed.ok()) made->second.renew_at = *renewed;
    if (!renewed.ok()) log(fmt::format("namespace {}: its token is not renewed: {}", name, renewed.error().text()));
    return;
  }
  if (!is_due(run, now)) return;
  const Result<NamespacePlan> plan = make_plan(run, nodes);
  if (!plan.ok()) return refuse(run, plan.error().message, now);
  if (found != existing.end() && found->second.deleting)
    return refuse(run, fmt::format("namespace {} is being deleted", name), now);
  const Status made = make(*plan);
  const std::int64_t since = begun_.emplace(plan->key, now).first->second;
  // The next turn tries again, without a word to the job: the server is about to do its part.
  if (!made.ok() && made.error().code == ErrorCode::timeout && now - since < kSetUpLimit) return;
  if (!made.ok()) return refuse(run, made.error().text(), now);
  const Result<std::int64_t> renew_at = give_token(*plan, now);
  if (!renew_at.ok()) return refuse(run, renew_at.error().text(), now);
  if (refused_.erase(plan->key) > 0) remove_problem(options_.state, plan->key);
  made_[name] = {*plan, *renew_at};
  log(fmt::format("namespace {}: for job {} of uid {} on {}, {} GPUs{}{}", name, run.id, run.uid,
                  fold_hosts(plan->nodes), plan->gpus, plan->note.empty() ? "" : "; ", plan->note));
}

// Each step may be repeated: what a process that was killed has begun, the next one completes.
Status Controller::make(const NamespacePlan& plan) {
  if (Status labeled = label_nodes(plan); !labeled.ok()) return labeled;
  const Result<kube::CreateOutcome> made = client_.create(kube::kNamespaces, namespace_object(plan, options_.objects));
  if (!made.ok()) return made.error();
  if (kube::label_of(made->object, kInstanceLabel) != options_.objects.instance)
    return Error{ErrorCode::conflict, fmt::format("namespace {} exists and is not of this weft", plan.name), {}};
  struct Part {
    const kube::Resource* resource;
    Value object;
  };
  std::vector<Part> parts = {{&kQuotas, quota_object(plan, options_.objects)},
                             {&kNetworkPolicies, network_policy_object(plan)},
                             {&kube::kServiceAccounts, service_account_object(plan)},
                             {&kube::kRoleBindings, role_binding_object(plan)}};
  bool enforced = false;
  if (!plan.whole_nodes) parts.push_back({&kLimitRanges, limit_range_object(plan)});
  for (const Part& part : parts) {
    const Result<Value> applied = client_.apply(*part.resource, part.object, true);
    if (!applied.ok()) return applied.error();
    if (part.resource == &kQuotas) enforced = is_enforced(*applied, options_.objects);
  }
  if (!enforced)
    return Error{
        ErrorCode::timeout, "the API server does not enforce its quota: is kube-controller-manager running?", {}};
  return check_admission(plan);
}

Status Controller::label_nodes(const NamespacePlan& plan) {
  const Value patch = Value::map(
      {{"metadata", Value::map({{"labels", Value::map({{node_label(plan.key), Value(options_.objects.instance)}})}})}});
  for (const std::string& node : plan.nodes) {
    const Result<Value> patched = client_.patch(kube::kNodes, {"", node}, patch);
    if (patched.ok()) continue;
    if (patched.error().code == ErrorCode::not_found)
      return Error{ErrorCode::not_found, fmt::format("Kubernetes has no node {}", node), {}};
    return patched.error();
  }
  return {};
}

// Without the plug-in the pods of the namespace could run anywhere, on GPUs of other jobs too.
Status Controller::check_admission(const NamespacePlan& plan) {
  const Result<Value> probed = client_.try_create(kube::kPods, probe_pod(plan));
  if (!probed.ok()) return probed.error();
  if (!is_kept_on_nodes(*probed, plan, options_.objects))
    return Error{ErrorCode::refused,
                 "the API server does not keep pods of a namespace on its nodes: it needs "
                 "--enable-admission-plugins=PodNodeSelector",
                 {}};
  if (!tolerates_lease_taint(*probed) && !std::exchange(toleration_noted_, true))
    log("the API server does not have the admission plug-in PodTolerationRestriction: pods must tolerate the taint of "
        "their nodes themselves");
  return {};
}

// When it must be renewed: after two thirds of its life.
Result<std::int64_t> Controller::give_token(const NamespacePlan& plan, std::int64_t now) {
  const std::int64_t wanted = plan.ends == 0 ? kMaxToken : plan.ends + kTokenMargin - now;
  const Value request =
      Value::map({{"apiVersion", Value("authentication.k8s.io/v1")},
                  {"kind", Value("TokenRequest")},
                  {"spec", Value::map({{"expirationSeconds", Value(std::clamp(wanted, kMinToken, kMaxToken))}})}});
  const Result<Value> answer =
      client_.request_subresource(kube::kServiceAccounts, {plan.name, kObjectName}, "token", request);
  if (!answer.ok()) return answer.error();
  const kube::Secret token(kube::raw_text(*answer, {"status", "token"}));
  const std::optional<std::int64_t> expires =
      kube::parse_timestamp(kube::raw_text(*answer, {"status", "expirationTimestamp"}));
  if (token.empty() || !expires)
    return Error{ErrorCode::unavailable, "the API server answered a request for a token without one", {}};
  const Result<std::string> config = make_kubeconfig(options_.access, plan.name, token);
  if (!config.ok()) return config.error();
  Status written = write_job_file(kubeconfig_path(options_.state, plan.key), *config, plan.uid, plan.gid, 0600);
  if (!written.ok()) return written.error();
  return now + std::max<std::int64_t>((*expires / 1000 - now) * 2 / 3, 1);
}

// Not made yet, and not refused a moment ago.
bool Controller::is_due(const JobRun& run, std::int64_t now) const {
  if (made_.contains(name_of(run))) return false;
  const auto refused = refused_.find(key_of(run));
  return refused == refused_.end() || now >= refused->second.retry_at;
}

void Controller::refuse(const JobRun& run, const std::string& reason, std::int64_t now) {
  const std::string key = key_of(run);
  Refusal& known = refused_[key];
  known.retry_at = now + kRetryDelay;
  if (known.reason == reason) return;
  known.reason = reason;
  log(fmt::format("job {} of uid {} gets no namespace: {}", run.id, run.uid, reason));
  const Status written =
      write_job_file(problem_path(options_.state, key), printable(reason, kMaxProblem) + "\n", run.uid, run.gid, 0644);
  if (!written.ok()) log(written.error().text());
}

// Only an answer of Slurm ends a run: its id is listed in another state or with another start, or the accounting has
// its end. Without accounting, a run counts as over if it was absent from complete lists for longer than slurmctld
// keeps ended jobs.
bool Controller::is_over(const std::string& key, const std::vector<JobRun>& runs, std::int64_t now) {
  const std::optional<KeyParts> parts = parse_key(key);
  if (!parts) return false;
  const auto run = std::find_if(runs.begin(), runs.end(), [&](const JobRun& each) { return each.id == parts->id; });
  if (run != runs.end()) {
    absent_.erase(key);
    return run->started != parts->started || !may_hold_nodes(run->state);
  }
  const std::int64_t since = absent_.emplace(key, now).first->second;
  if (slurm_.accounted_end) {
    if (const std::optional<bool> ended = slurm_.accounted_end(parts->id, parts->started)) return *ended;
  }
  return now - since >= kAbsentLimit;
}

void Controller::remove(const std::string& name, const Existing& existing) {
  Status done;
  if (!existing.deleting) {
    const Result<kube::DeleteOutcome> removed =
        client_.remove(kube::kNamespaces, {"", name}, {std::nullopt, existing.uid, {}, {}});
    if (!removed.ok()) done = removed.error();
  }
  if (done.ok()) done = end_pods(name);
  unlabel_.insert(existing.key);
  remove_job_files(options_.state, existing.key);
  absent_.erase(existing.key);
  if (!done.ok()) {
    log(fmt::format("namespace {}: {}", name, done.error().text()));
  } else if (removing_.insert(name).second) {
    log(fmt::format("namespace {}: its job has ended; deleting it", name));
  }
}

// The grace period of a pod is its user's; the next job of the node does not wait for it.
Status Controller::end_pods(const std::string& name) {
  const Result<kube::ObjectList> pods = client_.list(kube::kPods, {name, "", ""});
  if (!pods.ok()) return pods.error();
  for (const Value& pod : pods->items) {
    const Result<kube::ObjectMeta> meta = kube::read_meta(pod);
    if (!meta.ok()) return meta.error();
    const std::optional<double> grace = kube::number(pod, {"metadata", "deletionGracePeriodSeconds"});
    if (meta->deleting && grace.value_or(0) <= static_cast<double>(kPodGrace)) continue;
    const Result<kube::DeleteOutcome> removed = client_.remove(kube::kPods, meta->name, {kPodGrace, meta->uid, {}, {}});
    if (!removed.ok()) return removed.error();
  }
  return {};
}

// Once per process: labels whose namespace is gone, left by one that was killed between the two.
Status Controller::find_labels(const std::set<std::string>& wanted, const ByName& existing) {
  if (labels_found_) return {};
  const Result<kube::ObjectList> nodes = client_.list(kube::kNodes, {});
  if (!nodes.ok()) return nodes.error();
  for (const Value& node : nodes->items) {
    const Value* labels = kube::member(node, {"metadata", "labels"});
    if (labels == nullptr || !labels->is_map()) continue;
    for (const auto& [label, value] : labels->entries()) {
      const std::string key = key_of_label(label);
      if (key.empty() || !value.is_text() || value.text() != options_.objects.instance) continue;
      if (!wanted.contains(key) && !existing.contains("slurm-" + key)) unlabel_.insert(key);
    }
  }
  labels_found_ = true;
  return {};
}

void Controller::remove_labels() {
  std::erase_if(unlabel_, [&](const std::string& key) {
    const std::string label = node_label(key);
    const Result<kube::ObjectList> nodes =
        client_.list(kube::kNodes, {"", fmt::format("{}={}", label, options_.objects.instance), ""});
    if (!nodes.ok()) return false;
    const Value patch = Value::map({{"metadata", Value::map({{"labels", Value::map({{label, Value()}})}})}});
    bool all = true;
    for (const Value& node : nodes->items) {
      const Result<Value> patched =
          client_.patch(kube::kNodes, {"", kube::raw_text(node, {"metadata", "name"})}, patch);
      all = all && (patched.ok() || patched.error().code == ErrorCode::not_found);
    }
    return all;
  });
}

}  // namespace weft::job_namespace
