// Vendor-specific behavior of Redfish services, as data: an embedded YAML document, matched against what a service
// reports about itself. The client code checks the quirk, never a vendor name. It contains only publicly documented
// facts, each with its source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::oob {

// Location and format of a list of strings (syslog servers, allowed subnets) that Redfish has no standard property for.
// Members are named by slash-separated paths within the resource.
struct SettingPlace {
  std::string path{};  // of the resource; "{manager}" and "{network_protocol}" are replaced by those of the BMC
  std::string list{};  // a member that is a list: of strings, or of maps if `item` is set
  std::string item{};  // the key in each map that holds the string
  std::vector<std::string> fields{};     // members with one string each
  std::vector<std::string> addresses{};  // IPv4 subnets as three members each: address, mask and enable switch
  std::vector<std::string> masks{};
  std::vector<std::string> switches{};
  std::string enable{};  // a member that enables the whole feature
  std::string on{};      // value of it (and of a switch) when on and off; empty: true and false
  std::string off{};
  bool read_only = false;  // can be read, but not changed

  [[nodiscard]] bool known() const { return !path.empty(); }
};

struct Quirk {
  std::string name{};
  // Matches if one of these is a prefix (case-insensitive) of what the service reports, and `firmware` too if given.
  std::vector<std::string> vendors{};  // Vendor or Product of the service root, Manufacturer of the system
  std::vector<std::string> oem{};      // a key of the service root's Oem
  std::string firmware{};              // the manager's FirmwareVersion

  std::vector<std::string> missing_resets{};  // advertised, but do nothing or something else
  std::vector<std::string> systems{};         // preferred system ids if there are several, best first
  std::vector<std::string> logs{};            // ids of log services, best first
  std::vector<std::string> session_limit{};   // MessageIds for "too many sessions"
  int most_sessions = 0;                      // 0: unknown
  bool basic_only = false;                    // no sessions: HTTP Basic for every request
  int skip_page = 0;  // entries per page of a log without a link to the next page; 0: it has one
  SettingPlace syslog{};
  SettingPlace firewall{};
  SettingPlace ntp{};  // only read, where the ManagerNetworkProtocol has none
};

// What a service reports about itself.
struct ServiceLook {
  std::string vendor{};
  std::string product{};
  std::string manufacturer{};
  std::string firmware{};
  std::vector<std::string> oem{};
};

// The first matching quirk of the document; the generic one, which is last, if none matches.
[[nodiscard]] const Quirk& quirk_for(const ServiceLook& look);
// All of them, in order.
[[nodiscard]] const std::vector<Quirk>& all_quirks();
// Parses a document of quirks; errors name the line.
[[nodiscard]] Result<std::vector<Quirk>> parse_quirks(const std::string& text);

}  // namespace weft::oob
