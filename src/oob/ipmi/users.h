// User slots of a BMC (IPMI 2.0, sections 22.26 to 22.30), for the channel of this session.
#pragma once

#include <string>
#include <vector>

#include "oob/bmc/bmc.h"
#include "oob/ipmi/session.h"

namespace weft::oob {

// Slots that have a name or are enabled, in order. An enabled slot without a name is listed because its password alone
// is enough to log in.
[[nodiscard]] Result<std::vector<BmcUser>> read_ipmi_users(IpmiSession& session);
// Sets a password of up to 20 bytes, lets the BMC test it, and logs in with it if it belongs to the session's own user.
// conflict: the BMC accepted it, but the test or the login failed; after a failed login the old password was restored.
[[nodiscard]] Status set_ipmi_password(IpmiSession& session, const std::string& user, const Secret& password);
[[nodiscard]] Status set_ipmi_user_enabled(IpmiSession& session, const std::string& user, bool enabled);

}  // namespace weft::oob
