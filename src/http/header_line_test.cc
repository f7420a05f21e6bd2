#include "http/header_line.h"

#include <gtest/gtest.h>

namespace weft::http {
namespace {

TEST(HttpHeader, NamesAndValues) {
  const std::optional<HeaderLine> line = parse_header_line("Retry-AFTER: \t17 \r\n");
  ASSERT_TRUE(line.has_value());
  EXPECT_TRUE(line->is("Retry-After"));
  EXPECT_FALSE(line->is("Retry"));
  EXPECT_EQ(line->value, "17");
  EXPECT_EQ(parse_header_line("ETag: a:b")->value, "a:b");
  for (const char* other : {"", "\r\n", "HTTP/1.1 200 OK: fine\r\n", "no colon"}) {
    EXPECT_FALSE(parse_header_line(other).has_value()) << other;
  }
}

// RFC 9110, 10.2.3: seconds, or a date.
TEST(HttpHeader, RetryAfterIsANumberOfSeconds) {
  EXPECT_EQ(parse_retry_after("0"), 0);
  EXPECT_EQ(parse_retry_after("120"), 120);
  EXPECT_EQ(parse_retry_after("999999"), 3600);
  for (const char* other : {"", "-1", "1.5", "12345678", "Fri, 31 Dec 1999 23:59:59 GMT"}) {
    EXPECT_EQ(parse_retry_after(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace weft::http
