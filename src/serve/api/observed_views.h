// Views of watch mode: the engine's own jobs, why they wait, and what weft would do to nodes if it were enabled.
#pragma once

#include <optional>
#include <string_view>

#include "base/document.h"
#include "serve/api/views.h"
#include "world/core/observed.h"

namespace weft::serve {

// Each needs ViewContext::observed with a complete list. The tenant of a job is its account in Slurm and its namespace
// in Kubernetes; a partition belongs to no tenant.
[[nodiscard]] Document observed_jobs_view(const ViewContext& context, const JobFilter& filter);
// nullopt: the engine's list has no such job.
[[nodiscard]] std::optional<Document> observed_job_view(const ViewContext& context, std::string_view id);
[[nodiscard]] std::optional<Document> observed_why_view(const ViewContext& context, std::string_view id);
[[nodiscard]] Document observed_queue_view(const ViewContext& context, std::size_t limit);

// The node as the engine's last list shows it; null outside of watch mode.
[[nodiscard]] const world::ObservedNode* find_observed_node(const ViewContext& context, const std::string& name);
[[nodiscard]] bool is_visible(const world::ObservedJob& job, const ViewContext& context);
// GPUs that visible jobs use there.
[[nodiscard]] std::uint32_t observed_gpus_used(const ViewContext& context, const world::ObservedNode& node);
[[nodiscard]] std::string observed_jobs_text(const ViewContext& context, const world::ObservedNode& node);

void add_watch_facts(const ViewContext& context, const ServerFacts& server, FactsSection& facts);
// Open proposals; none: no section.
void add_proposals(const ViewContext& context, Document& document);
void add_proposal_facts(const ViewContext& context, sched::NodeId node, FactsSection& facts);

}  // namespace weft::serve
