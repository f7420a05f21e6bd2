#include "bmcsim/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/human_format.h"
#include "base/text.h"

namespace weft::bmcsim {
namespace {

using Json = nlohmann::json;
constexpr std::string_view kService = "/redfish/v1/UpdateService";
constexpr std::string_view kInventory = "/redfish/v1/UpdateService/FirmwareInventory";
constexpr std::size_t kMaxVersion = 32;

SimReply refused(std::string_view id, std::string text) {
  return sim_error(400, {{.id = id, .text = std::move(text)}});
}

// A part of multipart/form-data (RFC 7578) by its name; empty if there is none.
std::optional<std::string_view> part_named(std::string_view body, std::string_view boundary, std::string_view name) {
  const std::string line = fmt::format("--{}", boundary);
  for (std::size_t at = body.find(line); at != std::string_view::npos;) {
    const std::size_t begin = at + line.size();
    const std::size_t end = body.find("\r\n" + line, begin);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view part = body.substr(begin, end - begin);
    const std::size_t head = part.find("\r\n\r\n");
    const std::string wanted = fmt::format("name=\"{}\"", name);
    if (head != std::string_view::npos && part.substr(0, head).find(wanted) != std::string_view::npos)
      return part.substr(head + 4);
    at = end + 2;
  }
  return std::nullopt;
}

struct Image {
  bool bios = false;
  std::string version;
};

std::optional<Image> read_image(std::string_view bytes) {
  constexpr std::string_view kMagic = "weft-sim-firmware ";
  if (!bytes.starts_with(kMagic)) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  const std::vector<std::string_view> words = split(bytes.substr(0, bytes.find('\n')), ' ');
  if (words.size() != 2 || (words[0] != "BMC" && words[0] != "BIOS")) return std::nullopt;
  if (words[1].empty() || words[1].size() > kMaxVersion) return std::nullopt;
  return Image{words[0] == "BIOS", std::string(words[1])};
}

SimReply accepted(SimBmc& bmc, const SimTask& task) {
  SimReply reply = sim_success(update_task_value(bmc, task), 202);
  reply.header("Location", fmt::format("/redfish/v1/TaskService/TaskMonitors/{}", task.id));
  reply.header("Retry-After", "1");
  // Received, but the client does not learn it.
  if (bmc.has(FaultKind::update_drops)) reply.shape = ReplyShape::truncated;
  return reply;
}

}  // namespace

bool is_push_path(const SimBmc& bmc, const SimPath& path) {
  const std::string_view last = bmc.has(FaultKind::update_push_uri) ? "update" : "upload";
  return path.size() == 2 && path[0] == "UpdateService" && path[1] == last;
}

SimReply sim_push_image(SimBmc& bmc, const SimHttpRequest& request) {
  std::string_view bytes = request.body;
  bool on_reset = bmc.extras().push_on_reset;
  const std::string_view type = request.header("content-type");
  if (!bmc.has(FaultKind::update_push_uri)) {
    constexpr std::string_view kBoundary = "boundary=";
    const std::size_t at = type.find(kBoundary);
    if (!type.starts_with("multipart/form-data") || at == std::string_view::npos)
      return sim_error(415, {{.id = "UnrecognizedRequestBody", .text = "The body is multipart/form-data."}});
    const std::string_view boundary = type.substr(at + kBoundary.size());
    const auto parameters = part_named(request.body, boundary, "UpdateParameters");
    const auto file = part_named(request.body, boundary, "UpdateFile");
    if (!parameters || !file) return refused("PropertyMissing", "UpdateParameters and UpdateFile are required.");
    const Json json = Json::parse(*parameters, nullptr, false);
    if (!json.is_object()) return refused("MalformedJSON", "UpdateParameters is not a JSON object.");
    on_reset = json.value("@Redfish.OperationApplyTime", Json("Immediate")) == "OnReset";
    bytes = *file;
  }
  const std::optional<Image> image = read_image(bytes);
  if (!image) return refused("InvalidUpload", "The image is not valid for this BMC: its signature is wrong.");
  if (bmc.is_flashing()) {
    return sim_error(503, {{.id = "UpdateInProgress", .text = "An update is in progress."}});
  }
  return accepted(bmc, bmc.begin_flash({image->bios, image->version, on_reset}));
}

Value update_task_value(const SimBmc& bmc, const SimTask& task) {
  const bool ended = bmc.ended(task);
  const bool failed = ended && task.failed;
  Value value = resource_head(fmt::format("/redfish/v1/TaskService/Tasks/{}", task.id), "Task.v1_7_0.Task",
                              fmt::format("{}", task.id), "Firmware Update");
  const std::string_view state = failed ? "Exception" : task.waits ? "Pending" : ended ? "Completed" : "Running";
  value.put("TaskState", state);
  value.put("TaskStatus", failed ? "Critical" : "OK");
  value.put("PercentComplete", ended && !failed ? 100 : 50);
  value.put("StartTime", format_utc(task.started_ms));
  if (ended && !task.waits) value.put("EndTime", format_utc(bmc.world().wall_ms(task.ends)));
  value.put("TaskMonitor", fmt::format("/redfish/v1/TaskService/TaskMonitors/{}", task.id));
  if (failed) {
    value.put("Messages", Value::list({message_value({.id = "ApplyFailed", .text = "The image was not written."})}));
  }
  return value;
}

std::optional<Value> update_resource(const SimBmc& bmc, const SimPath& path) {
  const SimFirmware& now = bmc.extras().firmware;
  if (path.size() == 1) {
    Value value =
        resource_head(std::string(kService), "UpdateService.v1_11_2.UpdateService", "UpdateService", "Update Service");
    value.put("ServiceEnabled", true);
    value.put("Status", status_ok());
    value.put("FirmwareInventory", link_to(std::string(kInventory)));
    value.put("MaxImageSizeBytes", 49152);
    if (bmc.has(FaultKind::update_push_uri)) {
      value.put("HttpPushUri", fmt::format("{}/update", kService));
      const std::string_view time = bmc.extras().push_on_reset ? "OnReset" : "Immediate";
      value.put("HttpPushUriOptions", Value::map({{"HttpPushUriApplyTime", Value::map({{"ApplyTime", time}})}}));
    } else {
      value.put("MultipartHttpPushUri", fmt::format("{}/upload", kService));
      value.put("MultipartHttpPushUri@Redfish.OperationApplyTimeSupport",
                Value::map({{"SupportedValues", Value::list({"Immediate", "OnReset"})}}));
    }
    value.put("Actions", Value::map({{"Oem", Value::map()}}));  // none, but sushy requires the property
    return value;
  }
  if (path[1] != "FirmwareInventory" || path.size() > 3) return std::nullopt;
  if (path.size() == 2) return collection(std::string(kInventory), "SoftwareInventory", "Firmware", {"BMC", "BIOS"});
  if (path[2] != "BMC" && path[2] != "BIOS") return std::nullopt;
  const bool bios = path[2] == "BIOS";
  Value value = resource_head(fmt::format("{}/{}", kInventory, path[2]), "SoftwareInventory.v1_9_0.SoftwareInventory",
                              path[2], fmt::format("{} Firmware", path[2]));
  value.put("Version", bios ? now.bios : now.bmc);
  value.put("Updateable", true);
  value.put("Manufacturer", "weft");
  value.put("Status", (bios ? now.bios_broken : now.bmc_broken)
                          ? Value::map({{"State", "Enabled"}, {"Health", "Critical"}})
                          : status_ok());
  return value;
}

// ---- the flash ----

bool SimBmc::is_flashing() const { return extras_ && extras_->flash && !extras_->flash->done; }

const SimTask& SimBmc::begin_flash(const SimFlashOrder& order) {
  ++counters.images;
  if (tasks_.size() >= kMaxSimTasks) tasks_.erase(tasks_.begin());
  SimTask task;
  task.id = next_task_++;
  task.started_ms = world_->wall_ms(now_);
  task.update = true;
  task.endless = has(FaultKind::update_stuck);
  task.waits = order.on_reset;
  task.ends = now_ + drawn(world_->options.flash_time);
  SimFlash flash;
  flash.order = order;
  flash.ends = task.ends;
  flash.task = task.id;
  flash.restarts = !order.bios && !order.on_reset && !task.endless && !has(FaultKind::update_fails);
  writable_extras().flash = flash;
  tasks_.push_back(task);
  wake_streams();
  return tasks_.back();
}

// What the flash came to, when its time is over.
void SimBmc::end_flash() {
  SimFlash& flash = *extras_->flash;
  flash.done = true;
  SimFirmware& firmware = extras_->firmware;
  if (has(FaultKind::update_fails)) {
    for (SimTask& task : tasks_) task.failed = task.failed || task.id == flash.task;
    const bool half = faults().argument(FaultKind::update_fails) == kFlashHalf;
    if (half) (flash.order.bios ? firmware.bios_broken : firmware.bmc_broken) = true;
    add_event(SimEventKind::update_failed, flash.order.bios ? 1 : 0);
    return;
  }
  if (flash.restarts) {
    std::vector<SimSession>().swap(sessions_);
    if (has(FaultKind::update_task_lost)) std::vector<SimTask>().swap(tasks_);
    wake_streams();
    if (feed_) feed_->clear();
    add_event(SimEventKind::started);
  }
  if (has(FaultKind::update_unchanged)) return;
  // A BIOS takes effect when the machine starts.
  if (flash.order.on_reset || (flash.order.bios && power_ != oob::PowerState::off)) {
    flash.staged = true;
    return;
  }
  apply_flash();
}

void SimBmc::apply_flash() {
  const SimFlashOrder& order = extras_->flash->order;
  SimFirmware& firmware = extras_->firmware;
  (order.bios ? firmware.bios : firmware.bmc) = order.version;
  (order.bios ? firmware.bios_broken : firmware.bmc_broken) = false;
  add_event(SimEventKind::update_done, order.bios ? 1 : 0);
  extras_->flash->staged = false;
  for (SimTask& task : tasks_) {
    if (task.id == extras_->flash->task) task.waits = false;
  }
}

bool SimBmc::is_restarting(Duration now) const {
  if (!extras_ || !extras_->flash || !extras_->flash->restarts) return false;
  const Duration begins = extras_->flash->ends;
  return now >= begins && now < begins + world_->options.restart_time;
}

}  // namespace weft::bmcsim
