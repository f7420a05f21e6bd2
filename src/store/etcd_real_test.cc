// A real etcd of three members whose members are killed meanwhile: histories of several clients are checked for
// linearizability, and controllers that take turns lose no record. Needs Debian's etcd.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/test_prerequisites.h"
#include "etcd/connection.h"
#include "etcd/election.h"
#include "store/etcd_store.h"
#include "store/linearizability.h"
#include "store/test_support.h"

namespace weft::store {
namespace {

// Ports of this process: two tests in parallel have others.
int base_port() { return 20'000 + (::getpid() % 2'000) * 6; }

class Members {
 public:
  Members() {
    for (int i = 0; i < 3; ++i) start(i);
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() {
    for (int i = 0; i < 3; ++i) kill(i);
  }
  void start(int member) {
    const auto url = [](int port) { return "http://127.0.0.1:" + std::to_string(port); };
    std::string cluster;
    for (int i = 0; i < 3; ++i) {
      cluster += i > 0 ? "," : "";
      cluster += "m" + std::to_string(i) + "=" + url(base_port() + 3 + i);
    }
    const std::string name = "m" + std::to_string(member);
    const std::string client = url(base_port() + member);
    const std::string peer = url(base_port() + 3 + member);
    const std::vector<std::string> words = {"etcd",
                                            "--name",
                                            name,
                                            "--data-dir",
                                            folder_.path() + "/" + name,
                                            "--listen-client-urls",
                                            client,
                                            "--advertise-client-urls",
                                            client,
                                            "--listen-peer-urls",
                                            peer,
                                            "--initial-advertise-peer-urls",
                                            peer,
                                            "--initial-cluster",
                                            cluster,
                                            "--initial-cluster-token",
                                            folder_.path(),
                                            "--unsafe-no-fsync",
                                            "--logger",
                                            "zap",
                                            "--log-outputs",
                                            folder_.path() + "/" + name + ".log"};
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    pids_[member] = child;
  }
  void kill(int member) {
    ::kill(pids_[member], SIGKILL);
    ::waitpid(pids_[member], nullptr, 0);
  }
  [[nodiscard]] static etcd::Settings settings() {
    etcd::Settings settings;
    for (int i = 0; i < 3; ++i) settings.members.push_back("127.0.0.1:" + std::to_string(base_port() + i));
    settings.prefix = "/weft";
    return settings;
  }
  static bool wait() {
    etcd::Connection connection(settings());
    for (int tries = 0; tries < 300; ++tries) {
      if (connection.client().range({"x"}).ok()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

 private:
  TemporaryDirectory folder_;
  std::map<int, pid_t> pids_;
};

std::int64_t now() { return etcd::boot_time().count(); }

// One client: reads, and writes that compare the revision of what it read last.
void run_client(int id, std::int64_t end, std::mutex& mutex, std::vector<RegisterCall>& history) {
  etcd::Connection connection(Members::settings());
  RandomStream random(static_cast<std::uint64_t>(id), "client");
  for (int number = 1; now() < end; ++number) {
    RegisterCall call;
    call.began = now();
    if (random.chance(0.5)) {
      const Result<etcd::RangeReply> reply = connection.client().range({"register"});
      if (!reply.ok()) continue;  // a read without an answer says nothing
      call.kind = RegisterCall::Kind::read;
      call.value = reply->kvs.empty() ? 0 : std::stoi(reply->kvs.front().value);
    } else {
      call.kind = RegisterCall::Kind::write;
      call.value = id * 100'000 + number;
      etcd::TxnRequest request;
      request.success = {{etcd::Operation::Kind::put, "register", std::to_string(call.value)}};
      const Result<etcd::TxnReply> reply = connection.client().txn(request);
      if (!reply.ok() && reply.error().code == ErrorCode::unavailable) continue;  // certainly not executed
      if (!reply.ok()) call.ended = RegisterCall::kNever;                         // not known
    }
    if (call.ended == 0) call.ended = now();
    const std::lock_guard lock(mutex);
    history.push_back(call);
  }
}

TEST(EtcdReal, HistoriesUnderKillsAreLinearizable) {
  WEFT_NEEDS_PROGRAM("etcd");
  Members members;
  ASSERT_TRUE(Members::wait());
  std::mutex mutex;
  std::vector<RegisterCall> history;
  const std::int64_t end = now() + 6'000'000'000;
  std::vector<std::thread> clients;
  for (int id = 1; id <= 4; ++id) clients.emplace_back([&, id] { run_client(id, end, mutex, history); });
  for (int kills = 0; now() < end - 1'000'000'000; ++kills) {
    members.kill(kills % 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    members.start(kills % 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
  }
  for (std::thread& client : clients) client.join();
  std::printf("%zu calls\n", history.size());
  EXPECT_GT(history.size(), 100U);
  EXPECT_TRUE(is_linearizable(history));
  // The same history with a read of a value that was overwritten long before is not.
  const auto old = std::find_if(history.begin(), history.end(), [&](const RegisterCall& call) {
    return call.kind == RegisterCall::Kind::write && call.ended < end - 2'000'000'000;
  });
  ASSERT_NE(old, history.end());
  history.push_back({RegisterCall::Kind::read, old->value, now(), now() + 1});
  EXPECT_FALSE(is_linearizable(history));
}

// Two controllers write to one journal through their own connections while members are killed and one of them lets go
// of its leadership; each record that was acknowledged is there, once and in order.
TEST(EtcdReal, ControllersTakeTurnsWithoutLosingARecord) {
  WEFT_NEEDS_PROGRAM("etcd");
  Members members;
  ASSERT_TRUE(Members::wait());
  std::vector<std::string> acknowledged;
  etcd::Connection first(Members::settings());
  etcd::Connection second(Members::settings());
  etcd::Election elections[] = {{first.client(), {"/weft/leader", "a", {}}},
                                {second.client(), {"/weft/leader", "b", {}}}};
  int number = 0;
  for (int turn = 0; turn < 6; ++turn) {
    etcd::Election& election = elections[turn % 2];
    etcd::Connection& connection = turn % 2 == 0 ? first : second;
    for (int tries = 0; tries < 300 && !election.is_leader(); ++tries) {
      election.step();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ASSERT_TRUE(election.is_leader()) << election.problem();
    Result<std::unique_ptr<EtcdStore>> store =
        EtcdStore::open(connection.client(), {"/weft", "cluster-1", election.fence()});
    for (int tries = 0; tries < 20 && !store.ok(); ++tries)
      store = EtcdStore::open(connection.client(), {"/weft", "cluster-1", election.fence()});
    ASSERT_TRUE(store.ok()) << store.error().text();
    std::size_t at = 0;
    ASSERT_TRUE((*store)
                    ->read(1,
                           [&](const Entry& entry) {
                             if (at == acknowledged.size()) return Status();
                             EXPECT_EQ(entry.bytes, acknowledged[at++]);
                             return Status();
                           })
                    .ok());
    ASSERT_EQ(at, acknowledged.size());
    acknowledged.clear();
    ASSERT_TRUE((*store)
                    ->read(1,
                           [&](const Entry& entry) {
                             acknowledged.emplace_back(entry.bytes);
                             return Status();
                           })
                    .ok());
    members.kill(turn % 3);
    for (int i = 0; i < 20; ++i) {
      const std::string record = "record " + std::to_string(++number);
      (*store)->append(std::vector<std::string>{record});
      election.step();
      const Status synced = (*store)->sync();
      if (synced.ok()) continue;
      ASSERT_EQ(synced.error().code, ErrorCode::unavailable) << synced.error().text();
    }
    const Sequence kept = acknowledged.size();
    ASSERT_TRUE((*store)
                    ->read(kept + 1,
                           [&](const Entry& entry) {
                             acknowledged.emplace_back(entry.bytes);
                             return Status();
                           })
                    .ok());
    members.start(turn % 3);
    election.resign();
  }
  EXPECT_GT(acknowledged.size(), 100U);
  EXPECT_EQ(std::set<std::string>(acknowledged.begin(), acknowledged.end()).size(), acknowledged.size());
}

}  // namespace
}  // namespace weft::store
