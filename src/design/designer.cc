#include "design/designer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "design/design_choices.h"
#include "design/design_file.h"
#include "design/design_plan.h"
#include "model/server_ports.h"

namespace weft::design {

namespace {

constexpr std::int64_t kMaxGpus = 2'000'000;

struct Built {
  std::string yaml;
  std::shared_ptr<const model::Cluster> cluster;
  std::string diagnostics;
  std::string first_error;
};

// Parses the text and compiles it, as a user would.
Built build_once(const Plan& plan, const std::shared_ptr<const model::Catalog>& catalog) {
  Built built;
  built.yaml = write_file_text(plan);
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("design.yaml", built.yaml);
  if (const auto root = parse_yaml(sources, file, diagnostics)) {
    if (auto spec = model::read_spec(*root, diagnostics)) {
      model::resolve(*spec, *catalog, diagnostics);
      if (!diagnostics.has_errors()) built.cluster = model::compile(std::move(*spec), catalog, diagnostics);
    }
  }
  if (built.cluster == nullptr || diagnostics.has_errors()) {
    built.cluster = nullptr;
    built.diagnostics = render_all(diagnostics, sources, false);
    for (const Diagnostic& diagnostic : diagnostics.sorted()) {
      if (diagnostic.severity == Severity::error && built.first_error.empty()) built.first_error = diagnostic.message;
    }
  }
  return built;
}

// Number of central racks that switches and small pools need for their power with one feed lost; nullopt if the built
// number is enough. Racks are filled round-robin, so the fullest may exceed the mean by one device.
std::optional<std::int64_t> more_service_racks(const model::Cluster& cluster) {
  Power drawn;
  Power limit;
  Power largest;
  std::int64_t racks = 0;
  bool overloaded = false;
  for (std::size_t i = 0; i < cluster.racks().size(); ++i) {
    const model::Rack& rack = cluster.racks()[i];
    if (rack.pool >= 0 || rack.name.rfind("svc-", 0) != 0) continue;
    ++racks;
    drawn += rack.power;
    limit = rack.limit;
    overloaded = overloaded || rack.power > rack.limit;
    for (const model::DeviceId id : cluster.devices_in(static_cast<model::RackId>(i))) {
      const model::DeviceGroup& group = cluster.group_of(id);
      if (group.network_switch != nullptr) largest = std::max(largest, *group.network_switch->power);
    }
  }
  if (!overloaded || limit <= largest) return std::nullopt;
  return std::max(racks + 1, divide_up(drawn.count(), (limit - largest).count()));
}

// Builds, then fixes problems that only the built cluster shows: too few service racks, or no free port (or no
// reachable one) for subnet managers.
Built build(Plan& plan, const std::shared_ptr<const model::Catalog>& catalog) {
  Built built = build_once(plan, catalog);
  for (std::optional<Manager> Plan::*manager : {&Plan::backend_manager, &Plan::storage_manager}) {
    if (built.cluster != nullptr || !(plan.*manager)) continue;
    if (plan.without_managers.empty()) plan.without_managers = built.first_error;
    (plan.*manager).reset();
    built = build_once(plan, catalog);
  }
  constexpr int kTries = 4;
  for (int i = 0; i < kTries && built.cluster != nullptr; ++i) {
    const auto racks = more_service_racks(*built.cluster);
    if (!racks) break;
    Plan wider = plan;
    wider.service_racks = *racks;
    Built next = build_once(wider, catalog);
    if (next.cluster == nullptr) break;
    plan = std::move(wider);
    built = std::move(next);
  }
  return built;
}

Error not_buildable(const Plan& plan, const Built& built) {
  return invalid(fmt::format("{} servers of {} cannot be built this way:\n{}", plan.servers, plan.server->id->text,
                             built.diagnostics));
}

// The largest cluster within the power budget. Power grows with the count, so this is a bisection between a size that
// fits and one that does not; the next guess uses the last size's power per server, which converges in a few steps.
// Every step compiles a whole cluster.
Result<Plan> fit_power(const Plan& start, const std::shared_ptr<const model::Catalog>& catalog) {
  const Power budget = *start.request.power;
  std::int64_t fits = 0;
  std::int64_t too_many = std::min(budget / *start.server->power, kMaxGpus / *start.server->gpus) + 1;
  std::int64_t guess = std::max<std::int64_t>(1, (too_many - 1) * 4 / 5);
  std::optional<Plan> best;
  Power least;
  while (too_many - fits > 1) {
    guess = std::clamp(guess, fits + 1, too_many - 1);
    Plan plan = size_plan(*catalog, start, guess);
    const Built built = build(plan, catalog);
    if (built.cluster == nullptr) return not_buildable(plan, built);
    const Power power = built.cluster->total_power();
    const std::int64_t scaled = multiply_divide(guess, budget.count(), std::max<std::int64_t>(1, power.count()));
    if (power <= budget) {
      fits = guess;
      best = plan;
      guess = std::max(scaled, guess + 1);
    } else {
      too_many = guess;
      if (guess == 1) least = power;
      guess = std::min(scaled, guess - 1);
    }
    // A guess near the end of a wide interval gains little: use the middle instead.
    if (too_many - fits > 8 && (guess <= fits + 1 || guess >= too_many - 1)) guess = fits + (too_many - fits) / 2;
  }
  if (best) return *best;
  if (least.count() == 0) {
    return invalid(fmt::format("{} is less than the power of one {} ({})", about(budget), start.server->id->text,
                               about(*start.server->power)));
  }
  return invalid(
      fmt::format("one server with its fabrics and storage draws {}, more than {}", about(least), about(budget)));
}

Status check_request(const DesignRequest& request) {
  const int sizes = (request.gpus ? 1 : 0) + (request.servers ? 1 : 0) + (request.power ? 1 : 0);
  if (sizes != 1) return invalid("set the size with exactly one of GPUs, servers or power");
  if (request.gpus && *request.gpus < 1) return invalid(fmt::format("{} GPUs: at least 1 required", *request.gpus));
  if (request.servers && *request.servers < 1)
    return invalid(fmt::format("{} servers: at least 1 required", *request.servers));
  if (request.power && request.power->count() < 1) return invalid("the power must be positive");
  if (request.gpus && *request.gpus > kMaxGpus) {
    return invalid(fmt::format("{} GPUs: the maximum is {}", *request.gpus, kMaxGpus));
  }
  if (request.inference_percent < 0 || request.inference_percent > 100) {
    return invalid(fmt::format("{} % inference: must be between 0 and 100", request.inference_percent));
  }
  if (request.planes < 1 || request.planes > 4)
    return invalid(fmt::format("{} planes: must be between 1 and 4", request.planes));
  const bool named = !request.name.empty() && request.name.size() <= 63 &&
                     std::all_of(request.name.begin(), request.name.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                              c == '_' || c == '.';
                     });
  if (!named)
    return invalid(
        fmt::format("{} is not a valid name: use letters, digits, '-', '_' and '.'", in_backticks(request.name)));
  return {};
}

std::vector<std::string> notes_on(const Plan& plan, const model::Cluster& cluster) {
  std::vector<std::string> out;
  const DesignRequest& request = plan.request;
  out.push_back(fmt::format("{} of {} ({} GPUs), {} racks, {}", plural(plan.servers, "server", "servers"),
                            plan.server->id->text, plan.gpus(), cluster.racks().size(), about(cluster.total_power())));
  if (request.gpus && plan.gpus() != *request.gpus) {
    out.push_back(fmt::format("{} GPUs are not a multiple of {} per server: rounded up to {}", *request.gpus,
                              *plan.server->gpus, plan.gpus()));
  }
  if (request.power) {
    out.push_back(fmt::format("one more server would exceed {}", about(*request.power)));
  }
  const model::FabricPlan& backend = cluster.fabric(model::FabricKind::backend);
  std::string switches = plural(backend.leaves, "leaf", "leaves");
  if (backend.spines > 0) switches += ", " + plural(backend.spines, "spine", "spines");
  if (backend.cores > 0) switches += ", " + plural(backend.cores, "core", "cores");
  out.push_back(fmt::format("backend: {} ({}), {} at the leaves", switches, plan.backend_leaf->id->text,
                            to_text(backend.oversubscription)));
  out.push_back(fmt::format("storage for data class {}: {} read, {} write with checkpoints of {}",
                            model::text_of(request.data), rate_text(plan.target.read), rate_text(plan.target.write),
                            about(plan.checkpoint)));
  if (!plan.without_managers.empty()) {
    out.push_back(fmt::format("no dedicated subnet manager: run it on a switch, or change the blocking setting ({})",
                              plan.without_managers));
  }
  const Ratio& ratio = request.oversubscription;
  if (ratio.numerator > 2 * ratio.denominator) {
    out.push_back(fmt::format("{} is more than the 2:1 that all-reduce tolerates", to_text(ratio)));
  }
  if (model::port_count(*plan.server, model::PortUse::storage) == 0) {
    out.push_back(
        fmt::format("{} has no storage ports: its GPUs have no access to the storage fabric", plan.server->id->text));
  }
  if (*plan.oob_leaf->vendor == *plan.backend_leaf->vendor) {
    out.emplace_back("the out-of-band switches share their vendor with the backend");
  }
  return out;
}

}  // namespace

Result<DesignAnswer> design_cluster(const DesignRequest& request,
                                    const std::shared_ptr<const model::Catalog>& catalog) {
  if (const Status status = check_request(request); !status.ok()) return status.error();
  Plan plan;
  plan.request = request;
  if (const Status status = choose_models(*catalog, plan); !status.ok()) return status.error();
  if (request.power) {
    auto fitted = fit_power(plan, catalog);
    if (!fitted.ok()) return fitted.error();
    plan = std::move(*fitted);
  } else {
    const std::int64_t servers = request.servers ? *request.servers : divide_up(*request.gpus, *plan.server->gpus);
    if (servers > kMaxGpus / *plan.server->gpus) {
      return invalid(
          fmt::format("{} servers of {} GPUs each: the maximum is {} GPUs", servers, *plan.server->gpus, kMaxGpus));
    }
    plan = size_plan(*catalog, std::move(plan), servers);
  }
  const Built built = build(plan, catalog);
  if (built.cluster == nullptr) return not_buildable(plan, built);
  return DesignAnswer{built.yaml, notes_on(plan, *built.cluster), built.cluster};
}

}  // namespace weft::design
