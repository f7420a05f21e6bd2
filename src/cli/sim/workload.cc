// weft sim workload: simulates a workload made for another simulator on a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "cli/framework/context.h"
#include "cli/framework/option_reader.h"
#include "workload/graph/graph_run.h"
#include "workload/import/chakra_graph.h"
#include "workload/import/simai_workload.h"
#include "workload/life/ring_timer.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{2} << 30U;
constexpr std::size_t kMaxFiles = 1'000'000;

struct TraceFile {
  std::string path;
  std::optional<std::uint32_t> rank;  // from its name: trace.7.et
};

// 7 for "trace.7.et" and "trace.7.json".
std::optional<std::uint32_t> rank_in(std::string_view name) {
  for (const std::string_view ending : {".et", ".json"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  name.remove_prefix(dot + 1);
  std::uint32_t rank = 0;
  const auto [behind, problem] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (problem != std::errc() || behind != name.data() + name.size() || rank > workload::kMaxChakraRank)
    return std::nullopt;
  return rank;
}

// A name that is not a file means NAME.0.et, NAME.1.et and so on, as in ASTRA-sim.
std::vector<TraceFile> expanded(const std::vector<std::string>& words) {
  std::vector<TraceFile> files;
  std::error_code ignored;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-" || fs::exists(word, ignored) || !fs::exists(word + ".0.et", ignored)) {
      files.push_back({word, rank_in(word)});
      continue;
    }
    for (std::uint32_t rank = 0; files.size() < kMaxFiles; ++rank) {
      const std::string path = fmt::format("{}.{}.et", word, rank);
      if (!fs::exists(path, ignored)) break;
      files.push_back({path, rank});
    }
  }
  return files;
}

class WorkloadRunner {
 public:
  WorkloadRunner(Context& context, const model::Cluster& cluster, workload::WorkloadMachine machine)
      : context_(context), machine_(std::move(machine)) {
    view_.where = fmt::format("{}: {} {} in {}", cluster.name(), machine_.gpus, machine_.gpu, machine_.server);
    view_.timer = "NCCL's cost model, without contention";
  }

  Exit run(OptionReader& reader) {
    if (const auto ranks = reader.integer("ranks", 1, 10'000'000)) ranks_ = static_cast<std::uint32_t>(*ranks);
    if (!reader.ok()) return context_.usage_error(reader.problem(), {reader.hint()});
    const std::vector<TraceFile> files = expanded(context_.arguments().words());
    Result<std::string> first = read_file(files.front().path, kMaxFileBytes);
    if (!first.ok()) return context_.failed(first.error());
    if (!workload::looks_like_simai(*first)) return run_chakra(files, std::move(*first));
    if (files.size() > 1) return context_.usage_error("a SimAI workload must be one file");
    return run_simai(files.front().path, std::move(*first));
  }

 private:
  Exit run_simai(const std::string& path, std::string text) {
    model::Loaded loaded;
    const FileId file = loaded.sources.add(path, std::move(text));
    const workload::SimaiOptions options{ranks_ > 0 ? ranks_ : machine_.gpus, machine_.node_gpus};
    const auto workload = workload::read_simai_workload(loaded.sources, file, options, loaded.diagnostics);
    if (!context_.report(loaded) || !workload) return Exit::usage;
    view_.workload = fmt::format("{} (SimAI): tensor {} x pipeline {} x data {}, expert {}", path, workload->tensor,
                                 workload->pipeline.stages, workload->data, workload->expert);
    if (workload->pipeline.stages > 1) {
      notes_.push_back(
          fmt::format("the file describes one pipeline stage: fill and drain are estimated as ({} - 1) / ({} "
                      "micro-batches x {} chunks) of its work and {} messages",
                      workload->pipeline.stages, workload->pipeline.micro_batches, workload->pipeline.chunks,
                      2 * (workload->pipeline.stages - 1)));
    }
    return play(workload->graph, workload::StreamOrder::program, workload->pipeline, workload->gpus);
  }

  Exit run_chakra(const std::vector<TraceFile>& files, std::string first) {
    workload::ChakraOptions options;
    options.node_gpus = machine_.node_gpus;
    options.flops = machine_.flops;
    options.memory = machine_.memory;
    options.host_link = machine_.host_link;
    if (const auto exit = read_groups(options)) return *exit;
    auto most = std::max(ranks_, static_cast<std::uint32_t>(files.size()));
    for (const TraceFile& file : files) {
      most = std::max(most, file.rank.value_or(0) + 1);
      if (!file.rank && files.size() > 1) {
        return context_.usage_error(fmt::format("cannot determine the rank of `{}`", file.path),
                                    {"name trace files NAME.RANK.et"});
      }
    }
    workload::ChakraSet set(most);
    std::string bytes = std::move(first);
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (i > 0) {
        Result<std::string> read = read_file(files[i].path, kMaxFileBytes);
        if (!read.ok()) return context_.failed(read.error());
        bytes = std::move(*read);
      }
      Result<workload::ChakraTrace> trace = workload::read_chakra(bytes, files[i].path);
      if (!trace.ok()) return context_.failed(trace.error());
      const Status added = set.add(files[i].rank.value_or(0), std::move(*trace), files[i].path);
      if (!added.ok()) return context_.failed(added.error());
    }
    const std::size_t distinct = set.distinct();
    Result<workload::ChakraWorkload> workload = std::move(set).finish(options);
    if (!workload.ok()) return context_.failed(workload.error());
    view_.workload = files.size() == 1 ? fmt::format("{} (Chakra)", files.front().path)
                                       : fmt::format("{} and {} more (Chakra), {} distinct", files.front().path,
                                                     files.size() - 1, distinct);
    for (const std::string& warning : workload->warnings) notes_.push_back("warning: " + warning);
    return play(workload->graph, workload::StreamOrder::ready, {}, workload->ranks);
  }

  std::optional<Exit> read_groups(workload::ChakraOptions& options) {
    const std::string path = context_.arguments().value("groups");
    if (path.empty()) return std::nullopt;
    const Result<std::string> text = read_file(path);
    if (!text.ok()) return context_.failed(text.error());
    Result<std::vector<workload::ChakraRanks>> groups = workload::read_chakra_groups(*text, path);
    if (!groups.ok()) return context_.failed(groups.error());
    options.groups = std::move(*groups);
    return std::nullopt;
  }

  Exit play(const workload::OpGraph& graph, workload::StreamOrder order, const workload::Pipeline& pipeline,
            std::uint32_t ranks) {
    const std::unique_ptr<workload::CommunicationTimer> timer = make_communication_timer(machine_);
    const Result<workload::GraphRun> run = run_graph(graph, *timer, order, pipeline);
    if (!run.ok()) return context_.failed(run.error());
    Document document = graph_run_document(view_, *run);
    document.notes.insert(document.notes.end(), notes_.begin(), notes_.end());
    if (ranks > machine_.gpus) {
      document.notes.push_back(
          fmt::format("warning: the workload has {} ranks, and the cluster {} GPUs", ranks, machine_.gpus));
    }
    return context_.deliver(document);
  }

  Context& context_;
  workload::WorkloadMachine machine_;
  workload::GraphRunContext view_;
  std::vector<std::string> notes_;
  std::uint32_t ranks_ = 0;
};

Exit run_workload(Context& context) {
  OptionReader reader(context.arguments());
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(0));
  if (!context.report(*loaded)) return Exit::usage;
  Result<workload::WorkloadMachine> machine = workload::workload_machine(*loaded->cluster);
  if (!machine.ok()) return context.failed(machine.error());
  return WorkloadRunner(context, *loaded->cluster, std::move(*machine)).run(reader);
}

}  // namespace

Command sim_workload_command() {
  Command command;
  command.name = "sim workload";
  command.summary = "Simulate a SimAI or Chakra workload on a cluster";
  command.usage = "CLUSTER FILE... [OPTIONS]";
  command.description = {
      "FILE is a SimAI workload as written by AICB, or the Chakra execution traces of a job's ranks: NAME.0.et, "
      "NAME.1.et and so on (NAME alone means all of them), in protobuf or JSON. Identical ranks are simulated once.",
      "Kernel times are taken from the file; Chakra nodes without a duration are estimated from their operations and "
      "bytes on the cluster's GPU. Communication is modeled on the cluster's NVLink and backend.",
      "The result shows the exposed communication time and the critical path."};
  command.examples = {
      {"weft sim workload cluster.yaml gpt.txt", "A SimAI workload"},
      {"weft sim workload cluster.yaml traces/llama", "Chakra: traces/llama.0.et, traces/llama.1.et, ..."},
      {"weft sim workload cluster.yaml rank0.et --ranks 64", "One trace used for 64 ranks"},
  };
  command.arguments = {
      cluster_argument(),
      {.name = "FILE", .help = "a workload file, or the traces of the ranks", .hint = Hint::file, .repeatable = true}};
  command.options = {
      {.name = "ranks",
       .value = "N",
       .help = "number of ranks, if the files do not give it",
       .fallback = "SimAI: the cluster's GPUs; Chakra: as many as traces"},
      {.name = "groups",
       .value = "FILE",
       .help = "communicators for Chakra traces that lack them, in ASTRA-sim's format: {\"1\": [0, 1], ...}",
       .hint = Hint::file},
      output_option(),
      file_option(),
      catalog_option()};
  command.run = run_workload;
  return command;
}

}  // namespace weft::cli
