#include "render/kube/gpu_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weft::render::kube_platform {
namespace {

Value enabled(bool on) { return Value::map({{"enabled", on}}); }

Value config_map(std::string_view name, Value data) {
  Value document = object("v1", "ConfigMap", std::string(name), kGpuOperatorSpace);
  document.set("data", std::move(data));
  return document;
}

bool any(const RenderInput& input, bool (*is)(const PoolPlan&)) {
  const auto pools = nvidia_pools(input);
  return std::any_of(pools.begin(), pools.end(), [&](const PoolPlan* pool) { return is(*pool); });
}

std::string mig_strategy(const RenderInput& input) { return any(input, has_mig) ? "mixed" : "none"; }

// Device-plugin name of a MIG profile: the '+' in "1g.10gb+me" is not allowed in a resource name.
std::string mig_resource(std::string_view profile) {
  std::string name = fmt::format("{}mig-{}", kResourcePrefix, profile);
  std::replace(name.begin(), name.end(), '+', '.');
  return name;
}

Value sharing_of(const PoolPlan& pool, const std::string& strategy) {
  Value resources = Value::list();
  const auto add = [&](std::string name) {
    resources.add(Value::map({{"name", std::move(name)}, {"replicas", pool.spec->time_slices.value}}));
  };
  if (!has_mig(pool)) add(std::string(kResourcePrefix) + "gpu");
  for (const auto& [profile, count] : pool.spec->mig.value) {
    if (count.value > 0) add(mig_resource(profile));
  }
  // Two time slices give no more GPU time than one: a container that requests two is rejected.
  Value slicing = Value::map(
      {{"renameByDefault", false}, {"failRequestsGreaterThanOne", true}, {"resources", std::move(resources)}});
  return Value::map({{"version", "v1"},
                     {"flags", Value::map({{"migStrategy", strategy}})},
                     {"sharing", Value::map({{"timeSlicing", std::move(slicing)}})}});
}

struct Metric {
  std::string_view field;
  std::string_view type;
  std::string_view help;  // without commas: the file has three columns
};
constexpr auto kMetrics = std::to_array<Metric>({
    {"DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (%)"},
    {"DCGM_FI_DEV_FB_USED", "gauge", "Frame buffer memory used (MiB)"},
    {"DCGM_FI_DEV_FB_FREE", "gauge", "Frame buffer memory free (MiB)"},
    {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "Data over all NVLink lanes (kB)"},
    {"DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (W)"},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "Corrected single-bit memory errors since the driver was loaded"},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Uncorrected double-bit memory errors since the driver was loaded"},
    {"DCGM_FI_DEV_XID_ERRORS", "gauge", "Last XID error"},
    {"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (C)"},
    {"DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (C)"},
    {"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock (MHz)"},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe retries"},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Row remapping failed"},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Memory rows remapped for uncorrectable errors"},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Fraction of time with the graphics or compute engine active"},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Fraction of cycles with the tensor pipe active"},
    {"DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Fraction of cycles with memory active"},
});

}  // namespace

std::vector<const PoolPlan*> nvidia_pools(const RenderInput& input) {
  std::vector<const PoolPlan*> pools = gpu_pools(input);
  std::erase_if(pools, [](const PoolPlan* pool) { return pool->gpu->vendor.value != "NVIDIA"; });
  return pools;
}

bool has_mig(const PoolPlan& pool) {
  const auto& mig = pool.spec->mig.value;
  return std::any_of(mig.begin(), mig.end(), [](const auto& entry) { return entry.second.value > 0; });
}

bool has_time_slices(const PoolPlan& pool) { return pool.spec->time_slices.value > 1; }

Value operator_settings(const RenderInput& input) {
  // Slurm jobs run beside the kubelet with the host's driver; without Slurm, containers provide it. Either way NCCL
  // accesses GPU memory through DMA-BUF (open kernel modules, in-kernel mlx5), so nvidia-peermem is not needed.
  const bool driver = !input.plan.has_slurm();
  const bool metrics = input.cluster.spec().operations->gpu_metrics.value;
  Value daemonsets = Value::map({{"priorityClassName", "system-node-critical"},
                                 {"updateStrategy", "RollingUpdate"},
                                 {"rollingUpdate", Value::map({{"maxUnavailable", "1"}})}});
  if (Value tolerations = tolerations_of(nvidia_pools(input)); !tolerations.empty()) {
    daemonsets.set("tolerations", std::move(tolerations));
  }
  Value plugin = enabled(true);
  if (any(input, has_time_slices)) {
    plugin.set("config", Value::map({{"name", kSharingConfig}, {"default", kWholeGpus}}));
  }
  Value manager = enabled(any(input, has_mig));
  if (any(input, has_mig)) manager.set("config", Value::map({{"name", kMigConfig}, {"default", "all-disabled"}}));
  Value exporter = enabled(metrics);
  if (metrics) exporter.set("config", Value::map({{"name", kMetricsConfig}}));
  exporter.set("serviceMonitor", enabled(false));
  return Value::map({{"operator", Value::map({{"runtimeClass", "nvidia"}})},
                     {"daemonsets", std::move(daemonsets)},
                     {"driver", enabled(driver).set("kernelModuleType", "open").set("rdma", enabled(false))},
                     {"toolkit", enabled(true)},
                     {"cdi", enabled(true)},
                     {"devicePlugin", std::move(plugin)},
                     {"mig", Value::map({{"strategy", mig_strategy(input)}})},
                     {"migManager", std::move(manager)},
                     {"gfd", enabled(true)},
                     {"dcgm", enabled(false)},
                     {"dcgmExporter", std::move(exporter)},
                     {"nodeStatusExporter", enabled(true)},
                     {"gdrcopy", enabled(driver)},
                     {"gds", enabled(false)},
                     {"sandboxWorkloads", enabled(false)},
                     {"ccManager", enabled(false)}});
}

Value mig_config(const RenderInput& input) {
  if (!any(input, has_mig)) return {};
  Value configs =
      Value::map({{"all-disabled", Value::list({Value::map({{"devices", "all"}, {"mig-enabled", false}})})}});
  for (const PoolPlan* pool : nvidia_pools(input)) {
    if (!has_mig(*pool)) continue;
    Value devices = Value::map();
    for (const auto& [profile, count] : pool->spec->mig.value) {
      if (count.value > 0) devices.set(profile, count.value);
    }
    configs.set(
        label_value(pool->name()),
        Value::list({Value::map({{"devices", "all"}, {"mig-enabled", true}, {"mig-devices", std::move(devices)}})}));
  }
  const Value config = Value::map({{"version", "v1"}, {"mig-configs", std::move(configs)}});
  return config_map(kMigConfig, Value::map({{"config.yaml", write_yaml(config)}}));
}

Value sharing_config(const RenderInput& input) {
  if (!any(input, has_time_slices)) return {};
  const std::string strategy = mig_strategy(input);
  Value data = Value::map();
  data.set(kWholeGpus, write_yaml(Value::map({{"version", "v1"}, {"flags", Value::map({{"migStrategy", strategy}})}})));
  for (const PoolPlan* pool : nvidia_pools(input)) {
    if (has_time_slices(*pool)) data.set(label_value(pool->name()), write_yaml(sharing_of(*pool, strategy)));
  }
  return config_map(kSharingConfig, std::move(data));
}

Value metrics_config() {
  std::string table = "# DCGM field, Prometheus type, help\n";
  for (const Metric& metric : kMetrics) table += fmt::format("{}, {}, {}\n", metric.field, metric.type, metric.help);
  return config_map(kMetricsConfig, Value::map({{"dcgm-metrics.csv", std::move(table)}}));
}

}  // namespace weft::render::kube_platform
