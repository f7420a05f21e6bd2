// weft oob users: the accounts of all BMCs, and disabling one.
#include "cli/oob/device_commands.h"
#include "cli/operate/oob_remote.h"
#include "oob/bmc/ask_all.h"
#include "oob/manage/users_view.h"

namespace weft::cli {
namespace {

Exit disable(Context& context, OobSetup& setup, const std::string& name) {
  const std::vector<std::uint32_t> targets = select_with_bmc(context, setup);
  if (const std::optional<Exit> stop = setup.permit(context, "users.disable", targets, kDeviceLimit)) return *stop;
  const ActionTerms terms = setup.terms();
  const Result<std::vector<oob::DeviceEnding>> endings =
      oob::disable_user(setup.fleet(), targets, name, terms.reason, terms.dry_run);
  if (!endings.ok()) return context.failed(endings.error());
  return context.deliver(oob::endings_document(setup.inventory(), "oob-users-disable", *endings), outcome_of(*endings));
}

Exit run_users(Context& context) {
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup =
      OobSetup::open(context, true, code, 0, context.arguments().has("disable") ? use_of(context) : OobUse::read);
  if (setup == nullptr) return code;
  if (context.arguments().has("disable")) return disable(context, *setup, context.arguments().value("disable"));
  oob::UserFleet fleet;
  const std::vector<oob::Unreached> unreached = oob::ask_all(
      setup->fleet(), select_with_bmc(context, *setup),
      [](oob::OpenBmc& open, std::uint32_t) { return open.bmc->users(); },
      [&](std::uint32_t target, std::vector<oob::BmcUser> users) { fleet.add(target, std::move(users)); });
  return context.deliver(oob::users_document(setup->inventory(), fleet, unreached), outcome_of(false, unreached));
}

}  // namespace

Command oob_users_command() {
  Command command;
  command.name = "oob users";
  command.summary = "List the accounts of all BMCs, or disable one";
  command.usage = "CLUSTER [HOSTS] [--disable NAME] [OPTIONS]";
  command.description = {"Lists each account once, with the machines that have it and those that lack it.",
                         "--disable is refused for the account that weft uses and for the last enabled administrator "
                         "of a BMC. Change passwords with `weft oob rotate`."};
  command.examples = {{"weft oob users pod16.yaml", "List all accounts"},
                      {"weft oob users pod16.yaml @train --disable ADMIN --reason 'factory account' --yes",
                       "Disable the factory account"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options =
      joined(joined({{.name = "disable", .value = "NAME", .help = "disable this account on all BMCs that have it"},
                     output_option(),
                     file_option(),
                     catalog_option()},
                    oob_action_options()),
             oob_options());
  command.run = run_users;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli
