// Inventory of all devices with an out-of-band address: role, rack, power feeds, dependents. All out-of-band commands
// work on it. Pure function of the cluster and the endpoints file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/document.h"
#include "base/quantity.h"
#include "model/cluster.h"
#include "oob/bmc/endpoint.h"

namespace weft::oob {

enum class Role : std::uint8_t { server, network_switch, pdu, chassis };

// One device. It is powered by site feeds through PDUs; it may run as long as one of them is alive.
struct Target {
  std::string name;
  Role role = Role::server;
  std::string group;  // pool, or group of switches: "train", "be-leaf"
  std::string rack;
  std::string fabric;                  // of a switch: "backend", ...; empty otherwise
  bool spine = false;                  // of a switch: above the leaf tier
  bool control = false;                // a control-plane server (scheduler, etcd, jump host): started first
  std::string model;                   // catalog name
  Power power;                         // maximum draw
  Power rating;                        // PDU capacity; zero for others
  std::vector<int> feeds;              // site power feeds of its power supplies, each once, ascending
  std::vector<std::uint32_t> pdus;     // targets that power it; empty if the PDUs have no address
  std::uint32_t parent = 0xFFFFFFFFU;  // enclosing chassis (from the endpoints file), or none
  model::DeviceId device = model::kNone<model::DeviceId>;  // in the cluster; none for a chassis
  Endpoint endpoint;
};
inline constexpr std::uint32_t kNoTarget = 0xFFFFFFFFU;

// The continuous load that a power feed can carry: the sum of its PDUs' ratings, which the catalog already states at 80
// percent of the breaker rating.
struct FeedBudget {
  int feed = 0;
  Power rating;
};

class Inventory {
 public:
  Inventory() = default;
  // From targets built elsewhere, names unique.
  Inventory(std::vector<Target> targets, std::vector<FeedBudget> feeds)
      : targets_(std::move(targets)), feeds_(std::move(feeds)) {
    for (std::uint32_t i = 0; i < targets_.size(); ++i) by_name_.emplace(targets_[i].name, i);
  }
  [[nodiscard]] const std::vector<Target>& targets() const { return targets_; }
  [[nodiscard]] const std::vector<FeedBudget>& feeds() const { return feeds_; }
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const;
  // Targets named by host ranges, "@POOL" or "@GROUP", "rack:R01", "servers", "switches", "pdus" or "all", separated by
  // commas; in inventory order, each once. An error names the unknown word, with a suggestion.
  [[nodiscard]] Result<std::vector<std::uint32_t>> select(std::string_view words) const;
  // Names of targets, folded into ranges: "train[001-004]".
  [[nodiscard]] std::string fold(std::span<const std::uint32_t> targets) const;
  // The same for a table, where a long list of all `asked` targets is brief: "all 103".
  [[nodiscard]] Cell hosts_cell(std::span<const std::uint32_t> targets, std::size_t asked) const;
  // Changes every endpoint: applies command-line options to all of them.
  void adjust(const std::function<void(Endpoint&)>& change) {
    for (Target& target : targets_) change(target.endpoint);
  }
  // Targets powered by `target` alone, excluding itself: the servers of a chassis, or of the last remaining PDU.
  [[nodiscard]] std::vector<std::uint32_t> children(std::uint32_t target) const;

 private:
  friend class InventoryBuilder;
  std::vector<Target> targets_;
  std::vector<FeedBudget> feeds_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
};

// `endpoints`: none, or the file that overrides device addresses:
//   weft_endpoints: 1
//   defaults: {protocol: redfish, port: 443, ca: /path/ca.pem, verify: true, proxy: socks5h://127.0.0.1:1080}
//   endpoints:
//     train[001-004]: {host: 127.0.2.1, step: 1, port: 623, protocol: ipmi, ciphers: [17, 3]}
//     train005: {host: 127.0.2.9, protocol: ipmi, workarounds: [opensesspriv]}
//     chassis1: {role: chassis, host: 10.0.0.9, holds: "train[001-004]"}
// With `step`, the n-th device of the range has the address plus n * step; `port_step` does the same for ports.
[[nodiscard]] std::optional<Inventory> make_inventory(const model::Cluster& cluster, Diagnostics& diagnostics,
                                                      const Sources* sources = nullptr,
                                                      std::optional<FileId> endpoints = std::nullopt);

[[nodiscard]] std::string_view to_text(Role role);

}  // namespace weft::oob
