// Requests that change a simulated BMC: POST, PATCH and DELETE. The caller has checked that the resource exists, that
// it supports the method and that the account has the privilege. A change is applied completely or not at all.
#pragma once

#include "bmcsim/resource.h"
#include "bmcsim/service.h"

namespace weft::bmcsim {

[[nodiscard]] SimReply sim_log_in(SimBmc& bmc, const SimHttpRequest& request);
[[nodiscard]] SimReply sim_post(SimBmc& bmc, const SimPath& path, const SimHttpRequest& request);
[[nodiscard]] SimReply sim_patch(SimBmc& bmc, const SimPath& path, const SimHttpRequest& request);
[[nodiscard]] SimReply sim_delete(SimBmc& bmc, const SimPath& path);

}  // namespace weft::bmcsim
