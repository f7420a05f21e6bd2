#include "serve/gate/cookies.h"

#include <fmt/format.h>

#include "base/text.h"

namespace weft::serve {

std::string find_cookie(std::string_view header, std::string_view name) {
  std::string found;
  bool is_there = false;
  for (const std::string_view part : split(header, ';')) {
    const std::string_view pair = trim(part);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
    if (is_there) return {};
    is_there = true;
    found = pair.substr(equals + 1);
  }
  return found;
}

std::string set_cookie(std::string_view name, std::string_view value, SameSite same_site, std::int64_t max_age_s) {
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; Secure; SameSite={}", name, value, max_age_s,
                     same_site == SameSite::strict ? "Strict" : "Lax");
}

}  // namespace weft::serve
