// weft job wait, weft job logs, weft drill run: commands that follow one job.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/framework/option_reader.h"
#include "cli/operate/server_client.h"
#include "serve/api/api.h"

namespace weft::cli {
namespace {

constexpr Duration kRestartTime = milliseconds(600'000);  // how long a server may be gone
constexpr const char* kDrill = "checkpoint";              // the one there is
constexpr auto kLogPause = std::chrono::milliseconds(300);

// Waits until `done` accepts the job's fields. Errors: the server is gone for too long, or no such job.
Result<ServerClient::JobFields> wait_for(const ServerClient& client, std::uint64_t job,
                                         const std::function<bool(const ServerClient::JobFields&)>& done) {
  for (;;) {
    Result<ServerClient::JobFields> fields = client.job(job, kRestartTime);
    if (!fields.ok() || done(*fields)) return fields;
    serve::Target target;
    target.query.emplace_back("job", std::to_string(job));
    const Status followed = client.follow(target, fields->sequence, [](const serve::ServerEvent&) { return false; });
    // The records since then may have been replaced by a snapshot: the job is read again.
    if (!followed.ok() && followed.error().code != ErrorCode::invalid_input) return followed.error();
  }
}

Exit run_wait(Context& context) {
  const ServerClient client(context);
  Exit worst = Exit::ok;
  for (const std::string& word : context.arguments().words()) {
    const std::optional<std::uint64_t> job = read_job_number(context, word);
    if (!job) return Exit::usage;
    const auto fields = wait_for(client, *job, [](const ServerClient::JobFields& each) { return each.ended(); });
    if (!fields.ok()) return context.failed(fields.error());
    const std::string why = fields->reason.empty() ? std::string() : ": " + fields->reason;
    const Exit printed = context.deliver(fmt::format("job {}: {}{}\n", *job, fields->state, why));
    if (printed != Exit::ok) return printed;
    if (fields->state != "done") worst = Exit::findings;
  }
  return worst;
}

serve::Target log_target(const Arguments& arguments, std::uint64_t job) {
  serve::Target target = target_of(fmt::format("/jobs/{}/logs", job));
  for (const char* name : {"task", "attempt"}) {
    if (arguments.has(name)) target.query.emplace_back(name, arguments.value(name));
  }
  return target;
}

// Prints what is added to the log until the job has ended; an attempt that follows is a log of its own.
Exit follow_logs(Context& context, const ServerClient& client, std::uint64_t job) {
  end_with_the_reader();
  const bool any_attempt = !context.arguments().has("attempt");
  std::int64_t attempt = 0;
  std::string position;
  for (;;) {
    const Result<ServerClient::JobFields> fields = client.job(job, kRestartTime);
    if (!fields.ok()) return context.failed(fields.error());
    if (any_attempt && fields->attempt != attempt) {
      attempt = fields->attempt;
      position.clear();
      if (attempt > 1) context.note(fmt::format("attempt {}", attempt));
    }
    serve::Target target = log_target(context.arguments(), job);
    if (any_attempt) target.query.emplace_back("attempt", std::to_string(attempt));
    if (!position.empty()) target.query.emplace_back("after", position);
    const Result<serve::HttpResponse> response = client.get(target, kRestartTime);
    if (!response.ok() && response.error().code != ErrorCode::not_found) return context.failed(response.error());
    if (response.ok()) {
      if (const std::string* end = response->find_header(serve::kLogPositionHeader)) position = *end;
      if (const Exit printed = context.deliver(response->body); printed != Exit::ok) return printed;
      if (!response->body.empty()) continue;
    }
    if (fields->ended()) return Exit::ok;
    std::this_thread::sleep_for(kLogPause);
  }
}

Exit run_logs(Context& context) {
  const std::optional<std::uint64_t> job = read_job_number(context, context.arguments().word(0));
  if (!job) return Exit::usage;
  OptionReader reader(context.arguments());
  (void)reader.integer("task", 0, sched::kMaxTasks);
  (void)reader.integer("attempt", 1, UINT32_MAX);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const ServerClient client(context);
  if (context.arguments().has("follow")) return follow_logs(context, client, *job);
  const Result<serve::HttpResponse> response = client.get(log_target(context.arguments(), *job));
  if (!response.ok()) return context.failed(response.error());
  return context.deliver(response->body);
}

Exit run_drill(Context& context) {
  const std::string drill = context.arguments().word(0);
  if (drill != kDrill) {
    const std::string job = parse_integer(drill).ok() ? drill : "JOB";
    return context.usage_error(
        "unknown drill " + in_backticks(drill),
        {fmt::format("the only drill is `{}`: weft drill run {} --job {}", kDrill, kDrill, job)});
  }
  if (!context.arguments().has("job")) return context.usage_error("missing --job", {"`weft job list` shows the jobs"});
  const std::optional<std::uint64_t> job = read_job_number(context, context.arguments().value("job"));
  if (!job) return Exit::usage;
  const ServerClient client(context);
  const Result<ServerClient::JobFields> before = client.job(*job);
  if (!before.ok()) return context.failed(before.error());
  const Result<serve::HttpResponse> asked = client.post(fmt::format("/jobs/{}/drill", *job), "");
  if (!asked.ok()) return context.failed(asked.error());
  context.note(fmt::format("job {}: attempt {} on {} stops with a checkpoint", *job, before->attempt, before->nodes));
  const auto after = wait_for(
      client, *job, [](const ServerClient::JobFields& each) { return each.ended() || each.drill_result != "pending"; });
  if (!after.ok()) return context.failed(after.error());
  const bool passed = after->drill.starts_with("passed");
  return context.deliver(fmt::format("job {}: drill {}\n", *job, after->drill), passed ? Exit::ok : Exit::findings);
}

}  // namespace

Command job_wait_command() {
  Command command;
  command.name = "job wait";
  command.summary = "Wait until jobs have ended";
  command.usage = "JOB... [OPTIONS]";
  command.description = {
      "Prints how each job ended. Exit status 0 if all are done, 1 if one failed or was canceled. "
      "Goes on waiting while the server restarts."};
  command.examples = {{"weft job wait 7", "Until job 7 has ended"}};
  command.arguments = {{.name = "JOB", .help = "numbers of the jobs", .repeatable = true}};
  command.options = with_server_options({});
  command.run = run_wait;
  return command;
}

Command job_logs_command() {
  Command command;
  command.name = "job logs";
  command.summary = "Print the output of a task of a job";
  command.usage = "JOB [--task N] [--follow] [OPTIONS]";
  command.description = {
      "Standard output and standard error of one task, at most the last 4 MiB. With --follow, also "
      "what is added, through all attempts, until the job has ended."};
  command.examples = {{"weft job logs 7 --task 3", "Output of task 3"}, {"weft job logs 7 --follow", "Follow task 0"}};
  command.arguments = {{.name = "JOB", .help = "number of the job"}};
  command.options =
      with_server_options({{.name = "task", .value = "N", .help = "task, from 0", .fallback = "0"},
                           {.name = "attempt", .value = "N", .help = "attempt, from 1", .fallback = "the last"},
                           {.name = "follow", .help = "print what is added, until the job has ended"},
                           file_option()});
  command.run = run_logs;
  return command;
}

Command drill_command() {
  Command command;
  command.name = "drill run";
  command.summary = "Prove that a running job can be restored";
  command.usage = "checkpoint --job JOB [OPTIONS]";
  command.description = {
      "Asks the running job for a checkpoint, stops it, and starts it on other nodes. The drill has passed when the "
      "job "
      "runs there, restored from an intact checkpoint, and has written the next one, or has run for ten minutes. Exit "
      "status 0 if it passed, 1 if it failed. Recovery that was never tried may not work: run it before a long job is "
      "left alone."};
  command.examples = {{"weft drill run checkpoint --job 7", "Restore job 7"}};
  command.arguments = {
      {.name = "DRILL", .help = "what to prove", .choices = {{kDrill, "restore from a checkpoint"}}, .open = true}};
  command.options = with_server_options({{.name = "job", .letter = 'j', .value = "JOB", .help = "number of the job"}});
  command.run = run_drill;
  return command;
}

}  // namespace weft::cli
