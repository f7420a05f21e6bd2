// weft oob firmware: versions of the firmware of all machines, and updates of it.
#include <fmt/format.h>

#include "base/file.h"
#include "cli/oob/device_commands.h"
#include "cli/oob/firmware_update.h"
#include "oob/bmc/ask_all.h"
#include "oob/firmware/list_view.h"

namespace weft::cli {
namespace {

std::vector<Choice> verbs() {
  return {{"list", "read the versions of all components (read-only)"},
          {"update", "install an image, and verify the version afterwards"}};
}

// False after the problem was reported.
bool read_baseline(Context& context, std::optional<oob::FirmwareBaseline>& baseline, Exit& code) {
  const std::string path = context.arguments().value("baseline");
  if (path.empty()) return true;
  Result<std::string> text = read_file(path);
  if (!text.ok()) {
    code = context.failed(text.error());
    return false;
  }
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(path, std::move(text).value());
  baseline = oob::read_baseline(sources, file, diagnostics);
  if (baseline) return true;
  code = context.failed({ErrorCode::invalid_input, render_all(diagnostics, sources, false), {}});
  return false;
}

Result<oob::DeviceFirmware> ask_firmware(oob::OpenBmc& open, const oob::Target& target) {
  oob::FirmwareAccess* access = open.bmc->firmware();
  if (access == nullptr)
    return Error{ErrorCode::not_found, "has no firmware inventory over IPMI; use Redfish", target.name};
  Result<oob::FirmwareInventory> firmware = access->firmware_inventory();
  if (!firmware.ok()) return firmware.error();
  oob::DeviceFirmware device{{}, std::move(firmware).value()};
  const Result<oob::BmcIdentity> identity = open.bmc->identity();
  if (identity.ok()) device.identity = *identity;
  // Without it, patterns of vendor and model match nothing: the list is not complete.
  if (!identity.ok()) device.firmware.unread.push_back({"model", identity.error()});
  return device;
}

Exit run_list(Context& context, const std::optional<oob::FirmwareBaseline>& baseline) {
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, 1);
  if (setup == nullptr) return code;
  oob::FirmwareFleet fleet;
  const std::vector<oob::Unreached> unreached = oob::ask_all(
      setup->fleet(), select_with_bmc(context, *setup),
      [&](oob::OpenBmc& open, std::uint32_t target) {
        return ask_firmware(open, setup->inventory().targets()[target]);
      },
      [&](std::uint32_t target, oob::DeviceFirmware device) { fleet.add(target, std::move(device)); });
  const oob::FirmwareReport report = oob::firmware_report(setup->inventory(), fleet, baseline ? &*baseline : nullptr,
                                                          unreached, is_for_machines(context.output_format()));
  const Exit outcome = outcome_of(report.has_findings, unreached);
  return context.deliver(report.document, outcome == Exit::ok && report.is_incomplete ? Exit::partial : outcome);
}

Exit run_firmware(Context& context) {
  const std::string verb = context.arguments().word(0);
  if (context.arguments().has("open")) return list_open_updates(context);
  if (verb.empty()) return context.usage_error("missing VERB", {usage_of(context.command())});
  if (verb != "list" && verb != "update")
    return context.usage_error(fmt::format("unknown firmware verb `{}`", verb),
                               {"verbs: " + listed(names_of(verbs()))});
  if (context.arguments().word(1).empty()) return context.missing_cluster(usage_of(context.command()));
  Exit code = Exit::ok;
  std::optional<oob::FirmwareBaseline> baseline;
  if (!read_baseline(context, baseline, code)) return code;
  return verb == "list" ? run_list(context, baseline) : run_firmware_update(context, baseline);
}

}  // namespace

Command oob_firmware_command() {
  Command command;
  command.name = "oob firmware";
  command.summary = "List and update the firmware of all machines";
  command.usage = "VERB CLUSTER [HOSTS] [OPTIONS]";
  command.description = {
      "list reads the firmware and software inventory of each BMC. Components whose versions differ between machines "
      "of one model come first. A stored image is one that the BMC keeps for a rollback and does not run.",
      "--baseline FILE compares them with wanted versions and with advisories. The order of vendors' versions is not "
      "always known; that is then a finding of severity note, and never 'not affected'.",
      "update sends an image to one machine after the other, and stops at the first failure. Each step is written to "
      "the journal before it is sent. It follows the BMC's task, waits while the BMC restarts, and is done when the "
      "version is the expected one, in good health, read twice: 'Completed' alone proves nothing. An image whose fate "
      "is not "
      "known is never sent again; such a machine is listed as maybe half-flashed.",
      "An update whose process crashed or was stopped is incomplete in the journal: --open lists it with the machines "
      "that may be half-flashed, --resume ID observes them. Until then power operations on them are refused."};
  command.description.emplace_back(
      "json, yaml, ndjson and csv have one row per machine and component. list: exit code 1 if a component is "
      "below the baseline or affected, 3 if a BMC or a part of its inventory could not be read. update: 0 if all are "
      "done or staged, 3 if some are not, 4 if refused, 5 if no BMC could be reached.");
  command.examples = {
      {"weft oob firmware list pod16.yaml @train", "Versions of a pool, differences first"},
      {"weft oob firmware list pod16.yaml --baseline firmware.yaml", "Compare with wanted versions"},
      {"weft oob firmware update pod16.yaml train007 --image-file bmc.bin --component BMC --expect 2.15.0 "
       "--reason CVE-2024-54085 --yes",
       "Update one BMC"},
      {"weft oob firmware update pod16.yaml --resume 4f1c09d2ab37e865", "Continue after a crash"}};
  command.arguments = {{.name = "VERB", .help = "what to do", .choices = verbs(), .required = false, .open = true},
                       cluster_argument_or({"open"}),
                       oob_hosts_argument()};
  command.options =
      joined(joined({{.name = "baseline",
                      .value = "FILE",
                      .help = "wanted versions and advisories as a YAML file",
                      .hint = Hint::file}},
                    firmware_update_options()),
             joined(joined(oob_action_options(), {output_option(), file_option(), catalog_option()}), oob_options()));
  command.run = run_firmware;
  return command;
}

}  // namespace weft::cli
