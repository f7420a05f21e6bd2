#include "oob/power/hierarchy.h"

#include <algorithm>

namespace weft::oob {
namespace {

// Blade in chassis in rack: no real hierarchy is deeper; also bounds the walk if a file contains a cycle.
constexpr int kMaxLevels = 8;

std::vector<std::uint32_t> dark_within(const Inventory& inventory, const PowerStates& states, std::uint32_t target,
                                       int levels) {
  const Target& device = inventory.targets()[target];
  if (levels == 0) return {};
  const auto without = [&](std::uint32_t source) -> std::vector<std::uint32_t> {
    if (states[source] == PowerState::off) return {source};
    return dark_within(inventory, states, source, levels - 1);
  };
  if (device.parent != kNoTarget) {
    if (std::vector<std::uint32_t> off = without(device.parent); !off.empty()) return off;
  }
  std::vector<std::uint32_t> all;
  for (const std::uint32_t pdu : device.pdus) {
    const std::vector<std::uint32_t> off = without(pdu);
    if (off.empty()) return {};
    all.insert(all.end(), off.begin(), off.end());
  }
  return all;
}

}  // namespace

std::vector<std::uint32_t> power_sources(const Inventory& inventory, std::uint32_t target) {
  std::vector<std::uint32_t> sources;
  const auto add = [&](std::uint32_t source) {
    const bool known = source == target || std::find(sources.begin(), sources.end(), source) != sources.end();
    if (!known) sources.push_back(source);
  };
  const auto add_of = [&](std::uint32_t device) {
    const Target& hung = inventory.targets()[device];
    if (hung.parent != kNoTarget) add(hung.parent);
    for (const std::uint32_t pdu : hung.pdus) add(pdu);
  };
  add_of(target);
  for (std::size_t i = 0; i < sources.size(); ++i) add_of(sources[i]);
  return sources;
}

std::vector<std::uint32_t> dark_by(const Inventory& inventory, const PowerStates& states, std::uint32_t target) {
  CHECK(states.size() == inventory.targets().size(), "a state for each target");
  return dark_within(inventory, states, target, kMaxLevels);
}

std::vector<std::uint32_t> dependents(const Inventory& inventory, std::span<const std::uint32_t> targets) {
  PowerStates states(inventory.targets().size(), PowerState::unknown);
  for (const std::uint32_t target : targets) states[target] = PowerState::off;
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    if (states[i] != PowerState::off && !dark_by(inventory, states, i).empty()) found.push_back(i);
  }
  return found;
}

}  // namespace weft::oob
