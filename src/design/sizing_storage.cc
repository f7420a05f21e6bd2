// Storage throughput: what a number of GPUs needs by each published rule, and what a cluster's storage delivers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "design/sizing.h"
#include "design/storage_delivery.h"

namespace weft::design {

namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

// A published pair: number of GPUs (or nodes), and GB (or GB/s).
struct Point {
  std::int64_t at;
  std::int64_t gigabytes;
};

// Linear interpolation between the points, proportional to the first below it and to the last beyond it. Only the
// points are published; values between them are interpolated by weft.
Bytes through_points(std::span<const Point> points, std::int64_t at) {
  const auto scaled = [at](const Point& point) {
    return Bytes(multiply_divide(point.gigabytes * kGiga, at, point.at));
  };
  if (at <= points.front().at) return scaled(points.front());
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point& a = points[i - 1];
    const Point& b = points[i];
    if (at > b.at) continue;
    return gigabytes(a.gigabytes) + Bytes(multiply_divide((b.gigabytes - a.gigabytes) * kGiga, at - a.at, b.at - a.at));
  }
  return scaled(points.back());
}

// "The throughput equation" of "The Enterprise AI Architect's Reality": GB/s by GPUs, eight per node.
constexpr std::array<Point, 3> kEquationMinimum = {{{8, 80}, {64, 640}, {256, 2500}}};
constexpr std::array<Point, 3> kEquationRecommended = {{{8, 120}, {64, 1000}, {256, 4000}}};
constexpr std::string_view kEquationSource = "The Enterprise AI Architect's Reality, the throughput equation";

// NVIDIA DGX SuperPOD H100 RA-11333-001 V11, table 6: GB/s of 1 node, 1 SU (32 nodes) and 4 SU.
struct SuperPodClass {
  std::array<Point, 3> read;
  std::array<Point, 3> write;
  std::string_view meaning;
};
constexpr SuperPodClass kGood = {{{{1, 4}, {32, 15}, {128, 60}}}, {{{1, 2}, {32, 7}, {128, 30}}}, "text"};
constexpr SuperPodClass kBetter = {{{{1, 8}, {32, 40}, {128, 160}}}, {{{1, 4}, {32, 20}, {128, 80}}}, "images"};
constexpr SuperPodClass kBest = {
    {{{1, 40}, {32, 125}, {128, 500}}}, {{{1, 20}, {32, 62}, {128, 250}}}, "video or data read once"};

const SuperPodClass& superpod_class(model::DataClass data) {
  if (data == model::DataClass::good) return kGood;
  return data == model::DataClass::better ? kBetter : kBest;
}

// mlcommons/storage, configs/dlio/workload/*_h100.yaml: an accelerator must be busy at least `au_percent` of the time.
struct MlperfWorkload {
  std::string_view name;
  std::int64_t batch;
  std::int64_t record_hundredths;  // of a byte
  std::int64_t compute_us;
  std::int64_t au_percent;
};
constexpr MlperfWorkload kUnet3d = {"unet3d", 7, 14'660'062'800, 323'000, 90};
constexpr MlperfWorkload kResnet50 = {"resnet50", 400, 11'466'007, 224'000, 90};
constexpr MlperfWorkload kCosmoflow = {"cosmoflow", 1, 282'848'600, 3'500, 70};

// Bytes per second of one accelerator at the threshold.
Bytes mlperf_rate(const MlperfWorkload& load) {
  return Bytes(
      multiply_divide(load.batch * load.record_hundredths * load.au_percent, 1'000'000, 10'000 * load.compute_us));
}

// Samples per second of one accelerator at the threshold; unet3d and cosmoflow store each sample in its own file.
std::int64_t mlperf_samples(const MlperfWorkload& load, std::int64_t gpus) {
  return multiply_divide(load.batch * load.au_percent * gpus, 10'000, load.compute_us);
}

// MLPerf Storage Submission_guidelines.md, table 2: GB of one checkpoint of 8B, 70B, 405B and 1T models, by GPUs.
constexpr std::array<Point, 4> kCheckpoints = {{{8, 105}, {64, 912}, {512, 5290}, {1024, 18000}}};
constexpr std::int64_t kCheckpointSeconds = 90;  // 5 % of the time between checkpoints, at one every 30 minutes

Bytes published_checkpoint(std::int64_t gpus) {
  // No larger model is published; a larger cluster does not increase the checkpoint size.
  return through_points(kCheckpoints, std::min(gpus, kCheckpoints.back().at));
}

}  // namespace

std::vector<ThroughputNeed> storage_needs(std::int64_t gpus, std::int64_t nodes, model::DataClass data) {
  std::vector<ThroughputNeed> needs;
  const auto add = [&](Bytes read, Bytes write, std::string rule, std::string_view source) {
    needs.push_back({read, write, std::move(rule), std::string(source)});
  };
  add(through_points(kEquationMinimum, gpus), Bytes(), "throughput equation, minimum: 10 GB/s per GPU",
      kEquationSource);
  add(through_points(kEquationRecommended, gpus), Bytes(), "throughput equation, recommended: 15 to 16 GB/s per GPU",
      kEquationSource);
  constexpr std::string_view kPosix =
      "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), POSIX bandwidth";
  add(gigabytes(2 * nodes), Bytes(), "POSIX, lower: 2 GB/s per node", kPosix);
  add(gigabytes(3 * nodes), Bytes(), "POSIX, upper: 3 GB/s per node", kPosix);
  const SuperPodClass& row = superpod_class(data);
  add(through_points(row.read, nodes), through_points(row.write, nodes),
      fmt::format("DGX SuperPOD, {} ({}): linear between 1 node, 1 SU of 32 nodes and 4 SU", model::text_of(data),
                  row.meaning),
      "NVIDIA DGX SuperPOD H100 RA-11333-001 V11, table 6");
  for (const MlperfWorkload& load : {kUnet3d, kResnet50, kCosmoflow}) {
    const Bytes rate = mlperf_rate(load);
    add(rate * gpus, Bytes(),
        fmt::format("MLPerf Storage {} (H100): {} MB/s per GPU", load.name, rate.count() / 1'000'000),
        "mlcommons/storage configs/dlio/workload, batch x record / computation time at the AU threshold");
  }
  const Bytes checkpoint = published_checkpoint(gpus);
  add(Bytes(), checkpoint / kCheckpointSeconds,
      fmt::format("MLPerf Storage checkpoint of {} GPUs ({}) in {} s", std::min(gpus, kCheckpoints.back().at),
                  about(checkpoint), kCheckpointSeconds),
      "mlcommons/storage Submission_guidelines.md, table 2, linear between rows");
  return needs;
}

namespace {

std::string rate_text(Bytes per_second) { return about(per_second) + "/s"; }
Cell rate_cell(Bytes per_second) { return Cell(per_second.count(), rate_text(per_second)); }

// The GPUs that the storage serves.
struct Demand {
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  std::vector<ThroughputNeed> needs;
  ThroughputNeed target;  // the class set in the file, and its checkpoint
};

Demand demand_of(const model::Cluster& cluster) {
  Demand demand;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || *group.server->gpus == 0) continue;
    demand.gpus += *group.server->gpus * std::int64_t{group.count};
    demand.nodes += group.count;
  }
  const model::WorkloadSpec& workload = *cluster.spec().workload;
  demand.needs = storage_needs(demand.gpus, demand.nodes, *workload.data);
  for (const ThroughputNeed& need : demand.needs) {
    if (need.source.find("table 6") != std::string::npos) demand.target = need;
  }
  if (workload.checkpoint.has_value() && workload.checkpoint_time->count() > 0) {
    const Bytes rate(multiply_divide(workload.checkpoint->count(), kGiga, workload.checkpoint_time->count()));
    demand.needs.push_back({Bytes(), rate,
                            fmt::format("checkpoint of the cluster file: {} in {}", to_text(*workload.checkpoint),
                                        to_text(*workload.checkpoint_time)),
                            "workload.checkpoint / workload.checkpoint_time"});
    demand.target.write = std::max(demand.target.write, rate);
  }
  return demand;
}

Cell percent_cell(Bytes delivered, Bytes needed) {
  if (needed.count() == 0) return {};
  const double percent = 100.0 * static_cast<double>(delivered.count()) / static_cast<double>(needed.count());
  return Cell(percent, fmt::format("{:.0f} %", percent));
}

Cell needed_cell(Bytes needed) { return needed.count() == 0 ? Cell() : rate_cell(needed); }

TableSection needs_table(const Demand& demand, const StorageSupply& supply) {
  using Align = Column::Align;
  TableSection table{"needs",
                     "Required and delivered storage throughput",
                     {{"rule", "rule"},
                      {"read_bytes_per_s", "read", Align::right},
                      {"read_percent", "delivered", Align::right},
                      {"write_bytes_per_s", "write", Align::right},
                      {"write_percent", "delivered", Align::right},
                      {"met", "met"},
                      {"source", "source", Align::left, true}},
                     {}};
  for (const ThroughputNeed& need : demand.needs) {
    const bool met = supply.read.rate >= need.read && supply.write.rate >= need.write;
    table.rows.push_back({need.rule, needed_cell(need.read), percent_cell(supply.read.rate, need.read),
                          needed_cell(need.write), percent_cell(supply.write.rate, need.write),
                          Cell(met, met ? "yes" : "no"), need.source});
  }
  return table;
}

TableSection systems_table(const std::vector<StorageDelivery>& deliveries) {
  using Align = Column::Align;
  TableSection table{"systems",
                     "Storage systems",
                     {{"system", "system"},
                      {"kind", "kind"},
                      {"tier", "tier"},
                      {"servers", "servers", Align::right},
                      {"server_read_bytes_per_s", "servers read", Align::right},
                      {"server_write_bytes_per_s", "servers write", Align::right},
                      {"server_links_bytes_per_s", "server links", Align::right},
                      {"client_links_bytes_per_s", "client links", Align::right},
                      {"uplinks_bytes_per_s", "leaf uplinks", Align::right},
                      {"read_bytes_per_s", "delivers read", Align::right},
                      {"read_bound", "bound by"},
                      {"write_bytes_per_s", "delivers write", Align::right},
                      {"write_bound", "bound by"},
                      {"capacity_bytes", "capacity", Align::right}},
                     {}};
  for (const StorageDelivery& delivery : deliveries) {
    table.rows.push_back({delivery.system->name->text, model::text_of(*delivery.system->kind),
                          model::text_of(*delivery.system->tier), delivery.servers, rate_cell(delivery.server_read),
                          rate_cell(delivery.server_write), rate_cell(delivery.server_links),
                          rate_cell(delivery.client_links), delivery.uplinks ? rate_cell(*delivery.uplinks) : Cell(),
                          rate_cell(delivery.read.rate), delivery.read.by, rate_cell(delivery.write.rate),
                          delivery.write.by, Cell(delivery.capacity.count(), about(delivery.capacity))});
  }
  return table;
}

Bytes local_nvme(const model::Cluster& cluster) {
  Bytes total;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server != nullptr && *group.server->gpus > 0) total += *group.server->local_nvme * group.count;
  }
  return total;
}

TableSection tiers_table(const model::Cluster& cluster, const std::vector<StorageDelivery>& deliveries) {
  using Align = Column::Align;
  TableSection table{"tiers",
                     "By tier",
                     {{"tier", "tier"},
                      {"made_of", "made of"},
                      {"read_bytes_per_s", "read", Align::right},
                      {"write_bytes_per_s", "write", Align::right},
                      {"capacity_bytes", "capacity", Align::right}},
                     {}};
  const bool described =
      std::any_of(deliveries.begin(), deliveries.end(), [](const StorageDelivery& d) { return d.local; });
  const Bytes nvme = described ? Bytes() : local_nvme(cluster);
  for (const model::StorageTier tier : {model::StorageTier::hot, model::StorageTier::warm, model::StorageTier::cold}) {
    Bytes read;
    Bytes write;
    Bytes capacity;
    std::string made_of;
    for (const StorageDelivery& delivery : deliveries) {
      if (*delivery.system->tier != tier) continue;
      read += delivery.read.rate;
      write += delivery.write.rate;
      capacity += delivery.capacity;
      made_of += (made_of.empty() ? "" : ", ") + delivery.system->name->text;
    }
    const bool local = tier == model::StorageTier::hot && nvme.count() > 0;
    if (local) {
      capacity += nvme;
      made_of += made_of.empty() ? "node-local NVMe" : ", node-local NVMe";
    }
    if (made_of.empty()) continue;
    const bool measured = read.count() > 0 || !local;  // the catalog does not rate node-local drives
    table.rows.push_back({model::text_of(tier), made_of, measured ? rate_cell(read) : Cell(),
                          measured ? rate_cell(write) : Cell(), Cell(capacity.count(), about(capacity))});
  }
  return table;
}

// Node-local scratch should hold at least the working set (1:1).
TableSection scratch_table(const model::Cluster& cluster, std::vector<std::string>& notes) {
  using Align = Column::Align;
  TableSection table{"scratch",
                     "Node-local scratch",
                     {{"pool", "pool"},
                      {"nodes", "nodes", Align::right},
                      {"nvme_bytes", "NVMe per node", Align::right},
                      {"working_set_bytes", "working set", Align::right},
                      {"enough", "enough"}},
                     {}};
  const model::WorkloadSpec& workload = *cluster.spec().workload;
  const bool known = workload.working_set.has_value();
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.pool < 0 || *group.server->gpus == 0) continue;
    const Bytes nvme = *group.server->local_nvme;
    const bool enough = known && nvme >= *workload.working_set;
    table.rows.push_back({group.name, group.count, Cell(nvme.count(), about(nvme)),
                          known ? Cell(workload.working_set->count(), about(*workload.working_set)) : Cell(),
                          known ? Cell(enough, enough ? "yes" : "no") : Cell("unknown")});
    if (known && !enough) {
      notes.push_back(
          fmt::format("{}: scratch is {} per node smaller than the working set. Add drives, or read that part from the "
                      "parallel file system in every epoch.",
                      group.name, about(*workload.working_set - nvme)));
    }
  }
  if (!known && !table.rows.empty()) {
    notes.emplace_back("Set `workload.working_set` (data of one node) to check scratch against it.");
  }
  return table;
}

TableSection metadata_table(const Demand& demand, const std::vector<StorageDelivery>& deliveries) {
  using Align = Column::Align;
  TableSection table{"metadata",
                     "Metadata",
                     {{"what", "what"}, {"operations_per_s", "operations/s", Align::right}, {"source", "source"}},
                     {}};
  constexpr std::string_view kSource = "MLPerf Storage samples per second, one file each";
  table.rows.push_back(
      {"needed: loaders that open large files (unet3d)", mlperf_samples(kUnet3d, demand.gpus), kSource});
  table.rows.push_back(
      {"needed: loaders that open small files (cosmoflow)", mlperf_samples(kCosmoflow, demand.gpus), kSource});
  for (const StorageDelivery& delivery : deliveries) {
    if (!feeds_gpus(delivery)) continue;
    table.rows.push_back({fmt::format("{}: servers together", delivery.system->name->text),
                          delivery.metadata_iops > 0 ? Cell(delivery.metadata_iops) : Cell("unknown"),
                          "catalog, metadata_iops"});
  }
  return table;
}

void note_metadata(const Demand& demand, const std::vector<StorageDelivery>& deliveries,
                   std::vector<std::string>& notes) {
  std::int64_t has = 0;
  for (const StorageDelivery& delivery : deliveries) has += feeds_gpus(delivery) ? delivery.metadata_iops : 0;
  const std::int64_t small = mlperf_samples(kCosmoflow, demand.gpus);
  if (has == 0 || has >= small) return;
  notes.push_back(
      fmt::format("Metadata carries {} operations/s; small-file loaders on every GPU need {}. Pack samples into larger "
                  "files, stripe directories over metadata servers, or add metadata servers.",
                  has, small));
}

// How to raise one limit to the required throughput.
std::string remedy(const StorageDelivery& delivery, const StorageBound& bound, Bytes wanted, bool write) {
  const Bytes missing = wanted - bound.rate;
  if (bound.by == kByServers && delivery.server != nullptr) {
    const Bytes each = write ? delivery.server->write->per_second : delivery.server->read->per_second;
    if (each.count() <= 0) return fmt::format("{} has no rated throughput", delivery.server->id->text);
    const std::int64_t more = (missing.count() + each.count() - 1) / each.count();
    return fmt::format("add {} {} (each {} {})", more, delivery.server->id->text, write ? "writes" : "reads",
                       rate_text(each));
  }
  const double times =
      bound.rate.count() > 0 ? static_cast<double>(wanted.count()) / static_cast<double>(bound.rate.count()) : 0.0;
  if (times <= 0.0) return "cable the storage fabric first: no path";
  if (bound.by == kByServerLinks) {
    return fmt::format("give the storage servers {:.1f} times the link bandwidth, or spread it over more servers",
                       times);
  }
  if (bound.by == kByClientLinks) {
    return fmt::format("give the clients {:.1f} times the storage link bandwidth (speed or rails)", times);
  }
  if (bound.by == kByUplinks) {
    return fmt::format("give the storage leaves {:.1f} times the uplinks (lower oversubscription)", times);
  }
  return fmt::format("this value is set in the cluster file: raise it {:.1f} times or replace the system", times);
}

void note_shortfall(const std::vector<StorageDelivery>& deliveries, const StorageBound& supply, Bytes wanted,
                    bool write, std::string_view rule, std::vector<std::string>& notes) {
  if (supply.rate >= wanted) return;
  const StorageDelivery* largest = nullptr;
  for (const StorageDelivery& delivery : deliveries) {
    if (!feeds_gpus(delivery)) continue;
    const auto rate = [&](const StorageDelivery& d) { return write ? d.write.rate : d.read.rate; };
    if (largest == nullptr || rate(delivery) > rate(*largest)) largest = &delivery;
  }
  const std::string what = fmt::format("{}: {} delivered of {} ({})", write ? "Write" : "Read", rate_text(supply.rate),
                                       rate_text(wanted), rule);
  if (largest == nullptr) {
    notes.push_back(what + ". No storage system of this cluster serves the GPUs: add one under `storage:`.");
    return;
  }
  notes.push_back(fmt::format("{}. Limited by {}: {}.", what, supply.by, remedy(*largest, supply, wanted, write)));
}

void note_capacity(const std::vector<StorageDelivery>& deliveries, std::vector<std::string>& notes) {
  for (const StorageDelivery& delivery : deliveries) {
    Uint128 sum = 0;
    for (const model::VolumeSpec& volume : *delivery.system->volumes) {
      sum += Uint128{static_cast<std::uint64_t>(volume.size->count())} * static_cast<std::uint64_t>(*volume.replicas);
    }
    const Bytes used(static_cast<std::int64_t>(std::min<Uint128>(sum, INT64_MAX)));
    if (used <= delivery.capacity) continue;
    notes.push_back(fmt::format("{}: its volumes with replicas need {}; the capacity is {}.",
                                delivery.system->name->text, about(used), about(delivery.capacity)));
  }
}

// The per-GPU rule applies to the throughput that reaches a node, so the node's links may be too slow for it regardless
// of the servers.
void note_field_rule(const model::Cluster& cluster, const Demand& demand, const StorageSupply& supply,
                     std::vector<std::string>& notes) {
  const Bytes minimum = through_points(kEquationMinimum, demand.gpus);
  if (supply.read.rate >= minimum) return;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || *group.server->gpus == 0 || group.count == 0) continue;
    Bytes links;
    for (const model::PortId id : cluster.ports_of(group.first)) {
      if (cluster.port(id).fabric == model::FabricKind::storage) links += bytes_per_second(cluster.port(id));
    }
    const Bytes wanted = gigabytes(10) * *group.server->gpus;
    if (links >= wanted) continue;
    notes.push_back(fmt::format(
        "The throughput equation's 10 GB/s per GPU would be {} per node of {}; its storage links carry {}. The rule is "
        "for "
        "data read once from shared storage: for text and images, node-local NVMe and caches serve most reads.",
        rate_text(wanted), group.name, rate_text(links)));
  }
}

FactsSection storage_facts(const model::Cluster& cluster, const Demand& demand, const StorageSupply& supply) {
  const model::WorkloadSpec& workload = *cluster.spec().workload;
  FactsSection facts{"facts", "", {}};
  const bool sized = supply.read.rate >= demand.target.read && supply.write.rate >= demand.target.write;
  facts.facts.push_back({"gpus", "GPUs", demand.gpus});
  facts.facts.push_back({"nodes", "GPU servers", demand.nodes});
  facts.facts.push_back({"data", "Data class", model::text_of(*workload.data)});
  facts.facts.push_back(
      {"read_bytes_per_s", "Read delivered",
       Cell(supply.read.rate.count(), fmt::format("{}, bound by {}", rate_text(supply.read.rate), supply.read.by))});
  facts.facts.push_back(
      {"write_bytes_per_s", "Write delivered",
       Cell(supply.write.rate.count(), fmt::format("{}, bound by {}", rate_text(supply.write.rate), supply.write.by))});
  facts.facts.push_back({"target_read_bytes_per_s", "Required read for the class", rate_cell(demand.target.read)});
  facts.facts.push_back(
      {"target_write_bytes_per_s", "Required write for the class and checkpoints", rate_cell(demand.target.write)});
  facts.facts.push_back({"sized", "Sufficient for the class", Cell(sized, sized ? "yes" : "no")});
  return facts;
}

}  // namespace

Document storage_view(const model::Cluster& cluster) {
  Document document;
  document.kind = "storage-sizing";
  const Demand demand = demand_of(cluster);
  if (demand.gpus == 0) {
    document.notes.emplace_back("This cluster has no GPUs.");
    return document;
  }
  std::vector<StorageDelivery> deliveries;
  for (const model::StorageSpec& system : *cluster.spec().storage) deliveries.push_back(delivery_of(cluster, system));
  const StorageSupply supply = supply_of(deliveries);
  document.sections.emplace_back(storage_facts(cluster, demand, supply));
  document.sections.emplace_back(needs_table(demand, supply));
  if (!deliveries.empty()) document.sections.emplace_back(systems_table(deliveries));
  document.sections.emplace_back(tiers_table(cluster, deliveries));
  note_shortfall(deliveries, supply.read, demand.target.read, false, "DGX SuperPOD class", document.notes);
  note_shortfall(deliveries, supply.write, demand.target.write, true, "DGX SuperPOD class and checkpoints",
                 document.notes);
  document.sections.emplace_back(scratch_table(cluster, document.notes));
  document.sections.emplace_back(metadata_table(demand, deliveries));
  note_field_rule(cluster, demand, supply, document.notes);
  note_metadata(demand, deliveries, document.notes);
  note_capacity(deliveries, document.notes);
  if (!cluster.spec().workload->checkpoint.has_value()) {
    document.notes.emplace_back("Set `workload.checkpoint` to size checkpoint writes for your model.");
  }
  return document;
}

}  // namespace weft::design
