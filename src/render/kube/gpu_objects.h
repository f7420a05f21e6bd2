// What the GPU Operator is told, once for its chart and once as its ClusterPolicy, and the configurations that its
// parts read. For the target kubernetes/gpu.
#pragma once

#include <string>
#include <vector>

#include "render/kube/platform.h"

namespace weft::render::kube_platform {

inline constexpr std::string_view kMigConfig = "weft-mig-parted";         // ConfigMap of the MIG manager
inline constexpr std::string_view kSharingConfig = "weft-device-plugin";  // ConfigMap of the device plugin
inline constexpr std::string_view kMetricsConfig = "weft-dcgm-metrics";   // ConfigMap of the DCGM exporter
inline constexpr std::string_view kWholeGpus =
    "whole";  // the device plugin's configuration of pools that share nothing

// GPU pools with kubelets whose GPUs are NVIDIA's.
[[nodiscard]] std::vector<const PoolPlan*> nvidia_pools(const RenderInput& input);
[[nodiscard]] bool has_mig(const PoolPlan& pool);
[[nodiscard]] bool has_time_slices(const PoolPlan& pool);

// Settings that the chart's values and ClusterPolicy's spec have in common: the chart copies them.
[[nodiscard]] Value operator_settings(const RenderInput& input);
[[nodiscard]] Value mig_config(const RenderInput& input);      // null without pools that use MIG
[[nodiscard]] Value sharing_config(const RenderInput& input);  // null without pools that share by time
[[nodiscard]] Value metrics_config();

}  // namespace weft::render::kube_platform
