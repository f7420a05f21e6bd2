// sbatch scripts: the #SBATCH lines before the first command, and the interpreter. srun.cc checks the commands.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "serve/submit/draft.h"
#include "serve/submit/sbatch_options.h"
#include "serve/submit/srun.h"

namespace weft::serve {
namespace {

constexpr std::string_view kDirective = "#SBATCH";

bool is_shell(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  return name == "sh" || name == "bash" || name == "dash";
}

// Options that change nothing but how strictly the shell runs the script.
bool is_shell_option(std::string_view word) {
  return word == "--login" ||
         (word.size() > 1 && word.front() == '-' && word.find_first_not_of("elux", 1) == std::string_view::npos);
}

class BatchReader {
 public:
  explicit BatchReader(const SubmitContext& context) : context_(context), request_(context) {}

  std::optional<JobDraft> read() {
    const std::string_view text = context_.sources.text(context_.file);
    JobDraft& draft = request_.draft;
    draft.place = place_at(context_.file, 1, 1);
    draft.all_pools = true;
    const std::vector<std::string_view> lines = split_lines(text);
    check_line_ends(lines);
    read_interpreter(lines.empty() ? std::string_view() : lines.front());
    read_lines(lines);
    apply_options(request_);
    draft.name.derive(default_name());
    const BatchLayout layout = set_layout(request_);
    const ScriptUse use = check_script(context_, draft);
    // A script that fails is final in Slurm, unless it requeues itself: the prelude does that by a failure.
    draft.spec.restart.on_success_only = !use.requeues || request_.never_requeue;
    draft.spec.restart.max_failures = static_cast<std::int32_t>(context_.cluster.spec().workload->max_restarts.value);
    draft.spec.command = script_command(interpreter_, text, draft.name.value,
                                        {layout.tasks_per_node, layout.gpus_per_task, request_.forwarded_signal});
    return std::move(draft);
  }

 private:
  void check_line_ends(const std::vector<std::string_view>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].ends_with("\r")) continue;
      return context_.error(place_at(context_.file, i + 1, lines[i].size()),
                            "the script has DOS line ends (\\r\\n), which shells do not accept", "run dos2unix on it");
    }
  }

  void read_interpreter(std::string_view line) {
    const SourceLocation place = place_at(context_.file, 1, 1);
    if (!line.starts_with("#!")) {
      return context_.error(place, "the first line of a batch script must name its interpreter", "`#!/bin/bash`");
    }
    for (const std::string_view word : split_at_spaces(line.substr(2), kLineSpaces)) interpreter_.emplace_back(word);
    const bool env = interpreter_.size() > 1 && interpreter_[0] == "/usr/bin/env";
    const std::size_t shell = env ? 1 : 0;
    if (interpreter_.empty() || !interpreter_[0].starts_with("/") || !is_shell(interpreter_[shell])) {
      return context_.error(place_at(context_.file, 1, 3),
                            fmt::format("the interpreter {} is not supported", in_backticks(trim(line.substr(2)))),
                            "use sh or bash, and start other programs from the script", line.size() - 2);
    }
    for (std::size_t i = shell + 1; i < interpreter_.size(); ++i) {
      if (is_shell_option(interpreter_[i])) continue;
      context_.error(place_at(context_.file, 1, 3),
                     fmt::format("option {} of the interpreter is not supported", in_backticks(interpreter_[i])),
                     "use `set` in the script");
    }
  }

  void read_lines(const std::vector<std::string_view>& lines) {
    bool body = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string_view line = trim_end(lines[i], kLineSpaces);
      const std::string_view text = trim(line, kTabsAndSpaces);
      const SourceLocation place = place_at(context_.file, i + 1, line.size() - text.size() + 1);
      if (!text.empty() && text.front() != '#') body = true;
      const std::string_view rest = text.starts_with(kDirective) ? text.substr(kDirective.size()) : std::string_view();
      if (rest.empty() || !contains(kTabsAndSpaces, rest.substr(0, 1))) {
        if (text.starts_with("#PBS ") || text.starts_with("#BSUB ") || text.starts_with("#$ ")) {
          context_.warn(place, "a directive of another batch system is not read");
        }
        continue;
      }
      if (body || line.size() != text.size()) {
        context_.warn(place,
                      body ? "sbatch ignores directives after the first command, and so does weft"
                           : "sbatch ignores a directive that is indented, and so does weft",
                      body ? "move it above the first command" : "remove the spaces", text.size());
        continue;
      }
      read_directive(request_, rest, i + 1, kDirective.size());
    }
  }

  // The name of the script, as in Slurm.
  [[nodiscard]] std::string default_name() const {
    const std::string& path = context_.sources.path(context_.file);
    std::string name = path.substr(path.find_last_of('/') + 1);
    for (char& c : name) {
      if (!is_letter_or_digit(c) && c != '-' && c != '_' && c != '.') c = '_';
    }
    if (name.empty() || name.find_first_not_of("-_.") == std::string::npos) return "sbatch";
    name.erase(0, name.find_first_not_of("-."));
    return name.substr(0, 100);
  }

  const SubmitContext& context_;
  BatchRequest request_;
  std::vector<std::string> interpreter_;
};

}  // namespace

std::optional<JobDraft> read_sbatch_job(const SubmitContext& context) { return BatchReader(context).read(); }

}  // namespace weft::serve
