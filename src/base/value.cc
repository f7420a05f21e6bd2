#include "base/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/quoting.h"
#include "base/utf8.h"

namespace weft {
namespace {

constexpr std::size_t kRow = 240;   // a map of scalars that fits stays on one line: a switch port, a Prometheus target
constexpr std::size_t kLine = 110;  // a list of scalars that fits stays on one line

std::string number_text(double number) {
  CHECK(std::isfinite(number), "JSON has no infinities");
  std::string text = fmt::format("{}", number);
  // 3.0 prints as "3": keep it a floating-point number.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool is_scalar(const Value& value) { return !value.is_list() && !value.is_map(); }

void append_scalar_json(std::string& out, const Value& value) {
  struct Write {
    std::string& out;
    void operator()(std::monostate) const { out += "null"; }
    void operator()(bool truth) const { out += truth ? "true" : "false"; }
    void operator()(std::int64_t number) const { out += fmt::format_int(number).c_str(); }
    void operator()(double number) const { out += number_text(number); }
    void operator()(const std::string& text) const { append_json_quoted(out, text); }
    void operator()(const Value::List&) const {}
    void operator()(const Value::Map&) const {}
  };
  std::visit(Write{out}, value.state());
}

class JsonWriter {
 public:
  explicit JsonWriter(int indent) : indent_(indent) {}
  std::string take() { return std::move(out_); }

  void write(const Value& value, int level) {
    if (value.is_list()) {
      write_list(value.items(), level);
    } else if (value.is_map()) {
      write_map(value.entries(), level);
    } else {
      append_scalar_json(out_, value);
    }
  }

 private:
  void line(int level) {
    if (indent_ == 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(level) * static_cast<std::size_t>(indent_), ' ');
  }
  void write_list(const Value::List& items, int level) {
    const bool flat = indent_ == 0 || std::all_of(items.begin(), items.end(), is_scalar);
    if (flat) {
      const std::size_t start = out_.size();
      out_ += '[';
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out_ += ", ";
        write(items[i], level);
      }
      out_ += ']';
      if (indent_ == 0 || out_.size() - start <= kLine) return;
      out_.resize(start);
    }
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      line(level + 1);
      write(items[i], level + 1);
    }
    line(level);
    out_ += ']';
  }
  // A map of scalars that fits stays on one line, like a row of a table.
  bool write_flat(const Value::Map& entries, int level) {
    if (!std::all_of(entries.begin(), entries.end(), [](const Value::Entry& e) { return is_scalar(e.value); }))
      return false;
    const std::size_t start = out_.size();
    out_ += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_ += ", ";
      append_json_quoted(out_, entries[i].key);
      out_ += ": ";
      append_scalar_json(out_, entries[i].value);
      if (out_.size() - start > kRow) break;
    }
    out_ += '}';
    if (level > 0 && out_.size() - start <= kRow) return true;
    out_.resize(start);
    return false;
  }
  void write_map(const Value::Map& entries, int level) {
    if (indent_ > 0 && write_flat(entries, level)) return;
    out_ += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_ += indent_ == 0 ? ", " : ",";
      line(level + 1);
      append_json_quoted(out_, entries[i].key);
      out_ += ": ";
      write(entries[i].value, level + 1);
    }
    if (!entries.empty()) line(level);
    out_ += '}';
  }

  int indent_;
  std::string out_;
};

// Literal blocks hold printable lines; anything else is quoted with escapes.
bool fits_literal_block(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n' || text.front() == '\t')
    return false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) return false;
  }
  // json_quote() alters invalid UTF-8, and U+2028 and similar characters end a line in YAML 1.1.
  return json_quote(text).find("\xEF\xBF\xBD") == std::string::npos &&
         text.find("\xE2\x80") == std::string_view::npos && text.find("\xC2\x85") == std::string_view::npos &&
         text.find("\xEF\xBB\xBF") == std::string_view::npos;
}

class YamlWriter {
 public:
  std::string take() { return std::move(out_); }

  // `value` follows "key:" or "-" (`level` is the indentation of its children), or begins the document.
  void write_block(const Value& value, int level, bool after_key) {
    if (value.is_map() && !value.entries().empty()) {
      write_map(value.entries(), level, after_key);
    } else if (value.is_list() && !value.items().empty()) {
      write_list(value.items(), level, after_key);
    } else {
      if (after_key) out_ += ' ';
      write_scalar(value, level);
      out_ += '\n';
    }
  }

 private:
  void indent(int level) { out_.append(static_cast<std::size_t>(level) * 2, ' '); }

  void write_map(const Value::Map& entries, int level, bool after_key) {
    if (after_key) out_ += '\n';
    for (const Value::Entry& entry : entries) {
      indent(level);
      write_entry(entry, level);
    }
  }
  void write_entry(const Value::Entry& entry, int level) {
    out_ += is_simple_yaml_text(entry.key) ? entry.key : json_quote(entry.key);
    out_ += ':';
    // A list has the same indentation as its key, as most people write it.
    const bool list = entry.value.is_list() && !entry.value.items().empty();
    write_block(entry.value, list ? level : level + 1, true);
  }
  void write_list(const Value::List& items, int level, bool after_key) {
    if (std::all_of(items.begin(), items.end(), is_scalar)) {
      const std::size_t start = out_.size();
      if (after_key) out_ += ' ';
      out_ += '[';
      bool flat = true;
      for (std::size_t i = 0; i < items.size() && flat; ++i) {
        if (i > 0) out_ += ", ";
        flat = !items[i].is_text() || items[i].text().find('\n') == std::string::npos;
        if (flat) write_flow_scalar(items[i]);
      }
      out_ += "]\n";
      if (flat && out_.size() - start <= kLine - static_cast<std::size_t>(level) * 2) return;
      out_.resize(start);
    }
    if (after_key) out_ += '\n';
    for (const Value& item : items) {
      indent(level);
      out_ += '-';
      if (item.is_map() && !item.entries().empty()) {
        out_ += ' ';
        const Value::Map& entries = item.entries();
        for (std::size_t i = 0; i < entries.size(); ++i) {
          if (i > 0) indent(level + 1);
          write_entry(entries[i], level + 1);
        }
      } else {
        write_block(item, level + 1, true);
      }
    }
  }
  void write_flow_scalar(const Value& value) {
    // Brackets and commas end a plain scalar in a flow list.
    if (value.is_text() &&
        (!is_simple_yaml_text(value.text()) || value.text().find_first_of(":?&!|<>%*") != std::string::npos)) {
      out_ += json_quote(value.text());
    } else {
      write_scalar(value, 0);
    }
  }
  void write_scalar(const Value& value, int level) {
    if (value.is_list()) {
      out_ += "[]";
    } else if (value.is_map()) {
      out_ += "{}";
    } else if (!value.is_text()) {
      append_scalar_json(out_, value);
    } else if (is_simple_yaml_text(value.text())) {
      out_ += value.text();
    } else if (fits_literal_block(value.text())) {
      write_literal(value.text(), level);
    } else {
      out_ += json_quote(value.text());
    }
  }
  // The caller ends the last line.
  void write_literal(std::string_view text, int level) {
    std::size_t end = text.size();
    while (end > 0 && text[end - 1] == '\n') --end;
    const std::size_t newlines = text.size() - end;
    out_ += newlines == 0 ? "|-" : newlines == 1 ? "|" : "|+";
    std::string_view rest = text.substr(0, end);
    while (true) {
      const std::size_t at = rest.find('\n');
      out_ += '\n';
      const std::string_view line = rest.substr(0, at);
      if (!line.empty()) indent(std::max(level, 1));
      out_ += line;
      if (at == std::string_view::npos) break;
      rest.remove_prefix(at + 1);
    }
    for (std::size_t i = 1; i < newlines; ++i) out_ += '\n';
  }

  std::string out_;
};

}  // namespace

Value Value::texts(std::span<const std::string> items) {
  List list;
  list.reserve(items.size());
  for (const std::string& item : items) list.emplace_back(item);
  return list;
}

const Value::List& Value::items() const {
  CHECK(is_list(), "items() of a Value that is not a list");
  return *std::get_if<List>(&state_);
}

const Value::Map& Value::entries() const {
  CHECK(is_map(), "entries() of a Value that is not a map");
  return *std::get_if<Map>(&state_);
}

const std::string& Value::text() const {
  CHECK(is_text(), "text() of a Value that is not text");
  return *std::get_if<std::string>(&state_);
}

bool Value::empty() const { return is_null() || (is_list() && items().empty()) || (is_map() && entries().empty()); }

const Value* Value::find(std::string_view key) const {
  if (!is_map()) return nullptr;
  for (const Entry& entry : entries()) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Value& Value::operator[](std::string_view key) {
  if (is_null()) state_ = Map();
  CHECK(is_map(), "a key of a Value that is not a map");
  Map& map = *std::get_if<Map>(&state_);
  for (Entry& entry : map) {
    if (entry.key == key) return entry.value;
  }
  map.push_back({std::string(key), Value()});
  return map.back().value;
}

Value& Value::set(std::string_view key, Value value) & {
  (*this)[key] = std::move(value);
  return *this;
}

Value&& Value::set(std::string_view key, Value value) && {
  (*this)[key] = std::move(value);
  return std::move(*this);
}

Value& Value::put(std::string key, Value value) {
  if (is_null()) state_ = Map();
  CHECK(is_map(), "a key of a Value that is not a map");
  std::get_if<Map>(&state_)->push_back({std::move(key), std::move(value)});
  return *this;
}

Value& Value::add(Value value) {
  if (is_null()) state_ = List();
  CHECK(is_list(), "an item of a Value that is not a list");
  std::get_if<List>(&state_)->push_back(std::move(value));
  return *this;
}

std::string write_json(const Value& value, int indent) {
  JsonWriter writer(indent);
  writer.write(value, 0);
  return writer.take() + "\n";
}

std::string write_json_line(const Value& value) {
  JsonWriter writer(0);
  writer.write(value, 0);
  return writer.take();
}

std::string write_yaml(const Value& value) { return write_yaml(std::span<const Value>(&value, 1)); }

std::string write_yaml(std::span<const Value> documents, std::string_view heading) {
  std::string out;
  while (!heading.empty()) {
    const std::size_t end = std::min(heading.find('\n'), heading.size());
    out += end == 0 ? "#" : "# ";
    out += heading.substr(0, end);
    out += '\n';
    heading.remove_prefix(std::min(end + 1, heading.size()));
  }
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (i > 0) out += "---\n";
    YamlWriter writer;
    writer.write_block(documents[i], 0, false);
    out += writer.take();
  }
  return out;
}

}  // namespace weft
