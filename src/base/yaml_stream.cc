#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "base/yaml.h"
#include "base/yaml_events.h"

namespace weft {
namespace {

// libyaml compares each %TAG with all before it: a file full of them would take hours.
constexpr std::size_t kMaxDirectives = 100;

// A value that an alias can stand for, and what a copy of it costs.
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

struct Frame {
  YamlNode node;
  std::string anchor;
  bool has_key = false;
  bool merge = false;  // the key read last is a plain <<
  std::string key;
  SourceLocation key_place;
  std::vector<YamlNode> merged;  // mappings to merge in, the first to name a key wins
};

class StreamReader {
 public:
  StreamReader(const Sources& sources, FileId file, Diagnostics& diagnostics, const YamlLimits& limits)
      : text_(sources.text(file)), file_(file), diagnostics_(diagnostics), limits_(limits), cursor_(text_, file) {
    initialized_ = yaml_parser_initialize(&parser_) == 1;
    if (!initialized_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text_.data());  // NOLINT(*-reinterpret-cast)
    yaml_parser_set_input_string(&parser_, bytes, text_.size());
  }
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;
  ~StreamReader() {
    if (initialized_) yaml_parser_delete(&parser_);
  }

  std::vector<YamlNode> read() {
    if (!initialized_) {
      fail({file_, 0, 0}, "not enough memory to read the file");
    } else if (text_.size() > limits_.bytes) {
      fail({file_, 0, 0}, fmt::format("the file is larger than {} bytes, the most that is read", limits_.bytes));
    } else if (!too_many_directives()) {
      bool more = true;
      while (more) {
        Event event;
        if (!event.next(parser_)) {
          YamlProblem problem = describe_problem(parser_, text_, file_);
          fail(problem.place, std::move(problem.message), std::move(problem.hint));
          break;
        }
        more = take(*event);
      }
    }
    return std::move(documents_);
  }

 private:
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

  // False when there is nothing more to read, or no sense in reading on.
  bool take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        root_ = YamlNode();
        anchors_.clear();
        return true;
      case YAML_DOCUMENT_END_EVENT:
        if (root_.kind != YamlNode::Kind::null) documents_.push_back(std::move(root_));
        root_ = YamlNode();
        return true;
      case YAML_SCALAR_EVENT:
        return take_scalar(event);
      case YAML_ALIAS_EVENT:
        return take_alias(event);
      case YAML_SEQUENCE_START_EVENT:
        return open(event, YamlNode::Kind::sequence, event.data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT:
        return open(event, YamlNode::Kind::mapping, event.data.mapping_start.anchor);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return close();
      case YAML_STREAM_START_EVENT:
        return true;
      case YAML_STREAM_END_EVENT:
      case YAML_NO_EVENT:
        return false;
    }
    return false;
  }

  bool take_scalar(const yaml_event_t& event) {
    const auto& data = event.data.scalar;
    YamlNode node;
    node.place = cursor_.advance_to(event.start_mark);
    node.quoted = data.style != YAML_PLAIN_SCALAR_STYLE;
    node.scalar = as_view(data.value, data.length);
    node.kind = YamlNode::Kind::scalar;
    if (!wants_key() && !node.quoted && is_yaml_null(node.scalar)) {
      node.kind = YamlNode::Kind::null;
      node.scalar.clear();
    }
    if (!charge(node.place, 1, 0)) return false;
    if (!remember(std::string(as_view(data.anchor)), node)) return false;
    if (!wants_key()) return attach(std::move(node));
    take_key(std::move(node));
    return true;
  }

  void take_key(YamlNode node) {
    Frame& frame = stack_.back();
    frame.has_key = true;
    frame.merge = !node.quoted && node.scalar == "<<";
    frame.key = std::move(node.scalar);
    frame.key_place = node.place;
  }

  bool take_alias(const yaml_event_t& event) {
    const std::string name(as_view(event.data.alias.anchor));
    const SourceLocation place = cursor_.advance_to(event.start_mark);
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return fail(place, fmt::format("alias {} stands for nothing: no complete value before it has this anchor",
                                     in_backticks("*" + name)));
    }
    const Anchored& value = found->second;
    if (!charge(place, value.nodes, value.bytes)) return false;
    if (stack_.size() + value.height > limits_.depth) {
      return fail(place, fmt::format("nested more than {} levels deep", limits_.depth));
    }
    if (!wants_key()) return attach(value.node);
    if (value.node.kind != YamlNode::Kind::scalar) return fail(place, "a key must be text");
    take_key(value.node);
    stack_.back().merge = false;
    stack_.back().key_place = place;
    return true;
  }

  bool open(const yaml_event_t& event, YamlNode::Kind kind, const yaml_char_t* anchor) {
    Frame frame;
    frame.node.kind = kind;
    frame.node.place = cursor_.advance_to(event.start_mark);
    frame.anchor = as_view(anchor);
    if (wants_key()) return fail(frame.node.place, "a key must be text");
    if (stack_.size() >= limits_.depth) {
      return fail(frame.node.place, fmt::format("nested more than {} levels deep", limits_.depth));
    }
    if (!charge(frame.node.place, 1, 0)) return false;
    stack_.push_back(std::move(frame));
    return true;
  }

  bool close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    if (frame.node.kind == YamlNode::Kind::mapping) {
      keep_last_of_each(frame.node);
      merge(frame);
    }
    if (!remember(std::move(frame.anchor), frame.node)) return false;
    return attach(std::move(frame.node));
  }

  bool attach(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return true;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == YamlNode::Kind::sequence) {
      frame.node.items.push_back(std::move(node));
      return true;
    }
    frame.has_key = false;
    if (!frame.merge) {
      frame.node.entries.push_back({std::move(frame.key), frame.key_place, std::move(node)});
      frame.key.clear();
      return true;
    }
    std::vector<YamlNode> sources;
    if (node.kind == YamlNode::Kind::sequence) {
      sources = std::move(node.items);
    } else {
      sources.push_back(std::move(node));
    }
    for (YamlNode& source : sources) {
      if (source.kind != YamlNode::Kind::mapping) {
        return fail(frame.key_place, "merge key `<<` takes a mapping or a list of mappings");
      }
      frame.merged.push_back(std::move(source));
    }
    return true;
  }

  [[nodiscard]] bool wants_key() const {
    return !stack_.empty() && stack_.back().node.kind == YamlNode::Kind::mapping && !stack_.back().has_key;
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
          entry.key_place, fmt::format("key {} is given twice: the last counts", in_backticks(entry.key)),
          fmt::format("the last one is on line {}", mapping.entries[counts].key_place.line), entry.key.size());
    }
    for (std::size_t i = 0; i < mapping.entries.size(); ++i) {
      if (last[mapping.entries[i].key] == i) indices_.push_back(i);
    }
    for (const std::size_t i : indices_) kept.push_back(std::move(mapping.entries[i]));
    indices_.clear();
    mapping.entries = std::move(kept);
  }

  bool remember(std::string anchor, const YamlNode& node) {
    if (anchor.empty()) return true;
    Anchored value;
    measure(node, 0, value);
    if (!charge(node.place, value.nodes, value.bytes)) return false;
    value.node = node;
    anchors_.insert_or_assign(std::move(anchor), std::move(value));
    return true;
  }

  // What aliases copy counts like what the file holds.
  bool charge(const SourceLocation& place, std::size_t nodes, std::size_t bytes) {
    nodes_ += nodes;
    copied_ += bytes;
    if (nodes_ <= limits_.nodes && copied_ <= limits_.bytes) return true;
    return fail(place,
                fmt::format("with its aliases written out the file has more than {} values or {} bytes, the most "
                            "that is read",
                            limits_.nodes, limits_.bytes));
  }

  bool fail(const SourceLocation& place, std::string message, std::string hint = {}) {
    diagnostics_.error(place, std::move(message), std::move(hint));
    return false;
  }

  std::string_view text_;
  FileId file_;
  Diagnostics& diagnostics_;
  YamlLimits limits_;
  MarkCursor cursor_;
  yaml_parser_t parser_{};
  bool initialized_ = false;
  std::size_t nodes_ = 0;
  std::size_t copied_ = 0;
  YamlNode root_;
  std::vector<Frame> stack_;
  std::map<std::string, Anchored> anchors_;
  std::vector<std::size_t> indices_;
  std::vector<YamlNode> documents_;
};

}  // namespace

std::vector<YamlNode> parse_yaml_stream(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                        const YamlLimits& limits) {
  return StreamReader(sources, file, diagnostics, limits).read();
}

}  // namespace weft
