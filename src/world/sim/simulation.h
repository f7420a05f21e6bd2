// Deterministic simulation of the control plane: the product's controller, loop and store against the simulated world,
// from one seed, in one thread. First faults, with safety checked after every event; then the faults stop and
// everything must settle (liveness). A run that fails can be replayed from its recorded choices and shrunk.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "control/controller.h"
#include "control/defect.h"
#include "store/store.h"
#include "world/sim/choices.h"
#include "world/sim/sim_etcd.h"
#include "world/sim/sim_world.h"

namespace weft::world {

struct SimulationOptions {
  control::Defect defect = control::Defect::none;
  std::vector<Fault> focus{};  // always enabled, and more frequent
  bool leases = false;         // two engines on the same nodes; otherwise every third run has them
  bool etcd = false;           // the journal is in etcd, and controllers take over from each other
  EtcdMutant etcd_mutant{};
  // Called after every turn and for every durable record, for checks of modules above: "" or the problem.
  std::function<std::string(const control::Controller&, sched::Moment now)> watch_state{};
  std::function<std::string(store::Sequence, const control::Record&, const control::ControlState&)> watch_record{};
};

struct SimulationResult {
  std::string violation;  // "": none. Begins with the number of the invariant
  std::string stopped;    // the controller refused to start on a damaged store; "": it did not
  std::uint64_t faults = 0;
  std::uint64_t events = 0;  // turns of the loop
  std::uint64_t records = 0;
  std::uint64_t crashes = 0;
  std::uint64_t takeovers = 0;  // while the controller before was stopped in a commit, and went on afterwards
  std::uint64_t followed = 0;   // comparisons of a follower's state with the leader's
  std::uint64_t jobs = 0;
  std::uint64_t moves = 0;  // of nodes to another engine, that ended
  std::uint64_t journal_hash = 0;
  std::set<std::string> reached;  // rare states
  std::vector<std::uint64_t> fault_counts;
  std::string scenario;  // the choices, if it failed
};

[[nodiscard]] SimulationResult simulate(Choices choices, const SimulationOptions& options = {});

// Removes chunks of choices and lowers the others as long as the same invariant fails. At most `max_runs` runs.
struct ShrunkScenario {
  std::string scenario;
  std::string violation;
  std::size_t runs = 0;
  std::size_t choices_before = 0;
  std::size_t choices_after = 0;  // not 0
};
[[nodiscard]] ShrunkScenario shrink(const std::string& scenario, const SimulationOptions& options,
                                    std::size_t max_runs);

}  // namespace weft::world
