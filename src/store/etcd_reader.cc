#include "store/etcd_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::store {
namespace {

constexpr std::int64_t kPageKeys = 200;  // of at most 512 KiB each; commits usually have less than one KiB

}  // namespace

void JournalCopy::drop_before(Sequence sequence) {
  while (first < sequence && !records.empty()) {
    records.pop_front();
    ++first;
  }
  if (records.empty()) first = std::max(first, sequence);
}

Status JournalCopy::read(Sequence from, const std::function<Status(const Entry&)>& each,
                         const std::string& where) const {
  from = std::max<Sequence>(from, 1);
  const Extent now = extent();
  if (Status readable = check_read(from, now, where); !readable.ok()) return readable;
  for (Sequence at = from; at <= now.durable; ++at) {
    if (Status accepted = each({at, records[at - first]}); !accepted.ok()) return accepted;
  }
  return {};
}

Result<std::optional<etcd::KeyValue>> EtcdReader::read_key(const std::string& key) {
  Result<etcd::RangeReply> reply = client_.range({key, {}, 0, 0, serializable_});
  if (!reply.ok()) return reply.error();
  revision_ = std::max(revision_, reply->revision);
  if (reply->kvs.empty()) return std::optional<etcd::KeyValue>();
  return std::optional(std::move(reply->kvs.front()));
}

// One transaction, so that they belong together.
Result<EtcdReader::Head> EtcdReader::read_head() {
  std::optional<etcd::KeyValue> found[3];
  Head head;
  const std::string names[] = {keys_.meta(), keys_.tail(), keys_.manifest()};
  if (serializable_) {
    for (std::size_t i = 0; i < 3; ++i) {
      Result<std::optional<etcd::KeyValue>> kv = read_key(names[i]);
      if (!kv.ok()) return kv.error();
      found[i] = std::move(*kv);
    }
    head.revision = revision_;
  } else {
    etcd::TxnRequest request;
    for (const std::string& name : names) request.success.push_back({etcd::Operation::Kind::range, name});
    Result<etcd::TxnReply> reply = client_.txn(request);
    if (!reply.ok()) return reply.error();
    if (reply->ranges.size() != 3) return Error{ErrorCode::timeout, "invalid response of etcd: ranges are missing", {}};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!reply->ranges[i].kvs.empty()) found[i] = std::move(reply->ranges[i].kvs.front());
    }
    head.revision = reply->revision;
  }
  if (!found[0]) return head;
  head.has_meta = true;
  if (Status checked = check_meta(found[0]->value, fingerprint_, keys_.prefix); !checked.ok()) return checked.error();
  if (found[1]) {
    Result<Tail> tail = parse_tail(found[1]->value);
    if (!tail.ok()) return Error{tail.error().code, tail.error().message, keys_.prefix};
    head.tail = std::move(*tail);
    head.tail_revision = found[1]->mod_revision;
  }
  if (found[2]) {
    Result<Manifest> manifest = parse_manifest(found[2]->value);
    if (!manifest.ok()) return Error{manifest.error().code, manifest.error().message, keys_.prefix};
    head.manifest = std::move(*manifest);
    head.manifest_revision = found[2]->mod_revision;
  }
  return head;
}

// The commits after the copy, as they were at the head's revision.
Status EtcdReader::read_commits(const Head& head, JournalCopy& copy) {
  const auto damaged = [&](Sequence sequence) {
    return Error{ErrorCode::internal,
                 fmt::format("record {} is missing; restore the store from a backup of etcd", sequence), keys_.prefix};
  };
  // A commit begins at or before the first record that is kept.
  const bool fresh = copy.records.empty();
  std::string next = fresh ? keys_.journal(0) : keys_.journal(copy.extent().durable + 1);
  Sequence commit = 0;  // that is being read, and its parts so far
  std::string bytes;
  const auto finish = [&]() -> Status {
    if (commit == 0) return {};
    Result<std::vector<std::string>> records = parse_commit(commit, bytes, keys_.prefix);
    if (!records.ok()) return records.error();
    for (std::size_t i = 0; i < records->size(); ++i) {
      const Sequence sequence = commit + i;
      if (sequence < copy.first) continue;
      if (sequence != copy.extent().durable + 1) return damaged(copy.extent().durable + 1);
      copy.records.push_back(std::move((*records)[i]));
    }
    return {};
  };
  for (bool more = true; more;) {
    const Result<etcd::RangeReply> page =
        client_.range({next, keys_.journal_end(), kPageKeys, head.revision, serializable_});
    if (!page.ok()) return page.error();
    for (const etcd::KeyValue& kv : page->kvs) {
      const Sequence first = keys_.first_of(kv.key);
      if (first == 0) return damaged(copy.extent().durable + 1);
      if (first > head.tail.last) {
        more = false;
        break;
      }
      if (first != commit) {
        if (Status finished = finish(); !finished.ok()) return finished;
        commit = first;
        bytes.clear();
      }
      bytes += kv.value;
    }
    more = more && page->more;
    if (more) next = page->kvs.back().key + '\0';
  }
  if (Status finished = finish(); !finished.ok()) return finished;
  return copy.extent().durable == head.tail.last ? Status() : Status(damaged(copy.extent().durable + 1));
}

Result<bool> EtcdReader::refresh() {
  began_again_ = false;
  for (int tries = 1;; ++tries) {
    Result<Head> head = read_head();
    if (!head.ok()) return head.error();
    if (!head->has_meta) return false;
    const bool continues = has_meta_ && head->manifest.first <= journal_.extent().durable + 1 &&
                           head->tail.last >= journal_.extent().durable;
    JournalCopy fresh;
    fresh.first = head->manifest.first;
    JournalCopy& copy = continues ? journal_ : fresh;
    const bool same = continues && head->tail.last == journal_.extent().durable;
    Status read = same ? Status() : read_commits(*head, copy);
    // The revision was removed by compaction while it was read: once more, at a newer one.
    if (!read.ok() && read.error().code == ErrorCode::conflict && tries < 3) continue;
    if (!read.ok()) return read.error();
    if (!continues) {
      began_again_ = has_meta_;
      journal_ = std::move(fresh);
    }
    journal_.drop_before(head->manifest.first);
    has_meta_ = true;
    tail_ = std::move(head->tail);
    tail_revision_ = head->tail_revision;
    manifest_ = std::move(head->manifest);
    manifest_revision_ = head->manifest_revision;
    revision_ = head->revision;
    return true;
  }
}

Result<Sequence> EtcdReader::find_commit(Sequence sequence) {
  const Result<etcd::RangeReply> page =
      client_.range({keys_.journal(0), keys_.journal(sequence, 1), 1, 0, false, etcd::Order::descending});
  if (!page.ok()) return page.error();
  return page->kvs.empty() ? sequence : keys_.first_of(page->kvs.front().key);
}

Result<std::string> EtcdReader::read_parts(const SnapshotEntry& entry) {
  std::string bytes;
  for (std::uint64_t part = 0; part < entry.parts; ++part) {
    const Result<etcd::RangeReply> reply = client_.range({keys_.snapshot(entry.id, part), {}, 0, 0, serializable_});
    if (!reply.ok()) return reply.error();
    if (reply->kvs.empty())
      return Error{ErrorCode::not_found, fmt::format("a part of the snapshot at {} is missing", entry.sequence), {}};
    bytes += reply->kvs.front().value;
  }
  return bytes;
}

Result<std::optional<Snapshot>> EtcdReader::load_snapshot() {
  std::vector<SnapshotState> states;
  std::optional<Snapshot> newest;
  for (std::size_t i = manifest_.snapshots.size(); i-- > 0 && !newest;) {
    const SnapshotEntry& entry = manifest_.snapshots[i];
    Result<std::string> bytes = read_parts(entry);
    if (!bytes.ok() && bytes.error().code != ErrorCode::not_found) return bytes.error();
    const bool intact = bytes.ok() && bytes->size() == entry.bytes &&
                        compute_checksum(Kind::snapshot, entry.sequence, *bytes) == entry.checksum;
    states.insert(states.begin(), {entry.sequence, intact});
    if (intact) newest = Snapshot{entry.sequence, std::move(*bytes)};
  }
  if (Status usable = check_snapshots(states, journal_.extent(), keys_.prefix); !usable.ok()) {
    // It may have been replaced since the manifest was read.
    const Result<Head> head = read_head();
    if (head.ok() && head->manifest_revision != manifest_revision_)
      return Error{ErrorCode::not_found, "the snapshot was replaced while it was read", keys_.prefix};
    return usable.error();
  }
  return newest;
}

}  // namespace weft::store
