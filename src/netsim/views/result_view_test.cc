#include "netsim/views/result_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netsim/network/topologies.h"
#include "netsim/views/collective_view.h"
#include "netsim/views/diagnosis.h"
#include "netsim/views/link_class.h"
#include "netsim/views/result_cells.h"

namespace weft::netsim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ResultCellsTest, Times) {
  EXPECT_EQ(format_fine_time(picoseconds(0)), "0 ns");
  EXPECT_EQ(format_fine_time(picoseconds(640)), "0.64 ns");
  EXPECT_EQ(format_fine_time(nanoseconds(812)), "812 ns");
  EXPECT_EQ(format_fine_time(nanoseconds(820'123)), "820.1 us");
  EXPECT_EQ(format_fine_time(microseconds(3142)), "3.142 ms");
  EXPECT_EQ(format_fine_time(microseconds(150'000)), "150 ms");
  EXPECT_EQ(format_fine_time(microseconds(2'000'000)), "2 s");
  EXPECT_EQ(format_fine_time(picoseconds(999'999'999)), "1 ms");
  EXPECT_EQ(format_fine_time(kNever), "never");
}

// Two leaves with two hosts each and two spines: hosts 0-3, leaves 4-5, spines 6-7. Host cables are links 0-7 (even:
// sending), leaf-spine cables links 8-15 (even: up).
class ViewTest : public testing::Test {
 protected:
  ViewTest()
      : network_(leaf_spine({.leaves = 2,
                             .hosts_per_leaf = 2,
                             .spines = 2,
                             .links_per_spine = 1,
                             .host_rate = gigabits(100),
                             .uplink_rate = gigabits(100),
                             .delay = microseconds(1),
                             .buffer = {}})) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      Transfer transfer;
      transfer.source = static_cast<NodeId>(host);
      transfer.destination = static_cast<NodeId>(host + 2);
      transfer.bytes = Bytes(1'000'000);
      transfer.tag = static_cast<std::uint16_t>(host);
      transfers_.add(transfer);
    }
    EXPECT_TRUE(transfers_.finish(network_).ok());
    result_.end = microseconds(100);
    result_.links.resize(network_.links().size());
    result_.started = {microseconds(0), microseconds(0)};
    result_.finished = {microseconds(80), microseconds(100)};
    result_.trace_hash = 0xABCDEF;
  }

  // `percent` of a 100 Gb/s link over 100 us (1.25 MB).
  void load(std::uint32_t link, std::int64_t percent) { result_.links[link].bytes = Bytes(12'500 * percent); }

  [[nodiscard]] ResultContext context() const {
    return {.network = network_,
            .transfers = transfers_,
            .options = options_,
            .routing = routing_,
            .where = "here",
            .what = "something",
            .tags = {"one", "two"},
            .connections = connections_};
  }
  [[nodiscard]] std::vector<std::string> said() const {
    return diagnose({network_, transfers_, options_, routing_, result_, connections_});
  }
  [[nodiscard]] std::string text() const { return write(result_document(context(), result_), {}); }

  Network network_;
  TransferGraph transfers_;
  SimOptions options_;
  RoutingOptions routing_;
  SimResult result_;
  std::vector<std::uint32_t> connections_;
};

TEST_F(ViewTest, ClassesOfLinks) {
  EXPECT_EQ(class_of(network_, static_cast<LinkId>(0)), LinkClass::nic_send);
  EXPECT_EQ(class_of(network_, static_cast<LinkId>(1)), LinkClass::nic_receive);
  EXPECT_EQ(class_of(network_, static_cast<LinkId>(8)), LinkClass::leaf_up);
  EXPECT_EQ(class_of(network_, static_cast<LinkId>(9)), LinkClass::spine_down);
  load(8, 50);
  load(10, 100);
  const std::vector<ClassLoad> loads = class_loads(network_, result_);
  ASSERT_EQ(loads.size(), 4U);
  EXPECT_EQ(loads[2].kind, LinkClass::leaf_up);
  EXPECT_EQ(loads[2].links, 4U);
  EXPECT_EQ(loads[2].used, 2U);
  EXPECT_DOUBLE_EQ(loads[2].mean_utilization, 0.75);
  EXPECT_DOUBLE_EQ(loads[2].max_utilization, 1.0);
  EXPECT_EQ(loads[2].hottest, static_cast<LinkId>(10));
  EXPECT_EQ(siblings_of(network_, static_cast<LinkId>(8)),
            (std::vector{static_cast<LinkId>(8), static_cast<LinkId>(10)}));
}

TEST_F(ViewTest, SummaryHasTimesAndGoodput) {
  load(0, 80);
  const std::string shown = text();
  // 2 MB in 100 us are 160 Gb/s.
  EXPECT_THAT(shown, HasSubstr("160 Gb/s"));
  EXPECT_THAT(shown, HasSubstr("Completion, mean:  90 us"));
  EXPECT_THAT(shown, HasSubstr("Completion, p99:   100 us"));
  EXPECT_THAT(shown, HasSubstr("0000000000abcdef"));
  EXPECT_THAT(shown, HasSubstr("host0 > leaf0"));
  EXPECT_THAT(shown, HasSubstr("complete"));
  // 1 MB in 80 us is 100 Gb/s, in 100 us 80 Gb/s: 80 % of line rate.
  EXPECT_THAT(shown, HasSubstr("80 %"));
  EXPECT_THAT(write(result_document(context(), result_), {.format = OutputFormat::json}),
              HasSubstr("\"schema_version\""));
}

TEST_F(ViewTest, StatesOfARunThatDidNotEnd) {
  result_.complete = false;
  result_.unfinished = 77;  // rounds
  result_.finished[1] = kNever;
  EXPECT_EQ(state_text(result_, 2), "cut at 100 us: 1 of 2 transfers did not finish");
  result_.interrupted = true;
  EXPECT_EQ(state_text(result_, 2), "interrupted at 100 us: 1 of 2 transfers did not finish");
  result_.deadlock = true;
  EXPECT_EQ(state_text(result_, 2), "deadlock at 100 us: 1 of 2 transfers did not finish");
}

TEST_F(ViewTest, UnfinishedTransfersHaveNoTime) {
  result_.finished[1] = kNever;
  result_.complete = false;
  result_.unfinished = 1;
  const std::string json = write(result_document(context(), result_), {.format = OutputFormat::json});
  EXPECT_THAT(json, HasSubstr("\"mean_us\": 80"));
  EXPECT_THAT(json, Not(HasSubstr("9223372036")));
}

TEST_F(ViewTest, EmptyResult) {
  SimResult empty;
  const std::string shown = write(result_document(context(), empty), {});
  EXPECT_THAT(shown, HasSubstr("nothing was sent"));
  EXPECT_THAT(shown, Not(HasSubstr("nan")));
}

TEST_F(ViewTest, HottestLinksAreSortedAndCut) {
  for (std::uint32_t i = 0; i < 16; ++i) load(i, i + 1);
  const Document document = result_document(context(), result_);
  const TableSection* table = nullptr;
  for (const auto& section : document.sections) {
    const auto* each = std::get_if<TableSection>(&section);
    if (each != nullptr && each->key == "hottest_links") table = each;
  }
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->rows.size(), 10U);
  EXPECT_EQ(std::get<std::string>(table->rows[0][0].value), network_.link_name(static_cast<LinkId>(15)));
  EXPECT_DOUBLE_EQ(std::get<double>(table->rows[0][2].value), 16.0);
}

TEST_F(ViewTest, CollisionsAreExplained) {
  load(0, 60);
  load(2, 60);
  load(8, 100);
  load(10, 20);
  connections_.resize(16);
  connections_[8] = 3;
  connections_[10] = 1;
  ASSERT_FALSE(said().empty());
  const std::string first = said().front();
  EXPECT_THAT(first, HasSubstr("leaf0 > spine0 is the bottleneck: 100 % busy"));
  EXPECT_THAT(first, HasSubstr("mean of 60 %"));
  EXPECT_THAT(first, HasSubstr("3 connections hash onto it (mean 2.0)"));
  EXPECT_THAT(first, HasSubstr("more queue pairs or adaptive routing"));
  routing_.seeds = HashSeeds::shared;
  EXPECT_THAT(said().front(), HasSubstr("per-tier seeds"));
  routing_.mode = RoutingMode::spray;
  EXPECT_THAT(said().front(), Not(HasSubstr("hash onto")));
}

TEST_F(ViewTest, EvenlyLoadedUplinksAreOversubscribed) {
  for (const std::uint32_t link : {8U, 10U}) load(link, 98);
  load(0, 60);
  EXPECT_THAT(said(), Contains(HasSubstr("bounded by the leaf uplinks")));
  EXPECT_THAT(said(), Contains(HasSubstr("oversubscription")));
  EXPECT_EQ(to_text(bound_of(network_, result_)), "leaf uplinks at 98 %");
}

TEST_F(ViewTest, NicsLatencyAndIncast) {
  for (const std::uint32_t link : {0U, 2U}) load(link, 97);
  EXPECT_THAT(said().front(), HasSubstr("bounded by the NICs"));
  EXPECT_EQ(to_text(bound_of(network_, result_)), "sending NICs at 97 %");
  for (const std::uint32_t link : {0U, 2U}) load(link, 10);
  EXPECT_THAT(said().front(), HasSubstr("no link was busy for long"));
  EXPECT_EQ(to_text(bound_of(network_, result_)), "latency and waiting (sending NICs at 10 %)");
  result_.totals.notifications = 3;
  EXPECT_THAT(said().front(), HasSubstr("3 notifications slowed senders down"));
  EXPECT_EQ(to_text(bound_of(network_, result_)), "congestion control (sending NICs at 10 %)");
  result_.totals.timeouts = 1;
  EXPECT_EQ(to_text(bound_of(network_, result_)), "timeouts (sending NICs at 10 %)");
  result_.links[0].paused = microseconds(50);
  EXPECT_EQ(to_text(bound_of(network_, result_)), "pauses (sending NICs at 10 %)");
  load(5, 99);  // leaf1 > host2
  load(7, 1);
  EXPECT_THAT(said().front(), HasSubstr("bounded by the receiver host2 (99 % busy, 1 sender)"));
}

// 10 MB at 42 Gb/s take 1905 us: a transfer that took 2000 was limited by its host, one that took 1500 was not.
TEST(BoundTest, HostSoftware) {
  const Network network = star(2, gigabits(100), microseconds(1));
  TransferGraph graph;
  Transfer transfer;
  transfer.source = network.endpoints()[0];
  transfer.destination = network.endpoints()[1];
  transfer.bytes = Bytes(10'000'000);
  graph.add(transfer);
  ASSERT_TRUE(graph.finish(network).ok());
  SimOptions options;
  use_tcp(options.classes.front());
  RoutingOptions routing;
  SimResult result;
  result.end = microseconds(2000);
  result.started = {SimTime()};
  result.finished = {microseconds(2000)};
  result.links.resize(network.links().size());
  result.links[0].bytes = Bytes(10'156'250);
  EXPECT_EQ(to_text(bound_of(network, graph, options, result)),
            "host software at 42G per connection (sending NICs at 41 %)");
  EXPECT_THAT(diagnose({network, graph, options, routing, result, {}}).front(),
              HasSubstr("bounded by the hosts: their software moves 42G per connection"));
  result.finished = {microseconds(1500)};
  EXPECT_EQ(bound_of(network, graph, options, result).reason, Bound::Reason::latency);
  result.finished = {microseconds(2000)};
  options.classes.front().transport.host_limit = BitRate(0);
  EXPECT_EQ(bound_of(network, graph, options, result).reason, Bound::Reason::latency);
}

// A host with an NVLink switch: node 0 and 1 GPUs, 2 the switch inside, 3 a leaf.
TEST(BoundTest, NvlinkAndFabricInTurn) {
  NetworkBuilder builder;
  const NodeId first = builder.add_node({}, "a:gpu0");
  const NodeId second = builder.add_node({}, "a:gpu1");
  Node inside;
  inside.kind = NodeKind::network_switch;
  inside.scale_up = true;
  const NodeId nvlink = builder.add_node(inside, "a:nvlink");
  inside.scale_up = false;
  inside.tier = 1;
  const NodeId leaf = builder.add_node(inside, "leaf");
  builder.connect(first, nvlink, gigabits(100), microseconds(1));
  builder.connect(second, nvlink, gigabits(100), microseconds(1));
  const LinkId nic = builder.connect(first, leaf, gigabits(100), microseconds(1));
  const Network network = std::move(builder).finish();
  EXPECT_EQ(class_of(network, static_cast<LinkId>(0)), LinkClass::scale_up_send);
  EXPECT_EQ(class_of(network, static_cast<LinkId>(1)), LinkClass::scale_up_receive);
  SimResult result;
  result.end = microseconds(100);
  result.links.resize(network.links().size());
  result.links[0].bytes = Bytes(12'500 * 40);
  result.links[model::index_of(nic)].bytes = Bytes(12'500 * 54);
  EXPECT_EQ(to_text(bound_of(network, result)), "sending NICs at 54 %, NVLink at 40 % in turn");
  result.links[0].bytes = Bytes(12'500 * 99);
  EXPECT_EQ(to_text(bound_of(network, result)), "sending NVLinks at 99 %");
}

TEST_F(ViewTest, LostLinksAreNamed) {
  options_.link_events.push_back({microseconds(10), static_cast<LinkId>(8), LinkEvent::Kind::down, 0, Bytes(0)});
  options_.link_events.push_back({microseconds(500), static_cast<LinkId>(10), LinkEvent::Kind::down, 0, Bytes(0)});
  EXPECT_THAT(said(), Contains(HasSubstr("leaf0 > spine0 fails at 10 us: its ends reroute 150 ms later")));
  EXPECT_THAT(said(), Not(Contains(HasSubstr("spine1"))));  // after the end of the run
}

TEST_F(ViewTest, LossPausesAndOrder) {
  options_.switches.pfc = false;
  result_.totals.dropped = 5;
  result_.totals.retransmitted = 50;
  EXPECT_THAT(said(), Contains(HasSubstr("5 packets were lost and 50 retransmitted; PFC is off")));
  result_.totals.data_packets = 100;
  result_.totals.out_of_order = 10;
  EXPECT_THAT(said(), Contains(HasSubstr("10 % of the packets arrived out of order")));
  options_.classes.front().transport.recovery = Recovery::selective;
  EXPECT_THAT(said(), Not(Contains(HasSubstr("out of order"))));
  result_.totals.pauses = 1;
  result_.links[0].paused = microseconds(40);
  result_.pauses.push_back({microseconds(10), static_cast<LinkId>(0), static_cast<LinkId>(8), 3, true});
  EXPECT_THAT(said(), Contains(HasSubstr("PFC paused links for up to 40 % of the run")));
  EXPECT_THAT(said(), Contains(HasSubstr("began at leaf0 > spine0 (full egress)")));
}

TEST_F(ViewTest, PolarizationIsDetectedOnSpineUplinks) {
  network_ = fat_tree({});
  result_.links.assign(network_.links().size(), {});
  for (std::size_t i = 0; i < network_.links().size(); ++i) {
    const auto id = static_cast<LinkId>(i);
    if (class_of(network_, id) == LinkClass::spine_up && i % 8 == 0) load(static_cast<std::uint32_t>(i), 10);
  }
  routing_.seeds = HashSeeds::shared;
  EXPECT_THAT(said(), Contains(HasSubstr("polarized: only 32 of 128 spine uplinks")));
  routing_.seeds = HashSeeds::per_tier;
  EXPECT_THAT(said(), Not(Contains(HasSubstr("polarised"))));
}

TEST_F(ViewTest, ErrorsBetweenFidelities) {
  SimResult fine = result_;
  fine.finished = {microseconds(100), microseconds(80)};
  fine.end = microseconds(125);
  const FidelityError error = fidelity_error(result_, fine);
  EXPECT_EQ(error.compared, 2U);
  EXPECT_NEAR(error.mean, (0.20 + 0.25) / 2, 1e-12);
  EXPECT_NEAR(error.worst, 0.25, 1e-12);
  EXPECT_NEAR(error.end, -0.2, 1e-12);
  result_.fidelity = Fidelity::flow;
  const std::vector<SimResult> both = {result_, fine};
  const std::string shown = write(comparison_document(context(), both), {});
  EXPECT_THAT(shown, HasSubstr("-20.0 %"));
  EXPECT_THAT(shown, HasSubstr("25 %"));
}

TEST_F(ViewTest, SeriesAndPatterns) {
  result_.series.push_back({microseconds(10), Bytes(125'000), 0, 1, 0, Bytes(5), Bytes(4)});
  const std::string shown = text();
  EXPECT_THAT(shown, HasSubstr("100 Gb/s"));  // 125 kB in 10 us
  EXPECT_THAT(shown, HasSubstr("two"));
  EXPECT_THAT(shown, HasSubstr("Paused links"));
}

TEST(CollectiveViewTest, BandwidthsMatchNcclTests) {
  CollectiveContext context;
  context.operation = Collective::all_reduce;
  context.ranks = 8;
  // nccl-tests PERFORMANCE.md: busbw of all-reduce is algbw x 2(n-1)/n.
  const CollectiveRow row{Bytes(1'000'000'000), Fidelity::flow, microseconds(10'000), true, "x"};
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(row), 100e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth(context, row), 175e9);
  EXPECT_EQ(element_count(context, Bytes(1024)), 256);
  context.operation = Collective::all_gather;
  EXPECT_EQ(element_count(context, Bytes(1024)), 32);
  EXPECT_DOUBLE_EQ(bus_bandwidth(context, row), 87.5e9);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth({Bytes(1), Fidelity::flow, SimTime(0), true, ""}), 0);
}

TEST(CollectiveViewTest, TableAndAverage) {
  CollectiveContext context;
  context.operation = Collective::broadcast;
  context.ranks = 4;
  const std::vector<CollectiveRow> rows = {{Bytes(1'000'000), Fidelity::flow, microseconds(100), true, "latency"},
                                           {Bytes(4'000'000), Fidelity::flow, microseconds(200), true, "NICs"}};
  const std::string text = write(collective_document(context, rows), {});
  EXPECT_THAT(text, HasSubstr("15.00 GB/s"));  // mean of 10 and 20
  EXPECT_THAT(text, HasSubstr("none"));
  EXPECT_THAT(text, Not(HasSubstr("error")));
  std::vector<CollectiveRow> both = rows;
  both[1] = {Bytes(1'000'000), Fidelity::packet, microseconds(125), true, "latency"};
  EXPECT_THAT(write(collective_document(context, both), {}), HasSubstr("-20.0 %"));
  EXPECT_THAT(write(collective_document(context, {}), {}), Not(HasSubstr("nan")));
  both[0].complete = false;  // no time, no bandwidth, no error, not part of the average
  const std::string stopped = write(collective_document(context, both), {.format = OutputFormat::json});
  EXPECT_THAT(stopped, HasSubstr("\"time_us\": null"));
  EXPECT_THAT(stopped, HasSubstr("\"error_percent\": null"));
  EXPECT_THAT(stopped, Not(HasSubstr("-20")));
}

}  // namespace
}  // namespace weft::netsim
