#include "oob/bmc/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_places.h"
#include "model/load.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class InventoryTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    loaded_ = model::load_cluster(source_dir() + "/examples/pod16.yaml", {});
    ASSERT_TRUE(loaded_->cluster != nullptr);
  }
  static void TearDownTestSuite() { loaded_.reset(); }

  // With an endpoints file; its diagnostics, if it has errors, in problem_.
  std::optional<Inventory> with(const std::string& text) {
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add("endpoints.yaml", text);
    std::optional<Inventory> inventory = make_inventory(*loaded_->cluster, diagnostics, &sources, file);
    problem_ = render_all(diagnostics, sources, false);
    return inventory;
  }
  static Inventory plain() {
    Diagnostics diagnostics;
    return *make_inventory(*loaded_->cluster, diagnostics);
  }
  static const Target& target(const Inventory& inventory, const std::string& name) {
    const std::optional<std::uint32_t> at = inventory.find(name);
    EXPECT_TRUE(at.has_value()) << name;
    return inventory.targets()[at.value_or(0)];
  }

  static std::vector<std::uint32_t> chosen(const Inventory& inventory, const std::string& words) {
    const Result<std::vector<std::uint32_t>> result = inventory.select(words);
    EXPECT_TRUE(result.ok()) << words;
    return result.value_or({});
  }

  static inline std::unique_ptr<model::Loaded> loaded_;
  std::string problem_;
};

TEST_F(InventoryTest, EveryDeviceWithAnAddressIsThereOnce) {
  const Inventory inventory = plain();
  std::size_t expected = 0;
  for (std::uint32_t i = 0; i < loaded_->cluster->devices().size(); ++i) {
    const auto id = static_cast<model::DeviceId>(i);
    if (loaded_->cluster->oob_address(id) == Ipv4{}) continue;
    ++expected;
    EXPECT_EQ(target(inventory, loaded_->cluster->name_of(id)).endpoint.host,
              weft::to_text(loaded_->cluster->oob_address(id)));
  }
  EXPECT_EQ(inventory.targets().size(), expected);
}

TEST_F(InventoryTest, ServerIsPoweredByThePdusOfItsRackAndTheirFeeds) {
  const Inventory inventory = plain();
  const Target& server = target(inventory, "train001");
  EXPECT_EQ(server.role, Role::server);
  EXPECT_EQ(server.endpoint.protocol, Protocol::redfish);
  EXPECT_GT(server.power.count(), 0);
  EXPECT_THAT(server.feeds, ElementsAre(0, 1, 2));  // the example has three feeds and six power supplies per server
  ASSERT_GE(server.pdus.size(), 2U);
  for (const std::uint32_t pdu : server.pdus) {
    EXPECT_EQ(inventory.targets()[pdu].role, Role::pdu);
    EXPECT_EQ(inventory.targets()[pdu].rack, server.rack);
  }
}

TEST_F(InventoryTest, FeedCapacityIsTheSumOfItsPdus) {
  const Inventory inventory = plain();
  Power all;
  for (const model::DeviceGroup& group : loaded_->cluster->groups()) {
    if (group.kind == model::DeviceKind::pdu) all += *group.pdu->rating * std::int64_t{group.count};
  }
  Power sum;
  for (const FeedBudget& feed : inventory.feeds()) sum += feed.rating;
  EXPECT_EQ(sum, all);
  EXPECT_EQ(inventory.feeds().size(), 3U);
}

TEST_F(InventoryTest, SelectsByRangeGroupRackAndRole) {
  const Inventory inventory = plain();
  EXPECT_EQ(inventory.select("train[001-004,007]")->size(), 5U);
  EXPECT_EQ(inventory.select("train001, train001,@train")->size(), inventory.select("@train")->size());
  EXPECT_EQ(inventory.select("all")->size(), inventory.targets().size());
  EXPECT_EQ(inventory.select("servers,switches,pdus")->size(), inventory.targets().size());
  const std::string rack = target(inventory, "train001").rack;
  for (const std::uint32_t i : chosen(inventory, "rack:" + rack)) EXPECT_EQ(inventory.targets()[i].rack, rack);
  for (const std::uint32_t i : chosen(inventory, "@oob")) EXPECT_EQ(inventory.targets()[i].fabric, "oob");
  for (const std::uint32_t i : chosen(inventory, "@control")) EXPECT_TRUE(inventory.targets()[i].control);
}

TEST_F(InventoryTest, UnknownNamesAreReported) {
  const Inventory inventory = plain();
  EXPECT_THAT(inventory.select("trian001").error().message, HasSubstr("did you mean `train001`"));
  EXPECT_THAT(inventory.select("@trian").error().message, HasSubstr("did you mean `train`"));
  EXPECT_FALSE(inventory.select("rack:nowhere").ok());
  EXPECT_THAT(inventory.select("@").error().message, HasSubstr("needs the name of a pool"));
  EXPECT_THAT(inventory.select("train001,rack:").error().message, HasSubstr("needs the name of a rack"));
  EXPECT_FALSE(inventory.select("train[001-").ok());
  EXPECT_FALSE(inventory.select("").ok());
  EXPECT_FALSE(inventory.select(" , ").ok());
}

TEST_F(InventoryTest, EndpointAddressesIncrementFromTheFirst) {
  const std::optional<Inventory> inventory = with(
      "weft_endpoints: 1\n"
      "defaults: {ca: /ca.pem, request_limit: 3s}\n"
      "endpoints:\n"
      "  train[001-003]: {host: 127.0.2.254, protocol: ipmi, ciphers: [17, 3], workarounds: [opensesspriv]}\n"
      "  train[004-005]: {host: lab, step: 0, port: 8000, port_step: 10}\n");
  ASSERT_TRUE(inventory.has_value()) << problem_;
  const Endpoint& third = target(*inventory, "train003").endpoint;
  EXPECT_EQ(third.host, "127.0.3.0");
  EXPECT_EQ(third.protocol, Protocol::ipmi);
  EXPECT_EQ(third.real_port(), 623);
  EXPECT_THAT(third.cipher_suites, ElementsAre(17, 3));
  const Endpoint& fifth = target(*inventory, "train005").endpoint;
  EXPECT_EQ(fifth.host, "lab");
  EXPECT_EQ(fifth.port, 8010);
  EXPECT_EQ(fifth.tls.ca_file, "/ca.pem");
  EXPECT_EQ(target(*inventory, "train009").endpoint.request_limit, milliseconds(3'000));
}

TEST_F(InventoryTest, ChassisHoldsServers) {
  const std::optional<Inventory> inventory =
      with("weft_endpoints: 1\nendpoints:\n  box1: {role: chassis, host: 10.0.0.9, holds: \"train[001-002]\"}\n");
  ASSERT_TRUE(inventory.has_value()) << problem_;
  const std::uint32_t box = *inventory->find("box1");
  EXPECT_EQ(target(*inventory, "train002").parent, box);
  EXPECT_EQ(inventory->children(box).size(), 2U);
  EXPECT_EQ(inventory->targets()[box].endpoint.host, "10.0.0.9");
}

TEST_F(InventoryTest, InvalidEndpointsAreErrorsWithLocation) {
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"", "the file is empty"},
      {"weft_endpoints: 2\n", "endpoints.yaml:1:17"},
      {"endpoints: {}\n", "weft_endpoints"},
      {"weft_endpoints: 1\nendpoints: {nobody: {host: 10.0.0.1}}\n", "no device `nobody`"},
      {"weft_endpoints: 1\nendpoints: {train001: {protocol: telnet}}\n", "unknown protocol `telnet`"},
      {"weft_endpoints: 1\nendpoints: {train001: {ciphers: [0]}}\n", "cipher suite 0 is never used"},
      {"weft_endpoints: 1\nendpoints: {train001: {port: 70000}}\n", "endpoints.yaml:2:30"},
      {"weft_endpoints: 1\nendpoints: {\"train[001-002]\": {host: lab}}\n", "not a name"},
      {"weft_endpoints: 1\nendpoints: {\"train[001-002]\": {host: 255.255.255.255}}\n", "runs out of addresses"},
      {"weft_endpoints: 1\nendpoints: {\"train[001-\": {host: 10.0.0.1}}\n", "endpoints.yaml:2:13"},
      {"weft_endpoints: 1\nendpoints: {train001: {role: chassis}}\n", "device of the cluster already"},
      {"weft_endpoints: 1\nendpoints: {c1: {role: blade}}\n", "unknown role `blade`"},
      {"weft_endpoints: 1\nendpoints: {c1: {role: chassis, holds: nobody}}\n", "no device `nobody`"},
      {"weft_endpoints: 1\nendpoints: {c1: {role: chassis, holds: train001}, c2: {role: chassis, holds: train001}}\n",
       "two chassis"},
      {"weft_endpoints: 1\nendpoints: {train001: {hots: 10.0.0.1}}\n", "did you mean `host`"},
  };
  for (const auto& [text, expected] : broken) {
    EXPECT_FALSE(with(text).has_value()) << text;
    EXPECT_THAT(problem_, HasSubstr(expected)) << text;
  }
}

}  // namespace
}  // namespace weft::oob
