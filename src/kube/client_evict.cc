// Eviction of pods: which version of the API the server has, and what its answers mean.
#include <fmt/format.h>

#include <utility>

#include "kube/client.h"
#include "oob/redfish/json.h"

namespace weft::kube {

std::string_view to_text(EvictionState state) {
  switch (state) {
    case EvictionState::accepted:
      return "accepted";
    case EvictionState::gone:
      return "gone";
    case EvictionState::replaced:
      return "replaced";
    case EvictionState::budget:
      return "blocked by a disruption budget";
    case EvictionState::throttled:
      return "throttled";
    case EvictionState::ambiguous:
      return "ambiguous";
  }
  return "unknown";
}

// The list of resources of the core API names group and version of the subresource pods/eviction: policy/v1beta1
// before Kubernetes 1.22, policy/v1 from then on.
Result<std::string> Client::eviction_version() {
  if (!eviction_version_.empty()) return eviction_version_;
  ApiRequest request;
  request.target = "/api/v1";
  request.deadline = options_.deadline;
  const ApiCall call{"get", kPods, {}, "eviction"};
  Result<Value> found = request_object(call, request);
  if (!found.ok()) return found.error();
  for (const Value& resource : oob::list(*found, {"resources"})) {
    if (oob::raw_text(resource, {"name"}) != "pods/eviction") continue;
    const std::string version = oob::raw_text(resource, {"version"});
    if (version != "v1" && version != "v1beta1") break;
    eviction_version_ = "policy/" + version;
    return eviction_version_;
  }
  return Error{ErrorCode::invalid_input, "the server has no eviction API of version policy/v1 or policy/v1beta1", {}};
}

// 409 is a uid that is not the pod's, or a budget that changed during the request.
Result<EvictionOutcome> Client::explain_eviction_conflict(const ObjectName& pod, std::string_view uid,
                                                          EvictionOutcome outcome) {
  const Result<Value> now = get(kPods, pod);
  if (!now.ok() && now.error().code != ErrorCode::not_found) return now.error();
  if (!now.ok()) {
    outcome.state = EvictionState::gone;
  } else {
    const bool same = uid.empty() || oob::raw_text(*now, {"metadata", "uid"}) == uid;
    outcome.state = same ? EvictionState::throttled : EvictionState::replaced;
  }
  return outcome;
}

Result<EvictionOutcome> Client::evict(const ObjectName& pod, std::string_view uid,
                                      std::optional<std::int64_t> grace_seconds) {
  Result<std::string> path = object_path(kPods, pod, "eviction");
  if (!path.ok()) return path.error();
  const Result<std::string> version = eviction_version();
  if (!version.ok()) return version.error();
  Value options = Value::map();
  if (grace_seconds) options.set("gracePeriodSeconds", Value(*grace_seconds));
  if (!uid.empty()) options["preconditions"].set("uid", Value(uid));
  Value body = Value::map({{"apiVersion", Value(*version)}, {"kind", Value("Eviction")}});
  body["metadata"].set("name", Value(pod.name)).set("namespace", Value(pod.kube_namespace));
  if (!options.empty()) body.set("deleteOptions", std::move(options));

  ApiRequest request;
  request.method = "POST";
  request.target = std::move(path).value();
  request.body = write_json_line(body);
  request.content_type = "application/json";
  request.deadline = options_.deadline;
  // 429 is an answer here: the budget does not allow it. Repeating it is the caller's decision.
  const Result<ApiResponse> response = exchange(request, Retry::never);
  if (!response.ok()) return response.error();
  if (response->status >= 200 && response->status < 300) return EvictionOutcome{};
  const ApiStatus status = read_status(*response);
  EvictionOutcome outcome{EvictionState::ambiguous, status.message, status.retry_after};
  if (status.code == 429) {
    outcome.state = status.has_cause("DisruptionBudget") ? EvictionState::budget : EvictionState::throttled;
    for (const StatusCause& cause : status.causes) {  // it names the budget, which the message does not
      if (cause.reason == "DisruptionBudget") outcome.text += fmt::format(" {}", cause.message);
    }
  } else if (status.code == 404) {
    outcome.state = EvictionState::gone;
  } else if (status.code == 409) {
    return explain_eviction_conflict(pod, uid, std::move(outcome));
  } else if (status.code < 500) {
    return to_error({"create", kPods, pod, "eviction"}, status);
  }
  return outcome;
}

}  // namespace weft::kube
