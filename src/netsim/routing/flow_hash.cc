#include "netsim/routing/flow_hash.h"

#include "base/random.h"

namespace weft::netsim {

namespace {

constexpr std::array<std::uint32_t, 256> make_crc32_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? 0xEDB88320U : 0U);
    table[i] = value;
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> make_crc16_table() {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i << 8U;
    for (int bit = 0; bit < 8; ++bit) value = (value << 1U) ^ ((value & 0x8000U) != 0 ? 0x1021U : 0U);
    table[i] = static_cast<std::uint16_t>(value & 0xFFFFU);
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kCrc32Table = make_crc32_table();
constexpr std::array<std::uint16_t, 256> kCrc16Table = make_crc16_table();

std::uint64_t mixed(std::uint64_t value) { return detail::splitmix64(value); }

// The selected fields in the order of the RSS input: addresses, ports, then the fields that RSS does not use. All
// big-endian.
class KeyBytes {
 public:
  KeyBytes(const FlowKey& key, const HashFields& fields, std::uint32_t ingress) {
    if (fields.source_address) add(key.source_address, 4);
    if (fields.destination_address) add(key.destination_address, 4);
    if (fields.source_port) add(key.source_port, 2);
    if (fields.destination_port) add(key.destination_port, 2);
    if (fields.protocol) add(key.protocol, 1);
    if (fields.ingress_link) add(ingress, 4);
  }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return std::span(bytes_).first(size_); }

 private:
  void add(std::uint32_t value, unsigned width) {
    while (width-- > 0) bytes_[size_++] = static_cast<std::uint8_t>(value >> (8 * width));
  }
  std::array<std::uint8_t, 17> bytes_{};
  std::size_t size_ = 0;
};

std::uint32_t rotated(std::uint32_t value, unsigned width, unsigned by) {
  by %= width;
  if (by == 0) return value;
  const std::uint32_t turned = (value >> by) | (value << (width - by));
  return width == 32 ? turned : turned & ((1U << width) - 1);
}

std::uint32_t seeded_toeplitz(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  if (seed == 0) return toeplitz(bytes, microsoft_key());
  ToeplitzKey key = microsoft_key();
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < key.size(); i += 8) {
    const std::uint64_t draw = detail::splitmix64(state);
    for (std::size_t j = 0; j < 8; ++j) key[i + j] ^= static_cast<std::uint8_t>(draw >> (8 * j));
  }
  return toeplitz(bytes, key);
}

std::uint32_t seeded_mix64(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  std::uint64_t hash = mixed(seed);
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    for (std::size_t j = i; j < bytes.size() && j < i + 8; ++j) word = (word << 8U) | bytes[j];
    hash = mixed(hash ^ word);
  }
  return static_cast<std::uint32_t>(hash >> 32U);
}

}  // namespace

std::uint32_t crc32_ieee(std::span<const std::uint8_t> bytes, std::uint32_t initial) {
  std::uint32_t crc = initial;
  for (const std::uint8_t byte : bytes) crc = (crc >> 8U) ^ kCrc32Table[(crc ^ byte) & 0xFFU];
  return ~crc;
}

std::uint16_t crc16_ccitt(std::span<const std::uint8_t> bytes, std::uint16_t initial) {
  std::uint32_t crc = initial;
  for (const std::uint8_t byte : bytes) crc = ((crc << 8U) & 0xFFFFU) ^ kCrc16Table[(crc >> 8U) ^ byte];
  return static_cast<std::uint16_t>(crc);
}

std::uint16_t xor16(std::span<const std::uint8_t> bytes) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) word ^= std::uint32_t{bytes[i]} << (i % 2 == 0 ? 8U : 0U);
  return static_cast<std::uint16_t>(word);
}

std::uint32_t toeplitz(std::span<const std::uint8_t> bytes, const ToeplitzKey& key) {
  std::uint32_t hash = 0;
  // The 32 bits of the key aligned with the current input bit, and the next eight.
  std::uint64_t window = 0;
  for (std::size_t i = 0; i < 4; ++i) window = (window << 8U) | key[i];
  for (std::size_t i = 0; i < bytes.size() && i + 4 < key.size(); ++i) {
    window = (window << 8U) | key[i + 4];
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((bytes[i] & (0x80U >> bit)) != 0) hash ^= static_cast<std::uint32_t>(window >> (8 - bit));
    }
  }
  return hash;
}

const ToeplitzKey& microsoft_key() {
  static constexpr ToeplitzKey kKey = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                       0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                       0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                       0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
  return kKey;
}

// CRC and XOR are linear: for keys of one length, a different initial value only XORs the hash with a constant (crc(k,
// a) ^ crc(k, b) does not depend on k). With a power of two of next hops that renames the members and separates no
// flows, so a second tier with "its own seed" still polarizes. ASICs therefore also allow taking the bits from another
// position of the hash (the "hash offset" of Broadcom's ECMP and Cumulus's hash_config.offset); here bits 32..39 of the
// seed rotate the result. Toeplitz is linear too, but its seed changes the key and so the function; mix64 is not
// linear.
std::uint32_t flow_hash(const FlowKey& key, const RoutingOptions& options, std::uint64_t seed, std::uint32_t ingress) {
  const KeyBytes key_bytes(key, options.fields, ingress);
  const std::span<const std::uint8_t> bytes = key_bytes.bytes();
  const auto own = static_cast<std::uint32_t>(seed);
  const auto offset = static_cast<unsigned>((seed >> 32U) & 0xFFU);
  switch (options.hash) {
    case HashFunction::crc32:
      return rotated(crc32_ieee(bytes, 0xFFFFFFFFU ^ own), 32, offset);
    case HashFunction::crc16:
      return rotated(crc16_ccitt(bytes, static_cast<std::uint16_t>(0xFFFFU ^ (own & 0xFFFFU))), 16, offset);
    case HashFunction::xor16:
      return rotated(xor16(bytes) ^ (own & 0xFFFFU), 16, offset);
    case HashFunction::toeplitz:
      return seeded_toeplitz(bytes, seed);
    case HashFunction::mix64:
      return seeded_mix64(bytes, seed);
  }
  return 0;
}

std::uint64_t seed_of(const Network& network, NodeId at, const RoutingOptions& options) {
  // Offsets five bits apart keep the choices of three tiers of up to 32 links independent even in a 16-bit hash.
  constexpr std::uint64_t kBitsPerTier = 5;
  const std::uint64_t tier = network.node(at).tier;
  const std::uint64_t base = mixed(options.seed);
  switch (options.seeds) {
    case HashSeeds::per_switch:
      return (mixed(base ^ (model::index_of(at) + 1ULL)) & 0xFFFFFFFFU) | ((tier * kBitsPerTier & 0xFFU) << 32U);
    case HashSeeds::per_tier:
      return (mixed(base ^ (tier << 40U)) & 0xFFFFFFFFU) | ((tier * kBitsPerTier & 0xFFU) << 32U);
    case HashSeeds::shared:
      return base & 0xFFFFFFFFU;
  }
  return 0;
}

FlowKey flow_key(const Network& network, NodeId source, NodeId destination, std::uint32_t queue_pair,
                 std::uint64_t seed) {
  CHECK(model::index_of(source) < network.nodes().size() && model::index_of(destination) < network.nodes().size(),
        "a flow key of a node that does not exist");
  FlowKey key;
  key.source = source;
  key.destination = destination;
  key.source_address = 0x0A000000U + model::index_of(source) + 1;  // starting at 10.0.0.1
  key.destination_address = 0x0A000000U + model::index_of(destination) + 1;
  key.queue_pair = queue_pair;
  // Linux: rdma_calc_flow_label() folds the product of the two queue pair numbers (24 bits) into a flow label of 20
  // bits, and rdma_flow_label_to_udp_sport() folds that into 14 bits above 0xC000 (include/rdma/ib_verbs.h).
  const std::uint64_t pair = (std::uint64_t{model::index_of(source)} << 32U) | model::index_of(destination);
  const std::uint64_t draw = mixed(mixed(mixed(seed) ^ pair) ^ queue_pair);
  std::uint64_t label = (draw & 0xFFFFFFU) * ((draw >> 24U) & 0xFFFFFFU);
  label ^= label >> 20U;
  label ^= label >> 40U;
  label &= 0xFFFFFU;
  key.source_port = static_cast<std::uint16_t>(((label & 0x3FFFU) ^ (label >> 14U)) | 0xC000U);
  return key;
}

}  // namespace weft::netsim
