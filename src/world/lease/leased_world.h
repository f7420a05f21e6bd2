// Two engines on the same nodes: commands go to the engine that runs the job or owns the node, orders of leases to the
// engine's scheduler and to the gate of the node. Both engines and the gates report; of what they say about a node
// itself (health, marks, inventory) only the owner's word counts. It decides nothing: leases are the controller's.
//
// Each engine has boot ids of its own for a node. The controller gets the kernel's, which the gate reads on the node,
// whichever engine reports; a node whose gate has not answered yet is not reported.
//
// send() and poll() never block. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "world/core/lease_scheduler.h"
#include "world/core/work_queue.h"
#include "world/core/world.h"
#include "world/lease/gate_client.h"

namespace weft::world {

struct LeasedEngine {
  lease::LeaseOwner owner = lease::LeaseOwner::none;
  std::unique_ptr<World> world;
  std::shared_ptr<LeaseScheduler> scheduler;
};

struct LeasedOptions {
  std::vector<std::string> nodes;             // by NodeId
  std::function<void(std::string_view)> log;  // one line for operators; may be null
  Duration gate_period = sched::seconds(10);  // between looks at a node's gate
  Duration list_period = sched::seconds(10);  // between lists of an engine
  Duration busy_period = sched::seconds(1);   // for both, while a lease changes
  std::size_t gate_threads = 8;               // 0: calls are made by poll(), for tests
  std::size_t list_threads = 1;
};

class LeasedWorld final : public World {
 public:
  // The first engine runs jobs that name none.
  LeasedWorld(LeasedOptions options, std::vector<LeasedEngine> engines, std::shared_ptr<GateClient> gates);
  ~LeasedWorld() override;

  void send(const control::Command& command, sched::Moment now) override;
  void poll(sched::Moment now, std::vector<control::Event>& events) override;

 private:
  struct Side {
    LeasedEngine engine;
    std::unique_ptr<WorkQueue> calls;    // one thread: marks and lists in their order
    std::vector<control::BootId> boots;  // as this engine names them; 0: not known
    std::map<sched::NodeId, control::CordonReport> cordons;
    sched::Moment listed_at{};
    bool listing = false;
    bool list_wanted = true;
    sched::Moment inventory_at{};
    bool inventory_wanted = false;
    std::string problem;
  };
  struct NodeState {
    lease::LeaseOwner owner = lease::LeaseOwner::none;  // whose gate was open last
    control::BootId kernel_boot = 0;
    bool changing = true;  // its lease: until the gate was seen open under the epoch of the last order
    lease::LeaseEpoch expected = 0;
    sched::Moment looked_at{};
    bool looking = false;
    bool look_wanted = true;
    std::string problem;
    std::vector<control::Event> held;  // until the kernel's boot is known
  };

  [[nodiscard]] Side* side_of(lease::LeaseOwner engine);
  [[nodiscard]] Side& side_of_attempt(const control::AttemptName& name, lease::LeaseOwner engine,
                                      const std::vector<sched::NodeId>& nodes);
  [[nodiscard]] NodeState& state_of(sched::NodeId node) { return nodes_[index_of(node)]; }

  void route(const control::StartAttempt& command, sched::Moment now);
  void route(const control::StopAttempt& command, sched::Moment now);
  void route(const control::RequestCheckpoint& command, sched::Moment now);
  void route(const control::VerifyCheckpoint& command, sched::Moment now);
  void route(const control::QueryInventory& command, sched::Moment now);
  void route(const control::CordonNode& command, sched::Moment now);
  void route(const control::PowerCycle& command, sched::Moment now);
  void route(const control::RepairNode& command, sched::Moment now);
  void route(const control::ValidateNode& command, sched::Moment now);
  void route(const control::LeaseOrder& order, sched::Moment now);
  template <class Command>
  void send_to_owner(const Command& command, sched::Moment now);

  void order_gate(const control::LeaseOrder& order, sched::Moment now);
  void order_mark(lease::LeaseOwner engine, sched::NodeId node, bool cordon);
  void request_looks(sched::Moment now);
  void request_lists(sched::Moment now);
  void request_inventories(sched::Moment now);
  void take_look(sched::NodeId node, const Result<NodeLook>& look, sched::Moment began);
  void take_list(Side& side, Result<std::vector<control::NodeUse>> uses, sched::Moment began);
  void note_gate_problem(NodeState& state, const std::string& name, const std::string& problem);
  void log(std::string_view text) const;
  void refuse(control::OperationId operation, std::string text);

  // Events of an engine, on their way to the controller.
  void take(Side& side, control::Event& event);
  void take(Side& side, control::NodeReport report);
  void take(Side& side, control::PartReport report);
  void take(Side& side, control::Inventory inventory);
  void take(Side& side, control::CordonReport report);
  void take(Side& side, control::ValidationReport report);

  LeasedOptions options_;
  std::vector<Side> sides_;
  std::shared_ptr<GateClient> gates_;
  std::vector<NodeState> nodes_;
  std::map<control::AttemptName, lease::LeaseOwner> attempts_;  // which engine reported them
  std::vector<control::Event> pending_;
  control::Term term_ = 0;
  std::size_t cursor_ = 0;  // where the next round of looks begins
  WorkQueue looks_;         // last: its threads end first
};

}  // namespace weft::world
