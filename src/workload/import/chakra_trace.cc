#include "workload/import/chakra_trace.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "workload/import/chakra_builder.h"
#include "workload/import/protobuf_wire.h"

namespace weft::workload {
namespace {

std::int64_t whole(double value) {
  if (!(value > -9e18)) return INT64_MIN;  // also NaN
  return value < 9e18 ? std::llround(value) : INT64_MAX;
}

std::int64_t zigzag(std::uint64_t value) { return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1U)); }

// AttributeProto: its value is one of many fields, and writers differ in which one they use.
struct Attribute {
  std::string_view name;
  std::string_view text;
  std::optional<std::int64_t> number;
};

void read_value(const WireField& field, Attribute& attribute) {
  switch (field.number) {
    case 1:
      attribute.name = field.bytes;
      return;
    case 3:  // double
      attribute.number = whole(std::bit_cast<double>(field.value));
      return;
    case 5:  // float
      attribute.number = whole(std::bit_cast<float>(static_cast<std::uint32_t>(field.value)));
      return;
    case 7:   // int32
    case 9:   // int64
    case 25:  // sfixed64
    case 27:  // bool
      attribute.number = static_cast<std::int64_t>(field.value);
      return;
    case 11:  // uint32
    case 13:  // uint64
    case 19:  // fixed32
    case 21:  // fixed64
      attribute.number = static_cast<std::int64_t>(std::min<std::uint64_t>(field.value, INT64_MAX));
      return;
    case 15:  // sint32
    case 17:  // sint64
      attribute.number = zigzag(field.value);
      return;
    case 23:  // sfixed32
      attribute.number = static_cast<std::int32_t>(field.value);
      return;
    case 29:  // string
      attribute.text = field.bytes;
      return;
    default:
      return;  // lists and bytes: not used here
  }
}

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& path) : file_(bytes), builder_(path) {}

  Result<ChakraTrace> read() {
    bool first = true;
    while (!file_.at_end()) {
      const std::uint64_t start = file_.offset();
      const auto size = file_.varint();
      if (size && *size > kMaxChakraMessage) {
        return builder_.bad(fmt::format("byte {}: a message of {} bytes exceeds {}: not a Chakra trace", start, *size,
                                        kMaxChakraMessage));
      }
      const std::uint64_t offset = file_.offset();
      const auto message = size ? file_.take(*size) : std::nullopt;
      if (!message) return builder_.bad(file_.problem());
      if (Status status = read_message(*message, offset, first); !status.ok()) return status.error();
      first = false;
    }
    return std::move(builder_).finish();
  }

 private:
  // GlobalMetadata begins with a string where a Node has its numeric id.
  Status read_message(std::string_view message, std::uint64_t offset, bool first) {
    if (first) {
      WireReader fields(message, offset);
      const auto field = fields.next();
      if (message.empty()) return {};
      if (field && field->type == WireType::bytes && field->number <= 2) {
        if (field->number == 1) builder_.trace().version = field->bytes.substr(0, 32);
        return {};
      }
    }
    if (message.empty()) return builder_.bad(fmt::format("byte {}: an empty node", offset));
    return read_node(message, offset);
  }

  Status read_node(std::string_view message, std::uint64_t offset) {
    draft_.node = {};
    draft_.name = draft_.group = {};
    draft_.source = draft_.destination = kUnknownPeer;
    draft_.control.clear();
    draft_.data.clear();
    std::string_view inputs;
    attributes_.clear();
    std::int64_t type = 0;
    WireReader fields(message, offset);
    while (const auto field = fields.next()) {
      if (!read_field(*field, inputs, type)) {
        return builder_.bad(
            fmt::format("byte {}: field {} of a node has the wrong type", field->offset, field->number));
      }
    }
    if (fields.failed()) return builder_.bad(fields.problem());
    if (Status status = builder_.set_type(draft_, type); !status.ok()) return status;
    for (const WireField& attribute : attributes_) {
      if (Status status = read_attribute(attribute); !status.ok()) return status;
    }
    if (draft_.node.type == ChakraType::metadata && inputs.find("\"pg_name\"") != std::string_view::npos) {
      if (Status status = read_process_groups(inputs); !status.ok()) return status;
    }
    return builder_.add(draft_);
  }

  bool read_field(const WireField& field, std::string_view& inputs, std::int64_t& type) {
    const bool number = field.type == WireType::varint;
    switch (field.number) {
      case 1:
        draft_.node.id = field.value;
        return number;
      case 2:
        draft_.name = field.bytes;
        return !number;
      case 3:
        type = static_cast<std::int64_t>(std::min<std::uint64_t>(field.value, INT64_MAX));
        return number;
      case 4:
        return each_varint(field, [&](std::uint64_t id) { draft_.control.push_back(id); });
      case 5:
        return each_varint(field, [&](std::uint64_t id) { draft_.data.push_back(id); });
      case 6:
        draft_.node.start_us = field.value;
        return number;
      case 7:
        draft_.node.duration_us = field.value;
        return number;
      case 8: {
        WireReader io(field.bytes, field.contents);
        while (const auto part = io.next()) {
          if (part->number == 1) inputs = part->bytes;
        }
        return !io.failed();
      }
      case 10:
        attributes_.push_back(field);
        return !number;
      default:
        return true;  // outputs, and fields of later schemas
    }
  }

  Status read_attribute(const WireField& field) {
    Attribute attribute;
    WireReader parts(field.bytes, field.contents);
    while (const auto part = parts.next()) read_value(*part, attribute);
    if (parts.failed()) return builder_.bad(parts.problem());
    if (attribute.name == "pg_name") {
      draft_.group = attribute.text;
      return {};
    }
    return attribute.number ? builder_.set(draft_, attribute.name, *attribute.number) : Status();
  }

  // PyTorch writes a list with one string that is itself a list: ['[{"pg_name": "0", "ranks": [0, 1]}]'].
  Status read_process_groups(std::string_view inputs) {
    const std::size_t from = inputs.find("[{");
    const std::size_t until = inputs.rfind("}]");
    if (from == std::string_view::npos || until == std::string_view::npos || until < from) return {};
    Result<std::vector<ChakraRanks>> groups = read_chakra_groups(inputs.substr(from, until + 2 - from), "");
    if (!groups.ok()) return builder_.bad_node(draft_.node.id, groups.error().message);
    for (ChakraRanks& group : *groups) builder_.trace().process_groups.push_back(std::move(group));
    return {};
  }

  WireReader file_;
  ChakraBuilder builder_;
  ChakraDraft draft_;
  std::vector<WireField> attributes_;
};

}  // namespace

Result<ChakraTrace> read_chakra(std::string_view bytes, const std::string& path) {
  if (bytes.starts_with("\x1f\x8b")) {
    return Error{ErrorCode::invalid_input, "the trace is compressed: decompress it with gunzip first", path};
  }
  const std::size_t start = bytes.find_first_not_of(" \t\r\n");
  // A message of 123 bytes begins with '{' too, but no quote follows.
  if (start != std::string_view::npos && bytes[start] == '{') {
    const std::size_t key = bytes.find_first_not_of(" \t\r\n", start + 1);
    if (key != std::string_view::npos && bytes[key] == '"') return read_chakra_json(bytes, path);
  }
  return Reader(bytes, path).read();
}

}  // namespace weft::workload
