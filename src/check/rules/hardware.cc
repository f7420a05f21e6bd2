// HW: choice of servers, GPUs and racks.
#include <fmt/format.h>

#include "base/host_range.h"
#include "check/core/rule.h"
#include "check/core/rule_tools.h"

namespace weft::check {
namespace {

template <class Test>
void for_gpu_pools(const CheckInput& input, Test test) {
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (is_gpu_pool(pool)) test(pool);
  }
}

void check_hyper_threading(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.role.value != model::PoolRole::training || !pool.bios->hyper_threading.value) return;
    report.at(pool.bios->hyper_threading, pool.place, pool.name->text,
              fmt::format("hyper-threading is on in the training pool `{}`", pool.name->text));
  });
}

void check_sriov_enabled(const CheckInput& input, Report& report) {
  if (!runs_kubernetes(input.spec())) return;
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.bios->sriov.value) return;
    report.at(pool.bios->sriov, pool.place, pool.name->text,
              fmt::format("SR-IOV is off in `{}`: pods cannot get RDMA interfaces", pool.name->text));
  });
}

void check_numa_enabled(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.bios->numa.value) return;
    report.at(
        pool.bios->numa, pool.place, pool.name->text,
        fmt::format("NUMA is disabled in `{}`: ranks cannot be bound close to their GPU and NIC", pool.name->text));
  });
}

void check_cpu_power_settings(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.bios->performance.value) return;
    report.at(pool.bios->performance, pool.place, pool.name->text,
              fmt::format("power saving is enabled for the CPU cores of `{}`", pool.name->text));
  });
}

void check_nvlink(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    const model::ServerModel* server = server_of(input.cluster(), pool);
    if (pool.role.value != model::PoolRole::training || server == nullptr || server->gpus.value < 2) return;
    const model::GpuInterconnect link = server->interconnect.value;
    if (link != model::GpuInterconnect::pcie && link != model::GpuInterconnect::none) return;
    report.at(pool.server, pool.place, pool.name->text,
              fmt::format("GPUs of {} are connected by PCIe only", server->id->text));
  });
}

void check_rack_power_margin(const CheckInput& input, Report& report) {
  std::vector<std::string> names;
  double worst = 0;
  for (const model::Rack& rack : input.cluster().racks()) {
    if (rack.limit.count() <= 0) continue;
    const double share = static_cast<double>(rack.power.count()) / static_cast<double>(rack.limit.count());
    if (share <= 0.9) continue;
    names.push_back(rack.name);
    worst = std::max(worst, share);
  }
  if (names.empty()) return;
  const model::SiteSpec& site = input.spec().site.value;
  const std::string range = fold_hosts(names);
  report.at(site.rack_power, site.place, range,
            fmt::format("{} racks draw up to {:.0f} % of their power limit ({})", names.size(), 100 * worst, range));
}

void check_mig_on_training(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.role.value != model::PoolRole::training || pool.mig->empty()) return;
    report.at(pool.mig, pool.place, pool.name->text,
              fmt::format("GPUs of the training pool `{}` are partitioned into MIG instances", pool.name->text));
  });
}

void check_mig_for_inference(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    const model::ServerModel* server = server_of(input.cluster(), pool);
    if (pool.role.value != model::PoolRole::inference || server == nullptr || server->gpus.value == 0) return;
    if (!pool.mig->empty() || pool.time_slices.value > 1) return;
    for (const model::ServiceSpec& service : input.spec().services.value) {
      // Models that span several GPUs cannot share one.
      if (service.pool.value == pool.name->text && service.gpus.has_value() && service.gpus.value > 1) return;
    }
    const model::GpuModel* gpu = input.cluster().catalog().gpu(server->gpu.value);
    const bool has_mig = gpu != nullptr && !gpu->mig->empty();
    const SourceLocation place = has_mig && pool.mig.place.known() ? pool.mig.place : pool.time_slices.place;
    report.add(pool.name->text, place.known() ? place : pool.place,
               fmt::format("each replica in `{}` occupies a whole {}", pool.name->text, server->gpu.value));
  });
}

void check_mig_time_slicing(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.mig->empty() || pool.time_slices.value <= 1) return;
    report.at(pool.time_slices, pool.place, pool.name->text,
              fmt::format("`{}` time-slices each MIG instance among {} jobs", pool.name->text, pool.time_slices.value));
  });
}

void check_mig_plan_waste(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    const model::ServerModel* server = server_of(input.cluster(), pool);
    const model::GpuModel* gpu = server == nullptr ? nullptr : input.cluster().catalog().gpu(server->gpu.value);
    if (gpu == nullptr || pool.mig->empty()) return;
    std::int64_t compute = 0;
    for (const auto& [name, count] : pool.mig.value) {
      for (const model::MigProfile& profile : gpu->mig.value) {
        if (profile.name.value == name) compute += profile.compute.value * count.value;
      }
    }
    if (compute >= 6) return;  // of 7 slices
    report.at(pool.mig, pool.place, pool.name->text,
              fmt::format("the MIG plan of `{}` uses {} of 7 compute slices", pool.name->text, compute));
  });
}

void check_training_time_slicing(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.role.value != model::PoolRole::training || pool.time_slices.value <= 1) return;
    report.at(
        pool.time_slices, pool.place, pool.name->text,
        fmt::format("{} jobs time-slice each GPU of the training pool `{}`", pool.time_slices.value, pool.name->text));
  });
}

}  // namespace

std::vector<Rule> hardware_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "HW001",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "hyper-threading is enabled on training servers",
       .reason = "Training processes gain nothing from a second thread per core and lose time to scheduling jitter, "
                 "which delays every rank.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), BIOS settings",
       .fix = "set `bios.hyper_threading: false`",
       .example = {.file = "pod16.yaml",
                   .from = "    spares: 1\n",
                   .to = "    spares: 1\n    bios: {hyper_threading: true}\n"},
       .run = check_hyper_threading},
      {.id = "HW002",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "SR-IOV is off",
       .reason = "Without virtual functions a pod cannot have its own RDMA interface; traffic falls back to the host's "
                 "TCP stack.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), BIOS settings; Container Networking "
                 "Architecture for AI Workloads (Patel), SR-IOV",
       .fix = "set `bios.sriov: true`",
       .example = {.file = "pod16.yaml", .from = "    spares: 1\n", .to = "    spares: 1\n    bios: {sriov: false}\n"},
       .run = check_sriov_enabled},
      {.id = "HW003",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "NUMA is disabled",
       .reason = "A GPU and its NIC on different sockets cost about 200 ns per operation; the scheduler can avoid this "
                 "only if the firmware reports the NUMA topology.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), BIOS settings",
       .fix = "set `bios.numa: true`",
       .example = {.file = "pod16.yaml", .from = "    spares: 1\n", .to = "    spares: 1\n    bios: {numa: false}\n"},
       .run = check_numa_enabled},
      {.id = "HW004",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "CPU power saving is enabled",
       .reason = "P-states and C-states throttle the cores that launch kernels and drive the network, which adds "
                 "latency to every collective.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), BIOS settings: maximum performance",
       .fix = "set `bios.performance: true`",
       .example = {.file = "pod16.yaml",
                   .from = "    spares: 1\n",
                   .to = "    spares: 1\n    bios: {performance: false}\n"},
       .run = check_cpu_power_settings},
      {.id = "HW005",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "training GPUs without NVLink",
       .reason = "Tensor parallelism moves activations between GPUs of a node at every layer: 900 GB/s over NVLink, "
                 "about 60 GB/s over PCIe. Servers of both kinds look alike in a quote.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): H100 SXM compared with PCIe, often overlooked "
                 "when procurement is separate from design",
       .fix = "choose a server with NVSwitch for the training pool",
       .example = {.file = "pod16.yaml",
                   .from = "    role: inference\n    server: hgx-h100\n    count: 1\n"
                           "    taints: [\"nvidia.com/gpu=inference:NoSchedule\"]\n    time_slices: 4\n",
                   .to = "    role: training\n    server: ucs-c240-m7\n    count: 1\n"
                         "    taints: [\"nvidia.com/gpu=training:NoSchedule\"]\n"},
       .run = check_nvlink},
      {.id = "HW006",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "racks are near their power limit",
       .reason = "Synchronous training peaks on all servers of a rack at once; above 90 % of the limit a small "
                 "increase trips a breaker.",
       .source = "common practice; continuous load is planned below the rating of breakers and PDUs",
       .fix = "put fewer servers into a rack (`per_rack`) or use larger PDUs",
       .example = {.file = "pod16.yaml", .from = "  pdu: pdu-35kw\n", .to = "  pdu: pdu-35kw\n  rack_power: 21kW\n"},
       .run = check_rack_power_margin},
      {.id = "HW007",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "MIG is enabled on training GPUs",
       .reason = "MIG instances cannot use NVLink between GPUs: a multi-GPU job cannot run on them.",
       .source =
           "NVIDIA MIG user guide; Building Enterprise AI Infrastructure (Pabba, 2026): training nodes keep whole GPUs",
       .fix = "remove `mig` from the training pool",
       .example = {.file = "pod16.yaml", .from = "    spares: 1\n", .to = "    spares: 1\n    mig: {1g.10gb: 7}\n"},
       .run = check_mig_on_training},
      {.id = "HW008",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "inference uses whole GPUs",
       .reason = "One replica per GPU is the most expensive way to serve: an H100 provides seven isolated instances, "
                 "and GPUs without MIG support time-slicing.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), Most Common Mistakes: ignoring MIG for inference",
       .fix = "set `mig` (or `time_slices` for a GPU without MIG), or set `gpus` to 2 or more for models that need it",
       .example = {.file = "pod16.yaml", .from = "    time_slices: 4\n", .to = "    time_slices: 1\n"},
       .run = check_mig_for_inference},
      {.id = "HW009",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "MIG instances are also time-sliced",
       .reason = "MIG isolates jobs from each other; time-slicing inside an instance removes that isolation.",
       .source = "NVIDIA GPU sharing documentation",
       .fix = "use more, smaller instances instead of `time_slices`",
       .example = {.file = "pod16.yaml",
                   .from = "    mig: {1g.10gb: 7}\n",
                   .to = "    mig: {1g.10gb: 7}\n    time_slices: 2\n"},
       .run = check_mig_time_slicing},
      {.id = "HW010",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "a MIG plan leaves slices unused",
       .reason = "Slices outside of every instance cannot be used by any job.",
       .source = "NVIDIA MIG profiles of the H100: seven compute slices",
       .fix = "choose a mix of profiles that fills the GPU (`weft show mig`)",
       .example = {.file = "pod16.yaml", .from = "    mig: {1g.10gb: 7}\n", .to = "    mig: {1g.10gb: 5}\n"},
       .run = check_mig_plan_waste},
      {.id = "HW011",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "training GPUs are time-sliced",
       .reason =
           "Two jobs on one GPU halve each other's speed, and either can fail when the other exhausts GPU memory.",
       .source = "NVIDIA GPU sharing documentation: no memory isolation between time slices",
       .fix = "set `time_slices: 1` for training pools",
       .example = {.file = "pod16.yaml", .from = "    spares: 1\n", .to = "    spares: 1\n    time_slices: 2\n"},
       .run = check_training_time_slicing},
  };
}

}  // namespace weft::check
