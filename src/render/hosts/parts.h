// The parts of the host target: what each kind of file holds. A pool's servers share everything but their addresses and
// where their cables go. Internal to src/render/host*.cc and to ansible and terraform, which install these files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render {

// Where hosts keep what weft gives them, and where its programs stand.
inline constexpr std::string_view kHostFolder = "/etc/weft";
inline constexpr std::string_view kHostPrograms = "/usr/local/sbin";

[[nodiscard]] bool host_fabric_is_infiniband(const model::Cluster& cluster, model::FabricKind fabric);
// The device of a pool with this place in it.
[[nodiscard]] model::DeviceId host_member(const model::DeviceGroup& group, std::uint32_t index);
// Whether the pool's servers have a port on the fabric (of out-of-band ports: one that the operating system uses).
[[nodiscard]] bool host_has_fabric(const model::Cluster& cluster, const PoolPlan& pool, model::FabricKind fabric);
// "training", "jump"
[[nodiscard]] std::string_view host_role_name(model::PoolRole role);
// A port that the server's operating system sees: all but the BMC's.
[[nodiscard]] bool host_is_system_port(const model::Port& port);
// Where the operating system is managed from: the frontend, else storage, else the out-of-band network.
[[nodiscard]] Ipv4 host_management_address(const model::Cluster& cluster, const RenderPlan& plan,
                                           model::DeviceId server);
// A port of the out-of-band network that is no BMC: how a jump host is reached.
[[nodiscard]] Ipv4 host_jump_address(const model::Cluster& cluster, model::DeviceId server);
// Servers that stand on the frontend and on storage: how servers that have no frontend are reached, and get their time.
// At most two, of a login pool where there is one.
[[nodiscard]] std::vector<model::DeviceId> host_relays(const RenderInput& input);

// The switch end of a server's port in the spelling of the switch's system, first as configured, then other names that
// it may show to neighbors (SONiC's alias).
[[nodiscard]] std::vector<std::string> host_switch_port_names(const model::Cluster& cluster, model::PortId switch_port);

// --- files of a pool and of its servers; each adds what applies
void add_sysctl(const RenderInput& input, const PoolPlan& pool, FileSink& sink);
void add_netplan(const RenderInput& input, const PoolPlan& pool, model::DeviceId server, FileSink& sink);
void add_wiring(const RenderInput& input, const PoolPlan& pool, FileSink& sink);
void add_naming(const RenderInput& input, FileSink& sink);  // shared by all pools
void add_nic_qos(const RenderInput& input, const PoolPlan& pool, FileSink& sink);
void add_storage_client(const RenderInput& input, const PoolPlan& pool, FileSink& sink);
void add_storage_server(const RenderInput& input, const PoolPlan& pool, FileSink& sink);
void add_base(const RenderInput& input, const PoolPlan& pool, FileSink& sink);  // time, limits, modules, sshd
void add_hosts_file(const RenderInput& input, FileSink& sink);
void add_firmware_policy(const RenderInput& input, const PoolPlan& pool, FileSink& sink);

// Pools that mount storage themselves; where Kubernetes alone runs jobs its CSI drivers do.
[[nodiscard]] bool host_mounts_storage(const RenderInput& input, const PoolPlan& pool);
[[nodiscard]] bool host_is_read_only(const model::VolumeSpec& volume);

}  // namespace weft::render
