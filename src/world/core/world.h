// World: everything outside the controller, behind one interface. It executes commands and reports what it sees; it has
// no policy. Two implementations are real (engines `local` and `slurm`), one is simulated with faults.
#pragma once

#include <vector>

#include "control/command.h"
#include "control/event.h"

namespace weft::world {

struct Observation;

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  World(World&&) = delete;
  World& operator=(World&&) = delete;
  virtual ~World() = default;

  // Never blocks and never fails: the outcome arrives as an event. The caller has journaled the operation.
  virtual void send(const control::Command& command, sched::Moment now) = 0;
  // Appends the events since the last call.
  virtual void poll(sched::Moment now, std::vector<control::Event>& events) = 0;
  // Watch mode: the engine's own jobs. Null: the engine runs weft's jobs.
  [[nodiscard]] virtual const Observation* observation() const { return nullptr; }
};

}  // namespace weft::world
