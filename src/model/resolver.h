// Computes the defaults of a Spec that depend on the rest of the file, and checks that every reference resolves.
// Internal to model/: the entry point is resolve() in spec.h. Floor and pools are in resolve.cc, the four fabrics in
// resolve_fabrics.cc, storage, control plane and scheduling in resolve_policy.cc.
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/spec.h"

namespace weft::model {

// "did you mean" suggestions from the ids of a catalog table or the names of a list in the file.
template <class Items, class IdOf>
void unknown_name(const Sourced<std::string>& given, std::string_view what, const Items& items, IdOf id_of,
                  Diagnostics& diagnostics) {
  std::vector<std::string_view> names;
  names.reserve(items.size());
  for (const auto& item : items) names.push_back(id_of(item));
  std::string hint = did_you_mean(given.value, names);
  if (hint.empty() && names.size() <= 12) {
    for (const std::string_view name : names) hint += (hint.empty() ? "known: " : ", ") + std::string(name);
  }
  diagnostics.error(given.place, fmt::format("unknown {} `{}`", what, given.value), std::move(hint), given->size());
}

inline bool gpu_role(PoolRole role) { return role == PoolRole::training || role == PoolRole::inference; }

class Resolver {
 public:
  Resolver(Spec& spec, const Catalog& catalog, Diagnostics& diagnostics)
      : spec_(spec), catalog_(catalog), diagnostics_(diagnostics) {}

  void run() {
    site();
    pools();
    fabric(spec_.fabrics.value.backend.value, FabricKindIndex::backend);
    fabric(spec_.fabrics.value.storage.value, FabricKindIndex::storage);
    fabric(spec_.fabrics.value.frontend.value, FabricKindIndex::frontend);
    oob();
    subnets_apart();
    storage();
    control_plane();
    scheduling();
    services();
    suppressions();
  }

 private:
  enum class FabricKindIndex { backend, storage, frontend };

  void site();
  void pools();
  void pool(PoolSpec& pool);
  void pool_links(PoolSpec& pool, const ServerModel& server);
  void pool_mig(const PoolSpec& pool, const ServerModel& server);
  void pool_overrides(PoolSpec& pool, const ServerModel& server);
  void fabric(FabricSpec& fabric, FabricKindIndex kind);
  void fabric_switches(FabricSpec& fabric, FabricKindIndex kind);
  void check_system(Sourced<std::string>& system, const SwitchModel& leaf, const SourceLocation& place);
  void suppressions();
  void fabric_addresses(FabricSpec& fabric, FabricKindIndex kind);
  void fabric_qos(FabricSpec& fabric, FabricKindIndex kind);
  void managers(FabricSpec& fabric);
  void unused_fabric_keys(const FabricSpec& fabric, FabricKindIndex kind);
  void oob();
  void subnets_apart();
  void storage();
  void control_plane();
  void scheduling();
  void services();

  bool check_switch(const Sourced<std::string>& id) {
    if (catalog_.switch_model(id.value) != nullptr) return true;
    unknown_name(
        id, "switch", catalog_.switches(), [](const SwitchModel& m) { return std::string_view(m.id->text); },
        diagnostics_);
    return false;
  }
  bool check_server(const Sourced<std::string>& id) {
    if (catalog_.server(id.value) != nullptr) return true;
    unknown_name(
        id, "server", catalog_.servers(), [](const ServerModel& m) { return std::string_view(m.id->text); },
        diagnostics_);
    return false;
  }
  const PoolSpec* find_pool(const Sourced<std::string>& name) {
    for (const PoolSpec& pool : spec_.pools.value) {
      if (pool.name->text == name.value) return &pool;
    }
    unknown_name(
        name, "pool", spec_.pools.value, [](const PoolSpec& p) { return std::string_view(p.name->text); },
        diagnostics_);
    return nullptr;
  }
  template <class Items>
  void unique_names(const Items& items, std::string_view what) {
    std::set<std::string> seen;
    for (const auto& item : items) {
      if (item.name.has_value() && !seen.insert(item.name->text).second) {
        diagnostics_.error(item.name.place, fmt::format("{} `{}` is defined twice", what, item.name->text), {},
                           item.name->text.size());
      }
    }
  }
  template <class Quantity>
  void more_than_nothing(const Sourced<Quantity>& given, const char* why) {
    if (given.from_file() && given->count() <= 0) diagnostics_.error(given.place, why);
  }
  // A host name as in RFC 1123: labels of at most 63 letters, digits and hyphens.
  void dns_name(const Sourced<std::string>& given);
  // A reference that is rendered into files of other programs: printable, no spaces or quotes.
  void plain_reference(const Sourced<std::string>& given, const char* what);
  void check_priority(const Sourced<std::string>& name) {
    if (!name.has_value()) return;
    for (const PrioritySpec& priority : spec_.priorities.value) {
      if (priority.name->text == name.value) return;
    }
    unknown_name(
        name, "priority", spec_.priorities.value, [](const PrioritySpec& p) { return std::string_view(p.name->text); },
        diagnostics_);
  }

  Spec& spec_;
  const Catalog& catalog_;
  Diagnostics& diagnostics_;
};

}  // namespace weft::model
