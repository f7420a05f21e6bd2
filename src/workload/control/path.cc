// State 1: from submit to running containers, by Kubernetes or by Slurm.
#include "workload/control/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/control/events.h"
#include "workload/control/image.h"

namespace weft::workload {
namespace {

// A round trip on the frontend through the network stacks of both ends.
constexpr double kRoundTrip = 100e-6;
// API server work per request without etcd: authenticate, validate, encode. The Kubernetes SLO is 1 s for the 99th
// percentile of writes; an idle server responds in a few milliseconds.
constexpr double kApiWork = 5e-3;
// fdatasync of etcd's log: at most 2 ms is recommended for loaded clusters (OpenShift, "Recommended etcd practices").
constexpr double kFsync = 2e-3;
// Quota and policy webhooks are called over HTTPS; ten times a plain request.
constexpr double kWebhook = 50e-3;
// Client rate limits: controllers 20 requests per second, burst 30 (controller-runtime's defaults); kube-scheduler 50
// and 100.
constexpr double kOperatorRate = 20;
constexpr double kOperatorBurst = 30;
constexpr double kSchedulerRate = 50;
constexpr double kSchedulerBurst = 100;
// kube-scheduler places about 100 pods per second (kubernetes/perf-tests' density tests of 5,000 nodes).
constexpr double kPodsPerSecond = 100;
// Evaluating one server takes about 10 us: slurmctld answers `sbatch --test-only` of 64 nodes among 4,096 in 0.04 s
// (measured, Slurm 22.05).
constexpr double kConsider = 10e-6;
// 99 % of pods start within 5 s, not counting the pull (Kubernetes' pod startup SLO); a gang waits for its slowest pod.
// The split into parts is our own.
constexpr double kKubelet = 0.5;
constexpr double kPodSetup = 2.0;
constexpr double kDevicePlugin = 0.1;
constexpr double kContainerStart = 2.4;
// Size of an object as sent by the API server.
constexpr double kObject = 8e3;
// Response time of sbatch: 100 in 1.0 s (measured, Slurm 22.05).
constexpr double kSbatch = 10e-3;
// Messages to slurmd are forwarded along a tree of this width (slurm.conf's TreeWidth), each hop a connection with
// munge.
constexpr double kTreeWidth = 50;
constexpr double kTreeHop = 10e-3;
// Prolog: health check of GPUs and links (dcgmi's quick test takes seconds).
constexpr double kProlog = 3.0;
// Rate of plain copies of a whole image on local drives: mksquashfs without compression (enroot's default) and
// unsquashfs.
constexpr double kSquash = 1e9;
// Layers are unpacked in parallel; the largest one, about three tenths of an image, sets the time.
constexpr double kLargestLayer = 0.3;
constexpr int kContainerdDownloads = 3;  // max_concurrent_downloads
constexpr int kEnrootDownloads = 10;     // ENROOT_MAX_CONNECTIONS

double beyond(double requests, double burst, double rate) { return std::max(0.0, requests - burst) / rate; }

std::string pull_detail(const ImagePull& pull, Bytes image) {
  return fmt::format("{} server{} x {} from {}, bound by {}", pull.servers, pull.servers == 1 ? "" : "s", about(image),
                     pull.from, pull.bound_by);
}

double pool_size(const model::Cluster& cluster, const model::JobSpec& job) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.name == *job.pool) return group.count;
  }
  return 0;
}

struct Submit {
  const model::Cluster& cluster;
  const model::JobSpec& job;
  const std::vector<model::DeviceId>& hosts;
  const ControlOptions& options;
  double nodes = 0;
  double gpus = 0;  // per server
};

void add_admission(const Submit& submit, StateBuilder& state) {
  const model::ControlPlaneSpec& control = *submit.cluster.spec().control_plane;
  const double members = std::max<double>(1, static_cast<double>(*control.etcd_members));
  const double commit = kFsync + (members > 1 ? kRoundTrip : 0);
  state.then({"kubectl apply", "HTTPS/TCP", Medium::frontend, 3 * kRoundTrip + kApiWork, kObject,
              "connection, TLS, and the job's specification to kube-apiserver"});
  state.then({"admission: quota and policy webhooks", "HTTPS/TCP", Medium::frontend, kWebhook, 2 * kObject,
              fmt::format("GPUs, RDMA devices{} are checked", *control.signed_images ? ", signatures of images" : "")});
  state.then({"job written to etcd", "gRPC/TCP", Medium::frontend, commit, members * kObject,
              fmt::format("{:.0f} members, a majority has it on disk", members)});
  // The operator creates a pod and a headless service per replica; each is an API write.
  const double requests = 2 * submit.nodes + 1;
  state.then({"operator creates pods and services", "HTTPS/TCP", Medium::frontend,
              kApiWork + commit + beyond(requests, kOperatorBurst, kOperatorRate), requests * (1 + members) * kObject,
              fmt::format("{:.0f} requests; a burst of {:.0f}, then {:.0f} per second", requests, kOperatorBurst,
                          kOperatorRate)});
}

void add_scheduling(const Submit& submit, StateBuilder& state) {
  const double candidates = pool_size(submit.cluster, submit.job);
  state.then({"gang scheduling: all pods or none", "HTTPS/TCP", Medium::frontend,
              std::max(submit.nodes / kPodsPerSecond, beyond(submit.nodes, kSchedulerBurst, kSchedulerRate)),
              submit.nodes * kObject,
              fmt::format("{:.0f} pods of {:.0f} GPUs bound together", submit.nodes, submit.gpus)});
  state.then({"topology-aware placement", "in the scheduler", Medium::host, candidates * kConsider, 0,
              fmt::format("{:.0f} servers considered, fewest leaves first", candidates)});
}

void add_pull(const Submit& submit, StateBuilder& state) {
  const ImagePull pull = image_pull(submit.cluster, submit.job, submit.hosts, submit.options, kContainerdDownloads);
  if (pull.servers == 0) {
    state.then({"image is already on the servers", "containerd", Medium::host, 0.01, 0, *submit.job.image});
    return;
  }
  state.then({"image pull", "HTTPS/TCP", Medium::frontend, pull.download, pull.bytes,
              pull_detail(pull, submit.options.image)});
  // Layers are unpacked in order on one core; the first can start once it is downloaded, about a tenth of the way.
  state.beside({"image unpack", "containerd", Medium::host, std::max(pull.unpack, 0.9 * pull.download), 0,
                fmt::format("gzip, layer by layer, {:.0f} MB/s", kUnpackRate / 1e6)},
               0.1 * pull.download);
}

void add_kubernetes(const Submit& submit, StateBuilder& state) {
  add_admission(submit, state);
  add_scheduling(submit, state);
  state.then({"kubelets receive their pods", "HTTPS/TCP watch", Medium::frontend, kKubelet, submit.nodes * kObject,
              "pod specification to each server"});
  add_pull(submit, state);
  state.then({"volumes and pod networks", "CSI, CNI", Medium::host, kPodSetup, 0,
              "mounts, primary network, one virtual function per RDMA NIC"});
  state.then({"device plugins", "gRPC on a local socket", Medium::host, kDevicePlugin, 0,
              fmt::format("/dev/nvidia0..{0:.0f} and /dev/infiniband/uverbs into the container", submit.gpus - 1)});
  state.then({"containers start", "OCI runtime", Medium::host, kContainerStart, 0, "pods running"});
}

void add_import(const Submit& submit, StateBuilder& state) {
  const ImagePull pull = image_pull(submit.cluster, submit.job, submit.hosts, submit.options, kEnrootDownloads);
  if (pull.servers == 0) {
    state.then({"image is already on the servers", "enroot", Medium::host, 0.01, 0, *submit.job.image});
    return;
  }
  state.then({"image import (pyxis, enroot)", "HTTPS/TCP", Medium::frontend, pull.download, pull.bytes,
              pull_detail(pull, submit.options.image)});
  const double unpacked = static_cast<double>(submit.options.image.count()) * kUnpackedSize;
  state.then({"image unpack and squashfs", "enroot", Medium::host, kLargestLayer * pull.unpack + 2 * unpacked / kSquash,
              0, "layers in parallel, then squashed and written to local drives"});
}

void add_slurm(const Submit& submit, StateBuilder& state) {
  const double candidates = pool_size(submit.cluster, submit.job);
  const double depth = std::max(1.0, std::ceil(std::log(std::max(2.0, submit.nodes)) / std::log(kTreeWidth)));
  state.then({"sbatch", "Slurm RPC/TCP, munge", Medium::frontend, kSbatch, kObject,
              "script and options to slurmctld, account and limits checked"});
  state.then({"slurmctld saves the job", "local file", Medium::host, kFsync, 0, "StateSaveLocation"});
  state.then({"scheduling: all nodes at once, topology/tree", "in slurmctld", Medium::host, candidates * kConsider, 0,
              fmt::format("{:.0f} servers considered, fewest leaves first", candidates)});
  state.then({"job launch to slurmd", "Slurm RPC/TCP", Medium::frontend, depth * kTreeHop, submit.nodes * kObject,
              fmt::format("a tree of width {:.0f}, depth {:.0f}", kTreeWidth, depth)});
  state.then({"prolog", "on each server", Medium::host, kProlog, 0, "health of GPUs and links"});
  state.then({"srun: step launch, PMIx", "Slurm RPC/TCP", Medium::frontend, 2 * depth * kTreeHop,
              submit.nodes * submit.gpus * 1e3, "tasks started, addresses exchanged"});
  add_import(submit, state);
  state.then({"cgroups and devices", "slurmstepd", Medium::host, kDevicePlugin, 0,
              fmt::format("/dev/nvidia0..{0:.0f} and /dev/infiniband/uverbs allowed", submit.gpus - 1)});
  state.then({"containers start", "enroot", Medium::host, kContainerStart, 0, "tasks running"});
}

bool by_slurm(const model::ControlPlaneSpec& control) {
  if (*control.kind == model::ControlKind::both) return *control.allocator != model::Allocator::kubernetes;
  return *control.kind == model::ControlKind::slurm;
}

}  // namespace

LifeState submit_state(const model::Cluster& cluster, const model::JobSpec& job,
                       const std::vector<model::DeviceId>& hosts, const ControlOptions& options) {
  CHECK(!hosts.empty(), "a job without servers");
  StateBuilder state(1, "Submit, schedule, pods running", SimTime(0));
  for (const model::FabricKind fabric :
       {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend, model::FabricKind::oob}) {
    state.capacity(static_cast<Medium>(fabric), fabric_capacity(cluster, hosts, fabric));
  }
  const Submit submit{
      cluster, job, hosts, options, static_cast<double>(hosts.size()), static_cast<double>(*job.gpus_per_node)};
  if (by_slurm(*cluster.spec().control_plane)) {
    add_slurm(submit, state);
  } else {
    add_kubernetes(submit, state);
  }
  return state.finish(Medium::frontend);
}

}  // namespace weft::workload
