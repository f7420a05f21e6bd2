// Configuration of exporters whose defaults lack what the alerts need: SNMP modules, probes, DCGM fields.
#include <fmt/format.h>

#include "render/monitoring/scrape.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kIfName = "1.3.6.1.2.1.31.1.1.1.1";

struct Column {
  std::string_view name;
  std::string_view oid;
  std::string_view type;
  std::string_view help;
  std::string_view second_index{};  // in addition to ifIndex
};

Value column_value(const Column& column, bool of_port) {
  Value indexes = Value::list();
  Value lookups = Value::list();
  if (of_port) {
    indexes.add(Value::map({{"labelname", "ifIndex"}, {"type", "gauge"}}));
    lookups.add(Value::map(
        {{"labels", Value::list({"ifIndex"})}, {"labelname", "ifName"}, {"oid", kIfName}, {"type", "DisplayString"}}));
  }
  if (!column.second_index.empty()) {
    indexes.add(Value::map({{"labelname", column.second_index}, {"type", "gauge"}}));
  }
  Value value = Value::map({{"name", column.name}, {"oid", column.oid}, {"type", column.type}, {"help", column.help}});
  if (!indexes.empty()) value["indexes"] = std::move(indexes);
  if (!lookups.empty()) value["lookups"] = std::move(lookups);
  return value;
}

// IF-MIB (RFC 2863).
constexpr Column kPorts[] = {
    {"ifOperStatus", "1.3.6.1.2.1.2.2.1.8", "gauge", "1 up, 2 down"},
    {"ifInErrors", "1.3.6.1.2.1.2.2.1.14", "counter", "frames with errors"},
    {"ifInDiscards", "1.3.6.1.2.1.2.2.1.13", "counter", "received frames discarded"},
    {"ifOutDiscards", "1.3.6.1.2.1.2.2.1.19", "counter", "outbound frames discarded"},
    {"ifHCInOctets", "1.3.6.1.2.1.31.1.1.1.6", "counter", "bytes received"},
    {"ifHCOutOctets", "1.3.6.1.2.1.31.1.1.1.10", "counter", "bytes sent"},
    {"ifHighSpeed", "1.3.6.1.2.1.31.1.1.1.15", "gauge", "Mb/s"},
};
// CISCO-PFC-EXT-MIB.
constexpr Column kPause[] = {
    {"cpfcIfPriorityRequests", "1.3.6.1.4.1.9.9.813.1.2.1.2", "counter", "pause frames sent", "cpfcIfPriorityValue"},
    {"cpfcIfPriorityIndications", "1.3.6.1.4.1.9.9.813.1.2.1.3", "counter", "pause frames received",
     "cpfcIfPriorityValue"},
    {"cpfcWatchdogIfQueueShutdowns", "1.3.6.1.4.1.9.9.813.1.3.1.3", "counter", "queue shutdowns by the PFC watchdog",
     "cpfcWatchdogIfQueueNumber"},
};

Value session_column() {
  Value peer = Value::map({{"labelname", "cbgpPeer2RemoteAddr"}, {"type", "InetAddress"}});
  return Value::map({{"name", "cbgpPeer2State"},
                     {"oid", "1.3.6.1.4.1.9.9.187.1.2.5.1.3"},
                     {"type", "gauge"},
                     {"help", "6 established (CISCO-BGP4-MIB)"},
                     {"indexes", Value::list({std::move(peer)})}});
}

Value plain_session_column() {
  Value peer = Value::map({{"labelname", "bgpPeerRemoteAddr"}, {"type", "InetAddressIPv4"}});
  return Value::map({{"name", "bgpPeerState"},
                     {"oid", "1.3.6.1.2.1.15.3.1.2"},
                     {"type", "gauge"},
                     {"help", "6 established (BGP4-MIB, RFC 4273)"},
                     {"indexes", Value::list({std::move(peer)})}});
}

Value module_of(const std::vector<std::string_view>& walk, std::vector<Value> metrics) {
  Value paths = Value::list();
  for (const std::string_view path : walk) paths.add(path);
  return Value::map({{"walk", std::move(paths)}, {"metrics", Value(std::move(metrics))}, {"max_repetitions", 25}});
}

const std::vector<std::string_view> kPortWalk = {
    "1.3.6.1.2.1.2.2.1.8",    "1.3.6.1.2.1.2.2.1.13",   "1.3.6.1.2.1.2.2.1.14",    "1.3.6.1.2.1.2.2.1.19",
    "1.3.6.1.2.1.31.1.1.1.1", "1.3.6.1.2.1.31.1.1.1.6", "1.3.6.1.2.1.31.1.1.1.10", "1.3.6.1.2.1.31.1.1.1.15"};

Value probe_module(std::string_view prober, Value settings) {
  return Value::map({{"prober", prober}, {"timeout", "5s"}, {prober.data(), std::move(settings)}});
}

}  // namespace

std::string snmp_modules(const Watch& watch) {
  std::vector<Value> ports;
  for (const Column& column : kPorts) ports.push_back(column_value(column, true));
  std::vector<Value> all = ports;
  for (const Column& column : kPause) all.push_back(column_value(column, true));
  all.push_back(session_column());
  ports.push_back(plain_session_column());
  std::vector<std::string_view> port_walk = kPortWalk;
  port_walk.emplace_back("1.3.6.1.2.1.15.3.1.2");
  std::vector<std::string_view> switch_walk = kPortWalk;
  switch_walk.insert(switch_walk.end(),
                     {"1.3.6.1.4.1.9.9.813.1.2.1", "1.3.6.1.4.1.9.9.813.1.3.1.3", "1.3.6.1.4.1.9.9.187.1.2.5.1.3"});
  const Column power{"rPDU2DeviceStatusPower", "1.3.6.1.4.1.318.1.1.26.4.3.1.5", "gauge", "power in units of 10 W"};
  Value pdu = column_value(power, false);
  pdu["indexes"] = Value::list({Value::map({{"labelname", "rPDU2DeviceStatusIndex"}, {"type", "gauge"}})});
  const Value document = Value::map(
      {{"auths", Value::map({{"weft", Value::map({{"version", 3},
                                                  {"security_level", "authPriv"},
                                                  {"username", "${SNMP_USERNAME}"},
                                                  {"password", "${SNMP_AUTH_PASSWORD}"},
                                                  {"auth_protocol", "SHA"},
                                                  {"priv_protocol", "AES"},
                                                  {"priv_password", "${SNMP_PRIV_PASSWORD}"}})}})},
       {"modules", Value::map({{"weft_switch", module_of(switch_walk, std::move(all))},
                               {"weft_ports", module_of(port_walk, std::move(ports))},
                               {"weft_pdu", module_of({"1.3.6.1.4.1.318.1.1.26.4.3.1.5"}, {std::move(pdu)})}})}});
  return write_yaml(
      std::span(&document, 1),
      heading(watch.cluster(),
              "snmp_exporter (0.26 or later, --config.expand-environment-variables): "
              "modules for switches and PDUs.\nUser and passwords come from the environment of its unit."));
}

std::string blackbox_modules(const Watch& watch) {
  Value modules = Value::map();
  for (const FabricWatch& fabric : watch.fabrics()) {
    if (!fabric.present) continue;
    Value settings = Value::map(
        {{"preferred_ip_protocol", "ip4"}, {"dont_fragment", true}, {"payload_size", fabric.ping_payload()}});
    modules["ping_" + std::string(model::to_text(fabric.kind))] = probe_module("icmp", std::move(settings));
  }
  modules["https"] = probe_module("http", Value::map({{"preferred_ip_protocol", "ip4"}, {"fail_if_not_ssl", true}}));
  const Value document = Value::map({{"modules", std::move(modules)}});
  return write_yaml(std::span(&document, 1),
                    heading(watch.cluster(), "blackbox_exporter: probes of each fabric's MTU."));
}

std::string dcgm_counters(const Watch& watch) {
  struct Field {
    std::string_view name, type, help;
  };
  static constexpr Field kFields[] = {
      {"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock (MHz)"},
      {"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (C)"},
      {"DCGM_FI_DEV_MEMORY_TEMP", "gauge", "memory temperature (C)"},
      {"DCGM_FI_DEV_POWER_USAGE", "gauge", "power draw (W)"},
      {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "energy since boot (mJ)"},
      {"DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (%)"},
      {"DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "memory utilization (%)"},
      {"DCGM_FI_DEV_FB_USED", "gauge", "memory used (MiB)"},
      {"DCGM_FI_DEV_FB_FREE", "gauge", "memory free (MiB)"},
      {"DCGM_FI_DEV_XID_ERRORS", "gauge", "last XID"},
      {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "single-bit errors since the driver was loaded"},
      {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "double-bit errors since the driver was loaded"},
      {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "row remapping failed"},
      {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe retries"},
      {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "gauge", "NVLink traffic (MB/s)"},
      {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "fraction of cycles with tensor cores active"},
      {"DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "fraction of cycles with memory active"},
  };
  std::string out;
  for (const char c : "# " + heading(watch.cluster(), "dcgm-exporter -f: field, Prometheus type, help.") + "\n") {
    out += c;
    if (c == '\n' && out.find("re-render") == std::string::npos) out += "# ";
  }
  for (const Field& field : kFields) out += fmt::format("{}, {}, {}\n", field.name, field.type, field.help);
  return out;
}

}  // namespace weft::render::watch
