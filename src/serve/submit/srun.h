// What a batch script may do with Slurm's commands: checks its commands at submission, and builds the command of the
// job that runs it with assets/serve/srun_prelude.sh. Internal to serve/submit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serve/submit/draft.h"

namespace weft::serve {

struct ScriptUse {
  bool requeues = false;  // it calls `scontrol requeue`
};

// Reports options of srun that weft cannot honor, other commands of Slurm, unterminated quotes; and warns once about
// commands that Slurm would run on the first node only. `tasks_per_node` is what --ntasks-per-node says.
[[nodiscard]] ScriptUse check_script(const SubmitContext& context, const JobDraft& draft);

struct ScriptSettings {
  std::int64_t tasks_per_node = 1;
  std::int64_t gpus_per_task = 0;  // 0: all GPUs of the node are visible to every task
  std::string forwarded_signal;    // "USR1": the script passes it on to what srun started; "": none
};
// Interpreter, -c, prelude, name of the job, script.
[[nodiscard]] std::vector<std::string> script_command(const std::vector<std::string>& interpreter,
                                                      std::string_view script, std::string_view name,
                                                      const ScriptSettings& settings);

}  // namespace weft::serve
