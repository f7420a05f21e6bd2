#include "design/design_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <vector>

#include "base/diagnostic.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/media.h"
#include "model/server_ports.h"

namespace weft::design {

namespace {

constexpr std::string_view kStorageServer = "storage-400g-2u";
constexpr std::array<std::string_view, 2> kManagers = {"ufm-appliance-ndr", "ufm-appliance"};

// --- Which server ---------------------------------------------------------------------------------------------------

template <class Models>
std::vector<std::string_view> ids_of(const Models& models) {
  std::vector<std::string_view> out;
  out.reserve(models.size());
  for (const auto& model : models) out.emplace_back(model.id->text);
  return out;
}

// "unknown GPU `h100`; did you mean ...", or what the catalog has.
template <class Models>
Error unknown_id(std::string_view what, std::string_view id, const Models& models) {
  const std::vector<std::string_view> known = ids_of(models);
  std::string hint = did_you_mean(id, known);
  if (hint.empty()) hint = "the catalog has " + join(known, ", ");
  return invalid(fmt::format("unknown {} {}; {}", what, in_backticks(id), hint));
}

bool speaks(const model::Catalog& catalog, const model::PortGroup* ports, model::NetworkKind network) {
  if (ports == nullptr || ports->speeds->empty()) return false;
  if (!ports->nic.has_value()) return true;
  const model::NicModel* nic = catalog.nic(*ports->nic);
  return nic == nullptr || std::find(nic->networks->begin(), nic->networks->end(), network) != nic->networks->end();
}

// The default server for a GPU: NVIDIA's own on InfiniBand, an open one on Ethernet, else the one with the fastest
// backend.
const model::ServerModel* default_server(const model::Catalog& catalog, const model::GpuModel& gpu,
                                         model::NetworkKind network) {
  const std::string stem = gpu.id->text.substr(0, gpu.id->text.find('-'));
  const bool infiniband = network == model::NetworkKind::infiniband;
  const model::ServerModel* chosen = nullptr;
  std::tuple<int, BitRate> best;
  for (const model::ServerModel& server : catalog.servers()) {
    const model::PortGroup* ports = model::port_group(server, model::PortUse::backend);
    if (*server.kind != model::ServerKind::gpu || *server.gpu != gpu.id->text || !speaks(catalog, ports, network))
      continue;
    const bool first = server.id->text == (infiniband ? "dgx-" : "hgx-") + stem;
    const bool second = server.id->text == (infiniband ? "hgx-" : "dgx-") + stem;
    const std::tuple rank(first ? 2 : (second ? 1 : 0), ports->speeds->front() * *ports->count);
    if (chosen != nullptr && rank <= best) continue;
    chosen = &server;
    best = rank;
  }
  return chosen;
}

Error no_server(const model::Catalog& catalog, const model::GpuModel& gpu, model::NetworkKind network) {
  const auto& servers = catalog.servers();
  const bool any = std::any_of(servers.begin(), servers.end(), [&](const model::ServerModel& server) {
    return *server.gpus > 0 && *server.gpu == gpu.id->text;
  });
  if (!any)
    return invalid(fmt::format("the catalog has no server with {}; add one, or choose another GPU", gpu.id->text));
  return invalid(fmt::format("no server of the catalog connects {} to {}", gpu.id->text, model::text_of(network)));
}

Status choose_server(const model::Catalog& catalog, Plan& plan) {
  const DesignRequest& request = plan.request;
  if (request.server.empty()) {
    plan.gpu = catalog.gpu(request.gpu);
    if (plan.gpu == nullptr) return unknown_id("GPU", request.gpu, catalog.gpus());
    plan.server = default_server(catalog, *plan.gpu, request.network);
    if (plan.server == nullptr) return no_server(catalog, *plan.gpu, request.network);
    return {};
  }
  plan.server = catalog.server(request.server);
  if (plan.server == nullptr) return unknown_id("server", request.server, catalog.servers());
  plan.gpu = *plan.server->gpus > 0 ? catalog.gpu(*plan.server->gpu) : nullptr;
  if (plan.gpu == nullptr) return invalid(fmt::format("{} has no GPUs", plan.server->id->text));
  if (!speaks(catalog, model::port_group(*plan.server, model::PortUse::backend), request.network)) {
    return invalid(
        fmt::format("{} has no backend port for {}", plan.server->id->text, model::text_of(request.network)));
  }
  return {};
}

// --- Which switches can be cabled to which servers ------------------------------------------------------------------

// A host port that a switch must support.
struct HostEnd {
  model::FormFactor form;
  std::uint32_t per_cage;
  std::vector<BitRate> speeds;  // in order of preference
};

HostEnd host_end(const model::PortGroup& ports) {
  return {*ports.form, static_cast<std::uint32_t>(*ports.per_cage), *ports.speeds};
}

std::vector<Mode> modes_at(const model::SwitchModel& model, BitRate speed) {
  std::vector<Mode> modes;
  for (const model::CageGroup& cages : *model.cages) {
    for (const model::Breakout& breakout : *cages.breakouts) {
      if (breakout.speed == speed) modes.push_back({&cages, breakout, false});
    }
  }
  std::stable_sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) { return a.ports() > b.ports(); });
  if (!modes.empty()) modes.front().best = true;
  return modes;
}

class Cabling {
 public:
  explicit Cabling(const model::Catalog& catalog) : chooser_(catalog) {}

  // The mode of a switch for a host port over a run of 30 m, at the first of the host's speeds that the switch
  // supports.
  std::optional<Mode> mode_for(const model::SwitchModel& model, const HostEnd& host, model::NetworkKind network) {
    for (const BitRate speed : host.speeds) {
      const std::vector<Mode> modes = modes_at(model, speed);
      for (const Mode& mode : modes) {
        const model::CageEnd far{*mode.cages->form, static_cast<std::uint32_t>(mode.breakout.ports)};
        if (joins({host.form, host.per_cage}, far, speed, network)) return mode;
      }
      if (!modes.empty()) return std::nullopt;
    }
    return std::nullopt;
  }

  // The speed between two such switches if the hosts' speed cannot be cabled (two split ends cannot be joined).
  std::optional<BitRate> uplink_instead_of(const model::SwitchModel& model, BitRate hosts, model::NetworkKind network) {
    std::vector<BitRate> speeds = {hosts};
    for (const model::CageGroup& cages : *model.cages) {
      for (const model::Breakout& breakout : *cages.breakouts) speeds.push_back(breakout.speed);
    }
    std::sort(speeds.begin() + 1, speeds.end(), std::greater<>());
    for (const BitRate speed : speeds) {
      const std::vector<Mode> modes = modes_at(model, speed);
      if (modes.empty()) continue;
      const model::CageEnd end{*modes.front().cages->form, static_cast<std::uint32_t>(modes.front().breakout.ports)};
      if (!joins(end, end, speed, network)) continue;
      return speed == hosts ? std::nullopt : std::optional(speed);
    }
    return std::nullopt;
  }

  // Whether every host can be cabled without a breakout set in the file.
  bool takes_all(const model::SwitchModel& model, const std::vector<HostEnd>& hosts, model::NetworkKind network) {
    return std::all_of(hosts.begin(), hosts.end(), [&](const HostEnd& host) {
      const auto mode = mode_for(model, host, network);
      return mode && mode->best;
    });
  }

 private:
  // Over a run across a few racks.
  bool joins(const model::CageEnd& a, const model::CageEnd& b, BitRate speed, model::NetworkKind network) {
    constexpr std::uint32_t kRun = 30'000;
    const std::vector<model::MediumKind> wanted = {model::MediumKind::dac, model::MediumKind::aoc,
                                                   model::MediumKind::fibre};
    return chooser_.kinds({a, b, speed, network, &wanted, kRun, kRun}, media_) != 0;
  }

  model::MediaChooser chooser_;
  std::vector<model::Medium> media_;
};

// The switch that supports the hosts: at the full speed of the first if required, then a common model, then the one
// with the most ports.
const model::SwitchModel* choose_leaf(const model::Catalog& catalog, Cabling& cabling,
                                      const std::vector<HostEnd>& hosts, model::NetworkKind network,
                                      const std::vector<std::string_view>& usual, bool full_speed = true) {
  const model::SwitchModel* chosen = nullptr;
  std::tuple<bool, std::size_t, std::int64_t> best;
  for (const model::SwitchModel& model : catalog.switches()) {
    if (*model.network != network || !*model.lossless || !cabling.takes_all(model, hosts, network)) continue;
    const Mode mode = *cabling.mode_for(model, hosts.front(), network);
    const auto place = std::find(usual.begin(), usual.end(), std::string_view(model.id->text));
    const std::tuple rank(full_speed && mode.breakout.speed == hosts.front().speeds.front(),
                          static_cast<std::size_t>(usual.end() - place), mode.ports());
    if (chosen != nullptr && rank <= best) continue;
    chosen = &model;
    best = rank;
  }
  return chosen;
}

std::vector<std::string_view> usual_leaves(model::NetworkKind network) {
  if (network == model::NetworkKind::infiniband) return {"qm9700", "q3400", "qm8700"};
  return {"sn5600", "sn5400", "sn4700"};
}

// The modes of the chosen leaf for hosts and spines; false if it does not support the hosts.
bool choose_backend_mode(Cabling& cabling, const HostEnd& host, Plan& plan) {
  const auto mode = cabling.mode_for(*plan.backend_leaf, host, plan.request.network);
  if (!mode) return false;
  if (!mode->best) plan.backend_breakout = mode->breakout;
  plan.backend_uplink = cabling.uplink_instead_of(*plan.backend_leaf, mode->breakout.speed, plan.request.network);
  return true;
}

Status choose_backend(const model::Catalog& catalog, Cabling& cabling, Plan& plan) {
  const DesignRequest& request = plan.request;
  const model::PortGroup& ports = *model::port_group(*plan.server, model::PortUse::backend);
  HostEnd host = host_end(ports);
  if (request.planes > 1) {
    const auto split = std::find_if(ports.breakouts->begin(), ports.breakouts->end(),
                                    [&](const model::Breakout& mode) { return mode.ports == request.planes; });
    if (split == ports.breakouts->end()) {
      return invalid(
          fmt::format("the backend ports of {} cannot be split over {} planes", plan.server->id->text, request.planes));
    }
    host.per_cage = static_cast<std::uint32_t>(split->ports);
    host.speeds = {split->speed};
  }
  if (request.leaf.empty()) {
    plan.backend_leaf = choose_leaf(catalog, cabling, {host}, request.network, usual_leaves(request.network));
    if (plan.backend_leaf == nullptr) {
      return invalid(fmt::format("no {} switch of the catalog can be cabled to {}; name one with --leaf",
                                 model::text_of(request.network), plan.server->id->text));
    }
    choose_backend_mode(cabling, host, plan);
    return {};
  }
  plan.backend_leaf = catalog.switch_model(request.leaf);
  if (plan.backend_leaf == nullptr) return unknown_id("switch", request.leaf, catalog.switches());
  if (*plan.backend_leaf->network != request.network) {
    return invalid(fmt::format("{} is an {} switch, and the backend is {}", request.leaf,
                               model::text_of(*plan.backend_leaf->network), model::text_of(request.network)));
  }
  if (!choose_backend_mode(cabling, host, plan)) {
    return invalid(fmt::format("no cable connects {} to {}", plan.server->id->text, request.leaf));
  }
  return {};
}

Status choose_other_switches(const model::Catalog& catalog, Cabling& cabling, Plan& plan) {
  for (const std::string_view id : {kStorageServer, kLoginServer, kControlServer}) {
    if (catalog.server(id) == nullptr) return invalid(fmt::format("the catalog has no {}", id));
  }
  plan.storage_server = catalog.server(kStorageServer);
  if (plan.storage_server->read->per_second.count() <= 0 || plan.storage_server->write->per_second.count() <= 0) {
    return invalid(fmt::format("{} has no throughput to size storage with", kStorageServer));
  }
  std::vector<HostEnd> storage;
  std::vector<HostEnd> frontend;
  std::vector<const model::PortGroup*> on_storage;
  const std::array<const model::ServerModel*, 4> members = {plan.server, catalog.server(kLoginServer),
                                                            catalog.server(kControlServer), plan.storage_server};
  for (const model::ServerModel* member : members) {
    if (const model::PortGroup* ports = model::port_group(*member, model::PortUse::storage)) {
      storage.push_back(host_end(*ports));
      on_storage.push_back(ports);
    }
    if (const model::PortGroup* ports = model::port_group(*member, model::PortUse::frontend))
      frontend.push_back(host_end(*ports));
  }
  // Storage uses the backend's network if every NIC on it supports that.
  const bool infiniband = plan.request.network == model::NetworkKind::infiniband &&
                          std::all_of(on_storage.begin(), on_storage.end(), [&](const model::PortGroup* ports) {
                            return speaks(catalog, ports, model::NetworkKind::infiniband);
                          });
  plan.storage_network = infiniband ? model::NetworkKind::infiniband : model::NetworkKind::ethernet;
  plan.storage_leaf = choose_leaf(catalog, cabling, storage, plan.storage_network, usual_leaves(plan.storage_network));
  plan.frontend_leaf =
      choose_leaf(catalog, cabling, frontend, model::NetworkKind::ethernet, {"sn4600c", "sn5600"}, false);
  if (plan.storage_leaf == nullptr || plan.frontend_leaf == nullptr) {
    return invalid(fmt::format("no {} leaf of the catalog can be cabled to {} and the servers beside it",
                               plan.storage_leaf == nullptr ? "storage" : "frontend", plan.server->id->text));
  }
  for (HostEnd& host : frontend) host.speeds = {gigabits(100)};
  const model::SwitchModel* large = catalog.switch_model("sn5600");
  if (large != nullptr && large != plan.frontend_leaf &&
      cabling.takes_all(*large, frontend, model::NetworkKind::ethernet)) {
    plan.large_frontend = large;
  }
  // The out-of-band network must not share a vendor's failure with the networks it is needed to recover.
  for (const std::string_view id : {"arista-7010tx-48", "nexus-9348gc-fx3", "sn2201", "plain-1g-48"}) {
    const model::SwitchModel* model = catalog.switch_model(id);
    if (model == nullptr) continue;
    if (plan.oob_leaf == nullptr) plan.oob_leaf = model;
    const auto other = [&](const model::SwitchModel* leaf) { return *leaf->vendor != *model->vendor; };
    if (!other(plan.backend_leaf) || !other(plan.storage_leaf) || !other(plan.frontend_leaf)) continue;
    plan.oob_leaf = model;
    break;
  }
  if (plan.oob_leaf == nullptr) return invalid("the catalog has no out-of-band switch");
  return {};
}

// Subnet managers of InfiniBand fabrics, if one can be cabled to the leaves.
std::optional<Manager> choose_manager(const model::Catalog& catalog, Cabling& cabling, const model::SwitchModel& leaf) {
  if (*leaf.network != model::NetworkKind::infiniband) return std::nullopt;
  for (const std::string_view id : kManagers) {
    const model::ServerModel* appliance = catalog.server(id);
    const model::PortGroup* ports =
        appliance == nullptr ? nullptr : model::port_group(*appliance, model::PortUse::backend);
    if (ports == nullptr) continue;
    if (const auto mode = cabling.mode_for(leaf, host_end(*ports), model::NetworkKind::infiniband))
      return Manager{id, *mode};
  }
  return std::nullopt;
}

}  // namespace

Status choose_models(const model::Catalog& catalog, Plan& plan) {
  if (Status status = choose_server(catalog, plan); !status.ok()) return status;
  Cabling cabling(catalog);
  if (Status status = choose_backend(catalog, cabling, plan); !status.ok()) return status;
  if (Status status = choose_other_switches(catalog, cabling, plan); !status.ok()) return status;
  plan.backend_manager = choose_manager(catalog, cabling, *plan.backend_leaf);
  plan.storage_manager = choose_manager(catalog, cabling, *plan.storage_leaf);
  return {};
}

}  // namespace weft::design
