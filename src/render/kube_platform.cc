#include "render/kube_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace weft::kube_platform {
namespace {

constexpr std::size_t kLongestLabel = 63;  // RFC 1123

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// Begins and ends with a letter or digit, as names and label values must.
std::string trimmed(std::string text) {
  if (text.size() > kLongestLabel) text.resize(kLongestLabel);
  while (!text.empty() && !is_plain(text.back())) text.pop_back();
  text.erase(text.begin(), std::find_if(text.begin(), text.end(), is_plain));
  return text.empty() ? "x" : text;
}

// k8s.io/apimachinery/pkg/util/validation, IsQualifiedName: "name" or "prefix.example/name".
bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return label_value(key) == key;
  const std::string_view prefix = key.substr(0, slash);
  const bool plain = std::all_of(prefix.begin(), prefix.end(), [](char c) {
    return (is_plain(c) && !(c >= 'A' && c <= 'Z')) || c == '-' || c == '.';
  });
  const bool framed = !prefix.empty() && is_plain(prefix.front()) && is_plain(prefix.back());
  return plain && framed && prefix.find("..") == std::string_view::npos &&
         label_value(key.substr(slash + 1)) == key.substr(slash + 1);
}

bool may_use(const Space& space, const PartitionSpec& partition) {
  const auto& mine = space.tenant->partitions.value;
  return std::find(mine.begin(), mine.end(), partition.name->text) != mine.end();
}

void add_pool(const std::vector<const PoolPlan*>& usable, std::string_view name, Space& space) {
  for (const PoolPlan* pool : usable) {
    if (pool->name() != name) continue;
    if (std::find(space.pools.begin(), space.pools.end(), pool) == space.pools.end()) space.pools.push_back(pool);
  }
}

Space space_of(const RenderInput& input, const TenantSpec& tenant, const std::vector<const PoolPlan*>& usable) {
  Space space{label_name(tenant.name->text), &tenant, {}};
  const Spec& spec = input.cluster.spec();
  for (const PartitionSpec& partition : spec.partitions.value) {
    if (!may_use(space, partition)) continue;
    for (const std::string& name : partition.pools.value) add_pool(usable, name, space);
  }
  for (const ServiceSpec& service : spec.services.value) {
    if (service.tenant.value == tenant.name->text) add_pool(usable, service.pool.value, space);
  }
  if (tenant.partitions->empty()) space.pools = usable;
  return space;
}

}  // namespace

std::string label_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    out += is_plain(small) ? small : '-';
  }
  return trimmed(std::move(out));
}

std::string label_value(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_plain(c) && c != '-' && c != '_' && c != '.'; }, '-');
  return trimmed(std::move(out));
}

std::string quantity(Bytes amount) {
  static constexpr std::array<std::pair<std::int64_t, const char*>, 6> kUnits = {{{1'000'000'000'000, "T"},
                                                                                  {std::int64_t{1} << 40, "Ti"},
                                                                                  {1'000'000'000, "G"},
                                                                                  {std::int64_t{1} << 30, "Gi"},
                                                                                  {1'000'000, "M"},
                                                                                  {std::int64_t{1} << 20, "Mi"}}};
  for (const auto& [size, suffix] : kUnits) {
    if (amount.count() > 0 && amount.count() % size == 0) return fmt::format("{}{}", amount.count() / size, suffix);
  }
  return std::to_string(amount.count());
}

Value object(std::string_view api_version, std::string_view kind, std::string name, std::string_view space) {
  Value metadata = Value::map({{"name", std::move(name)}});
  if (!space.empty()) metadata.set("namespace", space);
  metadata.set("labels", Value::map({{"app.kubernetes.io/managed-by", "weft"}}));
  return Value::map({{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

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
    for (const std::string& taint : pool->spec->taints.value) {
      // "key=value:Effect" or "key:Effect". A key that no node can carry needs no toleration.
      const std::size_t colon = taint.rfind(':');
      if (colon == std::string::npos) continue;
      const std::string key = taint.substr(0, std::min(taint.find('='), colon));
      const std::string effect = taint.substr(colon + 1);
      if (!is_label_key(key) || !seen.insert({key, effect}).second) continue;
      list.add(Value::map({{"key", key}, {"operator", "Exists"}, {"effect", effect}}));
    }
  }
  return list;
}

std::vector<const PoolPlan*> gpu_pools(const RenderInput& input) {
  std::vector<const PoolPlan*> pools;
  for (const PoolPlan& pool : input.plan.pools()) {
    if (pool.has_gpus() && input.plan.in_kubernetes(pool)) pools.push_back(&pool);
  }
  return pools;
}

std::vector<Space> spaces_of(const RenderInput& input) {
  const auto usable = gpu_pools(input);
  std::vector<Space> spaces;
  std::set<std::string> names;
  for (const TenantSpec& tenant : input.cluster.spec().tenants.value) {
    Space space = space_of(input, tenant, usable);
    if (names.insert(space.name).second) spaces.push_back(std::move(space));
  }
  if (spaces.empty()) spaces.push_back({"default", nullptr, usable});
  return spaces;
}

const FabricSpec& fabric_of(const RenderInput& input, FabricKind fabric) {
  const FabricsSpec& fabrics = input.cluster.spec().fabrics.value;
  return fabric == FabricKind::backend ? fabrics.backend.value : fabrics.storage.value;
}

bool on_infiniband(const RenderInput& input, FabricKind fabric) {
  return input.cluster.fabric(fabric).network == NetworkKind::infiniband;
}

void add_manifest(const RenderInput& input, FileSink& sink, Manifest manifest) {
  if (manifest.documents.empty()) return;
  RenderedFile file;
  file.content = write_yaml(manifest.documents, heading(input.cluster, manifest.what));
  file.apply = "kubectl apply --server-side -f " + manifest.path;
  file.path = std::move(manifest.path);
  file.consumer = std::move(manifest.consumer);
  file.stage = manifest.stage;
  file.risk = manifest.risk;
  file.sources = std::move(manifest.sources);
  sink.add(std::move(file));
}

}  // namespace weft::kube_platform
