// weft job list, show, why, cancel, hold, release.
#include <fmt/format.h>

#include "cli/operate/server_client.h"

namespace weft::cli {
namespace {

Exit run_list(Context& context) {
  const Arguments& arguments = context.arguments();
  serve::Target target = target_of("/jobs");
  if (arguments.has("all")) target.query.emplace_back("all", "1");
  for (const char* name : {"user", "limit"}) {
    if (arguments.has(name)) target.query.emplace_back(name, arguments.value(name));
  }
  if (arguments.has("status")) target.query.emplace_back("state", arguments.value("status"));
  return ServerClient(context).show(target);
}

Exit run_view(Context& context, std::string_view suffix) {
  const std::optional<std::string> job = read_job_name(context, context.arguments().word(0));
  if (!job) return Exit::usage;
  return ServerClient(context).show(target_of(fmt::format("/jobs/{}{}", *job, suffix)));
}

Exit run_show(Context& context) { return run_view(context, ""); }
Exit run_why(Context& context) { return run_view(context, "/why"); }

Exit run_change(Context& context, std::string_view verb) {
  std::vector<std::string> jobs;
  for (const std::string& word : context.arguments().words()) {
    const std::optional<std::string> job = read_job_name(context, word);
    if (!job) return Exit::usage;
    jobs.push_back(*job);
  }
  return ServerClient(context).change_each("jobs", "job", jobs, verb);
}

Exit run_cancel(Context& context) { return run_change(context, "cancel"); }
Exit run_hold(Context& context) { return run_change(context, "hold"); }
Exit run_release(Context& context) { return run_change(context, "release"); }

Argument job_argument() { return {.name = "JOB", .help = "number of the job; in watch mode, as the engine names it"}; }

Command list_command() {
  Command command;
  command.name = "job list";
  command.summary = "List jobs and their states";
  command.usage = "[--all] [OPTIONS]";
  command.description = {"Jobs that have not ended, in the order of submission; with --all also those that have."};
  command.examples = {{"weft job list --watch", "Follow the jobs"},
                      {"weft job list --status failed", "The jobs that failed"}};
  command.options = with_server_options(
      {{.name = "all", .help = "also jobs that have ended"},
       {.name = "user", .value = "NAME", .help = "only jobs of this user"},
       {.name = "status", .value = "STATE", .help = "only jobs in this state, as the list shows it"},
       {.name = "limit", .value = "N", .help = "maximum number of jobs"},
       watch_option(),
       output_option(),
       file_option()});
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
  command.options = with_server_options({watch_option(), output_option(), file_option()});
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
      "start it sooner, each tried on a copy of the scheduler. For a running job: its placement and the alternatives.",
      "In watch mode: the engine's own reason in words, and the facts that belong to it: what the job asks for, what "
      "is "
      "free, which nodes are out of service and by whom, which jobs are ahead of it."};
  command.examples = {{"weft job why 7", "What job 7 waits for"}};
  command.arguments = {job_argument()};
  command.options = with_server_options({output_option(), file_option()});
  command.run = run_why;
  return command;
}

Command job_change(std::string_view verb, std::string summary, std::string description, Exit (*run)(Context&)) {
  return change_command({.group = "job",
                         .verb = verb,
                         .summary = std::move(summary),
                         .description = {std::move(description)},
                         .example = {fmt::format("weft job {} 7 8", verb), "Two jobs"},
                         .objects = {.name = "JOB", .help = "numbers of the jobs", .repeatable = true},
                         .reason_help = "why, for the journal and for `weft job show`",
                         .run = run});
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
  commands.push_back(job_change("cancel", "Cancel jobs",
                                "A running job gets SIGTERM, and SIGKILL after its grace period. It has ended when "
                                "none of its processes is left.",
                                run_cancel));
  commands.push_back(
      job_change("hold", "Hold queued jobs: they do not start", "Only jobs that wait can be held.", run_hold));
  commands.push_back(job_change("release", "Release held jobs: they may start",
                                "A job that was held after too many failures starts again with its failures "
                                "counted from zero.",
                                run_release));
  return commands;
}

}  // namespace weft::cli
