// Firmware updates of a simulated BMC: an UpdateService that takes images by multipart push, or by HttpPushUri as
// OpenBMC does, and flashes them as a task. A flashed BMC restarts: it is unreachable for a while and forgets its
// sessions. An image is a text file; its first line is "weft-sim-firmware COMPONENT VERSION", with BMC or BIOS.
#pragma once

#include "bmcsim/resource.h"
#include "bmcsim/service.h"

namespace weft::bmcsim {

// Whether this is where images are posted.
[[nodiscard]] bool is_push_path(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] SimReply sim_push_image(SimBmc& bmc, const SimHttpRequest& request);
[[nodiscard]] Value update_task_value(const SimBmc& bmc, const SimTask& task);

}  // namespace weft::bmcsim
