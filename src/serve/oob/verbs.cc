#include "serve/oob/verbs.h"

#include <algorithm>

namespace weft::serve {
namespace {

constexpr std::uint64_t kMaxHostText = 100'000;
constexpr std::uint64_t kMaxTime = 32;
constexpr std::uint64_t kMaxName = 256;
constexpr std::uint64_t kMaxList = 4096;
constexpr std::uint64_t kMaxDevices = 1'000'000;
constexpr std::uint64_t kMaxTail = 10'000;
constexpr Duration kChangeLimit = milliseconds(2 * 3'600'000);
constexpr Duration kLongChangeLimit = milliseconds(12 * 3'600'000);

OobParameter devices(bool required = false) {
  return {{"devices", FieldType::hosts,
           "devices: train[001-004], @POOL, rack:NAME, servers, switches, pdus or all; comma-separated list", required,
           kMaxHostText},
          OobPass::devices};
}
OobParameter device_of_path() {
  return {{"device", FieldType::hosts, "name of the device", true, kMaxName}, OobPass::devices};
}
OobParameter time_of(std::string_view name, std::string_view about, std::string_view option) {
  return {{name, FieldType::duration, about, false, kMaxTime}, OobPass::option, option};
}
OobParameter flag(std::string_view name, std::string_view about, std::string_view option) {
  return {{name, FieldType::boolean, about}, OobPass::flag, option};
}
OobParameter inverted(std::string_view name, std::string_view about, std::string_view option) {
  return {{name, FieldType::boolean, about}, OobPass::inverted_flag, option};
}
OobParameter text(std::string_view name, std::string_view about, std::string_view option, bool required = false) {
  return {{name, FieldType::text, about, required, kMaxName}, OobPass::option, option};
}
OobParameter list(std::string_view name, std::string_view about, std::string_view option) {
  return {{name, FieldType::text, about, false, kMaxList}, OobPass::repeated, option};
}
OobParameter on_off(std::string_view name, std::string_view about) {
  return {{name, FieldType::text, about, false, 3, {"on", "off"}}, OobPass::option, name};
}
OobParameter limit() {
  return {{"limit", FieldType::integer, "maximum number of affected devices", false, kMaxDevices},
          OobPass::option,
          "limit"};
}
OobParameter runbook(OobPass pass = OobPass::word) {
  return {{"runbook", FieldType::text, "name of a runbook that weft includes", true, kMaxName}, pass};
}

std::vector<OobParameter> events_filter() {
  return {
      text("since", "events since a date or for a duration: 2026-01-31, 12h, 7d", "since"),
      {{"level", FieldType::text, "only events of this severity or worse", false, 16, {"ok", "warning", "critical"}},
       OobPass::option,
       "level"}};
}
std::vector<OobParameter> sensors_filter() {
  return {text("kind", "only sensors of this kind: temperature, fan, voltage, power, current, discrete, percent, ...",
               "kind"),
          flag("bad", "only critical, warning and outlier sensors", "bad")};
}
std::vector<OobParameter> with(OobParameter first, std::vector<OobParameter> rest) {
  rest.insert(rest.begin(), std::move(first));
  return rest;
}

std::vector<OobVerb> readings() {
  return {
      {.id = "oob.inventory",
       .method = "GET",
       .pattern = "/oob/inventory",
       .about = "all BMCs: address, protocol, rack, feeds; with probe, the machine behind each",
       .command = {"oob", "inventory"},
       .parameters = {devices(), flag("probe", "read the identity of each machine from its BMC", "probe")}},
      {.id = "oob.status",
       .method = "GET",
       .pattern = "/oob/status",
       .about = "power state of all machines; which are unreachable, and why",
       .command = {"oob", "status"},
       .parameters = {devices(), flag("identity", "also vendor, model, serial number and firmware", "identity")}},
      {.id = "oob.sensors",
       .method = "GET",
       .pattern = "/oob/sensors",
       .about = "sensors of all machines",
       .command = {"oob", "sensors"},
       .parameters = with(devices(), sensors_filter())},
      {.id = "oob.device-sensors",
       .method = "GET",
       .pattern = "/oob/devices/{device}/sensors",
       .about = "sensors of one machine",
       .command = {"oob", "sensors"},
       .parameters = with(device_of_path(), sensors_filter())},
      {.id = "oob.events",
       .method = "GET",
       .pattern = "/oob/events",
       .about = "event logs of all machines",
       .command = {"oob", "events"},
       .parameters = with(devices(), events_filter())},
      {.id = "oob.device-events",
       .method = "GET",
       .pattern = "/oob/devices/{device}/events",
       .about = "event log of one machine",
       .command = {"oob", "events"},
       .parameters = with(device_of_path(), events_filter())},
      {.id = "oob.users",
       .method = "GET",
       .pattern = "/oob/users",
       .about = "accounts of all BMCs",
       .command = {"oob", "users"},
       .parameters = {devices()}},
      {.id = "oob.settings",
       .method = "GET",
       .pattern = "/oob/settings",
       .about = "settings of all BMCs",
       .command = {"oob", "settings"},
       .parameters = {devices()}},
      {.id = "oob.audit",
       .method = "GET",
       .pattern = "/oob/audit",
       .about = "security findings on live BMCs",
       .command = {"oob", "audit"},
       .deadline = milliseconds(300'000),
       .parameters = {devices()}},
      {.id = "oob.drift",
       .method = "GET",
       .pattern = "/oob/drift",
       .about = "switches whose running config has drifted from the version marked good",
       .command = {"oob", "drift"},
       .connection = OobConnection::switches,
       .deadline = milliseconds(300'000),
       .parameters = {devices(), flag("offline", "use the latest backups instead of connecting to switches", "offline"),
                      flag("strict", "count extra statements as drift", "strict")}},
      {.id = "oob.journal",
       .method = "GET",
       .pattern = "/oob/journal",
       .about = "what was done to which device, by which user and why",
       .command = {"oob", "journal"},
       .connection = OobConnection::journal,
       .takes_cluster = false,
       .parameters = {text("operation", "only the entries of one operation", "operation"),
                      {{"tail", FieldType::integer, "only the last entries", false, kMaxTail},
                       OobPass::option,
                       "tail"}}},
      {.id = "oob.journal-verify",
       .method = "GET",
       .pattern = "/oob/journal/verify",
       .about = "whether the hash chain of the journal is intact",
       .command = {"oob", "journal"},
       .words = {"--verify"},
       .connection = OobConnection::journal,
       .takes_cluster = false,
       .parameters = {text("head", "hash that must be in the chain", "head")}},
      {.id = "oob.power-incomplete",
       .method = "GET",
       .pattern = "/oob/power/incomplete",
       .about = "power operations of the journal that began and did not end",
       .command = {"oob", "power"},
       .words = {"--open"},
       .connection = OobConnection::journal,
       .takes_cluster = false},
      {.id = "oob.runbooks",
       .method = "GET",
       .pattern = "/oob/runbooks",
       .about = "recovery runbooks that weft includes",
       .command = {"rescue"},
       .words = {"list"},
       .connection = OobConnection::journal,
       .takes_cluster = false},
      {.id = "oob.runbook",
       .method = "GET",
       .pattern = "/oob/runbooks/{runbook}",
       .about = "the text of a runbook",
       .command = {"rescue"},
       .words = {"show"},
       .connection = OobConnection::journal,
       .takes_cluster = false,
       .prints_text = true,
       .parameters = {runbook()}},
  };
}

std::vector<OobVerb> power_changes() {
  return {
      {.id = "oob.power",
       .method = "POST",
       .pattern = "/oob/power",
       .about = "power machines on, off or cycle them, and verify the result",
       .command = {"oob", "power"},
       .is_operation = true,
       .holds_devices = true,
       .planning = OobPlanning::dry_run,
       .reach = OobReach::power,
       .reason = Reason::required,
       .limit = 32,
       .deadline = kLongChangeLimit,
       .parameters = {{{"action", FieldType::text, "what to do", true, 8, {"on", "off", "soft", "cycle", "reset"}},
                       OobPass::word},
                      devices(true),
                      time_of("deadline", "deadline per device; nothing is sent after it", "deadline"),
                      time_of("hold", "cycle: pause between off and on, if sent separately", "hold"),
                      flag("force", "soft: force off after two thirds of the deadline", "force"),
                      flag("finish_on", "reset: power on machines that a reset left off", "finish-on"),
                      inverted("stagger", "on: in waves within the limits of feeds and PDUs; default: true",
                               "no-stagger"),
                      {{"starts", FieldType::integer, "on and cycle: devices started at the same time per feed", false,
                        kMaxDevices},
                       OobPass::option,
                       "starts"},
                      limit()}},
      {.id = "oob.power-resume",
       .method = "POST",
       .pattern = "/oob/power/resume",
       .about = "continue an incomplete power operation; what may have been sent is verified, not sent again",
       .command = {"oob", "power"},
       .is_operation = true,
       .holds_devices = true,
       .planning = OobPlanning::listed,
       .reach = OobReach::power,
       .reason = Reason::required,
       .deadline = kLongChangeLimit,
       .parameters = {text("operation", "id of the operation in the journal", "resume", true)}},
      {.id = "oob.power-abandon",
       .method = "POST",
       .pattern = "/oob/power/abandon",
       .about = "close an incomplete power operation without sending anything",
       .command = {"oob", "power"},
       .is_operation = true,
       .holds_devices = true,
       .planning = OobPlanning::listed,
       .reason = Reason::required,
       .deadline = kChangeLimit,
       .parameters = {text("operation", "id of the operation in the journal", "abandon", true)}},
  };
}

std::vector<OobVerb> bmc_changes() {
  return {
      {.id = "oob.rotate",
       .method = "POST",
       .pattern = "/oob/rotate",
       .about = "a new, unique password per BMC",
       .command = {"oob", "rotate"},
       .is_operation = true,
       .holds_devices = true,
       .planning = OobPlanning::dry_run,
       .reason = Reason::required,
       .limit = 64,
       .deadline = kChangeLimit,
       .parameters = {devices(true), flag("settle", "only finish incomplete rotations", "settle"),
                      text("user", "only devices where weft uses this account", "user"), limit()}},
      {.id = "oob.settings-change",
       .method = "POST",
       .pattern = "/oob/settings",
       .about = "change settings of BMCs; only differences are sent",
       .command = {"oob", "settings"},
       .is_operation = true,
       .holds_devices = true,
       .planning = OobPlanning::dry_run,
       .reason = Reason::required,
       .limit = 64,
       .deadline = kChangeLimit,
       .parameters = {devices(true), on_off("ipmi", "IPMI over LAN"), on_off("http", "plain HTTP without TLS"),
                      on_off("ssh", "SSH to the BMC"), on_off("snmp", "SNMP"),
                      list("log_to", "syslog servers of the BMC, comma-separated; none to disable", "log-to"),
                      list("allow", "subnets that may access the BMC, comma-separated; none to allow all", "allow"),
                      list("ntp", "NTP servers of the BMC, comma-separated", "ntp"), limit()}},
      {.id = "oob.user-disable",
       .method = "POST",
       .pattern = "/oob/users/disable",
       .about = "disable an account on all BMCs that have it",
       .command = {"oob", "users"},
       .is_operation = true,
       .holds_devices = true,
       .planning = OobPlanning::dry_run,
       .reason = Reason::required,
       .limit = 64,
       .deadline = kChangeLimit,
       .parameters = {devices(true), text("user", "name of the account", "disable", true), limit()}},
      {.id = "oob.events-clear",
       .method = "POST",
       .pattern = "/oob/events/clear",
       .about = "save the event logs, then clear them on the BMCs",
       .command = {"oob", "events"},
       .words = {"--clear"},
       .is_operation = true,
       .holds_devices = true,
       .planning = OobPlanning::dry_run,
       .reason = Reason::required,
       .limit = 64,
       .deadline = kChangeLimit,
       .parameters = {devices(true), limit()}},
      {.id = "oob.audit-logins",
       .method = "POST",
       .pattern = "/oob/audit/logins",
       .about = "audit that also tries at most two factory logins per BMC",
       .command = {"oob", "audit"},
       .words = {"--try-defaults"},
       .is_operation = true,
       .reason = Reason::required,
       .deadline = kChangeLimit,
       .parameters = {devices(true)}},
      {.id = "oob.console",
       .method = "POST",
       .pattern = "/oob/console",
       .about = "log serial consoles for a time, or until a line matches",
       .command = {"oob", "console"},
       .words = {"--log-only"},
       .is_operation = true,
       .reason = Reason::required,
       .deadline = kChangeLimit,
       .parameters = {devices(true),
                      {{"for", FieldType::duration, "stop after this time", true, kMaxTime}, OobPass::option, "for"},
                      text("until", "stop when a line matches this regular expression", "until-text")}},
  };
}

std::vector<OobVerb> switch_changes() {
  return {
      {.id = "oob.backup",
       .method = "POST",
       .pattern = "/oob/backup",
       .about = "back up the running configs of switches",
       .command = {"oob", "backup"},
       .connection = OobConnection::switches,
       .is_operation = true,
       .deadline = kChangeLimit,
       .parameters = {devices(), flag("good", "mark the stored versions as good", "good"),
                      flag("diff", "show what changed since the last backup", "diff")}},
      {.id = "oob.restore",
       .method = "POST",
       .pattern = "/oob/restore",
       .about = "restore switches to a backed-up config, one at a time",
       .command = {"oob", "restore"},
       .connection = OobConnection::switches,
       .is_operation = true,
       .holds_devices = true,
       .planning = OobPlanning::dry_run,
       .reach = OobReach::config,
       .reason = Reason::required,
       .limit = 1,
       .deadline = kChangeLimit,
       .parameters = {devices(true),
                      text("which", "version: latest, before, good, a time or the prefix of a version name", "which"),
                      time_of("within", "timeout for the switch to show the version", "within"),
                      inverted("rollback", "push the previous config again if the switch shows another; default: true",
                               "no-back"),
                      limit()}},
      {.id = "oob.restore-settle",
       .method = "POST",
       .pattern = "/oob/restore/settle",
       .about = "record the outcome of interrupted restores; pushes nothing",
       .command = {"oob", "restore"},
       .words = {"--settle"},
       .connection = OobConnection::switches,
       .is_operation = true,
       .holds_devices = true,
       .deadline = kChangeLimit,
       .parameters = {devices(true)}},
  };
}

std::vector<OobVerb> rescues() {
  return {
      {.id = "oob.rescue",
       .method = "POST",
       .pattern = "/oob/rescue",
       .about = "execute a recovery runbook over the out-of-band network",
       .command = {"rescue"},
       .words = {"--run"},
       .connection = OobConnection::both,
       .is_operation = true,
       .holds_devices = true,
       .planning = OobPlanning::dry_run,
       .reach = OobReach::runbook,
       .reason = Reason::required,
       .limit = 64,
       .deadline = kLongChangeLimit,
       .parameters = {runbook(),
                      {{"parameters", FieldType::content, "parameters of the runbook: KEY=VALUE, one per line", false,
                        kMaxHostText},
                       OobPass::lines,
                       "set"},
                      limit()}},
      {.id = "oob.rescue-resume",
       .method = "POST",
       .pattern = "/oob/rescue/resume",
       .about = "continue an incomplete rescue; finished steps are not repeated",
       .command = {"rescue"},
       .connection = OobConnection::both,
       .is_operation = true,
       .holds_devices = true,
       .reach = OobReach::runbook,
       .reason = Reason::required,
       .deadline = kLongChangeLimit,
       .parameters = {runbook(), text("operation", "id of the rescue in the journal, or last", "resume", true),
                      list("confirm", "steps that are done manually, comma-separated", "confirm"),
                      list("repeat", "steps to send again, comma-separated", "repeat")}},
  };
}

RouteRow row_of(const OobVerb& verb) {
  RouteRow row{.id = verb.id,
               .method = verb.method,
               .pattern = verb.pattern,
               .about = verb.about,
               .need = Need::operate,
               .answer = verb.is_operation ? "oob_change" : "oob_result"};
  row.changes = verb.is_operation;
  row.reason = verb.reason;
  std::vector<Field>& fields = verb.is_operation ? row.body : row.query;
  for (const OobParameter& parameter : verb.parameters) {
    std::string inside = "{";
    inside.append(parameter.field.name).append("}");
    if (verb.pattern.find(inside) == std::string_view::npos) fields.push_back(parameter.field);
  }
  if (verb.planning == OobPlanning::none) return row;
  // A plan needs no reason: the runner asks for it when the plan is carried out.
  row.reason = Reason::optional;
  fields.push_back(
      {"plan", FieldType::boolean, "only show the plan: devices, jobs on them, and a plan_id; default: true"});
  fields.push_back(
      {"plan_id", FieldType::text, "carry out this plan, with \"plan\": false; at most 10 minutes old", false, 64});
  return row;
}

}  // namespace

std::span<const OobVerb> oob_verbs() {
  static const std::vector<OobVerb> all = [] {
    std::vector<OobVerb> verbs;
    for (const auto& part : {readings(), power_changes(), bmc_changes(), switch_changes(), rescues()})
      verbs.insert(verbs.end(), part.begin(), part.end());
    return verbs;
  }();
  return all;
}

const OobVerb* find_oob_verb(std::string_view id) {
  const std::span<const OobVerb> verbs = oob_verbs();
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const OobVerb& verb) { return verb.id == id; });
  return found == verbs.end() ? nullptr : &*found;
}

std::vector<RouteRow> oob_route_rows() {
  std::vector<RouteRow> rows;
  for (const OobVerb& verb : oob_verbs()) rows.push_back(row_of(verb));
  rows.push_back({.id = kOobOperationList,
                  .method = "GET",
                  .pattern = "/oob/operations",
                  .about = "out-of-band operations of the last day: queued, running and ended",
                  .need = Need::operate,
                  .answer = "oob_operations"});
  rows.push_back({.id = kOobOperationShow,
                  .method = "GET",
                  .pattern = "/oob/operations/{operation}",
                  .about = "one operation: state, progress, result",
                  .need = Need::operate,
                  .answer = "oob_operation"});
  return rows;
}

}  // namespace weft::serve
