#include "base/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml_events.h"

namespace weft {
namespace {

constexpr std::string_view kStandardTag = "tag:yaml.org,2002:";

// The node of a container that is still open, and the key read last when it is a mapping.
struct Frame {
  YamlNode node;
  bool has_key = false;
  std::string key;
  SourceLocation key_place;
};

class Reader {
 public:
  Reader(const Sources& sources, FileId file, Diagnostics& diagnostics, const YamlLimits& limits)
      : text_(sources.text(file)), file_(file), diagnostics_(diagnostics), limits_(limits), cursor_(text_, file) {
    initialized_ = yaml_parser_initialize(&parser_) == 1;
    if (!initialized_) return;
    // Said outright, or libyaml would guess UTF-16 from the first bytes.
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text_.data());  // NOLINT(*-reinterpret-cast)
    yaml_parser_set_input_string(&parser_, bytes, text_.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (initialized_) yaml_parser_delete(&parser_);
  }

  std::optional<YamlNode> read() {
    if (!initialized_) return fail({file_, 0, 0}, "not enough memory to read the file");
    if (text_.size() > limits_.bytes) {
      return fail({file_, 0, 0}, fmt::format("the file is larger than {} bytes, the most that is read", limits_.bytes));
    }
    if (refuse_directives(0, true)) return std::nullopt;
    root_.place = {file_, 1, 1};
    bool more = true;
    while (more) {
      Event event;
      if (!event.next(parser_)) return fail_as_libyaml_says();
      more = take(*event);
    }
    return failed_ ? std::nullopt : std::optional<YamlNode>(std::move(root_));
  }

 private:
  // False when there is nothing more to read, or no sense in reading on.
  bool take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        return take_document_start(event);
      case YAML_DOCUMENT_END_EVENT:
        return !refuse_directives(byte_offset(event.end_mark), false);
      case YAML_SCALAR_EVENT:
        return take_scalar(event);
      case YAML_ALIAS_EVENT:
        return take_alias(event);
      case YAML_SEQUENCE_START_EVENT:
        return open(event, YamlNode::Kind::sequence, event.data.sequence_start.anchor, event.data.sequence_start.tag);
      case YAML_MAPPING_START_EVENT:
        return open(event, YamlNode::Kind::mapping, event.data.mapping_start.anchor, event.data.mapping_start.tag);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        close();
        return true;
      case YAML_STREAM_END_EVENT:
      case YAML_NO_EVENT:
        return false;
      case YAML_STREAM_START_EVENT:
        return true;
    }
    return false;
  }

  bool take_document_start(const yaml_event_t& event) {
    if (!seen_document_) return seen_document_ = true;
    fail(cursor_.advance_to(event.start_mark), "a second document starts here: a file holds one",
         "put it into a file of its own");
    return false;
  }

  bool take_scalar(const yaml_event_t& event) {
    const auto& data = event.data.scalar;
    YamlNode node;
    node.place = cursor_.advance_to(event.start_mark);
    node.quoted = data.style != YAML_PLAIN_SCALAR_STYLE;
    node.scalar = as_view(data.value, data.length);
    refuse_properties(node.place, data.anchor, data.tag);
    if (wants_key()) {
      take_key(std::move(node));
      return true;
    }
    const bool null = !node.quoted && is_yaml_null(node.scalar);
    node.kind = null ? YamlNode::Kind::null : YamlNode::Kind::scalar;
    if (null) node.scalar.clear();
    return place_value(std::move(node));
  }

  bool take_alias(const yaml_event_t& event) {
    const std::string_view name = as_view(event.data.alias.anchor);
    YamlNode node;
    node.place = cursor_.advance_to(event.start_mark);
    fail(node.place, fmt::format("alias {} is not supported: write the value out here", shown("*", name)), {},
         name.size() + 1);
    if (!wants_key()) return place_value(std::move(node));
    stack_.back().has_key = true;
    stack_.back().key.clear();
    return true;
  }

  void take_key(YamlNode node) {
    const std::size_t length = std::max<std::size_t>(1, node.scalar.size() + (node.quoted ? 2 : 0));
    if (!node.quoted && node.scalar == "<<") {
      fail(node.place, "merge key `<<` is not supported: write the merged keys out here", {}, length);
    } else if (!node.quoted && node.scalar.empty()) {
      fail(node.place, "a key is missing here", "an empty key must be quoted: \"\"");
    }
    Frame& frame = stack_.back();
    frame.has_key = true;
    frame.key = std::move(node.scalar);
    frame.key_place = node.place;
  }

  bool open(const yaml_event_t& event, YamlNode::Kind kind, const yaml_char_t* anchor, const yaml_char_t* tag) {
    Frame frame;
    frame.node.kind = kind;
    frame.node.place = cursor_.advance_to(event.start_mark);
    refuse_properties(frame.node.place, anchor, tag);
    if (wants_key()) {
      fail(frame.node.place,
           fmt::format("{} cannot be a key: keys are text", kind == YamlNode::Kind::mapping ? "a mapping" : "a list"));
      return false;
    }
    if (stack_.size() >= limits_.depth) {
      fail(frame.node.place, fmt::format("nested more than {} levels deep", limits_.depth));
      return false;
    }
    if (!count_node(frame.node.place)) return false;
    stack_.push_back(std::move(frame));
    return true;
  }

  void close() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    if (node.kind == YamlNode::Kind::mapping) refuse_duplicates(node);
    attach(std::move(node));
  }

  bool place_value(YamlNode node) {
    if (!count_node(node.place)) return false;
    attach(std::move(node));
    return true;
  }

  void attach(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == YamlNode::Kind::sequence) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    frame.node.entries.push_back({std::move(frame.key), frame.key_place, std::move(node)});
    frame.has_key = false;
    frame.key.clear();
  }

  [[nodiscard]] bool wants_key() const {
    return !stack_.empty() && stack_.back().node.kind == YamlNode::Kind::mapping && !stack_.back().has_key;
  }

  bool count_node(const SourceLocation& place) {
    if (++nodes_ <= limits_.nodes) return true;
    fail(place, fmt::format("the file has more than {} values, the most that is read", limits_.nodes));
    return false;
  }

  // By sorting, so that a large mapping costs n log n whatever its keys are.
  void refuse_duplicates(const YamlNode& mapping) {
    const std::vector<YamlEntry>& entries = mapping.entries;
    order_.clear();
    for (const YamlEntry& entry : entries) order_.push_back(&entry);
    std::sort(order_.begin(), order_.end(), [](const YamlEntry* a, const YamlEntry* b) {
      const int order = a->key.compare(b->key);
      return order != 0 ? order < 0 : a < b;  // entries lie in file order
    });
    std::size_t first = 0;
    for (std::size_t i = 1; i < order_.size(); ++i) {
      if (order_[i]->key != order_[first]->key) {
        first = i;
        continue;
      }
      // An alias in place of a key, or a merge key, has been reported already.
      if (failed_ && (order_[i]->key.empty() || order_[i]->key == "<<")) continue;
      fail(order_[i]->key_place, fmt::format("duplicate key {}", in_backticks(order_[i]->key)),
           fmt::format("the first one is on line {}", order_[first]->key_place.line), order_[i]->key.size());
    }
  }

  void refuse_properties(const SourceLocation& place, const yaml_char_t* anchor, const yaml_char_t* tag) {
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

  // Directives (%TAG and the like) are refused before libyaml sees them: it compares each with all before it, which
  // takes hours for a file full of them. They can stand before a document and after its end, nowhere else.
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

  // Only for the end of a document, so walking from the start is affordable.
  [[nodiscard]] std::size_t byte_offset(const yaml_mark_t& mark) const {
    MarkCursor cursor(text_, file_);
    cursor.advance_to(mark);
    return cursor.offset();
  }

  std::nullopt_t fail_as_libyaml_says() {
    YamlProblem problem = describe_problem(parser_, text_, file_);
    return fail(problem.place, std::move(problem.message), std::move(problem.hint));
  }

  static std::string shown(const char* sigil, std::string_view name) {
    return in_backticks(fmt::format("{}{}", sigil, name));
  }

  std::nullopt_t fail(const SourceLocation& place, std::string message, std::string hint = {}, std::size_t length = 1) {
    failed_ = true;
    diagnostics_.error(place, std::move(message), std::move(hint), length);
    return std::nullopt;
  }

  std::string_view text_;
  FileId file_;
  Diagnostics& diagnostics_;
  YamlLimits limits_;
  MarkCursor cursor_;
  yaml_parser_t parser_{};
  bool initialized_ = false;
  bool failed_ = false;
  bool seen_document_ = false;
  std::size_t nodes_ = 0;
  YamlNode root_;
  std::vector<Frame> stack_;  // instead of recursion: depth costs heap, not stack
  std::vector<const YamlEntry*> order_;
};

std::size_t skip_digits(std::string_view text, std::size_t i) {
  while (i < text.size() && (is_digit(text[i]) || text[i] == '_')) ++i;
  return i;
}

// A decimal number, with the "_" of YAML 1.1: 12, -1.5, .5, 1e3, 1_000.
bool is_decimal(std::string_view text) {
  std::size_t i = skip_digits(text, 0);
  std::size_t digits = i;
  if (i < text.size() && text[i] == '.') {
    const std::size_t fraction = skip_digits(text, i + 1);
    digits += fraction - i - 1;
    i = fraction;
  }
  if (digits == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    const std::size_t exponent = skip_digits(text, i);
    if (exponent == i) return false;
    i = exponent;
  }
  return i == text.size();
}

// 0x1F, 0o17, 0b1: and, not worth telling apart, anything else of that shape.
bool is_radix_number(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return false;
  if (text[1] != 'x' && text[1] != 'o' && text[1] != 'b') return false;
  return text.find_first_not_of("0123456789abcdefABCDEF_", 2) == std::string_view::npos;
}

// 2:1 and 12:30:45 are numbers to base 60 in YAML 1.1.
bool is_base_sixty(std::string_view text) {
  if (text.empty() || !is_digit(text[0]) || text.find(':') == std::string_view::npos) return false;
  return text.find_first_not_of("0123456789_:.") == std::string_view::npos;
}

// 2026-01-31, with or without a time.
bool is_date(std::string_view text) {
  const std::size_t year = skip_digits(text, 0);
  return year == 4 && text.size() >= 8 && text[4] == '-' && is_digit(text[5]) &&
         text.find('-', 6) != std::string_view::npos;
}

bool is_number(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (is_decimal(text) || is_radix_number(text) || is_base_sixty(text)) return true;
  const std::string word = to_lower(text);
  return word == ".inf" || word == ".nan";
}

// Words that some reader of YAML, 1.1 or 1.2, takes for something else than text.
bool is_reserved_word(std::string_view text) {
  if (text.size() > 5) return false;
  static constexpr std::string_view kWords[] = {"~", "null", "true", "false", "yes", "no",
                                                "y", "n",    "on",   "off",   "=",   "<<"};
  const std::string word = to_lower(text);
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

bool is_all_printable(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    if (!point.valid || !is_printable(point.value)) return false;
    i += point.size;
  }
  return true;
}

// What to try, for the complaints that people meet most.
std::string hint_for(const yaml_parser_t& parser, std::string_view problem, std::string_view text, FileId file) {
  if (problem == "found character that cannot start any token") {
    const char found = parser.buffer.pointer == nullptr ? '\0' : static_cast<char>(*parser.buffer.pointer);
    if (found == '\t') return "indent with blanks, not with tabs";
    return "quote the text: \"...\"";
  }
  if (problem == "mapping values are not allowed in this context") {
    return "check the indentation, and quote text that contains `: `";
  }
  if (problem == "could not find expected ':'") return "a key is followed by a colon and a blank";
  if (parser.context != nullptr && parser.context_mark.line < parser.problem_mark.line) {
    return fmt::format("it starts on line {}", MarkCursor(text, file).advance_to(parser.context_mark).line);
  }
  return {};
}

}  // namespace

bool is_yaml_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

YamlProblem describe_problem(const yaml_parser_t& parser, std::string_view text, FileId file) {
  const std::string_view problem = parser.problem == nullptr ? "it cannot be read" : parser.problem;
  MarkCursor cursor(text, file);
  if (parser.error == YAML_MEMORY_ERROR) return {{file, 0, 0}, "not enough memory to read the file", {}};
  if (parser.error == YAML_READER_ERROR) {
    const SourceLocation place = cursor.advance_to_byte(parser.problem_offset);
    const bool control = problem.find("control") != std::string_view::npos;
    if (control) return {place, fmt::format("control character U+{:04X} in the file", parser.problem_value), {}};
    return {place, fmt::format("the file is not UTF-8 text: {}", problem), "save it as UTF-8"};
  }
  const std::string_view context = parser.context == nullptr ? "" : parser.context;
  std::string message = context.empty() ? fmt::format("{}", problem) : fmt::format("{} {}", problem, context);
  const SourceLocation place = cursor.advance_to(parser.problem_mark);
  return {place, std::move(message), hint_for(parser, problem, text, file)};
}

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::optional<YamlNode> parse_yaml(const Sources& sources, FileId file, Diagnostics& diagnostics,
                                   const YamlLimits& limits) {
  return Reader(sources, file, diagnostics, limits).read();
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
  return is_number(node.scalar) ? "a number" : "text";
}

bool is_plain_yaml_text(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos) return false;
  // Commas and brackets would be fine in block style; quoting them lets the text stand in a flow list too.
  if (text.find_first_of(",[]{}") != std::string_view::npos) return false;
  for (const char* pair : {": ", " #", ":?"}) {  // the last is refused by libyaml in a flow list
    if (text.find(pair) != std::string_view::npos) return false;
  }
  if (text.substr(0, 3) == "...") return false;
  if (is_reserved_word(text) || is_number(text) || is_date(text)) return false;
  return is_all_printable(text);
}

std::string yaml_quote(std::string_view text) {
  // A JSON string, with json_quote's escapes, is a double-quoted YAML string.
  return is_plain_yaml_text(text) ? std::string(text) : json_quote(text);
}

}  // namespace weft
