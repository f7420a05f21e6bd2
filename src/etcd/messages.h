// Messages of etcd's v3 API as its JSON gateway has them (etcd 3.4, "API reference": /v3/kv/range and others): requests
// are written, answers are parsed strictly. Keys and values are base64, 64-bit integers are strings, and a field with
// the value zero is absent. Only what weft uses; no transport and no retries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::etcd {

// Counts changes of the whole key space: every transaction that changes something has the next one.
using Revision = std::int64_t;
using LeaseId = std::int64_t;

struct KeyValue {
  std::string key;
  std::string value;
  Revision create_revision = 0;
  Revision mod_revision = 0;
  std::int64_t version = 0;
  LeaseId lease = 0;
};

enum class Order : std::uint8_t { ascending, descending };  // of keys
struct RangeRequest {
  std::string key;
  std::string range_end{};    // exclusive; "": the one key
  std::int64_t limit = 0;     // 0: all
  Revision revision = 0;      // 0: the newest
  bool serializable = false;  // answered by one member from what it has, which may be old; otherwise linearizable
  Order order = Order::ascending;
};
struct RangeReply {
  Revision revision = 0;  // of the key space
  std::vector<KeyValue> kvs;
  bool more = false;
};
// The end of the range of all keys that begin with `prefix`.
[[nodiscard]] std::string end_of_prefix(std::string prefix);

// Holds if the key's number is this one; 0: the key does not exist.
struct Compare {
  enum class Target : std::uint8_t { create_revision, mod_revision };
  Target target = Target::mod_revision;
  std::string key;
  Revision revision = 0;
};
struct Operation {
  enum class Kind : std::uint8_t { put, range, remove };
  Kind kind = Kind::range;
  std::string key;
  std::string value{};      // of a put
  LeaseId lease = 0;        // of a put
  std::string range_end{};  // of the others
};
struct TxnRequest {
  std::vector<Compare> compares;
  std::vector<Operation> success;
  std::vector<Operation> failure;
};
struct TxnReply {
  Revision revision = 0;
  bool succeeded = false;
  std::vector<RangeReply> ranges;  // of the range operations that were executed, in order
};

struct LeaseReply {
  LeaseId id = 0;
  std::int64_t ttl = 0;  // seconds; 0: the lease does not exist
};

struct WatchRequest {
  std::string key;
  std::string range_end{};
  Revision start = 0;  // 0: from now on
};
struct WatchEvent {
  bool deleted = false;
  KeyValue kv;
};
struct WatchReply {
  Revision revision = 0;
  bool created = false;
  bool canceled = false;
  Revision compact_revision = 0;  // not 0: canceled, since the start was removed by compaction
  std::string reason;
  std::vector<WatchEvent> events;
};

enum class Alarm : std::uint8_t { no_space, corrupt };

// Bodies of requests.
[[nodiscard]] std::string write_range(const RangeRequest& request);
[[nodiscard]] std::string write_txn(const TxnRequest& request);
[[nodiscard]] std::string write_compact(Revision revision);
[[nodiscard]] std::string write_grant(std::int64_t ttl);
[[nodiscard]] std::string write_lease(LeaseId id);
[[nodiscard]] std::string write_watch(const WatchRequest& request);
[[nodiscard]] std::string write_login(std::string_view user, std::string_view password);

// Bodies of answers with status 200. Errors are invalid_input, and not_found for a lease that does not exist.
[[nodiscard]] Result<RangeReply> parse_range(std::string_view body);
[[nodiscard]] Result<TxnReply> parse_txn(std::string_view body);
[[nodiscard]] Result<LeaseReply> parse_grant(std::string_view body);
// One line of the stream that the gateway answers with.
[[nodiscard]] Result<LeaseReply> parse_keep_alive(std::string_view body);
[[nodiscard]] Result<WatchReply> parse_watch(std::string_view line);
[[nodiscard]] Result<std::string> parse_token(std::string_view body);
[[nodiscard]] Result<std::vector<Alarm>> parse_alarms(std::string_view body);

// What an answer with another status means. Of its code:
//   unavailable    not executed: no space (is_no_space), too many requests
//   timeout        not known whether it was executed: no leader, a deadline, an answer that cannot be read
//   refused        not executed: no permission, wrong password
//   not_found      the lease does not exist
//   conflict       the revision was removed by compaction
//   invalid_input  not executed: the request is wrong or too large
struct Failure {
  Error error;
  bool is_no_space = false;
  bool is_old_token = false;  // log in again; the request was not executed
};
[[nodiscard]] Failure parse_failure(int status, std::string_view body);

}  // namespace weft::etcd
