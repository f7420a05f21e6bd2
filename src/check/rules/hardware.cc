// HW: servers, GPUs and racks as chosen.
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

void hyper_threading(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.role.value != model::PoolRole::training || !pool.bios->hyper_threading.value) return;
    report.at(pool.bios->hyper_threading, pool.place, pool.name->text,
              fmt::format("hyper-threading is on in the training pool `{}`", pool.name->text));
  });
}

void no_sriov(const CheckInput& input, Report& report) {
  if (!runs_kubernetes(input.spec())) return;
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.bios->sriov.value) return;
    report.at(pool.bios->sriov, pool.place, pool.name->text,
              fmt::format("SR-IOV is off in `{}`: pods cannot be given RDMA interfaces", pool.name->text));
  });
}

void no_numa(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.bios->numa.value) return;
    report.at(pool.bios->numa, pool.place, pool.name->text,
              fmt::format("NUMA is hidden in `{}`: ranks cannot be bound near their GPU and NIC", pool.name->text));
  });
}

void slow_cores(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.bios->performance.value) return;
    report.at(pool.bios->performance, pool.place, pool.name->text,
              fmt::format("cores of `{}` may slow down to save power", pool.name->text));
  });
}

void no_nvlink(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    const model::ServerModel* server = server_of(input.cluster(), pool);
    if (pool.role.value != model::PoolRole::training || server == nullptr || server->gpus.value < 2) return;
    const model::GpuInterconnect link = server->interconnect.value;
    if (link != model::GpuInterconnect::pcie && link != model::GpuInterconnect::none) return;
    report.at(pool.server, pool.place, pool.name->text,
              fmt::format("GPUs of {} reach each other over PCIe only", server->id->text));
  });
}

void rack_near_limit(const CheckInput& input, Report& report) {
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
            fmt::format("{} racks draw up to {:.0f} % of what they may ({})", names.size(), 100 * worst, range));
}

void mig_on_training(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.role.value != model::PoolRole::training || pool.mig->empty()) return;
    report.at(pool.mig, pool.place, pool.name->text,
              fmt::format("GPUs of the training pool `{}` are cut into MIG instances", pool.name->text));
  });
}

void whole_gpus_for_inference(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    const model::ServerModel* server = server_of(input.cluster(), pool);
    if (pool.role.value != model::PoolRole::inference || server == nullptr || server->gpus.value == 0) return;
    if (!pool.mig->empty() || pool.time_slices.value > 1) return;
    for (const model::ServiceSpec& service : input.spec().services.value) {
      // Models that fill several GPUs cannot share one.
      if (service.pool.value == pool.name->text && service.gpus.has_value() && service.gpus.value > 1) return;
    }
    const model::GpuModel* gpu = input.cluster().catalog().gpu(server->gpu.value);
    const bool has_mig = gpu != nullptr && !gpu->mig->empty();
    const SourceLocation place = has_mig && pool.mig.place.known() ? pool.mig.place : pool.time_slices.place;
    report.add(pool.name->text, place.known() ? place : pool.place,
               fmt::format("each replica in `{}` holds a whole {}", pool.name->text, server->gpu.value));
  });
}

void sliced_twice(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.mig->empty() || pool.time_slices.value <= 1) return;
    report.at(
        pool.time_slices, pool.place, pool.name->text,
        fmt::format("`{}` shares each MIG instance by time among {} jobs", pool.name->text, pool.time_slices.value));
  });
}

void mig_wastes(const CheckInput& input, Report& report) {
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

void slicing_training(const CheckInput& input, Report& report) {
  for_gpu_pools(input, [&](const model::PoolSpec& pool) {
    if (pool.role.value != model::PoolRole::training || pool.time_slices.value <= 1) return;
    report.at(pool.time_slices, pool.place, pool.name->text,
              fmt::format("{} jobs share each GPU of the training pool `{}` by time", pool.time_slices.value,
                          pool.name->text));
  });
}

}  // namespace

std::vector<Rule> hardware_rules() {  // NOLINT(readability-function-size): a table
  return {
      {"HW001",
       Severity::warning,
       RuleNeeds::design,
       "hyper-threading on training servers",
       "Training processes gain nothing from a second thread a core and lose time to scheduling jitter, which every "
       "rank then waits for.",
       "enterprise AI architecture, BIOS settings",
       "set `bios.hyper_threading: false`",
       {"pod16.yaml", "    spares: 1\n", "    spares: 1\n    bios: {hyper_threading: true}\n"},
       hyper_threading},
      {"HW002",
       Severity::error,
       RuleNeeds::design,
       "SR-IOV is off",
       "Without virtual functions a pod cannot have an RDMA interface of its own; traffic falls back to the host's "
       "TCP stack.",
       "enterprise AI architecture, BIOS settings; container networking architecture, SR-IOV",
       "set `bios.sriov: true`",
       {"pod16.yaml", "    spares: 1\n", "    spares: 1\n    bios: {sriov: false}\n"},
       no_sriov},
      {"HW003",
       Severity::warning,
       RuleNeeds::design,
       "NUMA is hidden",
       "A GPU and its NIC on different sockets cost some 200 ns on every operation; the scheduler can only avoid it "
       "when the firmware tells where things are.",
       "enterprise AI architecture, BIOS settings",
       "set `bios.numa: true`",
       {"pod16.yaml", "    spares: 1\n", "    spares: 1\n    bios: {numa: false}\n"},
       no_numa},
      {"HW004",
       Severity::warning,
       RuleNeeds::design,
       "cores may slow down",
       "P-states and C-states throttle the cores that launch kernels and drive the network, at the worst moment.",
       "enterprise AI architecture, BIOS settings: maximum performance",
       "set `bios.performance: true`",
       {"pod16.yaml", "    spares: 1\n", "    spares: 1\n    bios: {performance: false}\n"},
       slow_cores},
      {"HW005",
       Severity::warning,
       RuleNeeds::design,
       "training GPUs without NVLink",
       "Tensor parallelism moves activations between GPUs of a node at every layer: 900 GB/s over NVLink, some 60 over "
       "PCIe. Servers of both kinds look alike in a quote.",
       "enterprise AI architecture: H100 SXM against PCIe, often missed when procurement is apart from design",
       "choose a server with NVSwitch for the training pool",
       {"pod16.yaml",
        "    role: inference\n    server: hgx-h100\n    count: 1\n"
        "    taints: [\"nvidia.com/gpu=inference:NoSchedule\"]\n    time_slices: 4\n",
        "    role: training\n    server: ucs-c240-m7\n    count: 1\n"
        "    taints: [\"nvidia.com/gpu=training:NoSchedule\"]\n"},
       no_nvlink},
      {"HW006",
       Severity::warning,
       RuleNeeds::design,
       "racks near their power limit",
       "Peaks of synchronous training hit all servers of a rack at once; above nine tenths of the limit a breaker "
       "trips on the first bad day.",
       "operators' practice; continuous load is planned below the rating of breakers and PDUs",
       "put fewer servers into a rack (`per_rack`) or use larger PDUs",
       {"pod16.yaml", "  pdu: pdu-35kw\n", "  pdu: pdu-35kw\n  rack_power: 21kW\n"},
       rack_near_limit},
      {"HW007",
       Severity::warning,
       RuleNeeds::design,
       "MIG on training GPUs",
       "MIG instances cannot use NVLink between GPUs: a multi-GPU job does not run on them.",
       "NVIDIA MIG user guide; enterprise AI architecture: training nodes keep whole GPUs",
       "remove `mig` from the training pool",
       {"pod16.yaml", "    spares: 1\n", "    spares: 1\n    mig: {1g.10gb: 7}\n"},
       mig_on_training},
      {"HW008",
       Severity::warning,
       RuleNeeds::design,
       "inference on whole GPUs",
       "One replica a GPU is the most expensive way to serve: an H100 holds seven isolated instances, and where there "
       "is no MIG, jobs can share by time.",
       "common mistakes of enterprise teams: ignoring MIG for inference",
       "set `mig` (or `time_slices` where the GPU has no MIG), or `gpus` of 2 and more for models that need it",
       {"pod16.yaml", "    time_slices: 4\n", "    time_slices: 1\n"},
       whole_gpus_for_inference},
      {"HW009",
       Severity::note,
       RuleNeeds::design,
       "MIG instances are shared by time, too",
       "MIG was chosen for isolation; time-slicing inside an instance gives it up again.",
       "NVIDIA GPU sharing documentation",
       "use more, smaller instances instead of `time_slices`",
       {"pod16.yaml", "    mig: {1g.10gb: 7}\n", "    mig: {1g.10gb: 7}\n    time_slices: 2\n"},
       sliced_twice},
      {"HW010",
       Severity::note,
       RuleNeeds::design,
       "a MIG plan leaves slices unused",
       "Slices that belong to no instance are paid for and serve nobody.",
       "NVIDIA MIG profiles of the H100: seven compute slices",
       "choose a mix that fills the GPU; `weft show mig` shows it",
       {"pod16.yaml", "    mig: {1g.10gb: 7}\n", "    mig: {1g.10gb: 5}\n"},
       mig_wastes},
      {"HW011",
       Severity::warning,
       RuleNeeds::design,
       "training GPUs are shared by time",
       "Two jobs on one GPU halve each other's speed and can end each other by running out of memory.",
       "NVIDIA GPU sharing documentation: no memory isolation between time slices",
       "set `time_slices: 1` for training pools",
       {"pod16.yaml", "    spares: 1\n", "    spares: 1\n    time_slices: 2\n"},
       slicing_training},
  };
}

}  // namespace weft::check
