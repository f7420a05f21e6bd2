// LedWorld: a World that is only sent commands while this controller may act, that is, while it leads. Between the
// moment at which the records of a commit are durable and the moment at which its commands are sent, the process may
// have been stopped for so long that another controller leads. Commands that are dropped count as lost, as after a
// crash. What was sent before cannot be taken back here: nodes refuse it by its term.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "world/core/world.h"

namespace weft::world {

class LedWorld final : public World {
 public:
  // The world must outlive it.
  LedWorld(World& world, std::function<bool()> may_act) : world_(world), may_act_(std::move(may_act)) {}
  void send(const control::Command& command, sched::Moment now) override {
    if (may_act_()) world_.send(command, now);
  }
  void poll(sched::Moment now, std::vector<control::Event>& events) override { world_.poll(now, events); }
  [[nodiscard]] const Observation* observation() const override { return world_.observation(); }

 private:
  World& world_;
  std::function<bool()> may_act_;
};

// The world of a controller that does not lead: it hears nothing and does nothing.
class SilentWorld final : public World {
 public:
  void send(const control::Command& /*command*/, sched::Moment /*now*/) override {}
  void poll(sched::Moment /*now*/, std::vector<control::Event>& /*events*/) override {}
};

}  // namespace weft::world
