// weft discover: inventory of the local host.
#include "hostprobe/discover.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "check/live/comparison.h"
#include "cli/framework/context.h"
#include "config/live_facts.h"

namespace weft::cli {
namespace {

Exit run_discover(Context& context) {
  const Arguments& arguments = context.arguments();
  hostprobe::ProbeRoot root;
  if (arguments.has("root")) root.root = arguments.value("root");
  config::HostFacts facts = hostprobe::discover_host(root);
  if (arguments.has("host")) facts.host = arguments.value("host");
  std::unique_ptr<model::Loaded> loaded;
  if (!arguments.word(0).empty()) {
    loaded = context.open_cluster(arguments.word(0));
    if (!context.report(*loaded)) return Exit::usage;
  }
  for (const std::string& reason : facts.not_read) context.detail("not read: " + reason);
  if (arguments.value("output") == "json") return context.deliver(config::write_host_facts(facts));
  const model::Cluster* cluster = loaded == nullptr ? nullptr : loaded->cluster.get();
  return context.deliver(check::discover_document(facts, cluster));
}

}  // namespace

Command discover_command() {
  Command command;
  command.name = "discover";
  command.summary = "Show this host's hardware and the network of each interface";
  command.usage = "[CLUSTER] [OPTIONS]";
  command.description = {
      "Reads /sys, /proc and driver counters; changes nothing. With a cluster file that contains this host's name, "
      "each interface is compared with the design; without one its network is inferred, with a confidence.",
      "With -o json the result is a host file for `weft check --live`."};
  command.examples = {{"weft discover", "Show the hardware of this host"},
                      {"weft discover cluster.yaml", "Show the network of each interface"},
                      {"weft discover -o json -f train001.host.json", "Write a host file for `weft check --live`"}};
  command.arguments = {optional_cluster_argument()};
  command.options = {
      {.name = "host", .value = "NAME", .help = "name of this host in the design; default: its host name"},
      {.name = "root", .value = "FOLDER", .help = "read /sys and /proc below this folder", .hint = Hint::file},
      output_option(),
      catalog_option(),
      file_option()};
  command.run = run_discover;
  return command;
}

}  // namespace weft::cli
