// The difference between the accounting database of Slurm and what a cluster file asks for, as commands of sacctmgr.
// Nothing is removed without `prune`, and then only what weft created (account_mark) and no user has: an account with
// users or accounts below it stays. Limits and QoS that others have added to an account stay, too, and are listed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/slurm/account_lists.h"
#include "world/slurm/account_records.h"

namespace weft::world {

enum class AccountAction { add, change, remove };
[[nodiscard]] std::string_view to_text(AccountAction action);

struct AccountSetting {
  std::string name;  // as sacctmgr names it; "" for what has no settings
  std::string before;
  std::string after;
  bool operator==(const AccountSetting&) const = default;
};

struct AccountStep {
  AccountAction action = AccountAction::add;
  std::string kind;  // "cluster", "qos", "account", "user"
  std::string name;  // of a user: "user in account"
  std::vector<AccountSetting> settings;
  std::vector<std::string> command;  // arguments of sacctmgr
  std::string blocked;               // why it cannot be done yet; "": it can
  bool operator==(const AccountStep&) const = default;
};

// Something that differs from the cluster file and stays.
struct AccountRemark {
  std::string kind;
  std::string name;
  std::string text;
};

struct AccountPlan {
  std::vector<AccountStep> steps;
  std::vector<AccountRemark> left_alone;

  [[nodiscard]] bool empty() const { return steps.empty(); }
  // Twelve digits that identify the steps, with the values before and after.
  [[nodiscard]] std::string id() const;
};

[[nodiscard]] AccountPlan plan_accounts(const AccountsRequest& request, const AccountsState& state, bool prune);

// Whether two limits are the same: Slurm prints 6400000M of memory as 6250G.
[[nodiscard]] bool is_same_limit(std::string_view resource, std::string_view a, std::string_view b);

struct AccountsApplied {
  std::size_t done = 0;  // steps, from the first
  Status status;         // why it ended before the last
};

// Executes the steps of a plan that are not blocked. After each, the database is read again: the step must have taken
// effect, and the plan for what is there now must be the remaining steps. Otherwise nothing more is written.
[[nodiscard]] AccountsApplied apply_accounts(const RunSacctmgr& run, const AccountsRequest& request,
                                             const AccountPlan& plan, bool prune);

}  // namespace weft::world
