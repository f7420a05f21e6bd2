#include "kube/client.h"

#include <gtest/gtest.h>

#include "kube/fake_transport.h"
#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

class KubeClient : public ::testing::Test {
 protected:
  oob::ManualClock clock_;
  FakeTransport server_{clock_};
  Client client_{server_, clock_, RandomStream(1)};
  const ObjectName pod_{"a", "p"};

  void answer_status(int code, std::string_view reason, std::string_view message) {
    server_.answer(code, write_json_line(fake_status(code, reason, message)));
  }
  Value sent_body(std::size_t index) { return read_reply_json(server_.sent.at(index).body).value_or(Value()); }
};

TEST_F(KubeClient, GetsAnObject) {
  server_.answer(fake_object("p", "u1", "7"));
  const Result<Value> pod = client_.get(kPods, pod_);
  ASSERT_TRUE(pod.ok()) << pod.error().text();
  EXPECT_EQ(server_.sent.at(0).method, "GET");
  EXPECT_EQ(server_.sent.at(0).target, "/api/v1/namespaces/a/pods/p");
}

TEST_F(KubeClient, NamesCannotLeaveTheirPlaceInThePath) {
  for (const char* name : {"", ".", "..", "a/b", "a?b", "a%2fb", "a b", "a#b"}) {
    const Result<Value> pod = client_.get(kPods, {"a", name});
    ASSERT_FALSE(pod.ok()) << name;
    EXPECT_EQ(pod.error().code, ErrorCode::invalid_input);
  }
  EXPECT_FALSE(client_.get(kPods, {"", "p"}).ok());
  EXPECT_TRUE(server_.sent.empty());
}

TEST_F(KubeClient, ListsAllPagesOfOneMoment) {
  server_.answer(fake_list({fake_object("p1", "u1", "3")}, "9", "token 1/2"));
  server_.answer(fake_list({fake_object("p2", "u2", "4")}, "9"));
  const Result<ObjectList> list = client_.list(kPods, {"a", "weft/job=1,x in (y)", {}});
  ASSERT_TRUE(list.ok()) << list.error().text();
  EXPECT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->resource_version, "9");
  EXPECT_EQ(server_.sent.at(0).target,
            "/api/v1/namespaces/a/pods?labelSelector=weft%2Fjob%3D1%2Cx%20in%20%28y%29&limit=500");
  EXPECT_NE(server_.sent.at(1).target.find("&continue=token%201%2F2"), std::string::npos);
}

TEST_F(KubeClient, AnExpiredListStartsOverAndNeverLacksAPage) {
  server_.answer(fake_list({fake_object("p1", "u1", "3")}, "9", "t1"));
  answer_status(410, "Expired", "The provided continue parameter is too old");
  server_.answer(fake_list({fake_object("p1", "u1", "3")}, "12", "t2"));
  server_.answer(fake_list({fake_object("p2", "u2", "4")}, "12"));
  const Result<ObjectList> list = client_.list(kPods, {"a", {}, {}});
  ASSERT_TRUE(list.ok()) << list.error().text();
  EXPECT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->resource_version, "12");
}

TEST_F(KubeClient, AListThatKeepsExpiringIsReadInOnePieceThenFails) {
  for (int i = 0; i < 2; ++i) {
    server_.answer(fake_list({fake_object("p1", "u1", "3")}, "9", "t1"));
    answer_status(410, "Expired", "too old");
  }
  answer_status(410, "Expired", "too old");
  EXPECT_FALSE(client_.list(kPods, {"a", {}, {}}).ok());
  EXPECT_EQ(server_.sent.back().target, "/api/v1/namespaces/a/pods");
}

// Anything that is not a complete list is an error: an empty list would mean that everything is gone.
TEST_F(KubeClient, HostileListsAreErrors) {
  const std::vector<std::string> bodies = {
      "",
      "{}",
      "[]",
      "null",
      "\"x\"",
      "{\"kind\":\"PodList\"",
      R"({"kind":"PodList","metadata":{"resourceVersion":"1"}})",
      R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":{}})",
      R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":"x"})",
      R"({"kind":"PodList","metadata":{},"items":[]})",
      R"({"kind":"PodList","metadata":{"resourceVersion":1},"items":[]})",
      R"({"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[]})",
      R"({"kind":"Status","metadata":{"resourceVersion":"1"},"items":[]})",
      R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[null]})",
      R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"p"}}]})",
      R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{"metadata":[]}]})",
      "<html>proxy error</html>",
      std::string(2000, '[')};
  for (const std::string& body : bodies) {
    server_.answer(200, body);
    const Result<ObjectList> list = client_.list(kPods, {"a", {}, {}});
    ASSERT_FALSE(list.ok()) << body;
    EXPECT_EQ(list.error().code, ErrorCode::invalid_input) << body;
  }
}

TEST_F(KubeClient, AServerThatRepeatsAPageIsStopped) {
  server_.answer(fake_list({fake_object("p1", "u1", "3")}, "9", "same"));
  server_.answer(fake_list({fake_object("p1", "u1", "3")}, "9", "same"));
  EXPECT_FALSE(client_.list(kPods, {"a", {}, {}}).ok());
}

TEST_F(KubeClient, ReadsAreRepeatedWritesOnlyIfNotAccepted) {
  server_.fail(ErrorCode::timeout);
  server_.answer(503, "");
  server_.answer(fake_object("p", "u1", "7"));
  EXPECT_TRUE(client_.get(kPods, pod_).ok());
  EXPECT_GT(clock_.now().count(), 0);  // it waited between them

  server_.sent.clear();
  server_.fail(ErrorCode::timeout);  // sent, no response: perhaps executed
  const Result<CreateOutcome> unknown = client_.create(kPods, fake_object("p", "", ""));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::timeout);
  EXPECT_EQ(server_.sent.size(), 1U);

  server_.fail(ErrorCode::unavailable);  // never sent
  answer_status(429, "TooManyRequests", "too many requests");
  server_.answer(201, write_json_line(fake_object("p", "u1", "7")));
  EXPECT_TRUE(client_.create(kPods, fake_object("p", "", "")).ok());

  server_.answer(500, "");  // a write that failed inside the server may have been executed
  const Result<Value> patched = client_.patch(kPods, pod_, Value::map());
  ASSERT_FALSE(patched.ok());
  EXPECT_EQ(patched.error().code, ErrorCode::timeout);
  EXPECT_TRUE(server_.finished());
}

TEST_F(KubeClient, WaitsAsLongAsTheServerSays) {
  server_.answer(429, "", 7);
  server_.answer(fake_object("p", "u1", "7"));
  EXPECT_TRUE(client_.get(kPods, pod_).ok());
  EXPECT_GE(clock_.now(), milliseconds(7'000));
}

TEST_F(KubeClient, StoppedMeansNoFurtherRequest) {
  clock_.stop();
  EXPECT_FALSE(client_.get(kPods, pod_).ok());
  EXPECT_TRUE(server_.sent.empty());
}

TEST_F(KubeClient, ForbiddenNamesVerbResourceAndNamespace) {
  answer_status(403, "Forbidden", "pods is forbidden: User \"viewer\" cannot list resource \"pods\"");
  const Result<ObjectList> list = client_.list(kPods, {"a", {}, {}});
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().code, ErrorCode::refused);
  for (const char* part : {"`list`", "`pods`", "`a`", "viewer"}) {
    EXPECT_NE(list.error().message.find(part), std::string::npos) << list.error().message;
  }
  answer_status(403, "Forbidden", "");
  const Result<EvictionOutcome> eviction = client_.evict(pod_);
  ASSERT_FALSE(eviction.ok());  // reading the API's version was forbidden
  EXPECT_EQ(eviction.error().code, ErrorCode::refused);
}

TEST_F(KubeClient, StatusCodesBecomeErrorCodes) {
  const std::vector<std::pair<int, ErrorCode>> codes = {
      {400, ErrorCode::invalid_input}, {401, ErrorCode::refused},       {403, ErrorCode::refused},
      {404, ErrorCode::not_found},     {409, ErrorCode::conflict},      {410, ErrorCode::not_found},
      {413, ErrorCode::invalid_input}, {422, ErrorCode::invalid_input}, {302, ErrorCode::invalid_input}};
  for (const auto& [status, code] : codes) {
    server_.answer(status, "");
    const Result<Value> pod = client_.get(kPods, pod_);
    ASSERT_FALSE(pod.ok());
    EXPECT_EQ(pod.error().code, code) << status;
    EXPECT_NE(pod.error().message.find("get pods `a/p`"), std::string::npos) << pod.error().message;
  }
}

TEST_F(KubeClient, CreateOfAnExistingNameReturnsTheExistingObject) {
  answer_status(409, "AlreadyExists", "pods \"p\" already exists");
  server_.answer(fake_object("p", "other", "7"));
  const Result<CreateOutcome> outcome = client_.create(kPods, fake_object("p", "", ""));
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_FALSE(outcome->created);
  EXPECT_EQ(oob::raw_text(outcome->object, {"metadata", "uid"}), "other");
}

TEST_F(KubeClient, AConflictOfApplyNamesTheOtherOwner) {
  Value status = fake_status(409, "Conflict", "Apply failed with 1 conflict");
  status["details"].set("causes", Value::list({Value::map({{"reason", Value("FieldManagerConflict")},
                                                           {"message", Value("conflict with \"kubectl\" using v1")},
                                                           {"field", Value(".data.key")}})}));
  server_.answer(409, write_json_line(status));
  const Result<Value> applied = client_.apply(kConfigMaps, fake_object("c", "", ""));
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().code, ErrorCode::conflict);
  EXPECT_NE(applied.error().message.find("kubectl"), std::string::npos) << applied.error().message;
  EXPECT_NE(applied.error().message.find(".data.key"), std::string::npos);
  EXPECT_EQ(server_.sent.at(0).content_type, "application/apply-patch+yaml");
  EXPECT_EQ(server_.sent.at(0).target, "/api/v1/namespaces/a/configmaps/c?fieldManager=weft");
}

TEST_F(KubeClient, ReplaceNeedsTheVersionThatWasRead) {
  Value object = fake_object("p", "u1", "");
  EXPECT_FALSE(client_.replace(kPods, object).ok());
  EXPECT_TRUE(server_.sent.empty());
  answer_status(409, "Conflict", "the object has been modified");
  const Result<Value> replaced = client_.replace(kPods, fake_object("p", "u1", "7"));
  ASSERT_FALSE(replaced.ok());
  EXPECT_EQ(replaced.error().code, ErrorCode::conflict);
  EXPECT_EQ(server_.sent.size(), 1U);  // not repeated: the caller must read again and decide again
}

TEST_F(KubeClient, DeleteHasPreconditions) {
  server_.answer(200, write_json_line(fake_object("p", "u1", "8")));
  Result<DeleteOutcome> outcome = client_.remove(kPods, pod_, {30, "u1", "7", "Background"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(*outcome, DeleteOutcome::accepted);
  const Value body = sent_body(0);
  EXPECT_EQ(oob::raw_text(body, {"kind"}), "DeleteOptions");
  EXPECT_EQ(oob::raw_text(body, {"preconditions", "uid"}), "u1");
  EXPECT_EQ(oob::raw_text(body, {"preconditions", "resourceVersion"}), "7");
  EXPECT_EQ(oob::number(body, {"gracePeriodSeconds"}), 30);
  EXPECT_EQ(oob::raw_text(body, {"propagationPolicy"}), "Background");

  answer_status(409, "Conflict", "the UID in the precondition does not match");
  outcome = client_.remove(kPods, pod_, {{}, "u1", {}, {}});
  EXPECT_TRUE(outcome.ok() && *outcome == DeleteOutcome::precondition);
  answer_status(404, "NotFound", "");
  outcome = client_.remove(kPods, pod_);
  EXPECT_TRUE(outcome.ok() && *outcome == DeleteOutcome::gone);
}

class KubeEviction : public KubeClient {
 protected:
  Result<EvictionOutcome> evict_with(int status, const Value& body, std::optional<int> retry_after = {}) {
    server_.answer(status, write_json_line(body), retry_after);
    return client_.evict(pod_, "u1", 30);
  }
  void SetUp() override {
    server_.answer(Value::map({{"kind", Value("APIResourceList")},
                               {"resources", Value::list({Value::map({{"name", Value("pods")}, {"kind", Value("Pod")}}),
                                                          Value::map({{"name", Value("pods/eviction")},
                                                                      {"group", Value("policy")},
                                                                      {"version", Value("v1beta1")}})})}}));
  }
};

TEST_F(KubeEviction, UsesTheVersionThatTheServerHas) {
  const Result<EvictionOutcome> outcome = evict_with(201, Value::map({{"kind", Value("Status")}}));
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->state, EvictionState::accepted);
  EXPECT_EQ(server_.sent.at(0).target, "/api/v1");
  EXPECT_EQ(server_.sent.at(1).target, "/api/v1/namespaces/a/pods/p/eviction");
  const Value body = sent_body(1);
  EXPECT_EQ(oob::raw_text(body, {"apiVersion"}), "policy/v1beta1");
  EXPECT_EQ(oob::raw_text(body, {"deleteOptions", "preconditions", "uid"}), "u1");
  EXPECT_EQ(oob::number(body, {"deleteOptions", "gracePeriodSeconds"}), 30);
}

TEST_F(KubeEviction, TellsABudgetFromThrottling) {
  Value budget = fake_status(429, "TooManyRequests", "Cannot evict pod");
  budget["details"].set("causes", Value::list({Value::map({{"reason", Value("DisruptionBudget")}})}));
  Result<EvictionOutcome> outcome = evict_with(429, budget);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->state, EvictionState::budget);
  outcome = evict_with(429, fake_status(429, "TooManyRequests", "too many requests"), 3);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->state, EvictionState::throttled);
  EXPECT_EQ(outcome->retry_after, 3);
  EXPECT_EQ(server_.sent.size(), 3U);  // neither was repeated
}

TEST_F(KubeEviction, UnderstandsTheOtherAnswers) {
  Result<EvictionOutcome> outcome =
      evict_with(500, fake_status(500, "", "This pod has more than one PodDisruptionBudget"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->state, EvictionState::ambiguous);
  outcome = evict_with(404, fake_status(404, "NotFound", ""));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->state, EvictionState::gone);
  server_.answer(409, write_json_line(fake_status(409, "Conflict", "")));
  server_.answer(fake_object("p", "u2", "9"));
  outcome = client_.evict(pod_, "u1");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->state, EvictionState::replaced);
}

TEST_F(KubeClient, HostileStatusesStayReadable) {
  for (const char* body :
       {"", "{", "[]", R"({"kind":"Status","message":5,"details":[],"code":"x"})",
        R"({"kind":"Status","details":{"causes":[1,{"reason":[]}],"retryAfterSeconds":1e300}})", "\x1b[31m<html>"}) {
    server_.answer(422, body);
    const Result<Value> applied = client_.apply(kConfigMaps, fake_object("c", "", ""));
    ASSERT_FALSE(applied.ok());
    EXPECT_EQ(applied.error().code, ErrorCode::invalid_input);
    EXPECT_EQ(applied.error().message.find('\x1b'), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::kube
