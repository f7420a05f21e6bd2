// Compute dashboards: the whole cluster on one page, GPUs, jobs.
#include <fmt/format.h>

#include "render/monitoring/dashboards.h"

namespace weft::render::watch {
namespace {

std::string title_of(const Watch& watch, std::string_view what) {
  return fmt::format("{}: {}", watch.cluster().name(), what);
}

std::string uid_of(std::string_view what) { return fmt::format("weft-{}", what); }

Panel number(std::string title, std::string expr, std::string unit) {
  return {.title = std::move(title),
          .type = "stat",
          .unit = std::move(unit),
          .queries = {{std::move(expr)}},
          .width = 4,
          .height = 4};
}

Panel alarm(std::string title, std::string expr) {
  Panel panel = number(std::move(title), std::move(expr), "short");
  panel.limited = true;
  panel.limit = 1;
  return panel;
}

Panel lines(std::string title, std::string unit, std::vector<Query> queries) {
  return {.title = std::move(title), .type = "timeseries", .unit = std::move(unit), .queries = std::move(queries)};
}

Panel limited(Panel panel, double limit, bool below = false) {
  panel.limited = true;
  panel.limit = limit;
  panel.below = below;
  return panel;
}

double highest_tdp(const Watch& watch) {
  std::int64_t watts = 0;
  for (const PoolPlan& pool : watch.plan().pools()) {
    if (pool.has_gpus()) watts = std::max(watts, pool.gpu->tdp->count() / 1000);
  }
  return static_cast<double>(watts);
}

double highest_nvlink(const Watch& watch) {
  std::int64_t rate = 0;
  for (const PoolPlan& pool : watch.plan().pools()) {
    if (pool.has_gpus() && pool.gpu->nvlink_bandwidth.has_value())
      rate = std::max(rate, pool.gpu->nvlink_bandwidth->per_second.count());
  }
  return static_cast<double>(rate);
}

constexpr std::string_view kGpu = "{pool=~\"$pool\",instance=~\"$instance\"}";

std::string gpu_metric(std::string_view name) { return std::string(name) + std::string(kGpu); }

}  // namespace

Dashboard overview_dashboard(const Watch& watch) {
  Dashboard out(uid_of("overview"), title_of(watch, "overview"));
  out.row("Current state");
  out.add(alarm("Critical alerts", "count(ALERTS{alertstate=\"firing\",severity=\"critical\"}) or vector(0)"));
  out.add(alarm("Servers down", "count(up{job=\"node\"} == 0) or vector(0)"));
  out.add(number("GPUs", "count(DCGM_FI_DEV_GPU_TEMP)", "short"));
  out.add(limited(number("GPU utilization", "avg(DCGM_FI_DEV_GPU_UTIL)", "percent"), kGpuBusyPercent, true));
  out.add(number("GPU power", "sum(DCGM_FI_DEV_POWER_USAGE)", "watt"));
  out.add(alarm("Ports down", "count(node_infiniband_state_id{fabric=~\"backend|storage\"} != 4) or vector(0)"));
  out.row("Alerts");
  out.add({.title = "Firing alerts",
           .type = "table",
           .unit = "short",
           .queries = {{"ALERTS{alertstate=\"firing\",severity=~\"critical|warning\"}"}},
           .width = 24,
           .height = 9});
  out.row("Fabrics");
  for (const model::FabricKind fabric : {model::FabricKind::backend, model::FabricKind::storage}) {
    if (!watch.fabric(fabric).present) continue;
    const std::string kind(model::to_text(fabric));
    out.add(lines(
        fmt::format("Host traffic, {}", kind), "Bps",
        {{fmt::format("sum(rate(node_infiniband_port_data_received_bytes_total{{fabric=\"{}\"}}[$__rate_interval]))",
                      kind),
          "received"},
         {fmt::format("sum(rate(node_infiniband_port_data_transmitted_bytes_total{{fabric=\"{}\"}}[$__rate_interval]))",
                      kind),
          "sent"}}));
  }
  out.add(lines("Host traffic, frontend", "Bps",
                {{"sum(rate(node_network_receive_bytes_total{fabric=\"frontend\"}[$__rate_interval]))", "received"},
                 {"sum(rate(node_network_transmit_bytes_total{fabric=\"frontend\"}[$__rate_interval]))", "sent"}}));
  out.add(limited(lines("Paths lost", "short", {{"count by (fabric) (probe_success == 0)", "{{fabric}}"}}), 1));
  return out;
}

Dashboard gpu_dashboard(const Watch& watch) {
  Dashboard out(uid_of("gpu"), title_of(watch, "GPUs"));
  out.variable("pool", "Pool", "DCGM_FI_DEV_GPU_TEMP");
  out.variable("instance", "Server", "DCGM_FI_DEV_GPU_TEMP{pool=~\"$pool\"}");
  const std::string legend = "{{instance}} {{gpu}}";
  out.row("Utilization");
  out.add(
      limited(lines("Utilization", "percent", {{gpu_metric("DCGM_FI_DEV_GPU_UTIL"), legend}}), kGpuBusyPercent, true));
  out.add(limited(lines("Memory used", "percent",
                        {{fmt::format("100 * {} / ({} + {})", gpu_metric("DCGM_FI_DEV_FB_USED"),
                                      gpu_metric("DCGM_FI_DEV_FB_USED"), gpu_metric("DCGM_FI_DEV_FB_FREE")),
                          legend}}),
                  kGpuMemoryPercent));
  out.add(lines("Tensor core activity", "percentunit", {{gpu_metric("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), legend}}));
  Panel nvlink = lines("NVLink", "Bps", {{"1e6 * " + gpu_metric("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"), legend}});
  if (highest_nvlink(watch) > 0)
    nvlink = limited(std::move(nvlink), highest_nvlink(watch) * kNvlinkPercent / 100, true);
  out.add(std::move(nvlink));
  out.row("Temperature and power");
  out.add(limited(lines("Power", "watt", {{gpu_metric("DCGM_FI_DEV_POWER_USAGE"), legend}}), highest_tdp(watch)));
  out.add(limited(lines("Temperature", "celsius", {{gpu_metric("DCGM_FI_DEV_GPU_TEMP"), legend}}), kGpuCelsius));
  out.add(limited(lines("Memory temperature", "celsius", {{gpu_metric("DCGM_FI_DEV_MEMORY_TEMP"), legend}}),
                  kGpuMemoryCelsius));
  out.add(lines("SM clock", "rotmhz", {{gpu_metric("DCGM_FI_DEV_SM_CLOCK"), legend}}));
  out.row("Errors");
  out.add(limited(lines("Single-bit errors per hour", "short",
                        {{fmt::format("increase({}[1h])", gpu_metric("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL")), legend}}),
                  1));
  out.add(limited(lines("Double-bit errors", "short", {{gpu_metric("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"), legend}}), 1));
  out.add(limited(lines("Last XID", "short", {{gpu_metric("DCGM_FI_DEV_XID_ERRORS"), legend}}), 1));
  out.add(lines("PCIe retries", "cps",
                {{fmt::format("rate({}[$__rate_interval])", gpu_metric("DCGM_FI_DEV_PCIE_REPLAY_COUNTER")), legend}}));
  return out;
}

Dashboard jobs_dashboard(const Watch& watch) {
  Dashboard out(uid_of("jobs"), title_of(watch, "jobs"));
  if (watch.plan().has_slurm()) {
    out.row("Slurm");
    out.add(limited(lines("Jobs", "short",
                          {{"slurm_queue_pending - slurm_queue_pending_dependency", "waiting"},
                           {"slurm_queue_pending_dependency", "held by a dependency"},
                           {"slurm_queue_running", "running"}}),
                    1));
    out.add(lines("Nodes", "short",
                  {{"slurm_nodes_alloc", "allocated"},
                   {"slurm_nodes_mix", "partly"},
                   {"slurm_nodes_idle", "idle"},
                   {"slurm_nodes_drain", "drained"},
                   {"slurm_nodes_down", "down"}}));
    out.add(lines("Scheduling cycle", "µs",
                  {{"slurm_scheduler_mean_cycle", "main"}, {"slurm_scheduler_backfill_mean_cycle", "backfill"}}));
    out.add(
        limited(lines("Records queued for slurmdbd", "short", {{"slurm_scheduler_dbd_queue_size", "records"}}), 1000));
  }
  if (watch.plan().has_kubernetes()) {
    out.row("Kubernetes");
    out.add(limited(lines("Pending pods", "short",
                          {{"sum by (namespace) (kube_pod_status_phase{phase=\"Pending\"})", "{{namespace}}"}}),
                    1));
    out.add(lines(
        "GPUs asked for", "short",
        {{"sum by (namespace) (kube_pod_container_resource_requests{resource=~\"nvidia_com_.*\"})", "{{namespace}}"}}));
    out.add(lines("Quota used", "percentunit",
                  {{"sum by (namespace, resource) (kube_resourcequota{type=\"used\"}) / sum by (namespace, resource) "
                    "(kube_resourcequota{type=\"hard\"} > 0)",
                    "{{namespace}} {{resource}}"}}));
    out.add(limited(
        lines("Nodes not ready", "short",
              {{"count(kube_node_status_condition{condition=\"Ready\",status=\"true\"} == 0) or vector(0)", "nodes"}}),
        1));
  }
  out.row("Bottlenecks");
  out.add(limited(lines("GPU utilization by pool", "percent", {{"avg by (pool) (DCGM_FI_DEV_GPU_UTIL)", "{{pool}}"}}),
                  kGpuBusyPercent, true));
  out.add(lines("Port utilization by fabric", "percentunit",
                {{"avg by (fabric) (weft:port_receive:ratio)", "{{fabric}}"}}));
  return out;
}

}  // namespace weft::render::watch
