// Messages of the lease protocol between the table (sole authority on who owns a GPU), the agent of each engine (Slurm,
// Kubernetes, weft's own), and the gate on each server where an engine hands out a GPU. Plain records. Safety does not
// depend on time: a GPU changes owner only on evidence that the old owner released it or was powered off, never because
// of a timeout. The protocol is specified in docs/adr/0016-gpu-leases.md.
//
// A lease covers whole GPUs. MIG instances and time slices are shared within one engine: a reset, a change of the MIG
// layout, an Xid that ends every context and power cycling all act on the whole device, so two engines on parts of one
// GPU could break each other without violating a lease.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
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
// By that name; nullopt: there is none.
[[nodiscard]] std::optional<LeaseOwner> find_owner(std::string_view name);

struct GpuName {
  sched::NodeId node{};
  std::uint8_t gpu = 0;
  friend auto operator<=>(const GpuName&, const GpuName&) = default;
};

// GPUs of one server: bit g is GPU g.
struct NodeGpus {
  sched::NodeId node{};
  std::uint16_t gpus = 0;
  friend bool operator==(const NodeGpus&, const NodeGpus&) = default;
};

// Sorted by node; each node at most once, with at least one GPU.
using GpuSet = std::vector<NodeGpus>;
[[nodiscard]] bool is_sound(const GpuSet& set);
[[nodiscard]] int count(const GpuSet& set);
void insert(GpuSet& set, sched::NodeId node, std::uint16_t gpus);
void erase(GpuSet& set, sched::NodeId node, std::uint16_t gpus);
// "3:ff,4:0f" in hexadecimal, the mask without leading zeros; an empty set is "-".
[[nodiscard]] std::string to_text(const GpuSet& set);
[[nodiscard]] Result<GpuSet> parse_gpu_set(std::string_view text);

// Fencing token: each grant gets a number greater than all before it. The epochs under which a GPU is held therefore
// strictly increase; all GPUs of a set share one epoch. 0: none.
using LeaseEpoch = std::uint64_t;

// Session between an agent and the table. `start` must be greater at every start of the engine's agent (a counter on
// disk, or the maximum of that and the clock); the agent increments `turn` itself. Messages of older sessions are
// ignored.
struct LeaseSession {
  std::uint64_t start = 0;
  std::uint64_t turn = 0;
  friend auto operator<=>(const LeaseSession&, const LeaseSession&) = default;
};

// Part of a lease, as sent to an agent.
struct LeaseShare {
  LeaseEpoch epoch = 0;
  GpuSet gpus;
  bool revoked = false;  // to be drained and released; never reopened
  friend bool operator==(const LeaseShare&, const LeaseShare&) = default;
};

// Table to agent. A welcome lists all GPUs of the engine and starts the session; any other message is one grant or one
// revocation.
struct TableMessage {
  LeaseOwner to = LeaseOwner::none;
  LeaseSession session{};
  bool welcome = false;
  std::vector<LeaseShare> shares;
  GpuSet intruding;  // in a welcome: GPUs that the engine is reported to use without a lease
  friend bool operator==(const TableMessage&, const TableMessage&) = default;
};

// Agent to table.
struct AgentMessage {
  enum class Kind : std::uint8_t {
    hello,      // starts a session; requests the list of leases
    alive,      // keepalive; the table records when it last heard from the agent
    held,       // these GPUs are open at their gates
    released,   // these are closed at their gates and idle
    give_back,  // the engine no longer needs these: revoke them
    intruding,  // the engine is using these without a lease
    gone        // it no longer does
  };
  Kind kind = Kind::alive;
  LeaseOwner from = LeaseOwner::none;
  LeaseSession session{};
  LeaseEpoch epoch = 0;
  GpuSet gpus;
  std::string note;  // for intruding: what was observed, for operators
  friend bool operator==(const AgentMessage&, const AgentMessage&) = default;
};

// Agent to gate. `boot` identifies the gate's start; a gate that has restarted since ignores the command.
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

// Gate to agent: the reply to each command, also sent on every change.
struct GateStatus {
  LeaseOwner owner = LeaseOwner::none;
  sched::NodeId node{};
  std::uint64_t boot = 0;    // greater at every start of the gate
  std::uint64_t serial = 0;  // number of changes since then
  std::uint16_t running = 0;
  std::array<LeaseEpoch, sched::kMaxGpus> open{};   // the epoch under which work may start; 0: closed
  std::array<LeaseEpoch, sched::kMaxGpus> floor{};  // epochs up to this one are never reopened
  std::string note;                                 // what is running, for operators
  friend bool operator==(const GateStatus&, const GateStatus&) = default;
};

// Table to power control: power off a server, verify that it is off, and reply with this number.
struct FenceOrder {
  std::uint64_t number = 0;
  sched::NodeId node{};
  friend bool operator==(const FenceOrder&, const FenceOrder&) = default;
};

struct LeaseRequest {
  std::uint64_t id = 0;  // greater than any before; duplicates are rejected
  LeaseOwner owner = LeaseOwner::none;
  std::string holder;    // for operators: a job, a partition, a team; at most kMaxHolder bytes
  GpuSet gpus;           // all or nothing
  bool reclaim = false;  // revoke from the current owners; otherwise wait until they are released
  friend bool operator==(const LeaseRequest&, const LeaseRequest&) = default;
};
inline constexpr std::size_t kMaxHolder = 200;

}  // namespace weft::lease
