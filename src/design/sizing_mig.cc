// MIG: which mixes of instances fit a GPU, and the instances of a cluster's pools.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>

#include "base/utf8.h"
#include "design/sizing.h"

namespace weft::design {

namespace {

// Slices of a whole GPU, taken from the profile that uses all of it (7 compute and 8 memory slices on A100 and later;
// NVIDIA MIG User Guide, "Partitioning").
struct Slices {
  std::int64_t compute = 0;
  std::int64_t memory = 0;
};

Slices slices_of(const model::GpuModel& gpu) {
  Slices slices;
  for (const model::MigProfile& profile : *gpu.mig) {
    slices.compute = std::max(slices.compute, *profile.compute);
    slices.memory = std::max(slices.memory, *profile.memory_slices);
  }
  return slices;
}

const model::MigProfile* find_profile(const model::GpuModel& gpu, std::string_view name) {
  for (const model::MigProfile& profile : *gpu.mig) {
    if (*profile.name == name) return &profile;
  }
  return nullptr;
}

// Depth-first over the instances, largest first. Equal instances are placed at ascending starts, so that no arrangement
// is tried twice; with at most 7 instances and 7 starts each the search space is tiny.
class Placer {
 public:
  Placer(std::vector<const model::MigProfile*> instances, std::int64_t memory)
      : instances_(std::move(instances)), starts_(instances_.size(), -1), memory_(memory) {}

  bool run() { return place(0, 0); }
  [[nodiscard]] const std::vector<std::int64_t>& starts() const { return starts_; }

 private:
  bool place(std::size_t next, std::uint64_t used) {
    if (next == instances_.size()) return true;
    const model::MigProfile& profile = *instances_[next];
    const bool repeats = next > 0 && instances_[next - 1] == instances_[next];
    for (const std::int64_t start : *profile.starts) {
      if (start < 0 || start + *profile.memory_slices > memory_) continue;
      if (repeats && start <= starts_[next - 1]) continue;
      const std::uint64_t mask = ((std::uint64_t{1} << *profile.memory_slices) - 1) << start;
      if ((used & mask) != 0) continue;
      starts_[next] = start;
      if (place(next + 1, used | mask)) return true;
    }
    return false;
  }

  std::vector<const model::MigProfile*> instances_;
  std::vector<std::int64_t> starts_;
  std::int64_t memory_;
};

using Wanted = std::vector<std::pair<std::string, std::int64_t>>;

// One entry per instance, or why that is impossible.
Result<std::vector<const model::MigProfile*>> list_instances(const model::GpuModel& gpu, const Wanted& wanted,
                                                             const Slices& whole) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::invalid_input, std::move(why), {}}; };
  std::vector<const model::MigProfile*> instances;
  std::int64_t compute = 0;
  std::int64_t memory = 0;
  for (const auto& [name, count] : wanted) {
    const model::MigProfile* profile = find_profile(gpu, name);
    if (profile == nullptr) {
      std::vector<std::string_view> known;
      for (const model::MigProfile& candidate : *gpu.mig) known.emplace_back(*candidate.name);
      const std::string hint = did_you_mean(name, known);
      return refuse(
          fmt::format("{} has no profile {}{}", *gpu.name, in_backticks(name), hint.empty() ? "" : "; " + hint));
    }
    if (count < 0) return refuse(fmt::format("{} instances of {}: the count must be positive", count, name));
    // Limited before multiplying: the count is user input.
    const std::int64_t most = std::min(count, whole.memory + 1);
    compute += most * *profile->compute;
    memory += most * *profile->memory_slices;
    if (compute > whole.compute) {
      return refuse(fmt::format("it needs {} compute slices and the GPU has {}",
                                count == most ? std::to_string(compute) : "far more", whole.compute));
    }
    if (memory > whole.memory) {
      return refuse(fmt::format("it needs {} memory slices and the GPU has {}", memory, whole.memory));
    }
    instances.insert(instances.end(), static_cast<std::size_t>(most), profile);
  }
  std::stable_sort(instances.begin(), instances.end(), [](const model::MigProfile* a, const model::MigProfile* b) {
    if (*a->memory_slices != *b->memory_slices) return *a->memory_slices > *b->memory_slices;
    if (*a->compute != *b->compute) return *a->compute > *b->compute;
    return *a->name < *b->name;
  });
  return instances;
}

}  // namespace

MigPlacement place_mig(const model::GpuModel& gpu, const Wanted& wanted) {
  MigPlacement placement;
  if (!gpu.mig.has_value() || gpu.mig->empty()) {
    placement.why_not = fmt::format("{} has no MIG; it can be shared by time-slicing", *gpu.name);
    return placement;
  }
  const Slices whole = slices_of(gpu);
  const auto instances = list_instances(gpu, wanted, whole);
  if (!instances.ok()) {
    placement.why_not = instances.error().message;
    return placement;
  }
  Placer placer(instances.value(), whole.memory);
  if (!placer.run()) {
    placement.why_not = "enough slices, but no valid placement: each profile can start only at certain memory slices";
    return placement;
  }
  placement.fits = true;
  for (std::size_t i = 0; i < instances->size(); ++i) {
    placement.placed.emplace_back(*instances.value()[i]->name, static_cast<int>(placer.starts()[i]));
  }
  return placement;
}

namespace {

std::string mix_text(const Wanted& mix) {
  std::string out;
  for (const auto& [name, count] : mix) {
    if (count == 0) continue;
    out += fmt::format("{}{} x{}", out.empty() ? "" : ", ", name, count);
  }
  return out;
}

std::int64_t instances_in(const Wanted& mix) {
  std::int64_t total = 0;
  for (const auto& entry : mix) total += entry.second;
  return total;
}

struct Left {
  std::int64_t compute = 0;
  Bytes memory;
};

Left left_over(const model::GpuModel& gpu, const Wanted& mix) {
  Left left{slices_of(gpu).compute, *gpu.memory};
  for (const auto& [name, count] : mix) {
    const model::MigProfile* profile = find_profile(gpu, name);
    if (profile == nullptr) continue;
    left.compute -= *profile->compute * count;
    left.memory -= *profile->memory * count;
  }
  return left;
}

// Every mix that fits and has no space for another instance.
std::vector<Wanted> maximal_mixes(const model::GpuModel& gpu) {
  Wanted mix;
  // Variants with media engines ("+me") fit wherever the plain profile fits.
  for (const model::MigProfile& profile : *gpu.mig) {
    if (profile.name->find('+') == std::string::npos) mix.emplace_back(*profile.name, 0);
  }
  std::reverse(mix.begin(), mix.end());  // large profiles first, for readability
  std::vector<Wanted> out;
  const std::function<void(std::size_t)> extend = [&](std::size_t next) {
    if (next == mix.size()) {
      const bool full = std::all_of(mix.begin(), mix.end(), [&](std::pair<std::string, std::int64_t>& entry) {
        ++entry.second;
        const bool fits = place_mig(gpu, mix).fits;
        --entry.second;
        return !fits;
      });
      if (full) out.push_back(mix);
      return;
    }
    for (mix[next].second = 0; place_mig(gpu, mix).fits; ++mix[next].second) extend(next + 1);
    mix[next].second = 0;
  };
  extend(0);
  return out;
}

const model::PoolSpec& pool_at(const model::Cluster& cluster, int pool) {
  return (*cluster.spec().pools)[static_cast<std::size_t>(pool)];
}

struct GpuPool {
  const model::PoolSpec* pool = nullptr;
  const model::DeviceGroup* group = nullptr;
  const model::GpuModel* gpu = nullptr;
};

std::vector<GpuPool> gpu_pools(const model::Cluster& cluster) {
  std::vector<GpuPool> out;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.pool < 0 || *group.server->gpus == 0) continue;
    const model::GpuModel* gpu = cluster.catalog().gpu(*group.server->gpu);
    if (gpu != nullptr) out.push_back({&pool_at(cluster, group.pool), &group, gpu});
  }
  return out;
}

bool has_mig(const model::GpuModel& gpu) { return gpu.mig.has_value() && !gpu.mig->empty(); }

Wanted wanted_of(const model::PoolSpec& pool) {
  Wanted wanted;
  for (const auto& [name, count] : *pool.mig) wanted.emplace_back(name, *count);
  return wanted;
}

TableSection pools_table(const std::vector<GpuPool>& pools, std::vector<std::string>& notes) {
  using Align = Column::Align;
  TableSection table{"pools",
                     "GPU sharing per pool",
                     {{"pool", "pool"},
                      {"gpu", "GPU"},
                      {"sharing", "sharing"},
                      {"resource", "resource"},
                      {"per_gpu", "per GPU", Align::right},
                      {"per_node", "per node", Align::right},
                      {"in_pool", "in the pool", Align::right},
                      {"memory_bytes", "memory each", Align::right}},
                     {}};
  for (const GpuPool& entry : pools) {
    const std::int64_t per_node = *entry.group->server->gpus;
    const std::int64_t nodes = entry.group->count;
    const auto row = [&](std::string sharing, std::string resource, std::int64_t per_gpu, Bytes memory) {
      table.rows.push_back({entry.pool->name->text, entry.gpu->id->text, std::move(sharing), std::move(resource),
                            per_gpu, per_gpu * per_node, per_gpu * per_node * nodes,
                            Cell(memory.count(), to_text(memory))});
    };
    if (entry.pool->mig.has_value() && !entry.pool->mig->empty() && has_mig(*entry.gpu)) {
      for (const auto& [name, count] : wanted_of(*entry.pool)) {
        const model::MigProfile* profile = find_profile(*entry.gpu, name);
        if (profile != nullptr) row("MIG", "nvidia.com/mig-" + name, count, *profile->memory);
      }
    } else if (*entry.pool->time_slices > 1) {
      row("time-slicing", "nvidia.com/gpu", *entry.pool->time_slices, *entry.gpu->memory);
    } else {
      row("none", "nvidia.com/gpu", 1, *entry.gpu->memory);
    }
    if (!has_mig(*entry.gpu)) {
      notes.push_back(fmt::format(
          "{}: {} has no MIG. Time-slicing (`time_slices`) lets several pods share a GPU, without memory isolation: "
          "all of them share the same {}, and a pod that exceeds it fails the others, so it suits only small models.",
          entry.pool->name->text, *entry.gpu->name, to_text(*entry.gpu->memory)));
    }
  }
  return table;
}

// The position of each instance of a pool's plan on its GPU.
TableSection placement_table(const std::vector<GpuPool>& pools, std::vector<std::string>& notes) {
  using Align = Column::Align;
  TableSection table{"placement",
                     "Placement on each GPU",
                     {{"pool", "pool"},
                      {"profile", "profile"},
                      {"first_slice", "memory slices from", Align::right},
                      {"slices", "slices", Align::right},
                      {"compute", "compute slices", Align::right}},
                     {}};
  for (const GpuPool& entry : pools) {
    if (!entry.pool->mig.has_value() || entry.pool->mig->empty()) continue;
    const Wanted wanted = wanted_of(*entry.pool);
    const std::string& name = entry.pool->name->text;
    const MigPlacement placement = place_mig(*entry.gpu, wanted);
    if (!placement.fits) {
      notes.push_back(fmt::format("{}: {} does not fit: {}.", name, mix_text(wanted), placement.why_not));
      continue;
    }
    for (const auto& [profile_name, start] : placement.placed) {
      const model::MigProfile* profile = find_profile(*entry.gpu, profile_name);
      table.rows.push_back({name, profile_name, start, *profile->memory_slices, *profile->compute});
    }
    const Left left = left_over(*entry.gpu, wanted);
    notes.push_back(fmt::format("{}: {} leaves {} of {} compute slices and {} of {} unused on each GPU.", name,
                                mix_text(wanted), left.compute, slices_of(*entry.gpu).compute, to_text(left.memory),
                                to_text(*entry.gpu->memory)));
  }
  return table;
}

TableSection mixes_table(const model::GpuModel& gpu) {
  using Align = Column::Align;
  TableSection table{"mixes_" + gpu.id->text,
                     fmt::format("What fits one {}", *gpu.name),
                     {{"mix", "mix"},
                      {"instances", "instances", Align::right},
                      {"compute_left", "compute left", Align::right},
                      {"memory_left_bytes", "memory left", Align::right}},
                     {}};
  const auto row = [&](const Wanted& mix) {
    const Left left = left_over(gpu, mix);
    table.rows.push_back(
        {mix_text(mix), instances_in(mix), left.compute, Cell(left.memory.count(), to_text(left.memory))});
  };
  // Mixes of a single profile first, as in the well-known table.
  for (const model::MigProfile& profile : *gpu.mig) {
    std::int64_t count = 0;
    while (place_mig(gpu, {{*profile.name, count + 1}}).fits) ++count;
    row({{*profile.name, count}});
  }
  for (const Wanted& mix : maximal_mixes(gpu)) {
    const auto kinds = std::count_if(mix.begin(), mix.end(), [](const auto& entry) { return entry.second > 0; });
    if (kinds > 1) row(mix);
  }
  return table;
}

}  // namespace

Document mig_view(const model::Cluster& cluster) {
  Document document;
  document.kind = "mig";
  const std::vector<GpuPool> pools = gpu_pools(cluster);
  if (pools.empty()) {
    document.notes.emplace_back("No pool of this cluster has GPUs.");
    return document;
  }
  document.sections.emplace_back(pools_table(pools, document.notes));
  TableSection placement = placement_table(pools, document.notes);
  if (!placement.rows.empty()) document.sections.emplace_back(std::move(placement));
  std::vector<const model::GpuModel*> shown;
  for (const GpuPool& entry : pools) {
    if (!has_mig(*entry.gpu) || std::find(shown.begin(), shown.end(), entry.gpu) != shown.end()) continue;
    shown.push_back(entry.gpu);
    document.sections.emplace_back(mixes_table(*entry.gpu));
    document.notes.push_back(
        fmt::format("Mixed profiles on {} are maximal: no further instance fits.", *entry.gpu->name));
  }
  for (const GpuPool& entry : pools) {
    if (*entry.pool->role != model::PoolRole::inference || !has_mig(*entry.gpu)) continue;
    if (entry.pool->mig.has_value() && !entry.pool->mig->empty()) continue;
    std::int64_t most = 0;
    std::string profile;
    for (const model::MigProfile& candidate : *entry.gpu->mig) {
      std::int64_t count = 0;
      while (place_mig(*entry.gpu, {{*candidate.name, count + 1}}).fits) ++count;
      if (count > most) {
        most = count;
        profile = *candidate.name;
      }
    }
    document.notes.push_back(fmt::format(
        "{}: inference on whole GPUs. With `mig: {{{}: {}}}` each GPU would run {} isolated replicas instead of one.",
        entry.pool->name->text, profile, most, most));
  }
  return document;
}

}  // namespace weft::design
