// Views of the control plane's state as documents: jobs, nodes, the queue, the server itself. Read-only; the same
// document becomes a table, JSON or YAML, for the API and for the commands.
//
// A view has what its reader may see, and nothing is removed from it later. Other tenants appear in totals of the
// cluster only: not by name, not by number, not per node, not in texts that people or engines wrote.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "access/identity/access.h"
#include "base/document.h"
#include "control/controller.h"
#include "sched/explain/explain.h"
#include "serve/http/server.h"
#include "world/core/observed.h"

namespace weft::serve {

struct ViewContext {
  const control::Controller& controller;
  sched::Moment now{};  // of the journal
  const access::Access& access;
  const world::Observation* observed = nullptr;  // watch mode
};

// A job that the reader may see; both null: there is none, or it is another tenant's. The work is the same, so that the
// time does not tell which.
struct VisibleJob {
  const control::Job* job = nullptr;
  const control::EndedJob* ended = nullptr;
  [[nodiscard]] bool exists() const { return job != nullptr || ended != nullptr; }
};
[[nodiscard]] VisibleJob find_visible(const control::ControlState& state, const access::Access& access,
                                      control::JobNumber number);
[[nodiscard]] bool is_visible(const control::Job& job, const access::Access& access);
// For the texts of the scheduler. `access` must outlive it.
[[nodiscard]] sched::Audience audience_of(const access::Access& access);

struct JobFilter {
  std::string user;   // "": all
  std::string state;  // as shown; "": all
  bool ended = false;
  std::size_t limit = 200;  // of ended jobs, the newest first
};
// As shown: a job that waits because it is held is "held", one that is being canceled "canceling".
[[nodiscard]] std::string shown_state(const control::Job& job);
[[nodiscard]] Document jobs_view(const ViewContext& context, const JobFilter& filter);
// nullopt: there is no such job, it is another tenant's, or it ended so long ago that it was forgotten.
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

inline constexpr std::string_view kLeaderRole = "leader";
inline constexpr std::string_view kFollowerRole = "follower";

struct ServerFacts {
  std::string version;
  std::string cluster;
  std::string engine;
  std::string enabled;  // watch mode: stages that were enabled; "": none
  std::string state_directory;
  std::string store_problem;  // "": records are durable
  std::string role;           // with the journal in etcd: kLeaderRole or kFollowerRole
  std::string leader;         // its address; "": none or not known
  std::string stale;          // of a follower: how old its state may be, "0.8 s"
  sched::Moment started{};
  std::uint64_t sequence = 0;
  HttpCounters http;
};
[[nodiscard]] Document server_view(const ViewContext& context, const ServerFacts& facts);

// ISO 8601 in machine formats; for people, how long ago.
[[nodiscard]] Cell time_cell(sched::Moment at, sched::Moment now);
[[nodiscard]] std::string utc_text(sched::Moment at);

}  // namespace weft::serve
