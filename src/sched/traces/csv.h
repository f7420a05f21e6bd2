// Rows of a CSV text (RFC 4180: commas, fields in double quotes, "" for a quote inside them) as views into it, each
// with the line and column where it stands. Lines may end in CRLF; blank ones are passed over. Knows nothing of what
// the columns mean.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"

namespace weft::sched {

// A row of more is a mistake, or an attack on our memory.
inline constexpr std::size_t kMaxFields = 1000;

struct CsvField {
  std::string_view
      text;  // without its quotes; "" inside is still doubled (see `doubled`). Not quoted: no blanks around
  SourceLocation place;
  bool doubled = false;

  // The text as it was meant.
  [[nodiscard]] std::string str() const;
};

class CsvReader {
 public:
  CsvReader(FileId file, std::string_view text, Diagnostics& diagnostics)
      : text_(text), diagnostics_(&diagnostics), file_(file) {}

  // Moves to the next row that has anything in it. False at the end, and after a mistake in the quotes or a
  // row without end, which is reported: what follows cannot be told apart.
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
  bool started_ = false;
};

}  // namespace weft::sched
