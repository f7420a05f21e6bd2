// Out-of-band operations on a whole cluster: power status of 16,384 simulated BMCs over TLS, then off and on again, at
// several fan-outs; and weft compared with FreeIPMI's ipmipower on the same ipmi_sim processes in the same run. Prints
// fan-out F, latency L, hosts per second, the model N * L / F, and the peak memory of each process. Usage: oob_bench
// [BMCS [IPMI_BMCS]]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "../tests/ipmi_lab.h"
#include "base/file.h"
#include "base/test_prerequisites.h"
#include "bmcsim/fleet.h"
#include "oob/bmc/connector.h"
#include "oob/power/run.h"
#include "oob/power/status_sweep.h"

namespace {

using namespace weft;
using namespace weft::oob;

double seconds(weft::Duration time) { return static_cast<double>(time.count()) * 1e-9; }

// VmHWM of a process, in MiB.
double peak_memory(const std::string& process) {
  const weft::Result<std::string> status = weft::read_file("/proc/" + process + "/status", 65536);
  if (!status.ok()) return 0;
  const std::size_t at = status->find("VmHWM:");
  return at == std::string::npos ? 0 : std::strtod(status->c_str() + at + 6, nullptr) / 1024;
}

double processor_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// Servers of one pool, each with an endpoint that `place` fills in.
template <class SourceLocation>
Inventory inventory_of(int servers, SourceLocation place) {
  std::vector<Target> targets(static_cast<std::size_t>(servers));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i].name = fmt::format("train{:05}", i + 1);
    targets[i].group = "train";
    targets[i].endpoint.device = targets[i].name;
    place(i, targets[i].endpoint);
  }
  return Inventory(std::move(targets), {});
}

class OneLogin final : public CredentialStore {
 public:
  OneLogin(std::string user, std::string password) : user_(std::move(user)), password_(std::move(password)) {}
  [[nodiscard]] weft::Result<Credential> find(const std::string& /*device*/,
                                              const std::string& /*group*/) const override {
    return Credential{user_, password_, {}};
  }
  [[nodiscard]] bool has_own(const std::string& /*device*/) const override { return false; }
  [[nodiscard]] weft::Status put(const std::string& /*device*/, const Credential& /*credential*/) override {
    return weft::Error{weft::ErrorCode::refused, "read only", {}};
  }
  [[nodiscard]] bool writable() const override { return false; }
  [[nodiscard]] std::string name() const override { return "bench"; }

 private:
  std::string user_;
  Secret password_;
};

// The simulator in a separate process: its memory and CPU time do not count as weft's.
struct Simulator {
  pid_t process = -1;
  std::uint16_t port = 0;
  weft::Ipv4 base{};
  std::string ca_file;
};

[[noreturn]] void serve(int servers, weft::Duration latency, const std::string& ca_file, int to_parent) {
  std::vector<weft::bmcsim::SimDevice> devices;
  devices.reserve(static_cast<std::size_t>(servers));
  for (int i = 0; i < servers; ++i)
    devices.push_back({.name = fmt::format("bmc{}", i), .offset = static_cast<std::uint32_t>(i)});
  weft::bmcsim::SimOptions options;
  options.latency = latency;
  options.power_time = weft::milliseconds(100);
  options.boot_time = weft::milliseconds(200);
  weft::Result<std::unique_ptr<weft::bmcsim::SimFleet>> fleet =
      weft::bmcsim::SimFleet::make(std::move(devices), std::move(options));
  if (!fleet.ok() || !fleet.value()->start().ok() || !weft::write_file(ca_file, fleet.value()->ca_pem()).ok())
    ::_exit(1);
  const std::uint16_t port = fleet.value()->port();
  if (::write(to_parent, &port, sizeof port) != sizeof port) ::_exit(1);
  for (;;) ::pause();
}

Simulator start_simulator(int servers, weft::Duration latency, const std::string& ca_file) {
  int ends[2];
  Simulator simulator;
  simulator.ca_file = ca_file;
  simulator.base = weft::bmcsim::SimOptions{}.base;
  if (::pipe(ends) != 0) return simulator;
  simulator.process = ::fork();
  if (simulator.process == 0) serve(servers, latency, ca_file, ends[1]);
  ::close(ends[1]);
  if (::read(ends[0], &simulator.port, sizeof simulator.port) != sizeof simulator.port) simulator.port = 0;
  ::close(ends[0]);
  return simulator;
}

void stop(const Simulator& simulator) {
  ::kill(simulator.process, SIGKILL);
  ::waitpid(simulator.process, nullptr, 0);
}

void row(const char* what, std::size_t devices, int width, double took, weft::Duration half, weft::Duration worst,
         weft::Duration mean, std::size_t good) {
  const double model = static_cast<double>(devices) * seconds(mean) / width;
  fmt::print("{:<22} {:>7} {:>6} {:>9.2f} {:>9.0f} {:>10.1f} {:>10.1f} {:>10.2f} {:>8}\n", what, devices, width, took,
             static_cast<double>(devices) / took, seconds(half) * 1e3, seconds(worst) * 1e3, model, good);
}

void sweep_redfish(int servers, weft::Duration latency, const std::vector<int>& widths, bool power) {
  const std::string ca_file = fmt::format("/tmp/weft_oob_bench_{}.pem", ::getpid());
  const Simulator simulator = start_simulator(servers, latency, ca_file);
  if (simulator.port == 0) {
    fmt::print("the simulator did not start\n");
    return;
  }
  const Inventory inventory = inventory_of(servers, [&](std::size_t i, Endpoint& endpoint) {
    endpoint.host = weft::to_text(weft::Ipv4{simulator.base.bits + static_cast<std::uint32_t>(i)});
    endpoint.port = simulator.port;
    endpoint.tls.ca_file = simulator.ca_file;
  });
  const std::vector<std::uint32_t> targets = *inventory.select("all");
  SystemClock clock;
  MemoryJournal journal;
  OneLogin login("admin", "weft-simulated");
  const std::unique_ptr<BmcConnector> connector = network_connector(clock);
  fmt::print("\nRedfish over TLS, {} simulated BMCs in one process, each answer after {} on average\n", targets.size(),
             latency.count() == 0 ? "no time" : weft::to_text(latency));
  fmt::print("{:<22} {:>7} {:>6} {:>9} {:>9} {:>10} {:>10} {:>10} {:>8}\n", "verb", "N", "F", "time s", "hosts/s",
             "L p50 ms", "L p99 ms", "N*L/F s", "good");
  for (const int width : widths) {
    const Fleet fleet{inventory, *connector, login, clock, journal, width};
    const StatusReport report = sweep_status(fleet, targets);
    row("status", targets.size(), report.threads, seconds(report.took), report.half, report.worst, report.mean,
        report.answered);
  }
  const Fleet fleet{inventory, *connector, login, clock, journal, 256};
  for (const PowerVerb verb : {PowerVerb::off, PowerVerb::on}) {
    if (!power) break;
    PowerRequest request;
    request.verb = verb;
    request.targets = targets;
    request.reason = "benchmark";
    request.limits.stagger = false;
    const weft::Result<PowerReport> report = run_operation(fleet, request);
    if (!report.ok()) {
      fmt::print("{}\n", report.error().text());
      break;
    }
    std::vector<weft::Duration> times;
    weft::Duration sum;
    for (const DeviceOutcome& device : report->devices) {
      times.push_back(device.outcome.took);
      sum += device.outcome.took;
    }
    std::sort(times.begin(), times.end());
    const std::size_t n = std::max<std::size_t>(times.size(), 1);
    if (times.empty()) times.emplace_back();
    row(verb == PowerVerb::off ? "off, seen off" : "on, seen on", targets.size(), report->threads,
        seconds(report->took), times[n / 2], times[n * 99 / 100], sum / static_cast<std::int64_t>(n),
        report->count(PowerEnd::done));
  }
  fmt::print("most memory: weft {:.0f} MiB, simulator {:.0f} MiB\n", peak_memory("self"),
             peak_memory(std::to_string(simulator.process)));
  stop(simulator);
  (void)::unlink(ca_file.c_str());
}

// The same BMCs in the same run: one ipmi_sim process each.
void beside_ipmipower(int count) {
  weft::testing_lab::Lab lab("oob_bench");
  weft::testing_lab::IpmiLab machines(lab);
  std::string why;
  for (const char* program : {"ipmi_sim", "sdrcomp", "ipmipower"}) {
    if (!has_program(program)) why = fmt::format("{} is not installed", program);
  }
  if (why.empty() && !testing_lab::IpmiLab::can_listen()) why = "port 623 cannot be bound";
  for (int i = 0; i < count && why.empty(); ++i) why = machines.add(fmt::format("train{:03}", i + 1));
  if (!why.empty()) {
    fmt::print("\nipmipower left out: {}\n", why);
    return;
  }
  std::string hosts;
  const Inventory inventory = inventory_of(count, [&](std::size_t i, Endpoint& endpoint) {
    const auto& machine = machines.machine(i);
    hosts += (hosts.empty() ? "" : ",") + machine.address;
    endpoint.host = machine.address;
    endpoint.port = machine.port;
    endpoint.protocol = Protocol::ipmi;
    endpoint.cipher_suites = {3};  // the suite that ipmi_sim supports
    endpoint.workarounds = {"opensesspriv"};
  });
  SystemClock clock;
  MemoryJournal journal;
  OneLogin login("admin", "secret");
  const std::unique_ptr<BmcConnector> connector = network_connector(clock);
  const Fleet fleet{inventory, *connector, login, clock, journal, 256};
  const std::vector<std::uint32_t> targets = *inventory.select("all");
  fmt::print("\nIPMI 2.0, suite 3, {} ipmi_sim processes on this machine; three rounds, turn by turn\n", count);
  fmt::print("{:<22} {:>7} {:>6} {:>9} {:>9} {:>10} {:>10} {:>10} {:>8}\n", "verb", "N", "F", "time s", "hosts/s",
             "L p50 ms", "L p99 ms", "N*L/F s", "good");
  for (int round = 0; round < 3; ++round) {
    const StatusReport report = sweep_status(fleet, targets);
    row("weft status", targets.size(), report.threads, seconds(report.took), report.half, report.worst, report.mean,
        report.answered);
    const double before = processor_seconds(RUSAGE_CHILDREN);
    const auto began = std::chrono::steady_clock::now();
    const auto outcome = lab.run({"ipmipower", "-h", hosts, "-u", "admin", "-p", "secret", "-D", "LAN_2_0", "-I", "3",
                                  "-W", "opensesspriv", "--stat"},
                                 120);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::size_t good = 0;
    for (std::size_t at = outcome.out.find(": on"); at != std::string::npos; at = outcome.out.find(": on", at + 1))
      ++good;
    fmt::print("{:<22} {:>7} {:>6} {:>9.2f} {:>9.0f} {:>10} {:>10} {:>10} {:>8}   ({:.2f} s of processor)\n",
               "ipmipower --stat", count, "all", took, count / took, "-", "-", "-", good,
               processor_seconds(RUSAGE_CHILDREN) - before);
  }
}

}  // namespace

int main(int count, char** words) {
  const int servers = count > 1 ? std::atoi(words[1]) : 16384;
  const int peers = count > 2 ? std::atoi(words[2]) : 100;
  sweep_redfish(servers, weft::Duration(0), {256}, true);
  sweep_redfish(servers, weft::milliseconds(50), {256, 1024}, false);
  beside_ipmipower(peers);
  return 0;
}
