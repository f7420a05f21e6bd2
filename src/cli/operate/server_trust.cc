#include "cli/operate/server_trust.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace weft::cli {
namespace {

constexpr std::string_view kScheme = "sha256:";
constexpr std::size_t kDigits = 64;

}  // namespace

std::optional<ServerTrust> find_untrusted(const Error& error) {
  if (error.code != ErrorCode::refused) return std::nullopt;
  // The first one in the message is that of the certificate that the server showed.
  const std::string_view message = error.message;
  const std::size_t at = message.find(kScheme);
  if (at == std::string_view::npos) return std::nullopt;
  Result<std::string> fingerprint = parse_fingerprint(message.substr(at, kScheme.size() + kDigits));
  if (!fingerprint.ok()) return std::nullopt;
  return ServerTrust{false, std::move(*fingerprint), printable(message.substr(0, message.find(';')), 1000)};
}

Result<ServerTrust> check_server_trust(const ServerEndpoint& endpoint, const ApiTransport& transport) {
  Result<serve::Endpoint> address = address_of(endpoint, {});
  if (!address.ok()) return address.error();
  serve::ClientRequest request;
  request.endpoint = std::move(*address);
  request.target = "/healthz";
  const Result<serve::HttpResponse> response = transport.send(request);
  if (response.ok()) return ServerTrust{true, {}, {}};
  std::optional<ServerTrust> untrusted = find_untrusted(response.error());
  if (!untrusted) return response.error();  // an expired certificate, for example: pinning it does not help
  return std::move(*untrusted);
}

Error untrusted_error(const ServerEndpoint& endpoint, const ServerTrust& trust) {
  const std::string context = endpoint.context.empty() ? "" : " --context " + endpoint.context;
  const std::string command = fmt::format("weft login {}{} --fingerprint {}", endpoint.url, context, trust.fingerprint);
  if (!endpoint.fingerprint.empty()) {
    return {ErrorCode::refused,
            fmt::format("its certificate is not the one that you trusted ({}): it was replaced, or a man in the middle "
                        "shows another one. Compare the new fingerprint with the one that `weft serve` prints when it "
                        "starts; if it is right: {}",
                        endpoint.fingerprint, command),
            endpoint.url};
  }
  return {ErrorCode::refused,
          fmt::format("{}. Give the CA with --ca FILE, or compare the fingerprint with "
                      "the one that `weft serve` prints when it starts, and pin it: {}",
                      trust.problem, command),
          endpoint.url};
}

}  // namespace weft::cli
