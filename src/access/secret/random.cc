#include "access/secret/random.h"

#include <array>
#include <string_view>

#include "base/check.h"
#include "lazy/crypto.h"

namespace weft::access {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::string_view kIdAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

}  // namespace

RandomFill system_random() {
  return [](std::span<unsigned char> out) {
    CHECK(RAND_bytes(out.data(), static_cast<int>(out.size())) == 1, "the system has no random numbers");
  };
}

std::string make_secret_text(const RandomFill& random) {
  std::array<unsigned char, kSecretBytes> bytes{};
  random(bytes);
  std::array<unsigned char, 4 * ((kSecretBytes + 2) / 3) + 1> text{};
  EVP_EncodeBlock(text.data(), bytes.data(), static_cast<int>(bytes.size()));
  OPENSSL_cleanse(bytes.data(), bytes.size());
  std::string out;
  out.reserve(kSecretCharacters);
  for (std::size_t i = 0; i < kSecretCharacters; ++i) {
    const char c = static_cast<char>(text[i]);
    out += c == '+' ? '-' : c == '/' ? '_' : c;
  }
  OPENSSL_cleanse(text.data(), text.size());
  return out;
}

std::string make_id(const RandomFill& random) {
  constexpr unsigned kLimit = 256U - 256U % kIdAlphabet.size();
  std::string id;
  while (id.size() < kIdCharacters) {
    std::array<unsigned char, kIdCharacters> bytes{};
    random(bytes);
    for (const unsigned char byte : bytes) {
      // Bytes that would favor the first letters are dropped.
      if (byte < kLimit && id.size() < kIdCharacters) id += kIdAlphabet[byte % kIdAlphabet.size()];
    }
  }
  return id;
}

}  // namespace weft::access
