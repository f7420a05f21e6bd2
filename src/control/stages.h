// Stages of the automatic repair of a node, and the nodes where each is enabled. In watch mode a stage that is not
// enabled for a node becomes a proposal instead of a command. Drive mode has all stages enabled.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sched/machine/resources.h"

namespace weft::control {

enum class Stage : std::uint8_t {
  quarantine,  // the engine starts nothing new there
  drain,       // what the engine runs there is moved away
  repair       // power cycle or reboot
};
inline constexpr std::uint8_t kStages = 3;
[[nodiscard]] std::string_view to_text(Stage stage);
[[nodiscard]] std::optional<Stage> find_stage(std::string_view name);
// What it does to a node, as a verb: "power cycle".
[[nodiscard]] std::string_view verb_of(Stage stage);

class StageSet {
 public:
  // Every stage on every node.
  StageSet() = default;
  // No stage on any of so many nodes.
  [[nodiscard]] static StageSet none(std::size_t nodes);

  void enable(Stage stage, sched::NodeId node) { enabled_[index_of(stage)][sched::index_of(node)] = true; }
  [[nodiscard]] bool allows(Stage stage, sched::NodeId node) const {
    return all_ || enabled_[index_of(stage)][sched::index_of(node)];
  }
  [[nodiscard]] bool allows_everything() const { return all_; }

 private:
  static std::size_t index_of(Stage stage) { return static_cast<std::size_t>(stage); }
  bool all_ = true;
  std::array<std::vector<bool>, kStages> enabled_;
};

}  // namespace weft::control
