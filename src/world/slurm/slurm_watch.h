// Engine `slurm` in watch mode: Slurm schedules. weft reads its lists of jobs and nodes, reports the nodes to the
// controller, and changes nothing but what was enabled per node (guarded_client.h). It submits and cancels no job.
//
// send() and poll() never block, as in slurm_world.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "control/stages.h"
#include "sched/machine/resources.h"
#include "world/core/observed.h"
#include "world/core/world.h"
#include "world/slurm/call_queue.h"
#include "world/slurm/node_table.h"
#include "world/slurm/slurm_client.h"

namespace weft::world {

struct SlurmWatchOptions {
  std::string state;                          // directory; created if missing
  std::string cluster;                        // name
  std::vector<sched::NodeShape> nodes;        // by NodeId; names are Slurm's NodeName
  control::StageSet stages;                   // what is enabled
  std::function<void(std::string_view)> log;  // one line for operators; may be null
  Duration period = milliseconds(2'000);      // between lists; longer if they take long
  bool threads = true;                        // false: calls are made by poll(), for tests
};

class SlurmWatch final : public World {
 public:
  // Asks Slurm for its nodes: an error if one of the cluster file is missing, `conflict` if another process uses the
  // state directory.
  [[nodiscard]] static Result<std::unique_ptr<SlurmWatch>> open(const SlurmWatchOptions& options,
                                                                const std::shared_ptr<SlurmClient>& client);
  ~SlurmWatch() override = default;

  void send(const control::Command& command, sched::Moment now) override;
  void poll(sched::Moment now, std::vector<control::Event>& events) override;
  [[nodiscard]] const Observation* observation() const override { return &observation_; }

 private:
  struct Lists {
    Result<std::vector<SlurmNode>> nodes = std::vector<SlurmNode>();
    std::shared_ptr<const ObservedCluster> cluster;  // null: the jobs could not be listed
    std::string problem;
    std::vector<std::string> notes;
    Duration took{};
  };

  SlurmWatch(const SlurmWatchOptions& options, const std::string& state, const std::string& cluster,
             FileDescriptor lock, const std::shared_ptr<SlurmClient>& client);
  void handle(const control::QueryInventory& command, sched::Moment now);
  void handle(const control::CordonNode& command, sched::Moment now);
  void handle(const control::PowerCycle& command, sched::Moment now);
  void handle(const control::RepairNode& command, sched::Moment now);
  void handle(const control::ValidateNode& command, sched::Moment now);
  template <class Command>
  void handle(const Command& command, sched::Moment now);  // of jobs: refused
  void reply(control::OperationId operation, control::ReplyKind kind, std::string text = {});
  void evict(const control::CordonNode& command);
  void request_lists(sched::Moment now);
  void apply(Lists lists, sched::Moment observed);
  void report_nodes();
  void take_inventory(sched::Moment observed);
  void log(std::string_view text) const;

  SlurmWatchOptions options_;
  FileDescriptor lock_;
  std::string cluster_;
  NodeTable nodes_;
  Observation observation_;
  std::vector<control::Event> pending_;
  // Of the newest drain of each node: the operation, and the jobs that were asked to move or cannot.
  std::map<sched::NodeId, std::pair<control::OperationId, std::set<std::string>>> evicted_;
  control::Term term_ = 0;
  bool inventory_wanted_ = false;
  bool listing_ = false;
  bool lists_wanted_ = true;
  sched::Moment listed_at_{};
  Duration list_took_{};
  CallQueue calls_;  // last: its thread ends first
};

}  // namespace weft::world
