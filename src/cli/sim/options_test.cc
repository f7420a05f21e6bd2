#include "cli/sim/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "cli/framework/progress.h"
#include "cli/sim/input.h"
#include "netsim/network/topologies.h"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The options of a `weft sim traffic` command line, and the first problem.
struct Line {
  explicit Line(std::vector<std::string> words) {
    words.insert(words.begin(), {"sim", "traffic"});
    parsed = parse_line(words);
    EXPECT_THAT(parsed.problem, IsEmpty());
  }
  ParsedLine parsed;
  OptionReader reader{parsed.arguments};
  SimSetup setup;

  Line& read() {
    read_sim_options(reader, netsim::Fidelity::packet, setup);
    read_sim_series(reader, setup.options);
    return *this;
  }
};

netsim::Network small() {
  netsim::LeafSpineShape shape;
  shape.leaves = 2;
  shape.hosts_per_leaf = 2;
  shape.spines = 2;
  shape.links_per_spine = 2;
  return netsim::leaf_spine(shape);
}

TEST(SimOptionsTest, DefaultsMatchTheEngine) {
  Line line({});
  line.read();
  EXPECT_TRUE(line.reader.ok());
  EXPECT_EQ(line.setup.fidelities, std::vector{netsim::Fidelity::packet});
  EXPECT_EQ(line.setup.options.classes.front().transport.kind, netsim::Transport::dcqcn);
  EXPECT_EQ(line.setup.options.end, netsim::kNever);
  EXPECT_EQ(line.setup.routing.mode, netsim::RoutingMode::ecmp);
}

TEST(SimOptionsTest, EveryOptionIsApplied) {
  Line line({"--fidelity",    "all",
             "--transport",   "hpcc",
             "--routing",     "d-mod-k",
             "--hash",        "toeplitz",
             "--hash-seeds",  "shared",
             "--queue-pairs", "4",
             "--seed",        "18446744073709551615",
             "--threads",     "2",
             "--until",       "10ms",
             "--ecn",         "100KB:200KB:10%",
             "--alpha",       "1/4",
             "--buffer",      "16MB",
             "--headroom",    "50KB",
             "--no-pfc",      "--mtu",
             "1024",          "--series",
             "10us",          "--watchdog",
             "forward",       "--watchdog-time",
             "3ms",           "--detection",
             "1ms",           "--propagation",
             "2ms",           "--no-up-down",
             "--cut-through"});
  line.read();
  ASSERT_TRUE(line.reader.ok()) << line.reader.problem();
  const netsim::SimOptions& options = line.setup.options;
  const netsim::TrafficClassOptions& traffic = options.classes.front();
  EXPECT_EQ(line.setup.fidelities.size(), 3U);
  EXPECT_EQ(line.setup.fidelities.back(), netsim::Fidelity::packet);
  EXPECT_EQ(traffic.transport.kind, netsim::Transport::hpcc);
  EXPECT_EQ(traffic.transport.payload, Bytes(1024));
  EXPECT_EQ(traffic.ecn_min, Bytes(100'000));
  EXPECT_EQ(traffic.ecn_max, Bytes(200'000));
  EXPECT_DOUBLE_EQ(traffic.ecn_probability, 0.1);
  EXPECT_DOUBLE_EQ(options.switches.alpha, 0.25);
  EXPECT_EQ(options.switches.buffer, Bytes(16'000'000));
  EXPECT_EQ(options.switches.headroom, Bytes(50'000));
  EXPECT_FALSE(options.switches.pfc);
  EXPECT_TRUE(options.switches.cut_through);
  EXPECT_EQ(options.switches.watchdog, netsim::Watchdog::forward);
  EXPECT_EQ(options.switches.watchdog_detection, netsim::microseconds(3000));
  EXPECT_EQ(options.switches.watchdog_restoration, netsim::microseconds(3000));
  EXPECT_EQ(options.end, netsim::microseconds(10'000));
  EXPECT_EQ(options.series_interval, netsim::microseconds(10));
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.seed, UINT64_MAX);
  EXPECT_EQ(line.setup.routing.seed, UINT64_MAX);
  EXPECT_EQ(line.setup.routing.mode, netsim::RoutingMode::d_mod_k);
  EXPECT_EQ(line.setup.routing.hash, netsim::HashFunction::toeplitz);
  EXPECT_EQ(line.setup.routing.seeds, netsim::HashSeeds::shared);
  EXPECT_FALSE(line.setup.routing.up_down);
  EXPECT_EQ(line.setup.routing.detection, netsim::microseconds(1000));
  EXPECT_EQ(line.setup.routing.propagation, netsim::microseconds(2000));
  EXPECT_EQ(line.setup.queue_pairs, 4);
}

TEST(SimOptionsTest, SprayedPacketsAreRecoveredSelectively) {
  EXPECT_EQ(Line({"--routing", "spray"}).read().setup.options.classes.front().transport.recovery,
            netsim::Recovery::selective);
  EXPECT_EQ(
      Line({"--routing", "spray", "--recovery", "go-back-n"}).read().setup.options.classes.front().transport.recovery,
      netsim::Recovery::go_back_n);
  EXPECT_EQ(Line({}).read().setup.options.classes.front().transport.recovery, netsim::Recovery::go_back_n);
}

TEST(SimOptionsTest, TcpIsLossy) {
  Line line({"--transport", "tcp"});
  line.read();
  EXPECT_FALSE(line.setup.options.classes.front().lossless);
  EXPECT_EQ(line.setup.options.classes.front().name, "tcp");
}

TEST(SimOptionsTest, HostSoftwareCostIsGivenOrDefault) {
  const auto transport = [](const std::vector<std::string>& words) {
    Line line(words);
    line.read();
    EXPECT_TRUE(line.reader.ok()) << line.reader.problem();
    return line.setup.options.classes.front().transport;
  };
  EXPECT_EQ(transport({}).host_limit, BitRate(0));
  EXPECT_EQ(transport({"--transport", "tcp"}).host_limit, gigabits(42));
  EXPECT_EQ(transport({"--transport", "tcp"}).host_overhead, netsim::microseconds(5));
  EXPECT_EQ(transport({"--transport", "tcp", "--host-limit", "0"}).host_limit, BitRate(0));
  EXPECT_EQ(transport({"--host-limit", "60G"}).host_limit, gigabits(60));
  EXPECT_EQ(transport({"--transport", "tcp", "--host-overhead", "0us"}).host_overhead, netsim::SimTime());
}

struct BadLine {
  std::vector<std::string> words;
  std::string problem;
};

TEST(SimOptionsTest, BadValuesAreExplained) {
  const std::vector<BadLine> lines = {
      {{"--ecn", "400KB"}, "--ecn: `400KB` is not MIN:MAX:P or off"},
      {{"--ecn", "2MB:1MB:0.2"}, "the minimum is above the maximum"},
      {{"--ecn", "1KB:2KB:1.5"}, "`1.5` is not a probability"},
      {{"--ecn", "1KB:2KB:nan"}, "`nan` is not a probability"},
      {{"--ecn", "x:2KB:0.1"}, "--ecn:"},
      {{"--ecn", ":::"}, "--ecn:"},
      {{"--alpha", "0"}, "--alpha: `0` is not a number between"},
      {{"--alpha", "1/0"}, "--alpha: `1/0`"},
      {{"--alpha", "inf"}, "--alpha: `inf`"},
      {{"--buffer", "1B"}, "--buffer: `1B` is not between 10KB"},
      {{"--threads", "0"}, "--threads: `0` is not an integer between 1 and 64"},
      {{"--threads", "two"}, "--threads: `two`"},
      {{"--queue-pairs", "256"}, "--queue-pairs: `256`"},
      {{"--seed", "-1"}, "--seed: `-1` is not an integer below 2^64"},
      {{"--seed", "18446744073709551616"}, "--seed:"},
      {{"--until", "0us"}, "--until: must be greater than 0"},
      {{"--until", "5"}, "--until:"},
      {{"--until", "3d"}, "--until: is more than a day"},
      {{"--series", "0ms"}, "--series: must be greater than 0"},
      {{"--mtu", "10"}, "--mtu: `10` is not between 64"},
      {{"--host-limit", "fast"}, "--host-limit:"},
      {{"--host-limit", "-1G"}, "--host-limit:"},
      {{"--host-overhead", "5"}, "--host-overhead:"},
  };
  for (const BadLine& each : lines) {
    Line line(each.words);
    line.read();
    EXPECT_FALSE(line.reader.ok()) << each.words[1];
    EXPECT_THAT(line.reader.problem(), HasSubstr(each.problem));
  }
}

TEST(SimOptionsTest, LinksByName) {
  const netsim::Network network = small();
  const auto name = [&](std::string_view text) { return network.link_name(find_link(network, text).value()); };
  EXPECT_EQ(name("leaf0>spine1"), "leaf0 > spine1 #1");
  EXPECT_EQ(name("leaf0 > spine1 #2"), "leaf0 > spine1 #2");
  EXPECT_EQ(name("spine1>leaf0#2"), "spine1 > leaf0 #2");
  EXPECT_EQ(name("host0>leaf0"), "host0 > leaf0");
  const auto problem = [&](std::string_view text) { return find_link(network, text).error().message; };
  EXPECT_THAT(problem("leaf0"), HasSubstr("write it as"));
  EXPECT_THAT(problem("leaf0>spin1"), HasSubstr("did you mean `spine1`?"));
  EXPECT_THAT(problem("leaf0>leaf1"), HasSubstr("no cable connects leaf0 and leaf1"));
  EXPECT_THAT(problem("leaf0>spine1#3"), HasSubstr("no cable connects"));
  EXPECT_THAT(problem("leaf0>spine1#x"), HasSubstr("not a cable number"));
  EXPECT_THAT(problem(">"), HasSubstr("has no node"));
}

TEST(SimOptionsTest, FaultsAreBoundToTheNetwork) {
  netsim::Network network = small();
  Line line({"--fail", "leaf0>spine0@200us", "--restore", "leaf0>spine0@1ms", "--fail", "host1>leaf0@100us", "--errors",
             "leaf1>spine0=1e-3", "--link-mtu", "leaf1>spine1=1500", "--storm", "host3@5us", "--storm",
             "host2@1us-9us"});
  netsim::SimOptions options;
  read_sim_faults(line.reader, network, options);
  ASSERT_TRUE(line.reader.ok()) << line.reader.problem();
  ASSERT_EQ(options.link_events.size(), 5U);
  EXPECT_EQ(options.link_events[0].kind, netsim::LinkEvent::Kind::errors);  // in order of time
  EXPECT_DOUBLE_EQ(options.link_events[0].loss, 1e-3);
  EXPECT_EQ(options.link_events[1].mtu, Bytes(1500));
  EXPECT_EQ(options.link_events[2].at, netsim::microseconds(100));
  EXPECT_EQ(options.link_events[4].kind, netsim::LinkEvent::Kind::up);
  ASSERT_EQ(options.pause_storms.size(), 2U);
  EXPECT_EQ(network.name_of(options.pause_storms[0].endpoint), "host3");
  EXPECT_EQ(options.pause_storms[0].until, netsim::kNever);
  EXPECT_EQ(options.pause_storms[1].until, netsim::microseconds(9));
}

TEST(SimOptionsTest, ASwitchFailsWithAllItsCables) {
  netsim::Network network = small();
  Line line({"--fail", "spine0", "--fail", "host0@1ms", "--slow", "host1>leaf0=1G"});
  netsim::SimOptions options;
  read_sim_faults(line.reader, network, options);
  ASSERT_TRUE(line.reader.ok()) << line.reader.problem();
  std::size_t from_spine = 0;
  for (const netsim::LinkEvent& event : options.link_events) {
    if (network.name_of(network.link(event.link).from) != "spine0") continue;
    ++from_spine;
    EXPECT_EQ(event.at, netsim::SimTime(0));
  }
  EXPECT_EQ(from_spine, network.out_links(network.find_node("spine0")).size());
  EXPECT_EQ(options.link_events.size(), from_spine + 1);
  EXPECT_EQ(options.link_events.back().at, netsim::microseconds(1000));
  const netsim::LinkId slowed = find_link(network, "host1>leaf0").value();
  EXPECT_EQ(network.link(slowed).rate, gigabits(1));
  EXPECT_EQ(network.link(network.link(slowed).reverse).rate, gigabits(1));
}

TEST(SimOptionsTest, BadFaultsAreExplained) {
  netsim::Network network = small();
  const std::vector<BadLine> lines = {
      {{"--restore", "leaf0>spine0"}, "--restore: `leaf0>spine0` lacks @TIME"},
      {{"--fail", "leaf7"}, "the network has no node `leaf7`"},
      {{"--slow", "leaf0>spine0"}, "lacks =VALUE"},
      {{"--slow", "leaf0>spine0=900T"}, "not between 1M and the rate of the cable"},
      {{"--slow", "leaf0>spine0=0"}, "--slow"},
      {{"--slow", "leaf0=1G"}, "is not a link"},
      {{"--fail", "@1us"}, "`@1us` names no cable"},
      {{"--fail", ""}, "names no cable"},
      {{"--fail", "leaf0>spine0@"}, "lacks @TIME"},
      {{"--fail", "leaf0>spine0@soon"}, "--fail:"},
      {{"--fail", "leaf9>spine0@1us"}, "the network has no node `leaf9`"},
      {{"--errors", "leaf0>spine0=2"}, "`2` is not a probability"},
      {{"--errors", "leaf0>spine0"}, "lacks =VALUE"},
      {{"--link-mtu", "leaf0>spine0=0"}, "must be greater than 0"},
      {{"--storm", "leaf0@1us"}, "`leaf0` is a switch"},
      {{"--storm", "host77@1us"}, "the network has no node `host77`"},
      {{"--storm", "host1@9us-1us"}, "the end is before the start"},
  };
  for (const BadLine& each : lines) {
    Line line(each.words);
    netsim::SimOptions options;
    read_sim_faults(line.reader, network, options);
    EXPECT_FALSE(line.reader.ok()) << each.words[1];
    EXPECT_THAT(line.reader.problem(), HasSubstr(each.problem));
  }
}

TEST(SimTopologyTest, Generators) {
  const auto endpoints = [](std::string_view text) { return generate_topology(text, {})->network.endpoints().size(); };
  EXPECT_EQ(endpoints("fat-tree:128"), 128U);
  EXPECT_EQ(endpoints("fat-tree:16"), 16U);
  EXPECT_EQ(endpoints("fat-tree:16x8x8"), 1024U);
  EXPECT_EQ(endpoints("leaf-spine:8x16x4"), 128U);
  EXPECT_EQ(endpoints("star:5"), 5U);
  EXPECT_EQ(endpoints("ring:4x2"), 8U);
  // A fat tree of 128 hosts: 128 + 128 + 128 cables (k = 8: k^3/4 on each of three layers), both ways.
  EXPECT_EQ(generate_topology("fat-tree:128", {})->network.links().size(), 2U * 3U * 128U);
  const TopologyDefaults fast{gigabits(800), Duration(500)};
  const Result<GeneratedTopology> made = generate_topology("star:2", fast);
  EXPECT_EQ(made->network.links()[0].rate, gigabits(800));
  EXPECT_EQ(made->network.links()[0].delay, netsim::nanoseconds(500));
}

TEST(SimTopologyTest, BadTopologiesAreExplained) {
  const auto problem = [](std::string_view text) { return generate_topology(text, {}).error().message; };
  EXPECT_THAT(problem("fat-tree:100"), HasSubstr("54 or 128, not 100"));
  EXPECT_THAT(problem("fat-tree"), HasSubstr("the size is missing"));
  EXPECT_THAT(problem("fat-tree:1000x1000x1000"), HasSubstr("exceed the maximum"));
  EXPECT_THAT(problem("leaf-spine:8x16"), HasSubstr("leaf-spine:LEAVESxHOSTSxSPINES"));
  EXPECT_THAT(problem("leaf-spine:1000x1000x1000000"), HasSubstr("exceed the maximum"));
  EXPECT_THAT(problem("star:0"), HasSubstr("`0` is not an integer"));
  EXPECT_THAT(problem("star:1"), HasSubstr("two hosts"));
  EXPECT_THAT(problem("star:99999999999999999999"), HasSubstr("is not an integer"));
  EXPECT_THAT(problem("ring:2x2"), HasSubstr("at least 3"));
  EXPECT_THAT(problem("ring:4x"), HasSubstr("is not an integer"));
  EXPECT_THAT(problem("torus:4x4"), HasSubstr("unknown topology `torus`"));
}

TEST(SimInputTest, HostsByRange) {
  const netsim::Network network = small();
  const Result<std::vector<netsim::NodeId>> some = endpoints_named(network, "host[2-3],host0,host2");
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some.value(), (std::vector{static_cast<netsim::NodeId>(2), static_cast<netsim::NodeId>(3),
                                       static_cast<netsim::NodeId>(0)}));
  EXPECT_THAT(endpoints_named(network, "hots1").error().message, HasSubstr("did you mean `host1`?"));
  EXPECT_THAT(endpoints_named(network, "leaf0").error().message, HasSubstr("the network has no endpoint `leaf0`"));
  EXPECT_FALSE(endpoints_named(network, "host[").ok());
  // A host with several endpoints selects all of them.
  netsim::NetworkBuilder builder;
  builder.add_node({}, "a:gpu0");
  builder.add_node({}, "a:gpu1");
  builder.add_node({}, "b:gpu0");
  const netsim::Network gpus = std::move(builder).finish();
  EXPECT_EQ(endpoints_named(gpus, "a")->size(), 2U);
  EXPECT_EQ(endpoints_named(gpus, "a:gpu1")->size(), 1U);
}

TEST(SimProgressTest, LineHasTimeRateAndEstimate) {
  const netsim::SimProgress progress{netsim::microseconds(1234), 25, 100, 30'000'000};
  EXPECT_EQ(progress_text("packet", progress, 2.0),
            "packet [#####...............]  25 %  1.234 ms simulated, 15.0 M events/s, 6 s left");
  EXPECT_EQ(progress_text("flow", {netsim::microseconds(1), 0, 0, 0}, 0),
            "flow [....................]   0 %  1 us simulated");
  EXPECT_THAT(progress_text("x", {netsim::microseconds(1), 2, 100, 5000}, 60), HasSubstr("about 49 min left"));
}

TEST(SimProgressTest, UpdatesFiveTimesPerSecondAndIsClearedAtTheEnd) {
  std::vector<std::string> written;
  Io io;
  io.write_err = [&](std::string_view text) { written.emplace_back(text); };
  double now = 100;
  {
    SimProgressLine line(io, true, "packet", [&] { return now; });
    for (int i = 0; i < 100; ++i) {  // one second in total
      now += 0.01;
      EXPECT_TRUE(line.on_progress({netsim::microseconds(i), 1, 2, 3}));
    }
  }
  ASSERT_GE(written.size(), 4U);
  ASSERT_LE(written.size(), 6U);
  EXPECT_EQ(written.back(), "\r\x1b[K");
  written.clear();
  {
    SimProgressLine quiet(io, false, "packet", [&] { return now += 1; });
    EXPECT_TRUE(quiet.on_progress({}));
  }
  EXPECT_THAT(written, IsEmpty());
}

TEST(SimProgressTest, FirstInterruptStopsTheRun) {
  Io io;
  io.write_err = [](std::string_view) {};
  SimProgressLine line(io, false, "packet");
  const InterruptGuard guard;
  EXPECT_TRUE(line.on_progress({}));
  ASSERT_EQ(std::raise(SIGINT), 0);
  EXPECT_FALSE(line.on_progress({}));
  // The second one has the default action.
  EXPECT_EXIT((void)std::raise(SIGINT), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace weft::cli
