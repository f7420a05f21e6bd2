#include "serve/oob/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"
#include "oob/journal/journal.h"
#include "oob/redfish/json.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxOperations = 1000;
constexpr std::size_t kMaxPlans = 1000;
constexpr Duration kPlanKept = milliseconds(24 * 3'600'000);
constexpr std::int64_t kOperationKeptMs = 24 * 3'600'000;
constexpr std::size_t kMaxUser = 256;
constexpr std::size_t kMaxReason = 1000;
constexpr std::size_t kMaxDetail = 4000;
constexpr oob::JsonLimits kResultLimits = {.nodes = 4'000'000, .depth = 40};
constexpr std::string_view kExitResults[] = {"ok", "findings", "usage", "partial", "refused", "unavailable"};

OobAnswer problem(int status, std::string detail, std::string parameter = {}) {
  return {status, Value(), std::move(detail), std::move(parameter)};
}
OobAnswer input_problem_of(const Error& error) {
  // A path that names no object.
  const bool absent = error.where == "device";
  return problem(absent ? 404 : 400, error.message, error.where);
}

std::string text_of(const OobValues& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

// What was asked of the verb: without the members that the runner itself reads.
OobValues verb_values(const OobVerb& verb, OobValues values) {
  if (verb.reason != Reason::none) values.erase("reason");
  if (verb.planning == OobPlanning::none) return values;
  values.erase("plan");
  values.erase("plan_id");
  return values;
}

// Equal calls have equal keys.
std::string key_of(const OobCall& call) {
  Value key = Value::list({Value(call.verb->id)});
  for (const auto& [name, value] : call.values) key.add(Value::list({Value(name), Value(value)}));
  return sha256(write_json_line(key));
}

Value texts_of(const std::deque<std::string>& lines) {
  Value::List list;
  for (const std::string& line : lines) list.emplace_back(line);
  return Value(std::move(list));
}

std::string detail_of(const std::deque<std::string>& lines) {
  std::string detail = join(lines, "\n");
  if (detail.size() > kMaxDetail) detail.erase(0, detail.size() - kMaxDetail);
  return detail;
}

void keep_line(std::deque<std::string>& lines, std::string_view line) {
  if (line.starts_with("weft: ")) line.remove_prefix(6);
  lines.emplace_back(line);
  if (lines.size() > kMaxOobProgress) lines.pop_front();
}

}  // namespace

Result<std::unique_ptr<OobRunner>> OobRunner::open(OobRunnerOptions options) {
  CHECK(options.cluster != nullptr && options.clock != nullptr && options.post != nullptr, "seams of the runner");
  if (options.config.credentials.empty() && options.cluster->spec().fabrics.has_value() &&
      options.cluster->spec().fabrics->oob.has_value() && options.cluster->spec().fabrics->oob->credentials.has_value())
    options.config.credentials = *options.cluster->spec().fabrics->oob->credentials;
  std::unique_ptr<OobRunner> runner(new OobRunner(std::move(options)));
  std::vector<std::string> problems;
  Result<std::vector<OobOperation>> earlier = runner->store_.open(problems);
  if (!earlier.ok()) return earlier.error();
  for (const std::string& line : problems) runner->log(line);
  const std::lock_guard lock(runner->mutex_);
  for (OobOperation& operation : *earlier) runner->operations_.push_back(std::move(operation));
  runner->prune();
  return runner;
}

OobRunner::OobRunner(OobRunnerOptions options)
    : options_(std::move(options)),
      store_(options_.folder),
      readers_(options_.readers, options_.max_waiting),
      changers_(options_.changers, options_.max_waiting) {}

OobRunner::~OobRunner() { stop(); }

void OobRunner::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    stop_at_ = options_.clock->now() + options_.stop_limit;
  }
  readers_.stop();
  changers_.stop();
}

void OobRunner::post(const Answer& answer, OobAnswer what) const {
  options_.post([answer, what = std::move(what)] { answer(what); });
}

void OobRunner::log(std::string_view line) const {
  if (options_.log) options_.log(line);
}

bool OobRunner::must_stop(bool changes) const {
  const std::lock_guard lock(mutex_);
  return stopping_ && (!changes || options_.clock->now() >= stop_at_);
}

OobOperation* OobRunner::find(const std::string& id) {
  const auto found = std::find_if(operations_.begin(), operations_.end(),
                                  [&](const OobOperation& operation) { return operation.id == id; });
  return found == operations_.end() ? nullptr : &*found;
}

void OobRunner::handle(const OobRequest& request, const Answer& answer) {
  if (must_stop(false)) return post(answer, problem(503, "the server is stopping"));
  if (request.route == kOobOperationList) return list_operations(answer);
  if (request.route == kOobOperationShow) return show_operation(text_of(request.values, "operation"), answer);
  const OobVerb* verb = find_oob_verb(request.route);
  if (verb == nullptr) return post(answer, problem(404, "no such operation"));
  if (std::string why = find_text_problem(request.user, kMaxUser); !why.empty() || request.user.empty())
    return post(answer, problem(400, "the name of the user cannot be written to the journal: it " +
                                         (why.empty() ? "is empty" : why)));
  if (std::string why = find_text_problem(text_of(request.values, "reason"), kMaxReason); !why.empty())
    return post(answer, problem(400, std::move(why), "reason"));
  Result<OobCall> call = check_oob_call(*verb, verb_values(*verb, request.values), options_.inventory);
  if (!call.ok()) return post(answer, input_problem_of(call.error()));
  if (!verb->is_operation) return read(std::move(*call), request, answer);
  const std::string plans = text_of(request.values, "plan");
  if (verb->planning != OobPlanning::none && plans != "false") {
    if (!plans.empty() && plans != "true") return post(answer, problem(400, "is not true or false", "plan"));
    if (!text_of(request.values, "plan_id").empty())
      return post(answer, problem(400, "carries out a plan only with \"plan\": false", "plan_id"));
    return plan(std::move(*call), request, answer);
  }
  execute(std::move(*call), request, answer);
}

// Child processes ----------------------------------------------------------------------------------------------------

OobRunner::Reply OobRunner::run(const OobCall& call, OobMode mode, const OobOperation& operation,
                                std::deque<std::string>& lines, const std::function<void(std::string_view)>& on_line) {
  const bool changes = call.verb->is_operation && mode == OobMode::execute;
  ChildRequest request;
  request.words = oob_command_line(options_.config, call, mode, operation.reason);
  request.environment = oob_environment(options_.config, operation.user, operation.id);
  request.deadline =
      options_.deadline.value_or(changes ? call.verb->deadline : std::min(call.verb->deadline, milliseconds(300'000)));
  request.grace = changes ? options_.change_grace : options_.read_grace;
  request.max_output = options_.max_output;
  request.stopped = [this, changes] { return must_stop(changes); };
  request.line = [&](std::string_view line) {
    keep_line(lines, line);
    if (on_line) on_line(line);
  };
  const Result<ChildOutcome> outcome = run_child(request);
  if (outcome.ok()) return reply_of(call, *outcome, lines);
  Reply reply;
  reply.result = "not_started";
  reply.answer = problem(503, outcome.error().text());
  return reply;
}

OobRunner::Reply OobRunner::reply_of(const OobCall& call, const ChildOutcome& outcome,
                                     const std::deque<std::string>& lines) const {
  Reply reply;
  reply.exit_code = outcome.code;
  const auto fail = [&](int status, std::string_view result, std::string detail) {
    reply.result = result;
    reply.answer = problem(status, std::move(detail));
    reply.answer.body = Value::map().set("result", result).set("notes", texts_of(lines));
    return reply;
  };
  switch (outcome.end) {
    case ChildEnd::deadline:
      return fail(504, "timeout", "took too long and was stopped");
    case ChildEnd::stopped:
      return fail(503, "stopped", "was stopped with the server");
    case ChildEnd::killed:
      return fail(500, "crashed", fmt::format("weft was ended by signal {}", outcome.code - 128));
    case ChildEnd::exited:
      break;
  }
  if (outcome.code < 0 || outcome.code >= static_cast<int>(std::size(kExitResults)))
    return fail(500, "crashed", fmt::format("weft ended with the unknown exit code {}", outcome.code));
  const std::string_view result = kExitResults[outcome.code];
  if (outcome.too_long)
    return fail(422, "too_large",
                fmt::format("the result is larger than {} bytes; name fewer devices", options_.max_output));
  Value data;
  if (call.verb->prints_text) {
    data = Value::map().set("text", outcome.out);
    reply.is_document = outcome.code == 0;
  } else if (!trim(outcome.out).empty()) {
    Result<Value> parsed = oob::read_json_reply(outcome.out, kResultLimits);
    if (!parsed.ok()) return fail(500, "invalid", "the result of weft is not JSON: " + parsed.error().message);
    data = std::move(*parsed);
    reply.is_document = true;
  }
  if (!reply.is_document && outcome.code != 0) {
    static constexpr int kStatus[] = {200, 422, 422, 502, 409, 503};
    return fail(
        kStatus[outcome.code], result,
        lines.empty() ? fmt::format("weft ended with exit code {} and no result", outcome.code) : detail_of(lines));
  }
  reply.result = result;
  reply.out = outcome.out;
  // That no device could be reached is a result, too.
  reply.answer.status = outcome.code == 4 ? 409 : 200;
  if (outcome.code == 4) reply.answer.detail = lines.empty() ? "refused" : detail_of(lines);
  reply.answer.body = Value::map().set("result", result).set("data", std::move(data)).set("notes", texts_of(lines));
  return reply;
}

void OobRunner::read(OobCall call, const OobRequest& request, const Answer& answer) {
  const auto task = [this, call = std::move(call), user = request.user, answer](bool runs) {
    if (!runs) return post(answer, problem(503, "the server is stopping"));
    OobOperation reading;  // not one of the list
    reading.user = user;
    std::deque<std::string> lines;
    post(answer, run(call, OobMode::execute, reading, lines, nullptr).answer);
  };
  if (!readers_.submit(task)) post(answer, problem(503, "too many out-of-band readings are in progress; retry later"));
}

// Plans --------------------------------------------------------------------------------------------------------------

void OobRunner::plan(OobCall call, const OobRequest& request, const Answer& answer) {
  const auto task = [this, call = std::move(call), request, answer](bool runs) {
    if (!runs) return post(answer, problem(503, "the server is stopping"));
    make_plan(call, request, answer);
  };
  if (!readers_.submit(task)) post(answer, problem(503, "too many out-of-band readings are in progress; retry later"));
}

// The devices of an incomplete power operation, from the list of them.
std::optional<OobAnswer> OobRunner::add_listed(const OobCall& call, const Value& list, BlastRadius& radius) const {
  const std::string wanted = text_of(call.values, "operation");
  for (const Value& row : oob::list(list, {"operations"})) {
    if (oob::raw_text(row, {"operation"}) != wanted) continue;
    if (oob::truth(row, {"running"}).value_or(false))
      return problem(409, fmt::format("operation {} is still running", wanted));
    const bool resumes = call.verb->reach == OobReach::power;
    radius.interrupts = resumes && oob::raw_text(row, {"verb"}) != "on";
    const std::string hosts = oob::raw_text(row, {"hosts"});
    if (hosts.empty()) return std::nullopt;
    // Devices that were removed from the cluster since cannot be affected.
    if (Result<std::vector<std::uint32_t>> chosen = options_.inventory.select(hosts); chosen.ok())
      radius.targets = std::move(*chosen);
    return std::nullopt;
  }
  return problem(404, fmt::format("the journal has no incomplete power operation {}", in_backticks(wanted)));
}

void OobRunner::make_plan(const OobCall& call, const OobRequest& request, const Answer& answer) {
  Result<BlastRadius> radius = find_blast_radius(call, *options_.cluster, options_.inventory);
  if (!radius.ok()) {
    const bool refused = radius.error().code == ErrorCode::refused;
    return post(answer, problem(refused ? 409 : 400, radius.error().message, radius.error().where));
  }
  OobOperation planning;
  planning.user = request.user;
  planning.reason = text_of(request.values, "reason");
  std::deque<std::string> lines;
  Reply reply = run(call, OobMode::plan, planning, lines, nullptr);
  if (!reply.is_document && reply.exit_code != 0) return post(answer, std::move(reply.answer));
  const Value* data = reply.answer.body.find("data");
  if (call.verb->planning == OobPlanning::listed) {
    std::optional<OobAnswer> wrong = add_listed(call, data == nullptr ? Value() : *data, *radius);
    if (wrong) return post(answer, std::move(*wrong));
  }
  const bool reachable = reply.exit_code != 5 && reply.exit_code != 4;
  const bool allowed = reachable && radius->refusal.empty();
  if (!reachable) radius->refusal = reply.exit_code == 4 ? detail_of(lines) : "no device could be reached";
  const std::string key = key_of(call);
  const std::string id = sha256(key + "\n" + reply.out).substr(0, 32);
  Value body = Value::map()
                   .set("plan", true)
                   .set("verb", call.verb->id)
                   .set("allowed", allowed)
                   .set("refusal", radius->refusal)
                   .set("result", reply.result)
                   .set("data", data == nullptr ? Value() : *data)
                   .set("notes", texts_of(lines));
  if (allowed) {
    body.set("plan_id", id).set("expires_in_s", kOobPlanAge.count() / 1'000'000'000);
    const std::lock_guard lock(mutex_);
    const Duration now = options_.clock->now();
    std::erase_if(plans_, [&](const auto& entry) { return now - entry.second.made > kPlanKept; });
    if (plans_.size() >= kMaxPlans) {
      plans_.erase(std::min_element(plans_.begin(), plans_.end(),
                                    [](const auto& a, const auto& b) { return a.second.made < b.second.made; }));
    }
    plans_[id] = {key, now, *radius};
  }
  // What runs there is known to the thread of the event loop.
  options_.post([answer, body = std::move(body), radius = std::move(*radius), jobs_on = options_.jobs_on,
                 inventory = options_.inventory]() mutable {
    OobAnswer done;
    body.set("blast_radius", blast_radius_value(radius, inventory, jobs_on));
    done.body = std::move(body);
    answer(std::move(done));
  });
}

std::optional<BlastRadius> OobRunner::use_plan(const OobCall& call, const OobRequest& request, OobAnswer& wrong) {
  const std::string id = text_of(request.values, "plan_id");
  if (id.empty()) {
    wrong = problem(409, "a plan_id is missing: request the plan first", "plan_id");
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  const auto found = plans_.find(id);
  if (found == plans_.end()) {
    wrong = problem(409, "there is no such plan, or it was carried out; request it again", "plan_id");
  } else if (found->second.key != key_of(call)) {
    wrong = problem(409, "the plan has other parameters; request it again", "plan_id");
  } else if (options_.clock->now() - found->second.made > std::min(request.plan_age, kPlanKept)) {
    wrong = problem(409, "the plan is too old; request it again", "plan_id");
  } else {
    BlastRadius radius = std::move(found->second.radius);
    plans_.erase(found);
    return radius;
  }
  return std::nullopt;
}

// Operations ---------------------------------------------------------------------------------------------------------

void OobRunner::execute(OobCall call, const OobRequest& request, const Answer& answer) {
  const OobVerb& verb = *call.verb;
  OobOperation operation;
  operation.reason = text_of(request.values, "reason");
  if (verb.reason == Reason::required && operation.reason.empty())
    return post(answer, problem(400, "is missing: it is written to the journal", "reason"));
  OobAnswer wrong;
  BlastRadius radius;
  radius.targets = call.targets;
  if (verb.planning != OobPlanning::none) {
    std::optional<BlastRadius> planned = use_plan(call, request, wrong);
    if (!planned) return post(answer, std::move(wrong));
    radius = std::move(*planned);
  }
  operation.id = oob::new_operation_id();
  operation.verb = verb.id;
  operation.hosts = call.hosts.empty() ? options_.inventory.fold(radius.targets) : call.hosts;
  operation.user = request.user;
  operation.request_id = request.request_id;
  operation.since_ms = options_.clock->wall_ms();
  if (verb.holds_devices) {
    operation.devices = radius.targets;
    operation.devices.insert(operation.devices.end(), radius.dependents.begin(), radius.dependents.end());
    std::sort(operation.devices.begin(), operation.devices.end());
  }
  const Value shown = operation_value(operation, false);
  {
    const std::lock_guard lock(mutex_);
    for (const OobOperation& other : operations_) {
      if (other.has_ended()) continue;
      const bool meets = std::any_of(operation.devices.begin(), operation.devices.end(), [&](std::uint32_t device) {
        return std::binary_search(other.devices.begin(), other.devices.end(), device);
      });
      if (meets)
        return post(answer, problem(409, fmt::format("operation {} ({}) is changing some of these devices: {}",
                                                     other.id, other.verb, other.hosts)));
    }
    prune();
    if (operations_.size() >= kMaxOperations)
      return post(answer, problem(503, "too many out-of-band operations are in progress; retry later"));
    // On disk before it is answered: an operation that cannot be recorded is not begun.
    if (const Status saved = store_.save(operation); !saved.ok())
      return post(answer, problem(503, "the operation cannot be recorded: " + saved.error().text()));
    operations_.push_back(operation);
  }
  const std::string id = operation.id;
  const bool accepted = changers_.submit([this, call = std::move(call), id](bool runs) { carry_out(call, id, runs); });
  if (accepted) return post(answer, {202, shown, {}, {}});
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(operations_, [&](const OobOperation& other) { return other.id == id; });
    store_.remove(id);
  }
  post(answer, problem(503, "too many out-of-band operations are waiting; retry later"));
}

void OobRunner::carry_out(const OobCall& call, const std::string& id, bool runs) {
  if (!runs) {
    Reply reply;
    reply.result = "not_started";
    reply.answer = problem(503, "the server stopped before it began");
    return finish(id, OobState::failed, reply);
  }
  OobOperation operation;
  {
    const std::lock_guard lock(mutex_);
    OobOperation* found = find(id);
    CHECK(found != nullptr, "an operation that has not ended is kept");
    found->state = OobState::running;
    found->began_ms = options_.clock->wall_ms();
    operation = *found;
    if (const Status saved = store_.save(operation); !saved.ok()) {
      found->state = OobState::failed;
      found->result = "not_started";
      found->detail = "the operation cannot be recorded: " + saved.error().text();
      found->ended_ms = options_.clock->wall_ms();
      return log(fmt::format("operation {}: {}", id, found->detail));
    }
  }
  std::deque<std::string> lines;
  const Reply reply = run(call, OobMode::execute, operation, lines, [&](std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (OobOperation* found = find(id)) keep_line(found->progress, line);
  });
  const bool all_done =
      reply.exit_code && (*reply.exit_code == 0 || *reply.exit_code == 1) && reply.answer.status == 200;
  finish(id, all_done ? OobState::done : OobState::failed, reply);
}

void OobRunner::finish(const std::string& id, OobState state, const Reply& reply) {
  Status kept = reply.is_document ? store_.save_result(id, reply.out) : Status();
  const std::lock_guard lock(mutex_);
  OobOperation* found = find(id);
  CHECK(found != nullptr, "an operation that has not ended is kept");
  found->state = state;
  found->ended_ms = options_.clock->wall_ms();
  found->exit_code = reply.exit_code;
  found->result = reply.result;
  found->detail = reply.answer.detail;
  if (reply.result == "timeout" || reply.result == "stopped" || reply.result == "crashed")
    found->detail += "; it may be incomplete: the journal says what was carried out";
  if (kept.ok()) kept = store_.save(*found);
  if (!kept.ok()) log(fmt::format("operation {} ended, but this cannot be recorded: {}", id, kept.error().text()));
}

// Under the lock.
void OobRunner::prune() {
  const std::int64_t oldest = options_.clock->wall_ms() - kOperationKeptMs;
  std::size_t count = operations_.size();
  std::erase_if(operations_, [&](const OobOperation& operation) {
    const bool old = operation.since_ms < oldest || count >= kMaxOperations;
    if (!old || !operation.has_ended()) return false;
    store_.remove(operation.id);
    --count;
    return true;
  });
}

void OobRunner::list_operations(const Answer& answer) {
  OobAnswer list;
  {
    const std::lock_guard lock(mutex_);
    Value::List rows;
    for (auto operation = operations_.rbegin(); operation != operations_.rend(); ++operation)
      rows.push_back(operation_value(*operation, false));
    list.body = Value::map().set("operations", Value(std::move(rows)));
  }
  post(answer, std::move(list));
}

void OobRunner::show_operation(const std::string& id, const Answer& answer) {
  const auto task = [this, id, answer](bool runs) {
    if (!runs) return post(answer, problem(503, "the server is stopping"));
    OobAnswer shown;
    std::optional<OobOperation> operation;
    {
      const std::lock_guard lock(mutex_);
      if (const OobOperation* found = find(id)) operation = *found;
    }
    if (!operation) return post(answer, problem(404, fmt::format("no operation {}", in_backticks(id))));
    shown.body = operation_value(*operation, true);
    const std::string result = operation->has_ended() ? store_.read_result(id) : std::string();
    Result<Value> data = oob::read_json_reply(result, kResultLimits);
    shown.body.set("data", data.ok() ? std::move(*data) : Value());
    if (operation->state == OobState::interrupted && !options_.config.state.empty()) {
      const Result<Value> journal = find_in_journal(options_.config.state + "/journal.ndjson", id);
      shown.body.set("journal", journal.ok() ? *journal : Value::map().set("problem", journal.error().message));
    }
    post(answer, std::move(shown));
  };
  if (!readers_.submit(task)) post(answer, problem(503, "too many out-of-band readings are in progress; retry later"));
}

}  // namespace weft::serve
