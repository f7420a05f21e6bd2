// Builds an Inventory: first the cluster's devices, then the overrides of the endpoints file. Private to the inventory.
#pragma once

#include "oob/bmc/endpoints_file.h"
#include "oob/bmc/inventory.h"

namespace weft::oob {

class InventoryBuilder {
 public:
  InventoryBuilder(const model::Cluster& cluster, Diagnostics& diagnostics)
      : cluster_(cluster), diagnostics_(diagnostics) {}

  void add_cluster();
  void apply(const EndpointsFile& file);
  [[nodiscard]] Inventory finish();

 private:
  void add_device(model::DeviceId id);
  void fill_server(model::DeviceId id, Target& target) const;
  void fill_switch(model::DeviceId id, Target& target) const;
  void hang_on_power(model::DeviceId id, int psus, Target& target) const;
  void add_feeds();
  void apply_one(const std::string& hosts, const model::Sourced<EndpointSpec>& spec);
  void add_chassis(const std::string& name, const model::Sourced<EndpointSpec>& spec);
  // Applies the file's settings for the n-th device of a range.
  void overlay(const EndpointSpec& spec, std::uint32_t n, Target& target);
  [[nodiscard]] bool overlay_place(const EndpointSpec& spec, std::uint32_t n, Endpoint& endpoint);
  [[nodiscard]] std::uint32_t find_or_report(const std::string& name, const SourceLocation& place);

  const model::Cluster& cluster_;
  Diagnostics& diagnostics_;
  Inventory inventory_;
};

}  // namespace weft::oob
