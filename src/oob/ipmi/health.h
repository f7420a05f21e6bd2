// Maps FreeIPMI's interpretation of a sensor state or an event to Health; one mapping for both.
#pragma once

#include "oob/bmc/bmc.h"
#include "oob/ipmi/lazy_freeipmi.h"

namespace weft::oob {

[[nodiscard]] inline Health health_of_state(unsigned int interpreted) {
  switch (interpreted) {
    case IPMI_INTERPRET_STATE_NOMINAL:
      return Health::ok;
    case IPMI_INTERPRET_STATE_WARNING:
      return Health::warning;
    case IPMI_INTERPRET_STATE_CRITICAL:
      return Health::critical;
    default:
      return Health::unknown;
  }
}

}  // namespace weft::oob
