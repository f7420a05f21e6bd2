// weft init: a cluster file from five questions.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/diagnostic.h"
#include "base/file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/design/design_request.h"
#include "cli/design/generated_file.h"
#include "cli/framework/context.h"

namespace weft::cli {
namespace {

constexpr std::string_view kDefaultFile = "weft.yaml";
constexpr std::int64_t kDefaultGpus = 64;

struct Question {
  std::string option;  // that answers it on the command line
  std::string text;
  std::string fallback;
};

std::vector<Question> questions() {
  const design::DesignRequest defaults;
  const auto name = [](auto value) { return std::string(model::text_of(value)); };
  return {
      {"gpu", "GPU model (? lists them)", defaults.gpu},
      {"gpus", "Number of GPUs", std::to_string(kDefaultGpus)},
      {"network", "Backend network: ethernet (RoCE v2) or infiniband", name(defaults.network)},
      {"data", "Storage throughput: good (text), better (images) or best (video)", name(defaults.data)},
      {"scheduler", "Scheduler: kubernetes, slurm or both", name(defaults.scheduler)},
  };
}

class Interview {
 public:
  Interview(Context& context, std::shared_ptr<const model::Catalog> catalog)
      : context_(context), catalog_(std::move(catalog)) {
    request_.gpus = kDefaultGpus;
  }

  // Asks what the options do not answer. False, after a message, if there is no answer.
  bool ask_all() {
    const Arguments& arguments = context_.arguments();
    for (const Question& question : questions()) {
      if (!arguments.has(question.option) && !arguments.has("yes") && !ask(question)) return false;
    }
    return true;
  }

  Status read_options() { return read_design_options(context_.command(), context_.arguments(), request_); }

  [[nodiscard]] Result<design::DesignAnswer> design() const { return design::design_cluster(request_, catalog_); }

 private:
  bool ask(const Question& question) {
    Io& io = context_.io();
    while (true) {
      io.write_err(fmt::format("{} [{}]: ", question.text, question.fallback));
      const std::string line = io.read_line();
      if (line.empty() && io.input_ended && io.input_ended()) {
        io.write_err("\nweft: nothing was written\n");
        return false;
      }
      const std::string answer(trim(line));
      if (answer == "?" && question.option == "gpu") {
        list_gpus();
        continue;
      }
      const Status taken = take(question, answer.empty() ? question.fallback : answer);
      if (taken.ok()) return true;
      io.write_err(fmt::format("  {}\n", trim_end(taken.error().message)));
    }
  }

  // A value can also be wrong together with the ones before: whether the cluster can be built shows.
  Status take(const Question& question, const std::string& answer) {
    design::DesignRequest next = request_;
    if (const Status set = set_design_value(next, question.option, answer); !set.ok()) return set.error();
    if (question.option == "gpu" && catalog_->gpu(answer) == nullptr) return unknown_gpu(answer);
    const Result<design::DesignAnswer> trial = design::design_cluster(next, catalog_);
    if (!trial.ok()) return trial.error();
    request_ = std::move(next);
    return {};
  }

  [[nodiscard]] Error unknown_gpu(const std::string& answer) const {
    std::vector<std::string_view> ids;
    for (const model::GpuModel& gpu : catalog_->gpus()) ids.push_back(gpu.id->text);
    const std::string hint = did_you_mean(answer, ids);
    return {ErrorCode::not_found,
            fmt::format("the catalog has no GPU {}; {}", in_backticks(answer), hint.empty() ? "? lists them" : hint),
            {}};
  }

  void list_gpus() {
    std::string text;
    for (const model::GpuModel& gpu : catalog_->gpus())
      text += fmt::format("  {:<16}  {}\n", gpu.id->text, gpu.name.value);
    context_.io().write_err(text);
  }

  Context& context_;
  std::shared_ptr<const model::Catalog> catalog_;
  design::DesignRequest request_;
};

bool may_ask(const Context& context) {
  const Io& io = context.io();
  return io.in_is_terminal && io.err_is_terminal && io.read_line;
}

bool is_answered(const Arguments& arguments) {
  if (arguments.has("yes")) return true;
  for (const Question& question : questions()) {
    if (!arguments.has(question.option)) return false;
  }
  return true;
}

Status check_free(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, failed))) return {};
  return Error{ErrorCode::refused, "exists; choose another file with -f, or remove it", path};
}

std::string report_text(const std::string& path, const design::DesignAnswer& answer) {
  std::string text = fmt::format("wrote {}\n", path);
  for (const std::string& note : answer.notes) text += "  " + note + "\n";
  text += "\nNext:\n";
  const std::pair<std::string, const char*> next[] = {
      {"weft show " + path, "what it contains: servers, switches, cables, power"},
      {"weft check " + path, "problems of the design, each with its fix"},
      {"weft render " + path + " -o out/", "the configuration files of all devices"},
  };
  std::size_t width = 0;
  for (const auto& [line, meaning] : next) width = std::max(width, line.size());
  for (const auto& [line, meaning] : next) text += fmt::format("  {:<{}}  # {}\n", line, width, meaning);
  return text;
}

Exit run_init(Context& context) {
  const Arguments& arguments = context.arguments();
  const std::string path = arguments.has("file") ? arguments.value("file") : std::string(kDefaultFile);
  if (path.empty() || path == "-")
    return context.usage_error("-f takes the file to write", {"to standard output: weft design --gpus N"});
  if (!is_answered(arguments) && !may_ask(context)) {
    return context.usage_error(
        "the questions need a terminal",
        {"--yes takes the defaults; options answer single questions: weft init --yes --gpus 256"});
  }
  if (const Status free = check_free(path); !free.ok()) return context.failed(free.error());
  const std::unique_ptr<model::Loaded> loaded = context.open_catalog();
  if (!context.report(*loaded)) return Exit::usage;
  Interview interview(context, loaded->catalog);
  if (const Status read = interview.read_options(); !read.ok()) return context.usage_error(read.error().text());
  if (!interview.ask_all()) return Exit::refused;
  const Result<design::DesignAnswer> answer = interview.design();
  if (!answer.ok()) return context.failed(answer.error());
  if (const Status written = write_file(path, with_checksum(with_schema(answer->yaml, std::string(kInstalledSchema))));
      !written.ok())
    return context.failed(written.error());
  const Status printed = context.io().write_out(report_text(path, *answer));
  return printed.ok() ? Exit::ok : context.failed(printed.error());
}

}  // namespace

Command init_command() {
  Command command;
  command.name = "init";
  command.summary = "Write a first cluster file from five questions";
  command.usage = "[-f FILE] [--yes] [OPTIONS]";
  command.description = {
      "Asks for the GPU model, the number of GPUs, the backend network, the storage throughput and the scheduler, each "
      "with a default, and writes a commented cluster file as `weft design` does. An answer that cannot be built is "
      "asked for again, with the reason. Nothing is written until all questions are answered: Ctrl-C or Ctrl-D leaves "
      "nothing behind.",
      "An option answers its question. Without a terminal --yes takes the defaults of the rest. An existing file is "
      "never overwritten (exit code 4)."};
  command.examples = {{"weft init", "Answer the questions; writes weft.yaml"},
                      {"weft init --yes", "All defaults: 64 H100s on Ethernet, with Kubernetes"},
                      {"weft init --yes --gpus 512 --network infiniband -f pod.yaml", "For scripts"}};
  command.options = {{.name = "gpus", .value = "N", .help = "number of GPUs", .fallback = std::to_string(kDefaultGpus)},
                     {.name = "yes", .help = "ask nothing: defaults for what no option answers"}};
  for (Option& option : design_choice_options()) {
    const std::set<std::string> answers = {"gpu", "network", "data", "scheduler", "name"};
    if (answers.contains(option.name)) command.options.push_back(std::move(option));
  }
  command.options.push_back(catalog_option());
  command.options.push_back({.name = "file",
                             .letter = 'f',
                             .value = "FILE",
                             .help = "file to write",
                             .fallback = std::string(kDefaultFile),
                             .hint = Hint::file});
  command.run = run_init;
  return command;
}

}  // namespace weft::cli
