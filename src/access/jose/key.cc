#include "access/jose/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/enum_names.h"
#include "lazy/crypto.h"

namespace weft::access {

// Owners of OpenSSL's objects. Named: a class with members of unnamed types has no linkage in a bundle of sources.
namespace openssl {

struct FreeNumber {
  void operator()(BIGNUM* number) const { BN_free(number); }
};
struct FreeBuilder {
  void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
};
struct FreeParameters {
  void operator()(OSSL_PARAM* parameters) const { OSSL_PARAM_free(parameters); }
};
struct FreeKeyContext {
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
struct FreeDigestContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace openssl

namespace {

using Number = std::unique_ptr<BIGNUM, openssl::FreeNumber>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, openssl::FreeBuilder>;
using Parameters = std::unique_ptr<OSSL_PARAM, openssl::FreeParameters>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, openssl::FreeKeyContext>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, openssl::FreeDigestContext>;

constexpr std::string_view kAlgorithmNames[] = {"RS256", "RS384", "RS512", "PS256", "ES256", "ES384"};
constexpr std::string_view kKeyTypeNames[] = {"RSA", "P-256", "P-384"};
constexpr std::size_t kMinModulusBits = 2048;
constexpr std::size_t kMaxModulusBits = 8192;  // a larger one only costs time
constexpr std::size_t kMaxExponentBytes = 4;
constexpr std::uint32_t kMinExponent = 65537;

Error refuse(std::string message) { return Error{ErrorCode::refused, std::move(message), {}}; }

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::size_t coordinate_size(KeyType curve) { return curve == KeyType::p384 ? 48 : 32; }

std::size_t count_bits(std::string_view number) {
  if (number.empty()) return 0;
  std::size_t bits = (number.size() - 1) * 8;
  for (unsigned first = static_cast<unsigned char>(number.front()); first != 0; first >>= 1U) ++bits;
  return bits;
}

bool is_odd(std::string_view number) {
  return !number.empty() && (static_cast<unsigned char>(number.back()) & 1U) != 0;
}

std::shared_ptr<evp_pkey_st> build_key(const char* type, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  return {key, [](EVP_PKEY* unused) { EVP_PKEY_free(unused); }};
}

const EVP_MD* digest_of(Algorithm algorithm) {
  if (algorithm == Algorithm::rs384 || algorithm == Algorithm::es384) return EVP_sha384();
  return algorithm == Algorithm::rs512 ? EVP_sha512() : EVP_sha256();
}

// INTEGER of DER, from a big-endian number of a fixed length.
std::string der_integer(std::string_view number) {
  number.remove_prefix(std::min(number.find_first_not_of('\0'), number.size()));
  std::string content(number);
  if (content.empty() || (static_cast<unsigned char>(content.front()) & 0x80U) != 0) content.insert(0, 1, '\0');
  return std::string("\x02") + static_cast<char>(content.size()) + content;
}

// RFC 7518, section 3.4 has the two numbers side by side, OpenSSL wants ECDSA-Sig-Value (RFC 3279, section 2.2.3).
std::string der_signature(std::string_view signature) {
  const std::string both =
      der_integer(signature.substr(0, signature.size() / 2)) + der_integer(signature.substr(signature.size() / 2));
  return std::string("\x30") + static_cast<char>(both.size()) + both;  // at most 102 bytes: one byte has the length
}

bool has_zero_half(std::string_view signature) {
  const auto is_zero = [](std::string_view number) { return number.find_first_not_of('\0') == std::string_view::npos; };
  return is_zero(signature.substr(0, signature.size() / 2)) || is_zero(signature.substr(signature.size() / 2));
}

// RFC 7518, section 3.5: the salt is as long as the digest.
bool set_pss(EVP_PKEY_CTX* context, const EVP_MD* digest) {
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

}  // namespace

std::string_view to_text(Algorithm algorithm) { return kAlgorithmNames[static_cast<std::size_t>(algorithm)]; }

std::optional<Algorithm> find_algorithm(std::string_view name) { return find_enum<Algorithm>(kAlgorithmNames, name); }

std::string_view to_text(KeyType type) { return kKeyTypeNames[static_cast<std::size_t>(type)]; }

KeyType key_type_of(Algorithm algorithm) {
  if (algorithm == Algorithm::es256) return KeyType::p256;
  return algorithm == Algorithm::es384 ? KeyType::p384 : KeyType::rsa;
}

Result<PublicKey> PublicKey::from_rsa(std::string_view modulus, std::string_view exponent) {
  const std::size_t bits = count_bits(modulus);
  if (modulus.starts_with('\0') || exponent.starts_with('\0')) return refuse("an RSA number begins with a zero byte");
  if (bits < kMinModulusBits || bits > kMaxModulusBits) {
    return refuse(
        fmt::format("an RSA modulus of {} bits; permitted are {} to {}", bits, kMinModulusBits, kMaxModulusBits));
  }
  if (!is_odd(modulus)) return refuse("an even RSA modulus");
  std::uint32_t value = 0;
  if (exponent.size() <= kMaxExponentBytes) {
    for (const char byte : exponent) value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  if (value < kMinExponent || !is_odd(exponent)) {
    return refuse(fmt::format("the RSA exponent must be odd, from {} to 2^32", kMinExponent));
  }
  const Number n(BN_bin2bn(bytes_of(modulus), static_cast<int>(modulus.size()), nullptr));
  const Number e(BN_bin2bn(bytes_of(exponent), static_cast<int>(exponent.size()), nullptr));
  const Builder builder(OSSL_PARAM_BLD_new());
  if (n == nullptr || e == nullptr || builder == nullptr ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return Error{ErrorCode::internal, "out of memory for a key", {}};
  }
  std::shared_ptr<evp_pkey_st> key = build_key("RSA", builder.get());
  if (key == nullptr) return refuse("not an RSA key");
  return PublicKey(KeyType::rsa, std::move(key));
}

Result<PublicKey> PublicKey::from_point(KeyType curve, std::string_view x, std::string_view y) {
  CHECK(curve != KeyType::rsa, "a curve");
  const std::size_t size = coordinate_size(curve);
  if (x.size() != size || y.size() != size) {
    return refuse(fmt::format("a coordinate of {} must have {} bytes", to_text(curve), size));
  }
  const std::string point = std::string("\x04").append(x).append(y);  // uncompressed (SEC 1, section 2.3.3)
  const Builder builder(OSSL_PARAM_BLD_new());
  if (builder == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, to_text(curve).data(), 5) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1) {
    return Error{ErrorCode::internal, "out of memory for a key", {}};
  }
  std::shared_ptr<evp_pkey_st> key = build_key("EC", builder.get());
  if (key == nullptr) return refuse(fmt::format("the point is not on {}", to_text(curve)));
  return PublicKey(curve, std::move(key));
}

Status PublicKey::verify(Algorithm algorithm, std::string_view input, std::string_view signature) const {
  if (key_type_of(algorithm) != type_) {
    return refuse(fmt::format("{} is not for a key of type {}", to_text(algorithm), to_text(type_)));
  }
  std::string der;
  if (type_ != KeyType::rsa) {
    if (signature.size() != 2 * coordinate_size(type_)) {
      return refuse(fmt::format("a signature of {} bytes; {} has {}", signature.size(), to_text(algorithm),
                                2 * coordinate_size(type_)));
    }
    if (has_zero_half(signature)) return refuse("the signature is zero");
    der = der_signature(signature);
    signature = der;
  }
  const EVP_MD* digest = digest_of(algorithm);
  const DigestContext context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* key_context = nullptr;
  if (context == nullptr || EVP_DigestVerifyInit(context.get(), &key_context, digest, nullptr, key_.get()) != 1 ||
      (algorithm == Algorithm::ps256 && !set_pss(key_context, digest))) {
    ERR_clear_error();
    return Error{ErrorCode::internal, "a signature cannot be verified", {}};
  }
  const int matches =
      EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(input), input.size());
  ERR_clear_error();
  if (matches != 1) return refuse("the signature does not match");
  return {};
}

}  // namespace weft::access
