#include "oob/manage/users_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::oob {
namespace {

constexpr std::string_view kNoAccount = "has no such account";

struct AccountKey {
  std::string name;
  UserRole role = UserRole::none;
  bool enabled = false;
  bool locked = false;
  friend auto operator<=>(const AccountKey&, const AccountKey&) = default;
};

std::string shown_name(const std::string& name) { return name.empty() ? "(no name)" : told(name); }

// Members of `all` that are not in `some`; both ascending.
std::vector<std::uint32_t> without(const std::vector<std::uint32_t>& all, const std::vector<std::uint32_t>& some) {
  std::vector<std::uint32_t> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

class Disabler {
 public:
  Disabler(OpenBmc& open, std::uint32_t target, const std::string& name) : open_(open), target_(target), name_(name) {}

  DeviceEnding run(ActionLog& log) {
    const Result<std::vector<BmcUser>> users = open_.bmc->users();
    if (!users.ok()) return {target_, Ending::not_done, told(users.error().message)};
    const auto found = find(*users);
    if (found == users->end()) return {target_, Ending::already, std::string(kNoAccount)};
    if (!found->enabled) return {target_, Ending::already, "is disabled"};
    if (name_ == open_.user) return {target_, Ending::refused, "weft logs in with this account"};
    if (!others_can_administer(*users)) return {target_, Ending::refused, "it is the last enabled administrator"};
    if (log.dry_run()) return {target_, Ending::would, "disable it"};
    const Status announced = log.intent(Value::map({{"user", name_}, {"id", found->id}}));
    if (!announced.ok())
      return {target_, Ending::not_done, "the journal cannot be written: " + announced.error().message};
    return judge(log, open_.bmc->set_user_enabled(name_, false));
  }

 private:
  [[nodiscard]] std::vector<BmcUser>::const_iterator find(const std::vector<BmcUser>& users) const {
    return std::find_if(users.begin(), users.end(), [&](const BmcUser& user) { return user.name == name_; });
  }

  // A locked account may never be unlocked, so it does not count. Neither does one without a name.
  [[nodiscard]] bool others_can_administer(const std::vector<BmcUser>& users) const {
    return std::any_of(users.begin(), users.end(), [&](const BmcUser& user) {
      return user.name != name_ && !user.name.empty() && user.enabled && !user.locked &&
             user.role == UserRole::administrator;
    });
  }

  DeviceEnding judge(ActionLog& log, const Status& sent) {
    const Result<std::vector<BmcUser>> after = open_.bmc->users();
    if (!after.ok()) {
      return {target_, Ending::unknown,
              fmt::format("{}, and the accounts cannot be read back ({}); check with `weft oob users`",
                          sent.ok() ? "accepted" : told(sent.error().message), told(after.error().message))};
    }
    const auto found = find(*after);
    const bool disabled = found == after->end() || !found->enabled;
    const Status noted = log.seen(Value::map({{"user", name_}, {"enabled", !disabled}}));
    if (!disabled)
      return {target_, Ending::not_done, sent.ok() ? "accepted, but it is still enabled" : told(sent.error().message)};
    return {target_, Ending::done, noted.ok() ? "disabled" : "disabled; the journal cannot be written"};
  }

  OpenBmc& open_;
  std::uint32_t target_;
  const std::string& name_;
};

}  // namespace

void UserFleet::add(std::uint32_t target, std::vector<BmcUser> users) {
  const std::lock_guard lock(mutex_);
  users_[target] = std::move(users);
}

std::map<std::uint32_t, std::vector<BmcUser>> UserFleet::users() const {
  const std::lock_guard lock(mutex_);
  return users_;
}

bool is_empty_slot(const BmcUser& user) { return user.name.empty() && !user.enabled; }
bool is_anonymous(const BmcUser& user) { return user.name.empty() && user.enabled && user.role != UserRole::none; }

Document users_document(const Inventory& inventory, const UserFleet& fleet, const std::vector<Unreached>& unreached) {
  std::map<AccountKey, std::vector<std::uint32_t>> accounts;
  std::map<std::string, std::vector<std::uint32_t>> by_name;
  std::vector<std::uint32_t> asked;
  for (const auto& [target, users] : fleet.users()) {
    asked.push_back(target);
    for (const BmcUser& user : users) {
      if (is_empty_slot(user)) continue;
      std::vector<std::uint32_t>& in = accounts[{user.name, user.role, user.enabled, user.locked}];
      if (in.empty() || in.back() != target) in.push_back(target);
      std::vector<std::uint32_t>& named = by_name[user.name];
      if (named.empty() || named.back() != target) named.push_back(target);
    }
  }
  Document document;
  document.kind = "oob-users";
  TableSection table{"accounts", "", {}, {}};
  table.columns = {{.key = "name", .title = "Account"},
                   {.key = "role", .title = "Role"},
                   {.key = "enabled", .title = "Enabled"},
                   {.key = "locked", .title = "Locked"},
                   {.key = "count", .title = "Count", .align = Column::Align::right},
                   {.key = "devices", .title = "Devices"},
                   {.key = "missing_on", .title = "Missing on"}};
  for (const auto& [account, targets] : accounts) {
    // A missing account is noted if most devices have it.
    const std::vector<std::uint32_t> missing = without(asked, by_name[account.name]);
    const bool most = missing.size() < asked.size() / 2 && !missing.empty();
    table.rows.push_back(
        {Cell(shown_name(account.name)), to_text(account.role), Cell(account.enabled, account.enabled ? "yes" : "no"),
         Cell(account.locked, account.locked ? "yes" : "no"), static_cast<std::uint64_t>(targets.size()),
         inventory.hosts_cell(targets, asked.size()), most ? Cell(inventory.fold(missing)) : Cell()});
  }
  document.sections.emplace_back(std::move(table));
  add_unreached(document, inventory, unreached);
  return document;
}

Result<std::vector<DeviceEnding>> disable_user(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                               const std::string& name, const std::string& reason, bool dry_run) {
  if (name.empty()) return Error{ErrorCode::invalid_input, "the account name is empty", {}};
  const ActionOrder order{"users.disable", reason, Value::map({{"user", name}}), dry_run};
  Result<std::vector<DeviceEnding>> endings = run_action(
      fleet, order, targets,
      [&](OpenBmc& open, std::uint32_t target, ActionLog& log) { return Disabler(open, target, name).run(log); });
  if (!endings.ok()) return endings;
  const bool no_account = std::all_of(endings->begin(), endings->end(), [](const DeviceEnding& ending) {
    return ending.ending == Ending::already && ending.what == kNoAccount;
  });
  if (no_account) return Error{ErrorCode::not_found, fmt::format("no device has an account `{}`", told(name)), {}};
  return endings;
}

}  // namespace weft::oob
