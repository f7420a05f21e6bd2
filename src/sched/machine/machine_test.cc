#include "sched/machine/machine.h"

#include <gtest/gtest.h>

#include "base/test_places.h"
#include "model/load.h"

namespace weft::sched {
namespace {

NodeShape node(const std::string& name) {
  NodeShape shape;
  shape.name = name;
  shape.gpus = 8;
  return shape;
}

TEST(Machine, DomainsAreRangesOfNodes) {
  std::vector<NodeShape> nodes;
  std::vector<NodeLabels> labels;
  for (int i = 15; i >= 0; --i) {  // in reverse: the input order does not matter
    nodes.push_back(node("n" + std::to_string(i)));
    labels.push_back({"", "r" + std::to_string(i / 2), "l" + std::to_string(i / 4), "p" + std::to_string(i / 8)});
  }
  const Result<Machine> machine = Machine::build(nodes, labels, {}, {"pool"});
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->domains(Level::rack).size(), 8U);
  EXPECT_EQ(machine->domains(Level::leaf).size(), 4U);
  EXPECT_EQ(machine->domains(Level::pod).size(), 2U);
  EXPECT_EQ(machine->domains(Level::cluster).size(), 1U);
  EXPECT_EQ(machine->node(static_cast<NodeId>(10)).name, "n10");  // natural order within
  for (const Level level : {Level::rack, Level::leaf, Level::pod, Level::cluster}) {
    for (std::uint32_t d = 0; d < machine->domains(level).size(); ++d) {
      const Domain& domain = machine->domains(level)[d];
      for (std::uint32_t n = domain.first_node; n < domain.end_node; ++n) {
        EXPECT_EQ(machine->domain_of(level, static_cast<NodeId>(n)), d);
      }
    }
  }
  EXPECT_EQ(machine->domains(Level::leaf)[1].parent, 0U);
  EXPECT_EQ(machine->domains(Level::leaf)[2].first_child, 4U);
  EXPECT_TRUE(machine->distinct(Level::rack));
  EXPECT_FALSE(machine->distinct(Level::nvlink));
  EXPECT_EQ(machine->find("n7"), static_cast<NodeId>(7));
  EXPECT_FALSE(machine->find("n16").has_value());
  EXPECT_EQ(machine->gpus(), 128);
}

TEST(Machine, RacksThatSpanLeavesAreSplit) {
  std::vector<NodeLabels> labels;
  std::vector<NodeShape> nodes;
  for (int i = 0; i < 6; ++i) {
    nodes.push_back(node("n" + std::to_string(i)));
    labels.push_back({"", i < 4 ? "r0" : "r1", i < 3 ? "l0" : "l1", ""});
  }
  const Result<Machine> machine = Machine::build(nodes, labels, {}, {});
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->domains(Level::leaf).size(), 2U);
  EXPECT_EQ(machine->domains(Level::rack).size(), 3U);  // r0 of l0, r0 of l1, r1
}

TEST(Machine, InvalidNodesAreRejected) {
  EXPECT_FALSE(Machine::build({node("a"), node("a")}, {{}, {}}, {}, {}).ok());
  NodeShape huge = node("a");
  huge.gpus = 17;
  EXPECT_FALSE(Machine::build({huge}, {{}}, {}, {}).ok());
  EXPECT_FALSE(Machine::build({node("a")}, {{}}, std::vector<std::string>(65, "m"), {}).ok());
  EXPECT_TRUE(Machine::build({}, {}, {}, {}).ok());
}

TEST(Machine, EveryNodeOfAClusterFileHasAModel) {
  const auto loaded = model::load_cluster(source_dir() + "/examples/pod16.yaml", {});
  ASSERT_TRUE(loaded->cluster != nullptr);
  const Result<Machine> machine = Machine::of(*loaded->cluster);
  ASSERT_TRUE(machine.ok());
  for (const NodeShape& each : machine->nodes()) EXPECT_EQ(each.model, 0) << each.name;
}

TEST(Machine, BuildsFromAClusterFile) {
  const auto loaded = model::load_cluster(source_dir() + "/examples/pod32.yaml", {});
  ASSERT_TRUE(loaded->cluster != nullptr);
  const Result<Machine> machine = Machine::of(*loaded->cluster);
  ASSERT_TRUE(machine.ok()) << machine.error().text();
  EXPECT_EQ(machine->gpus(), loaded->cluster->gpu_count());
  for (const NodeShape& shape : machine->nodes()) {
    EXPECT_NE(loaded->cluster->find_device(shape.name), model::kNone<model::DeviceId>);
    EXPECT_GT(shape.cpu, 0);
    EXPECT_GT(shape.memory_mib, 0);
  }
  // Nodes of one leaf group are exactly those that share a unit of the backend.
  for (const Domain& leaf : machine->domains(Level::leaf)) {
    const model::Device& first =
        loaded->cluster->device(loaded->cluster->find_device(machine->nodes()[leaf.first_node].name));
    for (std::uint32_t n = leaf.first_node; n < leaf.end_node; ++n) {
      EXPECT_EQ(loaded->cluster->device(loaded->cluster->find_device(machine->nodes()[n].name)).unit, first.unit);
    }
  }
}

constexpr std::string_view kNvl72 = R"(weft: 1
name: nvl
pools:
  - name: train
    server: gb200-nvl72-tray
    count: 36
    unit: 18
    spares: 2
)";

// GB200 NVL72 as sold by NVIDIA: 18 compute trays with 4 GPUs each are one NVLink domain of 72.
TEST(Machine, NvlinkDomainSpansServers) {
  const auto loaded = model::load_cluster_text("nvl.yaml", std::string(kNvl72));
  ASSERT_TRUE(loaded->cluster != nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  const Result<Machine> machine = Machine::of(*loaded->cluster);
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->domains(Level::nvlink).size(), 2U);
  EXPECT_EQ(machine->domains(Level::nvlink)[0].end_node, 18U);
  EXPECT_EQ(machine->spares().size(), 2U);
}

}  // namespace
}  // namespace weft::sched
