// Parses the JSON that Chakra's feeder reads, and lists of communicators.
#include <fmt/format.h>

#include <charconv>

#include "base/json.h"
#include "netsim/readers/line_reader.h"
#include "workload/import/chakra_builder.h"

namespace weft::workload {
namespace {

constexpr std::size_t kMaxJsonBytes = 256U << 20U;

Error first_error(const Diagnostics& diagnostics, const Sources& sources, const std::string& path) {
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    if (diagnostic.severity != Severity::error) continue;
    const std::string place = sources.describe(diagnostic.place);
    return {ErrorCode::invalid_input, diagnostic.message, place.empty() ? path : place};
  }
  return {ErrorCode::invalid_input, "invalid JSON", path};
}

std::optional<std::int64_t> number_of(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::scalar) return std::nullopt;
  if (node.scalar == "true") return 1;
  if (node.scalar == "false") return 0;
  std::int64_t value = 0;
  const char* const end = node.scalar.data() + node.scalar.size();
  const auto [behind, problem] = std::from_chars(node.scalar.data(), end, value);
  if (problem == std::errc() && behind == end) return value;
  return netsim::scaled_decimal(node.scalar, 0);  // "4.0"
}

class JsonReader {
 public:
  JsonReader(const Sources& sources, const std::string& path) : sources_(sources), builder_(path) {}

  Result<ChakraTrace> read(const YamlNode& root) {
    const YamlNode* const graph = root.find("workload_graph");
    if (graph == nullptr || graph->kind != YamlNode::Kind::sequence) {
      return wrong(root.place, "expected a list `workload_graph`, as Chakra's feeder reads it");
    }
    for (const YamlNode& node : graph->items) {
      if (Status status = read_node(node); !status.ok()) return status.error();
    }
    return std::move(builder_).finish();
  }

 private:
  [[nodiscard]] Error wrong(const SourceLocation& place, std::string why) const {
    return {ErrorCode::invalid_input, std::move(why), sources_.describe(place)};
  }

  Status read_node(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::mapping) return wrong(node.place, "expected a node, a map");
    ChakraDraft draft;
    const YamlNode* const id = node.find("Id");
    const auto number = id == nullptr ? std::nullopt : number_of(*id);
    if (!number || *number < 0) return wrong(node.place, "expected a whole number `Id`");
    draft.node.id = static_cast<std::uint64_t>(*number);
    for (const YamlEntry& entry : node.entries) {
      if (Status status = read_entry(entry, draft); !status.ok()) return status;
    }
    return builder_.add(draft);
  }

  Status read_entry(const YamlEntry& entry, ChakraDraft& draft) {
    const YamlNode& value = entry.value;
    if (entry.key == "Name") {
      draft.name = value.scalar;
    } else if (entry.key == "pg_name") {
      draft.group = value.scalar;
    } else if (entry.key == "data_deps") {
      return read_ids(value, draft.data);
    } else if (entry.key == "ctrlDeps" || entry.key == "ctrl_deps") {
      return read_ids(value, draft.control);
    } else if (const auto number = number_of(value)) {
      const Status status =
          entry.key == "NodeType" ? builder_.set_type(draft, *number) : builder_.set(draft, entry.key, *number);
      if (!status.ok()) return wrong(entry.key_place, status.error().message);
    }
    return {};
  }

  Status read_ids(const YamlNode& list, std::vector<std::uint64_t>& ids) {
    if (list.kind != YamlNode::Kind::sequence) return wrong(list.place, "expected a list of node ids");
    for (const YamlNode& item : list.items) {
      const auto id = number_of(item);
      if (!id || *id < 0) return wrong(item.place, "expected a node id, a whole number");
      ids.push_back(static_cast<std::uint64_t>(*id));
    }
    return {};
  }

  const Sources& sources_;
  ChakraBuilder builder_;
};

Result<std::vector<std::uint32_t>> ranks_of(const YamlNode& list, const std::string& name, const std::string& path) {
  const auto fail = [&] {
    return Error{ErrorCode::invalid_input, fmt::format("group `{}`: expected a list of ranks", name), path};
  };
  std::vector<std::uint32_t> ranks;
  if (list.kind != YamlNode::Kind::sequence) return fail();
  for (const YamlNode& item : list.items) {
    const auto rank = number_of(item);
    if (!rank || *rank < 0 || *rank > static_cast<std::int64_t>(kMaxChakraRank)) return fail();
    ranks.push_back(static_cast<std::uint32_t>(*rank));
  }
  return ranks;
}

}  // namespace

Result<ChakraTrace> read_chakra_json(std::string_view text, const std::string& path) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(path, std::string(text));
  const YamlLimits limits{.bytes = kMaxJsonBytes, .nodes = 40'000'000, .depth = 8};
  const std::optional<YamlNode> root = parse_json(sources, file, diagnostics, limits);
  if (!root) return first_error(diagnostics, sources, path);
  return JsonReader(sources, path).read(*root);
}

Result<std::vector<ChakraRanks>> read_chakra_groups(std::string_view json, const std::string& path) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(path, std::string(json));
  const std::optional<YamlNode> root = parse_json(sources, file, diagnostics, {.depth = 16});
  if (!root) return first_error(diagnostics, sources, path);
  std::vector<ChakraRanks> groups;
  const auto add = [&](const std::string& name, const YamlNode& list) -> Status {
    Result<std::vector<std::uint32_t>> ranks = ranks_of(list, name, path);
    if (!ranks.ok()) return ranks.error();
    groups.push_back({name, std::move(*ranks)});
    return {};
  };
  for (const YamlEntry& entry : root->entries) {
    if (Status status = add(entry.key, entry.value); !status.ok()) return status.error();
  }
  for (const YamlNode& item : root->items) {
    const YamlNode* const name = item.find("pg_name");
    const YamlNode* const list = item.find("ranks");
    if (name == nullptr || list == nullptr) {
      return Error{ErrorCode::invalid_input, "a process group has no `pg_name` or no `ranks`", path};
    }
    if (Status status = add(name->scalar, *list); !status.ok()) return status.error();
  }
  return groups;
}

}  // namespace weft::workload
