#include "oob/bmc/fleet.h"

namespace weft::oob {

Result<OpenBmc> open_bmc(const Fleet& fleet, std::uint32_t target) {
  const Target& device = fleet.inventory.targets()[target];
  Result<Credential> credential = fleet.credentials.find(device.name, device.group);
  if (!credential.ok()) return credential.error();
  Result<std::unique_ptr<Bmc>> bmc = fleet.connector.dial(device.endpoint, credential->user, credential->password);
  if (bmc.ok()) return OpenBmc{std::move(bmc).value(), Opened::current, credential->user};
  if (bmc.error().code != ErrorCode::refused || !credential->pending) return bmc.error();
  Result<std::unique_ptr<Bmc>> second = fleet.connector.dial(device.endpoint, credential->user, *credential->pending);
  if (!second.ok()) return second.error();
  return OpenBmc{std::move(second).value(), Opened::pending, credential->user};
}

}  // namespace weft::oob
