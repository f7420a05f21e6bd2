// EtcdStore: a Store below a prefix in etcd, written by the leader of an election. Every transaction compares the
// create revision of the leader's key (fence): after another process has become leader, nothing is written. It also
// compares the revision of the tail, so that a commit whose answer was lost is sent again and takes effect once. The
// records that are kept are in memory too: reading them sends no request. One thread uses it.
//
// sync() returns unavailable when etcd has no quorum, no space or does not answer: the records stay buffered, and the
// next sync() finds out whether they were written. Once another process leads, it returns conflict, always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "etcd/client.h"
#include "etcd/election.h"
#include "store/etcd_layout.h"
#include "store/etcd_reader.h"
#include "store/store.h"

namespace weft::store {

// Deliberate errors, for tests that must find them.
enum class EtcdDefect : std::uint8_t {
  none,
  no_fence,     // transactions compare nothing
  no_tail,      // they compare the leadership only
  blind_retry,  // a commit whose answer was lost counts as not written, and is sent again as another one
  stale_read    // the journal is read from one member, which may be behind (the tail's compare notices)
};

struct EtcdOptions {
  std::string prefix;  // without a slash at its end
  // Identifies the cluster whose state this is: a store of another cluster is refused.
  std::string fingerprint;
  etcd::Fence fence;
  std::size_t part_bytes = std::size_t{512} << 10U;  // of a value; etcd refuses requests above 1.5 MiB
  EtcdDefect defect = EtcdDefect::none;
};

class EtcdStore final : public Store {
 public:
  // Creates the store if there is none. Error codes: unavailable (etcd does not answer, has no space), conflict
  // (another process leads), refused (other cluster, newer format, no permission), internal (damaged). The client must
  // outlive it.
  [[nodiscard]] static Result<std::unique_ptr<EtcdStore>> open(etcd::Client& client, const EtcdOptions& options);

  Sequence append(std::span<const std::string> records) override;
  Status sync() override;
  [[nodiscard]] Sequence last() const override { return durable() + in_flight_.size() + pending_.size(); }
  [[nodiscard]] Sequence durable() const override { return reader_.journal().extent().durable; }
  [[nodiscard]] Sequence first() const override { return reader_.journal().first; }
  Status read(Sequence from, const std::function<Status(const Entry&)>& each) override;
  Result<std::optional<Snapshot>> load_snapshot() override;
  Status save_snapshot(const Snapshot& snapshot) override;
  // Also removes older revisions of all keys of this etcd (compaction).
  Status compact(Sequence up_to) override;

 private:
  EtcdStore(etcd::Client& client, EtcdOptions options);
  [[nodiscard]] Status start();
  [[nodiscard]] Status create();
  [[nodiscard]] Status take_over();
  [[nodiscard]] Status flush();
  [[nodiscard]] Status prepare();
  // A transaction under the fence that may be repeated: what it writes is the same each time.
  [[nodiscard]] Result<etcd::Revision> write(std::vector<etcd::Operation> operations);
  [[nodiscard]] Status write_parts(const std::function<std::string(std::size_t)>& key, std::string_view bytes,
                                   std::size_t count);
  // A write whose answer was lost. All such writes compare the same revision of the tail: at most one takes effect.
  struct Uncertain {
    std::string tail;
    std::optional<Manifest> manifest;
  };
  // Moves the tail in one transaction with `operations`; once, whatever is lost on the way.
  [[nodiscard]] Status move_tail(const Tail& tail, std::vector<etcd::Operation> operations,
                                 const std::optional<Manifest>& manifest = {});
  // After compares that did not hold: why, or ok if the write, or an earlier one that was uncertain, had taken effect.
  [[nodiscard]] Status resolve(const etcd::TxnReply& reply, const std::string& tail, bool& written);
  // Finds out which uncertain write took effect.
  [[nodiscard]] Status settle();
  [[nodiscard]] Status write_manifest(const Manifest& manifest, std::vector<etcd::Operation> operations);
  void use_manifest(const Manifest& manifest);
  [[nodiscard]] std::vector<etcd::Compare> compares() const;
  [[nodiscard]] std::string next_id();
  [[nodiscard]] std::vector<SnapshotState> snapshot_states() const;
  [[nodiscard]] Status lost_leadership();

  etcd::Client& client_;
  EtcdOptions options_;
  EtcdKeys keys_;
  EtcdReader reader_;
  etcd::Revision tail_revision_ = 0;
  Manifest manifest_;
  std::vector<std::string> in_flight_;  // durable() + 1, ...: of a commit that may have been written
  std::string in_flight_id_;
  std::vector<std::string> pending_;  // after those
  std::vector<Uncertain> uncertain_;
  etcd::Revision opened_ = 0;
  std::uint64_t writes_ = 0;
  bool fenced_ = false;  // another process leads
};

}  // namespace weft::store
