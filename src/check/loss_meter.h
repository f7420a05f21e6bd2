// What is gone when some devices or cables fail together: servers, GPUs, bandwidth. A server is lost when it fails
// itself or when no link is left that joins it to the bulk of a data fabric it is on; it is degraded while some are.
// A question costs what it touches; only where switches may have been cut apart is the fabric's graph walked.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "check/fabric_graph.h"

namespace weft {

inline constexpr int kLevels = 4;
enum class Level : std::uint8_t { host, leaf, spine, way_out };  // host to leaf, leaf to spine, spine to core, outside
[[nodiscard]] std::string_view to_text(Level level);

struct Loss {
  std::int64_t servers = 0;
  std::int64_t gpus = 0;
  std::int64_t beyond = 0;     // of `servers`: those that did not fail themselves
  std::int64_t degraded = 0;   // servers that keep some of their links to each data fabric
  std::int64_t unmanaged = 0;  // devices still up whose out-of-band port leads nowhere
  // Percent of the bandwidth at each level; -1 where the fabric has no such level.
  std::array<std::array<double, kLevels>, kFabrics> left{};

  // At the level that is hit hardest; 100 when the fabric does not exist.
  [[nodiscard]] double left_of(FabricKind fabric) const;
  [[nodiscard]] std::tuple<std::int64_t, std::int64_t, std::int64_t, double, std::int64_t> weight() const;
};

class LossMeter {
 public:
  explicit LossMeter(const Cluster& cluster);

  Loss of(std::span<const DeviceId> failed, std::span<const CableId> cut = {});
  // Servers that the last question found lost, in no particular order.
  [[nodiscard]] std::span<const DeviceId> lost() const { return lost_servers_; }

  [[nodiscard]] const FabricGraph& graph(FabricKind fabric) const { return *graphs_[static_cast<std::size_t>(fabric)]; }
  // Cables that join a host to a fabric.
  [[nodiscard]] std::uint32_t links_of(DeviceId host, FabricKind fabric) const {
    return fitted_[index_of(host)][static_cast<std::size_t>(fabric)];
  }

 private:
  using Speeds = std::array<std::array<std::int64_t, kLevels>, kFabrics>;
  using Links = std::array<std::uint16_t, kFabrics>;

  [[nodiscard]] int level_of(const Cable& cable) const;
  void cut_cable(CableId id);
  void cut_detached(std::size_t fabric, std::span<const DeviceId> failed, std::span<const CableId> cut);
  void cut_hosts_of(DeviceId id, FabricKind fabric);
  void judge(DeviceId host, Loss& loss);

  const Cluster& cluster_;
  std::array<std::unique_ptr<FabricGraph>, kFabrics> graphs_;
  std::uint32_t question_ = 0;
  // Marks carry the number of the question instead of being cleared.
  std::vector<std::uint32_t> failed_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> cut_;
  std::vector<Links> gone_;
  std::vector<Links> fitted_;
  Speeds total_{};
  Speeds lost_{};
  std::vector<DeviceId> hit_;
  std::vector<DeviceId> lost_servers_;
};

[[nodiscard]] std::int64_t gpus_of(const Cluster& cluster, DeviceId id);

}  // namespace weft
