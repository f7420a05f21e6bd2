// Helm releases. Versions are pinned; values come from this target's own files and, if rendered, from those of
// kubernetes/gpu.
#include <fmt/format.h>

#include <set>

#include "render/automation/terraform_parts.h"

namespace weft::render {
namespace {

constexpr std::int64_t kTimeout = 900;  // seconds: driver containers build for several minutes

struct Release {
  std::string_view name;
  std::string_view repository;
  std::string_view chart;
  std::string_view version;
  std::string_view space;
  std::string_view rendered;  // values file of another target, relative to the tree; "" if there is none
  std::vector<std::string_view> after;
  Value values;  // null: none of its own
};

// Pods are on the frontend; Multus manages the rails, so Cilium must not remove other plugins' CNI files.
Value cilium(const RenderInput& input) {
  const model::ControlPlaneSpec& control = input.cluster.spec().control_plane.value;
  std::set<std::string> devices;
  for (const PoolPlan& pool : input.plan.pools()) {
    if (input.plan.in_kubernetes(pool)) devices.insert(input.plan.frontend_interface(pool));
  }
  Value list = Value::list();
  for (const std::string& device : devices) list.add(device);
  const bool gateway = input.options["ingress"] == "gateway";
  Value out = Value::map({{"cni", Value::map({{"exclusive", false}})},
                          {"devices", std::move(list)},
                          {"MTU", input.cluster.spec().fabrics->frontend->mtu.value},
                          {"kubeProxyReplacement", true},
                          {"bpf", Value::map({{"masquerade", true}})},
                          {"bgpControlPlane", Value::map({{"enabled", true}})},
                          {"gatewayAPI", Value::map({{"enabled", gateway}})},
                          {"policyEnforcementMode", "default"},
                          {"operator", Value::map({{"replicas", 2}})},
                          {"prometheus", Value::map({{"enabled", true}})},
                          {"hubble", Value::map({{"relay", Value::map({{"enabled", true}})}})}});
  if (control.pod_subnet.has_value()) {
    out.set("ipam",
            Value::map({{"mode", "cluster-pool"},
                        {"operator",
                         Value::map({{"clusterPoolIPv4PodCIDRList", Value::list({to_text(control.pod_subnet.value)})},
                                     {"clusterPoolIPv4MaskSize", 24}})}}));
  }
  return out;
}

// Selects monitors and rules of every namespace, not only the chart's own.
Value prometheus_stack(const RenderInput& input) {
  Value spec = Value::map({{"retention", "30d"},
                           {"serviceMonitorSelectorNilUsesHelmValues", false},
                           {"podMonitorSelectorNilUsesHelmValues", false},
                           {"ruleSelectorNilUsesHelmValues", false},
                           {"probeSelectorNilUsesHelmValues", false},
                           {"externalLabels", Value::map({{"cluster", input.cluster.name()}})}});
  Value dashboards = Value::map({{"enabled", true}, {"searchNamespace", "ALL"}});
  return Value::map({{"prometheus", Value::map({{"prometheusSpec", std::move(spec)}})},
                     {"grafana", Value::map({{"admin", Value::map({{"existingSecret", "grafana-admin"}})},
                                             {"sidecar", Value::map({{"dashboards", std::move(dashboards)}})}})}});
}

Value kyverno() {
  return Value::map({{"admissionController", Value::map({{"replicas", 3}})},
                     {"backgroundController", Value::map({{"replicas", 2}})},
                     {"cleanupController", Value::map({{"replicas", 2}})},
                     {"reportsController", Value::map({{"replicas", 2}})}});
}

std::vector<Release> releases(const RenderInput& input) {
  const model::ControlPlaneSpec& control = input.cluster.spec().control_plane.value;
  const bool gpus = input.cluster.gpu_count() > 0;
  std::vector<Release> out;
  out.push_back({"cilium", "https://helm.cilium.io/", "cilium", "1.18.5", "kube-system", "", {}, cilium(input)});
  std::vector<std::string_view> operators{"cilium"};
  if (control.node_feature_discovery.value) {
    out.push_back({"nfd",
                   "oci://registry.k8s.io/nfd/charts",
                   "node-feature-discovery",
                   "0.19.0",
                   "node-feature-discovery",
                   "kubernetes/gpu/01-nfd.values.yaml",
                   operators,
                   {}});
    operators.emplace_back("nfd");
  }
  if (gpus) {
    out.push_back({"gpu-operator",
                   "https://helm.ngc.nvidia.com/nvidia",
                   "gpu-operator",
                   "v26.3.3",
                   kGpuOperatorSpace,
                   "kubernetes/gpu/02-gpu-operator.values.yaml",
                   operators,
                   {}});
  }
  out.push_back({"network-operator",
                 "https://helm.ngc.nvidia.com/nvidia",
                 "network-operator",
                 "26.7.0",
                 kNetworkOperatorSpace,
                 "kubernetes/gpu/03-network-operator.values.yaml",
                 operators,
                 {}});
  if (input.cluster.spec().operations->monitoring.value) {
    out.push_back({"kube-prometheus-stack",
                   "https://prometheus-community.github.io/helm-charts",
                   "kube-prometheus-stack",
                   "77.11.1",
                   kMonitoringSpace,
                   "",
                   {"cilium"},
                   prometheus_stack(input)});
  }
  if (control.signed_images.value) {
    out.push_back(
        {"kyverno", "https://kyverno.github.io/kyverno/", "kyverno", "3.5.2", "kyverno", "", {"cilium"}, kyverno()});
  }
  if (control.allocator.value == model::Allocator::kubernetes) {
    out.push_back({"kueue",
                   "oci://registry.k8s.io/kueue/charts",
                   "kueue",
                   "0.19.2",
                   "kueue-system",
                   "",
                   {"cilium"},
                   Value::map({{"controllerManager", Value::map({{"replicas", 2}})}})});
  }
  return out;
}

Value resource_of(const Release& release) {
  Value values = Value::list();
  if (!release.values.is_null())
    values.add(fmt::format("${{file(\"${{path.module}}/values/{}.yaml\")}}", release.name));
  if (!release.rendered.empty()) {
    values.add(
        fmt::format("${{fileexists(\"${{path.module}}/../{0}\") ? file(\"${{path.module}}/../{0}\") : \"{{}}\"}}",
                    release.rendered));
  }
  Value out = Value::map({{"name", release.name},
                          {"repository", release.repository},
                          {"chart", release.chart},
                          {"version", release.version},
                          {"namespace", release.space},
                          {"create_namespace", release.space != "kube-system"},
                          {"atomic", true},
                          {"timeout", kTimeout},
                          {"values", std::move(values)}});
  if (release.name == "cilium") {
    out.set("set", Value::list({Value::map({{"name", "k8sServiceHost"}, {"value", "${var.kubernetes_api_host}"}}),
                                Value::map({{"name", "k8sServicePort"}, {"value", "6443"}})}));
  }
  if (!release.after.empty()) {
    Value after = Value::list();
    for (const std::string_view name : release.after) after.add(fmt::format("helm_release.{}", name));
    out.set("depends_on", std::move(after));
  }
  return out;
}

}  // namespace

void add_terraform_helm(const RenderInput& input, FileSink& sink) {
  if (!input.plan.has_kubernetes()) return;
  Value resources = Value::map();
  for (Release& release : releases(input)) {
    resources.set(release.name, resource_of(release));
    if (release.values.is_null()) continue;
    const Value values = std::move(release.values);
    sink.add({.path = fmt::format("terraform/values/{}.yaml", release.name),
              .content = write_yaml(std::span(&values, 1),
                                    heading(input.cluster, fmt::format("Values of the chart {}.", release.chart))),
              .consumer = "Helm",
              .sources = {"control_plane"}});
  }
  add_terraform_file(sink, "helm", Value::map({{"resource", Value::map({{"helm_release", std::move(resources)}})}}),
                     "control_plane");
}

}  // namespace weft::render
