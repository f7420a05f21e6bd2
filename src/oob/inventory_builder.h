// Makes an Inventory: first the cluster's devices, then what the endpoints file says of them. Private to the inventory.
#pragma once

#include "oob/endpoints_file.h"
#include "oob/inventory.h"

namespace weft::oob {

class InventoryBuilder {
 public:
  InventoryBuilder(const Cluster& cluster, Diagnostics& diagnostics) : cluster_(cluster), diagnostics_(diagnostics) {}

  void add_cluster();
  void apply(const EndpointsFile& file);
  [[nodiscard]] Inventory finish();

 private:
  void add_device(DeviceId id);
  void fill_server(DeviceId id, Target& target) const;
  void fill_switch(DeviceId id, Target& target) const;
  void hang_on_power(DeviceId id, int psus, Target& target) const;
  void add_feeds();
  void apply_one(const std::string& hosts, const Given<EndpointSpec>& spec);
  void add_chassis(const std::string& name, const Given<EndpointSpec>& spec);
  // What the file says of the n-th device of a range.
  void overlay(const EndpointSpec& spec, std::uint32_t n, Target& target);
  [[nodiscard]] bool overlay_place(const EndpointSpec& spec, std::uint32_t n, Endpoint& endpoint);
  [[nodiscard]] std::uint32_t find_or_report(const std::string& name, const Place& place);

  const Cluster& cluster_;
  Diagnostics& diagnostics_;
  Inventory inventory_;
};

}  // namespace weft::oob
