// Store of the control plane's journal: records are appended, synced in groups, read back in order, and replaced by a
// snapshot when there are many. Bytes are opaque: the store does not know what they mean. One process writes at a time.
// Damage is an error with its place: a store never reports records as absent that it cannot read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::store {

// Position of a record in the journal: 1, 2, 3, ... without gaps. 0: before the first.
using Sequence = std::uint64_t;

struct Entry {
  Sequence sequence = 0;
  std::string_view bytes;
};

// State after all records up to and including `sequence`.
struct Snapshot {
  Sequence sequence = 0;
  std::string bytes;
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  Store(Store&&) = delete;
  Store& operator=(Store&&) = delete;
  virtual ~Store() = default;

  // Buffers records and returns the sequence of the last. They are not durable before sync() succeeds.
  virtual Sequence append(std::span<const std::string> records) = 0;
  // Makes every buffered record durable, all or none (group commit). On ErrorCode::unavailable (disk full) the records
  // stay buffered and a later sync() may succeed. After any other error the state on disk is not known (fsync(2)
  // reports a failed write once only): the caller must stop, and reads the journal again when it restarts.
  virtual Status sync() = 0;

  // The last record appended, and the last that is durable. The first that can still be read: compact() removes
  // records.
  [[nodiscard]] virtual Sequence last() const = 0;
  [[nodiscard]] virtual Sequence durable() const = 0;
  [[nodiscard]] virtual Sequence first() const = 0;

  // Calls `each` for the durable records from `from` on, in order; stops at the first error and returns it.
  virtual Status read(Sequence from, const std::function<Status(const Entry&)>& each) = 0;

  // The newest snapshot that is intact; none if there has never been one. An error if the only ones are damaged and the
  // records they replaced are gone.
  virtual Result<std::optional<Snapshot>> load_snapshot() = 0;
  // Durable when it returns. The snapshot before it is kept, in case this one is damaged.
  virtual Status save_snapshot(const Snapshot& snapshot) = 0;
  // Removes records up to and including `up_to`, which must not be beyond the older of the kept snapshots.
  virtual Status compact(Sequence up_to) = 0;
};

}  // namespace weft::store
