// Where a value came from: a file, a line and a column that a user can open. `Sources` owns the text of every file read
// in a run, so a `SourceLocation` stays eight bytes and a diagnostic can quote its line long after parsing.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

using FileId = std::uint16_t;  // 0 is "no file"

// Line and column start at 1; column counts bytes. A default SourceLocation means "no location".
struct SourceLocation {
  FileId file = 0;
  std::uint16_t column = 0;  // saturates at 65535
  std::uint32_t line = 0;

  [[nodiscard]] bool known() const { return file != 0; }
  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

// Orders by file, line, column (reading order).
[[nodiscard]] bool comes_before(const SourceLocation& a, const SourceLocation& b);

class Sources {
 public:
  // Registers a text under the path shown to users, without its byte-order mark. At most 65,535 files; returns 0 beyond
  // that.
  FileId add(std::string path, std::string text);

  [[nodiscard]] const std::string& path(FileId file) const;
  [[nodiscard]] std::string_view text(FileId file) const;
  // The line without its line end; empty when there is no such line.
  [[nodiscard]] std::string_view line(FileId file, std::uint32_t line) const;
  // "cluster.yaml:12:5", "cluster.yaml" without a line, or "" for an unknown location.
  [[nodiscard]] std::string describe(const SourceLocation& place) const;

 private:
  struct File {
    std::string path;
    std::string text;
    std::vector<std::uint32_t> line_starts;
  };
  std::deque<File> files_;  // index = FileId - 1; a deque keeps views valid
};

}  // namespace weft
