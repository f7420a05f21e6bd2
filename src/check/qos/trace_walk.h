// The walk behind qos/class_trace.h: given the ends and the hops, already looked up, it makes the legs of a trace.
// Independent of clusters, routes and files.
#pragma once

#include <string>
#include <vector>

#include "check/qos/class_trace.h"
#include "config/host_config.h"
#include "config/port_qos.h"

namespace weft::check {

// What marks the packets of a flow at one end.
struct TraceMarking {
  std::string name;                    // "NCCL (Job train)"
  std::string subject;                 // "train"
  SourceLocation place;                // of the job
  config::Setting<int> traffic_class;  // type of service byte; absent: no application is known
  bool explicitly = false;             // set by the application, which overrides the NIC
  bool intent = false;
};

struct TraceEnd {
  std::string name;  // "train001:be1" or the NIC template
  TraceMarking marking;
  const config::NicConfig* nic = nullptr;  // null: nothing known
  bool intent = false;                     // the NIC's settings are the cluster file's
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
  std::vector<TraceHop> hops;  // in the direction of `from` to `to`
  int dscp = -1;               // overrides the marking
};

[[nodiscard]] std::vector<TraceLeg> walk_legs(const TracePlan& plan);

}  // namespace weft::check
