// kubernetes/serve: weft serve itself, inside the cluster. Namespaces, the smallest role of engine kubernetes, network
// policies, and a Deployment with its state on a volume claim.
#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "model/job.h"
#include "model/kube_permissions.h"
#include "render/core/targets.h"
#include "render/kube/services.h"

namespace weft::render {
namespace {

using kube_services::add_manifest;
using kube_services::match_labels;
using kube_services::object;

constexpr std::string_view kFolder = "kubernetes/serve/";
constexpr std::string_view kName = "weft";
constexpr std::string_view kSpace = "weft";          // of weft serve
constexpr std::string_view kJobSpace = "weft-jobs";  // of the pods of jobs
constexpr std::string_view kAppLabel = "app.kubernetes.io/name";
constexpr std::string_view kSpaceName = "kubernetes.io/metadata.name";  // set by the API server on namespaces
constexpr std::string_view kSecurityLabel = "pod-security.kubernetes.io/enforce";
constexpr std::int64_t kUser = 10001;  // an arbitrary unprivileged user; jobs run as it too
constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

struct HostVolume {
  std::string name;
  std::string path;
};

// File systems for checkpoints, which the hosts mount: weft reads them where the jobs write them.
std::vector<HostVolume> checkpoint_volumes(const RenderInput& input) {
  std::vector<HostVolume> volumes;
  for (const model::StorageSpec& system : input.cluster.spec().storage.value) {
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (volume.purpose.value != model::VolumePurpose::checkpoint) continue;
      volumes.push_back({kube_services::label_name("checkpoints-" + volume.name->text),
                         model::default_mount_path(input.cluster.spec(), volume)});
    }
  }
  return volumes;
}

Value space_object(std::string_view name, bool host_paths) {
  Value out = object("v1", "Namespace", std::string(name));
  // hostPath volumes need the profile `privileged`.
  out["metadata"]["labels"].set(kSecurityLabel, host_paths ? "privileged" : name == kSpace ? "restricted" : "baseline");
  return out;
}

// One rule per resource, in the order of the table.
Value rules_of(std::span<const model::KubePermission> all, bool cluster_wide) {
  Value rules = Value::list();
  std::string last;
  Value verbs = Value::list();
  const auto finish = [&](const model::KubePermission& permission) {
    std::string resource(permission.resource);
    if (!permission.subresource.empty()) resource.append("/").append(permission.subresource);
    rules.add(Value::map({{"apiGroups", Value::list({permission.group})},
                          {"resources", Value::list({std::move(resource)})},
                          {"verbs", std::move(verbs)}}));
    verbs = Value::list();
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].cluster_wide != cluster_wide) continue;
    verbs.add(all[i].verb);
    const bool last_of_resource = i + 1 == all.size() || all[i + 1].resource != all[i].resource ||
                                  all[i + 1].subresource != all[i].subresource || all[i + 1].group != all[i].group;
    if (last_of_resource) finish(all[i]);
  }
  return rules;
}

Value binding(std::string_view kind, std::string_view role_kind, const std::string& name, std::string_view space,
              std::string_view account = kName) {
  Value out = object("rbac.authorization.k8s.io/v1", kind, name, space);
  out["roleRef"] = Value::map({{"apiGroup", kGroup}, {"kind", role_kind}, {"name", name}});
  out["subjects"] = Value::list({Value::map({{"kind", "ServiceAccount"}, {"name", account}, {"namespace", kSpace}})});
  return out;
}

std::vector<Value> access(const RenderInput& input) {
  // Roles of the whole cluster have its name: two clusters of weft may share a Kubernetes cluster.
  const std::string cluster_role = kube_services::label_name("weft-" + input.cluster.name());
  Value account = object("v1", "ServiceAccount", std::string(kName), kSpace);
  account.set("automountServiceAccountToken", false);  // the Deployment asks for it
  Value nodes = object("rbac.authorization.k8s.io/v1", "ClusterRole", cluster_role);
  nodes["rules"] = rules_of(model::kube_permissions(), true);
  Value jobs = object("rbac.authorization.k8s.io/v1", "Role", std::string(kName), kJobSpace);
  jobs["rules"] = rules_of(model::kube_permissions(), false);
  return {std::move(account), std::move(nodes), binding("ClusterRoleBinding", "ClusterRole", cluster_role, {}),
          std::move(jobs), binding("RoleBinding", "Role", std::string(kName), kJobSpace)};
}

// In addition, of weft serve with both engines.
std::vector<Value> lease_access(const RenderInput& input) {
  const std::string role = kube_services::label_name("weft-" + input.cluster.name() + "-leases");
  Value cluster = object("rbac.authorization.k8s.io/v1", "ClusterRole", role);
  cluster["rules"] = rules_of(model::kube_lease_permissions(), true);
  return {std::move(cluster), binding("ClusterRoleBinding", "ClusterRole", role, {})};
}

// Of watch mode: it only reads, unless quarantine or drain is enabled. Each role has what it adds to the one before it.
std::vector<Value> watch_access(const RenderInput& input, model::WatchAccess access) {
  using model::WatchAccess;
  const bool is_first = access == WatchAccess::reads;
  const std::string account_name = std::string(kName) + "-watch";
  const std::string role = kube_services::label_name("weft-" + input.cluster.name() +
                                                     (is_first                        ? "-watch"
                                                      : access == WatchAccess::taints ? "-quarantine"
                                                                                      : "-drain"));
  std::vector<model::KubePermission> needed = model::kube_watch_permissions(true, access);
  if (!is_first) {
    const auto before = access == WatchAccess::taints ? WatchAccess::reads : WatchAccess::taints;
    std::erase_if(needed, [&](const model::KubePermission& each) {
      for (const model::KubePermission& one : model::kube_watch_permissions(true, before)) {
        if (one.resource == each.resource && one.subresource == each.subresource && one.verb == each.verb) return true;
      }
      return false;
    });
  }
  Value cluster = object("rbac.authorization.k8s.io/v1", "ClusterRole", role);
  cluster["rules"] = rules_of(needed, true);
  std::vector<Value> out;
  if (is_first) {
    out.push_back(object("v1", "ServiceAccount", account_name, kSpace));
    out.back().set("automountServiceAccountToken", false);  // a pod that uses it asks for it
  }
  out.push_back(std::move(cluster));
  out.push_back(binding("ClusterRoleBinding", "ClusterRole", role, {}, account_name));
  return out;
}

Value port(std::string_view protocol, std::int64_t number) {
  return Value::map({{"protocol", protocol}, {"port", number}});
}

// weft has no port: people reach it with kubectl exec. It talks to the API server, whose address only the site knows,
// and to the name service.
Value weft_policy() {
  Value policy = object("networking.k8s.io/v1", "NetworkPolicy", std::string(kName), kSpace);
  Value names = Value::map({{"namespaceSelector", match_labels(kSpaceName, "kube-system")},
                            {"podSelector", match_labels("k8s-app", "kube-dns")}});
  Value to_names =
      Value::map({{"to", Value::list({std::move(names)})}, {"ports", Value::list({port("UDP", 53), port("TCP", 53)})}});
  Value to_server = Value::map({{"ports", Value::list({port("TCP", 443), port("TCP", 6443)})}});
  policy["spec"] = Value::map({{"podSelector", Value::map()},
                               {"policyTypes", Value::list({"Ingress", "Egress"})},
                               {"egress", Value::list({std::move(to_names), std::move(to_server)})}});
  return policy;
}

// Ranks reach each other; other namespaces do not reach them.
Value job_policy() {
  Value policy = object("networking.k8s.io/v1", "NetworkPolicy", "allow-own-pods", kJobSpace);
  Value own = Value::list({Value::map({{"podSelector", Value::map()}})});
  policy["spec"] = Value::map({{"podSelector", Value::map()},
                               {"policyTypes", Value::list({"Ingress"})},
                               {"ingress", Value::list({Value::map({{"from", std::move(own)}})})}});
  return policy;
}

Value state_claim() {
  Value claim = object("v1", "PersistentVolumeClaim", "weft-state", kSpace);
  claim["spec"] = Value::map({{"accessModes", Value::list({"ReadWriteOnce"})},
                              {"resources", Value::map({{"requests", Value::map({{"storage", "10Gi"}})}})}});
  return claim;
}

// `weft status` answers when the journal is read and the socket is open.
Value probe(std::int64_t period, std::int64_t failures) {
  return Value::map({{"exec", Value::map({{"command", Value::list({"weft", "status", "-q"})}})},
                     {"periodSeconds", period},
                     {"timeoutSeconds", 10},
                     {"failureThreshold", failures}});
}

Value mount(std::string_view name, std::string_view path, bool read_only = false) {
  Value out = Value::map({{"name", name}, {"mountPath", path}});
  if (read_only) out.set("readOnly", true);
  return out;
}

Value container(const RenderInput& input, const std::vector<HostVolume>& volumes) {
  const std::string& registry = input.cluster.spec().security->registry.value;
  Value mounts = Value::list({mount("state", "/var/lib/weft"), mount("run", "/run/weft"), mount("tmp", "/tmp"),
                              mount("cluster", "/etc/weft", true)});
  for (const HostVolume& volume : volumes) mounts.add(mount(volume.name, volume.path));
  Value arguments = Value::list({"serve", "/etc/weft/cluster.yaml", "--engine", "kubernetes", "--namespace", kJobSpace,
                                 "--state", "/var/lib/weft/state", "--image", registry + "/pytorch:2"});
  Value context = Value::map({{"allowPrivilegeEscalation", false},
                              {"readOnlyRootFilesystem", true},
                              {"capabilities", Value::map({{"drop", Value::list({"ALL"})}})}});
  return Value::map({{"name", kName},
                     {"image", registry + "/weft:0.1"},
                     {"command", Value::list({"weft"})},
                     {"args", std::move(arguments)},
                     {"env", Value::list({Value::map({{"name", "WEFT_SOCKET"}, {"value", "/run/weft/weft.sock"}})})},
                     {"securityContext", std::move(context)},
                     {"resources", Value::map({{"requests", Value::map({{"cpu", "250m"}, {"memory", "512Mi"}})},
                                               {"limits", Value::map({{"cpu", "2"}, {"memory", "4Gi"}})}})},
                     // It waits for the lease of a weft that crashed, and reads its journal.
                     {"startupProbe", probe(5, 60)},
                     {"readinessProbe", probe(10, 3)},
                     {"livenessProbe", probe(30, 6)},
                     {"volumeMounts", std::move(mounts)}});
}

Value deployment(const RenderInput& input, const std::vector<HostVolume>& volumes) {
  Value list = Value::list(
      {Value::map({{"name", "state"}, {"persistentVolumeClaim", Value::map({{"claimName", "weft-state"}})}}),
       Value::map({{"name", "run"}, {"emptyDir", Value::map()}}),
       Value::map({{"name", "tmp"}, {"emptyDir", Value::map()}}),
       Value::map({{"name", "cluster"}, {"configMap", Value::map({{"name", "weft-cluster"}})}})});
  for (const HostVolume& volume : volumes) {
    list.add(
        Value::map({{"name", volume.name}, {"hostPath", Value::map({{"path", volume.path}, {"type", "Directory"}})}}));
  }
  Value pod =
      Value::map({{"serviceAccountName", kName},
                  {"automountServiceAccountToken", true},
                  {"enableServiceLinks", false},
                  {"terminationGracePeriodSeconds", 30},
                  {"securityContext", Value::map({{"runAsNonRoot", true},
                                                  {"runAsUser", kUser},
                                                  {"runAsGroup", kUser},
                                                  {"fsGroup", kUser},
                                                  {"seccompProfile", Value::map({{"type", "RuntimeDefault"}})}})},
                  {"containers", Value::list({container(input, volumes)})},
                  {"volumes", std::move(list)}});
  Value labels = Value::map({{std::string(kAppLabel), kName}});
  Value out = object("apps/v1", "Deployment", std::string(kName), kSpace);
  out["spec"] = Value::map(
      {{"replicas", 1},
       // Two at a time would compete for the lease and for the volume.
       {"strategy", Value::map({{"type", "Recreate"}})},
       {"selector", Value::map({{"matchLabels", labels}})},
       {"template", Value::map({{"metadata", Value::map({{"labels", labels}})}, {"spec", std::move(pod)}})}});
  return out;
}

}  // namespace

bool applies_kube_serve(const RenderInput& input) { return !kube::gpu_pools(input).empty(); }

void render_kube_serve(const RenderInput& input, FileSink& sink) {
  const std::string folder(kFolder);
  const std::vector<HostVolume> volumes = checkpoint_volumes(input);
  add_manifest(input, sink,
               {.path = folder + "10-namespaces.yaml",
                .what = "Namespaces of weft serve and of the pods of its jobs.",
                .consumer = "Kubernetes",
                .documents = {space_object(kSpace, !volumes.empty()), space_object(kJobSpace, !volumes.empty())},
                .sources = {"storage"}});
  add_manifest(input, sink,
               {.path = folder + "20-access.yaml",
                .what = "Permissions of weft serve: exactly the verbs that it uses. It checks them when it starts, and "
                        "names those that are missing.",
                .consumer = "Kubernetes",
                .documents = access(input),
                .sources = {"name"}});
  // In folders of their own: they are not applied with what drives the cluster alone.
  add_manifest(input, sink,
               {.path = folder + "leases/10-pods.yaml",
                .what = "In addition, for weft serve --engine slurm --engine kubernetes: list of the pods of all "
                        "namespaces.",
                .consumer = "Kubernetes",
                .documents = lease_access(input),
                .sources = {"name"}});
  add_manifest(input, sink,
               {.path = folder + "watch/10-read.yaml",
                .what = "Permissions of weft serve --mode watch, which only reads: list and watch of nodes and pods.",
                .consumer = "Kubernetes",
                .documents = watch_access(input, model::WatchAccess::reads),
                .sources = {"name"}});
  add_manifest(input, sink,
               {.path = folder + "watch/20-quarantine.yaml",
                .what = "In addition, for weft serve --mode watch --enable quarantine: taints of nodes.",
                .consumer = "Kubernetes",
                .documents = watch_access(input, model::WatchAccess::taints),
                .sources = {"name"}});
  add_manifest(input, sink,
               {.path = folder + "watch/30-drain.yaml",
                .what = "In addition, for weft serve --mode watch --enable drain: eviction of pods.",
                .consumer = "Kubernetes",
                .documents = watch_access(input, model::WatchAccess::evicts),
                .sources = {"name"}});
  add_manifest(input, sink,
               {.path = folder + "30-network.yaml",
                .what = "Allowed traffic of weft serve and of its jobs on the primary pod network.",
                .consumer = "Kubernetes",
                .documents = {weft_policy(), job_policy()},
                .sources = {"security.network_policy"}});
  add_manifest(input, sink,
               {.path = folder + "40-serve.yaml",
                .what = "weft serve. Needs the cluster file: kubectl create configmap weft-cluster -n weft "
                        "--from-file=cluster.yaml\nThe image is built by the site; --image is the default image of "
                        "jobs. A job file or manifest may name another.",
                .consumer = "Kubernetes",
                .documents = {state_claim(), deployment(input, volumes)},
                .stage = Stage::workloads,
                .sources = {"security.registry", "storage"}});
}

}  // namespace weft::render
