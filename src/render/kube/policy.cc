// kubernetes/policy: who may talk to whom (NetworkPolicies, Cilium's at layer 7 for services) and what may run at all
// (Kyverno). RDMA bypasses the kernel, where network policies are enforced: rails are isolated by VRFs, partitions and
// restrictions on attaching interfaces.
#include <fmt/format.h>

#include <algorithm>

#include "render/core/targets.h"
#include "render/kube/services.h"

namespace weft::render {
namespace {

using kube_services::add_manifest;
using kube_services::match_labels;
using kube_services::name_of;
using kube_services::object;
using kube_services::TenantSpace;

constexpr std::string_view kFolder = "kubernetes/policy/";
constexpr std::string_view kSpaceName = "kubernetes.io/metadata.name";  // set by the API server on namespaces
constexpr std::string_view kLinkLocal = "169.254.0.0/16";               // metadata services of virtual machines

bool denies(const RenderInput& input) {
  return input.cluster.spec().security->network_policy.value == model::PolicyDefault::deny;
}

Value network_policy(std::string name, const std::string& space, std::initializer_list<Value> types) {
  Value policy = object("networking.k8s.io/v1", "NetworkPolicy", std::move(name), space);
  policy["spec"] = Value::map({{"podSelector", Value::map()}, {"policyTypes", Value::list(types)}});
  return policy;
}

Value default_deny(const std::string& space) { return network_policy("default-deny", space, {"Ingress", "Egress"}); }

// Ports are those of the serving pods: policies match them, not the Service's.
Value allow_names(const RenderInput& input, const std::string& space) {
  const bool openshift = input.options["ingress"] == "route";
  const int port = openshift ? 5353 : 53;
  Value peer =
      Value::map({{"namespaceSelector", match_labels(kSpaceName, openshift ? "openshift-dns" : "kube-system")},
                  {"podSelector", openshift ? match_labels("dns.operator.openshift.io/daemonset-dns", "default")
                                            : match_labels("k8s-app", "kube-dns")}});
  Value policy = network_policy("allow-dns", space, {"Egress"});
  policy["spec"]["egress"] =
      Value::list({Value::map({{"to", Value::list({std::move(peer)})},
                               {"ports", Value::list({Value::map({{"protocol", "UDP"}, {"port", port}}),
                                                      Value::map({{"protocol", "TCP"}, {"port", port}})})}})});
  return policy;
}

// Ranks of a job communicate on the primary network; other tenants are blocked.
Value allow_own_pods(const std::string& space) {
  Value policy = network_policy("allow-own-pods", space, {"Ingress", "Egress"});
  const Value own = Value::list({Value::map({{"podSelector", Value::map()}})});
  policy["spec"]["ingress"] = Value::list({Value::map({{"from", own}})});
  policy["spec"]["egress"] = Value::list({Value::map({{"to", own}})});
  return policy;
}

void add_prefix(Value& list, const Ipv4Prefix& prefix) {
  // The API server rejects an exception that is not within 0.0.0.0/0; a default route would exclude everything.
  if (prefix.length > 0) list.add(to_text(prefix));
}

// All prefixes of the backend, storage and out-of-band networks.
Value fabric_prefixes(const RenderInput& input) {
  Value list = Value::list();
  const model::FabricsSpec& fabrics = input.cluster.spec().fabrics.value;
  for (const model::FabricKind kind : {model::FabricKind::backend, model::FabricKind::storage}) {
    if (!input.cluster.fabric(kind).present) continue;
    const model::FabricSpec& fabric = input.cluster.data_fabric_spec(kind);
    for (const Ipv4Prefix& prefix : fabric.subnets.value) add_prefix(list, prefix);
    if (fabric.loopbacks.has_value()) add_prefix(list, fabric.loopbacks.value);
    if (fabric.switch_link_subnet.has_value()) add_prefix(list, fabric.switch_link_subnet.value);
  }
  if (fabrics.oob->subnet.has_value()) add_prefix(list, fabrics.oob->subnet.value);
  return list;
}

// Egress to the site and the frontend, never to the fabrics. Pods and Services of others are excluded too, for network
// plugins that match them as addresses: `pods` permits them again if namespaces are open to each other.
Value allow_outside(const RenderInput& input, const std::string& space, bool pods) {
  const model::ControlPlaneSpec& control = input.cluster.spec().control_plane.value;
  Value except = fabric_prefixes(input);
  except.add(kLinkLocal);
  if (!pods) {
    add_prefix(except, control.pod_subnet.value);
    add_prefix(except, control.service_subnet.value);
  }
  Value block = Value::map({{"cidr", "0.0.0.0/0"}, {"except", std::move(except)}});
  Value to = Value::list({Value::map({{"ipBlock", std::move(block)}})});
  if (pods) to.add(Value::map({{"namespaceSelector", Value::map()}}));
  Value policy = network_policy("deny-fabrics", space, {"Egress"});
  policy["spec"]["egress"] = Value::list({Value::map({{"to", std::move(to)}})});
  return policy;
}

Value request(std::string_view method, std::string_view path) {
  return Value::map({{"method", method}, {"path", path}});
}

// Paths are regular expressions over the whole path (RE2 in Envoy).
Value api_requests() {
  return Value::list({
      request("POST", "/v1/chat/completions"),
      request("POST", "/v1/completions"),
      request("POST", "/v1/embeddings"),
      request("GET", "/v1/models"),
      request("GET", "/v1/models/[^/]+"),
      request("GET", "/health"),
  });
}

Value to_port(const model::ServiceSpec& service, Value requests) {
  Value port = Value::map({{"port", std::to_string(service.port.value)}, {"protocol", "TCP"}});
  return Value::list({Value::map(
      {{"ports", Value::list({std::move(port)})}, {"rules", Value::map({{"http", std::move(requests)}})}})});
}

Value from_space(std::string_view space) { return Value::list({match_labels("io.kubernetes.pod.namespace", space)}); }

Value entrance_space(const RenderInput& input) {
  return input.options["ingress"] == "route" ? from_space("openshift-ingress") : from_space(kGatewaySpace);
}

// The gateway, the proxies on control-plane nodes, and monitoring; each with the minimum access it needs.
Value service_policy(const RenderInput& input, const model::ServiceSpec& service) {
  Value ingress = Value::list();
  ingress.add(Value::map({{"fromEndpoints", entrance_space(input)}, {"toPorts", to_port(service, api_requests())}}));
  ingress.add(Value::map(
      {{"fromEntities", Value::list({"host", "remote-node"})}, {"toPorts", to_port(service, api_requests())}}));
  ingress.add(Value::map({{"fromEndpoints", from_space(kMonitoringSpace)},
                          {"toPorts", to_port(service, Value::list({request("GET", "/metrics")}))}}));
  Value policy = object("cilium.io/v2", "CiliumNetworkPolicy", name_of(service), kube_services::space_of(service));
  policy["spec"] =
      Value::map({{"description", "OpenAI-compatible API requests, only from the gateway"},
                  {"endpointSelector", Value::map({{"matchLabels", kube_services::service_labels(service)}})},
                  {"ingress", std::move(ingress)}});
  return policy;
}

// Proxies outside the cluster's nodes are matched by address.
Value proxy_rule(const RenderInput& input, const model::ServiceSpec& service) {
  Value from = Value::list();
  for (const Ipv4 address : kube_services::proxy_addresses(input)) from.add(to_text(address) + "/32");
  return Value::map({{"fromCIDR", std::move(from)}, {"toPorts", to_port(service, api_requests())}});
}

Value match_pods() {
  Value selector =
      Value::map({{"matchExpressions",
                   Value::list({Value::map({{"key", kube_services::kTenantLabel}, {"operator", "Exists"}})})}});
  Value resources = Value::map({{"kinds", Value::list({"Pod"})}, {"namespaceSelector", std::move(selector)}});
  return Value::map({{"any", Value::list({Value::map({{"resources", std::move(resources)}})})}});
}

Value kyverno_policy(std::string name, std::string_view title, Value rules) {
  Value policy = object("kyverno.io/v1", "ClusterPolicy", std::move(name));
  policy["metadata"].set("annotations", Value::map({{"policies.kyverno.io/title", title}}));
  policy["spec"] = Value::map({{"background", true},
                               {"failurePolicy", "Fail"},
                               {"webhookConfiguration", Value::map({{"timeoutSeconds", 30}})},
                               {"rules", std::move(rules)}});
  return policy;
}

// The site's registry, and the repositories of images that the file takes from elsewhere. Kyverno interprets '*', '?',
// '|', '&' and '!' in patterns: an image with one of them is covered only by the registry's pattern.
std::vector<std::string> image_patterns(const RenderInput& input) {
  const std::string registry = input.cluster.spec().security->registry.value + "/";
  std::vector<std::string> patterns{registry + "*"};
  for (const model::ServiceSpec& service : input.cluster.spec().services.value) {
    const std::string& image = service.image.value;
    if (image.starts_with(registry) || image.find_first_of("*?|&!<>=~(){}$,") != std::string::npos) continue;
    const std::size_t slash = image.rfind('/');
    const std::size_t version = image.find_first_of(":@", slash == std::string::npos ? 0 : slash);
    const std::string repository = image.substr(0, version);
    for (const std::string& pattern : {repository + ":*", repository + "@*"}) {
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
    }
  }
  return patterns;
}

Value signed_images(const RenderInput& input) {
  const std::vector<std::string> patterns = image_patterns(input);
  const std::string images = fmt::format("{}", fmt::join(patterns, " | "));
  Value key = Value::map(
      {{"keys", Value::map({{"secret", Value::map({{"name", "cosign-public-key"}, {"namespace", "kyverno"}})}})}});
  Value verify = Value::map(
      {{"type", "Cosign"},
       {"failureAction", "Enforce"},
       {"imageReferences", Value::texts(patterns)},
       {"mutateDigest", true},
       {"verifyDigest", true},
       {"required", true},
       {"attestors", Value::list({Value::map({{"count", 1}, {"entries", Value::list({std::move(key)})}})})}});
  Value signature =
      Value::map({{"name", "signature"}, {"match", match_pods()}, {"verifyImages", Value::list({std::move(verify)})}});
  Value pattern = Value::map({{"spec", Value::map({
                                           {"=(ephemeralContainers)", Value::list({Value::map({{"image", images}})})},
                                           {"=(initContainers)", Value::list({Value::map({{"image", images}})})},
                                           {"containers", Value::list({Value::map({{"image", images}})})},
                                       })}});
  Value registry = Value::map({{"name", "registry"},
                               {"match", match_pods()},
                               {"validate", Value::map({{"failureAction", "Enforce"},
                                                        {"message", "images must come from the site's registry"},
                                                        {"pattern", std::move(pattern)}})}});
  return kyverno_policy("signed-images", "Images must come from the site's registry and be signed",
                        Value::list({std::move(signature), std::move(registry)}));
}

Value gpu_limits() {
  Value expression =
      Value::map({{"expression",
                   "object.spec.containers.all(c, !has(c.resources) || !has(c.resources.limits) || "
                   "!c.resources.limits.exists(r, r.startsWith('nvidia.com/') || r.startsWith('amd.com/')) || "
                   "('cpu' in c.resources.limits && 'memory' in c.resources.limits))"},
                  {"message", "a container with GPUs needs limits for cpu and memory"}});
  Value rule = Value::map(
      {{"name", "limits"},
       {"match", match_pods()},
       {"validate", Value::map({{"failureAction", "Enforce"},
                                {"cel", Value::map({{"expressions", Value::list({std::move(expression)})}})}})}});
  return kyverno_policy("gpu-limits", "GPU pods must set CPU and memory limits", Value::list({std::move(rule)}));
}

// The baseline profile of the pod security standards, except for the capability that registers memory for RDMA.
Value tenant_pods() {
  Value exclude = Value::list();
  for (const char* containers : {"containers", "initContainers"}) {
    exclude.add(Value::map({{"controlName", "Capabilities"},
                            {"images", Value::list({"*"})},
                            {"restrictedField", fmt::format("spec.{}[*].securityContext.capabilities.add", containers)},
                            {"values", Value::list({"IPC_LOCK"})}}));
  }
  Value profile = Value::map(
      {{"name", "baseline"},
       {"match", match_pods()},
       {"validate",
        Value::map({{"failureAction", "Enforce"},
                    {"podSecurity",
                     Value::map({{"level", "baseline"}, {"version", "latest"}, {"exclude", std::move(exclude)}})}})}});
  Value host = Value::map(
      {{"name", "no-host-network"},
       {"match", match_pods()},
       {"validate", Value::map({{"failureAction", "Enforce"},
                                {"message", "tenant pods must use network attachments, not the host network"},
                                {"pattern", Value::map({{"spec", Value::map({{"=(hostNetwork)", false}})}})}})}});
  return kyverno_policy("tenant-pods", "Tenant pods must not use host namespaces",
                        Value::list({std::move(profile), std::move(host)}));
}

std::vector<Value> network_policies(const RenderInput& input) {
  std::vector<Value> out;
  for (const TenantSpace& space : kube_services::tenant_spaces(input)) {
    if (denies(input)) {
      out.push_back(default_deny(space.name));
      out.push_back(allow_names(input, space.name));
      out.push_back(allow_own_pods(space.name));
    }
    out.push_back(allow_outside(input, space.name, !denies(input)));
  }
  if (!input.plan.frontend_peers().empty()) {
    out.push_back(allow_outside(input, std::string(kGatewaySpace), true));
  }
  return out;
}

std::vector<Value> service_policies(const RenderInput& input) {
  std::vector<Value> out;
  for (const std::size_t n : kube_services::rendered_services(input)) {
    const model::ServiceSpec& service = input.cluster.spec().services.value[n];
    Value policy = service_policy(input, service);
    if (!kube_services::proxy_addresses(input).empty()) policy["spec"]["ingress"].add(proxy_rule(input, service));
    out.push_back(std::move(policy));
  }
  return out;
}

}  // namespace

bool applies_kube_policy(const RenderInput& input) { return input.plan.has_kubernetes(); }

void render_kube_policy(const RenderInput& input, FileSink& sink) {
  const std::string folder(kFolder);
  add_manifest(input, sink,
               {.path = folder + "10-network.yaml",
                .what = "Allowed traffic on the primary pod network. No pod reaches the backend, storage "
                        "or\nout-of-band network from there.",
                .consumer = "Cilium",
                .documents = network_policies(input),
                .risk = Risk::reload,
                .sources = {"tenants", "security.network_policy", "fabrics"}});
  add_manifest(input, sink,
               {.path = folder + "20-services.yaml",
                .what = "Allowed requests to services and their sources. There is deliberately no NetworkPolicy for "
                        "the gateway and the same\nport: it would override the path restrictions, since Cilium "
                        "combines rules and the most permissive one applies.",
                .consumer = "Cilium",
                .documents = service_policies(input),
                .stage = Stage::workloads,
                .risk = Risk::reload,
                .sources = {"services"}});
  std::vector<Value> admission;
  if (input.cluster.spec().control_plane->signed_images.value) admission.push_back(signed_images(input));
  admission.push_back(gpu_limits());
  admission.push_back(tenant_pods());
  add_manifest(input, sink,
               {.path = folder + "30-admission.yaml",
                .what = "Admission policies of tenant namespaces. The public key of the signatures is the Secret "
                        "cosign-public-key\n(cosign.pub) in the namespace kyverno.",
                .consumer = "Kyverno",
                .documents = std::move(admission),
                .sources = {"control_plane.signed_images", "security.registry"}});
}

}  // namespace weft::render
