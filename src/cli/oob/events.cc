// weft oob events: the event logs of a whole cluster, and clearing them.
#include <algorithm>

#include "cli/oob/device_commands.h"
#include "cli/operate/oob_remote.h"
#include "oob/bmc/ask_all.h"
#include "oob/manage/events_view.h"

namespace weft::cli {
namespace {

Exit clear(Context& context, OobSetup& setup) {
  const std::vector<std::uint32_t> targets = select_with_bmc(context, setup);
  if (const std::optional<Exit> stop = setup.permit(context, "events.clear", targets, kDeviceLimit)) return *stop;
  const ActionTerms terms = setup.terms();
  const Result<std::vector<oob::DeviceEnding>> endings =
      oob::clear_logs(setup.fleet(), targets, setup.state() + "/events", terms.reason, terms.dry_run);
  if (!endings.ok()) return context.failed(endings.error());
  return context.deliver(oob::endings_document(setup.inventory(), "oob-events-clear", *endings), outcome_of(*endings));
}

Exit run_events(Context& context) {
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup =
      OobSetup::open(context, true, code, 0, context.arguments().has("clear") ? use_of(context) : OobUse::read);
  if (setup == nullptr) return code;
  const bool clearing = context.arguments().has("clear");
  if (clearing &&
      (context.arguments().has("since") || context.arguments().has("level") || context.arguments().has("log")))
    return context.usage_error(
        "--clear clears the whole log of the machine and cannot be combined with --since, --level or --log");
  if (clearing) return clear(context, *setup);
  OptionReader reader(context.arguments());
  const std::int64_t now_ms = setup->clock().wall_ms();
  const oob::EventFilter filter{since_when(reader, now_ms), least_severity(context),
                                is_for_machines(context.output_format())};
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  oob::EventFleet fleet(filter, now_ms);
  const std::string log = context.arguments().value("log");
  const std::vector<oob::Unreached> unreached = oob::ask_all(
      setup->fleet(), select_with_bmc(context, *setup),
      [&](oob::OpenBmc& open, std::uint32_t) { return open.bmc->event_logs(log); },
      [&](std::uint32_t target, const oob::EventLogs& logs) { fleet.add(target, logs); });
  // A BMC without the log that was asked for has answered, as long as others have it.
  const auto has_none = [](const oob::Unreached& device) { return device.error.code == ErrorCode::not_found; };
  const auto without = std::count_if(unreached.begin(), unreached.end(), has_none);
  const bool all_answered = !log.empty() && without == std::ssize(unreached) && fleet.added() > 0;
  const Exit outcome = all_answered ? Exit::ok : outcome_of(false, unreached);
  return context.deliver(filter.keep_entries ? oob::event_rows(setup->inventory(), fleet, unreached)
                                             : oob::events_document(setup->inventory(), fleet, unreached),
                         outcome == Exit::ok && !fleet.unread().empty() ? Exit::partial : outcome);
}

}  // namespace

Command oob_events_command() {
  Command command;
  command.name = "oob events";
  command.summary = "Read the event logs of all machines, or clear them";
  command.usage = "CLUSTER [HOSTS] [--since TIME] [--level LEVEL] [--log LOG] [--clear] [OPTIONS]";
  command.description = {
      "Reads every log of every system, manager and chassis of a BMC. Identical events are listed once, with the "
      "machines and the count; newest first. An entry that says that a condition ended has severity ok, and "
      "'(deasserted)'. BMCs whose clock was not set when they logged are listed.",
      "json, yaml, ndjson and csv have one row per entry, with the severity that the BMC gave it.",
      "--clear saves the event log of each machine to STATE/events/DEVICE-DATE.json before clearing it; other logs "
      "stay. "
      "An event that a BMC logs between the last read and the clear is lost."};
  command.examples = {
      {"weft oob events pod16.yaml --since 24h --level warning", "Warnings of the last 24 hours"},
      {"weft oob events pod16.yaml --log XID", "Errors of GPUs and NVSwitches, where the BMC logs them"},
      {"weft oob events pod16.yaml train001 --clear --reason 'DIMM replaced' --yes", "Clear the log"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = joined(
      joined({since_option("events since a date or for a duration: 2026-01-31, 12h, 7d"),
              level_option(),
              {.name = "log", .value = "LOG", .help = "only this log, by its id or whole name: SEL, Managers/BMC/SEL"},
              {.name = "clear", .help = "save the logs, then clear them on the BMCs"},
              output_option(),
              file_option(),
              catalog_option()},
             oob_action_options()),
      oob_options());
  command.run = run_events;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli
