// weft trace: follow a packet through its traffic class and between fabrics, and the recovery path to a dead device.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "check/failures/lifeline.h"
#include "check/qos/class_trace.h"
#include "check/reach/reachability.h"
#include "cli/framework/context.h"
#include "cli/framework/default_cluster.h"

namespace weft::cli {
namespace {

struct Read {
  std::unique_ptr<model::Loaded> loaded;
  config::ConfigSet config;
};

// The cluster file, if any, and the files of --config. Null if one cannot be used, after reporting why.
std::unique_ptr<Read> read_all(Context& context, bool cluster_needed) {
  const std::string path = context.arguments().word(0);
  const std::vector<std::string>& files = context.arguments().values("config");
  if (path.empty() && (cluster_needed || files.empty())) {
    context.usage_error(cluster_needed ? "missing CLUSTER" : "missing input: give CLUSTER or --config",
                        {usage_of(context.command()), std::string(kClusterHint)});
    return nullptr;
  }
  auto read = std::make_unique<Read>();
  read->loaded = path.empty() ? context.open_catalog() : context.open_cluster(path);
  read_configs(files, *read->loaded, read->config);
  context.note_problems(read->config.problems, read->loaded->sources);
  if (!context.report(*read->loaded)) return nullptr;
  return read;
}

// An integer within bounds, or `otherwise` if the option was not given. False if it is invalid.
bool read_number(Context& context, const char* option, int low, int high, int& number) {
  if (!context.arguments().has(option)) return true;
  const std::string text = context.arguments().value(option);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= low && number <= high) return true;
  context.usage_error(
      fmt::format("--{} takes a number between {} and {}, not {}", option, low, high, in_backticks(text)));
  return false;
}

check::Flow flow_named(const std::string& name) {
  if (name == "ucx") return check::Flow::ucx;
  if (name == "nvmeof") return check::Flow::nvmeof;
  return check::Flow::nccl;
}

// False after a usage error. PORT is allowed after a colon.
bool check_device(Context& context, const model::Cluster& cluster, const std::string& given) {
  const std::string name = given.substr(0, given.find(':'));
  if (cluster.find_device(name) != model::kNone<model::DeviceId>) return true;
  std::vector<std::string> names;
  for (std::uint32_t id = 0; id < cluster.devices().size(); ++id)
    names.push_back(cluster.name_of(static_cast<model::DeviceId>(id)));
  context.usage_error(
      "the cluster has no device " + in_backticks(name),
      {did_you_mean(name, {names.begin(), names.end()}), "`weft show nodes` and `weft show switches` list them"});
  return false;
}

Exit run_class(Context& context) {
  check::TraceRequest request;
  request.from = context.arguments().value("from");
  request.to = context.arguments().value("to");
  request.flow = flow_named(context.arguments().value("flow"));
  if (!read_number(context, "rail", 1, 64, request.rail) || !read_number(context, "dscp", 0, 63, request.dscp)) {
    return Exit::usage;
  }
  const std::unique_ptr<Read> read = read_all(context, false);
  if (read == nullptr) return Exit::usage;
  const Sources& sources = read->loaded->sources;
  if (const model::Cluster* cluster = read->loaded->cluster.get(); cluster != nullptr) {
    for (const std::string& end : {request.from, request.to}) {
      if (!end.empty() && !check_device(context, *cluster, end)) return Exit::usage;
    }
  }
  const Result<check::Trace> trace = check::trace_class(read->loaded->cluster.get(), read->config, sources, request);
  if (!trace.ok()) return context.failed(trace.error());
  const bool broken = std::any_of(trace->legs.begin(), trace->legs.end(), [](const check::TraceLeg& leg) {
    const check::StepVerdict verdict = leg.verdict();
    return verdict != check::StepVerdict::ok && verdict != check::StepVerdict::unknown;
  });
  return context.deliver(check::trace_document(*trace, sources), broken ? Exit::findings : Exit::ok);
}

int protocol_named(const std::string& name) {
  if (name == "icmp") return 1;
  if (name == "tcp") return 6;
  if (name == "udp") return 17;
  return -1;
}

Exit run_reach(Context& context) {
  const Arguments& arguments = context.arguments();
  int port = -1;
  if (!read_number(context, "port", 0, 65535, port)) return Exit::usage;
  if (arguments.has("from") != arguments.has("to")) {
    return context.usage_error("--from and --to must be given together", {"without both, the whole matrix is shown"});
  }
  const std::unique_ptr<Read> read = read_all(context, true);
  if (read == nullptr) return Exit::usage;
  const check::Reachability reachability(read->loaded->cluster.get(), read->config, read->loaded->sources);
  if (!arguments.has("from")) {
    const bool clean = reachability.violations().empty();
    return context.deliver(check::reachability_document(reachability), clean ? Exit::ok : Exit::findings);
  }
  const Result<Document> document = check::trace_reach(reachability, arguments.value("from"), arguments.value("to"),
                                                       protocol_named(arguments.value("protocol")), port);
  if (!document.ok()) return context.failed(document.error());
  return context.deliver(*document);
}

Exit run_recovery(Context& context) {
  const std::unique_ptr<Read> read = read_all(context, true);
  if (read == nullptr) return Exit::usage;
  const model::Cluster& cluster = *read->loaded->cluster;
  const std::string name = context.arguments().value("to");
  if (name.empty()) return context.usage_error("missing --to PLACE", {usage_of(context.command())});
  if (!check_device(context, cluster, name)) return Exit::usage;
  const model::DeviceId device = cluster.find_device(name);
  const check::Lifeline lifeline(cluster);
  return context.deliver(check::recovery_document(cluster, lifeline, device));
}

Command class_command() {
  Command command;
  command.name = "trace class";
  command.summary = "Trace a packet's class of service hop by hop";
  command.usage = "[CLUSTER] [--from PLACE --to PLACE] [--config PATH]... [OPTIONS]";
  command.description = {
      "For data and congestion notifications in both directions: the DSCP set by the application and the NIC, how each "
      "switch classifies, queues, pauses and marks, the file and line responsible, and the hop where the packet stops "
      "being lossless or ECN-marked. Devices without a given configuration are taken from the cluster file.",
      "The exit code is 1 if the path is not lossless and ECN-marked from end to end."};
  command.examples = {
      {"weft trace class cluster.yaml --from train001 --to train032 --flow nccl", "As designed"},
      {"weft trace class cluster.yaml --config configs/", "With real configuration"},
      {"weft trace class --config nic.yaml --config leaf.json", "Files alone: NIC, switches in this order, NIC"}};
  command.arguments = {cluster_argument_or({"config"})};
  command.options = {{.name = "from", .value = "PLACE", .help = "sender; default: a server of the fabric"},
                     {.name = "to", .value = "PLACE", .help = "receiver; default: a distant server of the fabric"},
                     {.name = "flow",
                      .value = "FLOW",
                      .help = "application whose traffic is traced",
                      .fallback = "nccl",
                      .choices = {{"nccl", "collectives, on the backend"},
                                  {"ucx", "UCX, on the backend"},
                                  {"nvmeof", "NVMe over RDMA, on the storage network"}}},
                     {.name = "rail", .value = "N", .help = "rail, from 1", .fallback = "1"},
                     {.name = "dscp", .value = "N", .help = "DSCP of the data, overriding application and NIC"},
                     config_option(),
                     output_option(),
                     catalog_option(),
                     file_option()};
  command.run = run_class;
  return command;
}

Command reach_command() {
  Command command;
  command.name = "trace reach";
  command.summary = "Show what can reach what across the four fabrics";
  command.usage = "CLUSTER [--from PLACE --to PLACE] [--config PATH]... [OPTIONS]";
  command.description = {
      "Propagates packet sets through VLANs, VRFs, routes, access lists and forwarding hosts up to the fixed point. "
      "Without --from and --to it prints the matrix of zones and, for each pair that should be isolated but is not, an "
      "example packet and its path with the configuration lines that permit it (exit code 1).",
      "PLACE is a device (train001), a port (infra001:bmc), a zone (backend, storage, frontend, oob, jump, site) or an "
      "IPv4 address."};
  command.examples = {{"weft trace reach cluster.yaml", "Matrix of all zones"},
                      {"weft trace reach cluster.yaml --from train001 --to infra001:bmc --protocol tcp --port 443",
                       "One source, destination and port"}};
  command.arguments = {cluster_argument()};
  command.options = {{.name = "from", .value = "PLACE", .help = "source of the packets"},
                     {.name = "to", .value = "PLACE", .help = "destination of the packets"},
                     {.name = "protocol",
                      .value = "NAME",
                      .help = "only this protocol",
                      .fallback = "any",
                      .choices = choices_named({"any", "icmp", "tcp", "udp"})},
                     {.name = "port", .value = "N", .help = "only this destination port"},
                     config_option(),
                     output_option(),
                     catalog_option(),
                     file_option()};
  command.run = run_reach;
  return command;
}

Command recovery_command() {
  Command command;
  command.name = "trace recovery";
  command.summary = "Show the out-of-band recovery path to a device";
  command.usage = "CLUSTER --to PLACE [OPTIONS]";
  command.description = {
      "Lists the path from outside through the jump host and out-of-band switches to the BMC or console, with the "
      "dependencies of each step: power, services, vendor and software line."};
  command.examples = {{"weft trace recovery cluster.yaml --to be-spine001", "Recovery path to a hung spine"}};
  command.arguments = {cluster_argument()};
  command.options = {{.name = "to", .value = "PLACE", .help = "the device to reach"},
                     config_option(),
                     output_option(),
                     catalog_option(),
                     file_option()};
  command.run = run_recovery;
  return command;
}

}  // namespace

std::vector<Command> trace_commands() { return {class_command(), reach_command(), recovery_command()}; }

}  // namespace weft::cli
