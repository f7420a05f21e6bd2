// The jobs and NIC settings that mark the traffic of a flow, from the given files or else from the cluster file.
// Internal to the class trace and the marking rules.
#pragma once

#include <vector>

#include "check/qos/trace_walk.h"
#include "config/config_set.h"
#include "model/cluster.h"

namespace weft::check {

// Environment variable that sets the traffic class of a flow, such as NCCL_IB_TC.
[[nodiscard]] std::string_view traffic_class_variable(Flow flow);
[[nodiscard]] model::FabricKind fabric_of(Flow flow);

// Whether a job uses RDMA through NCCL, judged by its manifest: NCCL variables, or GPUs and RDMA devices.
[[nodiscard]] bool uses_nccl(const config::AppConfig& app);
// The source of the flow's marking in this job: its own variable, the host's nccl.conf, or the library's default.
[[nodiscard]] TraceMarking marking_of(const config::ConfigSet& config, const config::AppConfig& app, Flow flow);

// All distinct markings; the cluster file's if no job is given. May be empty.
[[nodiscard]] std::vector<TraceMarking> markings_of(const model::Cluster* cluster, const config::ConfigSet& config,
                                                    Flow flow);
// NIC settings that may apply to the fabric. Excludes templates for InfiniBand and those named after another fabric.
[[nodiscard]] std::vector<const config::NicConfig*> nics_of(const config::ConfigSet& config, model::FabricKind fabric);

}  // namespace weft::check
