#include "model/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"

namespace weft::model {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kGood = "weft: 1\nname: demo\npools:\n  - {name: train, server: hgx-h100, count: 4}\n";
constexpr const char* kMine =
    "references: {mine: {title: measured, publisher: us}}\n"
    "pdus: [{id: my-pdu, name: x, vendor: us, source: mine, rating: 20kW, outlets: 24}]\n";

class LoadTest : public ::testing::Test {
 protected:
  LoadTest() {
    std::string pattern = (fs::temp_directory_path() / "weft-load-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~LoadTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string file(const std::string& name, const std::string& text) {
    std::string path = (folder_ / name).string();
    EXPECT_TRUE(write_file(path, text).ok());
    return path;
  }

  fs::path folder_;
};

TEST_F(LoadTest, CompilesAFile) {
  const auto loaded = load_cluster(file("c.yaml", kGood), {});
  EXPECT_FALSE(loaded->read_error.has_value());
  EXPECT_FALSE(loaded->diagnostics.has_errors());
  ASSERT_NE(loaded->cluster, nullptr);
  EXPECT_EQ(loaded->cluster->name(), "demo");
  EXPECT_EQ(loaded->cluster->gpu_count(), 32U);
  ASSERT_TRUE(loaded->spec);
  EXPECT_EQ(loaded->spec->pools->size(), 1U);
}

TEST_F(LoadTest, AcceptsAByteOrderMark) {
  const auto loaded = load_cluster_text("c.yaml", std::string("\xEF\xBB\xBF") + kGood);
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
}

TEST_F(LoadTest, ReportsAFileThatCannotBeRead) {
  const auto missing = load_cluster((folder_ / "none.yaml").string(), {});
  ASSERT_TRUE(missing->read_error.has_value());
  EXPECT_THAT(missing->read_error->where, HasSubstr("none.yaml"));
  EXPECT_EQ(missing->cluster, nullptr);
  EXPECT_FALSE(missing->spec);
  const auto folder = load_cluster(folder_.string(), {});
  EXPECT_TRUE(folder->read_error.has_value());
  const auto catalog = load_cluster(file("c.yaml", kGood), {(folder_ / "none.yaml").string()});
  ASSERT_TRUE(catalog->read_error.has_value());
  EXPECT_THAT(catalog->read_error->where, HasSubstr("none.yaml"));
  EXPECT_EQ(catalog->cluster, nullptr);
}

TEST_F(LoadTest, NamesTheFormatOfAnotherFile) {
  const auto loaded = load_cluster_text("j.yaml", "# comment\njob: 1\nname: a\n");
  EXPECT_EQ(loaded->cluster, nullptr);
  EXPECT_THAT(render_all(loaded->diagnostics, loaded->sources, false),
              HasSubstr("j.yaml:2:1: error: this is a job file, not a cluster file\n"));
}

TEST_F(LoadTest, ShowsTheGivenPathInMessages) {
  const auto loaded = load_cluster_text("my.yaml", "weft: 1\nname: demo\npools: []\n");
  EXPECT_EQ(loaded->cluster, nullptr);
  EXPECT_FALSE(loaded->spec);
  EXPECT_THAT(render_all(loaded->diagnostics, loaded->sources, false), HasSubstr("my.yaml:3:8: error: "));
}

TEST_F(LoadTest, UsesTheUsersCatalog) {
  const std::string catalog = file("mine.yaml", kMine);
  const std::string text = std::string(kGood) + "site: {pdu: my-pdu}\n";
  EXPECT_EQ(load_cluster_text("c.yaml", text)->cluster, nullptr);
  const auto loaded = load_cluster_text("c.yaml", text, {catalog});
  ASSERT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  EXPECT_NE(loaded->cluster->catalog().pdu("my-pdu"), nullptr);
}

TEST_F(LoadTest, LaterCatalogReplacesAnEarlierOne) {
  const std::string first = file("first.yaml", kMine);
  const std::string second =
      file("second.yaml", "pdus: [{id: my-pdu, name: y, vendor: us, source: mine, rating: 30kW, outlets: 12}]\n");
  const auto loaded = load_catalog({first, second});
  ASSERT_NE(loaded->catalog, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  EXPECT_EQ(loaded->catalog->pdu("my-pdu")->rating.value, watts(30'000));
}

TEST_F(LoadTest, InvalidCatalogPreventsLoadingTheCluster) {
  const auto loaded = load_cluster(file("c.yaml", "not: a cluster\n"), {file("mine.yaml", "pdus: 3\n")});
  EXPECT_EQ(loaded->catalog, nullptr);
  EXPECT_EQ(loaded->cluster, nullptr);
  EXPECT_EQ(loaded->diagnostics.error_count(), 1U) << render_all(loaded->diagnostics, loaded->sources, false);
}

TEST_F(LoadTest, ReturnsTheSameClusterEachTime) {
  const auto one = load_cluster_text("c.yaml", kGood);
  const auto two = load_cluster_text("c.yaml", kGood);
  ASSERT_NE(one->cluster, nullptr);
  ASSERT_NE(two->cluster, nullptr);
  ASSERT_EQ(one->cluster->ports().size(), two->cluster->ports().size());
  for (std::size_t i = 0; i < one->cluster->ports().size(); ++i) {
    const auto id = static_cast<PortId>(i);
    EXPECT_EQ(one->cluster->full_port_name(id), two->cluster->full_port_name(id));
    EXPECT_EQ(one->cluster->port(id).address, two->cluster->port(id).address);
  }
}

}  // namespace
}  // namespace weft::model
