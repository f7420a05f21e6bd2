// Requests that change nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "serve/api/api.h"
#include "serve/api/event_view.h"
#include "serve/api/observed_views.h"
#include "serve/api/task_log.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxBuffered = 256U << 10U;  // of a follower, before the next records are read
constexpr std::size_t kMaxLogBytes = 4U << 20U;    // per response
constexpr std::size_t kMaxListed = 1'000'000;

// A whole number of the query, or `otherwise`; nullopt after an error response.
std::optional<std::uint64_t> number_of(const ApiCall& call, std::string_view name, std::uint64_t otherwise,
                                       std::uint64_t most) {
  const std::string* text = call.request.find_query(name);
  if (text == nullptr) return otherwise;
  std::uint64_t number = 0;
  const auto result = std::from_chars(text->data(), text->data() + text->size(), number);
  if (result.ec == std::errc() && result.ptr == text->data() + text->size() && number <= most) return number;
  call.responder.respond(
      problem(400, fmt::format("{} is {}, not a whole number up to {}", name, in_backticks(*text), most)));
  return std::nullopt;
}

std::string text_of(const ApiCall& call, std::string_view name) {
  const std::string* text = call.request.find_query(name);
  return text == nullptr ? std::string() : *text;
}

void respond_no_job(const ApiCall& call) {
  call.responder.respond(problem(404, fmt::format("there is no job {}", call.parameters.front())));
}

}  // namespace

std::optional<control::JobNumber> Api::job_number(const ApiCall& call) {
  const std::string& text = call.parameters.front();
  control::JobNumber number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc() && result.ptr == text.data() + text.size() && number != 0) return number;
  call.responder.respond(problem(400, fmt::format("{} is not a job number", in_backticks(text))));
  return std::nullopt;
}

std::optional<sched::NodeId> Api::node_id(const ApiCall& call) const {
  const std::optional<sched::NodeId> node = loop_.controller().state().machine().find(call.parameters.front());
  if (!node) {
    call.responder.respond(
        problem(404, fmt::format("the cluster has no node {}", in_backticks(call.parameters.front()))));
  }
  return node;
}

void Api::get_server(const ApiCall& call) {
  facts_.sequence = loop_.sequence();
  respond(call, server_view(view(call), facts_));
}

void Api::get_jobs(const ApiCall& call) {
  JobFilter filter;
  const std::optional<std::uint64_t> limit = number_of(call, "limit", filter.limit, kMaxListed);
  if (!limit) return;
  filter.limit = *limit;
  filter.user = text_of(call, "user");
  filter.state = text_of(call, "state");
  if (is_watching()) {
    filter.ended = text_of(call, "all") == "1";
    if (is_observed(call)) respond(call, observed_jobs_view(view(call), filter));
    return;
  }
  const std::optional<control::JobState> state = control::find_job_state(filter.state);
  if (!filter.state.empty() && !state && filter.state != "held" && filter.state != "canceling") {
    call.responder.respond(problem(400, fmt::format("{} is not a job state", in_backticks(filter.state))));
    return;
  }
  filter.ended = text_of(call, "all") == "1" || (state && control::is_final(*state));
  respond(call, jobs_view(view(call), filter));
}

// Kubernetes' "namespace/name" is one segment of a path as "namespace:name".
void Api::get_observed(const ApiCall& call, std::optional<Document> (*view_of)(const ViewContext&, std::string_view)) {
  if (!is_observed(call)) return;
  const std::optional<Document> document = view_of(view(call), replace_all(call.parameters.front(), ":", "/"));
  document ? respond(call, *document) : respond_no_job(call);
}

void Api::get_job(const ApiCall& call) {
  if (is_watching()) return get_observed(call, &observed_job_view);
  const std::optional<control::JobNumber> number = job_number(call);
  if (!number) return;
  const std::optional<Document> document = job_view(view(call), *number);
  document ? respond(call, *document) : respond_no_job(call);
}

void Api::get_why(const ApiCall& call) {
  if (is_watching()) return get_observed(call, &observed_why_view);
  const std::optional<control::JobNumber> number = job_number(call);
  if (!number) return;
  const std::optional<Document> document = why_view(view(call), *number);
  document ? respond(call, *document) : respond_no_job(call);
}

void Api::get_logs(const ApiCall& call) {
  const std::optional<control::JobNumber> number = job_number(call);
  if (!number) return;
  const control::ControlState& state = loop_.controller().state();
  const control::Job* job = state.find_job(*number);
  const control::EndedJob* ended = job == nullptr ? state.find_ended(*number) : nullptr;
  if (job == nullptr && ended == nullptr) return respond_no_job(call);
  if (!call.caller.may_change(job != nullptr ? job->user : ended->user)) {
    call.responder.respond(
        problem(403, fmt::format("the job belongs to {}", job != nullptr ? job->user : ended->user)));
    return;
  }
  const auto task = number_of(call, "task", 0, sched::kMaxTasks);
  const auto attempt = number_of(call, "attempt", job != nullptr ? job->attempts : ended->attempts, UINT32_MAX);
  const auto bytes = number_of(call, "bytes", kMaxLogBytes, kMaxLogBytes);
  if (!task || !attempt || !bytes) return;
  if (const std::string& output = job != nullptr ? job->spec->output : ended->output; !output.empty()) {
    call.responder.respond(problem(409, fmt::format("the job writes its output to a file of its own: {}", output)));
    return;
  }
  const std::string after = text_of(call, "after");
  const std::optional<LogPosition> position = parse_log_position(after);
  if (!after.empty() && !position) {
    call.responder.respond(problem(400, fmt::format("{} is not a position in a log", in_backticks(after))));
    return;
  }
  const LogRequest wanted{{*number, static_cast<control::AttemptNumber>(*attempt)}, *task, position, *bytes};
  const std::string file = fmt::format("{}/{}.{}.{}.log", options_.log_directory, *number, *attempt, *task);
  // Of two engines, one writes files; of a job that has ended, its engine is not kept.
  const bool in_files = !options_.engines.empty() &&
                        (job != nullptr ? loop_.controller().engine_of(*job->spec) != lease::LeaseOwner::kubernetes
                                        : ::access(file.c_str(), F_OK) == 0);
  if (options_.logs != nullptr && !in_files) {
    options_.logs->read_log(
        wanted, [this, responder = call.responder](const Result<LogPiece>& piece) { respond_log(responder, piece); });
    return;
  }
  Result<LogPiece> piece = read_task_log(file, position, *bytes);
  if (!piece.ok()) {
    piece = Error{ErrorCode::not_found, fmt::format("task {} of attempt {} has no output yet", *task, *attempt), {}};
  }
  respond_log(call.responder, piece);
}

void Api::respond_log(const Responder& responder, const Result<LogPiece>& piece) const {
  if (!piece.ok()) {
    const ErrorCode code = piece.error().code;
    return responder.respond(problem(code == ErrorCode::not_found ? 404 : 503, piece.error().message));
  }
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = piece->text;
  response.headers.emplace_back(kLogPositionHeader, to_text(piece->end));
  response.headers.emplace_back(kSequenceHeader, std::to_string(loop_.sequence()));
  responder.respond(response);
}

void Api::get_nodes(const ApiCall& call) { respond(call, nodes_view(view(call))); }

void Api::get_node(const ApiCall& call) {
  if (const std::optional<sched::NodeId> node = node_id(call)) respond(call, node_view(view(call), *node));
}

void Api::get_queue(const ApiCall& call) {
  if (const std::optional<std::uint64_t> limit = number_of(call, "limit", 20, kMaxListed)) {
    if (!is_watching()) return respond(call, queue_view(view(call), *limit));
    if (is_observed(call)) respond(call, observed_queue_view(view(call), *limit));
  }
}

void Api::get_reservations(const ApiCall& call) { respond(call, reservations_view(view(call))); }

bool Api::has_leases(const ApiCall& call) const {
  if (loop_.controller().uses_leases()) return true;
  call.responder.respond(problem(409, "this server has one engine: no node is leased"));
  return false;
}

void Api::get_leases(const ApiCall& call) {
  if (has_leases(call)) respond(call, leases_view(view(call)));
}

void Api::get_lease(const ApiCall& call) {
  if (!has_leases(call)) return;
  if (const std::optional<sched::NodeId> node = node_id(call)) respond(call, lease_view(view(call), *node));
}

void Api::get_events(const ApiCall& call) {
  const std::optional<std::uint64_t> job = number_of(call, "job", 0, UINT64_MAX);
  const std::optional<std::uint64_t> since = number_of(call, "since", store_.durable(), UINT64_MAX);
  if (!job || !since) return;
  const store::Sequence from = call.request.last_event_id.value_or(*since);
  if (from + 1 < store_.first()) {
    call.responder.respond(problem(
        410, fmt::format("the records before {} were replaced by a snapshot: read the state, then follow the events "
                         "from the {} of that response",
                         store_.first(), kSequenceHeader)));
    return;
  }
  if (from > store_.durable()) {
    call.responder.respond(problem(400, fmt::format("the journal ends at record {}", store_.durable())));
    return;
  }
  const auto follower = std::make_shared<Follower>(Follower{call.responder.open_stream(), from, *job});
  followers_.push_back(follower);
  send_events(follower);
}

void Api::send_events(const std::shared_ptr<Follower>& follower) {
  if (!follower->stream.is_open() || follower->sent >= store_.durable()) return;
  if (follower->stream.buffered_bytes() > kMaxBuffered) return;  // continues when it has been read
  const sched::Machine& machine = loop_.controller().state().machine();
  const Status status = store_.read(follower->sent + 1, [&](const store::Entry& entry) -> Status {
    if (follower->stream.buffered_bytes() > kMaxBuffered) return Error{ErrorCode::conflict, "enough for now", {}};
    follower->sent = entry.sequence;
    const Result<control::Record> record = control::parse_record(entry.bytes);
    if (!record.ok() || (follower->job != 0 && record->job != follower->job)) return {};
    follower->stream.send(entry.sequence, to_text(record->kind),
                          write_json_line(event_value(*record, entry.sequence, machine)));
    return {};
  });
  if (!status.ok() && status.error().code != ErrorCode::conflict) follower->stream.close();
  if (follower->sent >= store_.durable()) return;
  follower->stream.notify_when_drained([this, weak = std::weak_ptr<Follower>(follower)] {
    if (const std::shared_ptr<Follower> again = weak.lock()) send_events(again);
  });
}

void Api::publish() {
  followers_.remove_if([](const std::shared_ptr<Follower>& each) { return !each->stream.is_open(); });
  for (const std::shared_ptr<Follower>& each : followers_) send_events(each);
}

}  // namespace weft::serve
