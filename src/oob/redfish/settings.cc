// RedfishBmc: BMC settings. Standard settings are in the ManagerNetworkProtocol; the quirk defines where a vendor
// stores remote syslog servers and the address filter.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ip.h"
#include "base/quantity.h"
#include "oob/redfish/bmc.h"
#include "oob/redfish/oem_settings.h"

namespace weft::oob {
namespace {

// A BMC may take a moment, or restart its web server, before a change is visible.
constexpr int kReadBacks = 4;
constexpr Duration kReadBackWait = milliseconds(1'000);

}  // namespace

Result<RedfishBmc::ReadPlace> RedfishBmc::read_place(const SettingPlace& place) {
  const Result<const ManagerInfo*> bmc = manager();
  if (!bmc.ok()) return bmc.error();
  std::string path = place.path;
  for (const auto& [mark, with] :
       {std::pair<std::string, std::string>("{manager}", (*bmc)->path),
        std::pair<std::string, std::string>("{network_protocol}", (*bmc)->network_protocol)}) {
    if (const std::size_t at = path.find(mark); at != std::string::npos) path.replace(at, mark.size(), with);
  }
  Result<RedfishReply> reply = session_->get(path);
  if (!reply.ok()) return reply.error();
  return ReadPlace{std::move(path), std::move(reply->etag), std::move(reply->value)};
}

Result<BmcSettings> RedfishBmc::settings() {
  // The quirk depends on the manufacturer, which is in the system resource.
  if (const Result<const Resettable*> found = thing(); !found.ok() && found.error().code != ErrorCode::not_found) {
    return found.error();
  }
  const Result<const ManagerInfo*> bmc = manager();
  if (!bmc.ok()) return bmc.error();
  BmcSettings settings;
  if (!(*bmc)->network_protocol.empty()) {
    const Result<RedfishReply> reply = session_->get((*bmc)->network_protocol);
    if (!reply.ok() && reply.error().code != ErrorCode::not_found) return reply.error();
    if (reply.ok()) settings = parse_network_protocol(reply->value);
  }
  if (!(*bmc)->host_interfaces.empty()) {
    const Result<std::vector<Value>> interfaces = members((*bmc)->host_interfaces, kMaxMembers, false);
    if (!interfaces.ok() && interfaces.error().code != ErrorCode::not_found) return interfaces.error();
    if (interfaces.ok()) settings.host_interface = any_interface_enabled(*interfaces);
  }
  for (const auto& [place, out] :
       {std::pair(&session_->quirk().syslog, &settings.syslog),
        std::pair(&session_->quirk().firewall, &settings.firewall), std::pair(&session_->quirk().ntp, &settings.ntp)}) {
    if (!place->known() || out->has_value()) continue;
    ntp_is_elsewhere_ = ntp_is_elsewhere_ || out == &settings.ntp;
    const Result<ReadPlace> read = read_place(*place);
    if (!read.ok() && read.error().code != ErrorCode::not_found) return read.error();
    if (read.ok()) *out = read_setting(*place, read->value);
  }
  return settings;
}

Status RedfishBmc::change_protocols(const SettingsChange& change) {
  const Value body = protocol_change(change);
  if (body.empty()) return {};
  const std::string& path = manager_->network_protocol;
  const Result<RedfishReply> now = session_->get(path);
  if (!now.ok()) return now.error();
  const Result<RedfishReply> reply = session_->patch(path, write_json_line(body), now->etag);
  if (!reply.ok()) return reply.error();
  return finish(*reply);
}

Status RedfishBmc::change_place(const SettingPlace& place, const std::vector<std::string>& wanted) {
  const Result<ReadPlace> read = read_place(place);
  if (!read.ok()) return read.error();
  const Result<Value> body = write_setting(place, read->value, wanted);
  if (!body.ok()) return error(body.error().code, body.error().message);
  const Result<RedfishReply> reply = session_->patch(read->path, write_json_line(*body), read->etag);
  if (!reply.ok()) return reply.error();
  return finish(*reply);
}

Status RedfishBmc::change(const SettingsChange& change) {
  const Result<BmcSettings> before = settings();
  if (!before.ok()) return before.error();
  if (const std::string unknown = unknown_settings(change, *before); !unknown.empty()) {
    return error(ErrorCode::not_found, "has no setting for " + unknown + "; nothing was changed");
  }
  // Reject what is known to be impossible before sending anything.
  if (change.ntp && ntp_is_elsewhere_) return error(ErrorCode::not_found, "the NTP servers are read-only in Redfish");
  const SettingPlace& syslog = session_->quirk().syslog;
  const SettingPlace& firewall = session_->quirk().firewall;
  for (const auto& [place, wanted] : {std::pair(&syslog, &change.syslog), std::pair(&firewall, &change.firewall)}) {
    if (!wanted->has_value()) continue;
    if (place->read_only) return error(ErrorCode::not_found, "this setting is read-only in Redfish");
    const Result<ReadPlace> read = read_place(*place);
    if (!read.ok()) return read.error();
    const Result<Value> body = write_setting(*place, read->value, **wanted);
    if (!body.ok()) return error(body.error().code, body.error().message);
  }
  if (Status done = change_protocols(change); !done.ok()) return done;
  if (change.syslog) {
    if (Status done = change_place(syslog, *change.syslog); !done.ok()) return done;
  }
  if (change.firewall) {
    if (Status done = change_place(firewall, *change.firewall); !done.ok()) return done;
  }
  std::optional<Error> last;
  for (int i = 0; i < kReadBacks; ++i) {
    if (i > 0 && !session_->clock().sleep(kReadBackWait)) break;
    const Result<BmcSettings> now = settings();
    if (!now.ok()) {
      last = now.error();
      continue;
    }
    const std::string left = untaken_settings(change, *now);
    if (left.empty()) return {};
    last = error(ErrorCode::conflict, "accepted but not applied: " + left);
  }
  return last ? *last : error(ErrorCode::unavailable, "stopped before the change could be read back");
}

}  // namespace weft::oob
