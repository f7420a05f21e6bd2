// The control plane's loop on one core: events per second, latency from a submission to its start command, and the time
// to restart. The product's ControlLoop runs with MemoryStore and with SqliteStore against a world that obeys at once;
// 2,048 nodes of 8 GPUs are full and 10,000 jobs wait. Usage: control_bench [DIRECTORY [SECONDS]]: where SQLite writes,
// and how much simulated time is measured.
//
// An event is one call of Controller::handle(): a request, a report of one part or of one node, a reply to a command, a
// written checkpoint, a tick, or one inventory (of all 2,048 nodes; it counts as one). "Steady" is the mix of a busy
// cluster: every node reports every 10 s, an inventory every 120 s, a tick per second, and the jobs that end (a mean
// run of 300 s) are replaced by submissions. "Jobs only" leaves out the node reports, which are the cheap ones. A turn
// takes what has arrived, schedules once and makes its records durable at once (one group commit): at full load, the
// events of 1 s of the cluster; with 100 ms of them, the loop is idle most of the time. Times are those of the wall
// clock; CPU time is given beside it, as other processes may disturb.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <queue>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file_descriptor.h"
#include "base/random.h"
#include "sched/machine/plain_machine.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "world/core/control_loop.h"

namespace {

using namespace weft;
using namespace weft::control;
using sched::Moment;
using Clock = std::chrono::steady_clock;

constexpr std::int32_t kNodes = 2048;
constexpr std::size_t kQueued = 10'000;
constexpr std::size_t kEnded = 100'000;
constexpr Duration kTurn = milliseconds(100);  // if nothing else is said
constexpr Duration kHeartbeat = sched::seconds(10);
constexpr std::int64_t kMeanRun = 300;         // seconds
constexpr std::int64_t kCheckpointEvery = 60;  // seconds, of the jobs that write some

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double cpu_seconds() {
  timespec time{};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Latencies {
  std::vector<double> seconds;
  [[nodiscard]] double total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }
  [[nodiscard]] double percentile(double part) {
    if (seconds.empty()) return 0;
    std::sort(seconds.begin(), seconds.end());
    return seconds[static_cast<std::size_t>(part * static_cast<double>(seconds.size() - 1))];
  }
  void print(const char* name) {
    fmt::print("  {:<44} {:>9.3f} {:>9.3f} {:>9.3f} ms\n", name, 1e3 * percentile(0.5), 1e3 * percentile(0.99),
               1e3 * percentile(1));
  }
};

// Starts and stops what it is told to and reports it in the next turn.
class ObedientWorld final : public world::World {
 public:
  explicit ObedientWorld(std::size_t nodes) : on_node_(nodes), random_(1, "world") {}

  void send(const Command& command, Moment now) override {
    std::visit([&](const auto& each) { on(each, now); }, command);
  }

  void poll(Moment now, std::vector<Event>& events) override {
    report_nodes(now);
    while (!due_.empty() && due_.top().at <= now) {
      const Due due = due_.top();
      due_.pop();
      if (running_.contains(due.name)) due.ends ? exit(due.name, now) : write_checkpoint(due.name, now);
    }
    for (Event& event : inbox_) {
      ++counts_[event.index()];
      events.push_back(std::move(event));
    }
    inbox_.clear();
  }

  // Ends the oldest running attempt of one task with one GPU.
  bool end_single(Moment now) {
    while (!singles_.empty()) {
      const AttemptName name = singles_.front();
      singles_.pop_front();
      if (!running_.contains(name)) continue;
      exit(name, now);
      return true;
    }
    return false;
  }

  bool heartbeats = true;
  bool runs = true;                                // false: every attempt exits at once
  std::map<JobNumber, Clock::time_point> started;  // when each start command arrived
  std::array<std::uint64_t, std::variant_size_v<Event>> counts_{};

 private:
  struct Due {
    Moment at{};
    AttemptName name;
    bool ends = false;
    bool operator<(const Due& other) const { return at > other.at; }  // the earliest on top
  };

  void on(const StartAttempt& start, Moment now) {
    started[start.name.job] = Clock::now();
    inbox_.emplace_back(CommandReply{start.operation, ReplyKind::accepted, {}});
    std::vector<sched::NodeId>& nodes = running_[start.name];
    for (const sched::Slot& slot : start.slots) {
      if (std::find(nodes.begin(), nodes.end(), slot.node) == nodes.end()) nodes.push_back(slot.node);
    }
    for (const sched::NodeId node : nodes) {
      on_node_[sched::index_of(node)].push_back(start.name);
      inbox_.emplace_back(PartReport{start.name, node, kBoot, PartPhase::running, false, 0, {}, now});
    }
    if (start.spec->shape.tasks == 1 && start.spec->shape.task.gpus == 1) singles_.push_back(start.name);
    const double drawn = runs ? -std::log(1 - random_.uniform()) * static_cast<double>(kMeanRun) : 0;
    due_.push({now + milliseconds(static_cast<std::int64_t>(drawn * 1e3)), start.name, true});
    if (!start.spec->checkpoint.volumes.empty()) due_.push({now + sched::seconds(kCheckpointEvery), start.name, false});
  }
  void on(const StopAttempt& stop, Moment now) {
    inbox_.emplace_back(CommandReply{stop.operation, ReplyKind::accepted, {}});
    exit(stop.name, now, 143);
  }
  void on(const RequestCheckpoint& request, Moment now) { write_checkpoint(request.name, now); }
  void on(const LeaseOrder& /*order*/, Moment /*now*/) {}  // one engine: nodes are never handed over
  void on(const VerifyCheckpoint& verify, Moment now) {
    CheckpointVerified verified;
    verified.operation = verify.operation;
    verified.job = verify.job;
    verified.observed = now;
    inbox_.emplace_back(std::move(verified));
  }
  void on(const QueryInventory& query, Moment now) {
    Inventory inventory;
    inventory.observed = now;
    for (std::uint32_t n = 0; n < on_node_.size(); ++n) {
      inventory.nodes.push_back({static_cast<sched::NodeId>(n), kBoot, on_node_[n], query.term});
    }
    inbox_.emplace_back(std::move(inventory));
  }
  void on(const CordonNode&, Moment) {}
  void on(const PowerCycle&, Moment) {}
  void on(const ValidateNode&, Moment) {}

  void exit(AttemptName name, Moment now, std::int32_t code = 0) {
    const auto found = running_.find(name);
    if (found == running_.end()) return;
    for (const sched::NodeId node : found->second) {
      std::erase(on_node_[sched::index_of(node)], name);
      inbox_.emplace_back(PartReport{name, node, kBoot, PartPhase::exited, true, code, {}, now});
    }
    running_.erase(found);
  }
  void write_checkpoint(AttemptName name, Moment now) {
    const std::string label = fmt::format("step-{:010}", now.count() / 1'000'000'000);
    inbox_.emplace_back(CheckpointWritten{name, label, now.count() / 1'000'000'000, sched::seconds(5), now});
    due_.push({now + sched::seconds(kCheckpointEvery), name, false});
  }
  // Spread over the period; the first time all of them.
  void report_nodes(Moment now) {
    if (!heartbeats && last_report_ != Moment()) return;
    const auto count = static_cast<std::int64_t>(on_node_.size());
    const auto before = [&](Moment at) { return at.count() / (kHeartbeat.count() / count); };
    const std::int64_t last = before(now);
    const std::int64_t first = last_report_ == Moment() ? last - count : std::max(before(last_report_), last - count);
    for (std::int64_t n = first; n < last; ++n) {
      inbox_.emplace_back(NodeReport{static_cast<sched::NodeId>(n % count), kBoot, Health::healthy, {}, now});
    }
    last_report_ = now;
  }

  static constexpr BootId kBoot = 1;
  std::vector<std::vector<AttemptName>> on_node_;
  std::map<AttemptName, std::vector<sched::NodeId>> running_;
  std::priority_queue<Due> due_;
  std::deque<AttemptName> singles_;
  std::vector<Event> inbox_;
  Moment last_report_{};
  RandomStream random_;
};

// Counts the bytes that are appended.
class CountingStore final : public store::Store {
 public:
  explicit CountingStore(store::Store& inner) : inner_(inner) {}
  store::Sequence append(std::span<const std::string> records) override {
    for (const std::string& record : records) bytes += record.size();
    return inner_.append(records);
  }
  Status sync() override {
    const auto began = Clock::now();
    Status synced = inner_.sync();
    sync_seconds += seconds_since(began);
    return synced;
  }
  [[nodiscard]] store::Sequence last() const override { return inner_.last(); }
  [[nodiscard]] store::Sequence durable() const override { return inner_.durable(); }
  [[nodiscard]] store::Sequence first() const override { return inner_.first(); }
  Status read(store::Sequence from, const std::function<Status(const store::Entry&)>& each) override {
    return inner_.read(from, each);
  }
  Result<std::optional<store::Snapshot>> load_snapshot() override { return inner_.load_snapshot(); }
  Status save_snapshot(const store::Snapshot& snapshot) override {
    ++snapshots;
    const auto began = Clock::now();
    Status saved = inner_.save_snapshot(snapshot);
    save_seconds = seconds_since(began);
    return saved;
  }
  Status compact(store::Sequence up_to) override { return inner_.compact(up_to); }

  std::uint64_t bytes = 0;
  std::uint64_t snapshots = 0;
  double sync_seconds = 0;
  double save_seconds = 0;  // of the last snapshot

 private:
  store::Store& inner_;
};

// A controller with its world, and the jobs that are submitted to it.
class Bench {
 public:
  explicit Bench(store::Store& inner, std::int32_t nodes = kNodes)
      : store(inner), world(static_cast<std::size_t>(nodes)), random_(2, "jobs") {
    sched::PlainMachine plain;
    plain.nodes = nodes;
    machine_ = std::make_shared<const sched::Machine>(sched::plain_machine(plain));
    open();
  }

  void open() {
    Result<std::unique_ptr<world::ControlLoop>> opened =
        world::ControlLoop::open(machine_, ControllerOptions(), store, world);
    CHECK(opened.ok(), opened.error().text().c_str());
    loop = std::move(opened).value();
    world::TurnResult result;
    CHECK(loop->begin(now_, result).ok(), "begin failed");
  }

  // One turn, some time later. Returns its wall time.
  double turn(std::vector<Request> requests = {}, Duration after = kTurn) {
    const std::int64_t second = now_.count() / 1'000'000'000;
    now_ = now_ + after;
    const bool tick = now_.count() / 1'000'000'000 != second;
    world.counts_[0] += tick ? 1 : 0;
    world.counts_[1] += requests.size();
    world::TurnResult result;
    const auto began = Clock::now();
    const Status turned = loop->turn(now_, std::move(requests), tick, result);
    const double taken = seconds_since(began);
    CHECK(turned.ok(), turned.error().text().c_str());
    CHECK(result.store_full.empty(), "the disk is full");
    for (const Answer& answer : result.answers) CHECK(answer.ok, answer.text.c_str());
    return taken;
  }

  // The mix of Kalos (Acme, 2024): mostly 1 to 8 GPUs, some gangs of whole nodes.
  Request draw() {
    Request request = job(1, 1);
    const std::uint64_t kind = random_.below(100);
    sched::Job& shape = request.spec.shape;
    shape.task.gpus = kind < 60 ? 1 : kind < 80 ? 4 : 8;
    shape.task.cpu = shape.task.gpus * 8'000;
    shape.priority = static_cast<std::int32_t>(random_.below(3)) * 100;
    if (kind >= 92) {
      const std::int32_t sizes[] = {2, 4, 8, 16, 32, 64};
      shape.tasks = sizes[random_.below(kind < 99 ? 4 : 6)];
      request.spec.checkpoint.volumes = {"/checkpoints/a", "/checkpoints/b"};
      request.spec.checkpoint.notice = CheckpointNotice::signal;
    }
    return request;
  }
  Request job(std::int32_t gpus, std::int32_t tasks) {
    Request request;
    const std::uint64_t number = ++submitted_;
    request.id = number;
    request.user = fmt::format("user{}", random_.below(64));
    request.key = fmt::format("{:016x}", number * 0x9E3779B97F4A7C15ULL);
    JobSpec& spec = request.spec;
    spec.shape.name = fmt::format("train-{}", number);
    spec.shape.tenant = fmt::format("team{}", random_.below(8));
    spec.shape.user = request.user;
    spec.shape.tasks = tasks;
    spec.shape.task.gpus = gpus;
    spec.shape.task.cpu = 4'000;
    spec.shape.grace = sched::seconds(30);
    spec.shape.limit = sched::seconds(3600 * random_.between(1, 24));
    spec.command = {"python3", "train.py", "--config", "configs/llama-8b.yaml"};
    spec.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", "/home/" + request.user}};
    spec.directory = "/home/" + request.user + "/project";
    spec.uid = spec.gid = 1000;
    return request;
  }

  static Request cancel(JobNumber job) {
    Request request;
    request.kind = RequestKind::cancel;
    request.job = job;
    return request;
  }

  [[nodiscard]] std::size_t waiting() const { return loop->controller().scheduler().waiting_count(); }
  // Submissions that bring the queue to its length again.
  std::vector<Request> refill() {
    std::vector<Request> requests;
    while (waiting() + requests.size() < kQueued) requests.push_back(draw());
    return requests;
  }

  // 100,000 jobs that have ended, a full cluster, a full queue.
  void prepare(std::size_t ended) {
    turn();
    turn();
    world.runs = false;
    while (loop->controller().state().ended().size() < ended) {
      std::vector<Request> requests;
      for (int i = 0; i < 4000; ++i) requests.push_back(job(1, 1));
      turn(std::move(requests));
    }
    world.runs = true;
    for (int i = 0; i < 3000; ++i) turn(refill());  // until nothing of the start is left
  }

  [[nodiscard]] Moment now() const { return now_; }
  [[nodiscard]] std::string describe() const {
    const ControlState& state = loop->controller().state();
    return fmt::format("{} jobs wait, {} run, {} have ended; {:.1f} % of the GPUs are free", waiting(),
                       loop->controller().scheduler().running().size(), state.ended().size(),
                       static_cast<double>(loop->controller().scheduler().state().free_gpu_milli()) / (80.0 * kNodes));
  }

  CountingStore store;
  ObedientWorld world;
  std::unique_ptr<world::ControlLoop> loop;

 private:
  std::shared_ptr<const sched::Machine> machine_;
  Moment now_ = Moment() + sched::seconds(1'000'000);
  std::uint64_t submitted_ = 0;
  RandomStream random_;
};

constexpr const char* kEventNames[] = {
    "tick",  "submission", "reply",  "part report", "inventory",          "node report",
    "power", "validation", "cordon", "checkpoint",  "verified checkpoint"};

// Runs `seconds` of simulated time; `after` follows each turn.
void run_steady(Bench& bench, const char* name, Duration turn, std::int64_t seconds,
                const std::function<void(std::uint64_t bytes)>& after = {}) {
  for (int i = 0; i < 5; ++i) bench.turn(bench.refill(), turn);
  bench.world.counts_ = {};
  bench.store.bytes = bench.store.snapshots = 0;
  bench.store.sync_seconds = 0;
  const store::Sequence records = bench.store.last();
  Latencies turns;
  double cpu = 0;
  for (std::int64_t i = 0; i < sched::seconds(seconds).count() / turn.count(); ++i) {
    const std::uint64_t bytes = bench.store.bytes;
    std::vector<Request> requests = bench.refill();
    const double began = cpu_seconds();
    turns.seconds.push_back(bench.turn(std::move(requests), turn));
    cpu += cpu_seconds() - began;
    if (after) after(bench.store.bytes - bytes);
  }
  const auto& counts = bench.world.counts_;
  const auto events = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  fmt::print(
      "{}: {:.0f} events/s, {:.0f} per CPU second ({:.0f} events, {} turns, {:.2f} s; {} records, {:.1f} MB, {} "
      "snapshots)\n",
      name, events / turns.total(), events / cpu, events, turns.seconds.size(), turns.total(),
      bench.store.last() - records, static_cast<double>(bench.store.bytes) * 1e-6, bench.store.snapshots);
  fmt::print("  mix:");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) fmt::print(" {} {:.2f} %", kEventNames[i], 100 * static_cast<double>(counts[i]) / events);
  }
  fmt::print("\n  {:<44} {:>9} {:>9} {:>9}\n", "", "p50", "p99", "max");
  turns.print(fmt::format("turn of {} ms of events", turn.count() / 1'000'000).c_str());
}

// From the submission to its start command, alone in its turn; what waits must be passed over.
void measure_start(Bench& bench, const char* name, int count, bool gpu) {
  Latencies taken;
  int waited = 0;
  for (int i = 0; i < count; ++i) {
    for (int rest = 0; rest < 3; ++rest) bench.turn(bench.refill());
    Request request = bench.job(gpu ? 1 : 0, 1);
    request.spec.shape.priority = 1000;
    std::vector<Request> requests{std::move(request)};
    if (gpu) CHECK(bench.world.end_single(bench.now()), "no job with one GPU runs");
    bench.world.started.clear();
    const auto began = Clock::now();
    bench.turn(std::move(requests));
    const auto found = bench.world.started.find(bench.loop->controller().state().last_job());
    if (found == bench.world.started.end()) {
      ++waited;
    } else {
      taken.seconds.push_back(std::chrono::duration<double>(found->second - began).count());
    }
  }
  taken.print(fmt::format("{} ({} of {} started)", name, count - waited, count).c_str());
}

void measure_memory(std::int64_t seconds) {
  store::MemoryStore memory;
  Bench bench(memory);
  const auto began = Clock::now();
  bench.prepare(kEnded);
  fmt::print("2,048 nodes of 8 GPUs; {} (prepared in {:.1f} s)\n\nMemoryStore\n", bench.describe(),
             seconds_since(began));
  run_steady(bench, "steady, full load", sched::seconds(1), seconds);
  run_steady(bench, "steady, small turns", kTurn, std::min<std::int64_t>(seconds, 60));
  fmt::print("submission to start command, {} others wait\n", bench.waiting());
  measure_start(bench, "job without GPU, on free cores", 1000, false);
  measure_start(bench, "job with one GPU, as another ends", 1000, true);
  bench.world.heartbeats = false;
  run_steady(bench, "jobs only, full load", sched::seconds(1), std::min<std::int64_t>(seconds, 40));
}

std::unique_ptr<store::SqliteStore> open_store(const std::string& directory) {
  Result<std::unique_ptr<store::SqliteStore>> opened = store::SqliteStore::open({directory, "bench", true});
  CHECK(opened.ok(), opened.error().text().c_str());
  return std::move(opened).value();
}

void measure_sqlite(const std::string& directory, std::int64_t seconds) {
  const std::unique_ptr<store::SqliteStore> sqlite = open_store(directory + "/store");
  const FileDescriptor file = open_descriptor(directory + "/plain", O_WRONLY | O_CREAT | O_APPEND | O_TRUNC, 0600);
  CHECK(file.ok(), "cannot create a file");
  Bench bench(*sqlite);
  bench.prepare(kEnded);
  Latencies plain;
  fmt::print("\nSqliteStore\n");
  run_steady(bench, "steady, full load", sched::seconds(1), seconds, [&](std::uint64_t bytes) {
    const std::string written(bytes, 'r');
    const auto began = Clock::now();
    CHECK(write_all(file.get(), written).error == 0, "write failed");
    CHECK(::fdatasync(file.get()) == 0, "fdatasync failed");
    plain.seconds.push_back(seconds_since(began));
  });
  const double share = bench.store.sync_seconds / plain.total();
  plain.print("write + fdatasync of the same bytes");
  fmt::print("  {:<44} {:>9.2f} of it\n", "SQLite's sync() / write + fdatasync", share);
  const auto began_text = Clock::now();
  const std::size_t size = bench.loop->controller().state().to_text().size();
  fmt::print("  a snapshot of {:.1f} MB stops the loop: {:.2f} s to write its text, {:.2f} s to save the last one\n",
             static_cast<double>(size) * 1e-6, seconds_since(began_text), bench.store.save_seconds);
  // The worst moment to stop: just before the next snapshot. Jobs are submitted and canceled until then.
  const store::Snapshot snapshot = sqlite->load_snapshot().value().value();
  std::vector<Request> requests;
  std::uint64_t bytes = 0;
  CHECK(sqlite
            ->read(snapshot.sequence + 1,
                   [&](const store::Entry& entry) {
                     bytes += entry.bytes.size();
                     return Status();
                   })
            .ok(),
        "read failed");
  bench.store.bytes = bytes;
  while (!world::ControlLoop::is_snapshot_due((sqlite->last() - snapshot.sequence) * 21 / 20,
                                              bench.store.bytes * 21 / 20, snapshot.bytes.size())) {
    requests.clear();
    for (const auto& [number, job] : bench.loop->controller().state().jobs()) {
      if (job.reason.empty() && job.spec->shape.name == "canceled") requests.push_back(bench.cancel(number));
    }
    for (int i = 0; i < 500; ++i) {
      requests.push_back(bench.job(8, 64));
      requests.back().spec.shape.name = "canceled";
    }
    bench.turn(requests);
  }
  fmt::print("\nrestart: {}; snapshot at record {}, {} records after it\n", bench.describe(), snapshot.sequence,
             sqlite->last() - snapshot.sequence);
}

void measure_restart(const std::string& directory) {
  sched::PlainMachine plain;
  plain.nodes = kNodes;
  const auto machine = std::make_shared<const sched::Machine>(sched::plain_machine(plain));
  ObedientWorld world(kNodes);
  const auto began = Clock::now();
  const double cpu = cpu_seconds();
  const std::unique_ptr<store::SqliteStore> sqlite = open_store(directory + "/store");
  const double checked = seconds_since(began);
  Result<std::unique_ptr<world::ControlLoop>> loop =
      world::ControlLoop::open(machine, ControllerOptions(), *sqlite, world);
  CHECK(loop.ok(), loop.error().text().c_str());
  const double read = seconds_since(began);
  world::TurnResult result;
  CHECK((*loop)->begin(Moment() + sched::seconds(3'000'000), result).ok(), "begin failed");
  const double total = seconds_since(began);
  fmt::print(
      "  {:.2f} s ({:.2f} s of CPU): open the store {:.2f} s, read snapshot and journal {:.2f} s, begin {:.2f} s\n",
      total, cpu_seconds() - cpu, checked, read - checked, total - read);
}

// What bench/control_vs_slurm.py measures of Slurm: jobs of one core on 64 empty nodes, submitted one after another.
void measure_thousand(const std::string& directory) {
  constexpr int kJobs = 1000;
  const std::unique_ptr<store::SqliteStore> sqlite = open_store(directory + "/thousand");
  Bench bench(*sqlite, 64);
  bench.turn();
  bench.turn();
  Latencies taken;
  const auto first = Clock::now();
  for (int i = 0; i < kJobs; ++i) {
    Request request = bench.job(0, 1);
    request.spec.shape.task.cpu = 1'000;
    std::vector<Request> requests{std::move(request)};
    const auto began = Clock::now();
    bench.turn(std::move(requests));
    const JobNumber job = bench.loop->controller().state().last_job();
    taken.seconds.push_back(std::chrono::duration<double>(bench.world.started.at(job) - began).count());
  }
  const double seconds = seconds_since(first);
  fmt::print("\n64 nodes, {} one-node jobs one after another, SQLite, a sync per job: {:.0f} submissions/s\n", kJobs,
             kJobs / seconds);
  taken.print("submission to start command");
}

// In a process of its own, so that its memory can be told apart.
void run_alone(const char* name, const std::function<void()>& work) {
  (void)std::fflush(stdout);
  const pid_t child = ::fork();
  CHECK(child >= 0, "cannot fork");
  if (child == 0) {
    work();
    (void)std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  rusage usage{};
  CHECK(::wait4(child, &status, 0, &usage) == child && status == 0, "a measurement failed");
  fmt::print("  peak memory of {}: {:.0f} MB\n", name, static_cast<double>(usage.ru_maxrss) * 1024e-6);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string parent = count > 1 ? arguments[1] : std::filesystem::temp_directory_path().string();
  const std::int64_t seconds = count > 2 ? std::strtoll(arguments[2], nullptr, 10) : 300;
  std::string directory = parent + "/weft-control-bench-XXXXXX";
  (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
  CHECK(::mkdtemp(directory.data()) != nullptr, "cannot create a directory");
  run_alone("the controller with MemoryStore", [&] { measure_memory(seconds); });
  run_alone("the controller with SqliteStore", [&] { measure_sqlite(directory, seconds); });
  run_alone("the restarted controller", [&] { measure_restart(directory); });
  run_alone("the controller of 64 nodes", [&] { measure_thousand(directory); });
  std::filesystem::remove_all(directory);
  return 0;
}
