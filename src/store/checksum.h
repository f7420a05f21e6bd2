// CRC-32C (Castagnoli, RFC 3720 appendix B.4), as iSCSI, ext4 and Btrfs use it. Detects damage of stored bytes; it is
// no protection against a deliberate change. zlib's crc32() is another polynomial.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::store {

// `previous`: the checksum of the bytes before these, to compute one over several parts.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous = 0);
// The same without the processor's instruction, for processors that have none.
[[nodiscard]] std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t previous = 0);

}  // namespace weft::store
