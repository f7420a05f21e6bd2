// weft oob power: power of many machines as closed loops, journalled and resumable.
#include <fmt/format.h>

#include <limits>

#include "cli/framework/option_reader.h"
#include "cli/oob/input.h"
#include "cli/oob/status.h"
#include "oob/power/report.h"
#include "oob/power/run.h"

namespace weft::cli {
namespace {

using oob::PowerVerb;

// Devices that may be hit without --limit: a rack or two. Switching on ends nothing, so it has no limit.
constexpr std::uint32_t kDefaultLimit = 32;

std::vector<Choice> verbs() {
  return {{"status", "look, and change nothing"},
          {"on", "power on, staggered within the budgets of feeds and PDUs"},
          {"off", "cut the power (ForceOff)"},
          {"soft", "ask the operating system to shut down"},
          {"cycle", "off and on again; made of ForceOff, a wait and On where the BMC has no PowerCycle"},
          {"reset", "restart without cutting the power (ForceRestart)"}};
}

// False after it was said what is wrong.
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
    code = context.usage_error(probe.error().message, {"a program and its arguments; %h becomes the host's name"});
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
    context.note(fmt::format("operation {} stays open: --resume {} goes on", report->operation, report->operation));
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
  oob::SystemClock clock;
  const std::string path = oob_journal_path(oob_state_folder(context));
  const Result<std::unique_ptr<oob::Journal>> journal = oob::open_journal(path, user_at_host(context.io()), clock);
  if (!journal.ok()) return context.failed(journal.error());
  const Result<std::vector<oob::OpenPower>> open = oob::open_power(**journal);
  if (!open.ok()) return context.failed(open.error());
  return context.deliver(oob::open_power_document(*open));
}

// --resume and --abandon: an operation that is in the journal.
Exit run_earlier(Context& context) {
  if (context.arguments().words().size() != 1)
    return context.usage_error("an operation of the journal has its verb and its devices",
                               {"give the cluster file alone"});
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
    return context.usage_error("no host is named", {"name hosts, or say all", usage_of(context.command())});
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, 1);
  if (setup == nullptr) return code;
  oob::PowerRequest request;
  request.verb = verb;
  request.targets = setup->chosen();
  if (!read_options(context, setup->clock(), request, code)) return code;
  const oob::PowerStates unknown(setup->inventory().targets().size(), oob::PowerState::unknown);
  const Result<oob::PowerPlan> sketch =
      oob::plan_power(setup->inventory(), verb, request.targets, unknown, request.limits);
  if (!sketch.ok()) return context.failed(sketch.error());
  // What loses its power with them is hit too, and counts.
  std::vector<std::uint32_t> hit = request.targets;
  hit.insert(hit.end(), sketch->dependents.begin(), sketch->dependents.end());
  if (!sketch->dependents.empty()) {
    context.note(fmt::format("{} not named, but without power with them: {}", sketch->dependents.size(),
                             setup->fold(sketch->dependents)));
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
  if (!verb && word != "status")
    return context.usage_error(fmt::format("there is no power verb `{}`", word),
                               {"verbs: " + listed(names_of(verbs()))});
  if (arguments.word(1).empty()) return context.usage_error("missing CLUSTER", {usage_of(context.command())});
  return verb ? run_verb(context, *verb) : run_oob_status(context, 1);
}

std::vector<Option> power_options() {
  const std::string section = "Power";
  return {
      {.name = "deadline",
       .value = "TIME",
       .help = "for each device; nothing is sent after it",
       .fallback = "5m",
       .section = section},
      {.name = "hold",
       .value = "TIME",
       .help = "cycle: between off and on, where they are sent one by one",
       .fallback = "5s",
       .section = section},
      {.name = "force", .help = "soft: cut the power after two thirds of the deadline", .section = section},
      {.name = "finish-on", .help = "reset: switch on what a reset left off", .section = section},
      {.name = "no-stagger", .help = "on: all at once, whatever feeds and PDUs carry", .section = section},
      {.name = "starts",
       .value = "N",
       .help = "on and cycle: devices that start on one feed at the same time",
       .fallback = "64",
       .section = section},
      {.name = "host-probe",
       .value = "COMMAND",
       .help = "prints the boot id of host %h; on, cycle and reset are done when it has changed",
       .section = section},
      {.name = "open", .help = "list operations that began and never ended", .section = section},
      {.name = "resume",
       .value = "ID",
       .help = "go on with such an operation; a cycle or reset that may have been sent is not sent again",
       .section = section},
      {.name = "abandon", .value = "ID", .help = "close such an operation, and send nothing", .section = section},
  };
}

}  // namespace

Command oob_power_command() {
  Command command;
  command.name = "oob power";
  command.summary = "Power machines on, off or cycle them, and verify the result";
  command.usage = "VERB CLUSTER HOSTS [OPTIONS]";
  command.description.emplace_back(
      "A BMC that accepts a command may not have carried it out. weft reads the state, writes each step to the "
      "journal, "
      "sends it, and polls until there is evidence: the state twice in a row, a changed boot id, a new boot, or an "
      "answer of the host. Each device ends as done, not done or unknown; the last two say what to do.");
  command.description.emplace_back(
      "on, off and soft are repeated where nothing happens. A cycle or a reset is sent again only when state and boot "
      "id prove that the one before had no effect.");
  command.description.emplace_back(
      "Devices are switched on in waves: no feed and no PDU is asked for more than it carries for hours, and a wave "
      "waits for the one before. A chassis or a PDU is not switched on together with what hangs on it.");
  command.description.emplace_back(
      "An operation whose process died, or was stopped, stays open in the journal until it is resumed or abandoned; "
      "until then nothing but on is done to its devices by others.");
  command.description.emplace_back(
      "Ends with 0 when all are done, 3 when some are not, 4 when it was refused, 5 when no device could be "
      "reached.");
  command.examples = {{"weft oob power on cluster.yaml @train --dry-run", "The waves in which the pool would start"},
                      {"weft oob power cycle cluster.yaml train007 --reason 'XID 79' --yes", "One server, off and on"},
                      {"weft oob power reset cluster.yaml 'train[001-016]' --reason hang --yes --host-probe "
                       "'ssh %h cat /proc/sys/kernel/random/boot_id'",
                       "Done when each host tells another boot id"},
                      {"weft oob power --resume 4f1c09d2ab37e865 cluster.yaml", "After weft itself died"}};
  command.arguments = {{.name = "VERB", .help = "what to do", .choices = verbs(), .required = false, .open = true},
                       {.name = "CLUSTER", .help = "a cluster file", .hint = Hint::file, .required = false},
                       oob_hosts_argument()};
  command.options =
      joined(joined(power_options(), oob_action_options()),
             joined({oob_identity_option(), output_option(), file_option(), catalog_option()}, oob_options()));
  command.run = run_power_command;
  return command;
}

}  // namespace weft::cli
