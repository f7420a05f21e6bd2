// weft design: from a scale to a cluster file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/utf8.h"
#include "cli/framework/context.h"
#include "design/designer.h"

namespace weft::cli {
namespace {

// An option value that failed to parse.
struct BadValue {
  std::string problem;
  std::string hint;
};

// Reads the options of one command line into a DesignRequest, keeping the first problem.
class RequestReader {
 public:
  explicit RequestReader(const Arguments& arguments) : arguments_(arguments) {}

  [[nodiscard]] const std::optional<BadValue>& problem() const { return problem_; }

  design::DesignRequest read() {
    design::DesignRequest request;
    read_scale(request);
    if (arguments_.has("name")) read_name(request.name);
    text("gpu", request.gpu);
    text("server", request.server);
    text("leaf", request.leaf);
    choice("network", request.network);
    choice("data", request.data);
    choice("profile", request.profile);
    request.inference_percent = integer("inference", 0, 100).value_or(request.inference_percent);
    request.planes = integer("planes", 1, 8).value_or(request.planes);
    if (arguments_.has("oversubscription")) {
      const Result<Ratio> ratio = parse_ratio(arguments_.value("oversubscription"));
      if (ratio.ok()) request.oversubscription = ratio.value();
      if (!ratio.ok()) bad("oversubscription", ratio.error().message);
    }
    return request;
  }

 private:
  void read_scale(design::DesignRequest& request) {
    const int given =
        (arguments_.has("gpus") ? 1 : 0) + (arguments_.has("servers") ? 1 : 0) + (arguments_.has("power") ? 1 : 0);
    if (given != 1) {
      fail(given == 0 ? "the size is missing: give --gpus N, --servers N or --power POWER"
                      : "--gpus, --servers and --power are mutually exclusive",
           "for example: weft design --gpus 256 -f cluster.yaml");
      return;
    }
    request.gpus = integer("gpus", 1, kNoLimit);
    request.servers = integer("servers", 1, kNoLimit);
    if (!arguments_.has("power")) return;
    const Result<Power> power = parse_power(arguments_.value("power"));
    if (!power.ok()) return bad("power", power.error().message);
    if (power.value().count() <= 0) return bad("power", "must be greater than 0");
    request.power = power.value();
  }

  // The same rule for names as in the file format.
  void read_name(std::string& out) {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.quoted = true;
    node.scalar = arguments_.value("name");
    Diagnostics diagnostics;
    model::Name name;
    if (model::Codec<model::Name>::read(node, diagnostics, name) && !diagnostics.has_errors()) {
      out = name.text;
      return;
    }
    const std::vector<Diagnostic> found = diagnostics.sorted();
    bad("name", found.empty() ? "is not a valid name" : found.front().message);
  }

  void text(const char* option, std::string& out) {
    if (!arguments_.has(option)) return;
    out = arguments_.value(option);
    if (out.empty()) bad(option, "is empty");
  }

  template <class E>
  void choice(const char* option, E& out) {
    const std::string given = arguments_.value(option);  // the parser allows only the names of E
    for (const auto& [name, value] : model::choices_of(E{})) {
      if (name == given) out = value;
    }
  }

  std::optional<std::int64_t> integer(const char* option, std::int64_t low, std::int64_t high) {
    if (!arguments_.has(option)) return std::nullopt;
    std::string given = arguments_.value(option);
    if (given.ends_with('%') && high == 100) given.pop_back();
    const Result<std::int64_t> number = parse_integer(given);
    if (number.ok() && number.value() >= low && number.value() <= high) return number.value();
    const std::string allowed =
        high == kNoLimit ? fmt::format("of at least {}", low) : fmt::format("between {} and {}", low, high);
    bad(option, fmt::format("{} is not an integer {}", in_backticks(arguments_.value(option)), allowed));
    return std::nullopt;
  }

  void bad(const char* option, std::string_view why) { fail(fmt::format("--{}: {}", option, why), {}); }
  void fail(std::string problem, std::string hint) {
    if (!problem_.has_value()) problem_ = BadValue{std::move(problem), std::move(hint)};
  }

  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  const Arguments& arguments_;
  std::optional<BadValue> problem_;
};

// The same on every machine: where the package installs it.
constexpr std::string_view kInstalledSchema = "/usr/share/weft/schemas/cluster.schema.json";

// The line in which editors with a YAML language server look for the schema of a file.
std::string schema_line(const std::string& schema) {
  return schema == "none" ? std::string() : fmt::format("# yaml-language-server: $schema={}\n", schema);
}

// Language servers end the reference at a space.
bool is_reference(const std::string& schema) {
  return !schema.empty() && std::all_of(schema.begin(), schema.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Exit run_design(Context& context) {
  RequestReader reader(context.arguments());
  const design::DesignRequest request = reader.read();
  if (reader.problem().has_value()) return context.usage_error(reader.problem()->problem, {reader.problem()->hint});
  const std::string schema =
      context.arguments().has("schema") ? context.arguments().value("schema") : std::string(kInstalledSchema);
  if (!is_reference(schema)) return context.usage_error("--schema: a path or URL without spaces, or none");
  const std::unique_ptr<model::Loaded> loaded = context.open_catalog();
  if (!context.report(*loaded)) return Exit::usage;
  const Result<design::DesignAnswer> answer = design::design_cluster(request, loaded->catalog);
  if (!answer.ok()) return context.failed(answer.error());
  for (const std::string& note : answer->notes) context.note(note);
  return context.deliver(schema_line(schema) + answer->yaml);
}

std::vector<Option> scale_options() {
  return {
      {.name = "gpus", .value = "N", .help = "number of GPUs"},
      {.name = "servers", .value = "N", .help = "number of GPU servers"},
      {.name = "power", .value = "POWER", .help = "power budget, such as 800kW or 2MW: the largest cluster that fits"},
  };
}

std::vector<Option> choice_options() {
  const design::DesignRequest defaults;
  return {
      {.name = "gpu", .value = "ID", .help = "GPU model", .fallback = defaults.gpu, .hint = Hint::gpu},
      {.name = "server",
       .value = "ID",
       .help = "server model; default: the usual one for the GPU",
       .hint = Hint::server},
      {.name = "network",
       .value = "KIND",
       .help = "network technology of the backend",
       .fallback = std::string(model::text_of(defaults.network)),
       .choices = choices_named(model::Codec<model::NetworkKind>::names())},
      {.name = "leaf",
       .value = "ID",
       .help = "backend leaf switch; default: chosen by speed and network",
       .hint = Hint::network_switch},
      {.name = "oversubscription",
       .value = "RATIO",
       .help = "oversubscription of backend leaves, downlink to uplink",
       .fallback = to_text(defaults.oversubscription)},
      {.name = "planes", .value = "N", .help = "number of separate backend planes, 1 to 8", .fallback = "1"},
      {.name = "inference", .value = "PERCENT", .help = "percentage of GPU servers for inference", .fallback = "0"},
      {.name = "data",
       .value = "CLASS",
       .help = "storage throughput class",
       .fallback = std::string(model::text_of(defaults.data)),
       .choices = choices_named(model::Codec<model::DataClass>::names())},
      {.name = "profile",
       .value = "PROFILE",
       .help = "networks that a server is connected to",
       .fallback = std::string(model::text_of(defaults.profile)),
       .choices = choices_named(model::Codec<model::Profile>::names())},
      {.name = "name", .value = "NAME", .help = "name of the cluster", .fallback = defaults.name},
      {.name = "schema",
       .value = "PATH|URL",
       .help =
           "where editors find the JSON Schema (see `weft help schema`): a path, absolute or relative to the file, a "
           "URL, or none for no such line",
       .fallback = std::string(kInstalledSchema)},
  };
}

}  // namespace

Command design_command() {
  Command command;
  command.name = "design";
  command.summary = "Generate a commented cluster file for a given size";
  command.usage = "--gpus N | --servers N | --power POWER [OPTIONS]";
  command.description = {
      "Sizes all four networks, storage, management and racks for the requested GPUs, and writes the cluster file to "
      "standard output. The decisions and their reasons are on standard error. Edit the file as needed, then view it "
      "with `weft show`."};
  command.examples = {
      {"weft design --gpus 256 -f cluster.yaml", "256 H100s on Ethernet"},
      {"weft design --servers 128 --network infiniband --name pod128 > pod128.yaml", "128 servers on InfiniBand"},
      {"weft design --power 2MW --gpu b200-sxm --inference 25",
       "As many B200s as 2 MW allows, a quarter for inference"},
  };
  command.options = scale_options();
  for (Option& option : choice_options()) command.options.push_back(std::move(option));
  command.options.push_back(catalog_option());
  command.options.push_back(file_option());
  command.run = run_design;
  return command;
}

}  // namespace weft::cli
