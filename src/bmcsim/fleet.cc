#include "bmcsim/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/diagnostic.h"
#include "base/human_format.h"
#include "base/utf8.h"
#include "base/value.h"
#include "bmcsim/server.h"
#include "lazy/crypto.h"

namespace weft::bmcsim {
namespace {

constexpr std::uint32_t kLastLoopback = 0x7FFFFFFEU;  // 127.255.255.254
constexpr std::uint32_t kFirstLoopback = 0x7F000001U;

Error wrong(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

Status check_devices(const std::vector<SimDevice>& devices, const SimOptions& options) {
  if (devices.empty()) return wrong("no devices to simulate");
  std::unordered_set<std::string_view> names;
  std::unordered_set<std::uint32_t> offsets;
  for (const SimDevice& device : devices) {
    const std::uint64_t address = std::uint64_t{options.base.bits} + device.offset;
    if (options.base.bits < kFirstLoopback || address > kLastLoopback) {
      return wrong(fmt::format("{}: its address lies outside 127.0.0.0/8", device.name));
    }
    if (!names.insert(device.name).second) return wrong(fmt::format("{} is there twice", in_backticks(device.name)));
    if (!offsets.insert(device.offset).second) return wrong(fmt::format("{}: another has its address", device.name));
  }
  return {};
}

void add(SimCounters& sum, const SimCounters& one) {
  sum.connections += one.connections;
  sum.requests += one.requests;
  sum.in_flight += one.in_flight;
  sum.most_in_flight = std::max(sum.most_in_flight, one.most_in_flight);
  sum.sessions += one.sessions;
  sum.most_sessions = std::max(sum.most_sessions, one.most_sessions);
  sum.logins += one.logins;
  sum.refused += one.refused;
  sum.password_changes += one.password_changes;
  sum.streams += one.streams;
  sum.images += one.images;
  for (std::size_t i = 0; i < kSimResets; ++i) sum.resets[i] += one.resets[i];
}

Value to_value(const SimCounters& counters) {
  Value value = Value::map();
  value.put("connections", counters.connections);
  value.put("requests", counters.requests);
  value.put("in_flight", counters.in_flight);
  value.put("most_in_flight", counters.most_in_flight);
  value.put("sessions", counters.sessions);
  value.put("most_sessions", counters.most_sessions);
  value.put("logins", counters.logins);
  value.put("refused", counters.refused);
  value.put("password_changes", counters.password_changes);
  value.put("streams", counters.streams);
  value.put("images", counters.images);
  Value resets = Value::map();
  for (std::size_t i = 0; i < kSimResets; ++i) {
    if (counters.resets[i] != 0) resets.put(std::string(to_text(static_cast<SimReset>(i))), counters.resets[i]);
  }
  value.put("resets", std::move(resets));
  return value;
}

}  // namespace

class SimFleet::Impl {
 public:
  Status open(std::vector<SimDevice> devices, SimOptions options) {
    if (Status fine = check_devices(devices, options); !fine.ok()) return fine;
    world.devices = std::move(devices);
    world.options = std::move(options);
    if (RAND_bytes(world.salt.data(), static_cast<int>(world.salt.size())) != 1) return wrong("no random bytes");
    world.password = world.digest_of(world.options.password.reveal());
    world.factory_password = world.digest_of("admin");
    const Duration now = clock.now();
    world.wall_start_ms = clock.wall_ms() - now.count() / 1'000'000;
    bmcs.reserve(world.devices.size());
    for (std::uint32_t i = 0; i < world.devices.size(); ++i) bmcs.emplace_back(world, i, now);
    if (Status fine = set_first_faults(); !fine.ok()) return fine;
    if (world.options.tls) {
      Result<std::unique_ptr<SimTls>> made = SimTls::make(world.options.authority);
      if (!made.ok()) return made.error();
      tls = std::move(made).value();
    }
    server = std::make_unique<SimServer>(world, bmcs, mutex, clock, tls.get());
    return server->open(world.options.port);
  }

  void start() {
    CHECK(!thread.joinable(), "a fleet starts once");
    thread = std::thread([this] { server->serve(); });
  }
  void stop() {
    if (!thread.joinable()) return;
    server->stop();
    thread.join();
  }

  // Calls `see` on a BMC advanced to the current time.
  template <class See>
  auto with(std::uint32_t device, See see) {
    const std::lock_guard lock(mutex);
    CHECK(device < bmcs.size(), "a device of this fleet");
    bmcs[device].advance(clock.now());
    return see(bmcs[device]);
  }

  SimWorld world;
  std::vector<SimBmc> bmcs;
  std::mutex mutex;
  oob::SystemClock clock;
  std::unique_ptr<SimTls> tls;
  std::unique_ptr<SimServer> server;
  std::thread thread;

 private:
  Status set_first_faults() {
    std::unordered_map<std::string_view, std::uint32_t> by_name;
    for (std::uint32_t i = 0; i < world.devices.size(); ++i) by_name.emplace(world.devices[i].name, i);
    std::map<std::uint32_t, FaultSet> sets;
    for (const NamedFault& fault : world.options.faults) {
      const auto found = by_name.find(fault.device);
      if (found == by_name.end()) return unknown_device(fault);
      if (Status fine = check_gpu(world.devices[found->second], fault); !fine.ok()) return fine;
      sets[found->second].add(fault.kind, fault.argument);
    }
    for (const auto& [device, set] : sets) bmcs[device].set_faults(set);
    return {};
  }

  [[nodiscard]] Error unknown_device(const NamedFault& fault) const {
    std::vector<std::string_view> names;
    names.reserve(world.devices.size());
    for (const SimDevice& device : world.devices) names.push_back(device.name);
    const std::string near = did_you_mean(fault.device, names);
    return {ErrorCode::not_found,
            fmt::format("no device {} for the fault {}{}{}", in_backticks(fault.device), to_text(fault.kind),
                        near.empty() ? "" : "; ", near),
            {}};
  }
  static Status check_gpu(const SimDevice& device, const NamedFault& fault) {
    if (fault.kind != FaultKind::xid) return {};
    const std::uint32_t gpu = xid_fault(fault.argument).gpu;
    if (gpu <= device.gpus) return {};
    return wrong(fmt::format("{} has no GPU {} for the fault {}: it has {}", in_backticks(device.name), gpu,
                             to_text(fault.kind), device.gpus == 0 ? "none" : plural(device.gpus, "GPU")));
  }
};

SimFleet::SimFleet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SimFleet::~SimFleet() { stop(); }

Result<std::unique_ptr<SimFleet>> SimFleet::make(std::vector<SimDevice> devices, SimOptions options) {
  auto impl = std::make_unique<Impl>();
  if (const Status opened = impl->open(std::move(devices), std::move(options)); !opened.ok()) return opened.error();
  return std::unique_ptr<SimFleet>(new SimFleet(std::move(impl)));
}

Status SimFleet::start() {
  impl_->start();
  return {};
}
void SimFleet::stop() { impl_->stop(); }

std::uint16_t SimFleet::port() const { return impl_->server->port(); }

const std::string& SimFleet::ca_pem() const {
  static const std::string none;
  return impl_->tls ? impl_->tls->ca_pem() : none;
}

const std::vector<SimDevice>& SimFleet::devices() const { return impl_->world.devices; }

std::string SimFleet::address(std::uint32_t device) const {
  return to_text(Ipv4{impl_->world.options.base.bits + impl_->world.devices[device].offset});
}

std::string SimFleet::url(std::uint32_t device) const {
  return fmt::format("{}://{}:{}", impl_->tls ? "https" : "http", address(device), port());
}

SimCounters SimFleet::counters(std::uint32_t device) const {
  return impl_->with(device, [](const SimBmc& bmc) { return bmc.counters; });
}

SimCounters SimFleet::totals() const {
  const std::lock_guard lock(impl_->mutex);
  SimCounters sum;
  const Duration now = impl_->clock.now();
  for (SimBmc& bmc : impl_->bmcs) {
    bmc.advance(now);
    add(sum, bmc.counters);
  }
  return sum;
}

oob::PowerState SimFleet::power(std::uint32_t device) const {
  return impl_->with(device, [](const SimBmc& bmc) { return bmc.power(); });
}

bool SimFleet::opens(std::uint32_t device, const std::string& user, const oob::Secret& password) const {
  return impl_->with(device, [&](const SimBmc& bmc) { return bmc.opens(user, password.reveal()); });
}

void SimFleet::set_power(std::uint32_t device, bool on) {
  impl_->with(device, [&](SimBmc& bmc) { bmc.plug(on); });
  impl_->server->wake();
}

void SimFleet::set_faults(std::uint32_t device, const FaultSet& faults) {
  impl_->with(device, [&](SimBmc& bmc) {
    bmc.set_faults(faults);
    impl_->server->faults_changed();
  });
  impl_->server->wake();
}

void SimFleet::restart_bmc(std::uint32_t device) {
  impl_->with(device, [](SimBmc& bmc) { bmc.restart(); });
  impl_->server->wake();
}

std::string SimFleet::report() const {
  Value report = Value::map();
  const SimCounters sum = totals();
  report.put("weft_sim_report", 1);
  report.put("bmcs", devices().size());
  report.put("totals", to_value(sum));
  Value spoken = Value::map();
  const std::lock_guard lock(impl_->mutex);
  for (const SimBmc& bmc : impl_->bmcs) {
    if (bmc.counters.connections != 0) spoken.put(bmc.device().name, to_value(bmc.counters));
  }
  report.put("devices", std::move(spoken));
  return write_json(report);
}

}  // namespace weft::bmcsim
