#include "sched/core/tenants.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace weft::sched {
namespace {

constexpr std::int64_t Amounts::*kParts[] = {&Amounts::gpu_milli, &Amounts::cpu, &Amounts::memory_mib};

std::int64_t plus(std::int64_t a, std::int64_t b) { return std::min(a + b, kNoLimit); }  // both at most kNoLimit

}  // namespace

Amounts& Amounts::operator+=(const Amounts& other) {
  for (const auto part : kParts) this->*part += other.*part;
  return *this;
}

Amounts& Amounts::operator-=(const Amounts& other) {
  for (const auto part : kParts) this->*part -= other.*part;
  return *this;
}

bool Amounts::within(const Amounts& limit) const {
  return std::all_of(std::begin(kParts), std::end(kParts), [&](auto part) { return this->*part <= limit.*part; });
}

Amounts amounts_of(const Request& task, std::int64_t tasks) {
  return {task.gpu_total() * tasks, task.cpu * tasks, task.memory_mib * tasks};
}

std::string_view to_text(Charge charge) {
  switch (charge) {
    case Charge::surplus:
      return "surplus";
    case Charge::borrowed:
      return "borrowed";
    case Charge::guaranteed:
      return "guaranteed";
  }
  return "?";
}

Tenants::Tenants(std::vector<TenantPolicy> policies, Duration half_life) : half_life_(half_life) {
  for (TenantPolicy& policy : policies) {
    const TenantId id = id_of(policy.name);
    Tenant& tenant = tenants_[id];
    total_weight_ += policy.weight - tenant.policy.weight;
    if (!policy.cohort.empty()) {
      const auto [found, added] = cohort_by_name_.emplace(policy.cohort, static_cast<std::uint32_t>(cohorts_.size()));
      if (added) cohorts_.emplace_back();
      cohorts_[tenant.cohort].clear();
      tenant.cohort = found->second;
      cohorts_[found->second].push_back(id);
    }
    tenant.policy = std::move(policy);
  }
}

TenantId Tenants::id_of(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  const auto id = static_cast<TenantId>(tenants_.size());
  by_name_.emplace(std::string(name), id);
  Tenant tenant;
  tenant.policy.name = std::string(name);
  tenant.cohort = static_cast<std::uint32_t>(cohorts_.size());
  cohorts_.push_back({id});
  total_weight_ += tenant.policy.weight;
  tenants_.push_back(std::move(tenant));
  return id;
}

void Tenants::set_limits(TenantId id, const Amounts& quota, const Amounts& borrow) {
  tenants_[id].policy.quota = quota;
  tenants_[id].policy.borrow = borrow;
}

bool Tenants::covered(std::uint32_t cohort, TenantId changed, const Amounts& used,
                      const std::vector<GivenBack>& given_back) const {
  for (const auto part : kParts) {
    std::int64_t borrows = 0;
    std::int64_t lends = 0;
    for (const TenantId member : cohorts_[cohort]) {
      const Tenant& tenant = tenants_[member];
      std::int64_t use = member == changed ? used.*part : tenant.used.*part;
      for (const GivenBack& back : given_back) {
        if (back.tenant == member) use -= back.amounts.*part;
      }
      const std::int64_t quota = tenant.policy.quota.*part;
      borrows += std::max<std::int64_t>(0, use - quota);
      lends = plus(lends, std::min(tenant.policy.lend.*part, std::max<std::int64_t>(0, quota - use)));
    }
    if (borrows > lends) return false;
  }
  return true;
}

std::optional<Charge> Tenants::admits(TenantId id, const Amounts& amounts) const {
  static const std::vector<GivenBack> nothing;
  return admits_after(id, amounts, nothing);
}

std::optional<Charge> Tenants::admits_after(TenantId id, const Amounts& amounts,
                                            const std::vector<GivenBack>& given_back) const {
  const Tenant& tenant = tenants_[id];
  Amounts used = tenant.used;
  used += amounts;
  Amounts own = used;  // reduced here by the same amount as in covered()
  Amounts guaranteed = tenant.guaranteed;
  guaranteed += amounts;
  for (const GivenBack& back : given_back) {
    if (back.tenant != id) continue;
    own -= back.amounts;
    if (back.charge == Charge::guaranteed) guaranteed -= back.amounts;
  }
  for (const auto part : kParts) {
    if (own.*part > plus(tenant.policy.quota.*part, tenant.policy.borrow.*part)) return std::nullopt;
  }
  if (!covered(tenant.cohort, id, used, given_back)) return std::nullopt;
  return guaranteed.within(tenant.policy.quota) ? Charge::guaranteed : Charge::borrowed;
}

void Tenants::charge(TenantId id, const Amounts& amounts, Charge as, Moment now) {
  Tenant& tenant = tenants_[id];
  settle(tenant, now);
  tenant.used += amounts;
  if (as == Charge::guaranteed) tenant.guaranteed += amounts;
  total_gpu_milli_ += amounts.gpu_milli;
}

void Tenants::uncharge(TenantId id, const Amounts& amounts, Charge as, Moment now) {
  Tenant& tenant = tenants_[id];
  settle(tenant, now);
  tenant.used -= amounts;
  if (as == Charge::guaranteed) tenant.guaranteed -= amounts;
  total_gpu_milli_ -= amounts.gpu_milli;
  CHECK(tenant.used.gpu_milli >= 0 && tenant.guaranteed.gpu_milli >= 0, "a tenant gives back what it never had");
}

bool Tenants::promote(TenantId id, const Amounts& amounts) {
  Tenant& tenant = tenants_[id];
  Amounts guaranteed = tenant.guaranteed;
  guaranteed += amounts;
  if (!guaranteed.within(tenant.policy.quota)) return false;
  tenant.guaranteed = guaranteed;
  return true;
}

Amounts Tenants::borrowed(TenantId id) const {
  Amounts beyond;
  const Tenant& tenant = tenants_[id];
  for (const auto part : kParts) {
    beyond.*part = std::max<std::int64_t>(0, tenant.used.*part - tenant.policy.quota.*part);
  }
  return beyond;
}

bool Tenants::limited(TenantId id) const {
  const Amounts& quota = tenants_[id].policy.quota;
  return std::any_of(std::begin(kParts), std::end(kParts), [&](auto part) { return quota.*part < kNoLimit; });
}

bool Tenants::balanced() const {
  for (TenantId id = 0; id < tenants_.size(); ++id) {
    const Tenant& tenant = tenants_[id];
    if (!tenant.guaranteed.within(tenant.policy.quota) || !tenant.guaranteed.within(tenant.used)) return false;
    if (!covered(tenant.cohort, id, tenant.used, {})) return false;
    for (const auto part : kParts) {
      if (tenant.used.*part > plus(tenant.policy.quota.*part, tenant.policy.borrow.*part)) return false;
    }
  }
  return true;
}

// Usage halves in every half-life; current usage adds its own decaying share (the integral of gpus * 2^(-(now-t)/h)
// over the interval).
double Tenants::brought_to(const Use& use, std::int64_t gpu_milli, Moment now) const {
  const double passed = seconds_of(now - use.at);
  const double half_life = std::max(1e-9, seconds_of(half_life_));
  const double kept = std::exp2(-passed / half_life);
  const double gpus = static_cast<double>(gpu_milli) / kWholeGpu;
  return use.decayed * kept + gpus * (1 - kept) * half_life / std::log(2.0);
}

void Tenants::settle(Tenant& tenant, Moment now) {
  tenant.use = {brought_to(tenant.use, tenant.used.gpu_milli, now), now};
  total_use_ = {brought_to(total_use_, total_gpu_milli_, now), now};
}

void Tenants::restore_use(TenantId id, double gpu_seconds, Moment at) {
  Tenant& tenant = tenants_[id];
  settle(tenant, at);
  total_use_.decayed += gpu_seconds - tenant.use.decayed;
  tenant.use.decayed = gpu_seconds;
}

double Tenants::decayed_use(TenantId id, Moment now) const {
  return brought_to(tenants_[id].use, tenants_[id].used.gpu_milli, now);
}

double Tenants::fair_share(TenantId id, Moment now) const {
  const double total = brought_to(total_use_, total_gpu_milli_, now);
  if (total <= 0) return 1;
  const double share = tenants_[id].policy.weight / total_weight_;
  return share <= 0 ? 0 : std::exp2(-(decayed_use(id, now) / total) / share);
}

double Tenants::dominant_share(TenantId id, const Amounts& capacity) const {
  double most = 0;
  const Tenant& tenant = tenants_[id];
  for (const auto part : kParts) {
    if (capacity.*part <= 0) continue;
    most = std::max(most, static_cast<double>(tenant.used.*part) / static_cast<double>(capacity.*part));
  }
  return tenant.policy.weight > 0 ? most / tenant.policy.weight : most * 1e9;
}

}  // namespace weft::sched
