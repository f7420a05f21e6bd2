#include "serve/http/target.h"

#include <gtest/gtest.h>

namespace weft::serve {
namespace {

std::string path_of(std::string_view text) {
  const Result<Target> target = parse_target(text);
  return target.ok() ? target->path : "error: " + target.error().message;
}

TEST(HttpTarget, DecodesAndNormalizesPaths) {
  EXPECT_EQ(path_of("/"), "/");
  EXPECT_EQ(path_of("/v1/jobs"), "/v1/jobs");
  EXPECT_EQ(path_of("/v1/jobs/"), "/v1/jobs");
  EXPECT_EQ(path_of("/v1/%6aobs/a%20b"), "/v1/jobs/a b");
  EXPECT_EQ(path_of("/caf%C3%A9"), "/caf\xC3\xA9");
  EXPECT_EQ(path_of("/a+b"), "/a+b");
  EXPECT_EQ(path_of("/a%25b"), "/a%b") << "decoded once";
  EXPECT_EQ(path_of("/..."), "/...");
  EXPECT_EQ(path_of("/a..b/.c"), "/a..b/.c");
}

TEST(HttpTarget, RejectsAmbiguousPaths) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      "*"sv,
                                      "v1"sv,
                                      "http://localhost/v1"sv,
                                      "localhost:80"sv,
                                      "//"sv,
                                      "//v1"sv,
                                      "/v1//jobs"sv,
                                      "/.."sv,
                                      "/v1/../etc"sv,
                                      "/v1/.."sv,
                                      "/v1/%2e%2e/x"sv,
                                      "/v1/.%2E"sv,
                                      "/."sv,
                                      "/a/./b"sv,
                                      "/a%2fb"sv,
                                      "/a%2F..%2Fb"sv,
                                      "/a\\b"sv,
                                      "/a%5cb"sv,
                                      "/%00"sv,
                                      "/a\0b"sv,
                                      "/%0a"sv,
                                      "/%7f"sv,
                                      "/%C2%85"sv,
                                      "/%ff"sv,
                                      "/%C3"sv,
                                      "/%c0%af"sv,
                                      "/%"sv,
                                      "/%4"sv,
                                      "/%zz"sv,
                                      "/a#b"sv,
                                      "/\xFF"sv,
                                      "/a?b#c"sv}) {
    EXPECT_FALSE(parse_target(text).ok()) << text;
  }
}

TEST(HttpTarget, DecodesQueries) {
  const Result<Target> target = parse_target("/v1/jobs?state=running&name=a%26b+c&&flag&state=queued&x=1=2");
  ASSERT_TRUE(target.ok()) << target.error().text();
  const QueryParameters expected = {
      {"state", "running"}, {"name", "a&b c"}, {"flag", ""}, {"state", "queued"}, {"x", "1=2"}};
  EXPECT_EQ(target->query, expected);
  EXPECT_TRUE(parse_target("/v1?")->query.empty());
}

TEST(HttpTarget, RejectsInvalidQueries) {
  for (const char* text : {"/?a=%00", "/?a=%0a", "/?%ff=1", "/?a=%", "/?a=%1", "/?=1", "/?a=%C2%80"})
    EXPECT_FALSE(parse_target(text).ok()) << text;
  std::string many = "/?";
  for (std::size_t i = 0; i < kMaxQueryParameters; ++i) many += "a&";
  EXPECT_TRUE(parse_target(many).ok());
  EXPECT_FALSE(parse_target(many + "b").ok());
}

TEST(HttpTarget, FormatsWhatItParses) {
  const Target target{"/v1/jobs/a b%c\xC3\xA9", {{"q", "x&y=z+ \xE2\x82\xAC"}, {"empty", ""}}};
  const std::string text = format_target(target);
  EXPECT_EQ(text, "/v1/jobs/a%20b%25c%C3%A9?q=x%26y%3Dz%2B%20%E2%82%AC&empty=");
  const Result<Target> again = parse_target(text);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->path, target.path);
  EXPECT_EQ(again->query, target.query);
  EXPECT_EQ(format_target({}), "/");
}

}  // namespace
}  // namespace weft::serve
