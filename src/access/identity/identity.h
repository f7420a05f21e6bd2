// Who sends a request, after authentication: a name, groups, and how the name was proven. Every way to sign in ends in
// this one type, so that authorization, audit and rate limits do not depend on the way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::access {

enum class Method : std::uint8_t {
  unix_socket,  // the kernel names the process at the other end
  certificate,  // TLS client certificate
  token,        // static token of weft
  bearer,       // signed token of the OIDC provider, sent with the request
  browser,      // session cookie after an OIDC login
  cli           // access token after `weft login`
};
[[nodiscard]] std::string_view to_text(Method method);

struct Identity {
  std::string user;  // also the owner of the jobs it submits, and the name in the audit log
  std::vector<std::string> groups;
  Method method = Method::unix_socket;
  std::string credential;  // identifies the token, session or certificate, and is not a secret; "": none
};

}  // namespace weft::access
