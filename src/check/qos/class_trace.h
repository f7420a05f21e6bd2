// Traces the class of service of RDMA traffic from the application over NIC and switches to the other NIC, data and
// congestion notifications, both directions, and records at every step what was decided, by which line, and whether the
// packet is still lossless and marked. Each vendor's file is right by itself; only this walk sees that they disagree.
// A missing setting is "unknown": neither assumed to be right nor reported as wrong.
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
enum class SaidBy : std::uint8_t { file, intent, vendor, nobody };

[[nodiscard]] std::string_view to_text(Flow flow);
[[nodiscard]] std::string_view to_text(StepVerdict verdict);

// Why a step is not in order. Rules pick theirs by this.
enum class Cause : std::uint8_t {
  none,
  application_unmarked,    // the library's default traffic class 0, and the NIC has no better
  nic_unmarked,            // no application sets a class and the NIC's default is 0
  not_ecn_capable,         // ECT bits missing: switches drop instead of marking
  nic_trust,               // the NIC does not classify by DSCP
  nic_without_pfc,         // the NIC neither sends nor obeys pauses on the priority
  nic_without_ecn,         // no congestion control on the NIC
  switch_trust,            // the port does not classify by DSCP
  port_without_maps,       // other ports of the switch have class maps, this one has none
  class_lossy,             // the DSCP leads to a class that may drop
  group_map,               // the class leads to a priority group without headroom
  group_without_headroom,  // no group of the port has headroom
  pfc_off,
  pfc_automatic,
  priority_mismatch,  // the two ends of a link pause different priorities
  queue_not_paused,   // the egress queue obeys no pause
  ecn_off,
  rewritten,  // another DSCP leaves than came in
  watchdog_off,
  notice_lossless,   // congestion notifications use a class that can be paused
  notice_with_data,  // ... the data's own
  notice_not_strict,
  data_strict,
};

struct TraceStep {
  std::string hop;     // "NCCL", "train001:be1", "be-leaf1:p1/1"
  std::string device;  // "be-leaf1", the NIC template or the job; "" when it is the cluster file's
  std::string what;    // "DSCP -> TC"
  std::string value;   // "26 -> 3"
  std::string why;     // of what is not in order: a sentence without its end
  std::string path;    // the object that decides, in its own dialect
  SourceLocation place;
  SourceLocation near;  // the port, template or job, where no line decides
  SaidBy said_by = SaidBy::nobody;
  StepVerdict verdict = StepVerdict::ok;
  Cause cause = Cause::none;
};

// One direction of one kind of packet.
struct TraceLeg {
  bool notice = false;  // congestion notification packets; otherwise data
  bool backward = false;
  std::string from;  // "train001:be1"
  std::string to;
  int dscp = -1;           // as sent; -1: unknown
  std::size_t marked = 0;  // index of the step that decided it
  std::vector<TraceStep> steps;

  // The first step with this verdict; null when there is none.
  [[nodiscard]] const TraceStep* first(StepVerdict verdict) const;
  // Lossless and marked all the way as far as is known, respectively free of warnings for notifications.
  [[nodiscard]] StepVerdict verdict() const;
};

struct Trace {
  Flow flow = Flow::nccl;
  model::FabricKind fabric = model::FabricKind::backend;
  bool has_fabric = false;  // a cluster file was there
  std::string from;
  std::string to;
  std::vector<TraceLeg> legs;  // data there and back, notifications there and back
};

struct TraceRequest {
  std::string from;  // device names; "" to choose
  std::string to;
  Flow flow = Flow::nccl;
  int rail = 0;   // from 1; 0: the first
  int dscp = -1;  // instead of what the application and the NIC mark
};

// Any two servers. Without a cluster: through the switches of the set in the order given.
[[nodiscard]] Result<Trace> trace_class(const model::Cluster* cluster, const config::ConfigSet& config,
                                        const Sources& sources, const TraceRequest& request);
[[nodiscard]] Document trace_document(const Trace& trace, const Sources& sources);
// "data leaves the lossless class at be-leaf1:p1/1: DSCP 0 maps to ...; decided by leaf.json:210:5 DSCP_TO_TC_MAP|..."
[[nodiscard]] std::string verdict_sentence(const TraceLeg& leg, const Sources& sources);

// The traces that rules look at: one through every kind of port that the files and the cluster file describe, however
// large the cluster. Equal outcomes are kept once.
class ClassTraces {
 public:
  ClassTraces(const model::Cluster* cluster, const config::ConfigSet& config, const Sources& sources);

  [[nodiscard]] const std::vector<Trace>& all() const { return traces_; }

 private:
  std::vector<Trace> traces_;
};

}  // namespace weft::check
