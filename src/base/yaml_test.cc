#include "base/yaml.h"

#include <gtest/gtest.h>

#include <string>

#include "base/quoting.h"
#include "base/random.h"

namespace weft {
namespace {

struct Parsed {
  Sources sources;
  Diagnostics diagnostics;
  FileId file = 0;
  std::optional<YamlNode> root;
};

Parsed parse(std::string text, const YamlLimits& limits = {}) {
  Parsed parsed;
  parsed.file = parsed.sources.add("f.yaml", std::move(text));
  parsed.root = parse_yaml(parsed.sources, parsed.file, parsed.diagnostics, limits);
  return parsed;
}

// "line:column message [hint]" for each diagnostic.
std::string findings(const Parsed& parsed) {
  std::string text;
  for (const Diagnostic& d : parsed.diagnostics.sorted()) {
    text += std::to_string(d.place.line) + ":" + std::to_string(d.place.column) + " " + d.message;
    if (!d.hint.empty()) text += " [" + d.hint + "]";
    text += "\n";
  }
  return text;
}

std::string findings_in(std::string text, const YamlLimits& limits = {}) {
  const Parsed parsed = parse(std::move(text), limits);
  EXPECT_FALSE(parsed.root.has_value());
  return findings(parsed);
}

// The tree as text: scalars plain or in quotes, null as ~.
std::string dump(const YamlNode& node) {
  std::string out;
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "~";
    case YamlNode::Kind::scalar:
      return node.quoted ? "'" + node.scalar + "'" : node.scalar;
    case YamlNode::Kind::sequence:
      for (const YamlNode& item : node.items) out += (out.empty() ? "" : " ") + dump(item);
      return "[" + out + "]";
    case YamlNode::Kind::mapping:
      for (const YamlEntry& entry : node.entries) out += (out.empty() ? "" : " ") + entry.key + "=" + dump(entry.value);
      return "{" + out + "}";
  }
  return out;
}

std::string dump_of(std::string text) {
  const Parsed parsed = parse(std::move(text));
  return parsed.root ? dump(*parsed.root) : "failed: " + findings(parsed);
}

TEST(Yaml, ReadsTheCore) {
  EXPECT_EQ(dump_of("a: 1\nb: [x, 'y', \"z\"]\nc:\n  - {d: e}\n  - ~\n"), "{a=1 b=[x 'y' 'z'] c=[{d=e} ~]}");
  EXPECT_EQ(dump_of("just text"), "just text");
  EXPECT_EQ(dump_of("a: |\n  two\n  lines\n"), "{a='two\nlines\n'}");
  EXPECT_EQ(dump_of("a: one\n  two\n"), "{a=one two}");
  EXPECT_EQ(dump_of("{\"json\": [1, 2.5, true, null]}"), "{json=[1 2.5 true ~]}");
  EXPECT_EQ(dump_of("%YAML 1.2\n---\na: 1\n...\n"), "{a=1}");
  EXPECT_EQ(dump_of("# c\n\n%YAML 1.2\n---\na: 1\n...\n# end\n...\n"), "{a=1}");
  EXPECT_EQ(dump_of("? a\n: 1\n"), "{a=1}");
}

TEST(Yaml, ReadsOnlyPlainWordsAsNull) {
  EXPECT_EQ(dump_of("[~, null, Null, NULL, '', '~', 'null', nULL]"), "[~ ~ ~ ~ '' '~' 'null' nULL]");
  EXPECT_EQ(dump_of("a:\nb: ''\n"), "{a=~ b=''}");
  EXPECT_EQ(dump_of("-\n-\n"), "[~ ~]");
  EXPECT_EQ(dump_of("null: x\n~: y\n"), "{null=x ~=y}");
}

TEST(Yaml, ReadsAnEmptyFileAsNull) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "--- ~\n...\n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(dump_of(text), "~") << text;
  }
}

TEST(Yaml, KeepsLocations) {
  const Parsed parsed = parse("a: 1\nlist:\n  - x\n  - k: v\nflow: {p: [q]}\n");
  ASSERT_TRUE(parsed.root);
  const FileId f = parsed.file;
  const YamlNode& root = *parsed.root;
  EXPECT_EQ(root.place, (SourceLocation{f, 1, 1}));
  EXPECT_EQ(root.entries[0].key_place, (SourceLocation{f, 1, 1}));
  EXPECT_EQ(root.entries[0].value.place, (SourceLocation{f, 4, 1}));
  EXPECT_EQ(root.entries[1].key_place, (SourceLocation{f, 1, 2}));
  EXPECT_EQ(root.entries[1].value.place, (SourceLocation{f, 3, 3}));
  EXPECT_EQ(root.entries[1].value.items[0].place, (SourceLocation{f, 5, 3}));
  EXPECT_EQ(root.entries[1].value.items[1].entries[0].value.place, (SourceLocation{f, 8, 4}));
  EXPECT_EQ(root.entries[2].value.place, (SourceLocation{f, 7, 5}));
  EXPECT_EQ(root.entries[2].value.entries[0].value.items[0].place, (SourceLocation{f, 12, 5}));
}

TEST(Yaml, CountsColumnsInBytes) {
  // u-umlaut is two bytes, the smiley four: `x` is the 7th character and the 10th byte after the opening.
  const Parsed parsed = parse("k: ['\xC3\xBC\xF0\x9F\x98\x80', x]");
  ASSERT_TRUE(parsed.root);
  EXPECT_EQ(parsed.root->entries[0].value.items[1].place, (SourceLocation{parsed.file, 15, 1}));
}

TEST(Yaml, CountsLinesLikeAnEditor) {
  // NEL, LS and PS end lines for libyaml, but not for an editor; CRLF ends one line, not two.
  const Parsed crlf = parse("a: 1\r\nb: \"x\r\n  y\"\r\nc: 3\r\n");
  ASSERT_TRUE(crlf.root);
  EXPECT_EQ(crlf.root->entries[1].value.scalar, "x y");
  EXPECT_EQ(crlf.root->entries[2].key_place, (SourceLocation{crlf.file, 1, 4}));
  EXPECT_EQ(crlf.root->entries[2].value.place, (SourceLocation{crlf.file, 4, 4}));

  const Parsed separators = parse("a: \"x\xC2\x85y\xE2\x80\xA8z\xE2\x80\xA9w\"\nb: 2\n");
  ASSERT_TRUE(separators.root);
  EXPECT_EQ(separators.root->entries[1].value.place, (SourceLocation{separators.file, 4, 2}));
}

TEST(Yaml, IgnoresAByteOrderMark) {
  const Parsed parsed = parse(
      "\xEF\xBB\xBF"
      "a: 1\nb: 2\n");
  ASSERT_TRUE(parsed.root) << findings(parsed);
  EXPECT_EQ(parsed.root->entries[0].value.place, (SourceLocation{parsed.file, 4, 1}));
}

TEST(Yaml, SaturatesColumns) {
  const Parsed parsed = parse("[" + std::string(70000, ' ') + "x]");
  ASSERT_TRUE(parsed.root);
  EXPECT_EQ(parsed.root->items[0].place.column, 65535);
}

TEST(Yaml, FindsKeys) {
  const Parsed parsed = parse("a: 1\nb: 2\n");
  ASSERT_TRUE(parsed.root);
  ASSERT_NE(parsed.root->find("b"), nullptr);
  EXPECT_EQ(parsed.root->find("b")->scalar, "2");
  EXPECT_EQ(parsed.root->find("c"), nullptr);
}

TEST(Yaml, RejectsAnchorsAliasesTagsAndMergeKeys) {
  EXPECT_EQ(findings_in("a: &x 1\n"), "1:4 anchor `&x` is not supported: write the value out where it is needed\n");
  EXPECT_EQ(findings_in("a: &x [1]\n"), "1:4 anchor `&x` is not supported: write the value out where it is needed\n");
  EXPECT_EQ(findings_in("a: *x\n"), "1:4 alias `*x` is not supported: write the value out here\n");
  EXPECT_EQ(findings_in("*x : 1\n"), "1:1 alias `*x` is not supported: write the value out here\n");
  EXPECT_EQ(findings_in("a: !!int 1\n"), "1:4 tag `!!int` is not supported: remove it\n");
  EXPECT_EQ(findings_in("a: !host {}\n"), "1:4 tag `!host` is not supported: remove it\n");
  EXPECT_EQ(findings_in("a: ! x\n"), "1:4 tag `!` is not supported: remove it\n");
  EXPECT_EQ(findings_in("a: !x%1by 1\n"), "1:4 tag `!x?y` is not supported: remove it\n");
  EXPECT_EQ(findings_in("<<: {a: 1}\n"), "1:1 merge key `<<` is not supported: write the merged keys out here\n");
  EXPECT_EQ(dump_of("'<<': 1\n"), "{<<=1}");
}

TEST(Yaml, ReportsAllErrorsInOneRun) {
  EXPECT_EQ(findings_in("a: &x 1\nb: *x\nc: !t 3\na: 4\n"),
            "1:4 anchor `&x` is not supported: write the value out where it is needed\n"
            "2:4 alias `*x` is not supported: write the value out here\n"
            "3:4 tag `!t` is not supported: remove it\n"
            "4:1 duplicate key `a` [the first one is on line 1]\n");
}

TEST(Yaml, RejectsDuplicateKeys) {
  EXPECT_EQ(findings_in("a: 1\nb: 2\na: 3\n\"a\": 4\n"),
            "3:1 duplicate key `a` [the first one is on line 1]\n"
            "4:1 duplicate key `a` [the first one is on line 1]\n");
  EXPECT_EQ(findings_in("x: {k: 1, k: 2}\n"), "1:11 duplicate key `k` [the first one is on line 1]\n");
  EXPECT_EQ(dump_of("x: {k: 1}\ny: {k: 1}\n"), "{x={k=1} y={k=1}}");
}

TEST(Yaml, RejectsKeysThatAreNotText) {
  EXPECT_EQ(findings_in("[a, b]: 1\n"), "1:1 a list cannot be a key: keys are text\n");
  EXPECT_EQ(findings_in("? {a: 1}\n: 1\n"), "1:3 a mapping cannot be a key: keys are text\n");
  EXPECT_EQ(findings_in("?\n: 1\n"), "1:2 a key is missing here [an empty key must be quoted: \"\"]\n");
  EXPECT_EQ(dump_of("'': 1\n"), "{=1}");
}

TEST(Yaml, RejectsASecondDocument) {
  EXPECT_EQ(findings_in("a: 1\n---\nb: 2\n"),
            "2:1 a second document starts here: a file must contain only one [move it to a separate file]\n");
  EXPECT_EQ(findings_in("a: 1\n...\nb: 2\n"), "3:1 did not find expected <document start>\n");
}

TEST(Yaml, RejectsDirectives) {
  EXPECT_EQ(findings_in("# x\n%TAG ! tag:x,2000:\n---\na: 1\n"),
            "2:1 directives are not supported: remove this line\n");
  EXPECT_EQ(findings_in("a: 1\n...\n# c\n%YAML 1.2\n---\nb: 1\n"),
            "4:1 directives are not supported: remove this line\n");
  EXPECT_EQ(dump_of("a: \"x\n%TAG y\"\n"), "{a='x %TAG y'}");
}

struct Broken {
  std::string text;
  std::string findings;
};

TEST(Yaml, ReportsTheLocationOfSyntaxErrors) {
  const Broken cases[] = {
      {"a: [1, 2\nb: 3\n",
       "2:2 did not find expected ',' or ']' while parsing a flow sequence [it starts on line 1]\n"},
      {"a: b: c\n",
       "1:5 mapping values are not allowed in this context [check the indentation, and quote text that contains "
       "`: `]\n"},
      {"a:\n\tb: 1\n",
       "2:1 found character that cannot start any token while scanning for the next token [indent with spaces, not "
       "with tabs]\n"},
      {"a: @x\n",
       "1:4 found character that cannot start any token while scanning for the next token [quote the text: "
       "\"...\"]\n"},
      {"a: \"x\n", "2:1 found unexpected end of stream while scanning a quoted scalar [it starts on line 1]\n"},
      {"a: 1\n  b: 2\n",
       "2:4 mapping values are not allowed in this context [check the indentation, and quote text that contains "
       "`: `]\n"},
      {"a: 1\nb\nc: 2\n",
       "3:1 could not find expected ':' while scanning a simple key [a key must be followed by a colon and a space]\n"},
      {"\xC3\xBC: \xC3\xBC: 1\n",
       "1:7 mapping values are not allowed in this context [check the indentation, and quote text that contains "
       "`: `]\n"},
  };
  for (const Broken& c : cases) EXPECT_EQ(findings_in(c.text), c.findings) << c.text;
}

TEST(Yaml, RejectsInvalidUtf8AndControlCharacters) {
  EXPECT_EQ(findings_in("a: 1\nb: \xFFx\n"),
            "2:4 the file is not UTF-8 text: invalid leading UTF-8 octet [save it as UTF-8]\n");
  EXPECT_EQ(findings_in("a: 1\r\n\xC3\xBC: \xC3(\n"),
            "2:6 the file is not UTF-8 text: invalid trailing UTF-8 octet [save it as UTF-8]\n");
  EXPECT_EQ(findings_in(std::string("a: \0b\n", 6)), "1:4 control character U+0000 in the file\n");
  EXPECT_EQ(findings_in("a: \x1b[2J\n"), "1:4 control character U+001B in the file\n");
  EXPECT_EQ(findings_in(std::string("\xFF\xFE"
                                    "a\0:\0",
                                    6)),
            "1:1 the file is not UTF-8 text: invalid leading UTF-8 octet [save it as UTF-8]\n");
}

TEST(Yaml, EnforcesItsLimits) {
  EXPECT_EQ(findings_in("a: 1234567\n", {8, 100, 64}), "0:0 the file exceeds the limit of 8 bytes\n");
  EXPECT_EQ(findings_in("[1, 2, 3]", {100, 3, 64}), "1:8 the file has more than 3 values, which is the limit\n");
  EXPECT_EQ(findings_in("[[[]]]", {100, 100, 2}), "1:3 nested more than 2 levels deep\n");
  EXPECT_TRUE(parse("[1, 2, 3]", {9, 4, 1}).root.has_value());
  EXPECT_EQ(findings_in("- 1\n", {100, 100, 0}), "1:1 nested more than 0 levels deep\n");
}

TEST(Yaml, ReadsTheDeepestAllowedNesting) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse(nested(64)).root.has_value());
  EXPECT_EQ(findings_in(nested(65)), "1:65 nested more than 64 levels deep\n");
  EXPECT_FALSE(parse(std::string(1 << 20, '[')).root.has_value());
  EXPECT_FALSE(parse(std::string(1 << 20, '{')).root.has_value());
}

std::string repeated(std::string_view piece, std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += piece;
  return text;
}

// None of these may take longer than n log n: quadratic time would be minutes instead of a second.
TEST(Yaml, StaysLinearOnHostileFiles) {
  std::string keys;
  std::string tags;
  for (int i = 0; i < 60000; ++i) {
    keys += std::string(8, 'k') + std::to_string(i) + ": 1\n";
    tags += "%TAG !" + std::to_string(i) + "! t\n";
  }
  EXPECT_TRUE(parse(keys).root.has_value());
  EXPECT_FALSE(parse(tags + "---\na: 1\n").root.has_value());
  EXPECT_FALSE(parse("a: 1\n...\n" + tags + "---\na: 1\n").root.has_value());
  EXPECT_TRUE(parse("[" + repeated("a,", 200000) + "a]").root.has_value());
  EXPECT_TRUE(parse("{a: [" + repeated("{b: \xC3\xBC}, ", 100000) + "]}").root.has_value());
  EXPECT_FALSE(parse(repeated("a: 1\n", 100000)).root.has_value());
  EXPECT_FALSE(parse("[" + repeated("*a ,", 100000) + "]").root.has_value());
  EXPECT_FALSE(parse(repeated("- ", 200000)).root.has_value());
  EXPECT_FALSE(parse(repeated("? ", 200000)).root.has_value());
  EXPECT_FALSE(parse(repeated("[a, ", 200000)).root.has_value());
  EXPECT_FALSE(parse(repeated("---\n", 200000)).root.has_value());
  EXPECT_TRUE(parse(repeated("# c\n", 200000)).root.has_value());
  EXPECT_TRUE(parse("a: \"" + repeated("x\n\n", 200000) + "\"").root.has_value());
  EXPECT_TRUE(parse("a: |\n" + repeated("  x\n\n", 200000)).root.has_value());
}

// Every reported location must exist in the file.
void expect_sound(const Parsed& parsed, const std::string& text) {
  if (!parsed.root.has_value()) {
    EXPECT_TRUE(parsed.diagnostics.has_errors()) << testing::PrintToString(text);
  }
  for (const Diagnostic& d : parsed.diagnostics.sorted()) {
    EXPECT_LE(d.place.column, parsed.sources.line(parsed.file, d.place.line).size() + 2)
        << testing::PrintToString(text) << d.message;
  }
}

TEST(Yaml, SurvivesArbitraryBytes) {
  static constexpr std::string_view kPieces[] = {"a",
                                                 ": ",
                                                 ":",
                                                 "- ",
                                                 "\n",
                                                 "\n  ",
                                                 "[",
                                                 "]",
                                                 "{",
                                                 "}",
                                                 ",",
                                                 "'",
                                                 "\"",
                                                 "|",
                                                 ">",
                                                 "&a ",
                                                 "*a",
                                                 "!t ",
                                                 "<<: ",
                                                 "? ",
                                                 "# ",
                                                 "%YAML 1.2\n",
                                                 "%TAG ! x\n",
                                                 "---\n",
                                                 "...\n",
                                                 "\r\n",
                                                 "\t",
                                                 "\xC3\xBC",
                                                 "\xC2\x85",
                                                 "\xE2\x80\xA8",
                                                 "\xEF\xBB\xBF",
                                                 "\xFF",
                                                 "\x01",
                                                 "\\x",
                                                 "~",
                                                 "null",
                                                 "1",
                                                 "\r"};
  RandomStream random(1, "yaml fuzz");
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const std::uint64_t count = random.below(24);
    for (std::uint64_t i = 0; i < count; ++i) {
      const bool any_byte = random.below(40) == 0;
      text += any_byte ? std::string(1, static_cast<char>(random.below(256)))
                       : std::string(kPieces[random.below(std::size(kPieces))]);
    }
    expect_sound(parse(text, {1000, 20, 4}), text);
    if (HasFailure()) return;
  }
}

TEST(YamlText, DescribesTheKind) {
  const Parsed parsed = parse("[{}, [], ~, x, '1', 1, -1.5e3, 0x1F, true, 400G, 'true']");
  ASSERT_TRUE(parsed.root);
  const char* expected[] = {"a mapping", "a list",   "nothing",   "text", "text", "a number",
                            "a number",  "a number", "a boolean", "text", "text"};
  ASSERT_EQ(parsed.root->items.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_STREQ(describe_kind(parsed.root->items[i]), expected[i]) << i;
  }
}

TEST(YamlText, LeavesHarmlessTextPlain) {
  for (const char* text : {"train001", "400G", "10.0.0.0/16", "10.0.0.1", "2001:db8::1", "a b", "a:b", "a#b", "1.6T",
                           "gr\xC3\xBC\xC3\x9F", "leaf-1", "x=1", "v1.2.3", "100ms", "it's", "2026 nodes", "4-way"}) {
    EXPECT_TRUE(is_plain_yaml_text(text)) << text;
    EXPECT_EQ(yaml_quote(text), text);
  }
}

TEST(YamlText, QuotesTextThatAnyParserCouldMisread) {
  for (const char* text :
       {"",      "~",    "null",  "NULL",     "true",         "False",       "yes",   "No",   "on",         "OFF",
        "y",     "n",    "1",     "-1",       "+1",           "1.5",         ".5",    "1e3",  "1_000",      "0x1F",
        "0o17",  "0b1",  "1:30",  "2:1",      "12:30:45",     ".inf",        "-.INF", ".nan", "2026-01-31", "<<",
        "=",     " a",   "a ",    "a: b",     "a:",           "a #b",        "#a",    "- a",  "-",          "-a",
        "? a",   ": a",  "[a",    "a]",       "{a",           "a, b",        "&a",    "*a",   "!a",         "|",
        ">",     "'a'",  "\"a\"", "%a",       "@a",           "`a`",         "---",   "...",  "a\nb",       "a\tb",
        "a\x01", "\x7F", "\xFF",  "\xC2\x85", "\xE2\x80\xA8", "\xEF\xBB\xBF"}) {
    EXPECT_FALSE(is_plain_yaml_text(text)) << testing::PrintToString(text);
  }
}

TEST(YamlText, RoundTripsThroughTheParser) {
  RandomStream random(7, "yaml text");
  static constexpr std::string_view kPieces[] = {"a",
                                                 " ",
                                                 ":",
                                                 "#",
                                                 "-",
                                                 "?",
                                                 "[",
                                                 "]",
                                                 "{",
                                                 "}",
                                                 ",",
                                                 "&",
                                                 "*",
                                                 "!",
                                                 "|",
                                                 ">",
                                                 "'",
                                                 "\"",
                                                 "%",
                                                 "@",
                                                 "`",
                                                 "\\",
                                                 "\n",
                                                 "\t",
                                                 "1",
                                                 ".",
                                                 "\r",
                                                 "null",
                                                 "true",
                                                 "\xC3\xBC",
                                                 "\x01",
                                                 "\x7F",
                                                 "\xC2\x85",
                                                 "\xE2\x80\xA8",
                                                 "\xEF\xBB\xBF",
                                                 "~"};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const std::uint64_t count = random.below(6);
    for (std::uint64_t i = 0; i < count; ++i) text += kPieces[random.below(std::size(kPieces))];
    const std::string quoted = yaml_quote(text);
    for (const std::string& file : {"k: " + quoted + "\n", "- " + quoted + "\n", "{k: [" + quoted + "]}\n"}) {
      const Parsed parsed = parse(file);
      ASSERT_TRUE(parsed.root) << file << findings(parsed);
      const YamlNode* node = &*parsed.root;
      while (node->kind != YamlNode::Kind::scalar) {
        ASSERT_TRUE(node->kind != YamlNode::Kind::null) << file;
        node = node->items.empty() ? &node->entries[0].value : node->items.data();
      }
      ASSERT_EQ(node->scalar, text) << file;
    }
  }
}

// One document per line, then the findings.
std::string stream_of(std::string text, const YamlLimits& limits = {}) {
  Parsed parsed;
  parsed.file = parsed.sources.add("f.yaml", std::move(text));
  std::string out;
  for (const YamlNode& node : parse_yaml_stream(parsed.sources, parsed.file, parsed.diagnostics, limits)) {
    out += dump(node) + "\n";
  }
  return out + findings(parsed);
}

TEST(YamlStream, ReturnsEveryNonEmptyDocument) {
  EXPECT_EQ(stream_of("a: 1\n---\n---\n# nothing\n---\nb: 2\n...\n"), "{a=1}\n{b=2}\n");
  EXPECT_EQ(stream_of("---\n- x\n--- text\n"), "[x]\ntext\n");
  EXPECT_EQ(stream_of(""), "");
  EXPECT_EQ(stream_of("{\"a\": [1, null]}"), "{a=[1 ~]}\n");
  EXPECT_EQ(stream_of("%YAML 1.1\n---\na: 1\n...\n%TAG ! tag:x,2000:\n---\nb: !y 2\n"), "{a=1}\n{b=2}\n");
}

TEST(YamlStream, KeepsLocationsAcrossDocuments) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("f.yaml", "a: 1\n---\nb:\n  c: 2\n");
  const auto documents = parse_yaml_stream(sources, file, diagnostics);
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[1].find("b")->find("c")->place, (SourceLocation{file, 6, 4}));
}

// The merge key examples are from yaml.org/type/merge.html.
TEST(YamlStream, ResolvesAnchorsAndMergeKeys) {
  EXPECT_EQ(stream_of("a: &x {p: 1}\nb: *x\nc: [*x, &y z, *y]\n"), "{a={p=1} b={p=1} c=[{p=1} z z]}\n");
  EXPECT_EQ(stream_of("- &CENTER {x: 1, y: 2}\n- &LEFT {x: 0, y: 2}\n- &BIG {r: 10}\n- <<: *CENTER\n  r: 10\n"
                      "- <<: [*CENTER, *BIG]\n  label: c\n- <<: [*BIG, *LEFT]\n  x: 1\n"),
            "[{x=1 y=2} {x=0 y=2} {r=10} {r=10 x=1 y=2} {label=c x=1 y=2 r=10} {x=1 r=10 y=2}]\n");
  EXPECT_EQ(stream_of("&k key: 1\nv: *k\n"), "{key=1 v=key}\n");
  EXPECT_EQ(stream_of("k: &k name\n*k : 2\n"), "{k=name name=2}\n");
  EXPECT_EQ(stream_of("\"<<\": {a: 1}\n"), "{<<={a=1}}\n");
  EXPECT_EQ(stream_of("a: &x 1\na2: &x 2\nb: *x\n"), "{a=1 a2=2 b=2}\n");
}

TEST(YamlStream, RejectsAliasesWithoutAnchor) {
  EXPECT_EQ(stream_of("a: *x\n"), "1:4 undefined alias `*x`: no complete value before it has this anchor\n");
  EXPECT_EQ(stream_of("a: &x [*x]\n"), "1:8 undefined alias `*x`: no complete value before it has this anchor\n");
  EXPECT_EQ(stream_of("a: &x 1\n---\nb: *x\n"),
            "{a=1}\n3:4 undefined alias `*x`: no complete value before it has this anchor\n");
  EXPECT_EQ(stream_of("<<: 3\n"), "1:1 merge key `<<` takes a mapping or a list of mappings\n");
  EXPECT_EQ(stream_of("? [a]\n: 1\n"), "1:3 a key must be text\n");
}

TEST(YamlStream, WarnsAboutDuplicateKeysAndUsesTheLast) {
  EXPECT_EQ(stream_of("a: 1\nb: 2\na: 3\n"),
            "{b=2 a=3}\n1:1 duplicate key `a`: the last one is used [the last one is on line 3]\n");
}

TEST(YamlStream, StopsAliasBombs) {
  std::string laughs = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*l" + std::to_string(i - 1);
    laughs += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [";
    for (int n = 0; n < 10; ++n) laughs += (n == 0 ? "" : ", ") + before;
    laughs += "]\n";
  }
  const std::string found = stream_of(laughs, {1U << 20U, 10'000, 64});
  EXPECT_NE(found.find("limit of 10000 values"), std::string::npos) << found;
  // Few nodes, many bytes.
  std::string large = "t: &t " + std::string(1000, 'x') + "\nl: [";
  for (int n = 0; n < 500; ++n) large += "*t, ";
  EXPECT_NE(stream_of(large + "]\n", {100'000, 1'000'000, 64}).find("or 100000 bytes"), std::string::npos);
  // Few of both, but deep.
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 30; ++i) {
    deep += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_NE(stream_of(deep, {100'000, 1'000'000, 16}).find("nested more than 16 levels deep"), std::string::npos);
}

TEST(YamlStream, ReturnsDocumentsBeforeAnError) {
  EXPECT_EQ(stream_of("a: 1\n---\nb: [\n").substr(0, 10), "{a=1}\n4:1 ");
  EXPECT_NE(stream_of("a: 1\n", {2, 100, 64}).find("limit of 2 bytes"), std::string::npos);
  std::string tags;
  for (int i = 0; i < 101; ++i) tags += "%TAG !a" + std::to_string(i) + "! tag:x:\n";
  EXPECT_EQ(stream_of(tags + "---\na: 1\n"), "101:1 too many directives\n");
}

TEST(YamlStream, DoesNotAffectTheStrictReader) {
  EXPECT_FALSE(parse("a: &x 1\nb: *x\n").root.has_value());
  EXPECT_FALSE(parse("a: 1\n---\nb: 1\n").root.has_value());
}

}  // namespace
}  // namespace weft
