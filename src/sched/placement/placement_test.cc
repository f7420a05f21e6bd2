#include "sched/placement/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "sched/machine/plain_machine.h"

namespace weft::sched {
namespace {

std::shared_ptr<const Machine> plain(std::int32_t nodes, std::int32_t rack, std::int32_t leaf, std::int32_t pod) {
  PlainMachine machine;
  machine.nodes = nodes;
  machine.rack = rack;
  machine.leaf = leaf;
  machine.pod = pod;
  return std::make_shared<const Machine>(plain_machine(machine));
}

Request whole_node() {
  Request request;
  request.gpus = 8;
  return request;
}

void occupy(State& state, std::uint32_t node, int gpus = 8) {
  Request request;
  request.gpus = gpus;
  Slot slot =
      *choose_slot(request, state.machine().node(static_cast<NodeId>(node)), state.free(static_cast<NodeId>(node)));
  slot.node = static_cast<NodeId>(node);
  state.place(JobId{}, request, std::span<const Slot>(&slot, 1));
}

std::optional<Found> find(State& state, const Request& request, const Gang& gang) {
  FitIndex index;
  return find_nodes(FitView(state.machine(), index.of(request, state)), gang, {});
}

std::size_t domains_used(const Machine& machine, const Found& found, Level level) {
  std::set<std::uint32_t> used;
  for (const NodeCount& count : found.nodes) used.insert(machine.domain_of(level, static_cast<NodeId>(count.node)));
  return used.size();
}

TEST(Placement, UsesTheTightestDomainThatFitsTheGang) {
  State state(plain(32, 4, 16, 32));
  const auto four = find(state, whole_node(), {4});
  ASSERT_TRUE(four.has_value());
  EXPECT_EQ(four->level, Level::rack);
  const auto five = find(state, whole_node(), {5});
  ASSERT_TRUE(five.has_value());
  EXPECT_EQ(five->level, Level::leaf);
  EXPECT_EQ(domains_used(state.machine(), *five, Level::rack), 2U);
  const auto twenty = find(state, whole_node(), {20});
  ASSERT_TRUE(twenty.has_value());
  EXPECT_EQ(domains_used(state.machine(), *twenty, Level::leaf), 2U);
  EXPECT_FALSE(find(state, whole_node(), {33}).has_value());
}

TEST(Placement, AvoidsFragmentingLargeDomains) {
  State state(plain(32, 4, 16, 32));
  occupy(state, 0);  // three left in the first rack
  const auto three = find(state, whole_node(), {3});
  ASSERT_TRUE(three.has_value());
  EXPECT_EQ(three->nodes.front().node, 1U);
  EXPECT_EQ(three->nodes.back().node, 3U);
  occupy(state, 20, 2);  // a partly used node gets the small task, in the rack with the least left
  Request two;
  two.gpus = 2;
  const auto small = find(state, two, {1});
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->nodes.front().node, 20U);
}

TEST(Placement, RequiredLevelsAreRespected) {
  State state(plain(32, 4, 16, 32));
  for (std::uint32_t rack = 0; rack < 8; ++rack) occupy(state, rack * 4);
  Gang gang{4, Level::rack};
  EXPECT_FALSE(find(state, whole_node(), gang).has_value());
  gang.required = Level::leaf;
  EXPECT_TRUE(find(state, whole_node(), gang).has_value());
  gang = {13, Level::leaf};
  EXPECT_FALSE(find(state, whole_node(), gang).has_value());
  Request one;
  one.gpus = 1;
  EXPECT_FALSE(find(state, one, {9, Level::node}).has_value());
  EXPECT_TRUE(find(state, one, {8, Level::node}).has_value());
}

TEST(Placement, EachSegmentIsInOneDomain) {
  // NVL72: domains of 18 nodes, segments of 16 (NVIDIA's advice for large jobs): one per domain, two nodes left over.
  std::vector<NodeShape> nodes;
  std::vector<NodeLabels> labels;
  for (int i = 0; i < 72; ++i) {
    NodeShape shape;
    shape.name = "n" + std::to_string(i);
    shape.gpus = 4;
    nodes.push_back(shape);
    labels.push_back({"d" + std::to_string(i / 18), "", "", ""});
  }
  State state(std::make_shared<const Machine>(*Machine::build(nodes, labels, {}, {})));
  Request tray;
  tray.gpus = 4;
  Gang gang{48, Level::cluster, 16, Level::nvlink};
  const auto found = find(state, tray, gang);
  ASSERT_TRUE(found.has_value());
  std::map<std::uint32_t, int> per_domain;
  for (const NodeCount& count : found->nodes) {
    per_domain[state.machine().domain_of(Level::nvlink, static_cast<NodeId>(count.node))] += count.tasks;
  }
  EXPECT_EQ(per_domain.size(), 3U);
  for (const auto& [domain, tasks] : per_domain) EXPECT_EQ(tasks, 16);
  gang.tasks = 80;  // five segments of 16 in four domains
  EXPECT_FALSE(find(state, tray, gang).has_value());
  for (std::uint32_t domain = 0; domain < 4; ++domain) {
    for (std::uint32_t n = 0; n < 3; ++n) occupy(state, domain * 18 + n, 4);
  }
  gang.tasks = 16;  // 15 left in each: sixty nodes free, no segment fits
  EXPECT_FALSE(find(state, tray, gang).has_value());
  gang = {32, Level::cluster, 8, Level::nvlink};
  EXPECT_TRUE(find(state, tray, gang).has_value());
}

TEST(Placement, RanksShareRails) {
  State state(plain(8, 4, 8, 8));
  occupy(state, 0, 2);  // GPUs 0 and 1 of the first node are in use
  Request four;
  four.gpus = 4;
  FitIndex index;
  const auto found = find_nodes(FitView(state.machine(), index.of(four, state)), {2, Level::cluster}, {});
  ASSERT_TRUE(found.has_value());
  const Placement placement = choose_slots(state, four, *found);
  ASSERT_EQ(placement.slots.size(), 2U);
  if (placement.slots[0].node != placement.slots[1].node) {
    EXPECT_EQ(placement.slots[0].gpus, placement.slots[1].gpus);
  }
}

// A gang is placed if and only if it fits: compared with counting, over random machines. It uses the fewest leaves: no
// smaller number of leaves has the capacity.
TEST(Placement, FindsAPlacementIfOneExistsWithTheFewestLeaves) {
  RandomStream random(11, "placement");
  for (int round = 0; round < 400; ++round) {
    State state(plain(48, 3, 12, 24));
    for (std::uint32_t node = 0; node < 48; ++node) {
      if (random.chance(0.6)) occupy(state, node, 1 + static_cast<int>(random.below(8)));
    }
    Request request;
    request.gpus = 1 + static_cast<int>(random.below(8));
    Gang gang;
    gang.tasks = 1 + static_cast<std::int32_t>(random.below(20));
    gang.required = static_cast<Level>(random.below(kLevels));
    std::vector<int> node_fit(48);
    std::map<std::uint32_t, int> domain_fit;
    std::vector<int> leaves(4);
    for (std::uint32_t node = 0; node < 48; ++node) {
      node_fit[node] = state.free(static_cast<NodeId>(node)).whole_gpus() / request.gpus;
      const std::uint32_t domain =
          gang.required == Level::node ? node : state.machine().domain_of(gang.required, static_cast<NodeId>(node));
      domain_fit[domain] += node_fit[node];
      leaves[node / 12] += node_fit[node];
    }
    const bool possible = std::any_of(domain_fit.begin(), domain_fit.end(),
                                      [&](const auto& domain) { return domain.second >= gang.tasks; });
    const auto found = find(state, request, gang);
    ASSERT_EQ(found.has_value(), possible);
    FitIndex index;
    const int most = most_tasks(FitView(state.machine(), index.of(request, state)), gang);
    int best = 0;
    for (const auto& [domain, fit] : domain_fit) best = std::max(best, fit);
    ASSERT_EQ(most, std::min(best, gang.tasks));
    if (!found) continue;
    int tasks = 0;
    for (const NodeCount& count : found->nodes) {
      ASSERT_LE(count.tasks, node_fit[count.node]);
      tasks += count.tasks;
    }
    ASSERT_EQ(tasks, gang.tasks);
    ASSERT_LE(found->level, gang.required);
    if (gang.required != Level::cluster) continue;
    // Fewest leaves inside the fewest pods: pods have two leaves here.
    std::vector<int> pods = {leaves[0] + leaves[1], leaves[2] + leaves[3]};
    const bool one_leaf = *std::max_element(leaves.begin(), leaves.end()) >= gang.tasks;
    const bool one_pod = *std::max_element(pods.begin(), pods.end()) >= gang.tasks;
    const std::size_t used = domains_used(state.machine(), *found, Level::leaf);
    if (one_leaf) {
      ASSERT_EQ(used, 1U);
    } else if (one_pod) {
      ASSERT_EQ(used, 2U);
    }
  }
}

// The incrementally updated index equals a freshly built one.
TEST(FitIndex, FollowsEveryChange) {
  RandomStream random(13, "index");
  State state(plain(64, 4, 16, 32));
  FitIndex index;
  std::vector<std::pair<JobId, Slot>> held;
  Request each;
  each.gpus = 2;
  for (int step = 0; step < 3000; ++step) {
    const auto node = static_cast<NodeId>(random.below(64));
    if (random.chance(0.5)) {
      if (auto slot = choose_slot(each, state.machine().node(node), state.free(node))) {
        slot->node = node;
        const auto job = static_cast<JobId>(step);
        state.place(job, each, std::span<const Slot>(&*slot, 1));
        held.emplace_back(job, *slot);
      }
    } else if (!held.empty() && random.chance(0.9)) {
      const std::size_t which = random.below(held.size());
      state.remove(held[which].first, each, std::span<const Slot>(&held[which].second, 1));
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      state.set_up(node, random.chance(0.6));
    }
    if (!random.chance(0.1)) continue;
    Request asked;
    asked.gpus = 1 + static_cast<int>(random.below(8));
    const FitClass& kept = index.of(asked, state);
    FitIndex fresh;
    const FitClass& now = fresh.of(asked, state);
    ASSERT_EQ(kept.fit, now.fit);
    for (int level = 1; level < kLevels; ++level) ASSERT_EQ(kept.sums[level], now.sums[level]);
  }
}

}  // namespace
}  // namespace weft::sched
