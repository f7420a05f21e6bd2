// Argo-style Workflows, the common subset: templates with container, script, dag and steps; parameters; outputs of
// scripts and files; retryStrategy with a limit and a backoff. Nested dag and steps templates are expanded into one
// graph. Everything else is an error at its line: a workflow that runs without a part of it gives wrong results.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "base/utf8.h"
#include "pipeline/builder.h"
#include "pipeline/workflow_container.h"

namespace weft::pipeline {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::int64_t kMaxRetries = 100;
constexpr std::int64_t kMaxSeconds = 366LL * 86'400;
constexpr bool kUnsupported = true;

// What texts of a template may refer to.
struct Scope {
  std::map<std::string, std::string> inputs;  // values, which refer to the pipeline only
  std::map<std::string, std::string> tasks;   // name to the step that it is; "": it is more than one
};

// One task of a dag, or one step of `steps`.
struct Task {
  const YamlNode* node = nullptr;
  std::string name;
  std::vector<std::string> needs;  // names of tasks
};

class WorkflowReader {
 public:
  explicit WorkflowReader(PipelineBuilder& builder) : builder_(builder) {}

  void read(const YamlNode& root) {
    if (!builder_.check_keys(root, "the Workflow", {"apiVersion", "kind", "metadata", "spec", "status"}, kUnsupported))
      return;
    check_kind(root);
    read_metadata(root.find("metadata"));
    const YamlNode* spec = root.find("spec");
    if (spec == nullptr) return builder_.error(root.place, "the Workflow has no `spec`");
    if (!builder_.check_keys(*spec, "the spec",
                             {"entrypoint", "arguments", "templates", "parallelism", "ttlStrategy", "podGC"},
                             kUnsupported)) {
      return;
    }
    builder_.pipeline().parallelism =
        builder_.count(spec->find("parallelism"), "`parallelism`", 1, static_cast<std::int64_t>(kMaxSteps)).value_or(0);
    read_arguments(spec->find("arguments"));
    for (const YamlNode& each : builder_.items(spec->find("templates"), "`templates`")) add_template(each);
    const std::optional<std::string> entry = builder_.text(spec->find("entrypoint"), "`entrypoint`");
    if (spec->find("entrypoint") == nullptr) builder_.error(spec->place, "the spec has no `entrypoint`");
    if (!entry || builder_.failed()) return;
    (void)expand(*entry, *spec->find("entrypoint"), {}, {}, {}, 0);
  }

 private:
  void check_kind(const YamlNode& root) {
    const YamlNode* version = root.find("apiVersion");
    const YamlNode* kind = root.find("kind");
    const bool known = version != nullptr && kind != nullptr && version->scalar == "argoproj.io/v1alpha1" &&
                       kind->scalar == "Workflow";
    if (!known) {
      builder_.error((kind != nullptr ? *kind : root).place, "the file is not a Workflow of argoproj.io/v1alpha1",
                     "a single job is submitted with `weft job submit`");
    }
  }

  void read_metadata(const YamlNode* node) {
    if (node == nullptr) {
      builder_.pipeline().name = "workflow";
      return;
    }
    if (!builder_.check_keys(*node, "metadata", {"name", "generateName", "labels", "annotations", "namespace"},
                             kUnsupported)) {
      return;
    }
    YamlNode named = node->find("name") != nullptr ? *node->find("name") : YamlNode();
    if (const YamlNode* prefix = node->find("generateName"); prefix != nullptr && node->find("name") == nullptr) {
      named = *prefix;
      while (named.scalar.ends_with('-')) named.scalar.pop_back();
    }
    if (named.kind == YamlNode::Kind::null) return builder_.error(node->place, "metadata has no `name`");
    builder_.pipeline().name = builder_.name(&named, "name of a Workflow").value_or("workflow");
  }

  void read_arguments(const YamlNode* node) {
    if (node == nullptr || !builder_.check_keys(*node, "arguments", {"parameters"}, kUnsupported)) return;
    for (const YamlNode& each : builder_.items(node->find("parameters"), "`parameters`")) {
      if (!builder_.check_keys(each, "the parameter", {"name", "value", "description"}, kUnsupported)) continue;
      const std::optional<std::string> name = builder_.name(each.find("name"), "parameter name");
      const YamlNode* value = each.find("value");
      if (value == nullptr || value->kind != YamlNode::Kind::scalar) {
        builder_.error(each.place, "the parameter has no `value`");
      } else if (name) {
        builder_.pipeline().parameters.emplace_back(*name, value->scalar);
      }
    }
  }

  void add_template(const YamlNode& node) {
    if (!builder_.check_keys(node, "the template",
                             {"name", "inputs", "outputs", "container", "script", "dag", "steps", "retryStrategy",
                              "activeDeadlineSeconds"},
                             kUnsupported)) {
      return;
    }
    const std::optional<std::string> name = builder_.name(node.find("name"), "template name");
    if (node.find("name") == nullptr) builder_.error(node.place, "the template has no `name`");
    const std::vector<std::string_view> kinds = {"container", "script", "dag", "steps"};
    if (std::count_if(kinds.begin(), kinds.end(), [&](auto kind) { return node.find(kind) != nullptr; }) != 1) {
      builder_.error(node.place, "the template must have one of `container`, `script`, `dag` and `steps`");
    }
    if (name && !templates_.emplace(*name, &node).second) {
      builder_.error(node.place, fmt::format("a second template has the name {}", in_backticks(*name)));
    }
  }

  // After a failed task nothing new is started, unless the entrypoint has `failFast: false`.
  void read_fail_fast(const YamlNode* node, std::size_t depth) {
    if (depth == 0) builder_.pipeline().on_failure = FailurePolicy::finish;
    if (node == nullptr) return;
    if (depth > 0) return builder_.error(node->place, "`failFast` is supported for the entrypoint only");
    if (node->scalar != "true" && node->scalar != "false") {
      return builder_.error(node->place, "`failFast` must be true or false");
    }
    if (node->scalar == "false") builder_.pipeline().on_failure = FailurePolicy::proceed;
  }

  // Adds the steps of a template; returns those that end it. `name`: "" for the entrypoint.
  // NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxDepth
  std::vector<std::string> expand(const std::string& template_name, const YamlNode& use, const std::string& name,
                                  const std::vector<std::string>& needs, std::map<std::string, std::string> arguments,
                                  std::size_t depth) {
    const auto found = templates_.find(template_name);
    if (found == templates_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [each, node] : templates_) names.push_back(each);
      builder_.error(use.place, fmt::format("unknown template {}", in_backticks(template_name)),
                     did_you_mean(template_name, names));
      return {};
    }
    if (depth == kMaxDepth) {
      builder_.error(use.place, fmt::format("templates are nested more than {} deep", kMaxDepth),
                     "a template that uses itself is not supported");
      return {};
    }
    const YamlNode& node = *found->second;
    Scope scope;
    read_inputs(node, use, std::move(arguments), scope);
    if (builder_.failed()) return {};
    if (const YamlNode* dag = node.find("dag")) {
      check_plain(node, "dag");
      read_fail_fast(dag->find("failFast"), depth);
      return expand_tasks(read_dag(*dag), name, needs, scope, depth);
    }
    if (const YamlNode* steps = node.find("steps")) {
      check_plain(node, "steps");
      return expand_tasks(read_groups(*steps), name, needs, scope, depth);
    }
    return add_step(node, name.empty() ? template_name : name, needs, scope);
  }

  // Templates that only arrange others.
  void check_plain(const YamlNode& node, std::string_view kind) {
    for (const char* key : {"outputs", "retryStrategy", "activeDeadlineSeconds"}) {
      if (const YamlNode* found = node.find(key)) {
        builder_.error(found->place, fmt::format("`{}` of a {} template is not supported", key, kind));
      }
    }
  }

  void read_inputs(const YamlNode& node, const YamlNode& use, std::map<std::string, std::string> arguments,
                   Scope& scope) {
    if (const YamlNode* inputs = node.find("inputs")) {
      if (!builder_.check_keys(*inputs, "inputs", {"parameters"}, kUnsupported)) return;
      for (const YamlNode& each : builder_.items(inputs->find("parameters"), "`parameters`")) {
        if (!builder_.check_keys(each, "the parameter", {"name", "value", "default", "description"}, kUnsupported))
          continue;
        const std::optional<std::string> name = builder_.name(each.find("name"), "parameter name");
        if (!name) continue;
        const YamlNode* fallback = each.find("value") != nullptr ? each.find("value") : each.find("default");
        if (const auto given = arguments.find(*name); given != arguments.end()) {
          scope.inputs[*name] = given->second;
          arguments.erase(given);
        } else if (fallback != nullptr) {
          scope.inputs[*name] = rewrite(fallback->scalar, {}, fallback->place);
        } else {
          builder_.error(use.place, fmt::format("parameter {} of the template has no value", in_backticks(*name)));
        }
      }
    }
    for (const auto& [name, value] : arguments) {
      builder_.error(use.place, fmt::format("the template has no parameter {}", in_backticks(name)));
    }
  }

  std::vector<Task> read_dag(const YamlNode& dag) {
    if (!builder_.check_keys(dag, "the dag", {"tasks", "failFast"}, kUnsupported)) return {};
    std::vector<Task> tasks;
    for (const YamlNode& node : builder_.items(dag.find("tasks"), "`tasks`")) {
      if (!builder_.check_keys(node, "the task", {"name", "template", "dependencies", "depends", "arguments"},
                               kUnsupported)) {
        continue;
      }
      Task task{&node, builder_.name(node.find("name"), "task name").value_or(""), {}};
      for (const YamlNode& need : builder_.items(node.find("dependencies"), "`dependencies`")) {
        task.needs.push_back(need.scalar);
      }
      if (const YamlNode* depends = node.find("depends")) read_depends(*depends, task);
      tasks.push_back(std::move(task));
    }
    if (tasks.empty() && !builder_.failed()) builder_.error(dag.place, "the dag has no tasks");
    return tasks;
  }

  // "A && B.Succeeded": other conditions would run tasks after failures.
  void read_depends(const YamlNode& node, Task& task) {
    const std::string condition = replace_all(node.scalar, "&&", "&");
    for (std::string_view part : split(condition, '&')) {
      part = trim(part);
      if (part.ends_with(".Succeeded")) part.remove_suffix(std::string_view(".Succeeded").size());
      const auto plain = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; };
      if (part.empty() || !std::all_of(part.begin(), part.end(), plain)) {
        return builder_.error(node.place, fmt::format("the condition {} is not supported", in_backticks(node.scalar)),
                              "only names of tasks, joined by &&");
      }
      task.needs.emplace_back(part);
    }
  }

  std::vector<Task> read_groups(const YamlNode& steps) {
    std::vector<Task> tasks;
    std::vector<std::string> before;
    for (const YamlNode& group : builder_.items(&steps, "`steps`")) {
      std::vector<std::string> names;
      for (const YamlNode& node : builder_.items(&group, "a group of `steps`")) {
        if (!builder_.check_keys(node, "the step", {"name", "template", "arguments"}, kUnsupported)) continue;
        Task task{&node, builder_.name(node.find("name"), "step name").value_or(""), before};
        names.push_back(task.name);
        tasks.push_back(std::move(task));
      }
      if (!names.empty()) before = names;
    }
    if (tasks.empty() && !builder_.failed()) builder_.error(steps.place, "the template has no steps");
    return tasks;
  }

  // NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxDepth
  std::vector<std::string> expand_tasks(const std::vector<Task>& tasks, const std::string& prefix,
                                        const std::vector<std::string>& needs, Scope scope, std::size_t depth) {
    if (!check_tasks(tasks)) return {};
    std::set<std::string> inner;
    for (const Task& task : tasks) {
      scope.tasks[task.name] = is_leaf(task) ? full_name(prefix, task.name) : std::string();
      inner.insert(task.needs.begin(), task.needs.end());
    }
    std::map<std::string, std::vector<std::string>> ends;
    std::vector<std::string> last;
    for (bool progress = true; progress && ends.size() < tasks.size();) {
      progress = false;
      for (const Task& task : tasks) {
        const auto is_known = [&](const std::string& need) { return ends.contains(need); };
        if (ends.contains(task.name) || !std::all_of(task.needs.begin(), task.needs.end(), is_known)) continue;
        std::vector<std::string> all = task.needs.empty() ? needs : std::vector<std::string>();
        for (const std::string& need : task.needs) all.insert(all.end(), ends[need].begin(), ends[need].end());
        ends[task.name] = expand_task(task, full_name(prefix, task.name), all, scope, depth);
        if (builder_.failed()) return {};
        if (!inner.contains(task.name)) last.insert(last.end(), ends[task.name].begin(), ends[task.name].end());
        progress = true;
      }
    }
    if (ends.size() < tasks.size()) builder_.error(tasks.front().node->place, "tasks need each other in a cycle");
    return last;
  }

  bool check_tasks(const std::vector<Task>& tasks) {
    std::set<std::string> names;
    for (const Task& task : tasks) {
      if (task.name.empty() && !builder_.failed()) builder_.error(task.node->place, "the task has no `name`");
      if (!names.insert(task.name).second) {
        builder_.error(task.node->place, fmt::format("a second task has the name {}", in_backticks(task.name)));
      }
    }
    for (const Task& task : tasks) {
      for (const std::string& need : task.needs) {
        if (names.contains(need)) continue;
        builder_.error(task.node->place, fmt::format("task {} needs {}, which does not exist", in_backticks(task.name),
                                                     in_backticks(need)));
      }
    }
    return !builder_.failed();
  }

  // NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxDepth
  std::vector<std::string> expand_task(const Task& task, const std::string& name, const std::vector<std::string>& needs,
                                       const Scope& scope, std::size_t depth) {
    const YamlNode* used = task.node->find("template");
    const std::optional<std::string> template_name = builder_.text(used, "`template`");
    if (used == nullptr) builder_.error(task.node->place, "the task has no `template`");
    std::map<std::string, std::string> arguments;
    if (const YamlNode* given = task.node->find("arguments");
        given != nullptr && builder_.check_keys(*given, "arguments", {"parameters"}, kUnsupported)) {
      for (const YamlNode& each : builder_.items(given->find("parameters"), "`parameters`")) {
        if (!builder_.check_keys(each, "the parameter", {"name", "value"}, kUnsupported)) continue;
        const std::optional<std::string> parameter = builder_.name(each.find("name"), "parameter name");
        const YamlNode* value = each.find("value");
        if (value == nullptr || value->kind != YamlNode::Kind::scalar) {
          builder_.error(each.place, "the parameter has no `value`");
        } else if (parameter) {
          arguments[*parameter] = rewrite(value->scalar, scope, value->place);
        }
      }
    }
    if (!template_name || builder_.failed()) return {};
    return expand(*template_name, *task.node, name, needs, std::move(arguments), depth + 1);
  }

  [[nodiscard]] bool is_leaf(const Task& task) const {
    const YamlNode* used = task.node->find("template");
    const auto found = used == nullptr ? templates_.end() : templates_.find(used->scalar);
    return found != templates_.end() && found->second->find("dag") == nullptr &&
           found->second->find("steps") == nullptr;
  }
  static std::string full_name(const std::string& prefix, const std::string& name) {
    return prefix.empty() ? name : prefix + "." + name;
  }

  std::vector<std::string> add_step(const YamlNode& node, const std::string& name,
                                    const std::vector<std::string>& needs, const Scope& scope) {
    Step step;
    step.name = name;
    step.place = node.place;
    step.needs = needs;
    step.whole_result = true;
    read_retries(node.find("retryStrategy"), step);
    read_outputs(node.find("outputs"), scope, step);
    const std::int64_t deadline =
        builder_.count(node.find("activeDeadlineSeconds"), "`activeDeadlineSeconds`", 1, kMaxSeconds).value_or(0);
    const bool script = node.find("script") != nullptr;
    const ContainerUse use{*node.find(script ? "script" : "container"), script,
                           [&](const std::string& text, const SourceLocation& place) {
                             std::string canonical = rewrite(text, scope, place);
                             builder_.use_text(canonical, place);
                             return canonical;
                           }};
    read_container(builder_, use, deadline, step);
    if (builder_.failed() || !builder_.add_step(std::move(step))) return {};
    return {name};
  }

  void read_retries(const YamlNode* node, Step& step) {
    if (node == nullptr ||
        !builder_.check_keys(*node, "retryStrategy", {"limit", "retryPolicy", "backoff"}, kUnsupported))
      return;
    const auto limit = builder_.count(node->find("limit"), "`limit`", 0, kMaxRetries);
    if (node->find("limit") == nullptr) builder_.error(node->place, "retryStrategy has no `limit`");
    step.retries = static_cast<std::int32_t>(limit.value_or(0));
    const std::optional<std::string> policy = builder_.text(node->find("retryPolicy"), "`retryPolicy`");
    if (policy && *policy != "OnFailure" && *policy != "Always") {
      builder_.error(node->find("retryPolicy")->place,
                     fmt::format("the policy {} is not supported", in_backticks(*policy)),
                     "OnFailure or Always; steps are started again after lost nodes without counting");
    }
    const YamlNode* backoff = node->find("backoff");
    if (backoff == nullptr || !builder_.check_keys(*backoff, "backoff", {"duration"}, kUnsupported)) return;
    YamlNode duration = backoff->find("duration") != nullptr ? *backoff->find("duration") : YamlNode();
    const bool number =
        !duration.scalar.empty() && std::all_of(duration.scalar.begin(), duration.scalar.end(), is_digit);
    if (number) duration.scalar += "s";  // Argo's "10" are seconds
    step.retry_delay = builder_.time(&duration, "`duration`").value_or(step.retry_delay);
  }

  void read_outputs(const YamlNode* node, const Scope& scope, Step& step) {
    if (node == nullptr || !builder_.check_keys(*node, "outputs", {"parameters"}, kUnsupported)) return;
    for (const YamlNode& each : builder_.items(node->find("parameters"), "`parameters`")) {
      if (!builder_.check_keys(each, "the parameter", {"name", "valueFrom", "description"}, kUnsupported)) continue;
      const std::optional<std::string> name = builder_.name(each.find("name"), "parameter name");
      const YamlNode* source = each.find("valueFrom");
      if (source == nullptr) {
        builder_.error(each.place, "the output parameter has no `valueFrom`");
        continue;
      }
      if (!builder_.check_keys(*source, "valueFrom", {"path"}, kUnsupported)) continue;
      const std::optional<std::string> path = builder_.text(source->find("path"), "`path`");
      if (!name || !path) continue;
      if (!builder_.check_output_path(*path, source->place)) continue;
      step.outputs.push_back({*name, rewrite(*path, scope, source->place)});
      builder_.use_text(step.outputs.back().path, source->place);
    }
  }

  // Replaces inputs by their values, and names of tasks by those of steps.
  std::string rewrite(std::string_view text, const Scope& scope, const SourceLocation& place) {
    const Result<std::vector<TextPiece>> pieces = split_text(text);
    if (!pieces.ok()) {
      builder_.error(place, pieces.error().message);
      return {};
    }
    std::string out;
    for (const TextPiece& piece : *pieces) {
      out += piece.expression.empty() ? piece.literal : rewrite_reference(piece.expression, scope, place);
      if (out.size() > kMaxText) {
        builder_.error(place, fmt::format("a text may have at most {} bytes", kMaxText));
        return {};
      }
    }
    return out;
  }

  std::string rewrite_reference(const std::string& expression, const Scope& scope, const SourceLocation& place) {
    constexpr std::string_view kInputs = "inputs.parameters.";
    constexpr std::string_view kWorkflow = "workflow.parameters.";
    if (expression == "workflow.name") return "{{pipeline.run}}";
    if (expression.starts_with(kWorkflow)) return "{{parameters." + expression.substr(kWorkflow.size()) + "}}";
    if (expression.starts_with(kInputs)) {
      const auto found = scope.inputs.find(expression.substr(kInputs.size()));
      if (found != scope.inputs.end()) return found->second;
    }
    for (const std::string_view prefix : {"tasks.", "steps."}) {
      const std::size_t dot = expression.starts_with(prefix) ? expression.find('.', prefix.size()) : std::string::npos;
      if (dot == std::string::npos) continue;
      const auto task = scope.tasks.find(expression.substr(prefix.size(), dot - prefix.size()));
      if (task == scope.tasks.end() || task->second.empty()) continue;
      const std::string rest = expression.substr(dot + 1);
      constexpr std::string_view kParameter = "outputs.parameters.";
      if (rest == "outputs.result") return output_reference(task->second, kResult);
      if (rest.starts_with(kParameter)) return output_reference(task->second, rest.substr(kParameter.size()));
    }
    builder_.error(
        place, fmt::format("the reference {} is not supported here", in_backticks(expression)),
        "inputs.parameters, workflow.parameters, workflow.name, and outputs of earlier container and script tasks");
    return {};
  }

  PipelineBuilder& builder_;
  std::map<std::string, const YamlNode*> templates_;
};

}  // namespace

void read_workflow(const YamlNode& root, PipelineBuilder& builder) { WorkflowReader(builder).read(root); }

}  // namespace weft::pipeline
