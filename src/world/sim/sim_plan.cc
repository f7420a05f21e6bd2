#include "world/sim/sim_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.h"

namespace weft::world {
namespace {

constexpr std::uint32_t kMaxJobTasks = 6;
constexpr std::int64_t sched::Amounts::*kParts[] = {&sched::Amounts::gpu_milli, &sched::Amounts::cpu,
                                                    &sched::Amounts::memory_mib};

}  // namespace

std::string sim_user(std::string_view tenant) { return fmt::format("{}-user", tenant); }

std::shared_ptr<const sched::Machine> draw_machine(Choices& choices) {
  const std::uint32_t count = 4 + choices.choose("shape", 12);
  const std::uint32_t per_rack = 2 + choices.choose("shape", 3);
  const std::int32_t gpus = 1 << choices.choose("shape", 4);
  std::vector<sched::NodeShape> nodes;
  std::vector<sched::NodeLabels> labels;
  for (std::uint32_t n = 0; n < count; ++n) {
    sched::NodeShape shape;
    shape.name = fmt::format("n{:02}", n);
    shape.cpu = 64'000;
    shape.memory_mib = 1 << 20;
    shape.gpus = gpus;
    shape.model = 0;
    nodes.push_back(shape);
    labels.push_back({{}, fmt::format("r{:02}", n / per_rack), "l1", "p1"});
  }
  Result<sched::Machine> machine = sched::Machine::build(std::move(nodes), labels, {"gpu"}, {"pool"});
  CHECK(machine.ok(), "the simulated machine is valid");
  return std::make_shared<const sched::Machine>(std::move(*machine));
}

std::vector<sched::TenantPolicy> sim_tenants(const sched::Machine& machine) {
  const auto gpus = [&](std::int64_t nodes) {
    return sched::Amounts{nodes * machine.nodes()[0].gpus * sched::kWholeGpu, sched::kNoLimit, sched::kNoLimit};
  };
  return {{std::string(kSimTenants[0]), "all", gpus(2), gpus(kMaxJobTasks - 2), sched::kNoLimits, 1},
          {std::string(kSimTenants[1]), "all", gpus(kMaxJobTasks + 2), gpus(0), gpus(kMaxJobTasks - 2), 2}};
}

control::Request draw_submission(Choices& choices, const sched::Machine& machine, std::uint32_t index,
                                 std::vector<std::uint32_t>& keys) {
  const auto nodes = static_cast<std::uint32_t>(machine.nodes().size());
  const std::int32_t gpus = machine.nodes()[0].gpus;
  control::Request request;
  sched::Job& shape = request.spec.shape;
  const std::size_t tenant = choices.choose("jobs", 2);
  keys.resize(std::size(kSimTenants));
  shape.tenant = kSimTenants[tenant];
  shape.name = fmt::format("{}-job{}", shape.tenant, index);
  request.user = sim_user(shape.tenant);
  request.key = fmt::format("k{}", ++keys[tenant]);
  shape.user = request.user;
  shape.priority = static_cast<std::int32_t>(choices.choose("jobs", 3));
  shape.tasks = static_cast<std::int32_t>(1 + choices.choose("jobs", std::min(nodes, kMaxJobTasks)));
  if (choices.choose("jobs", 4) == 1) shape.min_tasks = (shape.tasks + 1) / 2;
  shape.task.gpus = choices.choose("jobs", 3) == 1 ? std::max(1, gpus / 2) : gpus;
  shape.task.cpu = 1000;
  shape.grace = sched::seconds(30);
  shape.inference = choices.choose("jobs", 8) == 1;
  shape.preemptible = !shape.inference;
  shape.restart_cost = sched::seconds(5 + choices.choose("jobs", 40));  // steps of ten seconds
  if (choices.choose("jobs", 8) == 1) shape.limit = sched::seconds(200 + 100 * choices.choose("jobs", 10));
  request.spec.command = {"/bin/true"};
  if (choices.choose("jobs", 3) != 0) {
    request.spec.checkpoint.volumes = {"/ckpt"};
    if (choices.choose("jobs", 2) == 1) request.spec.checkpoint.notice = control::CheckpointNotice::signal;
  }
  return request;
}

std::string problem_of_tenants(const control::Controller& controller) {
  std::map<std::string, sched::Amounts> use;
  for (const auto& [number, job] : controller.state().jobs()) {
    if (!job.current) continue;
    use[job.spec->shape.tenant] +=
        sched::amounts_of(job.spec->shape.task, static_cast<std::int64_t>(job.current->slots.size()));
  }
  const sched::Tenants& charged = controller.scheduler().tenants();
  for (sched::TenantId id = 0; id < charged.count(); ++id) {
    const std::string& name = charged.policy(id).name;
    if (!(charged.used(id) == use[name])) {
      return fmt::format("17: tenant {} is charged {} thousandths of a GPU, and uses {}", name,
                         charged.used(id).gpu_milli, use[name].gpu_milli);
    }
  }
  for (const auto part : kParts) {
    std::map<std::string, std::int64_t> missing;  // by cohort: borrowed, less what the others lend
    for (const sched::TenantPolicy& policy : controller.options().tenants) {
      const std::int64_t used = use[policy.name].*part;
      const std::int64_t beyond = std::max<std::int64_t>(0, used - policy.quota.*part);
      if (beyond > policy.borrow.*part || (policy.cohort.empty() && beyond > 0)) {
        return fmt::format("17: tenant {} uses {}, {} more than its quota, and may borrow {}", policy.name, used,
                           beyond, policy.borrow.*part);
      }
      const std::int64_t idle = std::max<std::int64_t>(0, policy.quota.*part - used);
      missing[policy.cohort] += beyond - std::min(policy.lend.*part, idle);
    }
    for (const auto& [cohort, more] : missing) {
      if (!cohort.empty() && more > 0) return fmt::format("17: cohort {} uses {} more than it has", cohort, more);
    }
  }
  return {};
}

std::string problem_of_owner(const control::ControlState& state, control::JobNumber number,
                             const control::Request& submitted) {
  const control::Job* job = state.find_job(number);
  const control::EndedJob* ended = state.find_ended(number);
  if (job == nullptr && ended == nullptr) return {};  // lost with its record, or forgotten
  const std::string& tenant = job != nullptr ? job->spec->shape.tenant : ended->tenant;
  const std::string& user = job != nullptr ? job->user : ended->user;
  if (tenant == submitted.spec.shape.tenant && user == submitted.user) return {};
  return fmt::format("17: job {} of {} in tenant {} is recorded as of {} in tenant {}", number, submitted.user,
                     submitted.spec.shape.tenant, user, tenant);
}

}  // namespace weft::world
