// Builds the sections of `weft describe`, one function per kind of thing. Internal to inspect/.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "design/cable_labels.h"
#include "design/loss_meter.h"
#include "inspect/things.h"

namespace weft::inspect {

// Facts without those that do not apply.
class FactList {
 public:
  FactList(std::string key, std::string title) : section_{std::move(key), std::move(title), {}} {}
  void add(std::string key, std::string title, Cell value) {
    if (std::holds_alternative<std::monostate>(value.value)) return;
    section_.facts.push_back({std::move(key), std::move(title), std::move(value)});
  }
  [[nodiscard]] FactsSection take_section() { return std::move(section_); }

 private:
  FactsSection section_;
};

class Describer {
 public:
  explicit Describer(const model::Cluster& cluster) : cluster_(cluster), labels_(cluster) {}

  void add(const Thing& thing, Document& document);

 private:
  void add_device(model::DeviceId id, Document& document);
  void add_server_facts(model::DeviceId id, FactList& facts) const;
  void add_switch_facts(model::DeviceId id, FactList& facts) const;
  void add_location(model::DeviceId id, FactList& facts) const;
  void add_power(model::DeviceId id, FactList& facts) const;
  void add_management(model::DeviceId id, FactList& facts) const;
  void add_pdu(model::DeviceId id, Document& document);
  [[nodiscard]] TableSection device_ports(model::DeviceId id) const;
  [[nodiscard]] TableSection neighbors(model::DeviceId id) const;
  [[nodiscard]] TableSection served_subnets(model::DeviceId id) const;
  [[nodiscard]] std::string default_gateway(model::DeviceId id) const;

  void add_port(model::PortId id, Document& document);
  void add_cable(model::CableId id, Document& document);
  void add_splitter(model::CableId first, Document& document);
  void add_medium(model::CableId id, FactList& facts) const;
  [[nodiscard]] TableSection cable_ends(model::CableId id) const;
  [[nodiscard]] TableSection cable_table(std::string key, std::string title,
                                         std::span<const model::CableId> cables) const;
  void add_plugs(model::CableId id, Document& document) const;

  void add_address(const std::string& text, Document& document) const;
  [[nodiscard]] TableSection address_owners(std::span<const AddressOwner> owners) const;
  [[nodiscard]] TableSection address_subnets(const std::string& text, bool assigned) const;
  // Switches that the members of a subnet are connected to, folded: its gateway, if it is routed.
  [[nodiscard]] std::string switches_of(model::SubnetId id) const;
  void add_subnet(model::SubnetId id, Document& document) const;

  void add_rack(model::RackId id, Document& document);
  [[nodiscard]] TableSection rack_devices(model::RackId id) const;
  [[nodiscard]] TableSection leaving_cables(model::RackId id) const;
  void add_unit(model::UnitId id, Document& document);
  void add_pool(std::size_t index, Document& document);
  void add_partition(std::size_t index, Document& document) const;
  void add_tenant(std::size_t index, Document& document) const;
  void add_storage(std::size_t index, Document& document) const;
  void add_service(std::size_t index, Document& document) const;

  // "16 servers degraded; backend loses 12.5% of its bandwidth"
  [[nodiscard]] std::string impact(std::span<const model::DeviceId> failed, std::span<const model::CableId> cut = {});
  // Devices of a rack that fail with one of its PDUs, with the PDU.
  [[nodiscard]] std::vector<model::DeviceId> lost_with_pdu(model::DeviceId pdu) const;
  // Power supplies of a device that are on this PDU.
  [[nodiscard]] int supplies_on(model::DeviceId device, model::DeviceId pdu) const;
  // The subnet of a port: a switch port has that of the host it serves.
  [[nodiscard]] model::SubnetId subnet_of(model::PortId id) const;
  [[nodiscard]] std::string tenants_of(const std::vector<std::string>& partitions) const;
  [[nodiscard]] std::vector<std::string> partitions_of(const std::string& pool) const;
  [[nodiscard]] std::vector<std::string> storage_on(const std::string& pool) const;

  const model::Cluster& cluster_;
  design::CableLabels labels_;
  std::unique_ptr<design::LossMeter> meter_;
};

// "up" to the network's core, "down" to its hosts, "peer", "external", "management" of the device itself, "bmc".
[[nodiscard]] std::string_view direction_of(const model::Cluster& cluster, model::PortId id);
// "p1/1", "p1/1 p1/2", "p1/1 to p8/2"
[[nodiscard]] std::string port_range(const std::vector<std::string>& ports);
// "U9-U16"; "" for a device that needs no rack unit
[[nodiscard]] std::string units_text(const model::Cluster& cluster, model::DeviceId id);
// "id (name)" of a catalog item
template <class Model>
[[nodiscard]] std::string model_text(const Model& model) {
  return model.name.has_value() ? model.id->text + " (" + *model.name + ")" : model.id->text;
}

}  // namespace weft::inspect
