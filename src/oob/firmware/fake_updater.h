// A scripted BMC with an UpdateService, for tests on a manual clock: one flash of known length, a restart after it, and
// the faults of real ones. Records what was flashed. Every request and journal entry is a step at which the process may
// be killed. Header only, for tests only.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "oob/bmc/fake_bmc.h"
#include "oob/bmc/firmware.h"

namespace weft::oob {

struct UpdateKilled {};

// Counts steps, and ends the process at one of them: before its effect, or after it.
struct StepCounter {
  int steps = 0;
  int at = 0;  // 0: never
  bool after = false;

  void before_effect() {
    if (++steps == at && !after) throw UpdateKilled{};
  }
  void after_effect() const {
    if (steps == at && after) throw UpdateKilled{};
  }
};

struct FakeUpdater {
  Clock& clock;
  StepCounter kill{};
  bool fails = false;         // the task ends as Exception
  bool breaks = false;        // ... and the component is broken
  bool stuck = false;         // the task never ends
  bool unchanged = false;     // Completed without effect
  bool loses_task = false;    // in its restart
  bool drops_answer = false;  // of the push, which is carried out
  bool lists_tasks = true;
  bool declines = false;
  std::optional<Error> broken_read{};
  Duration flash = milliseconds(30'000);
  Duration restart = milliseconds(90'000);
  PowerState power = PowerState::off;
  std::string version = "1.0";
  Health health = Health::ok;

  int pushes = 0;
  std::vector<std::string> images{};  // that were flashed or begun
  std::optional<Duration> began{};
  std::string flashing{};

  [[nodiscard]] bool is_away() const {
    return began && !stuck && !fails && clock.now() >= *began + flash && clock.now() < *began + flash + restart;
  }
  [[nodiscard]] bool is_flashing() const { return began && (stuck || clock.now() < *began + flash); }
  [[nodiscard]] bool has_restarted() const { return began && !stuck && !fails && clock.now() >= *began + flash; }
  void play() {
    if (!began || is_flashing() || flashing.empty()) return;
    if (fails) {
      if (breaks) health = Health::critical;
    } else if (!unchanged) {
      version = flashing;
      health = Health::ok;
    }
    flashing.clear();
  }
};

// Its pushed images are the version that they contain.
class FakeUpdaterBmc final : public Bmc, private FirmwareAccess {
 public:
  explicit FakeUpdaterBmc(FakeUpdater& box) : box_(box) {}

  [[nodiscard]] FirmwareAccess* firmware() override { return this; }
  [[nodiscard]] Result<BmcIdentity> identity() override { return BmcIdentity{"Weft", "Fake", "S1", "", "1.0", "2.0"}; }
  [[nodiscard]] Result<PowerReading> power() override { return PowerReading{box_.power, {}, {}}; }
  [[nodiscard]] Result<std::vector<ResetAction>> reset_actions() override { return none(); }
  [[nodiscard]] Status reset(ResetAction /*action*/) override { return none(); }
  [[nodiscard]] Result<std::vector<SensorReading>> sensors() override { return none(); }
  [[nodiscard]] Result<std::vector<LogEvent>> events() override { return none(); }
  [[nodiscard]] Status clear_events() override { return none(); }
  [[nodiscard]] Result<std::vector<BmcUser>> users() override { return none(); }
  [[nodiscard]] Status set_password(const std::string& /*user*/, const Secret& /*password*/) override { return none(); }
  [[nodiscard]] Status set_user_enabled(const std::string& /*user*/, bool /*enabled*/) override { return none(); }
  [[nodiscard]] Result<BmcSettings> settings() override { return none(); }
  [[nodiscard]] Status change(const SettingsChange& /*change*/) override { return none(); }
  [[nodiscard]] Result<std::unique_ptr<ConsoleStream>> console() override { return none(); }

 private:
  static Error none() { return {ErrorCode::not_found, "not in this fake", {}}; }
  std::optional<Error> ask() {
    box_.kill.before_effect();
    box_.play();
    if (box_.is_away()) return Error{ErrorCode::unavailable, "no connection", {}};
    return std::nullopt;
  }
  [[nodiscard]] Result<FirmwareInventory> firmware_inventory() override {
    if (const auto error = ask()) return *error;
    if (box_.broken_read) return *box_.broken_read;
    FirmwareInventory inventory;
    FirmwareItem bmc;
    bmc.path = "/redfish/v1/UpdateService/FirmwareInventory/BMC";
    bmc.id = bmc.name = bmc.component = "BMC";
    bmc.version = box_.version;
    bmc.health = box_.health;
    bmc.updateable = true;
    FirmwareItem bios = bmc;
    bios.path = "/redfish/v1/UpdateService/FirmwareInventory/BIOS";
    bios.id = bios.name = bios.component = "BIOS";
    bios.version = "7";
    bios.health = Health::ok;
    inventory.items = {bmc, bios};
    return inventory;
  }
  [[nodiscard]] Result<UpdateService> update_service() override {
    if (const auto error = ask()) return *error;
    UpdateService service;
    service.multipart = "/redfish/v1/UpdateService/upload";
    service.max_bytes = 1000;
    return service;
  }
  [[nodiscard]] Result<UpdateTask> push_firmware(const UpdateService& /*service*/, const FirmwarePush& push) override {
    if (const auto error = ask()) return *error;
    if (box_.declines) return Error{ErrorCode::refused, "the image is not valid", {}};
    if (box_.is_flashing()) return Error{ErrorCode::conflict, "an update is in progress", {}};
    ++box_.pushes;
    box_.images.emplace_back(push.image);
    box_.flashing = std::string(push.image);
    box_.began = box_.clock.now();
    box_.kill.after_effect();
    if (box_.drops_answer) return Error{ErrorCode::timeout, "no complete response", {}};
    UpdateTask task;
    task.path = task_path();
    task.state_text = "Running";
    return task;
  }
  [[nodiscard]] Result<UpdateTask> update_task(const std::string& path) override {
    if (const auto error = ask()) return *error;
    if (path != task_path() || (box_.loses_task && box_.has_restarted()))
      return Error{ErrorCode::not_found, "HTTP 404", {}};
    UpdateTask task;
    task.path = path;
    task.state = box_.is_flashing() ? UpdateTask::State::running
                 : box_.fails       ? UpdateTask::State::failed
                                    : UpdateTask::State::done;
    task.state_text = box_.is_flashing() ? "Running" : box_.fails ? "Exception" : "Completed";
    return task;
  }
  [[nodiscard]] Result<std::vector<std::string>> task_paths() override {
    if (const auto error = ask()) return *error;
    std::vector<std::string> paths{"/redfish/v1/TaskService/Tasks/1"};
    if (box_.lists_tasks && box_.pushes > 0 && !(box_.loses_task && box_.has_restarted())) paths.push_back(task_path());
    return paths;
  }
  [[nodiscard]] std::string task_path() const {
    return "/redfish/v1/TaskService/Tasks/" + std::to_string(box_.pushes + 1);
  }

  FakeUpdater& box_;
};

class FakeUpdaterConnector final : public BmcConnector {
 public:
  explicit FakeUpdaterConnector(FakeUpdater& box) : box_(box) {}
  [[nodiscard]] Result<std::unique_ptr<Bmc>> dial(const Endpoint& endpoint, const std::string& /*user*/,
                                                  const Secret& /*password*/) override {
    if (box_.is_away()) return Error{ErrorCode::unavailable, "no connection", endpoint.device};
    return std::unique_ptr<Bmc>(std::make_unique<FakeUpdaterBmc>(box_));
  }

 private:
  FakeUpdater& box_;
};

// A journal whose every entry is a step.
class StepJournal final : public Journal {
 public:
  explicit StepJournal(StepCounter& kill) : kill_(kill) {}
  [[nodiscard]] Status append(JournalEntry entry) override {
    kill_.before_effect();
    Status written = inner_.append(std::move(entry));
    kill_.after_effect();
    return written;
  }
  [[nodiscard]] Result<std::vector<JournalEntry>> read() const override { return inner_.read(); }
  [[nodiscard]] const std::string& path() const override { return inner_.path(); }
  [[nodiscard]] std::string head() const override { return inner_.head(); }

 private:
  StepCounter& kill_;
  MemoryJournal inner_;
};

}  // namespace weft::oob
