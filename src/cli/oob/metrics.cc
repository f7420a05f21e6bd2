// weft oob metrics: the telemetry of a whole cluster.
#include "cli/oob/device_commands.h"
#include "oob/bmc/ask_all.h"
#include "oob/manage/metrics_view.h"

namespace weft::cli {
namespace {

Exit run_metrics(Context& context) {
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, 0, OobUse::read);
  if (setup == nullptr) return code;
  const bool for_machines = is_for_machines(context.output_format());
  oob::MetricFleet fleet(setup->inventory(), context.arguments().value("metric"), for_machines);
  const std::vector<oob::Unreached> unreached = oob::ask_all(
      setup->fleet(), select_with_bmc(context, *setup),
      [](oob::OpenBmc& open, std::uint32_t) -> Result<std::optional<oob::MetricReports>> {
        Result<oob::MetricReports> reports = open.bmc->metrics();
        if (reports.ok()) return std::optional(std::move(reports).value());
        if (reports.error().code == ErrorCode::not_found) return std::optional<oob::MetricReports>();
        return reports.error();
      },
      [&](std::uint32_t target, const std::optional<oob::MetricReports>& reports) {
        reports ? fleet.add(target, *reports) : fleet.add_without_telemetry(target);
      });
  const Exit outcome = outcome_of(false, unreached);
  return context.deliver(for_machines ? oob::metric_rows(setup->inventory(), fleet, unreached)
                                      : oob::metrics_document(setup->inventory(), fleet, unreached),
                         outcome == Exit::ok && !fleet.unread().empty() ? Exit::partial : outcome);
}

}  // namespace

Command oob_metrics_command() {
  Command command;
  command.name = "oob metrics";
  command.summary = "Read the telemetry of all machines, differences first";
  command.usage = "CLUSTER [HOSTS] [--metric TEXT] [OPTIONS]";
  command.description = {
      "The reports of each BMC's TelemetryService: utilization, throttling, ECC errors and link errors of GPUs, "
      "NVLinks and memory. Equal parts of a model share a row: lowest, median and highest value, and outliers further "
      "than 3.5 robust standard deviations from the median; of texts, such as the state of a link, each value with the "
      "parts that have it.",
      "json, yaml, ndjson and csv have one row per value, as the BMC wrote it. Machines without telemetry are listed. "
      "Exit code 3 if some reports could not be read."};
  command.examples = {{"weft oob metrics pod16.yaml --metric ECC", "Counts of memory errors"},
                      {"weft oob metrics pod16.yaml @train --metric NVLink", "States, speeds and errors of NVLinks"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options =
      joined({{.name = "metric", .value = "TEXT", .help = "only metrics whose name or part contains this text"},
              output_option(),
              file_option(),
              catalog_option()},
             oob_options());
  command.run = run_metrics;
  return command;
}

}  // namespace weft::cli
