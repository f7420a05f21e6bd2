// Shared by the Kubernetes targets for the frontend, scheduling, inference and policy beyond kube/object.h: the names,
// namespaces and resources of services and tenants. Renders nothing itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/core/target.h"
#include "render/kube/object.h"

namespace weft::render::kube_services {

inline constexpr std::string_view kTenantLabel = "weft/tenant";  // on namespaces: the tenant's name
inline constexpr std::string_view kSharedSpace = "inference";    // namespace of services without a tenant
inline constexpr std::string_view kHostLabel = "kubernetes.io/hostname";

// Shared with the other Kubernetes targets (kube/object.h), under the names that callers here use.
using kube::add_manifest;
using kube::is_label_key;
using kube::is_label_value;
using kube::KubeTaint;
using kube::label_name;
using kube::label_value;
using kube::ManifestFile;
using kube::object;
using kube::parse_taint;
using kube::quantity;
using kube::subdomain_name;
using kube::taints_of;
using kube::tolerations_of;

[[nodiscard]] Value match_labels(std::string_view key, std::string_view value);
// GEP-2257: hours, minutes, seconds and milliseconds, "300s", "2h30m".
[[nodiscard]] std::string gateway_duration(Duration time);
[[nodiscard]] std::int64_t whole_seconds(Duration time);  // at least 1

// A namespace that tenants' pods run in.
struct TenantSpace {
  std::string name;
  const model::TenantSpec* tenant = nullptr;        // null for services without a tenant
  std::vector<const PoolPlan*> pools;               // GPU pools with kubelets that the tenant may use
  std::vector<const model::ServiceSpec*> services;  // that run in it
  bool rdma = false;                                // one of its pools is on the backend
};
[[nodiscard]] std::vector<TenantSpace> tenant_spaces(const RenderInput& input);
[[nodiscard]] std::string space_of(const model::ServiceSpec& service);
[[nodiscard]] std::string name_of(const model::ServiceSpec& service);
[[nodiscard]] Value service_labels(const model::ServiceSpec& service);

// Whether the n-th service in the file still has a unique name after conversion to a Kubernetes name; the later of two
// duplicates is omitted everywhere.
[[nodiscard]] bool has_own_name(const RenderInput& input, std::size_t n);
// The services that are rendered, by number.
[[nodiscard]] std::vector<std::size_t> rendered_services(const RenderInput& input);

// "nvidia.com/gpu", "amd.com/gpu" or "nvidia.com/mig-1g.10gb", and the count per replica.
[[nodiscard]] std::string gpu_resource(const PoolPlan& pool);
[[nodiscard]] bool is_nvidia(const PoolPlan& pool);
[[nodiscard]] std::string mig_resource(std::string_view profile);
[[nodiscard]] std::string resource_of(const model::ServiceSpec& service, const PoolPlan& pool);
[[nodiscard]] std::int64_t amount_of(const model::ServiceSpec& service);
// Its own class, the tenant's, or the highest non-preemptible one; "" if the file has none.
[[nodiscard]] std::string priority_of(const RenderInput& input, const model::ServiceSpec& service);
// The node port of the n-th service on every node of the pool; 0 if none is left.
[[nodiscard]] std::int64_t node_port(std::size_t n);
// Hosts outside the cluster network that proxy for services: the control-plane hosts.
[[nodiscard]] std::vector<Ipv4> proxy_addresses(const RenderInput& input);

}  // namespace weft::render::kube_services
