// Wanted firmware versions and published advisories, matched against what BMCs list. A user's file:
//
//   weft_firmware: 1
//   components:
//     - vendor: Supermicro*     # patterns with * and ?, case aside; left out: all
//       model: SYS-821GE-*
//       component: BMC          # the component, its Id or its Name
//       wanted: "01.05.02"      # exactly this one, or minimum: "01.05.00"
//   advisories:
//     - id: CVE-2099-0001
//       title: what is wrong
//       severity: error         # error, warning or note
//       url: https://...
//       affects:
//         - {vendor: Example*, component: BMC, versions: {from: "1.0", below: "1.9.2"}}   # or {at: "1.5"}, any,
//         unknown
//
// `oob audit --advisories` has advisories for the BMC alone, with settings; this is for every component.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "oob/bmc/bmc.h"
#include "oob/bmc/firmware.h"

namespace weft::oob {

// Patterns; empty: all.
struct ComponentPattern {
  std::string vendor;
  std::string model;
  std::string component;
};

struct WantedVersion {
  ComponentPattern what;
  std::string wanted;  // one of the two is set
  std::string minimum;
};

struct AffectedVersions {
  ComponentPattern what;
  bool any = false;      // every version
  bool unknown = false;  // the advisory does not say which
  std::string from;
  std::string below;
  std::string at;
};

struct FirmwareAdvisory {
  std::string id;
  std::string title;
  std::string url;
  Severity severity = Severity::warning;
  std::vector<AffectedVersions> affects;
};

struct FirmwareBaseline {
  std::vector<WantedVersion> components;
  std::vector<FirmwareAdvisory> advisories;
};

// Empty if the file has errors; each is reported with its location.
[[nodiscard]] std::optional<FirmwareBaseline> read_baseline(const Sources& sources, FileId file,
                                                            Diagnostics& diagnostics);

struct FirmwareFinding {
  Severity severity = Severity::note;
  std::string rule;      // "wanted", "minimum" or the id of an advisory
  std::string text;      // "is 1.0, wanted 1.2"
  std::string expected;  // the version; empty for an advisory without one
  std::string url;
};
// What is wrong with one component of a machine. If the order of two versions is not known, that is a finding of
// severity note. Empty components (absent, stored images) have none.
[[nodiscard]] std::vector<FirmwareFinding> judge_firmware(const FirmwareBaseline& baseline, const BmcIdentity& identity,
                                                          const std::string& catalog_model, const FirmwareItem& item);

// Whether the patterns name the component of a machine whose model is `catalog_model` in the catalog.
[[nodiscard]] bool is_about(const ComponentPattern& what, const BmcIdentity& identity, const std::string& catalog_model,
                            const FirmwareItem& item);
// "BMC of Supermicro SYS-821GE-*"
[[nodiscard]] std::string describe_pattern(const ComponentPattern& what);
// Whether a pattern names the component, by its id or name too.
[[nodiscard]] bool names_component(const std::string& pattern, const FirmwareItem& item);
// Part of a machine now: not absent, not a stored image.
[[nodiscard]] bool is_running(const FirmwareItem& item);

}  // namespace weft::oob
