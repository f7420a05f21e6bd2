// What the two readers of YAML share: libyaml's events, its marks as places, and its complaints in our words. Only
// yaml.cc and yaml_stream.cc include it.
#pragma once

#include <yaml.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/source.h"
#include "base/utf8.h"

namespace weft {

inline std::string_view as_view(const yaml_char_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
}

inline std::string_view as_view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text));  // NOLINT(*-reinterpret-cast)
}

// libyaml gives a place as a line and a column in characters, and takes more characters for line ends than editors do;
// a SourceLocation is a line as split by Sources and a column in bytes. The cursor walks the text once, forwards only:
// a mark that lies behind gets the cursor's place, which may be inexact but keeps the walk linear.
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

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }

  bool next(yaml_parser_t& parser) { return yaml_parser_parse(&parser, &event_) == 1; }
  [[nodiscard]] const yaml_event_t& operator*() const { return event_; }
  [[nodiscard]] const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_{};
};

// Whether a plain scalar means "nothing".
[[nodiscard]] bool is_yaml_null(std::string_view text);

struct YamlProblem {
  SourceLocation place;
  std::string message;
  std::string hint;
};
// Why `parser` stopped.
[[nodiscard]] YamlProblem describe_problem(const yaml_parser_t& parser, std::string_view text, FileId file);

}  // namespace weft
