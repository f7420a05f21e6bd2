// What marks the traffic of a flow: which jobs, which NIC settings, from the given files and otherwise from
// the cluster file. Internal to the class trace and the rules about marking.
#pragma once

#include <vector>

#include "check/qos/trace_walk.h"
#include "config/config_set.h"
#include "model/cluster.h"

namespace weft::check {

// Environment variable that sets the traffic class of a flow: NCCL_IB_TC.
[[nodiscard]] std::string_view traffic_class_variable(Flow flow);
[[nodiscard]] model::FabricKind fabric_of(Flow flow);

// A job that talks RDMA by way of NCCL, as far as its description shows: NCCL variables, or GPUs and RDMA devices.
[[nodiscard]] bool uses_nccl(const config::AppConfig& app);
// What marks the flow in this job: its own variable, the host's nccl.conf, or the library's default.
[[nodiscard]] TraceMarking marking_of(const config::ConfigSet& config, const config::AppConfig& app, Flow flow);

// Every marking there is, equal ones once; that of the cluster file where no job is given. May be empty.
[[nodiscard]] std::vector<TraceMarking> markings_of(const model::Cluster* cluster, const config::ConfigSet& config,
                                                    Flow flow);
// NIC settings that may apply to the fabric. Templates for InfiniBand, and those named after another fabric, do not.
[[nodiscard]] std::vector<const config::NicConfig*> nics_of(const config::ConfigSet& config, model::FabricKind fabric);

}  // namespace weft::check
