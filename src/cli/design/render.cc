// weft render.
#include <fmt/format.h>

#include <algorithm>

#include "cli/design/render_jobs.h"
#include "cli/design/render_tree.h"

namespace weft::cli {
namespace {

// --output names the folder here, not a format: programs read the manifest.
Exit deliver_table(Context& context, const Document& document, Exit outcome = Exit::ok) {
  return context.deliver(write(document, {.format = OutputFormat::table, .color = context.colors_result()}), outcome);
}

Exit list_targets(Context& context) {
  TableSection table;
  table.key = "targets";
  table.title = "Targets";
  table.columns = {{.key = "target", .title = "Target"},
                   {.key = "consumer", .title = "Read by"},
                   {.key = "summary", .title = "What it writes"}};
  for (const render::RenderTarget& target : render::all_targets())
    table.rows.push_back({target.name, target.consumer, target.summary});
  TableSection choices;
  choices.key = "choices";
  choices.title = "Settings for --set";
  choices.columns = {{.key = "key", .title = "Key"},
                     {.key = "values", .title = "Values (default first)"},
                     {.key = "summary", .title = "Decides"}};
  for (const render::RenderChoice& choice : render::render_choices()) {
    std::string values;
    for (const std::string_view value : choice.values) values += (values.empty() ? "" : " | ") + std::string(value);
    choices.rows.push_back({choice.key, values, choice.summary});
  }
  Document document;
  document.kind = "targets";
  document.sections.emplace_back(std::move(table));
  document.sections.emplace_back(std::move(choices));
  return deliver_table(context, document);
}

Document summary_of(const render::Manifest& manifest, const std::string& folder) {
  TableSection table;
  table.key = "targets";
  table.title = "Rendered";
  table.columns = {{.key = "target", .title = "Target"},
                   {.key = "files", .title = "Files", .align = Column::Align::right},
                   {.key = "bytes", .title = "Bytes", .align = Column::Align::right},
                   {.key = "consumer", .title = "Read by"}};
  std::int64_t all = 0;
  for (const std::string& name : manifest.targets) {
    std::int64_t files = 0;
    std::int64_t bytes = 0;
    for (const render::ManifestEntry& entry : manifest.files) {
      if (entry.target != name) continue;
      ++files;
      bytes += static_cast<std::int64_t>(entry.bytes);
    }
    all += files;
    table.rows.push_back({name, files, bytes, render::find_targets(name).front()->consumer});
  }
  Document document;
  document.kind = "render";
  document.sections.emplace_back(std::move(table));
  document.notes.push_back(
      fmt::format("{} file{} in {}; {}/{} lists the consumer of each, how to apply it and in which order.", all,
                  all == 1 ? "" : "s", folder, folder, render::kManifestName));
  for (const std::string& note : manifest.notes) document.notes.push_back(note);
  for (const std::string& missing : manifest.left_out) document.notes.push_back("not rendered: " + missing);
  return document;
}

Exit run_render(Context& context) {
  const Arguments& arguments = context.arguments();
  if (arguments.has("list")) return list_targets(context);
  render::RenderOptions options;
  std::vector<const render::RenderTarget*> targets;
  if (!read_render_options(context, options) || !chosen_targets(context, targets)) return Exit::usage;
  if (arguments.word(0).empty()) return context.missing_cluster(usage_of(context.command()));
  if (!arguments.has("output"))
    return context.usage_error("missing output folder: give -o DIR", {usage_of(context.command())});
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(arguments.word(0));
  std::vector<model::JobSpec> jobs;
  const bool readable = loaded->cluster != nullptr && read_jobs(context, *loaded, jobs);
  if (!context.report(*loaded) || !readable) return Exit::usage;

  const render::RenderPlan plan(*loaded->cluster);
  const render::RenderInput input{*loaded->cluster, plan, options, jobs};
  if (!check_named_targets(context, input)) return Exit::usage;
  RenderRequest request;
  request.targets = std::move(targets);
  for (const model::JobSpec& job : jobs) {
    request.jobs.emplace_back(job.name->text, loaded->sources.text(job.place.file));
  }
  request.folder = arguments.value("output");
  request.force = arguments.has("force");
  request.progress = [&](const render::RenderTarget& target) {
    context.detail(fmt::format("rendering {}", target.name));
  };
  const Result<render::Manifest> manifest = render_tree(input, request);
  if (!manifest.ok()) return context.failed(manifest.error());
  return deliver_table(context, summary_of(*manifest, request.folder),
                       manifest->left_out.empty() ? Exit::ok : Exit::partial);
}

}  // namespace

Command render_command() {
  Command command;
  command.name = "render";
  command.synonyms = {"generate", "build"};
  command.summary = "Generate the configuration files of the whole cluster";
  command.usage = "CLUSTER -o DIR [--target NAME]... [--job FILE]... [OPTIONS]";
  command.description = {
      "Renders the compiled cluster into a tree of files: switches, hosts, Kubernetes, Slurm, storage, monitoring, "
      "automation. The tree is replaced atomically. Its manifest.json lists for every file the consumer, the "
      "destination, how to apply it, the effect on traffic, and the order.",
      "Secrets are never written: files refer to a Secret, a Vault path or a file created by a generator in the tree.",
      "Exit code 2, and no tree, if a target named with --target renders nothing for the cluster. Exit code 3 if part "
      "of the cluster could not be rendered; the notes at the end list it."};
  command.examples = {
      {"weft render cluster.yaml -o out/", "Everything"},
      {"weft render cluster.yaml -o out/ --target sonic --target slurm", "Only some targets"},
      {"weft render cluster.yaml -o out/ --job train.yaml --set job=pytorchjob", "With a training job"},
      {"weft render --list", "List targets and settings"},
  };
  Argument cluster = cluster_argument();
  cluster.required = false;
  command.arguments = {cluster};
  command.options = {
      {.name = "output",
       .letter = 'o',
       .value = "DIR",
       .help = "output folder; its content is replaced",
       .hint = Hint::file},
      {.name = "target",
       .letter = 't',
       .value = "NAME",
       .help = "render only this target, or a group such as kubernetes",
       .repeatable = true},
      {.name = "job",
       .letter = 'j',
       .value = "FILE",
       .help = "job file to render as well",
       .hint = Hint::file,
       .repeatable = true},
      {.name = "set",
       .value = "KEY=VALUE",
       .help = "a setting that the cluster file does not have; see --list",
       .repeatable = true},
      {.name = "force", .help = "replace the folder even if it contains files not written by weft"},
      {.name = "list", .help = "list the targets and settings, and exit"},
      file_option(),
      catalog_option(),
  };
  command.run = run_render;
  return command;
}

}  // namespace weft::cli
