// A firmware update of many machines as one operation: journaled from begin to end, a few machines at a time and never
// two of one rack, stopped at the first failure. If the process dies, the operation stays open in the journal and names
// the machines that may be half-flashed; it is resumed by observing them. While it is open, power operations on its
// unsettled machines are refused: a power cycle in the middle of a flash destroys a BMC.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/document.h"
#include "oob/firmware/loop.h"

namespace weft::oob {

struct UpdateRequest {
  std::vector<std::uint32_t> targets{};
  std::string reason{};
  std::uint32_t batch = 1;  // machines at the same time
  UpdateOptions options{};
  std::function<void(std::uint32_t finished, std::uint32_t total)> progress{};
};

struct UpdatedDevice {
  std::string device{};
  UpdateOutcome outcome{};
  bool earlier = false;  // ended before the operation was resumed
};

struct UpdateReport {
  std::string operation{};
  std::vector<UpdatedDevice> devices{};
  bool ended = false;  // false: the operation stays open in the journal

  [[nodiscard]] bool all_done() const;
  [[nodiscard]] bool has_half_flashed() const;
};

// An update without an end in the journal.
struct OpenUpdate {
  std::string operation{};
  std::string who{};
  std::string time{};
  std::string image{};
  std::vector<std::string> half_flashed{};  // an image may have been sent, and there is no outcome
  std::vector<std::string> not_started{};
  bool running = false;  // its process is alive
};

// Errors (refused): an open operation in which one of the machines is unsettled.
[[nodiscard]] Result<UpdateReport> run_updates(const Fleet& fleet, const UpdateRequest& request);
// Observes the machines to which an image may have been sent. The others are updated if `with` has the same image, and
// end as not done otherwise. Machines, component, version and apply time come from the journal.
[[nodiscard]] Result<UpdateReport> resume_updates(const Fleet& fleet, const std::string& operation, UpdateRequest with);
[[nodiscard]] Result<std::vector<OpenUpdate>> open_updates(const Journal& journal);

[[nodiscard]] Document update_document(const UpdateReport& report, bool each_row);
[[nodiscard]] Document open_updates_document(const std::vector<OpenUpdate>& open);

}  // namespace weft::oob
