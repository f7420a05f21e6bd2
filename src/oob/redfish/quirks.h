// What vendors' Redfish services do differently, as data: a YAML document inside the program, matched on what a service
// says of itself. The client's code asks the quirk; it never asks for a vendor's name. Only what public material shows
// is in it, with the source beside each fact.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::oob {

// Where a list of texts (syslog servers, subnets let in) lives that Redfish has no standard place for, and in which
// shape. Members are named by paths with slashes inside the resource.
struct SettingPlace {
  std::string path{};  // of the resource; "{manager}" and "{network_protocol}" stand for those of the BMC
  std::string list{};  // a member that is a list: of texts, or of maps when `item` is given
  std::string item{};  // the key in each map that holds the text
  std::vector<std::string> fields{};     // members with one text each
  std::vector<std::string> addresses{};  // IPv4 subnets as three members each: address, mask and switch
  std::vector<std::string> masks{};
  std::vector<std::string> switches{};
  std::string enable{};  // a member that turns the whole thing on
  std::string on{};      // what it (and a switch) says when on and off; empty: true and false
  std::string off{};
  bool read_only = false;  // can be read this way, but not changed

  [[nodiscard]] bool known() const { return !path.empty(); }
};

struct Quirk {
  std::string name{};
  // Matches when any of these begins (without regard to case) what the service says, and `firmware` too if given.
  std::vector<std::string> vendors{};  // Vendor or Product of the service root, Manufacturer of the system
  std::vector<std::string> oem{};      // a key of the service root's Oem
  std::string firmware{};              // the manager's FirmwareVersion

  std::vector<std::string> missing_resets{};  // announced, but do nothing or something else
  std::vector<std::string> systems{};         // ids of the system to take where there are several, best first
  std::vector<std::string> logs{};            // ids of log services, best first
  std::vector<std::string> session_limit{};   // MessageIds that say that there are too many sessions
  int most_sessions = 0;                      // 0: not known
  bool basic_only = false;                    // no sessions: HTTP Basic for every request
  int skip_page = 0;                          // entries in a page of a log that has no link to the next; 0: it has
  SettingPlace syslog{};
  SettingPlace firewall{};
};

// What a service says of itself.
struct ServiceLook {
  std::string vendor{};
  std::string product{};
  std::string manufacturer{};
  std::string firmware{};
  std::vector<std::string> oem{};
};

// The document's first quirk that matches; the generic one, which is the last, when none does.
[[nodiscard]] const Quirk& quirk_for(const ServiceLook& look);
// All of them, in order.
[[nodiscard]] const std::vector<Quirk>& all_quirks();
// Reads a document of quirks; errors name the line.
[[nodiscard]] Result<std::vector<Quirk>> parse_quirks(const std::string& text);

}  // namespace weft::oob
