// Tenants: quotas, lending, borrowing and usage. A cohort is a set of tenants that lend to each other. Usage decays
// with a half-life, for fair share. Decides whether a job may start and at which charge (its tenant's own quota or
// borrowed); it does not start jobs.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sched/machine/job.h"

namespace weft::sched {

// Amounts of the three resources that quotas cover.
struct Amounts {
  std::int64_t gpu_milli = 0;
  std::int64_t cpu = 0;  // thousandths of a core
  std::int64_t memory_mib = 0;

  Amounts& operator+=(const Amounts& other);
  Amounts& operator-=(const Amounts& other);
  [[nodiscard]] bool within(const Amounts& limit) const;
  friend bool operator==(const Amounts&, const Amounts&) = default;
};
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max() / 4;
inline constexpr Amounts kNoLimits{kNoLimit, kNoLimit, kNoLimit};
[[nodiscard]] Amounts amounts_of(const Request& task, std::int64_t tasks);

struct TenantPolicy {
  std::string name;
  std::string cohort;          // "": none, cannot borrow
  Amounts quota = kNoLimits;   // its own
  Amounts borrow = kNoLimits;  // maximum beyond its quota
  Amounts lend = kNoLimits;    // maximum of its quota that others may use
  double weight = 1;           // of fair share
};

// The tenants of a cluster file. They lend idle quota to each other, as weft renders it for Kueue.
[[nodiscard]] std::vector<TenantPolicy> tenants_of(const model::Cluster& cluster);

// How a running job's resources are charged. Higher is safer: only a job of strictly higher Rank may preempt it.
enum class Charge : std::uint8_t { surplus, borrowed, guaranteed };
[[nodiscard]] std::string_view to_text(Charge charge);

using TenantId = std::uint32_t;

class Tenants {
 public:
  explicit Tenants(std::vector<TenantPolicy> policies = {}, Duration half_life = seconds(7 * 86'400));

  // The tenant with that name; one that no policy names gets unlimited quota and no cohort.
  TenantId id_of(std::string_view name);
  [[nodiscard]] const TenantPolicy& policy(TenantId id) const { return tenants_[id].policy; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(tenants_.size()); }

  // For what-ifs.
  void set_limits(TenantId id, const Amounts& quota, const Amounts& borrow);

  // The charge at which a job of this size could start now; none: its quota and what others lend do not allow it.
  [[nodiscard]] std::optional<Charge> admits(TenantId id, const Amounts& amounts) const;
  // The same after `given_back` of each listed tenant's usage has been released.
  struct GivenBack {
    TenantId tenant = 0;
    Amounts amounts;
    Charge charge = Charge::borrowed;
  };
  [[nodiscard]] std::optional<Charge> admits_after(TenantId id, const Amounts& amounts,
                                                   const std::vector<GivenBack>& given_back) const;
  void charge(TenantId id, const Amounts& amounts, Charge as, Moment now);
  void uncharge(TenantId id, const Amounts& amounts, Charge as, Moment now);
  // Recharges a borrowing job to its tenant's own quota, if it fits. Returns true if it did.
  bool promote(TenantId id, const Amounts& amounts);
  [[nodiscard]] const Amounts& used(TenantId id) const { return tenants_[id].used; }
  // Usage of jobs charged as guaranteed: never exceeds the tenant's own quota.
  [[nodiscard]] const Amounts& guaranteed(TenantId id) const { return tenants_[id].guaranteed; }
  // The tenants that lend to each other, itself included.
  [[nodiscard]] const std::vector<TenantId>& cohort_of(TenantId id) const { return cohorts_[tenants_[id].cohort]; }
  // How much of `used` exceeds the tenant's own quota.
  [[nodiscard]] Amounts borrowed(TenantId id) const;
  // Whether the quota of the tenant limits anything at all.
  [[nodiscard]] bool limited(TenantId id) const;
  // Invariant: no cohort lends more than it has and no tenant is charged beyond its quota.
  [[nodiscard]] bool balanced() const;

  // Sets the decayed usage of a tenant, as decayed_use() returned it at `at`.
  void restore_use(TenantId id, double gpu_seconds, Moment at);
  // Fair share: GPU-seconds used up to `now`, decayed.
  [[nodiscard]] double decayed_use(TenantId id, Moment now) const;
  // Slurm's classic factor 2^(-use/share), use and share as fractions of the whole; 1: used nothing.
  [[nodiscard]] double fair_share(TenantId id, Moment now) const;
  // Largest of the tenant's shares of GPU, CPU and memory of `capacity`, divided by its weight (DRF).
  [[nodiscard]] double dominant_share(TenantId id, const Amounts& capacity) const;

 private:
  struct Use {
    double decayed = 0;  // GPU-seconds at `at`
    Moment at{};
  };
  struct Tenant {
    TenantPolicy policy;
    std::uint32_t cohort = 0;
    Amounts used;
    Amounts guaranteed;
    Use use;
  };
  [[nodiscard]] double brought_to(const Use& use, std::int64_t gpu_milli, Moment now) const;
  void settle(Tenant& tenant, Moment now);
  // Whether the borrowing of a cohort is covered, with one member's usage replaced and some usage released.
  [[nodiscard]] bool covered(std::uint32_t cohort, TenantId changed, const Amounts& used,
                             const std::vector<GivenBack>& given_back) const;

  std::vector<Tenant> tenants_;
  std::vector<std::vector<TenantId>> cohorts_;  // members
  std::map<std::string, TenantId, std::less<>> by_name_;
  std::map<std::string, std::uint32_t, std::less<>> cohort_by_name_;
  Duration half_life_;
  Use total_use_;
  std::int64_t total_gpu_milli_ = 0;
  double total_weight_ = 0;
};

}  // namespace weft::sched
