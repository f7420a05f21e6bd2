#include "render/core/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "model/load.h"

namespace weft::render {
namespace {

constexpr const char* kCluster = R"(weft: 1
name: small
pools:
  - {name: train, server: hgx-h100, count: 8}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
fabrics:
  backend: {leaf: sn5600, tiers: 2}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c}
)";

ManifestEntry entry(const std::string& path, const std::string& device, Stage stage) {
  RenderedFile file;
  file.path = path;
  file.content = path;
  file.device = device;
  file.stage = stage;
  file.risk = Risk::traffic;
  file.sources = {"fabrics.backend"};
  return manifest_entry(file, "sonic");
}

TEST(Manifest, OutOfBandFirstThenOneSwitchAtATimeSpinesBeforeLeaves) {
  const auto loaded = model::load_cluster_text("c.yaml", kCluster);
  ASSERT_NE(loaded->cluster, nullptr);
  Manifest manifest;
  manifest.files = {entry("host/train/x", "train", Stage::hosts),
                    entry("sonic/be-train-u001-leaf1", "be-train-u001-leaf1", Stage::backend),
                    entry("sonic/be-spine002", "be-spine002", Stage::backend),
                    entry("sonic/be-spine001", "be-spine001", Stage::backend),
                    entry("sonic/be-spine001-more", "be-spine001", Stage::backend),
                    entry("nxos/oob-leaf001", "oob-leaf001", Stage::oob)};
  finish(manifest, *loaded->cluster);
  std::vector<std::pair<std::uint32_t, std::string>> orders;
  for (const ManifestEntry& one : manifest.files) orders.emplace_back(one.order, one.path);
  std::sort(orders.begin(), orders.end());
  EXPECT_THAT(orders,
              ::testing::ElementsAre(
                  std::pair(1U, std::string("nxos/oob-leaf001")), std::pair(2U, std::string("sonic/be-spine001")),
                  std::pair(2U, std::string("sonic/be-spine001-more")), std::pair(3U, std::string("sonic/be-spine002")),
                  std::pair(4U, std::string("sonic/be-train-u001-leaf1")), std::pair(5U, std::string("host/train/x"))));
}

TEST(Manifest, ReadsBackWhatItWrote) {
  Manifest manifest;
  manifest.cluster = "x";
  manifest.targets = {"sonic"};
  manifest.options = {"ipam=nv-ipam"};
  manifest.notes = {"one \"remark\"\n"};
  manifest.left_out = {"two"};
  manifest.files = {entry("a/b", "", Stage::monitoring)};
  manifest.files[0].mode = "0400";
  const auto read = read_manifest(write_manifest(manifest), "manifest.json");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(write_manifest(*read), write_manifest(manifest));
  EXPECT_EQ(read->files[0].sha256, sha256("a/b"));
}

TEST(Manifest, RejectsTextThatIsNotAManifest) {
  for (const char* text : {"", "{", "[]", "{\"kind\": \"other\", \"files\": []}", "{\"kind\": \"weft-render\"}",
                           "{\"kind\": \"weft-render\", \"files\": [{\"path\": \"../../etc/passwd\"}]}",
                           "{\"kind\": \"weft-render\", \"files\": [{}]}"}) {
    EXPECT_FALSE(read_manifest(text, "m").ok()) << text;
  }
}

}  // namespace
}  // namespace weft::render
