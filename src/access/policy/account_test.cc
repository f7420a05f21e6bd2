#include "access/policy/account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

#include "access/policy/user_name.h"

namespace weft::access {
namespace {

using testing::HasSubstr;

std::optional<UnixAccount> look_up(const std::string& name) {
  static const std::map<std::string, UnixAccount> accounts{
      {"root", {"root", 0, 0}},         {"toor", {"toor", 0, 0}},     {"daemon", {"daemon", 1, 1}},
      {"weft", {"weft", 1500, 1500}},   {"ada", {"ada", 1001, 1001}}, {"bob", {"bob", 1002, 1002}},
      {"shared", {"shared", 999, 999}}, {"ADA", {"ada", 1001, 1001}}, {"wheel", {"wheel", 1003, 0}}};
  const auto found = accounts.find(name);
  return found == accounts.end() ? std::nullopt : std::optional(found->second);
}

// The account's name, or why there is none.
std::string account(const std::string& user, const AccountMap& map = {}) {
  const Result<UnixAccount> found = find_account_of(user, map, "weft", look_up);
  return found.ok() ? found->name : found.error().text();
}

TEST(AccountTest, IsTheUsersOwnIfItIsNotOneOfTheSystem) {
  EXPECT_EQ(account("ada"), "ada");
  EXPECT_THAT(account("root"), HasSubstr("reserved"));
  EXPECT_THAT(account("weft"), HasSubstr("reserved"));
  EXPECT_THAT(account("toor"), HasSubstr("account of the system"));
  EXPECT_THAT(account("daemon"), HasSubstr("account of the system"));
  EXPECT_THAT(account("shared"), HasSubstr("account of the system"));
  EXPECT_THAT(account("wheel"), HasSubstr("account of the system"));
  EXPECT_THAT(account("carol"), HasSubstr("no account"));
  EXPECT_THAT(account("carol@example.org"), HasSubstr("not one of an account"));
  EXPECT_THAT(account("../ada"), HasSubstr("not one of an account"));
  EXPECT_THAT(account(""), HasSubstr("not one of an account"));
  EXPECT_THAT(account("ADA"), HasSubstr("another name"));
}

TEST(AccountTest, IsTheOneOfTheMap) {
  const AccountMap map{{"carol@example.org", "bob"}, {"ada", "shared"}, {"boss", "weft"}, {"evil", "toor"}};
  EXPECT_EQ(account("carol@example.org", map), "bob");
  EXPECT_EQ(account("ada", map), "shared");
  EXPECT_EQ(account("boss", map), "weft");
  EXPECT_EQ(account("bob", map), "bob");
  EXPECT_THAT(account("evil", map), HasSubstr("account of the system"));
}

TEST(AccountTest, FallsBackForAllOtherUsers) {
  const AccountMap map{{"*", "shared"}, {"ada", "ada"}};
  EXPECT_EQ(account("ada", map), "ada");
  EXPECT_EQ(account("bob", map), "shared");
  EXPECT_EQ(account("carol@example.org", map), "shared");
  EXPECT_EQ(account("root", map), "shared");
}

TEST(AccountTest, ReadsTheUserDatabase) {
  const std::optional<UnixAccount> root = system_accounts()("root");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->uid, 0U);
  EXPECT_FALSE(system_accounts()("weft-no-such-user"));
}

TEST(UserNameTest, AcceptsNamesOfProviders) {
  for (const char* name : {"ada", "carol@example.org", "Ada Lovelace", "auth0|5f7c8ec7c33c6c004bbafe82", "f3b1-22",
                           "248289761001", "Zoë", "王小明", "a", "O(n)", "x*y"})
    EXPECT_TRUE(check_user_name(name, "weft").ok()) << name;
  EXPECT_TRUE(check_user_name(std::string(kMaxNameBytes, 'a')).ok());
  EXPECT_TRUE(check_user_name("weft", "").ok());
}

TEST(UserNameTest, RefusesNamesThatMeanSomethingElse) {
  for (const std::string& name : {std::string(),
                                  std::string("root"),
                                  std::string("Root"),
                                  std::string("ROOT"),
                                  std::string("weft"),
                                  std::string("*"),
                                  std::string(" "),
                                  std::string("\t"),
                                  std::string(" ada"),
                                  std::string("ada "),
                                  std::string("a  b"),
                                  std::string("a:b"),
                                  std::string("a/b"),
                                  std::string("../x"),
                                  std::string("-x"),
                                  std::string(".x"),
                                  std::string("a\nb"),
                                  std::string("a\0b", 3),
                                  std::string("a\x7f"),
                                  std::string("a\x1b[0m"),
                                  std::string("a\\b"),
                                  std::string("a,b"),
                                  std::string("<b>"),
                                  std::string("a\"b"),
                                  std::string("a'b"),
                                  std::string("\xff"),
                                  std::string("a\u202eb"),
                                  std::string("a\u200bb"),
                                  std::string("ada\u00a0"),
                                  std::string("ro\u00adot"),
                                  std::string("a\u2028b"),
                                  std::string(kMaxNameBytes + 1, 'a')}) {
    const Status status = check_user_name(name, "weft");
    ASSERT_FALSE(status.ok()) << name;
    for (const char c : status.error().message) EXPECT_GE(static_cast<unsigned char>(c), 0x20U);
  }
}

TEST(UserNameTest, ChecksGroups) {
  for (const char* name : {"staff", "/research/admins", "cn=research,ou=groups", "urn:mace:x", "root"})
    EXPECT_TRUE(check_group_name(name).ok()) << name;
  for (const char* name : {"", "*", " x", "a\nb", "a\"b"}) EXPECT_FALSE(check_group_name(name).ok()) << name;
}

}  // namespace
}  // namespace weft::access
