// What the parties of the lease protocol say to each other: the table that alone decides who owns a GPU, the agent of
// each engine (Slurm, Kubernetes, weft's own), and the gate on each server where an engine is about to hand out a GPU.
// Plain records. Nothing here depends on time for safety: a GPU changes owner on evidence that the old owner let go or
// was powered off, never because somebody was silent. docs/adr/0016-gpu-leases.md gives the whole protocol.
//
// A lease is of whole GPUs. MIG instances and time-slices are shared out inside one engine: a reset, a change of the
// MIG layout, an Xid that ends every context and the power switch all act on the whole device, so two engines on parts
// of one GPU could each break the other without ever breaking a lease.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/machine/moment.h"
#include "sched/machine/resources.h"

namespace weft::lease {

enum class LeaseOwner : std::uint8_t { none, slurm, kubernetes, weft };
inline constexpr int kLeaseOwners = 4;
[[nodiscard]] std::string_view to_text(LeaseOwner owner);

struct GpuName {
  sched::NodeId node{};
  std::uint8_t gpu = 0;
  friend auto operator<=>(const GpuName&, const GpuName&) = default;
};

// GPUs of one server, bit g for GPU g.
struct NodeGpus {
  sched::NodeId node{};
  std::uint16_t gpus = 0;
  friend bool operator==(const NodeGpus&, const NodeGpus&) = default;
};

// In order of node, each node once, none without GPUs.
using GpuSet = std::vector<NodeGpus>;
[[nodiscard]] bool is_sound(const GpuSet& set);
[[nodiscard]] int count(const GpuSet& set);
void insert(GpuSet& set, sched::NodeId node, std::uint16_t gpus);
void erase(GpuSet& set, sched::NodeId node, std::uint16_t gpus);
// "3:ff,4:0f" in hexadecimal, the mask without leading zeros; an empty set is "-".
[[nodiscard]] std::string to_text(const GpuSet& set);
[[nodiscard]] Result<GpuSet> parse_gpu_set(std::string_view text);

// The fencing token: every grant has a number of its own, greater than all before it. So the epochs under which any one
// GPU was held strictly grow, and a set has one epoch for all its GPUs. 0: none.
using LeaseEpoch = std::uint64_t;

// One conversation of an agent with the table. `start` must be greater at every start of the engine's agent (a counter
// on disk, or the greater of that and the clock); the agent counts `turn` itself. Only the newest is listened to.
struct LeaseSession {
  std::uint64_t start = 0;
  std::uint64_t turn = 0;
  friend auto operator<=>(const LeaseSession&, const LeaseSession&) = default;
};

// A part of a lease, as the table tells an agent of it.
struct LeaseShare {
  LeaseEpoch epoch = 0;
  GpuSet gpus;
  bool revoked = false;  // to be drained and given back; never opened again
  friend bool operator==(const LeaseShare&, const LeaseShare&) = default;
};

// Table to agent. A welcome lists everything the engine has and starts the session; any other message is one grant or
// one revocation.
struct TableMessage {
  LeaseOwner to = LeaseOwner::none;
  LeaseSession session{};
  bool welcome = false;
  std::vector<LeaseShare> shares;
  GpuSet intruding;  // of a welcome: GPUs that the engine is said to use without a lease
  friend bool operator==(const TableMessage&, const TableMessage&) = default;
};

// Agent to table.
struct AgentMessage {
  enum class Kind : std::uint8_t {
    hello,      // a session begins: what do I have?
    alive,      // nothing new; the table notes when it last heard
    held,       // these GPUs are open at their gates
    released,   // these are closed at their gates, and nothing runs on them
    give_back,  // revoke these: the engine needs them no more
    intruding,  // the engine is using these without a lease
    gone        // and now it does so no more
  };
  Kind kind = Kind::alive;
  LeaseOwner from = LeaseOwner::none;
  LeaseSession session{};
  LeaseEpoch epoch = 0;
  GpuSet gpus;
  std::string note;  // of intruding: what was seen, for people
  friend bool operator==(const AgentMessage&, const AgentMessage&) = default;
};

// Agent to gate. `boot` is the start of the gate that the sender means; a gate that has started since does nothing.
struct GateCommand {
  enum class Kind : std::uint8_t { probe, open, close };
  Kind kind = Kind::probe;
  LeaseOwner owner = LeaseOwner::none;
  sched::NodeId node{};
  std::uint64_t boot = 0;
  LeaseEpoch epoch = 0;
  std::uint16_t gpus = 0;
  friend bool operator==(const GateCommand&, const GateCommand&) = default;
};

// Gate to agent, in answer to every command and whenever something changed.
struct GateStatus {
  LeaseOwner owner = LeaseOwner::none;
  sched::NodeId node{};
  std::uint64_t boot = 0;    // greater at every start of the gate
  std::uint64_t serial = 0;  // changes since then
  std::uint16_t running = 0;
  std::array<LeaseEpoch, sched::kMaxGpus> open{};   // the epoch under which work may start; 0: none may
  std::array<LeaseEpoch, sched::kMaxGpus> floor{};  // epochs up to this are never opened again
  std::string note;                                 // what runs, for people
  friend bool operator==(const GateStatus&, const GateStatus&) = default;
};

// Table to whoever holds the power switches: cut the power of a server, see that it is off, and answer with the number.
struct FenceOrder {
  std::uint64_t number = 0;
  sched::NodeId node{};
  friend bool operator==(const FenceOrder&, const FenceOrder&) = default;
};

struct LeaseRequest {
  std::uint64_t id = 0;  // greater than any before: one that comes twice is refused
  LeaseOwner owner = LeaseOwner::none;
  std::string holder;    // for people: a job, a partition, a team; at most kMaxHolder bytes
  GpuSet gpus;           // all of them or none
  bool reclaim = false;  // revoke whoever has them; otherwise wait until they come back by themselves
  friend bool operator==(const LeaseRequest&, const LeaseRequest&) = default;
};
inline constexpr std::size_t kMaxHolder = 200;

}  // namespace weft::lease
