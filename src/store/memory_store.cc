#include "store/memory_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace weft::store {
namespace {

constexpr const char* kWhere = "memory store";

}  // namespace

Sequence MemoryStore::append(std::span<const std::string> records) {
  Sequence sequence = last();
  for (const std::string& bytes : records) {
    CHECK(bytes.size() <= kMaxBytes, "a record is too large");
    ++sequence;
    pending_.push_back({sequence, compute_checksum(Kind::record, sequence, bytes), bytes});
  }
  return sequence;
}

Status MemoryStore::check_writable() const {
  if (failed_)
    return Error{ErrorCode::internal, "an earlier write failed and the state on disk is not known; restart", kWhere};
  if (full_) return Error{ErrorCode::unavailable, "no space left on device", kWhere};
  return {};
}

void MemoryStore::commit() {
  std::move(pending_.begin(), pending_.end(), std::back_inserter(records_));
  pending_.clear();
}

Status MemoryStore::sync() {
  if (pending_.empty() && !failed_) return {};
  if (Status writable = check_writable(); !writable.ok()) return writable;
  if (next_failure_.has_value()) {
    failed_ = true;
    return Error{ErrorCode::internal, "cannot sync: input/output error", kWhere};
  }
  commit();
  if (!lost_fsync_) safe_ = durable();
  return {};
}

Status MemoryStore::read(Sequence from, const std::function<Status(const Entry&)>& each) {
  from = std::max<Sequence>(from, 1);
  if (Status readable = check_read(from, extent(), kWhere); !readable.ok()) return readable;
  RecordCheck check(from, kWhere);
  const Sequence end = durable();
  for (Sequence at = from; at <= end; ++at) {
    const Record& record = records_[at - first_];
    if (record.sequence == 0) continue;
    if (Status checked = check.check(record.sequence, record.checksum, record.bytes); !checked.ok()) return checked;
    if (Status accepted = each({record.sequence, record.bytes}); !accepted.ok()) return accepted;
  }
  return check.finish(end);
}

std::vector<SnapshotState> MemoryStore::snapshot_states() const {
  std::vector<SnapshotState> states;
  states.reserve(snapshots_.size());
  for (const Record& snapshot : snapshots_)
    states.push_back(
        {snapshot.sequence, compute_checksum(Kind::snapshot, snapshot.sequence, snapshot.bytes) == snapshot.checksum});
  return states;
}

Result<std::optional<Snapshot>> MemoryStore::load_snapshot() {
  const std::vector<SnapshotState> states = snapshot_states();
  if (Status usable = check_snapshots(states, extent(), kWhere); !usable.ok()) return usable.error();
  for (std::size_t i = states.size(); i-- > 0;) {
    if (states[i].intact) return std::optional(Snapshot{snapshots_[i].sequence, snapshots_[i].bytes});
  }
  return std::optional<Snapshot>();
}

Status MemoryStore::save_snapshot(const Snapshot& snapshot) {
  if (Status writable = check_writable(); !writable.ok()) return writable;
  const std::vector<SnapshotState> states = snapshot_states();
  if (Status allowed = check_save(snapshot, states, extent(), kWhere); !allowed.ok()) return allowed;
  const std::vector<Sequence> keep = keep_snapshots(states, snapshot.sequence);
  std::erase_if(snapshots_, [&](const Record& other) {
    return other.sequence == snapshot.sequence || std::find(keep.begin(), keep.end(), other.sequence) == keep.end();
  });
  snapshots_.push_back(
      {snapshot.sequence, compute_checksum(Kind::snapshot, snapshot.sequence, snapshot.bytes), snapshot.bytes});
  safe_ = durable();
  return {};
}

Status MemoryStore::compact(Sequence up_to) {
  if (Status writable = check_writable(); !writable.ok()) return writable;
  if (Status allowed = check_compact(up_to, snapshot_states(), kWhere); !allowed.ok()) return allowed;
  if (up_to < first_) return {};
  records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(up_to + 1 - first_));
  first_ = up_to + 1;
  return {};
}

void MemoryStore::crash() {
  if (failed_ && next_failure_ == FailedSync::written) {
    commit();
    safe_ = durable();
  }
  pending_.clear();
  while (durable() > safe_) records_.pop_back();
  failed_ = false;
  next_failure_.reset();
}

bool MemoryStore::tear_tail(std::size_t bytes) {
  if (records_.empty() || records_.back().bytes.empty() || bytes == 0) return false;
  std::string& tail = records_.back().bytes;
  tail.resize(tail.size() - std::min(bytes, tail.size()));
  return true;
}

bool MemoryStore::flip_bit(std::uint64_t position) {
  const auto flip_in = [&](std::string& bytes) {
    const std::uint64_t bits = 8 * static_cast<std::uint64_t>(bytes.size());
    if (position >= bits) {
      position -= bits;
      return false;
    }
    char& byte = bytes[position / 8];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << (position % 8)));
    return true;
  };
  return std::any_of(records_.begin(), records_.end(), [&](Record& record) { return flip_in(record.bytes); }) ||
         std::any_of(snapshots_.begin(), snapshots_.end(), [&](Record& record) { return flip_in(record.bytes); });
}

bool MemoryStore::remove_record(Sequence sequence) {
  if (sequence < first_ || sequence > durable()) return false;
  records_[sequence - first_] = {};
  return true;
}

bool MemoryStore::restore_old_snapshot() {
  if (snapshots_.empty()) return false;
  snapshots_.pop_back();
  return true;
}

std::uint64_t MemoryStore::durable_bytes() const {
  std::uint64_t bytes = 0;
  for (const Record& record : records_) bytes += record.bytes.size();
  for (const Record& snapshot : snapshots_) bytes += snapshot.bytes.size();
  return bytes;
}

}  // namespace weft::store
