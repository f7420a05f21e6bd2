// weft fmt: cluster files and job files in one style.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "cli/framework/context.h"
#include "model/format.h"
#include "model/yaml_file.h"
#include "oob/switches/drift_diff.h"

namespace weft::cli {
namespace {

struct Outcome {
  bool failed = false;
  bool changed = false;
};

// Problems of the file are printed.
std::optional<std::string> formatted(Context& context, const std::string& path, const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(path, text);
  std::optional<std::string> result = model::format_file(sources, file, diagnostics);
  context.note_problems(diagnostics, sources);
  if (diagnostics.has_errors() && context.quiet()) context.io().write_err(render_all(diagnostics, sources, false));
  return result;
}

Exit format_stdin(Context& context) {
  const Result<std::string> text = model::read_yaml_file("-");
  if (!text.ok()) return context.failed(text.error());
  const std::optional<std::string> result = formatted(context, "<standard input>", *text);
  if (!result) return Exit::usage;
  const Arguments& arguments = context.arguments();
  const bool changed = *result != *text;
  if (arguments.has("diff")) {
    (void)context.deliver(oob::unified_diff(*text, *result, "standard input", "formatted").text);
  } else if (!arguments.has("check")) {
    return context.deliver(*result);
  }
  if (changed && arguments.has("check")) context.note("standard input is not formatted");
  return changed && arguments.has("check") ? Exit::findings : Exit::ok;
}

Outcome format_path(Context& context, const std::string& path) {
  const Result<std::string> text = model::read_yaml_file(path);
  if (!text.ok()) {
    context.failed(text.error());
    return {.failed = true};
  }
  const std::optional<std::string> result = formatted(context, path, *text);
  if (!result) return {.failed = true};
  if (*result == *text) return {};
  const Arguments& arguments = context.arguments();
  const bool diff = arguments.has("diff");
  if (!diff && !arguments.has("check")) {
    if (const Status written = write_file(path, *result); !written.ok()) {
      context.failed(written.error());
      return {.failed = true};
    }
  }
  const std::string shown = diff ? oob::unified_diff(*text, *result, path, path + " formatted").text : path + "\n";
  const Status printed = context.io().write_out(shown);
  if (!printed.ok()) context.failed(printed.error());
  return {.failed = !printed.ok(), .changed = true};
}

Exit run_fmt(Context& context) {
  const std::vector<std::string>& paths = context.arguments().words();
  const auto uses = std::count(paths.begin(), paths.end(), "-");
  if (uses > 0 && paths.size() > 1)
    return context.usage_error("standard input cannot be combined with files", {usage_of(context.command())});
  if (uses > 0) return format_stdin(context);
  Outcome all;
  for (const std::string& path : paths) {
    const Outcome one = format_path(context, path);
    all.failed = all.failed || one.failed;
    all.changed = all.changed || one.changed;
  }
  if (all.failed) return Exit::usage;
  return all.changed && context.arguments().has("check") ? Exit::findings : Exit::ok;
}

}  // namespace

Command fmt_command() {
  Command command;
  command.name = "fmt";
  command.synonyms = {"format"};
  command.summary = "Format cluster files and job files";
  command.usage = "FILE... [--check] [--diff]";
  command.description = {
      "Rewrites each file in one style: keys in the order of `weft schema`, two spaces per level, quotes only where "
      "YAML needs them, lists and mappings in brackets on one line of at most 120 characters or as blocks. The names "
      "of changed files are printed. `-` formats standard input to standard output.",
      "Comments stay at their keys: those above a key, at the end of its line, and at the end of a block; the first "
      "comment of a file stays at its top. Blank lines stay, one at most. The file is replaced atomically and keeps "
      "its mode.",
      "The meaning does not change: the result is read again and compared. A file with errors, or with YAML that "
      "cannot be written back faithfully (directives, `...`, block text with an indentation indicator), is refused "
      "with the place and stays as it is.",
      "Exit code 1 with --check if a file is not formatted, 2 if one cannot be formatted."};
  command.examples = {{"weft fmt cluster.yaml", "Format a file in place"},
                      {"weft fmt --check cluster.yaml jobs/train.job.yaml", "For CI: list the files that would change"},
                      {"weft fmt --diff cluster.yaml", "Show the changes without making them"},
                      {"weft fmt - < cluster.yaml", "Format standard input, for an editor"}};
  command.arguments = {{.name = "FILE",
                        .help = "a cluster file or job file, or - for standard input",
                        .hint = Hint::file,
                        .repeatable = true}};
  command.options = {{.name = "check", .help = "write nothing; list the files that are not formatted and exit with 1"},
                     {.name = "diff", .help = "write nothing; print what would change as a unified diff"}};
  command.run = run_fmt;
  return command;
}

}  // namespace weft::cli
