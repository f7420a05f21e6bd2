#include "render/kube/services.h"

#include <gtest/gtest.h>

namespace weft::render::kube_services {
namespace {

TEST(KubeServices, NamesBecomeLabels) {
  EXPECT_EQ(label_name("team-alpha"), "team-alpha");
  EXPECT_EQ(label_name("Team_Alpha."), "team-alpha");
  EXPECT_EQ(label_name("a.b"), "a-b");
  EXPECT_EQ(subdomain_name("Train001.Rack_2"), "train001.rack-2");
  EXPECT_EQ(label_name(std::string(80, 'a')).size(), 63U);
  EXPECT_EQ(label_name("--"), "x");
  EXPECT_EQ(label_value("NVIDIA H100\n"), "NVIDIA-H100");
}

// Accepted and rejected as in k8s.io/apimachinery's validation tests.
TEST(KubeServices, LabelsAreValidatedLikeTheApiServer) {
  for (const char* good : {"simple", "now-with-dashes", "1-starts-with-num", "1234", "simple/simple",
                           "now.with.dots/simple", "Uppercase.Is.OK-123", "example.com/a_b.c"}) {
    EXPECT_TRUE(is_label_key(good)) << good;
  }
  for (const char* bad : {"", "nospecialchars%^=@", "cantendwithadash-", "-cantstartwithadash-", "only/one/slash",
                          "Example.com/abc", "example_com/abc", "example.com/", "/simple", "a b", "a\nb"}) {
    EXPECT_FALSE(is_label_key(bad)) << bad;
  }
  EXPECT_FALSE(is_label_key(std::string(64, 'a')));
  EXPECT_TRUE(is_label_value(""));
  EXPECT_TRUE(is_label_value("end-with-num-1"));
  for (const char* bad : {"a space", "-a", "a:", "a/b", "a\n"}) EXPECT_FALSE(is_label_value(bad)) << bad;
}

TEST(KubeServices, TaintsAreParsed) {
  const auto full = parse_taint("nvidia.com/gpu=training:NoSchedule");
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(full->key, "nvidia.com/gpu");
  EXPECT_EQ(full->value, "training");
  EXPECT_EQ(full->effect, "NoSchedule");
  const auto bare = parse_taint("dedicated:NoExecute");
  ASSERT_TRUE(bare.has_value());
  EXPECT_EQ(bare->key, "dedicated");
  EXPECT_EQ(bare->value, "");
  EXPECT_FALSE(parse_taint("no effect").has_value());
  EXPECT_FALSE(parse_taint("a b=c:NoSchedule").has_value());
  EXPECT_FALSE(parse_taint("a=b c:NoSchedule").has_value());
}

TEST(KubeServices, QuantitiesAreExact) {
  EXPECT_EQ(quantity(Bytes(std::int64_t{16} * 1'000'000'000'000)), "16T");
  EXPECT_EQ(quantity(Bytes(std::int64_t{32} << 30)), "32Gi");
  EXPECT_EQ(quantity(Bytes(1500)), "1500");
  EXPECT_EQ(quantity(Bytes(0)), "0");
}

// GEP-2257: at most four parts of at most five digits each.
TEST(KubeServices, DurationsFollowGatewayApi) {
  EXPECT_EQ(gateway_duration(Duration(300'000'000'000)), "300s");
  EXPECT_EQ(gateway_duration(Duration(90'500'000'000)), "1m30s500ms");
  EXPECT_EQ(gateway_duration(Duration(std::int64_t{360'000} * 1'000'000'000)), "100h");
  EXPECT_EQ(gateway_duration(Duration(1)), "1ms");
  EXPECT_EQ(whole_seconds(Duration(90'500'000'000)), 91);
}

TEST(KubeServices, MigResourcesAreNamedLikeTheDevicePlugin) {
  EXPECT_EQ(mig_resource("1g.10gb"), "nvidia.com/mig-1g.10gb");
  EXPECT_EQ(mig_resource("1g.10gb+me"), "nvidia.com/mig-1g.10gb.me");
}

TEST(KubeServices, NodePortsEndWithTheirRange) {
  EXPECT_EQ(node_port(0), 30000);
  EXPECT_EQ(node_port(2767), 32767);
  EXPECT_EQ(node_port(2768), 0);
}

}  // namespace
}  // namespace weft::render::kube_services
