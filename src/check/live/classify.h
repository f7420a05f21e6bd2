// Infers the fabric and the port of the model for each interface of a host. Interface names do not identify them
// (ens1f0np0), so addresses, neighbors, RDMA, speed and bus order are used.
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
  std::optional<model::FabricKind> fabric;           // nothing: on no fabric
  model::PortId port = model::kNone<model::PortId>;  // of the host; none when only the fabric is known
  GuessConfidence confidence = GuessConfidence::low;
  std::vector<std::string> reasons;
};

// One guess for each physical interface that is not a virtual function, in their order. An LLDP neighbor is certain, an
// address in a subnet of the design high; RDMA ports of the right speed in bus order are medium when they are as many
// as planned, else low. `use_neighbors` is false when looking for wrong cables: a neighbor shows where the
// cable goes, not which port it was meant to be.
[[nodiscard]] std::vector<InterfaceGuess> classify(const model::Cluster& cluster, model::DeviceId host,
                                                   const config::HostFacts& facts, bool use_neighbors = true);
// Without a cluster: by RDMA, speed and default route, always low.
[[nodiscard]] std::vector<InterfaceGuess> classify(const config::HostFacts& facts);

// Management controllers show themselves to their host as a network card on USB.
[[nodiscard]] bool is_bmc_interface(const config::HostInterface& interface);

}  // namespace weft::check
