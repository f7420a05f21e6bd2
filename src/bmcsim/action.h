// What changes a simulated BMC: POST, PATCH and DELETE. The caller has seen to it that the resource is there, that it
// takes the method and that the account may. A change is made whole or not at all.
#pragma once

#include "bmcsim/resource.h"
#include "bmcsim/service.h"

namespace weft::bmcsim {

[[nodiscard]] SimReply sim_log_in(SimBmc& bmc, const SimHttpRequest& request);
[[nodiscard]] SimReply sim_post(SimBmc& bmc, const SimPath& path, const SimHttpRequest& request);
[[nodiscard]] SimReply sim_patch(SimBmc& bmc, const SimPath& path, const SimHttpRequest& request);
[[nodiscard]] SimReply sim_delete(SimBmc& bmc, const SimPath& path);

}  // namespace weft::bmcsim
