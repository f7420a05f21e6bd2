// The options of the simulator as tables.
#include "cli/sim/options.h"

namespace weft::cli {
namespace {

std::vector<Option> under(const std::string& section, std::vector<Option> options) {
  for (Option& option : options) option.section = section;
  return options;
}

}  // namespace

std::vector<Option> sim_network_options() {
  return under(
      "Network",
      {{.name = "fabric",
        .value = "FABRIC",
        .help = "fabric of the cluster",
        .fallback = "backend; storage for storage patterns",
        .choices = choices_named({"backend", "storage", "frontend", "oob"})},
       {.name = "topology",
        .value = "TOPOLOGY",
        .help =
            "topology instead of a cluster: fat-tree:128, fat-tree:PODSxTORSxHOSTS, leaf-spine:LEAVESxHOSTSxSPINES, "
            "star:HOSTS, ring:SWITCHESxHOSTS, or a topology file of htsim, HPCC or SimAI",
        .hint = Hint::file},
       {.name = "hosts",
        .value = "HOSTS",
        .help = "only these hosts or endpoints, such as train[001-016] or train001:gpu0"},
       {.name = "ranks", .value = "N", .help = "only the first N endpoints"},
       {.name = "link-rate", .value = "RATE", .help = "link rate of a generated topology, such as 400G"},
       {.name = "link-delay", .value = "TIME", .help = "link delay of a generated topology", .fallback = "1us"}});
}

std::vector<Option> sim_run_options(const std::string& fallback) {
  return under("Simulation",
               {{.name = "fidelity",
                 .value = "LEVEL",
                 .help = "level of detail",
                 .fallback = fallback,
                 .choices = {{"packet", "every packet, queue and pause"},
                             {"flow", "max-min fair rates per flow"},
                             {"analytic", "closed-form estimate from load and latency"},
                             {"all", "all three, with the error of each relative to the next"}}},
                {.name = "transport",
                 .value = "NAME",
                 .help = "transport and congestion control of the NICs",
                 .fallback = "dcqcn",
                 .choices = choices_named({"dcqcn", "pfc-only", "hpcc", "nscc", "receiver", "tcp"})},
                {.name = "routing",
                 .value = "MODE",
                 .help = "how one of several equal-cost links is chosen",
                 .fallback = "ecmp",
                 .choices = choices_named(
                     {"ecmp", "weighted", "resilient", "d-mod-k", "pinned", "adaptive", "flowlet", "spray"})},
                {.name = "queue-pairs", .value = "N", .help = "connections per transfer", .fallback = "1"},
                {.name = "seed", .value = "N", .help = "seed of all random choices", .fallback = "1"},
                {.name = "threads", .value = "N", .help = "threads; the result does not depend on it", .fallback = "1"},
                {.name = "until", .value = "TIME", .help = "stop at this simulated time"}});
}

std::vector<Option> sim_detail_options() {
  return under(
      "Switches and NICs",
      {{.name = "ecn",
        .value = "MIN:MAX:P",
        .help = "ECN marking thresholds at 100G (scaled with the port rate) and probability, or off",
        .fallback = "the cluster's, else 400KB:1600KB:0.2"},
       {.name = "alpha", .value = "A", .help = "alpha of the dynamic PFC threshold", .fallback = "1/8"},
       {.name = "buffer", .value = "SIZE", .help = "shared buffer per switch", .fallback = "as built"},
       {.name = "headroom", .value = "SIZE", .help = "headroom per lossless ingress queue", .fallback = "worked out"},
       {.name = "no-pfc", .help = "disable PFC: lossless classes can drop packets"},
       {.name = "recovery",
        .value = "WAY",
        .help = "recovery of lost packets",
        .fallback = "go-back-n; selective with per-packet load balancing",
        .choices = choices_named({"go-back-n", "selective"})},
       {.name = "host-limit",
        .value = "RATE",
        .help = "maximum rate of the host software per connection; 0: no limit",
        .fallback = "42G with tcp, none with RDMA"},
       {.name = "host-overhead",
        .value = "TIME",
        .help = "overhead of the host software per message and end",
        .fallback = "5us with tcp, none with RDMA"},
       {.name = "mtu", .value = "SIZE", .help = "payload of a full packet", .fallback = "4096"},
       {.name = "cut-through", .help = "cut-through switching instead of store-and-forward"},
       {.name = "hash",
        .value = "FUNCTION",
        .help = "ECMP hash function",
        .fallback = "crc32",
        .choices = choices_named({"crc32", "crc16", "xor16", "toeplitz", "mix64"})},
       {.name = "hash-seeds",
        .value = "WHO",
        .help = "scope of hash seeds; a seed shared by all tiers causes polarization",
        .fallback = "per-switch",
        .choices = choices_named({"per-switch", "per-tier", "shared"})},
       {.name = "no-up-down",
        .help = "allow routes that go up again after going down; cyclic buffer dependencies may cause deadlock"}});
}

std::vector<Option> sim_fault_options() {
  return under(
      "Faults",
      {{.name = "fail",
        .value = "LINK@TIME",
        .help = "fail a cable, such as 'be-leaf01>be-spine01', or all cables of a switch, GPU or server, at this time "
                "[default: 0s]",
        .repeatable = true},
       {.name = "restore", .value = "LINK@TIME", .help = "restore what failed, at this time", .repeatable = true},
       {.name = "slow", .value = "LINK=RATE", .help = "run a cable at a lower rate", .repeatable = true},
       {.name = "errors",
        .value = "LINK=P",
        .help = "drop packets on a cable with this probability",
        .repeatable = true},
       {.name = "link-mtu",
        .value = "LINK=SIZE",
        .help = "MTU of a cable; larger packets are dropped",
        .repeatable = true},
       {.name = "detection",
        .value = "TIME",
        .help = "time until both ends detect a failed cable",
        .fallback = "150ms"},
       {.name = "propagation",
        .value = "TIME",
        .help = "time until the whole fabric has rerouted",
        .fallback = "200ms"},
       {.name = "storm",
        .value = "HOST@TIME",
        .help = "endpoint that sends pause frames from this time on (HOST@FROM-UNTIL: during an interval)",
        .repeatable = true},
       {.name = "watchdog",
        .value = "ACTION",
        .help = "action of the PFC watchdog on stalled queues",
        .fallback = "the cluster's, else off",
        .choices = choices_named({"off", "drop", "forward"})},
       {.name = "watchdog-time",
        .value = "TIME",
        .help = "detection and restoration time of the watchdog",
        .fallback = "200ms"}});
}

std::vector<Option> sim_result_options() {
  std::vector<Option> options = {
      {.name = "heat-map", .value = "FILE", .help = "write the utilization of every link as SVG", .hint = Hint::file},
      {.name = "storm-tree", .value = "FILE", .help = "write the propagation of pauses as SVG", .hint = Hint::file},
      {.name = "series", .value = "TIME", .help = "add a row of totals per interval of this length"},
      output_option(),
      file_option(),
      catalog_option()};
  return under("Result", std::move(options));
}

}  // namespace weft::cli
