#include "twin/ledger.h"

namespace weft::twin {

std::string_view to_text(Use use) {
  static constexpr std::array<std::string_view, kUses> names = {
      "productive",       "slowed down",      "checkpoint writes",   "work lost",        "failure not noticed", "stop",
      "start and reload", "idle, in service", "broken, not noticed", "automatic repair", "repair by people"};
  return names[static_cast<std::size_t>(use)];
}

std::string_view key_of(Use use) {
  static constexpr std::array<std::string_view, kUses> names = {"productive", "slow",     "checkpoint", "lost",
                                                                "undetected", "stopping", "starting",   "idle",
                                                                "broken",     "repair",   "person"};
  return names[static_cast<std::size_t>(use)];
}

GpuTime Ledger::sum(Use use) const {
  GpuTime sum = 0;
  for (const auto& entry : entries_) sum += entry[static_cast<std::size_t>(use)];
  return sum;
}

GpuTime Ledger::total() const {
  GpuTime total = 0;
  for (const auto& entry : entries_) {
    for (const GpuTime time : entry) total += time;
  }
  return total;
}

}  // namespace weft::twin
