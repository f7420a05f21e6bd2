// One rank's execution trace in MLCommons Chakra's format (github.com/mlcommons/chakra, schema/protobuf/et_def.proto):
// a GlobalMetadata, then one Node per operation, each length-prefixed; or the JSON that Chakra's own feeder reads
// ({"workload_graph": [...]}). This only parses: times and ranks are handled in import/chakra_graph.h. Input is bounded
// and untrusted: every error names the file and the byte, line or node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::workload {

enum class ChakraType : std::uint8_t { invalid, metadata, load, store, compute, send, receive, collective };
enum class ChakraCollective : std::uint8_t {
  all_reduce,
  reduce,
  all_gather,
  gather,
  scatter,
  broadcast,
  all_to_all,
  reduce_scatter,
  reduce_scatter_block,
  barrier
};

struct ChakraNode {
  std::uint64_t id = 0;
  std::uint32_t name = 0;   // ChakraTrace::names
  std::uint32_t group = 0;  // ChakraTrace::groups
  ChakraType type = ChakraType::invalid;
  ChakraCollective collective = ChakraCollective::all_reduce;
  bool cpu = false;
  std::int32_t stream = -1;  // CUDA stream; -1: not given
  std::uint32_t peer = 0;    // of a message: the other rank
  std::uint32_t tag = 0;
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;
  std::uint64_t operations = 0;     // floating-point
  std::uint64_t tensor = 0;         // bytes
  std::uint64_t communication = 0;  // bytes, as Chakra counts: the input of one rank
  std::uint32_t first_earlier = 0;  // ChakraTrace::earlier
  std::uint32_t earlier_count = 0;
};

// Ranks of a communicator, from PyTorch's process-group metadata. Empty: all.
struct ChakraRanks {
  std::string name;
  std::vector<std::uint32_t> ranks;
};

struct ChakraTrace {
  std::string version;
  std::vector<ChakraNode> nodes;
  std::vector<std::uint32_t> earlier;  // per node: the nodes it waits for, as indices into `nodes`
  std::vector<std::string> names;
  std::vector<std::string> groups{std::string()};  // pg_name; "" is the default: all ranks
  std::vector<ChakraRanks> process_groups;
  // Control dependencies name callers. Those on nodes missing from the file, or on the node itself, are dropped and
  // counted; if they form a cycle together with the others, all of them are dropped.
  std::uint64_t dropped = 0;
  bool control_cycle = false;
};

// Limits per file; exceeding one is an error that names it.
inline constexpr std::size_t kMaxChakraNodes = 20'000'000;
inline constexpr std::size_t kMaxChakraDependencies = 200'000'000;
inline constexpr std::uint64_t kMaxChakraMessage = 64U << 20U;  // bytes per node
inline constexpr std::uint64_t kMaxChakraBytes = 1'000'000'000'000'000;
inline constexpr std::uint64_t kMaxChakraRank = 10'000'000;

[[nodiscard]] Result<ChakraTrace> read_chakra(std::string_view bytes, const std::string& path);

// "[{"pg_name": "1", "ranks": [0, 1]}, ...]", as PyTorch records it, or the format of ASTRA-sim's communicator files:
// {"1": [0, 1], ...}.
[[nodiscard]] Result<std::vector<ChakraRanks>> read_chakra_groups(std::string_view json, const std::string& path);

}  // namespace weft::workload
