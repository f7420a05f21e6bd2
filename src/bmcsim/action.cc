#include "bmcsim/action.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

namespace weft::bmcsim {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kMinPassword = 8;  // MinPasswordLength of account_service()
constexpr std::size_t kMaxPassword = 64;
constexpr std::size_t kMaxAccounts = 8;
constexpr std::size_t kMaxListItems = 16;

SimReply no_content() {
  SimReply reply;
  reply.status = 204;
  return reply;
}

// The body as an object; if it is not one, empty, with the response in `wrong`.
std::optional<Json> object_of(const SimHttpRequest& request, SimReply& wrong) {
  Json json = Json::parse(request.body, nullptr, false);
  if (json.is_discarded()) {
    wrong = sim_error(400, {{.id = "MalformedJSON", .text = "The request body submitted was malformed JSON."}});
    return std::nullopt;
  }
  if (!json.is_object()) {
    wrong = sim_error(400, {{.id = "UnrecognizedRequestBody", .text = "The request body is not a JSON object."}});
    return std::nullopt;
  }
  return json;
}

std::string short_text(const Json& json) {
  // Passwords must not be echoed in a message: strings are never quoted.
  if (json.is_string()) return "a text";
  return json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60);
}

// The properties of a PATCH, validated first and applied together.
class Patch {
 public:
  using Apply = std::function<void()>;

  void later(Apply apply) { apply_.push_back(std::move(apply)); }
  void problem(SimMessage message) { problems_.push_back(std::move(message)); }
  void unknown(const std::string& name) {
    problem({.id = "PropertyUnknown",
             .text = fmt::format("The property {} is not in the list of valid properties for the resource.", name),
             .arguments = {name},
             .property = "/" + name});
  }
  void not_writable(const std::string& name) {
    problem({.id = "PropertyNotWritable",
             .text = fmt::format("The property {} is a read-only property and cannot be assigned a value.", name),
             .arguments = {name},
             .property = "/" + name});
  }
  void wrong_type(const std::string& name, const Json& value) {
    problem({.id = "PropertyValueTypeError",
             .text = fmt::format("The value provided for the property {} is not of a type that it can accept.", name),
             .arguments = {short_text(value), name},
             .property = "/" + name});
  }
  void not_in_list(const std::string& name) {
    problem({.id = "PropertyValueNotInList",
             .text = fmt::format("The value for the property {} is not in the list of acceptable values.", name),
             .arguments = {"", name},
             .property = "/" + name});
  }
  void wrong_format(const std::string& name, std::string_view why) {
    problem({.id = "PropertyValueFormatError",
             .text = fmt::format("The value for the property {} has a format that it cannot accept: {}.", name, why),
             .arguments = {"", name},
             .property = "/" + name});
  }
  void flag(const std::string& name, const Json& value, std::function<void(bool)> apply) {
    if (!value.is_boolean()) return wrong_type(name, value);
    later([apply = std::move(apply), on = value.get<bool>()] { apply(on); });
  }
  void text(const std::string& name, const Json& value, std::size_t most, std::function<void(std::string)> apply) {
    if (!value.is_string()) return wrong_type(name, value);
    if (value.get_ref<const std::string&>().size() > most) return wrong_format(name, "too long");
    later([apply = std::move(apply), given = value.get<std::string>()] { apply(given); });
  }
  void texts(const std::string& name, const Json& value, std::function<void(std::vector<std::string>)> apply) {
    std::vector<std::string> items;
    bool fine = value.is_array() && value.size() <= kMaxListItems;
    for (std::size_t i = 0; fine && i < value.size(); ++i) {
      fine = value[i].is_string() && value[i].get_ref<const std::string&>().size() <= 256;
      if (fine) items.push_back(value[i].get<std::string>());
    }
    if (!fine) return wrong_type(name, value);
    later([apply = std::move(apply), items = std::move(items)] { apply(items); });
  }
  // Visits each member of an object by name.
  void members(const std::string& name, const Json& value,
               const std::function<void(const std::string&, const Json&)>& each) {
    if (!value.is_object()) return wrong_type(name, value);
    for (const auto& [key, item] : value.items()) each(key, item);
  }

  [[nodiscard]] SimReply finish() {
    if (!problems_.empty()) return sim_error(400, problems_);
    if (apply_.empty()) {
      return sim_error(400, {{.id = "NoOperation", .text = "The request body contained no data to act upon."}});
    }
    for (const Apply& apply : apply_) apply();
    return no_content();
  }

 private:
  std::vector<Apply> apply_;
  std::vector<SimMessage> problems_;
};

template <std::size_t N>
std::optional<std::size_t> position(const std::array<std::string_view, N>& names, const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), value.get_ref<const std::string&>());
  return found == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names.begin()));
}

void patch_boot(SimBmc& bmc, Patch& patch, const Json& value) {
  constexpr std::array<std::string_view, 5> targets{"None", "Pxe", "Hdd", "Usb", "BiosSetup"};
  constexpr std::array<std::string_view, 3> enabled{"Disabled", "Once", "Continuous"};
  patch.members("Boot", value, [&](const std::string& name, const Json& item) {
    if (name == "BootSourceOverrideTarget") {
      const std::optional<std::size_t> target = position(targets, item);
      if (!target) return patch.not_in_list("Boot/" + name);
      patch.later([&bmc, target] { bmc.boot_target = static_cast<SimBootTarget>(*target); });
    } else if (name == "BootSourceOverrideEnabled") {
      const std::optional<std::size_t> how = position(enabled, item);
      if (!how) return patch.not_in_list("Boot/" + name);
      patch.later([&bmc, how] { bmc.boot_enabled = static_cast<SimBootEnabled>(*how); });
    } else if (name == "BootSourceOverrideMode") {
      if (item != "UEFI") return patch.not_in_list("Boot/" + name);
      patch.later([] {});
    } else {
      patch.unknown("Boot/" + name);
    }
  });
}

// Shared by systems and chassis: asset tag and locator LED.
void patch_system(SimBmc& bmc, Patch& patch, const Json& body, bool has_boot) {
  for (const auto& [name, value] : body.items()) {
    if (name == "AssetTag") {
      patch.text(name, value, 64, [&bmc](std::string tag) { bmc.writable_extras().asset_tag = std::move(tag); });
    } else if (name == "LocationIndicatorActive") {
      patch.flag(name, value, [&bmc](bool on) { bmc.indicator = on; });
    } else if (name == "IndicatorLED" && has_boot) {
      constexpr std::array<std::string_view, 3> states{"Off", "Lit", "Blinking"};
      const std::optional<std::size_t> state = position(states, value);
      if (!state) {
        patch.not_in_list(name);
        continue;
      }
      patch.later([&bmc, state] { bmc.indicator = *state != 0; });
    } else if (name == "Boot" && has_boot) {
      patch_boot(bmc, patch, value);
    } else if (name == "PowerState" || name == "Id" || name == "Name" || name == "UUID" || name == "SerialNumber") {
      patch.not_writable(name);
    } else {
      patch.unknown(name);
    }
  }
}

void patch_manager(SimBmc& bmc, Patch& patch, const Json& body) {
  const auto weft = [&](const std::string& name, const Json& value) {
    if (name == "Syslog" && value.is_object() && value.size() == 1 && value.contains("Servers")) {
      patch.texts("Oem/Weft/Syslog/Servers", value["Servers"],
                  [&bmc](std::vector<std::string> list) { bmc.writable_extras().syslog = std::move(list); });
    } else if (name == "Firewall" && value.is_object() && value.size() == 1 && value.contains("Allow")) {
      patch.texts("Oem/Weft/Firewall/Allow", value["Allow"],
                  [&bmc](std::vector<std::string> list) { bmc.writable_extras().firewall = std::move(list); });
    } else {
      patch.unknown("Oem/Weft/" + name);
    }
  };
  for (const auto& [name, value] : body.items()) {
    if (name == "Oem" && value.is_object() && value.size() == 1 && value.contains("Weft")) {
      patch.members("Oem/Weft", value["Weft"], weft);
    } else if (name == "FirmwareVersion" || name == "UUID" || name == "Id" || name == "Name") {
      patch.not_writable(name);
    } else {
      patch.unknown(name);
    }
  }
}

void patch_protocols(SimBmc& bmc, Patch& patch, const Json& body) {
  constexpr std::array<std::string_view, 6> names{"HTTP", "HTTPS", "SSH", "IPMI", "SNMP", "NTP"};  // as SimProtocol
  for (const auto& [name, value] : body.items()) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      patch.unknown(name);
      continue;
    }
    const auto protocol = static_cast<SimProtocol>(found - names.begin());
    const std::string group = name;
    patch.members(name, value, [&](const std::string& key, const Json& item) {
      if (key == "ProtocolEnabled") {
        // Disabling the protocol in use is refused, as most BMCs do.
        if (protocol == SimProtocol::https && item == false)
          return patch.not_writable(fmt::format("{}/{}", group, key));
        patch.flag(fmt::format("{}/{}", group, key), item, [&bmc, protocol](bool on) { bmc.enable(protocol, on); });
      } else if (key == "NTPServers" && protocol == SimProtocol::ntp) {
        patch.texts(fmt::format("{}/{}", group, key), item,
                    [&bmc](std::vector<std::string> list) { bmc.writable_extras().ntp = std::move(list); });
      } else {
        patch.unknown(fmt::format("{}/{}", group, key));
      }
    });
  }
}

// {"HttpPushUriOptions": {"HttpPushUriApplyTime": {"ApplyTime": "OnReset"}}}
void patch_update(SimBmc& bmc, Patch& patch, const Json& body) {
  for (const auto& [name, value] : body.items()) {
    if (name != "HttpPushUriOptions" || !bmc.has(FaultKind::update_push_uri)) {
      patch.unknown(name);
      continue;
    }
    const Json::json_pointer place("/HttpPushUriApplyTime/ApplyTime");
    const Json time = value.is_object() && value.contains(place) ? value[place] : Json();
    if (time != "Immediate" && time != "OnReset") {
      patch.not_in_list(name);
      continue;
    }
    patch.later([&bmc, on_reset = time == "OnReset"] { bmc.writable_extras().push_on_reset = on_reset; });
  }
}

SimAccount* account_of(SimBmc& bmc, std::uint32_t id) {
  std::vector<SimAccount>& accounts = bmc.writable_accounts();
  const auto found =
      std::find_if(accounts.begin(), accounts.end(), [&](const SimAccount& each) { return each.id == id; });
  return found == accounts.end() ? nullptr : &*found;
}

bool good_password(const Json& value) {
  if (!value.is_string()) return false;
  const std::size_t size = value.get_ref<const std::string&>().size();
  return size >= kMinPassword && size <= kMaxPassword;
}

void set_password(SimBmc& bmc, SimAccount& account, const std::string& password) {
  account.digest = bmc.world().digest_of(password);
  account.must_change = false;
  ++bmc.counters.password_changes;
}

void patch_account(SimBmc& bmc, Patch& patch, const Json& body, std::uint32_t id) {
  for (const auto& [name, value] : body.items()) {
    if (name == "Password") {
      if (!good_password(value)) {
        patch.wrong_format(name, fmt::format("{} to {} characters", kMinPassword, kMaxPassword));
        continue;
      }
      patch.later([&bmc, id, text = value.get<std::string>()] {
        if (SimAccount* account = account_of(bmc, id)) set_password(bmc, *account, text);
      });
    } else if (name == "Enabled") {
      patch.flag(name, value, [&bmc, id](bool on) {
        if (SimAccount* account = account_of(bmc, id)) account->enabled = on;
      });
    } else if (name == "Locked") {
      if (value != false) {
        patch.not_in_list(name);  // accounts are locked by wrong passwords only
        continue;
      }
      patch.later([&bmc] { bmc.unlock(); });
    } else if (name == "RoleId") {
      const std::optional<SimRole> role = value.is_string() ? sim_role_named(value.get<std::string>()) : std::nullopt;
      if (!role) {
        patch.not_in_list(name);
        continue;
      }
      patch.later([&bmc, id, role] {
        if (SimAccount* account = account_of(bmc, id)) account->role = *role;
      });
    } else if (name == "UserName") {
      patch.text(name, value, 32, [&bmc, id](std::string user) {
        if (SimAccount* account = account_of(bmc, id)) account->user = std::move(user);
      });
    } else {
      patch.unknown(name);
    }
  }
}

SimReply created(const Value& resource, std::string location) {
  SimReply reply = sim_success(resource, 201);
  reply.header("Location", std::move(location));
  return reply;
}

SimReply missing(std::string_view name) {
  return sim_error(400, {{.id = "PropertyMissing",
                          .text = fmt::format("The property {} is a required property and must be included.", name),
                          .arguments = {std::string(name)}}});
}

SimReply post_account(SimBmc& bmc, const Json& body) {
  for (const std::string_view name : {"UserName", "Password", "RoleId"}) {
    if (!body.contains(name) || !body[std::string(name)].is_string()) return missing(name);
  }
  const std::optional<SimRole> role = sim_role_named(body["RoleId"].get<std::string>());
  const std::string user = body["UserName"].get<std::string>();
  if (!role || !good_password(body["Password"]) || user.empty() || user.size() > 32) {
    return sim_error(400, {{.id = "PropertyValueFormatError",
                            .text = fmt::format("A UserName of 1 to 32 characters, a Password of {} to {}, and a "
                                                "RoleId that is there.",
                                                kMinPassword, kMaxPassword)}});
  }
  std::vector<SimAccount>& accounts = bmc.writable_accounts();
  SimAccount account;
  for (const SimAccount& each : accounts) {
    if (each.user == user)
      return sim_error(400, {{.id = "ResourceAlreadyExists", .text = "There is an account of that name."}});
    account.id = std::max(account.id, each.id + 1);
  }
  if (accounts.size() >= kMaxAccounts) {
    return sim_error(400,
                     {{.id = "CreateLimitReachedForResource", .text = "There are as many accounts as there can be."}});
  }
  account.user = user;
  account.role = *role;
  account.digest = bmc.world().digest_of(body["Password"].get<std::string>());
  if (body.contains("Enabled") && body["Enabled"].is_boolean()) account.enabled = body["Enabled"].get<bool>();
  accounts.push_back(account);
  bmc.add_event(SimEventKind::account_added, account.id);
  const std::string id = fmt::format("{}", account.id);
  const std::optional<Value> resource = account_resource(bmc, {"AccountService", "Accounts", id});
  return created(resource.value_or(Value()), "/redfish/v1/AccountService/Accounts/" + id);
}

// The single parameter of an action; other parameters are an error (DSP0266 section 7.11).
std::optional<std::string> parameter(const Json& body, std::string_view name, SimReply& wrong) {
  for (const auto& [key, value] : body.items()) {
    if (key == name) continue;
    wrong = sim_error(400, {{.id = "ActionParameterUnknown",
                             .text = fmt::format("The action was submitted with the invalid parameter {}.", key),
                             .arguments = {"", key}}});
    return std::nullopt;
  }
  if (body.contains(name) && body[std::string(name)].is_string()) return body[std::string(name)].get<std::string>();
  wrong = sim_error(400, {{.id = body.contains(name) ? "ActionParameterValueTypeError" : "ActionParameterMissing",
                           .text = fmt::format("The action requires the parameter {}, a text.", name),
                           .arguments = {"", std::string(name)}}});
  return std::nullopt;
}

SimReply not_supported(std::string_view name, const std::string& value) {
  return sim_error(400, {{.id = "ActionParameterNotSupported",
                          .text = fmt::format("The parameter {} has a value that is not supported.", name),
                          .arguments = {std::string(name), value.substr(0, 60)}}});
}

SimReply reset_system(SimBmc& bmc, const Json& body) {
  SimReply wrong;
  const std::optional<std::string> type = parameter(body, "ResetType", wrong);
  if (!type) return wrong;
  for (std::size_t i = 0; i < kSimResets; ++i) {
    const auto reset = static_cast<SimReset>(i);
    if (to_text(reset) != *type || !bmc.listed(reset)) continue;
    if (!bmc.possible(reset)) {
      return sim_error(409,
                       {{.id = "ResourceInStandby", .text = "The system is off: it cannot be reset in this state."}});
    }
    bmc.reset(reset);
    if (!bmc.has(FaultKind::async_reset) && !bmc.has(FaultKind::task_never_ends)) return no_content();
    const std::string id = fmt::format("{}", bmc.add_task().id);
    SimReply reply = sim_success(task_resource(bmc, {"TaskService", "Tasks", id}).value_or(Value()), 202);
    reply.header("Location", "/redfish/v1/TaskService/TaskMonitors/" + id);
    reply.header("Retry-After", "1");
    return reply;
  }
  return not_supported("ResetType", *type);
}

SimReply reset_manager(SimBmc& bmc, const Json& body) {
  SimReply wrong;
  const std::optional<std::string> type = parameter(body, "ResetType", wrong);
  if (!type) return wrong;
  if (*type != "GracefulRestart" && *type != "ForceRestart") return not_supported("ResetType", *type);
  bmc.restart();
  return no_content();
}

SimReply control_outlet(SimBmc& bmc, const Json& body, std::uint32_t number) {
  SimReply wrong;
  const std::optional<std::string> state = parameter(body, "PowerState", wrong);
  if (!state) return wrong;
  const std::uint32_t bit = 1U << (number - 1);
  if (*state == "On" || *state == "PowerCycle") {
    bmc.outlets_off &= ~bit;
  } else if (*state == "Off") {
    bmc.outlets_off |= bit;
  } else {
    return not_supported("PowerState", *state);
  }
  return no_content();
}

}  // namespace

SimReply sim_log_in(SimBmc& bmc, const SimHttpRequest& request) {
  SimReply wrong;
  const std::optional<Json> body = object_of(request, wrong);
  if (!body) return wrong;
  for (const std::string_view name : {"UserName", "Password"}) {
    if (!body->contains(name) || !(*body)[std::string(name)].is_string()) return missing(name);
  }
  const std::optional<SimAccount> account =
      bmc.log_in((*body)["UserName"].get_ref<const std::string&>(), (*body)["Password"].get_ref<const std::string&>());
  if (!account) {
    SimReply reply = sim_error(401, {{.id = "ResourceAtUriUnauthorized",
                                      .text = "The user name or the password is wrong, or the account is locked."}});
    reply.header("WWW-Authenticate", "Basic realm=\"weft simulated BMC\"");
    return reply;
  }
  const SimSession* session = bmc.open_session(account->id);
  if (session == nullptr) {
    return sim_error(503, {{.id = "SessionLimitExceeded",
                            .text = "The session establishment failed due to the number of simultaneous sessions "
                                    "exceeding the limit of the implementation."}});
  }
  const std::string id = fmt::format("{}", session->id);
  Value resource = session_resource(bmc, {"SessionService", "Sessions", id}).value_or(Value());
  if (account->must_change) {
    const std::string path = fmt::format("/redfish/v1/AccountService/Accounts/{}", account->id);
    resource.put("@Message.ExtendedInfo",
                 Value::list({message_value({.id = "PasswordChangeRequired",
                                             .text = fmt::format("The password must be changed: PATCH {}.", path),
                                             .arguments = {path}})}));
  }
  SimReply reply = created(resource, "/redfish/v1/SessionService/Sessions/" + id);
  reply.header("X-Auth-Token", std::string(session->token.data(), session->token.size()));
  return reply;
}

SimReply sim_post(SimBmc& bmc, const SimPath& path, const SimHttpRequest& request) {
  SimReply wrong;
  const std::string_view last = path.back();
  if (last == "LogService.ClearLog") {  // has no parameters, so clients send {} or nothing at all
    bmc.clear_events();
    return no_content();
  }
  const std::optional<Json> body = object_of(request, wrong);
  if (!body) return wrong;
  if (last == "ComputerSystem.Reset") return reset_system(bmc, *body);
  if (last == "Manager.Reset") return reset_manager(bmc, *body);
  if (last == "Outlet.PowerControl") return control_outlet(bmc, *body, number_in_path(path[4]).value_or(1));
  return post_account(bmc, *body);
}

SimReply sim_patch(SimBmc& bmc, const SimPath& path, const SimHttpRequest& request) {
  SimReply wrong;
  const std::optional<Json> body = object_of(request, wrong);
  if (!body) return wrong;
  Patch patch;
  const std::string_view first = path.front();
  if (first == "Systems" || first == "Chassis") {
    patch_system(bmc, patch, *body, first == "Systems");
  } else if (first == "AccountService") {
    patch_account(bmc, patch, *body, number_in_path(path[2]).value_or(0));
  } else if (first == "SessionService") {
    for (const auto& [name, value] : body->items()) {
      if (name != "SessionTimeout") {
        patch.unknown(name);
      } else if (!value.is_number_integer() || value < 30 || value > 86400) {  // the schema's range
        patch.wrong_format(name, "30 to 86400 seconds");
      } else {
        patch.later([&bmc, time = value.get<std::int64_t>()] { bmc.session_timeout = milliseconds(time * 1000); });
      }
    }
  } else if (first == "UpdateService") {
    patch_update(bmc, patch, *body);
  } else if (path.size() == 2) {
    patch_manager(bmc, patch, *body);
  } else if (path[2] == "NetworkProtocol") {
    patch_protocols(bmc, patch, *body);
  } else {
    for (const auto& [name, value] : body->items()) {
      if (name != "InterfaceEnabled") {
        patch.unknown(name);
        continue;
      }
      patch.flag(name, value, [&bmc](bool on) { bmc.enable(SimProtocol::host_interface, on); });
    }
  }
  SimReply reply = patch.finish();
  if (first == "AccountService" && reply.status == 204)
    bmc.add_event(SimEventKind::account_changed, number_in_path(path[2]).value_or(0));
  return reply;
}

SimReply sim_delete(SimBmc& bmc, const SimPath& path) {
  const std::uint32_t id = number_in_path(path[2]).value_or(0);
  if (path.front() == "EventService") {
    bmc.unsubscribe(id);
    return no_content();
  }
  if (path.front() == "SessionService") {
    bmc.close_session(id);
    return no_content();
  }
  std::vector<SimAccount>& accounts = bmc.writable_accounts();
  if (accounts.size() == 1) {
    return sim_error(400, {{.id = "ResourceCannotBeDeleted", .text = "The last account cannot be deleted."}});
  }
  std::erase_if(accounts, [&](const SimAccount& each) { return each.id == id; });
  bmc.add_event(SimEventKind::account_removed, id);
  return no_content();
}

}  // namespace weft::bmcsim
