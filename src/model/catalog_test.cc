#include "model/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/yaml.h"

namespace weft::model {
namespace {

using ::testing::HasSubstr;

struct Built {
  Sources sources;
  Diagnostics diagnostics;
  Catalog catalog;

  [[nodiscard]] std::string text() const { return render_all(diagnostics, sources, false); }
};

// The built-in catalog plus a user's file.
Built with(const std::string& more) {
  Built built;
  built.catalog = Catalog::built_in(built.sources, built.diagnostics);
  if (!more.empty()) {
    const auto root = parse_yaml(built.sources, built.sources.add("mine.yaml", more), built.diagnostics);
    if (root) built.catalog.add(*root, built.diagnostics);
  }
  if (!built.diagnostics.has_errors()) built.catalog.check(built.diagnostics);
  return built;
}

constexpr const char* kReferences = "references: {mine: {title: measured, publisher: us}}\n";

std::string a_switch(const std::string& id, const std::string& cages, const std::string& rest) {
  return std::string(kReferences) + "switches:\n  - {id: " + id +
         ", name: x, vendor: us, source: mine, network: ethernet, height: 1, power: 1kW, cages: [" + cages + "], " +
         rest + "}\n";
}

TEST(BuiltInCatalog, PassesItsOwnChecks) {
  const Built built = with("");
  EXPECT_EQ(built.text(), "");
  EXPECT_GE(built.catalog.gpus().size(), 8U);
  EXPECT_GE(built.catalog.servers().size(), 20U);
  EXPECT_GE(built.catalog.switches().size(), 20U);
}

// Well-known facts, to detect errors in the files or in parsing them.
TEST(BuiltInCatalog, ContainsPublishedFacts) {
  const Built built = with("");
  const GpuModel* h100 = built.catalog.gpu("h100-sxm");
  ASSERT_NE(h100, nullptr);
  EXPECT_EQ(h100->memory.value, gigabytes(80));
  EXPECT_EQ(h100->tdp.value, watts(700));
  EXPECT_EQ(h100->nvlink_bandwidth->per_second, gigabytes(900));
  const ServerModel* dgx = built.catalog.server("dgx-h100");
  ASSERT_NE(dgx, nullptr);
  EXPECT_EQ(dgx->gpus.value, 8);
  EXPECT_EQ(dgx->height.value, 8);
  EXPECT_EQ(dgx->power.value, watts(10'200));
  const SwitchModel* quantum = built.catalog.switch_model("qm9700");
  ASSERT_NE(quantum, nullptr);
  EXPECT_EQ(quantum->radix.value, 64);
  EXPECT_EQ(quantum->radix_speed.value, gigabits(400));
  EXPECT_EQ(quantum->network.value, NetworkKind::infiniband);
  EXPECT_EQ(built.catalog.switch_model("nexus-9336c-fx2")->radix.value, 36) << "36 ports, not 32 or 40";
  EXPECT_EQ(built.catalog.gpu("nope"), nullptr);
}

TEST(BuiltInCatalog, NamesASourceForEveryItem) {
  const Built built = with("");
  std::set<std::string> known;
  for (const auto& [id, reference] : built.catalog.references()) {
    known.insert(id);
    EXPECT_FALSE(reference->title->empty()) << id;
    EXPECT_TRUE(reference->estimate.value || reference->url.has_value()) << id << " has no address and is no estimate";
  }
  const auto check = [&](const auto& table) {
    for (const auto& item : table) EXPECT_TRUE(known.contains(item.source.value)) << item.id->text;
  };
  check(built.catalog.gpus());
  check(built.catalog.nics());
  check(built.catalog.servers());
  check(built.catalog.switches());
  check(built.catalog.transceivers());
  check(built.catalog.cables());
  check(built.catalog.pdus());
  check(built.catalog.racks());
}

// Every MIG profile of NVIDIA's guide fits at its starts; the largest uses the whole GPU.
TEST(BuiltInCatalog, HasMigProfilesThatFillTheGpu) {
  const Built built = with("");
  for (const GpuModel& gpu : built.catalog.gpus()) {
    if (!gpu.mig.has_value()) continue;
    bool whole = false;
    for (const MigProfile& profile : gpu.mig.value) {
      EXPECT_FALSE(profile.starts->empty()) << gpu.id->text << " " << profile.name.value;
      whole = whole || (profile.compute.value == 7 && profile.memory_slices.value == 8);
    }
    EXPECT_TRUE(whole) << gpu.id->text;
  }
  std::int64_t smallest = 0;
  for (const MigProfile& profile : built.catalog.gpu("h100-sxm")->mig.value) {
    if (profile.name.value == "1g.10gb") smallest = static_cast<std::int64_t>(profile.starts->size());
  }
  EXPECT_EQ(smallest, 7) << "seven 1g.10gb on an H100";
}

// The three kinds of errors that occur in published device lists.
TEST(CatalogCheck, CatchesMissingPorts) {
  // 32 cages, but the data sheet says 36 ports: a row is missing.
  EXPECT_THAT(
      with(a_switch("s", "{form: qsfp28, count: 32, lanes: 4, breakouts: [1x100G]}", "radix: 36, radix_speed: 100G"))
          .text(),
      HasSubstr("states 36 ports at 100G, but its cages add up to 32"));
}

TEST(CatalogCheck, CatchesSumsThatDoNotAddUp) {
  EXPECT_THAT(with(a_switch("s", "{form: osfp, count: 64, lanes: 8, breakouts: [1x800G, 2x400G]}",
                            "radix: 128, radix_speed: 400G, capacity: 102.4T"))
                  .text(),
              HasSubstr("more capacity than its cages provide"));
  EXPECT_THAT(
      with(a_switch("s", "{form: osfp, count: 64, lanes: 8, breakouts: [3x200G]}", "radix: 192, radix_speed: 200G"))
          .text(),
      HasSubstr("3x200G does not divide the 8 lanes"));
  EXPECT_EQ(with(a_switch("s", "{form: osfp, count: 64, lanes: 8, breakouts: [1x800G, 2x400G]}",
                          "radix: 128, radix_speed: 400G, capacity: 51.2T"))
                .text(),
            "");
}

TEST(CatalogCheck, CatchesImpossiblePowerLimits) {
  const auto limited = [](const std::string& watts) {
    return with(std::string(kReferences) +
                "gpus:\n  - {id: mine, name: x, vendor: us, source: mine, form: sxm, memory: 80GB, memory_bandwidth: "
                "3TB/s, dense_flops: {bf16: 989TF}, tdp: 700W, power_limit: " +
                watts + "}\n")
        .text();
  };
  EXPECT_EQ(limited("500W"), "");
  EXPECT_NE(limited("0W").find("a power limit of"), std::string::npos);
  EXPECT_NE(limited("100W").find("a power limit of"), std::string::npos);
  EXPECT_NE(limited("900W").find("a power limit of"), std::string::npos);
}

TEST(CatalogCheck, CatchesBadValues) {
  const std::string server = std::string(kReferences) +
                             "servers:\n  - {id: s, name: x, vendor: us, source: mine, kind: gpu, height: 8, "
                             "gpu: h100-sxm, gpus: 8, psus: 4, psus_needed: 6, power: 5kW, ports: ["
                             "{use: backend, nic: connectx-7, count: 8, form: osfp, speeds: [800G], gpus: [0, 9]}]}\n";
  const std::string text = with(server).text();
  EXPECT_THAT(text, HasSubstr("needs 6 of 4 supplies"));
  EXPECT_THAT(text, HasSubstr("8 GPUs of 700W draw more than the server's 5kW"));
  EXPECT_THAT(text, HasSubstr("adapter connectx-7 has no port speed 800G"));
  EXPECT_THAT(text, HasSubstr("8 ports but 2 GPUs listed"));
  EXPECT_THAT(text, HasSubstr("no GPU 9"));
  EXPECT_THAT(text, HasSubstr("must have exactly one row of out-of-band ports, not 0"));
}

TEST(CatalogCheck, CatchesImpossibleAdapters) {
  const auto adapter = [](const std::string& facts) {
    return with(std::string(kReferences) +
                "nics:\n  - {id: n, name: x, vendor: us, source: mine, networks: [ethernet], ports: 2, form: osfp, "
                "speeds: [200G, 100G], " +
                facts + "}\n")
        .text();
  };
  EXPECT_EQ(adapter("bandwidth: 400G, pcie_generation: 5, pcie_lanes: 16"), "");
  EXPECT_THAT(adapter("bandwidth: 500G"), HasSubstr("`n` states more throughput than its ports provide"));
  EXPECT_THAT(adapter("bandwidth: 400G, pcie_generation: 4, pcie_lanes: 16"),
              HasSubstr("`n` states more throughput than the 256G of its PCIe link"));
}

TEST(CatalogCheck, CatchesServersThatContradictTheirParts) {
  const auto server = [](const std::string& facts, const std::string& port) {
    return with(
               std::string(kReferences) +
               "servers:\n  - {id: s, name: x, vendor: us, source: mine, kind: gpu, height: 8, gpu: h100-sxm, gpus: 2, "
               "numa_nodes: 2, gpu_numa: [0, 1], psus: 4, psus_needed: 3, " +
               facts +
               ", ports: [{use: oob, count: 1, form: rj45, speeds: [1G]}, {use: backend, nic: connectx-7, "
               "count: 2, speeds: [400G], gpus: [0, 1], " +
               port + "}]}\n")
        .text();
  };
  const std::string good = "interconnect: nvswitch, power: 3kW";
  EXPECT_EQ(server(good, "form: osfp, numa: [0, 1]"), "");
  EXPECT_THAT(server(good, "form: qsfp112"), HasSubstr("adapter connectx-7 has osfp cages, not qsfp112"));
  EXPECT_THAT(server(good, "form: osfp, numa: [1, 0]"),
              HasSubstr("port 1 is on NUMA node 1, but its nearest GPU, 0, is on 0"));
  EXPECT_EQ(server(good, "form: osfp, numa: [0, 0]"), "");  // no port is on the other node
  EXPECT_THAT(server("interconnect: nvlink-bridge, power: 3kW", "form: osfp"),
              HasSubstr("sxm GPUs such as h100-sxm have no nvlink-bridge interconnect"));
  EXPECT_THAT(server("interconnect: nvswitch, power: 1.42kW", "form: osfp"),
              HasSubstr("GPUs and adapters draw 1450W, more than the server's 1420W"));
}

TEST(CatalogCheck, RequiresASourceForEveryFact) {
  EXPECT_THAT(with("switches:\n  - {id: s, name: x, vendor: us, source: hearsay, network: ethernet, height: 1, "
                   "power: 1kW, radix: 1, radix_speed: 100G, cages: [{form: qsfp28, count: 1, lanes: 4, breakouts: "
                   "[1x100G]}], sources: {pwer: hearsay}}\n")
                  .text(),
              ::testing::AllOf(HasSubstr("refers to source `hearsay`"), HasSubstr("did you mean `power`?")));
}

TEST(UserCatalog, AddsItems) {
  const Built built = with(
      a_switch("my-switch", "{form: osfp, count: 32, lanes: 8, breakouts: [1x800G]}", "radix: 32, radix_speed: 800G"));
  EXPECT_EQ(built.text(), "");
  ASSERT_NE(built.catalog.switch_model("my-switch"), nullptr);
  EXPECT_EQ(built.catalog.switch_model("my-switch")->radix.value, 32);
  EXPECT_EQ(built.catalog.switches().size(), with("").catalog.switches().size() + 1);
}

TEST(UserCatalog, ReplacesItemsById) {
  const Built built = with(
      a_switch("sn5600", "{form: osfp, count: 32, lanes: 8, breakouts: [1x800G]}", "radix: 32, radix_speed: 800G"));
  EXPECT_EQ(built.text(), "");
  EXPECT_EQ(built.catalog.switch_model("sn5600")->radix.value, 32);
  EXPECT_EQ(built.catalog.switches().size(), with("").catalog.switches().size());
}

TEST(UserCatalog, CannotDefineAnItemTwice) {
  const std::string once =
      a_switch("my-switch", "{form: osfp, count: 32, lanes: 8, breakouts: [1x800G]}", "radix: 32, radix_speed: 800G");
  const std::string item = once.substr(once.find("  - "));
  EXPECT_THAT(with(once + item).text(), HasSubstr("`my-switch` is defined twice in this file"));
}

TEST(UserCatalog, CannotReplaceAnItemTwice) {
  const std::string once =
      a_switch("sn5600", "{form: osfp, count: 32, lanes: 8, breakouts: [1x800G]}", "radix: 32, radix_speed: 800G");
  const std::string item = once.substr(once.find("  - "));
  EXPECT_THAT(with(once + item).text(), HasSubstr("`sn5600` is defined twice in this file"));
}

}  // namespace
}  // namespace weft::model
