// Requests that change something: they are checked here, decided by the controller, and answered when their records are
// durable.
#include <fmt/format.h>

#include "base/host_range.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "serve/api/api.h"
#include "serve/api/body.h"
#include "serve/submit/submission.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxReason = 1000;  // characters
constexpr std::size_t kMaxKey = 200;

std::string_view last_segment(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::optional<BodyFields> body_of(const ApiCall& call, const std::vector<std::string_view>& members) {
  Result<BodyFields> fields = read_body(call.request.body, members);
  if (fields.ok()) return std::move(*fields);
  call.responder.respond(problem(400, fields.error().message));
  return std::nullopt;
}

// Text that goes into the journal and onto terminals.
bool is_acceptable(const ApiCall& call, std::string_view what, std::string_view text, std::size_t limit) {
  if (text.size() <= limit && is_valid_text(text)) return true;
  call.responder.respond(
      problem(400, fmt::format("{} must be at most {} bytes of UTF-8 without control characters", what, limit)));
  return false;
}

std::string value_of(const BodyFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

constexpr Duration kMaxPlanned = milliseconds(std::int64_t{52} * 7 * 86'400'000);

// A time of a reservation. Bounded: a moment is 64 bits of nanoseconds.
Result<Duration> parse_planned(std::string_view name, const std::string& text) {
  Result<Duration> time = parse_duration(text);
  if (!time.ok()) return Error{ErrorCode::invalid_input, fmt::format("{}: {}", name, time.error().message), {}};
  if (*time > kMaxPlanned) return Error{ErrorCode::invalid_input, fmt::format("{} must be at most 52w", name), {}};
  return time;
}

}  // namespace

void Api::enqueue(const ApiCall& call, control::Request request) {
  if (!facts_.store_problem.empty()) {
    call.responder.respond(
        problem(503, fmt::format("the journal cannot be written: {}; nothing was changed", facts_.store_problem)));
    return;
  }
  request.id = ++last_request_;
  request.user = call.caller.user;
  const bool submits = request.kind == control::RequestKind::submit;
  waiting_.emplace(request.id, Waiting{call.responder, *output_style(call.request), submits});
  requests_.push_back(std::move(request));
}

void Api::submit_job(const ApiCall& call) {
  const std::optional<BodyFields> fields = body_of(call, {"text", "name", "directory", "tenant", "engine", "image"});
  if (!fields) return;
  const std::string name = value_of(*fields, "name");
  const std::string directory = value_of(*fields, "directory");
  const std::string image = value_of(*fields, "image");
  if (!is_acceptable(call, "name", name, 4096) || !is_acceptable(call, "directory", directory, 4096) ||
      !is_acceptable(call, "image", image, 4096) ||
      !is_acceptable(call, "the Idempotency-Key", call.request.idempotency_key, kMaxKey)) {
    return;
  }
  if (!directory.empty() && directory.front() != '/') {
    call.responder.respond(problem(400, "directory must be an absolute path"));
    return;
  }
  if (call.caller.uid != options_.server_uid && options_.server_uid != 0) {
    call.responder.respond(problem(403, "weft serve does not run as root and can only run jobs of its own user"));
    return;
  }
  const std::string named = value_of(*fields, "engine");
  const std::optional<lease::LeaseOwner> engine = named.empty() ? lease::LeaseOwner::none : lease::find_owner(named);
  if (!engine) return call.responder.respond(problem(400, fmt::format("{} is not an engine", in_backticks(named))));
  if (!named.empty() && options_.engines.empty())
    return call.responder.respond(problem(400, "engine: this server has one engine"));
  ContainerRuntime containers = options_.containers;
  if (!options_.engines.empty() && !named.empty()) {
    containers = *engine == lease::LeaseOwner::kubernetes ? ContainerRuntime::kubernetes : ContainerRuntime::apptainer;
  }
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(name.empty() ? "job" : name, value_of(*fields, "text"));
  const Submitter submitter{call.caller.uid,
                            call.caller.gid,
                            call.caller.user,
                            directory.empty() ? "/" : directory,
                            value_of(*fields, "tenant"),
                            containers,
                            image};
  std::optional<control::JobSpec> spec =
      read_submission(sources, file, *cluster_, loop_.controller().state().machine(), submitter, diagnostics);
  if (!spec) {
    call.responder.respond(problem(422, "Invalid job", render_all(diagnostics, sources, false)));
    return;
  }
  control::Request request;
  request.kind = control::RequestKind::submit;
  request.key = call.request.idempotency_key;
  request.spec = std::move(*spec);
  request.spec.engine = *engine;
  enqueue(call, std::move(request));
}

void Api::change_job(const ApiCall& call) {
  const std::optional<control::JobNumber> number = job_number(call);
  const std::optional<BodyFields> fields = number ? body_of(call, {"reason"}) : std::nullopt;
  if (!fields || !is_acceptable(call, "reason", value_of(*fields, "reason"), kMaxReason)) return;
  const control::ControlState& state = loop_.controller().state();
  const control::Job* job = state.find_job(*number);
  const control::EndedJob* ended = job == nullptr ? state.find_ended(*number) : nullptr;
  if (job == nullptr && ended == nullptr) {
    call.responder.respond(problem(404, fmt::format("there is no job {}", *number)));
    return;
  }
  const std::string& owner = job != nullptr ? job->user : ended->user;
  if (!call.caller.may_change(owner)) {
    call.responder.respond(problem(403, fmt::format("job {} belongs to {}", *number, owner)));
    return;
  }
  control::Request request;
  request.job = *number;
  request.reason = value_of(*fields, "reason");
  const std::string_view verb = last_segment(call.request.path);
  request.kind = verb == "cancel"    ? control::RequestKind::cancel
                 : verb == "hold"    ? control::RequestKind::hold
                 : verb == "release" ? control::RequestKind::release
                                     : control::RequestKind::drill;
  enqueue(call, std::move(request));
}

void Api::change_node(const ApiCall& call) {
  const std::optional<sched::NodeId> node = node_id(call);
  const std::optional<BodyFields> fields = node ? body_of(call, {"reason"}) : std::nullopt;
  if (!fields || !is_acceptable(call, "reason", value_of(*fields, "reason"), kMaxReason)) return;
  control::Request request;
  request.node = *node;
  request.reason = value_of(*fields, "reason");
  const std::string_view verb = last_segment(call.request.path);
  request.kind = verb == "drain"    ? control::RequestKind::drain
                 : verb == "resume" ? control::RequestKind::resume
                                    : control::RequestKind::confirm_off;
  enqueue(call, std::move(request));
}

std::optional<std::vector<sched::NodeId>> Api::nodes_of(const ApiCall& call, const std::string& list) const {
  std::vector<sched::NodeId> nodes;
  const Result<std::vector<std::string>> names = expand_hosts(list);
  if (!names.ok()) {
    call.responder.respond(problem(400, "nodes: " + names.error().message));
    return std::nullopt;
  }
  for (const std::string& name : *names) {
    const std::optional<sched::NodeId> node = loop_.controller().state().machine().find(name);
    if (!node) {
      call.responder.respond(problem(404, fmt::format("the cluster has no node {}", in_backticks(name))));
      return std::nullopt;
    }
    nodes.push_back(*node);
  }
  return nodes;
}

void Api::reserve(const ApiCall& call) {
  const std::optional<BodyFields> fields = body_of(call, {"name", "nodes", "in", "for", "reason"});
  if (!fields || !is_acceptable(call, "name", value_of(*fields, "name"), kMaxKey) ||
      !is_acceptable(call, "reason", value_of(*fields, "reason"), kMaxReason)) {
    return;
  }
  control::Request request;
  request.kind = control::RequestKind::reserve;
  request.name = value_of(*fields, "name");
  request.reason = value_of(*fields, "reason");
  std::optional<std::vector<sched::NodeId>> nodes = nodes_of(call, value_of(*fields, "nodes"));
  if (!nodes) return;
  request.nodes = std::move(*nodes);
  const std::string in = value_of(*fields, "in");
  const Result<Duration> delay = in.empty() ? Result<Duration>(Duration()) : parse_planned("in", in);
  const Result<Duration> length = parse_planned("for", value_of(*fields, "for"));
  if (!delay.ok()) return call.responder.respond(problem(400, delay.error().message));
  if (!length.ok()) return call.responder.respond(problem(400, length.error().message));
  request.from = now_ + *delay;
  request.until = request.from + *length;
  enqueue(call, std::move(request));
}

void Api::unreserve(const ApiCall& call) {
  control::Request request;
  request.kind = control::RequestKind::unreserve;
  request.name = call.parameters.front();
  enqueue(call, std::move(request));
}

void Api::move_leases(const ApiCall& call) {
  const std::optional<BodyFields> fields = body_of(call, {"nodes", "to", "preempt", "reason"});
  if (!fields || !is_acceptable(call, "reason", value_of(*fields, "reason"), kMaxReason) || !has_leases(call)) return;
  control::Request request;
  request.kind = control::RequestKind::move_lease;
  request.reason = value_of(*fields, "reason");
  const std::string to = value_of(*fields, "to");
  const std::optional<lease::LeaseOwner> engine = lease::find_owner(to);
  if (!engine) return call.responder.respond(problem(400, fmt::format("{} is not an engine", in_backticks(to))));
  request.engine = *engine;
  const std::string preempt = value_of(*fields, "preempt");
  if (!preempt.empty() && preempt != "yes" && preempt != "no")
    return call.responder.respond(problem(400, "preempt must be \"yes\" or \"no\""));
  request.preempt = preempt == "yes";
  std::optional<std::vector<sched::NodeId>> nodes = nodes_of(call, value_of(*fields, "nodes"));
  if (!nodes) return;
  request.nodes = std::move(*nodes);
  enqueue(call, std::move(request));
}

}  // namespace weft::serve
