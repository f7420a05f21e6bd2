#include "sched/traces/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace weft::sched {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

std::string CsvField::str() const {
  if (!doubled) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '"') ++i;  // the second quote of the pair
  }
  return out;
}

SourceLocation CsvReader::here() const {
  const std::size_t column = std::min<std::size_t>(at_ - line_start_ + 1, 65535);
  return {file_, static_cast<std::uint16_t>(column), line_};
}

bool CsvReader::next() {
  while (at_ < text_.size()) {
    if (!read_row()) {
      at_ = text_.size();
      row_.clear();
      return false;
    }
    const bool blank = row_.size() == 1 && row_[0].text.empty();
    if (!blank) return true;
  }
  row_.clear();
  return false;
}

// On return at_ is before the line end, so end() is the end of this row.
bool CsvReader::read_row() {
  row_.clear();
  if (started_ && text_[at_] == '\n') {  // of the previous row
    ++at_;
    ++line_;
    line_start_ = at_;
  }
  started_ = true;
  while (true) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ < text_.size() && text_[at_] == '"' && separator_ == ',') {
      if (!read_quoted()) return false;
    } else {
      read_bare();
    }
    if (at_ >= text_.size() || text_[at_] == '\n') return true;
    if (row_.size() == kMaxFields) {
      diagnostics_->error(here(), fmt::format("more than {} fields in a row", kMaxFields));
      return false;
    }
    ++at_;  // the separator
  }
}

void CsvReader::read_bare() {
  const SourceLocation place = here();
  std::size_t stop = at_;
  while (stop < text_.size() && text_[stop] != separator_ && text_[stop] != '\n') ++stop;
  row_.push_back({trim_end(text_.substr(at_, stop - at_), kLineSpaces), place, false});
  at_ = stop;
}

bool CsvReader::read_quoted() {
  const SourceLocation opening = here();
  ++at_;
  const SourceLocation place = here();
  const std::size_t begin = at_;
  bool doubled = false;
  while (true) {
    const std::size_t stop = text_.find_first_of("\"\n", at_);
    if (stop == std::string_view::npos) {
      diagnostics_->error(opening, "a quoted field is not closed",
                          "a quote inside a quoted field is written twice: \"\"");
      return false;
    }
    at_ = stop + 1;
    if (text_[stop] == '\n') {
      ++line_;
      line_start_ = at_;
    } else if (at_ < text_.size() && text_[at_] == '"') {
      doubled = true;
      ++at_;
    } else {
      row_.push_back({text_.substr(begin, stop - begin), place, doubled});
      break;
    }
  }
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') {
    diagnostics_->error(here(), "text follows the end of a quoted field",
                        "a quote inside a quoted field is written twice: \"\"");
    return false;
  }
  return true;
}

}  // namespace weft::sched
