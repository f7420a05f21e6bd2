// RedfishBmc: the reports of the TelemetryService (DSP2051). NVIDIA's baseboards have a few reports with a thousand
// values of GPUs and links, Supermicro a history of power, in one report per time span.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "oob/redfish/bmc.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxMetrics = 100'000;  // of one report
constexpr std::size_t kMaxSegments = 64;

bool is_number(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

// "Oem/Nvidia/X" is "X".
std::string_view without_vendor(std::string_view name) {
  constexpr std::string_view kOem = "Oem/";
  if (!name.starts_with(kOem)) return name;
  const std::size_t end = name.find('/', kOem.size());
  return end == std::string_view::npos ? name : name.substr(end + 1);
}

// "Power_0" of the sensor "HGX_GPU_SXM_1_Power_0" of HGX_GPU_SXM_1.
std::string_view without_part(std::string_view sensor, std::string_view part) {
  const bool same = sensor.size() > part.size() + 1 && sensor.starts_with(part) && sensor[part.size()] == '_';
  return same ? sensor.substr(part.size() + 1) : sensor;
}

}  // namespace

MetricPlace metric_place(std::string_view property) {
  constexpr std::string_view kRoot = "/redfish/v1/";
  if (property.starts_with(kRoot)) property.remove_prefix(kRoot.size());
  const std::size_t hash = property.find('#');
  std::string_view fragment = hash == std::string_view::npos ? std::string_view() : property.substr(hash + 1);
  if (fragment.starts_with('/')) fragment.remove_prefix(1);
  std::vector<std::string_view> segments = split(trim(property.substr(0, hash), "/"), '/');
  if (segments.size() > kMaxSegments) segments.resize(kMaxSegments);
  MetricPlace place;
  // Collections and their members alternate; after them there may be a resource of the last member.
  std::vector<std::string> members;
  for (std::size_t i = 0; i + 1 < segments.size(); i += 2) {
    if (segments[i] == "Oem") continue;
    if (segments[i] == "Sensors" && !members.empty()) {
      place.name = without_part(segments[i + 1], segments[i - 1]);
      continue;
    }
    const bool bare = is_number(segments[i + 1]);
    members.push_back(bare ? fmt::format("{} {}", segments[i], segments[i + 1]) : std::string(segments[i + 1]));
  }
  // A part of a system is known without it.
  if (members.size() > 1) members.erase(members.begin());
  place.part = clean(join(members, "/"));
  if (!fragment.empty()) place.name = without_vendor(fragment);
  place.name = clean(place.name);
  return place;
}

std::vector<Metric> parse_metric_report(const Value& value, std::string_view path) {
  std::string report = clean_text(value, {"Id"});
  if (report.empty()) report = clean(path.substr(path.rfind('/') + 1));
  std::vector<Metric> out;
  for (const Value& item : list(value, {"MetricValues"})) {
    if (out.size() >= kMaxMetrics) break;
    if (!item.is_map()) continue;
    Metric metric;
    metric.report = report;
    MetricPlace place = metric_place(raw_text(item, {"MetricProperty"}));
    metric.part = std::move(place.part);
    // An id names what was computed, such as a mean; the property is then what it was computed from.
    metric.name = clean_text(item, {"MetricId"});
    if (metric.name.empty()) metric.name = std::move(place.name);
    if (metric.name.empty() && metric.part.empty()) continue;
    // DSP2051 has texts; some services write numbers.
    const Value* shown = item.find("MetricValue");
    if (shown == nullptr || shown->is_null()) continue;
    metric.value = shown->is_text() ? clean(shown->text()) : clean(write_json_line(*shown));
    metric.time = clean_text(item, {"Timestamp"});
    metric.stale = truth(item, {"Oem", "Nvidia", "MetricValueStale"}).value_or(false);
    out.push_back(std::move(metric));
  }
  return out;
}

Result<MetricReports> RedfishBmc::metrics() {
  if (session_->root().telemetry.empty()) return error(ErrorCode::not_found, "has no telemetry");
  const Result<RedfishReply> service = session_->get(session_->root().telemetry);
  if (!service.ok()) return service.error();
  const std::string path = path_of(service->value, {"MetricReports"});
  if (path.empty() || truth(service->value, {"ServiceEnabled"}) == false)
    return error(ErrorCode::not_found, path.empty() ? "has no metric reports" : "its TelemetryService is disabled");
  const std::vector<Members> reports = members_of({path}, kMaxMembers);
  MetricReports out;
  if (reports.front().problem) {
    if (reports.front().members.empty()) return *reports.front().problem;
    out.unread.push_back({"MetricReports", *reports.front().problem});
  }
  for (const Member& report : reports.front().members) {
    if (!report.value.ok()) {
      out.unread.push_back({clean(report.path.substr(report.path.rfind('/') + 1)), report.value.error()});
      continue;
    }
    std::vector<Metric> metrics = parse_metric_report(*report.value, report.path);
    std::move(metrics.begin(), metrics.end(), std::back_inserter(out.metrics));
  }
  return out;
}

}  // namespace weft::oob
