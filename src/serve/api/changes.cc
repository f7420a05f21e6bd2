// Requests that change something: they are checked here, decided by the controller, and answered when their records are
// durable.
#include <fmt/format.h>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/utf8.h"
#include "sched/explain/explain.h"
#include "serve/api/api.h"
#include "serve/submit/submission.h"

namespace weft::serve {
namespace {

std::string_view last_segment(std::string_view path) { return path.substr(path.rfind('/') + 1); }

constexpr Duration kMaxPlanned = milliseconds(std::int64_t{52} * 7 * 86'400'000);

// A time of a reservation. Bounded: a moment is 64 bits of nanoseconds. 0 after an error.
Duration planned_time(const ApiCall& call, std::string_view name, std::vector<InputError>& errors) {
  const std::string& text = call.parameters.text(name);
  if (text.empty()) return {};
  const Result<Duration> time = parse_duration(text);
  if (time.ok() && *time <= kMaxPlanned) return *time;
  errors.push_back({InputError::Where::body, std::string(name), fmt::format("{} must be at most 52w", name)});
  return {};
}

Cell start_cell(sched::Moment start) { return start == sched::kNever ? Cell() : Cell(utc_text(start)); }

// States for the audit log: short, and without what users put into their jobs.
std::string describe_job(const control::ControlState& state, control::JobNumber number) {
  if (const control::Job* job = state.find_job(number)) return shown_state(*job);
  const control::EndedJob* ended = state.find_ended(number);
  return ended == nullptr ? std::string() : std::string(to_text(ended->state));
}

std::string describe_node(const control::ControlState& state, sched::NodeId id) {
  const control::Node& node = state.node(id);
  std::string text(to_text(node.health));
  if (node.drained) text += ", drained by " + node.drained_by;
  if (node.session) text += fmt::format(", repair session {} in {}", node.session->id, to_text(node.session->step));
  return text;
}

std::string describe_reservation(const control::ControlState& state, const std::string& name) {
  const auto found = state.reservations().find(name);
  if (found == state.reservations().end()) return {};
  const control::Reservation& reservation = found->second;
  return fmt::format("{}, {} to {}, by {}", plural(reservation.nodes.size(), "node"), utc_text(reservation.from),
                     utc_text(reservation.until), reservation.user);
}

// Whether the object, by its text, is the one of If-Match; "": it does not exist any more.
bool is_unchanged(std::string_view if_match, const std::string& text) {
  return !text.empty() && matches_tag(if_match, entity_tag(text), TagComparison::strong);
}

}  // namespace

void Api::enqueue(const ApiCall& call, control::Request request) {
  if (!facts_.store_problem.empty()) {
    call.responder.respond(
        problem(503, fmt::format("the journal cannot be written: {}; nothing was changed", facts_.store_problem)));
    return;
  }
  request.id = ++last_request_;
  request.user = call.caller.user();
  const bool submits = request.kind == control::RequestKind::submit;
  waiting_.emplace(request.id, Waiting{call.responder, *output_style(call.request), submits, call.row->creates,
                                       submits && call.parameters.is_set("expect")});
  requests_.push_back(std::move(request));
}

std::optional<control::JobSpec> Api::read_job_spec(const ApiCall& call) const {
  const Parameters& given = call.parameters;
  const auto refuse = [&](int status, std::string_view name, std::string detail) {
    HttpResponse response = input_problem({{InputError::Where::body, std::string(name), std::move(detail)}});
    response.status = status;
    call.responder.respond(response);
    return std::nullopt;
  };
  const std::string& directory = given.text("directory");
  if (!directory.empty() && directory.front() != '/')
    return refuse(400, "directory", "directory must be an absolute path");
  Caller caller = call.caller;
  if (options_.gatekeeper != nullptr) options_.gatekeeper->set_account(caller);
  if (!caller.has_account) {
    call.responder.respond(
        problem(403, fmt::format("{} has no account on the nodes to run jobs under: an admin adds it "
                                 "to `accounts` of the access file",
                                 call.caller.user())));
    return std::nullopt;
  }
  if (caller.uid != options_.server_uid && options_.server_uid != 0) {
    call.responder.respond(problem(403, "weft serve does not run as root and can only run jobs of its own user"));
    return std::nullopt;
  }
  const std::string& named = given.text("engine");
  if (!named.empty() && options_.engines.empty()) return refuse(400, "engine", "engine: this server has one engine");
  ContainerRuntime containers = options_.containers;
  if (!named.empty()) containers = named == "kubernetes" ? ContainerRuntime::kubernetes : ContainerRuntime::apptainer;
  Sources sources;
  Diagnostics diagnostics;
  const std::string& name = given.text("name");
  const FileId file = sources.add(name.empty() ? "job" : name, given.text("text"));
  const Submitter submitter{caller.uid,           caller.gid, call.caller.user(),  directory.empty() ? "/" : directory,
                            given.text("tenant"), containers, given.text("image"), call.caller.access.submit_tenants()};
  std::optional<control::JobSpec> spec =
      read_submission(sources, file, *cluster_, loop_->controller().state().machine(), submitter, diagnostics);
  if (!spec) {
    call.responder.respond(file_problem(diagnostics, sources));
    return std::nullopt;
  }
  // A cluster file without tenants has no names to check.
  if (!call.caller.access.may_submit_to(spec->shape.tenant)) {
    call.responder.respond(problem(
        403, fmt::format("{} may not submit jobs to tenant {}", call.caller.user(), in_backticks(spec->shape.tenant))));
    return std::nullopt;
  }
  spec->engine = named.empty() ? lease::LeaseOwner::none : *lease::find_owner(named);
  return spec;
}

void Api::submit_job(const ApiCall& call) {
  std::optional<control::JobSpec> spec = read_job_spec(call);
  if (!spec) return;
  control::Request request;
  request.kind = control::RequestKind::submit;
  request.key = call.request.idempotency_key;
  request.spec = std::move(*spec);
  submit_change(call, std::move(request));
}

void Api::check_job(const ApiCall& call) {
  std::optional<control::JobSpec> spec = read_job_spec(call);
  if (!spec) return;
  if (const std::string problem_text = control::problem_of(*spec); !problem_text.empty())
    return call.responder.respond(problem(422, problem_text));
  sched::Scheduler what_if = loop_->controller().scheduler();
  sched::Job shape = spec->shape;
  shape.submitted = now();
  const sched::JobId id = what_if.submit(std::move(shape), now());
  sched::Decisions decided = what_if.decide(now());
  const sched::Foreseen foreseen = sched::foresee(what_if, id, now(), {}, std::move(decided));
  Document document;
  document.kind = "job_check";
  FactsSection facts{"job_check", "", {}};
  facts.facts.push_back({"name", "Name", spec->shape.name});
  facts.facts.push_back({"tenant", "Tenant", spec->shape.tenant});
  facts.facts.push_back({"tasks", "Tasks", spec->shape.tasks});
  facts.facts.push_back({"expected_start", "Expected start", start_cell(foreseen.start)});
  facts.facts.push_back({"known", "Known by", to_text(foreseen.known)});
  document.sections.emplace_back(std::move(facts));
  respond(call, std::move(document));
}

Cell Api::expected_start(control::JobNumber number) const {
  const control::Job* job = loop_->controller().state().find_job(number);
  if (job == nullptr) return {};
  if (job->current) return start_cell(job->current->placed);
  const std::optional<sched::JobId> id = loop_->controller().scheduler_id(number);
  if (!id) return {};
  sched::Scheduler what_if = loop_->controller().scheduler();
  sched::Decisions decided = what_if.decide(now());
  return start_cell(sched::foresee(what_if, *id, now(), {}, std::move(decided)).start);
}

void Api::change_job(const ApiCall& call) {
  const std::optional<control::JobNumber> number = job_number(call);
  if (!number) return;
  const control::ControlState& state = loop_->controller().state();
  const VisibleJob found = find_visible(state, call.caller.access, *number);
  if (!found.exists()) return call.responder.respond(absent_problem("job", call.object()));
  const std::string& owner = found.job != nullptr ? found.job->user : found.ended->user;
  const std::string& tenant = found.job != nullptr ? found.job->spec->shape.tenant : found.ended->tenant;
  if (!call.caller.access.may_change(tenant, owner)) {
    call.responder.respond(problem(403, fmt::format("job {} belongs to {}", *number, owner)));
    return;
  }
  control::Request request;
  request.job = *number;
  request.reason = call.parameters.text("reason");
  const std::string_view verb = last_segment(call.row->pattern);
  request.kind = verb == "cancel"    ? control::RequestKind::cancel
                 : verb == "hold"    ? control::RequestKind::hold
                 : verb == "release" ? control::RequestKind::release
                                     : control::RequestKind::drill;
  if (!call.request.if_match.empty()) {
    request.unchanged = [tags = call.request.if_match, job = *number](const control::ControlState& now) {
      return is_unchanged(tags, now.job_text(job));
    };
  }
  submit_change(call, std::move(request), [&state, job = *number] { return describe_job(state, job); });
}

void Api::change_node(const ApiCall& call) {
  const std::optional<sched::NodeId> node = node_id(call);
  if (!node) return;
  control::Request request;
  request.node = *node;
  request.reason = call.parameters.text("reason");
  const std::string_view verb = last_segment(call.row->pattern);
  request.kind = verb == "drain"    ? control::RequestKind::drain
                 : verb == "resume" ? control::RequestKind::resume
                                    : control::RequestKind::confirm_off;
  if (!call.request.if_match.empty()) {
    request.unchanged = [tags = call.request.if_match, id = *node](const control::ControlState& now) {
      return is_unchanged(tags, now.node_text(id));
    };
  }
  submit_change(call, std::move(request),
                [this, id = *node] { return describe_node(loop_->controller().state(), id); });
}

std::optional<std::vector<sched::NodeId>> Api::nodes_of(const ApiCall& call, const std::string& list) const {
  std::vector<sched::NodeId> nodes;
  const Result<std::vector<std::string>> names = expand_hosts(list);
  if (!names.ok()) {
    call.responder.respond(problem(400, "nodes: " + names.error().message));
    return std::nullopt;
  }
  for (const std::string& name : *names) {
    const std::optional<sched::NodeId> node = loop_->controller().state().machine().find(name);
    if (!node) {
      call.responder.respond(problem(404, fmt::format("the cluster has no node {}", in_backticks(name))));
      return std::nullopt;
    }
    nodes.push_back(*node);
  }
  return nodes;
}

void Api::reserve(const ApiCall& call) {
  control::Request request;
  request.kind = control::RequestKind::reserve;
  request.name = call.parameters.text("name");
  request.key = call.request.idempotency_key;
  request.reason = call.parameters.text("reason");
  std::optional<std::vector<sched::NodeId>> nodes = nodes_of(call, call.parameters.text("nodes"));
  if (!nodes) return;
  request.nodes = std::move(*nodes);
  std::vector<InputError> errors;
  request.from = now() + planned_time(call, "in", errors);
  request.until = request.from + planned_time(call, "for", errors);
  if (!errors.empty()) return call.responder.respond(input_problem(errors));
  const control::ControlState& state = loop_->controller().state();
  const auto describe = [&state, name = request.name] { return describe_reservation(state, name); };
  submit_change(call, std::move(request), describe);
}

void Api::unreserve(const ApiCall& call) {
  control::Request request;
  request.kind = control::RequestKind::unreserve;
  request.name = call.object();
  request.reason = call.parameters.text("reason");
  const control::ControlState& state = loop_->controller().state();
  const auto describe = [&state, name = request.name] { return describe_reservation(state, name); };
  submit_change(call, std::move(request), describe);
}

void Api::move_leases(const ApiCall& call) {
  if (!has_leases(call)) return;
  control::Request request;
  request.kind = control::RequestKind::move_lease;
  request.reason = call.parameters.text("reason");
  request.engine = *lease::find_owner(call.parameters.text("to"));
  request.preempt = call.parameters.is_set("preempt");
  std::optional<std::vector<sched::NodeId>> nodes = nodes_of(call, call.parameters.text("nodes"));
  if (!nodes) return;
  request.nodes = std::move(*nodes);
  submit_change(call, std::move(request));
}

}  // namespace weft::serve
