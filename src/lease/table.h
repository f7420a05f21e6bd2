// Lease table: the single authority on who owns each GPU. Each event returns the records to journal and the messages to
// send. The caller writes and syncs the records BEFORE it sends anything; replay() of the journal restores the same
// table. The table reads no clock, starts no thread, does no I/O, ends no work, and never treats silence as a release:
// silence only shows in who(), with the action an operator can take.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lease/journal.h"
#include "lease/lease.h"

namespace weft::lease {

enum class LeasePhase : std::uint8_t {
  out,      // not in service: new, or its server was powered off
  free,     // no owner
  granted,  // granted to an engine that has not yet reported it open
  held,     // open at the engine's gate
  revoking  // revoked; still owned by the engine until it reports that nothing runs on it
};
[[nodiscard]] std::string_view to_text(LeasePhase phase);

struct LeaseStep {
  std::vector<LeaseRecord> records;    // write and sync first
  std::vector<TableMessage> messages;  // then send, in any order; tick() resends what is unacknowledged
  std::vector<FenceOrder> fences;
};

// The state of one GPU, for display.
struct LeaseView {
  LeasePhase phase = LeasePhase::out;
  LeaseOwner owner = LeaseOwner::none;
  std::string holder;
  LeaseEpoch epoch = 0;
  sched::Moment since{};  // of the phase
  std::string conflict;   // other engines using it; "" if none
  std::string waiting;    // what it waits for; "" if nothing
  std::string person;     // what an operator has to do; "" if nothing
};

struct LeaseTerms {
  // How long a reply may take before the table's views call for an operator; it has no other effect. Ten minutes is
  // longer than the drain of a job that writes a checkpoint first.
  Duration patience = sched::seconds(600);
};

class LeaseTable {
 public:
  explicit LeaseTable(LeaseTerms terms = {}) : terms_(terms) {}
  // An error names the first record that is inconsistent with those before it.
  static Result<LeaseTable> replay(std::span<const LeaseRecord> journal, LeaseTerms terms = {});

  // From the operator and the scheduler. A failed Result has changed nothing.
  Result<LeaseStep> add(sched::NodeId node, int gpus, sched::Moment now);  // out of service until restored
  Result<LeaseStep> restore(sched::NodeId node, sched::Moment now);  // into service; cancels a pending fence order
  Result<LeaseStep> request(const LeaseRequest& request, sched::Moment now);
  Result<LeaseStep> cancel(std::uint64_t request, sched::Moment now);  // one that is still pending
  Result<LeaseStep> revoke(const GpuSet& gpus, sched::Moment now);
  Result<LeaseStep> fence(sched::NodeId node,
                          sched::Moment now);  // ends all work on the server: an operator's decision
  // An engine (or none: a bare process) was observed using GPUs that it does not own; `note` describes what was
  // observed.
  Result<LeaseStep> observe(LeaseOwner owner, const GpuSet& gpus, std::string_view note, sched::Moment now);
  Result<LeaseStep> clear(LeaseOwner owner, const GpuSet& gpus, sched::Moment now);

  // From agents and power control; outdated or invalid messages change nothing.
  LeaseStep receive(const AgentMessage& message, sched::Moment now);
  // The server was verified to be powered off at some time after this order was issued.
  LeaseStep fenced(const FenceOrder& order, sched::Moment now);
  // Resends what is unacknowledged. After a restart it also resumes what the crash interrupted.
  LeaseStep tick(sched::Moment now);

  [[nodiscard]] LeaseView who(GpuName gpu, sched::Moment now) const;
  [[nodiscard]] std::span<const LeaseRequest> waiting() const { return pending_; }
  // Why a request is pending; "" if it is not.
  [[nodiscard]] std::string why_waiting(std::uint64_t request, sched::Moment now) const;
  [[nodiscard]] LeaseSession session(LeaseOwner owner) const {
    return engines_[static_cast<std::size_t>(owner)].session;
  }
  // The pending fence order of a server; 0: none.
  [[nodiscard]] std::uint64_t fencing(sched::NodeId node) const;
  [[nodiscard]] std::uint64_t records() const { return records_; }
  // All state that the journal restores, serialized; equal for equal tables.
  [[nodiscard]] std::string state() const;

 private:
  struct Gpu {
    LeaseEpoch epoch = 0;
    LeasePhase phase = LeasePhase::out;
    std::uint8_t intruders = 0;  // bit o: LeaseOwner o
    sched::Moment since{};
  };
  struct Node {
    int gpus = 0;
    std::uint64_t fence = 0;  // the pending order
    sched::Moment fence_since{};
    std::array<Gpu, sched::kMaxGpus> gpu{};
  };
  struct Lease {
    LeaseOwner owner = LeaseOwner::none;
    std::string holder;
    GpuSet gpus;  // those not yet released
  };
  struct Engine {
    LeaseSession session{};
    sched::Moment heard{};  // not journaled: a restarted table has not heard from any agent
  };
  struct Seen {
    std::string note;
    sched::Moment since{};
  };

  Status apply(const LeaseRecord& record);
  Status apply_to_node(const LeaseRecord& record);
  Status apply_ask(const LeaseRecord& record);
  Status apply_grant(const LeaseRecord& record);
  Status apply_to_lease(const LeaseRecord& record);
  Status apply_conflict(const LeaseRecord& record);
  void release(sched::NodeId node, int gpu, LeasePhase next, sched::Moment at);

  void emit(LeaseStep& step, LeaseRecord record, sched::Moment now);
  void settle(LeaseStep& step, sched::Moment now);
  void revoke_part(LeaseStep& step, const GpuSet& gpus, sched::Moment now);
  void tell(LeaseStep& step, LeaseEpoch epoch, const GpuSet& gpus, bool revoked) const;
  void welcome(LeaseStep& step, LeaseOwner owner) const;
  void receive_of_lease(LeaseStep& step, const AgentMessage& message, sched::Moment now);
  void receive_of_intruder(LeaseStep& step, const AgentMessage& message, sched::Moment now);

  [[nodiscard]] bool knows(const GpuSet& gpus) const;
  [[nodiscard]] const Gpu* find(GpuName name) const;
  // The GPUs of a set whose state matches `wanted`.
  template <class Wanted>
  [[nodiscard]] GpuSet those(const GpuSet& gpus, Wanted wanted) const;
  [[nodiscard]] GpuSet in_phase(const Lease& lease, LeasePhase phase) const;
  [[nodiscard]] bool attainable(const LeaseRequest& request) const;
  [[nodiscard]] bool grantable(const LeaseRequest& request) const;
  [[nodiscard]] std::string conflict_of(GpuName name) const;
  void describe_wait(LeaseView& view, GpuName name, sched::Moment now) const;

  LeaseTerms terms_;
  std::map<sched::NodeId, Node> nodes_;
  std::map<LeaseEpoch, Lease> leases_;
  std::vector<LeaseRequest> pending_;  // oldest first
  std::map<std::uint64_t, sched::Moment> asked_;
  std::map<std::pair<GpuName, LeaseOwner>, Seen> conflicts_;
  std::array<Engine, kLeaseOwners> engines_{};
  LeaseEpoch last_epoch_ = 0;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_fence_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace weft::lease
