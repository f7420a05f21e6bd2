// The simulation's etcd: the product's election and store over an etcd in memory, with faults of its own: answers that
// are lost, requests that are executed late, leases that expire early, compaction, no space, watches that are
// reordered, repeated or silent, and controllers that are stopped in the middle of a commit while another one takes
// over.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "etcd/client.h"
#include "etcd/election.h"
#include "etcd/fake_etcd.h"
#include "store/copy_store.h"
#include "store/etcd_follower.h"
#include "store/etcd_store.h"
#include "world/sim/choices.h"

namespace weft::world {

// Deliberate errors of the controllers, for tests that must find them.
struct EtcdMutant {
  store::EtcdDefect store = store::EtcdDefect::none;
  bool act_without_lease = false;  // commands are sent without looking at the lease
};

// One controller's part: its connection, its candidacy and, while it leads, its store.
struct SimLeader {
  std::unique_ptr<etcd::Client> client;
  std::unique_ptr<etcd::Election> election;
  std::unique_ptr<store::EtcdStore> store;
};

class SimEtcd {
 public:
  // `now` is simulated time. The choices must outlive it.
  SimEtcd(Choices& choices, std::function<Duration()> now, EtcdMutant mutant);

  // A controller that campaigns until it leads or `wait` has moved the time so often that it should; then opens its
  // store. An error: not this time, or the journal is damaged (internal).
  [[nodiscard]] Result<std::unique_ptr<SimLeader>> lead(const std::function<void()>& wait);
  // Whether another one leads, as etcd has it.
  [[nodiscard]] bool is_replaced(const SimLeader& leader);
  // As the leader itself believes.
  [[nodiscard]] bool may_act(const SimLeader& leader) const;

  // Events that happen by themselves, about every five seconds.
  void stir();
  void set_no_space(bool no_space) { etcd_.set_no_space(no_space); }
  // No fault happens from now on.
  void heal();
  // Called in the middle of a commit, before or after it is executed: the process is stopped.
  std::function<void()> pause;

  // Brings the copy of a follower up to date; false if it could not. True and `begins_again`: the copy was replaced.
  [[nodiscard]] bool follow(store::CopyStore& copy, bool& begins_again);
  [[nodiscard]] std::set<std::string>& reached() { return reached_; }

 private:
  [[nodiscard]] bool happens(const char* what, std::uint32_t per_mille);
  [[nodiscard]] std::unique_ptr<etcd::Client> connect();

  Choices& choices_;
  std::function<Duration()> now_;
  EtcdMutant mutant_;
  etcd::FakeEtcd etcd_;
  std::unique_ptr<etcd::Client> follower_client_;
  std::unique_ptr<store::EtcdFollower> follower_;
  std::set<std::string> enabled_;
  std::set<std::string> reached_;
  int controllers_ = 0;
  bool healed_ = false;
  bool quiet_ = false;  // while a follower reads
};

}  // namespace weft::world
