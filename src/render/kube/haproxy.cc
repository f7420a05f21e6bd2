// haproxy: one configuration for proxies in front of the nodes, for sites that do not use the gateway inside Kubernetes
// or that serve without Kubernetes. Least connections, cookie stickiness, health checks against the model.
#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "render/core/targets.h"
#include "render/kube/services.h"

namespace weft::render {
namespace {

constexpr std::int64_t kMinTimeout = 300;    // seconds; a long response streams for minutes
constexpr std::int64_t kRequests = 100;      // per client within kRateWindow before it gets status 429
constexpr std::int64_t kRateWindow = 10;     // seconds
constexpr std::int64_t kMetricsPort = 8405;  // the port that HAProxy's own documentation uses for its exporter
constexpr std::string_view kCookie = "WEFT_REPLICA";
constexpr std::string_view kSocket = "/run/haproxy/admin.sock";
constexpr std::string_view kCertificates = "/etc/haproxy/certs/";
constexpr std::string_view kRateTable = "clients";
constexpr std::string_view kUnknown = "unknown_name";  // requests for unknown host names

// A word of the configuration: unquoted if every character is plain, otherwise in single quotes, where no character is
// special, as in a shell (HAProxy configuration manual 2.2, quoting and escaping). Control characters cannot be written
// and are omitted.
std::string word(std::string_view text) {
  std::string kept;
  bool plain = !text.empty();
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) continue;
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    plain = plain && (letter || std::string_view("-_.:/,;=@+%()*[]{}").find(c) != std::string_view::npos);
    kept += c;
  }
  if (plain && kept.size() == text.size()) return kept;
  return shell_quote_always(kept);
}

// Sections of lines; each line is a list of words.
class ProxyConfig {
 public:
  void comment(std::string_view text) {
    std::size_t start = 0;
    while (start <= text.size()) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      out_ += "# ";
      for (const char c : text.substr(start, end - start)) out_ += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
      out_ += '\n';
      start = end + 1;
    }
  }
  void section(std::initializer_list<std::string_view> words) {
    out_ += '\n';
    add(words);
  }
  void line(std::initializer_list<std::string_view> words) {
    out_ += "    ";
    add(words);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void add(std::initializer_list<std::string_view> words) {
    bool first = true;
    for (const std::string_view one : words) {
      if (!first) out_ += ' ';
      out_ += word(one);
      first = false;
    }
    out_ += '\n';
  }
  std::string out_;
};

std::string seconds(std::int64_t count) { return fmt::format("{}s", count); }

std::string backend_name(const model::ServiceSpec& service) { return "service_" + kube_services::name_of(service); }

std::int64_t port_of(const RenderInput& input, const PoolPlan& pool, const model::ServiceSpec& service,
                     std::size_t number) {
  return input.plan.in_kubernetes(pool) ? kube_services::node_port(number) : service.port.value;
}

void global_section(ProxyConfig& config) {
  config.section({"global"});
  config.line({"log", "/dev/log", "local0"});
  config.line({"user", "haproxy"});
  config.line({"group", "haproxy"});
  // As many connections as the open-file limit allows, but no table for the billion that some systems allow.
  config.line({"fd-hard-limit", "200000"});
  config.line({"stats", "socket", kSocket, "mode", "660", "level", "admin", "expose-fd", "listeners"});
  config.line({"stats", "timeout", "30s"});
  config.line({"hard-stop-after", "15m"});
  config.line({"ssl-default-bind-options", "ssl-min-ver", "TLSv1.2", "no-tls-tickets"});
  config.line({"ssl-default-bind-ciphers", "ECDHE+AESGCM:ECDHE+CHACHA20"});
}

void defaults_section(const RenderInput& input, ProxyConfig& config) {
  std::int64_t longest = kMinTimeout;
  for (const model::ServiceSpec& service : input.cluster.spec().services.value) {
    longest = std::max(longest, kube_services::whole_seconds(service.timeout.value));
  }
  config.section({"defaults"});
  config.line({"mode", "http"});
  config.line({"log", "global"});
  config.line({"option", "httplog"});
  config.line({"option", "dontlognull"});
  config.line({"option", "redispatch"});
  config.line({"option", "forwardfor"});
  config.line({"retries", "2"});
  config.line({"timeout", "connect", "5s"});
  config.line({"timeout", "check", "5s"});
  config.line({"timeout", "queue", "60s"});
  config.line({"timeout", "http-request", "30s"});
  config.line({"timeout", "http-keep-alive", "60s"});
  config.line({"timeout", "client", seconds(longest)});
  config.line({"timeout", "server", seconds(longest)});
  config.line({"timeout", "tunnel", seconds(longest)});
}

void rate_table(ProxyConfig& config) {
  config.section({"backend", kRateTable});
  const std::string rate = fmt::format("http_req_rate({}s)", kRateWindow);
  config.line({"stick-table", "type", "ipv6", "size", "1m", "expire", seconds(6 * kRateWindow), "store", rate});
}

void entrance_section(const RenderInput& input, ProxyConfig& config) {
  config.section({"frontend", "http"});
  config.line({"bind", ":80"});
  config.line({"http-request", "redirect", "scheme", "https", "code", "301"});

  config.section({"frontend", "https"});
  config.line({"bind", ":443", "ssl", "crt", kCertificates, "alpn", "h2,http/1.1"});
  config.line({"http-request", "track-sc0", "src", "table", kRateTable});
  config.line({"http-request", "return", "status", "429", "content-type", "text/plain", "string", "too many requests",
               "hdr", "Retry-After", std::to_string(kRateWindow), "if", "{", "sc_http_req_rate(0)", "gt",
               std::to_string(kRequests), "}"});
  config.line({"http-request", "set-header", "X-Forwarded-Proto", "https"});
  // Health and metrics are internal only.
  config.line({"http-request", "deny", "deny_status", "404", "unless", "{", "path_beg", "/v1/", "}"});
  for (const std::size_t n : kube_services::rendered_services(input)) {
    const model::ServiceSpec& service = input.cluster.spec().services.value[n];
    config.line({"use_backend", backend_name(service), "if", "{", "req.hdr(host),host_only", "-i", "-m", "str",
                 service.host.value, "}"});
  }
  config.line({"default_backend", kUnknown});

  config.section({"backend", kUnknown});
  config.line({"http-request", "deny", "deny_status", "421"});
}

void health_lines(const model::ServiceSpec& service, ProxyConfig& config) {
  if (service.probe.value == model::Probe::http) {
    config.line({"option", "httpchk", "GET", "/health"});
    config.line({"http-check", "expect", "status", "200"});
  }
  config.line({"default-server", "check", "inter", "2s", "fall", "3", "rise", "2", "slowstart", "30s"});
}

// Returns the number of servers written.
std::size_t server_lines(const RenderInput& input, const PoolPlan& pool, const model::ServiceSpec& service,
                         std::size_t number, ProxyConfig& config) {
  const std::int64_t port = port_of(input, pool, service, number);
  if (port == 0) return 0;
  std::size_t written = 0;
  for (std::uint32_t i = 0; i < pool.group->count; ++i) {
    const auto id = static_cast<model::DeviceId>(model::index_of(pool.group->first) + i);
    const Ipv4 address = input.plan.frontend_address(id);
    if (address == Ipv4{}) continue;
    const std::string name = kube_services::subdomain_name(input.cluster.name_of(id));
    const std::string place = fmt::format("{}:{}", to_text(address), port);
    if (service.sticky.value) {
      config.line({"server", name, place, "cookie", name});
    } else {
      config.line({"server", name, place});
    }
    ++written;
  }
  return written;
}

void service_section(const RenderInput& input, std::size_t number, ProxyConfig& config, FileSink& sink) {
  const model::ServiceSpec& service = input.cluster.spec().services.value[number];
  config.section({"backend", backend_name(service)});
  config.line({"balance", service.balancing.value == model::Balancing::least_connections ? "leastconn" : "roundrobin"});
  config.line({"timeout", "server", seconds(kube_services::whole_seconds(service.timeout.value))});
  if (service.sticky.value) {
    config.line({"cookie", kCookie, "insert", "indirect", "nocache", "httponly", "secure"});
  }
  health_lines(service, config);
  const PoolPlan* pool = input.plan.pool(service.pool.value);
  if (pool != nullptr && server_lines(input, *pool, service, number, config) > 0) return;
  sink.left_out(fmt::format(
      "service `{}` has no HAProxy backend server: pool `{}` is not on the frontend, or the node ports are exhausted",
      service.name->text, service.pool.value));
}

void metrics_section(ProxyConfig& config) {
  config.section({"frontend", "metrics"});
  config.line({"bind", fmt::format(":{}", kMetricsPort)});
  config.line({"option", "dontlog-normal"});  // scrapes
  config.line({"http-request", "use-service", "prometheus-exporter", "if", "{", "path", "/metrics", "}"});
  config.line({"monitor-uri", "/live"});
}

constexpr std::string_view kNotes =
    "HAProxy for the inference nodes, on the control plane hosts.\n"
    "Certificates: one PEM file (certificate and key) per name in /etc/haproxy/certs/, from the secret store.\n"
    "To drain a node before maintenance: echo 'set server BACKEND/NODE state drain' | socat - "
    "/run/haproxy/admin.sock";

}  // namespace

bool applies_haproxy(const RenderInput& input) {
  return !input.cluster.spec().services->empty() && input.cluster.fabric(model::FabricKind::frontend).present;
}

void render_haproxy(const RenderInput& input, FileSink& sink) {
  ProxyConfig config;
  config.comment(heading(input.cluster, kNotes));
  global_section(config);
  defaults_section(input, config);
  entrance_section(input, config);
  rate_table(config);
  for (const std::size_t n : kube_services::rendered_services(input)) service_section(input, n, config, sink);
  metrics_section(config);
  RenderedFile file;
  file.path = "haproxy/haproxy.cfg";
  file.content = config.take();
  file.consumer = "HAProxy";
  file.install = "/etc/haproxy/haproxy.cfg";
  file.apply = "haproxy -c -f /etc/haproxy/haproxy.cfg && systemctl reload haproxy";
  file.risk = Risk::reload;
  file.stage = Stage::workloads;
  file.sources = {"services", "pools"};
  sink.add(std::move(file));
}

}  // namespace weft::render
