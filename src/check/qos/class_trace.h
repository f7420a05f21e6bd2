// Traces the class of service of RDMA traffic from the application through NIC and switches to the remote NIC: data and
// congestion notifications, both directions. Each step records the decision, the line that made it, and whether the
// packet is still lossless and marked. Each vendor's file can be correct by itself; only the end-to-end trace shows
// mismatches. A missing setting is "unknown": it is neither assumed correct nor reported as wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "config/config_set.h"
#include "model/cluster.h"

namespace weft::check {

enum class Flow : std::uint8_t { nccl, ucx, nvmeof };
enum class StepVerdict : std::uint8_t { ok, warning, lossy, unmarked, unknown };
enum class SaidBy : std::uint8_t { file, intent, vendor, none };

[[nodiscard]] std::string_view to_text(Flow flow);
[[nodiscard]] std::string_view to_text(StepVerdict verdict);

// Why a step failed. Rules select their findings by cause.
enum class Cause : std::uint8_t {
  none,
  application_unmarked,    // the library's default traffic class 0, and the NIC sets none either
  nic_unmarked,            // no application sets a class and the NIC's default is 0
  not_ecn_capable,         // no ECT bits: switches drop instead of marking
  nic_trust,               // the NIC does not classify by DSCP
  nic_without_pfc,         // the NIC neither sends nor honors pause frames on the priority
  nic_without_ecn,         // no congestion control on the NIC
  switch_trust,            // the port does not classify by DSCP
  port_without_maps,       // other ports of the switch have class maps, this one does not
  class_lossy,             // the DSCP maps to a class that may drop
  group_map,               // the class maps to a priority group without headroom
  group_without_headroom,  // no group of the port has headroom
  pfc_off,
  pfc_automatic,
  priority_mismatch,  // the two ends of a link pause different priorities
  queue_not_paused,   // the egress queue honors no pause
  ecn_off,
  rewritten,  // the egress DSCP differs from the ingress DSCP
  watchdog_off,
  notice_lossless,   // congestion notifications use a class that can be paused
  notice_with_data,  // ... the same class as the data
  notice_not_strict,
  data_strict,
};

struct TraceStep {
  std::string hop;     // "NCCL", "train001:be1", "be-leaf1:p1/1"
  std::string device;  // "be-leaf1", the NIC template or the job; "" for the cluster file
  std::string what;    // "DSCP -> TC"
  std::string value;   // "26 -> 3"
  std::string why;     // the problem, as a sentence without a period
  std::string path;    // the deciding object, in its own dialect
  SourceLocation place;
  SourceLocation near;  // the port, template or job, if no line decides
  SaidBy said_by = SaidBy::none;
  StepVerdict verdict = StepVerdict::ok;
  Cause cause = Cause::none;
};

// One direction of one kind of packet: data or notifications.
struct TraceLeg {
  bool notice = false;  // congestion notification packets; otherwise data
  bool backward = false;
  std::string from;  // "train001:be1"
  std::string to;
  int dscp = -1;           // as sent; -1: unknown
  std::size_t marked = 0;  // index of the step that set it
  std::vector<TraceStep> steps;

  // The first step with this verdict; null if there is none.
  [[nodiscard]] const TraceStep* first(StepVerdict verdict) const;
  // Data: lossless and marked end to end, as far as known. Notifications: free of warnings.
  [[nodiscard]] StepVerdict verdict() const;
};

struct Trace {
  Flow flow = Flow::nccl;
  model::FabricKind fabric = model::FabricKind::backend;
  bool has_fabric = false;  // a cluster file was given
  std::string from;
  std::string to;
  std::vector<TraceLeg> legs;  // data forward and back, notifications forward and back
};

struct TraceRequest {
  std::string from;  // device names; "" to choose automatically
  std::string to;
  Flow flow = Flow::nccl;
  int rail = 0;   // from 1; 0: the first
  int dscp = -1;  // overrides the marking of the application and the NIC
};

// Between any two servers. Without a cluster: through the switches of the set in the given order.
[[nodiscard]] Result<Trace> trace_class(const model::Cluster* cluster, const config::ConfigSet& config,
                                        const Sources& sources, const TraceRequest& request);
[[nodiscard]] Document trace_document(const Trace& trace, const Sources& sources);
// "data leaves the lossless class at be-leaf1:p1/1: DSCP 0 maps to ...; decided by leaf.json:210:5 DSCP_TO_TC_MAP|..."
[[nodiscard]] std::string verdict_sentence(const TraceLeg& leg, const Sources& sources);

// The traces that rules use: one through every kind of port that the configuration and the cluster file describe,
// independent of cluster size. Equal results are kept once.
class ClassTraces {
 public:
  ClassTraces(const model::Cluster* cluster, const config::ConfigSet& config, const Sources& sources);

  [[nodiscard]] const std::vector<Trace>& all() const { return traces_; }

 private:
  std::vector<Trace> traces_;
};

}  // namespace weft::check
