// weft oob inventory: every device with an out-of-band address, from the plan alone or with what its BMC says.
#include <mutex>

#include "cli/oob/care.h"
#include "oob/audit/identity.h"
#include "oob/bmc/ask_all.h"

namespace weft::cli {
namespace {

Exit run_inventory(Context& context) {
  Exit code = Exit::ok;
  const bool probe = context.arguments().has("probe");
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, probe, code);
  if (setup == nullptr) return code;
  if (!probe) return context.deliver(oob::inventory_document(setup->inventory(), setup->chosen()));
  const std::vector<std::uint32_t> targets = spoken_to(context, *setup);
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
  command.summary = "List every BMC, and who really answers there";
  command.usage = "CLUSTER [HOSTS] [--probe] [OPTIONS]";
  command.description = {
      "Every device with an out-of-band address: how it is spoken to, where it stands, what feeds it. This needs no "
      "network.",
      "--probe asks each controller who it is, and names machines that are not the model of the plan, that differ from "
      "the others of their pool, and addresses behind which the same machine answers."};
  command.examples = {{"weft oob inventory pod16.yaml", "Every controller of the plan"},
                      {"weft oob inventory pod16.yaml @train --probe", "Makers, serial numbers and firmware, live"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = joined(
      {{.name = "probe", .help = "ask each controller who it is"}, output_option(), file_option(), catalog_option()},
      oob_options());
  command.run = run_inventory;
  return command;
}

}  // namespace weft::cli
