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
      "Where",
      {{.name = "fabric",
        .value = "FABRIC",
        .help = "of the cluster",
        .fallback = "backend; storage for storage patterns",
        .choices = choices_named({"backend", "storage", "frontend", "oob"})},
       {.name = "topology",
        .value = "TOPOLOGY",
        .help = "instead of a cluster: fat-tree:128, fat-tree:PODSxTORSxHOSTS, leaf-spine:LEAVESxHOSTSxSPINES, "
                "star:HOSTS, ring:SWITCHESxHOSTS, or a topology file of htsim, HPCC or SimAI",
        .hint = Hint::file},
       {.name = "hosts", .value = "HOSTS", .help = "only these, such as train[001-016] or train001:gpu0"},
       {.name = "ranks", .value = "N", .help = "only the first N endpoints"},
       {.name = "link-rate", .value = "RATE", .help = "of a generated topology, such as 400G"},
       {.name = "link-delay", .value = "TIME", .help = "of a generated topology", .fallback = "1us"}});
}

std::vector<Option> sim_run_options(const std::string& fallback) {
  return under(
      "How it is simulated",
      {{.name = "fidelity",
        .value = "LEVEL",
        .help = "how closely",
        .fallback = fallback,
        .choices = {{"packet", "every packet, queue and pause"},
                    {"flow", "fair rates of whole flows"},
                    {"analytic", "a first answer from load and latency"},
                    {"all", "all three, with the error of each against the next"}}},
       {.name = "transport",
        .value = "NAME",
        .help = "what the NICs do about congestion",
        .fallback = "dcqcn",
        .choices = choices_named({"dcqcn", "pfc-only", "hpcc", "nscc", "receiver", "tcp"})},
       {.name = "routing",
        .value = "MODE",
        .help = "which of several equal links is taken",
        .fallback = "ecmp",
        .choices =
            choices_named({"ecmp", "weighted", "resilient", "d-mod-k", "pinned", "adaptive", "flowlet", "spray"})},
       {.name = "queue-pairs", .value = "N", .help = "connections that share a transfer's bytes", .fallback = "1"},
       {.name = "seed", .value = "N", .help = "of everything that is random", .fallback = "1"},
       {.name = "threads", .value = "N", .help = "the result is the same with any number", .fallback = "1"},
       {.name = "until", .value = "TIME", .help = "cut the run at this simulated time"}});
}

std::vector<Option> sim_detail_options() {
  return under(
      "Switches and NICs",
      {{.name = "ecn",
        .value = "MIN:MAX:P",
        .help = "marking thresholds at 100G (scaled with the port's rate) and probability, or off",
        .fallback = "the cluster's, else 400KB:1600KB:0.2"},
       {.name = "alpha", .value = "A", .help = "of the dynamic PFC threshold", .fallback = "1/8"},
       {.name = "buffer", .value = "SIZE", .help = "shared buffer of every switch", .fallback = "as built"},
       {.name = "headroom", .value = "SIZE", .help = "of each lossless ingress queue", .fallback = "worked out"},
       {.name = "no-pfc", .help = "lossless classes lose packets too"},
       {.name = "recovery",
        .value = "WAY",
        .help = "of lost packets",
        .fallback = "go-back-n; selective where packets take several ways",
        .choices = choices_named({"go-back-n", "selective"})},
       {.name = "host-limit",
        .value = "RATE",
        .help = "what the hosts' software can move on one connection; 0: no limit",
        .fallback = "42G with tcp, none with RDMA"},
       {.name = "host-overhead",
        .value = "TIME",
        .help = "of the hosts' software for a message, at each end",
        .fallback = "5us with tcp, none with RDMA"},
       {.name = "mtu", .value = "SIZE", .help = "payload of a full packet", .fallback = "4096"},
       {.name = "cut-through", .help = "switches forward a packet before its end has come"},
       {.name = "hash",
        .value = "FUNCTION",
        .help = "of ECMP",
        .fallback = "crc32",
        .choices = choices_named({"crc32", "crc16", "xor16", "toeplitz", "mix64"})},
       {.name = "hash-seeds",
        .value = "WHO",
        .help = "who has a seed of its own; one shared by all tiers polarises",
        .fallback = "per-switch",
        .choices = choices_named({"per-switch", "per-tier", "shared"})},
       {.name = "no-up-down", .help = "let routes go up again after they went down: loops of buffers may form"}});
}

std::vector<Option> sim_fault_options() {
  return under(
      "What breaks",
      {{.name = "fail",
        .value = "LINK@TIME",
        .help = "lose a cable, such as 'be-leaf01>be-spine01@100us'",
        .repeatable = true},
       {.name = "restore", .value = "LINK@TIME", .help = "bring it back", .repeatable = true},
       {.name = "errors",
        .value = "LINK=P",
        .help = "lose packets on a cable with this probability",
        .repeatable = true},
       {.name = "link-mtu", .value = "LINK=SIZE", .help = "a cable whose ends drop larger packets", .repeatable = true},
       {.name = "detection", .value = "TIME", .help = "until both ends of a lost cable know it", .fallback = "150ms"},
       {.name = "propagation", .value = "TIME", .help = "until the whole fabric does", .fallback = "200ms"},
       {.name = "storm",
        .value = "HOST@TIME",
        .help = "an endpoint that sends pause frames from then on (HOST@FROM-UNTIL: for a while)",
        .repeatable = true},
       {.name = "watchdog",
        .value = "ACTION",
        .help = "of the PFC watchdog on queues that stand still",
        .fallback = "the cluster's, else off",
        .choices = choices_named({"off", "drop", "forward"})},
       {.name = "watchdog-time", .value = "TIME", .help = "until it acts, and until it lets go", .fallback = "200ms"}});
}

std::vector<Option> sim_result_options() {
  std::vector<Option> options = {
      {.name = "heat-map", .value = "FILE", .help = "draw how busy every link was, as SVG", .hint = Hint::file},
      {.name = "storm-tree", .value = "FILE", .help = "draw how pauses spread, as SVG", .hint = Hint::file},
      {.name = "series", .value = "TIME", .help = "add a row of totals for every interval of this length"},
      output_option(),
      file_option(),
      catalog_option()};
  return under("Result", std::move(options));
}

}  // namespace weft::cli
