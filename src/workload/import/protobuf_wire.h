// Parses the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding) in place: fields in order, with
// number, type and offset. A custom reader instead of libprotobuf because its only input, Chakra's traces, has two
// messages of a dozen fields: no generated code, no build step, no allocation, and every error has the offset of its
// byte, which the library does not report. It checks bounds, not schemas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::workload {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;     // varint, fixed64, fixed32
  std::string_view bytes;      // of type bytes
  std::uint64_t offset = 0;    // of the field, in the file
  std::uint64_t contents = 0;  // of `bytes`, in the file
};

class WireReader {
 public:
  // `offset` is the position of the first byte in the file.
  explicit WireReader(std::string_view bytes, std::uint64_t offset = 0) : bytes_(bytes), base_(offset) {}

  // The next field; nullopt at the end and on an error.
  std::optional<WireField> next();
  // A single varint: the length before a message. Nullopt if it is truncated or too long.
  std::optional<std::uint64_t> varint();
  // This many bytes; nullopt if there are fewer.
  std::optional<std::string_view> take(std::uint64_t count);

  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] bool failed() const { return !problem_.empty(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }  // "byte 12: ..."
  [[nodiscard]] std::uint64_t offset() const { return base_ + at_; }

 private:
  void fail(std::uint64_t offset, std::string_view why);
  std::optional<std::uint64_t> fixed(std::size_t size);

  std::string_view bytes_;
  std::uint64_t base_;
  std::size_t at_ = 0;
  std::string problem_;
};

// Packed or not: calls `take` for each varint of a repeated field. False if the packed bytes are malformed.
template <class Take>
bool each_varint(const WireField& field, Take take) {
  if (field.type == WireType::varint) {
    take(field.value);
    return true;
  }
  if (field.type != WireType::bytes) return false;
  WireReader packed(field.bytes, field.contents);
  while (!packed.at_end()) {
    const auto value = packed.varint();
    if (!value) return false;
    take(*value);
  }
  return true;
}

}  // namespace weft::workload
