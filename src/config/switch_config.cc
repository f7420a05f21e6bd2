#include "config/switch_config.h"

#include <algorithm>

namespace weft::config {

std::string_view to_text(Dialect dialect) {
  switch (dialect) {
    case Dialect::sonic:
      return "sonic";
    case Dialect::nxos:
      return "nxos";
    case Dialect::nvue:
      return "nvue";
  }
  return "sonic";
}

const InterfaceConfig* SwitchConfig::find(std::string_view name) const {
  const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                  [&](const InterfaceConfig& interface) { return interface.name == name; });
  return found == interfaces.end() ? nullptr : &*found;
}

}  // namespace weft::config
