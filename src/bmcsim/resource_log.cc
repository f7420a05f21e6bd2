// The logs: the event log of the system, and the XID log of each GPU, which an HGX baseboard has in the GPU's chassis.
#include <fmt/format.h>

#include <utility>

#include "base/human_format.h"
#include "bmcsim/resource.h"

namespace weft::bmcsim {
namespace {

// The events of one log.
std::vector<SimEvent> events_of(const SimBmc& bmc, const std::string& log) {
  std::vector<SimEvent> events;
  for (const SimEvent& event : bmc.events()) {
    if (log_path_of(event) == log) events.push_back(event);
  }
  return events;
}

Value log_service(const SimBmc& bmc, const std::string& path, bool is_sel) {
  Value log = resource_head(path, "LogService.v1_4_0.LogService", is_sel ? "SEL" : "XID",
                            is_sel ? "System Event Log" : "XID Log Service");
  log.put("LogEntryType", is_sel ? "SEL" : "Event");
  log.put("ServiceEnabled", true);
  log.put("MaxNumberOfRecords", kMaxSimEvents);
  log.put("OverWritePolicy", "WrapsWhenFull");
  log.put("DateTime", format_utc(bmc.world().wall_ms(bmc.now())));
  log.put("DateTimeLocalOffset", "+00:00");
  log.put("Status", status_ok());
  log.put("Entries", link_to(path + "/Entries"));
  if (is_sel) {  // an XID log cannot be cleared
    log.put("Actions",
            Value::map({{"#LogService.ClearLog", Value::map({{"target", path + "/Actions/LogService.ClearLog"}})}}));
  }
  return log;
}

// Entries are included in full in their collection.
Value log_entries(const std::vector<SimEvent>& events, const std::string& path) {
  Value list = collection(path + "/Entries", "LogEntry", "Log Entries", {});
  Value members = Value::list();
  for (const SimEvent& event : events) members.add(log_entry_value(event));
  list.set("Members@odata.count", events.size());
  list.set("Members", std::move(members));
  return list;
}

}  // namespace

std::optional<Value> log_resource(const SimBmc& bmc, const SimPath& path) {
  const bool is_sel = path[0] == "Systems";
  const std::string_view name = is_sel ? "SEL" : "XID";
  const std::string services = fmt::format("/redfish/v1/{}/{}/LogServices", path[0], path[1]);
  if (path.size() == 3) return collection(services, "LogService", "Logs", {std::string(name)});
  if (path[3] != name) return std::nullopt;
  const std::string log = fmt::format("{}/{}", services, name);
  if (path.size() == 4) return log_service(bmc, log, is_sel);
  if (path[4] != "Entries" || path.size() > 6) return std::nullopt;
  const std::vector<SimEvent> events = events_of(bmc, log);
  if (path.size() == 5) return log_entries(events, log);
  for (const SimEvent& event : events) {
    if (number_in_path(path[5]) == event.id) return log_entry_value(event);
  }
  return std::nullopt;
}

}  // namespace weft::bmcsim
