#include "etcd/client.h"

#include <gtest/gtest.h>

#include <string>

#include "etcd/test_support.h"

namespace weft::etcd {
namespace {

TxnRequest put(const std::string& key, const std::string& value) {
  TxnRequest request;
  request.success = {{Operation::Kind::put, key, value}};
  return request;
}

TEST(EtcdClient, PutsRangesAndDeletes) {
  FakeCluster cluster;
  const auto client = cluster.connect();
  for (const char* key : {"a/1", "a/2", "a/3", "b"}) ASSERT_TRUE(client->txn(put(key, std::string("v") + key)).ok());
  const auto page = client->range({"a/", end_of_prefix("a/"), 2});
  ASSERT_TRUE(page.ok()) << page.error().text();
  EXPECT_EQ(page->kvs.size(), 2U);
  EXPECT_TRUE(page->more);
  TxnRequest removal;
  removal.success = {{Operation::Kind::remove, "a/", {}, 0, end_of_prefix("a/")}};
  ASSERT_TRUE(client->txn(removal)->succeeded);
  EXPECT_TRUE(client->range({"a/", end_of_prefix("a/")})->kvs.empty());
  EXPECT_EQ(client->range({"b"})->kvs.front().value, "vb");
}

TEST(EtcdClient, ComparesRevisions) {
  FakeCluster cluster;
  const auto client = cluster.connect();
  const Revision created = client->txn(put("k", "1"))->revision;
  TxnRequest request = put("k", "2");
  request.compares = {{Compare::Target::create_revision, "k", created}};
  request.failure = {{Operation::Kind::range, "k"}};
  EXPECT_TRUE(client->txn(request)->succeeded);
  request.compares = {{Compare::Target::mod_revision, "k", created}};
  const auto failed = client->txn(request);
  EXPECT_FALSE(failed->succeeded);
  EXPECT_EQ(failed->ranges.front().kvs.front().value, "2");
  request.compares = {{Compare::Target::mod_revision, "absent", 0}};
  EXPECT_TRUE(client->txn(request)->succeeded);
}

TEST(EtcdClient, AsksTheNextMemberOnlyIfTheTransactionWasNotExecuted) {
  FakeCluster cluster;
  const auto client = cluster.connect(3);
  int asked = 0;
  cluster.etcd.fault = [&](std::string_view) { return ++asked < 3 ? RequestFault::unreachable : RequestFault::none; };
  EXPECT_TRUE(client->txn(put("k", "1")).ok());
  EXPECT_EQ(asked, 3);
  asked = 0;
  cluster.etcd.fault = [&](std::string_view) { return ++asked < 2 ? RequestFault::answer_lost : RequestFault::none; };
  EXPECT_EQ(client->txn(put("k", "2")).error().code, ErrorCode::timeout);
  EXPECT_EQ(asked, 1);
  asked = 0;
  EXPECT_EQ(client->range({"k"})->kvs.front().value, "2");
  EXPECT_EQ(asked, 2);
}

TEST(EtcdClient, SaysThatThereIsNoSpace) {
  FakeCluster cluster;
  const auto client = cluster.connect(3);
  cluster.etcd.set_no_space(true);
  const auto refused = client->txn(put("k", "1"));
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_NE(refused.error().message.find("quota"), std::string::npos);
  EXPECT_EQ(client->alarms()->size(), 1U);
}

TEST(EtcdClient, LeasesExpire) {
  FakeCluster cluster;
  const auto client = cluster.connect();
  const auto lease = client->grant(8);
  ASSERT_TRUE(lease.ok());
  TxnRequest request;
  request.success = {{Operation::Kind::put, "k", "v", lease->id}};
  ASSERT_TRUE(client->txn(request).ok());
  cluster.time += milliseconds(7'000);
  EXPECT_TRUE(client->keep_alive(lease->id).ok());
  cluster.time += milliseconds(7'000);
  EXPECT_EQ(client->range({"k"})->kvs.size(), 1U);
  cluster.time += milliseconds(1'000);
  EXPECT_TRUE(client->range({"k"})->kvs.empty());
  EXPECT_EQ(client->keep_alive(lease->id).error().code, ErrorCode::not_found);
}

TEST(EtcdClient, WatchesAndSeesCompaction) {
  FakeCluster cluster;
  const auto client = cluster.connect();
  auto watch = client->watch({"a/", end_of_prefix("a/")});
  ASSERT_TRUE(watch.ok());
  ASSERT_TRUE(client->txn(put("a/1", "x")).ok());
  ASSERT_TRUE(client->txn(put("b", "x")).ok());
  const auto events = (*watch)->read(Duration());
  ASSERT_TRUE(events.ok()) << events.error().text();
  ASSERT_EQ(events->size(), 2U);
  EXPECT_TRUE(events->front().created);
  EXPECT_EQ(events->back().events.front().kv.key, "a/1");
  const Revision old = cluster.etcd.revision();
  ASSERT_TRUE(client->txn(put("a/2", "x")).ok());
  ASSERT_TRUE(client->compact(cluster.etcd.revision()).ok());
  watch = client->watch({"a/", end_of_prefix("a/"), old});
  ASSERT_TRUE(watch.ok());
  const auto canceled = (*watch)->read(Duration());
  ASSERT_TRUE(canceled.ok());
  EXPECT_GT(canceled->back().compact_revision, 0);
  EXPECT_EQ(client->range({"a/1", {}, 0, old}).error().code, ErrorCode::conflict);
}

}  // namespace
}  // namespace weft::etcd
