// Signals of BMCs: logs, sensors and telemetry of published dumps, public SEL lines, and odd values.
#include "health/readers/bmc_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "health/core/rules.h"
#include "health/readers/bmc_phrases.h"
#include "health/readers/hgx_events.h"
#include "oob/redfish/json.h"
#include "oob/redfish/reply.h"

namespace weft::health {
namespace {

using oob::EventState;
using oob::Health;
using oob::LogEvent;
using oob::Metric;
using oob::SensorReading;
using Counts = std::map<std::string, int>;

// A name as counted by the tests: with "!" if it is the end of the condition.
std::string counted_name(const Signal& signal) {
  EXPECT_EQ(signal.source, SignalSource::bmc);
  const auto pattern = parse_pattern(signal.name);
  EXPECT_TRUE(pattern && !pattern->is_range() && !pattern->name.empty()) << signal.name;
  return (signal.detail("state") == "deasserted" ? "!" : "") + signal.name;
}

// shared/redfish/dumps.tar.gz, of which each test unpacks what it reads.
class HealthDumps : public testing::Test {
 protected:
  void SetUp() override {
    WEFT_NEEDS_DATA("redfish/dumps.tar.gz");
    folder_ = testing::TempDir() + "health_dumps_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // The resources of a dump whose path has one of the words, by path.
  [[nodiscard]] std::map<std::string, Value> documents(const std::string& dump,
                                                       const std::vector<std::string>& words) const {
    std::string command = "tar -xzf '" + test_data_dir() + "/redfish/dumps.tar.gz' -C '" + folder_ + "' --wildcards";
    for (const std::string& word : words) command += " 'mockups/" + dump + "/*" + word + "*' 2>/dev/null";
    // NOLINTNEXTLINE(concurrency-mt-unsafe,cert-env33-c): the only thread; not every dump has all of them
    static_cast<void>(std::system(command.c_str()));
    std::map<std::string, Value> out;
    if (!std::filesystem::exists(folder_ + "/mockups/" + dump)) return out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ + "/mockups/" + dump)) {
      if (!entry.is_regular_file() || entry.path().filename() != "index.json") continue;
      const Result<std::string> text = read_file(entry.path().string());
      if (!text.ok()) continue;
      Result<Value> value = oob::read_json_reply(*text);
      if (value.ok()) out.emplace(entry.path().parent_path().string(), std::move(*value));
    }
    return out;
  }

  static void find_entries(const Value& value, std::map<std::string, LogEvent>& out) {
    if (value.is_list()) {
      for (const Value& item : value.items()) find_entries(item, out);
    } else if (value.is_map()) {
      const std::string path = oob::path_of(value, {"@odata.id"});
      const std::size_t at = path.rfind("/Entries/");
      if (at != std::string::npos && oob::raw_text(value, {"@odata.type"}).starts_with("#LogEntry.")) {
        LogEvent event = oob::parse_log_entry(value);
        event.log = oob::log_name(path.substr(0, at));
        out.emplace(path, std::move(event));
        return;
      }
      for (const Value::Entry& entry : value.entries()) find_entries(entry.value, out);
    }
  }
  [[nodiscard]] std::map<std::string, LogEvent> entries(const std::string& dump) const {
    std::map<std::string, LogEvent> out;
    for (const auto& [path, value] : documents(dump, {"/LogServices/*/Entries/"})) find_entries(value, out);
    return out;
  }
  [[nodiscard]] Counts event_counts(const std::string& dump, std::size_t expected_entries) const {
    Counts counts;
    const std::map<std::string, LogEvent> all = entries(dump);
    EXPECT_EQ(all.size(), expected_entries) << dump;
    for (const auto& [path, event] : all) {
      if (const auto signal = signal_of(event)) ++counts[counted_name(*signal)];
    }
    return counts;
  }
  [[nodiscard]] Counts sensor_counts(const std::string& dump, std::size_t expected_sensors) const {
    Counts counts;
    std::size_t read = 0;
    for (const auto& [path, value] : documents(dump, {"/Sensors/", "/Thermal/", "/Power/"})) {
      std::vector<SensorReading> readings;
      if (path.find("/Sensors/") != std::string::npos) readings.push_back(oob::parse_sensor(value));
      if (path.ends_with("/Thermal")) readings = oob::parse_thermal(value);
      if (path.ends_with("/Power")) readings = oob::parse_power(value);
      for (const SensorReading& reading : readings) {
        read += reading.value ? 1U : 0U;
        for (const Signal& signal : signals_of(reading)) ++counts[counted_name(signal) + " " + signal.part];
      }
    }
    EXPECT_EQ(read, expected_sensors) << dump;
    return counts;
  }
  [[nodiscard]] Counts metric_counts(const std::string& dump) const {
    Counts counts;
    for (const auto& [path, value] : documents(dump, {"/MetricReports/"})) {
      if (path.find("/MetricReports/") == std::string::npos) continue;
      for (const Metric& metric : oob::parse_metric_report(value, path)) {
        if (const auto signal = signal_of(metric)) ++counts[counted_name(*signal)];
      }
    }
    return counts;
  }

 private:
  std::string folder_;
};

// The counts were found by reading the dumps with a script before this reader was written.
TEST_F(HealthDumps, DgxH100) {
  EXPECT_EQ(event_counts("nvidia_viking", 459), (Counts{{"xid:62", 13},
                                                        {"sxid:20009", 2},
                                                        {"hgx:nvswitch_error", 4},
                                                        {"!hgx:resource_error", 1},
                                                        {"!hgx:power_cap", 51},
                                                        {"sel:drive_absent", 37},
                                                        {"!sel:drive_absent", 37},
                                                        {"!sel:log_full", 1}}));
}

TEST_F(HealthDumps, Gb200) {
  EXPECT_EQ(event_counts("nvidia_gb200", 81),
            (Counts{{"sel:fan_failed", 1}, {"!sel:temp_warning", 4}, {"hgx:firmware_error", 3}}));
}

TEST_F(HealthDumps, OtherVendors) {
  EXPECT_EQ(event_counts("hpe", 20), (Counts{{"sel:psu_lost", 1}, {"sel:psu_redundancy_lost", 1}}));
  EXPECT_EQ(event_counts("dell", 10), Counts{});
  EXPECT_EQ(event_counts("supermicro", 591),
            (Counts{{"sel:psu_lost", 10}, {"!sel:psu_lost", 2}, {"!sel:psu_absent", 12}}));
}

TEST_F(HealthDumps, SensorsOfHealthyMachinesAreWithinThresholds) {
  EXPECT_EQ(sensor_counts("nvidia_viking", 633), Counts{});
  EXPECT_EQ(sensor_counts("nvidia_gb200", 227), Counts{});
  EXPECT_EQ(sensor_counts("supermicro", 67), Counts{});
  EXPECT_EQ(sensor_counts("hpe", 56), Counts{});
  EXPECT_EQ(sensor_counts("dell", 57), Counts{});
}

// Readings that are stale (GPU temperatures of the GB200), "nan" or 0 of 0 lanes are not signals.
TEST_F(HealthDumps, Telemetry) {
  const std::map<std::string, int> gpus = {{"hgx:dram_ecc_corrected_total", 4},  {"hgx:dram_ecc_uncorrected_total", 4},
                                           {"hgx:sram_ecc_corrected_total", 4},  {"hgx:sram_ecc_uncorrected_total", 4},
                                           {"hgx:row_remap_corrected_total", 4}, {"hgx:row_remap_uncorrected_total", 4},
                                           {"hgx:row_remap_failed_flag", 4},     {"hgx:throttle_hardware_seconds", 4},
                                           {"hgx:throttle_power_seconds", 4},    {"hgx:throttle_software_seconds", 4},
                                           {"hgx:throttle_thermal_seconds", 4}};
  Counts expected = {{"hgx:cpu_temp", 2},
                     {"hgx:cpu_temp_margin", 2},
                     {"hgx:edp_violation_flag", 2},
                     {"hgx:power_brake_flag", 2},
                     {"hgx:health_flag", 7},
                     {"hgx:link_down_flag", 30},
                     {"hgx:nvlink_runtime_error_total", 72},
                     {"hgx:nvlink_training_error_total", 72}};
  expected.insert(gpus.begin(), gpus.end());
  EXPECT_EQ(metric_counts("nvidia_gb200"), expected);
  EXPECT_EQ(
      metric_counts("nvidia_viking"),
      (Counts{{"hgx:gpu_temp", 8}, {"hgx:gpu_temp_margin", 8}, {"hgx:memory_temp", 8}, {"hgx:nvswitch_temp", 4}}));
}

// Name, part, reason and "end" of what a text means; "-" if it is not about health.
std::string meaning(const LogEvent& event) {
  const auto signal = signal_of(event);
  if (!signal) return "-";
  std::string out = signal->name + "|" + signal->part;
  if (const std::string_view reason = signal->detail("reason"); !reason.empty()) out.append("|").append(reason);
  if (signal->detail("state") == "deasserted") out += "|end";
  return out;
}

// An entry of an IPMI log, as FreeIPMI words it.
std::string ipmi(const std::string& source, const std::string& message, bool deasserted = false) {
  LogEvent event;
  event.log = "SEL";
  event.source = source;
  event.state = deasserted ? EventState::deasserted : EventState::asserted;
  event.message = message + (deasserted ? " (deasserted)" : " (asserted)");
  return meaning(event);
}

std::string redfish(const std::string& source, const std::string& message, EventState state = EventState::unknown,
                    Health severity = Health::critical) {
  LogEvent event;
  event.log = "Managers/1/Sel";
  event.source = source;
  event.state = state;
  event.severity = severity;
  event.message = message;
  return meaning(event);
}

// The sensor-specific events of IPMI 2.0, table 42-3.
TEST(BmcSignals, IpmiEvents) {
  EXPECT_EQ(ipmi("Processor #C9h", "IERR"), "sel:processor_ierr|Processor #C9h");  // open-power/op-build#607
  EXPECT_EQ(ipmi("P1 Status", "Thermal Trip"), "sel:thermal_trip|P1 Status");
  EXPECT_EQ(ipmi("Processor #31h", "Processor Automatically Throttled"), "sel:processor_throttled|Processor #31h");
  EXPECT_EQ(ipmi("Processor #31h", "FRB2/Hang in POST failure"), "sel:processor_failed|Processor #31h");
  EXPECT_EQ(ipmi("Processor #31h", "Machine Check Exception"), "sel:machine_check|Processor #31h");
  EXPECT_EQ(ipmi("Processor #31h", "Processor Presence detected"), "-");
  // thomas-krenn/check_ipmi_sensor_v3#26
  EXPECT_EQ(ipmi("PS2 Status", "Power Supply Failure detected"), "sel:psu_lost|PS2 Status|failure");
  EXPECT_EQ(ipmi("PS2 Status", "Power Supply Failure detected", true), "sel:psu_lost|PS2 Status|failure|end");
  EXPECT_EQ(ipmi("PS2 Status", "Power Supply input lost (AC/DC)"), "sel:psu_lost|PS2 Status|input_lost");
  EXPECT_EQ(ipmi("PS2 Status", "Predictive Failure"), "sel:psu_predicted|PS2 Status");
  EXPECT_EQ(ipmi("PS2 Status", "Presence detected"), "sel:psu_absent|PS2 Status|end");
  EXPECT_EQ(ipmi("PS2 Status", "Presence detected", true), "sel:psu_absent|PS2 Status");
  EXPECT_EQ(ipmi("PS Redundancy", "Redundancy Lost"), "sel:psu_redundancy_lost|PS Redundancy");
  EXPECT_EQ(ipmi("PS Redundancy", "Redundancy Degraded from Fully Redundant"),
            "sel:psu_redundancy_lost|PS Redundancy|degraded");
  EXPECT_EQ(ipmi("PS Redundancy", "Non-redundant:Sufficient Resources from Redundant"),
            "sel:psu_redundancy_lost|PS Redundancy");
  EXPECT_EQ(ipmi("PS Redundancy", "Fully Redundant"), "sel:psu_redundancy_lost|PS Redundancy|end");
  EXPECT_EQ(ipmi("PS Redundancy", "Fully Redundant", true), "-");
  EXPECT_EQ(ipmi("Fan Redundancy", "Redundancy Lost"), "sel:fan_redundancy_lost|Fan Redundancy");
  EXPECT_EQ(ipmi("Power Unit #31h", "AC lost/Power input lost"), "sel:power_fault|Power Unit #31h|input_lost");
  EXPECT_EQ(ipmi("Power Unit #31h", "Soft Power Control Failure"),
            "sel:power_fault|Power Unit #31h|soft_power_control");
  EXPECT_EQ(ipmi("Power Unit #31h", "Power Off/Power Down"), "-");
  EXPECT_EQ(ipmi("Memory #31h", "Correctable memory error"), "sel:memory_corrected|Memory #31h");
  EXPECT_EQ(ipmi("Memory #31h", "Uncorrectable memory error"), "sel:memory_uncorrected|Memory #31h");
  EXPECT_EQ(ipmi("Memory #31h", "Correctable memory error logging limit reached"),
            "sel:memory_corrected|Memory #31h|limit");
  EXPECT_EQ(ipmi("Memory #31h", "Parity"), "sel:memory_uncorrected|Memory #31h|parity");
  EXPECT_EQ(ipmi("Critical Interrupt #31h", "PCI SERR"), "sel:pci_serr|Critical Interrupt #31h");
  EXPECT_EQ(ipmi("Critical Interrupt #31h", "PCI PERR"), "sel:pci_perr|Critical Interrupt #31h");
  EXPECT_EQ(ipmi("Critical Interrupt #31h", "Bus Fatal Error"), "sel:bus_fatal|Critical Interrupt #31h");
  EXPECT_EQ(ipmi("Critical Interrupt #31h", "Bus Uncorrectable Error"), "sel:bus_uncorrected|Critical Interrupt #31h");
  EXPECT_EQ(ipmi("Critical Interrupt #31h", "Bus Correctable Error"), "sel:bus_corrected|Critical Interrupt #31h");
  EXPECT_EQ(ipmi("Critical Interrupt #31h", "Software NMI"), "-");
  EXPECT_EQ(ipmi("Drive Slot #31h", "Drive Fault"), "sel:drive_failed|Drive Slot #31h");
  EXPECT_EQ(ipmi("Drive Slot #31h", "In Failed Array"), "sel:drive_failed|Drive Slot #31h|failed_array");
  EXPECT_EQ(ipmi("Drive Slot #31h", "Rebuild/Remap in progress"), "-");
  EXPECT_EQ(ipmi("Watchdog 2 #31h", "Timer expired, status only"), "sel:watchdog|Watchdog 2 #31h|expired");
  EXPECT_EQ(ipmi("Watchdog 2 #31h", "Hard Reset"), "sel:watchdog|Watchdog 2 #31h|reset");
  EXPECT_EQ(ipmi("Physical Security #31h", "General Chassis Intrusion"),
            "sel:chassis_intrusion|Physical Security #31h");
  EXPECT_EQ(ipmi("Physical Security #31h", "FAN area intrusion"), "sel:chassis_intrusion|Physical Security #31h");
  EXPECT_EQ(ipmi("Event Logging Disabled #31h", "SEL Full"), "sel:log_full|Event Logging Disabled #31h");
  EXPECT_EQ(ipmi("Event Logging Disabled #31h", "SEL Almost Full"), "sel:log_full|Event Logging Disabled #31h|almost");
  EXPECT_EQ(ipmi("Event Logging Disabled #31h", "Log Area Reset/Cleared"),
            "sel:log_full|Event Logging Disabled #31h|end");
  EXPECT_EQ(ipmi("System Firmware Progress #31h", "System Firmware Progress"), "-");
  EXPECT_EQ(ipmi("vendor", "record type C1h: 20 00 04 04"), "-");
}

TEST(BmcSignals, IpmiThresholds) {
  EXPECT_EQ(ipmi("CPU1 Temp", "Upper Critical - going high, reading 95 C, threshold 90 C"),
            "sel:temp_critical|CPU1 Temp");
  EXPECT_EQ(ipmi("CPU1 Temp", "Upper Critical - going high", true), "sel:temp_critical|CPU1 Temp|end");
  EXPECT_EQ(ipmi("CPU1 Temp", "Upper Critical - going low"), "sel:temp_critical|CPU1 Temp|end");
  EXPECT_EQ(ipmi("CPU1 Temp", "Upper Non-recoverable - going high"), "sel:temp_critical|CPU1 Temp");
  EXPECT_EQ(ipmi("CPU1 Temp", "Upper Non-critical - going high"), "sel:temp_warning|CPU1 Temp");
  EXPECT_EQ(ipmi("Inlet Temp", "Lower Critical - going low"), "sel:temp_low|Inlet Temp");
  EXPECT_EQ(ipmi("FAN 1", "Lower Critical - going low, reading 1000 RPM, threshold 1500 RPM"), "sel:fan_failed|FAN 1");
  EXPECT_EQ(ipmi("Fan #31h", "Lower Non-critical - going low"), "sel:fan_slow|Fan #31h");
  EXPECT_EQ(ipmi("FAN 1", "Upper Critical - going high"), "-");
  EXPECT_EQ(ipmi("P12V", "Lower Critical - going low"), "sel:voltage|P12V");
  EXPECT_EQ(ipmi("Voltage #31h", "Upper Non-critical - going high"), "sel:voltage|Voltage #31h");
  EXPECT_EQ(ipmi("Temperature #31h", "Limit Exceeded"), "sel:temp_critical|Temperature #31h");
  EXPECT_EQ(ipmi("Temperature #31h", "Limit Not Exceeded"), "sel:temp_critical|Temperature #31h|end");
  // Low is hot for a margin.
  EXPECT_EQ(ipmi("TLIMIT_GB_SXM8", "Lower Critical - going low"), "sel:temp_critical|TLIMIT_GB_SXM8");
  EXPECT_EQ(ipmi("Processor load", "Upper Critical - going high"), "-");
}

// Dell's entries are those of bb-Ricardo/check_redfish#4 and mrlhansen/idrac_exporter#26.
TEST(BmcSignals, RedfishTextsOfVendors) {
  const std::string supply = "Power Supply / Converter";
  EXPECT_EQ(redfish(supply, "Power supply redundancy is lost."), "sel:psu_redundancy_lost|" + supply);
  EXPECT_EQ(redfish(supply, "The power supplies are redundant.", EventState::unknown, Health::ok),
            "sel:psu_redundancy_lost|" + supply + "|end");
  EXPECT_EQ(
      redfish(supply, "The input power for power supply 1 has been restored.", EventState::deasserted, Health::ok),
      "sel:psu_lost|power supply 1|input_lost|end");
  EXPECT_EQ(redfish(supply, "Power supply 1 is absent.", EventState::deasserted, Health::ok),
            "sel:psu_absent|Power supply 1|end");
  EXPECT_EQ(redfish("Physical Chassis Security", "The chassis is open while the power is off.", EventState::asserted),
            "sel:chassis_intrusion|Physical Chassis Security");
  EXPECT_EQ(redfish("Physical Chassis Security", "The chassis is closed while the power is off.", EventState::asserted,
                    Health::ok),
            "sel:chassis_intrusion|Physical Chassis Security|end");
  EXPECT_EQ(redfish("Power",
                    "System Power Supply: Input Power Loss or Unplugged Power Cord, Verify Power Supply Input (Power "
                    "Supply 2)",
                    EventState::unknown, Health::warning),
            "sel:psu_lost|Power Supply 2|input_lost");
  EXPECT_EQ(redfish("Drive Array", "Slot=2 Storage - Volume 1 status changed to ok", EventState::unknown, Health::ok),
            "-");
  EXPECT_EQ(redfish(supply, "[PWR-0001] PS5 Status, Power Supply Failure detected", EventState::asserted),
            "sel:psu_lost|PS5 Status|failure");
  EXPECT_EQ(redfish("Temperature", "[GS-0001] NVSwitch Temp, 1 is not present", EventState::asserted), "-");
  EXPECT_EQ(redfish("PSU1", "The resource property PSU1 has detected errors of type 'Input lost'."),
            "sel:psu_lost|PSU1|input_lost");
}

TEST(BmcSignals, OpenBmcThresholds) {
  EXPECT_EQ(redfish("", "Chassis_0_FAN_2_FRONT critical low threshold assert. Reading=0.000000 Threshold=2204.000000."),
            "sel:fan_failed|Chassis_0_FAN_2_FRONT");
  // EntryCode and text both say that it ended.
  EXPECT_EQ(redfish("Temperature",
                    "HGX_GPU_2_Temp_1 sensor crossed a warning low threshold going high. Reading=51.375000 "
                    "Threshold=-0.050000.",
                    EventState::deasserted, Health::ok),
            "sel:temp_warning|HGX_GPU_2_Temp_1|end");
  EXPECT_EQ(redfish("", "HGX_GPU_2_Temp_1 critical low threshold assert. Reading=-1.5 Threshold=-1.0."),
            "sel:temp_critical|HGX_GPU_2_Temp_1");
  EXPECT_EQ(redfish("", "HGX_GPU_2_Temp_1 warning low threshold assert. Reading=-524288.199219 Threshold=-0.05."), "-");
  // The utilization of the BMC itself.
  EXPECT_EQ(
      redfish("", "CPU sensor crossed a warning high threshold going high. Reading=80.419451 Threshold=80.000000."),
      "-");
  EXPECT_EQ(
      redfish("", "Chassis_0_LeakDetector_1_ColdPlate critical low threshold assert. Reading=1.1 Threshold=1.617."),
      "sel:leak|Chassis_0_LeakDetector_1_ColdPlate");
}

std::string gpu(const std::string& property, const std::string& error, EventState state = EventState::unknown) {
  return redfish("HGX_GPU_SXM_3", "The resource property " + property + " has detected errors of type '" + error + "'.",
                 state);
}

// Properties and errors of NVIDIA's event table (the tests of openbmc's oobaml list them).
TEST(BmcSignals, HgxEvents) {
  EXPECT_EQ(gpu("GPU_SXM_3 Driver Event Message", "[Thu Dec 7 02:27:24 UTC 2023][1][00] XID 79 badf5723"),
            "xid:79|GPU_SXM_3");
  EXPECT_EQ(gpu("GPU_3 Driver Event Message", "[Thu Dec 7 02:27:24 UTC 2023][1][00] XID 48 x"), "xid:48|GPU_3");
  EXPECT_EQ(redfish("", "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."), "xid:79|GPU 0000:3b:00");
  EXPECT_EQ(redfish("", "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
            "sxid:20034|NVSwitch 0000:05:00.0");
  EXPECT_EQ(redfish("", "update of EXXID 5 done"), "-");
  const std::string driver = "NVSwitch_2 Driver Event Message";
  EXPECT_EQ(gpu(driver, "[Fri Dec 8 09:56:18 UTC 2023][264][00] SXID 20009 Non-fatal; Link 16 RX Short Error Rate"),
            "sxid:20009|NVSwitch_2");
  EXPECT_EQ(gpu(driver, "[Fri Dec 8 09:56:18 UTC 2023][265][00] SXID 20009 Severity 0 Engine instance 16"), "-");
  EXPECT_EQ(gpu(driver, "[Fri Dec 8 09:56:18 UTC 2023][266][02] SXID 20009 Data {0x00200000; 0x00"), "-");
  EXPECT_EQ(gpu(driver, "[Fri Jan 23 00:00:55 UTC 1970][337051904][00] SXID 9 eNon-fatal"),
            "hgx:nvswitch_error|NVSwitch_2");
  EXPECT_EQ(gpu(driver, "[Wed Feb 28 21:56:00 UTC 2024][216][00] SXID 0 NVSWITCH SMBPBI server is online.en"), "-");
  const std::string throttle = "xyz.openbmc_project.State.ProcessorPerformance.ThrottleReasons.";
  EXPECT_EQ(gpu("GPU_SXM_3 ThrottleReason", throttle + "HWPowerBrakeSlowdown"),
            "hgx:power_brake|GPU_SXM_3|HWPowerBrakeSlowdown");
  EXPECT_EQ(gpu("GPU_SXM_3 ThrottleReason", throttle + "SWPowerCap", EventState::deasserted),
            "hgx:power_cap|GPU_SXM_3|SWPowerCap|end");
  EXPECT_EQ(gpu("GPU_SXM_3 ThrottleReason", throttle + "None"), "-");
  EXPECT_EQ(gpu("GPU_SXM_3 OverTemp", "Upper Fatal Temperature"), "hgx:overtemp|GPU_SXM_3");
  EXPECT_EQ(gpu("GPU_SXM_3 Memory", "Uncorrectable ECC Error"), "hgx:ecc_uncorrected|GPU_SXM_3");
  EXPECT_EQ(gpu("GPU_SXM_3 Memory", "Correctable ECC Error"), "hgx:ecc_corrected|GPU_SXM_3");
  EXPECT_EQ(gpu("GPU_SXM_4 Memory", "Row-Remapping Pending"), "hgx:row_remap_pending|GPU_SXM_4");
  EXPECT_EQ(gpu("GPU_SXM_4 Memory", "Row-Remapping Failure"), "hgx:row_remap_failed|GPU_SXM_4");
  EXPECT_EQ(gpu("GPU_SXM_3 NVLink_4", "Training Error"), "hgx:nvlink_error|GPU_SXM_3|training");
  EXPECT_EQ(gpu("NVSwitch_1 PCIe", "Abnormal Speed Change"), "hgx:pcie_error|NVSwitch_1|speed");
  EXPECT_EQ(gpu("GPU_SXM_3 PowerGood", "Abnormal Power Change"), "hgx:power_fault|GPU_SXM_3");
  EXPECT_EQ(gpu("GPU_SXM_3", "Physically Missing"), "hgx:part_missing|GPU_SXM_3");
  EXPECT_EQ(gpu("CPU_0 Firmware", "EC_STRAP_MISMATCH"), "hgx:firmware_error|CPU_0");
  EXPECT_EQ(gpu("EVENT_LISTENER_TEST", "Custom event"), "-");
  EXPECT_EQ(
      redfish("", "The resource property GPU_SXM_3 Memory has corrected errors of type 'Uncorrectable ECC Error'."),
      "hgx:ecc_uncorrected|GPU_SXM_3|end");
}

// The key and words of the kernel's lines, which rules ask for.
TEST(BmcSignals, SxidsSayWhetherTheyAreFatal) {
  LogEvent event;
  event.severity = Health::critical;
  event.message = "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up";
  EXPECT_EQ(signal_of(event)->detail("severity"), "fatal");
  EXPECT_EQ(signal_of(event)->detail("link"), "30");
  event.message = "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20009, Non-fatal, Link 16 RX Short Error Rate";
  EXPECT_EQ(signal_of(event)->detail("severity"), "nonfatal");
  EXPECT_EQ(signal_of(event)->detail("log_severity"), "critical");
}

TEST(BmcSignals, TimesCountsAndDetails) {
  LogEvent event;
  event.message =
      "The resource property GPU_SXM_1 Driver Event Message has detected errors of type '[Thu Dec 7 02:27:24 "
      "UTC 2023][1][00] XID 62 badf5723'.";
  event.time = "2020-05-08T20:10:13+00:00";
  event.severity = Health::critical;
  event.count = 3;
  const auto signal = signal_of(event);
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->at, sched::Moment(1'588'968'613'000'000'000));
  EXPECT_EQ(signal->text, event.message);
  EXPECT_EQ(signal->detail("count"), "3");
  EXPECT_EQ(signal->detail("log_severity"), "critical");
  EXPECT_EQ(signal->detail("driver_time"), "2023-12-07T02:27:24Z");  // the BMC's clock was never set
  EXPECT_FALSE(signal->value);
  for (const std::string time :
       {"", "1970-01-01T00:01:38Z", "9999-12-31T23:59:59+00:00", "0000-00-00T00:00:00Z", "x"}) {
    event.time = time;
    EXPECT_EQ(signal_of(event)->at, sched::Moment()) << time;
  }
}

std::string reading(SensorReading sensor) {
  std::string out;
  for (const Signal& signal : signals_of(sensor)) {
    EXPECT_EQ(signal.part, sensor.name);
    EXPECT_EQ(signal.value, sensor.value);
    out += (out.empty() ? "" : " ") + signal.name + "/" + std::string(signal.detail("level"));
  }
  return out;
}

TEST(BmcSignals, Sensors) {
  SensorReading sensor{"CPU1 Temp", "temperature", 89.9, "C", Health::ok, 90.0, 5.0};
  EXPECT_EQ(reading(sensor), "");
  sensor.value = 90;
  EXPECT_EQ(reading(sensor), "sel:temp_critical/critical");
  sensor.value = 5;
  EXPECT_EQ(reading(sensor), "sel:temp_low/critical");
  sensor.value = -524'288.2;
  EXPECT_EQ(reading(sensor), "");
  sensor = {"CPU1 Temp", "temperature", 60.0, "C", Health::warning, std::nullopt, std::nullopt};
  EXPECT_EQ(reading(sensor), "sel:temp_warning/warning");
  // Absent: GB200 calls it critical all the same.
  sensor = {"IO_Board_0_CX7_0_Port_0_Temp", "temperature", std::nullopt, "C", Health::critical, 75.0, std::nullopt};
  EXPECT_EQ(reading(sensor), "");
  sensor = {"HGX_GPU_SXM_7_TEMP_1", "temperature", -2.0, "C", Health::critical, std::nullopt, -2.0};
  EXPECT_EQ(reading(sensor), "sel:temp_critical/critical");
  sensor = {"FAN 1", "fan", 0.0, "RPM", Health::critical, std::nullopt, 2204.0};
  EXPECT_EQ(reading(sensor), "sel:fan_failed/critical");
  sensor.low_critical.reset();
  sensor.health = Health::unknown;
  EXPECT_EQ(reading(sensor), "");
  sensor = {"P12V", "voltage", 13.3, "V", Health::unknown, 13.2, 10.8};
  EXPECT_EQ(reading(sensor), "sel:voltage/critical");
  sensor = {"Chassis_0_LeakDetector_1_Manifold", "voltage", 1.6, "V", Health::ok, std::nullopt, 1.617};
  EXPECT_EQ(reading(sensor), "sel:leak/critical");
  // The DGX H100 limits the energy of its GPUs since they were started to 272,850 J.
  sensor = {"ENERGY_GB_SXM4", "energy", 2'772'844.0, "J", Health::ok, 272'850.0, std::nullopt};
  EXPECT_EQ(reading(sensor), "");
  sensor = {"PWR_PDB", "power", 0.0, "W", Health::ok, 3315.0, 0.0};
  EXPECT_EQ(reading(sensor), "");
  sensor = {"PS1 Status", "discrete", std::nullopt, "", Health::critical, std::nullopt, std::nullopt};
  EXPECT_EQ(reading(sensor), "sel:sensor_critical/critical");
}

TEST(BmcSignals, Metrics) {
  Metric metric{"HGX_ProcessorMetrics_0", "GPU_2", "PCIeErrors/ReplayCount", "17", "2025-01-06T22:56:02.125Z", false};
  const auto replays = signal_of(metric);
  ASSERT_TRUE(replays);
  EXPECT_EQ(replays->name, "hgx:pcie_replay_total");
  EXPECT_EQ(replays->part, "GPU_2");
  EXPECT_EQ(replays->value, 17.0);
  EXPECT_EQ(replays->at, sched::Moment(1'736'204'162'125'000'000));
  metric.value = "nan";
  EXPECT_FALSE(signal_of(metric));
  metric = {"r", "GPU_2", "ThermalLimitThrottleDuration", "PT1M2.5S", "", false};
  EXPECT_EQ(signal_of(metric)->value, 62.5);
  metric.stale = true;
  EXPECT_FALSE(signal_of(metric));
  metric = {"r", "GPU_2_DRAM_0", "RowRemappingFailed", "true", "", false};
  EXPECT_EQ(signal_of(metric)->value, 1.0);
  metric = {"r", "CPU_1", "PowerBreakPerformanceState", "Throttled", "", false};
  EXPECT_EQ(signal_of(metric)->name, "hgx:power_brake_flag");
  metric = {"r", "GPU_2", "ThrottleReasons/0", "HWPowerBrakeSlowdown", "", false};
  EXPECT_EQ(signal_of(metric)->name, "hgx:power_brake");
  metric.value = "NA";
  EXPECT_FALSE(signal_of(metric));
  metric = {"r", "GPU_2/NVLink_3", "LinkStatus", "LinkDown", "", false};
  EXPECT_EQ(signal_of(metric)->value, 1.0);
  metric = {"r", "GPU_2", "PCIeInterface/LanesInUse", "0", "", false};
  EXPECT_FALSE(signal_of(metric));
  metric.value = "8";
  EXPECT_EQ(signal_of(metric)->value, 8.0);
  metric = {"r", "GPU_2", "BandwidthPercent", "50", "", false};
  EXPECT_FALSE(signal_of(metric));
}

// Any text is classified or not; nothing else happens.
TEST(BmcSignals, OddTexts) {
  for (const std::string text : {"", " ", "XID ", "SXID", "XID 99999999999", "Xid (PCI:", "Xid (PCI:): 79",
                                 "The resource property ", "The resource property  has detected errors of type ''.",
                                 "[] , ", "[x] ,", "(sensor )", "critical low threshold ", "upper critical reading=",
                                 "lower critical reading=1e999 threshold=-", "\xff\xfe XID 5 \xff"}) {
    LogEvent event;
    event.message = text;
    event.source = text;
    if (const auto signal = signal_of(event)) {
      EXPECT_TRUE(parse_pattern(signal->name)) << text;
    }
  }
}

}  // namespace
}  // namespace weft::health
