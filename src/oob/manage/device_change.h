// A change to many devices, each independent: journaled before it is sent, verified by reading back, with one outcome
// per device. Framework of the device commands (settings, users, clearing events); power has its own, with longer
// verification.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "oob/bmc/ask_all.h"
#include "oob/bmc/fleet.h"

namespace weft::oob {

enum class Ending : std::uint8_t {
  done,      // changed, and verified
  already,   // nothing to change
  refused,   // refused by weft: it would lock someone out
  not_done,  // the BMC rejected it or failed; unchanged
  unknown,   // sent, not verified: check manually
  would      // dry run: it would be changed
};

struct DeviceEnding {
  std::uint32_t target = 0;
  Ending ending = Ending::unknown;
  std::string what;  // why, and for `unknown` what to do
};

// Journal of one device's step. Every call returns when the entry is on disk.
class ActionLog {
 public:
  ActionLog(Journal& journal, std::string operation, std::string verb, std::string device, bool dry_run)
      : journal_(journal),
        operation_(std::move(operation)),
        verb_(std::move(verb)),
        device_(std::move(device)),
        dry_run_(dry_run) {}
  // In a dry run the step ends where it would write its intent.
  [[nodiscard]] bool dry_run() const { return dry_run_; }
  // Must succeed before anything is sent.
  [[nodiscard]] Status intent(Value detail);
  // Evidence; a failed write is reported with the ending.
  [[nodiscard]] Status seen(Value detail);

 private:
  friend class ActionRunner;
  [[nodiscard]] Status write(Phase phase, Value detail);
  Journal& journal_;
  std::string operation_;
  std::string verb_;
  std::string device_;
  bool dry_run_ = false;
};

struct ActionOrder {
  std::string verb;      // "settings", "users.disable", "events.clear"
  std::string reason;    // the operator's
  Value detail;          // the requested change; a map, no secrets
  bool dry_run = false;  // devices are only read: nothing is sent or journaled
};

// `step` is called with an open session, from many threads. Unreachable devices end as not_done. Results in the order
// of `targets`.
[[nodiscard]] Result<std::vector<DeviceEnding>> run_action(
    const Fleet& fleet, const ActionOrder& order, std::span<const std::uint32_t> targets,
    const std::function<DeviceEnding(OpenBmc& open, std::uint32_t target, ActionLog& log)>& step);

// Endings folded by device range, worst first.
[[nodiscard]] Document endings_document(const Inventory& inventory, std::string_view kind,
                                        const std::vector<DeviceEnding>& endings);

[[nodiscard]] std::string_view to_text(Ending ending);  // "not done"

}  // namespace weft::oob
