// The system event log of a BMC (IPMI 2.0, sections 31 and 32): read entry by entry over a session, decoded to text by
// FreeIPMI. Bounded like the sensor records. Clearing discards entries logged since the last read; callers that want to
// keep entries must read them first.
#pragma once

#include <vector>

#include "oob/bmc/bmc.h"
#include "oob/durable/clock.h"
#include "oob/ipmi/sensors.h"
#include "oob/ipmi/session.h"

namespace weft::oob {

// `sensors`: for names and for the readings in threshold events; may be empty.
[[nodiscard]] Result<std::vector<LogEvent>> read_ipmi_events(IpmiSession& session,
                                                             const std::vector<IpmiSensor>& sensors, Clock& clock);
// One entry: 16 raw bytes (table 32-1).
[[nodiscard]] LogEvent parse_ipmi_event(const IpmiBytes& record, const std::vector<IpmiSensor>& sensors);
// Returns when the BMC reports that the log is erased.
[[nodiscard]] Status clear_ipmi_events(IpmiSession& session, Clock& clock);

}  // namespace weft::oob
