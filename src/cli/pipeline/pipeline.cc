// weft pipeline run, resume, cancel, show, list, check.
#include "pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/framework/paths.h"
#include "cli/framework/stop_signals.h"
#include "cli/pipeline/http_job_server.h"
#include "oob/durable/clock.h"
#include "pipeline/run_store.h"
#include "pipeline/runner.h"
#include "pipeline/views.h"

namespace weft::cli {
namespace {

using pipeline::Pipeline;
using pipeline::RunState;
using pipeline::StepEngine;

constexpr Duration kPoll = milliseconds(300);

pipeline::RunStore store_of(Context& context) {
  const std::string given = context.arguments().value("state");
  return pipeline::RunStore(absolute_path(given.empty() ? default_state_root(context.io()) + "/pipelines" : given));
}

// The file as read; prints its problems. Nullopt: exit status 2.
std::optional<Pipeline> parse(Context& context, const std::string& name, const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(name, text);
  std::optional<Pipeline> read = pipeline::read_pipeline(sources, file, diagnostics);
  context.note_problems(diagnostics, sources);
  return read;
}

// One server per engine that the pipeline's steps use.
struct Servers {
  std::map<StepEngine, std::unique_ptr<HttpJobServer>> owned;
  std::map<StepEngine, pipeline::JobServer*> by_engine;
};

Servers connect(Context& context, const RunState& state) {
  Servers servers;
  for (const auto& [engine, socket] : state.sockets) {
    servers.owned[engine] = std::make_unique<HttpJobServer>(context, socket, std::string(to_text(engine)));
    servers.by_engine[engine] = servers.owned[engine].get();
  }
  return servers;
}

// What a run records of a server: its URL, which finds the context with its login again, or the path of its socket.
Result<std::string> reference_of(const Result<ServerEndpoint>& server) {
  if (!server.ok()) return server.error();
  return server->is_remote() ? server->url : absolute_path(server->socket);
}

// --on ENGINE=SERVER; false after a usage error.
bool read_servers(Context& context, std::map<StepEngine, std::string>& sockets) {
  for (const std::string& word : context.arguments().values("on")) {
    const std::size_t at = word.find('=');
    const std::optional<StepEngine> engine = pipeline::find_engine(std::string_view(word).substr(0, at));
    if (!engine || at == std::string::npos || at + 1 == word.size()) {
      context.usage_error(fmt::format("--on {} is not ENGINE=SERVER", in_backticks(word)),
                          {"--on slurm=/run/weft/slurm.sock; engines are kubernetes, slurm and local"});
      return false;
    }
    const Result<std::string> server = reference_of(find_server(context, word.substr(at + 1)));
    if (!server.ok()) {
      context.usage_error(fmt::format("--on {}: {}", in_backticks(word), server.error().text()));
      return false;
    }
    sockets[*engine] = *server;
  }
  return true;
}

// The servers of the steps' engines, checked before anything is submitted.
Status choose_servers(Context& context, const Pipeline& pipeline, RunState& state,
                      const std::map<StepEngine, std::string>& given) {
  for (const pipeline::Step& step : pipeline.steps) {
    if (state.sockets.contains(step.engine)) continue;
    const auto named = given.find(step.engine);
    const Result<std::string> server =
        named != given.end() ? Result<std::string>(named->second) : reference_of(find_server(context));
    if (!server.ok()) return server.error();
    const std::string& socket = *server;
    const Result<std::string> engine = HttpJobServer(context, socket).engine();
    if (!engine.ok()) return engine.error();
    // Without --on, one server takes all steps whose engine follows from their GPUs.
    const bool must_match = named != given.end() || step.engine_given;
    if (must_match && engine->find(to_text(step.engine)) == std::string::npos) {
      return Error{
          ErrorCode::refused,
          fmt::format("step {} needs a server with engine {}, but this one has {}; name one with --on {}=SERVER",
                      step.name, to_text(step.engine), *engine, to_text(step.engine)),
          socket};
    }
    state.sockets[step.engine] = socket;
  }
  return {};
}

// NAME=VALUE of --set; false after a usage error.
bool read_parameters(Context& context, const Pipeline& pipeline, RunState& state) {
  for (const std::string& word : context.arguments().values("set")) {
    const std::size_t at = word.find('=');
    const std::string name = word.substr(0, at);
    const bool known = std::any_of(pipeline.parameters.begin(), pipeline.parameters.end(),
                                   [&](const auto& each) { return each.first == name; });
    if (at == std::string::npos || !known) {
      std::vector<std::string_view> names;
      for (const auto& [each, value] : pipeline.parameters) names.push_back(each);
      context.usage_error(fmt::format("--set {}: the pipeline has no such parameter", in_backticks(word)),
                          {did_you_mean(name, names)});
      return false;
    }
    state.parameters[name] = word.substr(at + 1);
  }
  return true;
}

Exit drive(Context& context, const pipeline::RunStore& store, const Pipeline& pipeline, RunState& state,
           bool start_steps) {
  const Servers servers = connect(context, state);
  oob::SystemClock clock;
  const StopSignals signals(clock);  // jobs run on
  pipeline::StoredRun keeper(store, state.name);
  pipeline::Runner runner(pipeline, state, servers.by_engine, keeper, clock,
                          {start_steps, [&](const std::string& line) { context.note(line); }});
  Status status;
  for (;;) {
    status = runner.round();
    if (!status.ok() || runner.finished() || !clock.sleep(kPoll)) break;
  }
  if (!status.ok()) return context.failed(status.error());
  if (!runner.finished()) {
    context.note(
        fmt::format("stopped; its jobs run on. Continue with `weft pipeline resume {0}`, "
                    "or cancel them with `weft pipeline cancel {0}`",
                    state.name));
    return Exit::partial;
  }
  const bool good = !start_steps || summary_of(state) == "done";
  return context.deliver(run_view(pipeline, state), good ? Exit::ok : Exit::findings);
}

// The run's state and pipeline; the pipeline is read from the state, not from its file, which may have changed.
struct OpenRun {
  RunState state;
  Pipeline pipeline;
};
std::optional<OpenRun> open_run(Context& context, const pipeline::RunStore& store, const std::string& name,
                                Exit& exit) {
  Result<RunState> state = store.load(name);
  if (!state.ok()) {
    exit = context.failed(state.error());
    return std::nullopt;
  }
  std::optional<Pipeline> pipeline = parse(context, state->file, state->text);
  if (!pipeline) {
    exit = Exit::usage;
    return std::nullopt;
  }
  if (const Status valid = check_run(*pipeline, *state); !valid.ok()) {
    exit = context.failed(valid.error());
    return std::nullopt;
  }
  return OpenRun{std::move(*state), std::move(*pipeline)};
}

Exit run_run(Context& context) {
  const std::string path = context.arguments().word(0);
  const Result<std::string> text = read_file(path, pipeline::kMaxPipelineBytes);
  if (!text.ok()) return context.failed(text.error());
  const std::string name = path == "-" ? "standard input" : path;
  std::optional<Pipeline> pipeline = parse(context, name, *text);
  if (!pipeline) return Exit::usage;
  RunState state = new_run(*pipeline);
  std::map<StepEngine, std::string> given;
  if (!read_servers(context, given) || !read_parameters(context, *pipeline, state)) return Exit::usage;
  if (const Status chosen = choose_servers(context, *pipeline, state, given); !chosen.ok()) {
    return context.failed(chosen.error());
  }
  const std::string directory = context.arguments().value("directory");
  state.directory = absolute_path(directory.empty() ? "." : directory);
  state.tenant = context.arguments().value("account");
  state.file = name;
  state.text = *text;
  oob::SystemClock clock;
  state.started = clock.wall_ms();
  const pipeline::RunStore store = store_of(context);
  if (const Status created = store.create(state, pipeline->name); !created.ok()) return context.failed(created.error());
  const Result<FileDescriptor> lock = store.lock(state.name);
  if (!lock.ok()) return context.failed(lock.error());
  context.note(fmt::format("run {}", state.name));
  return drive(context, store, *pipeline, state, true);
}

Exit run_resume(Context& context) {
  const pipeline::RunStore store = store_of(context);
  const std::string name = context.arguments().word(0);
  Exit exit = Exit::ok;
  if (!open_run(context, store, name, exit)) return exit;
  const Result<FileDescriptor> lock = store.lock(name);
  if (!lock.ok()) return context.failed(lock.error());
  std::optional<OpenRun> run = open_run(context, store, name, exit);  // again: it may have changed before the lock
  if (!run) return exit;
  return drive(context, store, run->pipeline, run->state, true);
}

Exit run_cancel(Context& context) {
  const pipeline::RunStore store = store_of(context);
  const std::vector<std::string>& words = context.arguments().words();
  const std::string& name = words.front();
  Exit exit = Exit::ok;
  const std::optional<OpenRun> known = open_run(context, store, name, exit);
  if (!known) return exit;
  std::set<std::string> steps(words.begin() + 1, words.end());
  for (const std::string& step : steps) {
    if (known->pipeline.find(step) != nullptr) continue;
    std::vector<std::string_view> names;
    for (const pipeline::Step& each : known->pipeline.steps) names.push_back(each.name);
    return context.usage_error(fmt::format("run {} has no step {}", name, in_backticks(step)),
                               {did_you_mean(step, names)});
  }
  if (steps.empty()) steps.insert("*");
  if (const Status asked = store.request_cancel(name, steps); !asked.ok()) return context.failed(asked.error());
  const Result<FileDescriptor> lock = store.lock(name);
  if (!lock.ok() && lock.error().code == ErrorCode::conflict) {
    return context.deliver(fmt::format("run {}: the process that runs it cancels {}\n", name,
                                       steps.contains("*") ? "all steps" : "the steps"));
  }
  if (!lock.ok()) return context.failed(lock.error());
  std::optional<OpenRun> run = open_run(context, store, name, exit);
  if (!run) return exit;
  return drive(context, store, run->pipeline, run->state, false);
}

Exit run_show(Context& context) {
  Exit exit = Exit::ok;
  const std::optional<OpenRun> run = open_run(context, store_of(context), context.arguments().word(0), exit);
  return run ? context.deliver(run_view(run->pipeline, run->state)) : exit;
}

Exit run_list(Context& context) {
  const pipeline::RunStore store = store_of(context);
  const Result<std::vector<std::string>> names = store.list();
  if (!names.ok()) return context.failed(names.error());
  std::vector<RunState> runs;
  for (const std::string& name : *names) {
    Result<RunState> state = store.load(name);
    if (!state.ok()) return context.failed(state.error());
    runs.push_back(std::move(*state));
  }
  return context.deliver(runs_view(runs));
}

Exit run_check(Context& context) {
  const std::string path = context.arguments().word(0);
  const Result<std::string> text = read_file(path, pipeline::kMaxPipelineBytes);
  if (!text.ok()) return context.failed(text.error());
  const std::optional<Pipeline> pipeline = parse(context, path == "-" ? "standard input" : path, *text);
  return pipeline ? context.deliver(plan_view(*pipeline)) : Exit::usage;
}

Option state_option() {
  return {.name = "state",
          .value = "DIR",
          .help = "directory of the pipeline runs",
          .fallback = "/var/lib/weft/pipelines for root, else ~/.local/state/weft/pipelines",
          .hint = Hint::file};
}

Argument file_argument() {
  return {.name = "FILE", .help = "pipeline file or Workflow; - for standard input", .hint = Hint::file};
}

Command run_command() {
  Command command;
  command.name = "pipeline run";
  command.summary = "Run a pipeline: CPU steps on Kubernetes, GPU steps on Slurm";
  command.usage = "FILE [--on ENGINE=SERVER]... [OPTIONS]";
  command.description = {
      "FILE is a weft pipeline file or an Argo-style Workflow. Each step becomes a job of a `weft serve`: steps with "
      "GPUs on the server with engine slurm, others on the one with engine kubernetes, unless a step names its engine. "
      "Without --on, one server takes all steps.",
      "Prints the steps at the end. Exit status 0 if all are done, 1 if one failed, was canceled or skipped.",
      "Every submission is recorded before it is made. Killed at any moment, `weft pipeline resume` continues the run "
      "without submitting a job twice; the jobs run on meanwhile."};
  command.examples = {
      {"weft pipeline run nightly.yaml --on kubernetes=/run/weft/kube.sock --on slurm=/run/weft/slurm.sock",
       "CPU steps on one server, GPU steps on the other"},
      {"weft pipeline run nightly.yaml --set dataset=/data/b", "With another value of a parameter"}};
  command.arguments = {file_argument()};
  command.options = with_server_options(
      {{.name = "on",
        .value = "ENGINE=SERVER",
        .help = "server for steps of an engine (kubernetes, slurm, local): a context, URL or socket",
        .fallback = "that of --server",
        .repeatable = true},
       {.name = "set", .value = "KEY=VALUE", .help = "value of a parameter", .repeatable = true},
       {.name = "account", .value = "NAME", .help = "tenant to charge", .fallback = "the file's"},
       {.name = "directory", .value = "DIR", .help = "working directory of the jobs", .fallback = "the current one"},
       state_option(),
       output_option()});
  command.run = run_run;
  return command;
}

Command resume_command() {
  Command command;
  command.name = "pipeline resume";
  command.summary = "Continue a pipeline run that was interrupted";
  command.usage = "RUN [OPTIONS]";
  command.description = {
      "Continues with the pipeline file as it was, on the same servers. Jobs that were submitted before are found "
      "again, not submitted again."};
  command.examples = {{"weft pipeline resume nightly-3", "Continue the third run of `nightly`"}};
  command.arguments = {{.name = "RUN", .help = "name of the run"}};
  command.options = {state_option(), output_option()};
  command.run = run_resume;
  return command;
}

Command cancel_command() {
  Command command;
  command.name = "pipeline cancel";
  command.summary = "Cancel a pipeline run, or some of its steps";
  command.usage = "RUN [STEP]... [OPTIONS]";
  command.description = {
      "Steps that have not started never start; jobs that run are canceled. Steps that need a canceled one are "
      "skipped. A `weft pipeline run` that is running does it; otherwise this command does, and waits until the jobs "
      "have ended."};
  command.examples = {{"weft pipeline cancel nightly-3", "All of it"},
                      {"weft pipeline cancel nightly-3 train", "One step"}};
  command.arguments = {{.name = "RUN", .help = "name of the run"},
                       {.name = "STEP", .help = "steps to cancel; none: all", .required = false, .repeatable = true}};
  command.options = {state_option(), output_option()};
  command.run = run_cancel;
  return command;
}

Command view_command(std::string name, std::string summary, Argument argument, Example example, Exit (*run)(Context&)) {
  Command command;
  command.name = std::move(name);
  command.summary = std::move(summary);
  command.usage = argument.name.empty() ? "[OPTIONS]" : argument.name + " [OPTIONS]";
  command.examples = {std::move(example)};
  if (!argument.name.empty()) command.arguments = {std::move(argument)};
  command.options = {output_option(), file_option()};
  if (run != run_check) command.options.insert(command.options.begin(), state_option());
  command.run = run;
  return command;
}

}  // namespace

std::vector<Command> pipeline_commands() {
  std::vector<Command> commands;
  commands.push_back(run_command());
  commands.push_back(resume_command());
  commands.push_back(cancel_command());
  commands.push_back(view_command("pipeline show", "Show the steps of a pipeline run",
                                  {.name = "RUN", .help = "name of the run"},
                                  {"weft pipeline show nightly-3", "States, jobs and results of its steps"}, run_show));
  commands.push_back(
      view_command("pipeline list", "List pipeline runs", {}, {"weft pipeline list", "All runs"}, run_list));
  commands.back().group_default = true;
  commands.push_back(view_command("pipeline check", "Check a pipeline file and show its steps", file_argument(),
                                  {"weft pipeline check nightly.yaml", "Which step runs where"}, run_check));
  return commands;
}

}  // namespace weft::cli
