#include "etcd/fake_etcd.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/base64.h"
#include "oob/redfish/json.h"

namespace weft::etcd {
namespace {

std::string text_of(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found != nullptr && found->is_text() ? decode_base64(found->text()).value_or("") : "";
}

std::int64_t number_of(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  std::int64_t number = 0;
  if (found != nullptr && found->is_text())
    std::from_chars(found->text().data(), found->text().data() + found->text().size(), number);
  return number;
}

const Value::List& items_of(const Value& value, std::string_view key) {
  static const Value::List kNone;
  const Value* found = value.find(key);
  return found != nullptr && found->is_list() ? found->items() : kNone;
}

std::string kv_text(const KeyValue& kv) {
  return fmt::format(
      R"({{"key":"{}","create_revision":"{}","mod_revision":"{}","version":"{}","value":"{}","lease":"{}"}})",
      encode_base64(kv.key), kv.create_revision, kv.mod_revision, kv.version, encode_base64(kv.value), kv.lease);
}

kube::ApiResponse reply_with(std::string body) { return {200, {}, std::move(body)}; }
kube::ApiResponse fail(int status, int code, std::string_view message) {
  return {status, {}, fmt::format(R"({{"error":"{0}","message":"{0}","code":{1}}})", message, code)};
}
kube::ApiResponse no_space() { return fail(429, 8, "etcdserver: mvcc: database space exceeded"); }

bool is_in(const std::string& key, const std::string& begin, const std::string& end) {
  if (end.empty()) return key == begin;
  return key >= begin && (end == std::string(1, '\0') || key < end);
}

}  // namespace

class FakeEtcd::Transport final : public kube::Transport {
 public:
  explicit Transport(FakeEtcd& cluster) : cluster_(cluster) {}
  [[nodiscard]] Result<kube::ApiResponse> send(const kube::ApiRequest& request) override {
    return cluster_.answer(request);
  }
  [[nodiscard]] Result<std::unique_ptr<kube::ResponseStream>> open(const kube::ApiRequest& request) override;

 private:
  FakeEtcd& cluster_;
};

class FakeEtcd::Stream final : public kube::ResponseStream {
 public:
  Stream(FakeEtcd& cluster, std::string begin, std::string end, Revision start)
      : cluster_(cluster), begin_(std::move(begin)), end_(std::move(end)), next_(start) {}
  [[nodiscard]] int status() const override { return 200; }

  [[nodiscard]] Result<kube::StreamBytes> read(Duration /*wait*/) override {
    cluster_.expire();
    std::string bytes;
    if (!std::exchange(begun_, true)) bytes = line(R"("created":true)");
    if (next_ <= cluster_.compacted_) {
      bytes += line(fmt::format(R"("canceled":true,"compact_revision":"{}")", cluster_.compacted_));
      return kube::StreamBytes{kube::StreamState::closed, bytes};
    }
    std::vector<std::string> lines;
    for (auto at = cluster_.events_.lower_bound(next_); at != cluster_.events_.end(); ++at) {
      std::string events;
      for (const WatchEvent& event : at->second) {
        if (!is_in(event.kv.key, begin_, end_)) continue;
        events += fmt::format(R"({}{{"type":"{}","kv":{}}})", events.empty() ? "" : ",",
                              event.deleted ? "DELETE" : "PUT", kv_text(event.kv));
      }
      if (!events.empty()) lines.push_back(line(fmt::format(R"("events":[{}])", events)));
      next_ = at->first + 1;
    }
    const WatchFault happens = cluster_.watch_fault && !lines.empty() ? cluster_.watch_fault() : WatchFault::none;
    if (happens == WatchFault::reordered) std::reverse(lines.begin(), lines.end());
    if (happens == WatchFault::repeated) lines.push_back(lines.front());
    if (happens == WatchFault::lost) lines.clear();
    for (const std::string& each : lines) bytes += each;
    return kube::StreamBytes{kube::StreamState::open, bytes};
  }

 private:
  [[nodiscard]] std::string line(const std::string& members) const {
    return fmt::format(R"({{"result":{{"header":{{"revision":"{}"}},{}}}}})", cluster_.revision_, members) + "\n";
  }
  FakeEtcd& cluster_;
  std::string begin_;
  std::string end_;
  Revision next_;
  bool begun_ = false;
};

Result<std::unique_ptr<kube::ResponseStream>> FakeEtcd::Transport::open(const kube::ApiRequest& request) {
  if (cluster_.fault && cluster_.fault(request.target) != RequestFault::none)
    return Error{ErrorCode::unavailable, "unreachable", {}};
  const Result<Value> body = oob::read_json_reply(request.body);
  const Value* create = body.ok() ? body->find("create_request") : nullptr;
  if (create == nullptr) return Error{ErrorCode::invalid_input, "no create_request", {}};
  const Revision start = number_of(*create, "start_revision");
  return std::unique_ptr<kube::ResponseStream>(std::make_unique<Stream>(
      cluster_, text_of(*create, "key"), text_of(*create, "range_end"), start > 0 ? start : cluster_.revision_ + 1));
}

std::unique_ptr<kube::Transport> FakeEtcd::connect() { return std::make_unique<Transport>(*this); }

Result<kube::ApiResponse> FakeEtcd::answer(const kube::ApiRequest& request) {
  const RequestFault happens = fault ? fault(request.target) : RequestFault::none;
  const Error not_known{ErrorCode::timeout, "connection lost, the request may have been executed", {}};
  if (happens == RequestFault::unreachable) return Error{ErrorCode::unavailable, "no connection", {}};
  if (happens == RequestFault::request_lost) return not_known;
  if (happens == RequestFault::delayed) {
    delayed_.emplace_back(request.target, request.body);
    return not_known;
  }
  const Revision before = revision_;
  kube::ApiResponse response = execute(request.target, request.body);
  if (executed && revision_ != before) executed();
  if (happens == RequestFault::answer_lost) return not_known;
  return response;
}

void FakeEtcd::run_delayed() {
  for (const auto& [path, body] : std::exchange(delayed_, {})) (void)execute(path, body);
}

kube::ApiResponse FakeEtcd::execute(const std::string& path, const std::string& body) {
  expire();
  const Result<Value> parsed = oob::read_json_reply(body, {1'000'000, 12});
  if (!parsed.ok()) return fail(400, 3, parsed.error().message);
  const std::string header = fmt::format(R"("header":{{"revision":"{}"}})", revision_);
  if (path == "/v3/kv/range") return execute_range(*parsed);
  if (path == "/v3/kv/txn") return execute_txn(*parsed);
  if (path == "/v3/kv/compaction") {
    const Revision revision = number_of(*parsed, "revision");
    if (revision <= compacted_) return fail(400, 11, "etcdserver: mvcc: required revision has been compacted");
    compacted_ = std::min(revision, revision_);
    return reply_with("{" + header + "}");
  }
  if (path == "/v3/lease/grant") {
    if (no_space_) return no_space();
    const std::int64_t ttl = number_of(*parsed, "TTL");
    Lease& lease = leases_[++last_lease_];
    lease.ttl = Duration(ttl * 1'000'000'000);
    lease.expires = now_() + lease.ttl;
    return reply_with(fmt::format(R"({{{},"ID":"{}","TTL":"{}"}})", header, last_lease_, ttl));
  }
  if (path == "/v3/lease/keepalive") {
    const LeaseId id = number_of(*parsed, "ID");
    const auto lease = leases_.find(id);
    if (lease == leases_.end()) return reply_with(fmt::format(R"({{"result":{{{},"ID":"{}"}}}})", header, id) + "\n");
    lease->second.expires = now_() + lease->second.ttl;
    return reply_with(fmt::format(R"({{"result":{{{},"ID":"{}","TTL":"{}"}}}})", header, id,
                                  lease->second.ttl.count() / 1'000'000'000) +
                      "\n");
  }
  if (path == "/v3/lease/revoke") {
    const LeaseId id = number_of(*parsed, "ID");
    if (!leases_.contains(id)) return fail(404, 5, "etcdserver: requested lease not found");
    revoke(id);
    return reply_with("{" + header + "}");
  }
  if (path == "/v3/maintenance/alarm")
    return reply_with(fmt::format("{{{}{}}}", header, no_space_ ? R"(,"alarms":[{"alarm":"NOSPACE"}])" : ""));
  return fail(404, 5, "Not Found");
}

const KeyValue* FakeEtcd::find(const std::string& key, Revision at) const {
  const auto versions = keys_.find(key);
  if (versions == keys_.end()) return nullptr;
  auto version = versions->second.upper_bound(at);
  if (version == versions->second.begin()) return nullptr;
  --version;
  return version->second.deleted ? nullptr : &version->second.kv;
}

std::string FakeEtcd::range_text(const Value& request, Revision at) const {
  const std::string begin = text_of(request, "key");
  const std::string end = text_of(request, "range_end");
  const std::int64_t limit = number_of(request, "limit");
  std::vector<const KeyValue*> found;
  for (auto key = keys_.lower_bound(begin); key != keys_.end() && is_in(key->first, begin, end); ++key) {
    if (const KeyValue* kv = find(key->first, at); kv != nullptr) found.push_back(kv);
  }
  if (request.find("sort_order") != nullptr) std::reverse(found.begin(), found.end());
  std::string kvs;
  std::int64_t count = 0;
  bool more = false;
  for (const KeyValue* kv : found) {
    if (limit > 0 && count == limit) {
      more = true;
      break;
    }
    kvs += (count++ > 0 ? "," : "") + kv_text(*kv);
  }
  return fmt::format(R"("kvs":[{}],"more":{},"count":"{}")", kvs, more, count);
}

kube::ApiResponse FakeEtcd::execute_range(const Value& request) {
  Revision at = number_of(request, "revision");
  if (at > 0 && at < compacted_) return fail(400, 11, "etcdserver: mvcc: required revision has been compacted");
  if (at == 0) at = revision_;
  if (request.find("serializable") != nullptr && staleness) at = std::max<Revision>(1, at - staleness());
  return reply_with(fmt::format(R"({{"header":{{"revision":"{}"}},{}}})", at, range_text(request, at)));
}

bool FakeEtcd::holds(const Value& compare) const {
  const KeyValue* kv = find(text_of(compare, "key"), revision_);
  const Value* target = compare.find("target");
  const bool created = target != nullptr && target->is_text() && target->text() == "CREATE";
  const Revision have = kv == nullptr ? 0 : created ? kv->create_revision : kv->mod_revision;
  return have == number_of(compare, created ? "create_revision" : "mod_revision");
}

kube::ApiResponse FakeEtcd::execute_txn(const Value& request) {
  const Value::List& compares = items_of(request, "compare");
  const bool succeeded =
      std::all_of(compares.begin(), compares.end(), [this](const Value& compare) { return holds(compare); });
  const Value::List& operations = items_of(request, succeeded ? "success" : "failure");
  const bool puts = std::any_of(operations.begin(), operations.end(),
                                [](const Value& operation) { return operation.find("request_put") != nullptr; });
  if (puts && no_space_) return no_space();
  for (const Value& operation : operations) {
    const Value* put_request = operation.find("request_put");
    if (put_request == nullptr) continue;
    const LeaseId lease = number_of(*put_request, "lease");
    if (lease != 0 && !leases_.contains(lease)) return fail(404, 5, "etcdserver: requested lease not found");
  }
  next_ = revision_ + 1;
  bool changed = false;
  std::string responses;
  for (const Value& operation : operations) {
    if (!responses.empty()) responses += ",";
    if (const Value* one = operation.find("request_put"); one != nullptr) {
      put(text_of(*one, "key"), text_of(*one, "value"), number_of(*one, "lease"));
      changed = true;
      responses += R"({"response_put":{}})";
    } else if (const Value* removed = operation.find("request_delete_range"); removed != nullptr) {
      const std::string begin = text_of(*removed, "key");
      const std::string end = text_of(*removed, "range_end");
      std::vector<std::string> names;
      for (auto key = keys_.lower_bound(begin); key != keys_.end() && is_in(key->first, begin, end); ++key)
        names.push_back(key->first);
      for (const std::string& name : names) changed = remove(name) || changed;
      responses += R"({"response_delete_range":{}})";
    } else if (const Value* range = operation.find("request_range"); range != nullptr) {
      responses += fmt::format(R"({{"response_range":{{{}}}}})", range_text(*range, next_));
    }
  }
  if (changed) revision_ = next_;
  next_ = 0;
  return reply_with(fmt::format(R"({{"header":{{"revision":"{}"}},"succeeded":{},"responses":[{}]}})", revision_,
                                succeeded, responses));
}

void FakeEtcd::change(const std::string& key, Version version) {
  events_[next_].push_back({version.deleted, version.kv});
  keys_[key].insert_or_assign(next_, std::move(version));
}

void FakeEtcd::put(const std::string& key, const std::string& value, LeaseId lease) {
  const KeyValue* before = find(key, next_);
  KeyValue kv{key,
              value,
              before == nullptr ? next_ : before->create_revision,
              next_,
              before == nullptr ? 1 : before->version + 1,
              lease};
  if (before != nullptr && before->lease != 0 && leases_.contains(before->lease))
    leases_[before->lease].keys.erase(key);
  if (lease != 0) leases_[lease].keys.insert(key);
  change(key, {false, std::move(kv)});
}

bool FakeEtcd::remove(const std::string& key) {
  const KeyValue* before = find(key, next_);
  if (before == nullptr) return false;
  if (before->lease != 0 && leases_.contains(before->lease)) leases_[before->lease].keys.erase(key);
  KeyValue gone;
  gone.key = key;
  gone.mod_revision = next_;
  change(key, {true, std::move(gone)});
  return true;
}

void FakeEtcd::revoke(LeaseId id) {
  const auto lease = leases_.find(id);
  if (lease == leases_.end()) return;
  const std::set<std::string> keys = lease->second.keys;
  leases_.erase(lease);
  if (keys.empty()) return;
  next_ = revision_ + 1;
  for (const std::string& key : keys) remove(key);
  revision_ = next_;
  next_ = 0;
}

void FakeEtcd::expire() {
  const Duration now = now_();
  std::vector<LeaseId> expired;
  for (const auto& [id, lease] : leases_) {
    if (lease.expires <= now) expired.push_back(id);
  }
  for (const LeaseId id : expired) revoke(id);
}

void FakeEtcd::expire_lease_of(const std::string& key) {
  const KeyValue* kv = find(key, revision_);
  if (kv != nullptr) revoke(kv->lease);
}

Revision FakeEtcd::create_revision(const std::string& key) {
  expire();
  const KeyValue* kv = find(key, revision_);
  return kv == nullptr ? 0 : kv->create_revision;
}

std::size_t FakeEtcd::count_keys() const {
  return static_cast<std::size_t>(std::count_if(
      keys_.begin(), keys_.end(), [this](const auto& key) { return find(key.first, revision_) != nullptr; }));
}

bool FakeEtcd::damage(const std::string& prefix, std::size_t position) {
  for (auto key = keys_.lower_bound(prefix); key != keys_.end() && key->first.starts_with(prefix); ++key) {
    if (find(key->first, revision_) == nullptr) continue;
    std::string& value = key->second.rbegin()->second.kv.value;
    if (position >= value.size()) {
      position -= value.size();
      continue;
    }
    value[position] = static_cast<char>(static_cast<unsigned char>(value[position]) ^ 1U);
    return true;
  }
  return false;
}

}  // namespace weft::etcd
