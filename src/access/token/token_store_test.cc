#include "access/token/token_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "access/secret/test_support.h"
#include "base/file.h"

namespace weft::access {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kNow = 1'760'000'000'000;
constexpr std::int64_t kHourMs = 3'600'000;

class TokenStoreTest : public testing::Test {
 protected:
  TokenStoreTest() { open(); }
  void open() {
    store_.reset();
    Result<std::unique_ptr<TokenStore>> store = TokenStore::open(path(), random_);
    ASSERT_TRUE(store.ok()) << store.error().text();
    store_ = std::move(store).value();
  }
  [[nodiscard]] std::string path() const { return folder_.file("state/tokens"); }
  [[nodiscard]] std::string content() const { return *read_file(path()); }
  static NewToken make(const std::string& user = "ada") {
    return {.name = "ci",
            .user = user,
            .groups = {"sre"},
            .restriction = {Role::viewer, ""},
            .expires_ms = kNow + kDefaultTokenLifeMs,
            .created_by = user};
  }
  CreatedToken create(const NewToken& token = make()) {
    Result<CreatedToken> created = store_->create(token, kNow);
    EXPECT_TRUE(created.ok()) << created.error().text();
    return std::move(created).value();
  }
  [[nodiscard]] bool accepts(const oob::Secret& text, std::int64_t now = kNow) {
    return store_->find(text.reveal(), now).use.has_value();
  }

  StoreFolder folder_;
  RandomFill random_ = make_test_random();
  std::unique_ptr<TokenStore> store_;
};

TEST_F(TokenStoreTest, IdentifiesTheUser) {
  NewToken token = make();
  token.created_by = "boss";
  const CreatedToken created = create(token);
  const CredentialCheck check = store_->find(created.text.reveal(), kNow + 1);
  ASSERT_TRUE(check.use);
  EXPECT_EQ(check.use->identity.user, "ada");
  EXPECT_EQ(check.use->identity.groups, std::vector<std::string>{"sre"});
  EXPECT_EQ(check.use->identity.method, Method::token);
  EXPECT_EQ(check.use->identity.credential, "weft_t_" + created.record.id);
  EXPECT_EQ(check.use->restriction, (Restriction{Role::viewer, ""}));
  EXPECT_EQ(check.use->created_by, "boss");
  EXPECT_TRUE(store_->is_valid(check.credential, kNow));
}

TEST_F(TokenStoreTest, SurvivesARestartWithoutTheSecretOnDisk) {
  const CreatedToken created = create();
  EXPECT_THAT(content(), Not(HasSubstr(created.text.reveal().substr(20))));
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const std::string before = content();
  open();
  EXPECT_TRUE(accepts(created.text));
  EXPECT_EQ(store_->list(std::nullopt).size(), 1U);
  EXPECT_EQ(write_token_records(*read_token_records("t", before)), before);
}

TEST_F(TokenStoreTest, RefusesWrongSecrets) {
  const CreatedToken created = create();
  std::string text = created.text.reveal();
  text[30] = text[30] == 'x' ? 'y' : 'x';
  CredentialCheck check = store_->find(text, kNow);
  EXPECT_FALSE(check.use);
  EXPECT_EQ(check.refusal, Refusal::unknown);
  EXPECT_EQ(check.credential, "");
  std::string other = created.text.reveal();
  other[8] = other[8] == 'x' ? 'y' : 'x';
  EXPECT_FALSE(store_->find(other, kNow).use);
  std::string session = created.text.reveal();
  session[5] = 's';
  EXPECT_FALSE(store_->find(session, kNow).use);
  EXPECT_FALSE(store_->find("", kNow).use);
  EXPECT_FALSE(store_->is_valid("weft_s_" + created.record.id, kNow));
}

TEST_F(TokenStoreTest, EndsAtItsTime) {
  const CreatedToken created = create();
  EXPECT_TRUE(accepts(created.text, created.record.expires_ms - 1));
  const CredentialCheck check = store_->find(created.text.reveal(), created.record.expires_ms);
  EXPECT_EQ(check.refusal, Refusal::expired);
  EXPECT_EQ(check.credential, created.record.credential());
  EXPECT_FALSE(store_->is_valid(check.credential, created.record.expires_ms));
}

TEST_F(TokenStoreTest, CanBeRevoked) {
  const CreatedToken created = create();
  ASSERT_TRUE(store_->revoke(created.record.id, kNow).ok());
  EXPECT_EQ(store_->find(created.text.reveal(), kNow).refusal, Refusal::revoked);
  EXPECT_FALSE(store_->is_valid(created.record.credential(), kNow));
  open();
  EXPECT_FALSE(accepts(created.text));
  ASSERT_TRUE(store_->revoke(created.record.id, kNow + 5).ok());
  EXPECT_EQ(store_->find_record(created.record.id)->revoked_ms, kNow);
  EXPECT_EQ(store_->revoke("aaaaaaaaaaaa", kNow).error().code, ErrorCode::not_found);
}

TEST_F(TokenStoreTest, IsRevokedEvenIfTheFileCannotBeWritten) {
  const CreatedToken created = create();
  std::filesystem::create_directories(path() + ".tmp/x");  // where the new file is written
  EXPECT_FALSE(store_->revoke(created.record.id, kNow).ok());
  EXPECT_FALSE(accepts(created.text));
  const Result<CreatedToken> second = store_->create(make(), kNow);
  EXPECT_FALSE(second.ok());
  EXPECT_EQ(store_->list(std::nullopt).size(), 1U);
}

TEST_F(TokenStoreTest, NotesUsesAtMostOncePerHour) {
  const CreatedToken first = create();
  const CreatedToken second = create();
  EXPECT_TRUE(accepts(first.text, kNow + 1));
  const std::string once = content();
  EXPECT_THAT(once, HasSubstr("last_used"));
  for (std::int64_t at = 2; at < kHourMs; at += 60'000) EXPECT_TRUE(accepts(second.text, kNow + at));
  EXPECT_EQ(content(), once);
  EXPECT_TRUE(accepts(second.text, kNow + 1 + kHourMs));
  EXPECT_NE(content(), once);
  EXPECT_EQ(store_->find_record(first.record.id)->last_used_ms, kNow + 1);
}

TEST_F(TokenStoreTest, ChecksNewTokens) {
  const auto refused = [&](auto change) {
    NewToken token = make();
    change(token);
    const Result<CreatedToken> created = store_->create(token, kNow);
    return !created.ok() && created.error().code == ErrorCode::invalid_input;
  };
  EXPECT_TRUE(refused([](NewToken& t) { t.expires_ms = kNow; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.expires_ms = kNow + kMaxTokenLifeMs + 1; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.expires_ms = INT64_MAX; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.expires_ms = INT64_MIN; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.name = ""; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.name = "a\nb"; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.name = std::string(101, 'x'); }));
  EXPECT_TRUE(refused([](NewToken& t) { t.user = ""; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.created_by = ""; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.groups.assign(kMaxTokenGroups + 1, "g"); }));
  EXPECT_TRUE(refused([](NewToken& t) { t.groups = {""}; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.restriction = {Role::operate, "a"}; }));
  EXPECT_TRUE(refused([](NewToken& t) { t.restriction = {Role::user, "a\x01"}; }));
  EXPECT_TRUE(store_->list(std::nullopt).empty());
}

TEST_F(TokenStoreTest, RevokesWhatWasCreatedWithIt) {
  const CreatedToken first = create();
  NewToken token = make();
  token.parent = first.record.credential();
  const CreatedToken second = create(token);
  token.parent = second.record.credential();
  const CreatedToken third = create(token);
  const CreatedToken other = create();
  open();
  EXPECT_TRUE(accepts(third.text));
  EXPECT_TRUE(store_->revoke(first.record.id, kNow).ok());
  EXPECT_FALSE(accepts(first.text));
  EXPECT_FALSE(accepts(second.text));
  EXPECT_FALSE(accepts(third.text));
  EXPECT_TRUE(accepts(other.text));
  open();
  EXPECT_FALSE(accepts(third.text));
}

TEST_F(TokenStoreTest, CreatesOneTokenPerKey) {
  NewToken token = make();
  token.key = "a-key";
  const CreatedToken first = create(token);
  EXPECT_THAT(content(), Not(HasSubstr("a-key")));
  open();
  const Result<CreatedToken> again = store_->create(token, kNow);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::conflict);
  EXPECT_THAT(again.error().message, HasSubstr(first.record.credential()));
  EXPECT_THAT(again.error().message, Not(HasSubstr(first.text.reveal())));
  NewToken of_another = token;
  of_another.created_by = "bob";
  create(of_another);
  create();
  create();
  EXPECT_EQ(store_->list(std::nullopt).size(), 4U);
}

TEST_F(TokenStoreTest, LimitsTokensPerUser) {
  CreatedToken last;
  for (std::size_t i = 0; i < kMaxTokensPerUser; ++i) last = create();
  EXPECT_EQ(store_->create(make(), kNow).error().code, ErrorCode::refused);
  create(make("bob"));
  ASSERT_TRUE(store_->revoke(last.record.id, kNow).ok());
  create();
  EXPECT_EQ(store_->list("ada").size(), kMaxTokensPerUser + 1);
  EXPECT_EQ(store_->list("bob").size(), 1U);
  // Once all have been dead for 30 days, nothing of them is left.
  const std::int64_t later = kNow + kDefaultTokenLifeMs + 31 * kDayMs;
  NewToken token = make();
  token.expires_ms = later + kDayMs;
  ASSERT_TRUE(store_->create(token, later).ok());
  EXPECT_EQ(store_->list(std::nullopt).size(), 1U);
}

TEST_F(TokenStoreTest, IsUsedByOneProcess) {
  const Result<std::unique_ptr<TokenStore>> second = TokenStore::open(path(), random_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
}

constexpr const char* kHash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

std::string token_text(const std::string& more = {}, const std::string& id = "abcdefghi012") {
  return R"({"id": ")" + id + R"(", "name": "ci", "user": "ada", "hash": ")" + kHash +
         R"(", "created": 1000, "expires": 2000, "created_by": "ada")" + more + "}";
}
std::string file_text(const std::string& tokens) { return R"({"weft_tokens": 1, "tokens": [)" + tokens + "]}"; }

TEST_F(TokenStoreTest, NeverStartsFromADamagedFile) {
  create();
  const std::string whole = content();
  store_.reset();
  for (const std::string& damaged : {std::string(), whole.substr(0, whole.size() / 2), "x" + whole, whole + "x",
                                     std::string("{}"), std::string("null"), std::string("[]")}) {
    folder_.write("state/tokens", damaged);
    const Result<std::unique_ptr<TokenStore>> store = TokenStore::open(path(), random_);
    ASSERT_FALSE(store.ok()) << damaged;
    EXPECT_THAT(store.error().text(), HasSubstr("is damaged"));
    EXPECT_THAT(store.error().text(), HasSubstr(path()));
  }
  folder_.write("state/tokens", whole, 0640);
  EXPECT_THAT(TokenStore::open(path(), random_).error().text(), HasSubstr("others than its owner"));
  folder_.write("state/tokens", whole);
  EXPECT_TRUE(TokenStore::open(path(), random_).ok());
}

TEST(TokenRecordsTest, RefusesInvalidRecords) {
  EXPECT_TRUE(read_token_records("t", file_text(token_text())).ok());
  EXPECT_TRUE(read_token_records("t", file_text(token_text(R"(, "role": "user", "tenant": "a", "groups": ["g"],
      "last_used": 1500, "revoked": 1600)")))
                  .ok());
  for (const std::string& text :
       {file_text(token_text() + "," + token_text()), file_text(token_text({}, "ABCDEFGHI012")),
        file_text(token_text({}, "short")), file_text(token_text(R"(, "role": "king")")),
        file_text(token_text(R"(, "role": "admin", "tenant": "a")")), file_text(token_text(R"(, "tenant": "")")),
        file_text(token_text(R"(, "extra": 1)")), file_text(token_text(R"(, "user": "bob")")),
        file_text(token_text(R"(, "revoked": -1)")), file_text(token_text(R"(, "revoked": 99999999999999999)")),
        file_text(token_text(R"(, "groups": [""])")), file_text(token_text(R"(, "groups": "g")")), file_text("{}"),
        file_text("1"), std::string(R"({"weft_tokens": 2, "tokens": []})"), std::string(R"({"tokens": []})"),
        std::string(R"({"weft_tokens": 1})")}) {
    EXPECT_FALSE(read_token_records("t", text).ok()) << text;
  }
  std::string late = file_text(token_text());
  late.replace(late.find("2000"), 4, "99000000000");
  EXPECT_THAT(read_token_records("t", late).error().text(), HasSubstr("at most one year"));
}

}  // namespace
}  // namespace weft::access
