// Expected differences follow from the change made to the file, and from algebra: nothing differs from itself, and the
// difference in the other direction is the mirror image.
#include "inspect/cluster_diff.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "inspect/diff_view.h"
#include "inspect/spec_diff.h"
#include "model/load.h"

namespace weft::inspect {
namespace {

// The unit of the backend has free positions, so that one more server needs no switch.
constexpr const char* kText = R"(weft: 1
name: demo
site: {pdus_per_rack: 2}
pools:
  - {name: train, role: training, server: dgx-h100, count: 6, unit: 32, per_rack: 4}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
racks:
  - {name: train-r001, power: 60kW}
  - {name: train-r002, power: 60kW}
)";

std::unique_ptr<model::Loaded> load(std::string text) {
  std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("demo.yaml", std::move(text));
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  if (loaded->cluster == nullptr) std::abort();
  return loaded;
}

std::string changed(std::string_view from, std::string_view to) {
  std::string text = replace_all(kText, from, to);
  EXPECT_NE(text, kText);
  return text;
}

struct Differences {
  std::unique_ptr<model::Loaded> before;
  std::unique_ptr<model::Loaded> after;
  ClusterDiff clusters;
  std::vector<SettingChange> settings;

  Differences(const std::string& first, const std::string& second)
      : before(load(first)),
        after(load(second)),
        clusters(compare_clusters(*before->cluster, *after->cluster)),
        settings(compare_settings(*before, *after)) {}
};

TEST(ClusterDiffTest, NothingDiffersFromItself) {
  const Differences same(kText, kText);
  EXPECT_TRUE(same.clusters.empty());
  EXPECT_TRUE(same.settings.empty());
}

TEST(ClusterDiffTest, CommentsKeyOrderLayoutAndUnitsAreNoDifferences) {
  const std::string other = R"(# a comment
name: "demo"

pools:
  - count: 6
    name: train
    server: dgx-h100   # eight GPUs
    role: training
    per_rack: 4
    unit: 32
  - {server: control-1u, name: infra, role: infrastructure, count: 3}
racks:
  - {name: train-r002, power: 60000W}
  - {power: 60kW, name: train-r001}
site:
  pdus_per_rack: 2
weft: 1
)";
  const Differences same(kText, other);
  EXPECT_TRUE(same.clusters.empty());
  EXPECT_TRUE(same.settings.empty()) << same.settings.front().path;
}

TEST(ClusterDiffTest, OneMoreServerAddsItsOwnCablesAlone) {
  const Differences more(kText, changed("count: 6", "count: 7"));
  ASSERT_EQ(more.clusters.devices_added.size(), 1U);
  const model::DeviceId server = more.clusters.devices_added.front();
  EXPECT_EQ(more.after->cluster->name_of(server), "train007");
  EXPECT_EQ(more.clusters.cables_added.size() + more.before->cluster->cables().size(),
            more.after->cluster->cables().size());
  std::size_t own = 0;
  for (const model::CableId id : more.clusters.cables_added) {
    const model::Cable& cable = more.after->cluster->cable(id);
    own += more.after->cluster->port(cable.a).device == server ? 1U : 0U;
  }
  EXPECT_EQ(own, more.after->cluster->ports_of(server).size());
  EXPECT_EQ(renumbered(more.clusters), 0U);
  ASSERT_EQ(more.settings.size(), 1U);
  EXPECT_EQ(more.settings.front().path, "pools[train].count");
  EXPECT_EQ(more.settings.front().before.value, "6");
  EXPECT_EQ(more.settings.front().after.value, "7");
  EXPECT_EQ(more.settings.front().after.place, "demo.yaml:5:60");
  for (const BomDifference& line : more.clusters.bom) {
    if (line.line.category == "server") {
      EXPECT_EQ(line.after - line.before, 1);
    }
  }
}

TEST(ClusterDiffTest, TheOtherDirectionIsTheMirrorImage) {
  for (const std::string& other :
       {changed("count: 6", "count: 9"), changed("per_rack: 4", "per_rack: 2"), changed("name: infra", "name: admin"),
        changed("count: 3}",
                "count: 3}\nfabrics: {backend: {subnets: [10.1.0.0/16, 10.2.0.0/16, 10.3.0.0/16, "
                "10.4.0.0/16, 10.5.0.0/16, 10.6.0.0/16, 10.7.0.0/16, 10.8.0.0/16]}}")}) {
    const Differences there(kText, other);
    const Differences back(other, kText);
    EXPECT_FALSE(there.clusters.empty());
    EXPECT_EQ(there.clusters.devices_added, back.clusters.devices_removed);
    EXPECT_EQ(there.clusters.devices_removed, back.clusters.devices_added);
    EXPECT_EQ(there.clusters.devices_renamed.size(), back.clusters.devices_renamed.size());
    EXPECT_EQ(there.clusters.device_changes.size(), back.clusters.device_changes.size());
    EXPECT_EQ(there.clusters.ports_added.size(), back.clusters.ports_removed.size());
    EXPECT_EQ(there.clusters.cables_added, back.clusters.cables_removed);
    EXPECT_EQ(there.clusters.cables_removed, back.clusters.cables_added);
    EXPECT_EQ(there.clusters.cables_moved.size(), back.clusters.cables_moved.size());
    EXPECT_EQ(there.clusters.cables_replaced.size(), back.clusters.cables_replaced.size());
    EXPECT_EQ(there.clusters.cables_relabeled.size(), back.clusters.cables_relabeled.size());
    EXPECT_EQ(renumbered(there.clusters), renumbered(back.clusters));
    EXPECT_EQ(there.clusters.subnets_added, back.clusters.subnets_removed);
    EXPECT_EQ(there.clusters.racks_added, back.clusters.racks_removed);
    ASSERT_EQ(there.clusters.bom.size(), back.clusters.bom.size());
    for (std::size_t i = 0; i < there.clusters.bom.size(); ++i) {
      EXPECT_EQ(there.clusters.bom[i].before, back.clusters.bom[i].after);
      EXPECT_EQ(there.clusters.bom[i].after, back.clusters.bom[i].before);
    }
    ASSERT_EQ(there.settings.size(), back.settings.size());
  }
}

TEST(ClusterDiffTest, RenamedHostsAreTheSameDevices) {
  const Differences renamed(kText, changed("count: 6,", "count: 6, hosts: \"gpu[1-6]\","));
  EXPECT_TRUE(renamed.clusters.devices_added.empty());
  EXPECT_TRUE(renamed.clusters.devices_removed.empty());
  ASSERT_EQ(renamed.clusters.devices_renamed.size(), 6U);
  EXPECT_TRUE(renamed.clusters.cables_added.empty());
  EXPECT_TRUE(renamed.clusters.cables_moved.empty());
  EXPECT_TRUE(renamed.clusters.bom.empty());
  EXPECT_TRUE(renamed.clusters.addresses.empty());
}

TEST(ClusterDiffTest, AnotherSubnetRenumbersItsHosts) {
  const Differences moved(kText, changed("count: 3}", "count: 3}\nfabrics: {frontend: {subnets: [10.77.0.0/16]}}"));
  std::size_t hosts = 0;
  for (const model::Port& port : moved.before->cluster->ports()) {
    hosts += port.fabric == model::FabricKind::frontend && port.address.bits != 0 ? 1U : 0U;
  }
  EXPECT_GT(hosts, 0U);
  EXPECT_EQ(renumbered(moved.clusters), hosts);
  for (const AddressDifference& one : moved.clusters.addresses) EXPECT_TRUE(one.after.starts_with("10.77."));
  EXPECT_TRUE(moved.clusters.cables_moved.empty());
}

TEST(ClusterDiffTest, SwappedAddressesNameTheirHolders) {
  const std::string pinned = changed("per_rack: 4}",
                                     "per_rack: 4, overrides: [{hosts: train001, addresses: {fe1: A}}, "
                                     "{hosts: train002, addresses: {fe1: B}}]}");
  const std::unique_ptr<model::Loaded> plain = load(kText);
  const auto address = [&](const char* port) {
    return weft::to_text(plain->cluster->port(plain->cluster->find_port(port)).address);
  };
  const std::string swapped = replace_all(replace_all(pinned, "fe1: A}", "fe1: " + address("train002:fe1") + "}"),
                                          "fe1: B}", "fe1: " + address("train001:fe1") + "}");
  const Differences swap(kText, swapped);
  ASSERT_EQ(swap.clusters.addresses.size(), 2U);
  EXPECT_EQ(swap.clusters.addresses[0].held_by, "train002:fe1");
  EXPECT_EQ(swap.clusters.addresses[1].held_by, "train001:fe1");
}

TEST(SpecDiffTest, AnAddedPoolIsOneChangeAsWritten) {
  const Differences added(
      kText, changed("count: 3}", "count: 3}\n  - {name: login, role: login, server: login-1u, count: 2}"));
  ASSERT_FALSE(added.settings.empty());
  EXPECT_EQ(added.settings.front().path, "pools[login]");
  EXPECT_EQ(added.settings.front().before, SettingSide{});
  EXPECT_EQ(added.settings.front().after.value, "{name: login, role: login, server: login-1u, count: 2}");
}

TEST(SpecDiffTest, TheOrderOfPoolsDecidesAddresses) {
  const std::string swapped = R"(weft: 1
name: demo
site: {pdus_per_rack: 2}
pools:
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
  - {name: train, role: training, server: dgx-h100, count: 6, unit: 32, per_rack: 4}
racks:
  - {name: train-r001, power: 60kW}
  - {name: train-r002, power: 60kW}
)";
  const Differences order(kText, swapped);
  ASSERT_EQ(order.settings.size(), 1U);
  EXPECT_TRUE(order.settings.front().order);
  EXPECT_EQ(order.settings.front().before.value, "[train, infra]");
}

TEST(DiffViewTest, MachineFormatsHaveOneRowPerDeviceAndCable) {
  const Differences more(kText, changed("count: 6", "count: 8"));
  const DiffInput input{*more.before->cluster, *more.after->cluster, more.settings, more.clusters};
  const auto rows = [](const Document& document, std::string_view key) {
    for (const auto& section : document.sections) {
      const auto* table = std::get_if<TableSection>(&section);
      if (table != nullptr && table->key == key) return table->rows.size();
    }
    return std::size_t{0};
  };
  const Document machine = diff_document(input, false);
  EXPECT_EQ(rows(machine, "devices"), 2U);
  EXPECT_EQ(rows(machine, "cables"), more.clusters.cables_added.size() + more.clusters.cables_moved.size() +
                                         more.clusters.cables_replaced.size() + more.clusters.cables_relabeled.size());
  const Document people = diff_document(input, true);
  EXPECT_EQ(rows(people, "devices"), 1U);
  EXPECT_EQ(rows(people, "cables"), 0U);
}

}  // namespace
}  // namespace weft::inspect
