// IPMI implementation of bmc/bmc.h: maps each verb to IPMI 2.0 commands and manages the session.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "oob/bmc/connector.h"
#include "oob/console/program_console.h"
#include "oob/ipmi/console.h"
#include "oob/ipmi/events.h"
#include "oob/ipmi/identity.h"
#include "oob/ipmi/sensors.h"
#include "oob/ipmi/session.h"
#include "oob/ipmi/settings.h"
#include "oob/ipmi/users.h"

namespace weft::oob {
namespace {

constexpr std::uint8_t kGetChassisStatus = 0x01;  // section 28.2
constexpr std::uint8_t kChassisControl = 0x02;    // section 28.3

std::uint8_t control_of(ResetAction action) {
  switch (action) {
    case ResetAction::force_off:
      return 0;
    case ResetAction::on:
      return 1;
    case ResetAction::power_cycle:
      return 2;
    case ResetAction::force_restart:
      return 3;
    case ResetAction::graceful_shutdown:
      return 5;  // an emulated fatal over-temperature: the operating system shuts down by ACPI
  }
  CHECK(false, "an action that IPMI has no control for");
  return 0;
}

class IpmiBmc final : public Bmc {
 public:
  IpmiBmc(std::unique_ptr<IpmiSession> session, Endpoint endpoint, Clock& clock)
      : session_(std::move(session)), endpoint_(std::move(endpoint)), clock_(clock) {}

  Result<BmcIdentity> identity() override { return read_ipmi_identity(*session_); }

  // No boot id: IPMI has none. The power-on hours counter advances once an hour or less often, the cause of the last
  // restart is the same after two of the same kind, and the BIOS may or may not log a "system boot" event.
  Result<PowerReading> power() override {
    const Result<IpmiBytes> status =
        session_->command({.function = kNetChassis, .command = kGetChassisStatus, .what = "read the power state"});
    if (!status) return status.error();
    if (status->empty()) {
      return Error{ErrorCode::invalid_input, "the BMC sent a truncated power state", endpoint_.device};
    }
    PowerReading reading;
    reading.state = ((*status)[0] & 1) != 0 ? PowerState::on : PowerState::off;
    return reading;
  }

  // Power up, down and hard reset are mandatory, the others nearly universal; IPMI does not report which a BMC has. A
  // missing one returns not_found.
  Result<std::vector<ResetAction>> reset_actions() override {
    return std::vector<ResetAction>{ResetAction::on, ResetAction::force_off, ResetAction::graceful_shutdown,
                                    ResetAction::power_cycle, ResetAction::force_restart};
  }

  Status reset(ResetAction action) override {
    const IpmiCommand command{.function = kNetChassis,
                              .command = kChassisControl,
                              .data = {control_of(action)},
                              .what = fmt::format("do {}", to_text(action))};
    // On and off are idempotent, so a lost datagram may be retransmitted.
    const bool harmless = action == ResetAction::on || action == ResetAction::force_off;
    const Result<IpmiBytes> answer = harmless ? session_->command(command) : session_->command_once(command);
    return answer ? Status() : Status(answer.error());
  }

  Result<std::vector<SensorReading>> sensors() override {
    if (const Status read = read_records(); !read) return read.error();
    return read_ipmi_sensors(*session_, *records_, clock_);
  }

  Result<std::vector<LogEvent>> events() override {
    // Sensor names are optional: without readable records the BMC's events are still read.
    const Status read = read_records();
    if (!read && (read.error().code == ErrorCode::timeout || read.error().code == ErrorCode::unavailable)) {
      return read.error();
    }
    static const std::vector<IpmiSensor> kNone;
    return read_ipmi_events(*session_, read ? *records_ : kNone, clock_);
  }

  Status clear_events() override { return clear_ipmi_events(*session_, clock_); }
  Result<std::vector<BmcUser>> users() override { return read_ipmi_users(*session_); }
  Status set_password(const std::string& user, const Secret& password) override {
    return set_ipmi_password(*session_, user, password);
  }
  Status set_user_enabled(const std::string& user, bool enabled) override {
    return set_ipmi_user_enabled(*session_, user, enabled);
  }
  Result<BmcSettings> settings() override { return read_ipmi_settings(*session_); }
  Status change(const SettingsChange& change) override { return change_ipmi_settings(*session_, change, endpoint_); }

  Result<std::unique_ptr<ConsoleStream>> console() override {
    if (!endpoint_.console.empty()) return open_program_console(endpoint_.console, endpoint_.device);
    return open_ipmi_console(session_->options(), session_->suite(), session_->user(), session_->password());
  }

 private:
  // Once per session: they change only with the firmware.
  Status read_records() {
    if (records_) return {};
    Result<std::vector<IpmiSensor>> read = read_ipmi_records(*session_, clock_);
    if (!read) return read.error();
    records_ = std::move(read).value();
    return {};
  }

  std::unique_ptr<IpmiSession> session_;
  Endpoint endpoint_;
  Clock& clock_;
  std::optional<std::vector<IpmiSensor>> records_;
};

}  // namespace

Result<std::unique_ptr<Bmc>> dial_ipmi(const Endpoint& endpoint, const std::string& user, const Secret& password,
                                       Clock& clock) {
  Result<std::unique_ptr<IpmiSession>> session = IpmiSession::open(endpoint, user, password);
  if (!session) return session.error();
  return std::unique_ptr<Bmc>(std::make_unique<IpmiBmc>(std::move(session).value(), endpoint, clock));
}

}  // namespace weft::oob
