// Input shared by the scheduler commands: the machine (a cluster file, an openb node list, or servers described on the
// command line), the tenants with their quotas, and the job trace, read and cut according to the options.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/framework/context.h"
#include "cli/framework/option_reader.h"
#include "sched/machine/plain_machine.h"
#include "sched/replay/replay.h"
#include "sched/traces/workload.h"

namespace weft::cli {

struct SchedInput {
  std::unique_ptr<model::Loaded> loaded;  // sources and diagnostics; has a cluster if a cluster file was named
  std::shared_ptr<const sched::Machine> machine;
  std::string machine_name;
  std::vector<sched::TenantPolicy> tenants;
  sched::Workload workload;
  std::string trace_name;
  std::vector<std::string> notes;  // how the trace was read and changed
};

// CLUSTER and TRACE; CLUSTER is omitted if --nodes or --plain describes the machine.
[[nodiscard]] std::vector<Argument> sched_arguments();
[[nodiscard]] std::vector<Option> sched_input_options();

// Reads everything and reports problems. Returns the exit code if the input cannot be used. The first `skipped` words
// of the line are not CLUSTER and TRACE.
[[nodiscard]] std::optional<Exit> open_sched(Context& context, SchedInput& input, std::size_t skipped = 0);

// In two steps, for commands whose trace is an option: the machine of a cluster file or --plain, then a trace for it.
[[nodiscard]] std::optional<Exit> open_sched_machine(Context& context, const std::string& cluster, SchedInput& input);
[[nodiscard]] std::optional<Exit> open_sched_trace(Context& context, const std::string& path, SchedInput& input);

// NODES@TIME[+DURATION] of --lose: the nodes are lost at that time of the trace.
[[nodiscard]] std::vector<sched::NodeFailure> read_failures(OptionReader& reader, const sched::Machine& machine);

// The comma-separated parts.
[[nodiscard]] std::vector<std::string> comma_parts(std::string_view text);

}  // namespace weft::cli
