#include "access/jose/key_set.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "access/jose/test_keys.h"

namespace weft::access {
namespace {

using test::key_set;
using test::p256_key;
using test::rsa_key;

KeySet parse(const std::string& json) {
  Result<KeySet> set = parse_key_set(json);
  EXPECT_TRUE(set.ok()) << set.error().text();
  return set.ok() ? std::move(set).value() : KeySet();
}

std::string problem(const std::string& json) {
  const Result<KeySet> set = parse_key_set(json);
  return set.ok() ? "" : set.error().message;
}

// Why the only key of a set is not used.
std::string unusable(const std::string& jwk) {
  const KeySet set = parse(key_set({jwk}));
  EXPECT_TRUE(set.keys.empty());
  return set.unusable.size() == 1 ? set.unusable[0].reason : "";
}

TEST(JoseKeySet, FindsKeysByNameAndAlgorithm) {
  const KeySet set = parse(key_set({rsa_key().jwk("one", R"("use": "sig", "alg": "RS256")"), p256_key().jwk("two")}));
  ASSERT_EQ(set.keys.size(), 2U);
  EXPECT_EQ((*set.find(Algorithm::rs256, "one"))->id, "one");
  EXPECT_EQ((*set.find(Algorithm::es256, "two"))->id, "two");
  EXPECT_EQ((*set.find(Algorithm::es256, std::nullopt))->id, "two");
  EXPECT_EQ(set.find(Algorithm::rs256, "two").error().message, "the key `two` is P-256, not for RS256");
  EXPECT_EQ(set.find(Algorithm::rs384, "one").error().message, "the key `one` is RS256, not for RS384");
  EXPECT_EQ(set.find(Algorithm::rs256, "three").error().code, ErrorCode::not_found);
  EXPECT_EQ(set.find(Algorithm::es384, std::nullopt).error().code, ErrorCode::not_found);
  EXPECT_EQ(set.find(Algorithm::rs256, "../../etc/passwd").error().code, ErrorCode::not_found);
}

TEST(JoseKeySet, WithoutNameThereMustBeOneKey) {
  const KeySet set = parse(key_set({p256_key().jwk("one"), test::SigningKey::ec(KeyType::p256).jwk("two")}));
  EXPECT_EQ(set.find(Algorithm::es256, std::nullopt).error().code, ErrorCode::refused);
}

TEST(JoseKeySet, LeavesOutKeysThatAreNotForSignatures) {
  EXPECT_EQ(unusable(rsa_key().jwk("a", R"("use": "enc")")), "its use is `enc`, not sig");
  EXPECT_EQ(unusable(rsa_key().jwk("a", R"("key_ops": ["encrypt"])")), "its `key_ops` do not have verify");
  EXPECT_EQ(unusable(rsa_key().jwk("a", R"("key_ops": "verify")")), "`key_ops` is not a list");
  EXPECT_EQ(unusable(rsa_key().jwk("a", R"("d": "AQAB")")), "it is a private key");
  EXPECT_EQ(unusable(rsa_key().jwk("a", R"("alg": "RSA-OAEP")")), "the algorithm `RSA-OAEP` is not supported");
  EXPECT_EQ(unusable(rsa_key().jwk("a", R"("alg": "HS256")")), "the algorithm `HS256` is not supported");
  EXPECT_EQ(unusable(rsa_key().jwk("a", R"("alg": "ES256")")), "ES256 is not for a key of type RSA");
  EXPECT_EQ(unusable(R"({"kty": "oct", "k": "AAAA", "kid": "a"})"), "keys of type `oct` are not used");
  EXPECT_EQ(unusable(R"({"kty": "EC", "crv": "P-521", "kid": "a"})"), "the curve `P-521` is not supported");
  EXPECT_EQ(unusable(R"({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"})"),
            "a coordinate of P-256 must have 32 bytes");
  EXPECT_EQ(unusable(R"({"kty": "RSA", "n": "AQAB="})"), "`n` is not base64url");
  EXPECT_EQ(unusable(R"({"kty": "RSA", "n": "AQAB"})"), "`e` is missing");
  EXPECT_EQ(unusable(test::SigningKey::rsa(1024).jwk("small")),
            "an RSA modulus of 1024 bits; permitted are 2048 to 8192");
  EXPECT_EQ(unusable(R"({})"), "`kty` is missing");

  const KeySet set = parse(key_set({rsa_key().jwk("a", R"("use": "enc")")}));
  EXPECT_EQ(set.find(Algorithm::rs256, "a").error().message, "the key `a` cannot be used: its use is `enc`, not sig");
}

TEST(JoseKeySet, AcceptsKeysThatMayVerify) {
  EXPECT_EQ(parse(key_set({rsa_key().jwk("a", R"("key_ops": ["verify", "wrapKey"], "x5c": ["AAAA"])")})).keys.size(),
            1U);
}

TEST(JoseKeySet, RefusesAmbiguousAndLargeSets) {
  EXPECT_EQ(problem("[]"), "the key set is not a JSON object");
  EXPECT_EQ(problem("{}"), "the key set has no list `keys`");
  EXPECT_EQ(problem(R"({"keys": [1]})"), "the key set has a key that is not an object");
  EXPECT_EQ(problem(R"({"keys": [{"kid": 1}]})"), "the key set has a `kid` that is not text");
  EXPECT_EQ(problem(key_set({p256_key().jwk("a"), rsa_key().jwk("a")})), "the key set has two keys with the `kid` `a`");
  EXPECT_EQ(problem(key_set({p256_key().jwk("a"), R"({"kty": "oct", "kid": "a"})"})),
            "the key set has two keys with the `kid` `a`");
  EXPECT_TRUE(problem(R"({"keys": [], "keys": []})").starts_with("the key set: duplicate key `keys`"));
  EXPECT_TRUE(problem(R"({"keys": [{"kid": "a", "kid": "b"}]})").starts_with("the key set: duplicate key `kid`"));
  EXPECT_EQ(problem(key_set({p256_key().jwk(std::string(257, 'a'))})),
            "the key set has a `kid` of 257 bytes, more than 256");
  std::string many = "{}";
  for (std::size_t i = 0; i < kMaxKeys; ++i) many += ", {}";
  EXPECT_EQ(problem(key_set({many})), "the key set has 101 keys, more than 100");
  EXPECT_TRUE(problem(R"({"keys": []})" + std::string(kMaxKeySetBytes, ' ')).starts_with("the key set: "));
}

}  // namespace
}  // namespace weft::access
