#include "render/kube/platform.h"

#include <set>
#include <utility>

namespace weft::render::kube_platform {

Value privileged_space(std::string_view name) {
  Value space = object("v1", "Namespace", std::string(name));
  space["metadata"]["labels"].set("pod-security.kubernetes.io/enforce", "privileged");
  return space;
}

Value pool_selector(const PoolPlan& pool) { return Value::map({{std::string(kPoolLabel), label_value(pool.name())}}); }

Value tolerations_of(const std::vector<const PoolPlan*>& pools) {
  std::set<std::pair<std::string, std::string>> seen;
  Value list = Value::list();
  for (const PoolPlan* pool : pools) {
    for (const kube::KubeTaint& taint : kube::taints_of(*pool)) {
      if (!seen.insert({taint.key, taint.effect}).second) continue;
      list.add(Value::map({{"key", taint.key}, {"operator", "Exists"}, {"effect", taint.effect}}));
    }
  }
  return list;
}

std::vector<Space> spaces_of(const RenderInput& input) {
  std::vector<Space> spaces;
  std::set<std::string> names;
  for (const model::TenantSpec& tenant : input.cluster.spec().tenants.value) {
    std::string name = label_name(tenant.name->text);
    if (names.insert(name).second) spaces.push_back({std::move(name), &tenant, kube::tenant_pools(input, tenant)});
  }
  if (spaces.empty()) spaces.push_back({"default", nullptr, gpu_pools(input)});
  return spaces;
}

bool on_infiniband(const RenderInput& input, model::FabricKind fabric) {
  return input.cluster.fabric(fabric).network == model::NetworkKind::infiniband;
}

}  // namespace weft::render::kube_platform
