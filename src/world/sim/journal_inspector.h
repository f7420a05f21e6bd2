// Checks of the simulation on the records of the journal, in their order, as they become durable: each against the
// state before it and against what the simulated world knows.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "control/options.h"
#include "control/state.h"
#include "world/sim/sim_world.h"

namespace weft::world {

class JournalInspector {
 public:
  // `settings` and `world` must outlive it.
  JournalInspector(std::shared_ptr<const sched::Machine> machine, const control::ControllerOptions& settings,
                   SimWorld& world);

  void inspect(const control::Record& record);
  // Records were lost: what was read of them does not count, and the state is not followed anymore.
  void forget();

 private:
  void inspect_reserved(const control::Record& record);
  void check_session_step(const control::Record& record);
  void note_lease(const control::Record& record);
  void check_drill(const control::Record& record);
  void check_close(const control::Record& record);
  void check_evidence(const control::Record& record);
  void check_breaker(const control::Record& record);
  void check_tenants(sched::NodeId node);

  std::shared_ptr<const sched::Machine> machine_;
  const control::ControllerOptions& settings_;
  SimWorld& world_;
  std::optional<control::ControlState> before_;  // the state before the record; none if records may be lost
  std::map<sched::NodeId, control::SessionId> open_sessions_;
  std::map<sched::NodeId, std::set<std::string>> tenants_;  // of the open sessions
  std::map<sched::NodeId, sched::Moment> closed_;
  std::map<sched::NodeId, sched::Moment> opened_;
};

}  // namespace weft::world
