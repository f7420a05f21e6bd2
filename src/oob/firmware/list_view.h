// The firmware of a whole fleet: which versions differ between machines of one model, what a baseline says about them,
// and every component.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/document.h"
#include "oob/bmc/consolidate.h"
#include "oob/bmc/firmware.h"
#include "oob/bmc/inventory.h"
#include "oob/firmware/baseline.h"

namespace weft::oob {

struct DeviceFirmware {
  BmcIdentity identity;
  FirmwareInventory firmware;
};

class FirmwareFleet {
 public:
  // From any thread, once per device.
  void add(std::uint32_t target, DeviceFirmware firmware) {
    const std::lock_guard lock(mutex_);
    devices_.insert_or_assign(target, std::move(firmware));
  }
  // By target.
  [[nodiscard]] const std::map<std::uint32_t, DeviceFirmware>& devices() const { return devices_; }

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, DeviceFirmware> devices_;
};

struct FirmwareReport {
  Document document;
  bool has_findings = false;   // of severity warning or error
  bool is_incomplete = false;  // a BMC or a part of its inventory could not be read
};
// `each_row`: one row per device and component, for programs; otherwise identical ones are one row.
[[nodiscard]] FirmwareReport firmware_report(const Inventory& inventory, const FirmwareFleet& fleet,
                                             const FirmwareBaseline* baseline, const std::vector<Unreached>& unreached,
                                             bool each_row);

// The model that the BMC reports, or that of the catalog.
[[nodiscard]] std::string model_of(const Target& target, const BmcIdentity& identity);

}  // namespace weft::oob
