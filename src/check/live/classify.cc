#include "check/live/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "check/core/match.h"
#include "model/server_ports.h"

namespace weft::check {
namespace {

constexpr std::int64_t kGigabit = 1000;         // Mb/s
constexpr std::int64_t kFastAdapter = 100'000;  // slower RDMA ports are more likely storage than backend

class Classifier {
 public:
  Classifier(const model::Cluster& cluster, model::DeviceId host, const config::HostFacts& facts, bool use_neighbors)
      : cluster_(cluster), host_(host), facts_(facts) {
    for (std::size_t i = 0; i < facts.interfaces.size(); ++i) {
      const config::HostInterface& interface = facts.interfaces[i];
      if (!interface.physical || interface.virtual_function) continue;
      guesses_.emplace_back();
      guesses_.back().interface = i;
    }
    for (const model::PortId port : cluster.ports_of(host)) taken_.emplace_back(port, false);
    if (use_neighbors) guess_by_neighbor();
    guess_by_address();
    for (const model::FabricKind fabric :
         {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend})
      guess_by_order(fabric);
    for (InterfaceGuess& guess : guesses_) guess_by_properties(guess);
  }
  [[nodiscard]] std::vector<InterfaceGuess> take() { return std::move(guesses_); }

 private:
  [[nodiscard]] const config::HostInterface& interface_of(const InterfaceGuess& guess) const {
    return facts_.interfaces[guess.interface];
  }

  bool assign_port(InterfaceGuess& guess, model::PortId port, GuessConfidence confidence, std::string reason) {
    for (auto& [id, used] : taken_) {
      if (id != port || used) continue;
      used = true;
      guess.port = port;
      guess.fabric = cluster_.port(port).fabric;
      guess.confidence = confidence;
      guess.reasons.push_back(std::move(reason));
      return true;
    }
    return false;
  }

  void guess_by_neighbor() {
    for (InterfaceGuess& guess : guesses_) {
      const config::HostInterface& interface = interface_of(guess);
      const model::DeviceId far = cluster_.find_device(interface.lldp_system);
      if (interface.lldp_system.empty() || far == model::kNone<model::DeviceId>) continue;
      const std::string reason = fmt::format("its neighbor is {} {}", interface.lldp_system, interface.lldp_port);
      const model::PortId far_port = port_named(cluster_, far, interface.lldp_port);
      if (far_port != model::kNone<model::PortId>) {
        const model::PortId own = cluster_.peer_of(far_port);
        if (cluster_.port(own).device == host_ && assign_port(guess, own, GuessConfidence::certain, reason)) continue;
      }
      guess.fabric = cluster_.group_of(far).fabric;
      guess.confidence = GuessConfidence::certain;
      guess.reasons.push_back(reason);
    }
  }

  void guess_by_address() {
    for (const bool exact : {true, false}) {
      for (InterfaceGuess& guess : guesses_) {
        if (!guess.fabric) match_address(guess, exact);
      }
    }
    for (InterfaceGuess& guess : guesses_) {
      if (!guess.fabric) match_foreign_subnet(guess);
    }
  }

  void match_address(InterfaceGuess& guess, bool exact) {
    for (const Ipv4 address : interface_of(guess).addresses) {
      for (const auto& [port, used] : taken_) {
        const model::Port& planned = cluster_.port(port);
        if (used || planned.subnet == model::kNone<model::SubnetId>) continue;
        const model::Subnet& subnet = cluster_.subnet(planned.subnet);
        // A frontend with two links has both in one subnet: only the exact address distinguishes them.
        if (exact ? planned.address != address : !subnet.prefix.contains(address)) continue;
        const std::string reason =
            exact ? fmt::format("{} is the address of {}", to_text(address), cluster_.port_name(port))
                  : fmt::format("{} is in {}", to_text(address), subnet.name);
        if (assign_port(guess, port, GuessConfidence::high, reason)) return;
      }
    }
  }

  // An address in the design's plan, but not among those of this host.
  void match_foreign_subnet(InterfaceGuess& guess) {
    for (const Ipv4 address : interface_of(guess).addresses) {
      for (const model::Subnet& subnet : cluster_.subnets()) {
        if (!subnet.prefix.contains(address)) continue;
        guess.fabric = subnet.fabric;
        guess.confidence = GuessConfidence::high;
        guess.reasons.push_back(fmt::format("{} is in {}, where this host has no port", to_text(address), subnet.name));
        return;
      }
    }
  }

  // Matches ports of a fabric without a known address to unclassified RDMA interfaces, both in bus order.
  void guess_by_order(model::FabricKind fabric) {
    std::vector<model::PortId> ports;
    for (const auto& [port, used] : taken_) {
      if (!used && cluster_.port(port).fabric == fabric) ports.push_back(port);
    }
    if (ports.empty()) return;
    const std::int64_t speed = cluster_.port(ports.front()).speed_mbps;
    std::vector<InterfaceGuess*> candidates;
    for (InterfaceGuess& guess : guesses_) {
      const config::HostInterface& interface = interface_of(guess);
      if (guess.fabric || is_bmc_interface(interface)) continue;
      const bool speed_fits =
          interface.speed_mbps == speed || (interface.speed_mbps == 0 && fabric == model::FabricKind::backend);
      const bool rdma_fits = fabric == model::FabricKind::frontend || !interface.rdma_device.empty();
      if (speed_fits && rdma_fits) candidates.push_back(&guess);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&](const InterfaceGuess* a, const InterfaceGuess* b) {
      const config::HostInterface& x = interface_of(*a);
      const config::HostInterface& y = interface_of(*b);
      return std::tie(x.numa, x.pci, x.name) < std::tie(y.numa, y.pci, y.name);
    });
    const auto confidence = candidates.size() == ports.size() ? GuessConfidence::medium : GuessConfidence::low;
    for (std::size_t i = 0; i < ports.size() && i < candidates.size(); ++i) {
      assign_port(
          *candidates[i], ports[i], confidence,
          fmt::format("{} of {} {}{} ports, ordered by NUMA node and bus address", i + 1, candidates.size(),
                      to_text(BitRate(speed * 1'000'000)), fabric == model::FabricKind::frontend ? "" : " RDMA"));
    }
  }

  void guess_by_properties(InterfaceGuess& guess) {
    if (guess.fabric) return;
    const config::HostInterface& interface = interface_of(guess);
    if (is_bmc_interface(interface)) {
      guess.reasons.push_back(fmt::format("driver {}: the management controller's own interface", interface.driver));
    } else if (interface.speed_mbps > 0 && interface.speed_mbps <= kGigabit) {
      guess.fabric = model::FabricKind::oob;
      guess.reasons.emplace_back("1 Gb/s or less");
    } else {
      guess.reasons.emplace_back(interface.state == "up" ? "not identified by address, neighbor or order" : "down");
    }
  }

  const model::Cluster& cluster_;
  model::DeviceId host_;
  const config::HostFacts& facts_;
  std::vector<InterfaceGuess> guesses_;
  std::vector<std::pair<model::PortId, bool>> taken_;
};

InterfaceGuess guess_alone(const config::HostFacts& facts, std::size_t index) {
  const config::HostInterface& interface = facts.interfaces[index];
  InterfaceGuess guess;
  guess.interface = index;
  if (is_bmc_interface(interface)) {
    guess.reasons.push_back(fmt::format("driver {}: the management controller's own interface", interface.driver));
  } else if (interface.default_route && interface.speed_mbps > kGigabit) {
    guess.fabric = model::FabricKind::frontend;
    guess.reasons.emplace_back("the default route uses it");
  } else if (interface.speed_mbps > 0 && interface.speed_mbps <= kGigabit) {
    guess.fabric = model::FabricKind::oob;
    guess.reasons.emplace_back("1 Gb/s or less");
  } else if (!interface.rdma_device.empty() && interface.speed_mbps > 0) {
    std::int64_t fastest = 0;
    for (const config::HostInterface& other : facts.interfaces) fastest = std::max(fastest, other.speed_mbps);
    const bool backend = interface.speed_mbps >= kFastAdapter && interface.speed_mbps == fastest;
    guess.fabric = backend ? model::FabricKind::backend : model::FabricKind::storage;
    guess.reasons.emplace_back(backend ? "RDMA at the host's highest speed" : "RDMA below the host's highest speed");
  } else if (interface.speed_mbps > kGigabit) {
    guess.fabric = model::FabricKind::frontend;
    guess.reasons.emplace_back("no RDMA");
  } else {
    guess.reasons.emplace_back("no link");
  }
  return guess;
}

}  // namespace

std::string_view to_text(GuessConfidence confidence) {
  static constexpr std::string_view kNames[] = {"certain", "high", "medium", "low"};
  return kNames[static_cast<std::size_t>(confidence)];
}

bool is_bmc_interface(const config::HostInterface& interface) {
  return interface.driver == "cdc_ether" || interface.driver == "rndis_host" || interface.driver == "cdc_ncm" ||
         interface.driver == "cdc_eem";
}

std::vector<InterfaceGuess> classify(const model::Cluster& cluster, model::DeviceId host,
                                     const config::HostFacts& facts, bool use_neighbors) {
  return Classifier(cluster, host, facts, use_neighbors).take();
}

std::vector<InterfaceGuess> classify(const config::HostFacts& facts) {
  std::vector<InterfaceGuess> guesses;
  for (std::size_t i = 0; i < facts.interfaces.size(); ++i) {
    if (facts.interfaces[i].physical && !facts.interfaces[i].virtual_function) guesses.push_back(guess_alone(facts, i));
  }
  return guesses;
}

}  // namespace weft::check
