#include "serve/submit/kube_pod.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "model/job.h"
#include "serve/submit/kube_volumes.h"

namespace weft::serve {
namespace {

constexpr std::string_view kInPod = "it has an effect only in a pod";
constexpr std::string_view kPlacement = "weft chooses the nodes; use nodeSelector weft/pool";
constexpr FieldUse kIgnored = FieldUse::ignored;
constexpr FieldUse kRefused = FieldUse::refused;

constexpr FieldRule kTemplateFields[] = {{"metadata"}, {"spec"}};

constexpr FieldRule kPodFields[] = {
    {"activeDeadlineSeconds"},
    {"affinity", kRefused, kPlacement},
    {"automountServiceAccountToken", kIgnored},
    {"containers"},
    {"dnsConfig", kIgnored},
    {"dnsPolicy", kIgnored},
    {"enableServiceLinks", kIgnored},
    {"hostAliases", kRefused, kInPod},
    {"hostIPC", kIgnored},
    {"hostNetwork", kIgnored},
    {"hostPID", kIgnored},
    {"hostname", kIgnored},
    {"imagePullSecrets", kIgnored},
    {"initContainers"},
    {"nodeName", kRefused, kPlacement},
    {"nodeSelector"},
    {"os", kIgnored},
    {"preemptionPolicy", kIgnored},
    {"priorityClassName"},
    {"resourceClaims", kRefused, kInPod},
    {"restartPolicy"},
    {"runtimeClassName", kIgnored},
    {"schedulerName", kIgnored},
    {"schedulingGates", kRefused, kInPod},
    {"securityContext", kIgnored},
    {"serviceAccount", kIgnored},
    {"serviceAccountName", kIgnored},
    {"setHostnameAsFQDN", kIgnored},
    {"shareProcessNamespace", kIgnored},
    {"subdomain", kIgnored},
    {"terminationGracePeriodSeconds"},
    {"tolerations", kIgnored},
    {"topologySpreadConstraints", kRefused, kPlacement},
    {"volumes"},
};

constexpr FieldRule kContainerFields[] = {
    {"args"},
    {"command"},
    {"env"},
    {"envFrom", kRefused, "the variables are only in Kubernetes; list them in env"},
    {"image"},
    {"imagePullPolicy", kIgnored},
    {"lifecycle", kRefused, kInPod},
    {"livenessProbe", kRefused, kInPod},
    {"name", kIgnored},
    {"ports", kIgnored},
    {"readinessProbe", kIgnored},
    {"resources"},
    {"securityContext", kIgnored},
    {"startupProbe", kIgnored},
    {"stdin", kIgnored},
    {"stdinOnce", kIgnored},
    {"terminationMessagePath", kIgnored},
    {"terminationMessagePolicy", kIgnored},
    {"tty", kIgnored},
    {"volumeDevices", kRefused, kInPod},
    {"volumeMounts"},
    {"workingDir"},
};

constexpr FieldRule kVariableFields[] = {
    {"name"}, {"value"}, {"valueFrom", kRefused, "its value is only in Kubernetes; write it as `value`"}};

constexpr FieldRule kResourceFields[] = {{"limits"}, {"requests"}, {"claims", kRefused, kInPod}};

// Resources of NICs, which a process on the host uses without an allocation.
constexpr std::string_view kNicPrefixes[] = {"nvidia.com/", "rdma/", "mellanox.com/", "openshift.io/", "intel.com/"};

// Labels that weft gives nodes, and the level of the machine that they select.
struct TopologyLabel {
  std::string_view label;
  sched::Level level;
};
constexpr TopologyLabel kTopology[] = {{"weft/unit", sched::Level::leaf},
                                       {"weft/rack", sched::Level::rack},
                                       {"kubernetes.io/hostname", sched::Level::node}};

Sourced<sched::Level> read_topology(const SubmitContext& context, const YamlNode* annotations, std::string_view key) {
  const YamlNode* node = field_of(annotations, key);
  const std::optional<std::string> label = read_text(context, node, key);
  if (!label) return {};
  for (const TopologyLabel& known : kTopology) {
    if (known.label == *label) return given_at(known.level, node->place);
  }
  context.error(node->place, fmt::format("unknown level of the topology {}", in_backticks(*label)),
                "one of weft/unit, weft/rack and kubernetes.io/hostname", label->size());
  return {};
}

void set_text(const SubmitContext& context, const YamlNode* node, std::string_view what, Sourced<std::string>& out) {
  if (const std::optional<std::string> text = read_text(context, node, what)) out = given_at(*text, node->place);
}

// weft's own, which writes the addresses of pods; and nothing on a host needs them.
bool is_rank_container(const YamlNode& container) {
  const YamlNode* command = field_of(&container, "command");
  return command != nullptr && command->items.size() == 2 && command->items[1].scalar == "/opt/weft/ranks.sh";
}

void read_node_selector(const SubmitContext& context, const YamlNode* node, KubePod& pod) {
  if (node == nullptr) return;
  if (node->kind != YamlNode::Kind::mapping) {
    return context.error(node->place, fmt::format("nodeSelector is {}, not a mapping", describe_kind(*node)));
  }
  for (const YamlEntry& entry : node->entries) {
    const std::string& key = entry.key;
    if (key == "weft/pool" || key.ends_with("/pool")) {
      set_text(context, &entry.value, key, pod.pool);  // an unknown one is reported with the owner
    } else if (key == "weft/gpu") {
      pod.models = models_named(context, entry.value.scalar, entry.value.place);
    } else if (key != "kubernetes.io/os" && key != "kubernetes.io/arch") {
      context.error(entry.key_place, fmt::format("node selector {} is not supported", in_backticks(key)),
                    "use weft/pool or weft/gpu", key.size());
    }
  }
}

void check_init_containers(const SubmitContext& context, const YamlNode* node) {
  for (const YamlNode& container : read_items(context, node, "initContainers")) {
    if (is_rank_container(container)) continue;
    const YamlNode* name = field_of(&container, "name");
    context.error(container.place,
                  fmt::format("init container {} would not run", in_backticks(name != nullptr ? name->scalar : "")),
                  "start it in the command of the job");
  }
}

void read_container(const SubmitContext& context, const YamlNode& node, KubePod& pod) {
  if (!check_fields(context, node, "the container", kContainerFields)) return;
  pod.command_place = node.place;
  if (const YamlNode* command = field_of(&node, "command")) {
    pod.command = read_texts(context, command, "command");
    pod.command_place = command->place;
  }
  pod.arguments = read_texts(context, field_of(&node, "args"), "args");
  set_text(context, field_of(&node, "image"), "image", pod.image);
  set_text(context, field_of(&node, "workingDir"), "workingDir", pod.directory);
  read_container_environment(context, field_of(&node, "env"), pod);
  read_container_resources(context, field_of(&node, "resources"), pod);
}

void read_pod_spec(const SubmitContext& context, const YamlNode& spec, KubePod& pod) {
  if (!check_fields(context, spec, "the pod", kPodFields)) return;
  check_init_containers(context, field_of(&spec, "initContainers"));
  set_text(context, field_of(&spec, "priorityClassName"), "priorityClassName", pod.priority);
  set_text(context, field_of(&spec, "restartPolicy"), "restartPolicy", pod.restart_policy);
  read_node_selector(context, field_of(&spec, "nodeSelector"), pod);
  const auto seconds = [&](std::string_view key) {
    const auto value = read_integer(context, field_of(&spec, key), key, 0, 100LL * 366 * 86'400);
    return sched::seconds(value.value_or(0));
  };
  pod.grace = seconds("terminationGracePeriodSeconds");
  pod.deadline = seconds("activeDeadlineSeconds");
  const std::span<const YamlNode> containers = read_items(context, field_of(&spec, "containers"), "containers");
  if (containers.empty()) return context.error(spec.place, "the pod has no container");
  for (std::size_t i = 1; i < containers.size(); ++i) {
    context.error(containers[i].place, "a second container would not run", "a task of a job is one program");
  }
  read_container(context, containers.front(), pod);
  check_volumes(context, field_of(&spec, "volumes"), field_of(&containers.front(), "volumeMounts"), pod);
}

// Kubernetes replaces $(NAME) by a variable of the container; $$ is a literal $.
class Expander {
 public:
  Expander(const SubmitContext& context, const std::vector<KubeVariable>& variables)
      : context_(context), variables_(variables) {}

  std::string expand(std::string_view text, const SourceLocation& place) const {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char next = text[i] == '$' && i + 1 < text.size() ? text[i + 1] : '\0';
      const std::size_t close = next == '(' ? text.find(')', i) : std::string_view::npos;
      if (next == '$') {
        out += text[i++];
      } else if (close == std::string_view::npos) {
        out += text[i];
      } else {
        out += value_of(text.substr(i + 2, close - i - 2), place);
        i = close;
      }
    }
    return out;
  }

 private:
  std::string value_of(std::string_view name, const SourceLocation& place) const {
    for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
      if (it->name == name) return it->value;
    }
    if (is_variable_name(name)) {
      context_.error(place, fmt::format("the value of $({}) is known only when the job runs", name),
                     fmt::format("use a shell: command [sh, -c, \"... ${} ...\"]", name));
    }
    return fmt::format("$({})", name);
  }

  const SubmitContext& context_;
  const std::vector<KubeVariable>& variables_;
};

bool is_nic(std::string_view resource) {
  return std::any_of(std::begin(kNicPrefixes), std::end(kNicPrefixes),
                     [&](std::string_view prefix) { return resource.starts_with(prefix); });
}

void read_resource(const SubmitContext& context, const YamlEntry& entry, KubePod& pod) {
  const std::string& name = entry.key;
  const YamlNode& node = entry.value;
  const std::optional<std::string> text = read_text(context, &node, name);
  if (!text) return context.error(entry.key_place, fmt::format("{} has no amount", in_backticks(name)));
  const auto set = [&](const std::optional<std::int64_t>& value, std::int64_t divisor, Sourced<std::int64_t>& out) {
    if (!value) {
      return context.error(node.place, fmt::format("{} is not an amount of {}", in_backticks(*text), name), {},
                           text->size());
    }
    out = given_at((*value + divisor - 1) / divisor, node.place);
  };
  if (name == "nvidia.com/gpu" || name == "amd.com/gpu") {
    if (const auto count = read_count(context, *text, name, 0, 1000, node.place))
      pod.gpus = given_at(*count, node.place);
  } else if (name == "cpu") {
    set(parse_kube_milli(*text), 1, pod.cpu_milli);
  } else if (name == "memory") {
    set(parse_kube_bytes(*text), std::int64_t{1} << 20, pod.memory_mib);
  } else if (name == "ephemeral-storage") {
    set(parse_kube_bytes(*text), std::int64_t{1} << 30, pod.scratch_gib);
  } else if (name.starts_with("nvidia.com/mig-")) {
    context.error(entry.key_place, "MIG instances are not supported for jobs", "request whole GPUs", name.size());
  } else if (!is_nic(name) && !name.starts_with("hugepages-")) {
    context.error(entry.key_place, fmt::format("unknown resource {}", in_backticks(name)), {}, name.size());
  }
}

}  // namespace

void read_container_environment(const SubmitContext& context, const YamlNode* node, KubePod& pod) {
  for (const YamlNode& item : read_items(context, node, "env")) {
    if (!check_fields(context, item, "the variable", kVariableFields)) continue;
    const YamlNode* name = field_of(&item, "name");
    const std::optional<std::string> text = read_text(context, name, "name");
    if (!text) {
      context.error(item.place, "a variable has no name");
      continue;
    }
    const std::string value = read_text(context, field_of(&item, "value"), "value").value_or("");
    pod.variables.push_back({*text, Expander(context, pod.variables).expand(value, item.place), name->place});
  }
}

void read_container_resources(const SubmitContext& context, const YamlNode* node, KubePod& pod) {
  if (node == nullptr || !check_fields(context, *node, "resources", kResourceFields)) return;
  // Limits last: of what is in both, they count.
  for (const std::string_view part : {"requests", "limits"}) {
    const YamlNode* amounts = field_of(node, part);
    if (amounts == nullptr) continue;
    if (amounts->kind != YamlNode::Kind::mapping) {
      context.error(amounts->place, fmt::format("{} is {}, not a mapping", part, describe_kind(*amounts)));
      continue;
    }
    for (const YamlEntry& entry : amounts->entries) read_resource(context, entry, pod);
  }
}

KubePod read_pod_template(const SubmitContext& context, const YamlNode& node) {
  KubePod pod;
  pod.place = node.place;
  pod.command_place = node.place;
  if (!check_fields(context, node, "the pod template", kTemplateFields)) return pod;
  const YamlNode* annotations = field_of(field_of(&node, "metadata"), "annotations");
  pod.required = read_topology(context, annotations, "kueue.x-k8s.io/podset-required-topology");
  pod.preferred = read_topology(context, annotations, "kueue.x-k8s.io/podset-preferred-topology");
  const YamlNode* spec = field_of(&node, "spec");
  if (spec == nullptr) {
    context.error(node.place, "the pod template has no `spec`");
  } else {
    read_pod_spec(context, *spec, pod);
  }
  return pod;
}

std::string find_difference(const KubePod& a, const KubePod& b) {
  const auto same_variables = [&] {
    return std::equal(
        a.variables.begin(), a.variables.end(), b.variables.begin(), b.variables.end(),
        [](const KubeVariable& x, const KubeVariable& y) { return x.name == y.name && x.value == y.value; });
  };
  if (a.command != b.command) return "command";
  if (a.image.value != b.image.value) return "image";
  if (a.arguments != b.arguments) return "args";
  if (!same_variables()) return "env";
  if (a.directory.value != b.directory.value) return "workingDir";
  const bool same_resources = a.gpus.value == b.gpus.value && a.cpu_milli.value == b.cpu_milli.value &&
                              a.memory_mib.value == b.memory_mib.value && a.scratch_gib.value == b.scratch_gib.value;
  if (!same_resources) return "resources";
  if (a.pool.value != b.pool.value || a.models != b.models) return "nodeSelector";
  return {};
}

void apply_pod(const SubmitContext& context, KubePod pod, std::int64_t processes, JobDraft& draft) {
  if (pod.command.empty()) {
    context.error(pod.command_place,
                  context.submitter.containers != ContainerRuntime::none
                      ? "the command is only in the image, where weft does not read it"
                      : "the command is only in the image, which is not used: the program runs on the host",
                  "set `command`");
  } else if (pod.image.has_value() && context.submitter.containers != ContainerRuntime::none) {
    draft.spec.image = pod.image.value;
  } else if (pod.image.has_value()) {
    context.warn(pod.image.place,
                 fmt::format("the image {} is not used: the program runs on the host", in_backticks(pod.image.value)),
                 {}, pod.image->size());
  }
  for (const KubeVariable& variable : pod.variables) {
    set_variable(draft, context, variable.name, variable.value, variable.place);
  }
  std::vector<std::string> words;
  const Expander expander(context, pod.variables);
  for (const std::vector<std::string>* part : {&pod.command, &pod.arguments}) {
    for (const std::string& word : *part) words.push_back(expander.expand(word, pod.command_place));
  }
  draft.gpus = pod.gpus;
  draft.cpu_milli = pod.cpu_milli;
  draft.memory_mib = pod.memory_mib;
  draft.scratch_gib = pod.scratch_gib;
  draft.models = pod.models;
  if (!draft.pool.has_value()) draft.pool = pod.pool;
  if (!draft.priority.has_value()) draft.priority = pod.priority;
  if (!draft.time_limit.has_value() && pod.deadline.count() > 0) draft.time_limit = given_at(pod.deadline, pod.place);
  draft.spec.shape.grace = pod.grace;
  if (pod.required.has_value()) draft.spec.shape.required = pod.required.value;
  if (pod.preferred.has_value()) draft.spec.shape.preferred = pod.preferred.value;
  if (pod.directory.has_value()) draft.spec.directory = pod.directory.value;
  set_command(draft, std::move(words), std::max<std::int64_t>(1, processes > 0 ? processes : pod.gpus.value));
  set_checkpoints(draft, context, std::move(pod.checkpoint_paths));
}

}  // namespace weft::serve
