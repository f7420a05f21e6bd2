#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "config/host_text.h"
#include "config/kube_objects.h"

namespace weft::config {
namespace {

constexpr std::string_view kNetworks = "k8s.v1.cni.cncf.io/networks";

// A pod template, the object that uses it, and the number of replicas.
struct Template {
  std::string role;
  const YamlNode* metadata = nullptr;
  const YamlNode* spec = nullptr;
  const YamlNode* replicas = nullptr;
};

const YamlNode* first_of(const YamlNode* node, std::initializer_list<std::string_view> paths) {
  for (const std::string_view path : paths) {
    if (const YamlNode* found = node_at(node, path)) return found;
  }
  return nullptr;
}

void add_template(const YamlNode* pod, const YamlNode* replicas, std::string role, std::vector<Template>& out) {
  if (node_at(pod, "spec") == nullptr) return;
  out.push_back({std::move(role), node_at(pod, "metadata"), node_at(pod, "spec"), replicas});
}

// spec.pytorchReplicaSpecs.Worker.template and the like, one per role.
void add_replica_specs(const YamlNode* spec, std::vector<Template>& out) {
  if (spec == nullptr) return;
  for (const YamlEntry& entry : spec->entries) {
    if (!entry.key.ends_with("ReplicaSpecs")) continue;
    for (const YamlEntry& role : entry.value.entries) {
      add_template(node_at(&role.value, "template"), role.value.find("replicas"), role.key, out);
    }
  }
}

void add_replicated_jobs(const YamlNode* jobs, std::vector<Template>& out) {
  if (jobs == nullptr) return;
  for (const YamlNode& job : jobs->items) {
    const YamlNode* replicas = first_of(&job, {"template.spec.parallelism", "replicas"});
    add_template(node_at(&job, "template.spec.template"), replicas, std::string(text_of(job.find("name"))), out);
  }
}

std::vector<Template> templates_of(const KubeObject& object) {
  std::vector<Template> out;
  const YamlNode* spec = object.at("spec");
  const std::string& kind = object.kind;
  if (kind == "Pod") {
    add_template(&object.tree, nullptr, {}, out);
  } else if (kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet" || kind == "ReplicaSet") {
    add_template(node_at(spec, "template"), node_at(spec, "replicas"), {}, out);
  } else if (kind == "Job") {
    add_template(node_at(spec, "template"), node_at(spec, "parallelism"), {}, out);
  } else if (kind == "CronJob") {
    add_template(node_at(spec, "jobTemplate.spec.template"), node_at(spec, "jobTemplate.spec.parallelism"), {}, out);
  } else if (kind == "JobSet") {
    add_replicated_jobs(node_at(spec, "replicatedJobs"), out);
  } else if (kind == "TrainingRuntime" || kind == "ClusterTrainingRuntime") {
    add_replicated_jobs(node_at(spec, "template.spec.replicatedJobs"), out);
  } else if (kind == "LeaderWorkerSet") {
    add_template(node_at(spec, "leaderWorkerTemplate.leaderTemplate"), nullptr, "leader", out);
    add_template(node_at(spec, "leaderWorkerTemplate.workerTemplate"), node_at(spec, "leaderWorkerTemplate.size"),
                 "worker", out);
  } else if (object.api_group == "kubeflow.org") {
    add_replica_specs(spec, out);
  }
  return out;
}

void read_pairs(const YamlNode* mapping, std::string_view path, std::vector<AppConfig::Variable>& out) {
  if (mapping == nullptr) return;
  for (const YamlEntry& entry : mapping->entries) {
    AppConfig::Variable variable{entry.key, text_setting(&entry.value, fmt::format("{}.{}", path, entry.key))};
    if (!variable.value.known()) variable.value.place = entry.key_place;
    out.push_back(std::move(variable));
  }
}

void read_environment_of(const YamlNode& container, AppConfig& app) {
  if (const YamlNode* from = container.find("envFrom"); from != nullptr && !from->items.empty()) {
    app.more_environment = true;
  }
  const YamlNode* env = container.find("env");
  if (env == nullptr) return;
  for (const YamlNode& item : env->items) {
    AppConfig::Variable variable;
    variable.name = text_of(item.find("name"));
    if (variable.name.empty()) continue;
    variable.value = text_setting(item.find("value"), "env." + variable.name);
    if (!variable.value.known()) {
      variable.value.place = item.place;  // valueFrom: set, but the value is unknown
      if (item.find("valueFrom") == nullptr) variable.value = {std::string(), item.place, "env." + variable.name};
    }
    app.environment.push_back(std::move(variable));
  }
}

void read_resources(const YamlNode* mapping, std::string_view path, std::vector<AppConfig::Resource>& out) {
  if (mapping == nullptr) return;
  for (const YamlEntry& entry : mapping->entries) {
    out.push_back({entry.key, text_setting(&entry.value, fmt::format("{}.{}", path, entry.key))});
  }
}

void read_command(const YamlNode& container, AppConfig& app) {
  std::string line;
  SourceLocation place;
  for (const char* key : {"command", "args"}) {
    const YamlNode* list = container.find(key);
    if (list == nullptr) continue;
    if (!place.known()) place = list->place;
    for (const YamlNode& item : list->items) line += (line.empty() ? "" : " ") + item.scalar;
  }
  if (!line.empty()) app.commands.push_back({std::move(line), place, "command"});
}

Setting<std::string> probe_of(const YamlNode* probe) {
  if (probe == nullptr) return {};
  for (const char* kind : {"httpGet", "grpc", "exec", "tcpSocket"}) {
    if (const YamlNode* node = probe->find(kind)) return {kind, node->place, kind};
  }
  return {};
}

void read_security(const YamlNode& container, AppConfig& app) {
  const Setting<bool> privileged =
      boolean_setting(node_at(&container, "securityContext.privileged"), "securityContext.privileged");
  if (privileged.known() && (!app.privileged.known() || *privileged)) app.privileged = privileged;
}

// Volumes by name, to look up the claim behind a mount.
using Volumes = std::map<std::string_view, const YamlNode*>;

void read_mounts(const YamlNode& container, const Volumes& volumes, AppConfig& app) {
  const YamlNode* list = container.find("volumeMounts");
  if (list == nullptr) return;
  for (const YamlNode& item : list->items) {
    AppConfig::Mount mount;
    mount.place = item.place;
    mount.volume = text_of(item.find("name"));
    mount.path = text_of(item.find("mountPath"));
    mount.read_only = boolean_setting(item.find("readOnly"), "readOnly");
    const auto volume = volumes.find(mount.volume);
    if (volume != volumes.end()) {
      const YamlNode* claim = volume->second->find("persistentVolumeClaim");
      mount.claim = text_of(node_at(claim, "claimName"));
      const Setting<bool> read_only = boolean_setting(node_at(claim, "readOnly"), "readOnly");
      if (read_only.known() && (*read_only || !mount.read_only.known())) mount.read_only = read_only;
      const YamlNode* memory = volume->second->find("emptyDir");
      if (mount.path == "/dev/shm" && text_of(node_at(memory, "medium")) == "Memory") {
        app.shared_memory = text_setting(node_at(memory, "sizeLimit"), "emptyDir.sizeLimit");
        if (!app.shared_memory.known()) app.shared_memory = {std::string(), volume->second->place, "emptyDir"};
      } else if (const YamlNode* host = volume->second->find("hostPath"); host != nullptr && mount.path == "/dev/shm") {
        app.shared_memory = {std::string(), host->place, "hostPath"};  // the host's own: half of its memory
      }
    }
    app.mounts.push_back(std::move(mount));
  }
}

void read_container(const YamlNode& container, bool main, const Volumes& volumes, AppConfig& app) {
  read_environment_of(container, app);
  read_mounts(container, volumes, app);
  read_security(container, app);
  Setting<std::string> image = text_setting(container.find("image"), "image");
  if (image.known()) app.images.push_back(std::move(image));
  if (!main) return;
  app.containers.emplace_back(text_of(container.find("name")));
  read_resources(node_at(&container, "resources.limits"), "limits", app.limits);
  read_resources(node_at(&container, "resources.requests"), "requests", app.requests);
  read_command(container, app);
  if (!app.readiness.known()) app.readiness = probe_of(container.find("readinessProbe"));
  if (!app.liveness.known()) app.liveness = probe_of(container.find("livenessProbe"));
}

// An init container with restartPolicy Always is a sidecar by Kubernetes' definition.
bool is_native_sidecar(const YamlNode& container) { return text_of(container.find("restartPolicy")) == "Always"; }

void read_affinity(const YamlNode* spec, AppConfig& app) {
  const YamlNode* terms =
      node_at(spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
  if (terms == nullptr) return;
  for (const YamlNode& term : terms->items) {
    const YamlNode* expressions = first_of(&term, {"matchExpressions", "matchFields"});
    if (expressions == nullptr) continue;
    for (const YamlNode& expression : expressions->items) {
      std::string values;
      if (const YamlNode* list = expression.find("values")) {
        for (const YamlNode& value : list->items) values += (values.empty() ? "" : ",") + value.scalar;
      }
      app.constraints.push_back(
          {fmt::format("{} {} {}", text_of(expression.find("key")), text_of(expression.find("operator")), values),
           expression.place, "nodeAffinity"});
    }
  }
}

void read_placement(const YamlNode* spec, AppConfig& app) {
  if (const YamlNode* selector = node_at(spec, "nodeSelector")) {
    for (const YamlEntry& entry : selector->entries) {
      app.constraints.push_back(
          {fmt::format("{}={}", entry.key, text_of(&entry.value)), entry.key_place, "nodeSelector"});
    }
  }
  if (const YamlNode* name = node_at(spec, "nodeName")) {
    app.constraints.push_back({fmt::format("nodeName={}", text_of(name)), name->place, "nodeName"});
  }
  read_affinity(spec, app);
  const YamlNode* tolerations = node_at(spec, "tolerations");
  if (tolerations == nullptr) return;
  for (const YamlNode& item : tolerations->items) {
    std::string text(text_of(item.find("key")));
    if (text.empty()) text = "*";
    if (const YamlNode* value = item.find("value")) text += fmt::format("={}", text_of(value));
    if (const YamlNode* effect = item.find("effect")) text += fmt::format(":{}", text_of(effect));
    app.tolerations.push_back({std::move(text), item.place, "tolerations"});
  }
}

// "ns/name@net1" of the comma form.
AppConfig::Network network_from_text(std::string_view text, const SourceLocation& place) {
  AppConfig::Network network;
  network.place = place;
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    network.interface = text.substr(at + 1);
    text = text.substr(0, at);
  }
  const std::size_t slash = text.find('/');
  network.name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  return network;
}

void read_networks(const Sources& sources, const YamlNode* metadata, AppConfig& app, Diagnostics& diagnostics) {
  const YamlNode* annotations = node_at(metadata, "annotations");
  const YamlNode* node = annotations == nullptr ? nullptr : annotations->find(kNetworks);
  if (node == nullptr || node->kind != YamlNode::Kind::scalar) return;
  const std::string_view text = trim(node->scalar, kLineSpaces);
  if (!text.empty() && text.front() == '[') {
    const auto list = parse_embedded_json(sources, *node, diagnostics);
    if (!list) return;
    for (const YamlNode& item : list->items) {
      AppConfig::Network network;
      network.name = text_of(item.find("name"));
      network.interface = text_of(item.find("interface"));
      network.place = item.place;
      app.networks.push_back(std::move(network));
    }
    return;
  }
  for (const std::string_view part : split(text, ',')) {
    const std::string_view network = trim(part);
    if (!network.empty()) app.networks.push_back(network_from_text(network, node->place));
  }
}

AppConfig read_template(const Sources& sources, const KubeObject& object, const Template& from,
                        Diagnostics& diagnostics) {
  AppConfig app;
  app.kind = object.kind;
  app.name = object.name;
  app.space = object.space;
  app.role = from.role;
  // Processes that mpirun starts on the workers get variables from the launcher's command line (-x NAME=VALUE).
  app.more_environment = app.kind == "MPIJob" && app.role == "Worker";
  app.place = from.spec->place;
  app.replicas = integer_setting(from.replicas, "replicas");
  read_pairs(node_at(from.metadata, "labels"), "labels", app.labels);
  read_pairs(node_at(from.metadata, "annotations"), "annotations", app.annotations);
  read_networks(sources, from.metadata, app, diagnostics);
  app.priority_class = text_setting(from.spec->find("priorityClassName"), "priorityClassName");
  app.scheduler = text_setting(from.spec->find("schedulerName"), "schedulerName");
  app.host_network = boolean_setting(from.spec->find("hostNetwork"), "hostNetwork");
  read_placement(from.spec, app);
  Volumes volumes;
  if (const YamlNode* list = from.spec->find("volumes")) {
    for (const YamlNode& volume : list->items) volumes[text_of(volume.find("name"))] = &volume;
  }
  if (const YamlNode* list = from.spec->find("initContainers")) {
    for (const YamlNode& container : list->items) {
      read_container(container, is_native_sidecar(container), volumes, app);
    }
  }
  if (const YamlNode* list = from.spec->find("containers")) {
    for (const YamlNode& container : list->items) read_container(container, true, volumes, app);
  }
  return app;
}

// A TrainJob specifies only what differs from its runtime.
void read_train_job(const KubeObject& object, ConfigSet& set) {
  const YamlNode* trainer = object.at("spec.trainer");
  if (trainer == nullptr) return;
  AppConfig app;
  app.kind = object.kind;
  app.name = object.name;
  app.space = object.space;
  app.place = trainer->place;
  app.replicas = integer_setting(trainer->find("numNodes"), "numNodes");
  read_environment_of(*trainer, app);
  read_command(*trainer, app);
  app.containers.emplace_back("trainer");
  Setting<std::string> image = text_setting(trainer->find("image"), "image");
  if (image.known()) app.images.push_back(std::move(image));
  read_resources(node_at(trainer, "resourcesPerNode.limits"), "limits", app.limits);
  read_resources(node_at(trainer, "resourcesPerNode.requests"), "requests", app.requests);
  app.more_environment = true;
  set.apps.push_back(std::move(app));
}

}  // namespace

void read_kube_apps(const Sources& sources, const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics) {
  if (object.kind == "TrainJob" && object.api_group == "trainer.kubeflow.org") {
    read_train_job(object, set);
    return;
  }
  for (const Template& from : templates_of(object)) {
    set.apps.push_back(read_template(sources, object, from, diagnostics));
  }
}

}  // namespace weft::config
