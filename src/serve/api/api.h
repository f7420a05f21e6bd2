// API of `weft serve`: what HTTP requests mean. Queries are answered from the controller's state; requests that change
// something become control::Requests for the next turn of the control loop and are answered when its records are
// durable. Journal records are sent to clients that follow the events. It owns no socket and no loop.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "serve/api/caller.h"
#include "serve/api/log_source.h"
#include "serve/api/views.h"
#include "serve/http/responder.h"
#include "serve/submit/submission.h"
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

struct ApiOptions {
  std::uint32_t server_uid = 0;
  const world::World* watched = nullptr;  // watch mode: the engine whose jobs are shown
  ContainerRuntime containers = ContainerRuntime::none;
  std::vector<lease::LeaseOwner> engines;  // that share the nodes; empty: there is one
  std::string log_directory;               // of the engine: JOB.ATTEMPT.TASK.log
  LogSource* logs = nullptr;               // of an engine that keeps the output elsewhere; must outlive the API
};

// A request in the course of its handling.
struct ApiCall {
  HttpRequest request;
  Responder responder;
  Caller caller;
  std::vector<std::string> parameters;  // the {...} of the route, in order
};

class Api {
 public:
  Api(world::ControlLoop& loop, store::Store& store, std::shared_ptr<const model::Cluster> cluster, ApiOptions options);

  void handle(HttpRequest request, Responder responder);

  // For the turn of the control loop: the requests since the last one. None while the store is full.
  [[nodiscard]] std::vector<control::Request> take_requests();
  // After the turn, or a failed one: answers what is durable.
  void finish_turn(const world::TurnResult& result);
  // Sends new journal records to those who follow them.
  void publish();
  // The time of the journal, and figures for /v1/server. Before each batch of requests.
  void set_time(sched::Moment now) { now_ = now; }
  ServerFacts& facts() { return facts_; }
  [[nodiscard]] bool has_followers() const { return !followers_.empty(); }

  // "GET /v1/jobs/{job}" and what it does, for the documentation.
  struct RouteInfo {
    std::string_view method;
    std::string_view pattern;
    std::string_view about;
  };
  [[nodiscard]] static std::vector<RouteInfo> routes();

 private:
  struct Route;
  struct Follower {
    EventStream stream;
    store::Sequence sent = 0;
    control::JobNumber job = 0;  // 0: all
  };
  struct Waiting {
    Responder responder;
    OutputStyle style;
    bool submits = false;
  };

  static const std::vector<Route>& table();

  // queries.cc
  void get_server(const ApiCall& call);
  void get_jobs(const ApiCall& call);
  void get_job(const ApiCall& call);
  void get_observed(const ApiCall& call, std::optional<Document> (*view_of)(const ViewContext&, std::string_view));
  void get_why(const ApiCall& call);
  void get_logs(const ApiCall& call);
  void respond_log(const Responder& responder, const Result<LogPiece>& piece) const;
  void get_nodes(const ApiCall& call);
  void get_node(const ApiCall& call);
  void get_queue(const ApiCall& call);
  void get_reservations(const ApiCall& call);
  void get_leases(const ApiCall& call);
  void get_lease(const ApiCall& call);
  void get_events(const ApiCall& call);

  // changes.cc
  void submit_job(const ApiCall& call);
  void change_job(const ApiCall& call);
  void change_node(const ApiCall& call);
  void reserve(const ApiCall& call);
  void unreserve(const ApiCall& call);
  void move_leases(const ApiCall& call);
  void enqueue(const ApiCall& call, control::Request request);

  [[nodiscard]] ViewContext view(const ApiCall& call) const {
    return {loop_.controller(), now_, call.caller,
            options_.watched == nullptr ? nullptr : options_.watched->observation()};
  }
  // Whether the engine's jobs are shown; after an error response also if none are known yet.
  [[nodiscard]] bool is_watching() const { return options_.watched != nullptr; }
  [[nodiscard]] bool is_observed(const ApiCall& call) const;
  // Answers in the format that the request asks for.
  void respond(const ApiCall& call, const Document& document) const;
  // Nullopt after an error response.
  [[nodiscard]] static std::optional<control::JobNumber> job_number(const ApiCall& call);
  [[nodiscard]] std::optional<sched::NodeId> node_id(const ApiCall& call) const;
  [[nodiscard]] std::optional<std::vector<sched::NodeId>> nodes_of(const ApiCall& call, const std::string& list) const;
  // Whether nodes are leased; otherwise after an error response.
  [[nodiscard]] bool has_leases(const ApiCall& call) const;
  void send_events(const std::shared_ptr<Follower>& follower);

  world::ControlLoop& loop_;
  store::Store& store_;
  std::shared_ptr<const model::Cluster> cluster_;
  ApiOptions options_;
  ServerFacts facts_;
  sched::Moment now_{};
  std::uint64_t last_request_ = 0;
  std::vector<control::Request> requests_;
  std::map<std::uint64_t, Waiting> waiting_;
  std::list<std::shared_ptr<Follower>> followers_;
};

// The format of ?output= (table, wide, json, yaml, ndjson, csv) and ?color=; JSON without it. Nullopt: unknown.
[[nodiscard]] std::optional<OutputStyle> output_style(const HttpRequest& request);
[[nodiscard]] int status_of(ErrorCode code);

}  // namespace weft::serve
