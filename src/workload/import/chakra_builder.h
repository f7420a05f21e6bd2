// Collects the nodes of a Chakra trace from either format, and resolves node ids to indices. Private to the readers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workload/import/chakra_trace.h"

namespace weft::workload {

inline constexpr std::uint32_t kUnknownPeer = UINT32_MAX;

// A node as read, before its names and dependencies are resolved.
struct ChakraDraft {
  ChakraNode node;
  std::string_view name;
  std::string_view group;
  std::uint64_t source = kUnknownPeer;
  std::uint64_t destination = kUnknownPeer;
  std::vector<std::uint64_t> control;
  std::vector<std::uint64_t> data;
};

class ChakraBuilder {
 public:
  explicit ChakraBuilder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] Status add(ChakraDraft& draft);
  // A numeric attribute by Chakra's name for it; unknown ones are ignored.
  [[nodiscard]] Status set(ChakraDraft& draft, std::string_view name, std::int64_t value) const;
  [[nodiscard]] Status set_type(ChakraDraft& draft, std::int64_t value) const;
  [[nodiscard]] Result<ChakraTrace> finish() &&;

  [[nodiscard]] ChakraTrace& trace() { return trace_; }
  // "trace.0.et: node 12: why"
  [[nodiscard]] Error bad_node(std::uint64_t id, std::string why) const;
  [[nodiscard]] Error bad(std::string why) const;

 private:
  struct Pending {
    std::uint64_t id = 0;
    bool control = false;
  };
  std::uint32_t intern(std::unordered_map<std::string, std::uint32_t>& known, std::vector<std::string>& list,
                       std::string_view text);
  [[nodiscard]] Status resolve(std::span<const std::pair<std::uint64_t, std::uint32_t>> places, bool control);

  std::string path_;
  ChakraTrace trace_;
  std::vector<Pending> pending_;  // of all nodes, in their order
  std::vector<std::uint32_t> pending_counts_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, std::uint32_t> groups_;
};

// Nodes in topological order, otherwise by recorded start, then by id; fewer than all if nodes wait in a cycle.
[[nodiscard]] std::vector<std::uint32_t> in_order(const ChakraTrace& trace);

[[nodiscard]] Result<ChakraTrace> read_chakra_json(std::string_view text, const std::string& path);

}  // namespace weft::workload
