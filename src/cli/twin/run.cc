// weft twin run: the operations of a cluster for a month, simulated with the product's control plane.
#include <fmt/format.h>

#include "base/file.h"
#include "cli/framework/progress.h"
#include "cli/twin/input.h"
#include "twin/page.h"
#include "twin/recording.h"
#include "twin/view.h"

namespace weft::cli {
namespace {

// --page and --recording.
std::optional<Exit> write_option(Context& context, const char* option, const std::string& text) {
  const std::string path = context.arguments().value(option);
  const Status written = write_file(path, text);
  if (!written.ok()) return context.failed(written.error());
  context.note(fmt::format("wrote {}", path));
  return std::nullopt;
}

Exit run_twin(Context& context) {
  TwinInput input;
  if (const std::optional<Exit> exit = open_twin(context, input)) return *exit;
  const InterruptGuard guard;
  SimProgressLine line(context.io(), context.io().err_is_terminal && !context.quiet(), "twin");
  twin::TwinHooks hooks;
  hooks.progress = [&](Duration done) {
    netsim::SimProgress progress;
    progress.done = static_cast<std::uint64_t>(done / sched::seconds(3600));
    progress.total = static_cast<std::uint64_t>(input.plan.length / sched::seconds(3600));
    return line.on_progress(progress);
  };
  const Result<twin::TwinResult> result = twin::play(input.plan, hooks);
  line.finish();
  if (!result.ok()) {
    if (result.error().code != ErrorCode::unavailable) return context.failed(result.error());
    context.note("interrupted: no result");
    return Exit::partial;
  }
  context.detail(fmt::format("{} turns of the controller, {} journal records in {:.1f} s", result->turns,
                             result->records, line.seconds()));
  if (context.arguments().has("page")) {
    if (const auto exit = write_option(context, "page", twin::twin_page(*result))) return *exit;
  }
  if (context.arguments().has("recording")) {
    if (const auto exit = write_option(context, "recording", twin::write_recording(input.plan, *result))) return *exit;
  }
  const OutputFormat format = context.output_format();
  const bool people = format == OutputFormat::table || format == OutputFormat::wide;
  return context.deliver(twin::result_document(*result, !people));
}

}  // namespace

Command twin_run_command() {
  Command command;
  command.name = "twin run";
  command.summary = "Simulate the operation of a cluster with failures and repair";
  command.usage = "[CLUSTER] [OPTIONS]";
  command.description = {
      "Runs the control plane of `weft serve` against a simulated cluster: jobs compute, write checkpoints and lose "
      "work; nodes fail at the rates of a fault file, telemetry notices it, sessions repair or people do. Prints the "
      "effective training time ratio (ETTR), goodput, availability, and the lost GPU-hours by cause.",
      "Without --job or --jobs, one training job runs on all nodes but the spares. With --job, step time, restart and "
      "checkpoint times are those of `weft sim life`; with --jobs, jobs arrive and compute as in the trace."};
  command.examples = {
      {"weft twin run cluster.yaml", "A month of one job on all nodes"},
      {"weft twin run cluster.yaml --job job.yaml --days 54 --seed 7", "A job file for 54 days"},
      {"weft twin run cluster.yaml --jobs trace.csv", "A trace of jobs"},
      {"weft twin run --plain 2048x8 --spares 16 --interval 10m", "2,048 servers, 16 of them spare"},
  };
  command.arguments = twin_arguments();
  command.options = twin_input_options();
  command.options.push_back(
      {.name = "page", .value = "FILE", .help = "write a self-contained web page", .hint = Hint::file});
  command.options.push_back(
      {.name = "recording", .value = "FILE", .help = "write a recording, for `weft twin replay`", .hint = Hint::file});
  for (const Option& option : {output_option(), file_option(), catalog_option()}) command.options.push_back(option);
  command.run = run_twin;
  return command;
}

}  // namespace weft::cli
