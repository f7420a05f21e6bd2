#include "render/switches/cli_section.h"

#include <algorithm>

#include "base/check.h"

namespace weft::render {
namespace {

bool is_printable_ascii(char c) { return c >= 0x20 && c < 0x7F; }

// The rejected text for messages: truncated and printable.
std::string shown(CliTokens tokens) {
  std::string out;
  for (const CliToken& token : tokens) {
    if (!out.empty()) out += ' ';
    for (const char c : token.text()) out += is_printable_ascii(c) ? c : '.';
  }
  constexpr std::size_t kLongest = 120;
  if (out.size() > kLongest) out = out.substr(0, kLongest) + "...";
  return out;
}

}  // namespace

CliToken CliToken::rest(std::string_view text, std::size_t longest) {
  std::string clean;
  for (const char c : text.substr(0, longest)) clean += is_printable_ascii(c) && c != '?' && c != '"' ? c : '.';
  const std::size_t first = clean.find_first_not_of(' ');
  clean = first == std::string::npos ? std::string() : clean.substr(first);
  clean.erase(clean.find_last_not_of(' ') + 1);
  CliToken token(clean.empty() ? std::string("-") : std::move(clean));
  token.rest_ = true;
  return token;
}

bool CliToken::valid() const {
  if (text_.empty()) return false;
  if (rest_) return true;
  if (text_.front() == '!' || text_.front() == '#') return false;
  return std::all_of(text_.begin(), text_.end(),
                     [](char c) { return is_printable_ascii(c) && c != ' ' && c != '?' && c != '"'; });
}

bool CliWriter::put(CliTokens tokens) {
  if (skip_ > 0) return false;
  CHECK(tokens.size() > 0, "empty line");
  if (!std::all_of(tokens.begin(), tokens.end(), [](const CliToken& token) { return token.valid(); })) {
    refused_.push_back(shown(tokens));
    return false;
  }
  after_comment_ = false;
  text_.append(depth_ * style_.indent, ' ');
  bool first = true;
  for (const CliToken& token : tokens) {
    if (!first) text_ += ' ';
    first = false;
    text_ += token.text();
  }
  text_ += '\n';
  return true;
}

void CliWriter::line(CliTokens tokens) { (void)put(tokens); }

CliWriter::Section CliWriter::section(CliTokens tokens) {
  if (depth_ == 0) {
    if (!after_comment_) separate();  // a comment belongs to what follows it
  } else {
    separate_nested();
  }
  if (!put(tokens)) ++skip_;
  ++depth_;
  return Section(*this);
}

void CliWriter::close() {
  CHECK(depth_ > 0, "section closed twice");
  --depth_;
  if (skip_ > 0) --skip_;
}

void CliWriter::separate() {
  if (skip_ > 0 || text_.empty()) return;
  const std::string line = std::string(style_.separator) + '\n';
  after_comment_ = false;
  if (text_.ends_with("\n" + line)) return;
  text_ += line;
}

void CliWriter::separate_nested() {
  if (style_.nested_separator.empty() || skip_ > 0) return;
  text_.append(depth_ * style_.indent, ' ');
  text_ += style_.nested_separator;
  text_ += '\n';
}

void CliWriter::comment(std::string_view text) {
  if (skip_ > 0) return;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    text_.append(depth_ * style_.indent, ' ');
    text_ += "! ";
    for (const char c : text.substr(at, end - at)) text_ += is_printable_ascii(c) ? c : '.';
    text_ += '\n';
    at = end + 1;
  }
  after_comment_ = true;
}

std::string cli_ranges(std::vector<std::uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(numbers[i]);
    if (last > i) out += '-' + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace weft::render
