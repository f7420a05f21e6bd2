// Context of every command on many BMCs: the devices, how to log in to them, and the parallelism. Opens a session to a
// target with the right credential, also trying a pending password; stateless.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "oob/bmc/bmc.h"
#include "oob/bmc/fan_out.h"
#include "oob/bmc/inventory.h"
#include "oob/credentials/credentials.h"
#include "oob/journal/journal.h"

namespace weft::oob {

struct Fleet {
  const Inventory& inventory;
  BmcConnector& connector;
  CredentialStore& credentials;
  Clock& clock;
  Journal& journal;
  int width = kDefaultFanOut;
  // Called with (0, N) before N devices are asked and with (N, N) after; from one thread at a time. May be unset.
  std::function<void(std::uint32_t finished, std::uint32_t total)> progress{};
};

// fan_out() over N devices with the fleet's width and clock, and its progress.
FanOutResult fan_out_over(const Fleet& fleet, std::size_t count, const std::function<void(std::uint32_t)>& task);

// Which of the two passwords was accepted.
enum class Opened : std::uint8_t { current, pending };
struct OpenBmc {
  std::unique_ptr<Bmc> bmc;
  Opened with = Opened::current;
  std::string user;
};
// One attempt with the current password, and one with the pending password if the first was rejected.
[[nodiscard]] Result<OpenBmc> open_bmc(const Fleet& fleet, std::uint32_t target);

}  // namespace weft::oob
