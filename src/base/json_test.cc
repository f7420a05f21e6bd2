#include "base/json.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

struct ParsedJson {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<YamlNode> root;
};

ParsedJson parse(std::string text, const YamlLimits& limits = {}) {
  ParsedJson parsed;
  const FileId file = parsed.sources.add("f.json", std::move(text));
  parsed.root = parse_json(parsed.sources, file, parsed.diagnostics, limits);
  return parsed;
}

// "line:column message" of each diagnostic.
std::string findings(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics.sorted()) {
    text += std::to_string(d.place.line) + ":" + std::to_string(d.place.column) + " " + d.message + "\n";
  }
  return text;
}

std::string scalar_of(const std::string& text) {
  const ParsedJson parsed = parse(text);
  EXPECT_TRUE(parsed.root.has_value()) << text << "\n" << findings(parsed.diagnostics);
  return parsed.root ? parsed.root->scalar : "<nothing>";
}

TEST(Json, KeepsValuesAndLocations) {
  const ParsedJson parsed = parse(
      "{\n  \"PORT\": {\"Ethernet0\": {\"mtu\": 9100, \"up\": true, \"x\": null}},\n  \"l\": [\"a\", -1.5e3]\n}\n");
  ASSERT_TRUE(parsed.root);
  EXPECT_EQ(findings(parsed.diagnostics), "");
  const YamlNode* port = parsed.root->find("PORT");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->place.line, 2U);
  EXPECT_EQ(port->place.column, 11U);
  const YamlNode* ethernet = port->find("Ethernet0");
  ASSERT_NE(ethernet, nullptr);
  EXPECT_EQ(port->entries[0].key_place.column, 12U);
  EXPECT_EQ(ethernet->find("mtu")->scalar, "9100");
  EXPECT_FALSE(ethernet->find("mtu")->quoted);
  EXPECT_EQ(ethernet->find("mtu")->place.column, 33U);
  EXPECT_EQ(ethernet->find("up")->scalar, "true");
  EXPECT_EQ(ethernet->find("x")->kind, YamlNode::Kind::null);
  const YamlNode* list = parsed.root->find("l");
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_TRUE(list->items[0].quoted);
  EXPECT_EQ(list->items[1].scalar, "-1.5e3");
  EXPECT_EQ(list->items[1].place.line, 3U);
}

TEST(Json, CountsColumnsInBytes) {
  const ParsedJson parsed = parse("{\"\xC3\xA4\": 1}");
  ASSERT_TRUE(parsed.root);
  EXPECT_EQ(parsed.root->entries[0].value.place.column, 8U);
}

TEST(Json, ReadsEscapes) {
  EXPECT_EQ(scalar_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(scalar_of(R"("\u0041\u00e4\u20AC")"), "A\xC3\xA4\xE2\x82\xAC");
  EXPECT_EQ(scalar_of(R"("\uD834\uDD1E")"), "\xF0\x9D\x84\x9E");  // U+1D11E, the example of RFC 8259 section 7
  EXPECT_EQ(scalar_of(R"("a\u0000b")"), std::string("a\0b", 3));
}

TEST(Json, LastDuplicateKeyWins) {
  const ParsedJson parsed = parse("{\"a\": 1, \"b\": 2,\n \"a\": 3}");
  ASSERT_TRUE(parsed.root);
  ASSERT_EQ(parsed.root->entries.size(), 2U);
  EXPECT_EQ(parsed.root->find("a")->scalar, "3");
  EXPECT_EQ(findings(parsed.diagnostics), "2:2 duplicate key `a`\n");
  EXPECT_FALSE(parsed.diagnostics.has_errors());
}

TEST(Json, RejectsInvalidJson) {
  const std::string bad[] = {"",
                             "  ",
                             "{",
                             "[1,",
                             "[1 2]",
                             "[1,]",
                             "{\"a\":1,}",
                             "{a:1}",
                             "{'a':1}",
                             "{\"a\" 1}",
                             "{\"a\":}",
                             "[1]x",
                             "01",
                             "1.",
                             ".5",
                             "+1",
                             "-",
                             "1e",
                             "0x10",
                             "NaN",
                             "True",
                             "nul",
                             "\"abc",
                             "\"a\nb\"",
                             "\"\t\"",
                             "\"\\x41\"",
                             "\"\\u12\"",
                             "\"\\uD800\"",
                             "\"\\uD800\\u0041\"",
                             "\"\\uDC00\"",
                             "\"\xFF\"",
                             "\"\xC0\xAF\"",
                             "/* c */ 1",
                             "]",
                             "[}"};
  for (const std::string& text : bad) {
    const ParsedJson parsed = parse(text);
    EXPECT_FALSE(parsed.root.has_value()) << text;
    EXPECT_EQ(parsed.diagnostics.error_count(), 1U) << text;
  }
}

TEST(Json, ReportsTheLocationOfAnError) {
  EXPECT_EQ(findings(parse("{\n  \"a\": 1,\n}").diagnostics), "3:1 a comma before `}` is not allowed\n");
  EXPECT_EQ(findings(parse("[1,\n 2").diagnostics), "2:3 the text ends inside a list: `]` is missing\n");
  EXPECT_EQ(findings(parse("{\"a\": yes}").diagnostics), "1:7 `yes` is not a JSON value\n");
}

TEST(Json, HonorsLimits) {
  YamlLimits limits;
  limits.depth = 3;
  EXPECT_TRUE(parse("[[[1]]]", limits).root.has_value());
  EXPECT_FALSE(parse("[[[[1]]]]", limits).root.has_value());
  limits = {};
  limits.nodes = 4;
  EXPECT_TRUE(parse("[1,2,3]", limits).root.has_value());
  EXPECT_FALSE(parse("[1,2,3,4]", limits).root.has_value());
  limits = {};
  limits.bytes = 4;
  EXPECT_FALSE(parse("[1,2]", limits).root.has_value());
  EXPECT_FALSE(parse(std::string(1'000'000, '[')).root.has_value());
}

TEST(Json, EmbeddedTextHasTheLocationOfItsFile) {
  Diagnostics diagnostics;
  const SourceLocation place{3, 7, 12};
  const auto root = parse_json_text("{\"type\":\n \"sriov\"}", place, diagnostics);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find("type")->place, place);
  EXPECT_EQ(root->find("type")->scalar, "sriov");
  EXPECT_FALSE(parse_json_text("{\"type\" 1}", place, diagnostics).has_value());
  EXPECT_EQ(findings(diagnostics), "12:7 expected a colon after the key (byte 9 of the JSON text)\n");
}

}  // namespace
}  // namespace weft
