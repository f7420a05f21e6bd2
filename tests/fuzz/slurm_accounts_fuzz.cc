// Bytes as the lists of sacctmgr, separated by form feeds: read and planned with, whatever they are. A list without its
// first line is never an empty one, and a plan that is made twice is the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "world/slurm/account_plan.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::world;
  if (size > 65536) return 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> parts = weft::split(text, '\f');
  parts.resize(5);
  AccountLists lists;
  lists.clusters = parts[0];
  lists.resources = parts[1];
  lists.qos = parts[2];
  lists.accounts = parts[3];
  lists.associations = parts[4];
  const auto state = parse_accounts(lists, "lab");
  if (!state.ok()) return 0;
  for (const std::string_view part : parts) CHECK(!part.empty(), "an empty answer is an error");
  for (const auto& [name, account] : state->accounts) CHECK(!account.parent.empty(), "an account has a parent");
  AccountsRequest request;
  request.cluster = "lab";
  request.qos.resize(1);
  request.qos.front().name = "low";
  request.accounts.resize(1);
  request.accounts.front().name = "team-a";
  request.accounts.front().limits = {{"mem", "1G"}};
  const AccountPlan plan = plan_accounts(request, *state, true);
  CHECK(plan.id() == plan_accounts(request, *state, true).id(), "a plan depends on nothing else");
  for (const AccountStep& step : plan.steps) {
    const auto account = state->accounts.find(step.name);
    CHECK(step.action != AccountAction::remove || step.kind != "account" ||
              (account->second.users.empty() && account->second.children.empty()),
          "an account that is not empty is never removed");
  }
  return 0;
}
