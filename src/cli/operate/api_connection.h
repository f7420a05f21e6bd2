// Requests to the API of one server, with the caller's token: refreshed when it has expired or the server answers 401,
// and one pause when the server answers 429. Errors say what to do: sign in, pin the certificate, ask an administrator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "cli/operate/login_store.h"
#include "cli/operate/server_endpoint.h"
#include "oob/durable/clock.h"
#include "serve/http/client.h"

namespace weft::cli {

// How bytes get to the server: serve/http/client.h, or a test.
struct ApiTransport {
  std::function<Result<serve::HttpResponse>(const serve::ClientRequest&)> send = serve::send_request;
  std::function<Result<serve::StreamEnd>(const serve::FollowRequest&, const serve::EventCallback&)> follow =
      serve::follow_events;
};

class ApiConnection {
 public:
  // `note` prints to the user; `clock` measures expiry and pauses. Both must outlive the connection.
  ApiConnection(ServerEndpoint endpoint, LoginStore logins, oob::Clock& clock,
                std::function<void(const std::string&)> note, ApiTransport transport = {});

  [[nodiscard]] const ServerEndpoint& endpoint() const { return endpoint_; }
  // Any complete response, whatever its status; errors as serve::send_request(), and `refused` if the caller is not
  // signed in. The request has no endpoint yet.
  [[nodiscard]] Result<serve::HttpResponse> send(const serve::ClientRequest& request) const;
  // The same without a token: for signing in.
  [[nodiscard]] Result<serve::HttpResponse> send_without_token(serve::ClientRequest request) const;
  [[nodiscard]] Result<serve::StreamEnd> follow(serve::FollowRequest request,
                                                const serve::EventCallback& callback) const;
  // The error that a response with a status of 400 or more stands for, with what to do about it.
  [[nodiscard]] Error error_of(const serve::HttpResponse& response) const;

 private:
  [[nodiscard]] Result<serve::HttpResponse> send_with(serve::ClientRequest request, const oob::Secret& token) const;
  // The token to send; empty: none. `rejected`: one that the server did not accept.
  [[nodiscard]] Result<oob::Secret> token(const oob::Secret& rejected) const;
  [[nodiscard]] Error not_signed_in() const;
  [[nodiscard]] Error explain(Error error) const;
  [[nodiscard]] bool can_refresh() const { return !endpoint_.context.empty() && endpoint_.token.empty(); }

  ServerEndpoint endpoint_;
  LoginStore logins_;
  oob::Clock& clock_;
  std::function<void(const std::string&)> note_;
  ApiTransport transport_;
};

// The same endpoint for serve/http/client.h.
[[nodiscard]] Result<serve::Endpoint> address_of(const ServerEndpoint& endpoint, const oob::Secret& token);

// The members of problem+json (RFC 9457) that people read: the detail, then a line per entry of `errors` with its place
// ("job.yaml:3:5: ...", "limit: ..."). Printable, and of limited length.
[[nodiscard]] std::string problem_text(const serve::HttpResponse& response);

// Seconds of a Retry-After header (RFC 9110, 10.2.3) with a number; 0 if there is none.
[[nodiscard]] std::int64_t retry_after_seconds(const serve::HttpResponse& response);

}  // namespace weft::cli
