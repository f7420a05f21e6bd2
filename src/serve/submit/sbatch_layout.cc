// From the options of a script to nodes and what each of them needs: sbatch(1) has many ways to say it.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "serve/submit/sbatch_options.h"
#include "serve/submit/slurm_formats.h"

namespace weft::serve {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return b <= 0 ? 0 : (a + b - 1) / b; }

class LayoutBuilder {
 public:
  explicit LayoutBuilder(BatchRequest& request)
      : request_(request), context_(request.context), draft_(request.draft), node_(node_size(draft_, context_)) {}

  BatchLayout build() {
    set_nodes();
    set_tasks();
    set_gpus();
    set_cpus();
    set_memory();
    set_files();
    set_variables();
    return layout_;
  }

 private:
  [[nodiscard]] bool elastic() const {
    return draft_.min_nodes.has_value() && draft_.min_nodes.value < draft_.nodes.value;
  }

  // Without --nodes: as many as the tasks and GPUs need.
  void set_nodes() {
    if (draft_.min_nodes.has_value()) return;
    std::int64_t nodes = 1;
    if (request_.tasks.has_value() && request_.tasks_per_node.has_value()) {
      nodes = divide_up(request_.tasks.value, request_.tasks_per_node.value);
    } else if (request_.gpus.has_value()) {
      nodes = divide_up(request_.gpus.value,
                        request_.gpus_per_node.has_value() ? request_.gpus_per_node.value : node_.gpus);
    } else if (request_.tasks.has_value() && request_.gpus_per_task.has_value()) {
      nodes = divide_up(request_.tasks.value * request_.gpus_per_task.value, node_.gpus);
    } else if (request_.tasks.has_value()) {
      const std::int64_t cpus = request_.cpus_per_task.has_value() ? request_.cpus_per_task.value : 1;
      nodes = divide_up(request_.tasks.value, std::max<std::int64_t>(1, node_.cpus / cpus));
    }
    const SourceLocation place = request_.tasks.has_value() ? request_.tasks.place : request_.gpus.place;
    draft_.nodes = given_at(std::max<std::int64_t>(1, nodes), place);
  }

  void set_tasks() {
    if (request_.tasks_per_node.has_value()) layout_.tasks_per_node = request_.tasks_per_node.value;
    if (!request_.tasks.has_value()) return;
    const std::int64_t tasks = request_.tasks.value;
    if (elastic()) {
      if (request_.tasks_per_node.has_value()) return;
      return context_.error(request_.tasks.place, "--ntasks does not fit a range of nodes", "use --ntasks-per-node");
    }
    if (tasks % draft_.nodes.value != 0) {
      return context_.error(request_.tasks.place, fmt::format("{} tasks cannot be divided equally among {} nodes",
                                                              tasks, draft_.nodes.value));
    }
    layout_.tasks_per_node = tasks / draft_.nodes.value;
    if (request_.tasks_per_node.has_value() && layout_.tasks_per_node > request_.tasks_per_node.value) {
      context_.error(request_.tasks.place, fmt::format("{} tasks do not fit on {} nodes with at most {} per node",
                                                       tasks, draft_.nodes.value, request_.tasks_per_node.value));
    }
  }

  void set_gpus() {
    std::optional<std::int64_t> gpus;
    const auto agree = [&](std::int64_t count, const Sourced<std::int64_t>& source, std::string_view option) {
      if (gpus && *gpus != count) {
        context_.error(source.place,
                       fmt::format("--{} means {} GPUs per node, but another option {}", option, count, *gpus));
      }
      gpus = count;
      draft_.gpus = given_at(count, source.place);
    };
    if (request_.gpus_per_node.has_value())
      agree(request_.gpus_per_node.value, request_.gpus_per_node, "gpus-per-node");
    if (request_.gpus_per_task.has_value()) {
      layout_.gpus_per_task = request_.gpus_per_task.value;
      agree(request_.gpus_per_task.value * layout_.tasks_per_node, request_.gpus_per_task, "gpus-per-task");
    }
    if (!request_.gpus.has_value()) return;
    if (elastic() || request_.gpus.value % draft_.nodes.value != 0) {
      return context_.error(request_.gpus.place,
                            fmt::format("{} GPUs cannot be divided equally among the nodes", request_.gpus.value),
                            "use --gpus-per-node");
    }
    agree(request_.gpus.value / draft_.nodes.value, request_.gpus, "gpus");
  }

  [[nodiscard]] std::int64_t cpus() const {
    if (request_.cpus_per_gpu.has_value()) return multiply_divide(request_.cpus_per_gpu.value, draft_.gpus.value, 1);
    return layout_.tasks_per_node * (request_.cpus_per_task.has_value() ? request_.cpus_per_task.value : 1);
  }

  void set_cpus() {
    if (request_.cpus_per_task.has_value() && request_.cpus_per_gpu.has_value()) {
      context_.error(request_.cpus_per_gpu.place, "--cpus-per-gpu and --cpus-per-task are mutually exclusive");
    }
    const bool given = request_.cpus_per_task.has_value() || request_.cpus_per_gpu.has_value();
    if (!given && draft_.gpus.value > 0) return;  // the share of the GPUs
    const SourceLocation place =
        request_.cpus_per_task.has_value() ? request_.cpus_per_task.place : request_.cpus_per_gpu.place;
    draft_.cpu_milli = given_at(multiply_divide(cpus(), 1000, 1), place);
  }

  void set_memory() {
    const int given = (request_.memory.has_value() ? 1 : 0) + (request_.memory_per_cpu.has_value() ? 1 : 0) +
                      (request_.memory_per_gpu.has_value() ? 1 : 0);
    const SourceLocation place = request_.memory.has_value()           ? request_.memory.place
                                 : request_.memory_per_cpu.has_value() ? request_.memory_per_cpu.place
                                                                       : request_.memory_per_gpu.place;
    if (given > 1) {
      return context_.error(place, "--mem, --mem-per-cpu and --mem-per-gpu are mutually exclusive");
    }
    if (given == 0) return;
    std::int64_t mib = request_.memory.value;
    if (request_.memory_per_cpu.has_value()) mib = multiply_divide(request_.memory_per_cpu.value, cpus(), 1);
    if (request_.memory_per_gpu.has_value()) mib = multiply_divide(request_.memory_per_gpu.value, draft_.gpus.value, 1);
    if (mib == 0) {
      draft_.all_memory = true;
    } else {
      draft_.memory_mib = given_at(mib, place);
    }
  }

  [[nodiscard]] std::string file_of(const Sourced<std::string>& pattern) {
    const Result<std::string> file = convert_file_pattern(pattern.value, draft_.name.value, context_.submitter.user);
    if (file.ok()) return *file;
    context_.error(pattern.place, file.error().message);
    return {};
  }

  void set_files() {
    draft_.spec.output = request_.output.has_value() ? file_of(request_.output) : "slurm-%j.out";
    if (!request_.error.has_value()) return;
    const std::string errors = file_of(request_.error);
    if (errors == draft_.spec.output || errors.empty()) return;
    if (!request_.output.has_value()) draft_.spec.output = errors;
    context_.warn(request_.error.place, "standard output and standard error go to the same file",
                  fmt::format("the file is {}", in_backticks(draft_.spec.output)));
  }

  // What does not depend on where the job runs; the prelude sets the rest.
  void set_variables() {
    const auto set = [&](std::string_view name, std::string value) {
      if (!value.empty()) draft_.spec.environment.emplace_back(name, std::move(value));
    };
    const auto count = [](const Sourced<std::int64_t>& value) {
      return value.has_value() ? std::to_string(value.value) : std::string();
    };
    set("SLURM_JOB_NAME", draft_.name.value);
    set("SLURM_CLUSTER_NAME", context_.cluster.name());
    set("SLURM_SUBMIT_DIR", context_.submitter.directory);
    set("SLURM_JOB_USER", context_.submitter.user);
    set("SLURM_JOB_PARTITION", draft_.partition.value);
    set("SLURM_JOB_ACCOUNT", draft_.tenant.value);
    set("SLURM_JOB_QOS", draft_.priority.value);
    set("SLURM_NTASKS_PER_NODE", count(request_.tasks_per_node));
    set("SLURM_CPUS_PER_TASK", count(request_.cpus_per_task));
    set("SLURM_GPUS_PER_NODE", count(request_.gpus_per_node));
    set("SLURM_GPUS_PER_TASK", count(request_.gpus_per_task));
    set("SLURM_GPUS", count(request_.gpus));
    if (draft_.gpus.value > 0 && !draft_.exclusive) set("SLURM_GPUS_ON_NODE", std::to_string(draft_.gpus.value));
    if (draft_.exclusive && node_.gpus > 0) set("SLURM_GPUS_ON_NODE", std::to_string(node_.gpus));
  }

  BatchRequest& request_;
  const SubmitContext& context_;
  JobDraft& draft_;
  NodeSize node_;
  BatchLayout layout_;
};

}  // namespace

BatchLayout set_layout(BatchRequest& request) { return LayoutBuilder(request).build(); }

}  // namespace weft::serve
