#include "store/integrity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "store/checksum.h"

namespace weft::store {
namespace {

constexpr std::string_view kRestore = "restore the store from a backup";

Error damage(std::string message, const std::string& where) { return {ErrorCode::internal, std::move(message), where}; }

std::string name_range(Sequence from, Sequence to) {
  return from == to ? fmt::format("record {} is", from) : fmt::format("records {} to {} are", from, to);
}

}  // namespace

std::uint32_t compute_checksum(Kind kind, Sequence sequence, std::string_view bytes) {
  std::array<char, 9> position{};
  for (std::size_t i = 0; i < 8; ++i) position[i] = static_cast<char>(static_cast<unsigned char>(sequence >> (8 * i)));
  position[8] = static_cast<char>(kind);
  return crc32c(bytes, crc32c({position.data(), position.size()}));
}

Status RecordCheck::check(Sequence sequence, std::uint64_t checksum, std::string_view bytes) {
  if (sequence > next_) return damage(fmt::format("{} missing; {}", name_range(next_, sequence - 1), kRestore), where_);
  if (sequence < next_)
    return damage(fmt::format("record {} is stored where record {} is expected; {}", sequence, next_, kRestore),
                  where_);
  if (compute_checksum(Kind::record, sequence, bytes) != checksum)
    return damage(fmt::format("record {} is damaged: its checksum does not match; {}", sequence, kRestore), where_);
  ++next_;
  return {};
}

Status RecordCheck::finish(Sequence durable) const {
  if (next_ > durable) return {};
  return damage(fmt::format("{} missing; {}", name_range(next_, durable), kRestore), where_);
}

Status check_read(Sequence from, const Extent& extent, const std::string& where) {
  if (from < extent.first)
    return Error{
        ErrorCode::invalid_input,
        fmt::format("record {} was removed by compaction; the first that can be read is {}", from, extent.first),
        where};
  if (from > extent.durable + 1)
    return Error{ErrorCode::invalid_input,
                 fmt::format("record {} does not exist; the last is {}", from, extent.durable), where};
  return {};
}

Status check_snapshots(const std::vector<SnapshotState>& snapshots, const Extent& extent, const std::string& where) {
  Sequence newest = 0;
  for (const SnapshotState& snapshot : snapshots) {
    if (snapshot.intact) newest = std::max(newest, snapshot.sequence);
  }
  if (newest > extent.durable)
    return damage(fmt::format("{} missing: there is a snapshot after record {}; {}",
                              name_range(extent.durable + 1, newest), newest, kRestore),
                  where);
  if (newest + 1 < extent.first)
    return damage(fmt::format("{} removed by compaction and no intact snapshot replaces them; {}",
                              name_range(newest + 1, extent.first - 1), kRestore),
                  where);
  return {};
}

Status check_save(const Snapshot& snapshot, const std::vector<SnapshotState>& snapshots, const Extent& extent,
                  const std::string& where) {
  const auto refuse = [&](std::string why) { return Error{ErrorCode::invalid_input, std::move(why), where}; };
  if (snapshot.sequence > extent.durable)
    return refuse(fmt::format("a snapshot after record {} cannot be saved: the last durable record is {}",
                              snapshot.sequence, extent.durable));
  if (snapshot.bytes.size() > kMaxBytes)
    return refuse(
        fmt::format("a snapshot of {} bytes cannot be saved: the maximum is {}", snapshot.bytes.size(), kMaxBytes));
  for (const SnapshotState& other : snapshots) {
    if (other.intact && other.sequence > snapshot.sequence)
      return refuse(fmt::format("a snapshot after record {} cannot be saved: there is one after record {}",
                                snapshot.sequence, other.sequence));
  }
  return {};
}

Status check_compact(Sequence up_to, const std::vector<SnapshotState>& snapshots, const std::string& where) {
  std::vector<Sequence> intact;
  for (const SnapshotState& snapshot : snapshots) {
    if (snapshot.intact) intact.push_back(snapshot.sequence);
  }
  const Sequence limit = intact.size() < 2 ? 0 : intact[intact.size() - 2];
  if (up_to <= limit) return {};
  return Error{ErrorCode::invalid_input,
               fmt::format("records up to {} cannot be removed: the older of two intact snapshots is after record {}",
                           up_to, limit),
               where};
}

std::vector<Sequence> keep_snapshots(const std::vector<SnapshotState>& snapshots, Sequence sequence) {
  std::vector<Sequence> keep{sequence};
  for (auto other = snapshots.rbegin(); other != snapshots.rend() && keep.size() < 2; ++other) {
    if (other->intact && other->sequence != sequence) keep.insert(keep.begin(), other->sequence);
  }
  return keep;
}

}  // namespace weft::store
