// The TelemetryService (DSP2051): one report of the machine's sensors and one of the GPUs', as an HGX baseboard has it,
// both made when they are read.
#include <fmt/format.h>

#include <utility>

#include "base/human_format.h"
#include "bmcsim/resource.h"
#include "bmcsim/sensor.h"

namespace weft::bmcsim {
namespace {

constexpr std::string_view kService = "/redfish/v1/TelemetryService";
constexpr std::string_view kMachineReport = "PlatformEnvironmentMetrics";
constexpr std::string_view kGpuReport = "HGX_PlatformEnvironmentMetrics_0";

std::vector<std::string> report_ids(const SimBmc& bmc) {
  std::vector<std::string> ids{std::string(kMachineReport)};
  if (bmc.device().gpus > 0) ids.emplace_back(kGpuReport);
  return ids;
}

struct Metric {
  std::string property;
  double value = 0;
};

std::vector<Metric> metrics_of(const SimBmc& bmc, std::string_view report) {
  std::vector<Metric> metrics;
  const auto add = [&](const std::string& chassis, const std::vector<SimSensor>& sensors) {
    metrics.reserve(metrics.size() + sensors.size());
    for (const SimSensor& sensor : sensors) {
      metrics.push_back({fmt::format("/redfish/v1/Chassis/{}/Sensors/{}", chassis, sensor.id), sensor.reading()});
    }
  };
  if (report == kMachineReport) {
    add("1", machine_sensors(bmc));
    return metrics;
  }
  for (std::uint32_t gpu = 1; gpu <= bmc.device().gpus; ++gpu) add(gpu_chassis_id(gpu), gpu_sensors(bmc, gpu));
  return metrics;
}

Value metric_report(const SimBmc& bmc, std::string_view id) {
  Value value =
      resource_head(fmt::format("{}/MetricReports/{}", kService, id), "MetricReport.v1_3_0.MetricReport", id, id);
  const std::string time = format_utc(bmc.world().wall_ms(bmc.now()));
  value.put("MetricReportDefinition", link_to(fmt::format("{}/MetricReportDefinitions/{}", kService, id)));
  value.put("Timestamp", time);
  Value values = Value::list();
  for (const Metric& metric : metrics_of(bmc, id)) {
    Value item = Value::map();
    item.put("MetricProperty", metric.property);
    item.put("MetricValue", fmt::format("{:.1f}", metric.value));  // a text, whatever the type
    item.put("Timestamp", time);
    values.add(std::move(item));
  }
  value.put("MetricValues", std::move(values));
  return value;
}

Value report_definition(const SimBmc& bmc, std::string_view id) {
  Value value = resource_head(fmt::format("{}/MetricReportDefinitions/{}", kService, id),
                              "MetricReportDefinition.v1_3_0.MetricReportDefinition", id, id);
  value.put("MetricReportDefinitionType", "OnRequest");
  value.put("MetricReportDefinitionEnabled", true);
  value.put("ReportActions", Value::list({"LogToMetricReportsCollection"}));
  value.put("ReportUpdates", "Overwrite");
  Value properties = Value::list();
  for (const Metric& metric : metrics_of(bmc, id)) properties.add(metric.property);
  value.put("MetricProperties", std::move(properties));
  value.put("MetricReport", link_to(fmt::format("{}/MetricReports/{}", kService, id)));
  value.put("Status", status_ok());
  return value;
}

Value telemetry_service() {
  Value value = resource_head(std::string(kService), "TelemetryService.v1_2_1.TelemetryService", "TelemetryService",
                              "Telemetry Service");
  value.put("ServiceEnabled", true);
  value.put("Status", status_ok());
  value.put("MetricReportDefinitions", link_to(fmt::format("{}/MetricReportDefinitions", kService)));
  value.put("MetricReports", link_to(fmt::format("{}/MetricReports", kService)));
  return value;
}

}  // namespace

std::optional<Value> telemetry_resource(const SimBmc& bmc, const SimPath& path) {
  if (path.size() == 1) return telemetry_service();
  const bool are_reports = path[1] == "MetricReports";
  if ((!are_reports && path[1] != "MetricReportDefinitions") || path.size() > 3) return std::nullopt;
  const std::vector<std::string> ids = report_ids(bmc);
  if (path.size() == 2) {
    return collection(fmt::format("{}/{}", kService, path[1]), are_reports ? "MetricReport" : "MetricReportDefinition",
                      are_reports ? "Metric Reports" : "Metric Report Definitions", ids);
  }
  for (const std::string& id : ids) {
    if (id == path[2]) return are_reports ? metric_report(bmc, id) : report_definition(bmc, id);
  }
  return std::nullopt;
}

}  // namespace weft::bmcsim
