// Who marks the traffic of a flow: which jobs, which NIC settings, taken from the files handed in and otherwise from
// the cluster file. Internal to the class trace and the rules about marking.
#pragma once

#include <vector>

#include "check/trace_walk.h"
#include "config/config_set.h"
#include "model/cluster.h"

namespace weft {

// Environment variable that sets the traffic class of a flow: NCCL_IB_TC.
[[nodiscard]] std::string_view traffic_class_variable(Flow flow);
[[nodiscard]] FabricKind fabric_of(Flow flow);

// A job that talks RDMA by way of NCCL, as far as its description shows: NCCL variables, or GPUs and RDMA devices.
[[nodiscard]] bool uses_nccl(const AppConfig& app);
// What marks the flow in this job: its own variable, the host's nccl.conf, or the library's default.
[[nodiscard]] TraceMarking marking_of(const ConfigSet& config, const AppConfig& app, Flow flow);

// Every marking there is, equal ones once; that of the cluster file where no job is given. May be empty.
[[nodiscard]] std::vector<TraceMarking> markings_of(const Cluster* cluster, const ConfigSet& config, Flow flow);
// NIC settings that may apply to the fabric. Templates for InfiniBand, and those named after another fabric, do not.
[[nodiscard]] std::vector<const NicConfig*> nics_of(const ConfigSet& config, FabricKind fabric);

}  // namespace weft
