// The answer to one request of the API, now or later: what every answer carries (the request's id), and what has to
// happen when it is known (the outcome of an audited request). Copies are the same answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "serve/api/problem.h"
#include "serve/http/responder.h"

namespace weft::serve {

class Reply {
 public:
  using Observer = std::function<void(HttpResponse&, const Value& evidence)>;

  Reply(Responder responder, std::string request_id)
      : responder_(std::move(responder)), request_id_(std::move(request_id)), shared_(std::make_shared<Shared>()) {}

  // Called once with the answer, before it is sent; it may replace the answer. Several are called in order.
  void before_answer(Observer observer) const { shared_->observers.push_back(std::move(observer)); }

  // What the request has made, for the audit log: {"job": 7}.
  void add_evidence(std::string_view key, Value value) const {
    shared_->evidence.put(std::string(key), std::move(value));
  }

  void respond(HttpResponse response) const {
    for (const Observer& observer : std::exchange(shared_->observers, {})) observer(response, shared_->evidence);
    if (!request_id_.empty()) {
      response.headers.emplace_back("X-Request-Id", request_id_);
      add_request_id(response, request_id_);
    }
    responder_.respond(response);
  }
  [[nodiscard]] EventStream open_stream() const { return responder_.open_stream(); }
  [[nodiscard]] bool is_gone() const { return responder_.is_gone(); }

 private:
  struct Shared {
    std::vector<Observer> observers;
    Value evidence = Value::map();
  };

  Responder responder_;
  std::string request_id_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace weft::serve
