#include "serve/api/api.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"
#include "serve/api/event_view.h"

namespace weft::serve {

struct Api::Route {
  RouteInfo info;
  void (Api::*run)(const ApiCall&);
  bool needs_operator = false;
  bool needs_drive = false;  // refused in watch mode
};

const std::vector<Api::Route>& Api::table() {
  static const std::vector<Route> routes = {
      {{"GET", "/v1/server", "the server: cluster, journal, counts"}, &Api::get_server},
      {{"GET", "/v1/jobs", "jobs; ?all=1 with those that ended, ?user=, ?state=, ?limit="}, &Api::get_jobs},
      {{"POST", "/v1/jobs",
        "submit: {\"text\", \"name\", \"directory\", \"tenant\", \"image\"}; Idempotency-Key makes it repeatable"},
       &Api::submit_job,
       false,
       true},
      {{"GET", "/v1/jobs/{job}", "one job"}, &Api::get_job},
      {{"GET", "/v1/jobs/{job}/why", "why it waits and what would start it, or why it runs where it does"},
       &Api::get_why},
      {{"GET", "/v1/jobs/{job}/logs", "output of a task: ?task=, ?attempt=, ?bytes=, ?after=POSITION"},
       &Api::get_logs,
       false,
       true},
      {{"POST", "/v1/jobs/{job}/cancel", "cancel: {\"reason\"}"}, &Api::change_job, false, true},
      {{"POST", "/v1/jobs/{job}/hold", "hold: {\"reason\"}"}, &Api::change_job, false, true},
      {{"POST", "/v1/jobs/{job}/release", "release"}, &Api::change_job, false, true},
      {{"POST", "/v1/jobs/{job}/drill", "stop with a checkpoint and restore it"}, &Api::change_job, false, true},
      {{"GET", "/v1/nodes", "nodes"}, &Api::get_nodes},
      {{"GET", "/v1/nodes/{node}", "one node"}, &Api::get_node},
      {{"POST", "/v1/nodes/{node}/drain", "no new jobs: {\"reason\"}"}, &Api::change_node, true, true},
      {{"POST", "/v1/nodes/{node}/resume", "back in service: {\"reason\"}"}, &Api::change_node, true},
      {{"POST", "/v1/nodes/{node}/confirm-off", "a person verified that it is powered off: {\"reason\"}"},
       &Api::change_node,
       true,
       true},
      {{"GET", "/v1/reservations", "reservations for maintenance"}, &Api::get_reservations},
      {{"POST", "/v1/reservations",
        "reserve nodes for maintenance: {\"name\", \"nodes\", \"in\", \"for\", \"reason\"}, times from now such as 2h"},
       &Api::reserve,
       true,
       true},
      {{"POST", "/v1/reservations/{name}/remove", "end a reservation, or withdraw it"}, &Api::unreserve, true, true},
      {{"GET", "/v1/leases", "which engine owns which node, and the moves under way"}, &Api::get_leases},
      {{"GET", "/v1/leases/{node}", "the lease of one node"}, &Api::get_lease},
      {{"POST", "/v1/leases/move", "move nodes to another engine: {\"nodes\", \"to\", \"preempt\", \"reason\"}"},
       &Api::move_leases,
       true,
       true},
      {{"GET", "/v1/queue", "waiting jobs in order, tenants, fragmentation; ?limit="}, &Api::get_queue},
      {{"GET", "/v1/events", "journal records as server-sent events; ?job=; Last-Event-ID resumes"}, &Api::get_events},
  };
  return routes;
}

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

}  // namespace

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

Api::Api(world::ControlLoop& loop, store::Store& store, std::shared_ptr<const model::Cluster> cluster,
         ApiOptions options)
    : loop_(loop), store_(store), cluster_(std::move(cluster)), options_(std::move(options)) {}

std::vector<Api::RouteInfo> Api::routes() {
  std::vector<RouteInfo> infos;
  for (const Route& route : table()) infos.push_back(route.info);
  return infos;
}

void Api::handle(HttpRequest request, Responder responder) {
  if (!output_style(request)) {
    responder.respond(problem(400, "unknown output format; known: table, wide, json, yaml, ndjson, csv"));
    return;
  }
  Caller caller = find_caller(request.peer, options_.server_uid);
  ApiCall call{std::move(request), std::move(responder), std::move(caller), {}};
  std::vector<std::string_view> allowed;
  for (const Route& route : table()) {
    if (!matches(route.info.pattern, call.request.path, call.parameters)) continue;
    allowed.push_back(route.info.method);
    if (route.info.method != call.request.method) continue;
    if (route.needs_operator && !call.caller.is_operator) {
      call.responder.respond(
          problem(403, fmt::format("{} is not an operator of this cluster: only root and the user that runs weft "
                                   "serve may change nodes",
                                   call.caller.user)));
      return;
    }
    if (route.needs_drive && is_watching()) {
      call.responder.respond(
          problem(403, fmt::format("watch mode: {} schedules this cluster, and weft does not change its jobs or "
                                   "reservations; use the engine's own commands, or run `weft serve` with --mode drive",
                                   facts_.engine)));
      return;
    }
    (this->*route.run)(call);
    return;
  }
  if (allowed.empty()) {
    call.responder.respond(problem(404, fmt::format("there is no {}", in_backticks(call.request.path))));
    return;
  }
  HttpResponse response =
      problem(405, fmt::format("{} has no {}", call.request.path, in_backticks(call.request.method)));
  response.headers.emplace_back("Allow", join(allowed, ", "));
  call.responder.respond(response);
}

void Api::respond(const ApiCall& call, const Document& document) const {
  const OutputStyle style = *output_style(call.request);
  HttpResponse response;
  response.body = write(document, style);
  if (style.format != OutputFormat::json) response.content_type = "text/plain; charset=utf-8";
  response.headers.emplace_back(kSequenceHeader, std::to_string(loop_.sequence()));
  if (is_watching()) response.headers.emplace_back(kModeHeader, "watch");
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
      entry.responder.respond(problem(status_of(answer.code), answer.text));
      continue;
    }
    Document document;
    document.kind = "answer";
    FactsSection facts{"answer", "", {}};
    if (answer.job != 0) facts.facts.push_back({"job", "Job", answer.job});
    facts.facts.push_back({"message", "Message", answer.text});
    document.sections.emplace_back(std::move(facts));
    HttpResponse response;
    response.status = entry.submits && answer.text == "submitted" ? 201 : 200;
    response.body = write(document, entry.style);
    if (entry.style.format != OutputFormat::json) response.content_type = "text/plain; charset=utf-8";
    if (entry.submits) response.headers.emplace_back("Location", fmt::format("/v1/jobs/{}", answer.job));
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
