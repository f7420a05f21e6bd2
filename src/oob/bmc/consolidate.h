// Consolidates output of many devices: each distinct text once, with its devices folded into ranges, like pdsh's
// `dshbak -c` and FreeIPMI's `-C`. A consistent fleet is one row; outliers stand out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "oob/bmc/inventory.h"

namespace weft::oob {

struct FoldedRow {
  std::string key;
  std::vector<std::uint32_t> targets;  // ascending, each once
};

class Consolidation {
 public:
  void add(std::string_view key, std::uint32_t target);
  // Most devices first; ties sorted by key in natural order. Independent of the order of adding.
  [[nodiscard]] std::vector<FoldedRow> rows() const;

 private:
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_key_;
};

// A device that did not answer, and why.
struct Unreached {
  std::uint32_t target = 0;
  Error error;
};
// One row per distinct reason; no section if all devices answered. Devices that do not have what was asked for
// (ErrorCode::not_found) are in a section of their own.
void add_unreached(Document& document, const Inventory& inventory, const std::vector<Unreached>& unreached);

// The first clause of an error: the text after a semicolon is device-specific (the key of a certificate) or advice.
[[nodiscard]] std::string reason_of(const Error& error);

// Text from a BMC, made safe to print on one line and truncated to a readable length.
[[nodiscard]] std::string told(std::string_view text);

}  // namespace weft::oob
