// The decisions of a design: which models, and how many of each. design_choices.h selects the models, sizes follow from
// the number of servers, and the cluster file is written from the plan (design_file.h). Internal to the designer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "design/designer.h"
#include "design/sizing.h"
#include "model/cluster.h"

namespace weft::design {

inline constexpr std::string_view kLoginServer = "login-1u";
inline constexpr std::string_view kControlServer = "control-1u";
inline constexpr std::string_view kPdu = "pdu-35kw";
inline constexpr std::int64_t kDefaultRowLength = 16;  // site.row_length

[[nodiscard]] inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

[[nodiscard]] inline Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

[[nodiscard]] inline std::string rate_text(Bytes per_second) { return about(per_second) + "/s"; }

// How cages of a switch run at a speed; `best` marks the mode that a file gets by default.
struct Mode {
  const model::CageGroup* cages;
  model::Breakout breakout;
  bool best;

  [[nodiscard]] std::int64_t ports() const { return *cages->count * breakout.ports; }
};

// A subnet manager and its mode on a leaf.
struct Manager {
  std::string_view server;
  Mode mode;
};

// The contents of the file.
struct Plan {
  DesignRequest request;
  const model::GpuModel* gpu = nullptr;
  const model::ServerModel* server = nullptr;
  const model::SwitchModel* backend_leaf = nullptr;
  const model::SwitchModel* storage_leaf = nullptr;
  const model::SwitchModel* frontend_leaf = nullptr;
  const model::SwitchModel* large_frontend = nullptr;  // for many hosts, at 100G; null if it cannot be cabled
  const model::SwitchModel* oob_leaf = nullptr;
  const model::SwitchModel* oob_spine = nullptr;  // null: the default
  const model::ServerModel* storage_server = nullptr;
  std::optional<model::Breakout> backend_breakout;
  std::optional<BitRate> backend_uplink;
  std::optional<Manager> backend_manager;  // none if no leaf supports one
  std::optional<Manager> storage_manager;
  std::string without_managers;  // why they were omitted
  model::NetworkKind storage_network = model::NetworkKind::ethernet;
  std::int64_t servers = 0;
  std::int64_t training = 0;
  std::int64_t inference = 0;
  std::int64_t heads = 0;  // split profile: head nodes, which mount storage for the GPU servers
  std::int64_t data_servers = 0;
  std::int64_t checkpoint_servers = 0;
  ThroughputNeed target;
  Bytes checkpoint;
  std::int64_t per_rack = 0;  // 0: as height and power allow
  std::int64_t pdus_per_rack = 2;
  std::int64_t racks = 0;  // of GPU servers
  std::int64_t row_length = kDefaultRowLength;
  bool row_switches = false;
  std::int64_t service_racks = 0;  // 0: the default
  std::string mig_profile;
  std::int64_t mig_count = 0;

  [[nodiscard]] std::int64_t gpus() const { return servers * *server->gpus; }
  [[nodiscard]] std::int64_t frontend_hosts() const { return (heads > 0 ? heads : servers) + 5; }
};

// Sizes the plan for this number of servers; the models must have been chosen.
[[nodiscard]] Plan size_plan(const model::Catalog& catalog, Plan plan, std::int64_t servers);

}  // namespace weft::design
