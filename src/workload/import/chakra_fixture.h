// For tests: writes Chakra traces, field by field, as Chakra's own protolib.py frames them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workload/import/chakra_trace.h"

namespace weft::workload::fixtures {

class WireWriter {
 public:
  WireWriter& varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(0x80U | (value & 0x7FU));
    bytes_ += static_cast<char>(value);
    return *this;
  }
  WireWriter& number(std::uint32_t field, std::uint64_t value) { return varint(field << 3U).varint(value); }
  WireWriter& text(std::uint32_t field, std::string_view value) {
    varint((field << 3U) | 2U).varint(value.size());
    bytes_ += value;
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class NodeWriter {
 public:
  NodeWriter(std::uint64_t id, std::string_view name, ChakraType type) {
    node_.number(1, id).text(2, name).number(3, static_cast<std::uint64_t>(type));
  }
  NodeWriter& after(const std::vector<std::uint64_t>& ids) {  // packed, as proto3 does
    WireWriter packed;
    for (const std::uint64_t id : ids) packed.varint(id);
    node_.text(5, packed.bytes());
    return *this;
  }
  NodeWriter& called_by(std::uint64_t id) {
    node_.number(4, id);
    return *this;
  }
  NodeWriter& lasts(std::uint64_t microseconds) {
    node_.number(7, microseconds);
    return *this;
  }
  NodeWriter& inputs(std::string_view values) {
    WireWriter io;
    io.text(1, values);
    node_.text(8, io.bytes());
    return *this;
  }
  // int64_val is field 9, uint64_val 13, bool_val 27, string_val 29.
  NodeWriter& attribute(std::string_view name, std::uint64_t value, std::uint32_t field = 9) {
    WireWriter attribute;
    attribute.text(1, name).number(field, value);
    node_.text(10, attribute.bytes());
    return *this;
  }
  NodeWriter& attribute(std::string_view name, std::string_view value) {
    WireWriter attribute;
    attribute.text(1, name).text(29, value);
    node_.text(10, attribute.bytes());
    return *this;
  }
  NodeWriter& on_cpu() { return attribute("is_cpu_op", 1, 27); }
  [[nodiscard]] const std::string& bytes() const { return node_.bytes(); }

 private:
  WireWriter node_;
};

inline NodeWriter kernel(std::uint64_t id, std::uint64_t microseconds) {
  return NodeWriter(id, "kernel " + std::to_string(id), ChakraType::compute).lasts(microseconds);
}
inline NodeWriter collective(std::uint64_t id, ChakraCollective kind, std::uint64_t bytes) {
  return NodeWriter(id, "collective " + std::to_string(id), ChakraType::collective)
      .attribute("comm_type", static_cast<std::uint64_t>(kind))
      .attribute("comm_size", bytes);
}
inline NodeWriter send(std::uint64_t id, std::uint64_t to, std::uint64_t bytes, std::uint64_t tag = 0) {
  return NodeWriter(id, "send " + std::to_string(id), ChakraType::send)
      .attribute("comm_dst", to, 7)
      .attribute("comm_size", bytes)
      .attribute("comm_tag", tag, 7);
}
inline NodeWriter receive(std::uint64_t id, std::uint64_t from, std::uint64_t bytes, std::uint64_t tag = 0) {
  return NodeWriter(id, "receive " + std::to_string(id), ChakraType::receive)
      .attribute("comm_src", from, 7)
      .attribute("comm_size", bytes)
      .attribute("comm_tag", tag, 7);
}

inline std::string trace_of(const std::vector<NodeWriter>& nodes) {
  WireWriter metadata;
  metadata.text(1, "0.0.4");
  WireWriter file;
  file.varint(metadata.bytes().size());
  std::string bytes = file.bytes() + metadata.bytes();
  for (const NodeWriter& node : nodes) {
    WireWriter length;
    length.varint(node.bytes().size());
    bytes += length.bytes() + node.bytes();
  }
  return bytes;
}

}  // namespace weft::workload::fixtures
