#include "world/sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/random.h"
#include "store/memory_store.h"
#include "world/core/control_loop.h"
#include "world/core/led_world.h"
#include "world/sim/journal_inspector.h"
#include "world/sim/lease_people.h"
#include "world/sim/sim_plan.h"
#include "world/sim/sim_world.h"

namespace weft::world {
namespace {

using control::JobNumber;
using control::JobState;
using control::Record;
using control::Request;
using control::RequestKind;

bool is_outage(const Error& error) { return error.code == ErrorCode::unavailable || error.code == ErrorCode::timeout; }

// The controller's process may die after any side effect: what it would have sent after that is not sent.
class MortalWorld final : public World {
 public:
  explicit MortalWorld(SimWorld& world) : world_(world) {}
  void send(const control::Command& command, sched::Moment now) override {
    if (dead) return;
    if (is_replaced && is_replaced()) world_.violate("18: a controller acts after another one has become leader");
    world_.send(command, now);
    dead = world_.happens(Fault::crash_after_effect, 8);
  }
  void poll(sched::Moment now, std::vector<control::Event>& events) override { world_.poll(now, events); }
  bool dead = false;
  std::function<bool()> is_replaced;  // in truth; null: there is one controller

 private:
  SimWorld& world_;
};

// A controller with an etcd: what a process has beside its loop. Another one may take over while it is stopped.
struct Controller {
  explicit Controller(SimWorld& world) : mortal(world) {}
  MortalWorld mortal;
  std::unique_ptr<LedWorld> led;
  std::unique_ptr<SimLeader> leader;
  std::unique_ptr<ControlLoop> loop;
};

struct Submission {
  Request request;
  sched::Moment at{};
  JobNumber job = 0;      // acknowledged
  bool canceled = false;  // acknowledged
  sched::Moment retry{};
};

class Simulation {
 public:
  Simulation(Choices& choices, const SimulationOptions& options)
      : choices_(choices),
        options_(options),
        machine_(draw_machine(choices)),
        world_(*machine_, choices),
        inspector_(machine_, settings_, world_) {
    settings_.defect = options.defect;
    settings_.tenants = sim_tenants(*machine_);
    world_.evidence_age = settings_.evidence_age;
    world_.stale_after = settings_.stale_after;
    world_.is_durable = [this](control::OperationId operation) { return is_durable(operation); };
    world_.is_canceled = [this](JobNumber job) { return canceled_.contains(job) && !world_.tolerate_lost_records; };
    for (std::uint32_t f = 0; f < kFaults; ++f) world_.enable(static_cast<Fault>(f), choices.choose("swarm", 2) == 1);
    if (choices.choose("damage", 10) != 1) world_.enable(Fault::store_damage, false);
    for (const Fault fault : options.focus) world_.focus(fault);
    world_.tolerate_lost_records = world_.is_enabled(Fault::store_lost_fsync);
    if (world_.is_enabled(Fault::old_version) && !options.leases) settings_.journal_format = 1;
    if (choices.choose("breaker", 3) == 1) {  // so that the limits of tenants and racks are reached
      settings_.breaker.total = settings_.breaker.pool = 0.6;
      settings_.breaker.rack = settings_.breaker.leaf = 1;
      settings_.breaker.tenant = 0.4;
    }
    enable_leases();
    if (options.etcd) enable_etcd();
    draw_jobs();
  }

  SimulationResult run() {
    const sched::Moment chaos_end = world_.time() + sched::seconds(3600 + 600 * choices_.choose("length", 12));
    if (start()) {
      while (ok() && world_.time() < chaos_end) step(true);
      if (ok()) settle();
    }
    return result();
  }

 private:
  void enable_leases() {
    const bool drawn = choices_.choose("leases", 3) == 1;
    if (!options_.leases && (!drawn || settings_.journal_format < control::kJournalFormat)) return;
    settings_.engines = {lease::LeaseOwner::slurm, lease::LeaseOwner::kubernetes};
    for (std::size_t n = 0; n < machine_->nodes().size(); ++n)
      settings_.owners.push_back(settings_.engines[choices_.choose("leases", 2)]);
    world_.enable_leases(settings_.engines, options_.defect);
    world_.lease_problem = [this](sched::NodeId node, JobNumber job) {
      return problem_of_lease(controller_->loop->controller(), node, job, controller_->loop->journal_time(wall()));
    };
  }

  // The faults of a disk are not those of etcd.
  void enable_etcd() {
    for (const Fault fault : {Fault::store_lost_fsync, Fault::store_damage}) world_.enable(fault, false);
    world_.enable(Fault::store_full, true);  // records become durable later than they are made: see JournalInspector
    world_.tolerate_lost_records = false;
    // A commit may take as long as a lease is valid; its commands rest on evidence from before.
    world_.evidence_age = world_.evidence_age + sched::seconds(10);
    world_.stale_after = world_.stale_after + sched::seconds(10);
    etcd_ = std::make_unique<SimEtcd>(
        choices_, [this] { return Duration(world_.time().count()); }, options_.etcd_mutant);
    etcd_->pause = [this] { pause(); };
  }

  [[nodiscard]] store::Store& store() {
    if (etcd_ == nullptr) return memory_;
    return controller_->leader != nullptr ? static_cast<store::Store&>(*controller_->leader->store) : memory_;
  }
  // The process is stopped in the middle of a commit, and another controller takes over if that lasts longer than the
  // lease. Afterwards it goes on with what it was doing.
  void pause() {
    if (pauses_ > 0 || controller_->loop == nullptr || !in_turn_) return;
    ++pauses_;
    scan();
    const Duration length = sched::seconds(1 + choices_.choose("pause", 40));
    if (length > sched::seconds(9)) {
      stopped_controllers_.push_back(std::move(controller_));
      controller_ = std::make_unique<Controller>(world_);
      world_.controller_crashed();
      world_.advance(world_.time() + length);
      next_tick_ = world_.time() + sched::seconds(1);
      ++takeovers_;
      if (start()) {
        for (std::uint32_t turns = 5 + choices_.choose("pause", 40); turns > 0 && ok(); --turns) step(true);
      }
    } else {
      world_.advance(world_.time() + length);
    }
    --pauses_;
  }

  // A new controller in the place of one that ended. Not ok(): the journal is damaged.
  Status lead() {
    if (etcd_ == nullptr) return {};
    controller_->leader.reset();
    for (int tries = 0; tries < 200; ++tries) {
      Result<std::unique_ptr<SimLeader>> leader = etcd_->lead([this] {
        etcd_->set_no_space(false);
        world_.advance(world_.time() + sched::seconds(1));
      });
      if (leader.ok()) {
        controller_->leader = std::move(*leader);
        break;
      }
      if (leader.error().code == ErrorCode::internal) return leader.error();
      world_.advance(world_.time() + sched::seconds(1));
    }
    if (controller_->leader == nullptr) return Error{ErrorCode::internal, "no controller becomes leader", {}};
    world_.controller_crashed();  // what was told while no controller led is lost
    controller_->mortal.is_replaced = [this, leader = controller_->leader.get()] {
      return etcd_->is_replaced(*leader);
    };
    controller_->led = std::make_unique<LedWorld>(
        controller_->mortal, [this, leader = controller_->leader.get()] { return etcd_->may_act(*leader); });
    return {};
  }

  // Its state is a prefix of the leader's; once it has all records, they are the same.
  void check_follower() {
    bool begins_again = false;
    if (etcd_ == nullptr || !etcd_->follow(copy_, begins_again)) return;
    if (begins_again || follower_ == nullptr) {
      Result<std::unique_ptr<ControlLoop>> opened = ControlLoop::open(machine_, settings_, copy_, silent_);
      if (!opened.ok()) return world_.violate("19: a follower cannot read the journal: " + opened.error().text());
      follower_ = std::move(*opened);
    } else if (const Status followed = follower_->follow(wall()); !followed.ok()) {
      return world_.violate("19: a follower cannot follow the journal: " + followed.error().text());
    }
    if (copy_.durable() != store().durable() || store().durable() != store().last()) return;
    ++followed_;
    if (follower_->controller().state().to_text() != state().to_text())
      world_.violate("19: the state of a follower is not that of the leader");
  }

  void draw_jobs() {
    const std::uint32_t count = 4 + choices_.choose("jobs", 20);
    std::vector<std::uint32_t> keys;
    for (std::uint32_t i = 0; i < count; ++i) {
      Submission submission;
      submission.request = draw_submission(choices_, *machine_, i, keys);
      Request& request = submission.request;
      if (world_.has_leases() && choices_.choose("engine", 3) == 1) request.spec.engine = settings_.engines.back();
      submission.at = world_.time() + sched::seconds(choices_.choose("jobs", 2400));
      submissions_.push_back(std::move(submission));
    }
  }

  [[nodiscard]] bool ok() const { return world_.violation().empty() && stopped_.empty(); }
  [[nodiscard]] sched::Moment wall() const { return sched::Moment(world_.time().count() + wall_offset_.count()); }
  [[nodiscard]] const control::ControlState& state() const { return controller_->loop->controller().state(); }

  bool start() {
    if (const Status led = lead(); !led.ok()) {
      world_.violate("5: the journal cannot be opened: " + led.error().text());
      return false;
    }
    World& world = etcd_ == nullptr ? static_cast<World&>(controller_->mortal) : *controller_->led;
    Result<std::unique_ptr<ControlLoop>> opened = ControlLoop::open(machine_, settings_, store(), world);
    if (!opened.ok() && is_outage(opened.error())) return start();
    if (!opened.ok()) {
      if (damaged_) {
        stopped_ = opened.error().text();
      } else {
        world_.violate("5: the journal cannot be read: " + opened.error().text());
      }
      return false;
    }
    controller_->loop = std::move(*opened);
    controller_->mortal.dead = false;
    check_acknowledged();
    if (world_.tolerate_lost_records) inspector_.forget();
    TurnResult result;
    const Status begun = controller_->loop->begin(wall(), result);
    if (!begun.ok() && begun.error().code == ErrorCode::conflict && etcd_ != nullptr) {
      crash();
      return ok();
    }
    if (!begun.ok()) world_.violate("5: " + begun.error().text());
    if (state().format() < settings_.journal_format) world_.violate("5: the journal's format was not written");
    return ok();
  }

  // What was acknowledged must be there after every restart.
  void check_acknowledged() {
    if (world_.tolerate_lost_records || damaged_) return;
    for (const Submission& submission : submissions_) {
      if (submission.job == 0) continue;
      if (state().find_key(submission.request.user, submission.request.key) != submission.job) {
        world_.violate(fmt::format("5: acknowledged job {} is lost", submission.job));
      }
    }
    for (const auto& [name, until] : reserved_) {
      if (state().now() < until && !state().reservations().contains(name))
        world_.violate(fmt::format("5: acknowledged reservation {} is lost", name));
    }
  }

  void step(bool faults) {
    const sched::Moment next = std::min({world_.next(), next_tick_});
    world_.advance(next);
    const bool tick = world_.time() >= next_tick_;
    if (tick) next_tick_ = world_.time() + sched::seconds(5);
    if (tick && faults) stir();
    std::vector<Request> requests = tick ? due_requests(faults) : std::vector<Request>();
    if (etcd_ != nullptr && !still_leads()) return crash();
    TurnResult result;
    const Controller* const turning = controller_.get();
    in_turn_ = true;
    const Status turned = controller_->loop->turn(wall(), std::move(requests), tick, result);
    in_turn_ = false;
    ++turns_;
    if (controller_.get() != turning) return end_stopped(turned, result);
    if (!turned.ok() && turned.error().code == ErrorCode::conflict && etcd_ != nullptr) return crash();
    if (!turned.ok()) {
      world_.violate("5: " + turned.error().text());
      return;
    }
    if (!result.store_full.empty()) world_.reached().insert("store full");
    if (controller_->mortal.dead || world_.happens(Fault::crash_any_time, 1)) {
      crash();
      return;
    }
    take_answers(result.answers);
    scan();
    check(faults);
    if (!tick || !result.store_full.empty()) return;
    check_drills();
    check_maintenance();
    check_stalls();
    check_follower();
  }

  // It renews its lease, as a thread of its own does in the product.
  bool still_leads() {
    controller_->leader->election->step();
    if (controller_->leader->election->is_leader()) return true;
    world_.reached().insert("leadership lost");
    return false;
  }

  // The turn of a controller that was stopped in it, while another one became leader. What it has answered was durable.
  void end_stopped(const Status& turned, const TurnResult& result) {
    stopped_controllers_.clear();
    if (!ok() || controller_->loop == nullptr) return;
    if (!turned.ok() && turned.error().code != ErrorCode::conflict)
      return world_.violate("5: " + turned.error().text());
    world_.reached().insert(turned.ok() ? "stopped after its commit" : "stopped before its commit");
    if (turned.ok()) take_answers(result.answers);
  }

  // While every node of an attempt answers, progress is lost for a bounded time before the controller notices that a
  // part of it is gone.
  void check_stalls() {
    for (const auto& [number, job] : state().jobs()) {
      const bool computes = job.state == JobState::running || job.state == JobState::checkpointing;
      const sched::Moment since = computes ? world_.stalled_since({number, job.current->number}) : sched::kNever;
      if (since == sched::kNever) continue;
      if (world_.time() - since > kMaxStall) {
        world_.violate(fmt::format("8: job {} has lost a part; not noticed for {} s", number,
                                   sched::seconds_of(world_.time() - since)));
      }
    }
  }

  // What can be preempted is being stopped on nodes in maintenance.
  void check_maintenance() {
    const sched::Moment now = controller_->loop->journal_time(wall());
    for (const auto& [name, reservation] : state().reservations()) {
      if (!reservation.is_active(now)) continue;
      for (const sched::NodeId node : reservation.nodes) {
        for (const JobNumber number : state().jobs_on(node)) {
          const control::Job& job = *state().find_job(number);
          const bool kept = !job.spec->shape.preemptible || job.spec->shape.inference;
          if (kept) world_.reached().insert("service on a node in maintenance");
          if (!kept && job.state != JobState::stopping && job.state != JobState::checkpointing)
            world_.violate(fmt::format("15: job {} is {} on a node in maintenance", number, to_text(job.state)));
        }
      }
    }
  }

  // A drill has a result within its deadline, or its job runs on other nodes.
  void check_drills() {
    for (const auto& [number, job] : state().jobs()) {
      if (!job.drill || job.drill->result != control::DrillResult::pending) continue;
      const bool runs = job.state == JobState::running && job.current->number > job.drill->stopped;
      const sched::Moment since = runs ? job.current->running : job.drill->begun;
      const Duration bound = runs ? settings_.drill_run : settings_.drill_deadline;
      if (controller_->loop->journal_time(wall()) - since > bound + sched::seconds(1)) {
        world_.violate(fmt::format("12: the drill of job {} has no result", number));
      }
    }
  }

  void stir() {
    world_.stir();
    if (world_.happens(Fault::store_full, 5))
      full_until_ = world_.time() + sched::seconds(60 + choices_.choose("full", 300));
    if (etcd_ != nullptr) etcd_->stir();
    if (etcd_ != nullptr) etcd_->set_no_space(world_.time() < full_until_);
    memory_.set_full(world_.time() < full_until_);
    memory_.set_lost_fsync(world_.happens(Fault::store_lost_fsync, 100));
  }

  void crash() {
    ++crashes_;
    scan();
    controller_->loop.reset();
    world_.controller_crashed();
    memory_.crash();
    memory_.set_full(false);
    if (etcd_ != nullptr) etcd_->set_no_space(false);
    full_until_ = {};
    scanned_ = std::min(scanned_, store().durable());
    if (world_.tolerate_lost_records) refold();
    if (world_.happens(Fault::store_damage, 200))
      damaged_ = memory_.flip_bit(choices_.choose("bit", 1'000'000'000) %
                                  std::max<std::uint64_t>(1, 8 * memory_.durable_bytes()));
    if (world_.happens(Fault::clock_jump, 300)) {
      wall_offset_ = Duration(sched::seconds(static_cast<std::int64_t>(choices_.choose("clock", 7200)) - 3600).count());
    }
    if (world_.happens(Fault::old_version, 500)) settings_.journal_format = control::kJournalFormat;
    world_.advance(world_.time() + sched::seconds(choices_.choose("down", 120)));
    next_tick_ = world_.time() + sched::seconds(1);
    start();
  }

  std::vector<Request> due_requests(bool faults) {
    std::vector<Request> requests;
    for (std::size_t i = 0; i < submissions_.size(); ++i) {
      Submission& submission = submissions_[i];
      const bool repeat = submission.job != 0 && world_.happens(Fault::user_repeats, 2);
      if (submission.at > world_.time() || (submission.job != 0 && !repeat) || submission.retry > world_.time())
        continue;
      submission.retry = world_.time() + sched::seconds(30);
      requests.push_back(submission.request);
      requests.back().id = i + 1;
    }
    if (faults) add_changes(requests);
    if (!faults) add_repairs(requests);
    return requests;
  }

  // A job is changed by its user, everything else by an operator.
  void sign(Request& request) const {
    const control::Job* job = request.job != 0 ? state().find_job(request.job) : nullptr;
    const bool of_job = job != nullptr && (request.kind == RequestKind::cancel || request.kind == RequestKind::hold ||
                                           request.kind == RequestKind::release || request.kind == RequestKind::drill);
    request.user = of_job ? job->user : std::string(kSimOperator);
    request.reason = request.user + "-reason";
  }

  void add_changes(std::vector<Request>& requests) {
    const auto add = [&](RequestKind kind, std::uint64_t id) -> Request& {
      Request& request = requests.emplace_back();
      request.kind = kind;
      request.id = id;
      request.job = 1 + choices_.choose("job", static_cast<std::uint32_t>(std::max<JobNumber>(1, state().last_job())));
      request.node =
          static_cast<sched::NodeId>(choices_.choose("person", static_cast<std::uint32_t>(machine_->nodes().size())));
      sign(request);
      return request;
    };
    if (world_.happens(Fault::user_cancels, 4)) {
      Request& request = add(RequestKind::cancel, 0);
      request.id = kCancel + request.job;
    }
    if (world_.happens(Fault::user_holds, 5))
      add(choices_.choose("hold", 2) == 0 ? RequestKind::hold : RequestKind::release, 0);
    if (world_.happens(Fault::user_drains, 5))
      add(choices_.choose("drain", 2) == 0 ? RequestKind::drain : RequestKind::resume, 0);
    if (world_.happens(Fault::user_drills, 20)) add_drill(add(RequestKind::drill, 0));
    if (world_.happens(Fault::user_reserves, 8)) add_reservation(requests);
    if (world_.has_leases() && world_.happens(Fault::user_moves, 30))
      requests.push_back(draw_move(choices_, settings_, static_cast<std::uint32_t>(machine_->nodes().size())));
    for (std::uint32_t n = 0; n < machine_->nodes().size(); ++n) {  // a person who has looked
      const auto node = static_cast<sched::NodeId>(n);
      const bool waits = !state().jobs_on(node).empty() || is_moving(state().node(node).lease.phase);
      if (!world_.is_off(node) || !waits || !world_.happens(Fault::user_drains, 5)) continue;
      add(RequestKind::confirm_off, 0).node = node;
      world_.reached().insert("off confirmed by a person");
    }
  }

  void add_reservation(std::vector<Request>& requests) {
    Request request;
    sign(request);
    if (choices_.choose("reserve", 4) == 1 && !reserved_.empty()) {
      request.kind = RequestKind::unreserve;
      request.name = reserved_.begin()->first;
      reserved_.erase(reserved_.begin());
      requests.push_back(std::move(request));
      return;
    }
    request.kind = RequestKind::reserve;
    request.id = kReserve + ++reservations_;
    request.name = fmt::format("r{}", reservations_);
    const auto count = static_cast<std::uint32_t>(machine_->nodes().size());
    const std::uint32_t first = choices_.choose("reserve", count);
    const std::uint32_t others = choices_.choose("reserve", 3);
    for (std::uint32_t i = 0; i <= others; ++i)
      request.nodes.push_back(static_cast<sched::NodeId>((first + i) % count));
    request.from = controller_->loop->journal_time(wall()) +
                   sched::seconds(choices_.choose("reserve", choices_.choose("reserve", 2) == 0 ? 60 : 3600));
    request.until = request.from + sched::seconds(600 + choices_.choose("reserve", 5400));
    asked_[request.id] = {request.name, request.until};
    requests.push_back(std::move(request));
  }

  // Of a job that runs, if there is one.
  void add_drill(Request& request) {
    std::vector<JobNumber> running;
    for (const auto& [number, job] : state().jobs()) {
      if (job.state == JobState::running && !job.checkpoint.empty()) running.push_back(number);
    }
    if (running.empty()) return;
    request.job = running[choices_.choose("drilled", static_cast<std::uint32_t>(running.size()))];
    request.id = kDrill + request.job;
    sign(request);
  }

  // After the faults, people finish their work.
  void add_repairs(std::vector<Request>& requests) {
    const auto add = [&](RequestKind kind) -> Request& {
      Request& request = requests.emplace_back();
      request.kind = kind;
      sign(request);
      return request;
    };
    if (world_.time() < next_repair_) return;
    next_repair_ = world_.time() + sched::seconds(60);
    for (std::uint32_t n = 0; n < machine_->nodes().size(); ++n) {
      const control::Node& node = state().node(static_cast<sched::NodeId>(n));
      const bool waits = node.session && node.session->step == control::SessionStep::person;
      if (node.drained || waits) add(RequestKind::resume).node = static_cast<sched::NodeId>(n);
    }
    for (const auto& [number, job] : state().jobs()) {
      if (!job.held) continue;
      Request& request = add(RequestKind::release);
      request.job = number;
      sign(request);
    }
    if (world_.time() < next_move_) return;
    next_move_ = world_.time() + sched::seconds(900);
    if (const std::optional<Request> move = move_for_waiting_job(controller_->loop->controller()))
      requests.push_back(*move);
  }

  void take_answers(const std::vector<control::Answer>& answers) {
    for (const control::Answer& answer : answers) {
      if (answer.request > kReserve) {
        if (answer.ok) reserved_.insert(asked_[answer.request]);
        continue;
      }
      if (answer.request > kDrill) {
        world_.reached().insert(answer.ok ? "drill begun" : "drill refused");
        continue;
      }
      if (answer.request > kCancel) {
        if (answer.ok) check_canceled(answer.request - kCancel);
        continue;
      }
      if (answer.request == 0) continue;
      if (!answer.ok) {
        world_.violate("a valid submission is refused: " + answer.text);
        continue;
      }
      Submission& submission = submissions_[answer.request - 1];
      if (submission.job != 0 && submission.job != answer.job && !world_.tolerate_lost_records) {
        world_.violate(fmt::format("5: one submission is jobs {} and {}", submission.job, answer.job));
      }
      submission.job = answer.job;
      if (const std::string problem = problem_of_owner(state(), answer.job, submission.request); !problem.empty())
        world_.violate(problem);
    }
  }

  void check_canceled(JobNumber number) {
    canceled_.insert(number);
    const control::Job* job = state().find_job(number);
    if (job != nullptr && !job->cancel)
      world_.violate(fmt::format("5: the acknowledged cancel of job {} is lost", number));
  }

  // Reads what has become durable: operations, sessions, holds.
  void scan() {
    const Status read = store().read(std::max(scanned_ + 1, store().first()), [&](const store::Entry& entry) -> Status {
      const Result<Record> record = control::parse_record(entry.bytes);
      if (!record.ok()) return record.error();
      scanned_ = entry.sequence;
      journal_hash_ = hash64(entry.bytes, journal_hash_);
      ++records_;
      if (record->operation != 0) durable_operations_.insert(record->operation);
      if (options_.watch_record && controller_->loop) {
        if (const std::string problem = options_.watch_record(entry.sequence, *record, state()); !problem.empty())
          world_.violate(problem);
      }
      if (!damaged_) inspector_.inspect(*record);  // damage may hide records that a snapshot covers
      return {};
    });
    if (!read.ok() && !damaged_) world_.violate("13: " + read.error().text());
  }

  void refold() {  // records were lost: what was read of them does not count
    durable_operations_.clear();
    inspector_.forget();
    scanned_ = store().first() - 1;
  }

  bool is_durable(control::OperationId operation) {
    scan();
    return damaged_ || durable_operations_.contains(operation);  // damage may hide a record that a snapshot covers
  }

  void check(bool faults) {
    if (const std::string problem = problem_of_tenants(controller_->loop->controller()); !problem.empty())
      world_.violate(problem);
    if (options_.watch_state) {
      if (const std::string problem =
              options_.watch_state(controller_->loop->controller(), controller_->loop->journal_time(wall()));
          !problem.empty())
        world_.violate(problem);
    }
    if (turns_ % 64 != 0) return;
    if (const std::string broken = controller_->loop->controller().scheduler().broken_invariant(); !broken.empty())
      world_.violate("11: " + broken);
    if (state().open_operations().size() > 4 * state().jobs().size() + 2 * machine_->nodes().size()) {
      world_.violate(fmt::format("14: {} open operations", state().open_operations().size()));
    }
    if (turns_ % 1024 != 0 || store().durable() != store().last()) return;
    SilentWorld silent;
    const Result<std::unique_ptr<ControlLoop>> replayed = ControlLoop::open(machine_, settings_, store(), silent);
    if (!replayed.ok() && is_outage(replayed.error())) return;
    if (!replayed.ok() || (*replayed)->controller().state().to_text() != state().to_text()) {
      world_.violate("5: the journal does not restore the state");
    }
    if (faults && choices_.choose("snapshot", 4) == 1) save_snapshot();
  }

  // Rarely, so that restarts begin with snapshots of any age.
  void save_snapshot() {
    const store::Sequence at = store().durable();
    if (at <= snapshot_) return;
    if (!store().save_snapshot({at, state().to_text()}).ok()) return;
    if (snapshot_ > 0 && store().compact(snapshot_).ok()) world_.reached().insert("journal compacted");
    snapshot_ = at;
  }

  void settle() {
    world_.heal();
    if (etcd_ != nullptr) etcd_->heal();
    memory_.set_full(false);
    memory_.set_lost_fsync(false);
    full_until_ = {};
    if (settings_.journal_format != control::kJournalFormat) {
      settings_.journal_format = control::kJournalFormat;
      crash();
    }
    const sched::Moment bound = world_.time() + sched::seconds(72 * 3600);
    while (ok() && world_.time() < bound) {
      step(false);
      if (turns_ % 32 == 0 && is_settled()) break;
    }
    if (!ok()) return;
    if (const std::string why = why_unsettled(); !why.empty()) {
      world_.violate(why);
      return;
    }
    scan();
    for (const control::EndedJob& job : state().ended()) {
      if (job.state == JobState::done && !world_.succeeded(job.number) && !world_.tolerate_lost_records) {
        world_.violate(fmt::format("12: job {} is done, but did not finish", job.number));
      }
    }
  }

  [[nodiscard]] std::string why_unsettled() const {
    for (const Submission& submission : submissions_) {
      if (submission.job == 0) return "12: a submission is never acknowledged";
    }
    if (!state().reservations().empty()) return "12: a reservation has not ended";
    for (const auto& [number, job] : state().jobs()) {
      return fmt::format("12: job {} is still {}: {}", number, to_text(job.state), job.reason);
    }
    for (std::uint32_t n = 0; n < machine_->nodes().size(); ++n) {
      const std::string why = controller_->loop->controller().why_unusable(static_cast<sched::NodeId>(n));
      if (!why.empty()) return fmt::format("12: node {} is not returned: {}", n, why);
    }
    return world_.unsettled();
  }
  [[nodiscard]] bool is_settled() const { return controller_->loop && why_unsettled().empty(); }

  SimulationResult result() {
    SimulationResult result;
    result.violation = world_.violation();
    result.stopped = stopped_;
    result.faults = world_.faults();
    result.fault_counts = world_.counts();
    result.events = turns_;
    result.records = records_;
    result.crashes = crashes_;
    result.jobs = submissions_.size();
    if (controller_->loop) result.moves = count_moves(state());
    result.journal_hash = journal_hash_;
    result.reached = world_.reached();
    result.takeovers = takeovers_;
    result.followed = followed_;
    if (etcd_ != nullptr) result.reached.insert(etcd_->reached().begin(), etcd_->reached().end());
    if (!result.violation.empty()) result.scenario = choices_.to_text();
    return result;
  }

  static constexpr std::uint64_t kCancel = 1'000'000;
  static constexpr std::uint64_t kDrill = 2'000'000;
  static constexpr std::uint64_t kReserve = 3'000'000;
  // Lists every two minutes, lost, partial or stale; a full disk; a crash and the restart. 1,105 s in 2,500 seeds.
  static constexpr Duration kMaxStall = sched::seconds(1800);
  Choices& choices_;
  SimulationOptions options_;
  std::shared_ptr<const sched::Machine> machine_;
  control::ControllerOptions settings_;
  store::MemoryStore memory_;
  SimWorld world_;
  std::unique_ptr<SimEtcd> etcd_;  // null: the journal is in memory_
  std::unique_ptr<Controller> controller_ = std::make_unique<Controller>(world_);
  std::vector<std::unique_ptr<Controller>> stopped_controllers_;  // in a commit, and on the stack
  SilentWorld silent_;
  store::CopyStore copy_;
  std::unique_ptr<ControlLoop> follower_;
  std::uint64_t followed_ = 0;
  std::uint64_t takeovers_ = 0;
  int pauses_ = 0;
  bool in_turn_ = false;
  JournalInspector inspector_;
  std::vector<Submission> submissions_;
  std::set<JobNumber> canceled_;
  std::map<std::string, sched::Moment> reserved_;  // acknowledged, with their ends
  std::map<std::uint64_t, std::pair<std::string, sched::Moment>> asked_;
  std::uint64_t reservations_ = 0;
  std::set<control::OperationId> durable_operations_;
  store::Sequence scanned_ = 0;
  store::Sequence snapshot_ = 0;
  Duration wall_offset_{};
  sched::Moment next_tick_{};
  sched::Moment next_repair_{};
  sched::Moment next_move_{};
  sched::Moment full_until_{};
  std::uint64_t turns_ = 0;
  std::uint64_t crashes_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t journal_hash_ = 0;
  bool damaged_ = false;
  std::string stopped_;
};

}  // namespace

SimulationResult simulate(Choices choices, const SimulationOptions& options) {
  return Simulation(choices, options).run();
}

}  // namespace weft::world
