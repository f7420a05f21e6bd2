// What the Kubernetes targets for the frontend, scheduling, inference and policy share: objects in their usual form,
// texts made fit for names and labels, and who a service or tenant is in the cluster. It renders nothing itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/target.h"

namespace weft::kube_services {

inline constexpr std::string_view kTenantLabel = "weft/tenant";  // on namespaces: the tenant's name
inline constexpr std::string_view kSharedSpace = "inference";    // of services that belong to no tenant
inline constexpr std::string_view kHostLabel = "kubernetes.io/hostname";

// A text as an RFC 1123 label (names of namespaces, Services) or subdomain (names of nodes): lower case, what is not
// allowed becomes '-'. A name that is already one stays as it is.
[[nodiscard]] std::string label_name(std::string_view text);
[[nodiscard]] std::string subdomain_name(std::string_view text);
// The same for the value of a label, which may have capitals, '_' and '.'.
[[nodiscard]] std::string label_value(std::string_view text);
// k8s.io/apimachinery/pkg/util/validation: IsQualifiedName, IsValidLabelValue.
[[nodiscard]] bool is_label_key(std::string_view text);
[[nodiscard]] bool is_label_value(std::string_view text);

struct KubeTaint {
  std::string key;
  std::string value;
  std::string effect;
};
// "key=value:Effect" or "key:Effect"; nothing when key or value cannot stand in a taint.
[[nodiscard]] std::optional<KubeTaint> parse_taint(std::string_view text);
// Those of the pool that can stand in a manifest.
[[nodiscard]] std::vector<KubeTaint> taints_of(const PoolPlan& pool);
[[nodiscard]] Value tolerations_of(const PoolPlan& pool);

// apiVersion, kind, metadata with name, namespace (none when empty) and the label that says who made it.
[[nodiscard]] Value object(std::string_view api_version, std::string_view kind, std::string name,
                           std::string space = {});
[[nodiscard]] Value match_labels(std::string_view key, std::string_view value);
// An amount of memory or storage as a Kubernetes quantity, exact: "32Gi", "16T", "1500".
[[nodiscard]] std::string quantity(Bytes amount);
// GEP-2257: hours, minutes, seconds and milliseconds, "300s", "2h30m".
[[nodiscard]] std::string gateway_duration(Duration time);
[[nodiscard]] std::int64_t whole_seconds(Duration time);  // at least 1

// A namespace that tenants' pods run in.
struct TenantSpace {
  std::string name;
  const TenantSpec* tenant = nullptr;        // null for services without a tenant
  std::vector<const PoolPlan*> pools;        // GPU pools with kubelets that the tenant may use
  std::vector<const ServiceSpec*> services;  // that run in it
  bool rdma = false;                         // a pool of it is on the backend
};
[[nodiscard]] std::vector<TenantSpace> tenant_spaces(const RenderInput& input);
[[nodiscard]] std::string space_of(const ServiceSpec& service);
[[nodiscard]] std::string name_of(const ServiceSpec& service);
[[nodiscard]] Value service_labels(const ServiceSpec& service);

// Whether the n-th service of the file has a name of its own once it is fit for Kubernetes; the later of two is left
// out everywhere.
[[nodiscard]] bool has_own_name(const RenderInput& input, std::size_t n);
// By number, the services that are rendered.
[[nodiscard]] std::vector<std::size_t> rendered_services(const RenderInput& input);

// "nvidia.com/gpu", "amd.com/gpu" or "nvidia.com/mig-1g.10gb", and how many of it a replica gets.
[[nodiscard]] std::string gpu_resource(const PoolPlan& pool);
[[nodiscard]] bool is_nvidia(const PoolPlan& pool);
[[nodiscard]] std::string mig_resource(std::string_view profile);
[[nodiscard]] std::string resource_of(const ServiceSpec& service, const PoolPlan& pool);
[[nodiscard]] std::int64_t amount_of(const ServiceSpec& service);
// Its own class, the tenant's, or the highest that nobody preempts; "" when the file has none.
[[nodiscard]] std::string priority_of(const RenderInput& input, const ServiceSpec& service);
// The port under which every node of the pool answers for the n-th service of the file; 0 when there are no more.
[[nodiscard]] std::int64_t node_port(std::size_t n);
// Hosts outside the cluster's network that proxy for services: those of the control plane.
[[nodiscard]] std::vector<Ipv4> proxy_addresses(const RenderInput& input);

struct ManifestFile {
  std::string path;  // "kubernetes/frontend/10-bgp.yaml"
  std::string what;  // first line of the heading, and what more a reader must know
  std::string consumer;
  std::vector<Value> documents;
  Stage stage = Stage::platform;
  Risk risk = Risk::none;
  std::vector<std::string> sources;
  std::string device{};
  std::string flags{};  // of kubectl apply beside --server-side
};
// Nothing is added when there are no documents.
void add_manifest(const RenderInput& input, FileSink& sink, ManifestFile file);

}  // namespace weft::kube_services
