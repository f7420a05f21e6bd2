// The operators of the simulated cluster: they repair nodes that a session hands to them, or that no session takes care
// of, and return them to service, with the requests that people make of the controller.
#pragma once

#include <vector>

#include "control/controller.h"
#include "twin/twin_world.h"

namespace weft::twin {

class People {
 public:
  explicit People(TwinWorld& world) : world_(world) {}

  // Looks at the nodes, and appends what people request now.
  void act(const control::Controller& controller, std::vector<control::Request>& requests);
  // When they act next; never: when something happens.
  [[nodiscard]] sched::Moment next() const;

 private:
  struct Task {
    sched::Moment begins{};
    sched::Moment ends{};
    bool off = false;  // the node was switched off, for a repair without a session
  };
  void assign(sched::NodeId node, bool session);
  void work(sched::NodeId node, Task& task, const control::Controller& controller,
            std::vector<control::Request>& requests);

  TwinWorld& world_;
  std::map<sched::NodeId, Task> tasks_;
  std::map<sched::NodeId, bool> sessions_;  // whether the task is of a session
};

}  // namespace weft::twin
