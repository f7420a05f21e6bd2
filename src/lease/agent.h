// One engine's side of the lease protocol: takes grants and revocations from the table, opens and closes the gates on
// the servers, and gives the table evidence of both. Keeps nothing on disk: after a start, or when a gate turns out to
// have started anew, it forgets what it knew, begins a new session and does nothing until the table has answered in
// that session. Gates stay as they are meanwhile, so running work is not disturbed. An event in, messages out; the
// adapter that drives Slurm or Kubernetes carries them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lease/lease.h"

namespace weft::lease {

struct AgentStep {
  std::vector<AgentMessage> messages;  // to the table
  std::vector<GateCommand> commands;   // to the gates
};

class LeaseAgent {
 public:
  // `start` must be greater at every start of this engine's agent; see LeaseSession.
  LeaseAgent(LeaseOwner owner, std::uint64_t start) : owner_(owner), session_{start, 0} {}

  // Asks the gates of these servers how they stand. The first tick() after it says hello; a gate that answers later
  // begins another session.
  [[nodiscard]] AgentStep probe(std::span<const sched::NodeId> nodes) const;
  AgentStep receive(const TableMessage& message);
  AgentStep receive(const GateStatus& status);
  // The engine needs these no more; the table will ask for them.
  AgentStep give_back(const GpuSet& gpus);
  // Says again what is unanswered.
  AgentStep tick();

  [[nodiscard]] bool welcomed() const { return welcomed_; }
  [[nodiscard]] LeaseSession session() const { return session_; }
  // How a gate stood when it was last heard of; none: never.
  [[nodiscard]] const GateStatus* seen(sched::NodeId node) const;
  [[nodiscard]] std::string state() const;  // as bytes; equal for equal agents

 private:
  // What the table said last of a GPU. A closed one stays: nothing of its epoch or before is opened again.
  struct Want {
    LeaseEpoch epoch = 0;
    bool close = false;
    bool give_back = false;
    bool released = false;  // shown idle once: whatever runs after that was not let in by this lease
    friend bool operator==(const Want&, const Want&) = default;
  };
  struct Node {
    GateStatus seen{};  // boot 0: not heard of yet
    std::array<Want, sched::kMaxGpus> want{};
    std::uint16_t intruding = 0;  // told the table so
    std::uint16_t gone = 0;       // told the table so, in this session
  };

  void begin_session(AgentStep& step);
  void take(const LeaseShare& share);
  void drive(AgentStep& step, sched::NodeId id, const Node& node) const;
  void report(AgentStep& step, sched::NodeId id, Node& node) const;
  void report_intruders(AgentStep& step, sched::NodeId id, Node& node, bool again) const;
  void say(AgentStep& step, AgentMessage::Kind kind, LeaseEpoch epoch, sched::NodeId node, std::uint16_t gpus) const;

  LeaseOwner owner_;
  LeaseSession session_;  // turn 0: no hello yet
  bool welcomed_ = false;
  std::map<sched::NodeId, Node> nodes_;
};

}  // namespace weft::lease
