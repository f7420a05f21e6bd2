// The hash functions by which switches choose a next hop, as plain functions of bytes, so that tests can compare them
// with published check values. flow_hash() of routing/routing.h feeds them a packet's fields and a seed.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "netsim/routing/routing.h"

namespace weft::netsim {

inline constexpr std::size_t kToeplitzKeyBytes = 40;
using ToeplitzKey = std::array<std::uint8_t, kToeplitzKeyBytes>;

// IEEE 802.3: reflected polynomial 0xEDB88320, result inverted. "123456789" hashes to 0xCBF43926 from 0xFFFFFFFF.
[[nodiscard]] std::uint32_t crc32_ieee(std::span<const std::uint8_t> bytes, std::uint32_t initial = 0xFFFFFFFFU);
// CCITT: polynomial 0x1021, not reflected, not inverted. "123456789" hashes to 0x29B1 from 0xFFFF.
[[nodiscard]] std::uint16_t crc16_ccitt(std::span<const std::uint8_t> bytes, std::uint16_t initial = 0xFFFFU);
// Exclusive or of the 16-bit words, big-endian; an odd byte at the end is the high half of its word.
[[nodiscard]] std::uint16_t xor16(std::span<const std::uint8_t> bytes);
// Receive-side scaling as Microsoft defines it. At most kToeplitzKeyBytes - 4 bytes count.
[[nodiscard]] std::uint32_t toeplitz(std::span<const std::uint8_t> bytes, const ToeplitzKey& key);
// The key of Microsoft's verification suite for receive-side scaling.
[[nodiscard]] const ToeplitzKey& microsoft_key();

// The seed that switch `at` uses under `options`. The low 32 bits are the function's own seed, bits 32..39 the hash
// offset (see routing/flow_hash.cc).
[[nodiscard]] std::uint64_t seed_of(const Network& network, NodeId at, const RoutingOptions& options);

}  // namespace weft::netsim
