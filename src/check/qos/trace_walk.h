// The walk behind qos/class_trace.h: computes the legs of a trace from ends and hops that are already resolved.
// Independent of clusters, routes and files.
#pragma once

#include <string>
#include <vector>

#include "check/qos/class_trace.h"
#include "config/host_config.h"
#include "config/port_qos.h"

namespace weft::check {

// The source of a flow's marking at one end.
struct TraceMarking {
  std::string name;                    // "NCCL (Job train)"
  std::string subject;                 // "train"
  SourceLocation place;                // of the job
  config::Setting<int> traffic_class;  // type of service byte; absent: no known application
  bool explicitly = false;             // set by the application, which overrides the NIC
  bool intent = false;
};

struct TraceEnd {
  std::string name;  // "train001:be1" or the NIC template
  TraceMarking marking;
  const config::NicConfig* nic = nullptr;  // null: unknown
  bool intent = false;                     // the NIC's settings come from the cluster file
};

struct TraceHop {
  std::string device;
  std::string in;  // "be-leaf1:p1/1"
  std::string out;
  SourceLocation in_place;  // of the interface in its file
  SourceLocation out_place;
  const config::PortQos* in_qos = nullptr;
  const config::PortQos* out_qos = nullptr;
  bool intent = false;
  bool others_have_maps = false;  // some port of this file has class maps
};

struct TracePlan {
  TraceEnd from;
  TraceEnd to;
  std::vector<TraceHop> hops;  // from `from` to `to`
  int dscp = -1;               // overrides the marking
};

[[nodiscard]] std::vector<TraceLeg> walk_legs(const TracePlan& plan);

}  // namespace weft::check
