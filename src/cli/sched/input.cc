#include "cli/sched/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/host_range.h"
#include "base/text.h"
#include "base/utf8.h"
#include "sched/traces/gzip.h"

namespace weft::cli {
namespace {

constexpr double kLimitFactor = 1.5;  // users request about 1.5 times the time they need
constexpr std::int64_t kMaxGpuCount = 100'000'000;

// "16", "unlimited": GPUs as an amount; CPU and memory cannot be limited on the command line.
std::optional<sched::Amounts> gpus_amount(std::string_view text) {
  sched::Amounts amounts = sched::kNoLimits;
  if (text == "unlimited") return amounts;
  const Result<std::int64_t> number = parse_integer(text);
  if (!number.ok() || *number < 0 || *number > kMaxGpuCount) return std::nullopt;
  amounts.gpu_milli = *number * sched::kWholeGpu;
  return amounts;
}

bool set_tenant_part(sched::TenantPolicy& tenant, std::string_view key, std::string_view value) {
  if (key == "cohort") {
    tenant.cohort = value;
    return true;
  }
  if (key == "weight") {
    const std::optional<double> weight = parse_share(value);
    if (!weight || *weight <= 0) return false;
    tenant.weight = *weight;
    return true;
  }
  const std::optional<sched::Amounts> amounts = gpus_amount(value);
  if (!amounts) return false;
  if (key == "borrow") tenant.borrow = *amounts;
  if (key == "lend") tenant.lend = *amounts;
  return key == "borrow" || key == "lend";
}

constexpr std::string_view kTenantHint =
    "NAME=GPUS[,borrow=N][,lend=N][,cohort=NAME][,weight=X]; GPUS may be unlimited";

// One --tenant; replaces the cluster file's settings of that tenant.
void read_tenant(OptionReader& reader, const std::string& text, std::vector<sched::TenantPolicy>& tenants) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    reader.bad("tenant", fmt::format("{} is not of the form NAME=GPUS", in_backticks(text)), std::string(kTenantHint));
    return;
  }
  sched::TenantPolicy tenant;
  tenant.name = text.substr(0, equals);
  const auto known = std::find_if(tenants.begin(), tenants.end(),
                                  [&](const sched::TenantPolicy& each) { return each.name == tenant.name; });
  if (known != tenants.end()) tenant = *known;
  const std::vector<std::string> parts = comma_parts(std::string_view(text).substr(equals + 1));
  const std::optional<sched::Amounts> quota = gpus_amount(parts.front());
  if (!quota) {
    reader.bad("tenant", fmt::format("{} is not a number of GPUs", in_backticks(parts.front())),
               std::string(kTenantHint));
    return;
  }
  tenant.quota.gpu_milli = quota->gpu_milli;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t at = parts[i].find('=');
    const std::string_view part = parts[i];
    if (at == std::string::npos || !set_tenant_part(tenant, part.substr(0, at), part.substr(at + 1))) {
      reader.bad("tenant", fmt::format("{} is not a valid setting", in_backticks(parts[i])), std::string(kTenantHint));
      return;
    }
  }
  if (known != tenants.end()) {
    *known = std::move(tenant);
  } else {
    tenants.push_back(std::move(tenant));
  }
}

// "300x8": servers and GPUs per server.
std::optional<sched::Machine> plain_of(OptionReader& reader) {
  const std::string text = reader.arguments().value("plain");
  const std::size_t cross = text.find('x');
  const Result<std::int64_t> nodes = parse_integer(text.substr(0, cross));
  const Result<std::int64_t> gpus = parse_integer(cross == std::string::npos ? "8" : text.substr(cross + 1));
  if (!nodes.ok() || !gpus.ok() || *nodes < 1 || *nodes > 1'000'000 || *gpus < 0 || *gpus > sched::kMaxGpus) {
    reader.bad("plain", fmt::format("{} is not SERVERSxGPUS, such as 300x8", in_backticks(text)),
               fmt::format("1 to 1000000 servers of at most {} GPUs", sched::kMaxGpus));
    return std::nullopt;
  }
  sched::PlainMachine plain;
  plain.nodes = static_cast<std::int32_t>(*nodes);
  plain.gpus = static_cast<std::int32_t>(*gpus);
  return sched::plain_machine(plain);
}

// Converts a bit set from the trace's order of names to the machine's. A name that the machine does not have becomes a
// bit that no node has.
std::uint64_t renamed(std::uint64_t bits, const std::vector<std::string>& from, const std::vector<std::string>& to) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < from.size() && i < 64; ++i) {
    if (((bits >> i) & 1U) == 0) continue;
    const auto found = std::find(to.begin(), to.end(), from[i]);
    const auto index = static_cast<std::size_t>(found - to.begin());
    out |= std::uint64_t{1} << std::min<std::size_t>(index, 63);
  }
  return out;
}

using Bits = std::uint64_t sched::Request::*;

// A machine with none of the trace's names is a different one: the trace's model constraints do not apply to it.
void rename_bits(SchedInput& input, Bits bits, const std::vector<std::string>& from, const std::vector<std::string>& to,
                 std::string_view what) {
  if (from.empty() || from == to) return;
  const bool any = std::any_of(from.begin(), from.end(), [&](const std::string& name) {
    return std::find(to.begin(), to.end(), name) != to.end();
  });
  for (sched::Job& job : input.workload.jobs) {
    job.task.*bits = any ? renamed(job.task.*bits, from, to) : 0;
  }
  if (!any)
    input.notes.push_back(fmt::format("The machine has none of the {} named in the trace: jobs can run on any.", what));
}

std::optional<FileId> add_file(Context& context, Sources& sources, const std::string& path) {
  Result<std::string> text = sched::read_text_file(path);
  if (text.ok()) return sources.add(path, std::move(text).value());
  (void)context.failed(text.error());
  return std::nullopt;
}

// Compresses the arrivals and cuts the trace.
void cut(OptionReader& reader, SchedInput& input) {
  std::vector<sched::Job>& jobs = input.workload.jobs;
  const std::optional<Duration> after = reader.time("after");
  const std::optional<Duration> until = reader.time("until");
  const std::size_t all = jobs.size();
  if (after || until) {
    const auto outside = [&](const sched::Job& job) {
      const Duration at(job.submitted.count());
      return (after && at < *after) || (until && at > *until);
    };
    jobs.erase(std::remove_if(jobs.begin(), jobs.end(), outside), jobs.end());
  }
  if (const auto first = reader.integer("first", 1, 1'000'000'000)) {
    if (jobs.size() > static_cast<std::size_t>(*first)) jobs.resize(static_cast<std::size_t>(*first));
  }
  if (jobs.size() < all)
    input.notes.push_back(fmt::format("{} of the {} jobs of the trace are replayed.", jobs.size(), all));
  const std::optional<double> speed = reader.real("speed", 0.001, 10'000);
  if (!speed || jobs.empty()) return;
  const sched::Moment begin = jobs.front().submitted;
  for (sched::Job& job : jobs) {
    const double since = static_cast<double>((job.submitted - begin).count());
    job.submitted = begin + Duration(std::llround(since / *speed));
  }
  input.notes.push_back(fmt::format("Jobs arrive {:g} times as fast as in the trace.", *speed));
}

sched::TraceOptions trace_options(OptionReader& reader) {
  sched::TraceOptions options;
  options.limit_factor = kLimitFactor;
  if (const auto factor = reader.real("limits", 0, 1'000'000)) options.limit_factor = *factor;
  if (options.limit_factor > 0 && options.limit_factor < 1) {
    reader.bad("limits", "a factor below 1 would kill every job at its limit", "give 1 or more, or 0 for no limits");
  }
  if (const auto gpus = reader.integer("node-gpus", 1, sched::kMaxGpus)) {
    options.node_gpus = static_cast<std::int32_t>(*gpus);
  }
  return options;
}

std::optional<Exit> open_node_list(Context& context, SchedInput& input) {
  const std::string path = context.arguments().value("nodes");
  const std::optional<FileId> file = add_file(context, input.loaded->sources, path);
  if (!file) return Exit::usage;
  std::optional<sched::Machine> machine =
      sched::read_openb_nodes(*file, input.loaded->sources, input.workload.models, input.loaded->diagnostics);
  if (!context.report(*input.loaded) || !machine) return Exit::usage;
  input.machine = std::make_shared<const sched::Machine>(std::move(*machine));
  input.machine_name = path;
  return std::nullopt;
}

// Of --plain or the cluster file.
std::optional<Exit> open_machine(Context& context, OptionReader& reader, SchedInput& input) {
  const Arguments& arguments = context.arguments();
  if (arguments.has("plain")) {
    const std::optional<sched::Machine> machine = plain_of(reader);
    if (!machine) return context.usage_error(reader.problem(), {reader.hint()});
    input.machine = std::make_shared<const sched::Machine>(*machine);
    input.machine_name = arguments.value("plain") + " servers";
    return std::nullopt;
  }
  Result<sched::Machine> machine = sched::Machine::of(*input.loaded->cluster);
  if (!machine.ok()) return context.failed(machine.error());
  input.machine = std::make_shared<const sched::Machine>(std::move(machine).value());
  input.machine_name = input.loaded->cluster->name();
  input.tenants = sched::tenants_of(*input.loaded->cluster);
  return std::nullopt;
}

// The jobs of the trace `input.trace_name`, as they are in the file.
std::optional<Exit> read_trace(Context& context, OptionReader& reader, SchedInput& input) {
  const sched::TraceOptions options = trace_options(reader);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const std::optional<FileId> file = add_file(context, input.loaded->sources, input.trace_name);
  if (!file) return Exit::usage;
  std::optional<sched::Workload> workload =
      sched::read_workload(*file, input.loaded->sources, options, input.loaded->diagnostics);
  if (!context.report(*input.loaded) || !workload) return Exit::usage;
  input.loaded->diagnostics = Diagnostics();
  input.workload = std::move(*workload);
  input.notes = input.workload.notes;
  return std::nullopt;
}

// The jobs for the machine: its names of models and pools, and the part that the options ask for.
std::optional<Exit> fit_trace(Context& context, OptionReader& reader, SchedInput& input) {
  rename_bits(input, &sched::Request::models, input.workload.models, input.machine->models, "GPU models");
  rename_bits(input, &sched::Request::pools, input.workload.pools, input.machine->pools, "pools or partitions");
  for (const std::string& text : context.arguments().values("tenant")) read_tenant(reader, text, input.tenants);
  cut(reader, input);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  if (input.workload.jobs.empty())
    return context.usage_error("no jobs to replay", {"check --after, --until and --first"});
  return std::nullopt;
}

}  // namespace

std::vector<std::string> comma_parts(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  return {parts.begin(), parts.end()};
}

std::vector<Argument> sched_arguments() {
  Argument cluster = cluster_argument_or({"nodes", "plain"});
  cluster.help = "a cluster file; omitted with --nodes or --plain";
  return {cluster,
          {.name = "TRACE",
           .help = "job trace in the format of openb, Philly, Helios, Acme, SWF or weft; may be gzip-compressed",
           .hint = Hint::file,
           .required = false}};
}

std::vector<Option> sched_input_options() {
  const std::string machine = "Machine and trace";
  return {
      {.name = "nodes", .value = "FILE", .help = "machine: an openb node list", .hint = Hint::file, .section = machine},
      {.name = "plain",
       .value = "SERVERSxGPUS",
       .help = "machine: identical servers, such as 300x8",
       .section = machine},
      {.name = "tenant",
       .value = "NAME=GPUS[,...]",
       .help = "quota of a tenant, with borrow=N, lend=N, cohort=NAME, weight=X",
       .repeatable = true,
       .section = machine},
      {.name = "limits",
       .value = "FACTOR",
       .help = "time limit as a multiple of the run time, if the trace has no limits; 0: no limits",
       .fallback = "1.5",
       .section = machine},
      {.name = "node-gpus",
       .value = "N",
       .help = "GPUs per server when a trace gives only a total",
       .fallback = "8",
       .section = machine},
      {.name = "speed",
       .value = "FACTOR",
       .help = "arrival speed relative to the trace",
       .fallback = "1",
       .section = machine},
      {.name = "after",
       .value = "TIME",
       .help = "only jobs submitted after this time of the trace",
       .section = machine},
      {.name = "until",
       .value = "TIME",
       .help = "only jobs submitted up to this time of the trace",
       .section = machine},
      {.name = "first", .value = "N", .help = "only the first N of these jobs", .section = machine},
  };
}

std::optional<Exit> open_sched(Context& context, SchedInput& input, std::size_t skipped) {
  const Arguments& arguments = context.arguments();
  OptionReader reader(arguments);
  const bool described = arguments.has("nodes") || arguments.has("plain");
  if (arguments.has("nodes") && arguments.has("plain")) {
    return context.usage_error("--nodes and --plain are mutually exclusive", {"give one of them"});
  }
  if (described && arguments.words().size() > skipped + 1) {
    return context.usage_error("CLUSTER cannot be combined with --nodes or --plain", {"omit CLUSTER or the option"});
  }
  if (!described && arguments.words().size() < skipped + 2) {
    return context.usage_error("missing machine",
                               {"give a cluster file before the trace, or --nodes FILE or --plain SERVERSxGPUS"});
  }
  input.trace_name = arguments.words().back();
  input.loaded = described ? std::make_unique<model::Loaded>() : context.open_cluster(arguments.word(skipped));
  if (!described && !context.report(*input.loaded)) return Exit::usage;
  input.loaded->diagnostics = Diagnostics();  // the diagnostics of the cluster file were already printed
  if (const std::optional<Exit> exit = read_trace(context, reader, input)) return exit;
  if (const std::optional<Exit> exit =
          arguments.has("nodes") ? open_node_list(context, input) : open_machine(context, reader, input)) {
    return exit;
  }
  return fit_trace(context, reader, input);
}

std::optional<Exit> open_sched_machine(Context& context, const std::string& cluster, SchedInput& input) {
  OptionReader reader(context.arguments());
  const bool described = context.arguments().has("plain");
  input.loaded = described ? std::make_unique<model::Loaded>() : context.open_cluster(cluster);
  if (!described && !context.report(*input.loaded)) return Exit::usage;
  input.loaded->diagnostics = Diagnostics();
  return open_machine(context, reader, input);
}

std::optional<Exit> open_sched_trace(Context& context, const std::string& path, SchedInput& input) {
  OptionReader reader(context.arguments());
  input.trace_name = path;
  if (const std::optional<Exit> exit = read_trace(context, reader, input)) return exit;
  return fit_trace(context, reader, input);
}

std::vector<sched::NodeFailure> read_failures(OptionReader& reader, const sched::Machine& machine) {
  std::vector<sched::NodeFailure> failures;
  const std::string hint = "NODES@TIME[+DURATION], such as 'node-[1-4]@3d+2h'";
  for (const std::string& text : reader.arguments().values("lose")) {
    const std::size_t at = text.rfind('@');
    const std::string when = at == std::string::npos ? std::string() : text.substr(at + 1);
    const std::size_t plus = when.find('+');
    const Result<Duration> down = parse_duration(when.substr(0, plus));
    const Result<Duration> lasting = parse_duration(plus == std::string::npos ? "1s" : when.substr(plus + 1));
    const Result<std::vector<std::string>> hosts = expand_hosts(text.substr(0, at));
    if (at == std::string::npos || !down.ok() || !lasting.ok() || !hosts.ok() || hosts->empty()) {
      reader.bad("lose", fmt::format("{} is invalid", in_backticks(text)), hint);
      return failures;
    }
    for (const std::string& host : *hosts) {
      const std::optional<sched::NodeId> node = machine.find(host);
      if (!node) {
        reader.bad("lose", fmt::format("the machine has no server {}", in_backticks(host)),
                   fmt::format("the first server is {}", machine.nodes().front().name));
        return failures;
      }
      const sched::Moment begin = sched::Moment() + *down;
      failures.push_back({*node, begin, plus == std::string::npos ? sched::kNever : begin + *lasting});
    }
  }
  return failures;
}

}  // namespace weft::cli
