#include "oob/redfish/reply.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxMessages = 16;
constexpr std::size_t kMaxMessageBytes = 4096;

PowerState power_state(std::string_view text) {
  // Resource.PowerState; "Paused" means powered on.
  if (text == "On" || text == "Paused") return PowerState::on;
  if (text == "Off") return PowerState::off;
  if (text == "PoweringOn") return PowerState::powering_on;
  if (text == "PoweringOff") return PowerState::powering_off;
  return PowerState::unknown;
}

UserRole role_named(std::string_view id) {
  // Predefined roles of DSP0266; the privileges of other roles do not follow from the name.
  if (id == "Administrator") return UserRole::administrator;
  if (id == "Operator") return UserRole::operating;
  if (id == "ReadOnly" || id == "ReadOnlyUser") return UserRole::read_only;
  return UserRole::none;
}

const Value* reset_action(const Value& value) {
  for (const std::string_view name : {"#ComputerSystem.Reset", "#Chassis.Reset"}) {
    if (const Value* action = member(value, {"Actions", name}); action != nullptr) return action;
  }
  return nullptr;
}

}  // namespace

ServiceRoot parse_service_root(const Value& value) {
  ServiceRoot root;
  root.vendor = clean_text(value, {"Vendor"});
  root.product = clean_text(value, {"Product"});
  root.uuid = clean_text(value, {"UUID"});
  if (const Value* oem = member(value, {"Oem"}); oem != nullptr && oem->is_map()) {
    for (const Value::Entry& entry : oem->entries()) {
      if (root.oem.size() < kMaxMessages) root.oem.push_back(clean(entry.key));
    }
  }
  root.systems = path_of(value, {"Systems"});
  root.managers = path_of(value, {"Managers"});
  root.chassis = path_of(value, {"Chassis"});
  root.accounts = path_of(value, {"AccountService"});
  root.sessions = path_of(value, {"Links", "Sessions"});
  root.registries = path_of(value, {"Registries"});
  root.update = path_of(value, {"UpdateService"});
  root.tasks = path_of(value, {"Tasks"});
  root.events = path_of(value, {"EventService"});
  root.telemetry = path_of(value, {"TelemetryService"});
  root.expand_links = truth(value, {"ProtocolFeaturesSupported", "ExpandQuery", "NoLinks"}).value_or(false);
  root.expand_levels = truth(value, {"ProtocolFeaturesSupported", "ExpandQuery", "Levels"}).value_or(false);
  return root;
}

Collection parse_collection(const Value& value) {
  Collection collection;
  for (const Value& item : list(value, {"Members"})) {
    if (collection.members.size() >= kMaxMembers) break;
    std::string path = path_of(item, {"@odata.id"});
    if (path.empty()) continue;
    collection.members.push_back(std::move(path));
    // A link contains only its id.
    if (item.entries().size() > 1) collection.expanded.push_back(&item);
  }
  collection.next = path_of(value, {"Members@odata.nextLink"});
  if (collection.next.empty()) collection.next = path_of(value, {"@odata.nextLink"});
  return collection;
}

// What is wrong, as Status.Conditions says (DSP8010, Resource 1.11): the worst first, at most three.
std::string conditions_text(const Value& value) {
  constexpr std::size_t kMaxConditions = 3;
  std::vector<std::pair<Health, std::string>> found;
  for (const Value& condition : list(value, {"Status", "Conditions"})) {
    if (found.size() >= kMaxMembers) break;
    std::string text = clean_text(condition, {"Message"});
    if (text.empty()) text = clean_text(condition, {"MessageId"});
    if (!text.empty()) found.emplace_back(parse_health(raw_text(condition, {"Severity"})), std::move(text));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), kMaxConditions); ++i)
    text += (i == 0 ? "" : "; ") + found[i].second;
  return text;
}

Resettable parse_resettable(const Value& value) {
  Resettable thing;
  thing.path = path_of(value, {"@odata.id"});
  if (const Value* action = reset_action(value); action != nullptr) {
    thing.reset_target = path_of(*action, {"target"});
    thing.action_info = path_of(*action, {"@Redfish.ActionInfo"});
    thing.reset_types = texts(*action, {"ResetType@Redfish.AllowableValues"});
  }
  thing.log_services = path_of(value, {"LogServices"});
  for (const Value& manager : list(value, {"Links", "ManagedBy"})) {
    if (thing.manager.empty()) thing.manager = path_of(manager, {"@odata.id"});
  }
  thing.memory_gib = number(value, {"MemorySummary", "TotalSystemMemoryGiB"}).value_or(0);
  thing.identity.manufacturer = clean_text(value, {"Manufacturer"});
  thing.identity.model = clean_text(value, {"Model"});
  thing.identity.serial = clean_text(value, {"SerialNumber"});
  // Dell stores the service tag in SKU, and a board number in SerialNumber; inventories use the serial.
  if (thing.identity.serial.empty()) thing.identity.serial = clean_text(value, {"SKU"});
  if (to_lower(thing.identity.manufacturer).starts_with("dell"))
    thing.identity.service_tag = clean_text(value, {"SKU"});
  thing.identity.uuid = clean_text(value, {"UUID"});
  thing.identity.bios = clean_text(value, {"BiosVersion"});
  thing.power.state = power_state(raw_text(value, {"PowerState"}));
  thing.power.boot_progress = clean_text(value, {"BootProgress", "LastState"});
  thing.power.boot_id = clean_text(value, {"LastResetTime"});
  thing.power.health = std::max(parse_health(raw_text(value, {"Status", "Health"})),
                                parse_health(raw_text(value, {"Status", "HealthRollup"})));
  thing.power.condition = conditions_text(value);
  // LastStateTime changes with every state of a boot; only that of the first state identifies the boot.
  if (thing.power.boot_id.empty() && thing.power.boot_progress == "PrimaryProcessorInitializationStarted") {
    thing.power.boot_id = clean_text(value, {"BootProgress", "LastStateTime"});
  }
  return thing;
}

std::vector<std::string> parse_action_info(const Value& value) {
  for (const Value& parameter : list(value, {"Parameters"})) {
    if (raw_text(parameter, {"Name"}) == "ResetType") return texts(parameter, {"AllowableValues"});
  }
  return {};
}

std::vector<ResetAction> known_resets(const std::vector<std::string>& types) {
  std::vector<ResetAction> out;
  const auto add = [&](ResetAction action) {
    if (std::find(out.begin(), out.end(), action) == out.end()) out.push_back(action);
  };
  for (const std::string& type : types) {
    if (const std::optional<ResetAction> action = reset_action_named(type)) add(*action);
    if (type == "ForceOn") add(ResetAction::on);
  }
  return out;
}

ManagerInfo parse_manager(const Value& value) {
  ManagerInfo manager;
  manager.path = path_of(value, {"@odata.id"});
  manager.model = clean_text(value, {"Model"});
  manager.firmware = clean_text(value, {"FirmwareVersion"});
  manager.uuid = clean_text(value, {"UUID"});
  if (manager.uuid.empty()) manager.uuid = clean_text(value, {"ServiceEntryPointUUID"});
  manager.network_protocol = path_of(value, {"NetworkProtocol"});
  manager.log_services = path_of(value, {"LogServices"});
  manager.host_interfaces = path_of(value, {"HostInterfaces"});
  return manager;
}

ChassisInfo parse_chassis(const Value& value) {
  ChassisInfo chassis;
  chassis.path = path_of(value, {"@odata.id"});
  chassis.sensors = path_of(value, {"Sensors"});
  chassis.thermal = path_of(value, {"Thermal"});
  chassis.power = path_of(value, {"Power"});
  chassis.within = path_of(value, {"Links", "ContainedBy"});
  for (const Value& system : list(value, {"Links", "ComputerSystems"}))
    chassis.systems.push_back(path_of(system, {"@odata.id"}));
  chassis.type = raw_text(value, {"ChassisType"});
  chassis.identity.manufacturer = clean_text(value, {"Manufacturer"});
  chassis.identity.model = clean_text(value, {"Model"});
  chassis.identity.serial = clean_text(value, {"SerialNumber"});
  return chassis;
}

LogService parse_log_service(const Value& value) {
  LogService log;
  log.path = path_of(value, {"@odata.id"});
  log.id = clean_text(value, {"Id"});
  log.entries = path_of(value, {"Entries"});
  log.clear_target = path_of(value, {"Actions", "#LogService.ClearLog", "target"});
  log.sel = raw_text(value, {"LogEntryType"}) == "SEL";
  return log;
}

Account parse_account(const Value& value) {
  Account account;
  account.path = path_of(value, {"@odata.id"});
  account.etag = raw_text(value, {"@odata.etag"});
  account.role_path = path_of(value, {"Links", "Role"});
  account.user.id = clean_text(value, {"Id"});
  account.user.name = clean_text(value, {"UserName"});
  account.user.role = role_named(raw_text(value, {"RoleId"}));
  account.user.enabled = truth(value, {"Enabled"}).value_or(true);  // iLO does not report it
  account.user.locked = truth(value, {"Locked"}).value_or(false);
  return account;
}

UserRole parse_role(const Value& value) {
  const std::vector<std::string> privileges = texts(value, {"AssignedPrivileges"});
  const auto has = [&](std::string_view name) {
    return std::find(privileges.begin(), privileges.end(), name) != privileges.end();
  };
  // The predefined roles of DSP0266 differ in these.
  if (has("ConfigureUsers") || has("ConfigureManager")) return UserRole::administrator;
  if (has("ConfigureComponents")) return UserRole::operating;
  return has("Login") ? UserRole::read_only : UserRole::none;
}

BmcSettings parse_network_protocol(const Value& value) {
  BmcSettings settings;
  settings.ipmi_over_lan = truth(value, {"IPMI", "ProtocolEnabled"});
  settings.http = truth(value, {"HTTP", "ProtocolEnabled"});
  const double port = number(value, {"HTTP", "Port"}).value_or(80);
  if (port >= 1 && port <= 65'535) settings.http_port = static_cast<std::uint16_t>(port);
  settings.ssh = truth(value, {"SSH", "ProtocolEnabled"});
  settings.snmp = truth(value, {"SNMP", "ProtocolEnabled"});
  const Value* servers = member(value, {"NTP", "NTPServers"});
  const std::optional<bool> ntp = truth(value, {"NTP", "ProtocolEnabled"});
  if (servers != nullptr && servers->is_list()) {
    std::vector<std::string> names = texts(value, {"NTP", "NTPServers"});
    std::erase_if(names, [](const std::string& name) { return name.empty(); });
    if (ntp == false) names.clear();  // servers that are not used
    settings.ntp = std::move(names);
  } else if (ntp == false) {
    settings.ntp.emplace();
  }
  return settings;
}

SessionInfo parse_session(const Value& value) {
  return {path_of(value, {"@odata.id"}), raw_text(value, {"UserName"}), raw_text(value, {"Context"}),
          raw_text(value, {"CreatedTime"})};
}

TaskInfo parse_task(const Value& value) {
  // Task.TaskState of DSP8010.
  constexpr std::array<std::string_view, 3> kFailed{"Exception", "Killed", "Cancelled"};
  TaskInfo task;
  const std::string state = raw_text(value, {"TaskState"});
  task.task = !state.empty();
  task.path = path_of(value, {"@odata.id"});
  task.monitor = path_of(value, {"TaskMonitor"});
  task.state = clean(state);
  if (std::find(kFailed.begin(), kFailed.end(), state) != kFailed.end()) {
    task.end = TaskEnd::failed;
  } else if (state == "Completed") {
    task.end = raw_text(value, {"TaskStatus"}) == "Critical" ? TaskEnd::failed : TaskEnd::done;
  }
  for (const Value& message : list(value, {"Messages"})) {
    if (task.message.empty()) task.message = clean_text(message, {"Message"});
  }
  return task;
}

bool ReplyMessages::has(std::string_view name) const {
  return std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
    return id == name || (id.size() > name.size() && id.ends_with(name) && id[id.size() - name.size() - 1] == '.');
  });
}

ReplyMessages parse_messages(const Value& value) {
  ReplyMessages messages;
  const Value* body = member(value, {"error"});
  if (body == nullptr) body = &value;
  for (const Value& item : list(*body, {"@Message.ExtendedInfo"})) {
    if (messages.ids.size() >= kMaxMessages) break;
    messages.ids.push_back(clean_text(item, {"MessageId"}));
    const std::string text = raw_text(item, {"Message"});
    if (!text.empty() && messages.text.size() < kMaxMessageBytes) {
      messages.text += messages.text.empty() ? "" : "; ";
      messages.text += text.substr(0, kMaxMessageBytes);
    }
    if (!messages.ids.back().ends_with("PasswordChangeRequired")) continue;
    // Base registry: the argument is the URI of the account.
    for (const Value& argument : list(item, {"MessageArgs"})) {
      if (argument.is_text() && is_trusted_path(argument.text())) messages.change_account = argument.text();
    }
  }
  if (messages.text.empty()) messages.text = raw_text(*body, {"message"}).substr(0, kMaxMessageBytes);
  if (messages.ids.empty()) {
    if (const std::string code = clean_text(*body, {"code"}); !code.empty()) messages.ids.push_back(code);
  }
  return messages;
}

std::string location_path(std::string_view location) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!location.starts_with(scheme)) continue;
    const std::size_t slash = location.find('/', scheme.size());
    location = slash == std::string_view::npos ? std::string_view() : location.substr(slash);
    break;
  }
  return is_trusted_path(location) ? std::string(location) : std::string();
}

}  // namespace weft::oob
