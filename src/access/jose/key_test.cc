#include "access/jose/key.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>

#include "access/jose/test_keys.h"
#include "base/base64.h"

namespace weft::access {
namespace {

std::string bytes(std::string_view text) { return decode_base64url(text).value(); }

// The key, header, payload and signature of RFC 7515, appendix A.2.
constexpr std::string_view kModulusA2 =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-"
    "pCgNM"
    "sD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-"
    "UTo7WTBEMa2R2CapHg665xsmt"
    "dVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
constexpr std::string_view kPayload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
constexpr std::string_view kSignatureA2 =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
    "O8W2Fp5jujGbds9uJdbF9CUAr7t1dn"
    "ZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--"
    "xi12jzDwusC"
    "-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

TEST(JoseKey, VectorOfRfc7515WithRsa) {
  const Result<PublicKey> key = PublicKey::from_rsa(bytes(kModulusA2), bytes("AQAB"));
  ASSERT_TRUE(key.ok()) << key.error().text();
  const std::string input = "eyJhbGciOiJSUzI1NiJ9." + std::string(kPayload);
  EXPECT_TRUE(key->verify(Algorithm::rs256, input, bytes(kSignatureA2)).ok());
  EXPECT_FALSE(key->verify(Algorithm::rs256, input + "x", bytes(kSignatureA2)).ok());
  EXPECT_FALSE(key->verify(Algorithm::rs384, input, bytes(kSignatureA2)).ok());
  EXPECT_FALSE(key->verify(Algorithm::ps256, input, bytes(kSignatureA2)).ok());
}

// RFC 7515, appendix A.3.
TEST(JoseKey, VectorOfRfc7515WithEllipticCurve) {
  const Result<PublicKey> key =
      PublicKey::from_point(KeyType::p256, bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                            bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"));
  ASSERT_TRUE(key.ok()) << key.error().text();
  const std::string input = "eyJhbGciOiJFUzI1NiJ9." + std::string(kPayload);
  const std::string signature =
      bytes("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
  EXPECT_TRUE(key->verify(Algorithm::es256, input, signature).ok());
  EXPECT_FALSE(key->verify(Algorithm::es256, input + "x", signature).ok());
  EXPECT_EQ(key->verify(Algorithm::es256, input, signature.substr(1)).error().message,
            "a signature of 63 bytes; ES256 has 64");
  EXPECT_FALSE(key->verify(Algorithm::es256, input, signature + '\0').ok());
  EXPECT_EQ(key->verify(Algorithm::es256, input, std::string(64, '\0')).error().message, "the signature is zero");
}

// RFC 7520, section 4.1.
TEST(JoseKey, VectorOfRfc7520) {
  const Result<PublicKey> key = PublicKey::from_rsa(bytes("n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-"
                                                          "XV2jRojdNhxJWTDvNd7nqQ0VEiZQHz_AJmSCpMaJMRBSFKrKb2wq"
                                                          "VwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-"
                                                          "oBHqFEHYpPe7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5lFHpPI9bTwJ"
                                                          "lsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3L_"
                                                          "vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__kRhuaxwUkRz5iai"
                                                          "Qkqgc5gHdrNP5zw"),
                                                    bytes("AQAB"));
  ASSERT_TRUE(key.ok()) << key.error().text();
  EXPECT_TRUE(
      key->verify(
             Algorithm::rs256,
             "eyJhbGciOiJSUzI1NiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9."
             "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZX"
             "NzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHl"
             "vdXI"
             "gZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4",
             bytes(
                 "MRjdkly7_-oTPTS3AXP41iQIGKa80A0ZmTuV5MEaHoxnW2e5CZ5NlKtainoFmKZopdHM1O2U4mwzJdQx996ivp83xuglII7PNDi84"
                 "wnB-BDkoBwA78185hX-Es4JIwmDLJK3lfWRa-XtL0RnltuYv746iYTh_"
                 "qHRD68BNt1uSNCrUCTJDt5aAE6x8wW1Kt9eRo4QPocSadn"
                 "HXFxnt8Is9UzpERV0ePPQdLuW3IS_de3xyIrDaLGdjluPxUAhb6L2aXic1U12podGU0KLUQSE_oI-ZnmKJ3F4uOZDnd6QZWJushZ4"
                 "1Axf_fcIe8u9ipH84ogoree7vjbU5y18kDquDg"))
          .ok());
}

TEST(JoseKey, NumbersOfRsaHaveLimits) {
  const std::string modulus = bytes(kModulusA2);
  const std::string exponent("\x01\x00\x01", 3);
  EXPECT_TRUE(PublicKey::from_rsa(modulus, exponent).ok());
  EXPECT_TRUE(PublicKey::from_rsa(modulus, "\xFF\xFF\xFF\xFF").ok());
  // 1024 bits, 2047 bits, 8200 bits, a leading zero, even, none.
  EXPECT_EQ(PublicKey::from_rsa(modulus.substr(0, 127) + "\x01", exponent).error().message,
            "an RSA modulus of 1024 bits; permitted are 2048 to 8192");
  EXPECT_FALSE(PublicKey::from_rsa("\x7F" + modulus.substr(1), exponent).ok());
  EXPECT_FALSE(PublicKey::from_rsa(std::string(1025, '\xFF'), exponent).ok());
  EXPECT_FALSE(PublicKey::from_rsa(std::string(1, '\0') + modulus, exponent).ok());
  EXPECT_FALSE(PublicKey::from_rsa(modulus.substr(0, 255) + "\x02", exponent).ok());
  EXPECT_FALSE(PublicKey::from_rsa("", exponent).ok());
  // Exponents 1, 3, 65535, 65538 and one of 33 bits, and with a leading zero.
  for (const std::string_view wrong : {std::string_view("\x01"), std::string_view("\x03"), std::string_view("\xFF\xFF"),
                                       std::string_view("\x01\x00\x02", 3), std::string_view("\x01\x00\x00\x00\x01", 5),
                                       std::string_view("\x00\x01\x00\x01", 4), std::string_view()}) {
    EXPECT_FALSE(PublicKey::from_rsa(modulus, wrong).ok()) << encode_base64url(wrong);
  }
}

TEST(JoseKey, PointsMustBeOnTheCurve) {
  const std::string x = bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU");
  const std::string y = bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");
  EXPECT_EQ(PublicKey::from_point(KeyType::p256, y, x).error().message, "the point is not on P-256");
  EXPECT_FALSE(PublicKey::from_point(KeyType::p256, std::string(32, '\0'), std::string(32, '\0')).ok());
  EXPECT_FALSE(PublicKey::from_point(KeyType::p256, std::string(32, '\xFF'), y).ok());
  EXPECT_EQ(PublicKey::from_point(KeyType::p256, x.substr(1), y).error().message,
            "a coordinate of P-256 must have 32 bytes");
  EXPECT_FALSE(PublicKey::from_point(KeyType::p384, x, y).ok());
  EXPECT_FALSE(PublicKey::from_point(KeyType::p384, x + std::string(16, 'a'), y + std::string(16, 'a')).ok());
}

TEST(JoseKey, AlgorithmsAreNamedExactly) {
  for (const Algorithm algorithm : kAlgorithms) EXPECT_EQ(find_algorithm(to_text(algorithm)), algorithm);
  for (const char* name : {"", "none", "None", "HS256", "rs256", "RS256 ", "ES512", "PS384", "EdDSA", "RS1"}) {
    EXPECT_EQ(find_algorithm(name), std::nullopt) << name;
  }
}

TEST(JoseKey, SignaturesOfEveryAlgorithmAreOnlyForThatAlgorithm) {
  const test::SigningKey p384 = test::SigningKey::ec(KeyType::p384);
  for (const Algorithm signs : kAlgorithms) {
    const test::SigningKey& secret = key_type_of(signs) == KeyType::rsa    ? test::rsa_key()
                                     : key_type_of(signs) == KeyType::p256 ? test::p256_key()
                                                                           : p384;
    const std::string signature = secret.sign(signs, "a.b");
    const PublicKey key = secret.public_key();
    for (const Algorithm verifies : kAlgorithms) {
      EXPECT_EQ(key.verify(verifies, "a.b", signature).ok(), signs == verifies)
          << to_text(signs) << " as " << to_text(verifies);
    }
  }
}

}  // namespace
}  // namespace weft::access
