// Consistency checks of the catalog: a design depends on its numbers, and published device lists do contain missing
// ports and wrong sums.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/catalog.h"

namespace weft::model {
namespace {

template <class Item>
void check_sources(const std::vector<Item>& table, const std::set<std::string>& references, Diagnostics& diagnostics) {
  const Schema& schema = schema_of<Item>();
  std::vector<std::string_view> keys;
  for (const Field& field : schema.fields()) keys.push_back(field.key);
  for (const Item& item : table) {
    if (!references.contains(item.source.value)) {
      diagnostics.error(item.source.place,
                        fmt::format("`{}` refers to source `{}`, which is not listed in `references`", item.id->text,
                                    item.source.value),
                        "every fact needs a source", item.source->size());
    }
    for (const auto& [key, source] : item.sources.value) {
      if (!references.contains(source.value)) {
        diagnostics.error(source.place, fmt::format("unknown source `{}`", source.value), {}, key.size());
      }
      bool known = false;
      for (const std::string_view field : keys) known = known || field == key;
      if (!known) {
        diagnostics.error(source.place,
                          fmt::format("`sources` covers `{}`, which is not a key of {}", key, schema.name()),
                          did_you_mean(key, keys), key.size());
      }
    }
  }
}

void check_mig(const GpuModel& gpu, Diagnostics& diagnostics) {
  std::set<std::string> names;
  for (const MigProfile& profile : gpu.mig.value) {
    if (!names.insert(profile.name.value).second) {
      diagnostics.error(profile.place, fmt::format("MIG profile `{}` is listed twice", profile.name.value));
    }
    if (profile.memory.value > gpu.memory.value) {
      diagnostics.error(profile.memory.place,
                        fmt::format("an instance of {} needs more memory than the GPU has ({} > {})",
                                    profile.name.value, to_text(profile.memory.value), to_text(gpu.memory.value)));
    }
    for (const std::int64_t start : profile.starts.value) {
      if (start < 0 || start + profile.memory_slices.value > 8) {
        diagnostics.error(profile.starts.place, fmt::format("{} cannot start at memory slice {}: it takes {} of 8",
                                                            profile.name.value, start, profile.memory_slices.value));
      }
    }
  }
}

// nvidia-smi offers 200 to 700 W on an H200.
void check_power(const GpuModel& gpu, Diagnostics& diagnostics) {
  if (!gpu.power_limit.has_value()) return;
  if (gpu.power_limit.value <= gpu.tdp.value && gpu.power_limit.value * 4 >= gpu.tdp.value) return;
  diagnostics.error(gpu.power_limit.place,
                    fmt::format("a power limit of {} is not between {} (a quarter of the TDP) and {} (the TDP)",
                                to_text(gpu.power_limit.value), to_text(gpu.tdp.value / 4), to_text(gpu.tdp.value)));
}

// All links of a GPU have the same rate, which vendors state in whole GB/s.
void check_nvlink(const GpuModel& gpu, Diagnostics& diagnostics) {
  if (!gpu.nvlink_links.has_value()) return;
  const std::int64_t links = gpu.nvlink_links.value;
  const std::int64_t bandwidth = gpu.nvlink_bandwidth->per_second.count();
  if (links == 0 ? bandwidth == 0 : bandwidth > 0 && bandwidth % (links * 1'000'000'000) == 0) return;
  diagnostics.error(gpu.nvlink_links.place, fmt::format("{} links do not add up to `nvlink_bandwidth`, {}/s", links,
                                                        to_text(gpu.nvlink_bandwidth->per_second)));
}

// A lane carries 4 Gb/s since PCIe 2.0 (after coding), and twice as much with each generation.
void check_nic(const NicModel& nic, Diagnostics& diagnostics) {
  if (!nic.bandwidth.has_value()) return;
  const BitRate fastest = nic.speeds->empty() ? BitRate(0) : *std::max_element(nic.speeds->begin(), nic.speeds->end());
  if (nic.bandwidth.value > fastest * nic.ports.value) {
    diagnostics.error(nic.bandwidth.place,
                      fmt::format("adapter `{}` states more throughput than its ports provide", nic.id->text));
  }
  if (!nic.pcie_generation.has_value() || !nic.pcie_lanes.has_value()) return;
  const BitRate link = gigabits((std::int64_t{1} << nic.pcie_generation.value) * nic.pcie_lanes.value);
  if (nic.bandwidth.value <= link) return;
  diagnostics.error(nic.bandwidth.place, fmt::format("adapter `{}` states more throughput than the {} of its PCIe link",
                                                     nic.id->text, to_text(link)));
}

// A port is on the NUMA node of its nearest GPU, unless all ports are on other nodes.
void check_nearest_gpus(const ServerModel& server, const PortGroup& group, Diagnostics& diagnostics) {
  const std::vector<std::int64_t>& near = group.gpus.value;
  const std::vector<std::int64_t>& gpu_nodes = server.gpu_numa.value;
  const std::vector<std::int64_t>& nodes = group.numa.value;
  for (std::size_t p = 0; p < std::min(near.size(), nodes.size()); ++p) {
    if (near[p] < 0 || near[p] >= static_cast<std::int64_t>(gpu_nodes.size())) continue;
    const std::int64_t node = gpu_nodes[static_cast<std::size_t>(near[p])];
    if (nodes[p] == node || std::find(nodes.begin(), nodes.end(), node) == nodes.end()) continue;
    diagnostics.error(group.numa.place, fmt::format("port {} is on NUMA node {}, but its nearest GPU, {}, is on {}",
                                                    p + 1, nodes[p], near[p], node));
    return;
  }
}

void check_ports(const ServerModel& server, const Catalog& catalog, Diagnostics& diagnostics) {
  int oob = 0;
  for (const PortGroup& group : server.ports.value) {
    oob += group.use.value == PortUse::oob ? 1 : 0;
    const NicModel* nic = group.nic.has_value() ? catalog.nic(group.nic.value) : nullptr;
    if (group.nic.has_value() && nic == nullptr) {
      diagnostics.error(group.nic.place, fmt::format("unknown adapter `{}`", group.nic.value), {}, group.nic->size());
    }
    if (nic != nullptr && nic->form.value != group.form.value) {
      diagnostics.error(group.form.place, fmt::format("adapter {} has {} cages, not {}", group.nic.value,
                                                      text_of(nic->form.value), text_of(group.form.value)));
    }
    if (group.speeds->empty()) diagnostics.error(group.speeds.place, "a port needs at least one speed");
    for (const BitRate speed : group.speeds.value) {
      bool possible = nic == nullptr;
      if (nic != nullptr) {
        for (const BitRate nic_speed : nic->speeds.value) possible = possible || nic_speed == speed;
      }
      if (!possible) {
        diagnostics.error(group.speeds.place,
                          fmt::format("adapter {} has no port speed {}", group.nic.value, to_text(speed)));
      }
    }
    if (group.count.value % group.per_cage.value != 0) {
      diagnostics.error(group.count.place,
                        fmt::format("{} ports do not fill cages of {}", group.count.value, group.per_cage.value));
    }
    const auto count = static_cast<std::size_t>(group.count.value);
    if (group.gpus.has_value() && group.gpus->size() != count) {
      diagnostics.error(group.gpus.place, fmt::format("{} ports but {} GPUs listed", count, group.gpus->size()));
    }
    for (const std::int64_t gpu : group.gpus.value) {
      if (gpu < 0 || gpu >= server.gpus.value) {
        diagnostics.error(group.gpus.place, fmt::format("no GPU {}: the server has {}", gpu, server.gpus.value));
      }
    }
    if (group.numa.has_value() && group.numa->size() != count) {
      diagnostics.error(group.numa.place, fmt::format("{} ports but {} NUMA nodes listed", count, group.numa->size()));
    }
    check_nearest_gpus(server, group, diagnostics);
    for (const std::int64_t node : group.numa.value) {
      if (node < 0 || node >= server.numa_nodes.value) {
        diagnostics.error(group.numa.place,
                          fmt::format("no NUMA node {}: the server has {}", node, server.numa_nodes.value));
      }
    }
  }
  if (oob != 1) {
    diagnostics.error(server.place, fmt::format("server `{}` must have exactly one row of out-of-band ports, not {}",
                                                server.id->text, oob));
  }
}

Power adapter_power(const ServerModel& server, const Catalog& catalog) {
  Power sum;
  for (const PortGroup& group : server.ports.value) {
    const NicModel* nic = group.nic.has_value() ? catalog.nic(group.nic.value) : nullptr;
    if (nic == nullptr || !nic->power.has_value()) continue;
    const std::int64_t ports = std::max<std::int64_t>(1, nic->ports.value);
    sum += nic->power.value * ((group.count.value + ports - 1) / ports);
  }
  return sum;
}

// Whether GPUs of this form are built with the interconnect.
bool is_built_with(GpuForm form, GpuInterconnect interconnect) {
  switch (interconnect) {
    case GpuInterconnect::nvswitch:
      return form == GpuForm::sxm || form == GpuForm::superchip;
    case GpuInterconnect::nvlink_bridge:
      return form == GpuForm::pcie || form == GpuForm::nvl;
    case GpuInterconnect::infinity_fabric:
      return form == GpuForm::oam || form == GpuForm::superchip;
    case GpuInterconnect::pcie:
    case GpuInterconnect::none:
      break;
  }
  return true;
}

void check_interconnect(const ServerModel& server, const GpuModel& gpu, Diagnostics& diagnostics) {
  if (is_built_with(gpu.form.value, server.interconnect.value)) return;
  diagnostics.error(server.interconnect.place,
                    fmt::format("{} GPUs such as {} have no {} interconnect", text_of(gpu.form.value), gpu.id->text,
                                text_of(server.interconnect.value)));
}

void check_server(const ServerModel& server, const Catalog& catalog, Diagnostics& diagnostics) {
  Power used = adapter_power(server, catalog);
  if (server.gpus.value > 0) {
    const GpuModel* gpu = server.gpu.has_value() ? catalog.gpu(server.gpu.value) : nullptr;
    if (gpu == nullptr) {
      diagnostics.error(server.gpus.place, fmt::format("server `{}` refers to an unknown GPU model", server.id->text));
    } else if (gpu->tdp.value * server.gpus.value > server.power.value) {
      diagnostics.error(server.power.place,
                        fmt::format("{} GPUs of {} draw more than the server's {}", server.gpus.value,
                                    to_text(gpu->tdp.value), to_text(server.power.value)));
    } else {
      used += gpu->tdp.value * server.gpus.value;
      check_interconnect(server, *gpu, diagnostics);
    }
  }
  if (used > server.power.value) {
    diagnostics.error(server.power.place, fmt::format("GPUs and adapters draw {}, more than the server's {}",
                                                      to_text(used), to_text(server.power.value)));
  }
  if (server.psus_needed.value > server.psus.value) {
    diagnostics.error(server.psus_needed.place,
                      fmt::format("needs {} of {} supplies", server.psus_needed.value, server.psus.value));
  }
  check_ports(server, catalog, diagnostics);
}

void check_switch(const SwitchModel& model, Diagnostics& diagnostics) {
  std::int64_t at_radix_speed = 0;
  Uint128 bandwidth = 0;
  for (const CageGroup& cages : model.cages.value) {
    if (cages.breakouts->empty()) diagnostics.error(cages.place, "a cage needs at least one mode");
    std::int64_t ports = 0;
    Uint128 best = 0;
    for (const Breakout& mode : cages.breakouts.value) {
      if (mode.ports > cages.lanes.value || cages.lanes.value % mode.ports != 0) {
        diagnostics.error(cages.breakouts.place,
                          fmt::format("{} does not divide the {} lanes of a cage", to_text(mode), cages.lanes.value));
      }
      if (mode.speed == model.radix_speed.value) ports = std::max<std::int64_t>(ports, mode.ports);
      best = std::max(best, static_cast<Uint128>(mode.ports) * static_cast<Uint128>(mode.speed.count()));
    }
    at_radix_speed += ports * cages.count.value;
    bandwidth += best * static_cast<Uint128>(cages.count.value);
  }
  if (at_radix_speed != model.radix.value) {
    diagnostics.error(model.radix.place,
                      fmt::format("switch `{}` states {} ports at {}, but its cages add up to {}", model.id->text,
                                  model.radix.value, to_text(model.radix_speed.value), at_radix_speed));
  }
  // Oversubscribed switches exist (more cage bandwidth than ASIC capacity); the reverse is a data entry error.
  if (model.capacity.has_value() && static_cast<Uint128>(model.capacity->count()) > bandwidth) {
    diagnostics.error(model.capacity.place,
                      fmt::format("switch `{}` states more capacity than its cages provide", model.id->text));
  }
}

void check_media(const Catalog& catalog, Diagnostics& diagnostics) {
  std::set<std::string> fibres;
  for (const CableModel& cable : catalog.cables()) {
    const bool fibre = cable.kind.value == MediumKind::fibre;
    if (fibre) fibres.insert(cable.fibre.value);
    if (fibre != cable.fibre.has_value() || fibre == cable.speed.has_value() || fibre == cable.from.has_value() ||
        fibre == cable.to.has_value()) {
      diagnostics.error(cable.place,
                        fmt::format("cable `{}`: a fiber needs `fibre`; all other kinds need `speed`, `from` and `to`",
                                    cable.id->text));
    }
    if (cable.lengths->empty()) diagnostics.error(cable.lengths.place, "a cable needs at least one length");
    for (std::size_t i = 1; i < cable.lengths->size(); ++i) {
      if (cable.lengths.value[i] <= cable.lengths.value[i - 1]) {
        diagnostics.error(cable.lengths.place,
                          fmt::format("lengths of `{}` must be in ascending order", cable.id->text));
      }
    }
  }
  for (const TransceiverModel& module : catalog.transceivers()) {
    if (!fibres.contains(module.fibre.value)) {
      diagnostics.error(module.fibre.place, fmt::format("no cable for fiber system `{}`", module.fibre.value), {},
                        module.fibre->size());
    }
    for (const Breakout& mode : module.modes.value) {
      if (mode.ports % module.connectors.value != 0 && module.connectors.value % mode.ports != 0) {
        diagnostics.error(module.modes.place, fmt::format("{} ports do not share {} connectors evenly", mode.ports,
                                                          module.connectors.value));
      }
    }
  }
}

}  // namespace

void Catalog::check(Diagnostics& diagnostics) const {
  std::set<std::string> references;
  for (const auto& [id, reference] : references_) references.insert(id);
  check_sources(gpus_, references, diagnostics);
  check_sources(nics_, references, diagnostics);
  check_sources(servers_, references, diagnostics);
  check_sources(switches_, references, diagnostics);
  check_sources(transceivers_, references, diagnostics);
  check_sources(cables_, references, diagnostics);
  check_sources(pdus_, references, diagnostics);
  check_sources(racks_, references, diagnostics);
  for (const GpuModel& gpu : gpus_) {
    check_mig(gpu, diagnostics);
    check_power(gpu, diagnostics);
    check_nvlink(gpu, diagnostics);
  }
  for (const NicModel& nic : nics_) check_nic(nic, diagnostics);
  for (const ServerModel& server : servers_) check_server(server, *this, diagnostics);
  for (const SwitchModel& model : switches_) check_switch(model, diagnostics);
  check_media(*this, diagnostics);
}

}  // namespace weft::model
