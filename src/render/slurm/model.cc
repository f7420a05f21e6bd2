#include "render/slurm/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/host_range.h"
#include "base/text.h"

namespace weft::render::slurm_render {
namespace {

constexpr std::size_t kControllers = 3;  // a primary and two backups tolerate the loss of any two
// Firmware, kernel and page tables use a few percent of the installed memory; a node that registers less than its line
// states is drained, so the line states 97 percent.
constexpr std::int64_t kMemoryPercent = 97;
// Reserved for slurmd, monitoring and file system clients: 2 percent, between 2 and 32 GiB.
constexpr std::int64_t kReservedPercent = 2;
constexpr std::int64_t kReservedLeast = 2048;
constexpr std::int64_t kReservedMost = 32768;
constexpr int kTierStep = 10;                            // leaves room for partitions in between
constexpr std::int64_t kMaxQosPriority = 4'000'000'000;  // 32 bits in Slurm

std::vector<std::string> pool_features(const PoolPlan& pool, const model::ServerModel& server,
                                       const model::Catalog& catalog) {
  std::vector<std::string> features{feature_of(pool.name())};
  if (server.gpus.value > 0) {
    const model::GpuModel* gpu = catalog.gpu(server.gpu.value);
    if (gpu != nullptr) features.push_back(gpu->id->text.substr(0, gpu->id->text.find('-')));
  }
  if (server.local_nvme->count() > 0) features.emplace_back("nvme");
  const auto rails = std::count_if(pool.rails.begin(), pool.rails.end(),
                                   [](const RailPlan& rail) { return rail.fabric == model::FabricKind::backend; });
  if (rails > 0) features.push_back(fmt::format("rail{}", rails));
  for (const auto& [key, value] : pool.spec->labels.value) features.push_back(feature_of(key, value.value));
  return features;
}

// Labels of single hosts, by host.
std::unordered_map<std::string, std::vector<std::string>> host_features(const model::PoolSpec& pool) {
  std::unordered_map<std::string, std::vector<std::string>> out;
  for (const model::HostOverride& special : pool.overrides.value) {
    if (!special.labels.has_value()) continue;
    const auto hosts = expand_hosts(special.hosts.value);
    if (!hosts) continue;
    for (const std::string& host : *hosts) {
      for (const auto& [key, value] : special.labels.value) out[host].push_back(feature_of(key, value.value));
    }
  }
  return out;
}

void drop_repeated(std::vector<std::string>& list) {
  std::set<std::string> seen;
  std::erase_if(list, [&](const std::string& item) { return !seen.insert(item).second; });
}

}  // namespace

SlurmModel::SlurmModel(const RenderInput& input)
    : input_(input), release_(input.options["slurm"] == "24.05" ? Release::v24_05 : Release::v22_05) {
  for (const PoolPlan& pool : input.plan.pools()) {
    if (input.plan.in_slurm(pool)) pools_.push_back(&pool);
  }
  for (const model::DeviceId id : input.plan.controllers()) {
    if (controllers_.size() < kControllers) controllers_.push_back(id);
  }
  plan_nodes();
  plan_partitions();
  plan_qos();
}

void SlurmModel::plan_nodes() {
  const model::Cluster& cluster = input_.cluster;
  for (const PoolPlan* pool : pools_) {
    const auto special = host_features(*pool->spec);
    const std::uint32_t count = pool->group->count;
    const auto spares = static_cast<std::uint32_t>(std::clamp<std::int64_t>(pool->spec->spares.value, 0, count));
    std::map<std::tuple<bool, std::string, std::vector<std::string>>, std::size_t> known;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(pool->group->first) + i);
      const model::ServerModel& server = cluster.server_of(id);
      const std::string& name = cluster.name_of(id);
      const auto extra = special.find(name);
      const std::vector<std::string> own = extra == special.end() ? std::vector<std::string>() : extra->second;
      const bool spare = i >= count - spares;
      const auto [at, added] = known.try_emplace({spare, server.id->text, own}, nodes_.size());
      if (added) {
        NodeSet set;
        set.pool = pool;
        set.server = &server;
        set.spare = spare;
        set.features = pool_features(*pool, server, cluster.catalog());
        set.features.insert(set.features.end(), own.begin(), own.end());
        drop_repeated(set.features);
        nodes_.push_back(std::move(set));
      }
      nodes_[at->second].names.push_back(name);
    }
  }
  for (NodeSet& set : nodes_) set.hosts = fold_hosts(set.names);
}

void SlurmModel::plan_partitions() {
  // Tiers are 16 bits in Slurm: only the order of the priorities is kept.
  std::set<std::int64_t> values;
  for (const model::PrioritySpec& priority : spec().priorities.value) values.insert(priority.value.value);
  for (const model::PartitionSpec& given : spec().partitions.value) {
    Partition partition;
    partition.spec = &given;
    partition.name = to_lower(given.name->text) == "default" ? given.name->text + "_" : given.name->text;
    for (const std::string& name : given.pools.value) {
      const PoolPlan* pool = input_.plan.pool(name);
      if (pool != nullptr && std::find(pools_.begin(), pools_.end(), pool) != pools_.end())
        partition.pools.push_back(pool);
    }
    if (partition.pools.empty()) continue;
    for (const model::PrioritySpec& priority : spec().priorities.value) {
      if (!given.priority.has_value() || priority.name->text != given.priority.value) continue;
      partition.tier =
          kTierStep * static_cast<int>(1 + std::distance(values.begin(), values.find(priority.value.value)));
      partition.preemptible = priority.preemptible.value;
    }
    partitions_.push_back(std::move(partition));
  }
}

void SlurmModel::plan_qos() {
  for (const model::PrioritySpec& priority : spec().priorities.value) {
    Qos qos;
    qos.name = to_lower(priority.name->text);
    qos.priority = std::clamp<std::int64_t>(priority.value.value, 0, kMaxQosPriority);
    for (const model::PrioritySpec& other : spec().priorities.value) {
      if (other.preemptible.value && other.value.value < priority.value.value)
        qos.preempts.push_back(to_lower(other.name->text));
    }
    qos_.push_back(std::move(qos));
  }
}

std::string SlurmModel::cluster_name() const { return to_lower(input_.cluster.name()); }

bool SlurmModel::has_gpus() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const NodeSet& set) { return set.has_gpus(); });
}

bool SlurmModel::has_shards() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const NodeSet& set) { return shards_of(set) > 0; });
}

bool SlurmModel::has_scratch() const {
  return !nodes_.empty() && std::all_of(nodes_.begin(), nodes_.end(),
                                        [](const NodeSet& set) { return set.server->local_nvme->count() > 0; });
}

std::vector<std::string> SlurmModel::gpu_types() const {
  std::vector<std::string> types;
  for (const NodeSet& set : nodes_) {
    for (const Tres& gpu : gpus_of(set)) types.push_back(gpu.type);
  }
  drop_repeated(types);
  return types;
}

std::int64_t SlurmModel::grace_seconds() const {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kUsual = 30;    // Slurm's default KillWait
  constexpr std::int64_t kMax = 65'000;  // 16 bits
  const std::int64_t write = (spec().workload->checkpoint_time->count() + kSecond - 1) / kSecond;
  return std::clamp(write, kUsual, kMax);
}

std::vector<Tres> gpus_of(const NodeSet& nodes) {
  if (!nodes.has_gpus()) return {};
  const std::int64_t gpus = nodes.server->gpus.value;
  if (!nodes.has_mig()) {
    const std::string& id = nodes.server->gpu.value;
    return {{id.substr(0, id.find('-')), gpus}};
  }
  std::vector<Tres> out;
  for (const auto& [profile, count] : nodes.pool->spec->mig.value) out.push_back({profile, count.value * gpus});
  return out;
}

std::int64_t shards_of(const NodeSet& nodes) {
  const std::int64_t slices = nodes.pool->spec->time_slices.value;
  return nodes.has_gpus() && !nodes.has_mig() && slices > 1 ? slices * nodes.server->gpus.value : 0;
}

std::int64_t threads_per_core(const NodeSet& nodes) { return nodes.pool->spec->bios->hyper_threading.value ? 2 : 1; }

std::int64_t memory_mib(const model::ServerModel& server) {
  return multiply_divide(server.memory->count() >> 20, kMemoryPercent, 100) / 1000 * 1000;
}

std::int64_t reserved_mib(const model::ServerModel& server) {
  return std::clamp(memory_mib(server) * kReservedPercent / 100, kReservedLeast, kReservedMost);
}

Ipv4 node_address(const RenderInput& input, model::DeviceId server) {
  if (const Ipv4 address = input.plan.frontend_address(server); address != Ipv4{}) return address;
  for (const model::FabricKind fabric : {model::FabricKind::storage, model::FabricKind::backend}) {
    for (const model::PortId id : input.cluster.ports_of(server)) {
      const model::Port& port = input.cluster.port(id);
      if (port.fabric == fabric && port.address != Ipv4{}) return port.address;
    }
  }
  return {};
}

std::string feature_of(std::string_view key, std::string_view value) {
  std::string out(key);
  if (!value.empty()) out += "-" + std::string(value);
  for (char& c : out) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (!plain) c = '_';
  }
  return out;
}

std::string feature_of(std::string_view constraint) {
  const std::size_t equals = constraint.find('=');
  if (equals == std::string_view::npos) return feature_of(constraint, {});
  return feature_of(constraint.substr(0, equals), constraint.substr(equals + 1));
}

std::int64_t minutes_of(Duration time) {
  constexpr std::int64_t kMinute = 60'000'000'000;
  return std::max<std::int64_t>(1, time.count() / kMinute);
}

std::string time_text(Duration time) {
  const std::int64_t minutes = minutes_of(time);
  return fmt::format("{}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60);
}

std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = ' ';
  }
  return out;
}

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string commented(std::string_view text, std::string_view sign) {
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += std::string(sign) + one_line(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out;
}

void SettingsText::set(std::string_view key, std::string_view value) {
  // A "#" starts a comment anywhere in a line.
  std::string clean = one_line(value);
  std::replace(clean.begin(), clean.end(), '#', '_');
  text_ += fmt::format("{}={}\n", key, clean);
}

void SettingsText::record(const std::vector<std::pair<std::string_view, std::string>>& pairs) {
  std::string line;
  for (const auto& [key, value] : pairs) {
    if (value.empty()) continue;
    std::string clean = one_line(value);
    std::replace(clean.begin(), clean.end(), '#', '_');
    line += fmt::format("{}{}={}", line.empty() ? "" : " ", key, clean);
  }
  text_ += line + "\n";
}

}  // namespace weft::render::slurm_render
