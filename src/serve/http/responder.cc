#include "serve/http/responder.h"

#include "base/check.h"

namespace weft::serve {

// A request that was passed to the handler, and whether it was answered.
class Responder::Exchange {
 public:
  explicit Exchange(std::weak_ptr<HttpConnection> connection) : connection_(std::move(connection)) {}
  ~Exchange() {
    if (!answered_) respond(problem(500, "the request was dropped without a response"));
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void respond(const HttpResponse& response) {
    begin_answer();
    if (const auto connection = connection_.lock()) connection->respond(response);
  }
  EventStream open_stream() {
    begin_answer();
    const auto connection = connection_.lock();
    return connection && connection->open_stream() ? EventStream(connection_) : EventStream();
  }
  [[nodiscard]] bool is_gone() const {
    const auto connection = connection_.lock();
    return !connection || !connection->has_reader();
  }

 private:
  void begin_answer() {
    CHECK(!answered_, "a request has one response");
    answered_ = true;
  }

  std::weak_ptr<HttpConnection> connection_;
  bool answered_ = false;
};

Responder::Responder(std::weak_ptr<HttpConnection> connection)
    : exchange_(std::make_shared<Exchange>(std::move(connection))) {}

void Responder::respond(const HttpResponse& response) const { exchange_->respond(response); }
EventStream Responder::open_stream() const { return exchange_->open_stream(); }
bool Responder::is_gone() const { return exchange_->is_gone(); }

bool EventStream::send(std::uint64_t id, std::string_view event, std::string_view data) {
  const auto connection = connection_.lock();
  return connection && connection->send_event(id, event, data);
}

void EventStream::close() {
  if (const auto connection = connection_.lock()) connection->end_stream();
}

bool EventStream::is_open() const {
  const auto connection = connection_.lock();
  return connection && connection->is_streaming();
}

std::size_t EventStream::buffered_bytes() const {
  const auto connection = connection_.lock();
  return connection ? connection->buffered_bytes() : 0;
}

void EventStream::notify_when_drained(std::function<void()> callback) {
  if (const auto connection = connection_.lock()) connection->notify_when_drained(std::move(callback));
}

}  // namespace weft::serve
