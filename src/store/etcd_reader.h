// Reads a journal in etcd into memory, and what was added since: the records from the first that is kept, and the
// newest snapshot. For the leader when it starts, and for followers, which read again when a watch or a clock says so.
// Reads are linearizable: what was read is at least as new as the moment before it was asked for. Nothing is written.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "etcd/client.h"
#include "store/etcd_layout.h"
#include "store/integrity.h"
#include "store/store.h"

namespace weft::store {

// Records of a journal in memory.
struct JournalCopy {
  Sequence first = 1;
  std::deque<std::string> records;  // first, first + 1, ...
  [[nodiscard]] Extent extent() const { return {first, first + records.size() - 1}; }
  void drop_before(Sequence sequence);
  // `each` may append to the journal meanwhile.
  [[nodiscard]] Status read(Sequence from, const std::function<Status(const Entry&)>& each,
                            const std::string& where) const;
};

class EtcdReader {
 public:
  // The client must outlive it. `serializable` reads are a deliberate defect, for tests.
  EtcdReader(etcd::Client& client, EtcdKeys keys, std::string fingerprint, bool serializable = false)
      : client_(client), keys_(std::move(keys)), fingerprint_(std::move(fingerprint)), serializable_(serializable) {}

  // Brings the copy up to date. False: there is no store below the prefix yet. After an error the copy is as it was,
  // or a prefix of the journal.
  [[nodiscard]] Result<bool> refresh();
  // The snapshot of the manifest, or the one before it if that is damaged. `not_found` if it was replaced meanwhile:
  // refresh() and try again.
  [[nodiscard]] Result<std::optional<Snapshot>> load_snapshot();

  [[nodiscard]] const JournalCopy& journal() const { return journal_; }
  [[nodiscard]] JournalCopy& journal() { return journal_; }
  // The first record of the commit that has this record, or would have it.
  [[nodiscard]] Result<Sequence> find_commit(Sequence sequence);
  void set_manifest(Manifest manifest) { manifest_ = std::move(manifest); }
  // As of the last refresh().
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  [[nodiscard]] const Tail& tail() const { return tail_; }
  [[nodiscard]] etcd::Revision tail_revision() const { return tail_revision_; }
  [[nodiscard]] etcd::Revision manifest_revision() const { return manifest_revision_; }
  [[nodiscard]] etcd::Revision revision() const { return revision_; }
  [[nodiscard]] bool has_meta() const { return has_meta_; }
  // Whether the last refresh() began again from the manifest, since records it needed were removed.
  [[nodiscard]] bool began_again() const { return began_again_; }

 private:
  struct Head {
    Tail tail;
    etcd::Revision tail_revision = 0;
    Manifest manifest;
    etcd::Revision manifest_revision = 0;
    etcd::Revision revision = 0;
    bool has_meta = false;
  };
  [[nodiscard]] Result<Head> read_head();
  [[nodiscard]] Status read_commits(const Head& head, JournalCopy& copy);
  [[nodiscard]] Result<std::string> read_parts(const SnapshotEntry& entry);
  [[nodiscard]] Result<std::optional<etcd::KeyValue>> read_key(const std::string& key);

  etcd::Client& client_;
  EtcdKeys keys_;
  std::string fingerprint_;
  bool serializable_;
  JournalCopy journal_;
  Tail tail_;
  Manifest manifest_;
  etcd::Revision tail_revision_ = 0;
  etcd::Revision manifest_revision_ = 0;
  etcd::Revision revision_ = 0;
  bool has_meta_ = false;
  bool began_again_ = false;
};

}  // namespace weft::store
