// A job's work as a graph of operations: kernels, copies, collectives, messages, reads and writes, each on a stream of
// a rank class. Ranks that do the same thing at the same time (the replicas of a pipeline stage) form one class, so the
// graph does not grow with the cluster. Communication times come from a timer: this file does not model networks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "netsim/network/sim_time.h"
#include "netsim/traffic/collective.h"

namespace weft::workload {

using netsim::SimTime;

enum class OpId : std::uint32_t {};
enum class ClassId : std::uint32_t {};  // a class of ranks
enum class GroupId : std::uint32_t {};  // a communicator

enum class OpKind : std::uint8_t { compute, memory, collective, send, receive, storage_read, storage_write, host };
[[nodiscard]] std::string_view to_text(OpKind kind);

// A communicator as one of its ranks sees it.
struct OpGroup {
  std::string name;  // "tensor", "data", "expert", ...
  std::uint32_t ranks = 1;
  std::uint32_t node_ranks = 1;  // ranks of it that share an NVLink domain
  std::uint32_t stride = 1;      // distance between consecutive rank numbers
};

struct Op {
  OpKind kind = OpKind::compute;
  std::uint8_t stream = 0;  // operations on one stream of one class run one after another
  netsim::Collective collective = netsim::Collective::all_reduce;
  GroupId group{0};
  std::uint32_t name = 0;  // OpGraph::name_of
  SimTime duration;        // communication: 0 means that the timer decides
  Bytes bytes;             // moved, as nccl-tests counts them for collectives
  // Operations of several classes with the same nonzero number are one: a collective starts when all are ready (its
  // members must agree in everything but bytes; the largest count is used), a receive ends when its send ends.
  std::uint32_t match = 0;
};

class OpGraph {
 public:
  ClassId add_class(std::string name, std::uint32_t ranks);
  GroupId add_group(OpGroup group);
  std::uint32_t intern(std::string_view name);
  OpId add(ClassId rank_class, Op op);
  void depend(OpId op, OpId earlier);
  void set_match(OpId op, std::uint32_t match) { ops_[static_cast<std::uint32_t>(op)].match = match; }
  // Call after the last add. Returns an error for a cycle (named), an id out of range, or inconsistent matched
  // operations.
  [[nodiscard]] Status finish();

  [[nodiscard]] std::size_t size() const { return ops_.size(); }
  [[nodiscard]] std::size_t class_count() const { return classes_.size(); }
  [[nodiscard]] std::size_t group_count() const { return groups_.size(); }
  [[nodiscard]] const Op& operator[](OpId id) const { return ops_[static_cast<std::uint32_t>(id)]; }
  [[nodiscard]] ClassId class_of(OpId id) const { return class_of_[static_cast<std::uint32_t>(id)]; }
  [[nodiscard]] const std::string& class_name(ClassId id) const {
    return classes_[static_cast<std::uint32_t>(id)].name;
  }
  [[nodiscard]] std::uint32_t class_ranks(ClassId id) const { return classes_[static_cast<std::uint32_t>(id)].ranks; }
  [[nodiscard]] const OpGroup& group(GroupId id) const { return groups_[static_cast<std::uint32_t>(id)]; }
  [[nodiscard]] const std::string& name_of(const Op& op) const { return names_[op.name]; }
  [[nodiscard]] std::span<const OpId> dependents(OpId id) const;
  [[nodiscard]] std::uint32_t dependency_count(OpId id) const {
    return dependency_counts_[static_cast<std::uint32_t>(id)];
  }
  // "`layer 3 forward` (operation 17 of class `stage 0`)", for messages.
  [[nodiscard]] std::string describe(OpId id) const;

 private:
  [[nodiscard]] Status check_ids() const;
  [[nodiscard]] Status check_matches() const;
  [[nodiscard]] Status check_cycles() const;
  void index_edges();

  struct RankClass {
    std::string name;
    std::uint32_t ranks = 1;
  };
  struct Edge {
    OpId earlier;
    OpId later;
  };
  std::vector<Op> ops_;
  std::vector<ClassId> class_of_;
  std::vector<RankClass> classes_;
  std::vector<OpGroup> groups_;
  std::vector<std::string> names_{std::string()};
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> dependency_counts_;
  std::vector<std::uint32_t> dependent_offsets_;
  std::vector<OpId> dependents_;
};

// Times communication. Called once per operation, in a fixed order.
class CommunicationTimer {
 public:
  virtual ~CommunicationTimer() = default;
  [[nodiscard]] virtual SimTime collective(netsim::Collective operation, Bytes bytes, const OpGroup& group) = 0;
  [[nodiscard]] virtual SimTime message(Bytes bytes, const OpGroup& group) = 0;
};

enum class StreamOrder : std::uint8_t {
  program,  // in insertion order, as on a CUDA stream
  ready,    // first ready first, ties in insertion order; for traces without streams
};

struct Execution {
  std::vector<SimTime> started;  // by OpId
  std::vector<SimTime> ended;
  SimTime end;
};
// Simulates a finished graph. Returns an error that names the operations if streams and dependencies wait in a cycle.
[[nodiscard]] Result<Execution> execute(const OpGraph& graph, CommunicationTimer& timer, StreamOrder order);

// Per class: how long at least one operation of these streams ran, and how much of that without any operation of
// `over`.
struct Exposure {
  SimTime busy;
  SimTime exposed;
};
[[nodiscard]] Exposure exposure(const OpGraph& graph, const Execution& execution, ClassId rank_class,
                                std::uint32_t streams, std::uint32_t over);  // bit masks of streams

}  // namespace weft::workload
