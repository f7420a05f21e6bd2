// The Redfish resources of a simulated BMC, rendered from its state on request (DSP0266 1.15, schemas of bundle 2023.1
// by their versions). Read-only: action.h changes state, service.h checks privileges.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "bmcsim/bmc.h"

namespace weft::bmcsim {

// "Systems", "1", "LogServices" of "/redfish/v1/Systems/1/LogServices". Empty for the root.
using SimPath = std::vector<std::string_view>;
inline constexpr std::string_view kRedfishRoot = "/redfish/v1";

// Empty if the path is not below the root. A trailing slash is ignored.
[[nodiscard]] std::optional<SimPath> split_path(std::string_view path);
[[nodiscard]] std::string joined_path(const SimPath& path);

// Empty if there is no such resource.
[[nodiscard]] std::optional<Value> sim_resource(const SimBmc& bmc, const SimPath& path);
// The Allow header of an existing resource: "GET, HEAD, PATCH".
[[nodiscard]] std::string_view allowed_methods(const SimPath& path);
// Whether the path names an action of an existing resource. Actions support only POST.
[[nodiscard]] bool is_action(const SimBmc& bmc, const SimPath& path);
// /redfish/v1/$metadata
[[nodiscard]] std::string sim_metadata();
// /redfish/v1/odata
[[nodiscard]] Value sim_odata(const SimBmc& bmc);

// RFC 9562 form, from SHA-256 of the name: the same for a device in every run.
[[nodiscard]] std::string sim_uuid(std::string_view name);
[[nodiscard]] std::string_view sim_model(SimKind kind);
inline constexpr std::string_view kSimFirmware = "2.14.0";
inline constexpr std::uint32_t kSimOutlets = 24;

// The resource types, implemented in resource_*.cc.
[[nodiscard]] std::optional<Value> system_resource(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] std::optional<Value> manager_resource(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] std::optional<Value> chassis_resource(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] std::optional<Value> power_equipment_resource(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] std::optional<Value> session_resource(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] std::optional<Value> account_resource(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] std::optional<Value> task_resource(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] std::optional<Value> update_resource(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] std::optional<Value> log_resource(const SimBmc& bmc, const SimPath& path);  // below a LogServices
[[nodiscard]] std::optional<Value> event_service_resource(const SimBmc& bmc, const SimPath& path);
[[nodiscard]] std::optional<Value> telemetry_resource(const SimBmc& bmc, const SimPath& path);
// Whether this is the ServerSentEventUri, which is no resource.
[[nodiscard]] bool is_event_stream_path(const SimBmc& bmc, const SimPath& path);

// The common properties of a resource: @odata.id, @odata.type, Id, Name.
[[nodiscard]] Value resource_head(std::string path, std::string_view type, std::string_view id, std::string_view name);
[[nodiscard]] Value link_to(std::string path);
[[nodiscard]] Value collection(std::string path, std::string_view type, std::string_view name,
                               const std::vector<std::string>& members);
[[nodiscard]] Value status_ok(bool enabled = true);
// Parses decimal digits; empty for anything else.
[[nodiscard]] std::optional<std::uint32_t> number_in_path(std::string_view part);

}  // namespace weft::bmcsim
