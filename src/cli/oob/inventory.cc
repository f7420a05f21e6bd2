// weft oob inventory: every device with an out-of-band address, from the plan alone or with live BMC data.
#include <mutex>

#include "cli/oob/device_commands.h"
#include "cli/operate/oob_remote.h"
#include "oob/audit/identity.h"
#include "oob/bmc/ask_all.h"

namespace weft::cli {
namespace {

Exit run_inventory(Context& context) {
  Exit code = Exit::ok;
  const bool probe = context.arguments().has("probe");
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, probe, code, 0, OobUse::read);
  if (setup == nullptr) return code;
  if (!probe) return context.deliver(oob::inventory_document(setup->inventory(), setup->chosen()));
  const std::vector<std::uint32_t> targets = select_with_bmc(context, *setup);
  std::mutex mutex;
  oob::Identities identities;
  const std::vector<oob::Unreached> unreached = oob::ask_all(
      setup->fleet(), targets, [](oob::OpenBmc& open, std::uint32_t) { return open.bmc->identity(); },
      [&](std::uint32_t target, oob::BmcIdentity identity) {
        const std::lock_guard lock(mutex);
        identities.emplace(target, std::move(identity));
      });
  bool trouble = false;
  const Document document =
      oob::probed_document(setup->inventory(), setup->cluster(), setup->chosen(), identities, unreached, trouble);
  return context.deliver(document, outcome_of(trouble, unreached));
}

}  // namespace

Command oob_inventory_command() {
  Command command;
  command.name = "oob inventory";
  command.summary = "List all BMCs, and verify the machine behind each";
  command.usage = "CLUSTER [HOSTS] [--probe] [OPTIONS]";
  command.description = {
      "Lists every device with an out-of-band address: protocol, rack and power feeds. This needs no network.",
      "--probe reads the identity of each machine from its BMC and reports machines that are not the planned model or "
      "differ from the rest of their pool, and addresses that lead to the same machine."};
  command.examples = {{"weft oob inventory pod16.yaml", "All BMCs of the design"},
                      {"weft oob inventory pod16.yaml @train --probe", "Live vendors, serial numbers and firmware"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = joined({{.name = "probe", .help = "read the identity of each machine from its BMC"},
                            output_option(),
                            file_option(),
                            catalog_option()},
                           oob_options());
  command.run = run_inventory;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli
