// Requests that change nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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
constexpr std::size_t kMaxReads = 4096;            // records between two turns of the control loop, for all followers
constexpr std::size_t kMaxReadsEach = 1024;        // and for one at a time
constexpr std::size_t kMaxStreamsPerUser = 64;     // of events
constexpr std::size_t kMaxLogBytes = 4U << 20U;    // per response

void respond_no_job(const ApiCall& call) { call.responder.respond(absent_problem("job", call.object())); }

}  // namespace

std::optional<control::JobNumber> Api::job_number(const ApiCall& call) {
  const std::string& text = call.object();
  control::JobNumber number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc() && result.ptr == text.data() + text.size() && number != 0) return number;
  call.responder.respond(problem(400, fmt::format("{} is not a job number", in_backticks(text))));
  return std::nullopt;
}

std::optional<sched::NodeId> Api::node_id(const ApiCall& call) const {
  const std::optional<sched::NodeId> node = loop_->controller().state().machine().find(call.object());
  if (!node) {
    call.responder.respond(problem(404, fmt::format("the cluster has no node {}", in_backticks(call.object()))));
  }
  return node;
}

void Api::get_server(const ApiCall& call) {
  facts_.sequence = loop_->sequence();
  respond(call, server_view(view(call), facts_));
}

void Api::get_jobs(const ApiCall& call) {
  JobFilter filter;
  filter.limit = call.parameters.number("ended", filter.limit);
  filter.user = call.parameters.text("user");
  filter.state = call.parameters.text("state");
  if (is_watching()) {
    filter.ended = call.parameters.is_set("all");
    if (is_observed(call)) respond(call, observed_jobs_view(view(call), filter));
    return;
  }
  const std::optional<control::JobState> state = control::find_job_state(filter.state);
  if (!filter.state.empty() && !state && filter.state != "held" && filter.state != "canceling") {
    call.responder.respond(problem(400, fmt::format("{} is not a job state", in_backticks(filter.state))));
    return;
  }
  filter.ended = call.parameters.is_set("all") || (state && control::is_final(*state));
  respond(call, jobs_view(view(call), filter));
}

// Kubernetes' "namespace/name" is one segment of a path as "namespace:name".
void Api::get_observed(const ApiCall& call, std::optional<Document> (*view_of)(const ViewContext&, std::string_view)) {
  if (!is_observed(call)) return;
  const std::optional<Document> document = view_of(view(call), replace_all(call.object(), ":", "/"));
  document ? respond(call, *document) : respond_no_job(call);
}

void Api::get_job(const ApiCall& call) {
  if (is_watching()) return get_observed(call, &observed_job_view);
  const std::optional<control::JobNumber> number = job_number(call);
  if (!number) return;
  const std::optional<Document> document = job_view(view(call), *number);
  document ? respond(call, *document, entity_tag(loop_->controller().state().job_text(*number))) : respond_no_job(call);
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
  const VisibleJob found = find_visible(loop_->controller().state(), call.caller.access, *number);
  if (!found.exists()) return respond_no_job(call);
  const control::Job* job = found.job;
  const control::EndedJob* ended = found.ended;
  const std::string& owner = job != nullptr ? job->user : ended->user;
  if (!call.caller.access.may_read_output(job != nullptr ? job->spec->shape.tenant : ended->tenant, owner)) {
    call.responder.respond(problem(403, fmt::format("the job belongs to {}", owner)));
    return;
  }
  const std::uint64_t task = call.parameters.number("task", 0);
  const std::uint64_t attempt = call.parameters.number("attempt", job != nullptr ? job->attempts : ended->attempts);
  const std::uint64_t bytes = call.parameters.number("bytes", kMaxLogBytes);
  if (const std::string& output = job != nullptr ? job->spec->output : ended->output; !output.empty()) {
    call.responder.respond(problem(409, fmt::format("the job writes its output to a file of its own: {}", output)));
    return;
  }
  const std::string& after = call.parameters.text("after");
  const std::optional<LogPosition> position = parse_log_position(after);
  if (!after.empty() && !position) {
    call.responder.respond(problem(400, fmt::format("{} is not a position in a log", in_backticks(after))));
    return;
  }
  const LogRequest wanted{{*number, static_cast<control::AttemptNumber>(attempt)}, task, position, bytes};
  const std::string file = fmt::format("{}/{}.{}.{}.log", options_.log_directory, *number, attempt, task);
  // Of two engines, one writes files; of a job that has ended, its engine is not kept.
  const bool in_files = !options_.engines.empty() &&
                        (job != nullptr ? loop_->controller().engine_of(*job->spec) != lease::LeaseOwner::kubernetes
                                        : ::access(file.c_str(), F_OK) == 0);
  if (options_.logs != nullptr && !in_files) {
    options_.logs->read_log(
        wanted, [this, responder = call.responder](const Result<LogPiece>& piece) { respond_log(responder, piece); });
    return;
  }
  Result<LogPiece> piece = read_task_log(file, position, bytes);
  if (!piece.ok()) {
    piece = Error{ErrorCode::not_found, fmt::format("task {} of attempt {} has no output yet", task, attempt), {}};
  }
  respond_log(call.responder, piece);
}

void Api::respond_log(const Reply& responder, const Result<LogPiece>& piece) const {
  if (!piece.ok()) {
    const ErrorCode code = piece.error().code;
    return responder.respond(problem(code == ErrorCode::not_found ? 404 : 503, piece.error().message));
  }
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = piece->text;
  response.headers.emplace_back(kLogPositionHeader, to_text(piece->end));
  response.headers.emplace_back(kSequenceHeader, std::to_string(loop_->sequence()));
  responder.respond(response);
}

void Api::get_nodes(const ApiCall& call) { respond(call, nodes_view(view(call))); }

void Api::get_node(const ApiCall& call) {
  const std::optional<sched::NodeId> node = node_id(call);
  if (node) respond(call, node_view(view(call), *node), entity_tag(loop_->controller().state().node_text(*node)));
}

void Api::get_queue(const ApiCall& call) {
  const std::uint64_t limit = call.parameters.number("limit", 20);
  if (!is_watching()) return respond(call, queue_view(view(call), limit));
  if (is_observed(call)) respond(call, observed_queue_view(view(call), limit));
}

void Api::get_reservations(const ApiCall& call) { respond(call, reservations_view(view(call))); }

bool Api::has_leases(const ApiCall& call) const {
  if (loop_->controller().uses_leases()) return true;
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
  const control::JobNumber job = call.parameters.number("job", 0);
  const store::Sequence since = call.parameters.number("since", store_->durable());
  const store::Sequence from = call.request.last_event_id.value_or(since);
  if (from > store_->durable()) {
    call.responder.respond(problem(400, fmt::format("the journal ends at record {}", store_->durable())));
    return;
  }
  if (from + 1 < store_->first()) {
    call.responder.respond(problem(
        410, fmt::format("the records before {} were replaced by a snapshot: read the state, then follow the events "
                         "from the {} of that response",
                         store_->first(), kSequenceHeader)));
    return;
  }
  // One person's scripts must not use up the connections of a host that others work on, too.
  const auto own = std::count_if(followers_.begin(), followers_.end(), [&](const std::shared_ptr<Follower>& each) {
    return each->stream.is_open() && each->caller.user() == call.caller.user();
  });
  if (static_cast<std::size_t>(own) >= kMaxStreamsPerUser) {
    HttpResponse response =
        problem(429, fmt::format("{} follows the events with {} streams already, the most that one user may: close one",
                                 call.caller.user(), kMaxStreamsPerUser));
    response.headers.emplace_back("Retry-After", "30");
    return call.responder.respond(response);
  }
  const auto follower = std::make_shared<Follower>(Follower{call.responder.open_stream(), from, job, call.caller});
  followers_.push_back(follower);
  send_events(follower);
}

void Api::send_events(const std::shared_ptr<Follower>& follower) {
  if (!follower->stream.is_open() || follower->sent >= store_->durable()) return;
  if (follower->stream.buffered_bytes() > kMaxBuffered) return;  // continues when it has been read
  const control::ControlState& state = loop_->controller().state();
  const access::Access& access = follower->caller.access;
  std::size_t left = std::min(reads_left_, kMaxReadsEach);
  if (left == 0) return;  // publish() continues, also below
  reads_left_ -= left;
  const Status status = store_->read(follower->sent + 1, [&](const store::Entry& entry) -> Status {
    if (left == 0 || follower->stream.buffered_bytes() > kMaxBuffered)
      return Error{ErrorCode::conflict, "enough for now", {}};
    --left;
    follower->sent = entry.sequence;
    Result<control::Record> record = control::parse_record(entry.bytes);
    if (!record.ok() || (follower->job != 0 && record->job != follower->job)) return {};
    if (!may_see_event(*record, state, access)) return {};
    const control::Record shown = reduce_record(std::move(*record), access);
    follower->stream.send(entry.sequence, to_text(shown.kind),
                          write_json_line(event_value(shown, entry.sequence, state.machine())));
    return {};
  });
  reads_left_ += left;
  if (!status.ok() && status.error().code != ErrorCode::conflict) follower->stream.close();
  if (follower->stream.buffered_bytes() <= kMaxBuffered) return;
  follower->stream.notify_when_drained([this, weak = std::weak_ptr<Follower>(follower)] {
    if (const std::shared_ptr<Follower> again = weak.lock()) send_events(again);
  });
}

void Api::publish() {
  if (options_.gatekeeper != nullptr) {
    for (const std::shared_ptr<Follower>& each : followers_) {
      if (!options_.gatekeeper->is_still_valid(each->caller)) each->stream.close();
    }
  }
  followers_.remove_if([](const std::shared_ptr<Follower>& each) { return !each->stream.is_open(); });
  // Who was not reached in this turn is the first in the next one.
  reads_left_ = kMaxReads;
  for (std::size_t count = followers_.size(); count > 0 && reads_left_ > 0; --count) {
    send_events(followers_.front());
    followers_.splice(followers_.end(), followers_, followers_.begin());
  }
}

bool Api::has_unsent_events() const {
  return std::any_of(followers_.begin(), followers_.end(), [&](const std::shared_ptr<Follower>& each) {
    return each->stream.is_open() && each->sent < store_->durable() && each->stream.buffered_bytes() <= kMaxBuffered;
  });
}

}  // namespace weft::serve
