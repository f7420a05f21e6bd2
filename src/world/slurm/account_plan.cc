#include "world/slurm/account_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/hash.h"
#include "base/text.h"

namespace weft::world {
namespace {

constexpr std::size_t kIdDigits = 12;
constexpr std::string_view kRemoved = "-1";  // removes a limit

std::set<std::string> without(const std::set<std::string>& names, const std::set<std::string>& others) {
  std::set<std::string> left;
  std::set_difference(names.begin(), names.end(), others.begin(), others.end(), std::inserter(left, left.end()));
  return left;
}

std::set<std::string> together(std::set<std::string> names, const std::set<std::string>& others) {
  names.insert(others.begin(), others.end());
  return names;
}

std::string limits_text(const std::map<std::string, std::string>& limits) {
  std::string text;
  for (const auto& [resource, value] : limits) append_format(text, "{}{}={}", text.empty() ? "" : ",", resource, value);
  return text;
}

// Builds the plan on a copy of the state that each step changes as sacctmgr would: what is removed in the end depends
// on what nothing uses any more by then.
class AccountPlanner {
 public:
  AccountPlanner(const AccountsRequest& request, AccountsState state, bool prune)
      : request_(request), state_(std::move(state)), prune_(prune), mark_(account_mark(request.cluster)) {}

  AccountPlan plan() {
    if (!state_.has_cluster) {
      add({AccountAction::add, "cluster", request_.cluster, {}, {"add", "cluster", request_.cluster}, {}});
    }
    for (const QosRecord& qos : request_.qos) plan_qos(qos);
    for (const AccountRecord& account : request_.accounts) plan_account(account);
    for (const auto& [account, user] : request_.users) plan_user(account, user);
    for (const AccountRecord& account : request_.accounts) plan_limits(account);
    plan_other_accounts();
    plan_other_qos();
    return std::move(plan_);
  }

 private:
  void add(AccountStep step) { plan_.steps.push_back(std::move(step)); }
  void leave(std::string kind, std::string name, std::string text) {
    plan_.left_alone.push_back({std::move(kind), std::move(name), std::move(text)});
  }
  [[nodiscard]] bool is_ours(const std::string& description) const { return description == mark_; }

  // A set of names: what is missing is added. What is there beyond that is removed only with prune, from our own.
  void plan_names(AccountStep& step, const std::string& key, std::set<std::string>& has,
                  const std::set<std::string>& wanted, bool owned) {
    const std::set<std::string> missing = without(wanted, has);
    const std::set<std::string> extra = without(has, wanted);
    const bool removes = prune_ && owned && !extra.empty();
    if (!extra.empty() && !removes)
      leave(step.kind, step.name, fmt::format("{} {} is not in the cluster file", key, join(extra, ",")));
    if (missing.empty() && !removes) return;
    const std::set<std::string> after = removes ? wanted : together(has, wanted);
    step.settings.push_back({key, join(has, ","), join(after, ",")});
    if (!missing.empty()) step.command.push_back(fmt::format("{}+={}", key, join(missing, ",")));
    if (removes) step.command.push_back(fmt::format("{}-={}", key, join(extra, ",")));
    has = after;
  }

  static void plan_value(AccountStep& step, const std::string& key, std::string has, std::string wanted) {
    if (has == wanted) return;
    step.command.push_back(key + "=" + wanted);
    step.settings.push_back({key, std::move(has), std::move(wanted)});
  }

  void add_qos(const QosRecord& wanted) {
    AccountStep step{AccountAction::add, "qos", wanted.name, {}, {"add", "qos", wanted.name}, {}};
    plan_value(step, "description", "", mark_);
    plan_value(step, "priority", "", std::to_string(wanted.priority));
    plan_value(step, "gracetime", "", std::to_string(wanted.grace_seconds));
    plan_value(step, "preemptmode", "", wanted.preempt_mode);
    plan_value(step, "flags", "", join(wanted.flags, ","));
    plan_value(step, "preempt", "", join(wanted.preempts, ","));
    add(std::move(step));
    state_.qos[wanted.name] = wanted;
    state_.qos[wanted.name].description = mark_;
  }

  void plan_qos(const QosRecord& wanted) {
    const auto found = state_.qos.find(wanted.name);
    if (found == state_.qos.end()) return add_qos(wanted);
    QosRecord& has = found->second;
    AccountStep step{AccountAction::change, "qos", wanted.name, {}, {"modify", "qos", wanted.name, "set"}, {}};
    const bool owned = is_ours(has.description);
    plan_value(step, "priority", std::to_string(has.priority), std::to_string(wanted.priority));
    plan_value(step, "gracetime", std::to_string(has.grace_seconds), std::to_string(wanted.grace_seconds));
    plan_value(step, "preemptmode", has.preempt_mode, wanted.preempt_mode);
    plan_names(step, "flags", has.flags, wanted.flags, owned);
    plan_names(step, "preempt", has.preempts, wanted.preempts, owned);
    if (!step.settings.empty()) add(std::move(step));
  }

  void add_account(const AccountRecord& wanted) {
    AccountStep step{AccountAction::add, "account", wanted.name, {}, {"add", "account", wanted.name}, {}};
    step.command.push_back("cluster=" + request_.cluster);
    plan_value(step, "description", "", mark_);
    plan_value(step, "fairshare", "", "1");
    plan_value(step, "qos", "", join(wanted.qos, ","));
    plan_value(step, "defaultqos", "", wanted.default_qos);
    add(std::move(step));
    AccountRecord& made = state_.accounts[wanted.name];
    made = wanted;
    made.description = mark_;
    made.limits.clear();
  }

  void plan_account(const AccountRecord& wanted) {
    const auto found = state_.accounts.find(wanted.name);
    if (found == state_.accounts.end()) return add_account(wanted);
    AccountRecord& has = found->second;
    AccountStep step = change_of(wanted.name);
    if (!wanted.qos.empty()) plan_names(step, "qos", has.qos, wanted.qos, is_ours(has.description));
    if (!wanted.default_qos.empty()) plan_value(step, "defaultqos", has.default_qos, wanted.default_qos);
    if (!wanted.default_qos.empty()) has.default_qos = wanted.default_qos;
    if (!step.settings.empty()) add(std::move(step));
  }

  [[nodiscard]] AccountStep change_of(const std::string& account) const {
    return {AccountAction::change,
            "account",
            account,
            {},
            {"modify", "account", account, "where", "cluster=" + request_.cluster, "set"},
            {}};
  }

  void plan_user(const std::string& account, const std::string& user) {
    AccountRecord& has = state_.accounts[account];
    if (!has.users.insert(user).second) return;
    add({AccountAction::add,
         "user",
         fmt::format("{} in {}", user, account),
         {},
         {"add", "user", user, "account=" + account, "cluster=" + request_.cluster},
         {}});
  }

  void plan_limits(const AccountRecord& wanted) {
    AccountRecord& has = state_.accounts[wanted.name];
    std::map<std::string, std::string> changes;
    std::vector<std::string> unknown;
    for (const auto& [resource, value] : wanted.limits) {
      const auto found = has.limits.find(resource);
      if (found != has.limits.end() && is_same_limit(resource, found->second, value)) continue;
      changes[resource] = value;
      if (!state_.resources.contains(resource)) unknown.push_back(resource);
    }
    std::map<std::string, std::string> extra;
    for (const auto& [resource, value] : has.limits) {
      if (!wanted.limits.contains(resource)) extra[resource] = value;
    }
    if (prune_ && is_ours(has.description)) {
      for (const auto& [resource, value] : extra) changes[resource] = kRemoved;
    } else if (!extra.empty()) {
      leave("account", wanted.name, fmt::format("grptres {} is not in the cluster file", limits_text(extra)));
    }
    if (changes.empty()) return;
    std::map<std::string, std::string> after = has.limits;
    for (const auto& [resource, value] : changes) {
      after[resource] = value;
      if (value == kRemoved) after.erase(resource);
    }
    AccountStep step = change_of(wanted.name);
    step.settings.push_back({"grptres", limits_text(has.limits), limits_text(after)});
    step.command.push_back("grptres=" + limits_text(changes));
    if (!unknown.empty())
      step.blocked =
          fmt::format("Slurm does not know {} yet: start slurmctld with it in AccountingStorageTRES, then plan again",
                      join(unknown, ", "));
    has.limits = after;
    add(std::move(step));
  }

  [[nodiscard]] bool is_requested_account(const std::string& name) const {
    return std::any_of(request_.accounts.begin(), request_.accounts.end(),
                       [&](const AccountRecord& account) { return account.name == name; });
  }

  void plan_other_accounts() {
    std::vector<std::string> removed;
    for (const auto& [name, account] : state_.accounts) {
      if (is_requested_account(name)) continue;
      std::string why;
      if (!is_ours(account.description)) {
        why = "is not in the cluster file, and weft did not create it";
      } else if (!account.users.empty()) {
        why = fmt::format("is not in the cluster file; it has users ({}), so it is never removed",
                          join(account.users, ","));
      } else if (!account.children.empty()) {
        why = fmt::format("is not in the cluster file; it has accounts below it ({}), so it is never removed",
                          join(account.children, ","));
      } else if (!prune_) {
        why = "is not in the cluster file; --prune removes it";
      }
      if (why.empty())
        removed.push_back(name);
      else
        leave("account", name, std::move(why));
    }
    for (const std::string& name : removed) {
      add({AccountAction::remove,
           "account",
           name,
           {},
           {"delete", "account", "where", "name=" + name, "cluster=" + request_.cluster},
           {}});
      state_.accounts.erase(name);
    }
  }

  // "" when nothing uses it.
  [[nodiscard]] std::string user_of_qos(const std::string& qos) const {
    for (const auto& [name, account] : state_.accounts) {
      if (account.qos.contains(qos) || account.default_qos == qos) return "account " + name;
    }
    for (const auto& [name, other] : state_.qos) {
      if (other.preempts.contains(qos)) return "the preempt list of QoS " + name;
    }
    return state_.used_elsewhere.contains(qos) ? "a user, account root or another cluster" : "";
  }

  void plan_other_qos() {
    std::vector<std::string> removed;
    for (const auto& [name, qos] : state_.qos) {
      const bool requested = std::any_of(request_.qos.begin(), request_.qos.end(),
                                         [&, &wanted = name](const QosRecord& each) { return each.name == wanted; });
      if (requested) continue;
      const std::string user = user_of_qos(name);
      if (!is_ours(qos.description)) {
        leave("qos", name, "is not in the cluster file, and weft did not create it");
      } else if (!user.empty()) {
        leave("qos", name, fmt::format("is not in the cluster file; {} uses it", user));
      } else if (!prune_) {
        leave("qos", name, "is not in the cluster file; --prune removes it");
      } else {
        removed.push_back(name);
      }
    }
    for (const std::string& name : removed)
      add({AccountAction::remove, "qos", name, {}, {"delete", "qos", "where", "name=" + name}, {}});
  }

  const AccountsRequest& request_;
  AccountsState state_;
  bool prune_;
  std::string mark_;
  AccountPlan plan_;
};

// A number with a unit of 1024, memory in MiB without one; nothing for other texts.
std::optional<std::int64_t> parse_limit(std::string_view resource, std::string_view text) {
  constexpr std::string_view kUnits = "KMGTPE";
  std::size_t power = resource == "mem" ? 2 : 0;
  if (!text.empty()) {
    const std::size_t unit = kUnits.find(to_upper(text.back()));
    if (unit != std::string_view::npos) {
      power = unit + 1;
      text.remove_suffix(1);
    }
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  for (; power > 0; --power) {
    if (number > (std::int64_t{1} << 52)) return std::nullopt;
    number *= 1024;
  }
  return number;
}

Error stopped(std::string message) { return {ErrorCode::conflict, std::move(message), {}}; }

// Whether the database has what one step was to write, and nothing else has changed.
Status check_step(const AccountPlan& now, const AccountStep& step, const std::vector<AccountStep>& remaining,
                  const std::string& answer) {
  const std::string what = fmt::format("{} {} {}", to_text(step.action), step.kind, step.name);
  const auto same = [&](const AccountStep& other) {
    return other.action == step.action && other.kind == step.kind && other.name == step.name &&
           other.command == step.command;
  };
  if (std::any_of(now.steps.begin(), now.steps.end(), same)) {
    return Error{ErrorCode::unavailable,
                 fmt::format("{}: the database is as before{}{}", what, answer.empty() ? "" : "; sacctmgr: ", answer),
                 {}};
  }
  if (now.steps != remaining)
    return stopped(
        fmt::format("{} is done, but the database is not as planned: someone else changes it, or this step "
                    "changed more; plan again",
                    what));
  return {};
}

}  // namespace

std::string_view to_text(AccountAction action) {
  switch (action) {
    case AccountAction::add:
      return "add";
    case AccountAction::change:
      return "change";
    case AccountAction::remove:
      return "remove";
  }
  return "";
}

std::string AccountPlan::id() const {
  std::string text;
  for (const AccountStep& step : steps) {
    text += fmt::format("{}\n{}\n{}\n{}\n", to_text(step.action), step.kind, step.name, step.blocked);
    for (const AccountSetting& each : step.settings)
      text += fmt::format("{}\n{}\n{}\n", each.name, each.before, each.after);
    for (const std::string& word : step.command) text += fmt::format(" {}\n", word);
  }
  return sha256(text).substr(0, kIdDigits);
}

AccountPlan plan_accounts(const AccountsRequest& request, const AccountsState& state, bool prune) {
  return AccountPlanner(request, state, prune).plan();
}

bool is_same_limit(std::string_view resource, std::string_view a, std::string_view b) {
  const std::optional<std::int64_t> x = parse_limit(resource, a);
  const std::optional<std::int64_t> y = parse_limit(resource, b);
  return a == b || (x && y && *x == *y);
}

AccountsApplied apply_accounts(const RunSacctmgr& run, const AccountsRequest& request, const AccountPlan& plan,
                               bool prune) {
  AccountsApplied applied;
  std::vector<AccountStep> remaining = plan.steps;
  for (const AccountStep& step : plan.steps) {
    if (!step.blocked.empty()) continue;
    std::vector<std::string> command = {"-i", "-Q"};
    command.insert(command.end(), step.command.begin(), step.command.end());
    // Its exit status proves nothing: it is 0 with "Database is busy", and a deadline may pass after the write.
    const Result<std::string> answer = run(std::move(command));
    const Result<AccountsState> state = read_accounts(run, request.cluster);
    if (!state.ok()) {
      applied.status = state.error();
      return applied;
    }
    std::erase(remaining, step);
    applied.status = check_step(plan_accounts(request, *state, prune), step, remaining,
                                answer.ok() ? std::string(trim(*answer)) : answer.error().text());
    if (applied.status.ok() || applied.status.error().code == ErrorCode::conflict) ++applied.done;
    if (!applied.status.ok()) return applied;
  }
  return applied;
}

}  // namespace weft::world
