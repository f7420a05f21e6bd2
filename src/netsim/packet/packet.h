// A packet in flight: 32 bytes, two per cache line, in pools addressed by index. A data packet's slot is reused for its
// ACK at the receiver, so the usual exchange allocates once.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::netsim {

inline constexpr std::uint32_t kNil = 0xFFFFFFFFU;

enum class PacketKind : std::uint8_t { data, ack, nack, cnp, pull, pause };

struct Packet {
  // Flags.
  static constexpr std::uint8_t kMarked = 1;  // congestion experienced; on an ACK: the data packet was
  static constexpr std::uint8_t kLast = 2;    // ends a message
  static constexpr std::uint8_t kRetransmitted = 4;
  static constexpr std::uint8_t kStop = 8;        // pause frame: XOFF, else XON
  static constexpr std::uint8_t kDelivered = 16;  // ACK: the data packet was new to the receiver

  std::uint32_t next = kNil;     // in its queue
  std::uint32_t connection = 0;  // pause frame: unused
  std::uint32_t sequence = 0;    // data: number of the packet; ack and nack: first number not yet received
  std::uint32_t route = 0;       // index of its next port in the table of routes
  std::uint32_t stamp = 0;       // when it (or the data it acknowledges) left the sender, in units of 1024 ps
  std::uint32_t ingress = 0;     // port it came in through, while queued in a switch
  std::uint16_t wire = 0;        // bytes on the wire
  std::uint16_t offset = 0;      // ack: number of the acknowledged packet, less `sequence`, plus 1; 0 if none or far
  std::uint8_t queue = 0;
  PacketKind kind = PacketKind::data;
  std::uint8_t flags = 0;
  std::uint8_t hops = 0;  // switches passed
};
static_assert(sizeof(Packet) == 32);

// In-band telemetry that HPCC's switches write into a packet: one record per link.
struct Telemetry {
  static constexpr int kHops = 8;
  struct Hop {
    std::int64_t time = 0;        // ps
    std::int64_t sent_bytes = 0;  // total sent by the port
    std::int64_t rate = 0;        // bits/s
    std::uint32_t queue_bytes = 0;
    std::uint32_t port = kNil;
  };
  Hop hop[kHops];
};

// Packets never move, so a handler may hold one while it sends another, and an index needs no table of blocks: address
// space for the maximum is reserved at once, and pages are committed when touched.
class PacketPool {
 public:
  explicit PacketPool(bool telemetry = false);
  ~PacketPool();
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  std::uint32_t allocate() {
    if (free_ == kNil) extend();
    const std::uint32_t id = free_;
    Packet& packet = packets_[id];
    free_ = packet.next;
    packet = Packet();
    return id;
  }
  void release(std::uint32_t id) {
    packets_[id].next = free_;
    free_ = id;
  }
  Packet& operator[](std::uint32_t id) { return packets_[id]; }
  Telemetry& telemetry(std::uint32_t id) { return telemetry_[id]; }
  [[nodiscard]] bool with_telemetry() const { return with_telemetry_; }

 private:
  void extend();

  Packet* packets_ = nullptr;
  std::vector<Telemetry> telemetry_;
  std::size_t capacity_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t free_ = kNil;
  bool with_telemetry_ = false;
};

}  // namespace weft::netsim
