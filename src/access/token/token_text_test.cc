#include "access/token/token_text.h"

#include <gtest/gtest.h>

#include <string>

#include "access/secret/test_support.h"

namespace weft::access {
namespace {

const std::string kId = "abcdefghi012";
const std::string kSecret(43, 'A');

TEST(TokenTextTest, WritesWhatItReads) {
  const RandomFill random = make_test_random();
  for (const TokenKind kind : {TokenKind::fixed, TokenKind::access, TokenKind::refresh, TokenKind::session}) {
    const std::string id = make_id(random);
    const ParsedToken token = make_token(kind, id, random);
    const std::string text = format_token(token).reveal();
    ASSERT_EQ(text.size(), 63U);
    const std::optional<ParsedToken> parsed = parse_token(text);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->kind, kind);
    EXPECT_EQ(parsed->id, token.id);
    EXPECT_EQ(parsed->secret, token.secret);
    EXPECT_EQ(text.substr(0, 19), credential_name(kind, token.id));
  }
}

TEST(TokenTextTest, RefusesOtherForms) {
  ASSERT_TRUE(parse_token("weft_t_" + kId + "_" + kSecret));
  for (const std::string& text :
       {std::string(), std::string("weft_t_"), "weft_t_" + kId, "weft_x_" + kId + "_" + kSecret,
        "Weft_t_" + kId + "_" + kSecret, "weft_t_ABCDEFGHI012_" + kSecret, "weft_t_" + kId + "-" + kSecret,
        "weft_t_" + kId + "_" + kSecret + "=", " weft_t_" + kId + "_" + kSecret, "weft_t_" + kId + "_" + kSecret + "\n",
        "weft_t_" + kId + "_" + kSecret.substr(1) + "+", "weft_t_" + kId + "_" + kSecret.substr(1) + "/",
        "weft_t_" + kId + "_" + kSecret.substr(1) + "B",
        "weft_t_" + kId + "_" + kSecret.substr(1) + std::string(1, '\0'), "weft_t_" + kId.substr(1) + "__" + kSecret}) {
    EXPECT_FALSE(parse_token(text)) << text;
  }
}

TEST(TokenTextTest, ReadsCredentialNames) {
  const std::optional<CredentialName> name = parse_credential_name("weft_s_" + kId);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->kind, TokenKind::session);
  EXPECT_EQ(name->id, kId);
  EXPECT_FALSE(parse_credential_name("weft_s_" + kId + "_"));
  EXPECT_FALSE(parse_credential_name("weft_q_" + kId));
}

TEST(TokenTextTest, ComparesHashes) {
  const SecretHash hash(oob::Secret(std::string("abc")));
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(hash.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(hash.matches(*SecretHash::from_hex(hash.hex())));
  EXPECT_FALSE(hash.matches(SecretHash(oob::Secret(std::string("abd")))));
  EXPECT_FALSE(SecretHash::from_hex("BA" + hash.hex().substr(2)));
  EXPECT_FALSE(SecretHash::from_hex(hash.hex().substr(1)));
  EXPECT_TRUE(is_equal_secret("x", "x"));
  EXPECT_FALSE(is_equal_secret("x", "xy"));
  EXPECT_TRUE(is_equal_secret("", ""));
}

}  // namespace
}  // namespace weft::access
