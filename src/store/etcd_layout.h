// How a journal lies in etcd, below a prefix:
//
//   meta                          format and fingerprint of the cluster
//   leader                        who leads, bound to its lease (etcd/election.h)
//   tail                          the last record, and the write that appended it
//   journal/FIRST.PART            the records of one commit from FIRST on, in parts that fit a request
//   snapshot/ID.PART              parts of a snapshot
//   manifest                      the first record that is kept, and the snapshots
//
// What is beyond the tail, or not in the manifest, is left over from an unfinished write and does not count. These
// functions only write and parse values; etcd_reader.h and etcd_store.h move them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace weft::store {

inline constexpr int kEtcdFormat = 1;

// Keys of one cluster. The prefix has no slash at its end.
struct EtcdKeys {
  std::string prefix;
  [[nodiscard]] std::string meta() const { return prefix + "/meta"; }
  [[nodiscard]] std::string leader() const { return prefix + "/leader"; }
  [[nodiscard]] std::string tail() const { return prefix + "/tail"; }
  [[nodiscard]] std::string manifest() const { return prefix + "/manifest"; }
  [[nodiscard]] std::string journal(Sequence first, std::size_t part = 0) const;
  [[nodiscard]] std::string journal_end() const { return prefix + "/journal0"; }  // '0' follows '/'
  [[nodiscard]] std::string snapshot(const std::string& id, std::size_t part) const;
  [[nodiscard]] std::string snapshots() const { return prefix + "/snapshot/"; }
  [[nodiscard]] std::string snapshots_end() const { return prefix + "/snapshot0"; }
  // FIRST of a key of the journal; 0: it is not one.
  [[nodiscard]] Sequence first_of(std::string_view journal_key) const;
};

[[nodiscard]] std::string write_meta(const std::string& fingerprint);
// `refused` if the store belongs to another cluster or was written by a newer version.
[[nodiscard]] Status check_meta(std::string_view value, const std::string& fingerprint, const std::string& where);

struct Tail {
  Sequence last = 0;
  std::string write;  // names the write, so that its writer recognizes it
};
[[nodiscard]] std::string write_tail(const Tail& tail);
[[nodiscard]] Result<Tail> parse_tail(std::string_view value);

struct SnapshotEntry {
  Sequence sequence = 0;
  std::string id;
  std::uint64_t parts = 0;
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;
};
struct Manifest {
  Sequence first = 1;
  std::vector<SnapshotEntry> snapshots{};  // ascending
};
[[nodiscard]] std::string write_manifest(const Manifest& manifest);
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view value);

// The records of one commit, each with its checksum.
[[nodiscard]] std::string write_commit(Sequence first, const std::vector<std::string>& records);
[[nodiscard]] Result<std::vector<std::string>> parse_commit(Sequence first, std::string_view bytes,
                                                            const std::string& where);

}  // namespace weft::store
