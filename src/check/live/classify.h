// Infers the fabric and the port of the model for each interface of a host. Interface names (ens1f0np0) do not identify
// them, so addresses, neighbors, RDMA, speed and bus order are used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/live_facts.h"
#include "model/cluster.h"

namespace weft::check {

enum class GuessConfidence : std::uint8_t { certain, high, medium, low };
[[nodiscard]] std::string_view to_text(GuessConfidence confidence);

struct InterfaceGuess {
  std::size_t interface = 0;                         // index into HostFacts::interfaces
  std::optional<model::FabricKind> fabric;           // nullopt: on no fabric
  model::PortId port = model::kNone<model::PortId>;  // of the host; none if only the fabric is known
  GuessConfidence confidence = GuessConfidence::low;
  std::vector<std::string> reasons;
};

// One guess per physical interface that is not a virtual function, in the same order. An LLDP neighbor gives confidence
// certain, an address in a subnet of the design high; RDMA ports of the right speed in bus order give medium if their
// number is as planned, else low. `use_neighbors` is false when searching for miswired cables: a neighbor shows where
// the cable goes, not which port it was meant for.
[[nodiscard]] std::vector<InterfaceGuess> classify(const model::Cluster& cluster, model::DeviceId host,
                                                   const config::HostFacts& facts, bool use_neighbors = true);
// Without a cluster: by RDMA, speed and default route, with low confidence.
[[nodiscard]] std::vector<InterfaceGuess> classify(const config::HostFacts& facts);

// BMCs appear to their host as a USB network interface.
[[nodiscard]] bool is_bmc_interface(const config::HostInterface& interface);

}  // namespace weft::check
