// Why a BMC did not do what was asked, in a few words for tables: causes that need different remedies are kept apart.
// An error with one of these causes has a message that begins with it; the message has the details.
#pragma once

#include <string_view>

#include "base/result.h"

namespace weft::oob {

inline constexpr std::string_view kNotTrusted = "certificate not trusted";
inline constexpr std::string_view kCertificateChanged = "certificate changed";
inline constexpr std::string_view kLoginRefused = "user or password refused";
inline constexpr std::string_view kPasswordExpired = "the password must be changed";
inline constexpr std::string_view kNoSession = "no session, and HTTP Basic is not allowed";
inline constexpr std::string_view kSessionLimit = "session limit reached";
inline constexpr std::string_view kNoCipherSuite = "cipher suite not offered";
inline constexpr std::string_view kOldTls = "supports only TLS older than 1.2";
inline constexpr std::string_view kNoTls = "does not use TLS";
inline constexpr std::string_view kRedirected = "redirects to another host or path";

// One of the above, else what the code says: "no answer", "timed out", "refused", ...
[[nodiscard]] std::string_view cause_text(const Error& error);
// Whether other credentials may help.
[[nodiscard]] bool is_about_credentials(const Error& error);

}  // namespace weft::oob
