// weft sim life: a training job from submit to checkpoint on the four fabrics.
#include <fmt/format.h>

#include "base/file.h"
#include "cli/sim/life_input.h"
#include "workload/life/fidelity.h"
#include "workload/life/page.h"
#include "workload/life/perfetto.h"
#include "workload/life/view.h"
#include "workload/training/model_shape.h"

namespace weft::cli {
namespace {

bool write_result(Context& context, const char* option, const std::string& text) {
  const std::string path = context.arguments().value(option);
  const Status written = write_file(path, text);
  if (!written.ok()) {
    (void)context.failed(written.error());
    return false;
  }
  context.note(fmt::format("wrote {} ({:.1f} MB)", path, static_cast<double>(text.size()) / 1e6));
  return true;
}

Exit run_life(Context& context) {
  LifeInput input;
  if (const auto exit = open_life(context, context.arguments().word(0), context.arguments().word(1), input))
    return *exit;
  OptionReader reader(context.arguments());
  LifeRequest request;
  read_life_options(reader, *input.loaded->cluster, request);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const bool wants_page = !context.arguments().value("page").empty();
  const bool wants_trace = !context.arguments().value("trace").empty();
  request.options.what_ifs = !context.arguments().has("no-what-if");
  request.options.timeline = wants_page || wants_trace;
  request.options.heat_maps = wants_page;
  std::vector<workload::LifeResult> lives;
  for (const netsim::Fidelity fidelity : request.fidelities) {
    workload::LifeOptions options = request.options;
    options.fidelity = fidelity;
    // Recommendations only for the finest fidelity.
    options.what_ifs = options.what_ifs && fidelity == request.fidelities.back();
    if (!lives.empty()) options.memory = workload::MemoryCheck::ignore;  // already checked
    std::optional<workload::LifeResult> life = play_with_progress(context, input, options);
    if (!life) return Exit::usage;
    lives.push_back(std::move(*life));
  }
  if (wants_page && !write_result(context, "page", workload::life_page(lives.back()))) return Exit::unavailable;
  if (wants_trace && !write_result(context, "trace", workload::perfetto_trace(lives.back()))) return Exit::unavailable;
  Document document = workload::life_document(lives.back());
  if (lives.size() > 1) workload::add_fidelities(lives, document);
  const Exit delivered = context.deliver(document);
  return delivered == Exit::ok && !lives.back().faults.restarts ? Exit::partial : delivered;
}

Exit run_models(Context& context) { return context.deliver(workload::models_document()); }

}  // namespace

Command sim_life_command() {
  Command command;
  command.name = "sim life";
  command.summary = "Simulate a training job from submit to checkpoint";
  command.usage = "CLUSTER JOB [OPTIONS]";
  command.description = {
      "Simulates the five states of a job (submit, NCCL bootstrap, ingest and forward, backward and reduction, "
      "optimizer and checkpoint) and prints which of the four fabrics is busy or idle in each, the step time and its "
      "breakdown, the bottleneck, and the three changes that help most, each verified by simulation.",
      "Faults strike the running job: --fail, --slow, --errors and others show whether it continues, stalls or ends, "
      "and "
      "the step after the fault or after a restart on the same servers, where NCCL leaves out ports that are down. "
      "NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT of the job's environment count. Exit code 3 if these servers cannot run "
      "the job any more.",
      "JOB is a job file whose `training` section gives the model (`weft sim models`), its parallelism and precision, "
      "and how it reads samples and writes checkpoints; `weft schema job` documents all keys."};
  command.examples = {
      {"weft sim life cluster.yaml job.yaml", "The five states, one step, the bottleneck"},
      {"weft sim life cluster.yaml job.yaml --page life.html --trace life.json",
       "Write a web page, and a timeline for Perfetto"},
      {"weft sim life cluster.yaml job.yaml --fidelity all", "All three fidelities and their differences"},
      {"weft sim life cluster.yaml job.yaml --transport tcp", "Sockets instead of RDMA"},
      {"weft sim life cluster.yaml job.yaml --fail train001:gpu0", "The backend cable of a GPU is cut"},
      {"weft sim life cluster.yaml job.yaml --memory refuse", "Reject jobs whose estimated memory exceeds the GPU's"},
  };
  command.arguments = {cluster_argument(),
                       {.name = "JOB", .help = "job file with a training section", .hint = Hint::file}};
  command.options = life_run_options();
  command.options.push_back({.name = "no-what-if", .help = "do not search for improvements"});
  command.options.push_back(
      {.name = "page", .value = "FILE", .help = "write a self-contained web page", .hint = Hint::file});
  command.options.push_back(
      {.name = "trace", .value = "FILE", .help = "write the timeline for ui.perfetto.dev", .hint = Hint::file});
  for (const Option& option : {output_option(), file_option(), catalog_option()}) command.options.push_back(option);
  command.run = run_life;
  return command;
}

Command sim_models_command() {
  Command command;
  command.name = "sim models";
  command.summary = "List the built-in models for job files";
  command.usage = "[OPTIONS]";
  command.examples = {{"weft sim models", "Names, sizes and dimensions"}};
  command.options = {output_option(), file_option()};
  command.run = run_models;
  return command;
}

}  // namespace weft::cli
