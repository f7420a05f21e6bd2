// SONiC: one config_db.json per switch. See switches/sonic_tables.h.
#include <fmt/format.h>

#include <set>

#include "render/core/targets.h"
#include "render/switches/sonic_tables.h"
#include "render/switches/system.h"

namespace weft::render {
namespace {

constexpr std::string_view kSonic = "sonic";
constexpr int kIndent = 1;  // a switch with 128 ports has ten thousand lines: more would be mostly spaces

RenderedFile sonic_file(const RenderInput& input, const SwitchPlan& plan) {
  sonic_render::Tables tables{input, plan, {}, sonic_render::vrf_name(plan)};
  tables.names.reserve(plan.ports.size());
  for (const SwitchPort& port : plan.ports) tables.names.push_back(sonic_render::port_name(port));
  sonic_render::add_metadata(tables);
  sonic_render::add_ports(tables);
  sonic_render::add_bundles(tables);
  sonic_render::add_vlans(tables);
  sonic_render::add_interfaces(tables);
  sonic_render::add_bgp(tables);
  sonic_render::add_hashing(tables);
  sonic_render::add_spanning_tree(tables);
  sonic_render::add_access_lists(tables);
  sonic_render::add_qos(tables);
  sonic_render::add_buffers(tables);
  sonic_render::add_neighbors(tables);
  sonic_render::add_management(tables);
  const std::string source = fabric_source(plan.group->fabric);
  return RenderedFile{.path = fmt::format("sonic/{}/config_db.json", plan.name),
                      .content = write_json(tables.root, kIndent),
                      .device = plan.name,
                      .consumer = "SONiC",
                      .install = "/etc/sonic/config_db.json",
                      .apply = "config reload -y",
                      .risk = Risk::traffic,
                      .stage = stage_of(plan.group->fabric),
                      .sources = {source, "fabrics.oob"}};
}

// Settings that SONiC's configuration database does not support, once per model or fabric.
void sonic_notes(const RenderInput& input, FileSink& sink) {
  std::set<std::string> told;
  const auto tell = [&](std::string sentence) {
    if (told.insert(sentence).second) sink.note(std::move(sentence));
  };
  for (const model::DeviceGroup& group : input.cluster.groups()) {
    if (!is_ethernet_switch_of(input.cluster, group, kSonic)) continue;
    if (sonic_render::hardware_of(*group.network_switch).hwsku.empty()) {
      tell(
          fmt::format("the catalog has no SONiC hwsku and platform for {}: merge DEVICE_METADATA and the lanes of PORT "
                      "from the switch (sonic-cfggen -H) before loading its config_db.json.",
                      group.network_switch->id->text));
    }
    const model::FabricSpec* fabric = switch_fabric(input.cluster, group.fabric);
    if (fabric != nullptr && fabric->load_balancing.value != model::LoadBalancing::ecmp) {
      tell(
          fmt::format("The {} fabric requires load balancing beyond ECMP; config_db.json has no table for it: enable "
                      "it with the switch vendor's command.",
                      model::to_text(group.fabric)));
    }
    if (fabric != nullptr && fabric->external->links.value > 0 && group.tier != model::Tier::none) {
      tell(
          fmt::format("The site's routers of the {} fabric need eBGP over IPv6 link-local addresses, with any ASN; "
                      "they announce the default route.",
                      model::to_text(group.fabric)));
    }
  }
}

}  // namespace

bool applies_sonic(const RenderInput& input) { return has_ethernet_switch_of(input.cluster, kSonic); }

void render_sonic(const RenderInput& input, FileSink& sink) {
  const SwitchPlanner planner(input.plan);
  for (const model::DeviceGroup& group : input.cluster.groups()) {
    if (!is_ethernet_switch_of(input.cluster, group, kSonic)) continue;
    for (std::uint32_t n = 0; n < group.count; ++n) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + n);
      sink.add(sonic_file(input, planner.plan(id)));
    }
  }
  sonic_notes(input, sink);
}

}  // namespace weft::render
