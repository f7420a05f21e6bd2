#include "access/token/session_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "access/secret/test_support.h"
#include "base/file.h"

namespace weft::access {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kNow = 1'760'000'000'000;
constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kHourMs = 60 * kMinuteMs;

class SessionStoreTest : public testing::Test {
 protected:
  SessionStoreTest() { open(); }
  void open(const SessionLimits& limits = {}) {
    store_.reset();
    Result<std::unique_ptr<SessionStore>> store = SessionStore::open(path(), random_, limits);
    ASSERT_TRUE(store.ok()) << store.error().text();
    store_ = std::move(store).value();
  }
  [[nodiscard]] std::string path() const { return folder_.file("sessions"); }
  BrowserSession begin(const std::string& user = "ada", std::int64_t now = kNow) {
    Result<BrowserSession> session = store_->begin_browser(user, {"sre", "bad\n"}, now);
    EXPECT_TRUE(session.ok()) << session.error().text();
    return std::move(session).value();
  }
  CliLogin log_in(const std::string& user = "ada", std::int64_t now = kNow) {
    Result<CliLogin> login = store_->begin_cli(user, {"sre"}, now);
    EXPECT_TRUE(login.ok()) << login.error().text();
    return std::move(login).value();
  }
  [[nodiscard]] bool accepts(const oob::Secret& text, std::int64_t now = kNow) {
    return store_->find(text.reveal(), now).use.has_value();
  }
  RefreshAnswer refresh(const oob::Secret& token, std::int64_t now = kNow) {
    Result<RefreshAnswer> answer = store_->refresh(token.reveal(), now);
    EXPECT_TRUE(answer.ok());
    return std::move(answer).value();
  }
  void block_writes() const { std::filesystem::create_directories(path() + ".tmp/x"); }

  StoreFolder folder_;
  RandomFill random_ = make_test_random();
  std::unique_ptr<SessionStore> store_;
};

TEST_F(SessionStoreTest, IdentifiesABrowser) {
  const BrowserSession session = begin();
  const CredentialCheck check = store_->find(session.cookie.reveal(), kNow + 1);
  ASSERT_TRUE(check.use);
  EXPECT_EQ(check.use->identity.user, "ada");
  EXPECT_EQ(check.use->identity.groups, std::vector<std::string>{"sre"});
  EXPECT_EQ(check.use->identity.method, Method::browser);
  EXPECT_EQ(check.use->identity.credential, session.credential);
  EXPECT_TRUE(store_->is_valid(session.credential, kNow));
  std::string wrong = session.cookie.reveal();
  wrong[25] = wrong[25] == 'x' ? 'y' : 'x';
  EXPECT_FALSE(store_->find(wrong, kNow).use);
  // The kind is part of the credential.
  std::string access = session.cookie.reveal();
  access[5] = 'a';
  EXPECT_FALSE(store_->find(access, kNow).use);
  EXPECT_FALSE(store_->is_valid("weft_a_" + session.credential.substr(7), kNow));
}

TEST_F(SessionStoreTest, EndsIdleBrowsers) {
  const BrowserSession session = begin();
  std::int64_t now = kNow;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(accepts(session.cookie, now += 29 * kMinuteMs));
  EXPECT_TRUE(store_->is_valid(session.credential, now + 30 * kMinuteMs - 1));
  EXPECT_FALSE(store_->is_valid(session.credential, now + 30 * kMinuteMs));
  const CredentialCheck check = store_->find(session.cookie.reveal(), now + 30 * kMinuteMs);
  EXPECT_EQ(check.refusal, Refusal::expired);
  EXPECT_EQ(check.credential, session.credential);
}

TEST_F(SessionStoreTest, EndsLongSessions) {
  const BrowserSession session = begin();
  for (std::int64_t now = kNow; now < kNow + 12 * kHourMs; now += 20 * kMinuteMs)
    EXPECT_TRUE(accepts(session.cookie, now));
  EXPECT_FALSE(accepts(session.cookie, kNow + 12 * kHourMs));
  // A shorter limit applies to running sessions.
  const BrowserSession second = begin("bob");
  store_->set_limits({.longest_ms = kMinuteMs});
  EXPECT_FALSE(accepts(second.cookie, kNow + kMinuteMs));
}

TEST_F(SessionStoreTest, SurvivesARestart) {
  const BrowserSession session = begin();
  const CliLogin login = log_in();
  for (const oob::Secret* secret : {&session.cookie, &login.access_token, &login.refresh_token})
    EXPECT_THAT(*read_file(path()), Not(HasSubstr(secret->reveal().substr(20))));
  open();
  EXPECT_TRUE(accepts(session.cookie));
  EXPECT_TRUE(accepts(login.access_token));
  const RefreshAnswer first = refresh(login.refresh_token);
  ASSERT_TRUE(first.login);
  open();
  EXPECT_TRUE(accepts(first.login->access_token));
  // Reuse is noticed after a restart too.
  EXPECT_TRUE(refresh(login.refresh_token).reused);
  open();
  EXPECT_FALSE(accepts(first.login->access_token));
}

TEST_F(SessionStoreTest, RefreshesLogins) {
  const CliLogin login = log_in();
  EXPECT_EQ(login.expires_in_s, 15 * 60);
  EXPECT_EQ(store_->find(login.access_token.reveal(), kNow).use->identity.method, Method::cli);
  EXPECT_FALSE(accepts(login.access_token, kNow + 15 * kMinuteMs));
  EXPECT_FALSE(accepts(login.refresh_token));
  EXPECT_TRUE(store_->is_valid(login.credential, kNow + 60 * kMinuteMs));
  const RefreshAnswer answer = refresh(login.refresh_token, kNow + kHourMs);
  ASSERT_TRUE(answer.login);
  EXPECT_EQ(answer.login->credential, login.credential);
  EXPECT_EQ(answer.login->user, "ada");
  EXPECT_TRUE(accepts(answer.login->access_token, kNow + kHourMs));
  EXPECT_FALSE(accepts(login.access_token));
  // Near the end, the access token does not outlive the login.
  const RefreshAnswer late = refresh(answer.login->refresh_token, kNow + 12 * kHourMs - kMinuteMs);
  ASSERT_TRUE(late.login);
  EXPECT_EQ(late.login->expires_in_s, 60);
  const RefreshAnswer over = refresh(late.login->refresh_token, kNow + 12 * kHourMs);
  EXPECT_FALSE(over.login);
  EXPECT_FALSE(over.reused);
  EXPECT_EQ(over.refusal, Refusal::expired);
}

TEST_F(SessionStoreTest, EndsALoginWhoseRefreshTokenIsUsedTwice) {
  const CliLogin login = log_in();
  const CliLogin other = log_in();
  const RefreshAnswer first = refresh(login.refresh_token);
  const RefreshAnswer second = refresh(first.login->refresh_token);
  ASSERT_TRUE(second.login);
  const RefreshAnswer stolen = refresh(login.refresh_token);
  EXPECT_FALSE(stolen.login);
  EXPECT_TRUE(stolen.reused);
  EXPECT_EQ(stolen.refusal, Refusal::revoked);
  EXPECT_EQ(stolen.credential, login.credential);
  EXPECT_EQ(stolen.user, "ada");
  EXPECT_FALSE(accepts(second.login->access_token));
  EXPECT_FALSE(store_->is_valid(login.credential, kNow));
  EXPECT_FALSE(refresh(second.login->refresh_token).login);
  EXPECT_TRUE(accepts(other.access_token));
}

TEST_F(SessionStoreTest, RepeatsARefreshWhoseAnswerWasLost) {
  const CliLogin login = log_in();
  const RefreshAnswer lost = refresh(login.refresh_token);
  EXPECT_FALSE(lost.repeated);
  refresh(login.refresh_token);  // and this one too
  const RefreshAnswer again = refresh(login.refresh_token, kNow + kHourMs);
  ASSERT_TRUE(again.login);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.login->credential, login.credential);
  EXPECT_FALSE(accepts(lost.login->access_token, kNow + kHourMs));
  EXPECT_TRUE(accepts(again.login->access_token, kNow + kHourMs));
  // Now the answer has arrived.
  const RefreshAnswer stolen = refresh(login.refresh_token, kNow + kHourMs);
  EXPECT_TRUE(stolen.reused);
  EXPECT_FALSE(stolen.repeated);
  EXPECT_FALSE(store_->is_valid(login.credential, kNow + kHourMs));
}

TEST_F(SessionStoreTest, EndsALoginOfTwoHoldersOfARefreshToken) {
  // One of them exchanges it first, and the other again: the next use of the first answer ends the login.
  for (const bool uses_access : {false, true}) {
    const CliLogin login = log_in();
    const RefreshAnswer first = refresh(login.refresh_token);
    if (uses_access) EXPECT_TRUE(accepts(first.login->access_token));
    const RefreshAnswer second = refresh(login.refresh_token);
    EXPECT_EQ(second.login.has_value(), !uses_access);
    EXPECT_EQ(second.reused, uses_access);
    EXPECT_FALSE(accepts(first.login->access_token));
    EXPECT_EQ(refresh(first.login->refresh_token).reused, !uses_access);
    EXPECT_FALSE(store_->is_valid(login.credential, kNow));
  }
}

TEST_F(SessionStoreTest, RepeatsNoRefreshWhoseAnswerArrived) {
  // An access token that has expired in the meantime shows it too.
  const CliLogin login = log_in();
  const RefreshAnswer first = refresh(login.refresh_token);
  EXPECT_FALSE(accepts(first.login->access_token, kNow + kHourMs));
  EXPECT_TRUE(refresh(login.refresh_token, kNow + kHourMs).reused);
  // Only the last one, and not after a restart.
  const CliLogin second = log_in();
  const RefreshAnswer middle = refresh(second.refresh_token);
  refresh(middle.login->refresh_token);
  EXPECT_TRUE(refresh(second.refresh_token).reused);
  const CliLogin third = log_in();
  refresh(third.refresh_token);
  open();
  EXPECT_TRUE(refresh(third.refresh_token).reused);
  // Of a login that has expired, nothing is exchanged.
  const CliLogin fourth = log_in();
  refresh(fourth.refresh_token);
  const RefreshAnswer over = refresh(fourth.refresh_token, kNow + 12 * kHourMs);
  EXPECT_FALSE(over.login);
  EXPECT_EQ(over.refusal, Refusal::expired);
}

TEST_F(SessionStoreTest, IsNotEndedByAGuess) {
  const CliLogin login = log_in();
  std::string guess = login.refresh_token.reveal();
  guess[25] = guess[25] == 'x' ? 'y' : 'x';
  const RefreshAnswer answer = refresh(oob::Secret(guess));
  EXPECT_FALSE(answer.reused);
  EXPECT_EQ(answer.credential, "");
  std::string access_as_refresh = login.access_token.reveal();
  access_as_refresh[5] = 'r';
  EXPECT_FALSE(refresh(oob::Secret(access_as_refresh)).reused);
  EXPECT_TRUE(accepts(login.access_token));
  // Nor can a browser session be refreshed.
  std::string browser = begin().cookie.reveal();
  browser[5] = 'r';
  EXPECT_FALSE(refresh(oob::Secret(browser)).login);
}

TEST_F(SessionStoreTest, BoundsRefreshesPerLogin) {
  CliLogin login = log_in();
  for (std::size_t i = 0; i < kMaxRefreshes; ++i) {
    RefreshAnswer answer = refresh(login.refresh_token);
    ASSERT_TRUE(answer.login);
    login = std::move(*answer.login);
  }
  EXPECT_EQ(refresh(login.refresh_token).refusal, Refusal::expired);
  EXPECT_FALSE(accepts(login.access_token));
}

TEST_F(SessionStoreTest, EndsSessionsOnRequest) {
  const BrowserSession session = begin();
  const BrowserSession second = begin();
  const CliLogin login = log_in();
  const BrowserSession other = begin("bob");
  ASSERT_TRUE(store_->end(session.credential).ok());
  EXPECT_FALSE(accepts(session.cookie));
  EXPECT_EQ(store_->end(session.credential).error().code, ErrorCode::not_found);
  EXPECT_EQ(store_->end("weft_a_" + second.credential.substr(7)).error().code, ErrorCode::not_found);
  EXPECT_EQ(store_->end("").error().code, ErrorCode::not_found);
  EXPECT_EQ(*store_->end_user("ada"), 2U);
  EXPECT_FALSE(accepts(login.access_token));
  EXPECT_TRUE(accepts(other.cookie));
  open();
  EXPECT_FALSE(accepts(second.cookie));
  EXPECT_TRUE(accepts(other.cookie));
}

TEST_F(SessionStoreTest, EndsTheOldestOfTooMany) {
  open({.max_per_user = 3, .max_total = 5});
  const BrowserSession oldest = begin("ada", kNow);
  begin("ada", kNow + 1);
  EXPECT_EQ(log_in("ada", kNow + 2).ended, "");
  EXPECT_EQ(begin("ada", kNow + 3).ended, oldest.credential);
  EXPECT_FALSE(accepts(oldest.cookie, kNow + 3));
  begin("bob", kNow + 3);
  begin("bob", kNow + 3);
  const Result<BrowserSession> refused = store_->begin_browser("carol", {}, kNow + 3);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_EQ(store_->size(), 5U);
  // A user at the limit still can sign in: another own session ends.
  EXPECT_NE(begin("ada", kNow + 4).ended, "");
  // Expired ones make place.
  EXPECT_TRUE(store_->begin_browser("carol", {}, kNow + 13 * kHourMs).ok());
  EXPECT_EQ(store_->size(), 1U);
}

TEST_F(SessionStoreTest, ChangesNothingIfTheFileCannotBeWritten) {
  open({.max_per_user = 1});
  const CliLogin login = log_in();
  block_writes();
  EXPECT_FALSE(store_->begin_browser("ada", {}, kNow).ok());
  EXPECT_FALSE(store_->begin_cli("bob", {}, kNow).ok());
  EXPECT_FALSE(store_->refresh(login.refresh_token.reveal(), kNow).ok());
  EXPECT_FALSE(store_->refresh(login.refresh_token.reveal(), kNow).ok());  // it is still unused
  EXPECT_EQ(store_->size(), 1U);
  EXPECT_TRUE(accepts(login.access_token));
  EXPECT_FALSE(store_->end(login.credential).ok());
  EXPECT_FALSE(accepts(login.access_token));  // but ended sessions have ended
  std::filesystem::remove_all(path() + ".tmp");
}

TEST_F(SessionStoreTest, ChecksUsersAndGroups) {
  EXPECT_FALSE(store_->begin_browser("", {}, kNow).ok());
  EXPECT_FALSE(store_->begin_browser("a\nb", {}, kNow).ok());
  EXPECT_FALSE(store_->begin_browser("ada", std::vector<std::string>(kMaxSessionGroups + 1, "g"), kNow).ok());
  EXPECT_FALSE(store_->begin_browser("ada", {}, -1).ok());
  EXPECT_EQ(store_->size(), 0U);
}

TEST_F(SessionStoreTest, DerivesCsrfTokens) {
  const BrowserSession a = begin();
  const BrowserSession b = begin();
  const std::optional<std::string> token = csrf_token_of(a.cookie.reveal());
  ASSERT_TRUE(token);
  EXPECT_TRUE(is_csrf_token(a.cookie.reveal(), *token));
  EXPECT_FALSE(is_csrf_token(b.cookie.reveal(), *token));
  EXPECT_FALSE(is_csrf_token(a.cookie.reveal(), ""));
  EXPECT_FALSE(is_csrf_token("", ""));
  EXPECT_FALSE(csrf_token_of(log_in().access_token.reveal()));
  EXPECT_THAT(*read_file(path()), Not(HasSubstr(*token)));
}

TEST_F(SessionStoreTest, NeverStartsFromADamagedFile) {
  begin();
  log_in();
  refresh(log_in().refresh_token);
  const std::string whole = *read_file(path());
  store_.reset();
  const Result<std::vector<SessionRecord>> records = read_session_records("s", whole);
  ASSERT_TRUE(records.ok());
  std::vector<const SessionRecord*> pointers;
  for (const SessionRecord& record : *records) pointers.push_back(&record);
  EXPECT_EQ(write_session_records(pointers), whole);
  for (const std::string& damaged : {std::string(), whole.substr(0, whole.size() / 2), "x" + whole,
                                     std::string(R"({"weft_sessions": 1})"), std::string("[]")}) {
    folder_.write("sessions", damaged);
    const Result<std::unique_ptr<SessionStore>> store = SessionStore::open(path(), random_, {});
    ASSERT_FALSE(store.ok()) << damaged;
    EXPECT_THAT(store.error().text(), HasSubstr("is damaged"));
  }
}

TEST(SessionRecordsTest, RefusesInvalidRecords) {
  const std::string hash(64, 'a');
  const auto text = [&](const std::string& kind, const std::string& more) {
    return R"({"weft_sessions": 1, "sessions": [{"id": "abcdefghi012", "kind": ")" + kind +
           R"(", "user": "ada", "hash": ")" + hash + R"(", "created": 1, "used": 2)" + more + "}]}";
  };
  const std::string login = R"(, "access_expires": 5, "refresh": ")" + hash + "\"";
  EXPECT_TRUE(read_session_records("s", text("browser", "")).ok());
  EXPECT_TRUE(read_session_records("s", text("cli", login)).ok());
  EXPECT_TRUE(read_session_records("s", text("cli", login + R"(, "used_refreshes": [")" + hash + "\"]")).ok());
  for (const std::string& bad :
       {text("browser", login), text("cli", ""), text("king", ""), text("browser", R"(, "groups": ["a\nb"])"),
        text("browser", R"(, "used_refreshes": [])"), text("cli", login + R"(, "used_refreshes": ["x"])"),
        text("browser", R"(, "id": "abcdefghi013")"), text("browser", R"(, "x": 1)")}) {
    EXPECT_FALSE(read_session_records("s", bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace weft::access
