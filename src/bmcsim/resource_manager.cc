// The BMC itself and the services around it: network protocols, sessions, accounts, tasks, firmware.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/human_format.h"
#include "bmcsim/resource.h"
#include "bmcsim/update.h"
#include "oob/durable/clock.h"

namespace weft::bmcsim {
namespace {

constexpr std::string_view kManager = "/redfish/v1/Managers/BMC";

Value manager(const SimBmc& bmc) {
  const std::string path(kManager);
  Value value = resource_head(path, "Manager.v1_17_0.Manager", "BMC", bmc.device().name + " BMC");
  value.put("ManagerType", "BMC");
  value.put("Manufacturer", "weft");
  value.put("Model", "Simulated BMC");
  value.put("FirmwareVersion", bmc.extras().firmware.bmc);
  value.put("UUID", sim_uuid("bmc:" + bmc.device().name));
  value.put("ServiceEntryPointUUID", sim_uuid("bmc:" + bmc.device().name));
  value.put("PowerState", "On");
  value.put("Status", status_ok());
  value.put("NetworkProtocol", link_to(path + "/NetworkProtocol"));
  value.put("EthernetInterfaces", link_to(path + "/EthernetInterfaces"));
  value.put("HostInterfaces", link_to(path + "/HostInterfaces"));
  value.put("Links", Value::map({{"ManagerForServers", Value::list({link_to("/redfish/v1/Systems/1")})},
                                 {"ManagerForChassis", Value::list({link_to("/redfish/v1/Chassis/1")})}}));
  const SimExtras& extras = bmc.extras();
  Value weft = Value::map({{"@odata.type", "#WeftManager.v1_0_0.Manager"}});
  weft.put("Syslog", Value::map({{"Servers", Value::texts(extras.syslog)}}));
  weft.put("Firewall", Value::map({{"Allow", Value::texts(extras.firewall)}}));
  value.put("Oem", Value::map({{"Weft", std::move(weft)}}));
  Value reset = Value::map();
  reset.put("target", path + "/Actions/Manager.Reset");
  reset.put("ResetType@Redfish.AllowableValues", Value::list({"GracefulRestart", "ForceRestart"}));
  value.put("Actions", Value::map({{"#Manager.Reset", std::move(reset)}}));
  return value;
}

Value network_protocol(const SimBmc& bmc) {
  Value value =
      resource_head(fmt::format("{}/NetworkProtocol", kManager), "ManagerNetworkProtocol.v1_9_1.ManagerNetworkProtocol",
                    "NetworkProtocol", "Manager Network Protocol");
  const auto put = [&](std::string_view name, SimProtocol protocol, int port) {
    value.put(std::string(name), Value::map({{"ProtocolEnabled", bmc.enabled(protocol)}, {"Port", port}}));
  };
  value.put("HostName", bmc.device().name + "-bmc");
  value.put("FQDN", bmc.device().name + "-bmc");
  value.put("Status", status_ok());
  put("HTTP", SimProtocol::http, 80);
  put("HTTPS", SimProtocol::https, 443);
  put("SSH", SimProtocol::ssh, 22);
  put("IPMI", SimProtocol::ipmi, 623);
  put("SNMP", SimProtocol::snmp, 161);
  Value ntp = Value::map();
  ntp.put("ProtocolEnabled", bmc.enabled(SimProtocol::ntp));
  ntp.put("Port", 123);
  ntp.put("NTPServers", Value::texts(bmc.extras().ntp));
  value.put("NTP", std::move(ntp));
  return value;
}

Value ethernet_interface(const SimBmc& bmc) {
  Value value = resource_head(fmt::format("{}/EthernetInterfaces/eth0", kManager),
                              "EthernetInterface.v1_9_0.EthernetInterface", "eth0", "Management Interface");
  // A locally administered address (IEEE 802 clause 8.4), the same in every run.
  const std::uint64_t bits = hash64(bmc.device().name);
  std::string mac = "02";
  for (unsigned i = 0; i < 5; ++i) mac += fmt::format(":{:02x}", (bits >> (8 * i)) & 0xFFU);
  value.put("MACAddress", mac);
  value.put("InterfaceEnabled", true);
  value.put("SpeedMbps", 1000);
  value.put("FullDuplex", true);
  const Ipv4 address{bmc.world().options.base.bits + bmc.device().offset};
  value.put("IPv4Addresses",
            Value::list({Value::map(
                {{"Address", to_text(address)}, {"SubnetMask", "255.0.0.0"}, {"AddressOrigin", "Static"}})}));
  value.put("Status", status_ok());
  return value;
}

Value host_interface(const SimBmc& bmc) {
  Value value = resource_head(fmt::format("{}/HostInterfaces/1", kManager), "HostInterface.v1_3_0.HostInterface", "1",
                              "Host Interface");
  value.put("HostInterfaceType", "NetworkHostInterface");
  value.put("InterfaceEnabled", bmc.enabled(SimProtocol::host_interface));
  value.put("Status", status_ok());
  return value;
}

template <class Items, class Id>
std::vector<std::string> ids_of(const Items& items, Id id) {
  std::vector<std::string> ids;
  ids.reserve(items.size());
  for (const auto& item : items) ids.push_back(fmt::format("{}", id(item)));
  return ids;
}

Value session(const SimBmc& bmc, const SimSession& session) {
  Value value = resource_head(fmt::format("/redfish/v1/SessionService/Sessions/{}", session.id),
                              "Session.v1_5_0.Session", fmt::format("{}", session.id), "User Session");
  const std::optional<SimAccount> account = bmc.account(session.account);
  value.put("UserName", account ? account->user : std::string());
  value.put("SessionType", "Redfish");
  value.put("CreatedTime", format_utc(session.created_ms));
  return value;
}

Value account_service(const SimBmc& bmc) {
  const SimOptions& options = bmc.world().options;
  Value value = resource_head("/redfish/v1/AccountService", "AccountService.v1_12_0.AccountService", "AccountService",
                              "Account Service");
  value.put("ServiceEnabled", true);
  value.put("Status", status_ok());
  value.put("MinPasswordLength", 8);
  value.put("MaxPasswordLength", 64);
  value.put("AccountLockoutThreshold", options.lockout);
  value.put("AccountLockoutDuration", options.lockout_time.count() / 1'000'000'000);
  value.put("Accounts", link_to("/redfish/v1/AccountService/Accounts"));
  value.put("Roles", link_to("/redfish/v1/AccountService/Roles"));
  return value;
}

Value account(const SimBmc& bmc, const SimAccount& account) {
  Value value = resource_head(fmt::format("/redfish/v1/AccountService/Accounts/{}", account.id),
                              "ManagerAccount.v1_10_0.ManagerAccount", fmt::format("{}", account.id), "User Account");
  value.put("UserName", account.user);
  value.put("Password", Value());  // never returned (DSP0266 section 13.3.5)
  value.put("RoleId", to_text(account.role));
  value.put("Enabled", account.enabled);
  value.put("Locked", account.id == 1 && bmc.locked());
  value.put("PasswordChangeRequired", account.must_change);
  value.put("AccountTypes", Value::list({"Redfish"}));
  const std::string role = fmt::format("/redfish/v1/AccountService/Roles/{}", to_text(account.role));
  value.put("Links", Value::map({{"Role", link_to(role)}}));
  return value;
}

// The privileges that DSP0266 table 38 assigns to its standard roles.
Value role(SimRole role) {
  const std::string_view name = to_text(role);
  Value value =
      resource_head(fmt::format("/redfish/v1/AccountService/Roles/{}", name), "Role.v1_3_1.Role", name, "Role");
  value.put("RoleId", name);
  value.put("IsPredefined", true);
  Value privileges = Value::list({"Login", "ConfigureSelf"});
  if (role != SimRole::read_only) privileges.add("ConfigureComponents");
  if (role == SimRole::administrator) {
    privileges.add("ConfigureManager");
    privileges.add("ConfigureUsers");
  }
  value.put("AssignedPrivileges", std::move(privileges));
  return value;
}

Value task(const SimBmc& bmc, const SimTask& task) {
  if (task.update) return update_task_value(bmc, task);
  const bool ended = bmc.ended(task);
  Value value = resource_head(fmt::format("/redfish/v1/TaskService/Tasks/{}", task.id), "Task.v1_7_0.Task",
                              fmt::format("{}", task.id), "Reset");
  value.put("TaskState", ended ? "Completed" : "Running");
  value.put("TaskStatus", "OK");
  value.put("PercentComplete", ended ? 100 : 50);
  value.put("StartTime", format_utc(task.started_ms));
  if (ended) value.put("EndTime", format_utc(bmc.world().wall_ms(task.ends)));
  value.put("TaskMonitor", fmt::format("/redfish/v1/TaskService/TaskMonitors/{}", task.id));
  return value;
}

}  // namespace

std::optional<Value> manager_resource(const SimBmc& bmc, const SimPath& path) {
  if (path.size() == 1) return collection("/redfish/v1/Managers", "Manager", "Managers", {"BMC"});
  if (path[1] != "BMC" || path.size() > 4) return std::nullopt;
  if (path.size() == 2) return manager(bmc);
  const std::string below = fmt::format("{}/{}", kManager, path[2]);
  if (path.size() == 3) {
    if (path[2] == "NetworkProtocol") return network_protocol(bmc);
    if (path[2] == "EthernetInterfaces") return collection(below, "EthernetInterface", "Interfaces", {"eth0"});
    if (path[2] == "HostInterfaces") return collection(below, "HostInterface", "Host Interfaces", {"1"});
    return std::nullopt;
  }
  if (path[2] == "EthernetInterfaces" && path[3] == "eth0") return ethernet_interface(bmc);
  if (path[2] == "HostInterfaces" && path[3] == "1") return host_interface(bmc);
  return std::nullopt;
}

std::optional<Value> session_resource(const SimBmc& bmc, const SimPath& path) {
  if (path.size() == 1) {
    Value value = resource_head("/redfish/v1/SessionService", "SessionService.v1_1_8.SessionService", "SessionService",
                                "Session Service");
    value.put("ServiceEnabled", true);
    value.put("SessionTimeout", bmc.session_timeout.count() / 1'000'000'000);
    value.put("Status", status_ok());
    value.put("Sessions", link_to("/redfish/v1/SessionService/Sessions"));
    return value;
  }
  if (path[1] != "Sessions" || path.size() > 3) return std::nullopt;
  if (path.size() == 2) {
    return collection("/redfish/v1/SessionService/Sessions", "Session", "Sessions",
                      ids_of(bmc.sessions(), [](const SimSession& each) { return each.id; }));
  }
  for (const SimSession& each : bmc.sessions()) {
    if (number_in_path(path[2]) == each.id) return session(bmc, each);
  }
  return std::nullopt;
}

std::optional<Value> account_resource(const SimBmc& bmc, const SimPath& path) {
  if (path.size() == 1) return account_service(bmc);
  if (path.size() > 3) return std::nullopt;
  constexpr std::array<SimRole, 3> roles{SimRole::administrator, SimRole::operating, SimRole::read_only};
  const std::string below = fmt::format("/redfish/v1/AccountService/{}", path[1]);
  if (path[1] == "Roles") {
    if (path.size() == 2) {
      return collection(below, "Role", "Roles", ids_of(roles, [](SimRole each) { return to_text(each); }));
    }
    const std::optional<SimRole> named = sim_role_named(path[2]);
    return named ? std::optional(role(*named)) : std::nullopt;
  }
  if (path[1] != "Accounts") return std::nullopt;
  if (path.size() == 2) {
    return collection(below, "ManagerAccount", "Accounts",
                      ids_of(bmc.accounts(), [](const SimAccount& each) { return each.id; }));
  }
  const std::optional<std::uint32_t> id = number_in_path(path[2]);
  const std::optional<SimAccount> found = id ? bmc.account(*id) : std::nullopt;
  return found ? std::optional(account(bmc, *found)) : std::nullopt;
}

std::optional<Value> task_resource(const SimBmc& bmc, const SimPath& path) {
  if (path.size() == 1) {
    Value value = resource_head("/redfish/v1/TaskService", "TaskService.v1_2_0.TaskService", "TaskService", "Tasks");
    value.put("ServiceEnabled", true);
    value.put("Status", status_ok());
    value.put("Tasks", link_to("/redfish/v1/TaskService/Tasks"));
    return value;
  }
  if (path[1] == "Tasks" && path.size() == 2) {
    return collection("/redfish/v1/TaskService/Tasks", "Task", "Tasks",
                      ids_of(bmc.tasks(), [](const SimTask& each) { return each.id; }));
  }
  if ((path[1] != "Tasks" && path[1] != "TaskMonitors") || path.size() != 3) return std::nullopt;
  for (const SimTask& each : bmc.tasks()) {
    if (number_in_path(path[2]) == each.id) return task(bmc, each);
  }
  return std::nullopt;
}

}  // namespace weft::bmcsim
