#include "access/jose/token.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/jose/test_keys.h"
#include "base/text.h"

namespace weft::access {
namespace {

using test::make_token;
using test::p256_key;
using test::rsa_key;

constexpr std::int64_t kNow = 1'760'000'000;
constexpr std::string_view kRsaHeader = R"({"alg": "RS256", "typ": "JWT", "kid": "rsa"})";
constexpr std::string_view kEcHeader = R"({"alg": "ES256", "typ": "JWT", "kid": "ec"})";

TokenRules bearer_rules() {
  TokenRules rules;
  rules.issuer = "https://id.example.org/realms/hpc";
  rules.audience = "weft";
  rules.authorized_parties = {"weft"};
  return rules;
}

TokenRules login_rules() {
  TokenRules rules = bearer_rules();
  rules.kind = JwtKind::id_token;
  rules.nonce = "n-0S6_WzA2Mj";
  return rules;
}

const KeySet& keys() {
  static const KeySet set = parse_key_set(test::key_set({rsa_key().jwk("rsa"), p256_key().jwk("ec")})).value();
  return set;
}

// Claims that are accepted, without or with other values for some; a value of "" removes the claim.
std::string claims_with(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  std::vector<std::pair<std::string, std::string>> members = {
      {"iss", R"("https://id.example.org/realms/hpc")"},
      {"sub", R"("8f2c")"},
      {"aud", R"("weft")"},
      {"exp", std::to_string(kNow + 300)},
      {"iat", std::to_string(kNow - 10)},
      {"nonce", R"("n-0S6_WzA2Mj")"},
      {"groups", R"(["research", "sre"])"},
  };
  for (const auto& [name, value] : changes) {
    const std::string key = name;
    std::erase_if(members, [&](const auto& member) { return member.first == key; });
    if (!value.empty()) members.emplace_back(name, value);
  }
  std::string out;
  for (const auto& [name, value] : members) out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", name, value);
  return "{" + out + "}";
}

std::string signed_claims(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  return make_token(p256_key(), Algorithm::es256, kEcHeader, claims_with(changes));
}

// Why it is refused; "" if it is accepted.
std::string problem(const std::string& token, const TokenRules& rules = bearer_rules()) {
  const Result<Claims> claims = verify_token(token, keys(), rules, kNow);
  return claims.ok() ? "" : claims.error().message;
}
std::string problem_of_claims(const std::vector<std::pair<std::string, std::string>>& changes,
                              const TokenRules& rules = bearer_rules()) {
  return problem(signed_claims(changes), rules);
}

TEST(JoseToken, ReturnsTheClaims) {
  const Result<Claims> claims =
      verify_token(make_token(rsa_key(), Algorithm::rs256, kRsaHeader,
                              claims_with({{"jti", R"("t1")"}, {"sid", R"("s1")"}, {"name", R"("Ada \u00e9")"}})),
                   keys(), bearer_rules(), kNow);
  ASSERT_TRUE(claims.ok()) << claims.error().text();
  EXPECT_EQ(claims->issuer, "https://id.example.org/realms/hpc");
  EXPECT_EQ(claims->subject, "8f2c");
  EXPECT_EQ(claims->user, "8f2c");
  EXPECT_EQ(claims->groups, (std::vector<std::string>{"research", "sre"}));
  EXPECT_EQ(claims->expires_s, kNow + 300);
  EXPECT_EQ(claims->issued_s, kNow - 10);
  EXPECT_EQ(claims->token_id, "t1");
  EXPECT_EQ(claims->session_id, "s1");
}

TEST(JoseToken, EveryForgeryIsRefused) {
  const std::string good = make_token(rsa_key(), Algorithm::rs256, kRsaHeader, claims_with());
  const std::string good_ec = signed_claims();
  ASSERT_EQ(problem(good), "");
  ASSERT_EQ(problem(good_ec), "");
  const std::vector<std::string_view> parts = split(good, '.');
  const std::vector<std::string_view> ec_parts = split(good_ec, '.');
  const std::string input = fmt::format("{}.{}", parts[0], parts[1]);
  const std::string ec_input = fmt::format("{}.{}", ec_parts[0], ec_parts[1]);
  const std::string admin = encode_base64url(claims_with({{"groups", R"(["weft-admins"])"}}));
  const auto unsigned_token = [](std::string_view header, std::string_view signature) {
    return encode_base64url(header) + "." + encode_base64url(claims_with()) + "." + std::string(signature);
  };
  const auto with_header = [](std::string_view header) {
    return make_token(rsa_key(), Algorithm::rs256, header, claims_with());
  };
  const std::string hmac_header = R"({"alg": "HS256", "typ": "JWT", "kid": "rsa"})";

  struct Forgery {
    const char* name;
    std::string token;
    const char* problem;
  };
  const Forgery forgeries[] = {
      {"none", unsigned_token(R"({"alg": "none"})", ""), "the algorithm `none` is never accepted"},
      {"None", unsigned_token(R"({"alg": "None"})", ""), "the algorithm `None` is never accepted"},
      {"nOnE", unsigned_token(R"({"alg": "nOnE"})", "AAAA"), "the algorithm `nOnE` is never accepted"},
      {"NONE with the good signature", unsigned_token(R"({"alg": "NONE", "kid": "rsa"})", parts[2]),
       "the algorithm `NONE` is never accepted"},
      {"no algorithm", unsigned_token(R"({"typ": "JWT"})", "AAAA"), "`alg` is missing"},
      {"empty algorithm", unsigned_token(R"({"alg": ""})", "AAAA"), "`alg` is missing"},
      {"algorithm that is not text", unsigned_token(R"({"alg": true})", "AAAA"), "`alg` is not text"},
      {"signature stripped", input + ".", "the token is not signed"},
      {"signature and its dot stripped", input, "the token has 2 parts, not 3"},
      {"HS256 with the public key as PEM", test::make_hmac_token(rsa_key().public_pem(), hmac_header, claims_with()),
       "the algorithm `HS256` is never accepted"},
      {"HMAC with the public key, said to be RS256",
       test::make_hmac_token(rsa_key().public_pem(), kRsaHeader, claims_with()), "the signature does not match"},
      {"payload modified", fmt::format("{}.{}.{}", parts[0], admin, parts[2]), "the signature does not match"},
      {"payload modified, ES256", fmt::format("{}.{}.{}", ec_parts[0], admin, ec_parts[2]),
       "the signature does not match"},
      {"header modified", unsigned_token(R"({"alg": "RS256", "kid": "rsa"})", parts[2]),
       "the signature does not match"},
      {"signature cut", input + "." + encode_base64url(std::string(255, '\x55')), "the signature does not match"},
      {"signature extended", good + "AAAA", "the signature does not match"},
      {"signature of zeros", input + "." + encode_base64url(std::string(256, '\0')), "the signature does not match"},
      {"ES256 with r = s = 0", ec_input + "." + encode_base64url(std::string(64, '\0')), "the signature is zero"},
      {"ES256 with r = 0", ec_input + "." + encode_base64url(std::string(32, '\0') + std::string(32, '\x01')),
       "the signature is zero"},
      // The curve's order n, for r and s: zero modulo n.
      {"ES256 with r = s = n",
       ec_input + "._____wAAAAD__________7zm-q2nF56E87nKwvxjJVH_____AAAAAP__________vOb6racXnoTzucrC_GMlUQ",
       "the signature does not match"},
      {"ES256 in DER", ec_input + "." + encode_base64url("\x30\x06\x02\x01\x01\x02\x01\x01"),
       "a signature of 8 bytes; ES256 has 64"},
      {"signed by another key of that name",
       make_token(test::SigningKey::ec(KeyType::p256), Algorithm::es256, kEcHeader, claims_with()),
       "the signature does not match"},
      {"P-256 key with an RS256 header",
       make_token(p256_key(), Algorithm::es256, R"({"alg": "RS256", "kid": "ec"})", claims_with()),
       "the key `ec` is P-256, not for RS256"},
      {"RSA key with an ES256 header",
       make_token(rsa_key(), Algorithm::rs256, R"({"alg": "ES256", "kid": "rsa"})", claims_with()),
       "the key `rsa` is RSA, not for ES256"},
      {"algorithm that is not configured",
       make_token(rsa_key(), Algorithm::rs384, R"({"alg": "RS384", "kid": "rsa"})", claims_with()),
       "the algorithm RS384 is not one of those configured"},
      {"duplicate alg", with_header(R"({"alg": "none", "alg": "RS256", "kid": "rsa"})"),
       "the token's header: duplicate key `alg`"},
      {"duplicate alg, escaped", with_header(R"({"alg": "RS256", "\u0061lg": "none", "kid": "rsa"})"),
       "the token's header: duplicate key `alg`"},
      {"duplicate claim",
       make_token(p256_key(), Algorithm::es256, kEcHeader, R"({"sub": "eve", )" + claims_with().substr(1)),
       "the token's claims: duplicate key `sub`"},
      {"unknown kid", with_header(R"({"alg": "RS256", "kid": "new"})"), "the provider has no key `new`"},
      {"traversing kid", with_header(R"({"alg": "RS256", "kid": "../../../../dev/null"})"),
       "the provider has no key `../../../../dev/null`"},
      {"kid with SQL", with_header(R"({"alg": "RS256", "kid": "x' UNION SELECT 'k"})"),
       "the provider has no key `x' UNION SELECT 'k`"},
      {"kid with a zero byte", with_header(R"({"alg": "RS256", "kid": "rsa\u0000"})"),
       "the provider has no key `rsa?`"},
      {"empty kid", with_header(R"({"alg": "RS256", "kid": ""})"), "`kid` has 0 bytes; permitted are 1 to 256"},
      {"kid that is not text", with_header(R"({"alg": "RS256", "kid": ["rsa"]})"), "`kid` is not text"},
      {"crit", with_header(R"({"alg": "RS256", "kid": "rsa", "crit": ["exp"], "exp": 1})"),
       "the token's header has `crit`"},
      {"b64", with_header(R"({"alg": "RS256", "kid": "rsa", "b64": false})"), "the token's header has `b64`"},
      {"jku", with_header(R"({"alg": "RS256", "kid": "rsa", "jku": "https://evil.example/keys"})"),
       "the token's header has `jku`"},
      {"x5u", with_header(R"({"alg": "RS256", "kid": "rsa", "x5u": "https://evil.example/chain"})"),
       "the token's header has `x5u`"},
      {"x5c", with_header(R"({"alg": "RS256", "kid": "rsa", "x5c": ["AAAA"]})"), "the token's header has `x5c`"},
      {"own key in the header", with_header(R"({"alg": "RS256", "jwk": )" + rsa_key().jwk("rsa") + "}"),
       "the token's header has `jwk`"},
      {"header that is not an object", with_header(R"(["RS256"])"), "the token's header is not a JSON object"},
      {"header with text after it", with_header(std::string(kRsaHeader) + "x"), "the token's header: "},
      {"padded", fmt::format("{}=.{}.{}", parts[0], parts[1], parts[2]), "a part of the token is not base64url"},
      {"line end", good + "\n", "a part of the token is not base64url"},
      {"encrypted form", good + "." + good.substr(0, 4) + "." + good.substr(0, 4), "the token has 5 parts, not 3"},
      {"JSON form", R"({"payload": "e30", "signatures": []})", "the token has 1 parts, not 3"},
      {"logout token", with_header(R"({"alg": "RS256", "kid": "rsa", "typ": "logout+jwt"})"),
       "a token of type `logout+jwt`"},
      {"too large", signed_claims({{"x", "\"" + std::string(kMaxTokenBytes, 'a') + "\""}}), "the token has "},
      {"empty", "", "the token has 1 parts, not 3"},
      {"only dots", "..", "the token's header: expected a JSON value, found empty text"},
  };
  for (const Forgery& forgery : forgeries) {
    const std::string found = problem(forgery.token);
    EXPECT_NE(found, "") << forgery.name;
    EXPECT_TRUE(found.starts_with(forgery.problem)) << forgery.name << ": " << found;
  }
}

TEST(JoseToken, AnyChangedByteIsRefused) {
  const std::string good = signed_claims();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(problem(changed), "") << i;
    EXPECT_NE(problem(good.substr(0, i)), "") << i;
  }
}

TEST(JoseToken, IssuerAndAudience) {
  EXPECT_EQ(problem_of_claims({{"iss", ""}}), "`iss` is missing");
  EXPECT_EQ(problem_of_claims({{"iss", R"("https://id.example.org/realms/hpc/")"}}),
            "the issuer is `https://id.example.org/realms/hpc/`, not `https://id.example.org/realms/hpc`");
  EXPECT_EQ(problem_of_claims({{"aud", ""}}), "`aud` is missing");
  EXPECT_EQ(problem_of_claims({{"aud", "[]"}}), "`aud` is missing");
  EXPECT_EQ(problem_of_claims({{"aud", R"("wef")"}}), "the audience is `wef`, not `weft`");
  EXPECT_EQ(problem_of_claims({{"aud", R"(["weft-dev", "account"])"}}),
            "the audience is `weft-dev, account`, not `weft`");
  EXPECT_EQ(problem_of_claims({{"aud", "[1]"}}), "`aud` has an entry that is not text");
  EXPECT_EQ(problem_of_claims({{"aud", R"(["weft"])"}}), "");
}

TEST(JoseToken, SeveralAudiencesNeedAnAuthorizedParty) {
  const std::string both = R"(["account", "weft"])";
  EXPECT_EQ(problem_of_claims({{"aud", both}}), "the token has several audiences and no `azp`");
  EXPECT_EQ(problem_of_claims({{"aud", both}, {"azp", R"("weft")"}}), "");
  EXPECT_EQ(problem_of_claims({{"aud", both}, {"azp", R"("other")"}}), "the token was issued to `other`");
  EXPECT_EQ(problem_of_claims({{"aud", both}, {"azp", "1"}}), "`azp` is not text");
  // A machine's own client may get a token for weft alone; an ID token is always for the client that asked.
  EXPECT_EQ(problem_of_claims({{"azp", R"("ci")"}}), "");
  EXPECT_EQ(problem_of_claims({{"azp", R"("ci")"}}, login_rules()), "the token was issued to `ci`");
}

TEST(JoseToken, Times) {
  const auto at = [](std::int64_t offset) { return std::to_string(kNow + offset); };
  EXPECT_EQ(problem_of_claims({{"exp", ""}}), "`exp` is missing");
  EXPECT_EQ(problem_of_claims({{"exp", at(-59)}}), "");
  EXPECT_EQ(problem_of_claims({{"exp", at(-60)}}), "the token expired 60 s ago");
  EXPECT_EQ(problem_of_claims({{"nbf", at(60)}}), "");
  EXPECT_EQ(problem_of_claims({{"nbf", at(61)}}), "the token is not valid for another 61 s");
  EXPECT_EQ(problem_of_claims({{"iat", at(60)}}), "");
  EXPECT_EQ(problem_of_claims({{"iat", at(61)}}), "the token was issued 61 s in the future; check the clocks");
  EXPECT_EQ(problem_of_claims({{"iat", ""}}), "");
  EXPECT_EQ(problem_of_claims({{"iat", ""}}, login_rules()), "`iat` is missing");
  TokenRules strict = bearer_rules();
  strict.clock_skew_s = 0;
  EXPECT_EQ(problem_of_claims({{"exp", at(1)}}, strict), "");
  EXPECT_EQ(problem_of_claims({{"exp", at(0)}}, strict), "the token expired 0 s ago");
  EXPECT_EQ(problem_of_claims({{"exp", at(1) + ".75"}}, strict), "");
  EXPECT_EQ(problem_of_claims({{"exp", "1.8e9"}}), "");
  for (const char* wrong :
       {R"("1800000000")", "-1", "1e400", "1e300", "253402300800", "null", "true", "[1800000000]"}) {
    EXPECT_EQ(problem_of_claims({{"exp", wrong}}), "`exp` is not a number of seconds from 1970 to 9999") << wrong;
  }
}

TEST(JoseToken, NonceOfTheLogin) {
  EXPECT_EQ(problem_of_claims({}, login_rules()), "");
  EXPECT_EQ(problem_of_claims({{"nonce", ""}}, login_rules()), "`nonce` is missing");
  EXPECT_EQ(problem_of_claims({{"nonce", R"("n-0S6_WzA2Mk")"}}, login_rules()), "the nonce is not that of this login");
  EXPECT_EQ(problem_of_claims({{"nonce", R"("n-0S6_WzA2M")"}}, login_rules()), "the nonce is not that of this login");
  TokenRules empty = login_rules();
  empty.nonce = "";
  EXPECT_NE(problem_of_claims({{"nonce", R"("")"}}, empty), "");
}

TEST(JoseToken, TypesOfTokens) {
  const auto typed = [](const char* type) {
    return make_token(p256_key(), Algorithm::es256,
                      fmt::format(R"({{"alg": "ES256", "kid": "ec", "typ": "{}"}})", type), claims_with());
  };
  EXPECT_EQ(problem(typed("at+jwt")), "");
  EXPECT_EQ(problem(typed("application/at+JWT")), "");
  EXPECT_EQ(problem(typed("jwt"), login_rules()), "");
  EXPECT_EQ(problem(typed("at+jwt"), login_rules()), "a token of type `at+jwt`");
  EXPECT_EQ(problem(typed("dpop+jwt")), "a token of type `dpop+jwt`");
  EXPECT_EQ(problem_of_claims({{"cnf", R"({"jkt": "x"})"}}), "the token is bound to a key of its holder (`cnf`)");
}

TEST(JoseToken, NamesOfUsers) {
  TokenRules rules = bearer_rules();
  rules.user_claim = "preferred_username";
  const auto user = [&](const std::string& value) { return problem_of_claims({{"preferred_username", value}}, rules); };
  EXPECT_EQ(user(R"("ada")"), "");
  EXPECT_EQ(user(R"("ada@example.org")"), "");
  EXPECT_EQ(user(R"("Ad\u00e1 \u738b")"), "");
  EXPECT_EQ(user("\"" + std::string(256, 'a') + "\""), "");
  EXPECT_EQ(user("\"" + std::string(257, 'a') + "\""), "`preferred_username` has 257 bytes, more than 256");
  EXPECT_EQ(user(R"("")"), "`preferred_username` is missing");
  EXPECT_EQ(user(""), "`preferred_username` is missing");
  EXPECT_EQ(user("17"), "`preferred_username` is not text");
  EXPECT_EQ(user(R"(["ada"])"), "`preferred_username` is not text");
  EXPECT_EQ(user(R"(" ada")"), "`preferred_username` has spaces around it");
  // Controls, line separators, and marks that turn the direction of text around.
  for (const char* wrong : {R"("a\nb")", R"("a\u0000b")", R"("a\u007fb")", R"("a\u0085b")", R"("a\u2028b")",
                            R"("a\u202eb")", R"("a\ufeffb")"}) {
    EXPECT_TRUE(user(wrong).starts_with("`preferred_username` has a character that is not permitted")) << wrong;
  }
  EXPECT_EQ(problem_of_claims({{"sub", ""}, {"preferred_username", R"("ada")"}}, rules), "`sub` is missing");
  EXPECT_EQ(problem_of_claims({{"sub", "1"}, {"preferred_username", R"("ada")"}}, rules), "`sub` is not text");
}

TEST(JoseToken, AddressesMustBeVerified) {
  TokenRules rules = bearer_rules();
  rules.user_claim = "email";
  const std::string address = R"("ada@example.org")";
  EXPECT_EQ(problem_of_claims({{"email", address}}, rules), "");
  EXPECT_EQ(problem_of_claims({{"email", address}, {"email_verified", "true"}}, rules), "");
  EXPECT_EQ(problem_of_claims({{"email", address}, {"email_verified", "false"}}, rules),
            "the provider has not verified the user's `email`");
  EXPECT_NE(problem_of_claims({{"email", address}, {"email_verified", R"("true")"}}, rules), "");
}

TEST(JoseToken, Groups) {
  const auto groups = [](const std::string& value) {
    const Result<Claims> claims = verify_token(signed_claims({{"groups", value}}), keys(), bearer_rules(), kNow);
    return claims.ok() ? join(claims->groups, "|") : "refused: " + claims.error().message;
  };
  EXPECT_EQ(groups(""), "");
  EXPECT_EQ(groups("[]"), "");
  EXPECT_EQ(groups(R"("sre")"), "sre");
  EXPECT_EQ(groups(R"(["/hpc/sre", "a b"])"), "/hpc/sre|a b");
  EXPECT_EQ(groups(R"(["sre", 1])"), "refused: `groups` has an entry that is not text");
  EXPECT_EQ(groups(R"({"sre": true})"), "refused: `groups` is neither text nor a list of text");
  EXPECT_EQ(groups("true"), "refused: `groups` is neither text nor a list of text");
  EXPECT_EQ(groups(R"([""])"), "refused: `groups` is empty");
  EXPECT_TRUE(groups(R"(["a\u0000"])").starts_with("refused: `groups` has a character"));
  std::string many = "\"g\"";
  for (std::size_t i = 0; i < kMaxGroups; ++i) many += ",\"g\"";
  EXPECT_EQ(groups("[" + many + "]"), "refused: `groups` has 501 entries, more than 500");
}

}  // namespace
}  // namespace weft::access
