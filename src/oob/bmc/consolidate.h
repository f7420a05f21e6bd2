// What many devices say, said once: equal texts with the devices that gave them, folded into ranges, as pdsh's
// `dshbak -c` and FreeIPMI's `-C` do. A fleet that agrees is one row; whoever differs stands out.
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
  // Most devices first; equal counts by the key in natural order. The same whatever the order of adding.
  [[nodiscard]] std::vector<FoldedRow> rows() const;

 private:
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_key_;
};

// A device that gave no answer, and why.
struct Unreached {
  std::uint32_t target = 0;
  Error error;
};
// One row for each distinct reason; no section when everybody answered.
void add_unreached(Document& document, const Inventory& inventory, const std::vector<Unreached>& unreached);

// The first clause of an error: what follows a semicolon differs from device to device (the key of a certificate) or is
// advice.
[[nodiscard]] std::string reason_of(const Error& error);

// Text that came from a BMC, safe to print on one line and not longer than anybody reads.
[[nodiscard]] std::string told(std::string_view text);

}  // namespace weft::oob
