// SimServer: event streams. A stream is sent event by event as its client reads, so it never holds more than one.
#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bmcsim/server.h"

namespace weft::bmcsim {
namespace {

constexpr std::size_t kChunk = 16384;
constexpr int kMaxReads = 4;  // of what a client sends on its stream, before others are served

std::string chunk_of(const std::string& text, bool chunked) {
  return chunked ? fmt::format("{:x}\r\n{}\r\n", text.size(), text) : text;
}

}  // namespace

SimServer::Moved SimServer::begin_stream(Connection& connection, const SimReply& reply) {
  SimBmc& bmc = bmc_of(connection);
  const Duration now = clock_.now();
  connection.chunked = connection.reader.request().keep_alive;
  connection.out = to_wire(reply, true, connection.chunked, world_.wall_ms(now));
  connection.sent = 0;
  connection.stream = reply.stream;
  connection.comment_due = now + world_.options.keep_alive;
  connection.phase = Phase::streaming;
  connection.in_flight = false;
  --bmc.counters.in_flight;
  ++bmc.counters.streams;
  streams_[connection.bmc].push_back(connection.socket);
  return Moved::on;
}

SimServer::Moved SimServer::stream(Connection& connection) {
  SimBmc& bmc = bmc_of(connection);
  const Duration now = clock_.now();
  if (bmc.away(now)) {
    close(connection, true);
    return Moved::gone;
  }
  bmc.advance(now);
  if (!ignore_input(connection)) {
    close(connection);
    return Moved::gone;
  }
  return send_events(connection);
}

SimServer::Moved SimServer::send_events(Connection& connection) {
  SimBmc& bmc = bmc_of(connection);
  while (true) {
    if (connection.sent == connection.out.size()) {
      std::string text = connection.stream->next(bmc);
      if (text.empty() && connection.stream->is_over(bmc)) {
        end_stream(connection);
        return Moved::gone;
      }
      if (text.empty() && connection.stream->drops(bmc)) {
        close(connection);
        return Moved::gone;
      }
      const Duration now = clock_.now();
      if (text.empty() && now >= connection.comment_due) text = SimEventStream::kKeepAlive;
      if (text.empty()) break;
      connection.comment_due = now + world_.options.keep_alive;
      connection.out = chunk_of(text, connection.chunked);
      connection.sent = 0;
    }
    const int put = send(connection, connection.out.data() + connection.sent, connection.out.size() - connection.sent);
    if (put == 0) return Moved::waits;
    if (put < 0) {
      close(connection);
      return Moved::gone;
    }
    connection.last_active = clock_.now();
    connection.sent += static_cast<std::size_t>(put);
  }
  connection.out.clear();
  connection.sent = 0;
  watch(connection, EPOLLIN);
  plan_stream(connection);
  return Moved::waits;
}

// Nothing may follow the request of a stream: it never ends. False if the client closed the connection.
bool SimServer::ignore_input(Connection& connection) {
  std::array<char, kChunk> bytes{};
  for (int i = 0; i < kMaxReads; ++i) {
    const int got = receive(connection, bytes.data(), static_cast<int>(bytes.size()));
    if (got < 0) return false;
    if (got == 0) return true;
  }
  return true;
}

// The next time at which there may be something to send without a request.
void SimServer::plan_stream(Connection& connection) {
  const SimBmc& bmc = bmc_of(connection);
  Duration due = std::min(connection.comment_due, bmc.next_change());
  if (const std::optional<Duration> late = connection.stream->due(bmc)) due = std::min(due, *late);
  if (due == connection.due) return;
  connection.due = due;
  at(due, connection);
}

void SimServer::end_stream(Connection& connection) {
  constexpr std::string_view kLastChunk = "0\r\n\r\n";
  // If the client reads nothing, it is not told.
  if (connection.chunked && connection.sent == connection.out.size())
    (void)send(connection, kLastChunk.data(), kLastChunk.size());
  close(connection);
}

void SimServer::forget_stream(const Connection& connection) {
  bmc_of(connection).unsubscribe(connection.stream->subscription());
  const auto found = streams_.find(connection.bmc);
  if (found == streams_.end()) return;
  std::erase(found->second, connection.socket);
  if (found->second.empty()) streams_.erase(found);
}

// To the streams of the BMCs in which something happened.
void SimServer::serve_pending_streams() {
  while (!world_.pending_streams.empty()) {
    for (const std::uint32_t device : std::exchange(world_.pending_streams, {})) {
      bmcs_[device].clear_pending_streams();
      const auto streams = streams_.find(device);
      if (streams == streams_.end()) continue;
      for (const int socket : std::vector<int>(streams->second)) {
        const auto found = connections_.find(socket);
        if (found != connections_.end() && found->second->phase == Phase::streaming) drive(*found->second);
      }
    }
  }
}

}  // namespace weft::bmcsim
