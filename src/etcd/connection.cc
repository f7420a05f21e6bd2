#include "etcd/connection.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "kube/curl_transport.h"

namespace weft::etcd {
namespace {

constexpr std::string_view kScheme = "etcd://";
constexpr std::size_t kMaxMembers = 9;
constexpr std::size_t kMaxPrefix = 200;

Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

bool is_host_and_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  int port = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || code != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65535)
    return false;
  const bool is_v6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return is_v6 ? host.substr(1, host.size() - 2).find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos
               : host.find_first_not_of(allowed) == std::string_view::npos;
}

}  // namespace

Result<Settings> parse_address(std::string_view address) {
  if (!address.starts_with(kScheme))
    return invalid(fmt::format("{} is not etcd://HOST:PORT[,HOST:PORT...][/PREFIX]", in_backticks(address)));
  std::string_view rest = address.substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  Settings settings;
  settings.prefix = slash == std::string_view::npos ? "/weft" : std::string(rest.substr(slash));
  while (settings.prefix.size() > 1 && settings.prefix.back() == '/') settings.prefix.pop_back();
  if (settings.prefix == "/") settings.prefix = "/weft";
  for (const char c : settings.prefix) {
    if (c <= ' ' || c > '~' || settings.prefix.size() > kMaxPrefix)
      return invalid(fmt::format("the prefix {} must be at most {} printable ASCII characters without spaces",
                                 in_backticks(settings.prefix), kMaxPrefix));
  }
  for (const std::string_view member : split(rest.substr(0, slash), ',')) {
    if (!is_host_and_port(member))
      return invalid(fmt::format("{} is not HOST:PORT of a member of etcd", in_backticks(member)));
    settings.members.emplace_back(member);
  }
  if (settings.members.size() > kMaxMembers) return invalid(fmt::format("more than {} members", kMaxMembers));
  return settings;
}

Duration boot_time() {
  timespec time{};
  (void)::clock_gettime(CLOCK_BOOTTIME, &time);
  return Duration(static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec);
}

Connection::Connection(const Settings& settings) {
  std::vector<Endpoint> endpoints;
  endpoints.reserve(settings.members.size());
  for (const std::string& member : settings.members) {
    kube::ClusterAccess access;
    access.server = fmt::format("{}://{}", settings.ca.empty() ? "http" : "https", member);
    access.ca.file = settings.ca;
    access.client_certificate.file = settings.certificate;
    access.client_key.file = settings.key;
    credentials_.push_back(std::make_unique<kube::AccessCredentials>(access, clock_));
    endpoints.push_back(
        {"etcd " + member, std::make_unique<kube::CurlTransport>(std::move(access), *credentials_.back(), clock_)});
  }
  ClientOptions options;
  options.user = settings.user;
  options.password = settings.password;
  client_ = std::make_unique<Client>(std::move(endpoints), &boot_time, std::move(options));
}

}  // namespace weft::etcd
