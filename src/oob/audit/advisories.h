// Known vulnerabilities of BMC firmware, matched against the versions that BMCs report. The list is a user's file:
//
//   weft_advisories: 1
//   advisories:
//     - id: CVE-2099-0001
//       title: what is wrong
//       severity: error            # error, warning or note
//       source: https://...
//       affects:
//         - manufacturer: [Example*, "*Example Inc*"]   # one or several; * and ? as in file names, case aside
//           model: X1-*                                 # the same; left out: every model
//           firmware: {from: "1.0", below: "1.9.2"}     # or {at: "1.5"}, a list of these, any, or unknown
//           with: ipmi                                  # only where IPMI over LAN is on
//
// Versions are compared in natural order. If a vendor's version scheme has no order, or the list does not name the
// affected versions, the verdict is "cannot tell", never "not affected".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "oob/bmc/bmc.h"

namespace weft::oob {

struct FirmwareRange {
  std::string from;   // this version and later; empty: from the first
  std::string below;  // versions before this one; empty: up to the newest
  std::string at;     // exactly this version; the other two are then empty
};

enum class FirmwareScope : std::uint8_t { unknown, any, ranges };

struct Affected {
  std::vector<std::string> manufacturers;  // patterns
  std::string model;                       // pattern; empty: every model
  FirmwareScope scope = FirmwareScope::unknown;
  std::vector<FirmwareRange> ranges;
  bool only_with_ipmi = false;
};

struct Advisory {
  std::string id;
  std::string title;
  std::string source;
  Severity severity = Severity::warning;
  std::vector<Affected> affects;
};

// Empty if the file has errors; each is reported with its location.
[[nodiscard]] std::optional<std::vector<Advisory>> read_advisories(const Sources& sources, FileId file,
                                                                   Diagnostics& diagnostics);

enum class Verdict : std::uint8_t { not_affected, cannot_tell, affected };
// `ipmi`: whether IPMI over LAN is on, if known.
[[nodiscard]] Verdict judge(const Advisory& advisory, const BmcIdentity& identity, std::optional<bool> ipmi);

}  // namespace weft::oob
