#include "base/document_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/table_layout.h"
#include "base/utf8.h"

namespace weft {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::size_t kGap = 2;
constexpr std::size_t kMaxCellLines = 8;  // of a cell that is wrapped; the rest is cut
constexpr std::size_t kMinFactWidth = 24;

std::string shown_text(const Cell& cell, OutputFormat format) {
  std::string text;
  if (!cell.brief.empty() && format == OutputFormat::table) {
    text = printable(cell.brief);
  } else if (!cell.shown.empty()) {
    text = printable(cell.shown);
  } else if (const auto* string = std::get_if<std::string>(&cell.value)) {
    text = printable(*string);
  } else if (const auto* truth = std::get_if<bool>(&cell.value)) {
    text = *truth ? "yes" : "no";
  } else {
    text = number_text(cell);
  }
  return text.empty() ? "-" : text;
}

void append_painted(std::string& out, std::string_view text, bool color) {
  if (color) out += kBold;
  out += text;
  if (color) out += kPlain;
}

void drop_trailing_spaces(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

void append_aligned(std::string& line, std::string_view text, std::size_t width, Column::Align align) {
  const std::size_t used = display_width(text);
  const std::size_t spaces = width > used ? width - used : 0;
  if (align == Column::Align::right) line.append(spaces, ' ');
  line += text;
  if (align == Column::Align::left) line.append(spaces, ' ');
}

struct TextColumn {
  std::string title;
  Column::Align align = Column::Align::left;
  ColumnWidths widths;
  std::size_t width = 0;           // 0: left out
  std::vector<std::string> cells;  // the heading, then the rows
};

TextColumn text_column(const TableSection& table, std::size_t index, OutputFormat format) {
  TextColumn column;
  column.title = printable(table.columns[index].title);
  column.align = table.columns[index].align;
  column.widths.priority = table.columns[index].priority;
  column.cells.reserve(table.rows.size() + 1);
  column.cells.push_back(column.title);
  for (const std::vector<Cell>& row : table.rows) column.cells.push_back(shown_text(cell_at(row, index), format));
  for (const std::string& cell : column.cells)
    column.widths.natural = std::max(column.widths.natural, display_width(cell));
  column.width = column.widths.natural;
  return column;
}

// Numbers are not broken; text is broken between its words.
void measure_least(TextColumn& column) {
  column.widths.least = least_width(column.title);
  for (const std::string& cell : column.cells) {
    if (&cell == column.cells.data()) continue;
    const std::size_t least = column.align == Column::Align::right ? display_width(cell) : least_width(cell);
    column.widths.least = std::max(column.widths.least, least);
  }
}

// What a table lost to the width of the terminal.
struct Loss {
  std::vector<std::string> columns;
  bool shortened = false;
};

class TableWriter {
 public:
  TableWriter(const TableSection& table, const OutputStyle& style) : table_(table), style_(style) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!table.columns[i].wide || style.format == OutputFormat::wide)
        columns_.push_back(text_column(table, i, style.format));
    }
    fit();
  }

  Loss append_to(std::string& out) {
    if (columns_.empty()) return loss_;
    for (std::size_t row = 0; row <= table_.rows.size(); ++row) append_row(out, row);
    return loss_;
  }

 private:
  void fit() {
    if (style_.width == 0 || style_.format != OutputFormat::table || natural_width() <= style_.width) return;
    std::vector<ColumnWidths> widths;
    for (TextColumn& column : columns_) {
      measure_least(column);
      widths.push_back(column.widths);
    }
    narrow_ = true;
    const TableLayout layout = fit_columns(widths, style_.width, kGap);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].width = layout.widths[i];
      if (layout.widths[i] == 0) loss_.columns.push_back(columns_[i].title);
    }
    std::erase_if(columns_, [](const TextColumn& column) { return column.width == 0; });
  }

  [[nodiscard]] std::size_t natural_width() const {
    std::size_t sum = 0;
    for (const TextColumn& column : columns_) sum += column.width + kGap;
    return sum - std::min(sum, kGap);
  }

  std::vector<std::string> lines_of(const TextColumn& column, std::size_t row) {
    if (display_width(column.cells[row]) <= column.width) return {column.cells[row]};
    std::vector<std::string> lines = wrap_text(column.cells[row], column.width);
    if (lines.size() > kMaxCellLines) {
      lines.resize(kMaxCellLines);
      const std::string cut = lines.back() + " ...";
      lines.back() = display_width(cut) <= column.width ? cut : "...";
      loss_.shortened = true;
    }
    return lines;
  }

  void append_row(std::string& out, std::size_t row) {
    if (narrow_) return append_wrapped_row(out, row);
    std::string line;
    for (const TextColumn& column : columns_) {
      if (&column != columns_.data()) line.append(kGap, ' ');
      append_aligned(line, column.cells[row], column.width, column.align);
    }
    append_line(out, line, row);
  }

  void append_wrapped_row(std::string& out, std::size_t row) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (const TextColumn& column : columns_) {
      cells.push_back(lines_of(column, row));
      height = std::max(height, cells.back().size());
    }
    std::string line;
    for (std::size_t n = 0; n < height; ++n) {
      line.clear();
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (i > 0) line.append(kGap, ' ');
        const std::string_view text = n < cells[i].size() ? std::string_view(cells[i][n]) : std::string_view();
        append_aligned(line, text, columns_[i].width, columns_[i].align);
      }
      append_line(out, line, row);
    }
  }

  void append_line(std::string& out, std::string& line, std::size_t row) const {
    drop_trailing_spaces(line);
    append_painted(out, line, style_.color && row == 0);
    out += '\n';
  }

  const TableSection& table_;
  const OutputStyle& style_;
  std::vector<TextColumn> columns_;
  bool narrow_ = false;  // cells may need several lines
  Loss loss_;
};

void append_facts(std::string& out, const FactsSection& section, const OutputStyle& style) {
  std::size_t label = 0;
  for (const Fact& fact : section.facts) label = std::max(label, display_width(printable(fact.title)) + 1);
  const bool fits = style.width > 0 && style.format == OutputFormat::table;
  const std::size_t rest = style.width > label + kGap ? style.width - label - kGap : 0;
  for (const Fact& fact : section.facts) {
    const std::string text = shown_text(fact.value, style.format);
    std::vector<std::string> lines = {text};
    if (fits && display_width(text) > rest) lines = wrap_text(text, std::max(rest, kMinFactWidth));
    for (const std::string& line : lines) {
      const std::string title = &line == lines.data() ? printable(fact.title) + ":" : std::string();
      append_aligned(out, title, label, Column::Align::left);
      out.append(kGap, ' ');
      out += line;
      out += '\n';
    }
  }
}

void append_note(std::string& out, std::string_view note, const OutputStyle& style) {
  const bool fits = style.width > 0 && style.format == OutputFormat::table;
  if (!fits || display_width(note) <= style.width) {
    out += note;
    out += '\n';
    return;
  }
  for (const std::string& line : wrap_text(note, style.width)) {
    out += line;
    out += '\n';
  }
}

std::string loss_note(const std::vector<std::string>& columns, bool shortened) {
  if (columns.empty()) return shortened ? "Some cells are cut to the width of the terminal; `-o wide` shows all." : "";
  std::string names;
  for (const std::string& column : columns) names += (names.empty() ? "" : ", ") + column;
  return "Not shown in this width: " + names + "; `-o wide` shows all.";
}

void collect(std::vector<std::string>& columns, const std::vector<std::string>& more) {
  for (const std::string& column : more) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  }
}

}  // namespace

const Cell& cell_at(const std::vector<Cell>& row, std::size_t column) {
  static const Cell empty;
  return column < row.size() ? row[column] : empty;
}

std::string number_text(const Cell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell.value)) return std::to_string(*number);
  const auto* real = std::get_if<double>(&cell.value);
  if (real == nullptr || !std::isfinite(*real)) return {};
  std::array<char, 32> buffer{};
  const std::to_chars_result result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *real);
  return {buffer.data(), result.ptr};
}

std::string write_document_text(const Document& document, const OutputStyle& style) {
  std::string out;
  std::vector<std::string> left_out;
  bool shortened = false;
  for (const auto& section : document.sections) {
    const auto* table = std::get_if<TableSection>(&section);
    const auto* facts = std::get_if<FactsSection>(&section);
    if (!out.empty()) out += '\n';
    const std::string title = printable(table != nullptr ? table->title : facts->title);
    if (!title.empty()) {
      append_painted(out, title, style.color);
      out += '\n';
    }
    if (table != nullptr) {
      const Loss loss = TableWriter(*table, style).append_to(out);
      collect(left_out, loss.columns);
      shortened = shortened || loss.shortened;
    }
    if (facts != nullptr) append_facts(out, *facts, style);
  }
  std::vector<std::string> notes;
  for (const std::string& note : document.notes) notes.push_back(printable(note));
  if (std::string note = loss_note(left_out, shortened); !note.empty()) notes.push_back(std::move(note));
  if (!out.empty() && !notes.empty()) out += '\n';
  for (const std::string& note : notes) append_note(out, note, style);
  return out;
}

}  // namespace weft
