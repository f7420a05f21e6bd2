#include "control/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"

namespace weft::control {
namespace {

bool is_free(const sched::NodeFree& free, const sched::Request& request, const sched::Slot& slot) {
  if (free.cpu < request.cpu || free.memory_mib < request.memory_mib || free.functions < request.functions ||
      free.scratch_gib < request.scratch_gib) {
    return false;
  }
  for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
    if ((slot.gpus >> g & 1U) == 0) continue;
    if (request.mig.slices > 0 ? (free.mig_used[g] & slot.mig[g]) != 0 : free.gpu[g] < request.gpu_milli) return false;
  }
  return true;
}

// One string for both: the length keeps "ab" + "c" and "a" + "bc" apart.
std::string join_key(const std::string& user, const std::string& key) {
  return std::to_string(user.size()) + ':' + user + key;
}

bool is_job_record(RecordKind kind) {
  return kind <= RecordKind::orphan_stopped || kind == RecordKind::drill_begun || kind == RecordKind::drill_ended;
}

std::vector<sched::NodeId> nodes_of(const Attempt& attempt) {
  std::vector<sched::NodeId> nodes;
  nodes.reserve(attempt.parts.size());
  for (const Part& part : attempt.parts) nodes.push_back(part.node);
  return nodes;
}

std::string names_of(const std::vector<sched::NodeId>& nodes, const sched::Machine& machine) {
  std::string out;
  for (const sched::NodeId node : nodes) append_format(out, "{}{}", out.empty() ? "" : ", ", machine.node(node).name);
  return out;
}

}  // namespace

std::string describe(const Drill& drill, const sched::Machine& machine) {
  const std::string before = names_of(drill.before, machine);
  if (drill.result != DrillResult::passed) {
    return fmt::format("{}{}{}; attempt {} had run on {}", to_text(drill.result), drill.text.empty() ? "" : ": ",
                       drill.text, drill.stopped, before);
  }
  return fmt::format("passed: attempt {} restored {} (step {}) on {}; attempt {} had run on {}", drill.restored,
                     drill.checkpoint, drill.step, names_of(drill.after, machine), drill.stopped, before);
}

bool Reservation::has(sched::NodeId node) const { return std::binary_search(nodes.begin(), nodes.end(), node); }

const Reservation* ControlState::find_reservation(sched::NodeId id, sched::Moment now) const {
  for (const auto& [name, reservation] : reservations_) {
    if (reservation.is_active(now) && reservation.has(id)) return &reservation;
  }
  return nullptr;
}

ControlState::ControlState(std::shared_ptr<const sched::Machine> machine) : machine_(std::move(machine)) {
  nodes_.resize(machine_->nodes().size());
  jobs_on_.resize(nodes_.size());
  for (const sched::NodeShape& shape : machine_->nodes()) unclaimed_.push_back(sched::empty_node(shape));
}

const Job* ControlState::find_job(JobNumber number) const {
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : &found->second;
}

const EndedJob* ControlState::find_ended(JobNumber number) const {
  const auto found = ended_at_.find(number);
  return found == ended_at_.end() ? nullptr : &ended_[found->second - forgotten_];
}

JobNumber ControlState::find_key(const std::string& user, const std::string& key) const {
  const auto found = keys_.find(join_key(user, key));
  return found == keys_.end() ? 0 : found->second;
}

Error ControlState::contradiction(const Record& record, std::string_view why) {
  const std::string job = record.job == 0 ? "" : fmt::format("job {} attempt {} ", record.job, record.attempt);
  return {ErrorCode::internal,
          fmt::format("{} of {}node {}: {}", control::to_text(record.kind), job, sched::index_of(record.node), why),
          {}};
}

Status ControlState::apply(const Record& record) {
  if (record.at < now_) return contradiction(record, "its time is before that of the record before it");
  if (sched::index_of(record.node) >= nodes_.size()) return contradiction(record, "the cluster has no such node");
  if (record.kind > RecordKind::format && format_ < 2) return contradiction(record, "the journal has format 1");
  if (record.kind > RecordKind::reservation_ended && format_ < 3)
    return contradiction(record, "proposals and leases need format 3");
  if (record.operation > last_operation_ + 1) return contradiction(record, "an operation was skipped");
  if (record.operation != 0 && record.operation <= last_operation_ && record.kind != RecordKind::outcome) {
    return contradiction(record, "its operation was used before");
  }
  Status applied = is_job_record(record.kind) ? apply_to_job(record)
                   : record.kind >= RecordKind::session_opened && record.kind <= RecordKind::session_closed
                       ? apply_to_session(record)
                       : apply_to_node(record);
  if (!applied.ok()) return applied;
  now_ = record.at;
  if (record.operation > last_operation_) open_operation(record);
  return {};
}

void ControlState::open_operation(const Record& record) {
  last_operation_ = record.operation;
  // Observed by inventories and cordon reports; nothing waits for an outcome of its own.
  if (record.kind == RecordKind::orphan_stopped || record.kind == RecordKind::cordon_removed ||
      record.kind == RecordKind::lease_order) {
    return;
  }
  Record& kept = operations_[record.operation];
  kept.kind = record.kind;
  kept.at = record.at;
  kept.job = record.job;
  kept.attempt = record.attempt;
  kept.node = record.node;
  kept.session = record.session;
}

void ControlState::close_operation(OperationId operation) { operations_.erase(operation); }

void ControlState::close_operations(const Attempt& attempt) {
  for (const OperationId operation : {attempt.asked, attempt.notice, attempt.start, attempt.stop}) {
    close_operation(operation);
  }
}

Status ControlState::submit(const Record& record) {
  if (record.job != last_job_ + 1) return contradiction(record, "job numbers must be consecutive");
  Result<JobSpec> spec = parse_job_spec(record.text);
  if (!spec.ok()) return spec.error();
  if (const std::string problem = problem_of(*spec); !problem.empty()) return contradiction(record, problem);
  Job& job = jobs_[record.job];
  job.number = last_job_ = record.job;
  job.spec = std::make_shared<const JobSpec>(std::move(*spec));
  job.user = record.user;
  job.key = record.key;
  job.submitted = job.queued = record.at;
  keep_key(record.user, record.key, record.job);
  return move(job, JobState::queued, record);
}

Status ControlState::move(Job& job, JobState next, const Record& record) {
  if (!is_allowed(job.state, record.kind, next)) {
    return contradiction(
        record, fmt::format("{} to {} is not a transition", control::to_text(job.state), control::to_text(next)));
  }
  job.state = next;
  return {};
}

Status ControlState::apply_to_job(const Record& record) {
  if (record.kind == RecordKind::job_submitted) return submit(record);
  if (record.kind == RecordKind::orphan_stopped) {
    // A journal that lost records (a disk that ignores fsync, a restored backup) must not issue these numbers again.
    last_job_ = std::max(last_job_, record.job);
    const auto known = jobs_.find(record.job);
    if (known != jobs_.end() && !known->second.current) {
      known->second.attempts = std::max(known->second.attempts, record.attempt);
    }
    return {};
  }
  const auto found = jobs_.find(record.job);
  if (found == jobs_.end()) return contradiction(record, "there is no such job");
  Job& job = found->second;
  switch (record.kind) {
    case RecordKind::job_held:
      job.held = true;
      job.reason = record.text;
      return {};
    case RecordKind::job_released:
      job.held = false;
      job.reason.clear();
      job.failures = job.node_failures = 0;
      job.not_before = {};
      return {};
    case RecordKind::job_cancel:
      job.cancel = true;
      job.reason = record.text;
      return {};
    case RecordKind::job_ended: {
      if (record.code >= kJobStates) return contradiction(record, "no such state");
      if (Status moved = move(job, static_cast<JobState>(record.code), record); !moved.ok()) return moved;
      end_job(job, record);
      return {};
    }
    case RecordKind::drill_ended:
      return end_drill(job, record);
    case RecordKind::attempt_placed:
      if (record.attempt != job.attempts + 1) return contradiction(record, "attempts must be consecutive");
      if (record.slots.empty() || record.slots.size() != record.boots.size() || job.current) {
        return contradiction(record, "invalid placement");
      }
      for (const sched::Slot& slot : record.slots) {
        if (sched::index_of(slot.node) >= nodes_.size()) return contradiction(record, "the cluster has no such node");
      }
      if (Status moved = move(job, JobState::placed, record); !moved.ok()) return moved;
      place(job, record);
      return {};
    default:
      if (!job.current || job.current->number != record.attempt) {
        return contradiction(record, "it is not the current attempt");
      }
      return apply_to_attempt(job, record);
  }
}

void ControlState::place(Job& job, const Record& record) {
  Attempt attempt;
  attempt.number = job.attempts = record.attempt;
  attempt.slots = record.slots;
  attempt.charge = static_cast<sched::Charge>(std::min<std::uint8_t>(record.code, 2));
  attempt.placed = record.at;
  attempt.chosen = job.spec->checkpoint.volumes.empty();
  std::set<sched::NodeId> nodes;
  for (std::size_t i = 0; i < record.slots.size(); ++i) {
    if (!nodes.insert(record.slots[i].node).second) continue;
    Part part;
    part.node = record.slots[i].node;
    part.boot = record.boots[i];
    attempt.parts.push_back(part);
  }
  attempt.index_parts();
  job.current = std::move(attempt);
}

bool ControlState::can_claim(const Job& job) const {
  std::map<sched::NodeId, sched::NodeFree> left;
  for (const sched::Slot& slot : job.current->slots) {
    const Part* part = job.current->find(slot.node);
    if (part == nullptr) return false;
    if (part->sealed) continue;
    const auto [found, added] = left.try_emplace(slot.node, unclaimed(slot.node));
    if (!is_free(found->second, job.spec->shape.task, slot)) return false;
    sched::take(found->second, job.spec->shape.task, slot);
  }
  return true;
}

// Claims what the attempt may use on its nodes, from the start command on.
void ControlState::claim(const Job& job) {
  for (const sched::Slot& slot : job.current->slots) {
    if (job.current->find(slot.node)->sealed) continue;
    sched::take(unclaimed_[sched::index_of(slot.node)], job.spec->shape.task, slot);
    jobs_on_[sched::index_of(slot.node)].insert(job.number);
  }
}

void ControlState::release_part(const Job& job, const Part& part) {
  if (job.current->starts == 0) return;
  for (const sched::Slot& slot : job.current->slots) {
    if (slot.node == part.node) sched::give_back(unclaimed_[sched::index_of(part.node)], job.spec->shape.task, slot);
  }
  jobs_on_[sched::index_of(part.node)].erase(job.number);
}

Status ControlState::apply_to_attempt(Job& job, const Record& record) {
  Attempt& attempt = *job.current;
  switch (record.kind) {
    case RecordKind::drill_begun:
      return begin_drill(job, record);
    case RecordKind::attempt_unplaced:
      if (Status moved = move(job, JobState::queued, record); !moved.ok()) return moved;
      close_operations(attempt);
      job.current.reset();
      job.queued = record.at;
      return {};
    case RecordKind::checkpoint_asked:
      close_operation(attempt.asked);
      attempt.asked = record.operation;
      return {};
    case RecordKind::checkpoint_chosen:
      attempt.chosen = true;
      attempt.checkpoint = record.text;
      attempt.checkpoint_path = record.note;
      attempt.step = record.value;
      return {};
    case RecordKind::attempt_starting:
      if (attempt.starts == 0 && !can_claim(job)) return contradiction(record, "another attempt may use its GPUs");
      if (Status moved = move(job, JobState::starting, record); !moved.ok()) return moved;
      if (attempt.starts == 0) claim(job);
      close_operation(attempt.start);
      attempt.start = record.operation;
      ++attempt.starts;
      attempt.sent = record.at;
      if (job.first_start == sched::Moment()) job.first_start = record.at;
      return {};
    case RecordKind::attempt_checkpoint:
      if (Status moved = move(job, JobState::checkpointing, record); !moved.ok()) return moved;
      attempt.cause = static_cast<StopCause>(std::min<std::uint8_t>(record.code, kStopCauses - 1));
      attempt.cause_text = record.text;
      attempt.stopped = record.at;
      attempt.notice = record.operation;
      return {};
    case RecordKind::attempt_stopping:
      if (Status moved = move(job, JobState::stopping, record); !moved.ok()) return moved;
      close_operation(attempt.stop);
      attempt.stop = record.operation;
      ++attempt.stops;
      attempt.stopped = record.at;
      if (attempt.cause == StopCause::none) {
        attempt.cause = static_cast<StopCause>(std::min<std::uint8_t>(record.code, kStopCauses - 1));
        attempt.cause_text = record.text;
      }
      return {};
    case RecordKind::checkpoint_written:
      job.checkpoint = record.text;
      job.step = record.value;
      job.checkpointed = record.at;
      job.write_time = Duration(record.until.count());
      job.node_failures = 0;
      return {};
    case RecordKind::attempt_ended: {
      if (!attempt.all_sealed()) return contradiction(record, "a part of the attempt may still run");
      const std::optional<JobState> next = find_job_state(record.key);
      if (!next) return contradiction(record, "no next state");
      if (Status moved = move(job, *next, record); !moved.ok()) return moved;
      end_attempt(job, record);
      return {};
    }
    default:
      return apply_part(job, record);
  }
}

Status ControlState::begin_drill(Job& job, const Record& record) {
  if (job.drill && job.drill->result == DrillResult::pending) return contradiction(record, "a drill is under way");
  Drill& drill = job.drill.emplace();
  drill.stopped = record.attempt;
  drill.user = record.user;
  drill.begun = record.at;
  drill.before = nodes_of(*job.current);
  return {};
}

Status ControlState::end_drill(Job& job, const Record& record) {
  if (!job.drill || job.drill->result != DrillResult::pending) return contradiction(record, "no drill is under way");
  if (record.code == 0 || record.code >= kDrillResults) return contradiction(record, "no such result");
  Drill& drill = *job.drill;
  const auto result = static_cast<DrillResult>(record.code);
  if (result == DrillResult::passed) {
    const bool restored = job.current && job.current->number == record.attempt && record.attempt > drill.stopped &&
                          !job.current->checkpoint.empty();
    if (!restored) return contradiction(record, "the attempt has not restored a checkpoint");
    drill.restored = record.attempt;
    drill.after = nodes_of(*job.current);
    drill.checkpoint = job.current->checkpoint;
    drill.step = job.current->step;
  }
  drill.result = result;
  drill.ended = record.at;
  drill.text = record.text;
  return {};
}

Status ControlState::apply_part(Job& job, const Record& record) {
  Attempt& attempt = *job.current;
  Part* const part = attempt.find(record.node);
  if (part == nullptr) return contradiction(record, "the attempt has no part on this node");
  if (part->sealed) return contradiction(record, "the part is sealed");
  if (record.kind == RecordKind::part_running) {
    part->running = true;
    const bool all = std::all_of(attempt.parts.begin(), attempt.parts.end(),
                                 [](const Part& each) { return each.running || each.sealed; });
    if (all && job.state == JobState::starting) {
      if (Status moved = move(job, JobState::running, record); !moved.ok()) return moved;
      attempt.running = record.at;
    }
    return {};
  }
  if (record.code >= kPartEnds) return contradiction(record, "no such end");
  part->sealed = true;
  part->end = static_cast<PartEnd>(record.code);
  part->code = static_cast<std::int32_t>(record.value);
  part->text = record.text;
  release_part(job, *part);
  return {};
}

void ControlState::end_attempt(Job& job, const Record& record) {
  const auto end = static_cast<AttemptEnd>(std::min<std::uint8_t>(record.code, kAttemptEnds - 1));
  job.failures += end == AttemptEnd::application ? 1 : 0;
  job.node_failures += end == AttemptEnd::infrastructure ? 1 : 0;
  job.preemptions += end == AttemptEnd::preempted ? 1 : 0;
  close_operations(*job.current);
  job.current.reset();
  job.reason = record.text;
  job.not_before = record.until;
  job.queued = record.at;
  if (is_final(job.state)) end_job(job, record);
}

void ControlState::end_job(Job& job, const Record& record) {
  EndedJob ended;
  ended.number = job.number;
  ended.state = job.state;
  ended.name = job.spec->shape.name;
  ended.user = job.user;
  ended.tenant = job.spec->shape.tenant;
  ended.key = job.key;
  ended.reason = record.text;
  if (format_ >= 2) ended.output = job.spec->output;
  if (format_ >= 2 && !job.key.empty()) ended.content = hash64(control::to_text(*job.spec));
  if (job.drill) {
    if (job.drill->result == DrillResult::pending) {
      job.drill->result = DrillResult::failed;
      job.drill->text = "the job ended first";
    }
    ended.drill = describe(*job.drill, *machine_);
  }
  ended.code = static_cast<std::int32_t>(record.value);
  ended.attempts = job.attempts;
  ended.tasks = job.spec->shape.tasks;
  ended.submitted = job.submitted;
  ended.first_start = job.first_start;
  ended.ended = record.at;
  keep_ended(std::move(ended));
  jobs_.erase(job.number);
  if (ended_.size() <= kMaxEnded) return;
  keys_.erase(join_key(ended_.front().user, ended_.front().key));
  ended_at_.erase(ended_.front().number);
  ended_.pop_front();
  ++forgotten_;
}

void ControlState::keep_key(const std::string& user, const std::string& key, JobNumber job) {
  if (!key.empty()) keys_[join_key(user, key)] = job;
}

void ControlState::keep_ended(EndedJob ended) {
  ended_at_[ended.number] = forgotten_ + ended_.size();
  ended_.push_back(std::move(ended));
}

}  // namespace weft::control
