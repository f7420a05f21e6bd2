// Reads what slurmdbd has, from the lists that sacctmgr prints. Columns are found by the names in the first line; a
// list without that line, a line with a field too few and a list that cannot be complete are errors, never "nothing
// there".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/slurm/account_records.h"

namespace weft::world {

// Runs sacctmgr with these arguments and returns what it prints.
using RunSacctmgr = std::function<Result<std::string>(std::vector<std::string>)>;

struct AccountLists {
  std::string clusters;
  std::string resources;
  std::string qos;
  std::string accounts;
  std::string associations;
};

// The arguments of sacctmgr for each list.
[[nodiscard]] std::vector<std::string> cluster_list_command();
[[nodiscard]] std::vector<std::string> resource_list_command();
[[nodiscard]] std::vector<std::string> qos_list_command();
[[nodiscard]] std::vector<std::string> account_list_command();
[[nodiscard]] std::vector<std::string> association_list_command();

[[nodiscard]] Result<AccountsState> parse_accounts(const AccountLists& lists, std::string_view cluster);
[[nodiscard]] Result<AccountsState> read_accounts(const RunSacctmgr& run, std::string_view cluster);

}  // namespace weft::world
