// How a handler answers an HTTP request, now or later: with one response, or with a stream of server-sent events. Both
// stay safe after the client or the server has gone. The connection behind them is an interface, so that handlers can
// be tested without a socket; the server's own is in server.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "serve/http/message.h"

namespace weft::serve {

// One client, as its requests' handler sees it: it waits for the response to one request, or follows a stream.
class HttpConnection {
 public:
  HttpConnection() = default;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  virtual ~HttpConnection() = default;

  virtual void respond(const HttpResponse& response) = 0;
  virtual bool open_stream() = 0;  // false: nothing can be sent
  [[nodiscard]] virtual bool has_reader() const = 0;

  // Of an open stream; otherwise they do nothing.
  virtual bool send_event(std::uint64_t id, std::string_view event, std::string_view data) = 0;
  virtual void end_stream() = 0;
  [[nodiscard]] virtual bool is_streaming() const = 0;
  [[nodiscard]] virtual std::size_t buffered_bytes() const = 0;
  virtual void notify_when_drained(std::function<void()> callback) = 0;
};

// A stream of server-sent events to one client. Copies are the same stream. For the server's thread only.
class EventStream {
 public:
  EventStream() = default;  // closed
  explicit EventStream(std::weak_ptr<HttpConnection> connection) : connection_(std::move(connection)) {}

  // False: the client has gone, or has not read HttpOptions::max_stream_bytes of earlier events; the stream is closed
  // then. An event larger than that is accepted if nothing is buffered.
  bool send(std::uint64_t id, std::string_view event, std::string_view data);
  // Ends the stream after what is buffered; the client sees a complete response.
  void close();
  [[nodiscard]] bool is_open() const;

  // For sending a long history without exceeding the limit: the callback runs once, from the event loop, as soon as
  // nothing is buffered. It does not run if the stream closes first.
  [[nodiscard]] std::size_t buffered_bytes() const;
  void notify_when_drained(std::function<void()> callback);

 private:
  std::weak_ptr<HttpConnection> connection_;
};

// Answers one request: exactly one of respond() and open_stream(), once. Copies answer the same request. If the last
// copy is dropped without an answer, the client gets a 500. For the server's thread only.
class Responder {
 public:
  explicit Responder(std::weak_ptr<HttpConnection> connection);

  void respond(const HttpResponse& response) const;
  // The response is a stream of events (200, text/event-stream).
  [[nodiscard]] EventStream open_stream() const;
  // The client has closed the connection: the response will not be read.
  [[nodiscard]] bool is_gone() const;

 private:
  class Exchange;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace weft::serve
