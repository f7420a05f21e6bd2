#include "oob/bmc/ask_all.h"

namespace weft::oob {

Result<OpenBmc> open_patiently(const Fleet& fleet, std::uint32_t target) {
  for (int attempt = 1;; ++attempt) {
    Result<OpenBmc> open = open_bmc(fleet, target);
    if (open.ok() || open.error().code != ErrorCode::conflict || attempt == kBusyTries) return open;
    if (!fleet.clock.sleep(kBusyPause * attempt)) return open;
  }
}

}  // namespace weft::oob
