// Signing in from a terminal: the device flow of `weft serve` (OAuth 2.0 Device Authorization Grant, RFC 8628), and the
// refresh of its tokens. The server talks to the OIDC provider; this is the side of the client.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/operate/login_store.h"
#include "oob/durable/clock.h"
#include "serve/http/client.h"

namespace weft::cli {

// Sends a request without a token: ApiConnection::send_without_token().
using SendFunction = std::function<Result<serve::HttpResponse>(serve::ClientRequest)>;

struct DeviceCode {
  std::string user_code;         // what the user enters: "WDJB-MJHT"
  std::string verification_uri;  // where
  std::string complete_uri;      // with the code in it; empty if the server has none
  oob::Secret handle;            // identifies this login to the server
  std::int64_t interval_s = 5;   // between two polls
  std::int64_t expires_s = 600;
};
[[nodiscard]] Result<DeviceCode> start_device_login(const SendFunction& send);

// Polls until the user has signed in. Errors: `refused` (the user did not consent), `timeout` (the code has expired),
// `conflict` (stopped by Ctrl-C), others as the server's.
[[nodiscard]] Result<Login> wait_for_device_login(const SendFunction& send, const DeviceCode& code, oob::Clock& clock);

// `refused`: the server does not accept the refresh token.
[[nodiscard]] Result<Login> refresh_login(const SendFunction& send, const oob::Secret& refresh_token,
                                          std::int64_t now_ms);

// {"access_token", "refresh_token", "expires_in", "user"}. Messages never quote the text.
[[nodiscard]] Result<Login> read_token_answer(std::string_view body, std::int64_t now_ms);
[[nodiscard]] Result<DeviceCode> read_device_answer(std::string_view body);

}  // namespace weft::cli
