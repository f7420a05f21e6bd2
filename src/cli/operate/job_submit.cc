// weft job submit.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/utf8.h"
#include "base/value.h"
#include "cli/operate/server_client.h"
#include "serve/submit/submission.h"

namespace weft::cli {
namespace {

constexpr Duration kRetry = milliseconds(30'000);

// The answer to a submission, or to a check of one.
struct Submitted {
  std::string body;
  std::uint64_t job = 0;  // 0 for a check
  std::string message;
  std::string expected_start;  // ISO 8601; empty: the server does not know, or the job has started
};

std::string text_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? printable(found->get<std::string>(), 1000) : std::string();
}

Result<Submitted> read_answer(std::string body, bool checked, const ServerClient& client) {
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
  const auto answer = json.is_object() ? json.find(checked ? "job_check" : "answer") : json.end();
  Submitted submitted;
  bool complete = json.is_object() && answer != json.end() && answer->is_object();
  if (complete && !checked) {
    const auto number = answer->find("job");
    complete = number != answer->end() && number->is_number_unsigned();
    if (complete) submitted.job = number->get<std::uint64_t>();
  }
  if (!complete) {
    const char* what = checked ? "result of the check" : "job number";
    return Error{ErrorCode::internal, fmt::format("the server's answer has no {}", what), client.name()};
  }
  submitted.message = text_in(*answer, "message");
  if (submitted.message.empty()) submitted.message = checked ? "valid" : "submitted";
  submitted.expected_start = text_in(*answer, "expected_start");
  submitted.body = std::move(body);
  return submitted;
}

Result<Submitted> submit(Context& context, const ServerClient& client, const std::string& path,
                         const std::string& directory) {
  const Arguments& arguments = context.arguments();
  const Result<std::string> text = read_file(path, serve::kMaxManifestBytes);
  if (!text.ok()) return text.error();
  Value body = Value::map();
  body.set("text", *text).set("name", path == "-" ? "standard input" : path).set("directory", directory);
  if (arguments.has("engine")) body.set("engine", arguments.value("engine"));
  if (arguments.has("account")) body.set("tenant", arguments.value("account"));
  if (arguments.has("container")) body.set("image", arguments.value("container"));
  const bool checks = arguments.has("check");
  const std::string key = checks                 ? std::string()
                          : arguments.has("key") ? arguments.value("key")
                                                 : new_idempotency_key();
  Result<serve::HttpResponse> response =
      client.post(checks ? "/jobs/check" : "/jobs", write_json_line(body), key, kRetry);
  if (!response.ok()) return response.error();
  return read_answer(std::move(response->body), checks, client);
}

// "job 7: submitted, expected to start at 2026-11-18T20:00:00Z"
std::string line_of(const std::string& path, const Submitted& submitted) {
  std::string line = submitted.job == 0 ? path : fmt::format("job {}", submitted.job);
  line += ": " + submitted.message;
  if (!submitted.expected_start.empty()) line += ", expected to start at " + submitted.expected_start;
  return line + "\n";
}

// In their order, up to the first that fails: what was submitted before it is printed in any case.
Exit run_submit(Context& context) {
  const Arguments& arguments = context.arguments();
  const std::vector<std::string>& paths = arguments.words();
  if (paths.size() > 1 && arguments.has("key"))
    return context.usage_error("--key is for one file: several would yield the same job");
  if (arguments.has("check") && arguments.has("key"))
    return context.usage_error("--key is for a submission: --check submits nothing");
  std::error_code problem;
  std::string directory = arguments.value("directory");
  directory = directory.empty() ? std::filesystem::current_path(problem).string()
                                : std::filesystem::absolute(directory, problem).lexically_normal().string();
  const ServerClient client(context);
  std::string out;
  std::optional<Error> failure;
  for (const std::string& path : paths) {
    const Result<Submitted> submitted = submit(context, client, path, directory);
    if (!submitted.ok()) {
      failure = submitted.error();
      break;
    }
    if (context.output_format() == OutputFormat::json) {
      out += submitted->body;
    } else if (context.quiet()) {
      if (submitted->job != 0) out += fmt::format("{}\n", submitted->job);
    } else {
      out += line_of(path, *submitted);
    }
  }
  if (!failure) return context.deliver(out);
  if (!out.empty()) (void)context.deliver(out);
  return context.failed(*failure);
}

}  // namespace

Command job_submit_command() {
  Command command;
  command.name = "job submit";
  command.synonyms = {"sbatch", "run"};
  command.summary = "Submit job files, sbatch scripts or manifests";
  command.usage = "FILE... [OPTIONS]";
  command.description = {
      "FILE is a weft job file, a batch script with #SBATCH lines, or a Kubernetes manifest (PyTorchJob, TrainJob, "
      "Indexed Job). Anything in it that cannot be honored is an error with its line; nothing is ignored silently. "
      "Prints when the job is expected to start, if that is known.",
      "Several files are several jobs, submitted in their order up to the first that is refused.",
      "A batch script runs once per node, not only on the first: srun in it starts the tasks of its own node.",
      "While the server restarts, the request is repeated for up to 30 s. Its key makes that safe: the same key "
      "always yields the same job."};
  command.examples = {{"weft job submit train.job.yaml", "Submit a weft job file"},
                      {"weft job submit --check train.job.yaml", "Would it be accepted, and when would it start"},
                      {"weft job submit -q train.sbatch", "Print only the job's number"},
                      {"weft job submit sweep/*.job.yaml", "Submit many jobs with one call"}};
  command.arguments = {
      {.name = "FILE", .help = "file to submit; - for standard input", .hint = Hint::file, .repeatable = true}};
  command.options = with_server_options(
      {{.name = "check", .help = "validate the file and show the expected start; submit nothing"},
       {.name = "account", .value = "NAME", .help = "tenant to charge", .fallback = "the file's"},
       {.name = "engine",
        .value = "ENGINE",
        .help = "what runs the job, if the server has two engines",
        .fallback = "the server's first",
        .choices = choices_named({"local", "slurm", "kubernetes"})},
       {.name = "container",
        .value = "IMAGE",
        .help = "container image to run in, on Slurm by Apptainer",
        .fallback = "the file's"},
       {.name = "directory", .value = "DIR", .help = "working directory of the job", .fallback = "the current one"},
       {.name = "key",
        .value = "TEXT",
        .help = "idempotency key: the same one yields the same job",
        .fallback = "random"},
       output_option()});
  command.run = run_submit;
  return command;
}

}  // namespace weft::cli
