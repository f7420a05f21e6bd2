#include "serve/http/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "base/check.h"
#include "base/socket.h"
#include "base/text.h"
#include "serve/http/client_link.h"
#include "serve/http/response_reader.h"

namespace weft::serve {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10U;

Deadline deadline_after(Duration duration) {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(duration.count());
}

std::string describe(int code) { return std::generic_category().message(code); }

// One request on its way: how much of it was sent decides what a failure means.
class ClientConnection {
 public:
  ClientConnection(std::unique_ptr<ClientLink> link, const ClientRequest& request)
      : link_(std::move(link)), request_(request), reader_(request.method == "HEAD", limits_of(request)) {}

  // Sends the request; stops early if the server responds before it has all of it.
  [[nodiscard]] Status send(Deadline deadline);
  // Reads until the response's state changes or some of the body has come.
  [[nodiscard]] Status read(Deadline deadline);
  [[nodiscard]] ResponseReader& reader() { return reader_; }

 private:
  static ResponseLimits limits_of(const ClientRequest& request) {
    ResponseLimits limits;
    limits.body_bytes = request.max_response_bytes;
    return limits;
  }
  [[nodiscard]] Error fail(ErrorCode code, std::string_view what) const;
  [[nodiscard]] Error fail_closed(int code) const;

  [[nodiscard]] int socket() const { return link_->socket(); }
  [[nodiscard]] Result<bool> has_early_response();

  std::unique_ptr<ClientLink> link_;
  const ClientRequest& request_;
  ResponseReader reader_;
  std::array<char, kReadBytes> buffer_;  // not zeroed: most responses need one page of it
  std::string plain_;                    // received, and not read yet
  bool sent_ = false;                    // all of it
};

std::string format_request(const ClientRequest& request) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", request.method, request.target,
                                request.endpoint.authority());
  if (!request.endpoint.is_local() && !request.endpoint.token.empty())
    append_format(out, "Authorization: Bearer {}\r\n", request.endpoint.token);
  const bool has_body = !request.body.empty() || request.method == "POST" || request.method == "PUT";
  if (has_body) append_format(out, "Content-Length: {}\r\n", request.body.size());
  if (!request.body.empty()) append_format(out, "Content-Type: {}\r\n", request.content_type);
  for (const auto& [name, value] : request.headers) {
    CHECK(is_valid_text(name) && is_valid_text(value), "a header is one line");
    append_format(out, "{}: {}\r\n", name, value);
  }
  return out.append("\r\n").append(request.body);
}

Status ClientConnection::send(Deadline deadline) {
  const std::string bytes = link_->encode(format_request(request_));
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t count = ::send(socket(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      left.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    // The server may have rejected the request without reading all of it; its response is still there to be read.
    if (errno == EPIPE || errno == ECONNRESET) return {};
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail(ErrorCode::unavailable, "cannot send the request: " + describe(errno));
    const int problem = wait_until_ready(socket(), POLLIN | POLLOUT, deadline);
    if (problem == ETIMEDOUT) return fail(ErrorCode::timeout, "weft serve does not read the request");
    if (problem != 0) return fail(ErrorCode::unavailable, "cannot send the request: " + describe(problem));
    const Result<bool> early = has_early_response();
    if (!early.ok()) return early.error();
    if (*early) return {};
  }
  sent_ = true;
  return {};
}

// Whether the server has something to say before it has the whole request. Over TLS it may be no more than a message of
// TLS itself.
Result<bool> ClientConnection::has_early_response() {
  pollfd ready{socket(), POLLIN, 0};
  if (::poll(&ready, 1, 0) <= 0 || (ready.revents & POLLIN) == 0) return false;
  if (!link_->is_encrypted()) return true;
  const ssize_t count = ::recv(socket(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (count <= 0) return count == 0 || (errno != EAGAIN && errno != EINTR);
  if (!link_->decode({buffer_.data(), static_cast<std::size_t>(count)}, plain_))
    return fail(ErrorCode::refused, "the server ended TLS: " + link_->problem());
  return !plain_.empty();
}

Status ClientConnection::read(Deadline deadline) {
  const ResponseReader::State before = reader_.state();
  for (;;) {
    if (!plain_.empty()) {
      const ResponseReader::State state = reader_.feed(std::exchange(plain_, {}));
      if (state == ResponseReader::State::invalid)
        return fail(ErrorCode::internal, "invalid response: " + reader_.problem_text());
      if (state != before || !reader_.response().body.empty()) return {};
    }
    const ssize_t count = ::recv(socket(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      const int problem = wait_until_ready(socket(), POLLIN, deadline);
      if (problem == ETIMEDOUT) return fail(ErrorCode::timeout, "no response from weft serve in time");
      if (problem != 0) return fail(ErrorCode::internal, "cannot read the response: " + describe(problem));
      continue;
    }
    if (count <= 0) {  // ECONNRESET: it closed without reading all of the request
      const int code = count < 0 ? errno : 0;
      if (link_->may_end() && reader_.finish() == ResponseReader::State::complete) return {};
      return fail_closed(code);
    }
    if (!link_->decode({buffer_.data(), static_cast<std::size_t>(count)}, plain_))
      return fail(ErrorCode::refused, "the server ended TLS: " + link_->problem());
  }
}

Error ClientConnection::fail(ErrorCode code, std::string_view what) const {
  const bool harmless = request_.method == "GET" || request_.method == "HEAD" || request_.method == "OPTIONS";
  std::string message(what);
  if (sent_ && !harmless) message += "; the request may have been executed: check before you repeat it";
  return {code, std::move(message), request_.endpoint.text()};
}

Error ClientConnection::fail_closed(int code) const {
  const std::string reason = code == 0 || code == ECONNRESET ? std::string() : ": " + describe(code);
  if (!sent_)
    return fail(ErrorCode::unavailable, "weft serve closed the connection before it had the request" + reason);
  return fail(ErrorCode::internal, "the connection closed before the response was complete" + reason);
}

Result<std::unique_ptr<ClientConnection>> open_connection(const ClientRequest& request, Deadline deadline) {
  CHECK(is_valid_text(request.method) && is_valid_text(request.target) && !contains(request.target, " "),
        "method and target are words");
  const std::string& token = request.endpoint.token;
  if (!is_valid_text(token) || contains(token, " "))
    return Error{ErrorCode::invalid_input, "the token has spaces or control characters", request.endpoint.text()};
  Result<std::unique_ptr<ClientLink>> link = ClientLink::open(request.endpoint, deadline);
  if (!link.ok()) return link.error();
  auto connection = std::make_unique<ClientConnection>(std::move(*link), request);
  if (Status sent = connection->send(deadline); !sent.ok()) return sent.error();
  return connection;
}

Result<HttpResponse> read_response(ClientConnection& connection, Deadline deadline) {
  while (connection.reader().state() != ResponseReader::State::complete) {
    if (Status status = connection.read(deadline); !status.ok()) return status.error();
  }
  return std::move(connection.reader().response());
}

}  // namespace

Result<HttpResponse> send_request(const ClientRequest& request) {
  const Deadline deadline = deadline_after(request.timeout);
  Result<std::unique_ptr<ClientConnection>> connection = open_connection(request, deadline);
  if (!connection.ok()) return connection.error();
  return read_response(**connection, deadline);
}

Result<StreamEnd> follow_events(const FollowRequest& follow, const EventCallback& callback) {
  ClientRequest request;
  request.endpoint = follow.endpoint;
  request.target = follow.target;
  request.max_response_bytes = EventParser::kMaxEventBytes;
  request.headers.emplace_back("Accept", "text/event-stream");
  if (follow.last_event_id) request.headers.emplace_back("Last-Event-ID", std::to_string(*follow.last_event_id));

  Deadline deadline = deadline_after(follow.connect_timeout);
  Result<std::unique_ptr<ClientConnection>> connection = open_connection(request, deadline);
  if (!connection.ok()) return connection.error();
  ResponseReader& reader = (*connection)->reader();
  while (reader.state() == ResponseReader::State::head) {
    if (Status status = (*connection)->read(deadline); !status.ok()) return status.error();
  }
  if (reader.response().status != 200 || !reader.response().content_type.starts_with("text/event-stream")) {
    const Result<HttpResponse> response = read_response(**connection, deadline);
    if (!response.ok()) return response.error();
    if (response->status >= 400) return problem_to_error(*response);
    return Error{ErrorCode::internal, "the response is not a stream of events", follow.endpoint.text()};
  }
  EventParser parser;
  for (;;) {
    const Result<bool> stopped = parser.feed(reader.take_body(), callback);
    if (!stopped.ok()) return stopped.error();
    if (*stopped) return StreamEnd::callback;
    if (reader.state() == ResponseReader::State::complete) return StreamEnd::server;
    deadline = deadline_after(follow.max_silence);
    if (Status status = (*connection)->read(deadline); !status.ok()) {
      Error error = status.error();
      if (error.code == ErrorCode::internal && reader.state() != ResponseReader::State::invalid)
        error.code = ErrorCode::unavailable;
      return error;
    }
  }
}

}  // namespace weft::serve
