#include "bmcsim/resource.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/hash.h"
#include "bmcsim/update.h"

namespace weft::bmcsim {
namespace {

Value service_root(const SimBmc& bmc) {
  Value root = resource_head("/redfish/v1/", "ServiceRoot.v1_15_0.ServiceRoot", "RootService", "Root Service");
  root.put("RedfishVersion", "1.15.0");
  root.put("UUID", sim_uuid("bmc:" + bmc.device().name));
  root.put("Vendor", "weft");
  root.put("Product", "weft simulated BMC");
  root.put(
      "ProtocolFeaturesSupported",
      Value::map(
          {{"ExpandQuery",
            Value::map({{"ExpandAll", true}, {"Levels", true}, {"Links", true}, {"NoLinks", true}, {"MaxLevels", 2}})},
           {"SelectQuery", false},
           {"FilterQuery", false},
           {"OnlyMemberQuery", true},
           {"ExcerptQuery", false}}));
  for (const std::string_view name :
       {"Systems", "Managers", "Chassis", "SessionService", "AccountService", "UpdateService", "TelemetryService"}) {
    root.put(std::string(name), link_to(fmt::format("/redfish/v1/{}", name)));
  }
  if (!bmc.has(FaultKind::no_events)) root.put("EventService", link_to("/redfish/v1/EventService"));
  root.put("Tasks", link_to("/redfish/v1/TaskService"));
  if (bmc.device().kind == SimKind::pdu) root.put("PowerEquipment", link_to("/redfish/v1/PowerEquipment"));
  root.put("Links", Value::map({{"Sessions", link_to("/redfish/v1/SessionService/Sessions")}}));
  return root;
}

struct Schema {
  std::string_view name;
  std::string_view version;  // empty: a collection
};
constexpr std::array<Schema, 49> kSchemas{{{"ServiceRoot", "v1_15_0"},
                                           {"ComputerSystemCollection", ""},
                                           {"ComputerSystem", "v1_20_0"},
                                           {"LogServiceCollection", ""},
                                           {"LogService", "v1_4_0"},
                                           {"LogEntryCollection", ""},
                                           {"LogEntry", "v1_14_0"},
                                           {"ManagerCollection", ""},
                                           {"Manager", "v1_17_0"},
                                           {"ManagerNetworkProtocol", "v1_9_1"},
                                           {"EthernetInterfaceCollection", ""},
                                           {"EthernetInterface", "v1_9_0"},
                                           {"HostInterfaceCollection", ""},
                                           {"HostInterface", "v1_3_0"},
                                           {"ChassisCollection", ""},
                                           {"Chassis", "v1_22_0"},
                                           {"SensorCollection", ""},
                                           {"Sensor", "v1_7_0"},
                                           {"Thermal", "v1_7_1"},
                                           {"Power", "v1_7_1"},
                                           {"SessionService", "v1_1_8"},
                                           {"SessionCollection", ""},
                                           {"Session", "v1_5_0"},
                                           {"AccountService", "v1_12_0"},
                                           {"ManagerAccountCollection", ""},
                                           {"ManagerAccount", "v1_10_0"},
                                           {"RoleCollection", ""},
                                           {"Role", "v1_3_1"},
                                           {"TaskService", "v1_2_0"},
                                           {"TaskCollection", ""},
                                           {"Task", "v1_7_0"},
                                           {"UpdateService", "v1_11_2"},
                                           {"SoftwareInventoryCollection", ""},
                                           {"SoftwareInventory", "v1_9_0"},
                                           {"PowerEquipment", "v1_2_1"},
                                           {"PowerDistribution", "v1_3_0"},
                                           {"PowerDistributionCollection", ""},
                                           {"OutletCollection", ""},
                                           {"Outlet", "v1_4_1"},
                                           {"EventService", "v1_7_2"},
                                           {"EventDestinationCollection", ""},
                                           {"EventDestination", "v1_7_0"},
                                           {"Event", "v1_7_0"},
                                           {"TelemetryService", "v1_2_1"},
                                           {"MetricReportCollection", ""},
                                           {"MetricReport", "v1_3_0"},
                                           {"MetricReportDefinitionCollection", ""},
                                           {"MetricReportDefinition", "v1_3_0"},
                                           {"Message", "v1_1_2"}}};

}  // namespace

std::optional<SimPath> split_path(std::string_view path) {
  if (!path.starts_with(kRedfishRoot)) return std::nullopt;
  path.remove_prefix(kRedfishRoot.size());
  SimPath parts;
  if (path.empty() || path == "/") return parts;
  if (path.front() != '/') return std::nullopt;
  path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  // A bound on the path length; the deepest resource has seven parts.
  while (parts.size() < 16) {
    const std::size_t slash = path.find('/');
    if (slash == 0 || path.empty()) return std::nullopt;
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
  return std::nullopt;
}

std::string joined_path(const SimPath& path) {
  std::string text(kRedfishRoot);
  for (const std::string_view part : path) text.append("/").append(part);
  return text;
}

std::optional<Value> sim_resource(const SimBmc& bmc, const SimPath& path) {
  if (path.empty()) return service_root(bmc);
  const std::string_view first = path.front();
  if (first == "Systems") return system_resource(bmc, path);
  if (first == "Managers") return manager_resource(bmc, path);
  if (first == "Chassis") return chassis_resource(bmc, path);
  if (first == "PowerEquipment") return power_equipment_resource(bmc, path);
  if (first == "SessionService") return session_resource(bmc, path);
  if (first == "AccountService") return account_resource(bmc, path);
  if (first == "TaskService") return task_resource(bmc, path);
  if (first == "UpdateService") return update_resource(bmc, path);
  if (first == "EventService") return event_service_resource(bmc, path);
  if (first == "TelemetryService") return telemetry_resource(bmc, path);
  return std::nullopt;
}

bool is_action(const SimBmc& bmc, const SimPath& path) {
  if (is_push_path(bmc, path)) return true;
  if (path.size() < 3 || path[path.size() - 2] != "Actions") return false;
  const SimPath owner(path.begin(), path.end() - 2);
  const std::string_view action = path.back();
  const bool known = (action == "ComputerSystem.Reset" && owner.size() == 2 && owner[0] == "Systems") ||
                     (action == "Manager.Reset" && owner.size() == 2 && owner[0] == "Managers") ||
                     (action == "LogService.ClearLog" && owner.size() == 4 && owner[0] == "Systems") ||
                     (action == "Outlet.PowerControl" && owner.size() == 5 && owner[3] == "Outlets");
  return known && sim_resource(bmc, owner).has_value();
}

std::string_view allowed_methods(const SimPath& path) {
  const std::string_view first = path.empty() ? std::string_view() : path.front();
  const std::size_t depth = path.size();
  if (first == "SessionService" && depth == 2) return "GET, HEAD, POST";
  if (first == "SessionService" && depth == 3) return "GET, HEAD, DELETE";
  if (first == "SessionService" && depth == 1) return "GET, HEAD, PATCH";
  if (first == "AccountService" && depth == 2 && path[1] == "Accounts") return "GET, HEAD, POST";
  if (first == "AccountService" && depth == 3 && path[1] == "Accounts") return "GET, HEAD, PATCH, DELETE";
  if (first == "Chassis" && depth == 2 && path[1] != "1") return "GET, HEAD";  // a GPU
  if ((first == "Systems" || first == "Chassis" || first == "Managers") && depth == 2) return "GET, HEAD, PATCH";
  if (first == "EventService" && depth == 3) return "GET, HEAD, DELETE";
  if (first == "UpdateService" && depth == 1) return "GET, HEAD, PATCH";
  if (first == "Managers" && depth == 3 && path[2] == "NetworkProtocol") return "GET, HEAD, PATCH";
  if (first == "Managers" && depth == 4 && path[2] == "HostInterfaces") return "GET, HEAD, PATCH";
  return "GET, HEAD";
}

// A minimal CSDL document: references every schema in use and names the service container (DSP0266 8.4.1).
std::string sim_metadata() {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<edmx:Edmx xmlns:edmx=\"http://docs.oasis-open.org/odata/ns/edmx\" Version=\"4.0\">\n";
  for (const Schema& schema : kSchemas) {
    text += fmt::format("  <edmx:Reference Uri=\"http://redfish.dmtf.org/schemas/v1/{}_v1.xml\">\n", schema.name);
    text += fmt::format("    <edmx:Include Namespace=\"{}\"/>\n", schema.name);
    if (!schema.version.empty()) {
      text += fmt::format("    <edmx:Include Namespace=\"{}.{}\"/>\n", schema.name, schema.version);
    }
    text += "  </edmx:Reference>\n";
  }
  text +=
      "  <edmx:DataServices>\n"
      "    <Schema xmlns=\"http://docs.oasis-open.org/odata/ns/edm\" Namespace=\"Service\">\n"
      "      <EntityContainer Name=\"Service\" Extends=\"ServiceRoot.v1_15_0.ServiceContainer\"/>\n"
      "    </Schema>\n"
      "  </edmx:DataServices>\n"
      "</edmx:Edmx>\n";
  return text;
}

Value sim_odata(const SimBmc& bmc) {
  Value list = Value::list();
  list.add(Value::map({{"name", "Service"}, {"kind", "Singleton"}, {"url", "/redfish/v1/"}}));
  const auto add = [&](std::string_view name) {
    list.add(Value::map({{"name", name}, {"kind", "Singleton"}, {"url", fmt::format("/redfish/v1/{}", name)}}));
  };
  for (const std::string_view name : {"Systems", "Managers", "Chassis", "SessionService", "AccountService",
                                      "TaskService", "UpdateService", "TelemetryService"}) {
    add(name);
  }
  if (!bmc.has(FaultKind::no_events)) add("EventService");
  if (bmc.device().kind == SimKind::pdu) add("PowerEquipment");
  return Value::map({{"@odata.context", "/redfish/v1/$metadata"}, {"value", std::move(list)}});
}

std::string sim_uuid(std::string_view name) {
  std::string hex = sha256(name).substr(0, 32);
  hex[12] = '8';  // version 8: vendor-specific (RFC 9562 section 5.8)
  constexpr std::string_view variants = "89ab";
  hex[16] = variants[static_cast<unsigned char>(hex[16]) & 3U];
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4),
                     hex.substr(20));
}

std::string_view sim_model(SimKind kind) {
  return kind == SimKind::server ? "Simulated Server" : kind == SimKind::pdu ? "Simulated PDU" : "Simulated Switch";
}

Value resource_head(std::string path, std::string_view type, std::string_view id, std::string_view name) {
  Value value = Value::map();
  value.put("@odata.id", std::move(path));
  value.put("@odata.type", fmt::format("#{}", type));
  value.put("Id", id);
  value.put("Name", name);
  return value;
}

Value link_to(std::string path) { return Value::map({{"@odata.id", std::move(path)}}); }

Value collection(std::string path, std::string_view type, std::string_view name,
                 const std::vector<std::string>& members) {
  Value list = Value::list();
  for (const std::string& member : members) list.add(link_to(fmt::format("{}/{}", path, member)));
  Value value = Value::map();
  value.put("@odata.id", std::move(path));
  value.put("@odata.type", fmt::format("#{0}Collection.{0}Collection", type));
  value.put("Name", name);
  value.put("Members@odata.count", members.size());
  value.put("Members", std::move(list));
  return value;
}

Value status_ok(bool enabled) {
  return Value::map({{"State", enabled ? "Enabled" : "StandbyOffline"}, {"Health", "OK"}});
}

std::optional<std::uint32_t> number_in_path(std::string_view part) {
  std::uint32_t number = 0;
  const std::from_chars_result read = std::from_chars(part.data(), part.data() + part.size(), number);
  if (part.empty() || part.front() == '0' || read.ec != std::errc() || read.ptr != part.data() + part.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace weft::bmcsim
