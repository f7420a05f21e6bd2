// A change to many devices, each on its own: written to the journal before it is sent, proven by reading back, ended in
// a word. The frame of the caring verbs (settings, users, clearing of events); power has its own, with a longer proof.
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
  done,      // changed, and seen changed
  already,   // nothing to change
  refused,   // weft would not: it would lock someone out
  not_done,  // the BMC would not or could not; it is as it was
  unknown,   // sent, and not seen: a person must look
  would      // a dry run: it would be changed
};

struct DeviceEnding {
  std::uint32_t target = 0;
  Ending ending = Ending::unknown;
  std::string what;  // why, and for `unknown` what to do
};

// What one device's step writes down. Every call returns when the entry is on disk.
class ActionLog {
 public:
  ActionLog(Journal& journal, std::string operation, std::string verb, std::string device, bool dry_run)
      : journal_(journal),
        operation_(std::move(operation)),
        verb_(std::move(verb)),
        device_(std::move(device)),
        dry_run_(dry_run) {}
  // The step then ends where it would write its intent.
  [[nodiscard]] bool dry_run() const { return dry_run_; }
  // Must succeed before anything is sent.
  [[nodiscard]] Status intent(Value detail);
  // Evidence; that it could not be written is told by the ending.
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
  Value detail;          // what is to be done; a map, no secrets
  bool dry_run = false;  // nothing is sent and nothing journalled: devices are only read
};

// `step` is called with an open session, from many threads. Devices that cannot be reached end as not_done. In the
// order of `targets`.
[[nodiscard]] Result<std::vector<DeviceEnding>> run_action(
    const Fleet& fleet, const ActionOrder& order, std::span<const std::uint32_t> targets,
    const std::function<DeviceEnding(OpenBmc& open, std::uint32_t target, ActionLog& log)>& step);

// Endings folded by device range, the worst first.
[[nodiscard]] Document endings_document(const Inventory& inventory, std::string_view kind,
                                        const std::vector<DeviceEnding>& endings);

[[nodiscard]] std::string_view to_text(Ending ending);  // "not done"

}  // namespace weft::oob
