// Whether this user may do something: SelfSubjectAccessReview (authorization.k8s.io/v1), which asks all authorizers of
// the server and needs no right of its own in a usual cluster (role system:basic-user).
#pragma once

#include <string>

#include "base/result.h"
#include "kube/client.h"

namespace weft::kube {

struct AccessQuestion {
  std::string verb;
  std::string group;  // "": core
  std::string resource;
  std::string subresource;
  std::string kube_namespace;  // "": cluster-wide
};
struct AccessAnswer {
  bool allowed = false;
  std::string reason;  // of the server; may be empty
};

// An answer without a verdict is an error, not a refusal.
[[nodiscard]] Result<AccessAnswer> review_access(Client& client, const AccessQuestion& question);

}  // namespace weft::kube
