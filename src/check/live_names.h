// From the names that devices, kernels and subnet managers use to the ids of the model.
//
// InfiniBand numbers the ports of a switch from 1 through all cages: a cage counts as many as the mode it is used in
// has pieces, and one that is not cabled as many as at the vendor's radix. On a QM9700 (32 cages, 64 ports) port n is
// thus piece (n - 1) % 2 of cage (n - 1) / 2. Adapters count through the InfiniBand ports of a host: mlx5_3 and HCA-4
// are the fourth, backend ports first, unless the host's facts say which interface has that RDMA device.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "check/live_classify.h"
#include "config/config_set.h"
#include "model/cluster.h"

namespace weft {

struct LiveEnd {
  DeviceId device = kNone<DeviceId>;
  PortId port = kNone<PortId>;
  std::string system;     // as reported
  std::string name;       // of the port, as reported
  bool inferred = false;  // the port was worked out from the other end
};

// A host that handed in facts, and what its interfaces are without looking at cables.
struct LiveHost {
  const HostFacts* facts = nullptr;
  DeviceId device = kNone<DeviceId>;
  std::vector<InterfaceGuess> guesses;
};

class LiveNames {
 public:
  LiveNames(const Cluster& cluster, const ConfigSet& config);

  [[nodiscard]] const std::vector<LiveHost>& hosts() const { return hosts_; }
  // With or without a domain, in any case; `given` (of DEVICE=PATH) goes before it.
  [[nodiscard]] DeviceId device(std::string_view system) const;
  [[nodiscard]] DeviceId device_of_file(FileId file, std::string_view system) const;
  // The first of these names that means a cabled port: an interface, a description, a MAC address.
  [[nodiscard]] PortId port(DeviceId device, std::initializer_list<std::string_view> names) const;
  [[nodiscard]] LiveEnd infiniband_end(const IbEnd& end) const;

 private:
  void learn(const LiveHost& host);
  [[nodiscard]] PortId switch_port(DeviceId device, int number) const;
  [[nodiscard]] PortId adapter_port(DeviceId device, std::string_view adapter, int port) const;

  const Cluster& cluster_;
  const ConfigSet& config_;
  std::vector<LiveHost> hosts_;
  std::map<std::pair<DeviceId, std::string>, PortId, std::less<>> interfaces_;  // also by RDMA device
  std::unordered_map<std::string, PortId> by_mac_;
  mutable std::unordered_map<std::uint32_t, std::vector<PortId>> numbered_;  // ports of InfiniBand switches
};

}  // namespace weft
