// Public keys of JSON Web Signatures (RFC 7515) and the algorithms that verify with them (RFC 7518): RSA and elliptic
// curves, through OpenSSL. There are no symmetric algorithms and no `none`: a token can never name a way to be accepted
// that needs no private key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"

struct evp_pkey_st;  // EVP_PKEY of OpenSSL

namespace weft::access {

enum class Algorithm : std::uint8_t { rs256, rs384, rs512, ps256, es256, es384 };
inline constexpr Algorithm kAlgorithms[] = {Algorithm::rs256, Algorithm::rs384, Algorithm::rs512,
                                            Algorithm::ps256, Algorithm::es256, Algorithm::es384};
[[nodiscard]] std::string_view to_text(Algorithm algorithm);  // "RS256"
// Exactly as registered: `rs256` is not an algorithm.
[[nodiscard]] std::optional<Algorithm> find_algorithm(std::string_view name);

enum class KeyType : std::uint8_t { rsa, p256, p384 };
[[nodiscard]] std::string_view to_text(KeyType type);  // "RSA", "P-256"
// The only type of key that an algorithm may be used with.
[[nodiscard]] KeyType key_type_of(Algorithm algorithm);

// Can be copied, and used by many threads at a time.
class PublicKey {
 public:
  // Numbers are big-endian without leading zero bytes. The modulus has 2048 to 8192 bits; the exponent is odd, from
  // 65537 to 2^32.
  [[nodiscard]] static Result<PublicKey> from_rsa(std::string_view modulus, std::string_view exponent);
  // Coordinates have the curve's full length; the point must be on the curve.
  [[nodiscard]] static Result<PublicKey> from_point(KeyType curve, std::string_view x, std::string_view y);

  [[nodiscard]] KeyType type() const { return type_; }
  // `refused` if the signature is not one of `input` by this key, or the algorithm is not for a key of this type.
  [[nodiscard]] Status verify(Algorithm algorithm, std::string_view input, std::string_view signature) const;

 private:
  PublicKey(KeyType type, std::shared_ptr<evp_pkey_st> key) : type_(type), key_(std::move(key)) {}

  KeyType type_;
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace weft::access
