// Common to monitoring and acceptance: which fabrics are monitored and how, the limits that alerts and dashboards
// share, which hosts run Prometheus. Limits that follow from the design are computed here, once; published ones are
// constants with their source. Independent of file formats.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "render/core/target.h"

namespace weft::render::watch {

// GPU limits of the deployment guide ("The Enterprise AI Architect's Reality", critical DCGM metrics).
inline constexpr int kGpuBusyPercent = 70;    // below this for long: GPUs wait for storage or network
inline constexpr int kGpuMemoryPercent = 90;  // above: close to out of memory
inline constexpr int kNvlinkPercent = 50;     // of peak; below: collectives do not use NVLink
// Below the 87 to 95 C at which current boards throttle; gcm's health check uses the same value
// (facebookresearch.github.io/gcm, check-nvidia-smi gpu_temperature).
inline constexpr int kGpuCelsius = 85;
inline constexpr int kGpuMemoryCelsius = 95;

// Counters of RDMA ports: NVSentinel's defaults.
inline constexpr int kSymbolErrorsPerHour = 120;
inline constexpr int kSymbolErrorsPerSecond = 10;
inline constexpr int kLinkRecoveriesPerMinute = 5;
inline constexpr int kReceiveErrorsPerSecond = 10;
inline constexpr int kAckTimeoutsPerSecond = 1;
inline constexpr int kTransmitDiscardsPerSecond = 100;
inline constexpr int kSlowRestartsPerSecond = 10;
inline constexpr int kCarrierChanges = 2;

// A port that is paused for more than this share of the time is in a pause storm, not in a burst.
inline constexpr int kStormPercent = 10;
// IEEE 802.3 clause 91.5.3.3 and 119: RS(544,514) delivers 1e-12 up to a raw error ratio of 2.4e-4; a tenth of it
// indicates a failing cable or module.
inline constexpr std::string_view kRawErrorRatio = "2.4e-05";

inline constexpr int kPduPercent = 90;         // of its rating
inline constexpr int kCertificateDays = 14;    // before expiry
inline constexpr int kBlockLatencyMillis = 5;  // NVMe over Fabrics has a latency well under 1 ms
inline constexpr int kFileLatencyMillis = 50;  // NFS read or write
inline constexpr int kFilesystemPercent = 10;  // free
inline constexpr int kQueueWaitHours = 4;      // the queue has not been empty for this long
inline constexpr int kPendingPodMinutes = 15;

// Port numbers that weft chooses; each is the exporter's default
// (github.com/prometheus/prometheus/wiki/Default-port-allocations).
inline constexpr int kBlackboxPort = 9115;
inline constexpr int kSnmpExporterPort = 9116;
inline constexpr int kSonicExporterPort = 9101;
inline constexpr int kFrrExporterPort = 9342;
inline constexpr int kRedfishExporterPort = 9610;
inline constexpr int kIpmiExporterPort = 9290;
inline constexpr int kInfinibandExporterPort = 9683;
inline constexpr int kHaproxyMetricsPort = 8405;
inline constexpr int kScrapeProxyPort = 3128;  // forward proxy between frontend and storage, for port 9100 only

struct FabricWatch {
  model::FabricKind kind = model::FabricKind::backend;
  bool present = false;
  bool ethernet = true;
  bool lossless = false;  // PFC is on, so pauses and watchdogs are monitored
  std::int64_t priority = 0;
  std::int64_t ecn_percent = 0;  // 0 without ECN marking
  std::int64_t mtu = 1500;
  BitRate speed;  // of host ports
  std::string system;

  // Pause frames per second that stop a port for kStormPercent of the time, with the longest possible pause per frame.
  [[nodiscard]] std::int64_t storm_frames() const;
  // Payload of an echo request that fills the MTU: minus 20 bytes of IPv4, 8 of ICMP, and 4 of IPoIB (RFC 4391) if the
  // MTU is InfiniBand's.
  [[nodiscard]] std::int64_t ping_payload() const { return mtu - (ethernet ? 28 : 32); }
};

class Watch {
 public:
  explicit Watch(const RenderInput& input);

  [[nodiscard]] const FabricWatch& fabric(model::FabricKind kind) const {
    return fabrics_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const std::array<FabricWatch, model::kFabrics>& fabrics() const { return fabrics_; }
  // Hosts on the frontend that run Prometheus, Alertmanager and Grafana: at most three control-plane hosts.
  [[nodiscard]] const std::vector<model::DeviceId>& stations() const { return stations_; }
  // Jump hosts: they monitor the out-of-band network from inside, because there is no route into it.
  [[nodiscard]] const std::vector<model::DeviceId>& lifeline() const { return input_.plan.jump_hosts(); }
  [[nodiscard]] Ipv4 lifeline_address(model::DeviceId jump) const;
  // A server on both frontend and storage that proxies scrapes to storage servers without a frontend port.
  [[nodiscard]] model::DeviceId storage_bridge() const { return storage_bridge_; }

  [[nodiscard]] const model::Cluster& cluster() const { return input_.cluster; }
  [[nodiscard]] const RenderPlan& plan() const { return input_.plan; }
  [[nodiscard]] std::string unit_name(model::DeviceId device) const;  // "train-u001"; "" outside units
  [[nodiscard]] std::string rack_name(model::DeviceId device) const;
  // Sessions that a switch has with other switches of its fabric: one per link between tiers.
  [[nodiscard]] std::uint32_t designed_sessions(model::DeviceId network_switch) const;
  // Regular expression for the training pools: "train|other"; names consist of letters, digits and ._- (dots are
  // escaped).
  [[nodiscard]] std::string training_pools() const;

 private:
  void find_hosts();

  const RenderInput& input_;
  std::array<FabricWatch, model::kFabrics> fabrics_;
  std::vector<model::DeviceId> stations_;
  model::DeviceId storage_bridge_ = model::kNone<model::DeviceId>;
};

[[nodiscard]] Ipv4 first_address(const model::Cluster& cluster, model::DeviceId device, model::FabricKind fabric);

}  // namespace weft::render::watch
