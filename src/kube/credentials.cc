#include "kube/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/file.h"
#include "base/process.h"
#include "base/utf8.h"
#include "kube/api_status.h"
#include "kube/timestamp.h"
#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

constexpr std::size_t kMaxPemBytes = std::size_t{4} << 20U;
constexpr std::size_t kMaxTokenBytes = std::size_t{64} << 10U;
// A credential is replaced this long before it expires, so that no request is sent with one that has just expired.
constexpr std::int64_t kExpiryMarginMs = 10'000;

Result<Secret> read_token(const std::string& path) {
  Result<std::string> text = read_file(path, kMaxTokenBytes);
  if (!text.ok()) return text.error();
  const std::size_t end = text->find_last_not_of(" \t\r\n");
  text->resize(end == std::string::npos ? 0 : end + 1);
  if (text->empty()) return Error{ErrorCode::invalid_input, "the token file is empty", path};
  return Secret(std::move(text).value());
}

// A line break in a token would add a header to the request.
bool is_header_text(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Error exec_error(const ExecPlugin& plugin, ErrorCode code, const std::string& why) {
  std::string message = fmt::format("exec plug-in {}: {}", in_backticks(plugin.command.front()), why);
  if (!plugin.install_hint.empty() && code == ErrorCode::not_found) {
    message += "; " + printable(plugin.install_hint, 400);
  }
  return Error{code, std::move(message), plugin.where};
}

}  // namespace

Result<Secret> read_pem(const PemSource& source) {
  if (!source.data.empty() || source.file.empty()) return source.data;
  Result<std::string> text = read_file(source.file, kMaxPemBytes);
  if (!text.ok()) return text.error();
  return Secret(std::move(text).value());
}

Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version) {
  const auto invalid = [](std::string message) { return Error{ErrorCode::invalid_input, std::move(message), {}}; };
  const Result<Value> json = read_reply_json(text);
  if (!json.ok()) return invalid("its output is not JSON");
  if (oob::raw_text(*json, {"kind"}) != "ExecCredential") return invalid("its output is not an ExecCredential");
  if (oob::raw_text(*json, {"apiVersion"}) != api_version) {
    return invalid(fmt::format("its output has another apiVersion than {}", api_version));
  }
  ExecCredential credential;
  credential.credentials.token = Secret(oob::raw_text(*json, {"status", "token"}));
  credential.credentials.certificate_pem = Secret(oob::raw_text(*json, {"status", "clientCertificateData"}));
  credential.credentials.key_pem = Secret(oob::raw_text(*json, {"status", "clientKeyData"}));
  if (credential.credentials.certificate_pem.empty() != credential.credentials.key_pem.empty()) {
    return invalid("its output has a client certificate or a key, not both");
  }
  if (credential.credentials.token.empty() && credential.credentials.key_pem.empty()) {
    return invalid("its output has neither a token nor a client certificate");
  }
  const std::string expires = oob::raw_text(*json, {"status", "expirationTimestamp"});
  if (!expires.empty()) {
    credential.expires_ms = parse_timestamp(expires);
    if (!credential.expires_ms) return invalid("its expirationTimestamp is not a time");
  }
  return credential;
}

Value exec_info(const ClusterAccess& access, const ExecPlugin& plugin, std::string_view ca_pem) {
  Value info = Value::map({{"apiVersion", Value(plugin.api_version)}, {"kind", Value("ExecCredential")}});
  info["spec"].set("interactive", Value(false));
  if (!plugin.provide_cluster_info) return info;
  Value cluster = Value::map({{"server", Value(access.server)}});
  if (!access.tls_server_name.empty()) cluster.set("tls-server-name", Value(access.tls_server_name));
  if (access.insecure) cluster.set("insecure-skip-tls-verify", Value(true));
  if (!ca_pem.empty()) cluster.set("certificate-authority-data", Value(encode_base64(ca_pem)));
  if (!access.proxy.empty()) cluster.set("proxy-url", Value(access.proxy));
  info["spec"].set("cluster", std::move(cluster));
  return info;
}

Status AccessCredentials::run_exec(Credentials& credentials) {
  const ExecPlugin& plugin = *access_.exec;
  const Result<Secret> ca = read_pem(access_.ca);
  if (!ca.ok()) return ca.error();
  ProcessRequest request;
  request.words = plugin.command;
  request.limit = kExecLimit;
  request.most_output = std::size_t{1} << 20U;
  request.environment = plugin.environment;
  request.environment.emplace_back("KUBERNETES_EXEC_INFO", write_json_line(exec_info(access_, plugin, ca->reveal())));
  request.stopped = [this] { return clock_.stopped(); };
  const Result<ProcessOutcome> outcome = run_process(request);
  if (!outcome.ok()) return exec_error(plugin, outcome.error().code, outcome.error().message);
  if (outcome->code != 0) {
    return exec_error(plugin, ErrorCode::refused,
                      fmt::format("exit status {}: {}", outcome->code, printable(outcome->err, 400)));
  }
  Result<ExecCredential> credential = parse_exec_credential(outcome->out, plugin.api_version);
  if (!credential.ok()) return exec_error(plugin, ErrorCode::invalid_input, credential.error().message);
  if (!credential->credentials.token.empty()) credentials.token = std::move(credential->credentials.token);
  if (!credential->credentials.key_pem.empty()) {
    credentials.certificate_pem = std::move(credential->credentials.certificate_pem);
    credentials.key_pem = std::move(credential->credentials.key_pem);
  }
  expires_ms_ = credential->expires_ms;
  return {};
}

Result<Credentials> AccessCredentials::read_sources() {
  Credentials credentials;
  expires_ms_.reset();
  Result<Secret> certificate = read_pem(access_.client_certificate);
  if (!certificate.ok()) return certificate.error();
  Result<Secret> key = read_pem(access_.client_key);
  if (!key.ok()) return key.error();
  credentials.certificate_pem = std::move(certificate).value();
  credentials.key_pem = std::move(key).value();
  credentials.token = access_.token;
  if (!access_.token_file.empty()) {
    Result<Secret> token = read_token(access_.token_file);
    if (!token.ok()) return token.error();
    credentials.token = std::move(token).value();
  }
  if (access_.exec) {
    if (const Status done = run_exec(credentials); !done.ok()) return done.error();
  }
  if (!is_header_text(credentials.token.reveal())) {
    return Error{ErrorCode::invalid_input, "the token has characters that cannot be sent", access_.source};
  }
  return credentials;
}

Result<Credentials> AccessCredentials::current() {
  const Duration now = clock_.now();
  const bool expired = expires_ms_ && clock_.wall_ms() + kExpiryMarginMs >= *expires_ms_;
  // An exec plug-in without an expiration is run once; files may be replaced at any time.
  const bool stale = !access_.exec && now >= reload_at_;
  if (cached_ && !expired && !stale) return *cached_;
  Result<Credentials> read = read_sources();
  if (!read.ok()) {
    // A file that is being replaced: what was read before is used until the server rejects it.
    if (cached_ && !expired) return *cached_;
    return read.error();
  }
  cached_ = *read;
  reload_at_ = now + kReloadPeriod;
  return read;
}

}  // namespace weft::kube
