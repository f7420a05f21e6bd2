// HO020 to HO039: NCCL settings and pod specification of training pods and batch scripts.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/quantity.h"
#include "base/text.h"
#include "check/core/host_rule_tools.h"
#include "config/host_text.h"
#include "config/kube_objects.h"

namespace weft::check {
namespace {

bool runs_collectives(const config::AppConfig& app) { return is_training(app) || is_batch_script(app); }

// A variable with a known, non-empty value; null otherwise.
const config::Setting<std::string>* value_of(const config::AppConfig& app, std::string_view name) {
  const config::Setting<std::string>* setting = app.variable(name);
  return setting != nullptr && setting->known() && !setting->value.empty() ? setting : nullptr;
}

std::size_t count_backend(const AttachmentIndex& attachments, const config::AppConfig& app) {
  return static_cast<std::size_t>(
      std::count_if(app.networks.begin(), app.networks.end(), [&](const config::AppConfig::Network& network) {
        const AttachmentIndex::Entry* entry = attachments.find(network.name, app.space);
        return entry != nullptr && entry->backend;
      }));
}

void check_nccl_adapters(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  const AttachmentIndex attachments(input);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_training(app) || app.more_environment || count_backend(attachments, app) == 0) continue;
    if (app.variable("NCCL_IB_HCA") != nullptr || app.variable("UCX_NET_DEVICES") != nullptr) continue;
    findings.add(app, app.networks.front().place, "does not set `NCCL_IB_HCA`: NCCL uses the storage adapters too");
  }
}

void check_nccl_bootstrap_interface(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_training(app) || app.networks.empty()) continue;
    const config::Setting<std::string>* value = app.variable("NCCL_SOCKET_IFNAME");
    if (value == nullptr) {
      if (app.more_environment) continue;
      findings.add(app, app.networks.front().place,
                   "does not set `NCCL_SOCKET_IFNAME`: with several interfaces, NCCL may bootstrap over any of them");
      continue;
    }
    if (!value->known() || (**value).starts_with("^")) continue;
    const bool exact = (**value).starts_with("=");
    const auto interfaces = interfaces_of(app);
    for (const std::string_view name : split(std::string_view(**value).substr(exact ? 1 : 0), ',')) {
      const bool there = std::any_of(interfaces.begin(), interfaces.end(), [&](const std::string& interface) {
        return exact ? interface == name : interface.starts_with(name);
      });
      if (there || name.empty()) continue;
      findings.add(app, value->place,
                   fmt::format("bootstraps NCCL over `{}`, but its pods have {}", name, fmt::join(interfaces, ", ")));
    }
  }
}

// "mlx5_0,mlx5_1:1": names of one adapter each. Empty if the list contains a pattern.
std::vector<std::string_view> exact_adapters(std::string_view list) {
  if (list.starts_with("^")) return {};
  if (list.starts_with("=")) list.remove_prefix(1);
  std::vector<std::string_view> names = split(list, ',');
  for (std::string_view& name : names) {
    name = name.substr(0, name.find(':'));
    if (name.empty() || name.back() < '0' || name.back() > '9' || !contains(name, "_")) return {};
  }
  return names;
}

void check_nccl_adapter_count(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  const AttachmentIndex attachments(input);
  const bool rails_known = fabric_spec(input, model::FabricKind::backend) != nullptr;
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* value = value_of(app, "NCCL_IB_HCA");
    if (value == nullptr || !runs_collectives(app)) continue;
    std::vector<std::string_view> names = exact_adapters(**value);
    if (names.empty()) continue;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::size_t wanted = count_backend(attachments, app);
    if (is_batch_script(app) && rails_known) wanted = input.cluster().fabric(model::FabricKind::backend).rails;
    if (wanted == 0 || names.size() == wanted) continue;
    findings.add(app, value->place,
                 fmt::format("lists {} adapters for NCCL (`NCCL_IB_HCA`), but has {} backend {}", names.size(), wanted,
                             is_batch_script(app) ? "rails" : "networks"));
  }
}

void check_nccl_gid_index(const CheckInput& input, Report& report) {
  const config::AppConfig* first = nullptr;
  const config::Setting<std::string>* index = nullptr;
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* value = value_of(app, "NCCL_IB_GID_INDEX");
    if (value == nullptr) continue;
    if (first == nullptr) {
      first = &app;
      index = value;
    } else if (**value != **index) {
      Finding& finding = report.add(
          app.name, value->place,
          fmt::format("{} uses GID index {}, {} uses {}", describe(app), **value, describe(*first), **index));
      finding.related.push_back(related(index->place, "the other index"));
      return;
    }
  }
}

// NCCL's own InfiniBand transport is disabled in favor of a plugin: libfabric on EFA or Slingshot, UCX.
bool has_network_plugin(const config::AppConfig& app) {
  const config::Setting<std::string>* net = value_of(app, "NCCL_NET");
  if (net != nullptr && to_lower(**net) == "socket") return false;
  return net != nullptr || value_of(app, "FI_PROVIDER") != nullptr || value_of(app, "NCCL_NET_PLUGIN") != nullptr;
}

void report_value(const CheckInput& input, Report& report, std::string_view name,
                  std::initializer_list<std::string_view> bad, std::string_view what,
                  bool (*excused)(const config::AppConfig&) = nullptr) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* value = value_of(app, name);
    if (value == nullptr || std::find(bad.begin(), bad.end(), **value) == bad.end()) continue;
    if (excused != nullptr && excused(app)) continue;
    findings.add(app, value->place, fmt::format("sets {}={}: {}", name, **value, what));
  }
}

void check_nccl_rdma(const CheckInput& input, Report& report) {
  report_value(input, report, "NCCL_IB_DISABLE", {"1"}, "collectives go over TCP", has_network_plugin);
  report_value(input, report, "NCCL_NET", {"Socket", "socket"}, "collectives go over TCP");
}

void check_nccl_peer_transfer(const CheckInput& input, Report& report) {
  report_value(input, report, "NCCL_P2P_DISABLE", {"1"}, "GPUs of a server no longer use NVLink");
  report_value(input, report, "NCCL_SHM_DISABLE", {"1"}, "GPUs of a server communicate through the network");
}

void check_nccl_gpudirect(const CheckInput& input, Report& report) {
  report_value(input, report, "NCCL_NET_GDR_LEVEL", {"LOC", "0"}, "every byte is copied through host memory");
}

// The first pair of consecutive backend networks of the app without a route from one to the other's subnet.
const config::AttachmentConfig* cut_off(const AttachmentIndex& attachments, const config::AppConfig& app,
                                        const config::AttachmentConfig** other) {
  std::vector<const config::AttachmentConfig*> rails;
  for (const config::AppConfig::Network& network : app.networks) {
    const AttachmentIndex::Entry* entry = attachments.find(network.name, app.space);
    if (entry != nullptr && entry->backend && !entry->attachment->subnets.empty()) rails.push_back(entry->attachment);
  }
  for (std::size_t i = 0; i + 1 < rails.size(); ++i) {
    const Ipv4Prefix& target = *rails[i + 1]->subnets.front();
    const auto& routes = rails[i]->routes;
    const bool reaches = rails[i]->subnets.front().value.overlaps(target) ||
                         std::any_of(routes.begin(), routes.end(), [&](const config::AttachmentConfig::Route& route) {
                           return route.destination.contains(target);
                         });
    if (reaches) continue;
    *other = rails[i + 1];
    return rails[i];
  }
  return nullptr;
}

void check_nccl_cross_nic(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  const AttachmentIndex attachments(input);
  const model::FabricSpec* backend = fabric_spec(input, model::FabricKind::backend);
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* value = value_of(app, "NCCL_CROSS_NIC");
    if (value == nullptr || **value != "1") continue;
    if (backend != nullptr && backend->wiring.has_value() && backend->wiring.value == model::Wiring::rail_only) {
      findings.add(app, value->place,
                   "allows NCCL to send between rails, but rails of this backend are not connected to each other",
                   {related(backend->wiring.place, "rail-only")});
      continue;
    }
    const config::AttachmentConfig* other = nullptr;
    const config::AttachmentConfig* from = cut_off(attachments, app, &other);
    if (from == nullptr) continue;
    findings.add(app, value->place,
                 fmt::format("allows NCCL to send between rails, but `{}` has no route to {} of `{}`", from->name,
                             to_text(*other->subnets.front()), other->name),
                 {related(from->place, "its routes")});
  }
}

void check_training_sidecars(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_training(app) || app.containers.size() < 2) continue;
    findings.add(app, app.place,
                 fmt::format("runs {} containers per pod: {}", app.containers.size(), fmt::join(app.containers, ", ")));
  }
}

const config::AppConfig::Variable* find_pair(const std::vector<config::AppConfig::Variable>& list,
                                             std::string_view name) {
  for (const config::AppConfig::Variable& entry : list) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

// Whether the pod's own annotations enable (or disable) proxy injection by a service mesh.
const config::AppConfig::Variable* mesh_choice(const config::AppConfig& app) {
  for (const char* name : {"sidecar.istio.io/inject", "linkerd.io/inject"}) {
    if (const auto* label = find_pair(app.labels, name)) return label;
    if (const auto* annotation = find_pair(app.annotations, name)) return annotation;
  }
  return nullptr;
}

void check_training_service_mesh(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  const ObjectIndex objects(input.config());
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_training(app)) continue;
    if (const config::AppConfig::Variable* choice = mesh_choice(app)) {
      if (*choice->value == "true" || *choice->value == "enabled") {
        findings.add(app, choice->value.place,
                     fmt::format("allows a service mesh to inject its proxy into the pods ({})", choice->name));
      }
      continue;
    }
    const config::KubeObject* space = objects.find("Namespace", "", app.space);
    const YamlNode* labels = space == nullptr ? nullptr : space->at("metadata.labels");
    const YamlNode* injection = config::node_at(labels, "istio-injection");
    if (config::text_of(injection) != "enabled") continue;
    findings.add(app, injection->place,
                 fmt::format("is in namespace `{}`, where a service mesh injects its proxy into every pod", app.space));
  }
}

void check_training_shared_memory(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const std::int64_t gpus = count_requested_gpus(app);
    if (!is_training(app) || gpus < 2 || app.kind == "TrainJob") continue;
    if (!app.shared_memory.known()) {
      findings.add(app, app.place,
                   fmt::format("has no /dev/shm volume for {} GPUs: the container runtime's default is 64 MiB", gpus));
      continue;
    }
    const auto size = parse_bytes(*app.shared_memory);
    if (!size || size->count() >= gpus * (std::int64_t{1} << 30)) continue;
    findings.add(app, app.shared_memory.place,
                 fmt::format("has {} of /dev/shm for {} GPUs; the minimum is 1 GiB per GPU", *app.shared_memory, gpus));
  }
}

void check_training_dataset_mounts(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_training(app)) continue;
    for (const config::AppConfig::Mount& mount : app.mounts) {
      const bool dataset = sounds_like_dataset(input, mount.claim) || sounds_like_dataset(input, mount.volume);
      if (!dataset || mount.claim.empty() || (mount.read_only.known() && *mount.read_only)) continue;
      findings.add(app, mount.read_only.given() ? mount.read_only.place : mount.place,
                   fmt::format("mounts the dataset `{}` read-write at {}", mount.claim, mount.path));
    }
  }
}

struct ClaimUse {
  const config::AppConfig::Mount* dataset = nullptr;
  const config::AppConfig::Mount* checkpoint = nullptr;
};

ClaimUse claims_of(const CheckInput& input, const config::AppConfig& app) {
  ClaimUse use;
  for (const config::AppConfig::Mount& mount : app.mounts) {
    if (mount.claim.empty()) continue;
    if (sounds_like_checkpoint(input, mount.path) || sounds_like_checkpoint(input, mount.claim))
      use.checkpoint = &mount;
    if (sounds_like_dataset(input, mount.path) || sounds_like_dataset(input, mount.claim)) use.dataset = &mount;
  }
  return use;
}

void check_checkpoint_claims(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  const ObjectIndex objects(input.config());
  for (const config::AppConfig& app : input.config().apps) {
    const ClaimUse use = claims_of(input, app);
    if (use.dataset == nullptr || use.checkpoint == nullptr || use.dataset == use.checkpoint) continue;
    if (use.dataset->claim == use.checkpoint->claim) {
      findings.add(app, use.checkpoint->place,
                   fmt::format("stores dataset and checkpoints on one claim, `{}`", use.dataset->claim));
      continue;
    }
    const config::KubeObject* data = objects.find("PersistentVolumeClaim", app.space, use.dataset->claim);
    const config::KubeObject* state = objects.find("PersistentVolumeClaim", app.space, use.checkpoint->claim);
    if (data == nullptr || state == nullptr) continue;
    const YamlNode* data_class = data->at("spec.storageClassName");
    const YamlNode* state_class = state->at("spec.storageClassName");
    if (config::text_of(data_class).empty() || config::text_of(data_class) != config::text_of(state_class)) continue;
    findings.add(app, state_class->place,
                 fmt::format("stores dataset and checkpoints in one storage class, `{}`", config::text_of(state_class)),
                 {related(data_class->place, "the dataset's")});
  }
}

void check_privileged_gpu_pods(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (app.kind == "DaemonSet" || count_requested_gpus(app) == 0 || !app.privileged.known() || !*app.privileged)
      continue;
    findings.add(app, app.privileged.place,
                 "runs privileged: it has full access to the node and to the GPUs of every tenant on it");
  }
}

void check_host_network_gpu_pods(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (app.kind == "DaemonSet" || count_requested_gpus(app) == 0 || !app.host_network.known() || !*app.host_network)
      continue;
    findings.add(app, app.host_network.place, "uses the host network: it has access to every fabric of the server");
  }
}

}  // namespace

std::vector<Rule> host_job_rules() {  // NOLINT(readability-function-size): a table
  constexpr auto kConfig = RuleNeeds::config;
  return {
      {.id = "HO020",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "NCCL_IB_HCA is not set",
       .reason = "NCCL uses every RDMA device it finds. With storage rails in the pod, gradients and storage reads "
                 "share them.",
       .source = "Container Networking Architecture for AI Workloads (Patel), practical wiring: NCCL_IB_HCA",
       .fix = "set `NCCL_IB_HCA` to the backend's adapters",
       .example = {.file = "running/train-job.yaml", .from = "name: NCCL_IB_HCA,", .to = "name: NCCL_IB_HCA_UNSET,"},
       .run = check_nccl_adapters},
      {.id = "HO021",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "the NCCL bootstrap interface is missing or not set",
       .reason = "The NCCL bootstrap needs an interface that all ranks can reach; a wrong name ends in \"no socket "
                 "interface found\".",
       .source = "NCCL environment variables: NCCL_SOCKET_IFNAME; Juniper validated design: bootstrap on the frontend",
       .fix = "set `NCCL_SOCKET_IFNAME` to the pod's frontend interface",
       .example = {.file = "running/train-job.yaml",
                   .from = "name: NCCL_SOCKET_IFNAME, value: eth0",
                   .to = "name: NCCL_SOCKET_IFNAME, value: bond0"},
       .run = check_nccl_bootstrap_interface},
      {.id = "HO022",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "NCCL_IB_HCA does not match the number of rails",
       .reason = "A rail that is not listed is idle; an extra adapter belongs to another fabric.",
       .source = "Container Networking Architecture for AI Workloads (Patel), dual-rail usage: NCCL_IB_HCA maps to "
                 "net1, net2",
       .fix = "list one adapter per backend network",
       .example = {.file = "running/train-job.yaml", .from = "mlx5_6,mlx5_7", .to = "mlx5_6"},
       .run = check_nccl_adapter_count},
      {.id = "HO023",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "jobs use different GID indices",
       .reason = "The index selects RoCE v1 or v2 and the address. If two jobs differ, one of them uses the wrong "
                 "entry, or GID indices differ between nodes.",
       .source = "NVIDIA/nccl NCCL_IB_GID_INDEX: selected automatically since 2.21",
       .fix = "use one index everywhere, or leave it unset",
       .example = {.file = "running/train.sbatch", .from = "NCCL_IB_GID_INDEX=3", .to = "NCCL_IB_GID_INDEX=1"},
       .run = check_nccl_gid_index},
      {.id = "HO024",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "RDMA is disabled",
       .reason = "The variable is meant for debugging; it costs most of the bandwidth of every collective.",
       .source = "NCCL environment variables: NCCL_IB_DISABLE is for debugging",
       .fix = "remove the variable",
       .example = {.file = "running/train-job.yaml",
                   .from = "name: NCCL_IB_DISABLE, value: \"0\"",
                   .to = "name: NCCL_IB_DISABLE, value: \"1\""},
       .run = check_nccl_rdma},
      {.id = "HO025",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "direct transfer between GPUs is disabled",
       .reason = "Traffic inside the server uses host memory or the network instead of NVLink.",
       .source = "NCCL environment variables: NCCL_P2P_DISABLE, NCCL_SHM_DISABLE are for debugging",
       .fix = "remove the variable",
       .example = {.file = "running/train-job.yaml",
                   .from = "name: NCCL_P2P_DISABLE, value: \"0\"",
                   .to = "name: NCCL_P2P_DISABLE, value: \"1\""},
       .run = check_nccl_peer_transfer},
      {.id = "HO026",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "GPUDirect RDMA is disabled",
       .reason = "NICs no longer access GPU memory directly; each byte crosses host memory twice.",
       .source = "NCCL environment variables: NCCL_NET_GDR_LEVEL LOC means never",
       .fix = "use PHB or PIX, or leave the variable unset",
       .example = {.file = "running/train-job.yaml",
                   .from = "name: NCCL_NET_GDR_LEVEL, value: PHB",
                   .to = "name: NCCL_NET_GDR_LEVEL, value: LOC"},
       .run = check_nccl_gpudirect},
      {.id = "HO027",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "NCCL may use paths between rails that are not connected",
       .reason = "NCCL_CROSS_NIC only declares that rails can reach each other; NCCL does not detect it. Queue pairs "
                 "across rails then time out.",
       .source = "NVIDIA/nccl #1933 and #2193",
       .fix = "set `NCCL_CROSS_NIC=0`, or route between the rails",
       .example = {.file = "running/train-job.yaml",
                   .from = "name: NCCL_CROSS_NIC, value: \"0\"",
                   .to = "name: NCCL_CROSS_NIC, value: \"1\""},
       .run = check_nccl_cross_nic},
      {.id = "HO028",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a training pod has a sidecar",
       .reason = "It takes CPU cores from the ranks, interferes with RDMA and complicates start and completion of a "
                 "large gang.",
       .source = "Container Networking Architecture for AI Workloads (Patel), sidecar container: avoided in GPU "
                 "training pods",
       .fix = "move it into a DaemonSet, or into an init container",
       .example = {.file = "running/train-job.yaml",
                   .from = "          containers:\n            - name: pytorch\n",
                   .to = "          containers:\n            - {name: logs, image: "
                         "\"registry.example.com/ai/logs:2.1\"}\n            - name: pytorch\n"},
       .run = check_training_sidecars},
      {.id = "HO029",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a service mesh is injected into training pods",
       .reason = "The proxy intercepts the pod's traffic and does not exit with the job: ranks stall and jobs never "
                 "complete.",
       .source = "Container Networking Architecture for AI Workloads (Patel): mesh on frontend namespaces only, never "
                 "sidecar the training pods",
       .fix = "set `sidecar.istio.io/inject: \"false\"`",
       .example = {.file = "running/train-job.yaml",
                   .from = "sidecar.istio.io/inject: \"false\"",
                   .to = "sidecar.istio.io/inject: \"true\""},
       .run = check_training_service_mesh},
      {.id = "HO030",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a training pod has too little shared memory",
       .reason =
           "Data loaders and NCCL exchange data through /dev/shm; when it is full, processes are killed with SIGBUS.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): emptyDir of medium Memory, 32Gi for 8 GPUs",
       .fix = "mount an emptyDir of medium Memory at /dev/shm, at least 1 GiB per GPU",
       .example = {.file = "running/train-job.yaml", .from = "sizeLimit: 64Gi", .to = "sizeLimit: 64Mi"},
       .run = check_training_shared_memory},
      {.id = "HO031",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a training job mounts its dataset read-write",
       .reason = "One faulty job can corrupt the data of all later runs without being noticed.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode), storage: a compromised node corrupts "
                 "training data",
       .fix = "mount it with `readOnly: true`",
       .example = {.file = "running/train-job.yaml",
                   .from = "mountPath: /data, readOnly: true",
                   .to = "mountPath: /data, readOnly: false"},
       .run = check_training_dataset_mounts},
      {.id = "HO032",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "checkpoints and datasets share storage",
       .reason = "A checkpoint of all ranks delays the reads of every other job, and one failure affects both.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), storage resiliency: separate failure domain and paths",
       .fix = "store checkpoints on a separate storage system",
       .example = {.file = "running/storage.yaml",
                   .from = "accessModes: [ReadWriteMany]\n  storageClassName: archive-nfs",
                   .to = "accessModes: [ReadWriteMany]\n  storageClassName: scratch-nvme"},
       .run = check_checkpoint_claims},
      {.id = "HO033",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a GPU pod runs privileged",
       .reason = "It can read other tenants' memory, devices and secrets on the node. RDMA needs only the capability "
                 "IPC_LOCK.",
       .source = "Kubernetes Pod Security Standards, baseline: privileged containers are disallowed",
       .fix = "remove `privileged`; add the capability IPC_LOCK if memory must be pinned",
       .example = {.file = "running/train-job.yaml", .from = "privileged: false", .to = "privileged: true"},
       .run = check_privileged_gpu_pods},
      {.id = "HO034",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a GPU pod uses the host network",
       .reason = "It bypasses network policies and can use any fabric of the server, including out-of-band paths; two "
                 "such pods conflict on ports.",
       .source = "Kubernetes Pod Security Standards, baseline: host namespaces are disallowed",
       .fix = "attach the rails with Multus instead",
       .example = {.file = "running/train-job.yaml",
                   .from = "          schedulerName: slurm-bridge-scheduler\n",
                   .to = "          schedulerName: slurm-bridge-scheduler\n          hostNetwork: true\n"},
       .run = check_host_network_gpu_pods},
  };
}

}  // namespace weft::check
