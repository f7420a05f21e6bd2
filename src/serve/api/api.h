// API of `weft serve`: what HTTP requests mean. Queries are answered from the controller's state; requests that change
// something become control::Requests for the next turn of the control loop and are answered when its records are
// durable. Journal records are sent to clients that follow the events. It owns no socket and no loop, and it does not
// know how callers prove who they are: see gatekeeper.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "serve/api/caller.h"
#include "serve/api/gatekeeper.h"
#include "serve/api/log_source.h"
#include "serve/api/parameters.h"
#include "serve/api/reply.h"
#include "serve/api/views.h"
#include "serve/submit/submission.h"
#include "serve/table/route.h"
#include "store/store.h"
#include "world/core/control_loop.h"

namespace weft::serve {

// Header of query responses: the last journal record that the answer reflects. Following the events from it misses
// none.
inline constexpr const char* kSequenceHeader = "weft-sequence";
// Header of log responses: where the next piece begins.
inline constexpr const char* kLogPositionHeader = "weft-log-position";
// Header of query responses in watch mode, with the value "watch": jobs are the engine's and change without records.
inline constexpr const char* kModeHeader = "weft-mode";
// Header of a page of a list that is not the last: the value of ?page= for the next one.
inline constexpr const char* kNextPageHeader = "weft-next-page";

// Headers of query responses of a server with its journal in etcd: "leader" or "follower"; of a follower, how old its
// state may be ("0.8 s", or "unknown"). Of a change that a follower refuses: the address of the leader.
inline constexpr const char* kRoleHeader = "weft-role";
inline constexpr const char* kStaleHeader = "weft-stale";
inline constexpr const char* kLeaderHeader = "weft-leader";

struct ApiOptions {
  std::uint32_t server_uid = 0;
  const world::World* watched = nullptr;  // watch mode: the engine whose jobs are shown
  ContainerRuntime containers = ContainerRuntime::none;
  std::vector<lease::LeaseOwner> engines;  // that share the nodes; empty: there is one
  std::string log_directory;               // of the engine: JOB.ATTEMPT.TASK.log
  LogSource* logs = nullptr;               // of an engine that keeps the output elsewhere; must outlive the API
  Gatekeeper* gatekeeper = nullptr;        // null: only the Unix socket, with its kernel credentials
};

// A request in the course of its handling.
struct ApiCall {
  HttpRequest request;
  Reply responder;
  Caller caller;
  std::string approved_by;  // the second person; "": none
  const RouteRow* row = nullptr;
  std::vector<std::string> path;  // the {...} of the route, in order
  Parameters parameters;

  [[nodiscard]] const std::string& object() const { return path.front(); }
};

class Api {
 public:
  Api(world::ControlLoop& loop, store::Store& store, std::shared_ptr<const model::Cluster> cluster, ApiOptions options);

  // Another loop and store answer from now on: the controller leads now, or does not anymore. Requests that wait get a
  // 503 that says `why`, and streams of events end.
  void attach(world::ControlLoop& loop, store::Store& store, LogSource* logs, const std::string& why);

  void handle(HttpRequest request, const Responder& responder);
  // A request that a second person has approved, as its requester sent it.
  void carry_out(HttpRequest request, const Reply& reply, Caller caller, std::string approved_by);

  // For the turn of the control loop: the requests since the last one. None while the store is full.
  [[nodiscard]] std::vector<control::Request> take_requests();
  // After the turn, or a failed one: answers what is durable.
  void finish_turn(const world::TurnResult& result);
  // Sends new journal records to those who follow them, and ends the streams of those who may not any more. Reads a
  // limited number of records, so that a long history does not stop the loop.
  void publish();
  // Whether there are records that the next publish() sends without anything else happening.
  [[nodiscard]] bool has_unsent_events() const;
  // The time of the journal, and figures for /api/v1/server. Before each batch of requests.
  void set_time(sched::Moment now) { now_ = now; }
  ServerFacts& facts() { return facts_; }
  [[nodiscard]] bool has_followers() const { return !followers_.empty(); }

 private:
  struct Follower {
    EventStream stream;
    store::Sequence sent = 0;
    control::JobNumber job = 0;  // 0: all
    Caller caller;
  };
  struct Waiting {
    Reply responder;
    OutputStyle style;
    bool submits = false;
    bool creates = false;
    bool expect = false;  // the answer has the expected start
  };
  using Handler = void (Api::*)(const ApiCall&);

  // The handler of a row; null: the gatekeeper's.
  [[nodiscard]] static Handler handler_of(std::string_view id);

  void dispatch(HttpRequest request, const Reply& reply, Caller caller, std::string approved_by);
  // Decides what does not depend on the object. False after an error response.
  [[nodiscard]] bool may_call(const ApiCall& call) const;
  [[nodiscard]] bool read_call(ApiCall& call) const;
  [[nodiscard]] bool is_for_leader(const ApiCall& call) const;
  void run(const ApiCall& call);
  // Sends a request that changes something to the controller, once the gatekeeper admits it. `describe`: see there.
  void submit_change(const ApiCall& call, control::Request request, std::function<std::string()> describe = nullptr);

  // queries.cc
  void get_server(const ApiCall& call);
  void get_jobs(const ApiCall& call);
  void get_job(const ApiCall& call);
  void get_observed(const ApiCall& call, std::optional<Document> (*view_of)(const ViewContext&, std::string_view));
  void get_why(const ApiCall& call);
  void get_logs(const ApiCall& call);
  void respond_log(const Reply& responder, const Result<LogPiece>& piece) const;
  void get_nodes(const ApiCall& call);
  void get_node(const ApiCall& call);
  void get_queue(const ApiCall& call);
  void get_reservations(const ApiCall& call);
  void get_leases(const ApiCall& call);
  void get_lease(const ApiCall& call);
  void get_events(const ApiCall& call);

  // changes.cc
  void submit_job(const ApiCall& call);
  void check_job(const ApiCall& call);
  void change_job(const ApiCall& call);
  void change_node(const ApiCall& call);
  void reserve(const ApiCall& call);
  void unreserve(const ApiCall& call);
  void move_leases(const ApiCall& call);
  void enqueue(const ApiCall& call, control::Request request);
  // The job of a submission; nullopt after an error response.
  [[nodiscard]] std::optional<control::JobSpec> read_job_spec(const ApiCall& call) const;
  // When a waiting job starts, by a forecast on a copy of the scheduler; null: never, or not known.
  [[nodiscard]] Cell expected_start(control::JobNumber number) const;

  // A request may be handled later than it came, after a turn.
  [[nodiscard]] sched::Moment now() const { return std::max(now_, loop_->turned_at()); }
  [[nodiscard]] ViewContext view(const ApiCall& call) const {
    return {loop_->controller(), now(), call.caller.access,
            options_.watched == nullptr ? nullptr : options_.watched->observation()};
  }
  // Whether the engine's jobs are shown; after an error response also if none are known yet.
  [[nodiscard]] bool is_watching() const { return options_.watched != nullptr; }
  [[nodiscard]] bool is_observed(const ApiCall& call) const;
  // Answers in the format that the request asks for.
  void respond(const ApiCall& call, Document document, const std::string& tag = {}) const;
  // Nullopt after an error response.
  [[nodiscard]] static std::optional<control::JobNumber> job_number(const ApiCall& call);
  [[nodiscard]] std::optional<sched::NodeId> node_id(const ApiCall& call) const;
  [[nodiscard]] std::optional<std::vector<sched::NodeId>> nodes_of(const ApiCall& call, const std::string& list) const;
  // Whether nodes are leased; otherwise after an error response.
  [[nodiscard]] bool has_leases(const ApiCall& call) const;
  void send_events(const std::shared_ptr<Follower>& follower);

  world::ControlLoop* loop_;
  store::Store* store_;
  std::shared_ptr<const model::Cluster> cluster_;
  ApiOptions options_;
  ServerFacts facts_;
  sched::Moment now_{};
  std::uint64_t last_request_ = 0;
  std::vector<control::Request> requests_;
  std::map<std::uint64_t, Waiting> waiting_;
  std::list<std::shared_ptr<Follower>> followers_;
  std::size_t reads_left_ = 0;  // records that followers may read before the next publish()
};

// The format of ?output= (table, wide, json, yaml, ndjson, csv), ?color= and ?width=; JSON without it. Nullopt:
// unknown.
[[nodiscard]] std::optional<OutputStyle> output_style(const HttpRequest& request);
[[nodiscard]] int status_of(ErrorCode code);
// Identifies a state of an object: the entity tag (RFC 9110 section 8.8.3) of its text.
[[nodiscard]] std::string entity_tag(std::string_view text);
// Whether If-Match (strong comparison) or If-None-Match (weak) lists the tag of an object that exists, or has "*": RFC
// 9110 sections 8.8.3.2, 13.1.1 and 13.1.2.
enum class TagComparison : std::uint8_t { strong, weak };
[[nodiscard]] bool matches_tag(std::string_view condition, std::string_view tag, TagComparison comparison);

}  // namespace weft::serve
