// Base class of the YAML readers behind parse_yaml() and parse_yaml_stream(): processes libyaml's events, builds the
// tree, enforces the limits on size and depth, and converts libyaml's marks and errors into locations and messages.
// What is accepted is decided by the derived classes. Only readers of libyaml's events include it.
#pragma once

#include <yaml.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace weft {

inline std::string_view as_view(const yaml_char_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
}

inline std::string_view as_view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text));  // NOLINT(*-reinterpret-cast)
}

// libyaml's marks have a line and a column in characters, and libyaml recognizes more line ends than editors do; a
// SourceLocation has a line as split by Sources and a column in bytes. The cursor scans the text once, forward only: an
// earlier mark gets the cursor's location, which may be inexact but keeps the scan linear.
class MarkCursor {
 public:
  MarkCursor(std::string_view text, FileId file) : text_(text), file_(file) {}

  SourceLocation advance_to(const yaml_mark_t& mark) {
    while (offset_ < text_.size() && (line_ < mark.line || (line_ == mark.line && column_ < mark.column))) step();
    return here();
  }

  SourceLocation advance_to_byte(std::size_t offset) {
    while (offset_ < std::min(offset, text_.size())) step();
    return here();
  }

  [[nodiscard]] std::size_t offset() const { return offset_; }

 private:
  void step() {
    const CodePoint point = decode_utf8(text_, offset_);
    const bool carriage_return = point.value == '\r';
    const bool two = carriage_return && offset_ + 1 < text_.size() && text_[offset_ + 1] == '\n';
    offset_ += two ? 2 : point.size;
    if (two || point.value == '\n') {
      ++shown_line_;
      shown_start_ = offset_;
    }
    if (carriage_return || point.value == '\n' || point.value == 0x85 || point.value == 0x2028 ||
        point.value == 0x2029) {
      ++line_;
      column_ = 0;
    } else {
      ++column_;
    }
  }

  [[nodiscard]] SourceLocation here() const {
    const std::size_t column = std::min<std::size_t>(offset_ - shown_start_ + 1, 65535);
    return {file_, static_cast<std::uint16_t>(column), shown_line_};
  }

  std::string_view text_;
  FileId file_;
  std::size_t offset_ = 0;
  std::size_t line_ = 0;  // libyaml's
  std::size_t column_ = 0;
  std::uint32_t shown_line_ = 1;
  std::size_t shown_start_ = 0;
};

class YamlEvent {
 public:
  YamlEvent() = default;
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
  ~YamlEvent() { yaml_event_delete(&event_); }

  bool next(yaml_parser_t& parser) { return yaml_parser_parse(&parser, &event_) == 1; }
  [[nodiscard]] const yaml_event_t& operator*() const { return event_; }
  [[nodiscard]] const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_{};
};

class YamlReader {
 public:
  YamlReader(const Sources& sources, FileId file, Diagnostics& diagnostics, const YamlLimits& limits);
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;
  virtual ~YamlReader();

 protected:
  // An open container and, for a mapping, the last key read.
  struct Frame {
    YamlNode node;
    std::string anchor;
    bool has_key = false;
    std::string key;
    SourceLocation key_place;
    bool merge = false;            // the key is a plain << to apply
    std::vector<YamlNode> merged;  // mappings to merge in; the first one with a key wins
  };

  // Reads to the end, or to the first unrecoverable error.
  void walk();

  // Each returns false to stop.
  virtual bool begin_text() = 0;  // before libyaml reads it
  virtual bool begin_document(const yaml_event_t& event) = 0;
  virtual bool end_document(const yaml_event_t& event) = 0;
  virtual bool take_alias(std::string_view name, const SourceLocation& place) = 0;
  virtual bool refuse_container_as_key(const SourceLocation& place, YamlNode::Kind kind) = 0;
  virtual bool count_node(const SourceLocation& place, bool is_key) = 0;
  // For a complete value with an anchor.
  virtual bool remember(std::string anchor, const YamlNode& node) = 0;
  virtual bool merge_value(Frame& frame, YamlNode value) = 0;
  virtual void check_properties(const SourceLocation& place, const yaml_char_t* anchor, const yaml_char_t* tag) = 0;
  // Before `key` becomes the key of `frame`.
  virtual void check_key(Frame& frame, const YamlNode& key) = 0;
  virtual void finish_mapping(Frame& frame) = 0;

  void take_key(YamlNode key);
  bool attach(YamlNode node);
  [[nodiscard]] bool wants_key() const;
  [[nodiscard]] bool is_too_deep(std::size_t height) const { return stack_.size() + height > limits_.depth; }
  bool fail_too_deep(const SourceLocation& place);
  bool fail(const SourceLocation& place, std::string message, std::string hint = {}, std::size_t length = 1);

  std::string_view text_;
  FileId file_;
  Diagnostics& diagnostics_;
  YamlLimits limits_;
  MarkCursor cursor_;
  bool failed_ = false;
  YamlNode root_;
  std::vector<Frame> stack_;  // instead of recursion: depth costs heap, not stack

 private:
  bool take(const yaml_event_t& event);
  bool take_scalar(const yaml_event_t& event);
  bool open(const yaml_event_t& event, YamlNode::Kind kind, const yaml_char_t* anchor, const yaml_char_t* tag);
  bool close();

  yaml_parser_t parser_{};
  bool initialized_ = false;
};

}  // namespace weft
