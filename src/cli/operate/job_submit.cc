// weft job submit.
#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/value.h"
#include "cli/operate/server_client.h"
#include "serve/submit/submission.h"

namespace weft::cli {
namespace {

constexpr Duration kRetry = milliseconds(30'000);

// A repetition of the request, after a lost answer or a restart of the server, yields the same job.
std::string new_key() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string key;
  for (const unsigned char byte : bytes) key += fmt::format("{:02x}", byte);
  return key;
}

struct Submitted {
  std::string body;  // of the answer
  std::uint64_t job = 0;
  std::string message = "submitted";
};

Result<Submitted> read_answer(std::string body, const ServerClient& client) {
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
  const auto answer = json.is_object() ? json.find("answer") : json.end();
  const bool complete = json.is_object() && answer != json.end() && answer->is_object() && answer->contains("job") &&
                        (*answer)["job"].is_number_unsigned();
  if (!complete) return Error{ErrorCode::internal, "the server's answer has no job number", client.socket()};
  Submitted submitted;
  submitted.job = (*answer)["job"].get<std::uint64_t>();
  if (const auto message = answer->find("message"); message != answer->end() && message->is_string())
    submitted.message = message->get<std::string>();
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
  const std::string key = arguments.has("key") ? arguments.value("key") : new_key();
  Result<serve::HttpResponse> response = client.post("/v1/jobs", write_json_line(body), key, kRetry);
  if (!response.ok()) return response.error();
  return read_answer(std::move(response->body), client);
}

// In their order, up to the first that fails: what was submitted before it is printed in any case.
Exit run_submit(Context& context) {
  const Arguments& arguments = context.arguments();
  const std::vector<std::string>& paths = arguments.words();
  if (paths.size() > 1 && arguments.has("key"))
    return context.usage_error("--key is for one file: several would yield the same job");
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
      out += fmt::format("{}\n", submitted->job);
    } else {
      out += fmt::format("job {}: {}\n", submitted->job, submitted->message);
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
  command.summary = "Submit job files, sbatch scripts or manifests";
  command.usage = "FILE... [OPTIONS]";
  command.description = {
      "FILE is a weft job file, a batch script with #SBATCH lines, or a Kubernetes manifest (PyTorchJob, TrainJob, "
      "Indexed Job). Anything in it that cannot be honored is an error with its line; nothing is ignored silently.",
      "Several files are several jobs, submitted in their order up to the first that is refused.",
      "A batch script runs once per node, not only on the first: srun in it starts the tasks of its own node.",
      "While the server restarts, the request is repeated for up to 30 s. Its key makes that safe: the same key "
      "always yields the same job."};
  command.examples = {{"weft job submit train.job.yaml", "Submit a weft job file"},
                      {"weft job submit -q train.sbatch", "Print only the job's number"},
                      {"weft job submit sweep/*.job.yaml", "Submit many jobs with one call"}};
  command.arguments = {
      {.name = "FILE", .help = "file to submit; - for standard input", .hint = Hint::file, .repeatable = true}};
  command.options = {
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
      socket_option(),
      output_option()};
  command.run = run_submit;
  return command;
}

}  // namespace weft::cli
