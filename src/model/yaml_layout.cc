#include "model/yaml_layout.h"

#include <yaml.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/quoting.h"
#include "base/text.h"
#include "base/yaml_reader.h"

namespace weft::model {
namespace {

// What is kept of one of libyaml's events.
struct LayoutEvent {
  enum class Kind { document_start, document_end, scalar, open, close };
  Kind kind = Kind::scalar;
  std::size_t start = 0;  // offsets in the text
  std::size_t end = 0;
  std::size_t column = 0;  // from 0
  bool mapping = false;
  bool flow = false;           // of a collection, also where it ends
  bool explicit_mark = false;  // --- or ...
  bool directive = false;
  yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;
  std::string value{};
};

// libyaml counts code points, the text has bytes.
class OffsetTable {
 public:
  explicit OffsetTable(std::string_view text) {
    if (std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) return;
    for (std::size_t i = 0; i < text.size(); i += decode_utf8(text, i).size)
      offsets_.push_back(static_cast<std::uint32_t>(i));
    offsets_.push_back(static_cast<std::uint32_t>(text.size()));
  }
  [[nodiscard]] std::size_t at(std::size_t index) const {
    if (offsets_.empty()) return index;
    return offsets_[std::min(index, offsets_.size() - 1)];
  }

 private:
  std::vector<std::uint32_t> offsets_;  // empty: all of the text is ASCII
};

class EventReader {
 public:
  explicit EventReader(std::string_view text) : text_(text), table_(text) {
    initialized_ = yaml_parser_initialize(&parser_) == 1;
    if (!initialized_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());  // NOLINT(*-reinterpret-cast)
    yaml_parser_set_input_string(&parser_, bytes, text.size());
  }
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;
  ~EventReader() {
    if (initialized_) yaml_parser_delete(&parser_);
  }

  // Empty if the text is not YAML.
  std::vector<LayoutEvent> read() {
    std::vector<LayoutEvent> events;
    while (initialized_) {
      YamlEvent event;
      if (!event.next(parser_)) return {};
      if (event->type == YAML_STREAM_END_EVENT || event->type == YAML_NO_EVENT) break;
      if (event->type != YAML_STREAM_START_EVENT) events.push_back(convert(*event));
    }
    return events;
  }

 private:
  LayoutEvent convert(const yaml_event_t& event) {
    using Kind = LayoutEvent::Kind;
    LayoutEvent out;
    out.start = std::min(table_.at(event.start_mark.index), text_.size());
    out.end = std::clamp(table_.at(event.end_mark.index), out.start, text_.size());
    out.column = event.start_mark.column;
    if (event.type == YAML_SCALAR_EVENT) {
      out.style = event.data.scalar.style;
      out.value = as_view(event.data.scalar.value, event.data.scalar.length);
      const bool is_block = out.style == YAML_LITERAL_SCALAR_STYLE || out.style == YAML_FOLDED_SCALAR_STYLE;
      if (is_block) drop_line_ends(out);
    } else if (event.type == YAML_DOCUMENT_START_EVENT) {
      out.kind = Kind::document_start;
      out.explicit_mark = event.data.document_start.implicit == 0;
      out.directive = event.data.document_start.version_directive != nullptr;
    } else if (event.type == YAML_DOCUMENT_END_EVENT) {
      out.kind = Kind::document_end;
      out.explicit_mark = event.data.document_end.implicit == 0;
    } else if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT) {
      out.kind = Kind::open;
      out.mapping = event.type == YAML_MAPPING_START_EVENT;
      out.flow = out.mapping ? event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                             : event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
      open_.push_back(out.flow);
    } else {
      out.kind = Kind::close;
      out.flow = !open_.empty() && open_.back();
      if (!open_.empty()) open_.pop_back();
    }
    return out;
  }

  // The blank lines after block text, and its last line end, do not belong to it.
  void drop_line_ends(LayoutEvent& out) const {
    const std::string_view source = text_.substr(0, out.end);
    const std::size_t last = source.find_last_not_of(kSpaces);
    out.end = std::max(out.start, std::min(source.find('\n', last), source.size()));
  }

  std::string_view text_;
  OffsetTable table_;
  yaml_parser_t parser_{};
  bool initialized_ = false;
  std::vector<bool> open_;  // whether each open collection is a flow collection
};

class LayoutReader {
 public:
  LayoutReader(const Sources& sources, FileId file, Diagnostics& diagnostics)
      : text_(sources.text(file)), file_(file), diagnostics_(diagnostics) {}

  std::optional<YamlDocument> read() {
    if (!check_line_ends()) return std::nullopt;
    events_ = EventReader(text_).read();
    for (at_ = 0; at_ < events_.size(); ++at_) {
      scan_gap();
      if (!take(events_[at_])) return std::nullopt;
    }
    at_ = events_.size();
    scan_gap();
    for (YamlComment& comment : pending_) document_.root.foot.push_back(std::move(comment));
    return std::move(document_);
  }

 private:
  using Kind = YamlLayout::Kind;

  struct Frame {
    YamlLayout node;
    std::size_t column = 0;
    YamlLayoutEntry current{};  // its value has not been read
    bool has_key = false;
  };

  bool refuse(std::size_t offset, std::string message, std::string hint) {
    diagnostics_.error(MarkCursor(text_, file_).advance_to_byte(offset), std::move(message), std::move(hint));
    return false;
  }

  bool check_line_ends() {
    for (std::size_t i = 0; i < text_.size(); i += decode_utf8(text_, i).size) {
      const std::uint32_t code = decode_utf8(text_, i).value;
      const bool lone_return = code == '\r' && text_.substr(i + 1, 1) != "\n";
      if (lone_return || code == 0x85 || code == 0x2028 || code == 0x2029)
        return refuse(i, fmt::format("line end U+{:04X} cannot be kept", code), "replace it with a line feed");
    }
    return true;
  }

  // Comments and blank lines between the last token and the event at `at_`.
  void scan_gap() {
    const std::size_t end = at_ < events_.size() ? events_[at_].start : text_.size();
    std::size_t closing = 0;  // block collections that end before the next token
    while (at_ + closing < events_.size() && events_[at_ + closing].kind == LayoutEvent::Kind::close &&
           !events_[at_ + closing].flow) {
      ++closing;
    }
    const std::optional<std::size_t> next_column = column_after(closing);
    std::size_t deepest = frames_.size();
    for (std::size_t i = done_; i < end; ++i) {
      const char c = text_[i];
      if (c == '\n') ++line_ends_;
      if (c != '#') {
        if (c != '\n' && c != '\r' && c != ' ' && c != '\t') line_ends_ = 0;
        continue;
      }
      const std::size_t stop = std::min(text_.find('\n', i), text_.size());
      take_comment(i, stop, closing, next_column, deepest);
      line_ends_ = 0;
      i = stop - 1;
    }
    done_ = std::max(done_, end);
  }

  // Of what follows the `closing` innermost collections; nothing at the end of the file.
  [[nodiscard]] std::optional<std::size_t> column_after(std::size_t closing) const {
    const bool at_end = at_ + closing >= events_.size() ||
                        events_[at_ + closing].kind == LayoutEvent::Kind::document_end || closing >= frames_.size();
    if (at_end) return std::nullopt;
    return frames_[frames_.size() - 1 - closing].column;
  }

  void take_comment(std::size_t start, std::size_t stop, std::size_t closing,
                    const std::optional<std::size_t>& next_column, std::size_t& deepest) {
    const std::size_t line = text_.rfind('\n', start) == std::string_view::npos ? 0 : text_.rfind('\n', start) + 1;
    const std::string_view before = text_.substr(line, start - line);
    const std::string text(trim_end(text_.substr(start, stop - start)));
    if (last_ >= line && last_token_ && !trim(before).empty()) return take_trailing(text);
    const YamlComment comment{text, line_ends_ > 1};
    const std::size_t column = before.size();
    const bool ends_a_block = closing > 0 && pending_.empty() && (!next_column || column > *next_column);
    if (!ends_a_block) return pending_.push_back(comment);
    // The innermost of the ending collections that is not indented further; never further in than the last comment's.
    const std::size_t outermost = frames_.size() - closing;
    std::size_t chosen = std::min(deepest, frames_.size() - 1);
    while (chosen > outermost && frames_[chosen].column > column) --chosen;
    deepest = chosen;
    frames_[chosen].node.foot.push_back(comment);
  }

  // After a token on the same line.
  void take_trailing(const std::string& text) {
    YamlLayoutEntry* entry = last_entry();
    if (entry == nullptr) return pending_.push_back({text, false});
    if (entry->trailing.empty()) {
      entry->trailing = text;
    } else if (entry->value.kind == Kind::scalar) {
      entry->lead.push_back({text, false});
    } else {
      entry->value.foot.push_back({text, false});
    }
  }

  // The entry that the last token belongs to.
  YamlLayoutEntry* last_entry() {
    if (frames_.empty()) return nullptr;
    Frame& top = frames_.back();
    if (top.has_key) return &top.current;
    if (!top.node.entries.empty()) return &top.node.entries.back();
    return frames_.size() > 1 ? &frames_[frames_.size() - 2].current : nullptr;  // just opened
  }

  bool take(LayoutEvent& event) {
    using Event = LayoutEvent::Kind;
    const bool zero_width = event.kind != Event::scalar && !event.flow && !event.explicit_mark;
    if (!zero_width) {
      last_ = event.end == event.start ? event.start : event.end - 1;
      last_token_ = true;
      done_ = std::max(done_, event.end);
    }
    if (event.directive) return refuse(0, "a directive cannot be kept", "remove the line that begins with %");
    const bool ends = event.kind == Event::document_end;
    if (ends && event.explicit_mark) return refuse(event.start, "the end marker `...` cannot be kept", "remove it");
    if (event.kind == Event::document_start && event.explicit_mark) {
      document_.explicit_start = true;
      document_.head = std::exchange(pending_, {});
      line_ends_ = 0;
    }
    if (event.kind == Event::open) open(event);
    if (event.kind == Event::close) close();
    return event.kind != Event::scalar || take_scalar(event);
  }

  [[nodiscard]] bool wants_key() const {
    return !frames_.empty() && frames_.back().node.kind == Kind::mapping && !frames_.back().has_key;
  }

  // An entry begins with what is above it.
  void begin_entry() {
    Frame& top = frames_.back();
    top.current = {};
    top.current.blank = std::exchange(line_ends_, 0) > 1;
    top.current.lead = std::exchange(pending_, {});
    const bool first_of_file = frames_.size() == 1 && top.node.entries.empty() && !document_.explicit_start;
    if (first_of_file) split_head(top.current);
  }

  // The first comment of the file stays there.
  void split_head(YamlLayoutEntry& first) {
    std::size_t size = 0;
    while (size < first.lead.size() && (size == 0 || !first.lead[size].blank)) ++size;
    document_.head.assign(first.lead.begin(), first.lead.begin() + static_cast<std::ptrdiff_t>(size));
    first.lead.erase(first.lead.begin(), first.lead.begin() + static_cast<std::ptrdiff_t>(size));
    document_.blank_after_head = first.lead.empty() ? first.blank : true;
  }

  void open(const LayoutEvent& event) {
    if (!frames_.empty()) {
      Frame& top = frames_.back();
      if (top.node.kind == Kind::sequence) begin_entry();
      // Between a key and its [ or {.
      if (event.flow && top.has_key) append(top.current.lead, std::exchange(pending_, {}));
    }
    Frame frame;
    frame.node.kind = event.mapping ? Kind::mapping : Kind::sequence;
    frame.node.flow = event.flow;
    frame.column = event.column;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.node.flow) append(frame.node.foot, std::exchange(pending_, {}));
    line_ends_ = frame.node.flow ? 0 : line_ends_;
    attach(std::move(frame.node));
  }

  bool take_scalar(LayoutEvent& event) {
    const bool quoted =
        event.style == YAML_SINGLE_QUOTED_SCALAR_STYLE || event.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    const bool is_block = event.style == YAML_LITERAL_SCALAR_STYLE || event.style == YAML_FOLDED_SCALAR_STYLE;
    // A plain text of several paragraphs has line ends.
    const bool plain = !quoted && !is_block && !contains(event.value, "\n");
    const std::string text = plain ? event.value : yaml_quote(event.value);
    if (wants_key()) {
      begin_entry();
      Frame& top = frames_.back();
      top.current.name = event.value;
      top.current.key = text;
      top.has_key = true;
      return true;
    }
    YamlLayout node;
    node.text = text;
    if (!frames_.empty() && frames_.back().node.kind == Kind::sequence) begin_entry();
    std::string header_comment;
    if (is_block && !take_block(event, node, header_comment)) return false;
    if (frames_.empty()) {
      document_.root = std::move(node);
      return true;
    }
    append(frames_.back().current.lead, std::exchange(pending_, {}));
    line_ends_ = 0;
    attach(std::move(node));
    if (!header_comment.empty()) take_trailing(header_comment);
    return true;
  }

  // Its lines stay as they are: a folded text could not be folded in the same places again.
  bool take_block(const LayoutEvent& event, YamlLayout& node, std::string& header_comment) {
    if (trim(event.value).empty()) return true;  // written in quotes
    std::vector<std::string_view> lines = split_lines(text_.substr(event.start, event.end - event.start));
    const std::size_t comment = lines[0].find('#');
    if (comment != std::string_view::npos) header_comment = trim_end(lines[0].substr(comment));
    node.text = trim(lines[0].substr(0, comment));
    const bool indicated = std::any_of(node.text.begin(), node.text.end(), is_digit);
    const bool keeps_ends = contains(node.text, "+");
    if (indicated || keeps_ends) {
      return refuse(event.start, fmt::format("block text with {} cannot be kept", in_backticks(node.text)),
                    "write the text in double quotes");
    }
    std::size_t indentation = std::string_view::npos;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      lines[i] = trim_end(lines[i], "\r");
      if (!trim(lines[i]).empty()) indentation = std::min(indentation, lines[i].find_first_not_of(' '));
    }
    for (std::size_t i = 1; i < lines.size(); ++i)
      node.block.emplace_back(lines[i].size() > indentation ? lines[i].substr(indentation) : std::string_view());
    return true;
  }

  static void append(std::vector<YamlComment>& to, std::vector<YamlComment> more) {
    for (YamlComment& comment : more) to.push_back(std::move(comment));
  }

  void attach(YamlLayout node) {
    if (frames_.empty()) {
      document_.root = std::move(node);
      return;
    }
    Frame& top = frames_.back();
    YamlLayoutEntry entry = std::exchange(top.current, {});
    if (node.entries.empty()) append(entry.lead, std::exchange(node.foot, {}));  // [ with only a comment in it ]
    entry.value = std::move(node);
    top.has_key = false;
    top.node.entries.push_back(std::move(entry));
  }

  std::string_view text_;
  FileId file_;
  Diagnostics& diagnostics_;
  YamlDocument document_;
  std::vector<LayoutEvent> events_;
  std::size_t at_ = 0;
  std::size_t done_ = 0;       // end of what was scanned for comments
  std::size_t last_ = 0;       // last byte of the last token
  bool last_token_ = false;    // there was one
  std::size_t line_ends_ = 0;  // since the last token or comment
  std::vector<Frame> frames_;
  std::vector<YamlComment> pending_;  // of the next entry
};

}  // namespace

std::optional<YamlDocument> read_yaml_layout(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  return LayoutReader(sources, file, diagnostics).read();
}

}  // namespace weft::model
