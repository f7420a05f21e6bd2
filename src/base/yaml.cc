#include "base/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/quoting.h"
#include "base/utf8.h"
#include "base/yaml_reader.h"

namespace weft {
namespace {

constexpr std::string_view kStandardTag = "tag:yaml.org,2002:";

// One document, without anchors, aliases or merge keys.
class StrictYamlReader final : public YamlReader {
 public:
  using YamlReader::YamlReader;

  std::optional<YamlNode> read() {
    root_.place = {file_, 1, 1};
    walk();
    return failed_ ? std::nullopt : std::optional<YamlNode>(std::move(root_));
  }

 private:
  bool begin_text() override { return !refuse_directives(0, true); }

  bool begin_document(const yaml_event_t& event) override {
    if (!seen_document_) return seen_document_ = true;
    return fail(cursor_.advance_to(event.start_mark), "a second document starts here: a file must contain only one",
                "move it to a separate file");
  }

  bool end_document(const yaml_event_t& event) override {
    return !refuse_directives(byte_offset(event.end_mark), false);
  }

  bool take_alias(std::string_view name, const SourceLocation& place) override {
    fail(place, fmt::format("alias {} is not supported: write the value out here", shown("*", name)), {},
         name.size() + 1);
    if (wants_key()) {
      stack_.back().has_key = true;
      stack_.back().key.clear();
      return true;
    }
    YamlNode node;
    node.place = place;
    return count_node(place, false) && attach(std::move(node));
  }

  bool refuse_container_as_key(const SourceLocation& place, YamlNode::Kind kind) override {
    return fail(place, fmt::format("{} cannot be a key: keys are text",
                                   kind == YamlNode::Kind::mapping ? "a mapping" : "a list"));
  }

  bool count_node(const SourceLocation& place, bool is_key) override {
    if (is_key || ++nodes_ <= limits_.nodes) return true;
    return fail(place, fmt::format("the file has more than {} values, which is the limit", limits_.nodes));
  }

  // Anchors and merge keys have been reported at their location; there is nothing to apply.
  bool remember(std::string /*anchor*/, const YamlNode& /*node*/) override { return true; }
  bool merge_value(Frame& /*frame*/, YamlNode /*value*/) override { return true; }

  void check_key(Frame& /*frame*/, const YamlNode& key) override {
    const std::size_t length = std::max<std::size_t>(1, key.scalar.size() + (key.quoted ? 2 : 0));
    if (!key.quoted && key.scalar == "<<") {
      fail(key.place, "merge key `<<` is not supported: write the merged keys out here", {}, length);
    } else if (!key.quoted && key.scalar.empty()) {
      fail(key.place, "a key is missing here", "an empty key must be quoted: \"\"");
    }
  }

  void finish_mapping(Frame& frame) override { refuse_duplicates(frame.node); }

  // Sorts, so that a large mapping costs n log n for any keys.
  void refuse_duplicates(const YamlNode& mapping) {
    const std::vector<YamlEntry>& entries = mapping.entries;
    order_.clear();
    for (const YamlEntry& entry : entries) order_.push_back(&entry);
    std::sort(order_.begin(), order_.end(), [](const YamlEntry* a, const YamlEntry* b) {
      const int order = a->key.compare(b->key);
      return order != 0 ? order < 0 : a < b;  // entries are in file order
    });
    std::size_t first = 0;
    for (std::size_t i = 1; i < order_.size(); ++i) {
      if (order_[i]->key != order_[first]->key) {
        first = i;
        continue;
      }
      // An alias as a key, or a merge key, has been reported already.
      if (failed_ && (order_[i]->key.empty() || order_[i]->key == "<<")) continue;
      fail(order_[i]->key_place, fmt::format("duplicate key {}", in_backticks(order_[i]->key)),
           fmt::format("the first one is on line {}", order_[first]->key_place.line), order_[i]->key.size());
    }
  }

  void check_properties(const SourceLocation& place, const yaml_char_t* anchor, const yaml_char_t* tag) override {
    if (anchor != nullptr) {
      const std::string_view name = as_view(anchor);
      fail(place, fmt::format("anchor {} is not supported: write the value out where it is needed", shown("&", name)));
    }
    if (tag != nullptr) {
      std::string_view name = as_view(tag);
      const bool standard = name.substr(0, kStandardTag.size()) == kStandardTag;
      if (standard) name.remove_prefix(kStandardTag.size());
      fail(place, fmt::format("tag {} is not supported: remove it", shown(standard ? "!!" : "", name)));
    }
  }

  // Directives (%TAG and the like) are rejected before libyaml reads them: it compares each with all before it, which
  // takes hours for a file full of them. They can occur only before a document and after its end.
  bool refuse_directives(std::size_t offset, bool may_say_version) {
    while (offset < text_.size()) {
      const std::size_t end = std::min(text_.find_first_of("\r\n", offset), text_.size());
      const std::string_view line = text_.substr(offset, end - offset);
      const std::size_t start = line.find_first_not_of(" \t");
      const bool empty = start == std::string_view::npos || line[start] == '#' || line.substr(0, 3) == "...";
      if (line.substr(0, 1) == "%" && !(may_say_version && line.substr(0, 6) == "%YAML ")) {
        fail(MarkCursor(text_, file_).advance_to_byte(offset), "directives are not supported: remove this line", {},
             line.size());
        return true;
      }
      if (!empty) return false;
      offset = end + 1;
    }
    return false;
  }

  // Used only at the end of a document, so scanning from the start is affordable.
  [[nodiscard]] std::size_t byte_offset(const yaml_mark_t& mark) const {
    MarkCursor cursor(text_, file_);
    cursor.advance_to(mark);
    return cursor.offset();
  }

  static std::string shown(const char* sigil, std::string_view name) {
    return in_backticks(fmt::format("{}{}", sigil, name));
  }

  bool seen_document_ = false;
  std::size_t nodes_ = 0;
  std::vector<const YamlEntry*> order_;
};

}  // namespace

YamlNode::YamlNode() = default;
YamlNode::YamlNode(const YamlNode& other) = default;
YamlNode::YamlNode(YamlNode&& other) noexcept = default;
YamlNode& YamlNode::operator=(const YamlNode& other) = default;
YamlNode& YamlNode::operator=(YamlNode&& other) noexcept = default;
YamlNode::~YamlNode() = default;

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::optional<YamlNode> parse_yaml(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                   const YamlLimits& limits) {
  return StrictYamlReader(sources, file, diagnostics, limits).read();
}

const char* describe_kind(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::mapping:
      return "a mapping";
    case YamlNode::Kind::scalar:
      break;
  }
  if (node.quoted) return "text";
  if (node.scalar == "true" || node.scalar == "false") return "a boolean";
  return is_yaml_number(node.scalar) ? "a number" : "text";
}

}  // namespace weft
