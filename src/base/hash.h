// SHA-256 (FIPS 180-4), computed by libcrypto.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace weft
