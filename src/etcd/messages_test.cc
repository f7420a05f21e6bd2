// Against bodies as etcd 3.4.23 sends them, and hostile ones.
#include "etcd/messages.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::etcd {
namespace {

constexpr const char* kHeader =
    R"("header":{"cluster_id":"14841639068965178418","member_id":"10276657743932975437","revision":"7","raft_term":"2"})";

std::string with_header(const std::string& rest) { return std::string("{") + kHeader + rest + "}"; }

TEST(EtcdMessages, WritesRequests) {
  EXPECT_EQ(write_range({"foo"}), R"({"key":"Zm9v"})");
  EXPECT_EQ(write_range({"a", "b", 10, 5, true}),
            R"({"key":"YQ==","range_end":"Yg==","limit":"10","revision":"5","serializable":true})");
  TxnRequest txn;
  txn.compares = {{Compare::Target::create_revision, "k", 3}};
  txn.success = {{Operation::Kind::put, "k", "v", 9}, {Operation::Kind::remove, "a", {}, 0, "b"}};
  txn.failure = {{Operation::Kind::range, "k"}};
  EXPECT_EQ(write_txn(txn), R"({"compare":[{"target":"CREATE","result":"EQUAL","key":"aw==","create_revision":"3"}],)"
                            R"("success":[{"request_put":{"key":"aw==","value":"dg==","lease":"9"}},)"
                            R"({"request_delete_range":{"key":"YQ==","range_end":"Yg=="}}],)"
                            R"("failure":[{"request_range":{"key":"aw=="}}]})");
  EXPECT_EQ(write_login("a\"b", "c"), R"({"name": "a\"b", "password": "c"})");
  EXPECT_EQ(end_of_prefix("/weft/"), "/weft0");
  EXPECT_EQ(end_of_prefix("a\xff"), "b");
}

TEST(EtcdMessages, ReadsRanges) {
  const auto reply = parse_range(with_header(
      R"(,"kvs":[{"key":"Zm9v","create_revision":"4","mod_revision":"7","version":"2","value":"YmFy","lease":"5"}],"more":true,"count":"2")"));
  ASSERT_TRUE(reply.ok()) << reply.error().text();
  EXPECT_EQ(reply->revision, 7);
  EXPECT_TRUE(reply->more);
  ASSERT_EQ(reply->kvs.size(), 1U);
  EXPECT_EQ(reply->kvs[0].key, "foo");
  EXPECT_EQ(reply->kvs[0].value, "bar");
  EXPECT_EQ(reply->kvs[0].create_revision, 4);
  EXPECT_EQ(reply->kvs[0].lease, 5);
  EXPECT_TRUE(parse_range(with_header(""))->kvs.empty());
}

TEST(EtcdMessages, RefusesWhatIsNotARange) {
  for (const std::string& body :
       {std::string(), std::string("{}"), std::string("[]"), std::string("null"), std::string(R"({"header":{}})"),
        with_header(R"(,"kvs":{})"), with_header(R"(,"kvs":[{"key":"Zm9v","mod_revision":"x"}])"),
        with_header(R"(,"kvs":[{"key":"%%","mod_revision":"1"}])"), with_header(R"(,"kvs":[{"key":"Zm9v"}])"),
        with_header(R"(,"more":"yes")"), with_header("").substr(0, 40)})
    EXPECT_FALSE(parse_range(body).ok()) << body;
}

TEST(EtcdMessages, ReadsTransactions) {
  const auto reply = parse_txn(with_header(
      R"(,"succeeded":true,"responses":[{"response_put":{"header":{"revision":"7"}}},{"response_range":{"kvs":[{"key":"Zm9v","mod_revision":"7"}]}}])"));
  ASSERT_TRUE(reply.ok()) << reply.error().text();
  EXPECT_TRUE(reply->succeeded);
  ASSERT_EQ(reply->ranges.size(), 1U);
  EXPECT_EQ(reply->ranges[0].kvs[0].key, "foo");
  EXPECT_FALSE(parse_txn(with_header(""))->succeeded);
  EXPECT_FALSE(parse_txn(with_header(R"(,"responses":[1])")).ok());
}

TEST(EtcdMessages, ReadsLeasesAndWatches) {
  EXPECT_EQ(parse_grant(with_header(R"(,"ID":"7587","TTL":"8")"))->id, 7587);
  EXPECT_FALSE(parse_grant(with_header(R"(,"ID":"7587")")).ok());
  const std::string alive = std::string(R"({"result":{)") + kHeader + R"(,"ID":"7587","TTL":"8"}})" + "\n";
  EXPECT_EQ(parse_keep_alive(alive)->ttl, 8);
  const std::string gone = std::string(R"({"result":{)") + kHeader + R"(,"ID":"7587"}})" + "\n";
  EXPECT_EQ(parse_keep_alive(gone)->ttl, 0);
  EXPECT_FALSE(parse_keep_alive(R"({"error":{"grpc_code":14,"message":"etcdserver: no leader"}})").ok());
  const auto watch = parse_watch(
      std::string(R"({"result":{)") + kHeader +
      R"(,"events":[{"kv":{"key":"Zm9v","mod_revision":"7","value":"YQ=="}},{"type":"DELETE","kv":{"key":"Zm9v","mod_revision":"8"}}]}})");
  ASSERT_TRUE(watch.ok()) << watch.error().text();
  EXPECT_FALSE(watch->events[0].deleted);
  EXPECT_TRUE(watch->events[1].deleted);
  const auto compacted =
      parse_watch(std::string(R"({"result":{)") + kHeader + R"(,"canceled":true,"compact_revision":"6"}})");
  EXPECT_EQ(compacted->compact_revision, 6);
  EXPECT_FALSE(parse_watch(R"({"result":{"header":{"revision":"1"},"events":[{"type":"X","kv":{}}]}})").ok());
}

TEST(EtcdMessages, ReadsTokensAndAlarms) {
  EXPECT_EQ(*parse_token(with_header(R"(,"token":"abc.9")")), "abc.9");
  EXPECT_FALSE(parse_token(with_header(R"(,"token":"a\r\nX: 1")")).ok());
  EXPECT_FALSE(parse_token(with_header("")).ok());
  const auto alarms = parse_alarms(with_header(R"(,"alarms":[{"memberID":"1","alarm":"NOSPACE"}])"));
  ASSERT_TRUE(alarms.ok());
  EXPECT_EQ(alarms->size(), 1U);
  EXPECT_TRUE(parse_alarms(with_header(""))->empty());
}

// The texts are those of etcdserver/api/v3rpc/rpctypes/error.go, the statuses those of the gateway.
TEST(EtcdMessages, TellsWhetherAFailedRequestWasExecuted) {
  const auto code = [](int status, int grpc, const std::string& text) {
    return parse_failure(
               status, R"({"error":")" + text + R"(","message":")" + text + R"(","code":)" + std::to_string(grpc) + "}")
        .error.code;
  };
  EXPECT_EQ(code(429, 8, "etcdserver: mvcc: database space exceeded"), ErrorCode::unavailable);
  EXPECT_EQ(code(503, 14, "etcdserver: request timed out"), ErrorCode::timeout);
  EXPECT_EQ(code(503, 14, "etcdserver: no leader"), ErrorCode::timeout);
  EXPECT_EQ(code(503, 14, "etcdserver: leader changed"), ErrorCode::timeout);
  EXPECT_EQ(code(404, 5, "etcdserver: requested lease not found"), ErrorCode::not_found);
  EXPECT_EQ(code(400, 11, "etcdserver: mvcc: required revision has been compacted"), ErrorCode::conflict);
  EXPECT_EQ(code(403, 7, "etcdserver: permission denied"), ErrorCode::refused);
  EXPECT_EQ(code(400, 3, "etcdserver: authentication failed, invalid user ID or password"), ErrorCode::refused);
  EXPECT_EQ(code(400, 3, "etcdserver: request is too large"), ErrorCode::invalid_input);
  EXPECT_EQ(code(500, 2, "unknown"), ErrorCode::timeout);
  EXPECT_TRUE(parse_failure(401, R"({"error":"etcdserver: invalid auth token","code":16})").is_old_token);
  EXPECT_EQ(parse_failure(502, "<html>").error.code, ErrorCode::timeout);
}

}  // namespace
}  // namespace weft::etcd
