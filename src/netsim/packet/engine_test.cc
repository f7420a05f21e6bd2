// Times that follow from algebra: serialization, store-and-forward, drain of an incast; and that results do not depend
// on threads or repetition.
#include "netsim/packet/fixture.h"

namespace weft::netsim {
namespace {

constexpr std::int64_t kByte100G = 80;            // ps
constexpr std::int64_t kFull = 4160 * kByte100G;  // ps
constexpr std::int64_t kMicrosecond = 1'000'000;  // ps

TEST(PacketEngine, OnePacketTakesSerializationAndCableOfEachHop) {
  PacketCase one(star(2, gigabits(100), microseconds(1)));
  const TransferId id = one.send(0, 1, 1000);
  const SimResult result = one.run();
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.finished[model::index_of(id)].count(), 2 * (1064 * kByte100G + kMicrosecond));
  EXPECT_EQ(result.totals.data_hops, 2U);
  EXPECT_EQ(result.totals.control_hops, 2U);
  EXPECT_EQ(result.links[model::index_of(one.link("host0", "switch0"))].bytes, Bytes(1064));
}

TEST(PacketEngine, StoreAndForwardAddsOnePacketForEachFurtherHop) {
  PacketCase one(fat_tree({}));
  const std::int64_t bytes = 10'000'000;  // 2441 full packets and one of 1664 bytes
  const TransferId id = one.send(0, 127, bytes);
  const SimResult result = one.run();
  // The last full packet crosses six links one after the other; the short one follows it everywhere.
  const std::int64_t expected = 2441 * kFull + 5 * kFull + (1664 + 64) * kByte100G + 6 * kMicrosecond;
  EXPECT_EQ(result.finished[model::index_of(id)].count(), expected);
  EXPECT_EQ(result.totals.data_hops, 2442U * 6);
}

TEST(PacketEngine, WindowOfOneBandwidthDelayProductFillsTheLink) {
  PacketCase one(star(2, gigabits(100), microseconds(1)));
  one.transport().kind = Transport::dcqcn;
  one.transport().window = Bytes(0);
  const TransferId id = one.send(0, 1, 4096 * 1000);
  EXPECT_EQ(one.run().finished[model::index_of(id)].count(), 1001 * kFull + 2 * kMicrosecond);
}

TEST(PacketEngine, CutThroughDelaysOnlyTheHeader) {
  PacketCase one(fat_tree({}));
  one.options.switches.cut_through = true;
  const TransferId id = one.send(0, 127, 4096);
  const SimResult result = one.run();
  EXPECT_EQ(result.finished[model::index_of(id)].count(), kFull + 5 * 64 * kByte100G + 6 * kMicrosecond);
}

TEST(PacketEngine, SwitchLatencyCountsAtEachSwitch) {
  PacketCase one(fat_tree({}));
  one.options.switches.latency = nanoseconds(700);
  const TransferId id = one.send(0, 127, 4096);
  const SimResult result = one.run();
  EXPECT_EQ(result.finished[model::index_of(id)].count(), 6 * (kFull + kMicrosecond) + 5 * 700'000);
}

TEST(PacketEngine, IncastDrainsAtTheRateOfTheLastLink) {
  PacketCase incast(star(17, gigabits(100), microseconds(1)));
  for (std::size_t h = 1; h <= 16; ++h) incast.send(h, 0, 409'600);
  const SimResult result = incast.run();
  ASSERT_TRUE(result.complete);
  // From the first packet on, the last link is always busy, because PFC drops nothing and pauses are short.
  const std::int64_t wire = 16 * wire_bytes(409'600) * kByte100G;
  EXPECT_EQ(result.end.count(), kFull + kMicrosecond + wire + kMicrosecond);
  EXPECT_EQ(result.totals.dropped, 0U);
  EXPECT_EQ(result.links[model::index_of(incast.link("switch0", "host0"))].bytes, Bytes(16 * wire_bytes(409'600)));
}

TEST(PacketEngine, RingRoundsFollowEachOther) {
  // Two ranks, three rounds each way: a round starts when the other's has arrived, so six in a row would be three round
  // trips; both directions run at once, so it is three one-way times.
  PacketCase ring(star(2, gigabits(100), microseconds(1)));
  ring.options.classes.front().transport.ack_every = 1000;
  for (const std::size_t r : {0U, 1U}) {
    const TransferId id = ring.send(r, 1 - r, 4096);
    ring.graph.edit(id).rounds = 3;
    ring.graph.edit(id).round_after = static_cast<TransferId>(1 - r);
  }
  const SimResult result = ring.run();
  ASSERT_TRUE(result.complete);
  ASSERT_EQ(result.completion_times.size(), 6U);
  // ACKs of the last packets share the wire with the next round: at most 64 bytes each at both hops.
  const std::int64_t alone = 3 * 2 * (kFull + kMicrosecond);
  EXPECT_GE(result.end.count(), alone);
  EXPECT_LE(result.end.count(), alone + 3 * 2 * 64 * kByte100G);
}

TEST(PacketEngine, DependentTransfersWaitForTheLastOfTheirDependencies) {
  PacketCase chain(star(3, gigabits(100), microseconds(1)));
  const TransferId first = chain.send(0, 1, 40'960);
  const TransferId second = chain.send(0, 2, 4096);
  const TransferId last = chain.send(1, 2, 4096);
  chain.graph.depend(last, first);
  chain.graph.depend(last, second);
  const SimResult result = chain.run();
  const SimTime ready = std::max(result.finished[model::index_of(first)], result.finished[model::index_of(second)]);
  EXPECT_EQ(result.started[model::index_of(last)], ready);
}

TEST(PacketEngine, QueuePairsShareTheBytes) {
  PacketCase one(star(2, gigabits(100), microseconds(1)));
  const TransferId id = one.send(0, 1, 4096 * 8);
  one.graph.edit(id).queue_pairs = 4;
  const SimResult result = one.run();
  EXPECT_EQ(result.totals.data_packets, 8U);
  EXPECT_EQ(result.finished[model::index_of(id)].count(), 8 * kFull + kFull + 2 * kMicrosecond);
}

TEST(PacketEngine, SenderCompletionIncludesTheLastAck) {
  PacketCase one(star(2, gigabits(100), microseconds(1)));
  one.transport().ends_at_receiver = false;
  const TransferId id = one.send(0, 1, 4096);
  const SimResult result = one.run();
  EXPECT_EQ(result.finished[model::index_of(id)].count(),
            2 * (kFull + kMicrosecond) + 2 * (64 * kByte100G + kMicrosecond));
}

TEST(PacketEngine, WeightsDivideALinkBetweenClasses) {
  PacketCase two(star(3, gigabits(100), microseconds(1)));
  two.options.classes.push_back(two.options.classes.front());
  two.options.classes[1].name = "storage";
  two.options.classes[1].priority = 4;
  two.options.classes[1].weight = 3;
  const TransferId light = two.send(1, 0, 2'000'000);
  const TransferId heavy = two.send(2, 0, 2'000'000);
  two.graph.edit(heavy).traffic_class = 1;
  const SimResult result = two.run();
  // 3:1 until the heavy one ends at 4/3 of its own time; then the light one has the link to itself.
  const double own = static_cast<double>(wire_bytes(2'000'000) * kByte100G);
  EXPECT_NEAR(static_cast<double>(result.finished[model::index_of(heavy)].count()), own * 4 / 3, own * 0.03);
  EXPECT_NEAR(static_cast<double>(result.finished[model::index_of(light)].count()), own * 2, own * 0.03);
}

TEST(PacketEngine, ReportsARunThatWasCut) {
  PacketCase one(star(2, gigabits(100), microseconds(1)));
  one.send(0, 1, 10'000'000);
  one.options.end = microseconds(100);
  const SimResult result = one.run();
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.unfinished, 1U);
  EXPECT_EQ(result.finished[0], kNever);
  EXPECT_LE(result.end, microseconds(100));
}

class Stop : public SimMonitor {
 public:
  bool on_progress(const SimProgress& progress) override { return progress.done < 50'000'000; }
};

TEST(PacketEngine, MonitorCanStopTheRun) {
  PacketCase one(star(2, gigabits(100), microseconds(1)));
  one.send(0, 1, 200'000'000);
  Stop stop;
  const SimResult result = one.run(&stop);
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.complete);
}

TEST(PacketEngine, SeriesSumsToTheDeliveredBytes) {
  PacketCase incast(star(5, gigabits(100), microseconds(1)));
  for (std::size_t h = 1; h <= 4; ++h) incast.send(h, 0, 1'000'000);
  incast.options.series_interval = microseconds(10);
  const SimResult result = incast.run();
  Bytes sum;
  for (const SeriesPoint& point : result.series) sum += point.delivered;
  EXPECT_EQ(sum, Bytes(4'000'000));
  EXPECT_EQ(result.series[1].at, microseconds(20));
}

// A permutation over three tiers, with every feature enabled that could depend on the order of events.
SimResult busy_run(int threads, Transport transport, RoutingMode mode) {
  FatTreeShape shape;
  shape.pods = 4;
  shape.tors_per_pod = 2;
  shape.hosts_per_tor = 2;
  shape.aggs_per_pod = 2;
  shape.cores = 4;
  PacketCase many(fat_tree(shape));
  many.transport().kind = transport;
  many.transport().window = Bytes(0);
  many.routing.mode = mode;
  many.options.threads = threads;
  many.options.series_interval = microseconds(20);
  many.options.classes.front().ecn_min = Bytes(20'000);
  many.options.classes.front().ecn_max = Bytes(80'000);
  for (std::size_t h = 0; h < 16; ++h) many.send(h, (5 * h + 3) % 16, 300'000 + static_cast<std::int64_t>(h) * 1000);
  for (std::size_t h = 1; h < 8; ++h) many.send(h, 0, 100'000);
  return many.run();
}

TEST(PacketEngine, ConcurrentShardsChangeNothing) {
  for (const Transport transport : {Transport::dcqcn, Transport::hpcc, Transport::nscc, Transport::receiver}) {
    for (const RoutingMode mode : {RoutingMode::ecmp, RoutingMode::spray, RoutingMode::adaptive}) {
      const SimResult one = busy_run(1, transport, mode);
      ASSERT_TRUE(one.complete);
      for (const int threads : {2, 3}) {
        const SimResult other = busy_run(threads, transport, mode);
        EXPECT_EQ(one.trace_hash, other.trace_hash) << to_text(transport) << " " << to_text(mode) << " " << threads;
        EXPECT_EQ(one.finished, other.finished);
        EXPECT_EQ(one.totals.events, other.totals.events);
        ASSERT_EQ(one.links.size(), other.links.size());
        for (std::size_t i = 0; i < one.links.size(); ++i) EXPECT_EQ(one.links[i].bytes, other.links[i].bytes);
      }
    }
  }
}

TEST(PacketEngine, TraceIsRepeatableAndDependsOnTheRoutingMode) {
  const SimResult a = busy_run(1, Transport::dcqcn, RoutingMode::ecmp);
  const SimResult b = busy_run(1, Transport::dcqcn, RoutingMode::ecmp);
  EXPECT_EQ(a.trace_hash, b.trace_hash);
  EXPECT_NE(a.trace_hash, busy_run(1, Transport::dcqcn, RoutingMode::spray).trace_hash);
}

// The same on every compiler and machine; a difference means that the simulated behavior changed and needs an
// explanation.
TEST(PacketEngine, TraceIsPinned) {
  EXPECT_EQ(busy_run(1, Transport::dcqcn, RoutingMode::ecmp).trace_hash, 12276480230238898393U);
  EXPECT_EQ(busy_run(2, Transport::hpcc, RoutingMode::adaptive).trace_hash, 12791930602984332962U);
  EXPECT_EQ(busy_run(1, Transport::nscc, RoutingMode::spray).trace_hash, 8497828600555901237U);
}

}  // namespace
}  // namespace weft::netsim
