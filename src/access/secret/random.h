// Random bytes for tokens, session secrets and ids. Passed in, so that tests can repeat them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace weft::access {

using RandomFill = std::function<void(std::span<unsigned char> out)>;

// The generator of the system (libcrypto's RAND_bytes).
[[nodiscard]] RandomFill system_random();

// 32 random bytes as base64url without padding: 43 characters.
inline constexpr std::size_t kSecretCharacters = 43;
[[nodiscard]] std::string make_secret_text(const RandomFill& random);
// 12 characters of [a-z0-9], uniform: names something, and is not a secret.
inline constexpr std::size_t kIdCharacters = 12;
[[nodiscard]] std::string make_id(const RandomFill& random);

}  // namespace weft::access
