#include "kube/access_review.h"

#include <optional>

#include "base/utf8.h"
#include "kube/json_fields.h"

namespace weft::kube {
namespace {

constexpr Resource kReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false};
constexpr std::size_t kMaxReasonBytes = 300;

}  // namespace

Result<AccessAnswer> review_access(Client& client, const AccessQuestion& question) {
  Value attributes = Value::map({{"verb", Value(question.verb)}, {"resource", Value(question.resource)}});
  attributes.set("group", Value(question.group)).set("namespace", Value(question.kube_namespace));
  if (!question.subresource.empty()) attributes.set("subresource", Value(question.subresource));
  const Result<Value> answer =
      client.review(kReviews, Value::map({{"spec", Value::map({{"resourceAttributes", std::move(attributes)}})}}));
  if (!answer.ok()) return answer.error();
  const std::optional<bool> allowed = truth(*answer, {"status", "allowed"});
  if (!allowed) return Error{ErrorCode::invalid_input, "the API server's access review has no verdict", {}};
  return AccessAnswer{*allowed, printable(raw_text(*answer, {"status", "reason"}), kMaxReasonBytes)};
}

}  // namespace weft::kube
