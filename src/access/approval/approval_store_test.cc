#include "access/approval/approval_store.h"

#include <gtest/gtest.h>

#include <string>

#include "access/secret/test_support.h"

namespace weft::access {
namespace {

constexpr std::int64_t kNow = 1'760'000'000'000;

ApprovalPerson person(const std::string& user, Method method = Method::browser, const std::string& creator = {}) {
  return {{user, {}, method, {}}, creator};
}

Approval request(const ApprovalPerson& by) {
  Approval request;
  request.requester = by;
  request.operation = "oob.power";
  request.method = "POST";
  request.path = "/api/v1/oob/train001/power";
  request.body = R"({"action": "off"})";
  request.reason = "smoke";
  return request;
}

class ApprovalStoreTest : public testing::Test {
 protected:
  std::string add(const ApprovalPerson& by = person("ada"), std::int64_t now = kNow) {
    const Result<Approval> added = store_.add(request(by), now);
    EXPECT_TRUE(added.ok());
    return added.ok() ? added->id : "";
  }
  ErrorCode refusal(const std::string& id, const ApprovalPerson& by, std::int64_t now = kNow) {
    const Result<Approval> approved = store_.approve(id, by, now);
    EXPECT_FALSE(approved.ok());
    return approved.ok() ? ErrorCode::internal : approved.error().code;
  }
  ApprovalStore store_{make_test_random()};
};

TEST_F(ApprovalStoreTest, GivesTheRequestToAnotherPersonOnce) {
  const std::string id = add();
  ASSERT_NE(store_.find(id, kNow), nullptr);
  EXPECT_EQ(store_.find(id, kNow)->expires_ms, kNow + kApprovalLifeMs);
  const Result<Approval> approved = store_.approve(id, person("bob"), kNow + 5);
  ASSERT_TRUE(approved.ok());
  EXPECT_EQ(approved->operation, "oob.power");
  EXPECT_EQ(approved->method, "POST");
  EXPECT_EQ(approved->path, "/api/v1/oob/train001/power");
  EXPECT_EQ(approved->body, R"({"action": "off"})");
  EXPECT_EQ(approved->reason, "smoke");
  EXPECT_EQ(approved->requester.identity.user, "ada");
  EXPECT_EQ(refusal(id, person("bob")), ErrorCode::not_found);
  EXPECT_EQ(refusal(id, person("carol")), ErrorCode::not_found);
}

TEST_F(ApprovalStoreTest, RefusesTheRequesterHoweverSignedIn) {
  const std::string id = add();
  for (const Method method :
       {Method::unix_socket, Method::certificate, Method::token, Method::bearer, Method::browser, Method::cli})
    EXPECT_EQ(refusal(id, person("ada", method)), ErrorCode::refused);
  EXPECT_EQ(refusal(id, person("")), ErrorCode::refused);
  EXPECT_TRUE(store_.approve(id, person("bob"), kNow).ok());
}

TEST_F(ApprovalStoreTest, CountsTheCreatorOfATokenAsTheSamePerson) {
  // ada made a token for bob and approves with it, or requests with it and approves as herself.
  EXPECT_EQ(refusal(add(person("ada")), person("bob", Method::token, "ada")), ErrorCode::refused);
  EXPECT_EQ(refusal(add(person("bob", Method::token, "ada")), person("ada")), ErrorCode::refused);
  EXPECT_EQ(refusal(add(person("bob", Method::token, "ada")), person("carol", Method::token, "ada")),
            ErrorCode::refused);
  EXPECT_TRUE(store_.approve(add(person("bob", Method::token, "ada")), person("carol"), kNow).ok());
  EXPECT_TRUE(store_.approve(add(person("ada")), person("bob"), kNow).ok());
}

// ada made a token for bob, and with it one for carol was made: by ada, or by bob to whom she gave it.
TEST_F(ApprovalStoreTest, CountsEveryMakerOfAToken) {
  const ApprovalPerson chain = person("carol", Method::token, "ada,bob");
  for (const char* name : {"ada", "bob", "carol"}) {
    EXPECT_EQ(refusal(add(person(name)), chain), ErrorCode::refused) << name;
    EXPECT_EQ(refusal(add(chain), person(name)), ErrorCode::refused) << name;
    EXPECT_EQ(refusal(add(chain), person("dora", Method::token, name)), ErrorCode::refused) << name;
  }
  EXPECT_TRUE(store_.approve(add(chain), person("dora"), kNow).ok());
}

TEST_F(ApprovalStoreTest, CountsTheAccountOfAUserAsTheSamePerson) {
  ApprovalPerson remote = person("ada@example", Method::bearer);
  remote.accounts = {"ada"};
  EXPECT_EQ(refusal(add(remote), person("ada", Method::unix_socket)), ErrorCode::refused);
  EXPECT_EQ(refusal(add(person("ada", Method::unix_socket)), remote), ErrorCode::refused);
  // An account that two people share makes them no one person.
  ApprovalPerson other = person("bob@example", Method::bearer);
  other.accounts = {"ada"};
  EXPECT_TRUE(store_.approve(add(remote), other, kNow).ok());
}

TEST_F(ApprovalStoreTest, Expires) {
  const std::string id = add();
  EXPECT_EQ(refusal(id, person("bob"), kNow + kApprovalLifeMs), ErrorCode::not_found);
  EXPECT_EQ(refusal(id, person("bob"), kNow - 1), ErrorCode::not_found);
  EXPECT_EQ(store_.find(id, kNow + kApprovalLifeMs), nullptr);
  EXPECT_TRUE(store_.list(kNow + kApprovalLifeMs).empty());
  EXPECT_FALSE(store_.reject(id, kNow + kApprovalLifeMs).ok());
  EXPECT_TRUE(store_.take_expired(kNow).empty());
  ASSERT_EQ(store_.take_expired(kNow + kApprovalLifeMs).size(), 1U);
  EXPECT_TRUE(store_.take_expired(kNow + kApprovalLifeMs).empty());
}

TEST_F(ApprovalStoreTest, CanBeRejected) {
  const std::string id = add();
  ASSERT_TRUE(store_.reject(id, kNow).ok());
  EXPECT_EQ(store_.reject(id, kNow).error().code, ErrorCode::not_found);
  EXPECT_EQ(refusal(id, person("bob")), ErrorCode::not_found);
}

TEST_F(ApprovalStoreTest, ListsTheOldestFirst) {
  const std::string late = add(person("ada"), kNow + 9);
  const std::string early = add(person("ada"), kNow);
  const std::vector<Approval> listed = store_.list(kNow + 10);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].id, early);
  EXPECT_EQ(listed[1].id, late);
}

TEST_F(ApprovalStoreTest, IsBounded) {
  for (std::size_t i = 0; i < kMaxApprovals; ++i) add(person("user" + std::to_string(i / kMaxApprovalsPerUser)));
  EXPECT_EQ(store_.add(request(person("user0")), kNow).error().code, ErrorCode::unavailable);
  EXPECT_EQ(store_.add(request(person("zoe")), kNow).error().code, ErrorCode::unavailable);
  EXPECT_EQ(store_.add(request(person("zoe")), kNow + kApprovalLifeMs).error().code, ErrorCode::unavailable)
      << "take_expired() has not returned the expired ones yet";
  EXPECT_EQ(store_.take_expired(kNow + kApprovalLifeMs).size(), kMaxApprovals);
  EXPECT_TRUE(store_.add(request(person("zoe")), kNow + kApprovalLifeMs).ok());
  ApprovalStore other(make_test_random());
  for (std::size_t i = 0; i < kMaxApprovalsPerUser; ++i) ASSERT_TRUE(other.add(request(person("ada")), kNow).ok());
  EXPECT_EQ(other.add(request(person("ada")), kNow).error().code, ErrorCode::conflict);
  Approval large = request(person("bob"));
  large.body.assign(kMaxApprovalBytes, 'x');
  EXPECT_EQ(other.add(large, kNow).error().code, ErrorCode::invalid_input);
}

}  // namespace
}  // namespace weft::access
