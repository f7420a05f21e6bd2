// What a design has decided: which models, and how many of each. The choices fill it in (design_choices.h), sizes
// follow from a number of servers, and the cluster file is written from it (design_file.h). Only for the designer: the
// names here are its own words.
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

// How cages of a switch run at a speed; `best` is what a file gets that asks for nothing.
struct Mode {
  const model::CageGroup* cages;
  model::Breakout breakout;
  bool best;

  [[nodiscard]] std::int64_t ports() const { return *cages->count * breakout.ports; }
};

// A subnet manager and how a leaf takes it.
struct Manager {
  std::string_view server;
  Mode mode;
};

// Everything the file will say.
struct Plan {
  DesignRequest request;
  const model::GpuModel* gpu = nullptr;
  const model::ServerModel* server = nullptr;
  const model::SwitchModel* backend_leaf = nullptr;
  const model::SwitchModel* storage_leaf = nullptr;
  const model::SwitchModel* frontend_leaf = nullptr;
  const model::SwitchModel* large_frontend = nullptr;  // for many hosts, at 100G; null where it cannot be cabled
  const model::SwitchModel* oob_leaf = nullptr;
  const model::SwitchModel* oob_spine = nullptr;  // null: the default
  const model::ServerModel* storage_server = nullptr;
  std::optional<model::Breakout> backend_breakout;
  std::optional<BitRate> backend_uplink;
  std::optional<Manager> backend_manager;  // none where no leaf takes one
  std::optional<Manager> storage_manager;
  std::string without_managers;  // why they were left out
  model::NetworkKind storage_network = model::NetworkKind::ethernet;
  std::int64_t servers = 0;
  std::int64_t training = 0;
  std::int64_t inference = 0;
  std::int64_t heads = 0;  // split profile: what mounts storage for the GPU servers
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

// The plan for so many servers, its models chosen before.
[[nodiscard]] Plan size_plan(const model::Catalog& catalog, Plan plan, std::int64_t servers);

}  // namespace weft::design
