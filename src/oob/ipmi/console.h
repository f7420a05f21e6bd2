// Serial over LAN (IPMI 2.0, sections 15 and 26) through FreeIPMI's libipmiconsole, in a session separate from the
// command session. The library has one thread engine per process; it starts with the first console and stops with the
// last, after the sessions are closed.
#pragma once

#include <memory>
#include <string>

#include "oob/bmc/bmc.h"
#include "oob/ipmi/options.h"

namespace weft::oob {

// Takes over the console from any current user, as libipmiconsole does. The previous user gets an error if the BMC
// reports the takeover or the endpoint has the workaround serial-keepalive or serial-keepalive-empty; otherwise its
// console goes silent.
[[nodiscard]] Result<std::unique_ptr<ConsoleStream>> open_ipmi_console(const IpmiOptions& options, int suite,
                                                                       const std::string& user, const Secret& password);

}  // namespace weft::oob
