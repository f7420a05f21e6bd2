#include "base/document.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/yaml.h"

namespace weft {
namespace {

using Align = Column::Align;

Document sample() {
  FactsSection facts{"totals", "Totals", {}};
  facts.facts.push_back({"gpus", "GPUs", Cell(1024)});
  facts.facts.push_back({"power_w", "Power drawn", Cell(std::int64_t{1230000}, "1.23MW")});
  facts.facts.push_back({"site", "Site", Cell()});
  TableSection table{"links", "Links", {}, {}};
  table.columns = {{"from", "FROM", Align::left, false},
                   {"speed_bps", "SPEED", Align::right, false},
                   {"up", "UP", Align::left, false},
                   {"note", "NOTE", Align::left, true}};
  table.rows.push_back({"leaf1", Cell(std::int64_t{400000000000}, "400G"), true, "a, \"b\""});
  table.rows.push_back({"gr\xC3\xBC\xC3\x9F", 100, false, Cell()});
  return {"summary", {facts, table}, {"One note.", "Two notes."}};
}

std::string written(const Document& document, OutputFormat format, bool color = false) {
  return write(document, {format, color});
}

TEST(Document, WritesTables) {
  EXPECT_EQ(written(sample(), OutputFormat::table),
            "Totals\n"
            "GPUs:         1024\n"
            "Power drawn:  1.23MW\n"
            "Site:         -\n"
            "\n"
            "Links\n"
            "FROM   SPEED  UP\n"
            "leaf1   400G  yes\n"
            "gr\xC3\xBC\xC3\x9F     100  no\n"
            "\n"
            "One note.\n"
            "Two notes.\n");
}

TEST(Document, ShowsWideColumnsOnRequest) {
  const std::string text = written(sample(), OutputFormat::wide);
  EXPECT_NE(text.find("FROM   SPEED  UP   NOTE\nleaf1   400G  yes  a, \"b\"\n"), std::string::npos);
  EXPECT_NE(text.find("     100  no   -\n"), std::string::npos);
}

TEST(Document, AlignsByDisplayWidth) {
  TableSection table{"t", "", {{"a", "A", Align::left, false}, {"b", "B", Align::right, false}}, {}};
  table.rows = {{"\xE6\x97\xA5\xE6\x9C\xAC", 1}, {"e\xCC\x81", 22}};
  EXPECT_EQ(written({"k", {table}, {}}, OutputFormat::table),
            "A      B\n"
            "\xE6\x97\xA5\xE6\x9C\xAC   1\n"
            "e\xCC\x81     22\n");
}

TEST(Document, WritesNoTrailingSpaces) {
  TableSection table{"t", "", {{"a", "A", Align::left, false}, {"b", "", Align::left, false}}, {}};
  table.rows = {{"long text", "x"}, {"y"}};
  const std::string text = written({"k", {table}, {}}, OutputFormat::table);
  EXPECT_EQ(text, "A\nlong text  x\ny          -\n");
}

TEST(Document, KeepsCellsOnOneLine) {
  TableSection table{"t", "", {{"a", "A", Align::left, false}}, {}};
  table.rows = {{"a\nb\x1b[31m"}};
  EXPECT_EQ(written({"k", {table}, {}}, OutputFormat::table), "A\na?b?[31m\n");
}

TEST(Document, PaintsHeadingsOnlyOnRequest) {
  EXPECT_EQ(written(sample(), OutputFormat::table, false).find('\x1b'), std::string::npos);
  const std::string text = written(sample(), OutputFormat::table, true);
  EXPECT_NE(text.find("\x1b[1mLinks\x1b[0m\n\x1b[1mFROM   SPEED  UP\x1b[0m\nleaf1"), std::string::npos);
  EXPECT_EQ(written(sample(), OutputFormat::json, true).find('\x1b'), std::string::npos);
}

TEST(Document, WritesJson) {
  EXPECT_EQ(written(sample(), OutputFormat::json),
            R"({
  "schema_version": 1,
  "kind": "summary",
  "totals": {
    "gpus": 1024,
    "power_w": 1230000,
    "site": null
  },
  "links": [
    {
      "from": "leaf1",
      "speed_bps": 400000000000,
      "up": true,
      "note": "a, \"b\""
    },
    {
      "from": "grüß",
      "speed_bps": 100,
      "up": false,
      "note": null
    }
  ],
  "notes": [
    "One note.",
    "Two notes."
  ]
}
)");
}

TEST(Document, WritesEmptyDocuments) {
  const Document document = {"none", {FactsSection{"f", "", {}}, TableSection{"t", "T", {{"a", "A"}}, {}}}, {}};
  EXPECT_EQ(written(document, OutputFormat::json),
            "{\n  \"schema_version\": 1,\n  \"kind\": \"none\",\n  \"f\": {},\n  \"t\": [],\n  \"notes\": []\n}\n");
  EXPECT_EQ(written(document, OutputFormat::yaml), "schema_version: 1\nkind: none\nf: {}\nt: []\nnotes: []\n");
  EXPECT_EQ(written(document, OutputFormat::ndjson), "");
  EXPECT_EQ(written(document, OutputFormat::csv), "section,key,value,a\r\n");
  EXPECT_EQ(written(document, OutputFormat::table), "T\nA\n");
  EXPECT_EQ(written({"none", {}, {"Nothing."}}, OutputFormat::table), "Nothing.\n");
  EXPECT_EQ(written({"none", {}, {}}, OutputFormat::csv), "");
}

TEST(Document, WritesYaml) {
  EXPECT_EQ(written(sample(), OutputFormat::yaml),
            R"(schema_version: 1
kind: summary
totals:
  gpus: 1024
  power_w: 1230000
  site: null
links:
  - from: leaf1
    speed_bps: 400000000000
    up: true
    note: "a, \"b\""
  - from: grüß
    speed_bps: 100
    up: false
    note: null
notes:
  - One note.
  - Two notes.
)");
}

// JSON is a subset of YAML, so the parser must produce the same tree for both.
TEST(Document, YamlAndJsonHaveTheSameContent) {
  Sources sources;
  Diagnostics diagnostics;
  const auto tree = [&](OutputFormat format) {
    return parse_yaml(sources, sources.add("out", written(sample(), format)), diagnostics);
  };
  const std::optional<YamlNode> yaml = tree(OutputFormat::yaml);
  const std::optional<YamlNode> json = tree(OutputFormat::json);
  ASSERT_TRUE(yaml.has_value());
  ASSERT_TRUE(json.has_value());
  ASSERT_EQ(yaml->entries.size(), json->entries.size());
  for (std::size_t i = 0; i < yaml->entries.size(); ++i) EXPECT_EQ(yaml->entries[i].key, json->entries[i].key);
  EXPECT_EQ(yaml->find("links")->items[0].find("note")->scalar, "a, \"b\"");
  EXPECT_EQ(json->find("links")->items[0].find("note")->scalar, "a, \"b\"");
}

TEST(Document, WritesOneObjectPerLine) {
  EXPECT_EQ(written(sample(), OutputFormat::ndjson),
            R"({"schema_version":1,"kind":"summary","section":"totals","key":"gpus","value":1024}
{"schema_version":1,"kind":"summary","section":"totals","key":"power_w","value":1230000}
{"schema_version":1,"kind":"summary","section":"totals","key":"site","value":null}
{"schema_version":1,"kind":"summary","section":"links","from":"leaf1","speed_bps":400000000000,"up":true,"note":"a, \"b\""}
{"schema_version":1,"kind":"summary","section":"links","from":"grüß","speed_bps":100,"up":false,"note":null}
)");
}

TEST(Document, NeverWritesAKeyTwice) {
  TableSection table{"t", "", {{"kind", "KIND"}, {"section", "SECTION"}, {"schema_version", "V"}}, {}};
  table.rows = {{"switch", "a", 7}};
  EXPECT_EQ(written({"k", {table}, {}}, OutputFormat::ndjson),
            "{\"kind\":\"switch\",\"section\":\"a\",\"schema_version\":7}\n");
  EXPECT_EQ(written({"k", {table}, {}}, OutputFormat::csv), "kind,section,schema_version\r\nswitch,a,7\r\n");
}

// RFC 4180: CRLF, the same number of fields in every line, quotes doubled.
TEST(Document, WritesCsv) {
  EXPECT_EQ(written(sample(), OutputFormat::csv),
            "section,key,value,from,speed_bps,up,note\r\n"
            "totals,gpus,1024,,,,\r\n"
            "totals,power_w,1230000,,,,\r\n"
            "totals,site,,,,,\r\n"
            "links,,,leaf1,400000000000,true,\"a, \"\"b\"\"\"\r\n"
            "links,,,gr\xC3\xBC\xC3\x9F,100,false,\r\n");
}

TEST(Document, QuotesCsvAsInRfc4180) {
  TableSection table{"t", "", {{"a", "A"}}, {}};
  table.rows = {{"plain"}, {"aaa,bbb"}, {"b\r\nbb"}, {"b\"bb"}, {"\n"}, {" blank "}, {""}};
  EXPECT_EQ(written({"k", {table}, {}}, OutputFormat::csv),
            "a\r\nplain\r\n\"aaa,bbb\"\r\n\"b\r\nbb\"\r\n\"b\"\"bb\"\r\n"
            "\"\n\"\r\n blank \r\n\r\n");
}

TEST(Document, FillsShortRowsWithEmptyCells) {
  TableSection table{"t", "", {{"a", "A"}, {"b", "B"}}, {}};
  table.rows = {{"x"}, {}, {"1", "2", "3"}};
  const Document document = {"k", {table}, {}};
  EXPECT_EQ(written(document, OutputFormat::table), "A  B\nx  -\n-  -\n1  2\n");
  EXPECT_EQ(written(document, OutputFormat::csv), "a,b\r\nx,\r\n,\r\n1,2\r\n");
}

struct Real {
  double value;
  const char* json;
  const char* yaml;
};

TEST(Document, WritesTheShortestDoubles) {
  const Real cases[] = {{0.1, "0.1", "0.1"},
                        {1.0 / 3.0, "0.3333333333333333", "0.3333333333333333"},
                        {3.0, "3", "3"},
                        {-0.5, "-0.5", "-0.5"},
                        {1e300, "1e+300", "1.0e+300"},
                        {1.5e-9, "1.5e-09", "1.5e-09"},
                        {5e-324, "5e-324", "5.0e-324"},
                        {std::numeric_limits<double>::quiet_NaN(), "null", "null"},
                        {std::numeric_limits<double>::infinity(), "null", "null"}};
  for (const Real& c : cases) {
    const Document document = {"k", {FactsSection{"f", "", {{"x", "X", Cell(c.value)}}}}, {}};
    EXPECT_NE(written(document, OutputFormat::json).find(std::string("\"x\": ") + c.json + "\n"), std::string::npos);
    EXPECT_NE(written(document, OutputFormat::yaml).find(std::string("x: ") + c.yaml + "\n"), std::string::npos);
  }
}

TEST(Document, WritesManyRowsInOneGo) {
  TableSection table{"t", "", {{"name", "NAME"}, {"n", "N", Align::right, false}}, {}};
  for (std::int64_t i = 0; i < 300000; ++i) table.rows.push_back({"host", i});
  const Document document = {"k", {std::move(table)}, {}};
  for (const OutputFormat format :
       {OutputFormat::table, OutputFormat::json, OutputFormat::yaml, OutputFormat::ndjson, OutputFormat::csv}) {
    EXPECT_GT(written(document, format).size(), 300000U * 12U);
  }
}

TEST(DisplayWidth, CountsTerminalColumns) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("gr\xC3\xBC\xC3\x9F"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);
  EXPECT_EQ(display_width("\xE6\x97\xA5\xE6\x9C\xAC"), 4U);
  EXPECT_EQ(display_width("\xED\x95\x9C"), 2U);      // Hangul
  EXPECT_EQ(display_width("\xEF\xBC\xA1"), 2U);      // full-width A
  EXPECT_EQ(display_width("\xF0\x9F\x98\x80"), 2U);  // emoji
  EXPECT_EQ(display_width("\xFF\xFE"), 2U);          // invalid bytes
}

}  // namespace
}  // namespace weft
