// gres.conf, topology.conf and the names of nodes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/host_range.h"
#include "render/slurm/model.h"

namespace weft::render::slurm_render {
namespace {

// Device files: /dev/nvidia0 and up; AMD's render nodes start at 128 (Linux DRM: minors of render nodes).
struct DeviceFiles {
  std::string_view name;
  std::int64_t first;
};

DeviceFiles device_files(const model::Cluster& cluster, const model::ServerModel& server) {
  const model::GpuModel* gpu = cluster.catalog().gpu(server.gpu.value);
  if (gpu != nullptr && gpu->vendor.value == "AMD") return {"/dev/dri/renderD", 128};
  return {"/dev/nvidia", 0};
}

std::string numbered(std::string_view name, std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("{}{}", name, first) : fmt::format("{}[{}-{}]", name, first, last);
}

// Slurm numbers cores socket by socket, regardless of the firmware: NUMA node n has the n-th share of them.
std::string cores_of(const model::ServerModel& server, std::int64_t numa) {
  const std::int64_t share = server.cores.value / std::max<std::int64_t>(1, server.numa_nodes.value);
  if (share == 0) return {};
  return fmt::format("{}-{}", numa * share, (numa + 1) * share - 1);
}

// One line for consecutive GPUs on the same NUMA node.
void add_gpus(const model::Cluster& cluster, const NodeSet& set, const std::string& hosts, SettingsText& out) {
  const model::ServerModel& server = *set.server;
  const DeviceFiles files = device_files(cluster, server);
  const std::string type = gpus_of(set).front().type;
  const bool known =
      set.pool->spec->bios->numa.value && static_cast<std::int64_t>(server.gpu_numa->size()) == server.gpus.value;
  for (std::int64_t first = 0; first < server.gpus.value;) {
    std::int64_t last = known ? first : server.gpus.value - 1;
    const auto numa = [&](std::int64_t gpu) { return server.gpu_numa.value[static_cast<std::size_t>(gpu)]; };
    while (known && last + 1 < server.gpus.value && numa(last + 1) == numa(first)) ++last;
    out.record({{"NodeName", hosts},
                {"Name", "gpu"},
                {"Type", type},
                {"File", numbered(files.name, files.first + first, files.first + last)},
                {"Cores", known ? cores_of(server, numa(first)) : std::string()}});
    first = last + 1;
  }
  if (const std::int64_t shards = shards_of(set); shards > 0) {
    out.record({{"NodeName", hosts}, {"Name", "shard"}, {"Count", std::to_string(shards)}});
  }
}

class TopologyText {
 public:
  TopologyText(const SlurmModel& model, SettingsText& out)
      : model_(model), cluster_(model.input().cluster), out_(out) {}

  void write() {
    collect();
    add_units();
    if (!pools_.empty()) {
      out_.section("Nodes without backend ports: their jobs stay within the pool.");
      for (auto& [pool, hosts] : pools_) {
        out_.record({{"SwitchName", "fe-" + pool->name()}, {"Nodes", fold_hosts(std::move(hosts))}});
      }
    }
  }

 private:
  // Nodes by backend unit, and nodes without a unit by pool.
  void collect() {
    for (const PoolPlan* pool : model_.pools()) {
      for (std::uint32_t i = 0; i < pool->group->count; ++i) {
        const auto id = static_cast<model::DeviceId>(model::index_of(pool->group->first) + i);
        const model::UnitId unit = cluster_.device(id).unit;
        if (unit != model::kNone<model::UnitId> &&
            cluster_.units()[model::index_of(unit)].fabric == model::FabricKind::backend) {
          units_[model::index_of(unit)].push_back(cluster_.name_of(id));
        } else {
          if (pools_.empty() || pools_.back().first != pool) pools_.emplace_back(pool, std::vector<std::string>());
          pools_.back().second.push_back(cluster_.name_of(id));
        }
      }
    }
  }

  // A unit is named like its leaves: "be-train-u001" for be-train-u001-leaf1 to -leaf8, the leaf itself if there is
  // one.
  [[nodiscard]] std::string name_of(const model::Unit& unit) const {
    const std::string& leaf = cluster_.name_of(unit.first_leaf);
    return unit.leaves == 1 ? leaf : leaf.substr(0, leaf.rfind("-leaf"));
  }

  void add_units() {
    const model::FabricPlan& fabric = cluster_.fabric(model::FabricKind::backend);
    std::map<std::uint32_t, std::vector<std::string>> pods;
    if (!units_.empty()) out_.section("Scalable units of the backend: servers below the same leaves.");
    for (auto& [index, hosts] : units_) {
      const model::Unit& unit = cluster_.units()[index];
      const std::string name = name_of(unit);
      pods[fabric.tiers > 2 ? unit.pod : 0].push_back(name);
      out_.record({{"SwitchName", name}, {"Nodes", fold_hosts(std::move(hosts))}});
    }
    // With one tier nothing connects two units; a single unit needs no switch above it.
    if (fabric.tiers < 2 || units_.size() < 2) return;
    std::vector<std::string> roots;
    out_.section(fabric.tiers > 2 ? "Pods: units below the same spines." : "Spines.");
    for (auto& [pod, names] : pods) {
      const std::string name = fabric.tiers > 2 ? fmt::format("be-pod{:03}", pod + 1) : "be-spines";
      out_.record({{"SwitchName", name}, {"Switches", fold_hosts(std::move(names))}});
      roots.push_back(name);
    }
    if (fabric.tiers < 3 || roots.size() < 2) return;
    out_.section("Cores.");
    out_.record({{"SwitchName", "be-cores"}, {"Switches", fold_hosts(std::move(roots))}});
  }

  const SlurmModel& model_;
  const model::Cluster& cluster_;
  SettingsText& out_;
  std::map<std::uint32_t, std::vector<std::string>> units_;
  std::vector<std::pair<const PoolPlan*, std::vector<std::string>>> pools_;
};

RenderedFile config_file(std::string_view name, std::string content) {
  RenderedFile file;
  file.path = fmt::format("slurm/{}", name);
  file.content = std::move(content);
  file.consumer = "slurmctld, slurmd";
  file.install = fmt::format("{}/{}", kConfigFolder, name);
  file.apply = "scontrol reconfigure";
  file.risk = Risk::reload;
  return file;
}

}  // namespace

void add_gres_conf(const SlurmModel& model, FileSink& sink) {
  if (!model.has_gpus()) return;
  SettingsText out(model.input().cluster, "gres.conf: device files of the GPUs and the cores near them.");
  out.set("AutoDetect", "off");
  // Spares and features are irrelevant here.
  std::map<std::pair<const PoolPlan*, const model::ServerModel*>, std::vector<std::string>> hosts;
  for (const NodeSet& set : model.nodes()) {
    auto& names = hosts[{set.pool, set.server}];
    names.insert(names.end(), set.names.begin(), set.names.end());
  }
  for (const NodeSet& set : model.nodes()) {
    auto& names = hosts[{set.pool, set.server}];
    if (!set.has_gpus() || names.empty()) continue;
    const std::string folded = fold_hosts(std::move(names));
    names.clear();
    if (set.has_mig()) {
      out.section("Device files of MIG instances are detected through NVML.");
      out.record({{"NodeName", folded}, {"AutoDetect", "nvml"}});
    } else {
      add_gpus(model.input().cluster, set, folded, out);
    }
  }
  RenderedFile file = config_file("gres.conf", out.take());
  file.sources = {"pools"};
  sink.add(std::move(file));
}

void add_topology_conf(const SlurmModel& model, FileSink& sink) {
  SettingsText out(model.input().cluster, "topology.conf: the backend fabric as a tree.");
  TopologyText(model, out).write();
  RenderedFile file = config_file("topology.conf", out.take());
  file.sources = {"pools", "fabrics.backend"};
  sink.add(std::move(file));
}

void add_hosts(const SlurmModel& model, FileSink& sink) {
  const RenderInput& input = model.input();
  std::string text =
      commented(heading(input.cluster, "Host names of the Slurm cluster, for /etc/hosts if they are not in DNS."));
  std::vector<std::string> missing;
  const auto add = [&](model::DeviceId id) {
    const Ipv4 address = node_address(input, id);
    const std::string& name = input.cluster.name_of(id);
    if (address == Ipv4{}) {
      missing.push_back(name);
      return;
    }
    text += fmt::format("{} {}.{} {}\n", to_text(address), name, model.spec().site->domain.value, name);
  };
  for (const model::DeviceId id : model.controllers()) add(id);
  for (const PoolPlan* pool : model.pools()) {
    for (std::uint32_t i = 0; i < pool->group->count; ++i)
      add(static_cast<model::DeviceId>(model::index_of(pool->group->first) + i));
  }
  if (!missing.empty()) {
    sink.note(fmt::format("No address for {}: Slurm needs DNS records for these hosts.", fold_hosts(missing)));
  }
  RenderedFile file = config_file("hosts", std::move(text));
  file.consumer = "libc";
  file.apply = "merge into /etc/hosts";
  file.risk = Risk::none;
  file.sources = {"pools", "fabrics.frontend.subnets"};
  sink.add(std::move(file));
}

}  // namespace weft::render::slurm_render
