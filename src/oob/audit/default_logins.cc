#include "oob/audit/default_logins.h"

#include <algorithm>

#include "base/wildcard.h"
#include "oob/audit/advisories.h"

namespace weft::oob {
namespace {

constexpr std::string_view kFarmer =
    "H. D. Moore, A Penetration Tester's Guide to IPMI and BMCs (Rapid7, 2013), table of default logins";

bool is_maker(std::string_view patterns, std::string_view manufacturer) {
  while (!patterns.empty()) {
    const std::size_t bar = patterns.find('|');
    if (wildcard_match(patterns.substr(0, bar), manufacturer, LetterCase::ignored)) return true;
    if (bar == std::string_view::npos) return false;
    patterns.remove_prefix(bar + 1);
  }
  return false;
}

}  // namespace

const std::vector<DefaultLogin>& default_logins() {
  static const std::vector<DefaultLogin> logins = {
      {"*Supermicro*|*Super Micro*", "ADMIN", "ADMIN", kFarmer},
      {"Dell*", "root", "calvin", kFarmer},
      {"*Lenovo*|IBM*", "USERID", "PASSW0RD", kFarmer},
      {"*OpenBMC*|IBM*|NVIDIA*|Quanta*|Wiwynn*|Ampere*", "root", "0penBmc",
       "IBM, Power Systems: Setting the password (OpenBMC systems)"},
      {"IBM*", "ADMIN", "ADMIN", "IBM support, How to reset the ADMIN BMC password of a Power HMC"},
      {"*Inspur*|*ASUS*|*ASRock*|*American Megatrends*|AMI*|Fujitsu*|NVIDIA*|Gigabyte*|GIGA*", "admin", "admin",
       "Inspur, ON5263M5 user manual, section 7.10.1; Rapid7 (2013) for Fujitsu and ASUS"},
      {"Intel*", "root", "superuser", "Intel, Server Boards Server Management Guide, table 11 (disabled as shipped)"},
      {"Oracle*|Sun Micro*", "root", "changeme", kFarmer},
  };
  return logins;
}

std::vector<const DefaultLogin*> logins_to_try(std::string_view manufacturer) {
  std::vector<const DefaultLogin*> found;
  for (const DefaultLogin& login : default_logins()) {
    if (found.size() < kMaxDefaultTries && is_maker(login.makers, manufacturer)) found.push_back(&login);
  }
  if (!found.empty()) return found;
  for (const DefaultLogin& login : default_logins()) {
    const bool common = (login.user == "ADMIN" && login.password == "ADMIN") || login.user == "admin";
    const auto is_same = [&](const DefaultLogin* other) { return other->user == login.user; };
    if (common && found.size() < kMaxDefaultTries && std::none_of(found.begin(), found.end(), is_same))
      found.push_back(&login);
  }
  return found;
}

bool is_default_login(std::string_view user, const Secret& password) {
  const auto& logins = default_logins();
  return std::any_of(logins.begin(), logins.end(), [&](const DefaultLogin& login) {
    return login.user == user && login.password == password.reveal();
  });
}

}  // namespace weft::oob
