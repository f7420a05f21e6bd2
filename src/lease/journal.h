// The journal of the lease table: every change of its state as one line of text. The lines are written and synced
// before anything that follows from them is sent, so a table that starts from its journal knows at least what it ever
// told anybody. A line carries its number and a checksum: what is missing or altered is found, not guessed at.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lease/lease.h"

namespace weft::lease {

struct LeaseRecord {
  enum class Kind : std::uint8_t {
    add,       // node, number: how many GPUs; out of service until restored
    session,   // owner, session
    ask,       // number: the request's id; owner, reclaim, gpus, holder
    drop,      // number: the id of a request that was withdrawn
    grant,     // number: the request's id; epoch
    held,      // epoch, gpus
    revoke,    // epoch, gpus
    release,   // epoch, gpus
    fence,     // node, number: of the order
    fenced,    // node, number
    restore,   // node
    conflict,  // owner, gpus, holder: what was seen
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
// Takes what to_text writes and nothing else: one spelling for each record.
[[nodiscard]] Result<LeaseRecord> parse_lease_record(std::string_view line);

struct LeaseJournal {
  std::vector<LeaseRecord> records;
  std::size_t torn = 0;  // bytes after the last end of line: a write that a crash cut short, of which nothing was sent
};
[[nodiscard]] std::string to_text(std::span<const LeaseRecord> records);
[[nodiscard]] Result<LeaseJournal> parse_lease_journal(std::string_view text);

}  // namespace weft::lease
