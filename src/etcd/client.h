// Client of an etcd cluster: typed requests to the members in turn, with a deadline for each member and one for all of
// them, and the login of a user whose token expires. Reads, which may be repeated, go on to the next member after any
// failure; a transaction does only if it was certainly not executed, otherwise its caller finds out. No leases are kept
// alive and nothing is cached here. One instance per thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "etcd/messages.h"
#include "kube/transport.h"
#include "oob/credentials/secret.h"

namespace weft::etcd {

struct ClientOptions {
  Duration member_deadline = milliseconds(1'500);  // for the answer of one member
  Duration deadline = milliseconds(4'000);         // for all of them
  std::string user{};                              // "": etcd has no users
  oob::Secret password{};
};

struct Endpoint {
  std::string name;  // for messages
  std::unique_ptr<kube::Transport> transport;
};

// Changes of a range of keys. Destroying it closes the connection.
class WatchStream {
 public:
  explicit WatchStream(std::unique_ptr<kube::ResponseStream> stream) : stream_(std::move(stream)) {}
  // Waits up to `wait`; nothing if nothing came. An error: the connection broke or the answer is not one of etcd.
  [[nodiscard]] Result<std::vector<WatchReply>> read(Duration wait);

 private:
  std::unique_ptr<kube::ResponseStream> stream_;
  std::string pending_;
};

class Client {
 public:
  // `now` is a clock that never goes back. At least one endpoint.
  Client(std::vector<Endpoint> endpoints, std::function<Duration()> now, ClientOptions options = {});

  [[nodiscard]] Result<RangeReply> range(const RangeRequest& request);
  // ErrorCode::timeout: not known whether it was executed. Other errors: it was not.
  [[nodiscard]] Result<TxnReply> txn(const TxnRequest& request);
  [[nodiscard]] Status compact(Revision revision);
  [[nodiscard]] Result<LeaseReply> grant(std::int64_t ttl);
  // not_found: the lease has expired.
  [[nodiscard]] Status keep_alive(LeaseId id);
  [[nodiscard]] Status revoke(LeaseId id);
  [[nodiscard]] Result<std::unique_ptr<WatchStream>> watch(const WatchRequest& request);
  [[nodiscard]] Result<std::vector<Alarm>> alarms();

  [[nodiscard]] Duration now() const { return now_(); }

 private:
  enum class Repeat : std::uint8_t { if_not_executed, always };
  [[nodiscard]] Result<std::string> call(std::string_view path, const std::string& body, Repeat repeat);
  [[nodiscard]] Result<std::string> call_member(Endpoint& endpoint, std::string_view path, const std::string& body,
                                                Duration deadline);
  [[nodiscard]] Status log_in(Endpoint& endpoint, Duration deadline);

  std::vector<Endpoint> endpoints_;
  std::function<Duration()> now_;
  ClientOptions options_;
  std::size_t preferred_ = 0;  // the member that answered last
  oob::Secret token_;
};

}  // namespace weft::etcd
