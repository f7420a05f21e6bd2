// Settings of the GPU Operator, both as chart values and as its ClusterPolicy, and the configurations that its
// components read. For the target kubernetes/gpu.
#pragma once

#include <string>
#include <vector>

#include "render/kube/platform.h"

namespace weft::render::kube_platform {

inline constexpr std::string_view kMigConfig = "weft-mig-parted";         // ConfigMap of the MIG manager
inline constexpr std::string_view kSharingConfig = "weft-device-plugin";  // ConfigMap of the device plugin
inline constexpr std::string_view kMetricsConfig = "weft-dcgm-metrics";   // ConfigMap of the DCGM exporter
inline constexpr std::string_view kWholeGpus = "whole";  // device-plugin configuration for pools that do not share GPUs

// GPU pools with kubelets and NVIDIA GPUs.
[[nodiscard]] std::vector<const PoolPlan*> nvidia_pools(const RenderInput& input);
[[nodiscard]] bool has_mig(const PoolPlan& pool);
[[nodiscard]] bool has_time_slices(const PoolPlan& pool);

// Settings that the chart's values and ClusterPolicy's spec have in common: the chart copies them.
[[nodiscard]] Value operator_settings(const RenderInput& input);
[[nodiscard]] Value mig_config(const RenderInput& input);      // null if no pool uses MIG
[[nodiscard]] Value sharing_config(const RenderInput& input);  // null if no pool uses time slicing
[[nodiscard]] Value metrics_config();

}  // namespace weft::render::kube_platform
