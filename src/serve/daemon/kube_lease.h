// One weft per cluster file and namespace: a Lease that this process holds as long as it runs, renewed by a thread of
// its own, so that a slow request of the engine does not lose it. Two wefts with journals of their own would each take
// the other's pods for theirs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "kube/leader_election.h"
#include "serve/daemon/kube_connection.h"

namespace weft::serve {

class KubeLease {
 public:
  // Waits until a lease that is not renewed has expired (15 s after a crash). `refused` names the holder of one that
  // is.
  [[nodiscard]] static Result<std::unique_ptr<KubeLease>> acquire(const kube::ClusterAccess& access,
                                                                  kube::ElectionOptions options,
                                                                  const std::function<void(std::string_view)>& log);
  KubeLease(const KubeLease&) = delete;
  KubeLease& operator=(const KubeLease&) = delete;
  KubeLease(KubeLease&&) = delete;
  KubeLease& operator=(KubeLease&&) = delete;
  // Lets go of it: the next weft need not wait.
  ~KubeLease();

  // Ends by itself if the lease cannot be renewed. For any thread.
  [[nodiscard]] bool is_held() const;
  // Why it is not held; "": it is.
  [[nodiscard]] std::string problem() const;

 private:
  KubeLease(const kube::ClusterAccess& access, kube::ElectionOptions options);
  [[nodiscard]] Status wait_for_lease(const std::function<void(std::string_view)>& log);
  void publish();
  void keep();

  std::unique_ptr<KubeConnection> connection_;
  kube::ElectionOptions options_;
  kube::LeaderElection election_;
  std::atomic<std::int64_t> held_until_{0};  // by the clock of the connection
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::string problem_;
  std::thread thread_;
};

}  // namespace weft::serve
