// User slots of a BMC (IPMI 2.0, sections 22.26 to 22.30), as they are on the channel we came through.
#pragma once

#include <string>
#include <vector>

#include "oob/bmc/bmc.h"
#include "oob/ipmi/session.h"

namespace weft::oob {

// Slots that have a name or are enabled, in order. A slot without a name that is enabled lets everyone in who knows its
// password, so it is listed.
[[nodiscard]] Result<std::vector<BmcUser>> read_ipmi_users(IpmiSession& session);
// Sets a password of up to 20 bytes, has the BMC test it, and logs in with it where it is the session's own user.
// conflict: the BMC took it, but the test or the login failed; after a failed login the old one was put back.
[[nodiscard]] Status set_ipmi_password(IpmiSession& session, const std::string& user, const Secret& password);
[[nodiscard]] Status set_ipmi_user_enabled(IpmiSession& session, const std::string& user, bool enabled);

}  // namespace weft::oob
