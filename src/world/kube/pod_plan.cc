#include "world/kube/pod_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

#include "base/text.h"
#include "kube/json_fields.h"
#include "kube/object.h"
#include "world/core/rank_environment.h"
#include "world/kube/kube_checkpoints.h"

namespace weft::world {
namespace {

using control::AttemptName;
using control::JobSpec;
using control::StartAttempt;

constexpr std::int64_t kMasterPort = 29500;  // torchrun's; the pods have addresses of their own
constexpr std::string_view kScheduler = "weft";

Error refusal(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

// Kubernetes expands $(NAME) in commands and environments; $$ is a dollar sign.
std::string escape_dollars(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

std::string find_problem(const StartAttempt& command, const PodContext& context) {
  if (command.spec == nullptr) return "the command has no job";
  if (command.slots.empty() || command.slots.size() != command.boots.size()) {
    return fmt::format("the command has {} slots and {} boot ids", command.slots.size(), command.boots.size());
  }
  for (const sched::Slot& slot : command.slots) {
    if (index_of(slot.node) >= context.nodes.size()) return fmt::format("there is no node {}", index_of(slot.node));
  }
  const JobSpec& spec = *command.spec;
  if (spec.command.empty()) return "the job has no command";
  if (context.image.empty() && spec.image.empty()) return "no container image is configured";
  // The device plug-in assigns whole GPUs, and which ones it decides itself.
  if (spec.shape.task.gpus > 0 && !spec.shape.task.whole_gpus()) {
    return "parts of GPUs and MIG instances cannot be assigned on Kubernetes without ResourceClaims";
  }
  for (const std::string& volume : spec.checkpoint.volumes) {
    if (!is_checkpoint_volume(volume)) return fmt::format("the checkpoint volume '{}' is not an absolute path", volume);
  }
  return {};
}

struct NodeTasks {
  sched::NodeId node{};
  std::vector<std::size_t> ranks;  // of its tasks
};
std::vector<NodeTasks> group_by_node(const StartAttempt& command) {
  std::vector<NodeTasks> groups;
  for (std::size_t rank = 0; rank < command.slots.size(); ++rank) {
    const sched::NodeId node = command.slots[rank].node;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const NodeTasks& one) { return one.node == node; });
    if (group == groups.end()) group = groups.insert(groups.end(), {node, {}});
    group->ranks.push_back(rank);
  }
  return groups;
}

Value labels_of(const PodContext& context, const AttemptName& name) {
  return Value::map({{"weft/engine", Value(context.engine)},
                     {"weft/job", Value(std::to_string(name.job))},
                     {"weft/attempt", Value(std::to_string(name.attempt))}});
}

Value variable(std::string_view name, std::string_view value) {
  return Value::map({{"name", Value(name)}, {"value", Value(escape_dollars(value))}});
}

std::map<std::string, std::string> common_environment(const StartAttempt& command, const PodContext& context,
                                                      const AttemptPlan& plan, const std::vector<NodeTasks>& groups) {
  std::vector<std::string> nodes;
  nodes.reserve(groups.size());
  for (const NodeTasks& group : groups) nodes.push_back(context.nodes[index_of(group.node)]);
  const std::vector<std::string> checkpoints = job_checkpoint_directories(*command.spec, command.name.job);
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : command.spec->environment) variables[name] = value;
  variables["MASTER_ADDR"] = fmt::format("{}-0.{}.{}.svc", plan.name, plan.name, context.kube_namespace);
  variables["MASTER_PORT"] = std::to_string(kMasterPort);
  variables["WORLD_SIZE"] = std::to_string(command.slots.size());
  variables["GROUP_WORLD_SIZE"] = std::to_string(groups.size());
  variables["WEFT_JOB_ID"] = std::to_string(command.name.job);
  variables["WEFT_ATTEMPT"] = std::to_string(command.name.attempt);
  variables["WEFT_NODELIST"] = join(nodes, ",");
  variables["WEFT_CHECKPOINT_DIRS"] = join(checkpoints, ":");
  variables["WEFT_RESTORE"] = command.checkpoint_path;
  variables["WEFT_CHECKPOINT_REQUEST"] = request_file(checkpoints, command.name);
  variables["WEFT_CHECKPOINT_INTERVAL"] = std::to_string(command.checkpoint_interval.count() / 1'000'000'000);
  return variables;
}

// CPU and memory are limits without a request: weft has placed the job by the cluster file, where a job may have the
// whole server. A kubelet compares requests with what the operating system, its reservations and the pods of DaemonSets
// leave, and would refuse the pod (OutOfcpu, OutOfmemory). An amount that is not given would be the limit's.
Value resources_of(const JobSpec& spec, const sched::Slot& slot, int threads) {
  Value limits = Value::map();
  Value requests = Value::map();
  const auto limit = [&](const char* name, const std::string& amount) {
    limits.set(name, Value(amount));
    requests.set(name, Value("0"));
  };
  if (spec.shape.task.cpu > 0) limit("cpu", fmt::format("{}m", spec.shape.task.cpu * threads));
  if (spec.shape.task.memory_mib > 0) limit("memory", fmt::format("{}Mi", spec.shape.task.memory_mib));
  // As text: the server answers with text, and a number would look like a change.
  const int gpus = std::popcount(slot.gpus);
  if (gpus > 0) {
    limits.set("nvidia.com/gpu", Value(std::to_string(gpus)));
    requests.set("nvidia.com/gpu", Value(std::to_string(gpus)));
  }
  return limits.empty() ? Value::map() : Value::map({{"limits", limits}, {"requests", requests}});
}

Value mounts_of(const JobSpec& spec) {
  Value mounts = Value::list();
  for (std::size_t i = 0; i < spec.checkpoint.volumes.size(); ++i) {
    mounts.add(
        Value::map({{"name", Value(fmt::format("volume{}", i))}, {"mountPath", Value(spec.checkpoint.volumes[i])}}));
  }
  return mounts;
}

const std::string& image_of(const JobSpec& spec, const PodContext& context) {
  return spec.image.empty() ? context.image : spec.image;
}

Value container_of(const StartAttempt& command, const PodContext& context,
                   const std::map<std::string, std::string>& common, const NodeTasks& group, std::size_t index) {
  const JobSpec& spec = *command.spec;
  const std::size_t rank = group.ranks[index];
  std::map<std::string, std::string> variables = common;
  variables["RANK"] = std::to_string(rank);
  variables["LOCAL_RANK"] = std::to_string(index);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(group.ranks.size());
  Value environment = Value::list();
  for (const auto& [name, value] : variables) environment.add(variable(name, value));
  std::vector<Value> words;
  for (const std::string& word : spec.command) words.emplace_back(escape_dollars(word));
  Value mounts = mounts_of(spec);
  Value container = Value::map({{"name", Value(container_name(rank))}, {"image", Value(image_of(spec, context))}});
  container.set("command", Value(std::move(words)));
  if (!spec.directory.empty()) container.set("workingDir", Value(spec.directory));
  container.set("env", std::move(environment));
  const std::size_t node = index_of(command.slots[rank].node);
  const int threads = node < context.threads.size() ? context.threads[node] : 1;
  container.set("resources", resources_of(spec, command.slots[rank], threads));
  if (!mounts.empty()) container.set("volumeMounts", std::move(mounts));
  container["securityContext"].set("allowPrivilegeEscalation", Value(false));
  return container;
}

// Kubernetes must not delete our pods from a node that is silent: the process may still run, and only the controller
// decides when it may start elsewhere.
Value tolerations() {
  Value list = Value::list();
  for (const char* taint : {"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"}) {
    list.add(Value::map({{"key", Value(taint)}, {"operator", Value("Exists")}, {"effect", Value("NoExecute")}}));
  }
  return list;
}

Value make_pod(const StartAttempt& command, const PodContext& context, const AttemptPlan& plan,
               const std::map<std::string, std::string>& common, const NodeTasks& group, std::size_t node_rank) {
  const JobSpec& spec = *command.spec;
  const std::string name = fmt::format("{}-{}", plan.name, node_rank);
  Value labels = labels_of(context, command.name);
  labels.set("weft/rank", Value(std::to_string(node_rank)));
  Value pod = Value::map();
  pod["metadata"].set("name", Value(name)).set("namespace", Value(context.kube_namespace)).set("labels", labels);
  pod["metadata"].set("annotations",
                      Value::map({{"weft/node", Value(context.nodes[index_of(group.node)])},
                                  {"weft/boot", Value(fmt::format("{:016x}", command.boots[group.ranks[0]]))},
                                  {"weft/term", Value(std::to_string(command.term))}}));
  if (!spec.checkpoint.volumes.empty()) {  // for a weft that restarts while the job runs
    pod["metadata"]["annotations"].set(kCheckpointsAnnotation,
                                       Value(join(job_checkpoint_directories(spec, command.name.job), ":")));
    pod["metadata"]["annotations"].set(kNoticeAnnotation, Value(control::to_text(spec.checkpoint.notice)));
  }
  Value containers = Value::list();
  std::map<std::string, std::string> variables = common;
  variables["GROUP_RANK"] = std::to_string(node_rank);
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    containers.add(container_of(command, context, variables, group, i));
  }
  Value volumes = Value::list();
  for (std::size_t i = 0; i < spec.checkpoint.volumes.size(); ++i) {
    volumes.add(Value::map({{"name", Value(fmt::format("volume{}", i))},
                            {"hostPath", Value::map({{"path", Value(spec.checkpoint.volumes[i])},
                                                     {"type", Value("Directory")}})}}));  // never created by a kubelet
  }
  Value& body = pod["spec"];
  body.set("containers", std::move(containers));
  if (!volumes.empty()) body.set("volumes", std::move(volumes));
  body.set("restartPolicy", Value("Never"));
  body.set("schedulerName", Value(kScheduler));  // no scheduler has this name: only a binding places it
  body.set("hostname", Value(name)).set("subdomain", Value(plan.name));
  body.set("tolerations", tolerations());
  body.set("automountServiceAccountToken", Value(false)).set("enableServiceLinks", Value(false));
  body["securityContext"].set("runAsUser", Value(spec.uid)).set("runAsGroup", Value(spec.gid));
  return pod;
}

// Ends the pod before its tasks start if the node has been rebooted since the command was made: the controller takes
// what ran before a reboot for ended, so nothing of it may start after one (exit status 1; the file is the kernel's, in
// every container). And if the node does not see the checkpoint volumes that weft sees, because weft would then find no
// checkpoint of it (exit status kVolumeMismatch).
Value boot_gate(const StartAttempt& command, const PodContext& context, const std::string& boot,
                const std::string& token) {
  std::string script = "[ \"$(cat /proc/sys/kernel/random/boot_id)\" = \"$1\" ]";
  std::vector<std::string> words{"sh", "-c", "", "sh", boot};
  const std::vector<std::string> directories = job_checkpoint_directories(*command.spec, command.name.job);
  if (!token.empty() && !directories.empty()) {
    script += fmt::format(
        " || exit 1; token=$2; shift 2; for each; do [ \"$(cat \"$each/{}\")\" = \"$token\" ] || exit {}; done",
        kVolumeToken, kVolumeMismatch);
    words.push_back(token);
    words.insert(words.end(), directories.begin(), directories.end());
  }
  words[2] = script;
  std::vector<Value> escaped;
  escaped.reserve(words.size());
  for (const std::string& word : words) escaped.emplace_back(escape_dollars(word));
  Value gate = Value::map({{"name", Value(kBootGate)}, {"image", Value(image_of(*command.spec, context))}});
  gate.set("command", Value(std::move(escaped)));
  if (Value mounts = mounts_of(*command.spec); !mounts.empty()) gate.set("volumeMounts", std::move(mounts));
  gate["securityContext"].set("allowPrivilegeEscalation", Value(false));
  return gate;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool is_checkpoint_volume(const std::string& path) {
  return path.size() > 1 && path.front() == '/' && !contains(path, ":") && !contains(path, "..");
}

std::string container_name(std::size_t rank) { return fmt::format("rank{}", rank); }

Result<AttemptPlan> plan_attempt(const StartAttempt& command, const PodContext& context, const BootTexts& boots,
                                 const std::string& token) {
  if (std::string problem = find_problem(command, context); !problem.empty()) return refusal(std::move(problem));
  AttemptPlan plan;
  plan.name = fmt::format("weft-{}-{}", command.name.job, command.name.attempt);
  Value labels = labels_of(context, command.name);
  plan.service["metadata"].set("name", Value(plan.name)).set("namespace", Value(context.kube_namespace));
  plan.service["metadata"].set("labels", labels);
  // Ranks look for rank 0 before it is ready.
  plan.service["spec"]
      .set("clusterIP", Value("None"))
      .set("selector", labels)
      .set("publishNotReadyAddresses", Value(true));
  const std::vector<NodeTasks> groups = group_by_node(command);
  const std::map<std::string, std::string> common = common_environment(command, context, plan, groups);
  for (std::size_t rank = 0; rank < groups.size(); ++rank) {
    Value pod = make_pod(command, context, plan, common, groups[rank], rank);
    const auto boot = boots.find(groups[rank].node);
    if (boot != boots.end())
      pod["spec"].set("initContainers", Value::list({boot_gate(command, context, boot->second, token)}));
    plan.pods.push_back({groups[rank].node, std::move(pod)});
  }
  return plan;
}

std::string select_engine(const std::string& engine) { return "weft/engine=" + engine; }

std::string select_attempt(const std::string& engine, const AttemptName& name) {
  return fmt::format("weft/engine={},weft/job={},weft/attempt={}", engine, name.job, name.attempt);
}

std::optional<AttemptName> attempt_of(const Value& object, const std::string& engine) {
  if (kube::label_of(object, "weft/engine") != engine) return std::nullopt;
  const auto job = parse_number<control::JobNumber>(kube::label_of(object, "weft/job"));
  const auto attempt = parse_number<control::AttemptNumber>(kube::label_of(object, "weft/attempt"));
  if (!job || !attempt) return std::nullopt;
  return AttemptName{*job, *attempt};
}

}  // namespace weft::world
