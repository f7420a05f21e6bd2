// The parts of the QO table: the cluster file's settings, the traced path of a class, the settings of a switch or
// NIC. Internal to rules/qos*.cc; other code calls qos_rules().
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "check/core/rule.h"

namespace weft::check {

[[nodiscard]] std::vector<Rule> qos_design_rules();
[[nodiscard]] std::vector<Rule> qos_marking_rules();
[[nodiscard]] std::vector<Rule> qos_trace_rules();
[[nodiscard]] std::vector<Rule> qos_buffer_rules();
[[nodiscard]] std::vector<Rule> qos_port_rules();
[[nodiscard]] std::vector<Rule> qos_switch_rules();

// Data fabrics of the cluster that are Ethernet and ask for a lossless class.
[[nodiscard]] std::vector<model::FabricKind> lossless_fabrics(const model::Cluster& cluster);

// A lossless fabric as the cluster file asks for it.
struct LosslessFabric {
  model::FabricKind kind;
  const model::FabricSpec& spec;
  const model::QosSpec& qos;
  std::string name;  // "backend"
};

[[nodiscard]] std::vector<LosslessFabric> lossless_class_fabrics(const CheckInput& input);
// Where to point when the value itself was left to its default.
[[nodiscard]] SourceLocation place_of(const LosslessFabric& fabric);

// Collects equal findings into one each, whatever the number of devices and lines: the first place is the finding's,
// some of the others come along as related.
class FindingGroups {
 public:
  // Findings with one key are equal. `text` must not lead with the device's name: that is put before it.
  void add(const std::string& key, const std::string& device, const SourceLocation& place, std::string text,
           std::vector<Finding::Related> related = {});
  void add(const std::string& device, const SourceLocation& place, const std::string& text) {
    add(text, device, place, text);
  }
  void report(Report& report) const;

 private:
  struct Entry {
    SourceLocation place;
    std::string text;
    std::vector<Finding::Related> related;
    std::set<std::string> devices;
    std::int64_t times = 0;
  };
  std::vector<Entry> entries_;  // in order of discovery
  std::map<std::string, std::size_t> by_key_;
};

// Queue length that 20 microseconds of the port's rate fill: the round trip that Huawei's ECN rule assumes.
[[nodiscard]] Bytes bandwidth_delay(BitRate speed);

}  // namespace weft::check
