// Scrape jobs for switches, BMCs and PDUs, and probes across each fabric.
#include <fmt/format.h>

#include "render/monitoring/scrape.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kHere = "127.0.0.1";

std::string here(int port) { return fmt::format("{}:{}", kHere, port); }

template <class Each>
void each_switch(const Watch& watch, Each each) {
  for (const model::DeviceGroup& group : watch.cluster().groups()) {
    if (group.kind != model::DeviceKind::network_switch) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      if (watch.cluster().oob_address(id) != Ipv4{}) each(group, id);
    }
  }
}

Labels switch_labels(const Watch& watch, const model::DeviceGroup& group, model::DeviceId id) {
  return {{"instance", watch.cluster().name_of(id)},
          {"fabric", std::string(model::to_text(group.fabric))},
          {"tier", std::string(model::to_text(group.tier))},
          {"rack", watch.rack_name(id)},
          {"unit", watch.unit_name(id)},
          {"system", std::string(watch.cluster().switch_os_of(group))}};
}

// snmp_exporter modules that a switch supports.
std::string snmp_module_of(std::string_view system) {
  if (system == "sonic" || system == "nxos") return "weft_switch";
  return "weft_ports";
}

// The next server of the pool in a ring; if units cannot reach each other on a rail, the ring closes within the unit.
std::uint32_t next_in_ring(const Watch& watch, const PoolPlan& pool, model::FabricKind fabric, std::uint32_t at) {
  const model::Cluster& cluster = watch.cluster();
  const auto unit_of = [&](std::uint32_t i) {
    return cluster.device(static_cast<model::DeviceId>(model::index_of(pool.group->first) + i)).unit;
  };
  const std::uint32_t next = (at + 1) % pool.group->count;
  if (cluster.fabric(fabric).wiring != model::Wiring::rail_only || unit_of(next) == unit_of(at)) return next;
  std::uint32_t first = at;
  while (first > 0 && unit_of(first - 1) == unit_of(at)) --first;
  return first;
}

// Each server probes the next one of its pool, over a rail that changes from server to server: one line per server
// covers every leaf of every unit.
void add_ring(const Watch& watch, model::FabricKind fabric, ScrapeJob& job) {
  const model::Cluster& cluster = watch.cluster();
  for (const PoolPlan& pool : watch.plan().pools()) {
    std::vector<std::size_t> rails;
    const auto ports = cluster.ports_of(pool.group->first);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (cluster.port(ports[i]).fabric == fabric) rails.push_back(i);
    }
    if (rails.empty() || pool.group->count < 2) continue;
    for (std::uint32_t i = 0; i < pool.group->count; ++i) {
      const auto from = static_cast<model::DeviceId>(model::index_of(pool.group->first) + i);
      const auto to =
          static_cast<model::DeviceId>(model::index_of(pool.group->first) + next_in_ring(watch, pool, fabric, i));
      const Ipv4 exporter = watch.plan().frontend_address(from);
      const std::size_t rail = rails[i % rails.size()];
      if (exporter == Ipv4{} || to == from || rail >= cluster.ports_of(to).size()) continue;
      const model::PortId port = cluster.ports_of(to)[rail];
      if (cluster.port(port).fabric != fabric || cluster.port(port).address == Ipv4{}) continue;
      job.targets.add(to_text(cluster.port(port).address), {{"instance", cluster.name_of(to)},
                                                            {"from", cluster.name_of(from)},
                                                            {"port", cluster.port_name(port)},
                                                            {"pool", pool.name()},
                                                            {"rack", watch.rack_name(to)},
                                                            {"unit", watch.unit_name(to)},
                                                            {"fabric", std::string(model::to_text(fabric))},
                                                            {"__exporter", with_port(exporter, kBlackboxPort)}});
    }
  }
}

Value probe_config(std::string_view module) {
  Value relabel =
      Value::list({Value::map({{"source_labels", Value::list({"__address__"})}, {"target_label", "__param_target"}}),
                   Value::map({{"source_labels", Value::list({"__exporter"})}, {"target_label", "__address__"}})});
  return Value::map({{"scrape_interval", "60s"},
                     {"metrics_path", "/probe"},
                     {"params", Value::map({{"module", Value::list({module})}})},
                     {"relabel_configs", std::move(relabel)}});
}

// From the monitoring host to every server it manages.
void add_frontend_probes(const Watch& watch, ScrapeJob& job) {
  for (const PoolPlan& pool : watch.plan().pools()) {
    for (std::uint32_t i = 0; i < pool.group->count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(pool.group->first) + i);
      const Ipv4 address = watch.plan().frontend_address(id);
      if (address == Ipv4{}) continue;
      job.targets.add(to_text(address), {{"instance", watch.cluster().name_of(id)},
                                         {"from", "prometheus"},
                                         {"pool", pool.name()},
                                         {"rack", watch.rack_name(id)},
                                         {"fabric", "frontend"},
                                         {"__exporter", here(kBlackboxPort)}});
    }
  }
}

void add_oob_probes(const Watch& watch, ScrapeJob& job) {
  const model::Cluster& cluster = watch.cluster();
  for (std::uint32_t i = 0; i < cluster.devices().size(); ++i) {
    const auto id = static_cast<model::DeviceId>(i);
    const Ipv4 address = cluster.oob_address(id);
    if (address == Ipv4{}) continue;
    job.targets.add(to_text(address), {{"instance", cluster.name_of(id)},
                                       {"kind", std::string(model::to_text(cluster.group_of(id).kind))},
                                       {"rack", watch.rack_name(id)},
                                       {"fabric", "oob"},
                                       {"__exporter", here(kBlackboxPort)}});
  }
}

void add_certificates(const Watch& watch, std::vector<ScrapeJob>& out) {
  const model::Spec& spec = watch.cluster().spec();
  ScrapeJob job{.name = "https", .config = probe_config("https")};
  const std::string domain =
      spec.site->domain.has_value() ? spec.site->domain.value : watch.cluster().name() + ".internal";
  for (const model::ServiceSpec& service : spec.services.value) {
    const std::string host = service.host.has_value() ? service.host.value : service.name->text + "." + domain;
    job.targets.add("https://" + host,
                    {{"instance", host}, {"service", service.name->text}, {"__exporter", here(kBlackboxPort)}});
  }
  if (!job.targets.empty()) out.push_back(std::move(job));
}

}  // namespace

void add_switch_jobs(const Watch& watch, std::vector<ScrapeJob>& out) {
  Value snmp_config = Value::map({{"scrape_interval", "60s"},
                                  {"scrape_timeout", "50s"},
                                  {"metrics_path", "/snmp"},
                                  {"params", Value::map({{"auth", Value::list({"weft"})}})},
                                  {"relabel_configs", ask_through(here(kSnmpExporterPort))}});
  ScrapeJob snmp{.name = "snmp", .config = std::move(snmp_config), .lifeline = true};
  ScrapeJob sonic{.name = "sonic", .config = Value::map({{"scrape_interval", "30s"}}), .lifeline = true};
  ScrapeJob frr{.name = "frr", .config = Value::map({{"scrape_interval", "30s"}}), .lifeline = true};
  each_switch(watch, [&](const model::DeviceGroup& group, model::DeviceId id) {
    const Ipv4 address = watch.cluster().oob_address(id);
    Labels labels = switch_labels(watch, group, id);
    const std::string system = labels.back().second;
    if (system == "sonic") sonic.targets.add(with_port(address, kSonicExporterPort), labels);
    if (system == "sonic" || system == "cumulus") frr.targets.add(with_port(address, kFrrExporterPort), labels);
    const bool routed = group.fabric != model::FabricKind::oob && watch.fabric(group.fabric).ethernet;
    const std::uint32_t sessions = routed ? watch.designed_sessions(id) : 0;
    if (sessions > 0) labels.emplace_back("sessions", fmt::format("{}", sessions));
    labels.emplace_back("__param_module", snmp_module_of(system));
    snmp.targets.add(to_text(address), labels);
  });
  for (ScrapeJob* job : {&snmp, &sonic, &frr}) {
    if (!job->targets.empty()) out.push_back(std::move(*job));
  }
}

void add_power_jobs(const Watch& watch, std::vector<ScrapeJob>& out) {
  const model::Cluster& cluster = watch.cluster();
  const bool ipmi = cluster.spec().fabrics->oob->bmc->ipmi_over_lan.value;
  ScrapeJob bmc{
      .name = "bmc",
      .config = Value::map({{"scrape_interval", "2m"},
                            {"scrape_timeout", "60s"},
                            {"metrics_path", ipmi ? "/ipmi" : "/redfish"},
                            {"relabel_configs", ask_through(here(ipmi ? kIpmiExporterPort : kRedfishExporterPort))}}),
      .lifeline = true};
  ScrapeJob pdu{.name = "pdu",
                .config = Value::map(
                    {{"scrape_interval", "60s"},
                     {"metrics_path", "/snmp"},
                     {"params", Value::map({{"auth", Value::list({"weft"})}, {"module", Value::list({"weft_pdu"})}})},
                     {"relabel_configs", ask_through(here(kSnmpExporterPort))}}),
                .lifeline = true};
  for (const model::DeviceGroup& group : cluster.groups()) {
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      const Ipv4 address = cluster.oob_address(id);
      if (address == Ipv4{}) continue;
      Labels labels = {{"instance", cluster.name_of(id)}, {"rack", watch.rack_name(id)}, {"fabric", "oob"}};
      if (group.kind == model::DeviceKind::server) {
        labels.emplace_back("pool", group.name);
        bmc.targets.add(to_text(address), labels);
      } else if (group.kind == model::DeviceKind::pdu) {
        labels.emplace_back("feed", std::string(1, static_cast<char>('A' + cluster.feed_of_pdu(id) % 26)));
        labels.emplace_back("model", group.pdu->id->text);
        pdu.targets.add(to_text(address), labels);
      }
    }
  }
  ScrapeJob probes{.name = "ping_oob", .config = probe_config("ping_oob"), .lifeline = true};
  add_oob_probes(watch, probes);
  for (ScrapeJob* job : {&bmc, &pdu, &probes}) {
    if (!job->targets.empty()) out.push_back(std::move(*job));
  }
}

void add_probe_jobs(const Watch& watch, std::vector<ScrapeJob>& out) {
  for (const model::FabricKind fabric : {model::FabricKind::backend, model::FabricKind::storage}) {
    if (!watch.fabric(fabric).present) continue;
    const std::string name = "ping_" + std::string(model::to_text(fabric));
    ScrapeJob job{.name = name, .config = probe_config(name)};
    add_ring(watch, fabric, job);
    if (!job.targets.empty()) out.push_back(std::move(job));
  }
  ScrapeJob frontend{.name = "ping_frontend", .config = probe_config("ping_frontend")};
  add_frontend_probes(watch, frontend);
  if (!frontend.targets.empty()) out.push_back(std::move(frontend));
  add_certificates(watch, out);
}

}  // namespace weft::render::watch
