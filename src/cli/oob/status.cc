// weft oob status: which devices are on, off or unreachable; all in parallel.
#include "cli/oob/status.h"

#include <fmt/format.h>

#include "cli/oob/input.h"
#include "cli/oob/progress.h"
#include "cli/oob/repeat.h"
#include "cli/operate/oob_remote.h"
#include "oob/power/status_sweep.h"

namespace weft::cli {
namespace {

Exit run_status_command(Context& context) { return run_oob_status(context, 0); }

Exit run_status_on_server(Context& context) {
  OobLine line = read_oob_line(context);
  if (context.output_format() == OutputFormat::wide) line.options["identity"] = {""};
  return run_oob_line(context, line);
}

Reading read_status(Context& context, OobSetup& setup) {
  const OutputFormat format = context.output_format();
  oob::StatusOptions options;
  options.identity = format == OutputFormat::wide || context.arguments().has("identity");
  const std::size_t total = setup.chosen().size();
  oob::StatusReport report;
  {
    OobProgress line(context);
    line.show(fmt::format("queried 0 of {}", total));
    report = oob::sweep_status(setup.fleet(), setup.chosen(), options, [&](std::uint32_t finished) {
      if (finished % 16 == 0 || finished == total) line.show(fmt::format("queried {} of {}", finished, total));
    });
  }
  std::uint32_t dark = 0;
  for (const oob::DeviceStatus& device : report.devices) {
    if (device.asked && !device.answered && !device.dark.empty()) ++dark;
  }
  Exit outcome = Exit::ok;
  if (report.silent > 0 || report.stopped) outcome = report.answered + dark > 0 ? Exit::partial : Exit::unavailable;
  // The durations of a sweep are never the same twice.
  const oob::StatusFigures figures = is_repeated(context) ? oob::StatusFigures::hidden : oob::StatusFigures::shown;
  return {oob::status_document(setup.inventory(), report, oob_rows(format), figures), outcome};
}

}  // namespace

Option oob_identity_option() {
  return {.name = "identity", .help = "also read vendor, model, serial number and firmware (implied by -o wide)"};
}

oob::StatusRows oob_rows(OutputFormat format) {
  switch (format) {
    case OutputFormat::table:
      return oob::StatusRows::folded;
    case OutputFormat::wide:
      return oob::StatusRows::both;
    case OutputFormat::json:
    case OutputFormat::yaml:
    case OutputFormat::ndjson:
    case OutputFormat::csv:
      break;
  }
  return oob::StatusRows::each_device;
}

Exit run_oob_status(Context& context, std::size_t first) {
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, first, OobUse::read);
  if (setup == nullptr) return code;
  return deliver_readings(context, *setup, [&] { return read_status(context, *setup); });
}

Command oob_status_command() {
  Command command;
  command.name = "oob status";
  command.summary = "Show the power state of all machines";
  command.usage = "CLUSTER [HOSTS] [OPTIONS]";
  command.description = {
      "Devices with the same state share a row; unreachable ones are listed with the cause. Dependents of a chassis or "
      "PDU that is off are off, regardless of what their own BMC reports.",
      "The time taken is shown next to the expected time: N * L / F for N devices, latency L and fan-out F, with the "
      "time of failed attempts. A device that does not answer is asked twice; none is faster than its slowest device.",
      "Exit code 0 if all devices responded, 3 if some did not, 5 if none did."};
  command.examples = {
      {"weft oob status cluster.yaml", "All devices with an out-of-band address"},
      {"weft oob status cluster.yaml 'train[001-016]' --output wide", "With firmware, one row per device"},
      {"weft oob status cluster.yaml rack:train-r004 --watch --interval 10s", "Again after every change"},
      {"weft oob status cluster.yaml @train --output ndjson", "For scripts"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = joined(joined({oob_identity_option()}, repeat_options()),
                           joined({output_option(), file_option(), catalog_option()}, oob_options()));
  command.run = run_status_command;
  offer_on_server(command, run_status_on_server);
  return command;
}

}  // namespace weft::cli
