// Views of the control plane's state as documents: jobs, nodes, the queue, the server itself. Read-only; the same
// document becomes a table, JSON or YAML, for the API and for the commands.
#pragma once

#include <optional>
#include <string>

#include "base/document.h"
#include "control/controller.h"
#include "serve/api/caller.h"
#include "serve/http/server.h"
#include "world/core/observed.h"

namespace weft::serve {

struct ViewContext {
  const control::Controller& controller;
  sched::Moment now{};  // of the journal
  const Caller& caller;
  const world::Observation* observed = nullptr;  // watch mode
};

struct JobFilter {
  std::string user;   // "": all
  std::string state;  // as shown; "": all
  bool ended = false;
  std::size_t limit = 200;  // of ended jobs, the newest first
};
// As shown: a job that waits because it is held is "held", one that is being canceled "canceling".
[[nodiscard]] std::string shown_state(const control::Job& job);
[[nodiscard]] Document jobs_view(const ViewContext& context, const JobFilter& filter);
// nullopt: there is no such job, or it ended so long ago that it was forgotten.
[[nodiscard]] std::optional<Document> job_view(const ViewContext& context, control::JobNumber number);
// Why it waits, what would start it; where it runs and why there; how it ended.
[[nodiscard]] std::optional<Document> why_view(const ViewContext& context, control::JobNumber number);

[[nodiscard]] Document nodes_view(const ViewContext& context);
[[nodiscard]] Document node_view(const ViewContext& context, sched::NodeId node);
[[nodiscard]] Document reservations_view(const ViewContext& context);
// Only of a server with two engines.
[[nodiscard]] Document leases_view(const ViewContext& context);
[[nodiscard]] Document lease_view(const ViewContext& context, sched::NodeId node);
[[nodiscard]] Document queue_view(const ViewContext& context, std::size_t limit);

struct ServerFacts {
  std::string version;
  std::string cluster;
  std::string engine;
  std::string enabled;  // watch mode: stages that were enabled; "": none
  std::string state_directory;
  std::string store_problem;  // "": records are durable
  sched::Moment started{};
  std::uint64_t sequence = 0;
  HttpCounters http;
};
[[nodiscard]] Document server_view(const ViewContext& context, const ServerFacts& facts);

// ISO 8601 in machine formats; for people, how long ago.
[[nodiscard]] Cell time_cell(sched::Moment at, sched::Moment now);
[[nodiscard]] std::string utc_text(sched::Moment at);

}  // namespace weft::serve
