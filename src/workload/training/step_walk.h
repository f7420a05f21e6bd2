// Places the kernels and the communication of one rank on streams in program order: kernels follow each other,
// communication follows the kernel before it, and the next kernel waits for it unless the two overlap. The graph is
// simulated at the end. Used only by layer_ops.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "workload/training/layer_ops.h"

namespace weft::workload {

struct Kernel {
  std::string_view name;
  double seconds = 0;
  double flops = 0;
  std::uint64_t launches = 1;  // kernels that are taken as one
  double host = 0;             // seconds of the host beyond those of the launches
};

// A collective; no effect if its group has one rank.
struct Call {
  std::string_view what;
  netsim::Collective collective = netsim::Collective::all_gather;
  std::uint8_t stream = stream_tensor;
  OpGroup group;
  double bytes = 0;
  // Bytes that a group on NVLink exchanges at the same time; the longer of the two counts.
  OpGroup also{};
  double also_bytes = 0;
  double share = 1;  // of the rate that a collective reaches
};

class StepWalk {
 public:
  explicit StepWalk(CommunicationTimer& timer);

  void run(const Kernel& kernel);
  void run(std::initializer_list<Kernel> kernels);
  // Blocking: the next kernel waits for it.
  void talk(const Call& call);
  // Overlaps the call with the kernels. Both are split into `pieces`, one of which does not overlap, before or after
  // the kernels; 0: all overlap. The overlap slows the kernels down.
  void beside(const Call& call, double pieces, bool first, const std::vector<Kernel>& kernels);
  // Overlaps the call with the operations that follow; it starts after `after`, and wait_for() waits for it.
  OpId start(const Call& call, const std::vector<OpId>& after);
  void wait_for(OpId op) { waits_.push_back(op); }
  [[nodiscard]] const std::vector<OpId>& here() const { return waits_; }
  [[nodiscard]] SimTime time_of(const Call& call);

  void recomputing(bool on) { again_ = on; }
  void slow_down(double factor) { slow_ = factor; }
  [[nodiscard]] double slowness() const { return slow_; }

  // `launch`: seconds of the host per kernel or call. The host runs ahead of the GPU, which waits for it where the
  // operations of a piece take less time than their launches.
  [[nodiscard]] PieceTimes finish(double launch);

 private:
  OpId put(std::uint8_t stream, OpKind kind, std::string_view name, double seconds, const std::vector<OpId>& after);
  double note(const Call& call);  // counts the call and returns its seconds
  SimTime count(const Call& call, const std::string& what, const OpGroup& group, double bytes);
  [[nodiscard]] SimTime time_on(const Call& call, const OpGroup& group, double bytes);

  CommunicationTimer& timer_;
  OpGraph graph_;
  ClassId rank_{0};
  PieceTimes times_;
  std::vector<OpId> waits_;
  double slow_ = 1;
  double host_ = 0;
  bool again_ = false;
};

}  // namespace weft::workload
