#include "cli/design/design_request.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "base/diagnostic.h"
#include "base/utf8.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

Status invalid(std::string message) { return Error{ErrorCode::invalid_input, std::move(message), {}}; }

template <class Number>
Status set_integer(const std::string& text, std::int64_t low, std::int64_t high, Number& out) {
  std::string digits = text;
  if (digits.ends_with('%') && high == 100) digits.pop_back();
  const Result<std::int64_t> number = parse_integer(digits);
  if (number.ok() && number.value() >= low && number.value() <= high) {
    out = number.value();
    return {};
  }
  const std::string allowed =
      high == kNoLimit ? fmt::format("of at least {}", low) : fmt::format("between {} and {}", low, high);
  return invalid(fmt::format("{} is not an integer {}", in_backticks(text), allowed));
}

Status set_power(const std::string& text, design::DesignRequest& request) {
  const Result<Power> power = parse_power(text);
  if (!power.ok()) return power.error();
  if (power.value().count() <= 0) return invalid("must be greater than 0");
  request.power = power.value();
  return {};
}

Status set_ratio(const std::string& text, Ratio& out) {
  const Result<Ratio> ratio = parse_ratio(text);
  if (!ratio.ok()) return ratio.error();
  out = ratio.value();
  return {};
}

// The same rule for names as in the file format.
Status set_name(const std::string& text, std::string& out) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.quoted = true;
  node.scalar = text;
  Diagnostics diagnostics;
  model::Name name;
  if (model::Codec<model::Name>::read(node, diagnostics, name) && !diagnostics.has_errors()) {
    out = name.text;
    return {};
  }
  const std::vector<Diagnostic> found = diagnostics.sorted();
  return invalid(found.empty() ? "is not a valid name" : found.front().message);
}

Status set_text(const std::string& text, std::string& out) {
  if (text.empty()) return invalid("is empty");
  out = text;
  return {};
}

template <class E>
Status set_choice(const std::string& text, E& out) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : model::choices_of(E{})) {
    names.push_back(name);
    if (name != text) continue;
    out = value;
    return {};
  }
  const std::string hint = did_you_mean(text, names);
  return invalid(fmt::format("{} is not one of {}{}{}", in_backticks(text), listed({names.begin(), names.end()}),
                             hint.empty() ? "" : "; ", hint));
}

constexpr std::string_view kOptions[] = {
    "gpus", "servers", "power",     "name",    "gpu",       "server",  "leaf",
    "data", "planes",  "inference", "network", "scheduler", "profile", "oversubscription"};

}  // namespace

Status set_design_value(design::DesignRequest& request, std::string_view option, const std::string& value) {
  if (option == "gpus") return set_integer(value, 1, kNoLimit, request.gpus);
  if (option == "servers") return set_integer(value, 1, kNoLimit, request.servers);
  if (option == "power") return set_power(value, request);
  if (option == "name") return set_name(value, request.name);
  if (option == "gpu") return set_text(value, request.gpu);
  if (option == "server") return set_text(value, request.server);
  if (option == "leaf") return set_text(value, request.leaf);
  if (option == "network") return set_choice(value, request.network);
  if (option == "data") return set_choice(value, request.data);
  if (option == "scheduler") return set_choice(value, request.scheduler);
  if (option == "profile") return set_choice(value, request.profile);
  if (option == "inference") return set_integer(value, 0, 100, request.inference_percent);
  if (option == "planes") return set_integer(value, 1, 8, request.planes);
  if (option == "oversubscription") return set_ratio(value, request.oversubscription);
  return Error{ErrorCode::internal, "not an option of a design", std::string(option)};
}

Status read_design_options(const Command& command, const Arguments& arguments, design::DesignRequest& request) {
  for (const std::string_view option : kOptions) {
    if (find_option(command, option) == nullptr || !arguments.has(option)) continue;
    const Status set = set_design_value(request, option, arguments.value(option));
    if (!set.ok()) return Error{set.error().code, fmt::format("--{}: {}", option, set.error().message), {}};
  }
  return {};
}

std::vector<Option> design_choice_options() {
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
      {.name = "scheduler",
       .value = "KIND",
       .help = "scheduler of the cluster",
       .fallback = std::string(model::text_of(defaults.scheduler)),
       .choices = choices_named(model::Codec<model::ControlKind>::names())},
      {.name = "name", .value = "NAME", .help = "name of the cluster", .fallback = defaults.name},
  };
}

}  // namespace weft::cli
