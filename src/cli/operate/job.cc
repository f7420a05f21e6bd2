// weft job list, show, why, cancel, hold, release.
#include <fmt/format.h>

#include "cli/operate/server_client.h"

namespace weft::cli {
namespace {

serve::Target target_of(std::string path) {
  serve::Target target;
  target.path = std::move(path);
  return target;
}

Exit run_list(Context& context) {
  const Arguments& arguments = context.arguments();
  serve::Target target = target_of("/v1/jobs");
  if (arguments.has("all")) target.query.emplace_back("all", "1");
  for (const char* name : {"user", "limit"}) {
    if (arguments.has(name)) target.query.emplace_back(name, arguments.value(name));
  }
  if (arguments.has("status")) target.query.emplace_back("state", arguments.value("status"));
  return ServerClient(context).show(target);
}

Exit run_view(Context& context, std::string_view suffix) {
  const std::optional<std::uint64_t> job = read_job_number(context, context.arguments().word(0));
  if (!job) return Exit::usage;
  return ServerClient(context).show(target_of(fmt::format("/v1/jobs/{}{}", *job, suffix)));
}

Exit run_show(Context& context) { return run_view(context, ""); }
Exit run_why(Context& context) { return run_view(context, "/why"); }

// The worst outcome of all jobs that were named.
Exit run_change(Context& context, std::string_view verb) {
  std::vector<std::uint64_t> jobs;
  for (const std::string& word : context.arguments().words()) {
    const std::optional<std::uint64_t> job = read_job_number(context, word);
    if (!job) return Exit::usage;
    jobs.push_back(*job);
  }
  const ServerClient client(context);
  Exit worst = Exit::ok;
  for (const std::uint64_t job : jobs) {
    const Exit code = client.change(fmt::format("/v1/jobs/{}/{}", job, verb), fmt::format("job {}", job));
    if (code > worst) worst = code;
  }
  return worst;
}

Exit run_cancel(Context& context) { return run_change(context, "cancel"); }
Exit run_hold(Context& context) { return run_change(context, "hold"); }
Exit run_release(Context& context) { return run_change(context, "release"); }

Argument job_argument() { return {.name = "JOB", .help = "number of the job"}; }
Argument jobs_argument() { return {.name = "JOB", .help = "numbers of the jobs", .repeatable = true}; }

Command list_command() {
  Command command;
  command.name = "job list";
  command.summary = "List jobs and their states";
  command.usage = "[--all] [OPTIONS]";
  command.description = {"Jobs that have not ended, in the order of submission; with --all also those that have."};
  command.examples = {{"weft job list --watch", "Follow the jobs"},
                      {"weft job list --status failed", "The jobs that failed"}};
  command.options = {{.name = "all", .help = "also jobs that have ended"},
                     {.name = "user", .value = "NAME", .help = "only jobs of this user"},
                     {.name = "status", .value = "STATE", .help = "only jobs in this state, as the list shows it"},
                     {.name = "limit", .value = "N", .help = "maximum number of ended jobs", .fallback = "200"},
                     watch_option(),
                     socket_option(),
                     output_option(),
                     file_option()};
  command.run = run_list;
  command.group_default = true;
  return command;
}

Command show_job_command() {
  Command command;
  command.name = "job show";
  command.summary = "Show a job: state, attempts, checkpoints, nodes";
  command.usage = "JOB [OPTIONS]";
  command.examples = {{"weft job show 7", "Where job 7 runs and what it was restored from"}};
  command.arguments = {job_argument()};
  command.options = {watch_option(), socket_option(), output_option(), file_option()};
  command.run = run_show;
  return command;
}

Command why_command() {
  Command command;
  command.name = "job why";
  command.summary = "Explain why a job waits, or why it runs where it does";
  command.usage = "JOB [OPTIONS]";
  command.description = {
      "For a waiting job: what it waits for, which jobs block it, the expected start, and the smallest changes that "
      "start it sooner, each tried on a copy of the scheduler. For a running job: its placement and the alternatives."};
  command.examples = {{"weft job why 7", "What job 7 waits for"}};
  command.arguments = {job_argument()};
  command.options = {socket_option(), output_option(), file_option()};
  command.run = run_why;
  return command;
}

Command change_command(std::string_view verb, std::string summary, std::string description, Exit (*run)(Context&)) {
  Command command;
  command.name = fmt::format("job {}", verb);
  command.summary = std::move(summary);
  command.usage = "JOB... [OPTIONS]";
  command.description = {std::move(description)};
  command.examples = {{fmt::format("weft job {} 7 8", verb), "Two jobs"}};
  command.arguments = {jobs_argument()};
  command.options = {reason_option("why, for the journal and for `weft job show`"), socket_option(), output_option()};
  command.run = run;
  return command;
}

}  // namespace

std::vector<Command> job_commands() {
  std::vector<Command> commands;
  commands.push_back(job_submit_command());
  commands.push_back(list_command());
  commands.push_back(show_job_command());
  commands.push_back(why_command());
  commands.push_back(job_logs_command());
  commands.push_back(job_wait_command());
  commands.push_back(change_command("cancel", "Cancel jobs",
                                    "A running job gets SIGTERM, and SIGKILL after its grace period. It has ended when "
                                    "none of its processes is left.",
                                    run_cancel));
  commands.push_back(
      change_command("hold", "Hold queued jobs: they do not start", "Only jobs that wait can be held.", run_hold));
  commands.push_back(change_command("release", "Release held jobs: they may start",
                                    "A job that was held after too many failures starts again with its failures "
                                    "counted from zero.",
                                    run_release));
  return commands;
}

}  // namespace weft::cli
