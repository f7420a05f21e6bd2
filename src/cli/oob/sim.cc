// weft oob sim: simulated BMCs of a cluster, for drills and for developing Redfish clients.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <limits>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/quoting.h"
#include "base/text.h"
#include "base/utf8.h"
#include "bmcsim/fleet.h"
#include "cli/framework/option_reader.h"
#include "cli/oob/input.h"
#include "model/yaml_file.h"
#include "oob/bmc/inventory.h"
#include "oob/credentials/credentials.h"

namespace weft::cli {
namespace {

using bmcsim::SimDevice;
using bmcsim::SimFleet;
using bmcsim::SimKind;
using bmcsim::SimOptions;

struct SimRequest {
  SimOptions options;
  std::string folder;
  std::string report;
  std::optional<Duration> length;
};

void read_times(OptionReader& reader, SimRequest& request) {
  SimOptions& options = request.options;
  if (const auto time = reader.time("latency")) options.latency = *time;
  if (const auto time = reader.time("power-time")) options.power_time = *time;
  if (const auto time = reader.time("shutdown-time")) options.shutdown_time = *time;
  if (const auto time = reader.time("boot-time")) options.boot_time = *time;
  if (const auto time = reader.time("flash-time")) options.flash_time = *time;
  if (const auto time = reader.time("restart-time")) options.restart_time = *time;
  request.length = reader.time("for");
}

SimRequest read_request(OptionReader& reader) {
  SimRequest request;
  SimOptions& options = request.options;
  const Arguments& arguments = reader.arguments();
  if (const auto port = reader.integer("port", 0, 65535)) options.port = static_cast<std::uint16_t>(*port);
  if (const auto seed = reader.seed("seed")) options.seed = *seed;
  if (const auto most = reader.integer("sessions", 1, 1000)) options.sessions = static_cast<std::uint32_t>(*most);
  if (const std::string base = arguments.value("base"); !base.empty()) {
    const Result<Ipv4> address = parse_ipv4(base);
    if (!address.ok() || (address->bits >> 24U) != 127) {
      reader.bad("base", fmt::format("{} is not an address in 127.0.0.0/8", in_backticks(base)));
    } else {
      options.base = *address;
    }
  }
  if (const std::string user = arguments.value("user"); !user.empty()) options.user = user;
  options.tls = !arguments.has("no-tls");
  options.powered = !arguments.has("off");
  request.folder = arguments.value("dir");
  request.report = arguments.value("report");
  if (options.tls) options.authority = request.folder;
  read_times(reader, request);
  return request;
}

// False after an error was reported.
bool read_password(Context& context, SimRequest& request) {
  const std::string path = context.arguments().value("password-file");
  if (path.empty()) {
    request.options.password = oob::new_password();
    return true;
  }
  Result<std::string> text = read_file(path, 4096);
  if (!text.ok()) {
    (void)context.failed(text.error());
    return false;
  }
  std::string word = text->substr(0, text->find_first_of("\r\n"));
  if (word.empty()) {
    (void)context.failed({ErrorCode::invalid_input, "the first line, the password, is empty", path});
    return false;
  }
  request.options.password = oob::Secret(std::move(word));
  return true;
}

bool read_faults(Context& context, SimRequest& request, Exit& code) {
  std::vector<bmcsim::NamedFault>& faults = request.options.faults;
  if (const std::string path = context.arguments().value("faults"); !path.empty()) {
    Result<std::string> text = model::read_yaml_file(path);
    if (!text.ok()) {
      code = context.failed(text.error());
      return false;
    }
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add(path, std::move(text).value());
    std::optional<std::vector<bmcsim::NamedFault>> read = bmcsim::read_faults(sources, file, diagnostics);
    context.note_problems(diagnostics, sources);
    code = Exit::usage;
    if (!read) return false;
    faults = std::move(*read);
  }
  for (const std::string& text : context.arguments().values("fault")) {
    const Result<std::vector<bmcsim::NamedFault>> more = bmcsim::parse_fault(text);
    if (!more.ok()) {
      code = context.usage_error(fmt::format("--fault: {}", more.error().message));
      return false;
    }
    faults.insert(faults.end(), more->begin(), more->end());
  }
  return true;
}

// Not more than the simulation numbers.
std::uint32_t gpus_of(const model::Cluster& cluster, model::DeviceId device) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(*cluster.server_of(device).gpus, 0, 255));
}

// All devices of HOSTS, or all devices without it. Empty after an error was reported.
std::vector<SimDevice> open_devices(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(0));
  std::optional<oob::Inventory> inventory;
  if (loaded->cluster != nullptr) inventory = oob::make_inventory(*loaded->cluster, loaded->diagnostics);
  std::vector<SimDevice> devices;
  if (!context.report(*loaded) || !inventory) return devices;
  const std::string words = context.arguments().word(1);
  const Result<std::vector<std::uint32_t>> chosen = inventory->select(words.empty() ? "all" : words);
  if (!chosen.ok()) {
    (void)context.usage_error(chosen.error().message);
    return devices;
  }
  devices.reserve(chosen->size());
  for (const std::uint32_t i : *chosen) {
    const oob::Target& target = inventory->targets()[i];
    SimKind kind = SimKind::server;
    if (target.role == oob::Role::network_switch) kind = SimKind::network_switch;
    if (target.role == oob::Role::pdu) kind = SimKind::pdu;
    devices.push_back({target.name, i, kind, target.power.count() > 0 ? target.power : watts(100)});
    if (kind == SimKind::server && target.device != model::kNone<model::DeviceId>)
      devices.back().gpus = gpus_of(*loaded->cluster, target.device);
  }
  return devices;
}

// A name and its trailing number.
struct Numbered {
  std::string_view stem;
  std::string_view digits;
};
Numbered numbered(std::string_view name) {
  std::size_t at = name.size();
  // Nine digits fit any integer.
  while (at > 0 && name.size() - at < 9 && name[at - 1] >= '0' && name[at - 1] <= '9') --at;
  return {name.substr(0, at), name.substr(at)};
}

bool follows(const SimDevice& first, const SimDevice& before, const SimDevice& next) {
  const Numbered a = numbered(before.name);
  const Numbered b = numbered(next.name);
  const bool alike = a.stem == b.stem && a.digits.size() == b.digits.size() && !a.digits.empty();
  return alike && next.offset == before.offset + 1 && numbered(first.name).digits.size() == b.digits.size() &&
         std::stoul(std::string(b.digits)) == std::stoul(std::string(a.digits)) + 1;
}

// One entry per run of names whose numbers and addresses count up together.
std::string endpoints_text(const SimFleet& fleet, const std::string& ca) {
  std::string text = fmt::format(
      "# Written by `weft oob sim`.\nweft_endpoints: 1\ndefaults: {{protocol: redfish, port: {}, ca: {}}}\n",
      fleet.port(), yaml_quote(ca));
  text += "endpoints:\n";
  const std::vector<SimDevice>& devices = fleet.devices();
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i + 1;
    while (end < devices.size() && follows(devices[i], devices[end - 1], devices[end])) ++end;
    const Numbered first = numbered(devices[i].name);
    const std::string name =
        end == i + 1 ? devices[i].name
                     : fmt::format("{}[{}-{}]", first.stem, first.digits, numbered(devices[end - 1].name).digits);
    text +=
        fmt::format("  {}: {{host: {}, step: 1}}\n", yaml_quote(name), fleet.address(static_cast<std::uint32_t>(i)));
    i = end;
  }
  return text;
}

// Held until the simulator ends: another one would replace the files that clients of this one use.
Result<FileDescriptor> lock_folder(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "sim.lock").string();
  FileDescriptor file = open_descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file.ok()) return file_error(errno, "open", path);
  int locked = 0;
  do {
    locked = ::flock(file.get(), LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0 && errno != EWOULDBLOCK) return file_error(errno, "lock", path);
  if (locked != 0) {
    const Result<std::string> holder = read_file(path, 64);
    const std::string_view id = holder.ok() ? trim(*holder, "\n") : std::string_view();
    const bool is_known = !id.empty() && std::all_of(id.begin(), id.end(), is_digit);
    return Error{ErrorCode::conflict,
                 fmt::format("another `weft oob sim`{} is using this folder; stop it{}, or give another folder with "
                             "--dir",
                             is_known ? fmt::format(" (process {})", id) : "",
                             is_known ? fmt::format(" with `kill {}`", id) : ""),
                 folder};
  }
  // Only for that message.
  if (::ftruncate(file.get(), 0) == 0) (void)write_all(file.get(), fmt::format("{}\n", ::getpid()));
  return file;
}

Status write_files(const SimRequest& request, const SimFleet& fleet) {
  const std::filesystem::path folder = std::filesystem::absolute(request.folder);
  const SimOptions& options = request.options;
  if (options.tls) {
    Status written = write_file(folder / "endpoints.yaml", endpoints_text(fleet, folder / "ca.pem"));
    if (!written.ok()) return written;
  }
  const std::string path = folder / "credentials.yaml";
  // The file must never be readable by others, not even while it is written.
  const mode_t before = ::umask(0077);
  Status written = write_file(path, fmt::format("weft_credentials: 1\ndefault: {{user: {}, password: {}}}\n",
                                                yaml_quote(options.user), yaml_quote(options.password.reveal())));
  ::umask(before);
  if (!written.ok()) return written;
  std::error_code problem;
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, problem);
  if (problem)
    return Error{ErrorCode::unavailable, fmt::format("cannot set its permissions: {}", problem.message()), path};
  return {};
}

// Every connection needs a descriptor.
void raise_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

// Serves until a signal or the end of the time; SIGUSR1 prints the report.
Exit serve(Context& context, const SimRequest& request, SimFleet& fleet) {
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  (void)fleet.start();
  const std::string last = fleet.address(static_cast<std::uint32_t>(fleet.devices().size() - 1));
  context.note(fmt::format("{} BMCs on {} to {}, port {}{}", fleet.devices().size(), fleet.address(0), last,
                           fleet.port(), request.options.tls ? "" : ", without TLS"));
  oob::SystemClock clock;
  constexpr Duration never(std::numeric_limits<std::int64_t>::max());
  const Duration end = request.length ? clock.now() + *request.length : never;
  Status reported;
  const auto report = [&] {
    if (!request.report.empty()) reported = write_file(request.report, fleet.report());
  };
  while (true) {
    const Duration wait = std::clamp(end - clock.now(), Duration(), milliseconds(1'000));
    const timespec time{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &time);
    if (signal == SIGUSR1) report();
    if ((signal > 0 && signal != SIGUSR1) || clock.now() >= end) break;
  }
  report();
  fleet.stop();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return reported.ok() ? Exit::ok : context.failed(reported.error());
}

Exit run_sim(Context& context) {
  OptionReader reader(context.arguments());
  SimRequest request = read_request(reader);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  Exit code = Exit::usage;
  std::vector<SimDevice> devices = open_devices(context);
  if (devices.empty()) return Exit::usage;
  if (!read_faults(context, request, code)) return code;
  if (!read_password(context, request)) return Exit::usage;
  if (request.folder.empty() && context.arguments().value("password-file").empty()) {
    return context.usage_error("no client could log in: the random password is written nowhere",
                               {"give --dir DIR, or --password-file FILE"});
  }
  std::error_code problem;
  if (!request.folder.empty()) std::filesystem::create_directories(request.folder, problem);
  if (problem) return context.failed({ErrorCode::unavailable, problem.message(), request.folder});
  Result<FileDescriptor> lock = FileDescriptor();
  if (!request.folder.empty()) lock = lock_folder(request.folder);
  if (!lock.ok()) return context.failed(lock.error());
  raise_descriptors();
  Result<std::unique_ptr<SimFleet>> fleet = SimFleet::make(std::move(devices), request.options);
  if (!fleet.ok()) return context.failed(fleet.error());
  if (!request.folder.empty()) {
    const Status written = write_files(request, **fleet);
    if (!written.ok()) return context.failed(written.error());
  }
  return serve(context, request, **fleet);
}

std::vector<Option> sim_options() {
  const std::string section = "Behavior";
  const SimOptions standard;
  return {{.name = "dir",
           .value = "DIR",
           .help = "write endpoints.yaml, credentials.yaml and ca.pem there",
           .hint = Hint::file},
          {.name = "port", .value = "N", .help = "port of all BMCs; 0 for any free port", .fallback = "0"},
          {.name = "base",
           .value = "ADDRESS",
           .help = "address of the first device, in 127.0.0.0/8",
           .fallback = to_text(standard.base)},
          {.name = "no-tls", .help = "plain HTTP, for clients without TLS support"},
          {.name = "user", .value = "NAME", .help = "login name", .fallback = standard.user},
          {.name = "password-file",
           .value = "FILE",
           .help = "file with the password in its first line",
           .fallback = "a random one",
           .hint = Hint::file},
          {.name = "report",
           .value = "FILE",
           .help = "write statistics as JSON at exit and on SIGUSR1",
           .hint = Hint::file},
          {.name = "for", .value = "TIME", .help = "stop after this time"},
          {.name = "latency", .value = "TIME", .help = "mean response latency", .fallback = "0s", .section = section},
          {.name = "power-time",
           .value = "TIME",
           .help = "time to power on or off",
           .fallback = to_text(standard.power_time),
           .section = section},
          {.name = "shutdown-time",
           .value = "TIME",
           .help = "time of an operating system shutdown",
           .fallback = to_text(standard.shutdown_time),
           .section = section},
          {.name = "boot-time",
           .value = "TIME",
           .help = "time from power on to a running operating system",
           .fallback = to_text(standard.boot_time),
           .section = section},
          {.name = "flash-time",
           .value = "TIME",
           .help = "time of a firmware update, before the BMC restarts",
           .fallback = to_text(standard.flash_time),
           .section = section},
          {.name = "restart-time",
           .value = "TIME",
           .help = "time in which a restarting BMC is unreachable",
           .fallback = to_text(standard.restart_time),
           .section = section},
          {.name = "off", .help = "start with all machines powered off", .section = section},
          {.name = "sessions",
           .value = "N",
           .help = "maximum number of sessions per BMC",
           .fallback = fmt::format("{}", standard.sessions),
           .section = section},
          {.name = "seed", .value = "N", .help = "seed of all random choices", .fallback = "1", .section = section},
          {.name = "fault",
           .value = "HOSTS=KIND[:ARG]",
           .help = "fault to inject on these hosts; see Faults",
           .repeatable = true,
           .section = section},
          {.name = "faults", .value = "FILE", .help = "faults as a YAML file", .hint = Hint::file, .section = section},
          catalog_option()};
}

}  // namespace

Command oob_sim_command() {
  Command command;
  command.name = "oob sim";
  command.summary = "Simulate the BMCs of a cluster: Redfish with faults";
  command.usage = "CLUSTER [HOSTS] --dir DIR [OPTIONS]";
  TermList faults{.title = "Faults"};
  for (const bmcsim::FaultRule& rule : bmcsim::fault_rules()) {
    faults.entries.push_back({bmcsim::fault_heading(rule), bmcsim::fault_text(rule)});
  }
  command.lists = {std::move(faults)};
  command.description = {
      "Each device of the cluster's out-of-band network gets a Redfish service on its own loopback address, all in one "
      "process, with realistic power timing, sessions, accounts, sensors, telemetry, logs and an event stream. The "
      "n-th "
      "device of the inventory has the n-th address starting at --base.",
      "The simulator runs until it is stopped: with Ctrl-C, or in the background with `kill` and its process or job "
      "number (SIGTERM).",
      "The folder of --dir contains what the other `weft oob` commands need to connect: --endpoints DIR/endpoints.yaml "
      "--credentials file:DIR/credentials.yaml. Only one simulator may use a folder at a time.",
      "A fault is written KIND or KIND:ARG; in a file of --faults, ARG has a key, the name below in lower case: "
      "`train001: "
      "{kind: slow, time: 5s}`."};
  command.examples = {
      {"weft oob sim pod32.yaml --dir sim", "All BMCs, without faults"},
      {"weft oob sim pod32.yaml --dir sim --latency 200ms --fault 'train[001-004]=silent_accept:2' "
       "--fault fe-leaf001a=dead",
       "Slow BMCs, some that ignore commands, and a dead one"},
      {"weft oob sim pod32.yaml --dir sim --fault train005=xid:3:79", "GPU 3 of a machine has fallen off the bus"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = sim_options();
  command.run = run_sim;
  return command;
}

}  // namespace weft::cli
