#include "etcd/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weft::etcd {
namespace {

// A page of keys with 512 KiB each, in base64; etcd itself refuses requests above 1.5 MiB.
constexpr std::size_t kMaxAnswer = std::size_t{64} << 20U;
constexpr std::size_t kMaxLine = std::size_t{16} << 20U;
constexpr Duration kMinDeadline = milliseconds(50);
constexpr const char* kNoSpaceAdvice =
    "etcd has reached its quota and accepts no changes: compact, defragment and disarm the alarm (`etcdctl compact`, "
    "`etcdctl defrag`, `etcdctl alarm disarm`)";

bool was_not_executed(ErrorCode code) { return code == ErrorCode::unavailable; }

}  // namespace

Result<std::vector<WatchReply>> WatchStream::read(Duration wait) {
  Result<kube::StreamBytes> bytes = stream_->read(wait);
  if (!bytes.ok()) return bytes.error();
  pending_ += bytes->bytes;
  std::vector<WatchReply> replies;
  for (std::size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
    Result<WatchReply> reply = parse_watch(std::string_view(pending_).substr(0, end));
    if (!reply.ok()) return reply.error();
    replies.push_back(std::move(*reply));
    pending_.erase(0, end + 1);
  }
  if (pending_.size() > kMaxLine) return Error{ErrorCode::invalid_input, "a watch event is too large", {}};
  if (replies.empty() && bytes->state == kube::StreamState::closed)
    return Error{ErrorCode::timeout, "etcd closed the watch", {}};
  return replies;
}

Client::Client(std::vector<Endpoint> endpoints, std::function<Duration()> now, ClientOptions options)
    : endpoints_(std::move(endpoints)), now_(std::move(now)), options_(std::move(options)) {
  CHECK(!endpoints_.empty(), "an etcd cluster has members");
}

Status Client::log_in(Endpoint& endpoint, Duration deadline) {
  kube::ApiRequest request;
  request.method = "POST";
  request.target = "/v3/auth/authenticate";
  request.content_type = "application/json";
  request.body = write_login(options_.user, options_.password.reveal());
  request.deadline = deadline;
  request.has_secret = true;
  const Result<kube::ApiResponse> response = endpoint.transport->send(request);
  if (!response.ok()) {
    // A login changes nothing that matters, so it was not executed.
    const ErrorCode code = response.error().code;
    return Error{code == ErrorCode::timeout ? ErrorCode::unavailable : code, response.error().message, endpoint.name};
  }
  if (response->status != 200) {
    Error error = parse_failure(response->status, response->body).error;
    if (error.code == ErrorCode::timeout) error.code = ErrorCode::unavailable;
    error.message = fmt::format("user {}: {}", options_.user, error.message);
    error.where = endpoint.name;
    return error;
  }
  Result<std::string> token = parse_token(response->body);
  if (!token.ok()) return Error{token.error().code, token.error().message, endpoint.name};
  token_ = oob::Secret(std::move(*token));
  return {};
}

Result<std::string> Client::call_member(Endpoint& endpoint, std::string_view path, const std::string& body,
                                        Duration deadline) {
  for (int tries = 1;; ++tries) {
    if (!options_.user.empty() && token_.empty()) {
      if (Status logged_in = log_in(endpoint, deadline); !logged_in.ok()) return logged_in.error();
    }
    kube::ApiRequest request;
    request.method = "POST";
    request.target = path;
    request.content_type = "application/json";
    request.body = body;
    request.authorization = token_.reveal();
    request.deadline = deadline;
    request.max_bytes = kMaxAnswer;
    Result<kube::ApiResponse> response = endpoint.transport->send(request);
    if (!response.ok()) return Error{response.error().code, response.error().message, endpoint.name};
    if (response->status == 200) return std::move(response->body);
    Failure failure = parse_failure(response->status, response->body);
    if (failure.is_old_token && tries == 1 && !options_.user.empty()) {
      token_ = {};
      continue;
    }
    if (failure.is_no_space) failure.error.message = kNoSpaceAdvice;
    failure.error.where = endpoint.name;
    return failure.error;
  }
}

Result<std::string> Client::call(std::string_view path, const std::string& body, Repeat repeat) {
  const Duration end = now_() + options_.deadline;
  Error last{ErrorCode::unavailable, "no member of etcd answers", {}};
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    const Duration left = end - now_();
    if (i > 0 && left < kMinDeadline) break;
    Result<std::string> answer = call_member(endpoints_[preferred_], path, body,
                                             std::min(options_.member_deadline, std::max(left, kMinDeadline)));
    if (answer.ok()) return answer;
    last = answer.error();
    const bool unreachable = last.code == ErrorCode::unavailable || last.code == ErrorCode::timeout;
    if (!unreachable) return last;
    preferred_ = (preferred_ + 1) % endpoints_.size();
    if (repeat == Repeat::if_not_executed && !was_not_executed(last.code)) return last;
  }
  return last;
}

Result<RangeReply> Client::range(const RangeRequest& request) {
  const Result<std::string> answer = call("/v3/kv/range", write_range(request), Repeat::always);
  return answer.ok() ? parse_range(*answer) : Result<RangeReply>(answer.error());
}

Result<TxnReply> Client::txn(const TxnRequest& request) {
  const bool changes = std::any_of(request.success.begin(), request.success.end(),
                                   [](const Operation& operation) { return operation.kind != Operation::Kind::range; });
  const Result<std::string> answer =
      call("/v3/kv/txn", write_txn(request), changes ? Repeat::if_not_executed : Repeat::always);
  if (!answer.ok()) return answer.error();
  Result<TxnReply> reply = parse_txn(*answer);
  // It was executed, but not as far as this process can tell.
  if (!reply.ok()) return Error{ErrorCode::timeout, reply.error().message, {}};
  return reply;
}

Status Client::compact(Revision revision) {
  const Result<std::string> answer = call("/v3/kv/compaction", write_compact(revision), Repeat::always);
  if (answer.ok() || answer.error().code == ErrorCode::conflict) return {};  // somebody else did
  return answer.error();
}

Result<LeaseReply> Client::grant(std::int64_t ttl) {
  // A lease that is granted without anyone knowing expires.
  const Result<std::string> answer = call("/v3/lease/grant", write_grant(ttl), Repeat::always);
  return answer.ok() ? parse_grant(*answer) : Result<LeaseReply>(answer.error());
}

Status Client::keep_alive(LeaseId id) {
  const Result<std::string> answer = call("/v3/lease/keepalive", write_lease(id), Repeat::always);
  if (!answer.ok()) return answer.error();
  const Result<LeaseReply> reply = parse_keep_alive(*answer);
  if (!reply.ok()) return reply.error();
  if (reply->ttl <= 0) return Error{ErrorCode::not_found, "the lease has expired", {}};
  return {};
}

Status Client::revoke(LeaseId id) {
  const Result<std::string> answer = call("/v3/lease/revoke", write_lease(id), Repeat::always);
  if (answer.ok() || answer.error().code == ErrorCode::not_found) return {};
  return answer.error();
}

Result<std::vector<Alarm>> Client::alarms() {
  const Result<std::string> answer =
      call("/v3/maintenance/alarm", R"({"action":"GET","alarm":"NONE"})", Repeat::always);
  return answer.ok() ? parse_alarms(*answer) : Result<std::vector<Alarm>>(answer.error());
}

Result<std::unique_ptr<WatchStream>> Client::watch(const WatchRequest& request) {
  Error last{ErrorCode::unavailable, "no member of etcd answers", {}};
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    Endpoint& endpoint = endpoints_[preferred_];
    if (!options_.user.empty() && token_.empty()) {
      if (Status logged_in = log_in(endpoint, options_.member_deadline); !logged_in.ok()) return logged_in.error();
    }
    kube::ApiRequest open;
    open.method = "POST";
    open.target = "/v3/watch";
    open.content_type = "application/json";
    open.body = write_watch(request);
    open.authorization = token_.reveal();
    open.deadline = options_.member_deadline;
    Result<std::unique_ptr<kube::ResponseStream>> stream = endpoint.transport->open(open);
    if (stream.ok() && (*stream)->status() == 200) return std::make_unique<WatchStream>(std::move(*stream));
    last = stream.ok() ? Error{ErrorCode::unavailable, fmt::format("HTTP status {}", (*stream)->status()), {}}
                       : stream.error();
    if (stream.ok()) token_ = {};  // perhaps it is old
    preferred_ = (preferred_ + 1) % endpoints_.size();
  }
  return last;
}

}  // namespace weft::etcd
