#include "oob/rescue/runbook_pattern.h"

#include <fmt/format.h>
#include <regex.h>

#include <array>
#include <cctype>

namespace weft::oob {
namespace {

constexpr std::size_t kLongestPattern = 256;
constexpr std::size_t kLongestLine = 4096;  // longer terminal lines are not useful
// Bounded repetitions are unrolled when a pattern is compiled; nested ones multiply.
constexpr std::size_t kMaxRepeats = 256;

// Multiplies the numbers of {n,m}; back-references and control bytes are rejected.
Status check_bounds(std::string_view pattern) {
  if (pattern.empty()) return Error{ErrorCode::invalid_input, "an empty pattern matches everything", {}};
  if (pattern.size() > kLongestPattern)
    return Error{ErrorCode::invalid_input, fmt::format("a pattern has at most {} bytes", kLongestPattern), {}};
  std::size_t product = 1;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t')
      return Error{ErrorCode::invalid_input, "a pattern is one line without control characters", {}};
    if (c == '\\' && i + 1 < pattern.size()) {
      if (std::isdigit(static_cast<unsigned char>(pattern[i + 1])) != 0)
        return Error{ErrorCode::invalid_input, "back-references are not allowed in a pattern", {}};
      ++i;
      continue;
    }
    if (c != '{') continue;
    std::size_t largest = 1;
    std::size_t number = 0;
    for (std::size_t j = i + 1; j < pattern.size() && pattern[j] != '}'; ++j) {
      number = std::isdigit(static_cast<unsigned char>(pattern[j])) != 0
                   ? number * 10 + static_cast<std::size_t>(pattern[j] - '0')
                   : 0;
      if (number > kMaxRepeats) break;
      largest = number > largest ? number : largest;
    }
    product *= number > kMaxRepeats ? kMaxRepeats + 1 : largest;
    if (product > kMaxRepeats)
      return Error{ErrorCode::invalid_input,
                   fmt::format("a pattern repeats at most {} times, nested counts multiplied", kMaxRepeats),
                   {}};
  }
  return {};
}

}  // namespace

struct RunbookPattern::Compiled {
  regex_t regex{};
  bool made = false;
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (made) regfree(&regex);
  }
};

RunbookPattern::RunbookPattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
RunbookPattern::RunbookPattern(RunbookPattern&&) noexcept = default;
RunbookPattern& RunbookPattern::operator=(RunbookPattern&&) noexcept = default;
RunbookPattern::~RunbookPattern() = default;

Result<RunbookPattern> RunbookPattern::make(std::string_view pattern) {
  if (const Status bounds = check_bounds(pattern); !bounds.ok()) return bounds.error();
  auto compiled = std::make_unique<Compiled>();
  const int code = regcomp(&compiled->regex, std::string(pattern).c_str(), REG_EXTENDED | REG_NOSUB);
  if (code != 0) {
    std::array<char, 128> text{};
    (void)regerror(code, &compiled->regex, text.data(), text.size());
    return Error{ErrorCode::invalid_input, fmt::format("not a pattern: {}", text.data()), {}};
  }
  compiled->made = true;
  return RunbookPattern(std::move(compiled));
}

bool RunbookPattern::matches(const std::string& line) const {
  return regexec(&compiled_->regex, line.c_str(), 0, nullptr, 0) == 0;
}

std::size_t RunbookPattern::count(std::string_view text) const {
  std::size_t found = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string line(text.substr(0, end == std::string_view::npos ? text.size() : end).substr(0, kLongestLine));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    // A zero byte would end the line for regexec.
    std::erase_if(line, [](char c) { return c == '\r' || c == '\0'; });
    if (matches(line)) ++found;
  }
  return found;
}

std::string RunbookPattern::quote(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (std::string_view(".[]{}()*+?^$|\\").find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace weft::oob
