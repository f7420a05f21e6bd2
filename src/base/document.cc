#include "base/document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "base/document_text.h"
#include "base/quoting.h"
#include "base/utf8.h"

namespace weft {
namespace {

constexpr std::string_view kSchemaVersion = "1";

// A value that is not text, in JSON and YAML.
std::string literal(const Cell& cell) {
  std::string text = number_text(cell);
  if (const auto* truth = std::get_if<bool>(&cell.value)) text = *truth ? "true" : "false";
  return text.empty() ? "null" : text;
}

// ---- JSON ----

void append_json(std::string& out, const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell.value);
  out += text != nullptr ? json_quote(*text) : literal(cell);
}

// One member of an object per line, at the given indentation.
class JsonObject {
 public:
  JsonObject(std::string& out, std::size_t indent) : out_(out), indent_(indent) { out_ += '{'; }

  std::string& member(std::string_view quoted_key) {
    out_ += empty_ ? "\n" : ",\n";
    empty_ = false;
    out_.append(indent_ + 2, ' ');
    out_ += quoted_key;
    out_ += ": ";
    return out_;
  }

  void close() {
    if (!empty_) {
      out_ += '\n';
      out_.append(indent_, ' ');
    }
    out_ += '}';
  }

 private:
  std::string& out_;
  std::size_t indent_;
  bool empty_ = true;
};

std::vector<std::string> quoted_keys(const TableSection& table) {
  std::vector<std::string> keys;
  for (const Column& column : table.columns) keys.push_back(json_quote(column.key));
  return keys;
}

void append_json_rows(std::string& out, const TableSection& table) {
  const std::vector<std::string> keys = quoted_keys(table);
  out += '[';
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    out += row == 0 ? "\n    " : ",\n    ";
    JsonObject object(out, 4);
    for (std::size_t i = 0; i < keys.size(); ++i) append_json(object.member(keys[i]), cell_at(table.rows[row], i));
    object.close();
  }
  out += table.rows.empty() ? "]" : "\n  ]";
}

void append_json_notes(std::string& out, const std::vector<std::string>& notes) {
  out += '[';
  for (std::size_t i = 0; i < notes.size(); ++i) {
    out += i == 0 ? "\n    " : ",\n    ";
    out += json_quote(notes[i]);
  }
  out += notes.empty() ? "]" : "\n  ]";
}

std::string write_json(const Document& document) {
  std::string out;
  JsonObject top(out, 0);
  top.member("\"schema_version\"") += kSchemaVersion;
  top.member("\"kind\"") += json_quote(document.kind);
  for (const auto& section : document.sections) {
    if (const auto* table = std::get_if<TableSection>(&section)) {
      append_json_rows(top.member(json_quote(table->key)), *table);
    } else if (const auto* facts = std::get_if<FactsSection>(&section)) {
      JsonObject object(top.member(json_quote(facts->key)), 2);
      for (const Fact& fact : facts->facts) append_json(object.member(json_quote(fact.key)), fact.value);
      object.close();
    }
  }
  append_json_notes(top.member("\"notes\""), document.notes);
  top.close();
  out += '\n';
  return out;
}

// ---- YAML ----

void append_yaml(std::string& out, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value)) {
    out += yaml_quote(*text);
    return;
  }
  std::string number = literal(cell);
  // YAML 1.1 parsers read 1e+20 as text, but not 1.0e+20.
  const std::size_t exponent = number.find('e');
  const bool is_real = std::holds_alternative<double>(cell.value);
  if (is_real && exponent != std::string::npos && number.find('.') == std::string::npos) number.insert(exponent, ".0");
  out += number;
}

void append_yaml_rows(std::string& out, const TableSection& table) {
  std::vector<std::string> keys;
  for (const Column& column : table.columns) keys.push_back(yaml_quote(column.key) + ": ");
  if (table.rows.empty() || keys.empty()) {
    out += " []\n";
    return;
  }
  out += '\n';
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      out += i == 0 ? "  - " : "    ";
      out += keys[i];
      append_yaml(out, cell_at(row, i));
      out += '\n';
    }
  }
}

void append_yaml_facts(std::string& out, const FactsSection& section) {
  out += section.facts.empty() ? " {}\n" : "\n";
  for (const Fact& fact : section.facts) {
    out += "  " + yaml_quote(fact.key) + ": ";
    append_yaml(out, fact.value);
    out += '\n';
  }
}

std::string write_yaml(const Document& document) {
  std::string out = "schema_version: ";
  out += kSchemaVersion;
  out += "\nkind: " + yaml_quote(document.kind) + "\n";
  for (const auto& section : document.sections) {
    if (const auto* table = std::get_if<TableSection>(&section)) {
      out += yaml_quote(table->key) + ":";
      append_yaml_rows(out, *table);
    } else if (const auto* facts = std::get_if<FactsSection>(&section)) {
      out += yaml_quote(facts->key) + ":";
      append_yaml_facts(out, *facts);
    }
  }
  out += document.notes.empty() ? "notes: []\n" : "notes:\n";
  for (const std::string& note : document.notes) out += "  - " + yaml_quote(note) + "\n";
  return out;
}

// ---- one row per line: NDJSON and CSV ----

// Facts as a table, so that both formats handle only tables.
TableSection as_table(const FactsSection& section) {
  TableSection table;
  table.key = section.key;
  table.columns = {{"key", "", Column::Align::left, false}, {"value", "", Column::Align::left, false}};
  for (const Fact& fact : section.facts) table.rows.push_back({Cell(fact.key), fact.value});
  return table;
}

// Calls `visit` with each section as a table, without copying the tables.
template <class Visit>
void for_each_table(const Document& document, Visit visit) {
  for (const auto& section : document.sections) {
    if (const auto* table = std::get_if<TableSection>(&section)) visit(*table);
    if (const auto* facts = std::get_if<FactsSection>(&section)) visit(as_table(*facts));
  }
}

// The fields of every row besides its cells. A column of the same name takes precedence: a row never has a key twice.
std::vector<std::pair<std::string, std::string>> envelope(const Document& document, const TableSection& table) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {"schema_version", std::string(kSchemaVersion)}, {"kind", document.kind}, {"section", table.key}};
  std::erase_if(fields, [&](const auto& field) {
    return std::any_of(table.columns.begin(), table.columns.end(),
                       [&](const Column& column) { return column.key == field.first; });
  });
  return fields;
}

std::string write_ndjson(const Document& document) {
  std::string out;
  for_each_table(document, [&](const TableSection& table) {
    std::string start;
    for (const auto& [key, value] : envelope(document, table)) {
      const bool number = key == "schema_version";
      start += (start.empty() ? "{\"" : ",\"") + key + "\":" + (number ? value : json_quote(value));
    }
    std::vector<std::string> keys;
    for (const std::string& key : quoted_keys(table)) keys.push_back(key + ":");
    for (const std::vector<Cell>& row : table.rows) {
      out += start;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        out += i == 0 && start.empty() ? '{' : ',';
        out += keys[i];
        append_json(out, cell_at(row, i));
      }
      out += "}\n";
    }
  });
  return out;
}

void append_csv(std::string& out, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string csv_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value)) return *text;
  const std::string text = literal(cell);
  return text == "null" ? std::string() : text;
}

// The columns of all tables, each once, in order of first appearance: RFC 4180 requires the same number of fields in
// every line.
class CsvColumns {
 public:
  std::size_t add(const std::string& key) {
    const auto [found, inserted] = index_.emplace(key, keys_.size());
    if (inserted) keys_.push_back(key);
    return found->second;
  }
  [[nodiscard]] std::size_t at(const std::string& key) const { return index_.find(key)->second; }
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }

 private:
  std::vector<std::string> keys_;
  std::unordered_map<std::string, std::size_t> index_;
};

void append_csv_line(std::string& out, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    append_csv(out, fields[i]);
  }
  out += "\r\n";
}

// Spreadsheets and scripts read CSV by its header: only the table's own columns, plus the section's name if there are
// several sections.
std::string write_csv(const Document& document) {
  CsvColumns columns;
  const bool several = document.sections.size() > 1;
  if (several) columns.add("section");
  for_each_table(document, [&](const TableSection& table) {
    for (const Column& column : table.columns) columns.add(column.key);
  });
  std::string out;
  if (columns.keys().empty()) return out;
  append_csv_line(out, columns.keys());
  for_each_table(document, [&](const TableSection& table) {
    std::vector<std::string> fields(columns.keys().size());
    if (several) fields[columns.at("section")] = table.key;
    std::vector<std::size_t> places;
    for (const Column& column : table.columns) places.push_back(columns.at(column.key));
    for (const std::vector<Cell>& row : table.rows) {
      for (std::size_t i = 0; i < places.size(); ++i) fields[places[i]] = csv_text(cell_at(row, i));
      append_csv_line(out, fields);
    }
  });
  return out;
}

}  // namespace

std::string write(const Document& document, const OutputStyle& style) {
  switch (style.format) {
    case OutputFormat::table:
    case OutputFormat::wide:
      return write_document_text(document, style);
    case OutputFormat::json:
      return write_json(document);
    case OutputFormat::yaml:
      return write_yaml(document);
    case OutputFormat::ndjson:
      return write_ndjson(document);
    case OutputFormat::csv:
      return write_csv(document);
  }
  return {};
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    width += code_point_width(point.value);
    i += point.size;
  }
  return width;
}

}  // namespace weft
