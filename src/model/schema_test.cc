#include "model/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/test_places.h"
#include "model/load.h"

namespace weft::model {
namespace {

using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Json cluster_schema() { return Json::parse(json_schema(schema_of<Spec>(), "weft cluster")); }

// The description of `key` in record `name` ("" for the file itself).
Json property(const Json& schema, const std::string& name, const std::string& key) {
  const Json& record = name.empty() ? schema : schema.at("$defs").at(name);
  return record.at("properties").at(key);
}

TEST(JsonSchema, DescribesItself) {
  const Json schema = cluster_schema();
  EXPECT_EQ(schema.at("$schema"), "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema.at("title"), "weft cluster");
  EXPECT_EQ(schema.at("type"), "object");
  EXPECT_EQ(schema.at("additionalProperties"), false);
}

TEST(JsonSchema, ListsRequiredKeys) {
  const Json schema = cluster_schema();
  EXPECT_EQ(schema.at("required"), Json({"weft", "name", "pools"}));
  EXPECT_EQ(schema.at("$defs").at("pool").at("required"), Json({"name", "server", "count"}));
  EXPECT_EQ(schema.at("$defs").at("volume").at("required"), Json({"name", "size"}));
  EXPECT_FALSE(schema.at("$defs").at("fabric").contains("required"));
}

TEST(JsonSchema, HasChoicesAndRanges) {
  const Json schema = cluster_schema();
  EXPECT_EQ(property(schema, "", "profile").at("enum"), Json({"split", "converged"}));
  EXPECT_THAT(property(schema, "fabric", "tiers").at("enum"), Contains(Json(2))) << "editors see 2 as a number";
  EXPECT_THAT(property(schema, "fabric", "tiers").at("enum"), Contains(Json("2")));
  EXPECT_EQ(property(schema, "fabric", "mtu").at("minimum"), 576);
  EXPECT_EQ(property(schema, "fabric", "mtu").at("maximum"), 65520);
  EXPECT_EQ(property(schema, "oob", "spare_percent").at("minimum"), 0);
  EXPECT_EQ(property(schema, "qos", "lossless").at("type"), "boolean");
  EXPECT_EQ(property(schema, "pool", "labels").at("additionalProperties").at("type"), "string");
  EXPECT_EQ(property(schema, "", "pools").at("items").at("$ref"), "#/$defs/pool");
}

void collect_references(const Json& node, std::set<std::string>& out) {
  if (node.is_object() && node.contains("$ref")) out.insert(node.at("$ref").get<std::string>());
  for (const Json& child : node) {
    if (child.is_structured()) collect_references(child, out);
  }
}

TEST(JsonSchema, DefinesEverythingItRefersTo) {
  for (const Schema* root : {&schema_of<Spec>(), &schema_of<CatalogFile>()}) {
    const Json schema = Json::parse(json_schema(*root, "x"));
    std::set<std::string> references;
    collect_references(schema, references);
    EXPECT_GT(references.size(), 8U);
    for (const std::string& reference : references) {
      EXPECT_TRUE(schema.contains(Json::json_pointer(reference.substr(1)))) << reference;
    }
  }
}

TEST(JsonSchema, ExplainsEveryKey) {
  for (const Schema* root : {&schema_of<Spec>(), &schema_of<CatalogFile>()}) {
    const Json schema = Json::parse(json_schema(*root, "x"));
    for (const auto& [name, record] : schema.at("$defs").items()) {
      EXPECT_NE(record.at("description"), "") << name;
      for (const auto& [key, value] : record.at("properties").items()) {
        EXPECT_TRUE(value.contains("description") && value.at("description") != "") << name << "." << key;
      }
    }
  }
}

// Everything that a user may write must match the patterns that editors check.
TEST(JsonSchema, PatternsAcceptWhatTheParserAccepts) {
  const auto pattern = [](const ValueType& type) { return type.pattern; };
  EXPECT_THAT("400G", ::testing::ContainsRegex(pattern(Codec<BitRate>::describe())));
  EXPECT_THAT("400Gb/s", ::testing::ContainsRegex(pattern(Codec<BitRate>::describe())));
  EXPECT_THAT("80GiB", ::testing::ContainsRegex(pattern(Codec<Bytes>::describe())));
  EXPECT_THAT("10Ti", ::testing::ContainsRegex(pattern(Codec<Bytes>::describe())));
  EXPECT_THAT("10.2kW", ::testing::ContainsRegex(pattern(Codec<Power>::describe())));
  EXPECT_THAT("50cm", ::testing::ContainsRegex(pattern(Codec<Length>::describe())));
  EXPECT_THAT("2:1", ::testing::ContainsRegex(pattern(Codec<Ratio>::describe())));
  EXPECT_THAT("4x200G", ::testing::ContainsRegex(pattern(Codec<Breakout>::describe())));
  EXPECT_THAT("fd00:60::/48", ::testing::ContainsRegex(pattern(Codec<Ipv6Prefix>::describe())));
  EXPECT_THAT("400", Not(::testing::ContainsRegex(pattern(Codec<BitRate>::describe()))));
}

// --- the effective file ---

std::string without_comments(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    for (const char* comment : {"# default", "# derived"}) {
      if (line.ends_with(comment)) line.resize(line.size() - std::string_view(comment).size());
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    at = end + 1;
  }
  return out;
}

// Writes the effective file of `text`, parses it again and expects the same effective file and the same cluster.
void expect_stable(const std::string& text) {
  const auto first = load_cluster_text("cluster.yaml", text);
  ASSERT_TRUE(first->spec) << render_all(first->diagnostics, first->sources, false);
  const std::string effective = write_effective(*first->spec);
  const auto second = load_cluster_text("effective.yaml", effective);
  ASSERT_TRUE(second->spec) << render_all(second->diagnostics, second->sources, false);
  EXPECT_EQ(without_comments(write_effective(*second->spec)), without_comments(effective));
  ASSERT_NE(first->cluster, nullptr);
  ASSERT_NE(second->cluster, nullptr) << render_all(second->diagnostics, second->sources, false);
  EXPECT_EQ(second->cluster->devices().size(), first->cluster->devices().size());
  EXPECT_EQ(second->cluster->cables().size(), first->cluster->cables().size());
}

constexpr const char* kPlain = R"(
weft: 1
name: demo
pools:
  - {name: train, server: hgx-h100, count: 4}
  - {name: infra, role: infrastructure, server: control-1u, count: 3, labels: {zone: a, "team/x": "yes"}}
  - {name: store, role: storage, server: storage-nvme-2u, count: 8}
fabrics:
  backend: {wiring: rail-optimized, ipv6: "fd00:60::/48", media: [fibre]}
  oob: {syslog: "udp://10.128.0.16:514 # main"}
storage:
  - name: fs
    pool: store
    volumes: [{name: data, size: 1.5TB, snapshots: 90m}]
tenants: [{name: team, quota: {gpus: 8, memory: 2TiB}}]
)";

TEST(Effective, MarksValuesTheUserDidNotWrite) {
  const auto loaded = load_cluster_text("cluster.yaml", kPlain);
  ASSERT_TRUE(loaded->spec) << render_all(loaded->diagnostics, loaded->sources, false);
  const std::string text = write_effective(*loaded->spec);
  EXPECT_THAT(text, ::testing::ContainsRegex("\nname: demo\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\nprofile: converged +# default\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n +mtu: 9000 +# derived\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n +wiring: rail-optimized\n"));
  EXPECT_THAT(text, Not(HasSubstr("\t")));
}

TEST(Effective, ParsesBackUnchanged) { expect_stable(kPlain); }

TEST(Effective, ParsesBackForTheExample) {
  const auto text = load_cluster(source_dir() + "/examples/pod32.yaml", {});
  ASSERT_TRUE(text->spec);
  expect_stable(write_effective(*text->spec));
}

constexpr const char* kSmall = "weft: 1\nname: demo\npools:\n  - {name: train, server: hgx-h100, count: 4";

TEST(Effective, KeepsTheChosenFormOfTheBackend) { expect_stable(std::string(kSmall) + "}\n"); }

TEST(Effective, ParsesBackWithUplinks) {
  expect_stable(std::string(kSmall) + "}\nfabrics: {backend: {wiring: rail-optimized, uplinks: 4}}\n");
}

TEST(Effective, ParsesBackWithFewStorageTargets) {
  expect_stable(std::string(kSmall) +
                ", unit: 4}\n  - {name: store, role: storage, server: storage-nvme-2u, count: 2}\n"
                "fabrics: {backend: {wiring: rail-optimized}}\nstorage: [{name: fs, pool: store}]\n");
}

TEST(Effective, ParsesBackWithAnEmptyRecord) {
  expect_stable(std::string(kSmall) + "}\nfabrics: {backend: {wiring: rail-optimized}}\ntenants: [{name: team}]\n");
}

TEST(Effective, QuotesKeysThatNeedIt) {
  expect_stable(std::string(kSmall) +
                ", labels: {\"a: b\": c, \"#x\": y, \"\": z}}\nfabrics: {backend: {wiring: rail-optimized}}\n");
}

// --- reading ---

struct Read {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<Spec> spec;
};

Read read(const std::string& text) {
  Read out;
  const FileId file = out.sources.add("cluster.yaml", text);
  if (const auto root = parse_yaml(out.sources, file, out.diagnostics)) out.spec = read_spec(*root, out.diagnostics);
  return out;
}

TEST(ReadSpec, KeepsLocationsAndOrigins) {
  const Read result = read("weft: 1\nname: demo\npools:\n  - name: train\n    server: hgx-h100\n    count: 4\n");
  ASSERT_TRUE(result.spec);
  const PoolSpec& pool = result.spec->pools->front();
  EXPECT_EQ(pool.count.value, 4);
  EXPECT_EQ(pool.count.place.line, 6U);
  EXPECT_EQ(pool.count.place.column, 12U);
  EXPECT_TRUE(pool.count.from_file());
  EXPECT_EQ(pool.role.origin, Origin::fallback);
  EXPECT_EQ(pool.unit.origin, Origin::unset);
  EXPECT_EQ(result.spec->profile.origin, Origin::fallback);
}

TEST(ReadSpec, ReturnsNoSpecOnAnyError) {
  EXPECT_FALSE(read("weft: 1\nname: demo\npools: []\nextra: 1\n").spec);
  EXPECT_FALSE(read("").spec);
  EXPECT_FALSE(read("[]").spec);
}

TEST(ReadSpec, ReportsEverythingInOneRun) {
  const Read result = read("weft: 9\nname: a b\nprofile: x\npools: [{count: 0}]\nsite: 3\n");
  std::vector<std::uint32_t> lines;
  for (const Diagnostic& one : result.diagnostics.sorted()) lines.push_back(one.place.line);
  EXPECT_THAT(lines, ElementsAre(1, 2, 3, 4, 4, 4, 5)) << render_all(result.diagnostics, result.sources, false);
}

TEST(ReadSpec, AcceptsAByteOrderMarkAndWindowsLineEnds) {
  EXPECT_TRUE(read("\xEF\xBB\xBFweft: 1\r\nname: demo\r\npools:\r\n  - {name: a, server: b, count: 1}\r\n").spec);
}

}  // namespace
}  // namespace weft::model
