// Loss of servers, GPUs and bandwidth when some devices or cables fail together. A server is lost if it fails itself or
// if no link connects it to the main part of a data fabric it is on; it is degraded while some links are left. The cost
// of a query is proportional to the devices affected; the fabric's graph is traversed only if switches may have been
// disconnected.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "design/fabric_graph.h"

namespace weft::design {

inline constexpr int kLevels = 4;
enum class Level : std::uint8_t { host, leaf, spine, way_out };  // host to leaf, leaf to spine, spine to core, outside
[[nodiscard]] std::string_view to_text(Level level);

// Bandwidth of one level of a fabric, in bit/s.
struct LevelLoss {
  std::int64_t lost = 0;
  std::int64_t total = 0;

  [[nodiscard]] bool exists() const { return total > 0; }
  [[nodiscard]] double left_percent() const;  // 100 if the fabric has no such level
  [[nodiscard]] double lost_percent() const;
};

struct Loss {
  std::int64_t servers = 0;
  std::int64_t gpus = 0;
  std::int64_t beyond = 0;             // of `servers`: those that did not fail themselves
  std::int64_t degraded = 0;           // servers that keep some of their links to each data fabric
  std::int64_t unmanaged = 0;          // devices still up whose out-of-band port is disconnected
  std::int64_t unmanaged_servers = 0;  // servers among those
  std::array<std::array<LevelLoss, kLevels>, model::kFabrics> levels{};

  // At the level with the largest loss; 100 if the fabric does not exist.
  [[nodiscard]] double left_of(model::FabricKind fabric) const;
  [[nodiscard]] double lost_of(model::FabricKind fabric) const;
  // Orders losses: greater is worse.
  [[nodiscard]] std::tuple<std::int64_t, std::int64_t, std::int64_t, double, std::int64_t> weight() const;
};

class LossMeter {
 public:
  explicit LossMeter(const model::Cluster& cluster);

  Loss measure_loss(std::span<const model::DeviceId> failed, std::span<const model::CableId> cut = {});
  // Servers that the last measure_loss() found lost, in no particular order.
  [[nodiscard]] std::span<const model::DeviceId> lost() const { return lost_servers_; }

  [[nodiscard]] const FabricGraph& graph(model::FabricKind fabric) const {
    return *graphs_[static_cast<std::size_t>(fabric)];
  }
  // Cables that join a host to a fabric.
  [[nodiscard]] std::uint32_t links_of(model::DeviceId host, model::FabricKind fabric) const {
    return fitted_[model::index_of(host)][static_cast<std::size_t>(fabric)];
  }

 private:
  using Speeds = std::array<std::array<std::int64_t, kLevels>, model::kFabrics>;
  using Links = std::array<std::uint16_t, model::kFabrics>;

  [[nodiscard]] int level_of(const model::Cable& cable) const;
  void cut_cable(model::CableId id);
  void cut_detached(std::size_t fabric, std::span<const model::DeviceId> failed, std::span<const model::CableId> cut);
  void cut_hosts_of(model::DeviceId id, model::FabricKind fabric);
  void measure_host(model::DeviceId host, Loss& loss);

  const model::Cluster& cluster_;
  std::array<std::unique_ptr<FabricGraph>, model::kFabrics> graphs_;
  std::uint32_t question_ = 0;
  // Marks hold the number of the query, so they need not be cleared.
  std::vector<std::uint32_t> failed_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> cut_;
  std::vector<Links> gone_;
  std::vector<Links> fitted_;
  Speeds total_{};
  Speeds lost_{};
  std::vector<model::DeviceId> hit_;
  std::vector<model::DeviceId> lost_servers_;
};

}  // namespace weft::design
