// Table of the verbs of `weft oob` and `weft rescue` that the API offers: path, parameters, and how each parameter is
// written on the command line. Rows of the route table, the command line and the checks are derived from it, so that a
// verb is described once. It runs nothing: see runner.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "serve/table/route.h"

namespace weft::serve {

// How a parameter reaches the command line. No value is ever a word of its own before "--", so none can be an option.
enum class OobPass : std::uint8_t {
  option,         // --NAME=VALUE
  flag,           // --NAME if true
  inverted_flag,  // --NAME if false
  repeated,       // --NAME=VALUE for each item of a comma-separated list
  lines,          // --NAME=LINE for each line
  devices,        // HOSTS, selected in the inventory
  word,           // a word before CLUSTER
  server          // not passed: the server uses it
};

struct OobParameter {
  Field field;
  OobPass pass = OobPass::option;
  std::string_view option = {};  // NAME
};

// Which options of the server's own configuration the command accepts.
enum class OobConnection : std::uint8_t {
  journal,   // the state folder
  bmc,       // BMCs: endpoints, credentials, CA
  switches,  // switches over SSH
  both
};

// How a change is planned before it is carried out.
enum class OobPlanning : std::uint8_t {
  none,     // it changes no device, or its plan was approved before
  dry_run,  // --dry-run
  listed    // by the list of incomplete power operations
};

// The devices behind those named: what the blast radius has.
enum class OobReach : std::uint8_t {
  devices,  // settings of the BMCs named: jobs are not interrupted
  power,    // dependents lose power, too
  config,   // servers behind the switches may lose their links
  runbook   // what the runbook's plan says
};

struct OobVerb {
  std::string_view id;  // "oob.power"
  std::string_view method;
  std::string_view pattern;  // below /api/v1
  std::string_view about;
  std::vector<std::string_view> command;     // "oob", "power"
  std::vector<std::string_view> words = {};  // fixed options, and words before CLUSTER
  OobConnection connection = OobConnection::bmc;
  bool takes_cluster = true;
  bool prints_text = false;    // otherwise JSON
  bool is_operation = false;   // answered with an operation, which continues; otherwise with the result
  bool holds_devices = false;  // no other operation on the same devices meanwhile
  OobPlanning planning = OobPlanning::none;
  OobReach reach = OobReach::devices;
  Reason reason = Reason::none;
  std::uint32_t limit = 0;  // devices that may be affected without the parameter "limit"; 0: any number
  Duration deadline = milliseconds(120'000);
  std::vector<OobParameter> parameters = {};
};

// How long a plan may be carried out after it was shown.
inline constexpr Duration kOobPlanAge = milliseconds(600'000);

[[nodiscard]] std::span<const OobVerb> oob_verbs();
// Null: not a verb that runs a command, such as oob.operation-list.
[[nodiscard]] const OobVerb* find_oob_verb(std::string_view id);
// Rows for the route table: every verb, and the operations in progress.
[[nodiscard]] std::vector<RouteRow> oob_route_rows();

inline constexpr std::string_view kOobOperationList = "oob.operation-list";
inline constexpr std::string_view kOobOperationShow = "oob.operation-show";

}  // namespace weft::serve
