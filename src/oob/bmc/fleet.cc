#include "oob/bmc/fleet.h"

namespace weft::oob {

FanOutResult fan_out_over(const Fleet& fleet, std::size_t count, const std::function<void(std::uint32_t)>& task) {
  const auto total = static_cast<std::uint32_t>(count);
  if (fleet.progress) fleet.progress(0, total);
  const FanOutResult result = fan_out(total, fleet.width, fleet.clock, task, [&](std::uint32_t finished) {
    if (fleet.progress && finished < total) fleet.progress(finished, total);
  });
  if (fleet.progress) fleet.progress(total, total);
  return result;
}

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
