#include "base/quoting.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace weft {
namespace {

TEST(JsonQuote, EscapesAsRequiredByRfc8259) {
  EXPECT_EQ(json_quote(""), "\"\"");
  EXPECT_EQ(json_quote("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
  EXPECT_EQ(json_quote("\n\r\t\b\f"), "\"\\n\\r\\t\\u0008\\u000c\"");
  EXPECT_EQ(json_quote(std::string_view("\0\x1F", 2)), "\"\\u0000\\u001f\"");
  EXPECT_EQ(json_quote("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"), "\"gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80\"");
  EXPECT_EQ(json_quote("\x7F\xC2\x85\xE2\x80\xA8"), "\"\\u007f\\u0085\\u2028\"");
}

TEST(JsonQuote, ReplacesInvalidUtf8) {
  EXPECT_EQ(json_quote("a\xFF"
                       "b"),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(json_quote("\xC3"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(json_quote("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonQuote, KeepsEveryByteOfASecret) {
  EXPECT_EQ(json_quote_secret("plain"), "\"plain\"");
  EXPECT_EQ(json_quote_secret("a\"b\\c\n\x01\xC3\xBC"), "\"a\\\"b\\\\c\\n\\u0001\xC3\xBC\"");
  EXPECT_EQ(json_quote_secret("\xFF\xC3"), "\"\xFF\xC3\"");
  const std::string longest(100, '\x01');
  EXPECT_EQ(json_quote_secret(longest).size(), 602U);
}

TEST(YamlQuote, SimpleTextNeedsNoQuotes) {
  for (const std::string_view text :
       {"a", "leaf-01", "/var/log", "_x", "10.60.0.1", "10.60.0.0/16", "10Ti", "300s", "a b", "a:b", "a=$(b)"}) {
    EXPECT_TRUE(is_simple_yaml_text(text)) << text;
    EXPECT_TRUE(is_plain_yaml_text(text)) << text;
  }
  for (const std::string_view text : {"", "yes", "Off", "12", "1e5", "0xAb", "0o17", "a: b", "a #b", "a ", "a:", "-a",
                                      "100.64.0.0/10:5000", "gr\xC3\xBC", "a,b", "[a]"}) {
    EXPECT_FALSE(is_simple_yaml_text(text)) << text;
  }
}

}  // namespace
}  // namespace weft
