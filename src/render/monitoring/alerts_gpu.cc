// Alerts on GPUs: the six limits of the deployment guide, then errors that end a job or require replacing a board.
#include <fmt/format.h>

#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kSource =
    "Metrics: github.com/NVIDIA/dcgm-exporter, etc/default-counters.csv; metrics not exported by default are in\n"
    "exporters/dcgm-counters.csv. NVLINK_BANDWIDTH_TOTAL is a rate in MB/s despite its metric type (NVIDIA/DCGM #221,\n"
    "KempnerInstitute/kempnerpulse #11). XID_ERRORS keeps its last value (dcgm-exporter #500): only a change\n"
    "counts. Peak power and NVLink bandwidth per pool come from the catalog (recording.yml).";

// XIDs caused by application errors: 13 and 31 bad access, 43 stopped processing, 45 torn down, 94 contained
// (docs.nvidia.com/deploy/xid-errors).
constexpr std::string_view kProgramXids =
    "DCGM_FI_DEV_XID_ERRORS == 13 or DCGM_FI_DEV_XID_ERRORS == 31 or "
    "DCGM_FI_DEV_XID_ERRORS == 43 or DCGM_FI_DEV_XID_ERRORS == 45 or DCGM_FI_DEV_XID_ERRORS == 94";

class GpuAlerts {
 public:
  GpuAlerts(const PoolPlan& pool, const Watch& watch) : pool_(pool), training_(watch.training_pools()) {
    const std::string host = watch.cluster().name_of(pool.group->first);
    labels_ = {{"gpu", "0"}, {"instance", host}, {"job", "dcgm"}, {"pool", pool.name()}};
  }

  std::vector<Alert> all() {
    add_use();
    add_power();
    add_memory_errors();
    add_faults();
    return std::move(out_);
  }

 private:
  [[nodiscard]] TestSeries series(std::string_view metric, std::string values) const {
    return {std::string(metric) + selector(labels_), std::move(values)};
  }
  // A simple alert: one series, fires with `bad`, does not fire with `good`, both constant for two hours.
  void add(Alert alert, std::string_view metric, std::string bad, std::string good, const std::string& at,
           std::string value) {
    alert.fabric = "host";
    alert.cases = {fires({series(metric, std::move(bad))}, at, labels_, std::move(value)),
                   silent({series(metric, std::move(good))}, at)};
    out_.push_back(std::move(alert));
  }

  void add_use() {
    if (!training_.empty() && pool_.spec->role.value == model::PoolRole::training) add_idle();
    const std::string share = "100 * DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)";
    Alert full{.name = "GpuMemoryNearlyFull",
               .expr = fmt::format("{} > {}", share, kGpuMemoryPercent),
               .wait = "10m",
               .severity = "info",
               .fabric = "host",
               .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: GPU memory nearly full",
               .description =
                   "{{ $labels.instance }} GPU {{ $labels.gpu }} uses {{ $value | printf \"%.0f\" }} % of its "
                   "memory; the job may run out of memory.",
               .action =
                   "Check the job's batch size and allocator (PyTorch caches freed memory: compare reserved "
                   "with allocated memory). No action if the job is expected to fill the GPU."};
    full.cases = {
        fires({series("DCGM_FI_DEV_FB_USED", "76000+0x60"), series("DCGM_FI_DEV_FB_FREE", "4000+0x60")}, "30m", labels_,
              "95"),
        silent({series("DCGM_FI_DEV_FB_USED", "40000+0x60"), series("DCGM_FI_DEV_FB_FREE", "40000+0x60")}, "30m")};
    out_.push_back(std::move(full));
    if (pool_.gpu->nvlink_bandwidth.has_value()) add_nvlink();
  }

  void add_idle() {
    Alert idle{.name = "GpuUnderused",
               .expr = fmt::format("avg_over_time(DCGM_FI_DEV_GPU_UTIL{{pool=~\"{}\"}}[30m]) < {}\n"
                                   "and on (instance, gpu)\n"
                                   "DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE) > 0.1",
                                   training_, kGpuBusyPercent),
               .wait = "30m",
               .severity = "warning",
               .fabric = "host",
               .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: low utilization",
               .description =
                   "{{ $labels.instance }} GPU {{ $labels.gpu }} runs a job and is busy "
                   "{{ $value | printf \"%.0f\" }} % of the time: storage or network is the bottleneck.",
               .action =
                   "Compare storage read throughput and backend traffic of the job's servers (dashboards jobs, "
                   "storage, backend). If one server is slow, run acceptance/rdma.sh and acceptance/fio on it. If all "
                   "are, check the input pipeline and the storage system."};
    const TestSeries job = series("DCGM_FI_DEV_FB_USED", "60000+0x90");
    const TestSeries left = series("DCGM_FI_DEV_FB_FREE", "20000+0x90");
    idle.cases = {fires({series("DCGM_FI_DEV_GPU_UTIL", "35+0x90"), job, left}, "65m", labels_, "35"),
                  silent({series("DCGM_FI_DEV_GPU_UTIL", "96+0x90"), job, left}, "65m"),
                  // Idle, and no job has allocated memory: nothing is waiting.
                  silent({series("DCGM_FI_DEV_GPU_UTIL", "0+0x90"), series("DCGM_FI_DEV_FB_USED", "600+0x90"),
                          series("DCGM_FI_DEV_FB_FREE", "79400+0x90")},
                         "65m")};
    out_.push_back(std::move(idle));
  }

  void add_nvlink() {
    const std::int64_t half = pool_.gpu->nvlink_bandwidth->per_second.count() / 1'000'000 * kNvlinkPercent / 100;
    Alert slow{
        .name = "NvlinkUnderused",
        .expr = fmt::format("avg_over_time(DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL[30m])\n"
                            "< on (pool) group_left () (0.{:02} * weft:gpu_nvlink:mbytes_per_second)\n"
                            "and on (instance, gpu) avg_over_time(DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL[30m]) > 0\n"
                            "and on (instance, gpu) avg_over_time(DCGM_FI_DEV_GPU_UTIL[30m]) > {}",
                            kNvlinkPercent, kGpuBusyPercent),
        .wait = "30m",
        .severity = "info",
        .fabric = "host",
        .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: NVLink below half of its peak",
        .description =
            "{{ $labels.instance }} GPU {{ $labels.gpu }} transfers {{ $value | printf \"%.0f\" }} MB/s over "
            "NVLink under compute load.",
        .action =
            "Normal for jobs with little communication. For tensor-parallel jobs, check nvidia-smi nvlink --status; "
            "NCCL_DEBUG=INFO must show P2P or NVLS, not SHM or NET, within the server."};
    const TestSeries busy = series("DCGM_FI_DEV_GPU_UTIL", "95+0x90");
    slow.cases = {
        fires({series("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", fmt::format("{}+0x90", half / 2)), busy}, "65m", labels_,
              fmt::format("{}", half / 2)),
        silent({series("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", fmt::format("{}+0x90", half + half / 2)), busy}, "65m")};
    out_.push_back(std::move(slow));
  }

  void add_power() {
    const std::int64_t tdp = pool_.gpu->tdp->count() / 1000;  // from milliwatts
    add({.name = "GpuPowerAboveTdp",
         .expr = "avg_over_time(DCGM_FI_DEV_POWER_USAGE[5m]) > on (pool) group_left () weft:gpu_tdp:watts",
         .wait = "5m",
         .severity = "warning",
         .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: power above TDP",
         .description =
             "{{ $labels.instance }} GPU {{ $labels.gpu }} draws {{ $value | printf \"%.0f\" }} W and will be "
             "throttled.",
         .action = "Run nvidia-smi -q -d POWER,PERFORMANCE on the server: check power limit, inlet temperature, other "
                   "GPUs of the baseboard. Restore the limit with nvidia-smi -pl."},
        "DCGM_FI_DEV_POWER_USAGE", fmt::format("{}+0x60", tdp + 40), fmt::format("{}+0x60", tdp - 40), "30m",
        fmt::format("{}", tdp + 40));
    add({.name = "GpuHot",
         .expr = fmt::format("DCGM_FI_DEV_GPU_TEMP > {}", kGpuCelsius),
         .wait = "5m",
         .severity = "warning",
         .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: high temperature",
         .description = "{{ $labels.instance }} GPU {{ $labels.gpu }} is at {{ $value | printf \"%.0f\" }} C.",
         .action = "Check fans and inlet temperature in the BMC, other servers in the rack, and the cooling "
                   "distribution. Drain the server if the temperature does not fall within an hour."},
        "DCGM_FI_DEV_GPU_TEMP", "91+0x60", "64+0x60", "30m", "91");
    add({.name = "GpuMemoryHot",
         .expr = fmt::format("DCGM_FI_DEV_MEMORY_TEMP > {}", kGpuMemoryCelsius),
         .wait = "5m",
         .severity = "warning",
         .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: high memory temperature",
         .description = "{{ $labels.instance }} GPU {{ $labels.gpu }}: memory at {{ $value | printf \"%.0f\" }} C.",
         .action = "See GpuHot."},
        "DCGM_FI_DEV_MEMORY_TEMP", "98+0x60", "70+0x60", "30m", "98");
  }

  void add_memory_errors() {
    add({.name = "GpuEccSingleBit",
         .expr = "increase(DCGM_FI_DEV_ECC_SBE_VOL_TOTAL[1h]) > 0",
         .wait = "5m",
         .severity = "warning",
         .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: correctable memory errors",
         .description =
             "{{ $labels.instance }} GPU {{ $labels.gpu }} corrected single-bit errors within the last hour.",
         .action = "Run nvidia-smi -q -d ECC,ROW_REMAPPER. A few are normal; if they grow over days, schedule a drain "
                   "and a reset, then run dcgmi diag -r 3."},
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "0+1x90", "7+0x90", "20m", "");
    add({.name = "GpuEccDoubleBit",
         .expr = "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL > 0",
         .wait = "1m",
         .severity = "critical",
         .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: uncorrectable memory errors",
         .description =
             "{{ $labels.instance }} GPU {{ $labels.gpu }}: {{ $value | printf \"%.0f\" }} double-bit errors "
             "since the driver was loaded; results may be corrupt.",
         .action = "Drain the server, reset the GPU, run dcgmi diag -r 4. If errors recur or row remapping failed, "
                   "replace the GPU."},
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "0+0x5 1+0x60", "0+0x60", "30m", "1");
    add({.name = "GpuRowRemapFailed",
         .expr = "DCGM_FI_DEV_ROW_REMAP_FAILURE > 0",
         .wait = "1m",
         .severity = "critical",
         .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: row remapping failed",
         .description =
             "{{ $labels.instance }} GPU {{ $labels.gpu }} could not remap a bad memory row: no spare rows left.",
         .action = "Drain the server and replace the GPU."},
        "DCGM_FI_DEV_ROW_REMAP_FAILURE", "1+0x60", "0+0x60", "30m", "");
  }

  void add_faults() {
    add({.name = "GpuXid",
         .expr = fmt::format("DCGM_FI_DEV_XID_ERRORS > 0 and changes(DCGM_FI_DEV_XID_ERRORS[10m]) > 0\n"
                             "unless ({})",
                             kProgramXids),
         .wait = "1m",
         .severity = "critical",
         .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: XID {{ $value | printf \"%.0f\" }}",
         .description = "{{ $labels.instance }} GPU {{ $labels.gpu }} reported XID {{ $value | printf \"%.0f\" }}.",
         .action =
             "Drain the server and read dmesg; docs.nvidia.com/deploy/xid-errors explains the number. 48, 63, 64, 95: "
             "memory error, reset. 74: NVLink error, check the fabric manager. 79: GPU fell off the bus, power-cycle. "
             "119, 120: GSP timeout, reset."},
        "DCGM_FI_DEV_XID_ERRORS", "0+0x26 79+0x60", "79+0x60", "30m", "79");
    out_.back().cases.push_back(silent({series("DCGM_FI_DEV_XID_ERRORS", "0+0x26 31+0x60")}, "30m"));
    add({.name = "GpuXidOfProgram",
         .expr = fmt::format("({}) and changes(DCGM_FI_DEV_XID_ERRORS[10m]) > 0", kProgramXids),
         .wait = "1m",
         .severity = "info",
         .summary = "{{ $labels.instance }} GPU {{ $labels.gpu }}: XID {{ $value | printf \"%.0f\" }} (application)",
         .description =
             "{{ $labels.instance }} GPU {{ $labels.gpu }} reported XID {{ $value | printf \"%.0f\" }}, typically an "
             "application error.",
         .action = "Inform the job's owner. If several jobs on one GPU are affected, treat it as GpuXid."},
        "DCGM_FI_DEV_XID_ERRORS", "0+0x26 31+0x60", "0+0x26 79+0x60", "30m", "31");
    add_lost();
  }

  void add_lost() {
    const std::int64_t designed = pool_.server->gpus.value;
    Alert lost{.name = "GpuLost",
               .expr =
                   "count by (instance, pool) (count by (instance, pool, gpu) (DCGM_FI_DEV_GPU_TEMP))\n"
                   "< on (pool) group_left () weft:gpus:designed",
               .wait = "5m",
               .severity = "critical",
               .fabric = "host",
               .summary = "{{ $labels.instance }}: GPUs missing",
               .description = fmt::format(
                   "{{{{ $labels.instance }}}} reports {{{{ $value | printf \"%.0f\" }}}} of {} GPUs.", designed),
               .action =
                   "Check nvidia-smi -L and dmesg (XID 79). Drain the server, power-cycle it through the BMC, then "
                   "replace the GPU."};
    std::vector<TestSeries> some;
    std::vector<TestSeries> every;
    for (std::int64_t gpu = 0; gpu < designed; ++gpu) {
      Labels labels = labels_;
      labels[0].second = fmt::format("{}", gpu);
      const TestSeries one{"DCGM_FI_DEV_GPU_TEMP" + selector(labels), "50+0x60"};
      every.push_back(one);
      if (gpu + 1 < designed || designed == 1) some.push_back(one);
    }
    const Labels told = {{"instance", labels_[1].second}, {"pool", pool_.name()}};
    if (designed > 1) lost.cases.push_back(fires(std::move(some), "30m", told, fmt::format("{}", designed - 1)));
    lost.cases.push_back(silent(std::move(every), "30m"));
    if (designed > 1) out_.push_back(std::move(lost));
  }

  const PoolPlan& pool_;
  std::string training_;
  Labels labels_;
  std::vector<Alert> out_;
};

}  // namespace

AlertGroup gpu_alerts(const Watch& watch) {
  const PoolPlan* chosen = nullptr;
  for (const PoolPlan& pool : watch.plan().pools()) {
    if (!pool.has_gpus()) continue;
    if (chosen == nullptr ||
        (pool.spec->role.value == model::PoolRole::training && chosen->spec->role.value != model::PoolRole::training)) {
      chosen = &pool;
    }
  }
  if (chosen == nullptr) return {"gpu", kSource, {}};
  return {"gpu", kSource, GpuAlerts(*chosen, watch).all()};
}

}  // namespace weft::render::watch
