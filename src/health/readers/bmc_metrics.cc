// Telemetry of GPU baseboards as signals: counters, durations, states and temperatures.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "health/readers/bmc_phrases.h"
#include "health/readers/bmc_signals.h"
#include "health/readers/hgx_events.h"
#include "health/readers/report_time.h"
#include "oob/manage/events_view.h"
#include "oob/manage/metrics_view.h"

namespace weft::health {
namespace {

using oob::Metric;

constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kNumbers = {{
    {"CacheMetricsTotal/LifeTime/CorrectableECCErrorCount", "hgx:sram_ecc_corrected_total"},
    {"CacheMetricsTotal/LifeTime/UncorrectableECCErrorCount", "hgx:sram_ecc_uncorrected_total"},
    {"LifeTime/CorrectableECCErrorCount", "hgx:dram_ecc_corrected_total"},
    {"LifeTime/UncorrectableECCErrorCount", "hgx:dram_ecc_uncorrected_total"},
    {"PCIeErrors/CorrectableErrorCount", "hgx:pcie_corrected_total"},
    {"PCIeErrors/NonFatalErrorCount", "hgx:pcie_nonfatal_total"},
    {"PCIeErrors/FatalErrorCount", "hgx:pcie_fatal_total"},
    {"PCIeErrors/ReplayCount", "hgx:pcie_replay_total"},
    {"PCIeErrors/ReplayRolloverCount", "hgx:pcie_replay_rollover_total"},
    {"PCIeErrors/NAKSentCount", "hgx:pcie_nak_sent_total"},
    {"PCIeErrors/NAKReceivedCount", "hgx:pcie_nak_received_total"},
    {"PCIeErrors/L0ToRecoveryCount", "hgx:pcie_recovery_total"},
    {"NVLinkErrors/RuntimeError", "hgx:nvlink_runtime_error_total"},
    {"NVLinkErrors/TrainingError", "hgx:nvlink_training_error_total"},
    {"NVLinkErrors/ReplayCount", "hgx:nvlink_replay_total"},
    {"NVLinkErrors/RecoveryCount", "hgx:nvlink_recovery_total"},
    {"NVLinkErrors/FlitCRCCount", "hgx:nvlink_crc_flit_total"},
    {"NVLinkErrors/DataCRCCount", "hgx:nvlink_crc_data_total"},
    {"RowRemapping/CorrectableRowRemappingCount", "hgx:row_remap_corrected_total"},
    {"RowRemapping/UncorrectableRowRemappingCount", "hgx:row_remap_uncorrected_total"},
    {"ThermalLimitThrottleDuration", "hgx:throttle_thermal_seconds"},
    {"PowerLimitThrottleDuration", "hgx:throttle_power_seconds"},
    {"HardwareViolationThrottleDuration", "hgx:throttle_hardware_seconds"},
    {"GlobalSoftwareViolationThrottleDuration", "hgx:throttle_software_seconds"},
    {"PCIeInterface/LanesInUse", "hgx:pcie_lanes"},
    {"PCIeInterface/MaxLanes", "hgx:pcie_lanes_max"},
}};

// States, and the texts that are 0 (the first) and 1; any other text says nothing.
struct States {
  std::string_view metric;
  std::string_view name;
  std::array<std::string_view, 3> texts;
};
constexpr std::array<States, 6> kStates = {{
    {"RowRemappingFailed", "hgx:row_remap_failed_flag", {"false", "true", ""}},
    {"RowRemappingPending", "hgx:row_remap_pending_flag", {"false", "true", ""}},
    {"PowerBreakPerformanceState", "hgx:power_brake_flag", {"Normal", "Throttled", ""}},
    {"EDPViolationState", "hgx:edp_violation_flag", {"Normal", "Throttled", ""}},
    {"Status/Health", "hgx:health_flag", {"OK", "Warning", "Critical"}},
    {"LinkStatus", "hgx:link_down_flag", {"LinkUp", "LinkDown", ""}},
}};

// Temperatures of what has a limit: GPUs, their memory and margin, switches, CPUs.
std::string_view temperature_signal(const Metric& metric) {
  const std::string name = normalize_event_text(metric.name);
  const std::string part = normalize_event_text(metric.part);
  const bool gpu = contains(part, "gpu");
  if (gpu && contains(name, "dram") && contains(name, "temp")) return "hgx:memory_temp";
  if (gpu && name == "temp 0") return "hgx:gpu_temp";
  if (gpu && name == "temp 1") return "hgx:gpu_temp_margin";
  if (contains(part, "nvswitch") && name == "temp 0") return "hgx:nvswitch_temp";
  if (contains(part, "cpu") && contains(name, "templimit")) return "hgx:cpu_temp_margin";
  if (contains(part, "cpu") && contains(name, "tempavg")) return "hgx:cpu_temp";
  return {};
}

std::optional<std::pair<std::string_view, double>> state_of(const Metric& metric) {
  for (const States& states : kStates) {
    if (metric.name != states.metric) continue;
    for (std::size_t i = 0; i < states.texts.size(); ++i) {
      if (!states.texts[i].empty() && metric.value == states.texts[i])
        return std::pair(states.name, static_cast<double>(i));
    }
  }
  return std::nullopt;
}

std::optional<std::pair<std::string_view, double>> number_of(const Metric& metric) {
  std::string_view name;
  for (const auto& [text, signal] : kNumbers) {
    if (metric.name == text) name = signal;
  }
  const bool heat = name.empty();
  if (heat) name = temperature_signal(metric);
  if (name.empty()) return std::nullopt;
  const std::optional<oob::MetricNumber> number = oob::metric_number(metric.value);
  if (!number || (heat && !is_plausible(SensorKind::temperature, number->value))) return std::nullopt;
  // A GPU whose link is not reported has no lanes in use of no lanes at all.
  if (name.starts_with("hgx:pcie_lanes") && number->value <= 0) return std::nullopt;
  return std::pair(name, number->value);
}

}  // namespace

std::optional<Signal> signal_of(const Metric& metric) {
  if (metric.stale || oob::is_without_value(metric.value)) return std::nullopt;
  Signal signal;
  if (metric.name.starts_with("ThrottleReasons/")) {
    signal.name = throttle_signal(metric.value);
    if (signal.name.empty()) return std::nullopt;
    signal.details.push_back({"reason", metric.value.substr(metric.value.rfind('.') + 1)});
  } else {
    std::optional<std::pair<std::string_view, double>> found = state_of(metric);
    if (!found) found = number_of(metric);
    if (!found) return std::nullopt;
    signal.name = found->first;
    signal.value = found->second;
  }
  signal.part = metric.part;
  signal.source = SignalSource::bmc;
  signal.text = metric.name + " " + metric.value;
  signal.details.push_back({"report", metric.report});
  oob::LogEvent stamp;
  stamp.time = metric.time;
  if (const auto ms = oob::event_time(stamp)) signal.at = moment_of_ms(*ms);
  return signal;
}

}  // namespace weft::health
