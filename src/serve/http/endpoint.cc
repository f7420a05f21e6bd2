#include "serve/http/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ip.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

Error url_error(std::string_view what, std::string_view url) {
  return {ErrorCode::invalid_input, fmt::format("{}: write https://HOST:PORT", what), printable(url, 200)};
}

bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 &&
         std::all_of(host.begin(), host.end(), [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; });
}

}  // namespace

Endpoint Endpoint::unix_socket(std::string path) {
  Endpoint endpoint;
  endpoint.socket_path = std::move(path);
  return endpoint;
}

Result<Endpoint> Endpoint::from_url(std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  if (equals_ignoring_case(url.substr(0, 7), "http://"))
    return url_error("weft serve speaks plain HTTP on its Unix socket only", url);
  if (!equals_ignoring_case(url.substr(0, kScheme.size()), kScheme)) return url_error("not an https URL", url);
  std::string_view rest = url.substr(kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#@") != std::string_view::npos)
    return url_error("the URL of a server has no path, query or user name", url);
  Endpoint endpoint;
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return url_error("no closing bracket", url);
    endpoint.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (!parse_ipv6(endpoint.host).ok()) return url_error("not an IPv6 address in brackets", url);
    if (!rest.empty() && !rest.starts_with(':')) return url_error("not a port after the address", url);
    if (!rest.empty()) port = rest.substr(1);
    if (!rest.empty() && port.empty()) return url_error("no port after the colon", url);
  } else {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    endpoint.host = to_lower(rest.substr(0, colon));
    if (!is_host_name(endpoint.host)) return url_error("no valid host", url);
    if (colon < rest.size()) {
      port = rest.substr(colon + 1);
      if (port.empty()) return url_error("no port after the colon", url);
    }
  }
  if (!port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
    if (error != std::errc() || end != port.data() + port.size() || endpoint.port == 0)
      return url_error("the port is not a number between 1 and 65535", url);
  }
  return endpoint;
}

std::string Endpoint::authority() const {
  if (is_local()) return "localhost";
  return contains(host, ":") ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string Endpoint::text() const { return is_local() ? socket_path : "https://" + authority(); }

}  // namespace weft::serve
