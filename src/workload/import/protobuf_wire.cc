#include "workload/import/protobuf_wire.h"

#include <fmt/format.h>

namespace weft::workload {

void WireReader::fail(std::uint64_t offset, std::string_view why) {
  if (problem_.empty()) problem_ = fmt::format("byte {}: {}", offset, why);
}

std::optional<std::uint64_t> WireReader::varint() {
  const std::uint64_t from = offset();
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at_ == bytes_.size()) {
      fail(from, "truncated number at the end");
      return std::nullopt;
    }
    const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
    if (shift == 63 && (byte & 0xFEU) != 0) break;
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  fail(from, "a number is longer than 64 bits");
  return std::nullopt;
}

std::optional<std::string_view> WireReader::take(std::uint64_t count) {
  if (count > bytes_.size() - at_) {
    fail(offset(), fmt::format("{} bytes announced but only {} left", count, bytes_.size() - at_));
    return std::nullopt;
  }
  const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(count));
  at_ += static_cast<std::size_t>(count);
  return taken;
}

std::optional<std::uint64_t> WireReader::fixed(std::size_t size) {
  const auto taken = take(size);
  if (!taken) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = (value << 8U) | static_cast<std::uint8_t>((*taken)[i]);
  return value;
}

std::optional<WireField> WireReader::next() {
  if (failed() || at_end()) return std::nullopt;
  WireField field;
  field.offset = offset();
  const auto tag = varint();
  if (!tag) return std::nullopt;
  if (*tag >> 3U == 0 || *tag >> 3U > 0x1FFFFFFFU) {
    fail(field.offset, "invalid field number");
    return std::nullopt;
  }
  field.number = static_cast<std::uint32_t>(*tag >> 3U);
  std::optional<std::uint64_t> value;
  switch (*tag & 7U) {
    case 0:
      field.type = WireType::varint;
      value = varint();
      break;
    case 1:
      field.type = WireType::fixed64;
      value = fixed(8);
      break;
    case 2:
      field.type = WireType::bytes;
      value = varint();
      if (value) {
        field.contents = offset();
        const auto taken = take(*value);
        if (!taken) return std::nullopt;
        field.bytes = *taken;
      }
      break;
    case 5:
      field.type = WireType::fixed32;
      value = fixed(4);
      break;
    default:
      fail(field.offset, fmt::format("unknown field type {}", *tag & 7U));
  }
  if (!value) return std::nullopt;
  field.value = *value;
  return field;
}

}  // namespace weft::workload
