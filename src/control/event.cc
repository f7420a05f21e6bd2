// Names of events and commands.
#include "control/event.h"

#include <fmt/format.h>

#include <array>

#include "control/command.h"

namespace weft::control {

std::string_view to_text(ReplyKind kind) {
  static constexpr std::array<std::string_view, 4> names = {"accepted", "transient", "permanent", "ambiguous"};
  return names[static_cast<std::size_t>(kind)];
}
std::string_view to_text(PartPhase phase) {
  static constexpr std::array<std::string_view, 3> names = {"running", "exited", "absent"};
  return names[static_cast<std::size_t>(phase)];
}
std::string_view to_text(Health health) {
  static constexpr std::array<std::string_view, kHealths> names = {"unknown", "healthy", "degraded", "fatal"};
  return names[static_cast<std::size_t>(health)];
}
std::string_view to_text(RequestKind kind) {
  static constexpr std::array<std::string_view, 11> names = {
      "submit", "cancel", "hold", "release", "drain", "resume", "drill", "confirm-off", "reserve", "unreserve", "move"};
  return names[static_cast<std::size_t>(kind)];
}

namespace {

struct Describe {
  std::string operator()(const StartAttempt& c) const {
    return fmt::format("start {}.{} with {} tasks", c.name.job, c.name.attempt, c.slots.size());
  }
  std::string operator()(const StopAttempt& c) const {
    return fmt::format("stop {}.{} on {} nodes", c.name.job, c.name.attempt, c.nodes.size());
  }
  std::string operator()(const RequestCheckpoint& c) const {
    return fmt::format("request a checkpoint of {}.{}", c.name.job, c.name.attempt);
  }
  std::string operator()(const VerifyCheckpoint& c) const { return fmt::format("verify checkpoints of {}", c.job); }
  std::string operator()(const QueryInventory&) const { return "query the inventory"; }
  std::string operator()(const CordonNode& c) const {
    return fmt::format("{} node {}", c.cordon ? "cordon" : "uncordon", sched::index_of(c.node));
  }
  std::string operator()(const PowerCycle& c) const {
    return fmt::format("power cycle node {}", sched::index_of(c.node));
  }
  std::string operator()(const RepairNode& c) const {
    return fmt::format("node {}: {}", sched::index_of(c.node), verb_of(c.action));
  }
  std::string operator()(const ValidateNode& c) const {
    return fmt::format("validate node {}", sched::index_of(c.node));
  }
  std::string operator()(const LeaseOrder& c) const {
    return fmt::format("{} node {} for {} under epoch {}", to_text(c.kind), sched::index_of(c.node),
                       lease::to_text(c.engine), c.epoch);
  }
};

}  // namespace

std::string_view to_text(LeaseOrderKind kind) {
  static constexpr std::string_view names[] = {"cordon", "close", "open"};
  return names[static_cast<std::size_t>(kind)];
}

std::string describe(const Command& command) { return std::visit(Describe{}, command); }

}  // namespace weft::control
