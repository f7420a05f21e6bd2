#include "oob/ipmi/users.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "oob/ipmi/error.h"

namespace weft::oob {
namespace {

constexpr std::uint8_t kThisChannel = 0x0E;
constexpr std::uint8_t kGetUserAccess = 0x44;  // section 22.27
constexpr std::uint8_t kGetUserName = 0x46;    // section 22.29
constexpr std::uint8_t kSetPassword = 0x47;    // section 22.30
constexpr std::uint8_t kTwentyBytes = 0x80;    // with the slot: the password has 20 bytes, not 16
constexpr std::size_t kShortPassword = 16;
constexpr std::uint8_t kDisable = 0;
constexpr std::uint8_t kEnable = 1;
constexpr std::uint8_t kSet = 2;
constexpr std::uint8_t kTest = 3;

UserRole role_of(std::uint8_t level) {
  switch (level) {
    case 2:
      return UserRole::read_only;
    case 3:
      return UserRole::operating;
    case 4:
    case 5:  // vendor-specific level, above administrator
      return UserRole::administrator;
    default:  // 1: callback only; Fh: no access
      return UserRole::none;
  }
}

Result<std::string> name_of(IpmiSession& session, int slot) {
  const Result<IpmiBytes> answer = session.command(
      {.command = kGetUserName, .data = {static_cast<std::uint8_t>(slot)}, .what = "read the name of a user"});
  // Many BMCs return CCh for slots that were never used.
  if (!answer && answer.error().code == ErrorCode::not_found) return std::string();
  if (!answer) return answer.error();
  std::string name(answer->begin(),
                   answer->begin() + static_cast<std::ptrdiff_t>(std::min(answer->size(), kIpmiLongestUser)));
  name.resize(std::min(name.size(), name.find('\0')));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

Result<std::uint8_t> slot_of(IpmiSession& session, const std::string& user) {
  if (const Status fits = check_ipmi_user(user, session.options().device); !fits) return fits.error();
  const Result<std::vector<BmcUser>> users = read_ipmi_users(session);
  if (!users) return users.error();
  for (const BmcUser& known : *users) {
    if (known.name == user) return static_cast<std::uint8_t>(std::stoi(known.id));
  }
  return Error{ErrorCode::not_found, fmt::format("unknown user '{}'", user), session.options().device};
}

// Passwords of up to 16 bytes are sent in IPMI 1.5's format, which every BMC accepts; only longer ones need 20.
Result<IpmiBytes> password_command(IpmiSession& session, std::uint8_t slot, std::uint8_t operation,
                                   const Secret& password, const char* what) {
  const bool longer = password.reveal().size() > kShortPassword;
  const std::size_t size = 2 + (longer ? kIpmiLongestPassword : kShortPassword);
  IpmiCommand command{.command = kSetPassword, .what = what};
  command.data.reserve(size);  // avoids a reallocation that would leave a copy in memory
  command.data = {static_cast<std::uint8_t>(slot | (longer ? kTwentyBytes : 0)), operation};
  command.data.insert(command.data.end(), password.reveal().begin(), password.reveal().end());
  command.data.resize(size);
  Result<IpmiBytes> answer = session.command_with_code(command);
  explicit_bzero(command.data.data(), command.data.size());
  return answer;
}

// Some BMCs accept 20 bytes, report success, and store 16. The old password can be restored only while the session that
// set the new one is open.
Status prove(IpmiSession& session, std::uint8_t slot, const Secret& password) {
  const std::string& device = session.options().device;
  const Status login = session.try_login(password);
  if (login.ok() || login.error().code != ErrorCode::refused) {
    session.set_password(password);
    return {};
  }
  const Result<IpmiBytes> back = password_command(session, slot, kSet, session.password(), "restore the old password");
  const std::string end =
      back && back->front() == 0 ? "the old password was restored" : "the old password could not be restored";
  return Error{ErrorCode::conflict,
               fmt::format("the BMC accepted the password, but rejects it at login{}; {}",
                           password.reveal().size() > kShortPassword ? " (it may store only 16 bytes)" : "", end),
               device};
}

}  // namespace

Result<std::vector<BmcUser>> read_ipmi_users(IpmiSession& session) {
  std::vector<BmcUser> users;
  int last = 1;
  for (int slot = 1; slot <= last; ++slot) {
    const Result<IpmiBytes> access = session.command(
        {.command = kGetUserAccess, .data = {kThisChannel, static_cast<std::uint8_t>(slot)}, .what = "read the users"});
    if (!access && slot > 1 && access.error().code == ErrorCode::not_found) continue;  // an unusable slot
    if (!access) return access.error();
    if (access->size() < 4) {
      return Error{ErrorCode::invalid_input, "the BMC sent a truncated list of users", session.options().device};
    }
    if (slot == 1) last = (*access)[0] & 0x3F;  // maximum number of slots
    Result<std::string> name = name_of(session, slot);
    if (!name) return name.error();
    // Bits 7 and 6: 1 enabled, 2 disabled, 0 unspecified; then only the right to send messages is an indication.
    const int state = (*access)[1] >> 6;
    BmcUser user;
    user.id = std::to_string(slot);
    user.name = std::move(name).value();
    user.role = role_of((*access)[3] & 0x0F);
    user.enabled = state == 1 || (state == 0 && ((*access)[3] & 0x10) != 0);
    if (!user.name.empty() || user.enabled) users.push_back(std::move(user));
  }
  return users;
}

Status set_ipmi_password(IpmiSession& session, const std::string& user, const Secret& password) {
  const std::string& device = session.options().device;
  if (const Status fits = check_ipmi_password(password, device); !fits) return fits.error();
  const Result<std::uint8_t> slot = slot_of(session, user);
  if (!slot) return slot.error();
  const Result<IpmiBytes> set = password_command(session, *slot, kSet, password, "set the password");
  if (!set) return set.error();
  if (set->front() != 0) return completion_error(set->front(), "set the password", device);
  const Result<IpmiBytes> test = password_command(session, *slot, kTest, password, "test the password");
  if (!test) return test.error();
  // 80h: another password; 81h: stored as one of 16 bytes. Others: the BMC cannot test, and a login has to verify it.
  if (test->front() == 0x80 || test->front() == 0x81) {
    return Error{ErrorCode::conflict, "the BMC accepted the password, but its own test of it fails", device};
  }
  return user == session.user() ? prove(session, *slot, password) : Status();
}

Status set_ipmi_user_enabled(IpmiSession& session, const std::string& user, bool enabled) {
  const Result<std::uint8_t> slot = slot_of(session, user);
  if (!slot) return slot.error();
  const char* what = enabled ? "enable the user" : "disable the user";
  IpmiCommand command{.command = kSetPassword, .data = {*slot, enabled ? kEnable : kDisable}, .what = what};
  Result<IpmiBytes> answer = session.command_with_code(command);
  // The password may be omitted here, but some BMCs require the field.
  if (answer && answer->front() == 0xC7) {
    command.data.resize(2 + 16);
    answer = session.command_with_code(command);
  }
  if (!answer) return answer.error();
  if (answer->front() != 0) return completion_error(answer->front(), what, session.options().device);
  return {};
}

}  // namespace weft::oob
