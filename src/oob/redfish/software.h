// Parses the Redfish resources of firmware management (UpdateService, SoftwareInventory, Task; DSP8010) and writes the
// requests of an update (DSP0266, "Software update"). Pure functions, as in reply.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "oob/bmc/firmware.h"

namespace weft::oob {

[[nodiscard]] FirmwareItem parse_software(const Value& value);

struct UpdateLinks {
  std::string firmware;  // collections
  std::string software;
};
[[nodiscard]] UpdateLinks parse_update_links(const Value& value);
[[nodiscard]] UpdateService parse_update_service(const Value& value);

// Empty if it is not a Task.
[[nodiscard]] std::optional<UpdateTask> parse_update_task(const Value& value);

// UpdateParameters of MultipartHttpPushUri, and the body of SimpleUpdate.
[[nodiscard]] std::string update_parameters(const FirmwarePush& push);
[[nodiscard]] std::string simple_update_body(const UpdateService& service, const FirmwarePush& push);

// multipart/form-data (RFC 7578) with the parts UpdateParameters and UpdateFile: what is before and after the image.
struct MultipartFrame {
  std::string content_type;
  std::string head;
  std::string tail;
};
[[nodiscard]] MultipartFrame multipart_frame(std::string_view parameters, std::string_view file_name,
                                             std::string_view image);

}  // namespace weft::oob
