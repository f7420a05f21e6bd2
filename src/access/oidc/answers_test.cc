#include "access/oidc/answers.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace weft::access {
namespace {

constexpr const char* kIssuer = "https://id.example.org";

std::string problem_of_discovery(const std::string& json) {
  const Result<ProviderMetadata> metadata = parse_discovery(json, kIssuer, PlainHttp::refuse);
  return metadata.ok() ? "" : metadata.error().message;
}

TEST(OidcAnswers, Discovery) {
  const std::string good = R"({"issuer": "https://id.example.org", "authorization_endpoint": "https://a.example/auth",
    "token_endpoint": "https://t.example/token", "jwks_uri": "https://k.example/keys", "x": {"y": [1, null]}})";
  const Result<ProviderMetadata> metadata = parse_discovery(good, kIssuer, PlainHttp::refuse);
  ASSERT_TRUE(metadata.ok()) << metadata.error().text();
  EXPECT_EQ(metadata->authorization_endpoint, "https://a.example/auth");
  EXPECT_EQ(metadata->device_authorization_endpoint, "");
  EXPECT_FALSE(metadata->names_issuer_in_response);
  EXPECT_EQ(problem_of_discovery(replace_all(good, "https://id.example.org", "https://id.example.org/")),
            "the discovery document is of the issuer `https://id.example.org/`, not `https://id.example.org`");
  EXPECT_EQ(problem_of_discovery(replace_all(good, "https://t.", "http://t.")),
            "`token_endpoint`: the address `http://t.example/token` is not https");
  EXPECT_EQ(problem_of_discovery(replace_all(good, "jwks_uri", "keys")), "`jwks_uri` is missing");
  EXPECT_TRUE(
      problem_of_discovery(replace_all(good, "\"x\"", "\"issuer\"")).starts_with("the discovery document: dup"));
  EXPECT_EQ(problem_of_discovery("[]"), "the discovery document is not a JSON object");
}

TEST(OidcAnswers, Addresses) {
  for (const char* url : {"https://id.example.org", "https://id.example.org:8443/a?b=c", "https://[fd00::1]:443/"}) {
    EXPECT_TRUE(check_url(url, PlainHttp::refuse).ok()) << url;
  }
  for (const char* url :
       {"", "id.example.org", "https://", "https:///x", "https://:443/", "http://id.example.org/", "file:///etc/passwd",
        "HTTPS://id.example.org", "https://a@b.example/", "https://a.example/#x", "https://a.example/ b",
        "https://a.example/\n", "https://a.example\\@b", "ftp://a.example/"}) {
    EXPECT_FALSE(check_url(url, PlainHttp::refuse).ok()) << url;
  }
  for (const char* url : {"http://127.0.0.1:80/", "http://[::1]/", "http://localhost:1/x"}) {
    EXPECT_FALSE(check_url(url, PlainHttp::refuse).ok()) << url;
    EXPECT_TRUE(check_url(url, PlainHttp::allow_loopback).ok()) << url;
  }
  for (const char* url : {"http://127.0.0.1.example/", "http://localhost.example/", "http://127.0.0.1@evil.example/"}) {
    EXPECT_FALSE(check_url(url, PlainHttp::allow_loopback).ok()) << url;
  }
}

TEST(OidcAnswers, DeviceLoginHasLimits) {
  const auto read = [](const std::string& more) {
    return parse_device_answer(
        200, R"({"device_code": "d", "user_code": "U", "verification_uri": "https://a.example/d")" + more + "}",
        PlainHttp::refuse);
  };
  EXPECT_FALSE(read("").ok());
  const Result<DeviceLogin> login = read(R"(, "expires_in": 86400, "interval": 0)");
  ASSERT_TRUE(login.ok()) << login.error().text();
  EXPECT_EQ(login->expires_in_s, 3600);
  EXPECT_EQ(login->interval_s, 1);
  EXPECT_FALSE(read(R"(, "expires_in": "60")").ok());
  EXPECT_FALSE(read(R"(, "expires_in": -60)").ok());
  EXPECT_FALSE(read(R"(, "expires_in": 60, "verification_uri_complete": "http://a.example/d?c")").ok());
  EXPECT_FALSE(parse_device_answer(200, R"({"device_code": "d", "user_code": "\u001b[2J", "expires_in": 60,
      "verification_uri": "https://a.example/d"})",
                                   PlainHttp::refuse)
                   .ok());
  EXPECT_EQ(parse_device_answer(400, R"({"error": "invalid_scope"})", PlainHttp::refuse).error().code,
            ErrorCode::refused);
}

TEST(OidcAnswers, Forms) {
  EXPECT_EQ(form_encode(FormFields{{"a", "x y&z=1/%"}, {"b", "\xC3\xA9~-._"}}), "a=x%20y%26z%3D1%2F%25&b=%C3%A9~-._");
  EXPECT_EQ(form_encode(FormFields{}), "");
}

}  // namespace
}  // namespace weft::access
