// Maps names used by devices, kernels and subnet managers to ids of the model.
//
// InfiniBand numbers the ports of a switch from 1 across all cages: a cage counts as many ports as its breakout mode
// has, an uncabled cage as many as at the vendor's radix. On a QM9700 (32 cages, 64 ports) port n is thus breakout port
// (n - 1) % 2 of cage (n - 1) / 2. Adapters are numbered across the InfiniBand ports of a host: mlx5_3 and HCA-4 are
// the fourth, backend ports first, unless the host's facts state which interface has that RDMA device.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "check/live/classify.h"
#include "config/config_set.h"
#include "model/cluster.h"

namespace weft::check {

struct LiveEnd {
  model::DeviceId device = model::kNone<model::DeviceId>;
  model::PortId port = model::kNone<model::PortId>;
  std::string system;     // as reported
  std::string name;       // of the port, as reported
  bool inferred = false;  // the port was inferred from the other end
};

// A host with facts, and its interfaces classified without cabling.
struct LiveHost {
  const config::HostFacts* facts = nullptr;
  model::DeviceId device = model::kNone<model::DeviceId>;
  std::vector<InterfaceGuess> guesses;
};

class LiveNames {
 public:
  LiveNames(const model::Cluster& cluster, const config::ConfigSet& config);

  [[nodiscard]] const std::vector<LiveHost>& hosts() const { return hosts_; }
  // With or without a domain, case-insensitive; `given` (from DEVICE=PATH) has precedence.
  [[nodiscard]] model::DeviceId device(std::string_view system) const;
  [[nodiscard]] model::DeviceId device_of_file(FileId file, std::string_view system) const;
  // The cabled port that the first matching name refers to: an interface, a description, a MAC address.
  [[nodiscard]] model::PortId port(model::DeviceId device, std::initializer_list<std::string_view> names) const;
  [[nodiscard]] LiveEnd infiniband_end(const config::IbEnd& end) const;

 private:
  void index_addresses(const LiveHost& host);
  [[nodiscard]] model::PortId switch_port(model::DeviceId device, int number) const;
  [[nodiscard]] model::PortId adapter_port(model::DeviceId device, std::string_view adapter, int port) const;

  const model::Cluster& cluster_;
  const config::ConfigSet& config_;
  std::vector<LiveHost> hosts_;
  std::map<std::pair<model::DeviceId, std::string>, model::PortId, std::less<>> interfaces_;  // also by RDMA device
  std::unordered_map<std::string, model::PortId> by_mac_;
  mutable std::unordered_map<std::uint32_t, std::vector<model::PortId>> numbered_;  // ports of InfiniBand switches
};

}  // namespace weft::check
