#include "design/design_plan.h"

#include <algorithm>
#include <cmath>

namespace weft::design {

namespace {

constexpr std::int64_t kManyFrontendHosts = 1'400;

// Rounded up to two digits: a planning figure, not a measurement.
Bytes round_up(Bytes value) {
  std::int64_t unit = 1;
  while (value.count() / unit >= 100) unit *= 10;
  return Bytes(divide_up(value.count(), unit) * unit);
}

void size_storage(Plan& plan) {
  constexpr std::int64_t kCheckpointSeconds = 90;  // workload.checkpoint_time
  const auto needs = storage_needs(plan.gpus(), plan.servers, plan.request.data);
  Bytes checkpoint_rate;
  for (const ThroughputNeed& need : needs) {
    if (need.source.find("table 6") != std::string::npos) plan.target = need;
    if (need.rule.find("checkpoint") != std::string::npos) checkpoint_rate = need.write;
  }
  plan.checkpoint = round_up(checkpoint_rate * kCheckpointSeconds);
  plan.target.write = std::max(plan.target.write, plan.checkpoint / kCheckpointSeconds);
  const model::ServerModel& server = *plan.storage_server;
  // At least two of each: a system with one server is a single point of failure.
  const auto enough = [](Bytes wanted, Bytes each) {
    return std::max<std::int64_t>(2, divide_up(wanted.count(), each.count()));
  };
  plan.data_servers = enough(plan.target.read, server.read->per_second);
  plan.checkpoint_servers = enough(plan.target.write, server.write->per_second);
}

void size_floor(const model::Catalog& catalog, Plan& plan) {
  const model::PduModel* pdu = catalog.pdu(kPdu);
  const model::RackModel* rack = catalog.rack(model::SiteSpec{}.rack.value);
  const Power rating = pdu == nullptr ? watts(17'000) : std::max(*pdu->rating, watts(1));
  const Power each = std::max(*plan.server->power, watts(1));
  const std::int64_t height = (rack == nullptr ? 48 : *rack->height) / *plan.server->height;
  std::int64_t per_rack = std::clamp<std::int64_t>(rating / each, 1, std::max<std::int64_t>(1, height));
  const bool rack_scale = plan.server->nvlink_domain.has_value() && *plan.server->nvlink_domain > *plan.server->gpus;
  if (rack_scale) {
    // An NVLink domain is in one rack, with enough PDUs that half of them can carry it.
    per_rack = *plan.server->nvlink_domain / *plan.server->gpus;
    plan.per_rack = per_rack;
    plan.pdus_per_rack = std::min<std::int64_t>(8, 2 * divide_up((each * per_rack).count(), rating.count()));
  }
  plan.racks = divide_up(plan.training, per_rack) + divide_up(plan.inference, per_rack);
  // Copper and short-reach optics span four rows; beyond that, leaves are placed end-of-row, and rows get longer so
  // that the floor stays about square (racks 0.6 m wide, rows 3 m apart).
  plan.row_switches = plan.racks > 4 * kDefaultRowLength;
  if (plan.row_switches) {
    const auto square = static_cast<std::int64_t>(std::sqrt(5.0 * static_cast<double>(plan.racks)));
    plan.row_length = std::clamp<std::int64_t>(square / 4 * 4, kDefaultRowLength, 64);
  }
}

void size_pools(Plan& plan) {
  const std::int64_t percent = plan.request.inference_percent;
  plan.inference = (plan.servers * percent + 50) / 100;
  // Each requested role gets at least one server if there are two.
  if (plan.servers > 1 && percent > 0) plan.inference = std::max<std::int64_t>(1, plan.inference);
  if (plan.servers > 1 && percent < 100) plan.inference = std::min(plan.inference, plan.servers - 1);
  plan.training = plan.servers - plan.inference;
  plan.heads =
      plan.request.profile == model::Profile::split ? std::max<std::int64_t>(2, divide_up(plan.servers, 16)) : 0;
  if (plan.inference > 0 && plan.gpu->mig.has_value()) {
    for (const model::MigProfile& profile : *plan.gpu->mig) {
      std::int64_t count = 0;
      while (place_mig(*plan.gpu, {{*profile.name, count + 1}}).fits) ++count;
      if (count <= plan.mig_count) continue;
      plan.mig_count = count;
      plan.mig_profile = *profile.name;
    }
  }
}

// Every leaf of the frontend reaches every spine, so the spine's radix limits its size: 64 ports of 100G serve about
// 1,500 servers at 3:1. Larger leaves with 400G uplinks serve about 24,000.
void size_frontend(Plan& plan) {
  if (plan.frontend_hosts() > kManyFrontendHosts && plan.large_frontend != nullptr) {
    plan.frontend_leaf = plan.large_frontend;
  }
}

// Uplinks of end-of-row leaves are longer than the reach of 25G optics over split fiber.
void size_oob(const model::Catalog& catalog, Plan& plan) {
  const model::SwitchModel* leaf = catalog.switch_model("nexus-9348gc-fx3");
  const model::SwitchModel* spine = catalog.switch_model("nexus-9364c-gx");
  if (!plan.row_switches || leaf == nullptr || spine == nullptr || *plan.backend_leaf->vendor == *leaf->vendor) return;
  plan.oob_leaf = leaf;
  plan.oob_spine = spine;
}

}  // namespace

Plan size_plan(const model::Catalog& catalog, Plan plan, std::int64_t servers) {
  plan.servers = servers;
  size_pools(plan);
  size_storage(plan);
  size_floor(catalog, plan);
  size_frontend(plan);
  size_oob(catalog, plan);
  return plan;
}

}  // namespace weft::design
