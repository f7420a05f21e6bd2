#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "base/yaml.h"
#include "base/yaml_reader.h"

namespace weft {
namespace {

// libyaml compares each %TAG with all before it: a file full of them would take hours.
constexpr std::size_t kMaxDirectives = 100;

// An anchored value and the cost of a copy of it.
struct Anchored {
  YamlNode node;
  std::size_t nodes = 0;
  std::size_t bytes = 0;
  std::size_t height = 0;
};

// Depth of the tree is bounded by YamlLimits::depth, so recursion is too.
void measure(const YamlNode& node, std::size_t level, Anchored& anchored) {
  ++anchored.nodes;
  anchored.bytes += node.scalar.size();
  const bool container = node.kind == YamlNode::Kind::sequence || node.kind == YamlNode::Kind::mapping;
  anchored.height = std::max(anchored.height, level + (container ? 1 : 0));
  for (const YamlNode& item : node.items) measure(item, level + 1, anchored);
  for (const YamlEntry& entry : node.entries) {
    anchored.bytes += entry.key.size();
    measure(entry.value, level + 1, anchored);
  }
}

// Several documents, with anchors, aliases and merge keys applied.
class StreamYamlReader final : public YamlReader {
 public:
  using YamlReader::YamlReader;

  std::vector<YamlNode> read() {
    walk();
    return std::move(documents_);
  }

 private:
  bool begin_text() override { return !too_many_directives(); }

  bool too_many_directives() {
    std::size_t count = 0;
    for (std::size_t at = 0; at != std::string_view::npos; at = text_.find('\n', at + 1)) {
      const std::size_t start = at == 0 ? 0 : at + 1;
      if (text_.substr(start, 4) == "%TAG" && ++count > kMaxDirectives) {
        fail(MarkCursor(text_, file_).advance_to_byte(start), "too many directives");
        return true;
      }
    }
    return false;
  }

  bool begin_document(const yaml_event_t& /*event*/) override {
    root_ = YamlNode();
    anchors_.clear();
    return true;
  }

  bool end_document(const yaml_event_t& /*event*/) override {
    if (root_.kind != YamlNode::Kind::null) documents_.push_back(std::move(root_));
    root_ = YamlNode();
    return true;
  }

  bool take_alias(std::string_view name, const SourceLocation& place) override {
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return fail(place, fmt::format("undefined alias {}: no complete value before it has this anchor",
                                     in_backticks(fmt::format("*{}", name))));
    }
    const Anchored& value = found->second;
    if (!charge(place, value.nodes, value.bytes)) return false;
    if (is_too_deep(value.height)) return fail_too_deep(place);
    if (!wants_key()) return attach(value.node);
    if (value.node.kind != YamlNode::Kind::scalar) return fail(place, "a key must be text");
    take_key(value.node);
    stack_.back().merge = false;
    stack_.back().key_place = place;
    return true;
  }

  bool refuse_container_as_key(const SourceLocation& place, YamlNode::Kind /*kind*/) override {
    return fail(place, "a key must be text");
  }

  bool count_node(const SourceLocation& place, bool /*is_key*/) override { return charge(place, 1, 0); }
  void check_properties(const SourceLocation& /*place*/, const yaml_char_t* /*anchor*/,
                        const yaml_char_t* /*tag*/) override {}
  void check_key(Frame& frame, const YamlNode& key) override { frame.merge = !key.quoted && key.scalar == "<<"; }

  bool merge_value(Frame& frame, YamlNode value) override {
    std::vector<YamlNode> sources;
    if (value.kind == YamlNode::Kind::sequence) {
      sources = std::move(value.items);
    } else {
      sources.push_back(std::move(value));
    }
    for (YamlNode& source : sources) {
      if (source.kind != YamlNode::Kind::mapping) {
        return fail(frame.key_place, "merge key `<<` takes a mapping or a list of mappings");
      }
      frame.merged.push_back(std::move(source));
    }
    return true;
  }

  void finish_mapping(Frame& frame) override {
    keep_last_of_each(frame.node);
    merge(frame);
  }

  static void merge(Frame& frame) {
    if (frame.merged.empty()) return;
    std::set<std::string> present;
    for (const YamlEntry& entry : frame.node.entries) present.insert(entry.key);
    for (YamlNode& source : frame.merged) {
      for (YamlEntry& entry : source.entries) {
        if (present.insert(entry.key).second) frame.node.entries.push_back(std::move(entry));
      }
    }
  }

  void keep_last_of_each(YamlNode& mapping) {
    std::map<std::string_view, std::size_t> last;
    for (std::size_t i = 0; i < mapping.entries.size(); ++i) last[mapping.entries[i].key] = i;
    if (last.size() == mapping.entries.size()) return;
    std::vector<YamlEntry> kept;
    for (std::size_t i = 0; i < mapping.entries.size(); ++i) {
      YamlEntry& entry = mapping.entries[i];
      const std::size_t counts = last[entry.key];
      if (counts == i) continue;
      diagnostics_.warning(
          entry.key_place, fmt::format("duplicate key {}: the last one is used", in_backticks(entry.key)),
          fmt::format("the last one is on line {}", mapping.entries[counts].key_place.line), entry.key.size());
    }
    for (std::size_t i = 0; i < mapping.entries.size(); ++i) {
      if (last[mapping.entries[i].key] == i) indices_.push_back(i);
    }
    for (const std::size_t i : indices_) kept.push_back(std::move(mapping.entries[i]));
    indices_.clear();
    mapping.entries = std::move(kept);
  }

  bool remember(std::string anchor, const YamlNode& node) override {
    Anchored value;
    measure(node, 0, value);
    if (!charge(node.place, value.nodes, value.bytes)) return false;
    value.node = node;
    anchors_.insert_or_assign(std::move(anchor), std::move(value));
    return true;
  }

  // Nodes and bytes copied by aliases count toward the limits.
  bool charge(const SourceLocation& place, std::size_t nodes, std::size_t bytes) {
    nodes_ += nodes;
    copied_ += bytes;
    if (nodes_ <= limits_.nodes && copied_ <= limits_.bytes) return true;
    return fail(place, fmt::format("with its aliases expanded the file exceeds the limit of {} values or {} bytes",
                                   limits_.nodes, limits_.bytes));
  }

  std::size_t nodes_ = 0;
  std::size_t copied_ = 0;
  std::map<std::string, Anchored, std::less<>> anchors_;
  std::vector<std::size_t> indices_;
  std::vector<YamlNode> documents_;
};

}  // namespace

std::vector<YamlNode> parse_yaml_stream(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                        const YamlLimits& limits) {
  return StreamYamlReader(sources, file, diagnostics, limits).read();
}

}  // namespace weft
