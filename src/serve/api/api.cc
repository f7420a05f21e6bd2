#include "serve/api/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"
#include "sched/explain/explain.h"
#include "serve/api/event_view.h"
#include "serve/api/list_page.h"
#include "serve/api/openapi.h"

namespace weft::serve {
namespace {

// Whether the path matches, with the segments that stand for {...}.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& parameters) {
  const std::vector<std::string_view> wanted = split(pattern, '/');
  const std::vector<std::string_view> given = split(path, '/');
  if (wanted.size() != given.size()) return false;
  parameters.clear();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].starts_with('{')) {
      parameters.emplace_back(given[i]);
    } else if (wanted[i] != given[i]) {
      return false;
    }
  }
  return true;
}

bool is_below(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

// `allowed`: the methods that the path has; none: there is no such path.
HttpResponse no_such_request(const HttpRequest& request, const std::vector<std::string_view>& allowed) {
  if (allowed.empty()) return problem(404, fmt::format("there is no {}", in_backticks(request.path)));
  HttpResponse response = problem(405, fmt::format("{} has no {}", request.path, in_backticks(request.method)));
  response.headers.emplace_back("Allow", join(allowed, ", "));
  return response;
}

}  // namespace

Api::Handler Api::handler_of(std::string_view id) {
  static constexpr std::pair<std::string_view, Handler> kHandlers[] = {
      {"server.show", &Api::get_server},
      {"job.list", &Api::get_jobs},
      {"job.submit", &Api::submit_job},
      {"job.check", &Api::check_job},
      {"job.show", &Api::get_job},
      {"job.why", &Api::get_why},
      {"job.logs", &Api::get_logs},
      {"job.cancel", &Api::change_job},
      {"job.hold", &Api::change_job},
      {"job.release", &Api::change_job},
      {"job.drill", &Api::change_job},
      {"node.list", &Api::get_nodes},
      {"node.show", &Api::get_node},
      {"node.drain", &Api::change_node},
      {"node.resume", &Api::change_node},
      {"node.confirm-off", &Api::change_node},
      {"reservation.list", &Api::get_reservations},
      {"reservation.create", &Api::reserve},
      {"reservation.remove", &Api::unreserve},
      {"lease.list", &Api::get_leases},
      {"lease.show", &Api::get_lease},
      {"lease.move", &Api::move_leases},
      {"queue.show", &Api::get_queue},
      {"event.follow", &Api::get_events},
  };
  for (const auto& [known, handler] : kHandlers) {
    if (known == id) return handler;
  }
  return nullptr;
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_input:
      return 400;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::conflict:
      return 409;
    case ErrorCode::refused:
      return 403;
    case ErrorCode::unavailable:
      return 503;
    case ErrorCode::timeout:
      return 504;
    case ErrorCode::internal:
      break;
  }
  return 500;
}

std::optional<OutputStyle> output_style(const HttpRequest& request) {
  OutputStyle style;
  style.format = OutputFormat::json;
  const std::string* color = request.find_query("color");
  style.color = color != nullptr && *color == "1";
  if (const std::string* width = request.find_query("width"); width != nullptr) {
    // The parameter was checked against format_fields().
    std::from_chars(width->data(), width->data() + width->size(), style.width);
  }
  const std::string* name = request.find_query("output");
  if (name == nullptr) return style;
  static constexpr std::pair<std::string_view, OutputFormat> kFormats[] = {
      {"table", OutputFormat::table}, {"wide", OutputFormat::wide},     {"json", OutputFormat::json},
      {"yaml", OutputFormat::yaml},   {"ndjson", OutputFormat::ndjson}, {"csv", OutputFormat::csv}};
  for (const auto& [known, format] : kFormats) {
    if (known != *name) continue;
    style.format = format;
    return style;
  }
  return std::nullopt;
}

std::string entity_tag(std::string_view text) { return fmt::format("\"{}\"", sha256(text).substr(0, 32)); }

bool matches_tag(std::string_view condition, std::string_view tag, TagComparison comparison) {
  for (std::string_view each : split(condition, ',')) {
    each = trim(each);
    if (comparison == TagComparison::weak && each.starts_with("W/")) each.remove_prefix(2);
    if (each == "*" || each == tag) return true;
  }
  return false;
}

Api::Api(world::ControlLoop& loop, store::Store& store, std::shared_ptr<const model::Cluster> cluster,
         ApiOptions options)
    : loop_(&loop), store_(&store), cluster_(std::move(cluster)), options_(std::move(options)) {}

void Api::handle(HttpRequest request, const Responder& responder) {
  // The description of the API is for everyone, as is its page.
  if (!is_below(request.path, kApiPrefix) || request.path == "/api/v1/openapi.json") {
    if (options_.gatekeeper != nullptr && options_.gatekeeper->handle_page(request, responder)) return;
    std::vector<std::string_view> allowed;
    for (const PlainRoute& route : plain_routes()) {
      if (options_.gatekeeper != nullptr && route.path == request.path) allowed.push_back(route.method);
    }
    return Reply(responder, request.request_id).respond(no_such_request(request, allowed));
  }
  if (options_.gatekeeper == nullptr) {
    Caller caller;
    caller.identity = identify_peer(request.peer, false);
    caller.access = local_access(caller.identity, request.peer, options_.server_uid);
    caller.has_account = true;
    caller.uid = request.peer.uid;
    caller.gid = request.peer.gid;
    const Reply reply(responder, request.request_id);
    dispatch(std::move(request), reply, std::move(caller), {});
    return;
  }
  const auto kept = std::make_shared<HttpRequest>(std::move(request));
  options_.gatekeeper->identify(*kept, [this, kept, responder](std::variant<Caller, HttpResponse> outcome) {
    if (const auto* refused = std::get_if<HttpResponse>(&outcome))
      return Reply(responder, kept->request_id).respond(*refused);
    const Reply reply(responder, kept->request_id);
    dispatch(std::move(*kept), reply, std::move(std::get<Caller>(outcome)), {});
  });
}

void Api::carry_out(HttpRequest request, const Reply& reply, Caller caller, std::string approved_by) {
  dispatch(std::move(request), reply, std::move(caller), std::move(approved_by));
}

void Api::dispatch(HttpRequest request, const Reply& reply, Caller caller, std::string approved_by) {
  ApiCall call{std::move(request), reply, std::move(caller), std::move(approved_by), nullptr, {}, {}};
  const std::string path = call.request.path.substr(kApiPrefix.size());
  std::vector<std::string_view> allowed;
  for (const RouteRow& row : route_rows()) {
    if (!matches(row.pattern, path, call.path)) continue;
    allowed.push_back(row.method);
    if (row.method != call.request.method) continue;
    call.row = &row;
    if (may_call(call) && read_call(call)) run(call);
    return;
  }
  call.responder.respond(no_such_request(call.request, allowed));
}

bool Api::may_call(const ApiCall& call) const {
  const access::Access& access = call.caller.access;
  const auto refuse = [&](std::string_view needed) {
    if (options_.gatekeeper != nullptr && call.row->changes) options_.gatekeeper->note_refused(call);
    call.responder.respond(
        problem(403, fmt::format("{} needs {}: {} does not have it", call.row->id, needed, call.caller.user())));
    return false;
  };
  switch (call.row->need) {
    case Need::anyone:
    case Need::signed_in:
      return true;
    case Need::see:
    case Need::change:
    case Need::output:
      return access.has_any_role() || refuse("a role");
    case Need::submit:
      return access.may_submit_somewhere() || refuse("the role user of a tenant");
    case Need::operate:
      return access.is_operator() || refuse("the role operator");
    case Need::administer:
      break;
  }
  return access.is_admin() || refuse("the role admin");
}

bool Api::read_call(ApiCall& call) const {
  std::vector<InputError> errors;
  if (call.row->method != "GET" && !trim(call.request.body).empty() &&
      !call.request.content_type.starts_with("application/json")) {
    call.responder.respond(problem(415, "the body must be application/json"));
    return false;
  }
  call.parameters = read_parameters(*call.row, call.request, errors);
  if (!call.request.idempotency_key.empty() && (call.request.idempotency_key.size() > 200 || !call.row->creates)) {
    errors.push_back({InputError::Where::header, "Idempotency-Key",
                      call.row->creates ? "the Idempotency-Key must be at most 200 bytes"
                                        : "this request does not accept an Idempotency-Key"});
  }
  if (!call.request.if_match.empty() && !call.row->conditional)
    errors.push_back({InputError::Where::header, "If-Match", "this request does not accept If-Match"});
  if (!errors.empty()) {
    call.responder.respond(input_problem(errors));
    return false;
  }
  if (!call.row->needs_drive || !is_watching()) return true;
  call.responder.respond(
      problem(403, fmt::format("watch mode: {} schedules this cluster, and weft does not change its jobs or "
                               "reservations; use the engine's own commands, or run `weft serve` with --mode drive",
                               facts_.engine)));
  return false;
}

void Api::attach(world::ControlLoop& loop, store::Store& store, LogSource* logs, const std::string& why) {
  loop_ = &loop;
  store_ = &store;
  options_.logs = logs;
  requests_.clear();
  for (auto& [id, entry] : waiting_) entry.responder.respond(problem(503, why));
  waiting_.clear();
  for (const std::shared_ptr<Follower>& each : followers_) each->stream.close();  // they continue at the leader
  followers_.clear();
}

// Sessions and tokens belong to each controller; what is in the journal and out of band belongs to the leader.
bool Api::is_for_leader(const ApiCall& call) const {
  return facts_.role == kFollowerRole && call.row->changes &&
         (handler_of(call.row->id) != nullptr || call.row->id.starts_with("oob."));
}

void Api::run(const ApiCall& call) {
  if (is_for_leader(call)) {
    // 421 (RFC 9110 section 15.5.20): the request is for another server. 503: soon it may be for this one.
    const bool is_known = !facts_.leader.empty();
    const std::string where = is_known ? "send changes to the leader, " + facts_.leader : "no controller leads now";
    HttpResponse response =
        problem(is_known ? 421 : 503, fmt::format("this controller does not lead, and nothing was changed: {}", where));
    if (!facts_.leader.empty()) response.headers.emplace_back(kLeaderHeader, facts_.leader);
    return call.responder.respond(response);
  }
  const Handler handler = handler_of(call.row->id);
  if (handler != nullptr) return (this->*handler)(call);
  if (options_.gatekeeper != nullptr && options_.gatekeeper->handle(call)) return;
  call.responder.respond(problem(501, fmt::format("{} needs a server with --access", call.row->id)));
}

void Api::submit_change(const ApiCall& call, control::Request request, std::function<std::string()> describe) {
  if (options_.gatekeeper == nullptr) return enqueue(call, std::move(request));
  if (!facts_.store_problem.empty()) return enqueue(call, {});  // answers why it is refused
  const auto kept = std::make_shared<control::Request>(std::move(request));
  options_.gatekeeper->admit(call, std::move(describe), [this, call, kept] { enqueue(call, std::move(*kept)); });
}

void Api::respond(const ApiCall& call, Document document, const std::string& tag) const {
  HttpResponse response;
  if (call.row->lists) {
    std::vector<InputError> errors;
    const std::string next = apply_list_parameters(document, call.parameters, errors);
    if (!errors.empty()) return call.responder.respond(input_problem(errors));
    if (!next.empty()) response.headers.emplace_back(kNextPageHeader, next);
  }
  const OutputStyle style = *output_style(call.request);
  if (!tag.empty() && matches_tag(call.request.if_none_match, tag, TagComparison::weak)) {
    response.status = 304;  // RFC 9110 section 15.4.5
  } else {
    response.body = write(document, style);
  }
  if (style.format != OutputFormat::json) response.content_type = "text/plain; charset=utf-8";
  response.headers.emplace_back(kSequenceHeader, std::to_string(loop_->sequence()));
  if (!tag.empty()) response.headers.emplace_back("ETag", tag);
  if (is_watching()) response.headers.emplace_back(kModeHeader, "watch");
  if (!facts_.role.empty()) response.headers.emplace_back(kRoleHeader, facts_.role);
  if (facts_.role == kFollowerRole) response.headers.emplace_back(kStaleHeader, facts_.stale);
  call.responder.respond(response);
}

bool Api::is_observed(const ApiCall& call) const {
  const world::Observation* observation = options_.watched->observation();
  if (observation != nullptr && observation->cluster != nullptr) return true;
  call.responder.respond(problem(503, fmt::format("the jobs of the engine are not known yet{}{}",
                                                  observation == nullptr || observation->problem.empty() ? "" : ": ",
                                                  observation == nullptr ? "" : observation->problem)));
  return false;
}

std::vector<control::Request> Api::take_requests() {
  return facts_.store_problem.empty() ? std::exchange(requests_, {}) : std::vector<control::Request>();
}

void Api::finish_turn(const world::TurnResult& result) {
  for (const control::Answer& answer : result.answers) {
    const auto waiting = waiting_.find(answer.request);
    if (waiting == waiting_.end()) continue;
    const Waiting entry = std::move(waiting->second);
    waiting_.erase(waiting);
    if (!answer.ok) {
      entry.responder.respond(problem(answer.changed ? 412 : status_of(answer.code), answer.text));
      continue;
    }
    Document document;
    document.kind = "answer";
    FactsSection facts{"answer", "", {}};
    if (answer.job != 0) {
      facts.facts.push_back({"job", "Job", answer.job});
      entry.responder.add_evidence("job", answer.job);
    }
    entry.responder.add_evidence("journal", loop_->sequence());
    facts.facts.push_back({"message", "Message", answer.text});
    if (entry.expect) facts.facts.push_back({"expected_start", "Expected start", expected_start(answer.job)});
    document.sections.emplace_back(std::move(facts));
    HttpResponse response;
    response.status = entry.creates && !answer.text.starts_with("already ") ? 201 : 200;
    response.body = write(document, entry.style);
    if (entry.style.format != OutputFormat::json) response.content_type = "text/plain; charset=utf-8";
    if (entry.submits) response.headers.emplace_back("Location", fmt::format("{}/jobs/{}", kApiPrefix, answer.job));
    entry.responder.respond(response);
  }
  if (result.store_full.empty()) {
    facts_.store_problem.clear();
    return;
  }
  facts_.store_problem = result.store_full;
  for (auto& [id, entry] : waiting_) {
    entry.responder.respond(problem(
        503, fmt::format("the journal cannot be written ({}): the request takes effect when it can be; if it is "
                         "repeated, use the same Idempotency-Key",
                         result.store_full)));
  }
  waiting_.clear();
}

}  // namespace weft::serve
