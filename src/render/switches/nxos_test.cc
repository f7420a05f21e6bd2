// NX-OS with cluster files that differ from the examples. The meaning of whole files is checked with weft's own parser
// in tests/render_cli_test.cc.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "model/load.h"
#include "render/core/memory_sink.h"
#include "render/core/targets.h"

namespace weft::render {
namespace {

struct Made {
  std::unique_ptr<model::Loaded> loaded;
  MemorySink sink;
};

std::string cluster_text(const std::string& backend, const std::string& oob) {
  return "weft: 1\nname: lab\npools:\n  - {name: train, server: hgx-h100, count: 4, unit: 4}\n"
         "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
         "  - {name: jump, role: jump, server: jump-1u, count: 2}\n"
         "fabrics:\n  backend: {leaf: nexus-9332d-gx2b, speed: 400G, wiring: rail-optimized, spines: 2" +
         backend + "}\n  storage: {leaf: sn5600}\n  oob: {syslog: 10.128.0.10" + oob + "}\n";
}

Made render(const std::string& text) {
  Made made;
  made.loaded = model::load_cluster_text("cluster.yaml", text);
  EXPECT_NE(made.loaded->cluster, nullptr) << render_all(made.loaded->diagnostics, made.loaded->sources, false);
  if (made.loaded->cluster == nullptr) return made;
  const RenderPlan plan(*made.loaded->cluster);
  const RenderOptions options;
  const RenderInput input{*made.loaded->cluster, plan, options, {}};
  EXPECT_TRUE(applies_nxos(input));
  render_nxos(input, made.sink);
  return made;
}

bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

constexpr const char* kLeaf = "nxos/be-train-u001-leaf1.cfg";

TEST(Nxos, FilesHaveDeviceRiskAndStage) {
  const Made made = render(cluster_text("", ""));
  const RenderedFile& file = made.sink.files.at(kLeaf);
  EXPECT_EQ(file.device, "be-train-u001-leaf1");
  EXPECT_EQ(file.risk, Risk::traffic);
  EXPECT_EQ(file.stage, Stage::backend);
  EXPECT_EQ(made.sink.files.at("nxos/oob-leaf001.cfg").stage, Stage::oob);
  EXPECT_TRUE(made.sink.notes.empty());
}

// The watchdog counts in intervals of 100 to 1000 ms, at most ten until it acts.
TEST(Nxos, WatchdogTimesAreMultiplesOfItsInterval) {
  const Made slow =
      render(cluster_text(", qos: {watchdog_detection: 400ms, watchdog_restoration: 2s, "
                          "watchdog_poll: 200ms}",
                          ""));
  const std::string text = slow.sink.content(kLeaf);
  EXPECT_TRUE(has_line(text, "priority-flow-control watch-dog interval 200"));
  EXPECT_TRUE(has_line(text, "priority-flow-control watch-dog shutdown-multiplier 2"));
  EXPECT_TRUE(has_line(text, "priority-flow-control auto-restore multiplier 10"));
  const Made fast = render(cluster_text(", qos: {watchdog_detection: 20ms, watchdog_poll: 10ms}", ""));
  EXPECT_TRUE(has_line(fast.sink.content(kLeaf), "priority-flow-control watch-dog interval 100"));
  EXPECT_TRUE(has_line(fast.sink.content(kLeaf), "priority-flow-control watch-dog shutdown-multiplier 1"));
  const Made off = render(cluster_text(", qos: {pfc_watchdog: false}", ""));
  EXPECT_EQ(off.sink.content(kLeaf).find("watch-dog"), std::string::npos);
}

TEST(Nxos, FollowsTheClassesOfTheFile) {
  const Made pcp = render(cluster_text(", qos: {trust: pcp, priority: 5, dscp: 40, ecn: false}", ""));
  const std::string text = pcp.sink.content(kLeaf);
  EXPECT_TRUE(has_line(text, "  match cos 5"));
  EXPECT_EQ(text.find("match dscp"), std::string::npos);
  EXPECT_TRUE(has_line(text, "    pause pfc-cos 5"));
  EXPECT_EQ(text.find("random-detect"), std::string::npos);
  const Made lossy = render(cluster_text(", qos: {lossless: false}", ""));
  for (const char* word : {"policy-map", "priority-flow-control", "service-policy"})
    EXPECT_EQ(lossy.sink.content(kLeaf).find(word), std::string::npos) << word;
}

TEST(Nxos, OmitsWhatTheFileDisables) {
  const Made made = render(cluster_text(", bfd: false, hash_seeds: false", ", jump_only: false"));
  EXPECT_EQ(made.sink.content(kLeaf).find("bfd"), std::string::npos);
  EXPECT_EQ(made.sink.content(kLeaf).find("universal-id"), std::string::npos);
  EXPECT_EQ(made.sink.content("nxos/oob-leaf001.cfg").find("access-"), std::string::npos);
}

// Free text of the file cannot become commands: an invalid server name is omitted and reported.
TEST(Nxos, HostileTextStaysText) {
  const Made made = render(
      "weft: 1\nname: lab\npools:\n  - {name: train, server: hgx-h100, count: 4}\n"
      "  - {name: jump, role: jump, server: jump-1u, count: 2}\n"
      "fabrics:\n  oob: {syslog: \"10.0.0.1\\nusername evil role network-admin\", "
      "credentials: \"vault:x\\nreload\"}\n");
  const std::string text = made.sink.content("nxos/oob-leaf001.cfg");
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(text.find("\nusername"), std::string::npos);
  EXPECT_EQ(text.find("\nreload"), std::string::npos);
  EXPECT_EQ(text.find("logging server"), std::string::npos);
  ASSERT_FALSE(made.sink.notes.empty());
  EXPECT_NE(made.sink.notes.front().find("logging server"), std::string::npos);
  EXPECT_EQ(made.sink.notes.front().find('\n'), std::string::npos);
}

// An access list that only jump hosts pass; it must still permit the keepalive between the two leaves of a pair.
TEST(Nxos, KeepaliveOfAPairPassesTheGuard) {
  const Made made = render(
      "weft: 1\nname: lab\npools:\n  - {name: train, server: hgx-h100, count: 4}\n"
      "  - {name: jump, role: jump, server: jump-1u, count: 2}\nfabrics:\n  frontend: {leaf: nexus-9336c-fx2}\n");
  const model::Cluster& cluster = *made.loaded->cluster;
  const Ipv4 a = cluster.oob_address(cluster.find_device("fe-leaf001a"));
  const Ipv4 b = cluster.oob_address(cluster.find_device("fe-leaf001b"));
  const std::string leaf = made.sink.content("nxos/fe-leaf001a.cfg");
  EXPECT_TRUE(
      has_line(leaf, "  peer-keepalive destination " + to_text(b) + " source " + to_text(a) + " vrf management"));
  std::string guards;
  for (const auto& [path, file] : made.sink.files) {
    if (path.find("oob-leaf") != std::string::npos) guards += file.content;
  }
  EXPECT_NE(guards.find("permit ip host " + to_text(a) + " host " + to_text(b) + "\n"), std::string::npos);
  EXPECT_NE(guards.find("permit ip host " + to_text(b) + " host " + to_text(a) + "\n"), std::string::npos);
}

}  // namespace
}  // namespace weft::render
