#include "base/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft {
namespace {

constexpr std::size_t kMaxColumns = 160;    // of a quoted source line
constexpr std::size_t kWindowBytes = 1024;  // scanned on either side of the caret: lines may be megabytes long
constexpr std::size_t kMaxWordToCompare = 256;
constexpr std::size_t kMinBeginning = 2;  // letters of a word that longer ones are suggested for...
constexpr std::size_t kMaxLonger = 5;     // ...and the most of those
constexpr std::string_view kDots = "...";

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "error";
}

const char* severity_color(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "\x1b[1;31m";
    case Severity::warning:
      return "\x1b[1;33m";
    case Severity::note:
      return "\x1b[1;36m";
  }
  return "";
}

std::string painted(std::string_view text, const char* paint, bool color) {
  return color ? fmt::format("{}{}\x1b[0m", paint, text) : std::string(text);
}

// One code point of a source line as displayed.
struct Glyph {
  std::string text;
  std::size_t width = 1;
  std::size_t offset = 0;  // byte in the source line
};

struct Quote {
  std::string text;
  std::size_t caret = 0;  // columns before it
  std::size_t length = 1;
};

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::vector<Glyph> glyphs_of(std::string_view line, std::size_t from, std::size_t to) {
  std::vector<Glyph> glyphs;
  glyphs.reserve(to - from);
  for (std::size_t i = from; i < to;) {
    const CodePoint point = decode_utf8(line, i);
    const std::string_view raw = line.substr(i, point.size);
    const bool as_is = point.valid && is_printable(point.value);
    glyphs.push_back({printable(raw), as_is ? code_point_width(point.value) : 1, i});
    i += point.size;
  }
  return glyphs;
}

std::size_t width_of(const std::vector<Glyph>& glyphs, std::size_t first, std::size_t last) {
  std::size_t width = 0;
  for (std::size_t i = first; i < last; ++i) width += glyphs[i].width;
  return width;
}

// Selects the glyphs [first, last) to show: all if they fit, else those around the caret. Half the width is for text
// before the caret.
std::pair<std::size_t, std::size_t> visible_part(const std::vector<Glyph>& glyphs, std::size_t caret, bool whole) {
  if (whole && width_of(glyphs, 0, glyphs.size()) <= kMaxColumns) return {0, glyphs.size()};
  const std::size_t room = kMaxColumns - 2 * kDots.size();
  std::size_t first = caret;
  std::size_t used = 0;
  while (first > 0 && used + glyphs[first - 1].width <= room / 2) used += glyphs[--first].width;
  std::size_t last = caret;
  while (last < glyphs.size() && used + glyphs[last].width <= room) used += glyphs[last++].width;
  // Near the end of the line the second half has unused width.
  while (first > 0 && used + glyphs[first - 1].width <= room) used += glyphs[--first].width;
  return {first, last};
}

Quote quote_line(std::string_view line, std::size_t column, std::size_t length) {
  const std::size_t start = std::min(column == 0 ? 0 : column - 1, line.size());
  std::size_t from = start > kWindowBytes ? start - kWindowBytes : 0;
  std::size_t to = std::min(line.size(), start + kWindowBytes);
  while (from > 0 && from < start && is_continuation(line[from])) ++from;
  while (to < line.size() && is_continuation(line[to])) ++to;

  const std::vector<Glyph> glyphs = glyphs_of(line, from, to);
  const auto index_at = [&](std::size_t offset) {
    const auto found = std::lower_bound(glyphs.begin(), glyphs.end(), offset,
                                        [](const Glyph& glyph, std::size_t at) { return glyph.offset < at; });
    return static_cast<std::size_t>(found - glyphs.begin());
  };
  const std::size_t caret = index_at(start);
  const auto [first, last] = visible_part(glyphs, caret, from == 0 && to == line.size());

  Quote quote;
  if (from > 0 || first > 0) quote.text += kDots;
  quote.caret = quote.text.size() + width_of(glyphs, first, caret);
  for (std::size_t i = first; i < last; ++i) quote.text += glyphs[i].text;
  if (last < glyphs.size() || to < line.size()) quote.text += kDots;
  const std::size_t end = std::clamp(index_at(start + length), caret, std::max(caret, last));
  quote.length = std::max<std::size_t>(1, width_of(glyphs, caret, end));
  return quote;
}

// Edit distance by insertion, deletion, substitution and transposition of neighbors, each part edited at most once
// ("optimal string alignment"). Letter case does not count.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto equal = [&](std::size_t i, std::size_t j) { return to_lower(a[i - 1]) == to_lower(b[j - 1]); };
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (equal(i, j) ? 0U : 1U);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      const bool exchanged = i > 1 && j > 1 && equal(i, j - 1) && equal(i - 1, j);
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::string summary(const Diagnostics& diagnostics) {
  std::string text;
  if (diagnostics.error_count() > 0) text = plural(diagnostics.error_count(), "error");
  if (diagnostics.warning_count() > 0) {
    if (!text.empty()) text += ", ";
    text += plural(diagnostics.warning_count(), "warning");
  }
  return text.empty() ? text : text + "\n";
}

// "... and 37 more errors not shown", so that a truncated list is never mistaken for a complete one.
std::string left_out(std::size_t total, const char* noun) {
  if (total <= Diagnostics::kMaxKept) return {};
  return fmt::format("... and {} not shown\n",
                     plural(total - Diagnostics::kMaxKept, fmt::format("more {}", noun).c_str()));
}

}  // namespace

void Diagnostics::error(const SourceLocation& place, std::string message, std::string hint, std::size_t length) {
  const auto capped = static_cast<std::uint16_t>(std::min<std::size_t>(length, 65535));
  add({Severity::error, std::move(message), place, capped, std::move(hint)});
}

void Diagnostics::warning(const SourceLocation& place, std::string message, std::string hint, std::size_t length) {
  const auto capped = static_cast<std::uint16_t>(std::min<std::size_t>(length, 65535));
  add({Severity::warning, std::move(message), place, capped, std::move(hint)});
}

// Errors and warnings have separate quotas: many warnings must not hide an error.
void Diagnostics::add(Diagnostic diagnostic) {
  bool keep = false;
  switch (diagnostic.severity) {
    case Severity::error:
      keep = ++errors_ <= kMaxKept;
      break;
    case Severity::warning:
      keep = ++warnings_ <= kMaxKept;
      break;
    case Severity::note:
      keep = kept_.size() < 3 * kMaxKept;
      break;
  }
  if (keep) kept_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<Diagnostic> all = kept_;
  std::stable_sort(all.begin(), all.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return comes_before(a.place, b.place); });
  return all;
}

std::string format_diagnostic(const Diagnostic& diagnostic, const Sources& sources, bool color) {
  return format_diagnostic(diagnostic, {}, {}, sources, color);
}

std::string format_diagnostic(const Diagnostic& diagnostic, std::string_view code,
                              const std::vector<std::string>& notes, const Sources& sources, bool color) {
  const SourceLocation& place = diagnostic.place;
  const char* paint = severity_color(diagnostic.severity);
  std::string out;
  if (place.known()) out += painted(printable(sources.describe(place)) + ":", "\x1b[1m", color) + " ";
  const std::string bracketed = code.empty() ? std::string() : fmt::format("[{}]", code);
  out += painted(fmt::format("{}{}:", severity_name(diagnostic.severity), bracketed), paint, color);
  out += fmt::format(" {}\n", printable(diagnostic.message));

  const std::string number = fmt::format("{:>4}", place.line);
  const std::string_view line = sources.line(place.file, place.line);
  if (!line.empty()) {
    const Quote quote = quote_line(line, place.column, diagnostic.length);
    std::string_view shown = quote.text;
    shown = shown.substr(0, shown.find_last_not_of(' ') + 1);
    out += fmt::format(" {} |{}{}\n", number, shown.empty() ? "" : " ", shown);
    const std::string underline = "^" + std::string(quote.length - 1, '~');
    out += fmt::format(" {:{}} | {:{}}{}\n", "", number.size(), "", quote.caret, painted(underline, paint, color));
  }
  for (const std::string& note : notes) out += fmt::format(" {:{}} = note: {}\n", "", number.size(), printable(note));
  if (!diagnostic.hint.empty()) {
    out += fmt::format(" {:{}} = help: {}\n", "", number.size(), printable(diagnostic.hint));
  }
  return out;
}

std::string render_all(const Diagnostics& diagnostics, const Sources& sources, bool color) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) out += format_diagnostic(diagnostic, sources, color);
  out += left_out(diagnostics.error_count(), "error");
  out += left_out(diagnostics.warning_count(), "warning");
  return out + summary(diagnostics);
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.empty() || word.size() > kMaxWordToCompare) return {};
  std::size_t best = std::max<std::size_t>(1, (word.size() + 1) / 3) + 1;
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    const std::size_t longer = std::max(candidate.size(), word.size());
    const std::size_t shorter = std::min(candidate.size(), word.size());
    if (longer - shorter >= best) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::vector<std::string_view> near_words(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (const std::string_view found = nearest(word, candidates); !found.empty()) return {found};
  std::vector<std::string_view> longer;
  if (word.size() < kMinBeginning) return longer;
  const std::string beginning = to_lower(word);
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > word.size() && to_lower(candidate.substr(0, word.size())) == beginning)
      longer.push_back(candidate);
  }
  if (longer.size() > kMaxLonger) longer.clear();
  return longer;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::vector<std::string> names;
  for (const std::string_view name : near_words(word, candidates)) names.push_back(fmt::format("`{}`", name));
  return names.empty() ? std::string() : fmt::format("did you mean {}?", join(names, ", ", " or "));
}

}  // namespace weft
