// weft health check: judges recorded logs, metrics and reports of nodes.
#include <fmt/format.h>

#include <chrono>

#include "base/file.h"
#include "cli/framework/option_reader.h"
#include "cli/health/rules_file.h"
#include "health/intake/review.h"

namespace weft::cli {
namespace {

// "train001=dmesg.txt": the node that a file without node names is about.
struct Given {
  std::string node;
  std::string path;
};

Given split_argument(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const std::size_t slash = argument.find('/');
  if (equals == std::string::npos || equals == 0 || slash < equals) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

Exit run_check(Context& context) {
  std::shared_ptr<const health::Rules> rules;
  if (const auto exit = read_health_rules(context, rules)) return *exit;
  OptionReader reader(context.arguments());
  health::ReviewOptions options;
  options.every = reader.time("every").value_or(sched::seconds(15));
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const auto clock = std::chrono::system_clock::now().time_since_epoch();
  options.now = sched::Moment(std::chrono::duration_cast<std::chrono::nanoseconds>(clock).count());
  health::Review review(rules, options);
  model::Loaded loaded;
  bool all_read = true;
  for (const std::string& argument : context.arguments().words()) {
    const Given given = split_argument(argument);
    Result<std::string> text = read_file(given.path);
    if (!text.ok()) return context.failed(text.error());
    const FileId file = loaded.sources.add(given.path, std::move(text).value());
    all_read = review.add(loaded.sources, file, given.node, loaded.diagnostics) && all_read;
  }
  if (!context.report(loaded) || !all_read) return Exit::usage;
  review.judge();
  const health::HealthState worst = review.worst();
  const bool found = worst == health::HealthState::degraded || worst == health::HealthState::fatal;
  return context.deliver(review.document(context.arguments().has("all")), found ? Exit::findings : Exit::ok);
}

}  // namespace

Command health_check_command() {
  Command command;
  command.name = "health check";
  command.summary = "Judge recorded logs, metrics and reports of nodes";
  command.usage = "FILE... [OPTIONS]";
  command.description = {
      "Reads kernel logs (dmesg, journalctl, syslog), metrics of dcgm-exporter, node_exporter and RDMA exporters, "
      "answers of Prometheus, and JSON reports, with heartbeats of jobs. Judges them in the order of their times, as "
      "`weft serve` does while they are written: incidents, the health of each node and what is to be done. Nothing is "
      "done.",
      "A file is about the node that its lines name, or about NODE with NODE=FILE. Exit code 1: a node is degraded or "
      "must be taken out of service."};
  command.examples = {
      {"weft health check train001=dmesg.txt", "The kernel log of a node"},
      {"weft health check /var/log/remote/*/kern.log", "Logs of a log server"},
      {"weft health check train001=scrape1.txt train001=scrape2.txt --every 15s", "Metrics, one file per scrape"}};
  command.arguments = {{.name = "FILE", .help = "file, or NODE=FILE", .hint = Hint::file, .repeatable = true}};
  command.options = {health_rules_option(),
                     {.name = "every",
                      .value = "TIME",
                      .help = "between metric files of a node that have no times",
                      .fallback = "15s"},
                     {.name = "all", .help = "list healthy nodes, too"},
                     output_option(),
                     file_option()};
  command.run = run_check;
  return command;
}

}  // namespace weft::cli
