#include "base/yaml_reader.h"

#include <fmt/format.h>

#include <utility>

namespace weft {
namespace {

struct YamlProblem {
  SourceLocation place;
  std::string message;
  std::string hint;
};

// Whether a plain scalar means null.
bool is_yaml_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

// Hints for the most common errors.
std::string hint_for(const yaml_parser_t& parser, std::string_view problem, std::string_view text, FileId file) {
  if (problem == "found character that cannot start any token") {
    const char found = parser.buffer.pointer == nullptr ? '\0' : static_cast<char>(*parser.buffer.pointer);
    if (found == '\t') return "indent with spaces, not with tabs";
    return "quote the text: \"...\"";
  }
  if (problem == "mapping values are not allowed in this context") {
    return "check the indentation, and quote text that contains `: `";
  }
  if (problem == "could not find expected ':'") return "a key must be followed by a colon and a space";
  if (parser.context != nullptr && parser.context_mark.line < parser.problem_mark.line) {
    return fmt::format("it starts on line {}", MarkCursor(text, file).advance_to(parser.context_mark).line);
  }
  return {};
}

// Why `parser` stopped.
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

}  // namespace

YamlReader::YamlReader(const Sources& sources, FileId file, Diagnostics& diagnostics, const YamlLimits& limits)
    : text_(sources.text(file)), file_(file), diagnostics_(diagnostics), limits_(limits), cursor_(text_, file) {
  initialized_ = yaml_parser_initialize(&parser_) == 1;
  if (!initialized_) return;
  // Set explicitly; otherwise libyaml could guess UTF-16 from the first bytes.
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text_.data());  // NOLINT(*-reinterpret-cast)
  yaml_parser_set_input_string(&parser_, bytes, text_.size());
}

YamlReader::~YamlReader() {
  if (initialized_) yaml_parser_delete(&parser_);
}

void YamlReader::walk() {
  if (!initialized_) {
    fail({file_, 0, 0}, "not enough memory to read the file");
    return;
  }
  if (text_.size() > limits_.bytes) {
    fail({file_, 0, 0}, fmt::format("the file exceeds the limit of {} bytes", limits_.bytes));
    return;
  }
  bool more = begin_text();
  while (more) {
    YamlEvent event;
    if (!event.next(parser_)) {
      YamlProblem problem = describe_problem(parser_, text_, file_);
      fail(problem.place, std::move(problem.message), std::move(problem.hint));
      return;
    }
    more = take(*event);
  }
}

// Returns false at the end, or after an unrecoverable error.
bool YamlReader::take(const yaml_event_t& event) {
  switch (event.type) {
    case YAML_DOCUMENT_START_EVENT:
      return begin_document(event);
    case YAML_DOCUMENT_END_EVENT:
      return end_document(event);
    case YAML_SCALAR_EVENT:
      return take_scalar(event);
    case YAML_ALIAS_EVENT:
      return take_alias(as_view(event.data.alias.anchor), cursor_.advance_to(event.start_mark));
    case YAML_SEQUENCE_START_EVENT:
      return open(event, YamlNode::Kind::sequence, event.data.sequence_start.anchor, event.data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
      return open(event, YamlNode::Kind::mapping, event.data.mapping_start.anchor, event.data.mapping_start.tag);
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

bool YamlReader::take_scalar(const yaml_event_t& event) {
  const auto& data = event.data.scalar;
  const bool is_key = wants_key();
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.place = cursor_.advance_to(event.start_mark);
  node.quoted = data.style != YAML_PLAIN_SCALAR_STYLE;
  node.scalar = as_view(data.value, data.length);
  if (!is_key && !node.quoted && is_yaml_null(node.scalar)) {
    node.kind = YamlNode::Kind::null;
    node.scalar.clear();
  }
  check_properties(node.place, data.anchor, data.tag);
  if (!count_node(node.place, is_key)) return false;
  if (data.anchor != nullptr && !remember(std::string(as_view(data.anchor)), node)) return false;
  if (!is_key) return attach(std::move(node));
  take_key(std::move(node));
  return true;
}

void YamlReader::take_key(YamlNode key) {
  Frame& frame = stack_.back();
  check_key(frame, key);
  frame.has_key = true;
  frame.key = std::move(key.scalar);
  frame.key_place = key.place;
}

bool YamlReader::open(const yaml_event_t& event, YamlNode::Kind kind, const yaml_char_t* anchor,
                      const yaml_char_t* tag) {
  Frame frame;
  frame.node.kind = kind;
  frame.node.place = cursor_.advance_to(event.start_mark);
  frame.anchor = as_view(anchor);
  check_properties(frame.node.place, anchor, tag);
  if (wants_key()) return refuse_container_as_key(frame.node.place, kind);
  if (is_too_deep(1)) return fail_too_deep(frame.node.place);
  if (!count_node(frame.node.place, false)) return false;
  stack_.push_back(std::move(frame));
  return true;
}

bool YamlReader::close() {
  Frame frame = std::move(stack_.back());
  stack_.pop_back();
  if (frame.node.kind == YamlNode::Kind::mapping) finish_mapping(frame);
  if (!frame.anchor.empty() && !remember(std::move(frame.anchor), frame.node)) return false;
  return attach(std::move(frame.node));
}

bool YamlReader::attach(YamlNode node) {
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
  if (frame.merge) return merge_value(frame, std::move(node));
  frame.node.entries.push_back({std::move(frame.key), frame.key_place, std::move(node)});
  frame.key.clear();
  return true;
}

bool YamlReader::wants_key() const {
  return !stack_.empty() && stack_.back().node.kind == YamlNode::Kind::mapping && !stack_.back().has_key;
}

bool YamlReader::fail_too_deep(const SourceLocation& place) {
  return fail(place, fmt::format("nested more than {} levels deep", limits_.depth));
}

bool YamlReader::fail(const SourceLocation& place, std::string message, std::string hint, std::size_t length) {
  failed_ = true;
  diagnostics_.error(place, std::move(message), std::move(hint), length);
  return false;
}

}  // namespace weft
