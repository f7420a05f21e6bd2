#include "base/host_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace weft {
namespace {

constexpr std::size_t kMaxDigits = 18;  // fits an int64
constexpr std::size_t kMaxName = 255;   // bytes per host name; bounds the memory of a list of a million names

Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

std::string padded(std::int64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

bool has_padding(std::string_view digits) { return digits.size() > 1 && digits.front() == '0'; }

std::optional<std::int64_t> scan_number(std::string_view digits) {
  if (digits.empty() || digits.size() > kMaxDigits) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : digits) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// ---- expanding ----

struct Span {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t width = 0;  // zero padding; 0 for none

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(last - first) + 1; }
};

// Literal text, then an optional bracket of spans.
struct Part {
  std::string_view literal;
  std::vector<Span> spans;
};

Result<Span> parse_span(std::string_view text) {
  const std::string shown = in_backticks(fmt::format("[{}]", text));
  const std::size_t dash = text.find('-');
  const std::string_view left = text.substr(0, dash);
  const std::string_view right = dash == std::string_view::npos ? left : text.substr(dash + 1);
  const std::optional<std::int64_t> first = scan_number(left);
  const std::optional<std::int64_t> last = scan_number(right);
  if (!first || !last) return invalid(fmt::format("{} is not a range: expected one such as [001-128]", shown));
  const bool unequal =
      (has_padding(left) && right.size() < left.size()) || (has_padding(right) && right.size() != left.size());
  if (unequal) return invalid(fmt::format("the bounds of {} are padded differently", shown));
  if (*first > *last) return invalid(fmt::format("{} counts down: write [{}-{}]", shown, right, left));
  return Span{*first, *last, has_padding(left) ? left.size() : 0};
}

Result<std::vector<Span>> parse_bracket(std::string_view text) {
  std::vector<Span> spans;
  while (true) {
    const std::size_t comma = text.find(',');
    const Result<Span> span = parse_span(trim(text.substr(0, comma), kTabsAndSpaces));
    if (!span.ok()) return span.error();
    spans.push_back(*span);
    if (comma == std::string_view::npos) return spans;
    text.remove_prefix(comma + 1);
  }
}

// Spaces are allowed only around an item, control characters nowhere.
bool is_name_text(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F || c == ']') return false;
  }
  return true;
}

Result<std::vector<Part>> parse_item(std::string_view item) {
  const std::string shown = in_backticks(item);
  std::vector<Part> parts;
  std::string_view rest = item;
  while (!rest.empty()) {
    const std::size_t open = rest.find('[');
    Part part{rest.substr(0, open), {}};
    if (!is_name_text(part.literal)) return invalid(fmt::format("{} is not a host name or range", shown));
    if (open == std::string_view::npos) {
      parts.push_back(std::move(part));
      return parts;
    }
    const std::size_t close = rest.find_first_of("[]", open + 1);
    if (close == std::string_view::npos) return invalid(fmt::format("{} has `[` without `]`", shown));
    if (rest[close] == '[') return invalid(fmt::format("{} has `[` inside `[`", shown));
    Result<std::vector<Span>> spans = parse_bracket(rest.substr(open + 1, close - open - 1));
    if (!spans.ok()) return spans.error();
    part.spans = std::move(*spans);
    parts.push_back(std::move(part));
    rest.remove_prefix(close + 1);
  }
  return parts;
}

// The number of names, or nullopt if it exceeds kMaxHosts.
std::optional<std::size_t> count_names(const std::vector<Part>& parts) {
  std::size_t total = 1;
  for (const Part& part : parts) {
    if (part.spans.empty()) continue;
    std::size_t choices = 0;
    for (const Span& span : part.spans) {
      if (span.size() > kMaxHosts) return std::nullopt;
      choices += span.size();
      if (choices > kMaxHosts) return std::nullopt;
    }
    total *= choices;  // both at most 10^6
    if (total > kMaxHosts) return std::nullopt;
  }
  return total;
}

std::size_t longest_name(const std::vector<Part>& parts) {
  std::size_t length = 0;
  for (const Part& part : parts) {
    std::size_t digits = 0;
    for (const Span& span : part.spans) digits = std::max(digits, padded(span.last, span.width).size());
    length += part.literal.size() + digits;
  }
  return length;
}

// The leftmost bracket varies slowest.
std::vector<std::string> names_of(const std::vector<Part>& parts) {
  std::vector<std::string> names = {""};
  for (const Part& part : parts) {
    if (part.spans.empty()) {
      for (std::string& name : names) name += part.literal;
      continue;
    }
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      const std::string start = name + std::string(part.literal);
      for (const Span& span : part.spans) {
        for (std::int64_t n = span.first; n <= span.last; ++n) longer.push_back(start + padded(n, span.width));
      }
    }
    names = std::move(longer);
  }
  return names;
}

Status append_item(std::vector<std::string>& hosts, std::string_view item) {
  if (item.empty()) return invalid("an empty name in the host list");
  const Result<std::vector<Part>> parts = parse_item(item);
  if (!parts.ok()) return parts.error();
  const std::optional<std::size_t> count = count_names(*parts);
  if (!count || hosts.size() + *count > kMaxHosts) {
    return invalid(fmt::format("the host list is longer than {} hosts at {}", kMaxHosts, in_backticks(item)));
  }
  if (longest_name(*parts) > kMaxName) {
    return invalid(fmt::format("{} is longer than a host name can be ({} bytes)", in_backticks(item), kMaxName));
  }
  for (std::string& name : names_of(*parts)) hosts.push_back(std::move(name));
  return {};
}

// The end of the item that starts `text`: the first comma outside brackets.
std::size_t item_end(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.size();
}

// ---- folding ----

struct Run {
  std::string_view first;  // digits
  std::string_view last;
  std::int64_t last_value = 0;
};

// Names that differ only in their last number. Runs with zero padding grow at equal width, those without at any.
class Group {
 public:
  void add(std::string_view digits, std::int64_t value) {
    std::size_t* found = open_run(digits, value);
    if (found != nullptr) {
      runs_[*found].last = digits;
      runs_[*found].last_value = value;
      return;
    }
    const std::size_t width = has_padding(digits) ? digits.size() : 0;
    open_[width] = runs_.size();
    runs_.push_back({digits, digits, value});
  }

  [[nodiscard]] std::string text(std::string_view prefix, std::string_view suffix) const {
    std::string inside;
    for (const Run& run : runs_) {
      if (!inside.empty()) inside += ',';
      inside += run.first;
      if (run.first != run.last) inside.append("-").append(run.last);
    }
    const bool one = runs_.size() == 1 && runs_[0].first == runs_[0].last;
    return one ? fmt::format("{}{}{}", prefix, inside, suffix) : fmt::format("{}[{}]{}", prefix, inside, suffix);
  }

 private:
  // The run that this number continues. One without leading zeros may continue a padded run of its width (099, 100).
  std::size_t* open_run(std::string_view digits, std::int64_t value) {
    for (const std::size_t width : {digits.size(), std::size_t{0}}) {
      const auto found = open_.find(width);
      if (found == open_.end() || runs_[found->second].last_value + 1 != value) continue;
      if (width != 0 || !has_padding(digits)) return &found->second;
    }
    return nullptr;
  }

  std::vector<Run> runs_;
  std::map<std::size_t, std::size_t> open_;  // padding width (0 for none) to the run that may still grow
};

struct SplitName {
  std::string_view prefix, digits, suffix;
};

SplitName split_at_last_number(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t start = end;
  while (start > 0 && is_digit(name[start - 1])) --start;
  return {name.substr(0, start), name.substr(start, end - start), name.substr(end)};
}

std::size_t digits_end(std::string_view text, std::size_t i) {
  while (i < text.size() && is_digit(text[i])) ++i;
  return i;
}

// Negative, zero or positive, by value; leading zeros are ignored.
int compare_numbers(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view text) {
  std::vector<std::string> hosts;
  if (trim(text, kTabsAndSpaces).empty()) return invalid("the host list is empty");
  while (true) {
    const std::size_t end = item_end(text);
    const Status status = append_item(hosts, trim(text.substr(0, end), kTabsAndSpaces));
    if (!status.ok()) return status.error();
    if (end == text.size()) return hosts;
    text.remove_prefix(end + 1);
  }
}

std::string fold_hosts(std::vector<std::string> hosts) {
  std::sort(hosts.begin(), hosts.end(), natural_less);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());

  std::map<std::pair<std::string_view, std::string_view>, std::size_t> index;
  std::vector<std::pair<SplitName, Group>> groups;  // in the order of their first names
  for (const std::string& host : hosts) {
    const SplitName name = split_at_last_number(host);
    const std::optional<std::int64_t> value = scan_number(name.digits);
    if (!value) {  // no number, or one too long to count with: kept separate
      groups.push_back({{host, {}, {}}, Group()});
      continue;
    }
    const auto [found, inserted] = index.emplace(std::pair{name.prefix, name.suffix}, groups.size());
    if (inserted) groups.push_back({name, Group()});
    groups[found->second].second.add(name.digits, *value);
  }
  std::string text;
  for (const auto& [name, group] : groups) {
    if (!text.empty()) text += ',';
    text += name.digits.empty() ? std::string(name.prefix) : group.text(name.prefix, name.suffix);
  }
  return text;
}

std::string as_shell_words(std::string_view folded) {
  std::string out;
  for (std::size_t at = 0; at < folded.size(); ++at) {
    if (folded[at] == ',') out += ' ';
    if (folded[at] != '[') {
      if (folded[at] != ',') out += folded[at];
      continue;
    }
    const std::size_t end = std::min(folded.find(']', at), folded.size());
    const std::vector<std::string_view> parts = split(folded.substr(at + 1, end - at - 1), ',');
    std::string ranges;
    for (const std::string_view part : parts) {
      const std::size_t dash = part.find('-');
      if (!ranges.empty()) ranges += ',';
      ranges += dash == std::string_view::npos ? std::string(part)
                                               : fmt::format("{{{}..{}}}", part.substr(0, dash), part.substr(dash + 1));
    }
    out += parts.size() > 1 ? fmt::format("{{{}}}", ranges) : ranges;
    at = end;
  }
  return out;
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::size_t a_end = digits_end(a, i);
      const std::size_t b_end = digits_end(b, j);
      const int order = compare_numbers(a.substr(i, a_end - i), b.substr(j, b_end - j));
      if (order != 0) return order < 0;
      i = a_end;
      j = b_end;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // differ in leading zeros only
}

}  // namespace weft
