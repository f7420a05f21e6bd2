#include "twin/journal_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "control/state.h"

namespace weft::twin {

using control::AttemptEnd;
using control::PartEnd;
using control::Record;
using control::RecordKind;
using control::StopCause;
using sched::Moment;

namespace {

bool is_failure(const HistoryPart& part) { return part.end != PartEnd::exited || part.code != 0; }

// Follows the records beside the state that they are applied to.
class JournalReader {
 public:
  JournalReader(const std::shared_ptr<const sched::Machine>& machine, History& history)
      : machine_(machine), history_(history), state_(machine) {}

  Status begin(const store::Snapshot& snapshot) {
    Result<control::ControlState> parsed = control::ControlState::parse(machine_, snapshot.bytes);
    if (!parsed.ok()) return parsed.error();
    state_ = std::move(*parsed);
    history_.from = state_.now();
    for (const auto& [number, job] : state_.jobs()) add_known_job(job);
    for (std::size_t n = 0; n < state_.node_count(); ++n) add_known_node(static_cast<sched::NodeId>(n));
    const std::size_t ended = state_.ended().size();
    history_.notes.push_back(fmt::format(
        "The journal was compacted: it reaches back to record {}. {} jobs that had ended by then are left out; of {} "
        "others, what was before is not known.",
        snapshot.sequence + 1, ended, jobs_.size()));
    return {};
  }

  Status apply(const store::Entry& entry) {
    const Result<Record> record = control::parse_record(entry.bytes);
    const Status applied = record.ok() ? state_.apply(*record) : Status(record.error());
    if (!applied.ok()) {
      return Error{
          ErrorCode::invalid_input, fmt::format("journal record {}: {}", entry.sequence, applied.error().text()), {}};
    }
    if (!begun_ && history_.from == Moment()) history_.from = record->at;
    begun_ = true;
    history_.until = record->at;
    follow(*record);
    return {};
  }

  void finish() {
    for (auto& [number, job] : jobs_) {
      const control::Job* current = state_.find_job(number);
      job.held = current != nullptr && current->held;
      history_.jobs.push_back(std::move(job));
    }
    for (const auto& [node, trouble] : open_) history_.troubles.push_back(trouble);
    std::stable_sort(history_.troubles.begin(), history_.troubles.end(),
                     [](const Trouble& a, const Trouble& b) { return a.at < b.at; });
    history_.repair = sessions_ > 0 || unattended_ == 0;
    if (planned_drains_ > 0) {
      history_.notes.push_back(fmt::format(
          "{} drains of nodes that had not failed are left out: the twin does not plan maintenance.", planned_drains_));
    }
  }

 private:
  void follow(const Record& record) {
    switch (record.kind) {
      case RecordKind::job_submitted: {
        HistoryJob& job = jobs_[record.job];
        job.spec = *state_.find_job(record.job)->spec;
        job.submitted = record.at;
        break;
      }
      case RecordKind::job_released:
        jobs_[record.job].released = true;
        break;
      case RecordKind::job_ended:
        jobs_[record.job].end = static_cast<control::JobState>(record.code);
        jobs_[record.job].ended = record.at;
        break;
      default:
        if (record.kind >= RecordKind::attempt_placed && record.kind <= RecordKind::checkpoint_written) {
          follow_attempt(record);
        } else {
          follow_node(record);
        }
    }
  }

  void follow_attempt(const Record& record) {
    HistoryJob& job = jobs_[record.job];
    if (record.kind == RecordKind::checkpoint_asked) asked_[record.job] = record.at;
    if (record.kind == RecordKind::checkpoint_chosen) chosen_[record.job] = record.at;
    if (record.kind == RecordKind::attempt_starting) return start(job, *state_.find_job(record.job), record.at);
    if (job.attempts.empty() || job.attempts.back().ended != sched::kNever) return;
    HistoryAttempt& attempt = job.attempts.back();
    switch (record.kind) {
      case RecordKind::part_running:
        if (HistoryPart* part = find(attempt, record.node)) part->running = true;
        if (const control::Job* now = state_.find_job(record.job); now->current->running != Moment())
          attempt.running = now->current->running;
        break;
      case RecordKind::part_sealed:
        seal(attempt, record);
        break;
      case RecordKind::checkpoint_written:
        attempt.checkpoints.push_back({record.at, record.value, Duration(record.until.count())});
        break;
      case RecordKind::attempt_checkpoint:
      case RecordKind::attempt_stopping:
        attempt.stopping = std::min(attempt.stopping, record.at);
        cause_of_.try_emplace(record.job, static_cast<StopCause>(record.code));  // the first, as the state keeps it
        break;
      case RecordKind::attempt_ended:
        end(job, attempt, record);
        break;
      default:
        break;
    }
  }

  static HistoryPart* find(HistoryAttempt& attempt, sched::NodeId node) {
    const auto found = std::find_if(attempt.parts.begin(), attempt.parts.end(),
                                    [&](const HistoryPart& part) { return part.node == node; });
    return found == attempt.parts.end() ? nullptr : &*found;
  }

  // Again if the engine proved that it had not accepted the first start: the GPUs are held from that one on.
  void start(HistoryJob& job, const control::Job& now, Moment at) {
    if (!job.attempts.empty() && job.attempts.back().ended == sched::kNever) return;
    HistoryAttempt& attempt = job.attempts.emplace_back();
    attempt.start = at;
    const auto asked = asked_.extract(now.number);
    const auto chosen = chosen_.extract(now.number);
    if (!asked.empty() && !chosen.empty()) attempt.verify = chosen.mapped() - asked.mapped();
    fill(attempt, now);
    cause_of_.erase(now.number);
  }

  static void fill(HistoryAttempt& attempt, const control::Job& now) {
    attempt.step = now.current->step;
    attempt.restored = !now.current->checkpoint.empty();
    const std::int64_t milli = now.spec->shape.task.gpu_total();
    for (const control::Part& part : now.current->parts) {
      HistoryPart& each = attempt.parts.emplace_back();
      each.node = part.node;
      each.running = part.running;
    }
    for (const sched::Slot& slot : now.current->slots) {
      if (HistoryPart* part = find(attempt, slot.node)) part->milli += milli;
    }
  }

  static void seal(HistoryAttempt& attempt, const Record& record) {
    HistoryPart* part = find(attempt, record.node);
    if (part == nullptr) return;
    part->ended = record.at;
    part->end = static_cast<PartEnd>(record.code);
    part->code = static_cast<std::int32_t>(record.value);
    part->text = record.text;
    const bool first = attempt.stopping == sched::kNever && !attempt.failed && is_failure(*part);
    if (first) attempt.failed = static_cast<std::size_t>(part - attempt.parts.data());
  }

  void end(HistoryJob& job, HistoryAttempt& attempt, const Record& record) {
    const auto how = static_cast<AttemptEnd>(record.code);
    const auto stopped = cause_of_.find(record.job);
    const StopCause cause = stopped == cause_of_.end() ? StopCause::none : stopped->second;
    attempt.ended = record.at;
    const bool failed = how == AttemptEnd::application || how == AttemptEnd::infrastructure;
    attempt.interrupted = failed && cause != StopCause::timeout && cause != StopCause::limit &&
                          (attempt.running != sched::kNever || attempt.cut);
    job.failures += how == AttemptEnd::application ? 1 : 0;
    const std::optional<control::JobState> next = control::find_job_state(record.key);
    if (!next || !control::is_final(*next)) return;
    job.end = next;
    job.ended = record.at;
  }

  void follow_node(const Record& record) {
    switch (record.kind) {
      case RecordKind::node_health:
        follow_health(record);
        break;
      case RecordKind::session_opened:
        ++sessions_;
        trouble(record.node, record.until, record.text).session = true;
        break;
      case RecordKind::session_step:
        follow_step(record);
        break;
      case RecordKind::session_closed:
        close(record.node, record.at,
              static_cast<control::SessionEnd>(record.code) == control::SessionEnd::by_person ? Fix::person
                                                                                              : Fix::power_cycle);
        break;
      case RecordKind::node_drain:
        if (open_.find(record.node) == open_.end()) ++planned_drains_;
        break;
      case RecordKind::node_boot:
        if (const auto since = power_cycled_.find(record.node); since != power_cycled_.end()) {
          history_.boots.push_back(record.at - since->second);
          power_cycled_.erase(since);
        }
        break;
      default:
        break;
    }
  }

  void follow_health(const Record& record) {
    const auto health = static_cast<control::Health>(record.code);
    if (health == control::Health::fatal) {
      (void)trouble(record.node, record.until, record.text);
    } else if (const auto found = open_.find(record.node);
               found != open_.end() && !found->second.session && health == control::Health::healthy) {
      ++unattended_;
      close(record.node, record.at, Fix::person);
    }
  }

  // The open trouble of a node, or a new one.
  Trouble& trouble(sched::NodeId node, Moment observed, const std::string& signal) {
    const auto [found, added] = open_.try_emplace(node);
    if (!added) return found->second;
    found->second.node = node;
    found->second.at = found->second.detected = observed;
    found->second.signal = signal;
    return found->second;
  }

  void follow_step(const Record& record) {
    const auto found = open_.find(record.node);
    if (found == open_.end()) return;
    Trouble& trouble = found->second;
    const auto step = static_cast<control::SessionStep>(record.code);
    if (step == control::SessionStep::remediate) power_cycled_[record.node] = record.at;
    if (step == control::SessionStep::validate) validating_[record.node] = record.at;
    if (step != control::SessionStep::validate) {
      if (const auto since = validating_.find(record.node); since != validating_.end()) {
        history_.validations.push_back(record.at - since->second);
        validating_.erase(since);
      }
    }
    if (step == control::SessionStep::person) {
      trouble.person = std::min(trouble.person, record.at);
      trouble.resumed = sched::kNever;
    } else if (trouble.person != sched::kNever && trouble.resumed == sched::kNever) {
      trouble.resumed = record.at;
    }
  }

  void close(sched::NodeId node, Moment at, Fix fix) {
    const auto found = open_.find(node);
    if (found == open_.end()) return;
    found->second.ended = at;
    found->second.fix = found->second.person != sched::kNever ? Fix::person : fix;
    history_.troubles.push_back(found->second);
    open_.erase(found);
    power_cycled_.erase(node);
    validating_.erase(node);
  }

  // Of a snapshot.
  void add_known_job(const control::Job& now) {
    HistoryJob& job = jobs_[now.number];
    job.spec = *now.spec;
    job.submitted = state_.now();
    job.failures = now.failures;
    if (!now.current || now.current->starts == 0) return;
    HistoryAttempt& attempt = job.attempts.emplace_back();
    attempt.start = state_.now();
    attempt.cut = true;
    if (now.current->running != Moment()) attempt.running = state_.now();
    fill(attempt, now);
    if (!now.checkpoint.empty() && now.step > attempt.step) attempt.step = now.step;
    for (std::size_t i = 0; i < now.current->parts.size(); ++i) {
      if (now.current->parts[i].sealed) attempt.parts[i].ended = state_.now();
    }
  }

  void add_known_node(sched::NodeId id) {
    const control::Node& node = state_.node(id);
    if (node.session) {
      ++sessions_;
      Trouble& known = trouble(id, state_.now(), node.session->cause);
      known.session = true;
      if (node.session->step == control::SessionStep::person) known.person = state_.now();
    } else if (node.health == control::Health::fatal) {
      (void)trouble(id, state_.now(), node.signal);
    }
  }

  std::shared_ptr<const sched::Machine> machine_;
  History& history_;
  control::ControlState state_;
  std::map<control::JobNumber, HistoryJob> jobs_;
  std::map<control::JobNumber, StopCause> cause_of_;
  std::map<control::JobNumber, Moment> asked_;   // for a verification of the checkpoints
  std::map<control::JobNumber, Moment> chosen_;  // its answer
  std::map<sched::NodeId, Trouble> open_;
  std::map<sched::NodeId, Moment> power_cycled_;
  std::map<sched::NodeId, Moment> validating_;
  bool begun_ = false;
  std::size_t sessions_ = 0;
  std::size_t unattended_ = 0;  // nodes that failed and returned without a session
  std::size_t planned_drains_ = 0;
};

void clip_attempt(HistoryAttempt& attempt, Moment from) {
  if (attempt.start >= from) return;
  attempt.start = from;
  attempt.cut = true;
  if (attempt.running != sched::kNever) attempt.running = std::max(attempt.running, from);
  const auto kept = std::find_if(attempt.checkpoints.begin(), attempt.checkpoints.end(),
                                 [&](const HistoryCheckpoint& each) { return each.at >= from; });
  if (kept != attempt.checkpoints.begin()) {
    attempt.step = std::prev(kept)->step;
    attempt.restored = true;
  }
  attempt.checkpoints.erase(attempt.checkpoints.begin(), kept);
}

void clip_job(HistoryJob& job, Moment from, Moment until) {
  job.submitted = std::max(job.submitted, from);
  std::erase_if(job.attempts, [&](const HistoryAttempt& each) { return each.ended <= from || each.start >= until; });
  for (HistoryAttempt& attempt : job.attempts) {
    clip_attempt(attempt, from);
    if (attempt.running >= until) attempt.running = sched::kNever;
    if (attempt.ended > until) {
      attempt.ended = sched::kNever;
      attempt.interrupted = false;
      attempt.failed.reset();
    }
    for (HistoryPart& part : attempt.parts) {
      if (part.ended > until) part.ended = sched::kNever;
    }
    std::erase_if(attempt.checkpoints, [&](const HistoryCheckpoint& each) { return each.at > until; });
  }
  if (job.ended <= until) return;
  job.ended = sched::kNever;
  job.end.reset();
}

}  // namespace

Result<History> read_journal(const std::shared_ptr<const sched::Machine>& machine, store::Store& store,
                             const std::optional<store::Snapshot>& snapshot) {
  History history;
  history.source = "journal of weft serve";
  JournalReader reader(machine, history);
  if (!snapshot && store.first() > 1) {
    return Error{ErrorCode::invalid_input,
                 fmt::format("the journal begins with record {}, and there is no snapshot before it", store.first()),
                 {}};
  }
  if (snapshot) {
    if (Status begun = reader.begin(*snapshot); !begun.ok()) return begun.error();
  }
  const Status read =
      store.read(snapshot ? snapshot->sequence + 1 : 1, [&](const store::Entry& entry) { return reader.apply(entry); });
  if (!read.ok()) return read.error();
  if (store.durable() == 0) return Error{ErrorCode::invalid_input, "the journal has no records", {}};
  reader.finish();
  return history;
}

void clip_history(History& history, Moment from, Moment until) {
  history.from = std::max(history.from, from);
  history.until = until;
  std::erase_if(history.jobs, [&](const HistoryJob& job) {
    return job.ended <= history.from || (job.submitted >= until && job.submitted > history.from);
  });
  for (HistoryJob& job : history.jobs) clip_job(job, history.from, until);
  std::erase_if(history.troubles, [&](const Trouble& each) { return each.ended <= history.from || each.at >= until; });
  for (Trouble& trouble : history.troubles) {
    trouble.at = std::max(trouble.at, history.from);
    trouble.detected = std::max(trouble.detected, history.from);
    if (trouble.person != sched::kNever) trouble.person = std::max(trouble.person, history.from);
    if (trouble.ended > until) trouble.ended = sched::kNever;
    if (trouble.person > until) trouble.person = sched::kNever;
    if (trouble.resumed > until) trouble.resumed = sched::kNever;
  }
}

}  // namespace weft::twin
