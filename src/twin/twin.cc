#include "twin/twin.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/memory_store.h"
#include "twin/people.h"
#include "world/core/control_loop.h"

namespace weft::twin {
namespace {

constexpr sched::Moment kStart = kTwinStart;
constexpr Duration kBatch = milliseconds(250);        // reports that arrive together make one turn
constexpr Duration kBusyTick = sched::seconds(10);    // while deadlines of the controller matter
constexpr Duration kQuietTick = sched::seconds(600);  // while nothing happens
constexpr Duration kSamplePeriod = sched::seconds(3600);
constexpr std::int64_t kSampleMilliseconds = kSamplePeriod.count() / 1'000'000;

// Passes the journal on, and hashes it.
class HashedStore final : public store::Store {
 public:
  explicit HashedStore(store::Store& inner) : inner_(inner) {}
  store::Sequence append(std::span<const std::string> records) override {
    for (const std::string& record : records) hash_ = hash64(record, hash_);
    count_ += records.size();
    return inner_.append(records);
  }
  Status sync() override { return inner_.sync(); }
  [[nodiscard]] store::Sequence last() const override { return inner_.last(); }
  [[nodiscard]] store::Sequence durable() const override { return inner_.durable(); }
  [[nodiscard]] store::Sequence first() const override { return inner_.first(); }
  Status read(store::Sequence from, const std::function<Status(const store::Entry&)>& each) override {
    return inner_.read(from, each);
  }
  Result<std::optional<store::Snapshot>> load_snapshot() override { return inner_.load_snapshot(); }
  Status save_snapshot(const store::Snapshot& snapshot) override { return inner_.save_snapshot(snapshot); }
  Status compact(store::Sequence up_to) override { return inner_.compact(up_to); }

  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  store::Store& inner_;
  std::uint64_t hash_ = hash64("");
  std::uint64_t count_ = 0;
};

// One run: the loop of the product, driven by the events of the simulated cluster.
class Player {
 public:
  Player(const TwinPlan& plan, const TwinHooks& hooks)
      : plan_(plan),
        hooks_(hooks),
        store_(hooks.journal != nullptr ? *hooks.journal : static_cast<store::Store&>(memory_)),
        world_(*plan.machine, plan.faults, plan.jobs, incidents_of(plan), plan.seed, kStart),
        people_(world_) {}

  Result<TwinResult> run() {
    Result<std::unique_ptr<world::ControlLoop>> opened =
        world::ControlLoop::open(plan_.machine, plan_.options, store_, world_);
    if (!opened.ok()) return opened.error();
    loop_ = std::move(opened).value();
    world::TurnResult begun;
    if (Status status = loop_->begin(kStart, begun); !status.ok()) return status.error();
    if (Status status = play(); !status.ok()) return status.error();
    world_.finish();
    if (!world_.violation().empty()) return Error{ErrorCode::internal, world_.violation(), {}};
    return collect();
  }

 private:
  Status play() {
    const sched::Moment end = kStart + plan_.length;
    sched::Moment sample = kStart + kSamplePeriod;
    while (true) {
      const sched::Moment tick = turned_ + (world_.busy_until() > turned_ ? kBusyTick : kQuietTick);
      sched::Moment due = std::min({world_.next(), tick, people_.next(), next_submission(), wake_});
      if (world_.has_news()) due = std::min(due, news_ + kBatch);
      due = std::max(due, world_.time());
      for (; sample <= std::min(due, end); sample = sample + kSamplePeriod) {
        world_.advance(sample);
        take_sample();
        if (hooks_.progress && !hooks_.progress(sample - kStart))
          return Error{ErrorCode::unavailable, "interrupted", {}};
      }
      if (due >= end) break;
      const bool before = world_.has_news();
      world_.advance(due);
      if (!before && world_.has_news()) news_ = due;
      const bool batched = world_.has_news() && due >= news_ + kBatch;
      if (!batched && due < tick && due < people_.next() && due < next_submission() && due < wake_) continue;
      if (Status status = turn(due); !status.ok()) return status;
    }
    world_.advance(end);
    return {};
  }

  Status turn(sched::Moment now) {
    std::vector<control::Request> requests;
    for (; submitted_ < plan_.jobs.size() && next_submission() <= now; ++submitted_) requests.push_back(submission());
    people_.act(loop_->controller(), requests);
    world::TurnResult result;
    turned_ = now;
    ++turns_;
    if (Status status = loop_->turn(now, std::move(requests), true, result); !status.ok()) return status;
    for (const control::Answer& answer : result.answers) {
      if (!answer.ok && answer.request != 0) refused_.push_back(answer.text);
    }
    find_wake(now);
    return {};
  }

  // A job that waits out its delay after a failure starts when that is over.
  void find_wake(sched::Moment now) {
    wake_ = sched::kNever;
    for (const auto& [number, job] : loop_->controller().state().jobs()) {
      if (job.not_before > now && !job.current) wake_ = std::min(wake_, job.not_before);
      if (job.current && job.state == control::JobState::running && job.spec->shape.limit != sched::kUnlimited) {
        const sched::Moment limit = job.current->running + job.spec->shape.limit;
        if (limit > now) wake_ = std::min(wake_, limit);
      }
    }
  }

  [[nodiscard]] sched::Moment next_submission() const {
    return submitted_ < plan_.jobs.size() ? kStart + plan_.jobs[submitted_].submitted : sched::kNever;
  }

  control::Request submission() {
    const TwinJob& job = plan_.jobs[submitted_];
    control::Request request;
    request.id = submitted_ + 1;
    request.kind = control::RequestKind::submit;
    request.user = job.spec.shape.user;
    request.spec = job.spec;
    return request;
  }

  void take_sample() {
    const Ledger now = world_.preliminary();
    const auto gpus = [&](Use use) {
      const GpuTime before = last_sample_ ? last_sample_->sum(use) : 0;
      return static_cast<double>(now.sum(use) - before) / (1000.0 * static_cast<double>(kSampleMilliseconds));
    };
    TwinSample sample;
    sample.computing = gpus(Use::productive) + gpus(Use::slow) + gpus(Use::lost);
    sample.overhead = gpus(Use::checkpoint) + gpus(Use::undetected) + gpus(Use::stopping) + gpus(Use::starting);
    sample.idle = gpus(Use::idle);
    sample.out = gpus(Use::broken) + gpus(Use::repair) + gpus(Use::person);
    samples_.push_back(sample);
    last_sample_ = now;
  }

  TwinResult collect() {
    TwinResult result;
    result.cluster = plan_.cluster;
    result.seed = plan_.seed;
    result.length = plan_.length;
    result.nodes = static_cast<std::int64_t>(plan_.machine->nodes().size());
    result.gpus = plan_.machine->gpus();
    result.fault_source = plan_.faults.source;
    result.fault_rate = plan_.faults.rate() * plan_.fault_scale;
    result.courses = world_.courses();
    result.samples = std::move(samples_);
    result.sample_period = kSamplePeriod;
    result.records = store_.count();
    result.hash = store_.hash();
    result.turns = turns_;
    result.notes = plan_.notes;
    if (!refused_.empty()) {
      result.notes.push_back(fmt::format("{} jobs were refused; the first: {}", refused_.size(), refused_.front()));
    }
    collect_causes(result);
    collect_jobs(result);
    return result;
  }

  void collect_causes(TwinResult& result) const {
    for (std::size_t c = 0; c < world_.ledger().causes(); ++c) {
      CauseResult cause;
      cause.name = c == 0 ? "none" : plan_.faults.causes[c - 1].name;
      cause.title = c == 0 ? "no incident" : plan_.faults.causes[c - 1].title;
      for (std::size_t u = 0; u < kUses; ++u) {
        cause.time[u] = world_.ledger().at(static_cast<Use>(u), static_cast<std::uint32_t>(c));
        result.time[u] += cause.time[u];
      }
      result.causes.push_back(std::move(cause));
    }
    for (const IncidentCourse& course : result.courses) {
      CauseResult& cause = result.causes[course.incident.cause + 1];
      ++cause.incidents;
      cause.interruptions += course.jobs;
    }
  }

  void collect_jobs(TwinResult& result) const {
    std::map<std::string, bool> held;
    for (const auto& [number, job] : loop_->controller().state().jobs()) held[job.spec->shape.name] = job.held;
    for (std::size_t i = 0; i < plan_.jobs.size(); ++i) {
      const sched::Job& shape = plan_.jobs[i].spec.shape;
      JobResult job;
      job.name = shape.name;
      job.tenant = shape.tenant;
      job.nodes = shape.tasks;
      job.milli_gpus = shape.gpu_milli();
      job.submitted = plan_.jobs[i].submitted;
      job.account = world_.accounts()[i];
      job.held = held.contains(shape.name) && held[shape.name];
      double all = static_cast<double>(gpu_time(job.milli_gpus, job.account.waits));
      for (const GpuTime each : job.account.time) all += static_cast<double>(each);
      const double queued = all + static_cast<double>(gpu_time(job.milli_gpus, job.account.first_wait));
      const auto productive = static_cast<double>(job.account.time[static_cast<std::size_t>(Use::productive)]);
      if (job.account.attempts > 0 && all > 0) job.ettr = productive / all;
      if (job.account.attempts > 0 && queued > 0) job.ettr_queued = productive / queued;
      result.jobs.push_back(std::move(job));
    }
  }

  const TwinPlan& plan_;
  const TwinHooks& hooks_;
  store::MemoryStore memory_;
  HashedStore store_;
  TwinWorld world_;
  People people_;
  std::unique_ptr<world::ControlLoop> loop_;
  std::size_t submitted_ = 0;
  sched::Moment turned_ = kStart;
  sched::Moment news_{};  // when the oldest report that waits arrived
  sched::Moment wake_ = sched::kNever;
  std::uint64_t turns_ = 0;
  std::vector<std::string> refused_;
  std::vector<TwinSample> samples_;
  std::optional<Ledger> last_sample_;
};

}  // namespace

void number_jobs(std::vector<TwinJob>& jobs) {
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const TwinJob& a, const TwinJob& b) { return a.submitted < b.submitted; });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    auto& environment = jobs[i].spec.environment;
    std::erase_if(environment, [](const auto& each) { return each.first == kJobVariable; });
    environment.emplace_back(kJobVariable, fmt::format("{}", i));
  }
}

std::vector<Incident> incidents_of(const TwinPlan& plan) {
  return plan.incidents ? *plan.incidents
                        : draw_incidents(plan.faults, *plan.machine, plan.length, plan.seed, plan.fault_scale);
}

Result<TwinResult> play(const TwinPlan& plan, const TwinHooks& hooks) { return Player(plan, hooks).run(); }

}  // namespace weft::twin
