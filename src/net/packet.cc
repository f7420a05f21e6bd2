#include "net/packet.h"

namespace weft::net {

void PacketPool::extend() {
  const auto first = static_cast<std::uint32_t>(blocks_.size()) << kBits;
  blocks_.push_back(std::make_unique<Packet[]>(kBlock));
  if (with_telemetry_) telemetry_.push_back(std::make_unique<Telemetry[]>(kBlock));
  for (std::uint32_t i = kBlock; i-- > 0;) release(first + i);
}

}  // namespace weft::net
