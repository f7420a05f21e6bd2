// What a command answers, described once and written as an aligned table, JSON, YAML, NDJSON or CSV. A Document is an
// ordered list of sections: facts (key and value), tables, and notes. It knows nothing of clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weft {

// A cell keeps its type so that machine formats carry numbers as numbers. `shown` is what people see when it is not
// empty (for example "400G" for 400000000000).
struct Cell {
  std::variant<std::monostate, std::string, std::int64_t, double, bool> value;
  std::string shown;

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
  std::string key;    // snake_case name in machine formats, with the unit last where `shown` has one ("speed_bps")
  std::string title;  // heading in the table; units in it where numbers have one
  enum class Align { left, right } align = Align::left;
  bool wide = false;  // only with --output wide (and always in machine formats)
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
  std::string kind;  // "summary", "cables", ...: goes into machine formats beside schema_version
  std::vector<std::variant<FactsSection, TableSection>> sections;
  std::vector<std::string> notes;  // sentences shown after the tables; an array in machine formats
};

enum class OutputFormat { table, wide, json, yaml, ndjson, csv };

struct OutputStyle {
  OutputFormat format = OutputFormat::table;
  bool color = false;
};

// JSON, YAML and each line of NDJSON carry schema_version 1. NDJSON and CSV (RFC 4180) hold the rows of the tables,
// facts as one row each, and leave notes out. An NDJSON row says schema_version, kind and section unless the table has
// a column of that name. CSV has the columns alone, those of several tables side by side after the section's name.
// Tables: left/right aligned by display width (UTF-8), two blanks between columns, no trailing blanks.
[[nodiscard]] std::string write(const Document& document, const OutputStyle& style);

// Columns a terminal uses for UTF-8 text.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace weft
