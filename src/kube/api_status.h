// What the Kubernetes API server says of a failed request: its Status object, and the Error that a caller gets. The
// error names the verb, the kind and the object of the request itself, so that it is useful if the server's message is
// not (a proxy's HTML page, an empty body).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "kube/resource.h"
#include "kube/transport.h"

namespace weft::kube {

// A page of 500 pods with managed fields has about 300,000 values; an object in etcd is limited to 1.5 MiB.
inline constexpr std::size_t kMaxReplyNodes = 4'000'000;
inline constexpr std::size_t kMaxReplyDepth = 100;

// JSON within the limits above.
[[nodiscard]] Result<Value> read_reply_json(std::string_view text);

struct StatusCause {
  std::string reason;
  std::string field;
  std::string message;
};
struct ApiStatus {
  int code = 0;
  std::string reason;   // "AlreadyExists", "Conflict", "Expired", ...; "" if the server gave none
  std::string message;  // printable, truncated
  std::optional<int> retry_after;
  std::vector<StatusCause> causes;

  [[nodiscard]] bool has_cause(std::string_view cause) const;
};

// Of a response that is not 2xx; never fails.
[[nodiscard]] ApiStatus read_status(const ApiResponse& response);
// Of a Status object, such as that of an ERROR event in a watch.
[[nodiscard]] ApiStatus read_status(const Value& object);

// The version that a list or watch started from is no longer in the server's history: list again (410).
[[nodiscard]] bool is_expired(const ApiStatus& status);

// The request that failed, for messages.
struct ApiCall {
  std::string_view verb;  // as in RBAC rules: get, list, watch, create, update, patch, delete
  Resource resource;
  ObjectName object;  // without a name: a collection
  std::string_view subresource = {};

  [[nodiscard]] bool writes() const { return verb != "get" && verb != "list" && verb != "watch"; }
};
// "list pods in namespace `a`"
[[nodiscard]] std::string describe(const ApiCall& call);

// 400, 413, 415, 422 invalid_input; 401, 403 refused; 404 not_found; 409 conflict; 410 not_found; 429 unavailable
// (the server proved that it did not accept the request); 5xx of a read unavailable, of a write timeout (it may have
// been executed).
[[nodiscard]] Error to_error(const ApiCall& call, const ApiStatus& status);

}  // namespace weft::kube
