// EtcdFollower: follows a journal in etcd that another process writes. A watch of the tail only says that it is time to
// read: what is read are the keys themselves, linearizable, so events that come late, twice, in another order or not at
// all do no harm, and a watch that is canceled by compaction is opened again. It reads at least once per `period`
// without any event. Each result says as of when it was current, by the client's clock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etcd/client.h"
#include "store/etcd_reader.h"

namespace weft::store {

struct FollowerUpdate {
  bool begins_again = false;  // from `snapshot`; otherwise `records` follow the last ones
  std::optional<Snapshot> snapshot{};
  Sequence first = 1;  // of `records`
  std::vector<std::string> records{};
};

class EtcdFollower {
 public:
  // The client must outlive it.
  EtcdFollower(etcd::Client& client, EtcdKeys keys, const std::string& fingerprint,
               Duration period = milliseconds(1'000))
      : client_(client), keys_(std::move(keys)), reader_(client, keys_, fingerprint), period_(period) {}

  // Waits for an event for up to `wait`, and reads if there was one or the period is over. Nullopt: nothing new. An
  // error: etcd does not answer, or the journal is damaged or of another cluster.
  [[nodiscard]] Result<std::optional<FollowerUpdate>> step(Duration wait);
  // The next step() reads.
  void hurry() { due_ = true; }
  // The moment before the last read that succeeded: all that was durable then is in the copy. Nullopt: none yet.
  [[nodiscard]] std::optional<Duration> current_as_of() const { return as_of_; }

 private:
  void listen(Duration wait);
  [[nodiscard]] Result<std::optional<FollowerUpdate>> read();

  etcd::Client& client_;
  EtcdKeys keys_;
  EtcdReader reader_;
  Duration period_;
  std::unique_ptr<etcd::WatchStream> watch_;
  Duration watch_again_{};  // after a failure
  bool due_ = true;
  bool began_ = false;
  Sequence given_ = 0;  // the last record that step() returned
  std::optional<Duration> as_of_;
};

}  // namespace weft::store
