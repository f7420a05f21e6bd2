// A part of the network on one thread: its events, its packets, and the handlers of its nodes. All shards together are
// the packet engine; with one shard it is a plain serial simulator. Handlers are grouped by file: packet/forward.cc
// (switches and ports, the hot path), packet/pause.cc (PFC, watchdog, storms), packet/sender.cc, packet/receiver.cc,
// packet/failure.cc.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "netsim/packet/congestion.h"
#include "netsim/packet/event_wheel.h"
#include "netsim/packet/packet.h"
#include "netsim/packet/world.h"

namespace weft::netsim {

// In order of precedence at equal times.
enum class EventKind : std::uint8_t {
  series,
  link_event,
  arrive,     // id: port, rest: packet
  port_free,  // id: port
  refresh,    // id: lane of the stopped port: renew the pause
  expire,     // id: lane: a pause expired
  storm,      // id: index of the storm
  pull,       // id: port
  paced,      // id: connection
  begin,      // id: transfer
  timeout,    // id: connection
  watchdog,   // id: lane
  converge,   // id: index of the link event whose routes now change
  taken,      // id: connection: the receiving host's software has read a message
};

// A packet on its way to a node of another shard.
struct Crossing {
  Event event;
  Packet packet;
  Telemetry telemetry;  // if the transport uses it
};

class PacketShard {
 public:
  PacketShard(PacketWorld& world, int number, int shards);

  // Puts the first events of this shard's nodes into the wheel.
  void start();
  // Handles every event before `limit` (ps), or until this shard has finished `rounds` rounds.
  void run_until(std::int64_t limit, std::uint64_t rounds = UINT64_MAX);
  [[nodiscard]] std::int64_t next_time() { return wheel_.next_time(); }
  // Imports what the other shard sent here since the last call.
  void take_from(PacketShard& other);

  // For each stopped lane of this shard's switches and NICs: the stopped lanes of the next switch that hold packets
  // that came through it, and so keep it stopped.
  void who_holds_whom(std::vector<std::vector<std::uint32_t>>& held_by);

  [[nodiscard]] std::int64_t now() const { return now_; }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] std::int64_t last_progress() const { return last_progress_; }
  [[nodiscard]] std::uint64_t trace() const { return trace_; }
  [[nodiscard]] const SimTotals& totals() const { return totals_; }
  [[nodiscard]] std::uint64_t rounds_done() const { return rounds_done_; }
  [[nodiscard]] const std::vector<PauseRecord>& pauses() const { return pauses_; }
  [[nodiscard]] std::uint64_t pauses_not_kept() const { return pauses_not_kept_; }
  [[nodiscard]] const std::vector<SeriesPoint>& series() const { return series_; }
  [[nodiscard]] std::int64_t last_completion() const { return last_completion_; }

 private:
  static std::uint64_t key(EventKind kind, std::uint64_t id, std::uint32_t packet = 0) {
    return (static_cast<std::uint64_t>(kind) << 60U) | (id << 32U) | packet;
  }
  void at(std::int64_t time, EventKind kind, std::uint64_t id) { wheel_.push({time, key(kind, id)}); }
  void dispatch(const Event& event);
  void prefetch();

  // packet/forward.cc
  void arrive(std::uint32_t port, std::uint32_t id);
  void forward(std::uint32_t in_port, std::uint32_t id);
  std::uint32_t pick_port(std::uint32_t node, const Packet& packet);
  void enqueue(std::uint32_t in_port, std::uint32_t out_port, std::uint32_t id);
  bool admit(std::uint32_t in_port, std::uint32_t out_port, const Packet& packet);
  void append(Lane& lane, Port& port, std::uint32_t id, Packet& packet);
  void port_free(std::uint32_t port);
  void serve(std::uint32_t port);
  std::uint32_t pick_queue(std::uint32_t port, std::uint32_t eligible);
  void serve_switch_queue(std::uint32_t port, std::uint32_t queue);
  void give_back(std::uint32_t node, const Packet& packet);
  void mark(std::uint32_t port, Packet& packet, std::int64_t queued);
  void transmit(std::uint32_t port, std::uint32_t id);
  void deliver_later(const Port& port, std::int64_t when, std::uint32_t port_id, std::uint32_t id);
  void record_telemetry(std::uint32_t port, std::uint32_t id);
  void drop(std::uint32_t port, std::uint32_t id);
  bool lost_on_wire(std::uint32_t port, const Packet& packet);
  bool refuses(std::uint32_t port, const Packet& packet);
  void wake(std::uint32_t port);
  void kick(std::uint32_t port);

  // packet/pause.cc
  void stop_sender(std::uint32_t in_port, std::uint32_t queue, std::uint32_t cause);
  void let_sender_go(std::uint32_t in_port, std::uint32_t queue);
  void want_pause_frame(std::uint32_t in_port, std::uint32_t queue);
  void send_pause_frame(std::uint32_t port);
  void receive_pause(std::uint32_t port, const Packet& packet);
  void obey(std::uint32_t port, std::uint32_t queue);
  void resume(std::uint32_t port, std::uint32_t queue);
  void refresh(std::uint32_t lane);
  void expire(std::uint32_t lane);
  void storm(std::uint32_t index);
  void watch(std::uint32_t lane);
  void watchdog(std::uint32_t lane);
  void discard_queue(std::uint32_t port, std::uint32_t queue);
  void record_pause(std::uint32_t in_port, std::uint32_t queue, std::uint32_t cause, bool stop);
  [[nodiscard]] std::int64_t pause_time(std::uint32_t port) const;

  // packet/sender.cc
  void begin(std::uint32_t transfer);
  void release_transfer(std::uint32_t transfer);
  void post_rounds(std::uint32_t transfer);
  void post_message(std::uint32_t connection);
  void activate(std::uint32_t connection);
  void make_ready(std::uint32_t connection);
  [[nodiscard]] bool may_send(std::uint32_t connection) const;
  void paced(std::uint32_t connection);
  void serve_endpoint_queue(std::uint32_t port, std::uint32_t queue);
  void send_data(std::uint32_t port, std::uint32_t connection);
  void settle_after_send(std::uint32_t connection, std::uint16_t wire);
  void set_rate(std::uint32_t connection);
  void receive_ack(std::uint32_t connection, std::uint32_t id);
  void adjust_window(std::uint32_t connection, std::uint32_t id, std::uint32_t before, std::int64_t bytes);
  void resend(std::uint32_t connection, std::uint32_t sequence);
  void receive_nack(std::uint32_t connection, const Packet& packet);
  void receive_notification(std::uint32_t connection);
  void receive_pull(std::uint32_t connection);
  void skip_to(std::uint32_t connection, std::uint32_t sequence);
  void go_back(std::uint32_t connection, std::uint32_t sequence);
  void timeout(std::uint32_t connection);
  void arm_timeout(std::uint32_t connection);
  void sender_finished(std::uint32_t connection);

  // packet/receiver.cc
  void deliver(std::uint32_t port, std::uint32_t id);
  void receive_data(std::uint32_t id);
  bool accept(std::uint32_t connection, const Packet& packet);
  bool accept_early(Receiver& receiver, std::uint32_t sequence);
  void advance(std::uint32_t connection);
  void take_early(std::uint32_t connection);
  void report_gap(std::uint32_t connection, std::uint32_t highest, std::uint32_t sequence);
  void send_control(std::uint32_t connection, PacketKind kind, std::uint32_t sequence);
  void send_from_endpoint(std::uint32_t port, std::uint32_t id);
  void message_ended(std::uint32_t connection);
  void message_taken(std::uint32_t connection);
  void finish_rounds(std::uint32_t transfer, std::uint32_t count);
  void round_finished(std::uint32_t transfer);
  void transfer_finished(std::uint32_t transfer);
  void owe_pulls(std::uint32_t connection, const Packet& packet);
  void pull(std::uint32_t port);

  // packet/failure.cc
  void link_event(std::uint32_t index);
  void fail_port(std::uint32_t port);
  void restore_port(std::uint32_t port);
  void converge(std::uint32_t index, bool everywhere);
  void reroute_all(std::uint32_t failed, bool everywhere);
  [[nodiscard]] bool goes_up(std::uint32_t port) const;
  void settle_plain(std::uint32_t port);
  void sample();

  [[nodiscard]] std::size_t lane_of(std::uint32_t port, std::uint32_t queue) const {
    return std::size_t{port} * queues_ + queue;
  }

  PacketWorld& world_;
  // Direct pointers to the world's arrays, which do not move; the table of routes moves when routes are added.
  Port* const ports_;
  Lane* const lanes_;
  Sender* const senders_;
  Receiver* const receivers_;
  const std::uint32_t* routes_;
  const std::uint32_t queues_;
  int number_ = 0;
  EventWheel wheel_;
  PacketPool pool_;
  std::int64_t now_ = 0;  // ps
  std::uint64_t trace_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t rounds_done_ = 0;
  std::int64_t last_progress_ = 0;
  std::int64_t last_completion_ = 0;
  SimTotals totals_;
  std::vector<std::vector<Crossing>> outboxes_;  // by shard
  std::vector<PauseRecord> pauses_;
  std::uint64_t pauses_not_kept_ = 0;
  std::vector<SeriesPoint> series_;
  SeriesPoint sampled_;  // totals at the last sample

  struct PullList {
    std::uint32_t first = kNil;
    std::uint32_t last = kNil;
    bool running = false;
  };
  std::vector<PullList> pull_lists_;  // by port, if a class is receiver-driven
  struct Flowlet {
    std::int64_t last = INT64_MIN / 2;
    std::uint32_t port = kNil;
  };
  std::unordered_map<std::uint64_t, Flowlet> flowlets_;  // by connection and node; looked up, never iterated
};

}  // namespace weft::netsim
