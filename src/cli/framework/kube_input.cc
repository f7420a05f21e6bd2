#include "cli/framework/kube_input.h"

#include <filesystem>

namespace weft::cli {
namespace {

// The places where kubectl looks; "": none of them.
std::string find_kubeconfig(Context& context) {
  std::string given = context.arguments().value("kubeconfig");
  if (!given.empty() || context.arguments().has("service-account")) return given;
  std::string named = context.io().environment("KUBECONFIG");
  if (!named.empty()) return named;
  if (!context.io().environment("KUBERNETES_SERVICE_HOST").empty()) return {};
  std::string usual = context.io().environment("HOME") + "/.kube/config";
  std::error_code problem;
  return std::filesystem::exists(usual, problem) ? usual : std::string();
}

}  // namespace

std::vector<Option> kube_access_options() {
  return {
      {.name = "kubeconfig",
       .value = "FILE",
       .help = "kubeconfig of the cluster to run jobs in",
       .fallback = "$KUBECONFIG, the pod's service account, or ~/.kube/config",
       .hint = Hint::file},
      {.name = "kube-context", .value = "NAME", .help = "context of the kubeconfig", .fallback = "its current context"},
      {.name = "service-account",
       .value = "DIR",
       .help = "directory with token and ca.crt of the pod's service account",
       .fallback = "/var/run/secrets/kubernetes.io/serviceaccount in a pod",
       .hint = Hint::file}};
}

serve::KubeSettings kube_access_settings(Context& context) {
  serve::KubeSettings settings;
  settings.kubeconfig = find_kubeconfig(context);
  settings.context = context.arguments().value("kube-context");
  settings.service_account = context.arguments().value("service-account");
  settings.service_host = context.io().environment("KUBERNETES_SERVICE_HOST");
  settings.service_port = context.io().environment("KUBERNETES_SERVICE_PORT");
  return settings;
}

}  // namespace weft::cli
