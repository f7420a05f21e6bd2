// Resolves host expressions of a runbook on a cluster. In addition to the syntax of Inventory::select, a runbook may
// name devices by purpose ("oob switches", "gpu servers"), so one file works on every site:
//   EXPRESSION  [first] ITEMS [but ITEMS]
//   ITEMS       separated by commas: a class, "behind SWITCH" (the servers cabled to it), or a word of the inventory
// A class without members in this cluster is empty; an unknown name is an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "oob/bmc/inventory.h"

namespace weft::oob {

class RescueHosts {
 public:
  RescueHosts(const model::Cluster& cluster, const Inventory& inventory);

  // Targets in the order of the expression, each once.
  [[nodiscard]] Result<std::vector<std::uint32_t>> select(std::string_view expression) const;
  // The members of a class; null if there is no such class.
  [[nodiscard]] const std::vector<std::uint32_t>* members(std::string_view name) const;
  // Every server is in exactly one class, and every switch in one.
  [[nodiscard]] static const std::vector<std::string_view>& class_names();

  // "oob": the address of its OS on the out-of-band network (management port of a switch, or a server port other than
  // the BMC's), "bmc": that of its controller, "frontend". An error if it has none.
  [[nodiscard]] Result<std::string> address(std::uint32_t target, std::string_view at) const;
  // Servers with a cable to the device.
  [[nodiscard]] std::vector<std::uint32_t> behind(std::uint32_t target) const;

  [[nodiscard]] const model::Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Inventory& inventory() const { return inventory_; }
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::uint32_t>& targets) const;
  [[nodiscard]] std::string fold(const std::vector<std::uint32_t>& targets) const;

 private:
  [[nodiscard]] std::size_t class_of(const Target& target) const;
  [[nodiscard]] Result<std::vector<std::uint32_t>> select_items(std::string_view items) const;
  [[nodiscard]] Result<std::vector<std::uint32_t>> select_item(std::string_view item) const;

  const model::Cluster& cluster_;
  const Inventory& inventory_;
  std::vector<std::vector<std::uint32_t>> classes_;  // by class_names()
  std::vector<std::uint32_t> target_of_;             // by device; kNoTarget for those without one
};

}  // namespace weft::oob
