// Files of hosts: those shared by all, those of a pool, and one per server for its addresses.
#include "render/core/targets.h"
#include "render/hosts/parts.h"

namespace weft::render {

bool applies_host(const RenderInput& input) { return !input.plan.pools().empty(); }

void render_host(const RenderInput& input, FileSink& sink) {
  add_hosts_file(input, sink);
  add_naming(input, sink);
  for (const PoolPlan& pool : input.plan.pools()) {
    add_sysctl(input, pool, sink);
    add_wiring(input, pool, sink);
    add_nic_qos(input, pool, sink);
    add_storage_client(input, pool, sink);
    add_storage_server(input, pool, sink);
    add_base(input, pool, sink);
    add_firmware_policy(input, pool, sink);
    for (std::uint32_t i = 0; i < pool.group->count; ++i) add_netplan(input, pool, host_member(*pool.group, i), sink);
  }
}

}  // namespace weft::render
