// Cookies of browser sessions (RFC 6265): reading one from the header Cookie, and the header that sets or removes one.
// The names have the prefix __Host-, so that browsers accept them only over TLS, for this host and for every path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::serve {

inline constexpr std::string_view kSessionCookie = "__Host-weft";
inline constexpr std::string_view kLoginCookie = "__Host-weft-login";

enum class SameSite : std::uint8_t { strict, lax };

// "" if it is not there, or is there twice.
[[nodiscard]] std::string find_cookie(std::string_view header, std::string_view name);
// HttpOnly and Secure. `max_age_s`: 0 removes the cookie.
[[nodiscard]] std::string set_cookie(std::string_view name, std::string_view value, SameSite same_site,
                                     std::int64_t max_age_s);

}  // namespace weft::serve
