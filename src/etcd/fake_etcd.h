// FakeEtcd: an etcd cluster in memory that answers the JSON gateway's requests, for tests and the simulator: key space
// with revisions, transactions, leases that expire by the caller's clock, watches, compaction. What a cluster does
// under faults is injected per request: answers that are lost, requests that are executed later, old (serializable)
// reads, watches that are reordered, repeated or silent, no space. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/value.h"
#include "etcd/messages.h"
#include "kube/transport.h"

namespace weft::etcd {

enum class RequestFault : std::uint8_t {
  none,
  unreachable,   // certainly not executed
  request_lost,  // not executed, but the client cannot know
  answer_lost,   // executed, but the client cannot know
  delayed        // executed by run_delayed(), and the client cannot know
};
enum class WatchFault : std::uint8_t { none, reordered, repeated, lost };

class FakeEtcd {
 public:
  explicit FakeEtcd(std::function<Duration()> now) : now_(std::move(now)) {}

  // What happens to a request; null: nothing. Called before it is executed.
  std::function<RequestFault(std::string_view path)> fault;
  // Called after a request that changed something was executed, before its answer is given.
  std::function<void()> executed;
  // For each serializable read, by how many revisions it is old; null: 0.
  std::function<Revision()> staleness;
  // For each batch of events of a watch.
  std::function<WatchFault()> watch_fault;
  void set_no_space(bool no_space) { no_space_ = no_space; }

  // Executes the requests that were delayed, in the order in which they came.
  void run_delayed();
  // Takes the lease of a key away, as if it had expired.
  void expire_lease_of(const std::string& key);
  void compact_all() { compacted_ = revision_; }

  // The create revision of a key, 0: absent; its value.
  [[nodiscard]] Revision create_revision(const std::string& key);
  [[nodiscard]] Revision revision() const { return revision_; }
  [[nodiscard]] std::size_t count_keys() const;
  // Overwrites a value in place, as damage would.
  bool damage(const std::string& prefix, std::size_t position);

  // A member of the cluster, for an etcd::Client. The cluster must outlive it.
  [[nodiscard]] std::unique_ptr<kube::Transport> connect();

 private:
  class Transport;
  class Stream;
  struct Version {
    bool deleted = false;
    KeyValue kv;
  };
  struct Lease {
    Duration ttl{};
    Duration expires{};
    std::set<std::string> keys;
  };
  [[nodiscard]] Result<kube::ApiResponse> answer(const kube::ApiRequest& request);
  [[nodiscard]] kube::ApiResponse execute(const std::string& path, const std::string& body);
  [[nodiscard]] kube::ApiResponse execute_txn(const Value& request);
  [[nodiscard]] kube::ApiResponse execute_range(const Value& request);
  [[nodiscard]] std::string range_text(const Value& request, Revision at) const;
  [[nodiscard]] bool holds(const Value& compare) const;
  [[nodiscard]] const KeyValue* find(const std::string& key, Revision at) const;
  void put(const std::string& key, const std::string& value, LeaseId lease);
  bool remove(const std::string& key);
  void expire();
  void revoke(LeaseId id);
  void change(const std::string& key, Version version);

  std::function<Duration()> now_;
  std::map<std::string, std::map<Revision, Version>> keys_;
  std::map<Revision, std::vector<WatchEvent>> events_;
  std::map<LeaseId, Lease> leases_;
  std::deque<std::pair<std::string, std::string>> delayed_;
  Revision revision_ = 1;
  Revision next_ = 0;  // of the transaction that is being executed; 0: none
  Revision compacted_ = 0;
  LeaseId last_lease_ = 7000;
  bool no_space_ = false;
};

}  // namespace weft::etcd
