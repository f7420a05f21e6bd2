#include "serve/daemon/kube_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/utf8.h"
#include "kube/access_review.h"
#include "kube/object.h"
#include "model/kube_permissions.h"

namespace weft::serve {
namespace {

constexpr std::size_t kNamedNodes = 5;  // in a message

std::string describe(const model::KubePermission& permission, const std::string& kube_namespace) {
  std::string resource(permission.resource);
  if (!permission.subresource.empty()) resource.append("/").append(permission.subresource);
  const std::string group = permission.group.empty() ? "" : fmt::format(" of API group {}", permission.group);
  const std::string scope = permission.cluster_wide ? "cluster-wide" : "in namespace " + in_backticks(kube_namespace);
  return fmt::format("missing verb `{}` on `{}`{} {} (to {})", permission.verb, resource, group, scope, permission.use);
}

using Log = std::function<void(std::string_view)>;

// A description of each one that the user lacks; none if the server does not answer such questions.
Result<std::vector<std::string>> find_missing(kube::Client& client, const std::string& kube_namespace,
                                              const std::vector<model::KubePermission>& permissions, const Log& log) {
  std::vector<std::string> missing;
  for (const model::KubePermission& permission : permissions) {
    const Result<kube::AccessAnswer> answer = kube::review_access(
        client, {std::string(permission.verb), std::string(permission.group), std::string(permission.resource),
                 std::string(permission.subresource), permission.cluster_wide ? std::string() : kube_namespace});
    if (!answer.ok()) {
      // 403: the cluster lets this user not even ask. 401 is an error of every other request too.
      const bool unanswered = answer.error().code == ErrorCode::not_found ||
                              (answer.error().code == ErrorCode::refused && contains(answer.error().message, "verb"));
      if (!unanswered) return answer.error();
      if (log) log("the permissions cannot be checked: " + answer.error().text());
      return std::vector<std::string>();
    }
    if (!answer->allowed) missing.push_back(describe(permission, kube_namespace));
  }
  return missing;
}

}  // namespace

Status check_permissions(kube::Client& client, const std::string& kube_namespace,
                         const std::function<void(std::string_view)>& log) {
  const std::span<const model::KubePermission> needed = model::kube_permissions();
  const Result<std::vector<std::string>> missing =
      find_missing(client, kube_namespace, {needed.begin(), needed.end()}, log);
  if (!missing.ok()) return missing.error();
  if (missing->empty()) return {};
  return Error{ErrorCode::refused,
               fmt::format("the Kubernetes user has too few permissions: {}; `weft render CLUSTER -o DIR --target "
                           "kubernetes/serve` writes a role that has them",
                           join(*missing, "; ")),
               {}};
}

Status check_watch_permissions(kube::Client& client, const std::string& kube_namespace, model::WatchAccess access,
                               const std::function<void(std::string_view)>& log) {
  const Result<std::vector<std::string>> missing =
      find_missing(client, kube_namespace, model::kube_watch_permissions(kube_namespace.empty(), access), log);
  if (!missing.ok()) return missing.error();
  if (missing->empty()) return {};
  return Error{
      ErrorCode::refused,
      fmt::format("the Kubernetes user has too few permissions for watch mode: {}; `weft render CLUSTER -o DIR "
                  "--target kubernetes/serve` writes roles that have them to watch/",
                  join(*missing, "; ")),
      {}};
}

Status check_nodes(kube::Client& client, const std::vector<std::string>& nodes) {
  const Result<kube::ObjectList> listed = client.list(kube::kNodes, {});
  if (!listed.ok()) return listed.error();
  std::set<std::string> names;
  for (const Value& node : listed->items) {
    if (const Result<kube::ObjectMeta> meta = kube::read_meta(node); meta.ok()) names.insert(meta->name.name);
  }
  std::vector<std::string> missing;
  for (const std::string& node : nodes) {
    if (!names.contains(node)) missing.push_back(node);
  }
  if (missing.empty()) return {};
  const std::size_t more = missing.size() - std::min(missing.size(), kNamedNodes);
  missing.resize(missing.size() - more);
  return Error{ErrorCode::invalid_input,
               fmt::format("the Kubernetes cluster lacks nodes of the cluster file: {}{}", join(missing, ", "),
                           more == 0 ? "" : fmt::format(" and {} more", more)),
               {}};
}

}  // namespace weft::serve
