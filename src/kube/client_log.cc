// Output of containers: the API server asks the kubelet of the pod's node for it.
#include "kube/client.h"

namespace weft::kube {

Result<std::string> Client::read_log(const ObjectName& pod, const LogQuery& query) {
  Result<std::string> path = object_path(kPods, pod, "log");
  if (!path.ok()) return path.error();
  Query parameters{{"container", query.container}, {"limitBytes", std::to_string(query.limit_bytes)}};
  if (query.tail_lines > 0) parameters.emplace_back("tailLines", std::to_string(query.tail_lines));
  if (!query.since.empty()) parameters.emplace_back("sinceTime", query.since);
  if (query.timestamps) parameters.emplace_back("timestamps", "true");
  ApiRequest request;
  request.target = with_query(std::move(path).value(), parameters);
  request.deadline = options_.deadline;
  request.max_bytes = static_cast<std::size_t>(query.limit_bytes) + (std::size_t{64} << 10U);
  const ApiCall call{"get", kPods, pod, "log"};
  Result<ApiResponse> response = exchange(request, Retry::reads);
  if (!response.ok())
    return Error{response.error().code, describe(call) + ": " + response.error().message, response.error().where};
  if (response->status == 200) return std::move(response->body);
  Error error = to_error(call, read_status(*response));
  // "container "x" in pod "y" is waiting to start: ContainerCreating"
  if (response->status == 400 && error.message.find("waiting to start") != std::string::npos)
    error.code = ErrorCode::conflict;
  return error;
}

}  // namespace weft::kube
