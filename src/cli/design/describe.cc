// weft describe and weft find: look things up in a compiled cluster.
#include "inspect/describe.h"

#include <fmt/format.h>

#include <charconv>

#include "base/utf8.h"
#include "cli/framework/context.h"
#include "inspect/search.h"

namespace weft::cli {
namespace {

constexpr std::size_t kDescribeRows = 40;
constexpr std::size_t kFindRows = 50;

bool is_for_people(OutputFormat format) { return format == OutputFormat::table || format == OutputFormat::wide; }

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Exit unknown_name(Context& context, const model::Cluster& cluster, const std::string& name) {
  const std::string near = inspect::nearest_name(cluster, name);
  std::vector<std::string> hints;
  if (parse_ipv4(name).ok() || parse_ipv6(name).ok()) {
    return context.usage_error(fmt::format("{} is in no subnet of the cluster", printable(name, 60)),
                               {"`weft show subnets` lists them"});
  }
  if (!near.empty()) hints.push_back(fmt::format("did you mean `{}`?", near));
  hints.push_back(fmt::format("to search for a part of a name, a model or an address: weft find {}",
                              name.size() > 60 ? "TEXT" : printable(name)));
  if (is_number(name)) hints.push_back(fmt::format("for a job: weft job show {}", printable(name, 60)));
  return context.usage_error("the cluster has nothing named " + in_backticks(name), hints);
}

Exit run_describe(Context& context) {
  const std::string name = context.arguments().word(0);
  if (name.empty()) return context.usage_error("NAME is empty", {usage_of(context.command())});
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(1));
  if (!context.report(*loaded)) return Exit::usage;
  const model::Cluster& cluster = *loaded->cluster;
  const std::vector<inspect::Thing> things = inspect::find_things(cluster, name);
  if (things.empty()) return unknown_name(context, cluster, name);
  Document document = inspect::describe(cluster, things);
  if (is_for_people(context.output_format()) && !context.arguments().has("all")) {
    inspect::limit_rows(document, kDescribeRows);
  }
  return context.deliver(document);
}

Exit run_find(Context& context) {
  const std::string text = context.arguments().word(0);
  if (text.empty()) return context.usage_error("TEXT is empty", {usage_of(context.command())});
  if (text.size() > inspect::kMaxName) {
    return context.usage_error(
        fmt::format("TEXT has {} bytes, more than {}: no name is that long", text.size(), inspect::kMaxName));
  }
  std::size_t limit = is_for_people(context.output_format()) ? kFindRows : 0;
  if (context.arguments().has("limit")) {
    const std::string given = context.arguments().value("limit");
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), limit);
    if (error != std::errc() || end != given.data() + given.size()) {
      return context.usage_error("--limit takes a number, not " + in_backticks(given), {"0 for no limit"});
    }
  }
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(1));
  if (!context.report(*loaded)) return Exit::usage;
  const inspect::SearchResult result = inspect::search(*loaded->cluster, text, limit);
  if (result.total > 0) return context.deliver(inspect::search_view(result));
  context.note("no match for " + in_backticks(text));
  const bool for_people = is_for_people(context.output_format());
  return context.deliver(for_people ? Document{} : inspect::search_view(result), Exit::findings);
}

}  // namespace

Command describe_command() {
  Command command;
  command.name = "describe";
  command.summary = "Show everything about one device, cable, address or rack";
  command.usage = "NAME CLUSTER [OPTIONS]";
  command.description = {
      "NAME is a device (server, switch, PDU), a port (train001:be1), a cable or splitter by its label (BE-000017), an "
      "IP address, a subnet by name or prefix, a rack, a unit, a pool, a partition, a tenant, a storage system or a "
      "service. Letter case and the cluster's DNS domain are ignored. Each is shown with its neighbors on the four "
      "networks, its location, power and addresses, and the servers and bandwidth lost if it fails; `weft failures` "
      "lists the worst case of each kind of failure.",
      "If several things have the name, all are shown; KIND/NAME selects one (rack/svc-r01, pool/train).",
      "It reads the cluster file, not the running cluster. A submitted job is shown by `weft job show NUMBER`, with "
      "--server, --context or --socket.",
      "Exit code 2 if the cluster has nothing of that name."};
  command.examples = {{"weft describe train001 cluster.yaml", "A server: rack, power, NICs, addresses, switch ports"},
                      {"weft describe be-spine001 cluster.yaml --all", "A switch with all of its ports"},
                      {"weft describe 10.60.0.2 cluster.yaml", "Who has this address"},
                      {"weft describe train-r001 cluster.yaml -o json", "A rack, for a script"}};
  command.arguments = {{.name = "NAME", .help = "what to describe", .hint = Hint::none}, cluster_argument()};
  command.options = {
      {.name = "all", .help = fmt::format("show all rows, not just the first {} of each table", kDescribeRows)},
      output_option(),
      catalog_option(),
      file_option()};
  command.run = run_describe;
  return command;
}

Command find_text_command() {
  Command command;
  command.name = "find";
  command.synonyms = {"search", "grep"};
  command.summary = "Search names, addresses, models and labels of a cluster";
  command.usage = "TEXT CLUSTER [--limit N] [OPTIONS]";
  command.description = {
      "TEXT is a part of a name or value, or a pattern for all of it with * (any characters) and ? (one character). "
      "Letter case is ignored. Searched are names of devices, ports, cables, subnets, racks, units, pools, partitions, "
      "tenants, storage systems and services, hardware models and part numbers, node labels, IP addresses, and as "
      "whole numbers AS numbers and VLANs.",
      "An IP address finds the devices that have it and the subnets that contain it; a prefix (10.60.0.0/16) finds the "
      "subnets that overlap it.",
      "Exact matches come first. Exit code 1 if nothing matches. `weft describe NAME` shows one of the results."};
  command.examples = {{"weft find leaf1 cluster.yaml", "Names that contain leaf1"},
                      {"weft find '*-r00?' cluster.yaml", "A pattern"},
                      {"weft find 10.60.0.2 cluster.yaml", "Who has this address, and its subnet"},
                      {"weft find sn5600 cluster.yaml", "All devices of a model"}};
  command.arguments = {{.name = "TEXT", .help = "what to search for", .hint = Hint::none}, cluster_argument()};
  command.options = {{.name = "limit",
                      .value = "N",
                      .help = "at most N results, 0 for all",
                      .fallback = fmt::format("{} in tables, all in other formats", kFindRows)},
                     output_option(),
                     catalog_option(),
                     file_option()};
  command.run = run_find;
  return command;
}

}  // namespace weft::cli
