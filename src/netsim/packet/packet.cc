#include "netsim/packet/packet.h"

#include <sys/mman.h>

#include <new>

#include "base/check.h"

namespace weft::netsim {

namespace {

constexpr std::size_t kMax = std::size_t{1} << 28U;  // packets: 8 GiB of address space
constexpr std::size_t kFewest = std::size_t{1} << 20U;
constexpr std::uint32_t kStep = 1024;

}  // namespace

PacketPool::PacketPool(bool telemetry) : with_telemetry_(telemetry) {
  // If address space is limited (ulimit, sanitizers), reserve less.
  for (capacity_ = kMax; capacity_ >= kFewest; capacity_ /= 2) {
    void* space = ::mmap(nullptr, capacity_ * sizeof(Packet), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) continue;
    packets_ = static_cast<Packet*>(space);
    return;
  }
  CHECK(packets_ != nullptr, "no address space for packets");
}

PacketPool::~PacketPool() { ::munmap(packets_, capacity_ * sizeof(Packet)); }

void PacketPool::extend() {
  CHECK(count_ + kStep <= capacity_, "more packets in flight than there is room for");
  for (std::uint32_t i = count_ + kStep; i-- > count_;) {
    new (packets_ + i) Packet();
    release(i);
  }
  count_ += kStep;
  if (with_telemetry_) telemetry_.resize(count_);
}

}  // namespace weft::netsim
