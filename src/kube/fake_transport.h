// For tests: a Transport whose answers are scripted, one per request, in order. A request beyond the script fails the
// test. Time passes on a ManualClock: a read that finds nothing sleeps as long as it may.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/value.h"
#include "kube/transport.h"
#include "oob/durable/clock.h"

namespace weft::kube {

// One read of a scripted stream. Beyond the last one the stream is silent.
struct FakeRead {
  StreamBytes bytes{};
  std::optional<Error> error{};
};
inline FakeRead fake_bytes(std::string bytes) { return {{StreamState::open, std::move(bytes)}, {}}; }
inline FakeRead fake_close() { return {{StreamState::closed, {}}, {}}; }
inline FakeRead fake_break() { return {{}, Error{ErrorCode::timeout, "connection lost", {}}}; }

class FakeStream final : public ResponseStream {
 public:
  FakeStream(int status, std::deque<FakeRead> reads, oob::ManualClock& clock)
      : status_(status), reads_(std::move(reads)), clock_(clock) {}
  [[nodiscard]] int status() const override { return status_; }
  [[nodiscard]] Result<StreamBytes> read(Duration wait) override {
    if (reads_.empty()) {
      (void)clock_.sleep(wait);
      return StreamBytes{};
    }
    FakeRead next = std::move(reads_.front());
    reads_.pop_front();
    if (next.error) return *next.error;
    return std::move(next.bytes);
  }

 private:
  int status_;
  std::deque<FakeRead> reads_;
  oob::ManualClock& clock_;
};

class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(oob::ManualClock& clock) : clock_(clock) {}

  void answer(int status, std::string body, std::optional<int> retry_after = {}) {
    script_.push_back(ApiResponse{status, retry_after, std::move(body)});
  }
  void answer(const Value& body) { answer(200, write_json_line(body)); }
  void fail(ErrorCode code) { script_.push_back(Error{code, "scripted failure", {}}); }
  void stream(std::deque<FakeRead> reads, int status = 200) { script_.push_back(Streamed{status, std::move(reads)}); }

  [[nodiscard]] Result<ApiResponse> send(const ApiRequest& request) override {
    sent.push_back(request);
    if (script_.empty()) {
      ADD_FAILURE() << "unexpected request: " << request.method << " " << request.target;
      return Error{ErrorCode::unavailable, "no answer is scripted", {}};
    }
    Step step = std::move(script_.front());
    script_.pop_front();
    if (auto* error = std::get_if<Error>(&step)) return *error;
    if (auto* response = std::get_if<ApiResponse>(&step)) return std::move(*response);
    ADD_FAILURE() << "a stream is scripted, but this is a request: " << request.target;
    return Error{ErrorCode::unavailable, "a stream is scripted", {}};
  }
  [[nodiscard]] Result<std::unique_ptr<ResponseStream>> open(const ApiRequest& request) override {
    sent.push_back(request);
    if (script_.empty()) {
      ADD_FAILURE() << "unexpected stream: " << request.target;
      return Error{ErrorCode::unavailable, "no answer is scripted", {}};
    }
    Step step = std::move(script_.front());
    script_.pop_front();
    if (auto* error = std::get_if<Error>(&step)) return *error;
    if (auto* streamed = std::get_if<Streamed>(&step)) {
      return std::unique_ptr<ResponseStream>(
          std::make_unique<FakeStream>(streamed->status, std::move(streamed->reads), clock_));
    }
    ADD_FAILURE() << "a response is scripted, but this is a stream: " << request.target;
    return Error{ErrorCode::unavailable, "a response is scripted", {}};
  }

  [[nodiscard]] bool finished() const { return script_.empty(); }
  std::vector<ApiRequest> sent;

 private:
  struct Streamed {
    int status = 200;
    std::deque<FakeRead> reads;
  };
  using Step = std::variant<ApiResponse, Error, Streamed>;
  oob::ManualClock& clock_;
  std::deque<Step> script_;
};

// Objects and lists in the form of the API (Kubernetes API concepts, "Resource versions" and "Efficient detection of
// changes").
inline Value fake_object(std::string_view name, std::string_view uid, std::string_view version) {
  Value object = Value::map({{"apiVersion", Value("v1")}, {"kind", Value("Pod")}});
  object["metadata"].set("namespace", Value("a")).set("name", Value(name)).set("uid", Value(uid));
  object["metadata"].set("resourceVersion", Value(version));
  return object;
}
inline Value fake_list(std::vector<Value> items, std::string_view version, std::string_view token = {}) {
  Value list = Value::map({{"apiVersion", Value("v1")}, {"kind", Value("PodList")}});
  list["metadata"].set("resourceVersion", Value(version));
  if (!token.empty()) list["metadata"].set("continue", Value(token));
  list.set("items", Value(std::move(items)));
  return list;
}
inline std::string fake_event(std::string_view type, const Value& object) {
  return write_json_line(Value::map({{"type", Value(type)}, {"object", object}})) + "\n";
}
inline Value fake_status(int code, std::string_view reason, std::string_view message) {
  return Value::map({{"kind", Value("Status")},
                     {"apiVersion", Value("v1")},
                     {"status", Value("Failure")},
                     {"message", Value(message)},
                     {"reason", Value(reason)},
                     {"code", Value(code)}});
}

}  // namespace weft::kube
