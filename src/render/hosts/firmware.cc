// Firmware settings of a pool as Redfish requests: BIOS attributes, and BMC access. Attribute names are
// vendor-specific; if weft has none for the vendor, the desired state is written in words, to be mapped manually.
#include <fmt/format.h>

#include "render/hosts/parts.h"

namespace weft::render {
namespace {

Value request(std::string_view method, std::string_view path, Value body) {
  return Value::map({{"method", method}, {"path", path}, {"body", std::move(body)}});
}

std::string_view on(bool truth) { return truth ? "Enabled" : "Disabled"; }

// Dell: iDRAC9 attribute registry (LogicalProc, SriovGlobalEnable, SysProfile, NodeInterleave).
Value dell(const model::BiosSpec& bios) {
  Value out = Value::map({{"LogicalProc", on(bios.hyper_threading.value)},
                          {"SriovGlobalEnable", on(bios.sriov.value)},
                          {"ProcVirtualization", on(bios.sriov.value)},
                          {"NodeInterleave", on(!bios.numa.value)}});
  if (bios.performance.value) out.set("SysProfile", "PerfOptimized");
  return out;
}

// HPE: iLO BIOS attribute registry of Gen10 and Gen11.
Value hpe(const model::BiosSpec& bios) {
  Value out = Value::map({{"ProcHyperthreading", on(bios.hyper_threading.value)},
                          {"Sriov", on(bios.sriov.value)},
                          {"NumaGroupSizeOpt", bios.numa.value ? "Clustered" : "Flat"},
                          {"NodeInterleaving", on(!bios.numa.value)}});
  if (bios.performance.value) out.set("WorkloadProfile", "HighPerformanceCompute(HPC)");
  return out;
}

Value attributes_of(const PoolPlan& pool) {
  const std::string& vendor = pool.server->vendor.value;
  if (vendor == "Dell") return dell(pool.spec->bios.value);
  if (vendor == "HPE") return hpe(pool.spec->bios.value);
  return {};
}

Value wanted(const model::BiosSpec& bios) {
  return Value::map({{"numa", bios.numa.value},
                     {"performance", bios.performance.value},
                     {"hyper_threading", bios.hyper_threading.value},
                     {"sriov", bios.sriov.value},
                     {"iommu", bios.sriov.value},
                     {"processor_idle_states", !bios.performance.value}});
}

Value bios_policy(const RenderInput& input, const PoolPlan& pool) {
  Value out = Value::map({{"cluster", input.cluster.name()},
                          {"pool", pool.name()},
                          {"server", pool.server->id->text},
                          {"vendor", pool.server->vendor.value},
                          {"wanted", wanted(pool.spec->bios.value)}});
  Value requests = Value::list();
  Value attributes = attributes_of(pool);
  if (!attributes.empty()) {
    requests.add(request("PATCH", "/redfish/v1/Systems/{system}/Bios/Settings",
                         Value::map({{"@Redfish.SettingsApplyTime", Value::map({{"ApplyTime", "OnReset"}})},
                                     {"Attributes", std::move(attributes)}})));
  }
  out.set("requests", std::move(requests));
  return out;
}

Value time_servers(const RenderInput& input) {
  Value list = Value::list();
  for (const model::DeviceId id : input.plan.jump_hosts()) {
    const Ipv4 address = host_jump_address(input.cluster, id);
    if (address != Ipv4{}) list.add(to_text(address));
  }
  return list;
}

// Redfish's ManagerNetworkProtocol (DSP2046).
Value network_protocol(const RenderInput& input) {
  const model::BmcSpec& bmc = input.cluster.spec().fabrics->oob->bmc.value;
  const auto protocol = [](bool enabled) { return Value::map({{"ProtocolEnabled", enabled}}); };
  Value body = Value::map({{"IPMI", protocol(bmc.ipmi_over_lan.value)},
                           {"HTTP", protocol(false)},
                           {"HTTPS", Value::map({{"ProtocolEnabled", true}, {"Port", 443}})},
                           {"SSDP", protocol(false)},
                           {"SNMP", protocol(false)},
                           {"Telnet", protocol(false)}});
  Value servers = time_servers(input);
  if (!servers.empty()) body.set("NTP", Value::map({{"ProtocolEnabled", true}, {"NTPServers", std::move(servers)}}));
  return body;
}

Value bmc_policy(const RenderInput& input, const PoolPlan& pool) {
  const model::OobSpec& oob = input.cluster.spec().fabrics->oob.value;
  const model::BmcSpec& bmc = oob.bmc.value;
  Value requests = Value::list(
      {request("PATCH", "/redfish/v1/Managers/{manager}/NetworkProtocol", network_protocol(input)),
       request("PATCH", "/redfish/v1/Managers/{manager}/HostInterfaces/{host_interface}",
               Value::map({{"InterfaceEnabled", bmc.host_interface.value}})),
       request(
           "PATCH", "/redfish/v1/AccountService",
           Value::map({{"AccountLockoutThreshold", 5}, {"AccountLockoutDuration", 300}, {"MinPasswordLength", 16}}))});
  if (oob.syslog.has_value()) {
    // EventDestination 1.9 and later.
    requests.add(request("POST", "/redfish/v1/EventService/Subscriptions",
                         Value::map({{"Destination", fmt::format("syslog://{}:514", oob.syslog.value)},
                                     {"Protocol", "SyslogUDP"},
                                     {"SubscriptionType", "Syslog"},
                                     {"Context", input.cluster.name()}})));
  }
  Value out = Value::map({{"cluster", input.cluster.name()}, {"pool", pool.name()}});
  Value sources = Value::list();
  if (oob.jump_only.value) sources = time_servers(input);
  if (sources.empty()) sources = Value::list({to_text(oob.subnet.value)});
  if (bmc.firewall.value) out.set("firewall", Value::map({{"allow_from", std::move(sources)}, {"otherwise", "drop"}}));
  Value suites = Value::list();
  for (const std::int64_t suite : bmc.cipher_suites.value) suites.add(suite);
  out.set("ipmi", Value::map({{"over_lan", bmc.ipmi_over_lan.value}, {"cipher_suites", std::move(suites)}}));
  out.set("credentials",
          Value::map({{"reference", oob.credentials.has_value() ? Value(oob.credentials.value) : Value()},
                      {"unique", bmc.unique_passwords.value},
                      {"default_accounts", bmc.default_credentials.value}}));
  out.set("verify_tls", bmc.verify_tls.value);
  out.set("requests", std::move(requests));
  return out;
}

}  // namespace

void add_firmware_policy(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  sink.add({.path = "host/" + pool.name() + "/bios-policy.json",
            .content = write_json(bios_policy(input, pool)),
            .device = pool.name(),
            .consumer = "Redfish",
            .apply = "ansible-playbook ansible/firmware.yml",
            .risk = Risk::traffic,
            .stage = Stage::oob,
            .sources = {"pools." + pool.name() + ".bios"}});
  sink.add({.path = "host/" + pool.name() + "/bmc-policy.json",
            .content = write_json(bmc_policy(input, pool)),
            .device = pool.name(),
            .consumer = "Redfish",
            .apply = "ansible-playbook ansible/firmware.yml",
            .risk = Risk::reload,
            .stage = Stage::oob,
            .sources = {"fabrics.oob.bmc"}});
}

}  // namespace weft::render
