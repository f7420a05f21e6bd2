#include "render/slurm/accounts.h"

#include <fmt/format.h>

#include <algorithm>

#include "render/slurm/model.h"

namespace weft::render {
namespace slurm_render {
namespace {

// Slurm also counts MIG instances as GPUs: with both in a quota, each is limited by its own type.
std::vector<std::pair<std::string, std::string>> limits_of(const SlurmModel& model, const model::TenantSpec& tenant) {
  const model::QuotaSpec& quota = tenant.quota.value;
  const std::vector<std::string> types = model.gpu_types();
  std::vector<std::pair<std::string, std::string>> tres;
  const auto limit = [&](std::string name, std::string value) { tres.emplace_back(std::move(name), std::move(value)); };
  const bool mig = !quota.mig->empty();
  if (quota.gpus.has_value() && !mig) limit("gres/gpu", std::to_string(quota.gpus.value));
  if (quota.gpus.has_value() && mig) {
    for (const std::string& type : types) {
      const bool profile =
          std::any_of(quota.mig->begin(), quota.mig->end(), [&](const auto& entry) { return entry.first == type; });
      if (!profile) limit("gres/gpu:" + type, std::to_string(quota.gpus.value));
    }
  }
  for (const auto& [profile, count] : quota.mig.value) {
    if (std::find(types.begin(), types.end(), profile) == types.end()) continue;
    limit("gres/gpu:" + profile, std::to_string(count.value));
  }
  if (quota.cpus.has_value()) limit("cpu", std::to_string(quota.cpus.value));
  if (quota.memory.has_value()) limit("mem", fmt::format("{}M", quota.memory->count() >> 20));
  return tres;
}

// A tenant may use its own class and the preemptible ones below it.
std::vector<std::string> qos_of(const SlurmModel& model, const model::TenantSpec& tenant) {
  std::vector<std::string> list;
  std::int64_t own = -1;
  for (const model::PrioritySpec& priority : model.spec().priorities.value) {
    if (tenant.priority.has_value() && priority.name->text == tenant.priority.value) own = priority.value.value;
  }
  for (std::size_t i = 0; i < model.qos().size(); ++i) {
    const model::PrioritySpec& priority = model.spec().priorities.value[i];
    const bool same = tenant.priority.has_value() && priority.name->text == tenant.priority.value;
    const bool below = priority.preemptible.value && (own < 0 || priority.value.value < own);
    if (same || below) list.push_back(model.qos()[i].name);
  }
  return list;
}

SlurmAccountSpec account_of(const SlurmModel& model, const model::TenantSpec& tenant) {
  SlurmAccountSpec account;
  account.name = tenant.name->text;
  account.qos = qos_of(model, tenant);
  for (std::size_t i = 0; i < model.qos().size(); ++i) {
    if (tenant.priority.has_value() && model.spec().priorities.value[i].name->text == tenant.priority.value)
      account.default_qos = model.qos()[i].name;
  }
  account.limits = limits_of(model, tenant);
  return account;
}

}  // namespace

SlurmAccountsSpec accounts_of(const SlurmModel& model) {
  SlurmAccountsSpec spec;
  spec.cluster = model.cluster_name();
  spec.grace_seconds = model.grace_seconds();
  for (const Qos& qos : model.qos()) spec.qos.push_back({qos.name, qos.priority, qos.preempts});
  std::stable_sort(spec.qos.begin(), spec.qos.end(),
                   [](const SlurmQosSpec& a, const SlurmQosSpec& b) { return a.priority < b.priority; });
  for (const model::TenantSpec& tenant : model.spec().tenants.value) spec.accounts.push_back(account_of(model, tenant));
  if (model.has_gpus()) spec.gpu_types = model.gpu_types();
  return spec;
}

}  // namespace slurm_render

SlurmAccountsSpec slurm_accounts_of(const RenderInput& input) {
  return slurm_render::accounts_of(slurm_render::SlurmModel(input));
}

}  // namespace weft::render
