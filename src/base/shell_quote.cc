#include "base/shell_quote.h"

#include <algorithm>

#include "base/text.h"

namespace weft {
namespace {

bool is_safe_in_shell(char c) { return is_letter_or_digit(c) || contains("-_./:,+@%=", {&c, 1}); }

}  // namespace

std::string shell_quote(std::string_view text) {
  const bool bare = !text.empty() && text.front() != '=' && std::all_of(text.begin(), text.end(), is_safe_in_shell);
  return bare ? std::string(text) : shell_quote_always(text);
}

std::string shell_quote_always(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c != '\0') {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace weft
