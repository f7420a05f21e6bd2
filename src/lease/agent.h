// Lease agent: one engine's side of the lease protocol. It receives grants and revocations from the table, opens and
// closes the gates on the servers, and reports evidence of both to the table. It is stateless on disk: after a start,
// or when a gate turns out to have restarted, it discards its state, begins a new session and does nothing until the
// table has replied in that session. Gates keep their state meanwhile, so running work is not disturbed. Each call maps
// one event to messages; the adapter that drives Slurm or Kubernetes sends them.
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

  // Queries the gates of these servers for their status. The first tick() afterwards sends hello; a gate that replies
  // later starts another session.
  [[nodiscard]] AgentStep probe(std::span<const sched::NodeId> nodes) const;
  AgentStep receive(const TableMessage& message);
  AgentStep receive(const GateStatus& status);
  // The engine no longer needs these GPUs; the table will revoke them.
  AgentStep give_back(const GpuSet& gpus);
  // Resends everything unacknowledged.
  AgentStep tick();

  [[nodiscard]] bool welcomed() const { return welcomed_; }
  [[nodiscard]] LeaseSession session() const { return session_; }
  // The last status received from a gate; null: none yet.
  [[nodiscard]] const GateStatus* seen(sched::NodeId node) const;
  [[nodiscard]] std::string state() const;  // serialized; equal for equal agents

 private:
  // The table's last message about a GPU. A closed entry is kept: its epoch and earlier ones are never opened again.
  struct Want {
    LeaseEpoch epoch = 0;
    bool close = false;
    bool give_back = false;
    bool released = false;  // was reported idle once: anything running after that was not admitted under this lease
    friend bool operator==(const Want&, const Want&) = default;
  };
  struct Node {
    GateStatus seen{};  // boot 0: no status received yet
    std::array<Want, sched::kMaxGpus> want{};
    std::uint16_t intruding = 0;  // reported to the table
    std::uint16_t gone = 0;       // reported to the table in this session
  };

  void begin_session(AgentStep& step);
  void take(const LeaseShare& share);
  void drive(AgentStep& step, sched::NodeId id, const Node& node) const;
  void report(AgentStep& step, sched::NodeId id, Node& node) const;
  void report_intruders(AgentStep& step, sched::NodeId id, Node& node, bool again) const;
  void say(AgentStep& step, AgentMessage::Kind kind, LeaseEpoch epoch, sched::NodeId node, std::uint16_t gpus) const;

  LeaseOwner owner_;
  LeaseSession session_;  // turn 0: no hello sent yet
  bool welcomed_ = false;
  std::map<sched::NodeId, Node> nodes_;
};

}  // namespace weft::lease
