// Rules that every store checks the same way: the checksum of a record or snapshot covers its sequence; records are
// read without a gap; snapshots and records together give the state. Stores call these; they hold no data themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace weft::store {

// SQLite's limit for a value is 1,000,000,000 bytes including the row's other columns.
inline constexpr std::size_t kMaxBytes = 900'000'000;

enum class Kind : std::uint8_t { record = 'r', snapshot = 's', marker = 'm' };

// Covers the kind and the sequence as well: bytes that are intact but stored at another position, such as a page of
// records where one of snapshots belongs, are damage too.
[[nodiscard]] std::uint32_t compute_checksum(Kind kind, Sequence sequence, std::string_view bytes);

// The durable records. In the functions below, `where` is the file or store that messages name.
struct Extent {
  Sequence first = 1;    // the first record that is stored; durable + 1 if none is
  Sequence durable = 0;  // the last record that is stored
};

struct SnapshotState {
  Sequence sequence = 0;
  bool intact = false;
};

// Checks records while they are read in order: each must be the next one and have the right checksum.
class RecordCheck {
 public:
  RecordCheck(Sequence from, std::string where) : next_(from), where_(std::move(where)) {}
  [[nodiscard]] Status check(Sequence sequence, std::uint64_t checksum, std::string_view bytes);
  // After the last: they must have reached `durable`.
  [[nodiscard]] Status finish(Sequence durable) const;

 private:
  Sequence next_;
  std::string where_;
};

// Whether read(from) can be answered: an error if the records have been removed or have never been written.
[[nodiscard]] Status check_read(Sequence from, const Extent& extent, const std::string& where);
// Snapshots in ascending order. Without the records from 1 on, an intact snapshot must replace those that were removed;
// and no intact snapshot is newer than the last record.
[[nodiscard]] Status check_snapshots(const std::vector<SnapshotState>& snapshots, const Extent& extent,
                                     const std::string& where);
[[nodiscard]] Status check_save(const Snapshot& snapshot, const std::vector<SnapshotState>& snapshots,
                                const Extent& extent, const std::string& where);
// With fewer than two intact snapshots nothing may be removed: if the only one were damaged, the state would be lost.
[[nodiscard]] Status check_compact(Sequence up_to, const std::vector<SnapshotState>& snapshots,
                                   const std::string& where);
// Snapshots to keep when one at `sequence` is saved: that one and the newest other intact one.
[[nodiscard]] std::vector<Sequence> keep_snapshots(const std::vector<SnapshotState>& snapshots, Sequence sequence);

}  // namespace weft::store
