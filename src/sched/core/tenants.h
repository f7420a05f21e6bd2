// Tenants: what each may use, lend and borrow, and what it has used. A cohort is a set of tenants that lend to each
// other. Usage decays with a half-life, for fair share. Says whether a job may start and as what (on its tenant's own
// quota or on borrowed); it never starts anything itself.
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

// Amounts of the three things quotas count.
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
  std::string cohort;          // "": alone, borrows from nobody
  Amounts quota = kNoLimits;   // its own
  Amounts borrow = kNoLimits;  // at most this much beyond it
  Amounts lend = kNoLimits;    // at most this much of it to others
  double weight = 1;           // of fair share
};

// What a running job's resources count as. Higher is safer: only a job of strictly higher Rank may take them away.
enum class Charge : std::uint8_t { surplus, borrowed, guaranteed };
[[nodiscard]] std::string_view to_text(Charge charge);

using TenantId = std::uint32_t;

class Tenants {
 public:
  explicit Tenants(std::vector<TenantPolicy> policies = {}, Duration half_life = seconds(7 * 86'400));

  // The tenant of that name; one that no policy names gets unlimited quota, in no cohort.
  TenantId id_of(std::string_view name);
  [[nodiscard]] const TenantPolicy& policy(TenantId id) const { return tenants_[id].policy; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(tenants_.size()); }

  // For what-ifs.
  void set_limits(TenantId id, const Amounts& quota, const Amounts& borrow);

  // As what a job of this size could start now; none: its quota and what others lend do not allow it.
  [[nodiscard]] std::optional<Charge> admits(TenantId id, const Amounts& amounts) const;
  // The same after `given_back` of each listed tenant's usage has gone.
  struct GivenBack {
    TenantId tenant = 0;
    Amounts amounts;
    Charge charge = Charge::borrowed;
  };
  [[nodiscard]] std::optional<Charge> admits_after(TenantId id, const Amounts& amounts,
                                                   const std::vector<GivenBack>& given_back) const;
  void charge(TenantId id, const Amounts& amounts, Charge as, Moment now);
  void uncharge(TenantId id, const Amounts& amounts, Charge as, Moment now);
  // A borrowing job becomes one on its tenant's own quota, if that has room. True when it did.
  bool promote(TenantId id, const Amounts& amounts);
  [[nodiscard]] const Amounts& used(TenantId id) const { return tenants_[id].used; }
  // What jobs charged as guaranteed use: never beyond the tenant's own quota.
  [[nodiscard]] const Amounts& guaranteed(TenantId id) const { return tenants_[id].guaranteed; }
  // The tenants that lend to each other, itself included.
  [[nodiscard]] const std::vector<TenantId>& cohort_of(TenantId id) const { return cohorts_[tenants_[id].cohort]; }
  // How much of `used` lies beyond the tenant's own quota.
  [[nodiscard]] Amounts borrowed(TenantId id) const;
  // Whether the quota of the tenant limits anything at all.
  [[nodiscard]] bool limited(TenantId id) const;
  // Whether every cohort lends no more than it has and nobody is charged beyond its quota: an invariant.
  [[nodiscard]] bool balanced() const;

  // Fair share: GPU-seconds used up to `now`, decayed.
  [[nodiscard]] double decayed_use(TenantId id, Moment now) const;
  // Slurm's classic factor 2^(-use/share), use and share as fractions of the whole; 1: used nothing.
  [[nodiscard]] double fair_share(TenantId id, Moment now) const;
  // Largest of the tenant's shares of GPU, CPU and memory over its weight (DRF), of `capacity`.
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
  // Whether the borrowing of a cohort is covered, with the use of one member replaced and some given back.
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
