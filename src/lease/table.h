// The one place that says who owns each GPU. An event goes in; what must be written to the journal and what is then to
// be sent comes out. The caller writes and syncs the records BEFORE it sends anything; replay() of the journal gives
// the same table again. It reads no clock, starts no thread, talks to nobody, ends nobody's work, and never takes a
// silence for a release: silence only shows in who(), with what a person can do about it.
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
  free,     // nobody's
  granted,  // given to an engine that has not yet shown it open
  held,     // open at the engine's gate
  revoking  // asked back; still the engine's until it shows that nothing runs
};
[[nodiscard]] std::string_view to_text(LeasePhase phase);

struct LeaseStep {
  std::vector<LeaseRecord> records;    // to be on disk first
  std::vector<TableMessage> messages;  // then these are sent, in any order; tick() repeats what stays unanswered
  std::vector<FenceOrder> fences;
};

// What is to be said of one GPU.
struct LeaseView {
  LeasePhase phase = LeasePhase::out;
  LeaseOwner owner = LeaseOwner::none;
  std::string holder;
  LeaseEpoch epoch = 0;
  sched::Moment since{};  // of the phase
  std::string conflict;   // who uses it besides; "" when nobody does
  std::string waiting;    // for what; "" when for nothing
  std::string person;     // what a person has to do; "" when nothing
};

struct LeaseTerms {
  // How long an answer may take before a person is told; nothing else happens then. Ten minutes is longer than the
  // drain of a job that writes a checkpoint first.
  Duration patience = sched::seconds(600);
};

class LeaseTable {
 public:
  explicit LeaseTable(LeaseTerms terms = {}) : terms_(terms) {}
  // An error names the record that cannot follow on those before it.
  static Result<LeaseTable> replay(std::span<const LeaseRecord> journal, LeaseTerms terms = {});

  // From the operator and the scheduler. A failed Result has changed nothing.
  Result<LeaseStep> add(sched::NodeId node, int gpus, sched::Moment now);  // out of service until restored
  Result<LeaseStep> restore(sched::NodeId node, sched::Moment now);  // into service; withdraws an order to fence it
  Result<LeaseStep> request(const LeaseRequest& request, sched::Moment now);
  Result<LeaseStep> cancel(std::uint64_t request, sched::Moment now);  // one that still waits
  Result<LeaseStep> revoke(const GpuSet& gpus, sched::Moment now);
  Result<LeaseStep> fence(sched::NodeId node, sched::Moment now);  // ends all work on the server: a person's decision
  // Somebody (an engine, or none: a bare process) was seen using GPUs that are not theirs; `note` says what was seen.
  Result<LeaseStep> observe(LeaseOwner owner, const GpuSet& gpus, std::string_view note, sched::Moment now);
  Result<LeaseStep> clear(LeaseOwner owner, const GpuSet& gpus, sched::Moment now);

  // From outside; what is out of date or makes no sense changes nothing.
  LeaseStep receive(const AgentMessage& message, sched::Moment now);
  // The server was seen without power, at some time after this order was given.
  LeaseStep fenced(const FenceOrder& order, sched::Moment now);
  // Says again what is unanswered. After a restart it also takes up what the crash cut off.
  LeaseStep tick(sched::Moment now);

  [[nodiscard]] LeaseView who(GpuName gpu, sched::Moment now) const;
  [[nodiscard]] std::span<const LeaseRequest> waiting() const { return pending_; }
  // Why a request waits; "" when it does not.
  [[nodiscard]] std::string why_waiting(std::uint64_t request, sched::Moment now) const;
  [[nodiscard]] LeaseSession session(LeaseOwner owner) const {
    return engines_[static_cast<std::size_t>(owner)].session;
  }
  // The order to cut a server's power that is under way; 0: none.
  [[nodiscard]] std::uint64_t fencing(sched::NodeId node) const;
  [[nodiscard]] std::uint64_t records() const { return records_; }
  // All that the journal restores, as bytes; equal for equal tables.
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
    std::uint64_t fence = 0;  // the order that is under way
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
    sched::Moment heard{};  // not in the journal: a table that restarts has heard nobody yet
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
  // The GPUs of a set whose state answers to `wanted`.
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
