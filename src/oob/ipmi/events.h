// The system event log of a BMC (IPMI 2.0, sections 31 and 32): read entry by entry over a session, put into words by
// FreeIPMI. Bounded as the sensor records are. Clearing throws away what was logged since the last look; who wants to
// keep entries reads them first.
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
// One entry: 16 bytes as they came (table 32-1).
[[nodiscard]] LogEvent parse_ipmi_event(const IpmiBytes& record, const std::vector<IpmiSensor>& sensors);
// Returns when the BMC says that the log is erased.
[[nodiscard]] Status clear_ipmi_events(IpmiSession& session, Clock& clock);

}  // namespace weft::oob
