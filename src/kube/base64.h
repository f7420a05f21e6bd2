// Base64 (RFC 4648, section 4) as in kubeconfig files: line breaks are allowed, everything else is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::kube {

[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);
[[nodiscard]] std::string encode_base64(std::string_view bytes);

}  // namespace weft::kube
