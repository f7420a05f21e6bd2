// Text form of the state: one line per object, the same fields for the snapshot and for comparisons.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>

#include "base/text.h"
#include "control/fields.h"
#include "control/state.h"

namespace weft::control {
namespace {

// Fields of one object in both directions: Write appends them to a line, Read sets the one that matches the current
// key.
class Write {
 public:
  explicit Write(std::string text) : writer_(std::move(text)) {}
  void operator()(std::string_view key, const std::string& value) { writer_.text(key, value); }
  void operator()(std::string_view key, sched::Moment value) { writer_.number(key, value.count()); }
  void operator()(std::string_view key, Duration value) { writer_.number(key, value.count()); }
  void operator()(std::string_view key, bool value) { writer_.number(key, value ? 1 : 0); }
  void operator()(std::string_view key, const std::vector<std::string>& values) { writer_.list(key, values); }
  void operator()(std::string_view key, const std::vector<sched::NodeId>& nodes) {
    std::string list;
    for (const sched::NodeId node : nodes) append_format(list, "{}{}", list.empty() ? "" : ",", sched::index_of(node));
    writer_.text(key, list);
  }
  template <class Number>
  void operator()(std::string_view key, Number value) {
    writer_.number(key, static_cast<std::int64_t>(value));
  }
  std::string take() { return writer_.take(); }

 private:
  FieldWriter writer_;
};

class Read {
 public:
  Read(FieldReader& reader, std::size_t nodes) : reader_(reader), nodes_(nodes), more_(reader.next()) {}
  void operator()(std::string_view key, std::string& value) {
    if (!matches(key)) return;
    value = reader_.text();
    advance(true);
  }
  void operator()(std::string_view key, sched::Moment& value) {
    std::int64_t count = 0;
    if (!matches(key)) return;
    const bool valid = reader_.number(count);
    if (valid) value = sched::Moment(count);
    advance(valid);
  }
  void operator()(std::string_view key, Duration& value) {
    std::int64_t count = 0;
    if (!matches(key)) return;
    const bool valid = reader_.number(count);
    if (valid) value = Duration(count);
    advance(valid);
  }
  void operator()(std::string_view key, bool& value) {
    int flag = 0;
    if (!matches(key)) return;
    const bool valid = reader_.number(flag) && flag >= 0 && flag <= 1;
    if (valid) value = flag == 1;
    advance(valid);
  }
  void operator()(std::string_view key, std::vector<std::string>& values) {
    while (matches(key)) {
      values.push_back(reader_.text());
      advance(true);
    }
  }
  void operator()(std::string_view key, std::vector<sched::NodeId>& nodes) {
    if (!matches(key)) return;
    nodes.clear();
    bool valid = true;
    for (const std::string_view part : split(reader_.raw(), ',')) {
      std::uint32_t node = 0;
      const char* const end = part.data() + part.size();
      const auto [stop, error] = std::from_chars(part.data(), end, node);
      valid = valid && error == std::errc() && stop == end && node < nodes_;
      if (valid) nodes.push_back(static_cast<sched::NodeId>(node));
    }
    advance(valid);
  }
  template <class Number>
  void operator()(std::string_view key, Number& value) {
    if (!matches(key)) return;
    if constexpr (std::is_enum_v<Number>) {
      std::underlying_type_t<Number> number = 0;
      const bool valid = reader_.number(number) && number < limit_of(value);
      if (valid) value = static_cast<Number>(number);
      advance(valid);
    } else if constexpr (std::is_same_v<Number, std::uint64_t>) {
      std::int64_t number = 0;  // written as int64
      const bool valid = reader_.number(number);
      if (valid) value = static_cast<std::uint64_t>(number);
      advance(valid);
    } else {
      advance(reader_.number(value));
    }
  }
  // Reads all fields. They are in the order of `visit` if weft wrote them: then one pass finds them all.
  template <class Visit>
  bool read(const Visit& visit) {
    while (more_ && !bad_) {
      found_ = false;
      visit(*this);
      if (!found_) return false;
    }
    return !bad_ && !reader_.malformed();
  }

 private:
  static std::uint32_t limit_of(sched::NodeId) { return UINT32_MAX; }
  static std::uint8_t limit_of(PartEnd) { return kPartEnds; }
  static std::uint8_t limit_of(sched::Charge) { return 3; }
  static std::uint8_t limit_of(StopCause) { return kStopCauses; }
  static std::uint8_t limit_of(JobState) { return kJobStates; }
  static std::uint8_t limit_of(SessionStep) { return kSessionSteps; }
  static std::uint8_t limit_of(RepairAction) { return kRepairActions; }
  static std::uint8_t limit_of(Health) { return kHealths; }
  static std::uint8_t limit_of(Stage) { return kStages; }
  static std::uint8_t limit_of(RecordKind) { return kRecordKinds; }
  static std::uint8_t limit_of(DrillResult) { return kDrillResults; }
  static std::uint8_t limit_of(LeaseOwner) { return lease::kLeaseOwners; }
  static std::uint8_t limit_of(LeasePhase) { return kLeasePhases; }
  [[nodiscard]] bool matches(std::string_view key) const { return more_ && key == reader_.key(); }
  void advance(bool valid) {
    found_ = true;
    bad_ = bad_ || !valid;
    more_ = valid && reader_.next();
  }
  FieldReader& reader_;
  std::size_t nodes_;  // of the cluster
  bool more_ = false;
  bool found_ = false;  // a field, in this pass
  bool bad_ = false;
};

template <class V, class T>
void visit_part(V& v, T& part) {
  v("node", part.node), v("boot", part.boot), v("running", part.running), v("sealed", part.sealed), v("end", part.end);
  v("code", part.code), v("text", part.text);
}
template <class V, class T>
void visit_attempt(V& v, T& a) {
  v("number", a.number), v("charge", a.charge), v("chosen", a.chosen), v("checkpoint", a.checkpoint);
  v("path", a.checkpoint_path), v("step", a.step), v("start", a.start), v("starts", a.starts), v("stop", a.stop);
  v("stops", a.stops), v("cause", a.cause), v("cause_text", a.cause_text), v("placed", a.placed), v("sent", a.sent);
  v("running", a.running), v("stopped", a.stopped), v("asked", a.asked), v("notice", a.notice);
}
template <class V, class T>
void visit_job(V& v, T& j) {
  v("number", j.number), v("state", j.state), v("user", j.user), v("key", j.key), v("submitted", j.submitted);
  v("queued", j.queued), v("first_start", j.first_start), v("held", j.held), v("cancel", j.cancel);
  v("reason", j.reason), v("not_before", j.not_before), v("attempts", j.attempts), v("failures", j.failures);
  v("node_failures", j.node_failures), v("preemptions", j.preemptions), v("checkpoint", j.checkpoint);
  v("step", j.step), v("checkpointed", j.checkpointed), v("write_time", j.write_time);
}
template <class V, class T>
void visit_drill(V& v, T& d) {
  v("result", d.result), v("stopped", d.stopped), v("restored", d.restored), v("user", d.user), v("begun", d.begun);
  v("ended", d.ended), v("before", d.before), v("after", d.after), v("checkpoint", d.checkpoint), v("step", d.step);
  v("text", d.text);
}
template <class V, class T>
void visit_ended(V& v, T& j) {
  v("number", j.number), v("state", j.state), v("name", j.name), v("user", j.user), v("tenant", j.tenant);
  v("key", j.key), v("reason", j.reason), v("code", j.code), v("attempts", j.attempts), v("tasks", j.tasks);
  v("submitted", j.submitted), v("first_start", j.first_start), v("ended", j.ended);
  v("drill", j.drill), v("output", j.output), v("content", j.content);
}
template <class V, class T>
void visit_node(V& v, T& n) {
  v("boot", n.boot), v("health", n.health), v("signal", n.signal), v("observed", n.observed), v("drained", n.drained);
  v("drained_by", n.drained_by), v("drain_reason", n.drain_reason), v("drained_at", n.drained_at);
  v("cordoned", n.cordoned), v("cordon_owner", n.cordon_owner), v("settled", n.settled), v("sessions", n.sessions);
}
template <class V, class T>
void visit_session(V& v, T& s) {
  v("id", s.id), v("step", s.step), v("operation", s.operation), v("cause", s.cause), v("evidence", s.evidence);
  v("opened", s.opened), v("since", s.since), v("tenants", s.tenants), v("tried", s.tried);
}
template <class V, class T>
void visit_proposal(V& v, T& p) {
  v("stage", p.stage), v("session", p.session), v("reason", p.reason), v("at", p.at);
}
template <class V, class T>
void visit_lease(V& v, T& l) {
  v("owner", l.owner), v("epoch", l.epoch), v("phase", l.phase), v("since", l.since), v("operation", l.operation);
  v("ordered", l.ordered), v("target", l.target), v("asked", l.asked), v("user", l.user), v("reason", l.reason);
  v("preempt", l.preempt), v("fenced", l.fenced), v("moves", l.moves), v("policy", l.policy);
}
template <class V, class T>
void visit_reservation(V& v, T& r) {
  v("name", r.name), v("nodes", r.nodes), v("from", r.from), v("until", r.until), v("user", r.user);
  v("reason", r.reason), v("made", r.made);
}
template <class V, class T>
void visit_operation(V& v, T& r) {
  v("operation", r.operation), v("kind", r.kind), v("at", r.at), v("job", r.job), v("attempt", r.attempt);
  v("node", r.node), v("session", r.session);
}

}  // namespace

namespace {

void append_line(std::string& out, std::string_view kind, const std::string& fields) {
  ((((out += kind) += '\t') += fields) += '\n');
}

template <class Visit>
void append_object(std::string& out, std::string_view kind, const Visit& visit) {
  (out += kind) += '\t';
  Write write(std::move(out));
  visit(write);
  (out = write.take()) += '\n';
}

void append_ended(std::string& out, const EndedJob& job) {
  append_object(out, "ended", [&](Write& v) { visit_ended(v, job); });
}

void append_job(std::string& out, const Job& job) {
  append_object(out, "job", [&](Write& v) { visit_job(v, job); });
  append_line(out, "spec", control::to_text(*job.spec));
  if (job.drill) append_object(out, "drill", [&](Write& v) { visit_drill(v, *job.drill); });
  if (!job.current) return;
  append_object(out, "attempt", [&](Write& v) { visit_attempt(v, *job.current); });
  Record slots;
  slots.slots = job.current->slots;
  append_line(out, "slots", control::to_text(slots));
  for (const Part& part : job.current->parts) append_object(out, "part", [&](Write& v) { visit_part(v, part); });
}

void append_node(std::string& out, sched::NodeId id, const Node& node) {
  Record boots;
  boots.node = id;
  boots.boots.assign(node.boots.begin(), node.boots.end());
  append_line(out, "node", control::to_text(boots));
  append_object(out, "health", [&](Write& v) { visit_node(v, node); });
  if (node.session) append_object(out, "session", [&](Write& v) { visit_session(v, *node.session); });
  if (node.proposal) append_object(out, "proposal", [&](Write& v) { visit_proposal(v, *node.proposal); });
  const bool leased = node.lease.phase != LeasePhase::none || node.lease.policy != LeaseOwner::none;
  if (leased) append_object(out, "lease", [&](Write& v) { visit_lease(v, node.lease); });
}

}  // namespace

std::string ControlState::job_text(JobNumber number) const {
  std::string out;
  if (const Job* job = find_job(number)) {
    append_job(out, *job);
  } else if (const EndedJob* ended = find_ended(number)) {
    append_ended(out, *ended);
  }
  return out;
}

std::string ControlState::node_text(sched::NodeId id) const {
  std::string out;
  append_node(out, id, node(id));
  return out;
}

std::string ControlState::to_text() const {
  std::string out;
  append_object(out, "state", [&](Write& v) {
    if (format_ > 1) v("format", format_);  // the first field, where every version finds it
    v("now", now_), v("last_job", last_job_), v("last_operation", last_operation_), v("last_session", last_session_);
    v("tripped", tripped_), v("trip_reason", trip_reason_), v("last_epoch", last_epoch_);
  });
  for (const EndedJob& job : ended_) append_ended(out, job);
  for (const auto& entry : jobs_) append_job(out, entry.second);
  for (std::size_t n = 0; n < nodes_.size(); ++n) append_node(out, static_cast<sched::NodeId>(n), nodes_[n]);
  for (const auto& entry : operations_) {
    Record operation = entry.second;
    operation.operation = entry.first;
    append_object(out, "operation", [&](Write& v) { visit_operation(v, operation); });
  }
  for (const auto& entry : reservations_) {
    const Reservation& reservation = entry.second;
    append_object(out, "reservation", [&](Write& v) { visit_reservation(v, reservation); });
  }
  for (const auto& entry : tenant_use_) {
    const std::string& tenant = entry.first;
    const TenantUse& use = entry.second;
    append_object(out, "use", [&](Write& v) {
      v("tenant", tenant), v("bits", std::bit_cast<std::int64_t>(use.gpu_seconds)), v("at", use.at);
    });
  }
  return out;
}

// Builds a state from its text, line by line.
class StateReader {
 public:
  explicit StateReader(std::shared_ptr<const sched::Machine> machine) : state_(std::move(machine)) {}

  bool read(std::string_view kind, std::string_view fields) {
    if (kind == "state") {
      return object(fields, [&](Read& v) {
        v("format", state_.format_), v("now", state_.now_), v("last_job", state_.last_job_),
            v("last_operation", state_.last_operation_);
        v("last_session", state_.last_session_), v("tripped", state_.tripped_), v("trip_reason", state_.trip_reason_);
        v("last_epoch", state_.last_epoch_);
      });
    }
    constexpr std::string_view kNodeLines[] = {"node", "health", "session", "proposal", "lease"};
    if (std::find(std::begin(kNodeLines), std::end(kNodeLines), kind) != std::end(kNodeLines))
      return read_node(kind, fields);
    if (kind == "ended") {
      EndedJob job;
      if (!object(fields, [&](Read& v) { visit_ended(v, job); })) return false;
      state_.keep_key(job.user, job.key, job.number);
      state_.keep_ended(std::move(job));
      return true;
    }
    if (kind == "operation") {
      Record record;
      if (!object(fields, [&](Read& v) { visit_operation(v, record); })) return false;
      const OperationId id = std::exchange(record.operation, 0);
      state_.operations_[id] = std::move(record);
      return true;
    }
    if (kind == "use") return read_use(fields);
    if (kind == "reservation") {
      Reservation reservation;
      if (!object(fields, [&](Read& v) { visit_reservation(v, reservation); })) return false;
      const std::string name = reservation.name;
      state_.reservations_[name] = std::move(reservation);
      return std::is_sorted(state_.reservations_[name].nodes.begin(), state_.reservations_[name].nodes.end());
    }
    return read_job(kind, fields);
  }

  // What the lines imply.
  bool finish() {
    for (auto each = state_.operations_.end();
         each != state_.operations_.begin();) {  // the newest of an attempt counts
      --each;
      if (!is_awaited(each->first, each->second)) each = state_.operations_.erase(each);
    }
    for (auto& [number, job] : state_.jobs_) {
      if (!job.spec) return false;
      if (job.current) job.current->index_parts();
      if (!job.current || job.current->starts == 0) continue;
      if (!state_.can_claim(job)) return false;
      state_.claim(job);
    }
    for (const Node& node : state_.nodes_) state_.open_sessions_ += node.session ? 1U : 0U;
    return true;
  }
  ControlState take() { return std::move(state_); }

 private:
  template <class Visit>
  bool object(std::string_view fields, const Visit& visit) const {
    FieldReader reader(fields);
    return Read(reader, state_.nodes_.size()).read(visit);
  }

  // Format 1 kept operations of ended attempts, and did not note which are those of the current one.
  bool is_awaited(OperationId operation, const Record& record) {
    if (record.kind == RecordKind::orphan_stopped || record.kind == RecordKind::cordon_removed) return false;
    const bool asks = record.kind == RecordKind::checkpoint_asked;
    if (!asks && record.kind != RecordKind::attempt_checkpoint) return true;
    const auto job = state_.jobs_.find(record.job);
    if (job == state_.jobs_.end() || !job->second.current || job->second.current->number != record.attempt)
      return false;
    OperationId& kept = asks ? job->second.current->asked : job->second.current->notice;
    kept = std::max(kept, operation);
    return kept == operation;
  }

  bool read_use(std::string_view fields) {
    std::string tenant;
    std::int64_t bits = 0;
    TenantUse use;
    if (!object(fields, [&](Read& v) { v("tenant", tenant), v("bits", bits), v("at", use.at); })) return false;
    use.gpu_seconds = std::bit_cast<double>(bits);
    state_.tenant_use_[tenant] = use;
    return true;
  }

  bool read_node(std::string_view kind, std::string_view fields) {
    if (kind == "node") {
      const Result<Record> record = parse_record(fields);
      if (!record.ok() || sched::index_of(record->node) >= state_.nodes_.size()) return false;
      node_ = &state_.nodes_[sched::index_of(record->node)];
      node_->boots.insert(record->boots.begin(), record->boots.end());
      return true;
    }
    if (node_ == nullptr) return false;
    if (kind == "health") return object(fields, [&](Read& v) { visit_node(v, *node_); });
    if (kind == "proposal") {
      node_->proposal.emplace();
      return object(fields, [&](Read& v) { visit_proposal(v, *node_->proposal); });
    }
    if (kind == "lease") return object(fields, [&](Read& v) { visit_lease(v, node_->lease); });
    node_->session.emplace();
    return object(fields, [&](Read& v) { visit_session(v, *node_->session); });
  }

  bool read_job(std::string_view kind, std::string_view fields) {
    if (kind == "job") {
      Job job;
      if (!object(fields, [&](Read& v) { visit_job(v, job); })) return false;
      job_ = &state_.jobs_[job.number];
      *job_ = std::move(job);
      state_.keep_key(job_->user, job_->key, job_->number);
      return true;
    }
    if (job_ == nullptr) return false;
    if (kind == "spec") {
      Result<JobSpec> spec = parse_job_spec(fields);
      if (!spec.ok()) return false;
      job_->spec = std::make_shared<const JobSpec>(std::move(*spec));
      return true;
    }
    if (kind == "drill") {
      job_->drill.emplace();
      return object(fields, [&](Read& v) { visit_drill(v, *job_->drill); });
    }
    if (kind == "attempt") {
      job_->current.emplace().charge = {};  // zero is not written
      return object(fields, [&](Read& v) { visit_attempt(v, *job_->current); });
    }
    if (!job_->current) return false;
    if (kind == "slots") return read_slots(fields);
    if (kind != "part") return false;
    Part& part = job_->current->parts.emplace_back();
    return object(fields, [&](Read& v) { visit_part(v, part); }) && sched::index_of(part.node) < state_.nodes_.size();
  }

  bool read_slots(std::string_view fields) {
    Result<Record> record = parse_record(fields);
    if (!record.ok()) return false;
    for (const sched::Slot& slot : record->slots) {
      if (sched::index_of(slot.node) >= state_.nodes_.size()) return false;
    }
    job_->current->slots = std::move(record->slots);
    return true;
  }

  ControlState state_;
  Job* job_ = nullptr;
  Node* node_ = nullptr;
};

namespace {

// Read before the rest, which a newer version may have written in any way.
std::int64_t format_of(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (!line.starts_with("state\t")) return 1;
  FieldReader reader(line.substr(6));
  std::int64_t format = 1;
  while (reader.next()) {
    if (reader.key() == "format" && !reader.number(format)) return INT64_MAX;
  }
  return format;
}

}  // namespace

Result<ControlState> ControlState::parse(std::shared_ptr<const sched::Machine> machine, std::string_view text) {
  StateReader reader(std::move(machine));
  if (const std::int64_t format = format_of(text); format > kJournalFormat) return newer_format("snapshot", format);
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const std::size_t tab = line.find('\t');
    const std::string_view fields = tab == std::string_view::npos ? std::string_view() : line.substr(tab + 1);
    if (!reader.read(line.substr(0, tab), fields)) {
      return Error{ErrorCode::invalid_input, fmt::format("snapshot: line {} is not valid", number), {}};
    }
  }
  if (!reader.finish()) return Error{ErrorCode::invalid_input, "snapshot: a job has no specification", {}};
  return reader.take();
}

}  // namespace weft::control
