// Bmc over Redfish (DSP0266). Resources are located on first use and cached. System selection: the only one; among
// several, the one that the quirk prefers, else the one with the most memory (accelerator boards may be listed beside
// the host), else the first that can be reset. If there is no system (enclosures, some PDUs), the first chassis that
// can be reset is used.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oob/bmc/bmc.h"
#include "oob/bmc/firmware.h"
#include "oob/redfish/message_registry.h"
#include "oob/redfish/session.h"

namespace weft::oob {

class RedfishBmc final : public Bmc, private FirmwareAccess {
 public:
  explicit RedfishBmc(std::unique_ptr<RedfishSession> session) : session_(std::move(session)) {}

  [[nodiscard]] Result<BmcIdentity> identity() override;
  [[nodiscard]] Result<PowerReading> power() override;
  [[nodiscard]] Result<std::vector<ResetAction>> reset_actions() override;
  [[nodiscard]] Status reset(ResetAction action) override;
  [[nodiscard]] Result<std::unique_ptr<ConsoleStream>> console() override;
  // redfish/sensors.cc
  [[nodiscard]] Result<std::vector<SensorReading>> sensors() override;
  [[nodiscard]] Result<SensorReadings> all_sensors() override;
  // redfish/records.cc
  [[nodiscard]] Result<std::vector<LogEvent>> events() override;
  [[nodiscard]] Status clear_events() override;
  // redfish/event_logs.cc
  [[nodiscard]] Result<EventLogs> event_logs(const std::string& only) override;
  // redfish/telemetry.cc
  [[nodiscard]] Result<MetricReports> metrics() override;
  // redfish/event_stream.cc
  [[nodiscard]] Result<std::unique_ptr<EventStream>> event_stream(const std::string& last_id) override;
  // redfish/accounts.cc
  [[nodiscard]] Result<std::vector<BmcUser>> users() override;
  [[nodiscard]] Status set_password(const std::string& user, const Secret& password) override;
  [[nodiscard]] Status set_user_enabled(const std::string& user, bool enabled) override;
  // redfish/settings.cc
  [[nodiscard]] Result<BmcSettings> settings() override;
  [[nodiscard]] Status change(const SettingsChange& change) override;
  // redfish/firmware.cc
  [[nodiscard]] FirmwareAccess* firmware() override { return this; }

 private:
  [[nodiscard]] Result<FirmwareInventory> firmware_inventory() override;
  [[nodiscard]] Result<UpdateService> update_service() override;
  [[nodiscard]] Result<UpdateTask> push_firmware(const UpdateService& service, const FirmwarePush& push) override;
  [[nodiscard]] Result<UpdateTask> update_task(const std::string& path) override;
  [[nodiscard]] Result<std::vector<std::string>> task_paths() override;
  [[nodiscard]] Result<Value> read_update_service();
  [[nodiscard]] Status set_push_options(const UpdateService& service, const FirmwarePush& push);

  // The resource to reset, looked up once; its power state is as of then.
  [[nodiscard]] Result<const Resettable*> thing();
  [[nodiscard]] Result<Resettable> find_thing();
  [[nodiscard]] Result<Resettable> choose(const std::vector<std::string>& paths);
  [[nodiscard]] Result<const ManagerInfo*> manager();
  void complete_identity(BmcIdentity& identity);
  // The BMC's spelling of the action; not_found if it is not supported.
  [[nodiscard]] Result<std::string> spelled(ResetAction action);
  // The ResetType values, read from the ActionInfo if the action itself does not list them.
  [[nodiscard]] Result<std::vector<std::string>> reset_types();
  // Waits for the task of a 202, at most for the request timeout.
  [[nodiscard]] Status finish(const RedfishReply& reply);

  // Members of a collection, complete. `strict`: an unreadable member is an error; otherwise it is skipped, unless none
  // can be read.
  [[nodiscard]] Result<std::vector<Value>> members(const std::string& path, std::size_t most, bool strict);
  [[nodiscard]] Status add_page(const Value& page, std::size_t most, bool strict, std::vector<Value>& out);
  [[nodiscard]] std::string next_page(const std::string& first, const Value& page, std::size_t got) const;
  [[nodiscard]] std::string expanded(const std::string& path) const;

  // Several collections at once: their first pages, the further ones, and then what they link to.
  struct Member {
    std::string path{};
    Result<Value> value = Value();
  };
  struct Members {
    std::vector<Member> members{};
    std::optional<Error> problem{};  // some pages are missing
  };
  [[nodiscard]] std::vector<Members> members_of(const std::vector<std::string>& paths, std::size_t most);
  void read_pages(const std::string& path, Result<Value> first, std::size_t most, Duration end, Members& out);

  [[nodiscard]] Result<std::vector<ChassisInfo>> chassis(std::vector<UnreadSensors>* unread = nullptr);
  [[nodiscard]] std::string other_firmware(const ManagerInfo& main);
  [[nodiscard]] Result<LogService> log_service();
  [[nodiscard]] std::vector<std::string> log_collections(EventLogs& out);
  [[nodiscard]] std::vector<LogService> log_services(const std::string& only, EventLogs& out);
  struct MessageToFill {
    std::size_t event = 0;  // index in EventLogs
    MessageNeed need{};
  };
  void fill_messages(const std::vector<MessageToFill>& missing, std::vector<LogEvent>& events);
  class Stream;
  [[nodiscard]] MessageTexts registry_texts(const std::vector<Member>& files, const std::string& registry);
  [[nodiscard]] Result<std::vector<Account>> accounts();
  [[nodiscard]] Result<Account> account_of(const std::string& user);

  struct ReadPlace {
    std::string path{};
    std::string etag{};
    Value value{};
  };
  [[nodiscard]] Result<ReadPlace> read_place(const SettingPlace& place);
  [[nodiscard]] Status change_place(const SettingPlace& place, const std::vector<std::string>& wanted);
  [[nodiscard]] Status change_protocols(const SettingsChange& change);

  [[nodiscard]] Error error(ErrorCode code, std::string message) const {
    return session_->error(code, std::move(message));
  }

  std::unique_ptr<RedfishSession> session_;
  std::optional<Resettable> thing_;
  std::optional<ManagerInfo> manager_;
  std::vector<Members> registry_files_;  // the collection of them, once it was read
  std::map<std::string, MessageTexts> registries_;
  bool ntp_is_elsewhere_ = false;  // not in the ManagerNetworkProtocol
};

}  // namespace weft::oob
