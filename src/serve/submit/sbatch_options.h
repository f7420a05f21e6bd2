// Options of sbatch: reads #SBATCH lines by a table of every option of sbatch(1) in Slurm 22.05, plus --segment and
// those of pyxis. Options that weft cannot honor are errors. Internal to serve/submit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "serve/submit/draft.h"

namespace weft::serve {

// One use of an option, with its value.
struct OptionUse {
  std::string_view name;  // without dashes, of the table
  std::string value;
  SourceLocation place;
  std::size_t length = 1;  // of the word
};

// The values of a script's options. Counts are per job unless they say otherwise.
struct BatchRequest {
  explicit BatchRequest(const SubmitContext& submit_context) : context(submit_context) {}

  const SubmitContext& context;
  JobDraft draft;
  std::map<std::string_view, OptionUse> uses;  // the last of each option

  Sourced<std::int64_t> tasks;
  Sourced<std::int64_t> tasks_per_node;
  Sourced<std::int64_t> cpus_per_task;
  Sourced<std::int64_t> cpus_per_gpu;
  Sourced<std::int64_t> gpus;
  Sourced<std::int64_t> gpus_per_node;
  Sourced<std::int64_t> gpus_per_task;
  Sourced<std::int64_t> memory;  // MiB per node
  Sourced<std::int64_t> memory_per_cpu;
  Sourced<std::int64_t> memory_per_gpu;
  Sourced<std::string> output;
  Sourced<std::string> error;
  std::string forwarded_signal;  // the number of a signal that the script passes on; "" if it handles the signal itself
  bool never_requeue = false;
};

// How the steps of a script run on a node.
struct BatchLayout {
  std::int64_t tasks_per_node = 1;
  std::int64_t gpus_per_task = 0;  // 0: each task sees all GPUs of the node
};

// The rest of an #SBATCH line, which starts at `offset` of it.
void read_directive(BatchRequest& request, std::string_view text, std::size_t line, std::size_t offset);
// Reads the values of all options.
void apply_options(BatchRequest& request);
// Derives nodes, and the GPUs, CPUs and memory of each, and the variables that describe them.
[[nodiscard]] BatchLayout set_layout(BatchRequest& request);

}  // namespace weft::serve
