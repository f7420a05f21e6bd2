// Runs shards to the end, in windows as long as the shortest cable between them, and collects their results. With one
// shard there are no windows and no waiting.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "netsim/packet/deadlock.h"
#include "netsim/packet/shard.h"
#include "netsim/sim/simulate.h"

namespace weft::netsim {

namespace {

constexpr std::int64_t kStuck = 2'000'000'000;  // ps without a packet sent before searching for a cycle
constexpr std::uint64_t kReport = 200'000;      // events between two calls of the monitor

// Barrier for all threads. Spins, because windows take microseconds; yields if the wait is long.
class Barrier {
 public:
  explicit Barrier(int count) : count_(count) {}
  void wait() {
    const std::uint32_t round = round_.load(std::memory_order_acquire);
    if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
      waiting_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (spins > 4000) std::this_thread::yield();
    }
  }

 private:
  const int count_;
  std::atomic<int> waiting_{0};
  std::atomic<std::uint32_t> round_{0};
};

int shard_count(Routes& routes, const TransferGraph& transfers, const SimOptions& options) {
  // Failures change routes for all shards; the watchdog changes state read at the other end of a link.
  if (options.threads == 1 || !options.link_events.empty() || options.switches.watchdog != Watchdog::off) return 1;
  const PacketWorld probe(routes, transfers, options, options.threads);
  if (probe.has_remote_triggers() || probe.lookahead <= 0 || probe.lookahead == INT64_MAX) return 1;
  return options.threads;
}

class PacketRun {
 public:
  PacketRun(Routes& routes, const TransferGraph& transfers, const SimOptions& options, SimMonitor* monitor, int shards)
      : world_(routes, transfers, options, shards), monitor_(monitor), limit_(options.end) {
    for (int i = 0; i < shards; ++i) shards_.push_back(std::make_unique<PacketShard>(world_, i, shards));
    for (const auto& shard : shards_) shard->start();
    rounds_ = transfers.instance_count();
    for (const Transfer& t : transfers.transfers()) last_start_ = std::max(last_start_, t.start.count());
    for (const Link& link : routes.network().links()) drain_ = std::max(drain_, link.delay * 16);
    for (const TrafficClassOptions& c : options.classes) {
      give_up_ = std::max(give_up_, c.transport.timeout.count() * (std::int64_t{c.transport.retries} + 2));
    }
    give_up_ += options.switches.watchdog_detection.count() + options.switches.watchdog_restoration.count() +
                routes.options().detection.count() + routes.options().propagation.count();
    total_ = static_cast<std::uint64_t>(transfers.total_bytes().count());
  }

  SimResult run() {
    if (shards_.size() == 1) {
      run_alone();
    } else {
      run_together();
    }
    return collect();
  }

 private:
  [[nodiscard]] std::uint64_t rounds_done() const {
    std::uint64_t done = 0;
    for (const auto& shard : shards_) done += shard->rounds_done();
    return done;
  }
  [[nodiscard]] std::uint64_t events() const {
    std::uint64_t events = 0;
    for (const auto& shard : shards_) events += shard->totals().events;
    return events;
  }

  // True if the run is over: all is delivered, the user stopped it, or nothing can make progress.
  bool look(std::int64_t now) {
    if (!drained_ && rounds_done() == rounds_) {
      // Packets in flight continue for a fixed time, so the trace does not depend on time slices.
      drained_ = true;
      std::int64_t last = 0;
      for (const auto& shard : shards_) last = std::max(last, shard->last_completion());
      limit_ = std::min(limit_, SimTime(last) + drain_);
    }
    if (drained_) return false;
    if (monitor_ != nullptr && events() >= next_report_) {
      next_report_ = events() + kReport;
      SimProgress progress{SimTime(now), 0, total_, events()};
      for (const auto& shard : shards_) progress.done += shard->delivered();
      if (!monitor_->on_progress(progress)) {
        interrupted_ = true;
        return true;
      }
    }
    return stuck(now);
  }

  // Only pause frames have been sent for a long time: a cyclic buffer dependency, or all connections have been aborted.
  bool stuck(std::int64_t now) {
    std::int64_t progress = last_start_;
    for (const auto& shard : shards_) progress = std::max(progress, shard->last_progress());
    if (now - progress > give_up_) return true;
    if (world_.options.switches.watchdog != Watchdog::off) return false;
    if (now - std::max(progress, looked_) < kStuck) return false;
    looked_ = now;
    std::vector<std::vector<std::uint32_t>> held_by(world_.lanes.size());
    for (const auto& shard : shards_) shard->who_holds_whom(held_by);
    cycle_ = find_deadlock(world_, held_by);
    return !cycle_.empty();
  }

  void run_alone() {
    PacketShard& shard = *shards_.front();
    // Events are handled in time slices, so checking costs nothing.
    std::int64_t slice = 1'000'000;
    while (true) {
      const std::int64_t next = shard.next_time();
      if (next >= limit_.count() || next == INT64_MAX) break;
      const std::uint64_t before = shard.totals().events;
      const std::int64_t until = next > INT64_MAX - slice ? INT64_MAX : next + slice;
      shard.run_until(std::min(limit_.count(), until), drained_ ? UINT64_MAX : rounds_);
      if (look(shard.now())) break;
      const std::uint64_t handled = shard.totals().events - before;
      if (handled < 20'000 && slice < 1'000'000'000'000) slice *= 2;
      if (handled > 200'000 && slice > 1000) slice /= 2;
    }
  }

  void run_together() {
    const int count = static_cast<int>(shards_.size());
    Barrier barrier(count);
    std::vector<std::int64_t> next(shards_.size(), 0);
    std::atomic<bool> over{false};
    const auto work = [&](std::size_t me) {
      PacketShard& shard = *shards_[me];
      while (true) {
        for (const auto& other : shards_) {
          if (other.get() != &shard) shard.take_from(*other);
        }
        next[me] = shard.next_time();
        barrier.wait();
        const std::int64_t first = *std::min_element(next.begin(), next.end());
        if (first >= limit_.count() || first == INT64_MAX) return;
        const std::int64_t window = first > INT64_MAX - world_.lookahead ? INT64_MAX : first + world_.lookahead;
        shard.run_until(std::min(limit_.count(), window));
        barrier.wait();
        if (me == 0) over.store(look(first), std::memory_order_relaxed);
        barrier.wait();
        if (over.load(std::memory_order_relaxed)) return;
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < shards_.size(); ++i) threads.emplace_back(work, i);
    work(0);
    for (std::thread& thread : threads) thread.join();
  }

  SimResult collect();
  void collect_times(SimResult& result);
  void collect_links(SimResult& result);
  void collect_series(SimResult& result);

  PacketWorld world_;
  SimMonitor* monitor_;
  SimTime limit_;
  SimTime drain_ = microseconds(10);
  bool drained_ = false;
  std::vector<std::unique_ptr<PacketShard>> shards_;
  std::uint64_t rounds_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t next_report_ = 0;
  std::int64_t looked_ = 0;
  std::int64_t last_start_ = 0;  // ps; of the transfer that starts last
  std::int64_t give_up_ = 0;     // ps without a packet sent after which no packet will be sent any more
  bool interrupted_ = false;
  std::vector<LinkId> cycle_;
};

void add(SimTotals& sum, const SimTotals& part) {
  sum.events += part.events;
  sum.data_hops += part.data_hops;
  sum.data_packets += part.data_packets;
  sum.retransmitted += part.retransmitted;
  sum.dropped += part.dropped;
  sum.marked += part.marked;
  sum.notifications += part.notifications;
  sum.out_of_order += part.out_of_order;
  sum.timeouts += part.timeouts;
  sum.broken += part.broken;
  sum.pauses += part.pauses;
  sum.watchdog_trips += part.watchdog_trips;
}

bool record_before(const PauseRecord& a, const PauseRecord& b) {
  if (a.at != b.at) return a.at < b.at;
  if (a.stopped != b.stopped) return a.stopped < b.stopped;
  return a.priority < b.priority;
}

void PacketRun::collect_links(SimResult& result) {
  result.links.resize(world_.ports.size());
  const double length_ns = std::max(1.0, static_cast<double>(result.end.count()) / 1e3);
  for (std::uint32_t p = 0; p < world_.ports.size(); ++p) {
    const Port& port = world_.ports[p];
    LinkStats& stats = result.links[world_.link_of_port[p]];
    const Link& link = world_.network.links()[world_.link_of_port[p]];
    stats.bytes = Bytes(static_cast<std::int64_t>(port.bytes));
    stats.packets = port.packets;
    stats.busy = serialization_time(stats.bytes, link.rate);
    stats.marked = world_.counters[p].marked;
    stats.dropped = world_.counters[p].dropped;
    double area = 0;
    for (std::uint32_t q = 0; q < world_.queues; ++q) {
      const std::size_t lane = world_.lane_of(p, q);
      const PauseClock& clock = world_.clocks[lane];
      stats.paused += SimTime(clock.total);
      if ((port.paused >> q & 1U) != 0) stats.paused += result.end - std::min(result.end, SimTime(clock.since));
      stats.pauses += clock.count;
      stats.max_headroom = std::max(stats.max_headroom, Bytes(world_.ingress[lane].most_headroom));
      stats.max_queue = std::max(stats.max_queue, Bytes(world_.lanes[lane].most_bytes));
      area += static_cast<double>(world_.lanes[lane].area);
    }
    stats.mean_queue = area / length_ns;
    result.totals.control_hops += port.packets;
  }
  result.totals.control_hops -= result.totals.data_hops;
}

void PacketRun::collect_series(SimResult& result) {
  for (const auto& shard : shards_) {
    const std::vector<SeriesPoint>& part = shard->series();
    if (result.series.size() < part.size()) result.series.resize(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      SeriesPoint& point = result.series[i];
      point.at = part[i].at;
      point.delivered += part[i].delivered;
      point.marked += part[i].marked;
      point.paused_links += part[i].paused_links;
      point.dropped += part[i].dropped;
      point.queued += part[i].queued;
      point.deepest_queue = std::max(point.deepest_queue, part[i].deepest_queue);
    }
  }
}

// Rounds that did not end have no duration; without a record of each round, whole transfers are used instead.
void PacketRun::collect_times(SimResult& result) {
  for (std::size_t t = 0; t < world_.transfers.size(); ++t) {
    if (world_.first_instance.empty()) {
      if (world_.finished[t] != kNever) result.completion_times.push_back(world_.finished[t] - world_.started[t]);
      continue;
    }
    for (std::uint32_t round = 0; round < world_.transfers[t].done; ++round) {
      result.completion_times.push_back(world_.instance_times[world_.first_instance[t] + round]);
    }
  }
}

SimResult PacketRun::collect() {
  SimResult result;
  result.fidelity = Fidelity::packet;
  std::int64_t last = 0;
  std::int64_t now = 0;
  for (const auto& shard : shards_) {
    add(result.totals, shard->totals());
    result.trace_hash += shard->trace();
    last = std::max(last, shard->last_completion());
    now = std::max(now, shard->now());
    result.pauses.insert(result.pauses.end(), shard->pauses().begin(), shard->pauses().end());
    result.pauses_not_kept += shard->pauses_not_kept();
  }
  // Stable: records of one link at one instant stay in the order in which they happened.
  std::stable_sort(result.pauses.begin(), result.pauses.end(), record_before);
  if (result.pauses.size() > world_.options.pause_log) {
    result.pauses_not_kept += result.pauses.size() - world_.options.pause_log;
    result.pauses.resize(world_.options.pause_log);
  }
  result.complete = rounds_done() == rounds_;
  result.interrupted = interrupted_;
  result.deadlock = !cycle_.empty();
  result.deadlock_cycle = cycle_;
  result.end = result.complete ? SimTime(last) : std::min(limit_, SimTime(now));
  result.unfinished = rounds_ - rounds_done();
  result.started = world_.started;
  result.finished = world_.finished;
  result.warnings = world_.warnings;
  collect_times(result);
  collect_links(result);
  collect_series(result);
  return result;
}

}  // namespace

SimResult run_packet_engine(Routes& routes, const TransferGraph& transfers, const SimOptions& options,
                            SimMonitor* monitor) {
  const int shards = shard_count(routes, transfers, options);
  return PacketRun(routes, transfers, options, monitor, shards).run();
}

}  // namespace weft::netsim
