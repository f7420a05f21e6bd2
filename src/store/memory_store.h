// MemoryStore: a Store in memory whose disk faults a test or the simulator injects: power loss, full disk, failed or
// ignored fsync, flipped bits, truncated and missing records, lost snapshots. Every damage is detected as SqliteStore
// detects it. Nothing outlives the object; not for use by more than one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/integrity.h"
#include "store/store.h"

namespace weft::store {

// A sync() that fails with ErrorCode::internal leaves the caller not knowing which of these happened.
enum class FailedSync : std::uint8_t { lost, written };

class MemoryStore final : public Store {
 public:
  Sequence append(std::span<const std::string> records) override;
  Status sync() override;
  [[nodiscard]] Sequence last() const override { return durable() + pending_.size(); }
  [[nodiscard]] Sequence durable() const override { return first_ + records_.size() - 1; }
  [[nodiscard]] Sequence first() const override { return first_; }
  Status read(Sequence from, const std::function<Status(const Entry&)>& each) override;
  Result<std::optional<Snapshot>> load_snapshot() override;
  Status save_snapshot(const Snapshot& snapshot) override;
  Status compact(Sequence up_to) override;

  // Power loss and restart: records that were not synced are lost, with those of the syncs that the disk ignored.
  void crash();
  // While set, writes fail with ErrorCode::unavailable and change nothing.
  void set_full(bool full) { full_ = full; }
  // The next sync() that has something to write fails with ErrorCode::internal, and so does every write until crash().
  void fail_next_sync(FailedSync outcome) { next_failure_ = outcome; }
  // While set, sync() succeeds but the disk ignores it: crash() loses the records, without a trace. A sync() with the
  // mode off, or save_snapshot(), makes them safe.
  void set_lost_fsync(bool lost) { lost_fsync_ = lost; }

  // Damage of what is durable. Each returns false if there is nothing to damage.
  bool tear_tail(std::size_t bytes);      // removes that many bytes from the end of the last record, or all it has
  bool flip_bit(std::uint64_t position);  // 0 .. 8 * durable_bytes() - 1: the records in order, then the snapshots
  bool remove_record(Sequence sequence);  // leaves a gap
  bool restore_old_snapshot();            // the newest snapshot disappears
  // Bytes of the durable records and snapshots.
  [[nodiscard]] std::uint64_t durable_bytes() const;

 private:
  struct Record {
    Sequence sequence = 0;  // 0: removed by remove_record()
    std::uint32_t checksum = 0;
    std::string bytes;
  };
  [[nodiscard]] Extent extent() const { return {first_, durable()}; }
  [[nodiscard]] std::vector<SnapshotState> snapshot_states() const;
  [[nodiscard]] Status check_writable() const;
  void commit();

  Sequence first_ = 1;
  std::deque<Record> records_;     // durable: first_, first_ + 1, ...
  std::deque<Record> pending_;     // appended, not synced
  std::vector<Record> snapshots_;  // ascending, at most two
  Sequence safe_ = 0;              // records after this one are lost by crash(): the disk ignored their sync
  bool lost_fsync_ = false;
  bool full_ = false;
  bool failed_ = false;  // an earlier sync() failed: what is on disk is not known
  std::optional<FailedSync> next_failure_;
};

}  // namespace weft::store
