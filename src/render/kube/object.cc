#include "render/kube/object.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace weft::render::kube {
namespace {

constexpr std::size_t kLongestLabel = 63;       // RFC 1123
constexpr std::size_t kLongestSubdomain = 253;  // RFC 1123

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
    const char small = to_lower(c);
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

bool is_usable(const RenderInput& input, const PoolPlan& pool) {
  return pool.has_gpus() && input.plan.in_kubernetes(pool);
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

Value object(std::string_view api_version, std::string_view kind, std::string name, std::string_view space) {
  Value metadata = Value::map({{"name", std::move(name)}});
  if (!space.empty()) metadata.set("namespace", space);
  metadata.set("labels", Value::map({{"app.kubernetes.io/managed-by", "weft"}}));
  return Value::map({{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}});
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

std::vector<const PoolPlan*> gpu_pools(const RenderInput& input) {
  std::vector<const PoolPlan*> pools;
  for (const PoolPlan& pool : input.plan.pools()) {
    if (is_usable(input, pool)) pools.push_back(&pool);
  }
  return pools;
}

std::vector<const PoolPlan*> tenant_pools(const RenderInput& input, const model::TenantSpec& tenant) {
  const model::Spec& spec = input.cluster.spec();
  const std::vector<std::string>& mine = tenant.partitions.value;
  std::vector<const PoolPlan*> pools = mine.empty() ? gpu_pools(input) : std::vector<const PoolPlan*>();
  const auto add = [&](std::string_view name) {
    const PoolPlan* pool = input.plan.pool(name);
    if (pool == nullptr || !is_usable(input, *pool)) return;
    if (std::find(pools.begin(), pools.end(), pool) == pools.end()) pools.push_back(pool);
  };
  for (const model::PartitionSpec& partition : spec.partitions.value) {
    if (std::find(mine.begin(), mine.end(), partition.name->text) == mine.end()) continue;
    for (const std::string& name : partition.pools.value) add(name);
  }
  for (const model::ServiceSpec& service : spec.services.value) {
    if (service.tenant.value == tenant.name->text) add(service.pool.value);
  }
  return pools;
}

}  // namespace weft::render::kube
