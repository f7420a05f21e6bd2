#include "render/kube/services.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::render::kube_services {
namespace {

// The first 86 of the node port range are the band that Kubernetes reserves for statically assigned ports (KEP-3668).
constexpr std::int64_t kFirstNodePort = 30000;
constexpr std::int64_t kLastNodePort = 32767;

const model::TenantSpec* find_tenant(const RenderInput& input, std::string_view name) {
  for (const model::TenantSpec& tenant : input.cluster.spec().tenants.value) {
    if (tenant.name->text == name) return &tenant;
  }
  return nullptr;
}

void add_pool(TenantSpace& space, const PoolPlan& pool) {
  if (std::find(space.pools.begin(), space.pools.end(), &pool) != space.pools.end()) return;
  space.pools.push_back(&pool);
  space.rdma = space.rdma || std::any_of(pool.rails.begin(), pool.rails.end(), [](const RailPlan& rail) {
                 return rail.fabric == model::FabricKind::backend;
               });
}

// Pools of a tenant, or those that services without a tenant run on.
void add_pools(const RenderInput& input, TenantSpace& space) {
  if (space.tenant != nullptr) {
    for (const PoolPlan* pool : kube::tenant_pools(input, *space.tenant)) add_pool(space, *pool);
  }
  for (const model::ServiceSpec* service : space.services) {
    const PoolPlan* pool = input.plan.pool(service->pool.value);
    if (pool != nullptr && pool->has_gpus() && input.plan.in_kubernetes(*pool)) add_pool(space, *pool);
  }
}

}  // namespace

Value match_labels(std::string_view key, std::string_view value) {
  return Value::map({{"matchLabels", Value::map({{std::string(key), value}})}});
}

std::string gateway_duration(Duration time) {
  constexpr std::int64_t kMax = 99'999;  // five digits per part
  const std::int64_t all = std::max<std::int64_t>(1, time.count() / 1'000'000);
  if (all % 1000 == 0 && all / 1000 <= kMax) return fmt::format("{}s", all / 1000);
  std::string text;
  std::int64_t left = all;
  for (const auto& [size, suffix] :
       {std::pair<std::int64_t, const char*>{3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}}) {
    if (left / size > 0) text += fmt::format("{}{}", std::min(left / size, kMax), suffix);
    left %= size;
  }
  return text;
}

std::int64_t whole_seconds(Duration time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return std::max<std::int64_t>(1, (time.count() + kSecond - 1) / kSecond);
}

std::string name_of(const model::ServiceSpec& service) { return label_name(service.name->text); }

std::string space_of(const model::ServiceSpec& service) {
  return service.tenant.has_value() ? label_name(service.tenant.value) : std::string(kSharedSpace);
}

Value service_labels(const model::ServiceSpec& service) {
  return Value::map({{std::string(kServiceLabel), name_of(service)}});
}

std::vector<TenantSpace> tenant_spaces(const RenderInput& input) {
  std::vector<TenantSpace> spaces;
  const auto find = [&](const std::string& name) {
    return std::find_if(spaces.begin(), spaces.end(), [&](const TenantSpace& space) { return space.name == name; });
  };
  for (const model::TenantSpec& tenant : input.cluster.spec().tenants.value) {
    const std::string name = label_name(tenant.name->text);
    if (find(name) == spaces.end()) spaces.push_back({name, &tenant, {}, {}, false});
  }
  for (const std::size_t n : rendered_services(input)) {
    const model::ServiceSpec& service = input.cluster.spec().services.value[n];
    const std::string name = space_of(service);
    if (find(name) == spaces.end()) spaces.push_back({name, nullptr, {}, {}, false});
    find(name)->services.push_back(&service);
  }
  for (TenantSpace& space : spaces) add_pools(input, space);
  return spaces;
}

std::string mig_resource(std::string_view profile) {
  // The device plugin writes "1g.10gb+me" as "mig-1g.10gb.me": '+' is not allowed in a resource name.
  std::string name = "mig-" + std::string(profile);
  std::replace(name.begin(), name.end(), '+', '.');
  return std::string(kResourcePrefix) + label_value(name);
}

bool is_nvidia(const PoolPlan& pool) { return pool.gpu == nullptr || pool.gpu->vendor.value == "NVIDIA"; }

std::string gpu_resource(const PoolPlan& pool) {
  return is_nvidia(pool) ? std::string(kResourcePrefix) + "gpu" : label_name(pool.gpu->vendor.value) + ".com/gpu";
}

std::string resource_of(const model::ServiceSpec& service, const PoolPlan& pool) {
  return service.mig.has_value() ? mig_resource(service.mig.value) : gpu_resource(pool);
}

bool has_own_name(const RenderInput& input, std::size_t n) {
  const std::vector<model::ServiceSpec>& services = input.cluster.spec().services.value;
  const auto end = services.begin() + static_cast<std::ptrdiff_t>(n);
  return std::none_of(services.begin(), end,
                      [&](const model::ServiceSpec& other) { return name_of(other) == name_of(services[n]); });
}

std::vector<std::size_t> rendered_services(const RenderInput& input) {
  std::vector<std::size_t> numbers;
  for (std::size_t n = 0; n < input.cluster.spec().services->size(); ++n) {
    if (has_own_name(input, n)) numbers.push_back(n);
  }
  return numbers;
}

std::int64_t amount_of(const model::ServiceSpec& service) {
  return service.mig.has_value() ? 1 : std::max<std::int64_t>(1, service.gpus.value);
}

std::string priority_of(const RenderInput& input, const model::ServiceSpec& service) {
  if (service.priority.has_value()) return label_name(service.priority.value);
  const model::TenantSpec* tenant = find_tenant(input, service.tenant.value);
  if (tenant != nullptr && tenant->priority.has_value()) return label_name(tenant->priority.value);
  const model::PrioritySpec* best = nullptr;
  for (const model::PrioritySpec& priority : input.cluster.spec().priorities.value) {
    if (!priority.preemptible.value && (best == nullptr || priority.value.value > best->value.value)) best = &priority;
  }
  return best == nullptr ? std::string() : label_name(best->name->text);
}

std::int64_t node_port(std::size_t n) {
  const std::int64_t port = kFirstNodePort + static_cast<std::int64_t>(n);
  return port <= kLastNodePort ? port : 0;
}

std::vector<Ipv4> proxy_addresses(const RenderInput& input) {
  std::vector<Ipv4> addresses;
  for (const model::DeviceId host : input.plan.controllers()) {
    const Ipv4 address = input.plan.frontend_address(host);
    if (address != Ipv4{}) addresses.push_back(address);
  }
  return addresses;
}

}  // namespace weft::render::kube_services
