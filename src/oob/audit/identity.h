// Compares the identities that BMCs report with each other and with the plan. Two addresses with one serial number are
// a cabling or address mistake, and a power command to one reaches the other; a machine of another model than planned
// has a different power draw and different parts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "oob/bmc/bmc.h"
#include "oob/bmc/consolidate.h"
#include "oob/bmc/inventory.h"

namespace weft::oob {

using Identities = std::map<std::uint32_t, BmcIdentity>;  // by target

struct SharedIdentity {
  std::string kind;   // "UUID" or "serial number"
  std::string value;  // printable
  std::vector<std::uint32_t> targets;
};
// Placeholder values of vendors ("To be filled by O.E.M.", zeros) do not count.
[[nodiscard]] std::vector<SharedIdentity> shared_identities(const Identities& identities);

// How the machine differs from its catalog model, or "". Names are not compared with a generic model.
[[nodiscard]] std::string model_mismatch(const model::Cluster& cluster, const Target& target,
                                         const BmcIdentity& identity);

// Devices that report another manufacturer or model than most of their group (of three and more).
struct OddOneOut {
  std::uint32_t target = 0;
  std::string what;  // "Dell R760, while 15 of 16 in train are Supermicro SYS-821GE"
};
[[nodiscard]] std::vector<OddOneOut> odd_ones_out(const Inventory& inventory, const Identities& identities);

// All devices: address, protocol, role, location, feeds, model.
[[nodiscard]] Document inventory_document(const Inventory& inventory, const std::vector<std::uint32_t>& targets);
// The same with live data; `trouble` is set on any mismatch.
[[nodiscard]] Document probed_document(const Inventory& inventory, const model::Cluster& cluster,
                                       const std::vector<std::uint32_t>& targets, const Identities& identities,
                                       const std::vector<Unreached>& unreached, bool& trouble);

}  // namespace weft::oob
