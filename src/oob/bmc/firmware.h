// What a BMC offers to manage firmware: the inventory of components, and the service that installs images. A call is
// one request and one answer; whether an update succeeded is verified by firmware/loop.h. Only Redfish has it: IPMI's
// HPM.1 is not implemented by the BMCs of the clusters weft is for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/bmc/bmc.h"

namespace weft::oob {

// One entry of FirmwareInventory or SoftwareInventory.
struct FirmwareItem {
  std::string path;
  std::string id;         // "BMC", "Installed-159-1.8.2__BIOS.Setup.1-1", "17"
  std::string name;       // "BIOS"
  std::string component;  // what names it on every machine of a model: see component_of()
  std::string version;
  std::string lowest;  // LowestSupportedVersion
  std::string manufacturer;
  std::string state;  // Status.State: "Enabled", "Absent", "Updating"
  Health health = Health::unknown;
  std::optional<bool> updateable;
  bool previous = false;  // a stored image, not the one that runs (Dell's "Previous-")
  bool software = false;  // of SoftwareInventory
};

struct FirmwareInventory {
  std::vector<FirmwareItem> items;  // in the order of the BMC
  std::vector<UnreadLog> unread;    // collections and members that could not be read
};

// Id, or Name where Ids are numbers (iLO); of Dell's ids the part after "__", which has no version in it.
[[nodiscard]] std::string component_of(std::string_view id, std::string_view name);

enum class ApplyTime : std::uint8_t { unset, immediate, on_reset };

// The UpdateService. Empty members are not offered.
struct UpdateService {
  bool enabled = true;
  std::string path;
  std::string multipart;                 // MultipartHttpPushUri
  std::string push;                      // HttpPushUri
  bool push_elsewhere = false;           // HttpPushUri is not a Redfish path (iLO's is a form of its web page)
  bool push_targets = false;             // HttpPushUriTargets can be set
  bool push_options = false;             // HttpPushUriOptions can be set
  std::string simple;                    // target of SimpleUpdate
  std::vector<std::string> protocols;    // TransferProtocol of SimpleUpdate
  std::vector<std::string> apply_times;  // OperationApplyTime values; empty: not listed
  std::uint64_t max_bytes = 0;           // MaxImageSizeBytes; 0: not reported
};

enum class PushMethod : std::uint8_t { multipart, http_push, simple };

struct FirmwarePush {
  PushMethod method = PushMethod::multipart;
  std::string_view image;            // the bytes; must outlive the call
  std::string file_name;             // shown by some BMCs, and checked by few: its ending
  std::string uri;                   // of SimpleUpdate
  std::vector<std::string> targets;  // paths of inventory items; empty: the BMC decides
  ApplyTime apply_time = ApplyTime::unset;
  Duration limit{};  // of the upload
};

struct UpdateTask {
  enum class State : std::uint8_t { running, waiting, done, failed };  // waiting: for a reset, or a maintenance window
  std::string path;                                                    // of the Task; empty: the BMC returned none
  State state = State::running;
  std::string state_text;  // TaskState: "Running", "Exception"
  std::string message;     // the last one that says something
  std::optional<int> percent;
};

class FirmwareAccess {
 public:
  FirmwareAccess() = default;
  FirmwareAccess(const FirmwareAccess&) = delete;
  FirmwareAccess& operator=(const FirmwareAccess&) = delete;
  virtual ~FirmwareAccess() = default;

  // not_found: there is no UpdateService.
  [[nodiscard]] virtual Result<FirmwareInventory> firmware_inventory() = 0;
  [[nodiscard]] virtual Result<UpdateService> update_service() = 0;
  // Sends the image once. refused, conflict and not_found: the BMC declined it, nothing was flashed. Any other error:
  // it may have been received. A response without a task has an empty path.
  [[nodiscard]] virtual Result<UpdateTask> push_firmware(const UpdateService& service, const FirmwarePush& push) = 0;
  // not_found: the BMC does not have it (any more).
  [[nodiscard]] virtual Result<UpdateTask> update_task(const std::string& path) = 0;
  // Paths of all tasks of the TaskService.
  [[nodiscard]] virtual Result<std::vector<std::string>> task_paths() = 0;
};

[[nodiscard]] std::string_view to_text(ApplyTime time);  // as Redfish spells it: "OnReset"; "" for unset
[[nodiscard]] std::string_view to_text(PushMethod method);

}  // namespace weft::oob
