// The parts of the host target, one per kind of file. The servers of a pool share everything except their addresses and
// cabling. Internal to src/render/hosts and to ansible and terraform, which install these files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render {

// Where hosts keep files from weft, and where its programs are installed.
inline constexpr std::string_view kHostFolder = "/etc/weft";
inline constexpr std::string_view kHostPrograms = "/usr/local/sbin";

[[nodiscard]] bool host_fabric_is_infiniband(const model::Cluster& cluster, model::FabricKind fabric);
// The device with this index in a pool.
[[nodiscard]] model::DeviceId host_member(const model::DeviceGroup& group, std::uint32_t index);
// Whether the pool's servers have a port on the fabric (out-of-band: one that the operating system uses).
[[nodiscard]] bool host_has_fabric(const model::Cluster& cluster, const PoolPlan& pool, model::FabricKind fabric);
// "training", "jump"
[[nodiscard]] std::string_view host_role_name(model::PoolRole role);
// A port visible to the server's operating system: all except the BMC's.
[[nodiscard]] bool host_is_system_port(const model::Port& port);
// The network that the operating system is managed over: the frontend, else storage, else the out-of-band network.
[[nodiscard]] Ipv4 host_management_address(const model::Cluster& cluster, const RenderPlan& plan,
                                           model::DeviceId server);
// An out-of-band port that does not belong to a BMC: how a jump host is reached.
[[nodiscard]] Ipv4 host_jump_address(const model::Cluster& cluster, model::DeviceId server);
// Servers on both the frontend and storage: relays for SSH and time to servers without a frontend port. At most two,
// from a login pool if there is one.
[[nodiscard]] std::vector<model::DeviceId> host_relays(const RenderInput& input);

// The switch end of a server's port as named by the switch's OS: first the configured name, then other names that it
// may advertise to neighbors (SONiC's alias).
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

// Pools that mount storage themselves; if only Kubernetes runs jobs, its CSI drivers do.
[[nodiscard]] bool host_mounts_storage(const RenderInput& input, const PoolPlan& pool);
[[nodiscard]] bool host_is_read_only(const model::VolumeSpec& volume);

}  // namespace weft::render
