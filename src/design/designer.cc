#include "design/designer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <tuple>

#include "base/utf8.h"
#include "base/yaml.h"
#include "design/sizing.h"
#include "model/media.h"
#include "model/server_ports.h"

namespace weft {

namespace {

constexpr std::int64_t kMostGpus = 2'000'000;
constexpr std::string_view kStorageServer = "storage-400g-2u";
constexpr std::string_view kLoginServer = "login-1u";
constexpr std::string_view kControlServer = "control-1u";
constexpr std::string_view kManager = "ufm-appliance";
constexpr std::string_view kPdu = "pdu-35kw";
constexpr std::int64_t kManyFrontendHosts = 12'000;
constexpr std::int64_t kDefaultRowLength = 16;  // site.row_length

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

// How cages of a switch run at a speed; `best` is what a file gets that asks for nothing.
struct Mode {
  const CageGroup* cages;
  Breakout breakout;
  bool best;

  [[nodiscard]] std::int64_t ports() const { return *cages->count * breakout.ports; }
};

// Everything the file will say.
struct Plan {
  DesignRequest request;
  const GpuModel* gpu = nullptr;
  const ServerModel* server = nullptr;
  const SwitchModel* backend_leaf = nullptr;
  const SwitchModel* storage_leaf = nullptr;
  const SwitchModel* frontend_leaf = nullptr;
  const SwitchModel* frontend_spine = nullptr;
  const SwitchModel* oob_leaf = nullptr;
  const SwitchModel* oob_spine = nullptr;  // null: the default
  const ServerModel* storage_server = nullptr;
  std::optional<Breakout> backend_breakout;
  std::optional<BitRate> backend_uplink;
  std::optional<Mode> backend_manager;  // how a leaf takes a subnet manager; none where it takes none
  std::optional<Mode> storage_manager;
  std::string without_managers;  // why they were left out
  NetworkKind storage_network = NetworkKind::ethernet;
  std::int64_t servers = 0;
  std::int64_t training = 0;
  std::int64_t inference = 0;
  std::int64_t heads = 0;  // split profile: what mounts storage for the GPU servers
  std::int64_t data_servers = 0;
  std::int64_t checkpoint_servers = 0;
  ThroughputNeed target;
  Bytes checkpoint;
  std::int64_t per_rack = 0;  // 0: as height and power allow
  std::int64_t pdus_per_rack = 2;
  std::int64_t racks = 0;  // of GPU servers
  std::int64_t row_length = kDefaultRowLength;
  bool row_switches = false;
  std::int64_t service_racks = 0;  // 0: as many as height asks for
  std::string mig_profile;
  std::int64_t mig_count = 0;

  [[nodiscard]] std::int64_t gpus() const { return servers * *server->gpus; }
  [[nodiscard]] std::int64_t frontend_hosts() const { return (heads > 0 ? heads : servers) + 5; }
};

// --- What to buy ----------------------------------------------------------------------------------------------------

template <class Models>
std::vector<std::string_view> ids_of(const Models& models) {
  std::vector<std::string_view> out;
  for (const auto& model : models) out.emplace_back(model.id->text);
  return out;
}

// "unknown GPU `h100`; did you mean ...": people leave the form factor out, so ids that begin with the word count too.
template <class Models>
Error unknown_id(std::string_view what, std::string_view id, const Models& models) {
  const std::vector<std::string_view> known = ids_of(models);
  std::string hint = did_you_mean(id, known);
  if (hint.empty() && !id.empty()) {
    std::string longer;
    for (const std::string_view candidate : known) {
      if (candidate.rfind(id, 0) == 0) longer += fmt::format("{}`{}`", longer.empty() ? "" : ", ", candidate);
    }
    if (!longer.empty()) hint = "did you mean " + longer + "?";
  }
  return invalid(fmt::format("unknown {} {}{}", what, in_backticks(id), hint.empty() ? "" : "; " + hint));
}

bool speaks(const Catalog& catalog, const PortGroup* ports, NetworkKind network) {
  if (ports == nullptr) return false;
  if (!ports->nic.has_value()) return true;
  const NicModel* nic = catalog.nic(*ports->nic);
  return nic == nullptr || std::find(nic->networks->begin(), nic->networks->end(), network) != nic->networks->end();
}

// The usual server for a GPU: NVIDIA's own on InfiniBand, an open one on Ethernet, else the one with the fastest backend.
const ServerModel* default_server(const Catalog& catalog, const GpuModel& gpu, NetworkKind network) {
  const std::string stem = gpu.id->text.substr(0, gpu.id->text.find('-'));
  const bool infiniband = network == NetworkKind::infiniband;
  const ServerModel* chosen = nullptr;
  std::tuple<int, BitRate> best;
  for (const ServerModel& server : catalog.servers()) {
    const PortGroup* ports = port_group(server, PortUse::backend);
    if (*server.kind != ServerKind::gpu || *server.gpu != gpu.id->text || !speaks(catalog, ports, network)) continue;
    const bool first = server.id->text == (infiniband ? "dgx-" : "hgx-") + stem;
    const bool second = server.id->text == (infiniband ? "hgx-" : "dgx-") + stem;
    const std::tuple rank(first ? 2 : (second ? 1 : 0), ports->speeds->front() * *ports->count);
    if (chosen != nullptr && rank <= best) continue;
    chosen = &server;
    best = rank;
  }
  return chosen;
}

Error no_server(const Catalog& catalog, const GpuModel& gpu, NetworkKind network) {
  const auto& servers = catalog.servers();
  const bool any = std::any_of(servers.begin(), servers.end(), [&](const ServerModel& server) {
    return *server.gpus > 0 && *server.gpu == gpu.id->text;
  });
  if (!any) return invalid(fmt::format("the catalogue has no server with {}; add one, or choose another GPU", gpu.id->text));
  return invalid(fmt::format("no server of the catalogue joins {} to {}", gpu.id->text, text_of(network)));
}

Status choose_server(const Catalog& catalog, Plan& plan) {
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
  if (!speaks(catalog, port_group(*plan.server, PortUse::backend), request.network)) {
    return invalid(fmt::format("{} has no backend port for {}", plan.server->id->text, text_of(request.network)));
  }
  return {};
}

// --- Which switches can be cabled to which servers ------------------------------------------------------------------

// A host port as its switch sees it.
struct HostEnd {
  FormFactor form;
  std::uint32_t per_cage;
  std::vector<BitRate> speeds;  // most wanted first
};

HostEnd host_end(const PortGroup& ports) {
  return {*ports.form, static_cast<std::uint32_t>(*ports.per_cage), *ports.speeds};
}

std::vector<Mode> modes_at(const SwitchModel& model, BitRate speed) {
  std::vector<Mode> modes;
  for (const CageGroup& cages : *model.cages) {
    for (const Breakout& breakout : *cages.breakouts) {
      if (breakout.speed == speed) modes.push_back({&cages, breakout, false});
    }
  }
  std::stable_sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) { return a.ports() > b.ports(); });
  if (!modes.empty()) modes.front().best = true;
  return modes;
}

class Cabling {
 public:
  explicit Cabling(const Catalog& catalog) : chooser_(catalog) {}

  // The mode in which a switch takes a host port over a run of 30 m, at the first of its speeds that the switch has.
  std::optional<Mode> mode_for(const SwitchModel& model, const HostEnd& host, NetworkKind network) {
    for (const BitRate speed : host.speeds) {
      const std::vector<Mode> modes = modes_at(model, speed);
      for (const Mode& mode : modes) {
        const CageEnd far{*mode.cages->form, static_cast<std::uint32_t>(mode.breakout.ports)};
        if (joins({host.form, host.per_cage}, far, speed, network)) return mode;
      }
      if (!modes.empty()) return std::nullopt;
    }
    return std::nullopt;
  }

  // The speed between two such switches, where the hosts' own cannot be cabled (two split ends do not meet).
  std::optional<BitRate> uplink_instead_of(const SwitchModel& model, BitRate hosts, NetworkKind network) {
    std::vector<BitRate> speeds = {hosts};
    for (const CageGroup& cages : *model.cages) {
      for (const Breakout& breakout : *cages.breakouts) speeds.push_back(breakout.speed);
    }
    std::sort(speeds.begin() + 1, speeds.end(), std::greater<>());
    for (const BitRate speed : speeds) {
      const std::vector<Mode> modes = modes_at(model, speed);
      if (modes.empty()) continue;
      const CageEnd end{*modes.front().cages->form, static_cast<std::uint32_t>(modes.front().breakout.ports)};
      if (!joins(end, end, speed, network)) continue;
      return speed == hosts ? std::nullopt : std::optional(speed);
    }
    return std::nullopt;
  }

  // Whether every host can be cabled without the file asking for a certain breakout.
  bool takes_all(const SwitchModel& model, const std::vector<HostEnd>& hosts, NetworkKind network) {
    return std::all_of(hosts.begin(), hosts.end(), [&](const HostEnd& host) {
      const auto mode = mode_for(model, host, network);
      return mode && mode->best;
    });
  }

 private:
  // Over a run across a few racks.
  bool joins(const CageEnd& a, const CageEnd& b, BitRate speed, NetworkKind network) {
    constexpr std::uint32_t kRun = 30'000;
    const std::vector<MediumKind> kinds = {MediumKind::dac, MediumKind::aoc, MediumKind::fibre};
    std::string why;
    return chooser_.choose(a, b, speed, network, kRun, kRun, kinds, media_, why).has_value();
  }

  MediaChooser chooser_;
  std::vector<Medium> media_;
};

// The switch that can carry the hosts: at the full speed of the first where that matters, then a usual one, then the
// one with most ports.
const SwitchModel* choose_leaf(const Catalog& catalog, Cabling& cabling, const std::vector<HostEnd>& hosts,
                               NetworkKind network, const std::vector<std::string_view>& usual,
                               bool full_speed = true) {
  const SwitchModel* chosen = nullptr;
  std::tuple<bool, std::size_t, std::int64_t> best;
  for (const SwitchModel& model : catalog.switches()) {
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

std::vector<std::string_view> usual_leaves(NetworkKind network) {
  if (network == NetworkKind::infiniband) return {"qm9700", "q3400", "qm8700"};
  return {"sn5600", "sn5400", "sn4700"};
}

// How the chosen leaf meets hosts and spines; false when it cannot meet the hosts.
bool choose_backend_mode(Cabling& cabling, const HostEnd& host, Plan& plan) {
  const auto mode = cabling.mode_for(*plan.backend_leaf, host, plan.request.network);
  if (!mode) return false;
  if (!mode->best) plan.backend_breakout = mode->breakout;
  plan.backend_uplink = cabling.uplink_instead_of(*plan.backend_leaf, mode->breakout.speed, plan.request.network);
  return true;
}

Status choose_backend(const Catalog& catalog, Cabling& cabling, Plan& plan) {
  const DesignRequest& request = plan.request;
  const PortGroup& ports = *port_group(*plan.server, PortUse::backend);
  HostEnd host = host_end(ports);
  if (request.planes > 1) {
    const auto split = std::find_if(ports.breakouts->begin(), ports.breakouts->end(),
                                    [&](const Breakout& mode) { return mode.ports == request.planes; });
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
      return invalid(fmt::format("no {} switch of the catalogue can be cabled to {}; name one with --leaf",
                                 text_of(request.network), plan.server->id->text));
    }
    choose_backend_mode(cabling, host, plan);
    return {};
  }
  plan.backend_leaf = catalog.switch_model(request.leaf);
  if (plan.backend_leaf == nullptr) return unknown_id("switch", request.leaf, catalog.switches());
  if (*plan.backend_leaf->network != request.network) {
    return invalid(fmt::format("{} is an {} switch, and the backend is {}", request.leaf,
                               text_of(*plan.backend_leaf->network), text_of(request.network)));
  }
  if (!choose_backend_mode(cabling, host, plan)) {
    return invalid(fmt::format("no cable joins {} to {}", plan.server->id->text, request.leaf));
  }
  return {};
}

Status choose_other_switches(const Catalog& catalog, Cabling& cabling, Plan& plan) {
  for (const std::string_view id : {kStorageServer, kLoginServer, kControlServer}) {
    if (catalog.server(id) == nullptr) return invalid(fmt::format("the catalogue has no {}", id));
  }
  plan.storage_server = catalog.server(kStorageServer);
  if (plan.storage_server->read->per_second.count() <= 0 || plan.storage_server->write->per_second.count() <= 0) {
    return invalid(fmt::format("{} has no throughput to size storage with", kStorageServer));
  }
  std::vector<HostEnd> storage;
  std::vector<HostEnd> frontend;
  std::vector<const PortGroup*> on_storage;
  const std::array<const ServerModel*, 4> members = {plan.server, catalog.server(kLoginServer),
                                                     catalog.server(kControlServer), plan.storage_server};
  for (const ServerModel* member : members) {
    if (const PortGroup* ports = port_group(*member, PortUse::storage)) {
      storage.push_back(host_end(*ports));
      on_storage.push_back(ports);
    }
    if (const PortGroup* ports = port_group(*member, PortUse::frontend)) frontend.push_back(host_end(*ports));
  }
  // Storage follows the backend's network where every card on it can.
  const bool infiniband = plan.request.network == NetworkKind::infiniband &&
                          std::all_of(on_storage.begin(), on_storage.end(), [&](const PortGroup* ports) {
                            return speaks(catalog, ports, NetworkKind::infiniband);
                          });
  plan.storage_network = infiniband ? NetworkKind::infiniband : NetworkKind::ethernet;
  plan.storage_leaf = choose_leaf(catalog, cabling, storage, plan.storage_network, usual_leaves(plan.storage_network));
  plan.frontend_leaf = choose_leaf(catalog, cabling, frontend, NetworkKind::ethernet, {"sn4600c", "sn5600"}, false);
  if (plan.storage_leaf == nullptr || plan.frontend_leaf == nullptr) {
    return invalid(fmt::format("no {} leaf of the catalogue can be cabled to {} and the servers beside it",
                               plan.storage_leaf == nullptr ? "storage" : "frontend", plan.server->id->text));
  }
  // The lifeline must not share a vendor's failure with what it rescues.
  for (const std::string_view id : {"arista-7010tx-48", "nexus-9348gc-fx3", "sn2201", "plain-1g-48"}) {
    const SwitchModel* model = catalog.switch_model(id);
    if (model == nullptr) continue;
    if (plan.oob_leaf == nullptr) plan.oob_leaf = model;
    const auto other = [&](const SwitchModel* leaf) { return *leaf->vendor != *model->vendor; };
    if (!other(plan.backend_leaf) || !other(plan.storage_leaf) || !other(plan.frontend_leaf)) continue;
    plan.oob_leaf = model;
    break;
  }
  if (plan.oob_leaf == nullptr) return invalid("the catalogue has no out-of-band switch");
  return {};
}

// Subnet managers of InfiniBand fabrics, where one can be cabled to the leaves.
void choose_managers(const Catalog& catalog, Cabling& cabling, Plan& plan) {
  const ServerModel* appliance = catalog.server(kManager);
  const PortGroup* ports = appliance == nullptr ? nullptr : port_group(*appliance, PortUse::backend);
  if (ports == nullptr) return;
  const auto mode = [&](const SwitchModel& leaf) {
    return cabling.mode_for(leaf, host_end(*ports), NetworkKind::infiniband);
  };
  if (plan.request.network == NetworkKind::infiniband) plan.backend_manager = mode(*plan.backend_leaf);
  if (plan.storage_network == NetworkKind::infiniband) plan.storage_manager = mode(*plan.storage_leaf);
}

// --- How many of each -----------------------------------------------------------------------------------------------

// Rounded up to two digits: a planning figure, not a measurement.
Bytes round_up(Bytes value) {
  std::int64_t unit = 1;
  while (value.count() / unit >= 100) unit *= 10;
  return Bytes(divide_up(value.count(), unit) * unit);
}

void size_storage(Plan& plan) {
  constexpr std::int64_t kCheckpointSeconds = 90;  // workload.checkpoint_time
  const auto needs = storage_needs(plan.gpus(), plan.servers, plan.request.data);
  Bytes checkpoint_rate;
  for (const ThroughputNeed& need : needs) {
    if (need.source.find("table 6") != std::string::npos) plan.target = need;
    if (need.rule.find("checkpoint") != std::string::npos) checkpoint_rate = need.write;
  }
  plan.checkpoint = round_up(checkpoint_rate * kCheckpointSeconds);
  plan.target.write = std::max(plan.target.write, plan.checkpoint / kCheckpointSeconds);
  const ServerModel& server = *plan.storage_server;
  // At least two of each: a system on one box goes down with it.
  const auto enough = [](Bytes wanted, Bytes each) {
    return std::max<std::int64_t>(2, divide_up(wanted.count(), each.count()));
  };
  plan.data_servers = enough(plan.target.read, server.read->per_second);
  plan.checkpoint_servers = enough(plan.target.write, server.write->per_second);
}

void size_floor(const Catalog& catalog, Plan& plan) {
  const PduModel* pdu = catalog.pdu(kPdu);
  const RackModel* rack = catalog.rack(SiteSpec{}.rack.value);
  const Power rating = pdu == nullptr ? watts(17'000) : std::max(*pdu->rating, watts(1));
  const Power each = std::max(*plan.server->power, watts(1));
  const std::int64_t height = (rack == nullptr ? 48 : *rack->height) / *plan.server->height;
  std::int64_t per_rack = std::clamp<std::int64_t>(rating / each, 1, std::max<std::int64_t>(1, height));
  const bool rack_scale = plan.server->nvlink_domain.has_value() && *plan.server->nvlink_domain > *plan.server->gpus;
  if (rack_scale) {
    // All of an NVLink domain stands in one rack, fed by enough strips that half of them carry it.
    per_rack = *plan.server->nvlink_domain / *plan.server->gpus;
    plan.per_rack = per_rack;
    plan.pdus_per_rack = std::min<std::int64_t>(8, 2 * divide_up((each * per_rack).count(), rating.count()));
  }
  plan.racks = divide_up(plan.training, per_rack) + divide_up(plan.inference, per_rack);
  // Copper and short optics reach across four rows; beyond that leaves go to the ends of rows, and rows grow so that
  // the floor stays about square (racks 0.6 m wide, rows 3 m apart).
  plan.row_switches = plan.racks > 4 * kDefaultRowLength;
  if (plan.row_switches) {
    const auto square = static_cast<std::int64_t>(std::sqrt(5.0 * static_cast<double>(plan.racks)));
    plan.row_length = std::clamp<std::int64_t>(square / 4 * 4, kDefaultRowLength, 64);
  }
}

void size_pools(Plan& plan) {
  const std::int64_t percent = plan.request.inference_percent;
  plan.inference = divide_up(plan.servers * percent, 100);
  if (percent < 100 && plan.servers > 1) plan.inference = std::min(plan.inference, plan.servers - 1);
  plan.training = plan.servers - plan.inference;
  plan.heads = plan.request.profile == Profile::split ? std::max<std::int64_t>(2, divide_up(plan.servers, 16)) : 0;
  if (plan.inference > 0 && plan.gpu->mig.has_value()) {
    for (const MigProfile& profile : *plan.gpu->mig) {
      std::int64_t count = 0;
      while (place_mig(*plan.gpu, {{*profile.name, count + 1}}).fits) ++count;
      if (count <= plan.mig_count) continue;
      plan.mig_count = count;
      plan.mig_profile = *profile.name;
    }
  }
}

// Every leaf of the frontend reaches every spine, so the spine's radix bounds it: 64 ports of 100G serve about 1,500
// servers at 3:1, 512 of them about 12,000; beyond that, larger leaves with 400G uplinks.
void size_frontend(const Catalog& catalog, Plan& plan) {
  const std::int64_t hosts = plan.frontend_hosts();
  plan.frontend_spine = plan.frontend_leaf;
  const SwitchModel* large = catalog.switch_model("sn5600");
  if (large == nullptr) return;
  if (hosts > 1'400) plan.frontend_spine = large;
  if (hosts > kManyFrontendHosts) plan.frontend_leaf = large;
}

// Where leaves stand in rows, their uplinks are longer than 25G optics reach over split fibre.
void size_oob(const Catalog& catalog, Plan& plan) {
  const SwitchModel* leaf = catalog.switch_model("nexus-9348gc-fx3");
  const SwitchModel* spine = catalog.switch_model("nexus-9364c-gx");
  if (!plan.row_switches || leaf == nullptr || spine == nullptr || *plan.backend_leaf->vendor == *leaf->vendor) return;
  plan.oob_leaf = leaf;
  plan.oob_spine = spine;
}

Plan size(const Catalog& catalog, Plan plan, std::int64_t servers) {
  plan.servers = servers;
  size_pools(plan);
  size_storage(plan);
  size_floor(catalog, plan);
  size_frontend(catalog, plan);
  size_oob(catalog, plan);
  return plan;
}

// --- The file -------------------------------------------------------------------------------------------------------

class FileText {
 public:
  template <class... Args>
  void line(int depth, fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<std::size_t>(depth) * 2, ' ');
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string rate_text(Bytes per_second) { return about(per_second) + "/s"; }

void write_head(const Plan& plan, FileText& out) {
  out.line(0, "# {}: {} {} GPUs in {} servers, {}. Written by `weft design`; yours to edit.", plan.request.name,
           plan.gpus(), *plan.gpu->name, plan.servers,
           plan.request.network == NetworkKind::infiniband ? "InfiniBand" : "RoCE v2");
  out.line(0, "# What is not stated has a documented default: `weft show --effective` writes all of them out.");
  out.line(0, "weft: 1");
  out.line(0, "name: {}", yaml_quote(plan.request.name));
  if (plan.request.profile == Profile::split) {
    out.line(0, "profile: split  # GPU servers on the backend only; head nodes on frontend and storage");
  }
  out.blank();
  out.line(0, "# Two power feeds; the strips of a rack carry it when one feed is lost.");
  out.line(0, "site:");
  out.line(1, "pdu: {}", kPdu);
  if (plan.service_racks > 0) {
    out.line(1, "service_racks: {}  # for switches and small pools: power, and the control plane apart",
             plan.service_racks);
  }
  if (plan.row_switches) {
    out.line(1, "row_length: {}", plan.row_length);
    out.line(1, "switches: row  # leaves at the ends of rows: the floor is too large for central ones");
  }
}

// Pools of GPU servers; `role` is training or inference.
void write_gpu_pool(const Plan& plan, std::string_view name, std::string_view role, std::int64_t count, FileText& out) {
  out.line(1, "- name: {}", name);
  out.line(2, "role: {}", role);
  out.line(2, "server: {}", plan.server->id->text);
  out.line(2, "count: {}", count);
  if (plan.per_rack > 0) {
    out.line(2, "per_rack: {}  # one NVLink domain", plan.per_rack);
    out.line(2, "pdus_per_rack: {}", plan.pdus_per_rack);
  }
  out.line(2, "labels: {{node-role.kubernetes.io/gpu-{}: \"\", accelerator: {}}}", role, plan.gpu->id->text);
  out.line(2, "taints: [\"nvidia.com/gpu={}:NoSchedule\"]", role);
}

void write_storage_pools(const Plan& plan, FileText& out) {
  const std::string& server = plan.storage_server->id->text;
  out.line(1, "# Data: {} read wanted, {} delivered.", rate_text(plan.target.read),
           rate_text(plan.storage_server->read->per_second * plan.data_servers));
  out.line(1, "- {{name: data, role: storage, server: {}, count: {}}}", server, plan.data_servers);
  out.line(1, "# Checkpoints, on arrays of their own: {} write wanted, {} delivered.", rate_text(plan.target.write),
           rate_text(plan.storage_server->write->per_second * plan.checkpoint_servers));
  out.line(1, "- {{name: ckpt, role: storage, server: {}, count: {}}}", server, plan.checkpoint_servers);
}

void write_pools(const Plan& plan, FileText& out) {
  out.blank();
  out.line(0, "# Pools stand on the floor in this order, from the switches outwards.");
  out.line(0, "pools:");
  if (plan.training > 0) write_gpu_pool(plan, "train", "training", plan.training, out);
  write_storage_pools(plan, out);
  if (plan.inference > 0) {
    out.line(1, "# Apart from training, so that neither disturbs the other.");
    write_gpu_pool(plan, "infer", "inference", plan.inference, out);
    if (plan.mig_count > 0) {
      out.line(2, "mig: {{{}: {}}}  # isolated replicas on each GPU", plan.mig_profile, plan.mig_count);
    } else {
      out.line(2, "time_slices: 4  # {} has no MIG: shared in time, without memory isolation", plan.gpu->id->text);
    }
  }
  if (plan.heads > 0) {
    out.line(1, "# Head nodes: they mount storage and stage data for the GPU servers.");
    out.line(1, "- {{name: head, role: cpu, server: cpu-2u, count: {}}}", plan.heads);
  }
  out.line(1, "# Control plane: three servers in three racks, no two in one fault domain.");
  out.line(1, "- {{name: infra, role: infrastructure, server: {}, count: 3,", kControlServer);
  out.line(1, "   taints: [\"node-role.kubernetes.io/infra:NoSchedule\"]}}");
  out.line(1, "- {{name: login, role: login, server: {}, count: 2}}", kLoginServer);
  out.line(1, "# The only way to the BMCs.");
  out.line(1, "- {{name: jump, role: jump, server: jump-1u, count: 2}}");
}

// Eight /13 for the rails and as large blocks for the rest, where the default /16 would be too small.
bool needs_large_subnets(const Plan& plan) { return plan.servers > 2'000; }

void write_managers(const std::optional<Mode>& mode, std::string_view name, FileText& out) {
  if (!mode) return;
  const std::string breakout = mode->best ? "" : fmt::format(", breakout: {}", to_text(mode->breakout));
  out.line(2, "managers: [{{name: {}, server: {}, count: 2, ports: 1{}}}]  # subnet manager and its standby", name,
           kManager, breakout);
}

void write_backend(const Plan& plan, FileText& out) {
  const PortGroup& ports = *port_group(*plan.server, PortUse::backend);
  const bool infiniband = plan.request.network == NetworkKind::infiniband;
  out.line(1, "# GPU to GPU: {} rails, one NIC each, {}.", *ports.count,
           infiniband ? "credits keep it lossless" : "never bonded, lossless by PFC and ECN on priority 3");
  out.line(1, "backend:");
  out.line(2, "network: {}", text_of(plan.request.network));
  out.line(2, "leaf: {}", plan.backend_leaf->id->text);
  if (plan.backend_breakout) out.line(2, "breakout: {}", to_text(*plan.backend_breakout));
  if (plan.backend_uplink) out.line(2, "uplink_speed: {}", to_text(*plan.backend_uplink));
  if (plan.request.planes > 1) out.line(2, "planes: {}", plan.request.planes);
  out.line(2, "oversubscription: {}", yaml_quote(to_text(plan.request.oversubscription)));
  write_managers(plan.backend_manager, "ufm", out);
  if (needs_large_subnets(plan)) {
    out.line(2, "subnets: [10.64.0.0/13, 10.72.0.0/13, 10.80.0.0/13, 10.88.0.0/13, 10.96.0.0/13, 10.104.0.0/13,");
    out.line(2, "          10.112.0.0/13, 10.120.0.0/13]");
  }
}

void write_fabrics(const Plan& plan, FileText& out) {
  out.blank();
  out.line(0, "# Four networks that share no switch. Rails are 10.60.0.0/16 up on the backend and 10.70.0.0/16 up on");
  out.line(0, "# storage unless stated.");
  out.line(0, "fabrics:");
  write_backend(plan, out);
  out.line(1, "# Datasets and checkpoints: two rails, multipath, a lossless class of its own.");
  out.line(1, "storage:");
  out.line(2, "network: {}", text_of(plan.storage_network));
  out.line(2, "leaf: {}", plan.storage_leaf->id->text);
  write_managers(plan.storage_manager, "ufm-storage", out);
  if (needs_large_subnets(plan)) out.line(2, "subnets: [10.32.0.0/13, 10.40.0.0/13]");
  out.line(1, "# Control plane and users; the only fabric with a default route.");
  out.line(1, "frontend:");
  out.line(2, "leaf: {}", plan.frontend_leaf->id->text);
  if (plan.frontend_spine != plan.frontend_leaf) out.line(2, "spine: {}", plan.frontend_spine->id->text);
  if (plan.frontend_hosts() > kManyFrontendHosts) {
    out.line(2, "speed: 100G");
    out.line(2, "uplink_speed: 400G");
  }
  if (needs_large_subnets(plan)) {
    out.line(2, "subnets: [10.16.0.0/12]");
  } else {
    // A /24 only where each pool can grow in it: pools are spread over it.
    out.line(2, "subnets: [{}]", plan.frontend_hosts() <= 20 ? "10.20.50.0/24" : "10.20.0.0/16");
  }
  out.line(1, "# BMCs and consoles, of another vendor than the three above.");
  out.line(1, "oob:");
  out.line(2, "leaf: {}", plan.oob_leaf->id->text);
  if (plan.oob_spine != nullptr) out.line(2, "spine: {}", plan.oob_spine->id->text);
  out.line(2, "syslog: jump001");
  out.line(2, "credentials: env:WEFT_BMC_CREDENTIALS  # a reference, never a secret");
}

// Whole tens of terabytes, at least one.
Bytes volume_size(Bytes wanted) {
  constexpr std::int64_t kUnit = 10'000'000'000'000;
  return Bytes(std::max<std::int64_t>(1, wanted.count() / kUnit) * kUnit);
}

void write_storage(const Plan& plan, FileText& out) {
  const Bytes data = *plan.storage_server->capacity * plan.data_servers;
  const Bytes checkpoints = *plan.storage_server->capacity * plan.checkpoint_servers;
  out.blank();
  out.line(0, "storage:");
  out.line(1, "- name: datasets");
  out.line(2, "kind: lustre");
  out.line(2, "pool: data");
  out.line(2, "metadata_servers: 2");
  out.line(2, "volumes:");
  out.line(3, "- {{name: training-data, purpose: dataset, size: {}, read_only: true, snapshots: 4h}}",
           to_text(volume_size(data / 2)));
  out.line(1, "- name: checkpoints");
  out.line(2, "kind: lustre");
  out.line(2, "pool: ckpt");
  out.line(2, "metadata_servers: 2");
  out.line(2, "volumes:  # two copies here, one on the other system");
  out.line(3, "- {{name: checkpoints, purpose: checkpoint, size: {}, replicas: 2, replicate_to: datasets}}",
           to_text(volume_size(std::min(data, checkpoints) / 4)));
}

void write_tenants(const Plan& plan, FileText& out) {
  const std::int64_t training = plan.training * *plan.server->gpus;
  const std::int64_t inference = plan.inference * *plan.server->gpus;
  out.blank();
  out.line(0, "# Teams and what each may hold. Priorities are the three defaults: ai-inference-critical (never");
  out.line(0, "# preempted), ai-training-high, ai-batch-low.");
  out.line(0, "tenants:");
  if (training > 0) {
    const std::int64_t batch = std::max<std::int64_t>(1, training / 4);
    out.line(1, "- {{name: research, priority: ai-training-high, quota: {{gpus: {}, volume_claims: 20}}}}",
             std::max<std::int64_t>(1, training - batch));
    out.line(1, "- {{name: batch, priority: ai-batch-low, quota: {{gpus: {}, volume_claims: 10}}}}", batch);
  }
  if (inference == 0) return;
  if (plan.mig_count > 0) {
    const std::int64_t instances = inference * plan.mig_count;
    out.line(1, "- {{name: serving, priority: ai-inference-critical, quota: {{mig: {{{}: {}}}, volume_claims: 10}}}}",
             plan.mig_profile, instances);
    out.line(0, "services:");
    out.line(1, "- {{name: chat, pool: infer, tenant: serving, mig: {}, min_replicas: 2, max_replicas: {},",
             plan.mig_profile, std::min<std::int64_t>(instances, 14));
  } else {
    const std::int64_t slots = inference * 4;
    out.line(1, "- {{name: serving, priority: ai-inference-critical, quota: {{gpus: {}, volume_claims: 10}}}}", slots);
    out.line(0, "services:");
    out.line(1, "- {{name: chat, pool: infer, tenant: serving, gpus: 1, min_replicas: 2, max_replicas: {},",
             std::min<std::int64_t>(slots, 14));
  }
  out.line(1, "   priority: ai-inference-critical}}");
}

std::string write_file_text(const Plan& plan) {
  FileText out;
  write_head(plan, out);
  write_pools(plan, out);
  write_fabrics(plan, out);
  write_storage(plan, out);
  out.blank();
  out.line(0, "control_plane: {{kind: kubernetes, pool: infra, etcd_members: 3}}");
  out.blank();
  out.line(0, "workload:");
  out.line(1, "training_percent: {}", 100 - plan.request.inference_percent);
  out.line(1, "inference_percent: {}", plan.request.inference_percent);
  out.line(1, "data: {}", text_of(plan.request.data));
  out.line(1, "checkpoint: {}  # of the largest published model for so many GPUs; put yours", to_text(plan.checkpoint));
  out.line(1, "# working_set: what one node reads again and again; {} of NVMe should hold it",
           to_text(*plan.server->local_nvme));
  write_tenants(plan, out);
  return out.take();
}

// --- Proof ----------------------------------------------------------------------------------------------------------

struct Built {
  std::string yaml;
  std::shared_ptr<const Cluster> cluster;
  std::string diagnostics;
  std::string first_error;
};

// Reads the text back and compiles it, as a user would.
Built build_once(const Plan& plan, const std::shared_ptr<const Catalog>& catalog) {
  Built built;
  built.yaml = write_file_text(plan);
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("design.yaml", built.yaml);
  if (const auto root = parse_yaml(sources, file, diagnostics)) {
    if (auto spec = read_spec(*root, diagnostics)) {
      resolve(*spec, *catalog, diagnostics);
      if (!diagnostics.has_errors()) built.cluster = compile(std::move(*spec), catalog, diagnostics);
    }
  }
  if (built.cluster == nullptr || diagnostics.has_errors()) {
    built.cluster = nullptr;
    built.diagnostics = render_all(diagnostics, sources, false);
    for (const Diagnostic& diagnostic : diagnostics.sorted()) {
      if (diagnostic.severity == Severity::error && built.first_error.empty()) built.first_error = diagnostic.message;
    }
  }
  return built;
}

// Central racks that switches and small pools need: three at least, so that the control plane stands in three, and as
// many as carry their power with one feed lost. Nothing when what was built is enough.
std::optional<std::int64_t> more_service_racks(const Cluster& cluster) {
  Power drawn;
  Power limit;
  std::int64_t racks = 0;
  bool overloaded = false;
  for (const Rack& rack : cluster.racks()) {
    if (rack.pool >= 0 || rack.name.rfind("svc-", 0) != 0) continue;
    ++racks;
    drawn += rack.power;
    limit = rack.limit;
    overloaded = overloaded || rack.power > rack.limit;
  }
  if (racks >= 3 && !overloaded) return std::nullopt;
  const std::int64_t by_power = limit.count() > 0 ? divide_up(drawn.count(), limit.count()) : 0;
  return std::max({std::int64_t{3}, racks + (overloaded ? 1 : 0), by_power});
}

// Builds, then mends what only the built cluster shows: too few service racks, or leaves too full (or too far) for
// subnet managers.
Built build(Plan& plan, const std::shared_ptr<const Catalog>& catalog) {
  Built built = build_once(plan, catalog);
  for (std::optional<Mode> Plan::*manager : {&Plan::backend_manager, &Plan::storage_manager}) {
    if (built.cluster != nullptr || !(plan.*manager)) continue;
    if (plan.without_managers.empty()) plan.without_managers = built.first_error;
    (plan.*manager).reset();
    built = build_once(plan, catalog);
  }
  constexpr int kTries = 8;  // racks are filled in turn, so the fullest may stay overloaded at first
  for (int i = 0; i < kTries && built.cluster != nullptr; ++i) {
    const auto racks = more_service_racks(*built.cluster);
    if (!racks) break;
    Plan wider = plan;
    wider.service_racks = *racks;
    Built next = build_once(wider, catalog);
    if (next.cluster == nullptr) break;
    plan = std::move(wider);
    built = std::move(next);
  }
  return built;
}

Error not_buildable(const Plan& plan, const Built& built) {
  return invalid(fmt::format("{} servers of {} cannot be built this way:\n{}", plan.servers, plan.server->id->text,
                             built.diagnostics));
}

// The largest cluster that draws no more than the budget. Power grows with the count, so the interval between a size
// that fits and one that does not is halved; the next guess follows the last size's power per server, which ends the
// search in a few steps. Every step is a whole cluster, compiled.
Result<Plan> fit_power(const Plan& start, const std::shared_ptr<const Catalog>& catalog) {
  const Power budget = *start.request.power;
  std::int64_t fits = 0;
  std::int64_t too_many = std::min(budget / *start.server->power, kMostGpus / *start.server->gpus) + 1;
  std::int64_t guess = std::max<std::int64_t>(1, (too_many - 1) * 4 / 5);
  std::optional<Plan> best;
  Power least;
  while (too_many - fits > 1) {
    guess = std::clamp(guess, fits + 1, too_many - 1);
    Plan plan = size(*catalog, start, guess);
    const Built built = build(plan, catalog);
    if (built.cluster == nullptr) return not_buildable(plan, built);
    const Power power = built.cluster->total_power();
    const std::int64_t scaled = multiply_divide(guess, budget.count(), std::max<std::int64_t>(1, power.count()));
    if (power <= budget) {
      fits = guess;
      best = plan;
      guess = std::max(scaled, guess + 1);
    } else {
      too_many = guess;
      if (guess == 1) least = power;
      guess = std::min(scaled, guess - 1);
    }
    // A guess at the edge of a wide interval gains little: take the middle then.
    if (too_many - fits > 8 && (guess <= fits + 1 || guess >= too_many - 1)) guess = fits + (too_many - fits) / 2;
  }
  if (best) return *best;
  if (least.count() == 0) {
    return invalid(fmt::format("{} is less than one {} draws ({})", about(budget), start.server->id->text,
                               about(*start.server->power)));
  }
  return invalid(fmt::format("one server with the fabrics and storage it needs draws {}, more than {}", about(least),
                             about(budget)));
}

Status check_request(const DesignRequest& request) {
  const int sizes = (request.gpus ? 1 : 0) + (request.servers ? 1 : 0) + (request.power ? 1 : 0);
  if (sizes != 1) return invalid("say how large with exactly one of GPUs, servers or power");
  if (request.gpus && *request.gpus < 1) return invalid(fmt::format("{} GPUs make no cluster", *request.gpus));
  if (request.servers && *request.servers < 1)
    return invalid(fmt::format("{} servers make no cluster", *request.servers));
  if (request.power && request.power->count() < 1) return invalid("the power must be more than nothing");
  if (request.gpus && *request.gpus > kMostGpus) {
    return invalid(fmt::format("{} GPUs: weft designs up to {}", *request.gpus, kMostGpus));
  }
  if (request.inference_percent < 0 || request.inference_percent > 100) {
    return invalid(fmt::format("{} % inference: between 0 and 100", request.inference_percent));
  }
  if (request.planes < 1 || request.planes > 4)
    return invalid(fmt::format("{} planes: between 1 and 4", request.planes));
  const bool named = !request.name.empty() && request.name.size() <= 63 &&
                     std::all_of(request.name.begin(), request.name.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                              c == '_' || c == '.';
                     });
  if (!named)
    return invalid(fmt::format("{} is not a name: letters, digits, '-', '_' and '.'", in_backticks(request.name)));
  return {};
}

std::vector<std::string> remarks_on(const Plan& plan, const Cluster& cluster) {
  std::vector<std::string> out;
  const DesignRequest& request = plan.request;
  out.push_back(fmt::format("{} servers of {} ({} GPUs), {} racks, {}", plan.servers, plan.server->id->text,
                            plan.gpus(), cluster.racks().size(), about(cluster.total_power())));
  if (request.gpus && plan.gpus() != *request.gpus) {
    out.push_back(fmt::format("{} GPUs do not fill servers of {}: rounded up to {}", *request.gpus, *plan.server->gpus,
                              plan.gpus()));
  }
  if (request.power) {
    out.push_back(fmt::format("one server more would draw more than {}", about(*request.power)));
  }
  const FabricPlan& backend = cluster.fabric(FabricKind::backend);
  std::string switches = fmt::format("{} leaves", backend.leaves);
  if (backend.spines > 0) switches += fmt::format(", {} spines", backend.spines);
  if (backend.cores > 0) switches += fmt::format(", {} cores", backend.cores);
  out.push_back(fmt::format("backend: {} ({}), {} at the leaves", switches, plan.backend_leaf->id->text,
                            to_text(backend.oversubscription)));
  out.push_back(fmt::format("storage for data class {}: {} read, {} write with checkpoints of {}",
                            text_of(request.data), rate_text(plan.target.read), rate_text(plan.target.write),
                            about(plan.checkpoint)));
  if (!plan.without_managers.empty()) {
    out.push_back(fmt::format("{}: run the subnet manager on a switch, or leave it a place (one server fewer)",
                              plan.without_managers));
  }
  const Ratio& ratio = request.oversubscription;
  if (ratio.numerator > 2 * ratio.denominator) {
    out.push_back(fmt::format("{} is more than the 2:1 that all-reduce bears", to_text(ratio)));
  }
  if (port_count(*plan.server, PortUse::storage) == 0) {
    out.push_back(
        fmt::format("{} has no storage ports: its GPUs do not reach the storage fabric", plan.server->id->text));
  }
  if (*plan.oob_leaf->vendor == *plan.backend_leaf->vendor) {
    out.emplace_back("the out-of-band switches share their vendor with the backend");
  }
  return out;
}

}  // namespace

Result<DesignAnswer> design_cluster(const DesignRequest& request, const std::shared_ptr<const Catalog>& catalog) {
  if (const Status status = check_request(request); !status.ok()) return status.error();
  Plan plan;
  plan.request = request;
  if (const Status status = choose_server(*catalog, plan); !status.ok()) return status.error();
  Cabling cabling(*catalog);
  if (const Status status = choose_backend(*catalog, cabling, plan); !status.ok()) return status.error();
  if (const Status status = choose_other_switches(*catalog, cabling, plan); !status.ok()) return status.error();
  choose_managers(*catalog, cabling, plan);
  if (request.power) {
    auto fitted = fit_power(plan, catalog);
    if (!fitted.ok()) return fitted.error();
    plan = std::move(*fitted);
  } else {
    const std::int64_t servers = request.servers ? *request.servers : divide_up(*request.gpus, *plan.server->gpus);
    if (servers > kMostGpus / *plan.server->gpus) {
      return invalid(
          fmt::format("{} servers of {} GPUs: weft designs up to {} GPUs", servers, *plan.server->gpus, kMostGpus));
    }
    plan = size(*catalog, std::move(plan), servers);
  }
  const Built built = build(plan, catalog);
  if (built.cluster == nullptr) return not_buildable(plan, built);
  return DesignAnswer{built.yaml, remarks_on(plan, *built.cluster)};
}

}  // namespace weft
