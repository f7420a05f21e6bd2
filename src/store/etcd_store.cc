#include "store/etcd_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/integrity.h"

namespace weft::store {
namespace {

constexpr int kMaxTries = 3;  // of a transaction whose answer is lost

bool is_outage(const Error& error) { return error.code == ErrorCode::timeout || error.code == ErrorCode::unavailable; }

// What a caller of the store may repeat.
Status outage(const Error& error) { return Error{ErrorCode::unavailable, error.message, error.where}; }

}  // namespace

EtcdStore::EtcdStore(etcd::Client& client, EtcdOptions options)
    : client_(client),
      options_(std::move(options)),
      keys_{options_.prefix},
      reader_(client, keys_, options_.fingerprint, options_.defect == EtcdDefect::stale_read) {}

Result<std::unique_ptr<EtcdStore>> EtcdStore::open(etcd::Client& client, const EtcdOptions& options) {
  std::unique_ptr<EtcdStore> store(new EtcdStore(client, options));
  Status started = store->start();
  if (started.ok()) return store;
  if (is_outage(started.error())) return outage(started.error()).error();
  return started.error();
}

Status EtcdStore::start() {
  Result<bool> found = reader_.refresh();
  if (!found.ok()) return found.error();
  if (!*found) {
    if (Status created = create(); !created.ok()) return created;
    found = reader_.refresh();
    if (!found.ok()) return found.error();
  }
  tail_revision_ = reader_.tail_revision();
  manifest_ = reader_.manifest();
  opened_ = tail_revision_;
  return take_over();
}

Status EtcdStore::create() {
  etcd::TxnRequest request;
  request.compares = {{etcd::Compare::Target::create_revision, options_.fence.key, options_.fence.create_revision},
                      {etcd::Compare::Target::create_revision, keys_.meta(), 0}};
  request.success = {{etcd::Operation::Kind::put, keys_.meta(), write_meta(options_.fingerprint)}};
  const Result<etcd::TxnReply> reply = client_.txn(request);
  return reply.ok() ? Status() : Status(reply.error());  // whether it was executed is read
}

// Gives the tail a new revision, after which no earlier write of anyone can take effect, and removes what was left
// over.
Status EtcdStore::take_over() {
  std::vector<etcd::Operation> clean = {
      {etcd::Operation::Kind::remove, keys_.journal(durable() + 1), {}, 0, keys_.journal_end()}};
  Status moved = move_tail({durable(), next_id()}, std::move(clean));
  if (!moved.ok()) return moved;
  // Parts of snapshots that are not in the manifest: the ranges between those that are.
  std::vector<etcd::Operation> leftovers;
  std::string begin = keys_.snapshots();
  std::vector<std::string> ids;
  for (const SnapshotEntry& entry : manifest_.snapshots) ids.push_back(entry.id);
  std::sort(ids.begin(), ids.end());
  for (const std::string& id : ids) {
    leftovers.push_back({etcd::Operation::Kind::remove, begin, {}, 0, keys_.snapshot(id, 0)});
    begin = keys_.snapshots() + id + "/";  // '/' follows '.'
  }
  leftovers.push_back({etcd::Operation::Kind::remove, begin, {}, 0, keys_.snapshots_end()});
  const Result<etcd::Revision> removed = write(std::move(leftovers));
  return removed.ok() ? Status() : Status(removed.error());
}

std::vector<etcd::Compare> EtcdStore::compares() const {
  if (options_.defect == EtcdDefect::no_fence) return {};
  std::vector<etcd::Compare> all = {
      {etcd::Compare::Target::create_revision, options_.fence.key, options_.fence.create_revision}};
  if (options_.defect != EtcdDefect::no_tail)
    all.push_back({etcd::Compare::Target::mod_revision, keys_.tail(), tail_revision_});
  return all;
}

std::string EtcdStore::next_id() { return fmt::format("{}.{}.{}", options_.fence.create_revision, opened_, ++writes_); }

Status EtcdStore::lost_leadership() {
  fenced_ = true;
  return Error{ErrorCode::conflict, "another controller leads now: this one may not write", keys_.prefix};
}

Sequence EtcdStore::append(std::span<const std::string> records) {
  for (const std::string& bytes : records) CHECK(bytes.size() <= kMaxBytes, "a record is too large");
  pending_.insert(pending_.end(), records.begin(), records.end());
  return last();
}

Result<etcd::Revision> EtcdStore::write(std::vector<etcd::Operation> operations) {
  if (fenced_) return lost_leadership().error();
  etcd::TxnRequest request;
  request.compares = compares();
  request.success = std::move(operations);
  request.failure = {{etcd::Operation::Kind::range, options_.fence.key}, {etcd::Operation::Kind::range, keys_.tail()}};
  Error last;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const Result<etcd::TxnReply> reply = client_.txn(request);
    if (reply.ok() && reply->succeeded) return reply->revision;
    if (reply.ok()) {
      bool written = false;
      Status resolved = resolve(*reply, {}, written);
      if (!resolved.ok()) return resolved.error();
      request.compares = compares();
      continue;
    }
    last = reply.error();
    if (last.code != ErrorCode::timeout) break;
  }
  return last;
}

Status EtcdStore::resolve(const etcd::TxnReply& reply, const std::string& tail, bool& written) {
  if (reply.ranges.size() != 2) return Error{ErrorCode::unavailable, "invalid response of etcd", keys_.prefix};
  const std::vector<etcd::KeyValue>& leader = reply.ranges[0].kvs;
  if (leader.empty() || leader.front().create_revision != options_.fence.create_revision) return lost_leadership();
  const std::vector<etcd::KeyValue>& now = reply.ranges[1].kvs;
  const std::string value = now.empty() ? std::string() : now.front().value;
  written = !value.empty() && value == tail;
  const auto earlier =
      std::find_if(uncertain_.begin(), uncertain_.end(), [&](const Uncertain& write) { return write.tail == value; });
  if (!written && earlier == uncertain_.end())
    return Error{ErrorCode::internal, "the key `tail` was changed by something else than weft", keys_.prefix};
  tail_revision_ = now.front().mod_revision;
  if (earlier != uncertain_.end() && earlier->manifest) use_manifest(*earlier->manifest);
  uncertain_.clear();
  return {};
}

Status EtcdStore::move_tail(const Tail& tail, std::vector<etcd::Operation> operations,
                            const std::optional<Manifest>& manifest) {
  if (fenced_) return lost_leadership();
  const std::string value = write_tail(tail);
  etcd::TxnRequest request;
  request.compares = compares();
  request.success = std::move(operations);
  request.success.push_back({etcd::Operation::Kind::put, keys_.tail(), value});
  request.failure = {{etcd::Operation::Kind::range, options_.fence.key}, {etcd::Operation::Kind::range, keys_.tail()}};
  Error last;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const Result<etcd::TxnReply> reply = client_.txn(request);
    if (!reply.ok()) {
      last = reply.error();
      if (last.code != ErrorCode::timeout) break;
      uncertain_.push_back({value, manifest});
      if (options_.defect == EtcdDefect::blind_retry) break;
      continue;
    }
    if (reply->succeeded) {
      tail_revision_ = reply->revision;
      uncertain_.clear();
      return {};
    }
    bool written = false;
    if (Status resolved = resolve(*reply, value, written); !resolved.ok() || written) return resolved;
    request.compares = compares();
  }
  return last;
}

// Without a change: a new revision of the tail, after which no earlier write can take effect.
Status EtcdStore::settle() { return uncertain_.empty() ? Status() : move_tail({durable(), next_id()}, {}); }

Status EtcdStore::write_parts(const std::function<std::string(std::size_t)>& key, std::string_view bytes,
                              std::size_t count) {
  for (std::size_t part = 0; part < count; ++part) {
    std::string value(bytes.substr(part * options_.part_bytes, options_.part_bytes));
    const Result<etcd::Revision> written = write({{etcd::Operation::Kind::put, key(part), std::move(value)}});
    if (!written.ok()) return written.error();
  }
  return {};
}

// One commit of the records in flight, always with the same content.
Status EtcdStore::flush() {
  const Sequence first = durable() + 1;
  const std::string bytes = write_commit(first, in_flight_);
  const std::size_t parts = (bytes.size() + options_.part_bytes - 1) / options_.part_bytes;
  const auto key = [&](std::size_t part) { return keys_.journal(first, part); };
  if (Status settled = parts > 1 ? settle() : Status(); !settled.ok()) return settled;
  if (Status written = write_parts(key, bytes, parts - 1); !written.ok()) return written;
  std::string value = bytes.substr((parts - 1) * options_.part_bytes);
  Status moved = move_tail({first + in_flight_.size() - 1, in_flight_id_},
                           {{etcd::Operation::Kind::put, key(parts - 1), std::move(value)}});
  if (!moved.ok()) return moved;
  std::deque<std::string>& records = reader_.journal().records;
  std::move(in_flight_.begin(), in_flight_.end(), std::back_inserter(records));
  in_flight_.clear();
  return {};
}

Status EtcdStore::sync() {
  if (fenced_) return lost_leadership();
  while (!in_flight_.empty() || !pending_.empty()) {
    if (in_flight_.empty()) {
      in_flight_ = std::exchange(pending_, {});
      in_flight_id_ = next_id();
    } else if (options_.defect == EtcdDefect::blind_retry) {
      in_flight_id_ = next_id();
      const Result<bool> read = reader_.refresh();
      if (!read.ok()) return outage(read.error());
      tail_revision_ = reader_.tail_revision();
      uncertain_.clear();
    }
    Status flushed = flush();
    if (flushed.ok()) continue;
    return is_outage(flushed.error()) ? outage(flushed.error()) : flushed;
  }
  return {};
}

Status EtcdStore::read(Sequence from, const std::function<Status(const Entry&)>& each) {
  return reader_.journal().read(from, each, keys_.prefix);
}

Result<std::optional<Snapshot>> EtcdStore::load_snapshot() { return reader_.load_snapshot(); }

std::vector<SnapshotState> EtcdStore::snapshot_states() const {
  std::vector<SnapshotState> states;
  states.reserve(manifest_.snapshots.size());
  for (const SnapshotEntry& entry : manifest_.snapshots) states.push_back({entry.sequence, true});
  return states;
}

void EtcdStore::use_manifest(const Manifest& manifest) {
  manifest_ = manifest;
  reader_.set_manifest(manifest);
  reader_.journal().drop_before(manifest.first);
}

Status EtcdStore::write_manifest(const Manifest& manifest, std::vector<etcd::Operation> operations) {
  operations.push_back({etcd::Operation::Kind::put, keys_.manifest(), store::write_manifest(manifest)});
  Status moved = move_tail({durable(), next_id()}, std::move(operations), manifest);
  if (!moved.ok()) return is_outage(moved.error()) ? outage(moved.error()) : moved;
  use_manifest(manifest);
  return {};
}

// Before the manifest is changed: it is known, and no commit is uncertain.
Status EtcdStore::prepare() {
  if (fenced_) return lost_leadership();
  Status ready = in_flight_.empty() ? settle() : flush();
  return ready.ok() || !is_outage(ready.error()) ? ready : outage(ready.error());
}

Status EtcdStore::save_snapshot(const Snapshot& snapshot) {
  if (Status ready = prepare(); !ready.ok()) return ready;
  const std::vector<SnapshotState> states = snapshot_states();
  if (Status allowed = check_save(snapshot, states, reader_.journal().extent(), keys_.prefix); !allowed.ok())
    return allowed;
  const std::vector<Sequence> keep = keep_snapshots(states, snapshot.sequence);
  SnapshotEntry entry{snapshot.sequence, next_id(), 0, snapshot.bytes.size(),
                      compute_checksum(Kind::snapshot, snapshot.sequence, snapshot.bytes)};
  entry.parts = std::max<std::size_t>(1, (snapshot.bytes.size() + options_.part_bytes - 1) / options_.part_bytes);
  const auto key = [&](std::size_t part) { return keys_.snapshot(entry.id, part); };
  if (Status written = write_parts(key, snapshot.bytes, entry.parts); !written.ok())
    return is_outage(written.error()) ? outage(written.error()) : written;
  Manifest next{manifest_.first, {}};
  std::vector<etcd::Operation> removals;
  for (SnapshotEntry& other : manifest_.snapshots) {
    const bool kept =
        other.sequence != snapshot.sequence && std::find(keep.begin(), keep.end(), other.sequence) != keep.end();
    if (kept) {
      next.snapshots.push_back(other);
    } else {
      removals.push_back({etcd::Operation::Kind::remove,
                          keys_.snapshots() + other.id + ".",
                          {},
                          0,
                          keys_.snapshots() + other.id + "/"});
    }
  }
  next.snapshots.push_back(std::move(entry));
  return write_manifest(next, std::move(removals));
}

Status EtcdStore::compact(Sequence up_to) {
  if (Status ready = prepare(); !ready.ok()) return ready;
  if (Status allowed = check_compact(up_to, snapshot_states(), keys_.prefix); !allowed.ok()) return allowed;
  if (up_to < first()) return {};
  Manifest next = manifest_;
  next.first = up_to + 1;
  // The commit that has the first record that is kept may begin before it.
  std::vector<etcd::Operation> removals;
  const Result<Sequence> commit = reader_.find_commit(next.first);
  if (!commit.ok()) return is_outage(commit.error()) ? outage(commit.error()) : Status(commit.error());
  removals.push_back({etcd::Operation::Kind::remove, keys_.journal(0), {}, 0, keys_.journal(*commit)});
  if (Status written = write_manifest(next, std::move(removals)); !written.ok()) return written;
  // Followers read again what they have not seen. If it fails, the next one removes more.
  if (const Result<etcd::RangeReply> now = client_.range({keys_.tail()}); now.ok())
    (void)client_.compact(now->revision).ok();
  return {};
}

}  // namespace weft::store
