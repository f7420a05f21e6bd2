#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"
#include "netsim/network/topologies.h"
#include "netsim/routing/routing.h"

namespace weft::netsim {
namespace {

NodeId host(const Network& network, std::size_t i) { return network.endpoints()[i]; }

std::vector<std::string> way(Routes& routes, NodeId from, NodeId to) {
  const Network& network = routes.network();
  std::vector<LinkId> links;
  std::vector<std::string> names;
  if (!routes.path(flow_key(network, from, to, 0, 1), links)) return names;
  for (const LinkId link : links) names.push_back(network.name_of(network.link(link).to));
  return names;
}
std::vector<std::string> way(Routes& routes, std::size_t from, std::size_t to) {
  return way(routes, host(routes.network(), from), host(routes.network(), to));
}

LinkId find_link(const Network& network, std::string_view from, std::string_view to) {
  const NodeId end = network.find_node(to);
  for (const LinkId link : network.out_links(network.find_node(from))) {
    if (network.link(link).to == end) return link;
  }
  return model::kNone<LinkId>;
}

// k = 8: host 5 is on tor1 (pod 0), host 127 on tor31 (pod 7). Destination 127: uplink 127 mod 4 = 3 of the ToR is
// agg3, uplink 127 / 4 mod 4 = 3 of agg3 is core 15; down it is agg31.
TEST(Routes, DModKMatchesSimGrid) {
  const Network network = fat_tree({});
  RoutingOptions options;
  options.mode = RoutingMode::d_mod_k;
  Routes routes(network, options);
  EXPECT_EQ(way(routes, 5, 127), (std::vector<std::string>{"tor1", "agg3", "core15", "agg31", "tor31", "host127"}));
  // 18 = 4 * 4 + 2: agg2, then 4 mod 4 = 0: core 8.
  EXPECT_EQ(way(routes, 127, 18), (std::vector<std::string>{"tor31", "agg30", "core8", "agg6", "tor4", "host18"}));
  EXPECT_EQ(way(routes, 0, 9), (std::vector<std::string>{"tor0", "agg1", "tor2", "host9"}));
  EXPECT_EQ(way(routes, 0, 3), (std::vector<std::string>{"tor0", "host3"}));
}

// The affine permutation of the 1024-host fat tree: no two flows share a link (each is at its full rate).
TEST(Routes, DModKHasNoContentionOnTheAffinePermutation) {
  FatTreeShape shape;
  shape.pods = 16;
  shape.tors_per_pod = shape.hosts_per_tor = shape.aggs_per_pod = 8;
  shape.cores = 64;
  const Network network = fat_tree(shape);
  RoutingOptions options;
  options.mode = RoutingMode::d_mod_k;
  Routes routes(network, options);
  std::vector<int> load(network.links().size(), 0);
  std::vector<LinkId> path;
  for (std::uint32_t h = 0; h < 1024; ++h) {
    ASSERT_TRUE(routes.path(flow_key(network, host(network, h), host(network, (37 * h + 61) % 1024), 0, 1), path));
    for (const LinkId link : path) ++load[model::index_of(link)];
  }
  EXPECT_EQ(*std::max_element(load.begin(), load.end()), 1);
}

TEST(Routes, EqualCostSetsAreAllUplinksAndOneDownlink) {
  const Network network = fat_tree({});
  const Routes routes(network, {});
  const NodeId far = host(network, 127);
  const auto at = [&](const char* name) { return routes.next_links(network.find_node(name), far); };
  EXPECT_EQ(at("tor0").size(), 4U);
  EXPECT_EQ(at("agg0").size(), 4U);
  EXPECT_TRUE(std::is_sorted(at("agg0").begin(), at("agg0").end()));
  ASSERT_EQ(at("core5").size(), 1U);
  EXPECT_EQ(network.link_name(at("core5").front()), "core5 > agg29");
  ASSERT_EQ(at("agg28").size(), 1U);
  EXPECT_EQ(network.link_name(at("agg28").front()), "agg28 > tor31");
  ASSERT_EQ(at("tor31").size(), 1U);
  EXPECT_EQ(network.link_name(at("tor31").front()), "tor31 > host127");
  EXPECT_EQ(at("host127").size(), 0U);
  EXPECT_EQ(at("host0").size(), 1U);
}

// Fewest hops between two endpoints on a path that goes up only before it goes down, by breadth-first search over
// (node, has gone down). -1 if there is none. Tiers define up and down.
int valley_free_distance(const Routes& routes, NodeId from, NodeId to) {
  const Network& network = routes.network();
  std::map<std::pair<NodeId, bool>, int> seen{{{from, false}, 0}};
  std::deque<std::pair<NodeId, bool>> queue{{from, false}};
  while (!queue.empty()) {
    const auto [at, down] = queue.front();
    queue.pop_front();
    if (at == to) return seen[{at, down}];
    if (at != from && network.node(at).kind == NodeKind::endpoint) continue;
    for (const LinkId link : network.out_links(at)) {
      const NodeId next = network.link(link).to;
      const bool goes_up = network.node(next).tier > network.node(at).tier;
      if (!routes.is_up(link) || (down && goes_up)) continue;
      if (seen.emplace(std::pair(next, !goes_up), seen[{at, down}] + 1).second) queue.emplace_back(next, !goes_up);
    }
  }
  return -1;
}

NodeId add_switch(NetworkBuilder& builder, std::uint8_t tier, const std::string& name, bool scale_up = false) {
  Node node;
  node.kind = NodeKind::network_switch;
  node.tier = tier;
  node.scale_up = scale_up;
  return builder.add_node(node, name);
}

// Two links from every host to random leaves, one or two from every leaf to some spines, a host on a spine.
Network irregular(RandomStream& random) {
  NetworkBuilder builder;
  std::vector<NodeId> leaves;
  std::vector<NodeId> spines;
  for (int i = 0; i < 5; ++i) leaves.push_back(add_switch(builder, 1, "leaf" + std::to_string(i)));
  for (int i = 0; i < 3; ++i) spines.push_back(add_switch(builder, 2, "spine" + std::to_string(i)));
  const NodeId core = add_switch(builder, 3, "core");
  for (int i = 0; i < 9; ++i) {
    const NodeId end = builder.add_node({}, "host" + std::to_string(i));
    for (int n = 0; n < 2; ++n) builder.connect(end, leaves[random.below(5)], gigabits(1), SimTime());
    if (i == 0) builder.connect(end, spines[1], gigabits(1), SimTime());
  }
  for (int n = 0; n < 2; ++n) {
    for (const NodeId spine : spines) {
      for (const NodeId leaf : leaves) {
        if (random.chance(0.7)) builder.connect(leaf, spine, gigabits(1), SimTime());
      }
      builder.connect(spine, core, gigabits(1), SimTime());
    }
  }
  return std::move(builder).finish();
}

// Checks every pair of the first nine endpoints against the search above; returns the number of pairs without a path.
int compare_with_search(Routes& routes) {
  const Network& network = routes.network();
  int cut = 0;
  for (std::size_t a = 0; a < 9; ++a) {
    for (std::size_t b = 0; b < 9; ++b) {
      if (a == b) continue;
      const int distance = valley_free_distance(routes, host(network, a), host(network, b));
      const std::vector<std::string> names = way(routes, a, b);
      EXPECT_EQ(static_cast<int>(names.size()), std::max(distance, 0)) << a << " to " << b;
      cut += distance < 0 ? 1 : 0;
      bool down = false;
      for (std::size_t i = 1; i < names.size(); ++i) {
        const auto tier = [&](std::size_t n) { return network.node(network.find_node(names[n])).tier; };
        EXPECT_FALSE(down && tier(i) > tier(i - 1)) << "up again after down";
        down = down || tier(i) < tier(i - 1);
      }
    }
  }
  return cut;
}

// After any failures: a path exists exactly if a valley-free one does, and it is as short as the shortest of those.
TEST(Routes, PathsAreShortestValleyFreeAfterAnyFailure) {
  FatTreeShape shape;
  shape.pods = 3;
  shape.tors_per_pod = 3;
  shape.hosts_per_tor = 1;
  shape.aggs_per_pod = 2;
  shape.cores = 4;
  RandomStream random(11, "failures");
  int cut = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Network network = trial % 2 == 0 ? fat_tree(shape) : irregular(random);
    Routes routes(network, {});
    for (int i = 0; i < trial / 2; ++i) {
      // Queries in between, so that stale entries from before a failure would be detected.
      const std::uint64_t from = random.below(9);
      way(routes, from, random.below(9));
      const auto link = static_cast<LinkId>(random.below(network.links().size()));
      routes.set_link(link, random.chance(0.1));
    }
    cut += compare_with_search(routes);
    ASSERT_FALSE(HasFailure()) << "in trial " << trial;
  }
  EXPECT_GT(cut, 0) << "the trials must include pairs without a way";
}

// Links that packets may hold while they wait for another: a cycle among them can deadlock.
bool buffers_can_wait_in_a_cycle(const Network& network, const Routes& routes) {
  std::map<LinkId, std::set<LinkId>> waits;
  for (const NodeId destination : network.endpoints()) {
    std::set<LinkId> reached;
    std::deque<LinkId> queue;
    for (const NodeId source : network.endpoints()) {
      for (const LinkId link : routes.next_links(source, destination)) queue.push_back(link);
    }
    while (!queue.empty()) {
      const LinkId held = queue.front();
      queue.pop_front();
      if (!reached.insert(held).second) continue;
      for (const LinkId wanted : routes.next_links(network.link(held).to, destination)) {
        waits[held].insert(wanted);
        queue.push_back(wanted);
      }
    }
  }
  // Removes links that wait for nothing until none is left or all that are left wait.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = waits.begin(); it != waits.end();) {
      const bool free = std::none_of(it->second.begin(), it->second.end(), [&](LinkId l) { return waits.contains(l); });
      changed = changed || free;
      it = free ? waits.erase(it) : std::next(it);
    }
  }
  return !waits.empty();
}

TEST(Routes, UpDownAvoidsBufferCyclesOnARingAndShortestPathsDoNot) {
  for (const std::uint32_t size : {3U, 5U, 6U}) {
    const Network network = ring_of_switches(size, 2, gigabits(100), microseconds(1));
    RoutingOptions options;
    Routes safe(network, options);
    options.up_down = false;
    Routes loose(network, options);
    EXPECT_FALSE(buffers_can_wait_in_a_cycle(network, safe)) << size;
    // With three switches every path between two is one hop: no ring link waits for another.
    EXPECT_EQ(buffers_can_wait_in_a_cycle(network, loose), size > 3) << size;
    for (std::size_t a = 0; a < network.endpoints().size(); ++a) {
      for (std::size_t b = 0; b < network.endpoints().size(); ++b) {
        if (a == b) continue;
        EXPECT_FALSE(way(safe, a, b).empty());
        const std::size_t apart = (b / 2 + size - a / 2) % size;
        EXPECT_EQ(way(loose, a, b).size(), 2 + std::min<std::size_t>(apart, size - apart));
      }
    }
  }
}

// The order within a tier follows the working links, as after a subnet manager's next sweep.
TEST(Routes, RingWithAFailedLinkReachesAll) {
  const Network network = ring_of_switches(6, 1, gigabits(100), microseconds(1));
  Routes routes(network, {});
  routes.set_link(find_link(network, "switch0", "switch1"), false);
  EXPECT_EQ(way(routes, 1, 0).size(), 7U);
  for (std::size_t a = 0; a < 6; ++a) {
    for (std::size_t b = 0; b < 6; ++b) EXPECT_EQ(way(routes, a, b).empty(), a == b);
  }
  EXPECT_FALSE(buffers_can_wait_in_a_cycle(network, routes));
}

class DualHomed : public ::testing::Test {
 protected:
  static Network make() {
    NetworkBuilder builder;
    const NodeId a = builder.add_node({}, "a");
    const NodeId b = builder.add_node({}, "b");
    const NodeId c = builder.add_node({}, "c");
    const NodeId gpus = add_switch(builder, 1, "nvlink", true);
    const NodeId left = add_switch(builder, 1, "left");
    const NodeId right = add_switch(builder, 1, "right");
    for (const NodeId end : {a, b, c}) {
      builder.connect(end, left, gigabits(100), SimTime());
      if (end != c) builder.connect(end, gpus, gigabits(3600), SimTime());
      builder.connect(end, right, gigabits(100), SimTime());
    }
    return std::move(builder).finish();
  }
  Network network_ = make();
  NodeId a_ = network_.find_node("a");
  NodeId b_ = network_.find_node("b");
  NodeId c_ = network_.find_node("c");
};

TEST_F(DualHomed, BothLinksAreUsedAndOneIsEnough) {
  Routes routes(network_, {});
  EXPECT_EQ(routes.next_links(a_, c_).size(), 2U);
  routes.set_link(find_link(network_, "c", "left"), false);
  ASSERT_EQ(routes.next_links(a_, c_).size(), 1U);
  EXPECT_EQ(way(routes, a_, c_), (std::vector<std::string>{"right", "c"}));
  routes.set_link(find_link(network_, "right", "a"), false);
  EXPECT_TRUE(way(routes, a_, c_).empty()) << "left no longer has c, and a no longer has right";
  routes.set_link(find_link(network_, "left", "c"), true);
  EXPECT_EQ(way(routes, a_, c_), (std::vector<std::string>{"left", "c"}));
}

TEST_F(DualHomed, ScaleUpIsPreferredWithinAHostAndNeverLeavesIt) {
  Routes routes(network_, {});
  EXPECT_EQ(way(routes, a_, b_), (std::vector<std::string>{"nvlink", "b"}));
  EXPECT_TRUE(routes.next_links(network_.find_node("nvlink"), c_).empty());
  routes.set_link(find_link(network_, "nvlink", "b"), false);
  EXPECT_EQ(way(routes, a_, b_).size(), 2U);
  EXPECT_NE(way(routes, a_, b_).front(), "nvlink");
}

TEST_F(DualHomed, EpochCountsChangesOfBothDirections) {
  Routes routes(network_, {});
  const LinkId link = find_link(network_, "a", "left");
  EXPECT_EQ(routes.epoch(), 0U);
  routes.set_link(link, false);
  EXPECT_FALSE(routes.is_up(link));
  EXPECT_FALSE(routes.is_up(network_.link(link).reverse));
  routes.set_link(network_.link(link).reverse, false);
  EXPECT_EQ(routes.epoch(), 1U);
  routes.set_link(network_.link(link).reverse, true);
  EXPECT_TRUE(routes.is_up(link));
  EXPECT_EQ(routes.epoch(), 2U);
}

TEST(Routes, LeavesUseTheCableBetweenThem) {
  NetworkBuilder builder;
  const NodeId a = builder.add_node({}, "a");
  const NodeId b = builder.add_node({}, "b");
  const NodeId left = add_switch(builder, 1, "left");
  const NodeId right = add_switch(builder, 1, "right");
  const NodeId spine = add_switch(builder, 2, "spine");
  builder.connect(a, left, gigabits(1), SimTime());
  builder.connect(b, right, gigabits(1), SimTime());
  builder.connect(left, right, gigabits(1), SimTime());
  builder.connect(left, spine, gigabits(1), SimTime());
  builder.connect(right, spine, gigabits(1), SimTime());
  const Network network = std::move(builder).finish();
  Routes routes(network, {});
  EXPECT_EQ(way(routes, a, b), (std::vector<std::string>{"left", "right", "b"}));
  EXPECT_EQ(way(routes, b, a), (std::vector<std::string>{"right", "left", "a"}));
  routes.set_link(find_link(network, "left", "right"), false);
  EXPECT_EQ(way(routes, b, a), (std::vector<std::string>{"right", "spine", "left", "a"}));
}

TEST(Routes, UnreachableDestinationsHaveNoPath) {
  NetworkBuilder builder;
  const NodeId a = builder.add_node({}, "a");
  const NodeId b = builder.add_node({}, "b");
  const NodeId c = builder.add_node({}, "c");
  builder.connect(a, b, gigabits(1), SimTime());
  const Network network = std::move(builder).finish();
  Routes routes(network, {});
  const NodeId all[] = {a, b, c};
  routes.prepare(all);
  EXPECT_EQ(way(routes, a, b), (std::vector<std::string>{"b"})) << "straight from one to the other";
  EXPECT_TRUE(way(routes, a, c).empty());
  EXPECT_TRUE(way(routes, a, a).empty());
  std::vector<LinkId> path{LinkId{3}};
  EXPECT_FALSE(routes.path({}, path));
  EXPECT_TRUE(path.empty());
}

TEST(Routes, ConcurrentQuestionsGetTheSameAnswersAsOne) {
  FatTreeShape shape;
  shape.pods = 4;
  const Network network = fat_tree(shape);
  for (const bool up_down : {true, false}) {
    RoutingOptions options;
    options.up_down = up_down;
    Routes one(network, options);
    Routes shared(network, options);
    for (const char* agg : {"agg1", "agg6"}) {  // a gap in the middle of a set, so that sets have to be stored
      one.set_link(find_link(network, agg, agg == std::string_view("agg1") ? "core5" : "tor5"), false);
      shared.set_link(find_link(network, agg, agg == std::string_view("agg1") ? "core5" : "tor5"), false);
    }
    std::atomic<int> wrong{0};
    const auto same = [&](NodeId at, NodeId destination) {
      const auto expected = one.next_links(at, destination);
      const auto found = shared.next_links(at, destination);
      if (!std::equal(expected.begin(), expected.end(), found.begin(), found.end())) ++wrong;
    };
    one.prepare(network.endpoints());
    shared.prepare(network.endpoints());
    std::vector<std::thread> readers;
    for (std::size_t t = 0; t < 4; ++t) {
      readers.emplace_back([&, t] {
        for (std::size_t i = 0; i < network.nodes().size() * network.endpoints().size(); i += 3) {
          const std::size_t n = (i + t * 977) % (network.nodes().size() * network.endpoints().size());
          same(static_cast<NodeId>(n % network.nodes().size()), host(network, n / network.nodes().size()));
        }
      });
    }
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(wrong.load(), 0);
  }
}

}  // namespace
}  // namespace weft::netsim
