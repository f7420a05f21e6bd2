// Tells the service manager that a server is ready: the protocol of sd_notify(3), for units with Type=notify. Not here:
// watchdogs and socket activation.
#pragma once

#include <string>
#include <string_view>

namespace weft::cli {

// `socket`: of the environment variable NOTIFY_SOCKET; does nothing if it is empty. `state`: "READY=1". A manager that
// cannot be reached does not stop the server.
void notify_service_manager(const std::string& socket, std::string_view state);

}  // namespace weft::cli
