#include "store/checksum.h"

#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace weft::store {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected
constexpr std::size_t kSlices = 8;

// Slicing by 8: slices[k][b] is the effect of byte b followed by k zero bytes, so that eight bytes are eight lookups
// that do not depend on each other.
struct Table {
  std::uint32_t slices[kSlices][256];
};

constexpr Table make_table() {
  Table table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    table.slices[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = table.slices[slice - 1][byte];
      table.slices[slice][byte] = (before >> 8U) ^ table.slices[0][before & 0xFFU];
    }
  }
  return table;
}

constexpr Table kTable = make_table();

std::uint32_t compute_by_table(std::string_view bytes, std::uint32_t crc) {
  const auto& slices = kTable.slices;
  const char* next = bytes.data();
  const char* const end = next + bytes.size();
  for (; end - next >= std::ptrdiff_t{kSlices}; next += kSlices) {
    unsigned char eight[kSlices];
    std::memcpy(eight, next, kSlices);
    crc = slices[7][eight[0] ^ (crc & 0xFFU)] ^ slices[6][eight[1] ^ ((crc >> 8U) & 0xFFU)] ^
          slices[5][eight[2] ^ ((crc >> 16U) & 0xFFU)] ^ slices[4][eight[3] ^ (crc >> 24U)] ^ slices[3][eight[4]] ^
          slices[2][eight[5]] ^ slices[1][eight[6]] ^ slices[0][eight[7]];
  }
  for (; next != end; ++next) crc = (crc >> 8U) ^ slices[0][(crc ^ static_cast<unsigned char>(*next)) & 0xFFU];
  return crc;
}

#if defined(__x86_64__)
// The processor has an instruction for this polynomial.
__attribute__((target("sse4.2"))) std::uint32_t compute_by_instruction(std::string_view bytes, std::uint32_t crc) {
  const char* next = bytes.data();
  const char* const end = next + bytes.size();
  std::uint64_t wide = crc;
  for (; end - next >= 8; next += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, next, 8);
    wide = _mm_crc32_u64(wide, eight);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; next != end; ++next) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*next));
  return crc;
}
#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~compute_by_instruction(bytes, ~previous);
#endif
  return crc32c_by_table(bytes, previous);
}

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t previous) {
  return ~compute_by_table(bytes, ~previous);
}

}  // namespace weft::store
