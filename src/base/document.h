// The output of a command, described once and written as an aligned table, JSON, YAML, NDJSON or CSV. A Document is an
// ordered list of sections: facts (key and value), tables, and notes. It is independent of clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weft {

// A cell keeps its type so that machine formats carry numbers as numbers. `shown`, if not empty, is the text for people
// (for example "400G" for 400000000000). `brief`, if not empty, is shorter and for the format `table` alone ("all 103"
// for a list of hosts).
struct Cell {
  std::variant<std::monostate, std::string, std::int64_t, double, bool> value;
  std::string shown;
  std::string brief;

  Cell() = default;
  Cell(std::string text) : value(std::move(text)) {}                        // NOLINT(google-explicit-constructor)
  Cell(std::string_view text) : value(std::string(text)) {}                 // NOLINT(google-explicit-constructor)
  Cell(const char* text) : value(std::string(text)) {}                      // NOLINT(google-explicit-constructor)
  Cell(std::int64_t number) : value(number) {}                              // NOLINT(google-explicit-constructor)
  Cell(std::uint64_t number) : value(static_cast<std::int64_t>(number)) {}  // NOLINT(google-explicit-constructor)
  Cell(std::int32_t number) : value(std::int64_t{number}) {}                // NOLINT(google-explicit-constructor)
  Cell(std::uint32_t number) : value(std::int64_t{number}) {}               // NOLINT(google-explicit-constructor)
  Cell(double number) : value(number) {}                                    // NOLINT(google-explicit-constructor)
  Cell(bool truth) : value(truth) {}                                        // NOLINT(google-explicit-constructor)
  template <class T>
  Cell(T number, std::string text) : Cell(number) {
    shown = std::move(text);
  }
};

struct Column {
  std::string key;    // snake_case name in machine formats, ending in the unit where `shown` has one ("speed_bps")
  std::string title;  // heading in the table, with the unit where numbers have one
  enum class Align { left, right } align = Align::left;
  bool wide = false;  // only with --output wide (and always in machine formats)
  int priority =
      0;  // columns of the lowest priority are left out first where a table does not fit; the first one never
};

struct TableSection {
  std::string key;
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Fact {
  std::string key;
  std::string title;
  Cell value;
};

struct FactsSection {
  std::string key;
  std::string title;
  std::vector<Fact> facts;
};

struct Document {
  std::string kind;  // "summary", "cables", ...: written to machine formats next to schema_version
  std::vector<std::variant<FactsSection, TableSection>> sections;
  std::vector<std::string> notes;  // sentences shown after the tables; an array in machine formats
};

enum class OutputFormat { table, wide, json, yaml, ndjson, csv };

struct OutputStyle {
  OutputFormat format = OutputFormat::table;
  bool color = false;
  std::size_t width = 0;  // columns that the format `table` may use; 0: any number
};

// JSON, YAML and each line of NDJSON carry schema_version 1. NDJSON and CSV (RFC 4180) contain the rows of the tables,
// each fact as one row, and omit notes. An NDJSON row has schema_version, kind and section unless the table has a
// column of that name. CSV has only the columns; those of several tables are side by side after the section's name.
// Tables: left/right aligned by display width (UTF-8), two spaces between columns, no trailing spaces
// (document_text.h).
[[nodiscard]] std::string write(const Document& document, const OutputStyle& style);

// Columns a terminal uses for UTF-8 text.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace weft
