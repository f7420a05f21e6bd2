// CSV parser (RFC 4180: commas, fields in double quotes, "" for a quote inside them). Fields are views into the text,
// each with its line and column. Lines may end in CRLF; blank lines are skipped. With another separator than a comma,
// such as the | of `sacct --parsable2`, quotes have no meaning. Independent of the meaning of the columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"

namespace weft::sched {

// A row with more fields is an error, or an attempt to exhaust memory.
inline constexpr std::size_t kMaxFields = 1000;

struct CsvField {
  std::string_view text;  // without quotes; "" inside is still doubled (see `doubled`). Unquoted: trimmed
  SourceLocation place;
  bool doubled = false;

  // The unescaped text.
  [[nodiscard]] std::string str() const;
};

class CsvReader {
 public:
  CsvReader(FileId file, std::string_view text, Diagnostics& diagnostics, char separator = ',')
      : text_(text), diagnostics_(&diagnostics), file_(file), separator_(separator) {}

  // Moves to the next non-empty row. False at the end, and after a quoting error or an unterminated row, which is
  // reported: the rest cannot be parsed.
  bool next();
  [[nodiscard]] std::span<const CsvField> row() const { return row_; }
  // Where the row begins, and where it ends.
  [[nodiscard]] const SourceLocation& start() const { return row_.front().place; }
  [[nodiscard]] SourceLocation end() const { return here(); }

 private:
  [[nodiscard]] SourceLocation here() const;
  bool read_row();
  bool read_quoted();
  void read_bare();

  std::string_view text_;
  Diagnostics* diagnostics_;
  std::vector<CsvField> row_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  FileId file_;
  char separator_;
  bool started_ = false;
};

}  // namespace weft::sched
