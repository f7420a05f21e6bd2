// What a simulation begins with: nodes, tenants with limits that bind, and the jobs that users submit. Tenants, their
// users, jobs and operators have names that occur nowhere else, so that a view that shows them to someone else is
// found.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/controller.h"
#include "world/sim/choices.h"

namespace weft::world {

inline constexpr std::string_view kSimTenants[] = {"zq7a", "zq7b"};
inline constexpr std::string_view kSimOperator = "zq7op";
[[nodiscard]] std::string sim_user(std::string_view tenant);  // "zq7a-user"

[[nodiscard]] std::shared_ptr<const sched::Machine> draw_machine(Choices& choices);
// The first may borrow from the second; every job that is drawn fits the limits of its tenant.
[[nodiscard]] std::vector<sched::TenantPolicy> sim_tenants(const sched::Machine& machine);
// `keys`: how many jobs each tenant has submitted. Users of both tenants use the same idempotency keys.
[[nodiscard]] control::Request draw_submission(Choices& choices, const sched::Machine& machine, std::uint32_t index,
                                               std::vector<std::uint32_t>& keys);

// Invariant 17: "" or the problem. The use of each tenant, counted from the attempts that may run, is what the
// scheduler has charged, and within its quota, what it may borrow, and what its cohort lends.
[[nodiscard]] std::string problem_of_tenants(const control::Controller& controller);
// Likewise: a job belongs to the tenant and the user that submitted it.
[[nodiscard]] std::string problem_of_owner(const control::ControlState& state, control::JobNumber number,
                                           const control::Request& submitted);

}  // namespace weft::world
