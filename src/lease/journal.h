// Write-ahead journal of the lease table: every state change as one line of text. Lines are written and synced before
// any message that depends on them is sent, so a table replayed from its journal contains at least everything it ever
// sent. Each line has a serial number and a checksum, so missing or altered lines are detected.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lease/lease.h"

namespace weft::lease {

struct LeaseRecord {
  enum class Kind : std::uint8_t {
    add,       // node, number: GPU count; out of service until restored
    session,   // owner, session
    ask,       // number: the request's id; owner, reclaim, gpus, holder
    drop,      // number: id of the withdrawn request
    grant,     // number: the request's id; epoch
    held,      // epoch, gpus
    revoke,    // epoch, gpus
    release,   // epoch, gpus
    fence,     // node, number: id of the order
    fenced,    // node, number
    restore,   // node
    conflict,  // owner, gpus, holder: what was observed
    clear      // owner, gpus
  };
  Kind kind = Kind::add;
  std::uint64_t serial = 0;  // 1, 2, 3, ...
  sched::Moment at{};
  LeaseOwner owner = LeaseOwner::none;
  sched::NodeId node{};
  std::uint64_t number = 0;
  LeaseEpoch epoch = 0;
  LeaseSession session{};
  bool reclaim = false;
  GpuSet gpus;
  std::string holder;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

// "17 1500000000 grant 7 12 3f0c9a1be2d47788", without the end of line.
[[nodiscard]] std::string to_text(const LeaseRecord& record);
// Accepts exactly what to_text writes: each record has one spelling.
[[nodiscard]] Result<LeaseRecord> parse_lease_record(std::string_view line);

struct LeaseJournal {
  std::vector<LeaseRecord> records;
  std::size_t torn =
      0;  // bytes after the last newline: a write cut short by a crash; nothing that depends on it was sent
};
[[nodiscard]] std::string to_text(std::span<const LeaseRecord> records);
[[nodiscard]] Result<LeaseJournal> parse_lease_journal(std::string_view text);

}  // namespace weft::lease
