// Alerts on GPU scheduling: Slurm's queue and nodes, Kubernetes pods and nodes.
#include <fmt/format.h>

#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kSource =
    "Metrics: prometheus-slurm-exporter (github.com/vpenso, and github.com/astappiev on port 9341: "
    "slurm_queue_pending,\n"
    "slurm_nodes_down, slurm_scheduler_dbd_queue_size); kube-state-metrics (docs/metrics). Neither exporter reports "
    "how long\n"
    "a job has waited: a queue that was not empty for hours is used instead.";

void add_queue(const Labels& slurm, std::vector<Alert>& out) {
  const std::string pending = "slurm_queue_pending" + selector(slurm);
  const TestSeries held{"slurm_queue_pending_dependency" + selector(slurm), "1+0x400"};
  out.push_back(
      {.name = "SlurmQueueWait",
       .expr = fmt::format("min_over_time((slurm_queue_pending - slurm_queue_pending_dependency)[{}h:5m]) > 0",
                           kQueueWaitHours),
       .wait = "30m",
       .severity = "warning",
       .fabric = "frontend",
       .summary = "Slurm jobs have been pending for hours",
       .description = fmt::format("At least {{{{ $value | printf \"%.0f\" }}}} jobs without dependencies were pending "
                                  "during the last {} hours.",
                                  kQueueWaitHours),
       .action = "Check squeue --start and sprio for the reason. If nodes are idle, see SlurmIdleWhileQueued. "
                 "Otherwise the cluster is full: check quotas, priorities, time limits.",
       .cases = {fires({{pending, "6+0x400"}, held}, "5h", slurm, "5"),
                 silent({{pending, "6+0x100 0+0x300"}, held}, "5h")}});
  const std::string idle = "slurm_nodes_idle" + selector(slurm);
  out.push_back({.name = "SlurmIdleWhileQueued",
                 .expr = "(slurm_queue_pending - slurm_queue_pending_dependency) > 0 and slurm_nodes_idle > 0",
                 .wait = "30m",
                 .severity = "warning",
                 .fabric = "frontend",
                 .summary = "Jobs are pending while nodes are idle",
                 .description = "{{ $value | printf \"%.0f\" }} jobs are pending although nodes are idle.",
                 .action = "Check for unsatisfiable constraints, fragmentation, a reservation, or "
                           "backfill limits (sdiag). squeue -o '%i %r' shows the reason.",
                 .cases = {fires({{pending, "3+0x90"}, held, {idle, "4+0x90"}}, "60m", slurm, "2"),
                           silent({{pending, "3+0x90"}, held, {idle, "0+0x90"}}, "60m")}});
}

void add_nodes(const Watch& watch, const Labels& slurm, std::vector<Alert>& out) {
  std::int64_t spares = 0;
  for (const PoolPlan& pool : watch.plan().pools()) {
    if (watch.plan().in_slurm(pool)) spares += pool.spec->spares.value;
  }
  const std::string down = "slurm_nodes_down" + selector(slurm);
  out.push_back(
      {.name = "SlurmNodesDown",
       .expr = fmt::format("slurm_nodes_down > {}", spares),
       .wait = "5m",
       .severity = "critical",
       .fabric = "frontend",
       .summary = "More Slurm nodes are down than there are spares",
       .description = fmt::format("{{{{ $value | printf \"%.0f\" }}}} nodes are down; there are {} spares.", spares),
       .action = "Check sinfo -R for the reasons. ServerDown lists unreachable servers.",
       .cases = {fires({{down, fmt::format("{}+0x60", spares + 1)}}, "20m", slurm, fmt::format("{}", spares + 1)),
                 silent({{down, fmt::format("{}+0x60", spares)}}, "20m")}});
  const std::string drained = "slurm_nodes_drain" + selector(slurm);
  out.push_back(
      {.name = "SlurmNodesDrained",
       .expr = "slurm_nodes_drain > 0",
       .wait = "4h",
       .severity = "info",
       .fabric = "frontend",
       .summary = "Slurm nodes remain drained",
       .description = "{{ $value | printf \"%.0f\" }} nodes are drained and have not been resumed.",
       .action = "Check sinfo -R; finish the repair, run acceptance/run.sh on the node, then scontrol update "
                 "state=resume.",
       .cases = {fires({{drained, "2+0x300"}}, "4h30m", slurm, "2"), silent({{drained, "0+0x300"}}, "4h30m")}});
  const std::string queue = "slurm_scheduler_dbd_queue_size" + selector(slurm);
  out.push_back(
      {.name = "SlurmAccountingBehind",
       .expr = "slurm_scheduler_dbd_queue_size > 1000",
       .wait = "10m",
       .severity = "warning",
       .fabric = "frontend",
       .summary = "slurmctld cannot deliver to slurmdbd",
       .description =
           "{{ $value | printf \"%.0f\" }} records are queued for slurmdbd; beyond MaxDBDMsgs they are lost, and "
           "limits are no longer enforced.",
       .action = "Check slurmdbd and its database: process, disk space, locks.",
       .cases = {fires({{queue, "5000+0x60"}}, "30m", slurm, "5000"), silent({{queue, "3+0x60"}}, "30m")}});
  const std::string up = "up" + selector(slurm);
  out.push_back(
      {.name = "SlurmUnwatched",
       .expr = "max by (job) (up{job=\"slurm\"}) == 0",
       .wait = "5m",
       .severity = "critical",
       .fabric = "frontend",
       .summary = "No Slurm controller is reachable",
       .description = "No Slurm exporter responds on any controller; slurmctld may be down. Running jobs continue, new "
                      "ones do not start.",
       .action = "Run scontrol ping; check slurmctld on the first controller, then the backup, and StateSaveLocation.",
       .cases = {fires({{up, "1+0x5 0+0x60"}}, "20m", {{"job", "slurm"}}), silent({{up, "1+0x60"}}, "20m")}});
}

void add_kubernetes(std::vector<Alert>& out) {
  const Labels pod = {
      {"job", "kube-state-metrics"}, {"namespace", "team-alpha"}, {"phase", "Pending"}, {"pod", "train-0"}};
  const std::string phase = "kube_pod_status_phase" + selector(pod);
  out.push_back(
      {.name = "PodsPending",
       .expr = "sum by (namespace) (kube_pod_status_phase{phase=\"Pending\"}) > 0",
       .wait = fmt::format("{}m", kPendingPodMinutes),
       .severity = "warning",
       .fabric = "frontend",
       .summary = "Pods of {{ $labels.namespace }} are pending",
       .description = "{{ $value | printf \"%.0f\" }} pods of {{ $labels.namespace }} are pending.",
       .action = "Run kubectl describe pod: quota, GPUs or virtual functions exhausted, taint, volume, image.",
       .cases = {fires({{phase, "1+0x60"}}, "30m", {{"namespace", "team-alpha"}}, "1"),
                 silent({{phase, "1+0x5 0+0x60"}}, "30m")}});
  const Labels node = {{"condition", "Ready"}, {"job", "kube-state-metrics"}, {"node", "train001"}, {"status", "true"}};
  const std::string ready = "kube_node_status_condition" + selector(node);
  out.push_back(
      {.name = "NodeNotReady",
       .expr = "kube_node_status_condition{condition=\"Ready\",status=\"true\"} == 0",
       .wait = "5m",
       .severity = "critical",
       .fabric = "frontend",
       .summary = "{{ $labels.node }} is not ready",
       .description = "Kubernetes node {{ $labels.node }} is not ready; its pods are being evicted.",
       .action =
           "If ServerDown fires too, check the server. Otherwise check kubelet, container runtime, disk pressure.",
       .cases = {fires({{ready, "1+0x5 0+0x60"}}, "20m", node), silent({{ready, "1+0x60"}}, "20m")}});
  const Labels container = {{"container", "vllm"},
                            {"job", "kube-state-metrics"},
                            {"namespace", "team-beta"},
                            {"pod", "chat-0"},
                            {"reason", "CrashLoopBackOff"}};
  const std::string loop = "kube_pod_container_status_waiting_reason" + selector(container);
  out.push_back({.name = "PodCrashes",
                 .expr = "kube_pod_container_status_waiting_reason{reason=\"CrashLoopBackOff\"} == 1",
                 .wait = "10m",
                 .severity = "warning",
                 .fabric = "frontend",
                 .summary = "{{ $labels.namespace }}/{{ $labels.pod }} is in CrashLoopBackOff",
                 .description =
                     "Container {{ $labels.container }} of {{ $labels.namespace }}/{{ $labels.pod }} restarts "
                     "repeatedly.",
                 .action = "Run kubectl logs --previous and inform the owner of the workload.",
                 .cases = {fires({{loop, "1+0x60"}}, "30m", container), silent({{loop, "0+0x60"}}, "30m")}});
}

}  // namespace

AlertGroup scheduling_alerts(const Watch& watch) {
  AlertGroup group{"scheduling", kSource, {}};
  if (watch.plan().has_slurm()) {
    const Labels slurm = {{"instance", "infra001"}, {"job", "slurm"}};
    add_queue(slurm, group.alerts);
    add_nodes(watch, slurm, group.alerts);
  }
  if (watch.plan().has_kubernetes()) add_kubernetes(group.alerts);
  return group;
}

}  // namespace weft::render::watch
