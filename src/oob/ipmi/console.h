// Serial over LAN (IPMI 2.0, sections 15 and 26) by FreeIPMI's libipmiconsole: a session of its own beside the one that
// commands go through. The library has one engine of threads for the process; it is started with the first console and
// ended with the last, which waits until the BMCs were told.
#pragma once

#include <memory>
#include <string>

#include "oob/bmc/bmc.h"
#include "oob/ipmi/options.h"

namespace weft::oob {

// Takes the console from whoever has it, as libipmiconsole does. Who loses it this way reads an error, if the BMC says
// so or the endpoint has the workaround serial-keepalive or serial-keepalive-empty; silence otherwise.
[[nodiscard]] Result<std::unique_ptr<ConsoleStream>> open_ipmi_console(const IpmiOptions& options, int suite,
                                                                       const std::string& user, const Secret& password);

}  // namespace weft::oob
