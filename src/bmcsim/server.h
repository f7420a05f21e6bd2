// The connections of all simulated BMCs, in one thread: epoll, TLS, HTTP, event streams, and a timer queue for due
// responses. Slow BMCs cost nothing while they wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bmcsim/bmc.h"
#include "bmcsim/http.h"
#include "bmcsim/listener.h"
#include "bmcsim/service.h"
#include "bmcsim/tls.h"

namespace weft::bmcsim {

class SimServer {
 public:
  // `mutex` guards world and bmcs; the server holds it while it works, never while it waits. `tls`: null for plain
  // HTTP.
  SimServer(SimWorld& world, std::vector<SimBmc>& bmcs, std::mutex& mutex, oob::Clock& clock, SimTls* tls);
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;
  ~SimServer();

  [[nodiscard]] Status open(std::uint16_t port);
  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
  void serve();           // until stop()
  void stop();            // from any thread
  void wake();            // from any thread: the state of a BMC was changed by other means than a request
  void faults_changed();  // with the mutex held

 private:
  enum class Phase : std::uint8_t { handshake, reading, thinking, writing, streaming, draining, mute };
  struct Connection {
    int socket = -1;
    std::uint32_t bmc = 0;
    std::uint64_t serial = 0;
    Phase phase = Phase::handshake;
    ReplyShape shape = ReplyShape::whole;
    bool close_after = false;
    bool refused = false;  // the client may still be sending a rejected request
    bool in_flight = false;
    std::uint32_t watched = 0;  // epoll events
    SSL* ssl = nullptr;
    SimTls::Choice choice;
    HttpReader reader;
    std::string out;
    std::size_t sent = 0;

    // Of Phase::streaming.
    std::optional<SimEventStream> stream;
    bool chunked = false;
    Duration comment_due;  // when a comment keeps the connection alive

    Duration last_active;
    Duration due;  // when a thinking connection responds, a draining one is closed, a streaming one has more
  };
  struct Timer {
    Duration when;
    int socket = -1;  // kListening: the listener
    std::uint64_t serial = 0;
    friend bool operator>(const Timer& a, const Timer& b) { return a.when > b.when; }
  };
  enum class Moved : std::uint8_t { on, waits, gone };

  void take_callers();
  void greet(const SimListener::Caller& caller);
  // Advances a connection as far as possible without blocking. It may be closed afterwards.
  void drive(Connection& connection);
  Moved shake_hands(Connection& connection);
  Moved read(Connection& connection);
  Moved after_read(Connection& connection, HttpReader::State state);
  Moved think(Connection& connection);
  Moved answer(Connection& connection);
  Moved write(Connection& connection);
  Moved write_strange(Connection& connection);
  Moved answered(Connection& connection);
  Moved drain(Connection& connection);
  // server_stream.cc
  Moved begin_stream(Connection& connection, const SimReply& reply);
  Moved stream(Connection& connection);
  Moved send_events(Connection& connection);
  bool ignore_input(Connection& connection);
  void plan_stream(Connection& connection);
  void end_stream(Connection& connection);  // with the last chunk
  void forget_stream(const Connection& connection);
  void serve_pending_streams();
  // Bytes moved, 0 if it would block (the events are set), -1 if the connection is closed.
  int receive(Connection& connection, char* into, int most);
  int send(Connection& connection, const char* from, std::size_t size);
  void watch(Connection& connection, std::uint32_t events);
  void close(Connection& connection, bool reset = false);
  void at(Duration when, const Connection& connection);
  void fire_timers(Duration now);
  void sweep(Duration now);
  [[nodiscard]] int next_wait(Duration now) const;
  [[nodiscard]] SimBmc& bmc_of(const Connection& connection) { return bmcs_[connection.bmc]; }

  SimWorld& world_;
  std::vector<SimBmc>& bmcs_;
  std::mutex& mutex_;
  oob::Clock& clock_;
  SimTls* tls_;
  SimListener listener_;
  int epoll_ = -1;
  int wake_ = -1;
  std::vector<std::uint32_t> by_offset_;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;  // by socket
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::unordered_map<std::uint32_t, std::vector<int>> streams_;  // sockets by BMC
  std::atomic<bool> stopping_{false};
  std::uint64_t next_serial_ = 1;
  Duration next_sweep_;
};

}  // namespace weft::bmcsim
