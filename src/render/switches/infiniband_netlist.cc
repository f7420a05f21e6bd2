// The fabric as input for ibsim: the format that ibnetdiscover prints.
#include <fmt/format.h>

#include <array>

#include "render/switches/infiniband_plan.h"

namespace weft::render::ib {
namespace {

// "4xNDR": lanes and the speed of one (IBTA 14.2.5.6 and its annexes).
std::string rate_text(const Link& link) {
  static constexpr std::array<std::pair<std::int64_t, std::string_view>, 5> kSpeeds = {
      {{200, "XDR"}, {100, "NDR"}, {50, "HDR"}, {25, "EDR"}, {14, "FDR"}}};
  const std::int64_t lane = link.speed.count() / 1'000'000'000 / std::max(link.lanes, 1);
  for (const auto& [gigabits, name] : kSpeeds) {
    if (lane >= gigabits) return fmt::format("{}x{}", link.lanes, name);
  }
  return fmt::format("{}xSDR", link.lanes);
}

std::string node_id(const Node& node) { return fmt::format("{}-{:016x}", node.is_switch() ? 'S' : 'H', node.guid); }

}  // namespace

std::string netlist(const model::Cluster& cluster, const Fabric& fabric) {
  std::string text = comment_heading(cluster, fmt::format("The {} fabric for ibsim", model::to_text(fabric.kind)));
  for (const Node& node : fabric.nodes) {
    const std::string guid = guid_text(node.guid);
    text += fmt::format("\nvendid=0x2c9\ndevid=0x{}\nsysimgguid={}\n", node.is_switch() ? "d2f2" : "1021", guid);
    text += fmt::format("{}guid={}\n", node.is_switch() ? "switch" : "ca", guid);
    text += fmt::format("{}\t{} \"{}\"\t\t# \"{}\"\n", node.is_switch() ? "Switch" : "Ca", node.ports, node_id(node),
                        node.description);
    for (const Link& link : node.links) {
      const Node& far = fabric.nodes[link.far];
      const std::string own = node.is_switch() ? std::string() : fmt::format("({:x})", node.port_guid());
      text += fmt::format("[{}]{}\t\"{}\"[{}]\t\t# \"{}\" lid 0 {}\n", link.port, own, node_id(far), link.far_port,
                          far.description, rate_text(link));
    }
  }
  return text;
}

}  // namespace weft::render::ib
