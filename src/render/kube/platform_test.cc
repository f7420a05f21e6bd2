#include "render/kube/platform.h"

#include <gtest/gtest.h>

#include "model/load.h"

namespace weft::render::kube_platform {
namespace {

TEST(KubePlatform, NamesBecomeLabels) {
  EXPECT_EQ(label_name("team-alpha"), "team-alpha");
  EXPECT_EQ(label_name("Team_Alpha."), "team-alpha");
  EXPECT_EQ(label_name("..."), "x");
  EXPECT_EQ(label_name(std::string(70, 'a')).size(), 63U);
  EXPECT_EQ(label_value("Train.A_"), "Train.A");
  EXPECT_EQ(label_value("a b\n\"c"), "a-b--c");
}

TEST(KubePlatform, AmountsAreExact) {
  EXPECT_EQ(quantity(Bytes(142'000'000'000'000)), "142T");
  EXPECT_EQ(quantity(Bytes(std::int64_t{1} << 40)), "1Ti");
  EXPECT_EQ(quantity(Bytes(912'000'000'000)), "912G");
  EXPECT_EQ(quantity(Bytes(1500)), "1500");
}

// Taints are free text: invalid keys are skipped, and a key shared by two pools appears once.
TEST(KubePlatform, TolerationsUseOnlyValidTaintKeys) {
  const auto loaded = model::load_cluster_text(
      "c.yaml",
      "weft: 1\nname: c\npools:\n"
      "  - {name: a, server: hgx-h100, count: 4, taints: [\"nvidia.com/gpu=training:NoSchedule\"]}\n"
      "  - {name: b, server: hgx-h100, count: 4, taints: [\"nvidia.com/gpu=b:NoSchedule\", \"a b/c:NoExecute\"]}\n"
      "fabrics:\n  backend: {leaf: sn5600}\n  storage: {leaf: sn5600}\n  frontend: {leaf: sn4600c}\n");
  ASSERT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  const RenderPlan plan(*loaded->cluster);
  std::vector<const PoolPlan*> pools;
  for (const PoolPlan& pool : plan.pools()) pools.push_back(&pool);
  const Value list = tolerations_of(pools);
  ASSERT_EQ(list.items().size(), 1U);
  EXPECT_EQ(list.items()[0].find("key")->text(), "nvidia.com/gpu");
  EXPECT_EQ(list.items()[0].find("effect")->text(), "NoSchedule");
}

}  // namespace
}  // namespace weft::render::kube_platform
