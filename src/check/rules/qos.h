// The parts of the QO table: settings of the cluster file, traced paths of a class, settings of a switch or NIC.
// Internal to rules/qos*.cc; other code calls qos_rules().
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

// Data fabrics of the cluster that are Ethernet and have a lossless class.
[[nodiscard]] std::vector<model::FabricKind> lossless_fabrics(const model::Cluster& cluster);

// A lossless fabric as specified in the cluster file.
struct LosslessFabric {
  model::FabricKind kind;
  const model::FabricSpec& spec;
  const model::QosSpec& qos;
  std::string name;  // "backend"
};

[[nodiscard]] std::vector<LosslessFabric> lossless_class_fabrics(const CheckInput& input);
// The location to report if the value itself is a default.
[[nodiscard]] SourceLocation place_of(const LosslessFabric& fabric);

// Merges equal findings across devices and lines: the first location is the finding's, some of the others become
// related locations.
class FindingGroups {
 public:
  // Findings with the same key are equal. `text` must not start with the device's name, which is prepended.
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

// Bytes that the port sends in 20 microseconds, the round trip that Huawei's ECN rule assumes.
[[nodiscard]] Bytes bandwidth_delay(BitRate speed);

}  // namespace weft::check
