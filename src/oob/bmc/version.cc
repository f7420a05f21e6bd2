#include "oob/bmc/version.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "base/text.h"

namespace weft::oob {
namespace {

using Order = std::optional<std::strong_ordering>;

constexpr std::size_t kMaxVersion = 128;  // bytes of a version; longer text is not a version
// A number this much longer than the other at the same position is a date or a build, not a version.
constexpr std::size_t kOtherKindDigits = 4;
constexpr std::size_t kDateDigits = 8;  // 20240301

struct VersionPart {
  bool number = false;
  bool upper = false;   // its letters are A to F in upper case: may be hexadecimal
  bool joined = false;  // directly after the part before it
  std::string text;     // digits without leading zeros, or letters in lower case
};

bool has_digit(std::string_view text) { return std::any_of(text.begin(), text.end(), is_digit); }

bool is_hex(char c) { return is_digit(c) || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'); }

// "v2.62", "V1.0"
bool is_marked(std::string_view word) { return word.size() > 1 && to_lower(word.front()) == 'v' && is_digit(word[1]); }

// What is before the version, the version, and what is after it: "U49", "v2.62", "(03/09/2023)".
struct Split {
  std::string product;
  std::string version;
  std::string remark;
};

Split split_version(std::string_view text) {
  Split out;
  const std::vector<std::string_view> words = split_at_spaces(text);
  std::size_t at = 0;
  const auto marked = std::find_if(words.begin(), words.end(), is_marked);
  if (marked != words.end()) {
    at = static_cast<std::size_t>(marked - words.begin());
  } else {
    while (at < words.size() && !has_digit(words[at])) ++at;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string& part = i < at ? out.product : i == at ? out.version : out.remark;
    if (!part.empty()) part += ' ';
    part += to_lower(i == at ? std::string_view() : words[i]);
    if (i == at) part += words[i];
  }
  return out;
}

std::vector<VersionPart> parts_of(std::string_view text) {
  std::vector<VersionPart> parts;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i]) && !is_letter(text[i])) {
      ++i;
      continue;
    }
    VersionPart part;
    part.number = is_digit(text[i]);
    part.joined = i > 0 && (is_digit(text[i - 1]) || is_letter(text[i - 1]));
    part.upper = !part.number;
    for (; i < text.size() && (part.number ? is_digit(text[i]) : is_letter(text[i])); ++i) {
      part.upper = part.upper && text[i] >= 'A' && text[i] <= 'F';
      part.text += to_lower(text[i]);
    }
    if (part.number) part.text.erase(0, std::min(part.text.find_first_not_of('0'), part.text.size() - 1));
    parts.push_back(std::move(part));
  }
  return parts;
}

// Takes the words before the first number, without those that only say "version".
std::string take_name(std::vector<VersionPart>& parts) {
  constexpr std::array<std::string_view, 6> kMarks = {"v", "ver", "version", "r", "rev", "release"};
  const auto first = std::find_if(parts.begin(), parts.end(), [](const VersionPart& part) { return part.number; });
  std::string name;
  for (auto part = parts.begin(); part != first; ++part) {
    if (std::find(kMarks.begin(), kMarks.end(), part->text) == kMarks.end()) name += part->text + " ";
  }
  parts.erase(parts.begin(), first);
  return name;
}

std::strong_ordering compare_numbers(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

// How a version compares with the same version followed by `rest`.
Order against_longer(const VersionPart& rest) {
  constexpr std::array<std::string_view, 6> kBefore = {"rc", "alpha", "beta", "pre", "dev", "preview"};
  if (rest.number) return std::strong_ordering::less;
  if (std::find(kBefore.begin(), kBefore.end(), rest.text) != kBefore.end()) return std::strong_ordering::greater;
  if (rest.text.size() == 1) return std::strong_ordering::less;  // "1.0a" is a fix of "1.0"
  return std::nullopt;
}

Order reversed(const Order& order) {
  if (!order) return std::nullopt;
  return 0 <=> *order;
}

// "1C" against "2": decimal with a letter, or hexadecimal.
bool is_ambiguous(const std::vector<VersionPart>& parts, std::size_t i) {
  return i + 1 < parts.size() && parts[i + 1].upper && parts[i + 1].joined && parts[i].number;
}

Order compare_parts(const std::vector<VersionPart>& left, const std::vector<VersionPart>& right) {
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i].number != right[i].number) {
      // "1.0-rc1" against "1.0.1": the word is compared as at the end.
      const VersionPart& word = left[i].number ? right[i] : left[i];
      const Order order = against_longer(word);
      if (!order || *order == std::strong_ordering::less) return std::nullopt;
      return left[i].number ? std::strong_ordering::greater : std::strong_ordering::less;
    }
    const std::strong_ordering order =
        left[i].number ? compare_numbers(left[i].text, right[i].text) : left[i].text.compare(right[i].text) <=> 0;
    if (order == 0) continue;
    if (left[i].number && (is_ambiguous(left, i) || is_ambiguous(right, i))) return std::nullopt;
    return order;
  }
  if (left.size() == right.size()) return std::strong_ordering::equal;
  if (left.size() < right.size()) return against_longer(right[left.size()]);
  return reversed(against_longer(left[right.size()]));
}

// Fields of two hexadecimal digits, at least three, with a letter somewhere: "97.00.6C.00.03". Fields of a fixed width
// have the order of their text.
bool is_hex_fields(std::string_view text) {
  if (text.size() < 8 || text.size() % 3 != 2) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 3 == 2 ? text[i] != '.' : !is_hex(text[i])) return false;
  }
  return true;
}

// "0x00 0x0b 0x03 0x04"
std::optional<std::vector<unsigned long>> hex_bytes(std::string_view text) {
  std::vector<unsigned long> numbers;
  for (const std::string_view word : split_at_spaces(text)) {
    if (!word.starts_with("0x") || word.size() < 3 || word.size() > 10) return std::nullopt;
    unsigned long number = 0;
    const std::from_chars_result read = std::from_chars(word.data() + 2, word.data() + word.size(), number, 16);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size()) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers.empty() ? std::nullopt : std::optional(std::move(numbers));
}

// An identifier, not a version: letters and digits without a separator, or one number as long as a date that is none.
bool is_identifier(std::string_view version) {
  const bool plain = std::all_of(version.begin(), version.end(), [](char c) { return is_digit(c) || is_letter(c); });
  if (!plain) return false;
  const bool digits = std::all_of(version.begin(), version.end(), is_digit);
  if (digits) return version.size() == kDateDigits && !version.starts_with("19") && !version.starts_with("20");
  return !is_digit(version.front()) && !is_marked(version);
}

Order compare_remarks(const std::string& a, const std::string& b) {
  if (a == b || a.empty() || b.empty()) return std::strong_ordering::equal;
  constexpr std::string_view kBuild = "build ";
  if (!a.starts_with(kBuild) || !b.starts_with(kBuild)) return std::nullopt;
  const std::vector<VersionPart> left = parts_of(std::string_view(a).substr(kBuild.size()));
  const std::vector<VersionPart> right = parts_of(std::string_view(b).substr(kBuild.size()));
  return compare_parts(left, right);
}

Order compare_splits(const Split& a, const Split& b) {
  if (!a.product.empty() && !b.product.empty() && a.product != b.product) return std::nullopt;
  if (is_identifier(a.version) || is_identifier(b.version)) return std::nullopt;
  const std::string one = to_lower(a.version);
  const std::string other = to_lower(b.version);
  if (is_hex_fields(one) && is_hex_fields(other) && one.size() == other.size()) {
    if (const int order = one.compare(other); order != 0) return order <=> 0;
    return compare_remarks(a.remark, b.remark);
  }
  std::vector<VersionPart> left = parts_of(a.version);
  std::vector<VersionPart> right = parts_of(b.version);
  const std::string name = take_name(left);
  const std::string other_name = take_name(right);
  if (left.empty() || right.empty()) return std::nullopt;
  if (!name.empty() && !other_name.empty() && name != other_name) return std::nullopt;
  const std::size_t longer = std::max(left[0].text.size(), right[0].text.size());
  if (longer - std::min(left[0].text.size(), right[0].text.size()) >= kOtherKindDigits) return std::nullopt;
  const Order order = compare_parts(left, right);
  return order && *order == 0 ? compare_remarks(a.remark, b.remark) : order;
}

}  // namespace

std::optional<std::strong_ordering> compare_versions(std::string_view a, std::string_view b) {
  a = trim(a);
  b = trim(b);
  if (a.empty() || b.empty() || a.size() > kMaxVersion || b.size() > kMaxVersion) return std::nullopt;
  if (a == b) return std::strong_ordering::equal;
  const auto left = hex_bytes(a);
  const auto right = hex_bytes(b);
  if (left || right) {
    if (!left || !right || left->size() != right->size()) return std::nullopt;
    return *left <=> *right;
  }
  return compare_splits(split_version(a), split_version(b));
}

}  // namespace weft::oob
