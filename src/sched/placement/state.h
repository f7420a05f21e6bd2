// Allocation state: the free resources of each node, the tasks that run on it, and the placement of each job. Resources
// are allocated and released only here. Keeps a log of changed nodes, so derived indexes (FitIndex) are updated
// incrementally. Independent of queues, tenants and policy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sched/machine/job.h"
#include "sched/machine/machine.h"

namespace weft::sched {

struct Placement {
  std::vector<Slot> slots;  // one per task, in rank order: neighbors in the list are neighbors in the fabric
  [[nodiscard]] bool empty() const { return slots.empty(); }
};

// A task on a node, for queries of what a node runs and until when.
struct Tenancy {
  JobId job{};
  std::uint32_t task = 0;  // index into the job's slots
};

class State {
 public:
  explicit State(std::shared_ptr<const Machine> machine);

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const std::shared_ptr<const Machine>& shared_machine() const { return machine_; }
  [[nodiscard]] const NodeFree& free(NodeId node) const { return free_[index_of(node)]; }
  [[nodiscard]] std::span<const Tenancy> tasks_on(NodeId node) const { return tasks_[index_of(node)]; }

  // The slots must be free. `request` is what each slot uses.
  void place(JobId job, const Request& request, std::span<const Slot> slots, std::uint32_t first_task = 0);
  void remove(JobId job, const Request& request, std::span<const Slot> slots);
  // Whether a node accepts new tasks. Tasks that run there stay allocated until they are removed.
  void set_up(NodeId node, bool up);

  [[nodiscard]] std::int64_t free_gpu_milli() const { return free_gpu_milli_; }    // on nodes that are up
  [[nodiscard]] std::int64_t total_gpu_milli() const { return total_gpu_milli_; }  // on nodes that are up
  [[nodiscard]] std::uint32_t nodes_down() const { return nodes_down_; }

  // Nodes in the order in which they changed, with repetitions; a reader keeps its position. Positions below
  // log_start() have been dropped: a reader that is further behind rescans all nodes.
  [[nodiscard]] std::uint64_t log_start() const { return log_start_; }
  [[nodiscard]] std::uint64_t log_end() const { return log_start_ + log_.size(); }
  [[nodiscard]] NodeId changed(std::uint64_t position) const { return log_[position - log_start_]; }
  // Adds a node to the log although its free resources did not change: what may become free there did.
  void note(NodeId node);
  // Counts events that freed something: a request that failed at one value need not be retried at the same value.
  [[nodiscard]] std::uint64_t releases() const { return releases_; }

 private:
  void forget_task(NodeId node, JobId job, std::uint32_t count);

  std::shared_ptr<const Machine> machine_;
  std::vector<NodeFree> free_;
  std::vector<std::vector<Tenancy>> tasks_;
  std::vector<NodeId> log_;
  std::uint64_t log_start_ = 0;
  std::uint64_t releases_ = 0;
  std::int64_t free_gpu_milli_ = 0;
  std::int64_t total_gpu_milli_ = 0;
  std::uint32_t nodes_down_ = 0;
};

}  // namespace weft::sched
