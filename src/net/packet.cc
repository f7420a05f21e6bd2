#include "net/packet.h"

#include <sys/mman.h>

#include <new>

#include "base/check.h"

namespace weft::net {

namespace {

constexpr std::size_t kMost = 1U << 28U;  // packets: 8 GiB of address space
constexpr std::uint32_t kStep = 1024;

}  // namespace

PacketPool::PacketPool(bool telemetry) : with_telemetry_(telemetry) {
  void* space = ::mmap(nullptr, kMost * sizeof(Packet), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(space != MAP_FAILED, "no address space for packets");
  packets_ = static_cast<Packet*>(space);
}

PacketPool::~PacketPool() { ::munmap(packets_, kMost * sizeof(Packet)); }

void PacketPool::extend() {
  CHECK(count_ + kStep <= kMost, "more packets in flight than there is room for");
  for (std::uint32_t i = count_ + kStep; i-- > count_;) {
    new (packets_ + i) Packet();
    release(i);
  }
  count_ += kStep;
  if (with_telemetry_) telemetry_.resize(count_);
}

}  // namespace weft::net
