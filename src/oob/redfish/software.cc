#include "oob/redfish/software.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/quoting.h"
#include "base/text.h"
#include "oob/redfish/json.h"
#include "oob/redfish/reply.h"

namespace weft::oob {
namespace {

// Largest integer that a double represents exactly.
constexpr double kMaxExact = 9'007'199'254'740'992.0;

std::uint64_t bytes_of(const Value& value, std::string_view key) {
  const std::optional<double> size = number(value, {key});
  if (!size || !std::isfinite(*size) || *size < 1 || *size > kMaxExact) return 0;
  return static_cast<std::uint64_t>(*size);
}

std::string list_of(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : ",") + json_quote(path);
  return "[" + text + "]";
}

std::string apply_time_member(ApplyTime time) {
  if (time == ApplyTime::unset) return {};
  return fmt::format(R"(,"@Redfish.OperationApplyTime":{})", json_quote(std::string(to_text(time))));
}

// Values that say which step of a task is last.
UpdateTask::State task_state(std::string_view state, std::string_view status) {
  using State = UpdateTask::State;
  for (const std::string_view failed : {"Exception", "Killed", "Cancelled", "Interrupted"}) {
    if (state == failed) return State::failed;
  }
  if (state == "Completed") return status == "Critical" ? State::failed : State::done;
  return state == "Pending" || state == "Suspended" ? State::waiting : State::running;
}

}  // namespace

FirmwareItem parse_software(const Value& value) {
  FirmwareItem item;
  item.path = path_of(value, {"@odata.id"});
  item.id = clean_text(value, {"Id"});
  item.name = clean_text(value, {"Name"});
  item.component = component_of(item.id, item.name);
  item.version = clean_text(value, {"Version"});
  item.lowest = clean_text(value, {"LowestSupportedVersion"});
  item.manufacturer = clean_text(value, {"Manufacturer"});
  item.state = clean_text(value, {"Status", "State"});
  item.health = parse_health(raw_text(value, {"Status", "Health"}));
  item.updateable = truth(value, {"Updateable"});
  item.previous = item.id.starts_with("Previous-");
  return item;
}

UpdateLinks parse_update_links(const Value& value) {
  return {path_of(value, {"FirmwareInventory"}), path_of(value, {"SoftwareInventory"})};
}

UpdateService parse_update_service(const Value& value) {
  UpdateService service;
  service.enabled = truth(value, {"ServiceEnabled"}).value_or(true);
  service.path = path_of(value, {"@odata.id"});
  service.multipart = path_of(value, {"MultipartHttpPushUri"});
  service.push = path_of(value, {"HttpPushUri"});
  service.push_elsewhere = service.push.empty() && !raw_text(value, {"HttpPushUri"}).empty();
  service.push_targets = member(value, {"HttpPushUriTargets"}) != nullptr;
  service.push_options = member(value, {"HttpPushUriOptions"}) != nullptr;
  service.simple = path_of(value, {"Actions", "#UpdateService.SimpleUpdate", "target"});
  service.protocols =
      texts(value, {"Actions", "#UpdateService.SimpleUpdate", "TransferProtocol@Redfish.AllowableValues"});
  service.max_bytes = bytes_of(value, "MaxImageSizeBytes");
  service.apply_times = texts(value, {"MultipartHttpPushUri@Redfish.OperationApplyTimeSupport", "SupportedValues"});
  if (service.apply_times.empty()) {
    service.apply_times = texts(
        value, {"Actions", "#UpdateService.SimpleUpdate", "@Redfish.OperationApplyTimeSupport", "SupportedValues"});
  }
  return service;
}

std::optional<UpdateTask> parse_update_task(const Value& value) {
  const std::string state = raw_text(value, {"TaskState"});
  if (state.empty()) return std::nullopt;
  UpdateTask task;
  task.path = path_of(value, {"@odata.id"});
  task.state_text = clean(state);
  task.state = task_state(state, raw_text(value, {"TaskStatus"}));
  const std::optional<double> percent = number(value, {"PercentComplete"});
  if (percent && *percent >= 0 && *percent <= 100) task.percent = static_cast<int>(*percent);
  for (const Value& message : list(value, {"Messages"})) {
    std::string text = clean_text(message, {"Message"});
    if (text.empty()) text = clean_text(message, {"MessageId"});
    if (!text.empty()) task.message = std::move(text);
  }
  return task;
}

// Targets may be empty: the service then decides (UpdateParameters of DSP8010).
std::string update_parameters(const FirmwarePush& push) {
  return fmt::format(R"({{"Targets":{}{}}})", list_of(push.targets), apply_time_member(push.apply_time));
}

std::string simple_update_body(const UpdateService& service, const FirmwarePush& push) {
  std::string body = "{\"ImageURI\":" + json_quote(push.uri);
  std::string scheme = push.uri.substr(0, push.uri.find(':'));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  if (std::find(service.protocols.begin(), service.protocols.end(), scheme) != service.protocols.end())
    body += ",\"TransferProtocol\":" + json_quote(scheme);
  if (!push.targets.empty()) body += ",\"Targets\":" + list_of(push.targets);
  return body + apply_time_member(push.apply_time) + "}";
}

MultipartFrame multipart_frame(std::string_view parameters, std::string_view file_name, std::string_view image) {
  // The boundary must not occur in a part (RFC 2046, 5.1.1).
  std::string boundary;
  for (int i = 0; boundary.empty() || image.find(boundary) != std::string_view::npos; ++i)
    boundary = fmt::format("weft-firmware-{:08d}", i);
  std::string name;
  for (const char c : file_name) {
    if (c > ' ' && c < '\x7F' && c != '"' && c != '\\' && c != '/') name += c;
  }
  if (name.empty()) name = "image";
  MultipartFrame frame;
  frame.content_type = "multipart/form-data; boundary=" + boundary;
  frame.head = fmt::format(
      "--{0}\r\nContent-Disposition: form-data; name=\"UpdateParameters\"\r\nContent-Type: application/json\r\n\r\n"
      "{1}\r\n--{0}\r\nContent-Disposition: form-data; name=\"UpdateFile\"; filename=\"{2}\"\r\n"
      "Content-Type: application/octet-stream\r\n\r\n",
      boundary, parameters, name);
  frame.tail = fmt::format("\r\n--{}--\r\n", boundary);
  return frame;
}

}  // namespace weft::oob
