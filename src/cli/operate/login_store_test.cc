#include "cli/operate/login_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "base/file.h"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kServer = "https://weft.example.org:8443";
constexpr std::int64_t kNow = 1'790'000'000'000;

Login login_of(const std::string& access, const std::string& refresh, std::int64_t expires_ms) {
  Login login;
  login.server = kServer;
  login.user = "ada";
  login.access_token = oob::Secret(access);
  login.refresh_token = oob::Secret(refresh);
  login.expires_ms = expires_ms;
  return login;
}

LoginStore test_store(const std::string& name) {
  const std::string folder = testing::TempDir() + "/weft_logins_" + name;
  std::filesystem::remove_all(folder);
  return LoginStore(folder + "/weft/credentials.json");
}

std::string token_or_problem(const Result<oob::Secret>& token) {
  return token.ok() ? token->reveal() : "error: " + token.error().message;
}

TEST(LoginStoreTest, WhatIsWrittenCanBeRead) {
  Logins logins;
  logins["prod"] = login_of("weft_a_x", "weft_r_y", kNow);
  logins["ci \"quoted\""] = login_of("weft_t_id_secret", "", 0);
  const Result<Logins> again = read_logins(write_logins(logins).reveal(), "f");
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again->size(), 2U);
  EXPECT_EQ(again->at("prod").refresh_token.reveal(), "weft_r_y");
  EXPECT_EQ(again->at("prod").expires_ms, kNow);
  EXPECT_EQ(again->at("ci \"quoted\"").access_token.reveal(), "weft_t_id_secret");
  EXPECT_TRUE(read_logins("", "f")->empty());
  EXPECT_TRUE(read_logins(write_logins({}).reveal(), "f")->empty());
}

TEST(LoginStoreTest, OtherFilesAreRefusedAndNotQuoted) {
  for (const char* text :
       {"[]", "{}", "{\"weft_credentials\": 1}", "{\"weft_credentials\": 2, \"logins\": {}}",
        "{\"weft_credentials\": 1, \"logins\": {}, \"more\": 1}", "{\"weft_credentials\": 1, \"logins\": []}",
        "{\"weft_credentials\": 1, \"logins\": {\"a\": {\"access_token\": \"s3cret\"}}}",
        "{\"weft_credentials\": 1, \"logins\": {\"a\": {\"server\": \"x\", \"access_token\": \"s3cret\\r\\nX: y\"}}}",
        "{\"weft_credentials\": 1, \"logins\": {\"a\": {\"server\": \"x\", \"password\": \"s3cret\"}}}",
        "{\"weft_credentials\": 1, \"logins\": {\"a\": {\"server\": \"x\", \"expires_ms\": -1}}}", "s3cret"}) {
    const Result<Logins> logins = read_logins(text, "/f");
    ASSERT_FALSE(logins.ok()) << text;
    EXPECT_THAT(logins.error().text(), HasSubstr("/f: is not a credentials file"));
    EXPECT_THAT(logins.error().text(), Not(HasSubstr("s3cret")));
  }
}

TEST(LoginStoreTest, TheFileIsPrivate) {
  const LoginStore store = test_store("private");
  ASSERT_TRUE(store.put("prod", login_of("weft_a_x", "weft_r_y", kNow)).ok());
  struct stat info {};
  ASSERT_EQ(::stat(store.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_EQ(::chmod(store.path().c_str(), 0640), 0);
  const auto found = store.find("prod", kServer);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::refused);
  EXPECT_THAT(found.error().message, HasSubstr("chmod 600"));
}

TEST(LoginStoreTest, ATokenIsForItsServerOnly) {
  const LoginStore store = test_store("server");
  ASSERT_TRUE(store.put("prod", login_of("weft_a_x", "weft_r_y", kNow)).ok());
  EXPECT_TRUE(store.find("prod", kServer)->has_value());
  EXPECT_FALSE(store.find("prod", "https://other.example.org:8443")->has_value());
  EXPECT_FALSE(store.find("lab", kServer)->has_value());
  EXPECT_TRUE(*store.remove("prod"));
  EXPECT_FALSE(*store.remove("prod"));
  EXPECT_FALSE(store.find("prod", kServer)->has_value());
}

TEST(LoginStoreTest, AnExpiredTokenIsRefreshedOnce) {
  const LoginStore store = test_store("refresh");
  int refreshes = 0;
  const RefreshFunction refresh = [&](const oob::Secret& token) -> Result<Login> {
    EXPECT_EQ(token.reveal(), "weft_r_1");
    ++refreshes;
    return login_of("weft_a_2", "weft_r_2", kNow + 900'000);
  };
  ASSERT_TRUE(store.put("prod", login_of("weft_a_1", "weft_r_1", kNow)).ok());
  const auto get = [&](const std::string& rejected) {
    return token_or_problem(fresh_access_token(store, "prod", kServer, oob::Secret(rejected), kNow, refresh));
  };
  EXPECT_EQ(get(""), "weft_a_2");
  EXPECT_EQ(get(""), "weft_a_2");
  EXPECT_EQ(get("weft_a_1"), "weft_a_2");  // another command has refreshed it meanwhile
  EXPECT_EQ(refreshes, 1);
  EXPECT_EQ((*store.find("prod", kServer))->refresh_token.reveal(), "weft_r_2");
  EXPECT_EQ((*store.find("prod", kServer))->user, "ada");
}

TEST(LoginStoreTest, ARefusedRefreshEndsTheLogin) {
  const LoginStore store = test_store("refused");
  ASSERT_TRUE(store.put("prod", login_of("weft_a_1", "weft_r_1", kNow)).ok());
  const auto with = [&](ErrorCode code) {
    return fresh_access_token(store, "prod", kServer, {}, kNow, [&](const oob::Secret&) -> Result<Login> {
      return Error{code, "x", {}};
    });
  };
  EXPECT_EQ(with(ErrorCode::unavailable).error().code, ErrorCode::unavailable);
  EXPECT_TRUE(store.find("prod", kServer)->has_value());
  EXPECT_EQ(with(ErrorCode::refused).error().code, ErrorCode::not_found);
  EXPECT_FALSE(store.find("prod", kServer)->has_value());
}

TEST(LoginStoreTest, AStaticTokenIsNotRefreshed) {
  const LoginStore store = test_store("static");
  ASSERT_TRUE(store.put("ci", login_of("weft_t_id_secret", "", 0)).ok());
  const RefreshFunction never = [](const oob::Secret&) -> Result<Login> {
    ADD_FAILURE();
    return Error{};
  };
  EXPECT_EQ(token_or_problem(fresh_access_token(store, "ci", kServer, {}, kNow, never)), "weft_t_id_secret");
  EXPECT_EQ(token_or_problem(fresh_access_token(store, "ci", kServer, oob::Secret("weft_t_id_secret"), kNow, never)),
            "error: not signed in");
}

TEST(LoginStoreTest, ConcurrentCommandsUseARefreshTokenOnce) {
  const LoginStore store = test_store("concurrent");
  ASSERT_TRUE(store.put("prod", login_of("weft_a_0", "weft_r_0", kNow)).ok());
  std::atomic<int> refreshes = 0;
  std::vector<std::string> tokens(8);
  std::vector<std::thread> commands;
  commands.reserve(tokens.size());
  for (std::string& token : tokens) {
    commands.emplace_back([&store, &refreshes, &token] {
      token = token_or_problem(fresh_access_token(store, "prod", kServer, {}, kNow, [&](const oob::Secret& used) {
        EXPECT_EQ(used.reveal(), "weft_r_0");
        ++refreshes;
        return Result<Login>(login_of("weft_a_1", "weft_r_1", kNow + 900'000));
      }));
    });
  }
  for (std::thread& command : commands) command.join();
  EXPECT_EQ(refreshes, 1);
  EXPECT_THAT(tokens, ::testing::Each("weft_a_1"));
}

}  // namespace
}  // namespace weft::cli
