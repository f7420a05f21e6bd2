#include "oob/redfish/bmc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/quoting.h"
#include "base/text.h"
#include "oob/bmc/connector.h"
#include "oob/console/program_console.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

// Poll interval for a task if the BMC sends no Retry-After, and the minimum for Retry-After.
constexpr Duration kTaskPoll = milliseconds(1'000);
constexpr Duration kMinTaskPoll = milliseconds(100);

std::string id_of(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// Chassis.ChassisType of DSP2046: the lower, the more it is a machine as a whole.
std::size_t machine_rank(std::string_view type) {
  constexpr std::array<std::string_view, 12> kTypes{"RackMount",  "Blade",  "Sled",   "Shelf",
                                                    "StandAlone", "Drawer", "Tower",  "Enclosure",
                                                    "RackGroup",  "Other",  "Module", "Component"};
  return static_cast<std::size_t>(std::find(kTypes.begin(), kTypes.end(), type) - kTypes.begin());
}

// Firmware without a serial number writes a word for it.
bool is_serial(const std::string& text) {
  const bool is_zero = text.find_first_not_of('0') == std::string::npos;  // also if it is empty
  return !is_zero && !equals_ignoring_case(text, "NA") && !equals_ignoring_case(text, "N/A") &&
         !equals_ignoring_case(text, "None") && !equals_ignoring_case(text, "Unknown");
}

}  // namespace

Result<const Resettable*> RedfishBmc::thing() {
  if (!thing_) {
    Result<Resettable> found = find_thing();
    if (!found.ok()) return found.error();
    session_->look_again(found->identity.manufacturer, {});
    thing_ = std::move(found).value();
  }
  return &*thing_;
}

Result<Resettable> RedfishBmc::find_thing() {
  for (const std::string& path : {session_->root().systems, session_->root().chassis}) {
    if (path.empty()) continue;
    const Result<RedfishReply> reply = session_->get(path);
    if (!reply.ok() && reply.error().code == ErrorCode::not_found) continue;
    if (!reply.ok()) return reply.error();
    Result<Resettable> found = choose(parse_collection(reply->value).members);
    if (found.ok() || found.error().code != ErrorCode::not_found) return found;
  }
  return error(ErrorCode::not_found, "has no system and no chassis whose power can be controlled");
}

Result<Resettable> RedfishBmc::choose(const std::vector<std::string>& paths) {
  std::vector<Resettable> candidates;
  std::optional<Error> problem;
  for (const Result<Value>& value : session_->get_many(paths)) {
    if (!value.ok()) {
      if (!problem) problem = value.error();
      continue;
    }
    Resettable one = parse_resettable(*value);
    if (!one.path.empty() && !one.reset_target.empty()) candidates.push_back(std::move(one));
  }
  if (candidates.empty()) return problem ? *problem : error(ErrorCode::not_found, "no resource supports reset");
  if (candidates.size() > 1) session_->look_again(candidates.front().identity.manufacturer, {});
  const std::vector<std::string>& wanted = session_->quirk().systems;
  const auto rank = [&](const Resettable& one) {
    return std::find(wanted.begin(), wanted.end(), id_of(one.path)) - wanted.begin();
  };
  return *std::min_element(candidates.begin(), candidates.end(), [&](const Resettable& a, const Resettable& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.memory_gib > b.memory_gib;
  });
}

Result<const ManagerInfo*> RedfishBmc::manager() {
  if (manager_) return &*manager_;
  std::string path = thing_ ? thing_->manager : std::string();
  if (path.empty()) {
    if (session_->root().managers.empty()) return error(ErrorCode::not_found, "has no manager");
    const Result<RedfishReply> reply = session_->get(session_->root().managers);
    if (!reply.ok()) return reply.error();
    const Collection collection = parse_collection(reply->value);
    if (collection.members.empty()) return error(ErrorCode::not_found, "has no manager");
    path = collection.members.front();
  }
  const Result<RedfishReply> reply = session_->get(path);
  if (!reply.ok()) return reply.error();
  ManagerInfo info = parse_manager(reply->value);
  if (info.path.empty()) info.path = path;
  session_->look_again({}, info.firmware);
  manager_ = std::move(info);
  return &*manager_;
}

// OpenBMC has model and serial in the chassis, of which it lists every board: that of the whole machine counts.
void RedfishBmc::complete_identity(BmcIdentity& identity) {
  if (session_->root().chassis.empty()) return;
  const Result<std::vector<ChassisInfo>> all = chassis();
  if (!all.ok()) return;  // the system was read: what it lacks stays empty
  const ChassisInfo* best = nullptr;
  for (const ChassisInfo& one : *all) {
    const bool is_part =
        !one.systems.empty() && std::find(one.systems.begin(), one.systems.end(), thing_->path) == one.systems.end();
    if (is_part || !is_serial(one.identity.serial)) continue;
    if (best == nullptr || machine_rank(one.type) < machine_rank(best->type)) best = &one;
  }
  if (best == nullptr) return;
  if (identity.manufacturer.empty()) identity.manufacturer = best->identity.manufacturer;
  if (identity.model.empty()) identity.model = best->identity.model;
  if (identity.serial.empty()) identity.serial = best->identity.serial;
}

// A machine with accelerators has a manager for its baseboard, with firmware of its own.
std::string RedfishBmc::other_firmware(const ManagerInfo& main) {
  if (session_->root().managers.empty()) return {};
  std::string text;
  const Members managers = members_of({session_->root().managers}, kMaxMembers).front();
  for (const Member& member : managers.members) {
    if (!member.value.ok()) continue;
    const ManagerInfo info = parse_manager(*member.value);
    if (info.firmware.empty() || member.path == main.path || info.path == main.path) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", id_of(member.path), info.firmware);
  }
  return text;
}

Result<BmcIdentity> RedfishBmc::identity() {
  const Result<const Resettable*> found = thing();
  if (!found.ok()) return found.error();
  BmcIdentity identity = (*found)->identity;
  if (identity.model.empty() || identity.serial.empty()) complete_identity(identity);
  const Result<const ManagerInfo*> bmc = manager();
  if (!bmc.ok() && bmc.error().code != ErrorCode::not_found) return bmc.error();
  if (bmc.ok()) identity.firmware = (*bmc)->firmware;
  if (bmc.ok()) identity.other_firmware = other_firmware(**bmc);
  if (identity.uuid.empty()) identity.uuid = session_->root().uuid;
  if (identity.uuid.empty() && bmc.ok()) identity.uuid = (*bmc)->uuid;
  if (identity.manufacturer.empty()) identity.manufacturer = session_->root().vendor;
  return identity;
}

Result<PowerReading> RedfishBmc::power() {
  if (!thing_) {
    const Result<const Resettable*> found = thing();
    if (!found.ok()) return found.error();
    return (*found)->power;
  }
  const Result<RedfishReply> reply = session_->get(thing_->path);
  if (!reply.ok()) return reply.error();
  return parse_resettable(reply->value).power;
}

Result<std::vector<std::string>> RedfishBmc::reset_types() {
  const Result<const Resettable*> found = thing();
  if (!found.ok()) return found.error();
  if (thing_->reset_types.empty() && !thing_->action_info.empty()) {
    const Result<RedfishReply> reply = session_->get(thing_->action_info);
    if (!reply.ok()) return reply.error();
    thing_->reset_types = parse_action_info(reply->value);
    thing_->action_info.clear();
  }
  std::vector<std::string> types = thing_->reset_types;
  const std::vector<std::string>& missing = session_->quirk().missing_resets;
  std::erase_if(
      types, [&](const std::string& type) { return std::find(missing.begin(), missing.end(), type) != missing.end(); });
  return types;
}

Result<std::vector<ResetAction>> RedfishBmc::reset_actions() {
  const Result<std::vector<std::string>> types = reset_types();
  if (!types.ok()) return types.error();
  return known_resets(*types);
}

Result<std::string> RedfishBmc::spelled(ResetAction action) {
  const Result<std::vector<std::string>> types = reset_types();
  if (!types.ok()) return types.error();
  std::string name(to_text(action));
  const auto offers = [&](std::string_view type) {
    return std::find(types->begin(), types->end(), type) != types->end();
  };
  const std::vector<std::string>& missing = session_->quirk().missing_resets;
  const bool known_missing = std::find(missing.begin(), missing.end(), name) != missing.end();
  if (offers(name) || (thing_->reset_types.empty() && !known_missing)) return name;
  if (action == ResetAction::on && offers("ForceOn")) return std::string("ForceOn");
  return error(ErrorCode::not_found,
               fmt::format("does not offer {}; it offers {}", name,
                           types->empty() ? "nothing" : fmt::format("{}", fmt::join(*types, ", "))));
}

Status RedfishBmc::reset(ResetAction action) {
  const Result<std::string> type = spelled(action);
  if (!type.ok()) return type.error();
  const Result<RedfishReply> reply =
      session_->post(thing_->reset_target, fmt::format(R"({{"ResetType":{}}})", json_quote(*type)));
  if (!reply.ok()) return reply.error();
  return finish(*reply);
}

Status RedfishBmc::finish(const RedfishReply& reply) {
  if (reply.status != 202) return {};
  TaskInfo task = parse_task(reply.value);
  // DSP0266, "Asynchronous operations": Location is the task monitor; some services return the Task itself there.
  std::string monitor = reply.location;
  if (monitor.empty()) monitor = task.monitor;
  if (monitor.empty() && task.task) monitor = task.path;
  Clock& clock = session_->clock();
  const Duration end = clock.now() + session_->endpoint().request_limit;
  std::optional<int> retry_after = reply.retry_after;
  for (;;) {
    if (task.end == TaskEnd::failed) {
      const std::string why = task.message.empty() ? "" : ": " + task.message;
      return error(ErrorCode::unavailable, "accepted, but its task ended as " + task.state + why);
    }
    if (task.end == TaskEnd::done || monitor.empty()) return {};
    const Duration wanted = retry_after ? milliseconds(1'000LL * *retry_after) : kTaskPoll;
    const Duration wait = std::max(wanted, kMinTaskPoll);
    // Still running at the deadline, or stopped by the operator: it was accepted, which is all that is reported.
    if (clock.now() + wait > end || !clock.sleep(wait)) return {};
    const Result<RedfishReply> seen = session_->look(monitor);
    if (!seen.ok()) {
      // A monitor may vanish once its task has ended. A timeout proves nothing about the operation either.
      const ErrorCode code = seen.error().code;
      if (code == ErrorCode::not_found || code == ErrorCode::timeout || session_->clock().stopped()) return {};
      return seen.error();
    }
    task = parse_task(seen->value);
    if (seen->status != 202 && !task.task) return {};
    retry_after = seen->retry_after;
  }
}

Result<std::unique_ptr<ConsoleStream>> RedfishBmc::console() {
  const Endpoint& endpoint = session_->endpoint();
  if (!endpoint.console.empty()) return open_program_console(endpoint.console, endpoint.device);
  return error(ErrorCode::not_found,
               "Redfish has no serial console; set `console:` to a program, or use an IPMI endpoint");
}

Result<std::unique_ptr<Bmc>> dial_redfish(const Endpoint& endpoint, const std::string& user, const Secret& password,
                                          Clock& clock) {
  Result<std::unique_ptr<RedfishSession>> session = RedfishSession::open(endpoint, user, password, clock);
  if (!session.ok()) return session.error();
  return std::unique_ptr<Bmc>(std::make_unique<RedfishBmc>(std::move(session).value()));
}

}  // namespace weft::oob
