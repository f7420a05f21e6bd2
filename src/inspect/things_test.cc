// Names are looked up in a cluster whose names, addresses and cables follow from the file below.
#include "inspect/things.h"

#include <gtest/gtest.h>

#include "design/cable_labels.h"
#include "inspect/describe.h"
#include "inspect/search.h"
#include "model/load.h"

namespace weft::inspect {
namespace {

constexpr const char* kText = R"(weft: 1
name: demo
pools:
  - {name: train, role: training, server: dgx-h100, count: 4, labels: {zone: east}}
  - {name: store, role: storage, server: ai400x2, count: 2}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
partitions:
  - {name: train, pools: [train]}
fabrics:
  storage: {ipv6: "fd00:1::/48"}
storage:
  - {name: scratch, kind: lustre, pool: store}
)";

const model::Cluster& demo() {
  static const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("demo.yaml", kText);
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  if (loaded->cluster == nullptr) std::abort();
  return *loaded->cluster;
}

std::vector<std::string> kinds(std::string_view name) {
  std::vector<std::string> out;
  for (const Thing& thing : find_things(demo(), name)) out.emplace_back(to_text(thing.kind));
  return out;
}

using Texts = std::vector<std::string>;

TEST(ThingsTest, EveryNameFindsItself) {
  for_each_thing(demo(), [](const Thing& thing) {
    const std::vector<Thing> found = find_things(demo(), thing.name);
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Thing& one) {
      return one.kind == thing.kind && one.index == thing.index;
    })) << thing.name;
  });
}

TEST(ThingsTest, EveryPortAndCableFindsItself) {
  for (std::uint32_t p = 0; p < demo().ports().size(); ++p) {
    const std::vector<Thing> found = find_things(demo(), demo().full_port_name(static_cast<model::PortId>(p)));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().index, p);
  }
  const design::CableLabels labels(demo());
  for (std::uint32_t c = 0; c < demo().cables().size(); ++c) {
    const std::vector<Thing> found = find_things(demo(), labels.label(static_cast<model::CableId>(c)));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().kind, ThingKind::cable);
    EXPECT_EQ(found.front().index, c);
  }
}

TEST(ThingsTest, ANameOfSeveralKindsFindsAll) {
  EXPECT_EQ(kinds("train"), (Texts{"pool", "partition"}));
  EXPECT_EQ(kinds("pool/train"), Texts{"pool"});
  EXPECT_EQ(kinds("rack/train"), Texts{});
  const Document document = describe(demo(), find_things(demo(), "train"));
  EXPECT_EQ(document.notes.front(), "2 things have this name. To describe one: pool/train or partition/train");
}

TEST(ThingsTest, IgnoresLetterCaseAndTheDomain) {
  EXPECT_EQ(kinds("TRAIN001"), Texts{"device"});
  EXPECT_EQ(kinds("Train001:BE1"), Texts{"port"});
  EXPECT_EQ(kinds("train001.demo.internal"), Texts{"device"});
  EXPECT_EQ(kinds("train001.other.internal"), Texts{});
  EXPECT_EQ(kinds("be-000001"), Texts{"cable"});
}

TEST(ThingsTest, AddressesOfTheirSubnetsExistWhetherAssignedOrNot) {
  for (const model::Subnet& subnet : demo().subnets()) {
    EXPECT_EQ(kinds(weft::to_text(subnet.prefix.at(1))), Texts{"address"});
    EXPECT_EQ(kinds(weft::to_text(subnet.prefix)).front(), "subnet");
  }
  EXPECT_EQ(kinds("203.0.113.7"), Texts{});
  EXPECT_EQ(kinds("2001:db8::1"), Texts{});
  EXPECT_EQ(kinds("fd00:1::7"), Texts{"address"});
}

TEST(ThingsTest, HostileNamesFindNothing) {
  for (const std::string& name :
       {std::string(), std::string(1 << 20, 'x'), std::string(257, '9'), std::string("\x01\x1b[31m\x7f"),
        std::string(3, '\0'), std::string("/"), std::string("device/"), std::string(":"), std::string("train001:"),
        std::string(":be1"), std::string("-"), std::string("BE-"), std::string("BE-S"), std::string("BE--1"),
        std::string("BE-99999999999999999999"), std::string("\xff\xfe")}) {
    EXPECT_EQ(kinds(name), Texts{}) << name.substr(0, 20);
    static_cast<void>(nearest_name(demo(), name));
  }
}

TEST(ThingsTest, SuggestsTheNearestName) {
  EXPECT_EQ(nearest_name(demo(), "train0001"), "train001");
  EXPECT_EQ(nearest_name(demo(), "train001:be11"), "train001:be1");
  EXPECT_EQ(nearest_name(demo(), "zzzzzzzzzzzzzzzzzzz"), "");
}

TEST(ThingsTest, PrefixesContainTheirAddresses) {
  const auto inside = [](const char* prefix, const char* address) {
    return prefix_contains(*parse_ipv6_prefix(prefix), *parse_ipv6(address));
  };
  EXPECT_TRUE(inside("fd00:1:2::/48", "fd00:1:2:ffff::1"));
  EXPECT_FALSE(inside("fd00:1:2::/48", "fd00:1:3::1"));
  EXPECT_TRUE(inside("fd00:1:2:8000::/49", "fd00:1:2:ffff::"));
  EXPECT_FALSE(inside("fd00:1:2:8000::/49", "fd00:1:2:7fff::"));
  EXPECT_TRUE(inside("fd00::1/128", "fd00::1"));
  EXPECT_FALSE(inside("fd00::1/128", "fd00::2"));
  EXPECT_FALSE(prefix_contains(Ipv6Prefix{}, *parse_ipv6("fd00::1")));
}

TEST(SearchTest, FindsPartsOfNamesBestFirst) {
  const SearchResult all = search(demo(), "TRAIN001", 0);
  ASSERT_FALSE(all.matches.empty());
  EXPECT_EQ(all.matches.front().name, "train001");
  EXPECT_EQ(all.matches.front().rank, 0);
  for (std::size_t i = 1; i < all.matches.size(); ++i) EXPECT_LE(all.matches[i - 1].rank, all.matches[i].rank);
  const SearchResult some = search(demo(), "train", 3);
  EXPECT_EQ(some.matches.size(), 3U);
  EXPECT_GT(some.total, 3U);
}

TEST(SearchTest, PatternsMatchWholeNames) {
  const SearchResult result = search(demo(), "train00?", 0);
  ASSERT_EQ(result.total, 4U);
  EXPECT_EQ(result.matches.back().name, "train004");
  EXPECT_EQ(search(demo(), "ain00?", 0).total, 0U);
}

TEST(SearchTest, FindsModelsLabelsAndNumbers) {
  const auto count = [](std::string_view text, std::string_view kind) {
    const SearchResult result = search(demo(), text, 0);
    return std::count_if(result.matches.begin(), result.matches.end(),
                         [&](const Match& one) { return one.kind == kind; });
  };
  EXPECT_EQ(count("dgx-h100", "device"), 4);
  EXPECT_EQ(count("dgx-h100", "model"), 1);
  EXPECT_EQ(count("zone=east", "device"), 4);
  for (const model::Device& device : demo().devices()) {
    if (device.asn > 0) {
      EXPECT_GE(count(std::to_string(device.asn), "device"), 1);
    }
  }
}

TEST(SearchTest, AnAddressFindsItsOwnersAndSubnets) {
  for (std::uint32_t p = 0; p < demo().ports().size(); ++p) {
    const model::Port& port = demo().ports()[p];
    if (port.address.bits == 0 || port.subnet == model::kNone<model::SubnetId>) continue;
    const SearchResult result = search(demo(), weft::to_text(port.address), 0);
    ASSERT_GE(result.total, 2U);
    EXPECT_EQ(result.matches[0].where, demo().full_port_name(static_cast<model::PortId>(p)));
    EXPECT_EQ(result.matches[1].name, demo().subnet(port.subnet).name);
  }
}

TEST(SearchTest, HostileTextsFindNothing) {
  for (const std::string& text :
       {std::string(), std::string(1 << 20, '*'), std::string("\x1b]0;x\x07"), std::string(2, '\0')}) {
    EXPECT_EQ(search(demo(), text, 0).total, 0U);
  }
  EXPECT_GT(search(demo(), std::string(256, '*'), 0).total, 0U);
}

}  // namespace
}  // namespace weft::inspect
