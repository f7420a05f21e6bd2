// weft oob power: power control of many machines in closed loops, journaled and resumable.
#include <fmt/format.h>

#include <limits>

#include "base/utf8.h"
#include "cli/framework/default_cluster.h"
#include "cli/framework/option_reader.h"
#include "cli/framework/suggestions.h"
#include "cli/oob/input.h"
#include "cli/oob/progress.h"
#include "cli/oob/status.h"
#include "cli/operate/oob_remote.h"
#include "oob/power/report.h"
#include "oob/power/run.h"

namespace weft::cli {
namespace {

using oob::PowerVerb;

// Devices that may be affected without --limit: a rack or two. Powering on interrupts nothing, so it has no limit.
constexpr std::uint32_t kDefaultLimit = 32;

std::vector<Choice> verbs() {
  return {
      {"status", "read the power state (read-only)"},
      {"on", "power on, staggered within the power budgets of feeds and PDUs", {"poweron", "power-on", "start", "up"}},
      {"off",
       "power off immediately (ForceOff)",
       {"poweroff", "power-off", "forceoff", "force-off", "stop", "kill", "down"}},
      {"soft", "graceful shutdown of the operating system", {"shutdown", "halt", "graceful", "gracefulshutdown"}},
      {"cycle",
       "power cycle; ForceOff, a wait and On if the BMC has no PowerCycle",
       {"powercycle", "power-cycle", "reboot", "restart"}},
      {"reset", "restart without power off (ForceRestart)", {"forcerestart", "reboot", "restart", "warm-reset"}}};
}

// False after an error was reported.
bool read_options(Context& context, oob::SystemClock& clock, oob::PowerRequest& request, Exit& code) {
  OptionReader reader(context.arguments());
  if (const auto time = reader.time("deadline")) request.options.deadline = *time;
  if (const auto time = reader.time("hold")) request.options.hold = *time;
  if (const auto starts = reader.integer("starts", 1, 1'000'000))
    request.limits.starts = static_cast<std::uint32_t>(*starts);
  if (!reader.ok()) {
    code = context.usage_error(reader.problem(), {reader.hint()});
    return false;
  }
  request.options.force = context.arguments().has("force");
  request.options.finish_on = context.arguments().has("finish-on");
  request.limits.stagger = !context.arguments().has("no-stagger");
  request.reason = context.arguments().value("reason");
  const std::string command = context.arguments().value("host-probe");
  if (command.empty()) return true;
  auto probe = oob::program_probe(command, clock);
  if (!probe.ok()) {
    code = context.usage_error(probe.error().message,
                               {"give a program and its arguments; %h is replaced by the host name"});
    return false;
  }
  request.options.probe = std::move(probe).value();
  return true;
}

Exit exit_of(const oob::PowerReport& report) {
  if (report.all_done() && report.ended) return Exit::ok;
  return report.in_the_dark() ? Exit::unavailable : Exit::partial;
}

Exit deliver(Context& context, const OobSetup& setup, const Result<oob::PowerReport>& report) {
  if (!report.ok()) return context.failed(report.error());
  if (!report->ended)
    context.note(
        fmt::format("operation {} is incomplete; continue it with --resume {}", report->operation, report->operation));
  return context.deliver(oob::power_document(setup.inventory(), *report, oob_rows(context.output_format())),
                         exit_of(*report));
}

void watch(OobProgress& line, oob::PowerRequest& request) {
  request.progress = [&line](const oob::PowerProgress& progress) {
    line.show(fmt::format("wave {} of {}: {} of {} devices", progress.wave, progress.waves, progress.finished,
                          progress.total));
  };
}

// Reads only the journal: needs neither a cluster file nor credentials.
Exit list_open(Context& context) {
  const std::unique_ptr<oob::Journal> journal =
      oob::open_journal_read_only(oob_journal_path(oob_state_folder(context)));
  const Result<std::vector<oob::OpenPower>> open = oob::open_power(*journal);
  if (!open.ok()) return context.failed(open.error());
  return context.deliver(oob::open_power_document(*open));
}

// --resume and --abandon: an operation in the journal.
Exit run_earlier(Context& context) {
  if (context.arguments().words().size() != 1)
    return context.usage_error("--resume and --abandon take no VERB and no HOSTS: both come from the journal",
                               {"give only the cluster file"});
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code);
  if (setup == nullptr) return code;
  oob::PowerRequest request;
  if (!read_options(context, setup->clock(), request, code)) return code;
  if (const std::string id = context.arguments().value("abandon"); !id.empty())
    return deliver(context, *setup, oob::abandon_operation(setup->fleet(), id, request.reason));
  Result<oob::PowerReport> report = Error{};
  {
    OobProgress line(context);
    watch(line, request);
    report = oob::resume_operation(setup->fleet(), context.arguments().value("resume"), request);
  }
  return deliver(context, *setup, report);
}

Exit run_verb(Context& context, PowerVerb verb) {
  if (context.arguments().word(2).empty())
    return context.usage_error("missing HOSTS", {"name the hosts, or give all", usage_of(context.command())});
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, 1, use_of(context));
  if (setup == nullptr) return code;
  oob::PowerRequest request;
  request.verb = verb;
  request.targets = setup->chosen();
  if (!read_options(context, setup->clock(), request, code)) return code;
  const oob::PowerStates unknown(setup->inventory().targets().size(), oob::PowerState::unknown);
  const Result<oob::PowerPlan> sketch =
      oob::plan_power(setup->inventory(), verb, request.targets, unknown, request.limits);
  if (!sketch.ok()) return context.failed(sketch.error());
  // Devices that lose power with them are affected, too, and count.
  std::vector<std::uint32_t> hit = request.targets;
  hit.insert(hit.end(), sketch->dependents.begin(), sketch->dependents.end());
  if (!sketch->dependents.empty()) {
    context.note(
        fmt::format("{} dependents also lose power: {}", sketch->dependents.size(), setup->fold(sketch->dependents)));
  }
  const std::uint32_t limit = verb == PowerVerb::on ? std::numeric_limits<std::uint32_t>::max() : kDefaultLimit;
  if (const std::optional<Exit> refused = setup->permit(context, oob::journal_verb(verb), hit, limit)) return *refused;
  if (setup->terms().dry_run) {
    const Result<oob::PowerPlan> plan = oob::prepare_power(setup->fleet(), request);
    if (!plan.ok()) return context.failed(plan.error());
    return context.deliver(oob::plan_document(setup->inventory(), *plan));
  }
  Result<oob::PowerReport> report = Error{};
  {
    OobProgress line(context);
    watch(line, request);
    report = oob::run_operation(setup->fleet(), request);
  }
  return deliver(context, *setup, report);
}

Exit run_power_command(Context& context) {
  const Arguments& arguments = context.arguments();
  if (arguments.has("open")) return list_open(context);
  if (arguments.has("resume") || arguments.has("abandon")) return run_earlier(context);
  const std::string word = arguments.word(0);
  if (word.empty()) return context.usage_error("missing VERB", {usage_of(context.command())});
  const std::optional<PowerVerb> verb = oob::power_verb_named(word);
  if (!verb && arguments.words().size() == 1 && names_cluster_file(word))
    return context.usage_error("missing VERB", {fmt::format("weft oob power VERB {}", printable(word))});
  if (!verb && word != "status") {
    return context.usage_error("unknown power verb " + in_backticks(word),
                               {suggest_choice(word, verbs()), "verbs: " + listed(names_of(verbs()))});
  }
  if (arguments.word(1).empty()) return context.missing_cluster(usage_of(context.command()));
  return verb ? run_verb(context, *verb) : run_oob_status(context, 1);
}

// `power status` is `weft oob status`.
Exit run_power_on_server(Context& context) {
  OobLine line = read_oob_line(context);
  if (context.arguments().word(0) == "status") {
    line.command.back() = "status";
    line.words.erase(line.words.begin());
  }
  return run_oob_line(context, line);
}

std::vector<Option> power_options() {
  const std::string section = "Power";
  return {
      {.name = "deadline",
       .value = "TIME",
       .help = "deadline per device; nothing is sent after it",
       .fallback = "5m",
       .section = section},
      {.name = "hold",
       .value = "TIME",
       .help = "cycle: pause between off and on, if sent separately",
       .fallback = "5s",
       .section = section},
      {.name = "force", .help = "soft: force off after two thirds of the deadline", .section = section},
      {.name = "finish-on", .help = "reset: power on machines that a reset left off", .section = section},
      {.name = "no-stagger", .help = "on: all at once, ignoring the limits of feeds and PDUs", .section = section},
      {.name = "starts",
       .value = "N",
       .help = "on and cycle: devices started at the same time per feed",
       .fallback = "64",
       .section = section},
      {.name = "host-probe",
       .value = "COMMAND",
       .help = "command that prints the boot ID of host %h; on, cycle and reset are done when it changes",
       .section = section},
      {.name = "open", .help = "list incomplete operations of the journal; needs no cluster file", .section = section},
      {.name = "resume",
       .value = "ID",
       .help = "continue an incomplete operation; a cycle or reset that may have been sent is not sent again",
       .section = section},
      {.name = "abandon",
       .value = "ID",
       .help = "close an incomplete operation without sending anything",
       .section = section},
  };
}

}  // namespace

Command oob_power_command() {
  Command command;
  command.name = "oob power";
  command.summary = "Power machines on, off or cycle them, and verify the result";
  command.usage = "VERB CLUSTER HOSTS [OPTIONS]";
  command.description.emplace_back(
      "A BMC may accept a command without executing it. weft reads the state, writes each step to the journal, sends "
      "it, and polls until the result is verified: the state twice in a row, a changed boot ID, a new boot, or a "
      "response of the host. Each device ends as done, not done or unknown; the last two include what to do.");
  command.description.emplace_back(
      "on, off and soft are retried if nothing happens (they are idempotent). A cycle or reset is retried only if "
      "state and boot ID prove that the previous one had no effect.");
  command.description.emplace_back(
      "Devices are powered on in waves that respect the continuous load of feeds and PDUs; each wave waits for the "
      "previous one. A chassis or PDU is powered on before its dependents.");
  command.description.emplace_back(
      "An operation whose process crashed or was stopped is incomplete in the journal until it is resumed or "
      "abandoned; until then other operations on its devices are refused, except on.");
  command.description.emplace_back(
      "Exit code 0 if all devices are done, 3 if some are not, 4 if refused, 5 if no device could be reached.");
  command.examples = {{"weft oob power on cluster.yaml @train --dry-run", "Show the waves for a pool"},
                      {"weft oob power cycle cluster.yaml train007 --reason 'XID 79' --yes", "Power cycle one server"},
                      {"weft oob power reset cluster.yaml 'train[001-016]' --reason hang --yes --host-probe "
                       "'ssh %h cat /proc/sys/kernel/random/boot_id'",
                       "Done when the boot ID of each host has changed"},
                      {"weft oob power --resume 4f1c09d2ab37e865 cluster.yaml", "Continue after a crash of weft"}};
  command.arguments = {{.name = "VERB", .help = "what to do", .choices = verbs(), .required = false, .open = true},
                       cluster_argument_or({"resume", "abandon"}),
                       oob_hosts_argument()};
  command.options =
      joined(joined(power_options(), oob_action_options()),
             joined({oob_identity_option(), output_option(), file_option(), catalog_option()}, oob_options()));
  command.run = run_power_command;
  offer_on_server(command, run_power_on_server);
  return command;
}

}  // namespace weft::cli
