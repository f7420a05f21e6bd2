// Base64 (RFC 4648). Standard (section 4), as in kubeconfig files and PEM: padded, line breaks are allowed, everything
// else is refused. URL-safe (section 5), as in JSON Web Tokens: not padded, and exactly one text per byte string.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);
[[nodiscard]] std::string encode_base64(std::string_view bytes);

// Refuses padding, line breaks, and unused bits that are not zero.
[[nodiscard]] std::optional<std::string> decode_base64url(std::string_view text);
[[nodiscard]] std::string encode_base64url(std::string_view bytes);

}  // namespace weft
