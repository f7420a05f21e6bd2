#include "base/source.h"

#include <limits>
#include <tuple>
#include <utility>

namespace weft {
namespace {

// Editors neither show a byte-order mark nor count it as a column.
void drop_byte_order_mark(std::string& text) {
  if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) text.erase(0, 3);
}

std::vector<std::uint32_t> find_line_starts(std::string_view text) {
  constexpr std::size_t kMaxOffset = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> starts = {0};
  for (std::size_t i = text.find('\n'); i < kMaxOffset; i = text.find('\n', i + 1)) {
    starts.push_back(static_cast<std::uint32_t>(i + 1));
  }
  return starts;
}

}  // namespace

bool comes_before(const SourceLocation& a, const SourceLocation& b) {
  return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
}

FileId Sources::add(std::string path, std::string text) {
  if (files_.size() >= std::numeric_limits<FileId>::max()) return 0;
  drop_byte_order_mark(text);
  std::vector<std::uint32_t> line_starts = find_line_starts(text);
  files_.push_back({std::move(path), std::move(text), std::move(line_starts)});
  return static_cast<FileId>(files_.size());
}

const std::string& Sources::path(FileId file) const {
  static const std::string none;
  return file == 0 || file > files_.size() ? none : files_[file - 1U].path;
}

std::string_view Sources::text(FileId file) const {
  return file == 0 || file > files_.size() ? std::string_view() : std::string_view(files_[file - 1U].text);
}

std::string_view Sources::line(FileId file, std::uint32_t line) const {
  if (file == 0 || file > files_.size()) return {};
  const File& source = files_[file - 1U];
  if (line == 0 || line > source.line_starts.size()) return {};
  const std::size_t start = source.line_starts[line - 1];
  const std::size_t end = line < source.line_starts.size() ? source.line_starts[line] - 1U : source.text.size();
  std::string_view found = std::string_view(source.text).substr(start, end - start);
  if (!found.empty() && found.back() == '\r') found.remove_suffix(1);
  return found;
}

std::string Sources::describe(const SourceLocation& place) const {
  if (!place.known()) return {};
  std::string text = path(place.file);
  if (place.line == 0) return text;
  text += ':';
  text += std::to_string(place.line);
  text += ':';
  text += std::to_string(place.column);
  return text;
}

}  // namespace weft
