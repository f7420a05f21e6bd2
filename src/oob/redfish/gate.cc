#include "oob/redfish/gate.h"

#include <algorithm>
#include <map>

namespace weft::oob {

std::shared_ptr<RequestGate> request_gate(const std::string& authority) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<RequestGate>> gates;
  static std::size_t next_sweep = 1024;
  const std::lock_guard lock(mutex);
  if (gates.size() >= next_sweep) {
    std::erase_if(gates, [](const auto& entry) { return entry.second.expired(); });
    next_sweep = std::max<std::size_t>(1024, 2 * gates.size());
  }
  std::weak_ptr<RequestGate>& known = gates[authority];
  std::shared_ptr<RequestGate> gate = known.lock();
  if (gate == nullptr) {
    gate = std::make_shared<RequestGate>();
    known = gate;
  }
  return gate;
}

}  // namespace weft::oob
