// GPUs for pods: the operators' chart values, MIG and time slicing, and the exported metrics.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "render/core/targets.h"
#include "render/kube/gpu_objects.h"
#include "render/kube/nics.h"

namespace weft::render {
namespace {

using kube_platform::add_manifest;
using kube_platform::label_value;
using kube_platform::object;

constexpr std::string_view kFolder = "kubernetes/gpu/";
constexpr std::string_view kFeatureSpace = "node-feature-discovery";
constexpr std::string_view kScrapeInterval = "15s";  // enterprise stack guide, step 6

std::string path_of(std::string_view name) { return std::string(kFolder) + std::string(name); }

struct Chart {
  std::string_view file;
  std::string_view release;
  std::string_view chart;  // chart name for helm, with its repository
  std::string_view space;
  std::string what;
  Value values;
};

void add_chart(const RenderInput& input, FileSink& sink, Chart chart) {
  const std::string path = path_of(chart.file);
  const std::vector<Value> documents{std::move(chart.values)};
  sink.add({.path = path,
            .content = write_yaml(documents, heading(input.cluster, chart.what)),
            .consumer = "helm",
            .apply = fmt::format("helm upgrade --install {} {} --namespace {} --create-namespace --values {}",
                                 chart.release, chart.chart, chart.space, path),
            .risk = Risk::reload,
            .sources = {"pools", "control_plane"}});
}

std::vector<const PoolPlan*> kubernetes_pools(const RenderInput& input) {
  std::vector<const PoolPlan*> pools;
  for (const PoolPlan& pool : input.plan.pools()) {
    if (input.plan.in_kubernetes(pool)) pools.push_back(&pool);
  }
  return pools;
}

// Vendor labels of GPUs and NICs, which both operators select by.
Value feature_values(const RenderInput& input) {
  Value tolerations = kube_platform::tolerations_of(kubernetes_pools(input));
  tolerations.add(
      Value::map({{"key", "node-role.kubernetes.io/control-plane"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}));
  Value pci = Value::map({{"deviceClassWhitelist", Value::list({"0200", "0207", "0300", "0302"})},
                          {"deviceLabelFields", Value::list({"vendor"})}});
  return Value::map(
      {{"master", Value::map({{"config", Value::map({{"extraLabelNs", Value::list({"nvidia.com"})}})}})},
       {"worker", Value::map({{"tolerations", std::move(tolerations)},
                              {"config", Value::map({{"sources", Value::map({{"pci", std::move(pci)}})}})}})}});
}

Value network_operator_values() {
  Value values = Value::map();
  values.set("nfd", Value::map({{"enabled", false}, {"deployNodeFeatureRules", true}}));
  values.set("sriovNetworkOperator", Value::map({{"enabled", true}}));
  // The NIC configuration operator requests a drain from it before it restarts a node.
  values.set("maintenanceOperator", Value::map({{"enabled", true}}));
  std::string prefix(kResourcePrefix);
  prefix.pop_back();  // the operator adds the slash
  values.set("sriov-network-operator", Value::map({{"operator", Value::map({{"resourcePrefix", prefix}})}}));
  return values;
}

void add_charts(const RenderInput& input, FileSink& sink) {
  const bool discovery = input.cluster.spec().control_plane->node_feature_discovery.value;
  if (discovery) {
    add_chart(input, sink,
              {.file = "01-nfd.values.yaml",
               .release = "nfd",
               .chart = "oci://registry.k8s.io/nfd/charts/node-feature-discovery",
               .space = kFeatureSpace,
               .what = "Node Feature Discovery, shared by both operators.",
               .values = feature_values(input)});
  }
  Value gpu = Value::map({{"nfd", Value::map({{"enabled", false}})}});
  const Value settings = kube_platform::operator_settings(input);
  for (const Value::Entry& entry : settings.entries()) gpu.set(entry.key, entry.value);
  add_chart(input, sink,
            {.file = "02-gpu-operator.values.yaml",
             .release = "gpu-operator",
             .chart = "nvidia/gpu-operator",
             .space = kGpuOperatorSpace,
             .what = "NVIDIA GPU Operator (helm repo add nvidia https://helm.ngc.nvidia.com/nvidia). Images and "
                     "their\nversions come from the chart.",
             .values = std::move(gpu)});
  if (applies_kube_network(input)) {
    add_chart(input, sink,
              {.file = "03-network-operator.values.yaml",
               .release = "network-operator",
               .chart = "nvidia/network-operator --version 26.7.0",
               .space = kNetworkOperatorSpace,
               .what = "NVIDIA Network Operator with the SR-IOV operator; its NicClusterPolicy is in "
                       "kubernetes/network.",
               .values = network_operator_values()});
  }
}

Value cluster_policy(const RenderInput& input) {
  // Without weft's label: helm manages the same label.
  Value policy = Value::map({{"apiVersion", "nvidia.com/v1"},
                             {"kind", "ClusterPolicy"},
                             {"metadata", Value::map({{"name", "cluster-policy"}})}});
  policy.set("spec", kube_platform::operator_settings(input));
  return policy;
}

Value feature(std::string_view name, Value expressions) {
  return Value::map({{"feature", name}, {"matchExpressions", std::move(expressions)}});
}

Value in(std::vector<std::string> values) { return Value::map({{"op", "In"}, {"value", Value::texts(values)}}); }

// Labels nodes that have the features the design relies on: SR-IOV disabled in the BIOS shows up here.
Value feature_rule(const RenderInput& input) {
  std::set<std::string> vendors;
  for (const PoolPlan* pool : kube_platform::nvidia_pools(input)) {
    for (const model::PortUse use : {model::PortUse::backend, model::PortUse::storage}) {
      const model::NicModel* nic = kube_platform::nic_of(input, *pool, use);
      if (nic != nullptr && !kube_platform::pci_vendor(*nic).empty()) vendors.insert(kube_platform::pci_vendor(*nic));
    }
  }
  Value rules = Value::list();
  // Classes 0300 and 0302: display and 3D controllers.
  rules.add(Value::map(
      {{"name", "GPUs on the PCI bus"},
       {"labels", Value::map({{"weft.gpu", "true"}})},
       {"matchFeatures", Value::list({feature("pci.device", Value::map({{"vendor", in({"10de"})},
                                                                        {"class", in({"0300", "0302"})}}))})}}));
  if (!vendors.empty()) {
    Value nic = Value::map({{"vendor", in({vendors.begin(), vendors.end()})},
                            {"sriov_totalvfs", Value::map({{"op", "Gt"}, {"value", Value::list({"0"})}})}});
    rules.add(Value::map({{"name", "NICs that support SR-IOV virtual functions"},
                          {"labels", Value::map({{"weft.sriov", "true"}})},
                          {"matchFeatures", Value::list({feature("pci.device", std::move(nic))})}}));
  }
  Value document = object("nfd.k8s-sigs.io/v1alpha1", "NodeFeatureRule", "weft-hardware");
  document.set("spec", Value::map({{"rules", std::move(rules)}}));
  return document;
}

// Pool names consist of letters, digits, '-', '_' and '.': nothing special to a shell.
std::string label_line(const PoolPlan& pool, std::string_view label) {
  const std::string value = label_value(pool.name());
  return fmt::format("kubectl label nodes --overwrite --selector '{}={}' '{}={}'\n", kPoolLabel, value, label, value);
}

void add_labels(const RenderInput& input, FileSink& sink) {
  std::string lines;
  for (const PoolPlan* pool : kube_platform::nvidia_pools(input)) {
    if (kube_platform::has_mig(*pool)) lines += label_line(*pool, "nvidia.com/mig.config");
    if (kube_platform::has_time_slices(*pool)) lines += label_line(*pool, "nvidia.com/device-plugin.config");
  }
  if (lines.empty()) return;
  const std::string path = path_of("40-node-labels.sh");
  const std::string what =
      heading(input.cluster,
              "Selects MIG and time-slicing of the GPUs of each pool. A change of MIG stops the workloads on the "
              "node's GPUs:\ndrain the node first. Nodes already have the label of their pool.");
  std::string text = "#!/bin/sh\n# ";
  for (const char c : what) text += c == '\n' ? std::string("\n# ") : std::string(1, c);
  sink.add({.path = path,
            .content = text + "\nset -eu\n" + lines,
            .consumer = "kubectl",
            .apply = "sh " + path,
            .mode = "0755",
            .risk = Risk::traffic,
            .sources = {"pools.mig", "pools.time_slices"}});
}

Value service_monitor() {
  Value endpoint = Value::map({{"port", "gpu-metrics"}, {"path", "/metrics"}, {"interval", kScrapeInterval}});
  endpoint.set("relabelings",
               Value::list({Value::map({{"sourceLabels", Value::list({"__meta_kubernetes_pod_node_name"})},
                                        {"targetLabel", "node"},
                                        {"action", "replace"}})}));
  Value document = object("monitoring.coreos.com/v1", "ServiceMonitor", "nvidia-dcgm-exporter", kMonitoringSpace);
  document.set("spec",
               Value::map({{"selector", Value::map({{"matchLabels", Value::map({{"app", "nvidia-dcgm-exporter"}})}})},
                           {"namespaceSelector", Value::map({{"matchNames", Value::list({kGpuOperatorSpace})}})},
                           {"endpoints", Value::list({std::move(endpoint)})}}));
  return document;
}

std::vector<Value> configurations(const RenderInput& input) {
  std::vector<Value> documents;
  for (Value document : {kube_platform::mig_config(input), kube_platform::sharing_config(input)}) {
    if (!document.is_null()) documents.push_back(std::move(document));
  }
  if (input.cluster.spec().operations->gpu_metrics.value) documents.push_back(kube_platform::metrics_config());
  return documents;
}

}  // namespace

bool applies_kube_gpu(const RenderInput& input) { return !kube_platform::nvidia_pools(input).empty(); }

void render_kube_gpu(const RenderInput& input, FileSink& sink) {
  add_manifest(input, sink,
               {.path = path_of("00-namespace.yaml"),
                .what = "Namespace of the NVIDIA GPU Operator.",
                .consumer = "Kubernetes",
                .documents = {kube_platform::privileged_space(kGpuOperatorSpace)},
                .sources = {"control_plane"}});
  add_charts(input, sink);
  add_manifest(input, sink,
               {.path = path_of("10-configurations.yaml"),
                .what = "MIG and time-slicing profiles per pool, and the exported DCGM fields.",
                .consumer = "NVIDIA GPU Operator",
                .documents = configurations(input),
                .risk = Risk::reload,
                .sources = {"pools.mig", "pools.time_slices", "operations.gpu_metrics"}});
  add_manifest(input, sink,
               {.path = path_of("20-cluster-policy.yaml"),
                .what = "ClusterPolicy of the GPU Operator. With a Helm installation, which creates the policy, this "
                        "changes nothing;\nwith an OLM installation, which provides the images, this is the policy.",
                .consumer = "NVIDIA GPU Operator",
                .documents = {cluster_policy(input)},
                .risk = Risk::reload,
                .sources = {"pools", "operations"}});
  if (input.cluster.spec().control_plane->node_feature_discovery.value) {
    add_manifest(
        input, sink,
        {.path = path_of("30-node-features.yaml"),
         .what = "Labels feature.node.kubernetes.io/weft.gpu and weft.sriov: hardware that the design requires.\nA "
                 "server of a GPU pool without these labels lacks a card or has SR-IOV disabled in its BIOS.",
         .consumer = "Node Feature Discovery",
         .documents = {feature_rule(input)},
         .sources = {"pools.server", "control_plane.node_feature_discovery"}});
  } else {
    sink.note(
        "node_feature_discovery is disabled: manually label GPU nodes feature.node.kubernetes.io/pci-10de.present=true "
        "and "
        "nodes with NVIDIA NICs pci-15b3.present=true; the operators select nodes by these labels");
  }
  add_labels(input, sink);
  if (input.cluster.spec().operations->monitoring.value && input.cluster.spec().operations->gpu_metrics.value) {
    add_manifest(input, sink,
                 {.path = path_of("50-dcgm-monitor.yaml"),
                  .what = "Scrapes the DCGM exporter of every node.",
                  .consumer = "Prometheus Operator",
                  .documents = {service_monitor()},
                  .stage = Stage::monitoring,
                  .sources = {"operations.monitoring", "operations.gpu_metrics"}});
  }
  const auto pools = kube_platform::gpu_pools(input);
  if (pools.size() != kube_platform::nvidia_pools(input).size()) {
    sink.left_out("GPUs of vendors other than NVIDIA need their vendor's device plugin: kubernetes/gpu has none");
  }
}

}  // namespace weft::render
