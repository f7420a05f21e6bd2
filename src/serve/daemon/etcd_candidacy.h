// The part of a controller in a group with one journal in etcd: a thread that campaigns and keeps the lease, and one
// that follows the journal while another controller leads. Each has a connection of its own, so that a slow request of
// one delays nothing of the other. The server's thread asks whether it may act, and takes what was followed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "etcd/connection.h"
#include "etcd/election.h"
#include "store/etcd_follower.h"

namespace weft::serve {

struct EtcdSettings {
  etcd::Settings connection;
  std::string address;  // where clients find this controller; "": the first address that it listens on
};

// What the controllers know of each other.
struct GroupView {
  std::string leader;                       // its address; "": none or not known
  std::string problem;                      // why etcd cannot be asked, or the journal not followed; "": nothing
  std::optional<Duration> current_as_of{};  // by etcd::boot_time(): the copy has all that was durable then
};
struct Followed {
  std::vector<store::FollowerUpdate> updates;
  std::optional<Duration> current_as_of{};
};

class EtcdCandidacy {
 public:
  // Asks etcd once before the threads start, so that a wrong address, password, certificate or prefix is an error at
  // the start. `unavailable` if no member answers. `wake` is called from a thread when there is something to take.
  [[nodiscard]] static Result<std::unique_ptr<EtcdCandidacy>> open(const EtcdSettings& settings,
                                                                   const std::string& fingerprint,
                                                                   std::function<void()> wake);
  EtcdCandidacy(const EtcdCandidacy&) = delete;
  EtcdCandidacy& operator=(const EtcdCandidacy&) = delete;
  EtcdCandidacy(EtcdCandidacy&&) = delete;
  EtcdCandidacy& operator=(EtcdCandidacy&&) = delete;
  // Lets go of the leadership: another controller need not wait for the lease to expire.
  ~EtcdCandidacy();

  // Whether this controller may act: its lease is valid for some time yet. Ends by itself. For any thread.
  [[nodiscard]] bool is_leader() const { return etcd::boot_time().count() < held_until_.load(); }
  // Of the present leadership.
  [[nodiscard]] etcd::Fence fence() const;
  // After all work has stopped, and before the next leadership. Campaigns again after `pause`.
  void resign(Duration pause);
  // Follow the journal, from its beginning, or stop following it.
  void follow(bool on);
  [[nodiscard]] Followed take();
  [[nodiscard]] GroupView view() const;

 private:
  EtcdCandidacy(const EtcdSettings& settings, std::string fingerprint, std::function<void()> wake);
  void keep_lease();
  void keep_copy();
  void publish();

  store::EtcdKeys keys_;
  std::string fingerprint_;
  std::function<void()> wake_;
  etcd::Connection lease_connection_;
  etcd::Connection copy_connection_;
  etcd::Election election_;  // of the lease's thread
  std::atomic<std::int64_t> held_until_{0};
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  etcd::Fence fence_;
  std::optional<Duration> resign_;  // asked for
  int follows_ = 0;                 // odd: yes; a change of it begins again
  GroupView view_;
  std::string copy_problem_;
  Followed followed_;
  std::thread lease_thread_;
  std::thread copy_thread_;
};

}  // namespace weft::serve
