// weft gate: the lease gate of this node. Prologs of Slurm ask it, and the control plane opens and closes it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "base/asset.h"
#include "base/file.h"
#include "base/random.h"
#include "cli/framework/context.h"
#include "cli/framework/option_reader.h"
#include "world/gate/device_holders.h"
#include "world/gate/node_gate.h"
#include "world/gate/node_steps.h"
#include "world/gate/oci_hook.h"

namespace weft::cli {
namespace {

using lease::LeaseOwner;

constexpr const char* kGateDirectory = "/run/weft-gate";
constexpr std::size_t kMaxState = 1U << 20U;    // bytes, of a container's state
constexpr std::size_t kMaxConfig = 16U << 20U;  // of its configuration

std::uint64_t draw() {
  std::random_device device;
  const std::uint64_t high = device();
  return (high << 32U) | device();
}

Result<world::NodeGate> open_gate(Context& context) {
  Result<std::string> boot = world::read_kernel_boot_id();
  if (!boot.ok()) return boot.error();
  std::string directory = context.arguments().value("gate");
  if (directory.empty()) directory = context.io().environment("WEFT_GATE");
  if (directory.empty()) directory = kGateDirectory;
  return world::NodeGate({std::move(directory), *boot, draw});
}

LeaseOwner owner_option(Context& context) {
  return context.arguments().value("owner") == "kubernetes" ? LeaseOwner::kubernetes : LeaseOwner::slurm;
}

std::vector<std::string> device_patterns(Context& context) {
  std::vector<std::string> patterns = context.arguments().values("device");
  if (patterns.empty()) patterns = {"/dev/nvidia[0-9]*"};
  return patterns;
}

world::HolderQuery holder_query(Context& context) {
  world::HolderQuery query;
  query.devices = device_patterns(context);
  query.ignored = context.arguments().values("ignore");
  for (const char* program : {"nvidia-persistenced", "nv-hostengine"}) query.ignored.emplace_back(program);
  return query;
}

Exit run_holders(Context& context) {
  const Result<std::vector<world::DeviceHolder>> held = world::find_device_holders(holder_query(context));
  if (!held.ok()) return context.failed(held.error());
  if (held->empty()) return Exit::ok;
  const Exit delivered = context.deliver(world::describe(*held) + "\n");
  return delivered == Exit::ok ? Exit::findings : delivered;
}

// The state of the gate and both witnesses of the node.
Result<Document> look(Context& context, const world::GateFile& gate) {
  const Result<std::vector<world::DeviceHolder>> held = world::find_device_holders(holder_query(context));
  if (!held.ok()) return held.error();
  const Result<std::string> kernel = world::read_kernel_boot_id();
  if (!kernel.ok()) return kernel.error();
  world::StepQuery query;
  query.spool = context.arguments().value("slurmd-spool");
  const Result<world::NodeSteps> steps = world::find_node_steps(query);
  if (!steps.ok()) return steps.error();
  Document document;
  document.kind = "gate";
  FactsSection facts;
  facts.key = "gate";
  facts.facts = {
      {"boot", "Boot", fmt::format("{:x}", gate.boot)},
      {"kernel_boot", "Boot of the kernel", fmt::format("{:x}", std::max<std::uint64_t>(hash64(*kernel), 1))},
      {"term", "Term", gate.term},
      {"holders", "Processes that hold a GPU", static_cast<std::uint64_t>(held->size())},
      {"holding", "They are", world::describe(*held)},
      {"running", "Steps and pods", steps->text}};
  document.sections.emplace_back(std::move(facts));
  TableSection table;
  table.key = "engines";
  table.columns = {{"engine", "ENGINE"},
                   {"state", "GATE"},
                   {"open", "EPOCH", Column::Align::right},
                   {"floor", "CLOSED UP TO", Column::Align::right},
                   {"entries", "ENTERED", Column::Align::right},
                   {"steps", "STEPS", Column::Align::right}};
  for (const LeaseOwner engine : {LeaseOwner::slurm, LeaseOwner::kubernetes}) {
    const control::EngineGate& each = gate.engines[static_cast<std::size_t>(engine)];
    const std::uint32_t running = engine == LeaseOwner::slurm ? steps->slurm : steps->kubernetes;
    table.rows.push_back(
        {lease::to_text(engine), each.open != 0 ? "open" : "closed", each.open, each.floor, each.steps, running});
  }
  document.sections.emplace_back(std::move(table));
  return document;
}

Exit show(Context& context, const Result<world::GateFile>& gate) {
  if (!gate.ok()) return context.failed(gate.error());
  const Result<Document> document = look(context, *gate);
  return document.ok() ? context.deliver(*document) : context.failed(document.error());
}

Exit run_status(Context& context) {
  OptionReader reader(context.arguments());
  const std::uint64_t term = reader.seed("term").value_or(0);
  if (!reader.ok()) return context.usage_error(reader.problem());
  Result<world::NodeGate> gate = open_gate(context);
  if (!gate.ok()) return context.failed(gate.error());
  return show(context, gate->read(term));
}

Exit run_order(Context& context, control::LeaseOrderKind kind) {
  OptionReader reader(context.arguments());
  control::LeaseOrder order;
  order.kind = kind;
  order.engine = owner_option(context);
  order.epoch = reader.seed("epoch").value_or(0);
  order.term = reader.seed("term").value_or(0);
  const std::string boot = context.arguments().value("boot");
  const auto [stop, error] = std::from_chars(boot.data(), boot.data() + boot.size(), order.boot, 16);
  if (!reader.ok()) return context.usage_error(reader.problem());
  if (order.epoch == 0) return context.usage_error("--epoch N is needed, from 1");
  if (error != std::errc() || stop != boot.data() + boot.size() || boot.empty())
    return context.usage_error("--boot is needed, as `weft gate status` shows it");
  Result<world::NodeGate> gate = open_gate(context);
  if (!gate.ok()) return context.failed(gate.error());
  return show(context, gate->obey(order));
}

Exit run_open(Context& context) { return run_order(context, control::LeaseOrderKind::open); }
Exit run_close(Context& context) { return run_order(context, control::LeaseOrderKind::close); }

Exit run_check(Context& context) {
  Result<world::NodeGate> gate = open_gate(context);
  if (!gate.ok()) return context.failed(gate.error());
  const Status entered = gate->enter(owner_option(context), context.arguments().value("entry"));
  return entered.ok() ? Exit::ok : context.failed(entered.error());
}

Exit run_leave(Context& context) {
  if (context.arguments().value("entry").empty()) return context.usage_error("--entry ID is needed");
  Result<world::NodeGate> gate = open_gate(context);
  if (!gate.ok()) return context.failed(gate.error());
  const Status left = gate->leave(owner_option(context), context.arguments().value("entry"));
  return left.ok() ? Exit::ok : context.failed(left.error());
}

// A container without a GPU passes; one whose configuration cannot be read does not.
Exit run_hook(Context& context) {
  const Result<std::string> text = read_file("-", kMaxState);
  if (!text.ok()) return context.failed(text.error());
  const Result<world::OciContainer> container = world::parse_oci_state(*text);
  if (!container.ok()) return context.failed(container.error());
  Result<world::NodeGate> gate = open_gate(context);
  if (!gate.ok()) return context.failed(gate.error());
  if (context.arguments().word(0) == "stop") {
    const Status left = gate->leave(LeaseOwner::kubernetes, container->id);
    return left.ok() ? Exit::ok : context.failed(left.error());
  }
  const Result<std::string> config = read_file(container->bundle + "/config.json", kMaxConfig);
  if (!config.ok()) return context.failed(config.error());
  const Result<std::string> pod_namespace = world::find_pod_namespace(*config);
  if (!pod_namespace.ok()) return context.failed(pod_namespace.error());
  const std::vector<std::string> ignored = context.arguments().values("ignore-namespace");
  if (std::find(ignored.begin(), ignored.end(), *pod_namespace) != ignored.end()) return Exit::ok;
  const Result<bool> gpu = world::uses_gpu(*config, device_patterns(context));
  if (!gpu.ok()) return context.failed(gpu.error());
  if (!*gpu) return Exit::ok;
  const Status entered = gate->enter(LeaseOwner::kubernetes, container->id);
  return entered.ok() ? Exit::ok : context.failed(entered.error());
}

Exit run_script(Context& context) {
  const std::string name = context.arguments().word(0);
  if (name == "prolog") return context.deliver(asset<"world/gate/prolog.sh">());
  if (name == "epilog") return context.deliver(asset<"world/gate/epilog.sh">());
  if (name == "containerd-hooks") return context.deliver(asset<"world/gate/containerd-hooks.json">());
  return context.deliver(name == "create-hook" ? asset<"world/gate/create-hook.json">()
                                               : asset<"world/gate/stop-hook.json">());
}

Option gate_option() {
  return {.name = "gate",
          .value = "DIR",
          .help = "directory of the gate, on a file system that is empty after a boot",
          .fallback = fmt::format("$WEFT_GATE or {}", kGateDirectory),
          .hint = Hint::file};
}

Option owner_choice() {
  return {.name = "owner",
          .value = "ENGINE",
          .help = "whose gate",
          .fallback = "slurm",
          .choices = choices_named({"slurm", "kubernetes"})};
}

Option entry_option(std::string help) { return {.name = "entry", .value = "ID", .help = std::move(help)}; }

Option device_option() {
  return {.name = "device",
          .value = "PATTERN",
          .help = "device files of the GPUs",
          .fallback = "/dev/nvidia[0-9]*",
          .hint = Hint::file,
          .repeatable = true};
}

Option ignore_option() {
  return {.name = "ignore",
          .value = "PROGRAM",
          .help = "a program that keeps devices open on an idle node, besides nvidia-persistenced and nv-hostengine",
          .repeatable = true};
}

std::vector<Option> look_options() {
  return {device_option(),
          ignore_option(),
          {.name = "slurmd-spool",
           .value = "DIR",
           .help = "count only steps of the slurmd with this SlurmdSpoolDir, where several run on one machine",
           .hint = Hint::file},
          gate_option(),
          output_option()};
}

Command order_command(std::string_view verb, std::string summary, Exit (*run)(Context&)) {
  Command command;
  command.name = fmt::format("gate {}", verb);
  command.summary = std::move(summary);
  command.usage = "--owner ENGINE --epoch N --boot BOOT [OPTIONS]";
  command.description = {
      "The gate obeys only orders for its own boot, of no earlier term than it has seen, and never opens an epoch that "
      "it was ordered to close. At most one engine's gate is open."};
  command.examples = {{fmt::format("weft gate {} --owner slurm --epoch 7 --boot 4f3c0aa1", verb), "Under epoch 7"}};
  command.options = {owner_choice(),
                     {.name = "epoch", .value = "N", .help = "epoch of the lease"},
                     {.name = "boot", .value = "BOOT", .help = "boot of the gate, from `weft gate status`"},
                     {.name = "term", .value = "N", .help = "term of the controller that orders", .fallback = "0"}};
  for (const Option& option : look_options()) command.options.push_back(option);
  command.run = run;
  return command;
}

}  // namespace

std::vector<Command> gate_commands() {
  std::vector<Command> commands;
  Command status;
  status.name = "gate status";
  status.summary = "Show the lease gate of this node and what uses its GPUs";
  status.usage = "[OPTIONS]";
  status.description = {
      "Run it as root on the node. Shows for which engine work may start, steps of Slurm and pods with GPUs that run, "
      "and "
      "the processes that hold a device file of a GPU open. What cannot be read is an error, not an idle node."};
  status.examples = {{"weft gate status", "Which engine may use this node"}};
  status.options = look_options();
  status.options.insert(
      status.options.begin(),
      {.name = "term", .value = "N", .help = "the gate refuses orders of earlier terms from now on", .fallback = "0"});
  status.run = run_status;
  status.group_default = true;
  commands.push_back(std::move(status));
  Command check;
  check.name = "gate check";
  check.summary = "Check whether an engine may start work on this node";
  check.usage = "--owner ENGINE [OPTIONS]";
  check.description = {"Exit status 0: it may. 4: the node is not leased to it."};
  check.examples = {{"weft gate check --owner slurm --entry 4711", "In a Prolog of Slurm, for job 4711"}};
  check.options = {owner_choice(), entry_option("what starts: it counts as running until `weft gate leave`"),
                   gate_option()};
  check.run = run_check;
  commands.push_back(std::move(check));
  Command leave;
  leave.name = "gate leave";
  leave.summary = "Note that work which passed the gate has left the node";
  leave.usage = "--owner ENGINE --entry ID [OPTIONS]";
  leave.examples = {{"weft gate leave --owner slurm --entry 4711", "In an Epilog of Slurm, for job 4711"}};
  leave.options = {owner_choice(), entry_option("what has left"), gate_option()};
  leave.run = run_leave;
  commands.push_back(std::move(leave));
  commands.push_back(order_command("open", "Open the gate of an engine under an epoch", run_open));
  commands.push_back(order_command("close", "Close the gate of an engine up to an epoch", run_close));
  Command holders;
  holders.name = "gate holders";
  holders.summary = "Show the processes that have a GPU of this node open";
  holders.usage = "[OPTIONS]";
  holders.description = {
      "Run it as root on the node. Exit status 0: none. 1: there are some, which are printed. A process that cannot be "
      "read is an error, not one without open files."};
  holders.examples = {{"weft gate holders", "Whether the GPUs are free"},
                      {"weft gate holders --device /dev/nvidia0", "Whether one of them is"}};
  holders.options = {device_option(), ignore_option(), file_option()};
  holders.run = run_holders;
  commands.push_back(std::move(holders));
  Command hook;
  hook.name = "gate hook";
  hook.summary = "Ask the gate as a hook of a container runtime";
  hook.usage = "STAGE [OPTIONS]";
  hook.description = {
      "Reads the container's state from standard input, as OCI runtimes pass it to hooks. `create` fails, and with it "
      "the start of the container, if the container has a GPU and the node is not leased to Kubernetes. `stop` notes "
      "that it has ended. `weft gate script` prints the hooks for CRI-O and containerd. Device plugins and monitoring "
      "run "
      "on every node and see its GPUs: put their namespace into the hook with --ignore-namespace."};
  hook.examples = {{"weft gate hook create", "As a container runtime runs it, with the state on standard input"}};
  hook.arguments = {{.name = "STAGE", .help = "when", .choices = choices_named({"create", "stop"})}};
  hook.options = {device_option(),
                  {.name = "ignore-namespace",
                   .value = "NAMESPACE",
                   .help = "containers of its pods pass and do not count, such as device plugins and monitoring",
                   .repeatable = true},
                  gate_option()};
  hook.run = run_hook;
  commands.push_back(std::move(hook));
  Command script;
  script.name = "gate script";
  script.summary = "Print the scripts and hooks that ask the gate";
  script.usage = "SCRIPT [OPTIONS]";
  script.examples = {{"weft gate script prolog -f /etc/slurm/prolog.d/05-lease", "On every node that is shared"},
                     {"weft gate script create-hook -f /etc/containers/oci/hooks.d/weft-create.json", "With CRI-O"},
                     {"weft gate script containerd-hooks", "With containerd: to be merged into its base_runtime_spec"}};
  script.arguments = {{.name = "SCRIPT",
                       .help = "which",
                       .choices = choices_named({"prolog", "epilog", "create-hook", "stop-hook", "containerd-hooks"})}};
  script.options = {file_option()};
  script.run = run_script;
  commands.push_back(std::move(script));
  return commands;
}

}  // namespace weft::cli
