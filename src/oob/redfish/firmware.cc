// RedfishBmc: firmware inventory, and one request of an update at a time.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/quoting.h"
#include "oob/redfish/bmc.h"
#include "oob/redfish/json.h"
#include "oob/redfish/software.h"

namespace weft::oob {
namespace {

// "FirmwareInventory/BMC" of /redfish/v1/UpdateService/FirmwareInventory/BMC.
std::string short_name(std::string_view path) {
  constexpr std::string_view kService = "/UpdateService/";
  const std::size_t at = path.find(kService);
  return clean(at == std::string_view::npos ? path : path.substr(at + kService.size()));
}

}  // namespace

Result<Value> RedfishBmc::read_update_service() {
  if (session_->root().update.empty()) return error(ErrorCode::not_found, "has no UpdateService");
  Result<RedfishReply> reply = session_->get(session_->root().update);
  if (!reply.ok()) return reply.error();
  return std::move(reply->value);
}

Result<FirmwareInventory> RedfishBmc::firmware_inventory() {
  const Result<Value> service = read_update_service();
  if (!service.ok()) return service.error();
  const UpdateLinks links = parse_update_links(*service);
  if (links.firmware.empty() && links.software.empty())
    return error(ErrorCode::not_found, "its UpdateService has no inventory");
  std::vector<std::string> paths;
  for (const std::string& path : {links.firmware, links.software}) {
    if (!path.empty()) paths.push_back(path);
  }
  FirmwareInventory out;
  std::set<std::string> known;  // some BMCs list an item in both
  const std::vector<Members> collections = members_of(paths, kMaxMembers);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (collections[i].problem) out.unread.push_back({short_name(paths[i]), *collections[i].problem});
    for (const Member& one : collections[i].members) {
      if (!one.value.ok()) {
        out.unread.push_back({short_name(one.path), one.value.error()});
        continue;
      }
      FirmwareItem item = parse_software(*one.value);
      if (item.path.empty()) item.path = one.path;
      if (item.id.empty()) {
        out.unread.push_back({short_name(one.path), error(ErrorCode::invalid_input, "has no Id")});
        continue;
      }
      item.software = paths[i] == links.software;
      if (known.insert(item.path).second) out.items.push_back(std::move(item));
    }
  }
  return out;
}

Result<UpdateService> RedfishBmc::update_service() {
  const Result<Value> value = read_update_service();
  if (!value.ok()) return value.error();
  UpdateService service = parse_update_service(*value);
  if (service.path.empty()) service.path = session_->root().update;
  return service;
}

// What HttpPushUri takes no parameters for is set before. Nothing is flashed by it.
Status RedfishBmc::set_push_options(const UpdateService& service, const FirmwarePush& push) {
  std::string body;
  const auto add = [&](std::string part) { body += (body.empty() ? "" : ",") + std::move(part); };
  if (!push.targets.empty() && !service.push_targets)
    return error(ErrorCode::not_found, "takes no targets for HttpPushUri: an image contains what it is for");
  if (!push.targets.empty()) {
    std::string paths;
    for (const std::string& path : push.targets) paths += (paths.empty() ? "" : ",") + json_quote(path);
    add(fmt::format(R"("HttpPushUriTargets":[{}])", paths));
  }
  if (push.apply_time != ApplyTime::unset && service.push_options) {
    add(fmt::format(R"("HttpPushUriOptions":{{"HttpPushUriApplyTime":{{"ApplyTime":{}}}}})",
                    json_quote(std::string(to_text(push.apply_time)))));
  }
  if (body.empty()) return {};
  const Result<RedfishReply> reply = session_->patch(service.path, "{" + body + "}", {});
  if (reply.ok()) return {};
  // A lost answer to this request does not make the update ambiguous: the image was not sent.
  return error(ErrorCode::refused, "did not take the options of the update: " + reply.error().message);
}

Result<UpdateTask> RedfishBmc::push_firmware(const UpdateService& service, const FirmwarePush& push) {
  Result<RedfishReply> reply = error(ErrorCode::internal, "unreachable");
  switch (push.method) {
    case PushMethod::multipart: {
      const MultipartFrame frame = multipart_frame(update_parameters(push), push.file_name, push.image);
      reply = session_->upload(service.multipart, frame.content_type, {frame.head, push.image, frame.tail}, push.limit);
      break;
    }
    case PushMethod::http_push: {
      if (const Status set = set_push_options(service, push); !set.ok()) return set.error();
      reply = session_->upload(service.push, "application/octet-stream", {push.image}, push.limit);
      break;
    }
    case PushMethod::simple:
      reply = session_->post(service.simple, simple_update_body(service, push));
      break;
  }
  if (!reply.ok()) return reply.error();
  UpdateTask task = parse_update_task(reply->value).value_or(UpdateTask());
  // The Task stays longer than its monitor, which ends with the response to the request (DSP0266).
  if (task.path.empty()) task.path = reply->location;
  return task;
}

Result<UpdateTask> RedfishBmc::update_task(const std::string& path) {
  const Result<RedfishReply> reply = session_->look(path);
  if (!reply.ok()) return reply.error();
  if (std::optional<UpdateTask> task = parse_update_task(reply->value)) {
    task->path = path;
    return *std::move(task);
  }
  // A monitor: 202 until the operation has ended.
  UpdateTask task;
  task.path = path;
  task.state = reply->status == 202 ? UpdateTask::State::running : UpdateTask::State::done;
  return task;
}

Result<std::vector<std::string>> RedfishBmc::task_paths() {
  if (session_->root().tasks.empty()) return std::vector<std::string>();
  const Result<RedfishReply> service = session_->get(session_->root().tasks);
  if (!service.ok()) return service.error();
  const std::string tasks = path_of(service->value, {"Tasks"});
  if (tasks.empty()) return std::vector<std::string>();
  std::vector<Members> found = members_of({tasks}, kMaxMembers);
  if (found.front().problem) return *found.front().problem;
  std::vector<std::string> paths;
  paths.reserve(found.front().members.size());
  for (const Member& one : found.front().members) paths.push_back(one.path);
  return paths;
}

}  // namespace weft::oob
