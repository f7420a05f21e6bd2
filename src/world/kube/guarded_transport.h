// Kubernetes API for watch mode: passes reads on, and of the changes only those of nodes for which quarantine was
// enabled. Whatever the rest of weft does, no other change reaches the API server.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kube/transport.h"

namespace weft::world {

class GuardedTransport final : public kube::Transport {
 public:
  using Permits = std::function<bool(const std::string& node)>;
  // `transport` must outlive it. `permits` is called from the thread of the requests.
  GuardedTransport(kube::Transport& transport, Permits permits) : transport_(transport), permits_(std::move(permits)) {}

  [[nodiscard]] Result<kube::ApiResponse> send(const kube::ApiRequest& request) override {
    if (request.method == "GET" || is_permitted(request)) return transport_.send(request);
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
    return node.find_first_of("/%") == std::string::npos && permits_(node);
  }

  kube::Transport& transport_;
  Permits permits_;
};

}  // namespace weft::world
