#include "world/core/control_loop.h"

#include <fmt/format.h>

#include <utility>

namespace weft::world {

using control::Defect;

namespace {

Status apply_entry(control::ControlState& state, const store::Entry& entry) {
  const Result<control::Record> record = control::parse_record(entry.bytes);
  const Status applied = record.ok() ? state.apply(*record) : Status(record.error());
  if (applied.ok()) return {};
  return Error{
      ErrorCode::invalid_input, fmt::format("journal record {}: {}", entry.sequence, applied.error().text()), {}};
}

}  // namespace

Result<std::unique_ptr<ControlLoop>> ControlLoop::open(const std::shared_ptr<const sched::Machine>& machine,
                                                       control::ControllerOptions options, store::Store& store,
                                                       World& world) {
  std::unique_ptr<ControlLoop> loop(new ControlLoop(store, world));
  Result<std::optional<store::Snapshot>> snapshot = store.load_snapshot();
  if (!snapshot.ok()) return snapshot.error();
  control::ControlState state(machine);
  if (snapshot->has_value()) {
    Result<control::ControlState> parsed = control::ControlState::parse(machine, (*snapshot)->bytes);
    if (!parsed.ok()) return parsed.error();
    state = std::move(*parsed);
    loop->snapshot_ = (*snapshot)->sequence;
    loop->snapshot_bytes_ = (*snapshot)->bytes.size();
  }
  const Status read = store.read(loop->snapshot_ + 1, [&](const store::Entry& entry) {
    loop->journal_bytes_ += entry.bytes.size();
    return apply_entry(state, entry);
  });
  if (!read.ok()) return read.error();
  loop->applied_ = store.durable();
  loop->controller_ = std::make_unique<control::Controller>(std::move(state), std::move(options));
  return loop;
}

// The scheduler is built again: it has no way to follow records without the decisions that led to them.
Status ControlLoop::follow(sched::Moment now) {
  if (store_.durable() > applied_) {
    control::ControlState state = controller_->state();
    Status read = store_.read(applied_ + 1, [&](const store::Entry& entry) { return apply_entry(state, entry); });
    if (!read.ok()) return read;
    applied_ = store_.durable();
    control::ControllerOptions options = controller_->options();
    controller_ = std::make_unique<control::Controller>(std::move(state), std::move(options));
  }
  const sched::Moment last = controller_->state().now();
  offset_ = last > now ? last - now : Duration();
  now_ = journal_time(now);
  return {};
}

Status ControlLoop::begin(sched::Moment now, TurnResult& result) {
  const sched::Moment last = controller_->state().now();
  offset_ = last > now ? last - now : Duration();
  now_ = journal_time(now);
  controller_->begin(now_, step_);
  unsynced_ = true;
  return commit(result);
}

Status ControlLoop::turn(sched::Moment now, std::vector<control::Request> requests, bool tick, TurnResult& result) {
  now_ = journal_time(now);
  if (unsynced_) {  // the disk was full: nothing new is taken before the records of the last turn are durable
    if (Status committed = commit(result); !committed.ok() || unsynced_) return committed;
  }
  events_.clear();
  world_.poll(now_, events_);
  for (const control::Event& event : events_) controller_->handle(event, now_, step_);
  for (control::Request& request : requests) controller_->handle(control::Event(std::move(request)), now_, step_);
  if (tick) controller_->handle(control::Tick{}, now_, step_);
  controller_->decide(now_, step_);
  if (!controller_->error().empty()) {
    return Error{ErrorCode::internal, "internal contradiction: " + controller_->error(), {}};
  }
  unsynced_ = true;
  return commit(result);
}

Status ControlLoop::commit(TurnResult& result) {
  const Defect defect = controller_->options().defect;
  const auto send = [&] {
    for (const control::Command& command : step_.commands) world_.send(command, now_);
    step_.commands.clear();
  };
  if (defect == Defect::act_before_journal) send();
  if (defect == Defect::answer_before_journal) std::swap(result.answers, step_.answers);
  if (!step_.records.empty()) {
    std::vector<std::string> lines;
    lines.reserve(step_.records.size());
    for (const control::Record& record : step_.records) {
      lines.push_back(control::to_text(record));
      journal_bytes_ += lines.back().size();
    }
    step_.records.clear();
    store_.append(lines);
  }
  if (store_.durable() != store_.last()) {
    Status synced = store_.sync();
    if (!synced.ok() && synced.error().code == ErrorCode::unavailable) {
      result.store_full = synced.error().text();
      held_ = true;
      return {};
    }
    if (!synced.ok()) return synced;
  }
  unsynced_ = false;
  if (std::exchange(held_, false)) {
    // The commands were decided before the wait, on evidence that is old by now. They count as lost, like after a
    // crash.
    step_.commands.clear();
    controller_->begin(now_, step_);
    unsynced_ = true;
    return commit(result);
  }
  send();
  for (control::Answer& answer : step_.answers) result.answers.push_back(std::move(answer));
  step_.answers.clear();
  return is_snapshot_due(store_.durable() - snapshot_, journal_bytes_, snapshot_bytes_) ? save_snapshot() : Status();
}

Status ControlLoop::save_snapshot() {
  store::Snapshot snapshot{store_.durable(), controller_->state().to_text()};
  const Status saved = store_.save_snapshot(snapshot);
  if (!saved.ok())
    return saved.error().code == ErrorCode::unavailable ? Status() : saved;  // disk full: tried again later
  const store::Sequence older = std::exchange(snapshot_, snapshot.sequence);
  snapshot_bytes_ = snapshot.bytes.size();
  journal_bytes_ = 0;
  if (older == 0) return {};
  const Status compacted = store_.compact(older);
  return !compacted.ok() && compacted.error().code == ErrorCode::unavailable ? Status() : compacted;
}

}  // namespace weft::world
