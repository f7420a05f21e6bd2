// Weft pipeline files: steps whose jobs have the keys of a job file.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "model/job.h"
#include "pipeline/builder.h"

namespace weft::pipeline {
namespace {

constexpr std::int64_t kMaxRetries = 100;

YamlEntry entry_at(const SourceLocation& place, std::string key, std::string value) {
  YamlEntry entry;
  entry.key = std::move(key);
  entry.key_place = place;
  entry.value.kind = YamlNode::Kind::scalar;
  entry.value.place = place;
  entry.value.scalar = std::move(value);
  return entry;
}

YamlNode* find_value(YamlNode& node, std::string_view key) {
  for (YamlEntry& entry : node.entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

class PipelineFileReader {
 public:
  PipelineFileReader(PipelineBuilder& builder, Diagnostics& diagnostics)
      : builder_(builder), diagnostics_(diagnostics) {}

  void read(const YamlNode& root) {
    if (!builder_.check_keys(root, "the pipeline",
                             {"pipeline", "name", "parameters", "on_failure", "parallelism", "steps"})) {
      return;
    }
    const YamlNode* version = root.find("pipeline");
    if (version == nullptr) {
      return builder_.error(root.place, "the file has no pipeline",
                            "it starts with `pipeline: 1`, or is a Workflow of argoproj.io/v1alpha1");
    }
    (void)builder_.count(version, "`pipeline`, the version of the format,", 1, 1);
    Pipeline& pipeline = builder_.pipeline();
    if (root.find("name") == nullptr) builder_.error(root.place, "the pipeline has no `name`");
    pipeline.name = builder_.name(root.find("name"), "pipeline name").value_or("pipeline");
    pipeline.parallelism =
        builder_.count(root.find("parallelism"), "`parallelism`", 1, static_cast<std::int64_t>(kMaxSteps)).value_or(0);
    read_failure(root.find("on_failure"));
    read_parameters(root.find("parameters"));
    const std::vector<YamlNode>& steps = builder_.items(root.find("steps"), "`steps`");
    if (steps.empty() && !builder_.failed()) builder_.error(root.place, "the pipeline has no `steps`");
    for (const YamlNode& step : steps) {
      if (!read_step(step)) return;
    }
  }

 private:
  void read_failure(const YamlNode* node) {
    const std::optional<std::string> action = builder_.text(node, "`on_failure`");
    if (!action) return;
    FailurePolicy& policy = builder_.pipeline().on_failure;
    if (*action == "continue") {
      policy = FailurePolicy::proceed;
    } else if (*action == "finish") {
      policy = FailurePolicy::finish;
    } else if (*action == "stop") {
      policy = FailurePolicy::stop;
    } else {
      builder_.error(node->place, fmt::format("{} is not an action on failure", in_backticks(*action)),
                     "continue: other steps go on; finish: no others start; stop: they are canceled");
    }
  }

  void read_parameters(const YamlNode* node) {
    if (node == nullptr) return;
    if (node->kind != YamlNode::Kind::mapping) {
      return builder_.error(node->place, "`parameters` must be a mapping of names to values");
    }
    for (const YamlEntry& entry : node->entries) {
      YamlNode key = entry_at(entry.key_place, {}, entry.key).value;
      const std::optional<std::string> name = builder_.name(&key, "parameter name");
      if (entry.value.kind != YamlNode::Kind::scalar) {
        builder_.error(entry.value.place, fmt::format("parameter {} must be a text", in_backticks(entry.key)));
      } else if (name) {
        builder_.pipeline().parameters.emplace_back(*name, entry.value.scalar);
      }
    }
  }

  // False: no further steps are read.
  bool read_step(const YamlNode& node) {
    Step step;
    step.place = node.place;
    if (!builder_.check_keys(node, "the step",
                             {"name", "needs", "engine", "retries", "retry_delay", "outputs", "job"})) {
      return true;
    }
    const std::optional<std::string> name = builder_.name(node.find("name"), "step name");
    if (node.find("name") == nullptr) builder_.error(node.place, "the step has no `name`");
    step.name = name.value_or("step");
    for (const YamlNode& need : builder_.items(node.find("needs"), "`needs`")) {
      if (const std::optional<std::string> other = builder_.text(&need, "an item of `needs`")) {
        step.needs.push_back(*other);
      }
    }
    step.retries =
        static_cast<std::int32_t>(builder_.count(node.find("retries"), "`retries`", 0, kMaxRetries).value_or(0));
    step.retry_delay = builder_.time(node.find("retry_delay"), "`retry_delay`").value_or(step.retry_delay);
    read_outputs(node.find("outputs"), step);
    const YamlNode* job = node.find("job");
    if (job == nullptr) {
      builder_.error(node.place, "the step has no `job`",
                     "`job: {nodes: 1, command: [...]}`, with the keys of a job file");
    } else {
      read_job(*job, step);
    }
    read_engine(node.find("engine"), step);
    return builder_.add_step(std::move(step));
  }

  void read_engine(const YamlNode* node, Step& step) {
    step.engine = step.gpus > 0 ? StepEngine::slurm : StepEngine::kubernetes;
    const std::optional<std::string> name = builder_.text(node, "`engine`");
    if (!name) return;
    const std::optional<StepEngine> engine = find_engine(*name);
    if (!engine) {
      return builder_.error(node->place, fmt::format("unknown engine {}", in_backticks(*name)),
                            "one of kubernetes, slurm and local", name->size());
    }
    step.engine = *engine;
    step.engine_given = true;
  }

  void read_outputs(const YamlNode* node, Step& step) {
    if (node == nullptr) return;
    if (node->kind != YamlNode::Kind::mapping) {
      return builder_.error(node->place, "`outputs` must be a mapping of names to paths");
    }
    for (const YamlEntry& entry : node->entries) {
      YamlNode key = entry_at(entry.key_place, {}, entry.key).value;
      const std::optional<std::string> name = builder_.name(&key, "output name");
      const std::optional<std::string> path = builder_.text(&entry.value, "the path of an output");
      if (!name || !path) continue;
      if (!builder_.check_output_path(*path, entry.value.place)) continue;
      builder_.use_text(*path, entry.value.place);
      step.outputs.push_back({*name, *path});
    }
  }

  // The keys of a job file, with those that a pipeline sets itself. Text with references is valid text.
  void read_job(YamlNode node, Step& step) {
    if (node.kind != YamlNode::Kind::mapping) {
      return builder_.error(node.place, fmt::format("`job` must be a mapping, but is {}", describe_kind(node)));
    }
    for (const char* own : {"job", "name", "training"}) {
      if (const YamlNode* found = node.find(own)) {
        return builder_.error(found->place, fmt::format("the job of a step has no key `{}`", own));
      }
    }
    use_texts(node);
    node.entries.insert(node.entries.begin(), entry_at(node.place, "job", "1"));
    node.entries.push_back(entry_at(node.place, "name", job_name(builder_.pipeline().name, step.name)));
    if (node.find("nodes") == nullptr) node.entries.push_back(entry_at(node.place, "nodes", "1"));
    if (node.find("gpus_per_node") == nullptr) node.entries.push_back(entry_at(node.place, "gpus_per_node", "0"));
    make_failures_final(node);
    step.job = to_value(node);
    const bool without_gpus = find_value(node, "gpus_per_node")->scalar == "0";
    drop_run_keys(node);
    const std::optional<model::JobSpec> job = model::read_job(node, diagnostics_);
    if (!job) return;
    step.gpus = without_gpus ? 0 : job->gpus_per_node.value;
    if (job->command->empty()) return builder_.error(node.place, "the job has no `command`");
    if (step.outputs.empty()) return;
    const std::string& program = job->command->front();
    if (program.ends_with(".py") || program == "torchrun") {
      return builder_.error(node.find("command")->place, "torchrun cannot write output files",
                            "start it in a shell: [sh, -c, \"torchrun ...\"], or use `outputs.result`");
    }
    step.job.set("command", Value::texts(with_outputs(job->command.value, step.outputs)));
  }

  // A failure ends the job: the pipeline repeats steps.
  static void make_failures_final(YamlNode& node) {
    if (node.find("restart") == nullptr) {
      YamlEntry restart = entry_at(node.place, "restart", {});
      restart.value.kind = YamlNode::Kind::mapping;
      node.entries.push_back(std::move(restart));
    }
    YamlNode& restart = *find_value(node, "restart");
    if (restart.kind == YamlNode::Kind::mapping && restart.find("on_failure") == nullptr) {
      restart.entries.push_back(entry_at(node.place, "on_failure", "fail"));
    }
  }

  // What `weft job submit` accepts beyond the keys of the model.
  static void drop_run_keys(YamlNode& node) {
    YamlNode& gpus = *find_value(node, "gpus_per_node");
    if (gpus.scalar == "0" && !gpus.quoted) gpus.scalar = "1";
    YamlNode& restart = *find_value(node, "restart");
    const auto is_action = [](const YamlEntry& entry) {
      return entry.key == "on_failure" && (entry.value.scalar == "fail" || entry.value.scalar == "restart");
    };
    restart.entries.erase(std::remove_if(restart.entries.begin(), restart.entries.end(), is_action),
                          restart.entries.end());
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the file, which the YAML reader bounds
  void use_texts(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::scalar) builder_.use_text(node.scalar, node.place);
    for (const YamlNode& item : node.items) use_texts(item);
    for (const YamlEntry& entry : node.entries) use_texts(entry.value);
  }

  PipelineBuilder& builder_;
  Diagnostics& diagnostics_;
};

}  // namespace

void read_pipeline_file(const YamlNode& root, PipelineBuilder& builder, Diagnostics& diagnostics) {
  PipelineFileReader(builder, diagnostics).read(root);
}

}  // namespace weft::pipeline
