#include "kube/kubeconfig.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "base/base64.h"
#include "base/file.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/yaml.h"

namespace weft::kube {
namespace {

constexpr YamlLimits kLimits{kMaxKubeconfigBytes, 100'000, 32};

// Parsers quote the offending text: removed here, since it may be a secret.
std::string remove_quotations(std::string_view message) {
  std::string out;
  bool inside = false;
  for (const char c : message) {
    if (c == '`') {
      inside = !inside;
      if (inside) out += "(text)";
    } else if (!inside) {
      out += c;
    }
  }
  return out;
}

class KubeconfigReader {
 public:
  KubeconfigReader(const std::string& path, std::string text, std::string_view context)
      : folder_(std::filesystem::path(path).parent_path()), context_(context) {
    file_ = sources_.add(path, std::move(text));
  }

  Result<ClusterAccess> read() {
    const std::vector<YamlNode> documents = parse_yaml_stream(sources_, file_, diagnostics_, kLimits);
    if (!diagnostics_.has_errors()) read_root(documents);
    for (const Diagnostic& found : diagnostics_.sorted()) {
      if (found.severity != Severity::error) continue;
      return Error{ErrorCode::invalid_input, remove_quotations(found.message), sources_.describe(found.place)};
    }
    access_.source = sources_.path(file_);
    return std::move(access_);
  }

 private:
  void fail(const SourceLocation& place, std::string message) { diagnostics_.error(place, std::move(message)); }

  void read_root(const std::vector<YamlNode>& documents) {
    const SourceLocation start{file_, 1, 1};
    if (documents.size() != 1) return fail(start, "a kubeconfig must be one YAML document");
    const YamlNode& root = documents.front();
    if (root.kind != YamlNode::Kind::mapping) return fail(start, "a kubeconfig must be a mapping");
    if (const std::string kind = text_at(root, "kind"); !kind.empty() && kind != "Config") {
      return fail(start, "kind must be Config");
    }
    std::string context = context_;
    if (context.empty()) context = text_at(root, "current-context");
    if (context.empty()) return fail(start, "there is no current-context; name a context");
    const YamlNode* chosen = named(root, "contexts", "context", context);
    if (chosen == nullptr) return;
    if (const std::string space = text_at(*chosen, "namespace"); !space.empty()) access_.kube_namespace = space;
    const std::string cluster = text_at(*chosen, "cluster");
    const std::string user = text_at(*chosen, "user");
    if (cluster.empty()) return fail(chosen->place, "the context names no cluster");
    if (const YamlNode* node = named(root, "clusters", "cluster", cluster); node != nullptr) read_cluster(*node);
    if (user.empty()) return;  // an anonymous user
    if (const YamlNode* node = named(root, "users", "user", user); node != nullptr) read_user(*node);
  }

  // The entry of a list with this name: `{name: N, <key>: {...}}`. Reports what is wrong and returns nullptr.
  const YamlNode* named(const YamlNode& root, std::string_view list, std::string_view key, std::string_view name) {
    const YamlNode* entries = root.find(list);
    if (entries == nullptr || entries->kind != YamlNode::Kind::sequence) {
      fail(entries == nullptr ? root.place : entries->place, fmt::format("{} must be a list", list));
      return nullptr;
    }
    for (const YamlNode& entry : entries->items) {
      if (entry.kind != YamlNode::Kind::mapping || text_at(entry, "name") != name) continue;
      const YamlNode* value = entry.find(key);
      if (value != nullptr && value->kind == YamlNode::Kind::mapping) return value;
      fail(entry.place, fmt::format("the entry of {} has no {}", list, key));
      return nullptr;
    }
    fail(entries->place, fmt::format("{} has no entry with the name that is asked for", list));
    return nullptr;
  }

  // "" if absent or null.
  std::string text_at(const YamlNode& node, std::string_view key) {
    const YamlNode* value = node.find(key);
    if (value == nullptr || value->kind == YamlNode::Kind::null) return {};
    if (value->kind == YamlNode::Kind::scalar) return value->scalar;
    fail(value->place, fmt::format("{} must be text", key));
    return {};
  }

  bool truth_at(const YamlNode& node, std::string_view key) {
    const std::string text = text_at(node, key);
    if (!text.empty() && text != "true" && text != "false")
      fail(node.find(key)->place, fmt::format("{} must be true or false", key));
    return text == "true";
  }

  [[nodiscard]] std::string resolve(const std::string& path) const {
    if (path.empty() || path.front() == '/') return path;
    return (folder_ / path).string();
  }

  // `<key>` is a file, `<key>-data` its content in base64; the content wins, as in kubectl.
  PemSource pem_at(const YamlNode& node, const std::string& key) {
    PemSource pem;
    pem.file = resolve(text_at(node, key));
    const std::string encoded = text_at(node, key + "-data");
    if (encoded.empty()) return pem;
    pem.file.clear();
    std::optional<std::string> decoded = decode_base64(encoded);
    if (!decoded || decoded->empty()) {
      fail(node.find(key + "-data")->place, fmt::format("{}-data is not base64", key));
      return pem;
    }
    pem.data = Secret(std::move(*decoded));
    return pem;
  }

  void read_cluster(const YamlNode& node) {
    access_.server = text_at(node, "server");
    while (access_.server.ends_with('/')) access_.server.pop_back();
    if (const std::string problem = problem_of_server(access_.server); !problem.empty()) {
      const YamlNode* server = node.find("server");
      return fail(server == nullptr ? node.place : server->place, problem);
    }
    access_.tls_server_name = text_at(node, "tls-server-name");
    access_.insecure = truth_at(node, "insecure-skip-tls-verify");
    access_.proxy = text_at(node, "proxy-url");
    access_.ca = pem_at(node, "certificate-authority");
    if (access_.insecure && !access_.ca.empty()) {
      fail(node.place, "certificate-authority and insecure-skip-tls-verify exclude each other");
    }
  }

  static std::string problem_of_server(std::string_view server) {
    const bool secure = server.starts_with("https://");
    if (!secure && !server.starts_with("http://")) return "server must begin with https:// or http://";
    if (server.size() <= (secure ? 8U : 7U)) return "server has no host";
    if (server.find_first_of("?#@ \t\r\n") != std::string_view::npos) return "server must be a host, a port and a path";
    for (const char c : server) {
      if (c <= ' ' || c > '~') return "server must be ASCII";
    }
    return {};
  }

  void read_user(const YamlNode& node) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kUnsupported{{
        {"auth-provider", "auth-provider is not supported (Kubernetes 1.26 removed it): use an exec plug-in"},
        {"username", "basic authentication is not supported (Kubernetes 1.19 removed it)"},
        {"password", "basic authentication is not supported (Kubernetes 1.19 removed it)"},
        {"as", "impersonation is not supported"},
        {"as-uid", "impersonation is not supported"},
        {"as-groups", "impersonation is not supported"},
        {"as-user-extra", "impersonation is not supported"},
    }};
    for (const auto& [key, message] : kUnsupported) {
      if (const YamlNode* found = node.find(key); found != nullptr && found->kind != YamlNode::Kind::null) {
        fail(found->place, std::string(message));
      }
    }
    access_.client_certificate = pem_at(node, "client-certificate");
    access_.client_key = pem_at(node, "client-key");
    if (access_.client_certificate.empty() != access_.client_key.empty()) {
      fail(node.place, "client-certificate and client-key must be given together");
    }
    access_.token = Secret(text_at(node, "token"));
    access_.token_file = resolve(text_at(node, "tokenFile"));
    if (const YamlNode* exec = node.find("exec"); exec != nullptr && exec->kind != YamlNode::Kind::null) {
      read_exec(*exec);
    }
  }

  void read_exec(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::mapping) return fail(node.place, "exec must be a mapping");
    ExecPlugin plugin;
    plugin.where = sources_.describe(node.place);
    plugin.api_version = text_at(node, "apiVersion");
    if (plugin.api_version != "client.authentication.k8s.io/v1" &&
        plugin.api_version != "client.authentication.k8s.io/v1beta1") {
      return fail(node.place, "exec: apiVersion must be client.authentication.k8s.io/v1 or /v1beta1");
    }
    const std::string command = text_at(node, "command");
    if (command.empty()) return fail(node.place, "exec: command is missing");
    // A name without a slash is looked up in PATH.
    plugin.command.push_back(command.find('/') == std::string::npos ? command : resolve(command));
    if (const std::string mode = text_at(node, "interactiveMode"); mode == "Always") {
      return fail(node.place, "exec: interactiveMode Always is not supported: weft has no terminal to offer");
    }
    plugin.install_hint = text_at(node, "installHint");
    plugin.provide_cluster_info = truth_at(node, "provideClusterInfo");
    read_exec_lists(node, plugin);
    access_.exec = std::move(plugin);
  }

  void read_exec_lists(const YamlNode& node, ExecPlugin& plugin) {
    if (const YamlNode* args = list_at(node, "args"); args != nullptr) {
      for (const YamlNode& argument : args->items) {
        if (argument.kind != YamlNode::Kind::scalar) return fail(argument.place, "exec: args must be texts");
        plugin.command.push_back(argument.scalar);
      }
    }
    const YamlNode* variables = list_at(node, "env");
    if (variables == nullptr) return;
    for (const YamlNode& variable : variables->items) {
      const std::string name = variable.kind == YamlNode::Kind::mapping ? text_at(variable, "name") : "";
      if (name.empty() || name.find('=') != std::string::npos) {
        return fail(variable.place, "exec: an entry of env must have name and value");
      }
      plugin.environment.emplace_back(name, text_at(variable, "value"));
    }
  }

  // nullptr if absent or null.
  const YamlNode* list_at(const YamlNode& node, std::string_view key) {
    const YamlNode* list = node.find(key);
    if (list == nullptr || list->kind == YamlNode::Kind::null) return nullptr;
    if (list->kind == YamlNode::Kind::sequence) return list;
    fail(list->place, fmt::format("{} must be a list", key));
    return nullptr;
  }

  Sources sources_;
  FileId file_ = 0;
  Diagnostics diagnostics_;
  std::filesystem::path folder_;
  std::string context_;
  ClusterAccess access_;
};

bool is_port(const std::string& text) {
  const Result<std::int64_t> port = parse_integer(text);
  return port.ok() && *port > 0 && *port <= 65535;
}

}  // namespace

Result<ClusterAccess> parse_kubeconfig(const std::string& path, std::string text, std::string_view context) {
  return KubeconfigReader(path, std::move(text), context).read();
}

Result<ClusterAccess> load_kubeconfig(const std::string& path, std::string_view context) {
  Result<std::string> text = read_file(path, kMaxKubeconfigBytes);
  if (!text.ok()) return text.error();
  return parse_kubeconfig(path, std::move(text).value(), context);
}

Result<ClusterAccess> in_cluster_access(const InClusterPlaces& places) {
  if (places.host.empty() || !is_port(places.port)) {
    return Error{
        ErrorCode::not_found, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: not a pod", {}};
  }
  const bool six = places.host.find(':') != std::string::npos;
  ClusterAccess access;
  access.server = six ? fmt::format("https://[{}]:{}", places.host, places.port)
                      : fmt::format("https://{}:{}", places.host, places.port);
  access.ca.file = places.folder + "/ca.crt";
  access.token_file = places.folder + "/token";
  access.source = places.folder;
  const Result<std::string> space = read_file(places.folder + "/namespace", 256);
  if (space.ok() && !trim(*space).empty()) access.kube_namespace = std::string(trim(*space));
  return access;
}

}  // namespace weft::kube
