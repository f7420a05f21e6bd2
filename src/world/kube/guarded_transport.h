// Kubernetes API for watch mode: passes reads on, and of the changes only those of nodes for which quarantine was
// enabled, and evictions of pods on nodes for which drain was. Whatever the rest of weft does, no other change reaches
// the API server.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/api_status.h"
#include "kube/json_fields.h"
#include "kube/transport.h"

namespace weft::world {

class GuardedTransport final : public kube::Transport {
 public:
  using Permits = std::function<bool(const std::string& node)>;
  // `transport` must outlive it. The others are called from the thread of the requests.
  GuardedTransport(kube::Transport& transport, Permits quarantines, Permits drains)
      : transport_(transport), quarantines_(std::move(quarantines)), drains_(std::move(drains)) {}

  [[nodiscard]] Result<kube::ApiResponse> send(const kube::ApiRequest& request) override {
    if (request.method == "GET" || is_permitted(request) || is_permitted_eviction(request))
      return transport_.send(request);
    return Error{ErrorCode::invalid_input,
                 fmt::format("watch mode: {} {} is not enabled", request.method, path_of(request)),
                 {}};
  }
  [[nodiscard]] Result<std::unique_ptr<kube::ResponseStream>> open(const kube::ApiRequest& request) override {
    if (request.method == "GET") return transport_.open(request);
    return Error{ErrorCode::invalid_input, "watch mode: only reads are streams", {}};
  }

 private:
  static std::string path_of(const kube::ApiRequest& request) {
    return request.target.substr(0, request.target.find('?'));
  }
  // The object of a node itself, not one of its subresources. Node names need no escapes.
  [[nodiscard]] bool is_permitted(const kube::ApiRequest& request) const {
    constexpr std::string_view kPrefix = "/api/v1/nodes/";
    const std::string path = path_of(request);
    if (!path.starts_with(kPrefix) || (request.method != "PATCH" && request.method != "PUT")) return false;
    const std::string node = path.substr(kPrefix.size());
    return node.find_first_of("/%") == std::string::npos && quarantines_(node);
  }
  // Where the pod runs is asked here: what the caller knows may be old. The eviction names the pod by its uid, so that
  // it is refused if another one has taken the name meanwhile.
  [[nodiscard]] bool is_permitted_eviction(const kube::ApiRequest& request) const {
    constexpr std::string_view kSuffix = "/eviction";
    const std::string path = path_of(request);
    const std::vector<std::string_view> parts = split(path, '/');
    const bool is_eviction = request.method == "POST" && path.starts_with("/api/v1/namespaces/") && parts.size() == 8 &&
                             parts[5] == "pods" && path.ends_with(kSuffix);
    if (!is_eviction) return false;
    kube::ApiRequest read;
    read.target = path.substr(0, path.size() - kSuffix.size());
    read.deadline = request.deadline;
    const Result<kube::ApiResponse> answer = transport_.send(read);
    if (!answer.ok() || answer->status != 200) return false;
    const Result<Value> pod = kube::read_reply_json(answer->body);
    const Result<Value> body = kube::read_reply_json(request.body);
    if (!pod.ok() || !body.ok()) return false;
    const std::string uid = kube::raw_text(*body, {"deleteOptions", "preconditions", "uid"});
    return !uid.empty() && uid == kube::raw_text(*pod, {"metadata", "uid"}) &&
           drains_(kube::raw_text(*pod, {"spec", "nodeName"}));
  }

  kube::Transport& transport_;
  Permits quarantines_;
  Permits drains_;
};

}  // namespace weft::world
