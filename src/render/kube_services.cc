#include "render/kube_services.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weft::kube_services {
namespace {

constexpr std::size_t kLongestLabel = 63;       // RFC 1123
constexpr std::size_t kLongestSubdomain = 253;  // RFC 1123
// The first 86 of the node port range are the band that Kubernetes keeps for ports that manifests name (KEP-3668).
constexpr std::int64_t kFirstNodePort = 30000;
constexpr std::int64_t kLastNodePort = 32767;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string trimmed(std::string text, std::size_t longest) {
  if (text.size() > longest) text.resize(longest);
  while (!text.empty() && !is_letter_or_digit(text.back())) text.pop_back();
  const auto first = std::find_if(text.begin(), text.end(), is_letter_or_digit);
  text.erase(text.begin(), first);
  return text.empty() ? "x" : text;
}

std::string lower_name(std::string_view text, std::string_view also, std::size_t longest) {
  std::string out;
  for (const char c : text) {
    const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    out += is_letter_or_digit(small) || also.find(small) != std::string_view::npos ? small : '-';
  }
  return trimmed(std::move(out), longest);
}

bool is_plain(std::string_view text, std::string_view also) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter_or_digit(c) || also.find(c) != std::string_view::npos; });
}

// The part of a label key before the slash: a lower-case DNS subdomain.
bool is_prefix(std::string_view text) {
  if (text.empty() || text.size() > kLongestSubdomain) return false;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t dot = std::min(text.find('.', start), text.size());
    const std::string_view part = text.substr(start, dot - start);
    if (part.empty() || label_name(part) != part) return false;
    start = dot + 1;
  }
  return true;
}

const TenantSpec* find_tenant(const RenderInput& input, std::string_view name) {
  for (const TenantSpec& tenant : input.cluster.spec().tenants.value) {
    if (tenant.name->text == name) return &tenant;
  }
  return nullptr;
}

void add_pool(TenantSpace& space, const PoolPlan& pool) {
  if (std::find(space.pools.begin(), space.pools.end(), &pool) != space.pools.end()) return;
  space.pools.push_back(&pool);
  space.rdma = space.rdma || std::any_of(pool.rails.begin(), pool.rails.end(),
                                         [](const RailPlan& rail) { return rail.fabric == FabricKind::backend; });
}

// By the tenant's partitions, else every one; and those its services run on.
void add_pools(const RenderInput& input, TenantSpace& space) {
  const auto usable = [&](const PoolPlan& pool) { return pool.has_gpus() && input.plan.in_kubernetes(pool); };
  if (space.tenant != nullptr && space.tenant->partitions->empty()) {
    for (const PoolPlan& pool : input.plan.pools()) {
      if (usable(pool)) add_pool(space, pool);
    }
  }
  if (space.tenant != nullptr) {
    for (const PartitionSpec& partition : input.cluster.spec().partitions.value) {
      const auto& mine = space.tenant->partitions.value;
      if (std::find(mine.begin(), mine.end(), partition.name->text) == mine.end()) continue;
      for (const std::string& name : partition.pools.value) {
        const PoolPlan* pool = input.plan.pool(name);
        if (pool != nullptr && usable(*pool)) add_pool(space, *pool);
      }
    }
  }
  for (const ServiceSpec* service : space.services) {
    const PoolPlan* pool = input.plan.pool(service->pool.value);
    if (pool != nullptr && usable(*pool)) add_pool(space, *pool);
  }
}

}  // namespace

std::string label_name(std::string_view text) { return lower_name(text, "-", kLongestLabel); }
std::string subdomain_name(std::string_view text) { return lower_name(text, "-.", kLongestSubdomain); }

std::string label_value(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(),
      [](char c) {
        return !is_plain({&c, 1}, "-_.");
      },
      '-');
  return trimmed(std::move(out), kLongestLabel);
}

bool is_label_value(std::string_view text) {
  if (text.empty()) return true;
  return text.size() <= kLongestLabel && is_plain(text, "-_.") && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back());
}

bool is_label_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  if (slash != std::string_view::npos && !is_prefix(text.substr(0, slash))) return false;
  return !name.empty() && is_label_value(name);
}

std::optional<KubeTaint> parse_taint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view pair = text.substr(0, colon);
  const std::size_t equal = pair.find('=');
  KubeTaint taint;
  taint.key = pair.substr(0, equal);
  if (equal != std::string_view::npos) taint.value = pair.substr(equal + 1);
  taint.effect = text.substr(colon + 1);
  if (!is_label_key(taint.key) || !is_label_value(taint.value)) return std::nullopt;
  return taint;
}

std::vector<KubeTaint> taints_of(const PoolPlan& pool) {
  std::vector<KubeTaint> taints;
  for (const std::string& text : pool.spec->taints.value) {
    if (auto taint = parse_taint(text)) taints.push_back(std::move(*taint));
  }
  return taints;
}

Value tolerations_of(const PoolPlan& pool) {
  Value list = Value::list();
  for (const KubeTaint& taint : taints_of(pool)) {
    Value one = Value::map({{"key", taint.key}, {"operator", taint.value.empty() ? "Exists" : "Equal"}});
    if (!taint.value.empty()) one.set("value", taint.value);
    list.add(std::move(one.set("effect", taint.effect)));
  }
  return list;
}

Value object(std::string_view api_version, std::string_view kind, std::string name, std::string space) {
  Value metadata = Value::map({{"name", std::move(name)}});
  if (!space.empty()) metadata.set("namespace", std::move(space));
  metadata.set("labels", Value::map({{"app.kubernetes.io/managed-by", "weft"}}));
  return Value::map({{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

Value match_labels(std::string_view key, std::string_view value) {
  return Value::map({{"matchLabels", Value::map({{std::string(key), value}})}});
}

std::string quantity(Bytes amount) {
  static constexpr std::array<std::pair<std::int64_t, const char*>, 8> kUnits = {{
      {std::int64_t{1} << 40, "Ti"},
      {std::int64_t{1'000'000'000'000}, "T"},
      {std::int64_t{1} << 30, "Gi"},
      {std::int64_t{1'000'000'000}, "G"},
      {std::int64_t{1} << 20, "Mi"},
      {std::int64_t{1'000'000}, "M"},
      {std::int64_t{1} << 10, "Ki"},
      {std::int64_t{1000}, "k"},
  }};
  for (const auto& [size, suffix] : kUnits) {
    if (amount.count() > 0 && amount.count() % size == 0) return fmt::format("{}{}", amount.count() / size, suffix);
  }
  return std::to_string(amount.count());
}

std::string gateway_duration(Duration time) {
  constexpr std::int64_t kMost = 99'999;  // five digits a part
  const std::int64_t all = std::max<std::int64_t>(1, time.count() / 1'000'000);
  if (all % 1000 == 0 && all / 1000 <= kMost) return fmt::format("{}s", all / 1000);
  std::string text;
  std::int64_t left = all;
  for (const auto& [size, suffix] :
       {std::pair<std::int64_t, const char*>{3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}}) {
    if (left / size > 0) text += fmt::format("{}{}", std::min(left / size, kMost), suffix);
    left %= size;
  }
  return text;
}

std::int64_t whole_seconds(Duration time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return std::max<std::int64_t>(1, (time.count() + kSecond - 1) / kSecond);
}

std::string name_of(const ServiceSpec& service) { return label_name(service.name->text); }

std::string space_of(const ServiceSpec& service) {
  return service.tenant.has_value() ? label_name(service.tenant.value) : std::string(kSharedSpace);
}

Value service_labels(const ServiceSpec& service) {
  return Value::map({{std::string(kServiceLabel), name_of(service)}});
}

std::vector<TenantSpace> tenant_spaces(const RenderInput& input) {
  std::vector<TenantSpace> spaces;
  const auto find = [&](const std::string& name) {
    return std::find_if(spaces.begin(), spaces.end(), [&](const TenantSpace& space) { return space.name == name; });
  };
  for (const TenantSpec& tenant : input.cluster.spec().tenants.value) {
    const std::string name = label_name(tenant.name->text);
    if (find(name) == spaces.end()) spaces.push_back({name, &tenant, {}, {}, false});
  }
  for (const std::size_t n : rendered_services(input)) {
    const ServiceSpec& service = input.cluster.spec().services.value[n];
    const std::string name = space_of(service);
    if (find(name) == spaces.end()) spaces.push_back({name, nullptr, {}, {}, false});
    find(name)->services.push_back(&service);
  }
  for (TenantSpace& space : spaces) add_pools(input, space);
  return spaces;
}

std::string mig_resource(std::string_view profile) {
  // The device plugin writes "1g.10gb+me" as "mig-1g.10gb.me": '+' cannot stand in a resource's name.
  std::string name = "mig-" + std::string(profile);
  std::replace(name.begin(), name.end(), '+', '.');
  return std::string(kResourcePrefix) + label_value(name);
}

bool is_nvidia(const PoolPlan& pool) { return pool.gpu == nullptr || pool.gpu->vendor.value == "NVIDIA"; }

std::string gpu_resource(const PoolPlan& pool) {
  return is_nvidia(pool) ? std::string(kResourcePrefix) + "gpu" : label_name(pool.gpu->vendor.value) + ".com/gpu";
}

std::string resource_of(const ServiceSpec& service, const PoolPlan& pool) {
  return service.mig.has_value() ? mig_resource(service.mig.value) : gpu_resource(pool);
}

bool has_own_name(const RenderInput& input, std::size_t n) {
  const std::vector<ServiceSpec>& services = input.cluster.spec().services.value;
  const auto end = services.begin() + static_cast<std::ptrdiff_t>(n);
  return std::none_of(services.begin(), end,
                      [&](const ServiceSpec& other) { return name_of(other) == name_of(services[n]); });
}

std::vector<std::size_t> rendered_services(const RenderInput& input) {
  std::vector<std::size_t> numbers;
  for (std::size_t n = 0; n < input.cluster.spec().services->size(); ++n) {
    if (has_own_name(input, n)) numbers.push_back(n);
  }
  return numbers;
}

std::int64_t amount_of(const ServiceSpec& service) {
  return service.mig.has_value() ? 1 : std::max<std::int64_t>(1, service.gpus.value);
}

std::string priority_of(const RenderInput& input, const ServiceSpec& service) {
  if (service.priority.has_value()) return label_name(service.priority.value);
  const TenantSpec* tenant = find_tenant(input, service.tenant.value);
  if (tenant != nullptr && tenant->priority.has_value()) return label_name(tenant->priority.value);
  const PrioritySpec* best = nullptr;
  for (const PrioritySpec& priority : input.cluster.spec().priorities.value) {
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
  for (const DeviceId host : input.plan.controllers()) {
    const Ipv4 address = input.plan.frontend_address(host);
    if (address != Ipv4{}) addresses.push_back(address);
  }
  return addresses;
}

void add_manifest(const RenderInput& input, FileSink& sink, ManifestFile file) {
  if (file.documents.empty()) return;
  RenderedFile out;
  out.content = write_yaml(file.documents, heading(input.cluster, file.what));
  out.apply = fmt::format("kubectl apply --server-side{} -f {}", file.flags, file.path);
  out.path = std::move(file.path);
  out.device = std::move(file.device);
  out.consumer = std::move(file.consumer);
  out.stage = file.stage;
  out.risk = file.risk;
  out.sources = std::move(file.sources);
  sink.add(std::move(out));
}

}  // namespace weft::kube_services
