// The resiliency matrix of one design: thirteen failures, one function each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/failures/failure_analysis.h"

namespace weft::check {
namespace {

enum class Cover : std::uint8_t { covered, partly, missing, not_described };

std::string_view to_text(Cover cover) {
  static constexpr std::string_view kNames[] = {"covered", "partly", "missing", "not described"};
  return kNames[static_cast<std::size_t>(cover)];
}

struct Row {
  std::string layer;
  std::string failure;
  std::string mitigation;  // what this design has, with numbers
  std::string left;        // what remains after the failure
  Cover state = Cover::not_described;
  std::string evidence;  // keys of the cluster file and lines of configuration
  std::string change;
};

struct MatrixInput {
  const model::Cluster& cluster;
  const config::ConfigSet& config;
  const FailureAnalysis& analysis;
  [[nodiscard]] const model::Spec& spec() const { return cluster.spec(); }
};

// "workload.elastic (line 12)", or "(default)".
template <class T>
std::string key(std::string_view name, const model::Sourced<T>& given) {
  if (given.from_file() && given.place.known()) return fmt::format("{} (line {})", name, given.place.line);
  return fmt::format("{} (default)", name);
}

void append(std::string& text, const std::string& more) {
  if (more.empty()) return;
  if (!text.empty()) text += "; ";
  text += more;
}

Cover rate_coverage(int have, int all) {
  return have == all ? Cover::covered : have > 0 ? Cover::partly : Cover::missing;
}

std::string format_location(const MatrixInput& design, const SourceLocation& place) {
  const config::ConfigSet::File* file = design.config.file(place.file);
  return file == nullptr ? fmt::format("line {}", place.line) : fmt::format("{}:{}", file->path, place.line);
}

bool uses_kubernetes(const model::Spec& spec) { return *spec.control_plane->kind != model::ControlKind::slurm; }

Row ingress(const MatrixInput& design) {
  Row row{"frontend", "an ingress pod crashes", "", "", Cover::not_described, "", ""};
  const model::ControlPlaneSpec& control = *design.spec().control_plane;
  if (!uses_kubernetes(design.spec())) {
    row.mitigation = "no Kubernetes ingress in this design";
    return row;
  }
  const std::int64_t replicas = *control.ingress_replicas;
  row.mitigation = fmt::format("{} ingress replica{}", replicas, replicas == 1 ? "" : "s");
  row.left = fmt::format("{} of {} replicas", replicas - 1, replicas);
  row.evidence = key("control_plane.ingress_replicas", control.ingress_replicas);
  int guarded = 0;
  for (const model::ServiceSpec& service : *design.spec().services) {
    guarded += *service.min_available > 0 && *service.min_available < *service.min_replicas ? 1 : 0;
  }
  const auto services = static_cast<int>(design.spec().services->size());
  if (services > 0)
    append(row.mitigation, fmt::format("{} of {} services have a minimum of available replicas", guarded, services));
  for (const config::KubeObject& object : design.config.objects) {
    if (object.kind != "PodDisruptionBudget") continue;
    append(row.evidence,
           fmt::format("PodDisruptionBudget {} ({})", object.name, format_location(design, object.place)));
    break;
  }
  row.state = replicas < 2 ? Cover::missing : guarded < services ? Cover::partly : Cover::covered;
  if (replicas < 2) row.change = "set `control_plane.ingress_replicas` to 2 or more";
  if (replicas >= 2 && guarded < services) row.change = "give each service `min_available` below `min_replicas`";
  return row;
}

Row zone(const MatrixInput& design) {
  Row row{"frontend", "the whole site fails", "", "", Cover::not_described, "", ""};
  const auto links = design.spec().fabrics->frontend->external->links;
  row.mitigation = fmt::format("one site with {} external link{}", *links, *links == 1 ? "" : "s");
  row.left = "no capacity at this site";
  row.evidence = key("fabrics.frontend.external.links", links);
  row.change =
      "serve from a second cluster and direct clients there by anycast or DNS; a cluster file describes one site";
  return row;
}

Row controller(const MatrixInput& design) {
  Row row{"storage", "a storage controller fails", "", "", Cover::not_described, "", ""};
  int good = 0;
  const auto& systems = design.analysis.storage();
  for (const StorageAnalysis& storage : systems) {
    append(row.mitigation, fmt::format("{}: {} servers of {} controller{}", storage.system->name->text,
                                       storage.group->count, storage.controllers, storage.controllers == 1 ? "" : "s"));
    append(row.evidence, key(fmt::format("storage {} pool", storage.system->name->text), storage.system->pool));
    good += storage.controllers > 1 ? 1 : 0;
    if (storage.controllers <= 1) {
      append(row.change, fmt::format("give `{}` servers with two controllers", storage.system->name->text));
    }
  }
  if (systems.empty()) return row;
  const Failure* failure = design.analysis.find("storage controller");
  const double left = failure == nullptr ? 100.0 : failure->storage_left;
  row.left = left >= 100.0 ? "every server, by its second controller" : fmt::format("{:.0f}% of the servers", left);
  row.state = rate_coverage(good, static_cast<int>(systems.size()));
  return row;
}

Row corruption(const MatrixInput& design) {
  Row row{"storage", "training data is corrupted", "", "", Cover::not_described, "", ""};
  int volumes = 0;
  int guards = 0;
  for (const StorageAnalysis& storage : design.analysis.storage()) {
    for (const model::VolumeSpec& volume : *storage.system->volumes) {
      if (*volume.purpose != model::VolumePurpose::dataset) continue;
      ++volumes;
      const std::string name = "volume " + volume.name->text;
      const bool snapshots = volume.snapshots.has_value();
      const bool copy = volume.replicate_to.has_value();
      guards += (snapshots ? 1 : 0) + (copy ? 1 : 0);
      append(
          row.mitigation,
          fmt::format("{}: {}, {}", volume.name->text,
                      snapshots ? fmt::format("snapshots every {}", weft::to_text(*volume.snapshots)) : "no snapshots",
                      copy ? fmt::format("copied to {}", *volume.replicate_to) : "no copy on another system"));
      if (snapshots) append(row.evidence, key(name + " snapshots", volume.snapshots));
      if (copy) append(row.evidence, key(name + " replicate_to", volume.replicate_to));
      if (snapshots) append(row.left, fmt::format("a copy at most {} old", weft::to_text(*volume.snapshots)));
      if (!snapshots) append(row.change, fmt::format("take snapshots of `{}` (every 4h)", volume.name->text));
      if (!copy) append(row.change, fmt::format("copy `{}` to another system", volume.name->text));
    }
  }
  if (volumes > 0) row.state = rate_coverage(guards, 2 * volumes);
  return row;
}

Row checkpoint(const MatrixInput& design) {
  Row row{"storage", "a checkpoint is lost", "", "", Cover::not_described, "", ""};
  int volumes = 0;
  int score = 0;
  for (const StorageAnalysis& storage : design.analysis.storage()) {
    for (const model::VolumeSpec& volume : *storage.system->volumes) {
      if (*volume.purpose != model::VolumePurpose::checkpoint) continue;
      ++volumes;
      const StorageAnalysis* copy =
          volume.replicate_to.has_value() ? design.analysis.storage_named(*volume.replicate_to) : nullptr;
      const bool apart = copy != nullptr && copy->group != storage.group;
      score += apart ? 2 : *volume.replicas > 1 || copy != nullptr ? 1 : 0;
      append(row.mitigation, fmt::format("{}: {} cop{} on {}{}", volume.name->text, *volume.replicas,
                                         *volume.replicas == 1 ? "y" : "ies", storage.system->name->text,
                                         copy == nullptr ? "" : ", one more on " + *volume.replicate_to));
      append(row.evidence, key("volume " + volume.name->text + " replicate_to", volume.replicate_to));
      append(row.left, apart                  ? "the copy on " + *volume.replicate_to
                       : *volume.replicas > 1 ? "a copy on the same system"
                                              : "nothing");
      if (!apart) append(row.change, fmt::format("copy `{}` to a system on other servers", volume.name->text));
    }
  }
  if (volumes > 0) row.state = rate_coverage(score, 2 * volumes);
  return row;
}

Row backend_switch(const MatrixInput& design) {
  Row row{"backend", "one switch above the leaves fails", "", "", Cover::not_described, "", ""};
  const model::FabricPlan& plan = design.cluster.fabric(model::FabricKind::backend);
  if (!plan.present) return row;
  const model::FabricSpec& fabric = *design.spec().fabrics->backend;
  if (plan.tiers < 2) {
    row.mitigation = fmt::format("none above the leaves: {} rails are connected in the servers", plan.rails);
    row.left = "all of it";
    row.state = Cover::covered;
    return row;
  }
  const Failure* failure = design.analysis.find("spine", model::FabricKind::backend);
  const double left = failure == nullptr ? 100.0 : failure->loss.left_of(model::FabricKind::backend);
  const std::uint32_t spines = plan.spines / std::max(plan.planes, 1U);
  const bool roce = plan.network == model::NetworkKind::ethernet && *fabric.qos->lossless;
  row.mitigation = fmt::format("{} spines{}, ECMP over all, BFD {}", spines,
                               plan.planes > 1 ? fmt::format(" in each of {} planes", plan.planes) : "",
                               plan.network == model::NetworkKind::infiniband ? "not used"
                               : *fabric.bfd                                  ? "on"
                                                                              : "off");
  row.left = fmt::format("{:.1f}% of the bandwidth", left);
  row.evidence = key("fabrics.backend.spines", fabric.spines);
  append(row.evidence, key("fabrics.backend.bfd", fabric.bfd));
  const bool fast = plan.network == model::NetworkKind::infiniband || *fabric.bfd;
  row.state = spines < 2 ? Cover::missing : (roce && spines < 4) || !fast ? Cover::partly : Cover::covered;
  if (spines < 2 || (roce && spines < 4)) row.change = "set `fabrics.backend.spines` to 4 or more";
  if (!fast) append(row.change, "set `fabrics.backend.bfd: true`");
  return row;
}

Row backend_leaf(const MatrixInput& design) {
  Row row{"backend", "a leaf fails", "", "", Cover::not_described, "", ""};
  const model::FabricPlan& plan = design.cluster.fabric(model::FabricKind::backend);
  const Failure* failure = design.analysis.find("leaf", model::FabricKind::backend);
  if (!plan.present || failure == nullptr) return row;
  const model::FabricSpec& fabric = *design.spec().fabrics->backend;
  row.mitigation =
      fmt::format("{} wiring: {} rails on {} leaves", model::text_of(plan.wiring), plan.rails, plan.leaves);
  row.left =
      fmt::format("{:.1f}% of the bandwidth, {} servers disconnected, {} degraded",
                  failure->loss.left_of(model::FabricKind::backend), failure->loss.beyond, failure->loss.degraded);
  row.evidence = key("fabrics.backend.wiring", fabric.wiring);
  row.state = failure->loss.beyond == 0 ? Cover::covered : Cover::missing;
  if (failure->loss.beyond > 0)
    row.change = "spread each server's links over leaves: `wiring: rail-optimized` or `dual-tor`";
  return row;
}

Row pfc_storm(const MatrixInput& design) {
  Row row{"backend", "a PFC storm or deadlock", "", "", Cover::not_described, "", ""};
  const model::FabricPlan& plan = design.cluster.fabric(model::FabricKind::backend);
  if (!plan.present) return row;
  const model::QosSpec& qos = *design.spec().fabrics->backend->qos;
  if (plan.network == model::NetworkKind::infiniband) {
    row.mitigation = "InfiniBand: credits instead of pause frames";
    row.left = "all of it";
    row.state = Cover::covered;
    return row;
  }
  if (!*qos.lossless) {
    row.mitigation = "no lossless class, so no pauses";
    row.state = Cover::covered;
    row.evidence = key("fabrics.backend.qos.lossless", qos.lossless);
    return row;
  }
  row.mitigation =
      fmt::format("DCQCN (ECN) {}, PFC watchdog {}", *qos.ecn ? "on" : "off", *qos.pfc_watchdog ? "on" : "off");
  row.left = *qos.pfc_watchdog ? "all but the stuck queue" : "pauses may spread through the fabric";
  row.evidence = key("fabrics.backend.qos.pfc_watchdog", qos.pfc_watchdog);
  append(row.evidence, key("fabrics.backend.qos.ecn", qos.ecn));
  for (const config::SwitchConfig& config : design.config.switches) {
    const auto watched = std::find_if(config.qos.begin(), config.qos.end(),
                                      [](const config::PortQos& port) { return port.watchdog.on.given(); });
    if (watched == config.qos.end()) continue;
    append(row.evidence, fmt::format("watchdog {} on {} ({})", *watched->watchdog.on ? "on" : "off", *config.hostname,
                                     format_location(design, watched->watchdog.on.place)));
    break;
  }
  row.state = rate_coverage((*qos.ecn ? 1 : 0) + (*qos.pfc_watchdog ? 1 : 0), 2);
  if (!*qos.pfc_watchdog) row.change = "set `fabrics.backend.qos.pfc_watchdog: true`";
  if (!*qos.ecn) append(row.change, "set `fabrics.backend.qos.ecn: true`");
  return row;
}

std::int64_t training_servers(const model::Spec& spec) {
  std::int64_t servers = 0;
  for (const model::PoolSpec& pool : *spec.pools) servers += *pool.role == model::PoolRole::training ? *pool.count : 0;
  return servers;
}

Row gpu(const MatrixInput& design) {
  Row row{"compute", "one GPU fails", "", "", Cover::not_described, "", ""};
  const model::WorkloadSpec& workload = *design.spec().workload;
  const std::int64_t servers = training_servers(design.spec());
  if (servers == 0) return row;
  const bool restarts = *workload.max_restarts > 0;
  row.mitigation =
      fmt::format("jobs are {}elastic, restart {} times, checkpoint every {}", *workload.elastic ? "" : "not ",
                  *workload.max_restarts, weft::to_text(*workload.checkpoint_interval));
  const auto seconds = [](Duration d) { return static_cast<double>(d.count()) * 1e-9; };
  const TrainingTime time =
      training_time(servers, seconds(*workload.checkpoint_interval), seconds(*workload.checkpoint_time));
  row.left = fmt::format("at most {} of work lost; {:.1f}% of the time is training",
                         weft::to_text(*workload.checkpoint_interval), 100.0 * time.ratio);
  row.evidence = key("workload.elastic", workload.elastic);
  append(row.evidence, key("workload.max_restarts", workload.max_restarts));
  append(row.evidence, key("workload.checkpoint_interval", workload.checkpoint_interval));
  row.state = rate_coverage((*workload.elastic ? 1 : 0) + (restarts ? 1 : 0), 2);
  if (!*workload.elastic) row.change = "set `workload.elastic: true`";
  if (!restarts) append(row.change, "set `workload.max_restarts` to 3");
  return row;
}

Row node(const MatrixInput& design) {
  Row row{"compute", "a whole server fails", "", "", Cover::not_described, "", ""};
  std::int64_t pools = 0;
  int with_spares = 0;
  for (const model::PoolSpec& pool : *design.spec().pools) {
    if (*pool.role != model::PoolRole::training) continue;
    ++pools;
    with_spares += *pool.spares > 0 ? 1 : 0;
    append(row.mitigation, fmt::format("{}: {} spare of {}", pool.name->text, *pool.spares, *pool.count));
    append(row.evidence, key("pool " + pool.name->text + " spares", pool.spares));
    if (*pool.spares == 0) append(row.change, fmt::format("keep a spare server in `{}`", pool.name->text));
  }
  if (pools == 0) return row;
  const model::OperationsSpec& operations = *design.spec().operations;
  const bool automatic = *operations.remediation == model::Handling::automatic;
  append(row.mitigation, automatic ? "drained and replaced automatically" : "drained manually");
  append(row.evidence, key("operations.remediation", operations.remediation));
  if (!automatic) append(row.change, "set `operations.remediation: automatic`");
  row.left = with_spares == pools ? "the job's full size, on a spare" : "the job with one server less, or requeued";
  row.state = rate_coverage(with_spares + (automatic ? 1 : 0), static_cast<int>(pools) + 1);
  return row;
}

Row power_unit(const MatrixInput& design) {
  Row row{"compute", "a power supply, PDU or feed fails", "", "", Cover::covered, "", ""};
  const model::SiteSpec& site = *design.spec().site;
  const PowerAnalysis& power = design.analysis.power();
  row.mitigation =
      fmt::format("{} feed{}, {} PDUs per rack", *site.feeds, *site.feeds == 1 ? "" : "s", *site.pdus_per_rack);
  const Failure* feed = design.analysis.find("power feed");
  const std::int64_t lost = feed == nullptr ? 0 : feed->loss.servers;
  row.left = lost == 0 ? "every server" : fmt::format("all but {} servers (feed {})", lost, feed->worst.substr(5));
  row.evidence = key("site.feeds", site.feeds);
  append(row.evidence, key("site.pdus_per_rack", site.pdus_per_rack));
  if (!power.one_supply_short.empty())
    append(row.change, fmt::format("{} devices need all of their power supplies", power.one_supply_short.size()));
  if (!power.weak.empty())
    append(row.change, "spread power supplies over more feeds (`site.feeds`), or use servers that need fewer");
  if (!power.one_feed.empty())
    append(row.change, fmt::format("{} racks have PDUs on one feed only", power.one_feed.size()));
  if (!power.overloaded.empty())
    append(row.change, fmt::format("{} racks overload their PDUs after the loss of a feed", power.overloaded.size()));
  if (*site.feeds < 2) {
    row.state = Cover::missing;
    row.change = "add a second power feed";
  } else if (!row.change.empty()) {
    row.state = lost > 0 && power.one_supply_short.empty() ? Cover::partly : Cover::missing;
    if (lost == 0) row.state = Cover::partly;
  }
  return row;
}

Row etcd(const MatrixInput& design) {
  Row row{"control plane", "an etcd member fails", "", "", Cover::not_described, "", ""};
  const ControlAnalysis& control = design.analysis.control();
  if (control.members.empty()) return row;
  const model::ControlPlaneSpec& spec = *design.spec().control_plane;
  row.mitigation = fmt::format("{} members, quorum {}, at most {} in one rack and {} down with one feed",
                               control.members.size(), control.quorum, control.most_in_rack, control.most_on_feed);
  const std::size_t worst = std::max({std::size_t{1}, control.most_in_rack, control.most_on_feed});
  row.left = fmt::format("{} of {} members after the loss of the worst rack or feed", control.members.size() - worst,
                         control.members.size());
  row.evidence = key("control_plane.etcd_members", spec.etcd_members);
  append(row.evidence, key("control_plane.pool", spec.pool));
  row.state = !control.survives(1) ? Cover::missing : control.survives(worst) ? Cover::covered : Cover::partly;
  if (!control.survives(1)) row.change = "run three etcd members";
  if (control.survives(1) && !control.survives(worst))
    row.change = "put members into separate racks and on separate feeds";
  return row;
}

Row overload(const MatrixInput& design) {
  Row row{"control plane", "the API server is overloaded", "", "", Cover::not_described, "", ""};
  const model::ControlPlaneSpec& spec = *design.spec().control_plane;
  const ControlAnalysis& control = design.analysis.control();
  if (!uses_kubernetes(design.spec()) || control.members.empty()) return row;
  row.mitigation = fmt::format("requests are {}limited; control plane on {}", *spec.api_limits ? "" : "not ",
                               control.on_gpu_servers ? "GPU servers" : "dedicated servers");
  row.left = *spec.api_limits ? "the requests of all other clients" : "no guarantee";
  row.evidence = key("control_plane.api_limits", spec.api_limits);
  append(row.evidence, key("control_plane.pool", spec.pool));
  row.state = rate_coverage((*spec.api_limits ? 1 : 0) + (control.on_gpu_servers ? 0 : 1), 2);
  if (!*spec.api_limits) row.change = "set `control_plane.api_limits: true`";
  if (control.on_gpu_servers) append(row.change, "move the control plane to a separate pool");
  return row;
}

}  // namespace

Document resiliency_matrix(const model::Cluster& cluster, const config::ConfigSet& config,
                           const FailureAnalysis& analysis) {
  const MatrixInput design{cluster, config, analysis};
  Document document;
  document.kind = "resiliency-matrix";
  TableSection table{"resiliency", "Resiliency matrix", {}, {}};
  const auto column = [](const char* name, const char* title) {
    return Column{name, title, Column::Align::left, false};
  };
  table.columns = {column("layer", "Layer"),
                   column("failure", "Failure"),
                   column("mitigation", "In this design"),
                   column("left", "Remaining"),
                   column("state", "State"),
                   column("evidence", "Evidence"),
                   column("change", "Recommended change")};
  std::size_t covered = 0;
  std::size_t described = 0;
  for (const auto make : {ingress, zone, controller, corruption, checkpoint, backend_switch, backend_leaf, pfc_storm,
                          gpu, node, power_unit, etcd, overload}) {
    Row row = make(design);
    covered += row.state == Cover::covered ? 1U : 0U;
    described += row.state == Cover::not_described ? 0U : 1U;
    const auto cell = [](std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); };
    table.rows.push_back({row.layer, row.failure, cell(row.mitigation), cell(row.left), to_text(row.state),
                          cell(row.evidence), cell(row.change)});
  }
  document.notes.push_back(fmt::format("{} of {} failures that apply to this design are covered.", covered, described));
  document.sections.emplace_back(std::move(table));
  return document;
}

}  // namespace weft::check
