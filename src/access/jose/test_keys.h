// For tests only: private keys that sign JSON Web Tokens in every way that a provider may, and in ways that only a
// forger would; and their public halves as members of a key set.
#pragma once

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/jose/key.h"
#include "base/base64.h"
#include "base/check.h"

namespace weft::access::test {

inline std::string bytes_of(const BIGNUM* number, std::size_t size) {
  std::vector<unsigned char> out(size);
  CHECK(::BN_bn2binpad(number, out.data(), static_cast<int>(size)) == static_cast<int>(size), "a number that fits");
  return {out.begin(), out.end()};
}

class SigningKey {
 public:
  static SigningKey rsa(std::size_t bits = 2048) {
    return SigningKey(KeyType::rsa, ::EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits));
  }
  static SigningKey ec(KeyType curve) {
    return SigningKey(curve, ::EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve == KeyType::p256 ? "P-256" : "P-384"));
  }

  // A member of a key set. `more`: further members, such as `"use": "sig"`.
  [[nodiscard]] std::string jwk(const std::string& id, const std::string& more = {}) const {
    const std::string end = fmt::format(R"("kid": "{}"{}{}}})", id, more.empty() ? "" : ", ", more);
    if (type_ == KeyType::rsa) {
      return fmt::format(R"({{"kty": "RSA", "n": "{}", "e": "{}", {})", number(OSSL_PKEY_PARAM_RSA_N),
                         number(OSSL_PKEY_PARAM_RSA_E), end);
    }
    const std::size_t size = coordinate_size();
    return fmt::format(R"({{"kty": "EC", "crv": "{}", "x": "{}", "y": "{}", {})", to_text(type_),
                       number(OSSL_PKEY_PARAM_EC_PUB_X, size), number(OSSL_PKEY_PARAM_EC_PUB_Y, size), end);
  }

  [[nodiscard]] PublicKey public_key() const {
    const auto bytes = [&](const char* name) { return decode_base64url(number(name, coordinate_size())).value(); };
    Result<PublicKey> key =
        type_ == KeyType::rsa
            ? PublicKey::from_rsa(decode_base64url(number(OSSL_PKEY_PARAM_RSA_N)).value(),
                                  decode_base64url(number(OSSL_PKEY_PARAM_RSA_E)).value())
            : PublicKey::from_point(type_, bytes(OSSL_PKEY_PARAM_EC_PUB_X), bytes(OSSL_PKEY_PARAM_EC_PUB_Y));
    return std::move(key).value();
  }

  // As in RFC 7518: numbers side by side for elliptic curves.
  [[nodiscard]] std::string sign(Algorithm algorithm, std::string_view input) const {
    const EVP_MD* digest = algorithm == Algorithm::rs384 || algorithm == Algorithm::es384 ? ::EVP_sha384()
                           : algorithm == Algorithm::rs512                                ? ::EVP_sha512()
                                                                                          : ::EVP_sha256();
    const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(), &::EVP_MD_CTX_free);
    EVP_PKEY_CTX* key_context = nullptr;
    CHECK(::EVP_DigestSignInit(context.get(), &key_context, digest, nullptr, key_.get()) == 1, "sign");
    if (algorithm == Algorithm::ps256) {
      CHECK(::EVP_PKEY_CTX_set_rsa_padding(key_context, RSA_PKCS1_PSS_PADDING) == 1 &&
                ::EVP_PKEY_CTX_set_rsa_pss_saltlen(key_context, RSA_PSS_SALTLEN_DIGEST) == 1,
            "PSS");
    }
    std::array<unsigned char, 1024> out{};
    std::size_t size = out.size();
    const auto* data = reinterpret_cast<const unsigned char*>(input.data());
    CHECK(::EVP_DigestSign(context.get(), out.data(), &size, data, input.size()) == 1, "sign");
    const std::string signature(out.data(), out.data() + size);
    return type_ == KeyType::rsa ? signature : side_by_side(signature);
  }

  [[nodiscard]] std::string public_pem() const {
    const std::unique_ptr<BIO, decltype(&::BIO_free)> out(::BIO_new(::BIO_s_mem()), &::BIO_free);
    CHECK(::PEM_write_bio_PUBKEY(out.get(), key_.get()) == 1, "PEM");
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  }

 private:
  SigningKey(KeyType type, EVP_PKEY* key) : type_(type), key_(key, &::EVP_PKEY_free) { CHECK(key != nullptr, "a key"); }

  [[nodiscard]] std::size_t coordinate_size() const { return type_ == KeyType::p384 ? 48 : 32; }

  [[nodiscard]] std::string number(const char* name, std::size_t size = 0) const {
    BIGNUM* value = nullptr;
    CHECK(::EVP_PKEY_get_bn_param(key_.get(), name, &value) == 1, "a number of the key");
    const std::string bytes = test::bytes_of(value, size != 0 ? size : static_cast<std::size_t>(BN_num_bytes(value)));
    ::BN_free(value);
    return encode_base64url(bytes);
  }

  [[nodiscard]] std::string side_by_side(const std::string& der) const {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    const std::unique_ptr<ECDSA_SIG, decltype(&::ECDSA_SIG_free)> both(
        ::d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), &::ECDSA_SIG_free);
    return test::bytes_of(::ECDSA_SIG_get0_r(both.get()), coordinate_size()) +
           test::bytes_of(::ECDSA_SIG_get0_s(both.get()), coordinate_size());
  }

  KeyType type_;
  std::shared_ptr<EVP_PKEY> key_;
};

// Generated once per process: an RSA key takes a while.
inline const SigningKey& rsa_key() {
  static const SigningKey key = SigningKey::rsa();
  return key;
}
inline const SigningKey& p256_key() {
  static const SigningKey key = SigningKey::ec(KeyType::p256);
  return key;
}

inline std::string key_set(std::initializer_list<std::string> keys) {
  std::string list;
  for (const std::string& key : keys) list += (list.empty() ? "" : ", ") + key;
  return fmt::format(R"({{"keys": [{}]}})", list);
}

// Header and claims as JSON; signed as `algorithm` says, whatever the header says.
inline std::string make_token(const SigningKey& key, Algorithm algorithm, std::string_view header,
                              std::string_view claims) {
  const std::string input = encode_base64url(header) + "." + encode_base64url(claims);
  return input + "." + encode_base64url(key.sign(algorithm, input));
}

// What a forger can make who has a public key only: HMAC with that key's text as the secret.
inline std::string make_hmac_token(std::string_view secret, std::string_view header, std::string_view claims) {
  const std::string input = encode_base64url(header) + "." + encode_base64url(claims);
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(input.data()), input.size(), out.data(), &size);
  return input + "." + encode_base64url({reinterpret_cast<const char*>(out.data()), size});
}

}  // namespace weft::access::test
