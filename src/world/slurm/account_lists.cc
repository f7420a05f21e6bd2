#include "world/slurm/account_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace weft::world {
namespace {

constexpr std::size_t kMaxShown = 80;

std::vector<std::string> list_command(std::string_view what, std::string_view columns) {
  return {"-P", "list", std::string(what), fmt::format("format={}", columns)};
}

Error problem(std::string_view list, std::string message) {
  return {ErrorCode::unavailable, std::move(message), fmt::format("sacctmgr list {}", list)};
}

// Descriptions may contain the separator, and sacctmgr quotes nothing: they are the last column.
constexpr std::string_view kFreeText = "Descr";

// Lines of fields, with columns by name.
class AccountTable {
 public:
  static Result<AccountTable> parse(std::string_view list, std::string_view text,
                                    const std::vector<std::string_view>& columns) {
    AccountTable table;
    const std::vector<std::string_view> lines = split_lines(text);
    if (lines.empty()) return problem(list, "printed nothing, not even the names of its columns");
    const std::vector<std::string_view> header = split(lines.front(), '|');
    for (const std::string_view column : columns) {
      const auto found = std::find(header.begin(), header.end(), column);
      if (found == header.end())
        return problem(list, fmt::format("has no column '{}' but '{}'", column, lines.front().substr(0, kMaxShown)));
      table.positions_.push_back(static_cast<std::size_t>(found - header.begin()));
    }
    for (std::size_t i = 1; i < lines.size(); ++i) {
      std::vector<std::string_view> fields = split(lines[i], '|');
      if (fields.size() > header.size() && header.back() == kFreeText) {
        const auto offset = static_cast<std::size_t>(fields[header.size() - 1].data() - lines[i].data());
        fields.resize(header.size());
        fields.back() = lines[i].substr(offset);
      }
      if (fields.size() != header.size())
        return problem(list, fmt::format("line {} has {} instead of {} fields: '{}'", i + 1, fields.size(),
                                         header.size(), lines[i].substr(0, kMaxShown)));
      table.rows_.push_back(std::move(fields));
    }
    return table;
  }

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  // By the order in which parse() got the columns.
  [[nodiscard]] std::string_view field(std::size_t row, std::size_t column) const {
    return rows_[row][positions_[column]];
  }

 private:
  std::vector<std::size_t> positions_;
  std::vector<std::vector<std::string_view>> rows_;
};

std::set<std::string> split_names(std::string_view text) {
  std::set<std::string> names;
  for (const std::string_view name : split(text, ',')) {
    if (!name.empty()) names.emplace(name);
  }
  return names;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// "1-02:03:04" or "00:01:30" in seconds; "" is 0.
std::optional<std::int64_t> parse_seconds(std::string_view text) {
  if (text.empty()) return 0;
  constexpr std::int64_t kMaxPart = 1'000'000;
  std::int64_t days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const std::optional<std::int64_t> number = parse_count(text.substr(0, dash));
    if (!number || *number > kMaxPart) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  std::int64_t seconds = 0;
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  for (const std::string_view part : parts) {
    const std::optional<std::int64_t> number = parse_count(part);
    if (!number || *number > kMaxPart) return std::nullopt;
    seconds = seconds * 60 + *number;
  }
  return days * 86'400 + seconds;
}

Status read_clusters(std::string_view text, std::string_view cluster, AccountsState& state) {
  const Result<AccountTable> table = AccountTable::parse("cluster", text, {"Cluster"});
  if (!table.ok()) return table.error();
  for (std::size_t i = 0; i < table->size(); ++i) state.has_cluster |= table->field(i, 0) == cluster;
  return {};
}

Status read_resources(std::string_view text, AccountsState& state) {
  const Result<AccountTable> table = AccountTable::parse("tres", text, {"Type", "Name"});
  if (!table.ok()) return table.error();
  for (std::size_t i = 0; i < table->size(); ++i) {
    const std::string_view name = table->field(i, 1);
    state.resources.insert(std::string(table->field(i, 0)) + (name.empty() ? "" : "/") + std::string(name));
  }
  // slurmdbd creates these itself.
  if (!state.resources.contains("cpu") || !state.resources.contains("mem"))
    return problem("tres", "is not complete: it has no cpu and mem");
  return {};
}

Status read_qos(std::string_view text, AccountsState& state) {
  const Result<AccountTable> table =
      AccountTable::parse("qos", text, {"Name", "Priority", "GraceTime", "Preempt", "PreemptMode", "Flags", "Descr"});
  if (!table.ok()) return table.error();
  for (std::size_t i = 0; i < table->size(); ++i) {
    QosRecord qos;
    qos.name = table->field(i, 0);
    const std::optional<std::int64_t> priority = parse_count(table->field(i, 1));
    const std::optional<std::int64_t> grace = parse_seconds(table->field(i, 2));
    if (qos.name.empty() || !priority || !grace)
      return problem("qos", fmt::format("line {} is not a QoS: name '{}', priority '{}', grace time '{}'", i + 2,
                                        qos.name, table->field(i, 1), table->field(i, 2)));
    qos.priority = *priority;
    qos.grace_seconds = *grace;
    qos.preempts = split_names(table->field(i, 3));
    qos.preempt_mode = to_lower(table->field(i, 4));
    qos.flags = split_names(table->field(i, 5));
    qos.description = table->field(i, 6);
    std::string name = qos.name;
    state.qos.insert_or_assign(std::move(name), std::move(qos));
  }
  // slurmdbd creates QoS `normal` with its tables, and does not need it: an empty list is an answer.
  return {};
}

Result<std::map<std::string, std::string>> read_descriptions(std::string_view text) {
  const Result<AccountTable> table = AccountTable::parse("account", text, {"Account", "Descr"});
  if (!table.ok()) return table.error();
  std::map<std::string, std::string> descriptions;
  for (std::size_t i = 0; i < table->size(); ++i)
    descriptions.insert_or_assign(std::string(table->field(i, 0)), std::string(table->field(i, 1)));
  return descriptions;
}

Result<std::map<std::string, std::string>> parse_limits(std::string_view text, std::size_t line) {
  std::map<std::string, std::string> limits;
  for (const std::string_view part : split(text, ',')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return problem("assoc", fmt::format("line {} has the limits '{}'", line, text.substr(0, kMaxShown)));
    limits.insert_or_assign(std::string(part.substr(0, equals)), std::string(part.substr(equals + 1)));
  }
  return limits;
}

constexpr std::string_view kRoot = "root";

struct Association {
  std::string account;
  std::string user;
  bool is_ours = false;
  std::string parent;
  std::map<std::string, std::string> limits;
  std::set<std::string> qos;
  std::string default_qos;
};

Result<std::vector<Association>> parse_associations(std::string_view text, std::string_view cluster) {
  const Result<AccountTable> table =
      AccountTable::parse("assoc", text, {"Cluster", "Account", "User", "ParentName", "GrpTRES", "QOS", "Def QOS"});
  if (!table.ok()) return table.error();
  std::vector<Association> associations;
  for (std::size_t i = 0; i < table->size(); ++i) {
    Association each;
    each.is_ours = table->field(i, 0) == cluster;
    each.account = table->field(i, 1);
    each.user = table->field(i, 2);
    each.parent = table->field(i, 3);
    Result<std::map<std::string, std::string>> limits = parse_limits(table->field(i, 4), i + 2);
    if (!limits.ok()) return limits.error();
    each.limits = std::move(*limits);
    each.qos = split_names(table->field(i, 5));
    each.default_qos = table->field(i, 6);
    if (each.account.empty()) return problem("assoc", fmt::format("line {} has no account", i + 2));
    associations.push_back(std::move(each));
  }
  return associations;
}

// Every cluster has the account root. Who may not see all accounts gets a shorter list without a word.
Status check_complete(const std::vector<Association>& associations, std::string_view cluster,
                      const AccountsState& state) {
  const bool has_root = std::any_of(associations.begin(), associations.end(),
                                    [](const Association& each) { return each.is_ours && each.account == kRoot; });
  if (state.has_cluster && !has_root)
    return problem("assoc", fmt::format("is not complete: it has no account root on {}; run this as root, SlurmUser or "
                                        "an administrator of Slurm",
                                        cluster));
  for (const auto& [name, record] : state.accounts) {
    if (record.parent.empty()) return problem("assoc", fmt::format("is not complete: account {} has no parent", name));
  }
  return {};
}

Status read_associations(std::string_view text, std::string_view cluster, AccountsState& state) {
  Result<std::vector<Association>> associations = parse_associations(text, cluster);
  if (!associations.ok()) return associations.error();
  for (const Association& each : *associations) {
    if (!each.is_ours || each.account == kRoot || !each.user.empty()) continue;
    AccountRecord& record = state.accounts[each.account];
    record.name = each.account;
    record.parent = each.parent;
    record.limits = each.limits;
    record.qos = each.qos;
    record.default_qos = each.default_qos;
  }
  for (const Association& each : *associations) {
    std::set<std::string> used = each.qos;
    if (!each.default_qos.empty()) used.insert(each.default_qos);
    if (each.is_ours && each.account != kRoot) {
      if (each.user.empty()) continue;
      AccountRecord& record = state.accounts[each.account];
      record.name = each.account;
      record.users.insert(each.user);
      // Users inherit what their account has.
      for (const std::string& inherited : record.qos) used.erase(inherited);
      used.erase(record.default_qos);
    }
    state.used_elsewhere.merge(used);
  }
  if (Status complete = check_complete(*associations, cluster, state); !complete.ok()) return complete;
  for (const auto& [name, record] : state.accounts) {
    const auto parent = state.accounts.find(record.parent);
    if (parent != state.accounts.end()) parent->second.children.insert(name);
  }
  return {};
}

}  // namespace

std::vector<std::string> cluster_list_command() { return list_command("cluster", "cluster"); }
std::vector<std::string> resource_list_command() { return list_command("tres", "type,name"); }
std::vector<std::string> qos_list_command() {
  return list_command("qos", "name,priority,gracetime,preempt,preemptmode,flags,description");
}
std::vector<std::string> account_list_command() { return list_command("account", "account,description"); }
std::vector<std::string> association_list_command() {
  return list_command("assoc", "cluster,account,user,parentname,grptres,qos,defaultqos");
}

Result<AccountsState> parse_accounts(const AccountLists& lists, std::string_view cluster) {
  AccountsState state;
  if (Status read = read_clusters(lists.clusters, cluster, state); !read.ok()) return read.error();
  if (Status read = read_resources(lists.resources, state); !read.ok()) return read.error();
  if (Status read = read_qos(lists.qos, state); !read.ok()) return read.error();
  if (Status read = read_associations(lists.associations, cluster, state); !read.ok()) return read.error();
  const Result<std::map<std::string, std::string>> descriptions = read_descriptions(lists.accounts);
  if (!descriptions.ok()) return descriptions.error();
  for (auto& [name, account] : state.accounts) {
    const auto found = descriptions->find(name);
    if (found == descriptions->end())
      return problem("account", fmt::format("is not complete: it has no account {}", name));
    account.description = found->second;
  }
  return state;
}

Result<AccountsState> read_accounts(const RunSacctmgr& run, std::string_view cluster) {
  AccountLists lists;
  // Associations first: an account that appears in between is in the later lists.
  const std::pair<std::vector<std::string>, std::string*> wanted[] = {{association_list_command(), &lists.associations},
                                                                      {account_list_command(), &lists.accounts},
                                                                      {qos_list_command(), &lists.qos},
                                                                      {resource_list_command(), &lists.resources},
                                                                      {cluster_list_command(), &lists.clusters}};
  for (const auto& [command, text] : wanted) {
    Result<std::string> out = run(command);
    if (!out.ok()) return out.error();
    *text = std::move(*out);
  }
  return parse_accounts(lists, cluster);
}

}  // namespace weft::world
