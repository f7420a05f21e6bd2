// Interface names follow the cabling. MAC addresses are not part of the design, so a program on each host reads its
// neighbors (LLDP, or the subnet manager's view), looks up each port in its pool's wiring table, and writes udev rules
// by MAC or GUID.
#include <fmt/format.h>

#include "base/asset.h"
#include "base/text.h"
#include "render/core/line_file.h"
#include "render/hosts/parts.h"

namespace weft::render {
namespace {

void append_row(const model::Cluster& cluster, model::PortId id, std::string& out) {
  const model::PortId peer = cluster.peer_of(id);
  const model::Port& port = cluster.port(id);
  const model::DeviceId at = cluster.port(peer).device;
  if (cluster.group_of(at).kind != model::DeviceKind::network_switch) return;
  std::string names;
  for (const std::string& name : host_switch_port_names(cluster, peer)) {
    if (!names.empty()) names += ',';
    names += name;
  }
  append_format(out, "{}\t{}\t{}\t{}\t{}\n", config_word(cluster.name_of(port.device)), cluster.port_name(id),
                config_word(cluster.name_of(at)), names,
                host_fabric_is_infiniband(cluster, port.fabric) ? "ib" : "eth");
}

void add_program(const RenderInput& input, FileSink& sink, std::string_view name, std::string_view what,
                 std::string_view interpreter, std::string_view body) {
  std::string text = fmt::format("#!{}\n", interpreter);
  const std::string head = heading(input.cluster, what);
  std::size_t start = 0;
  while (start <= head.size()) {
    const std::size_t end = std::min(head.find('\n', start), head.size());
    text += "# " + head.substr(start, end - start) + "\n";
    start = end + 1;
  }
  text.append(body);
  sink.add({.path = fmt::format("host/common/{}", name),
            .content = std::move(text),
            .consumer = "udev",
            .install = fmt::format("{}/weft-{}", kHostPrograms, name),
            .mode = "0755",
            .stage = Stage::hosts,
            .sources = {"fabrics", "pools"}});
}

void add_rules(const RenderInput& input, FileSink& sink, std::string_view name, std::string text) {
  (void)input;
  sink.add({.path = fmt::format("host/common/udev/{}", name),
            .content = std::move(text),
            .consumer = "udev",
            .install = fmt::format("/etc/udev/rules.d/{}", name),
            .apply = "udevadm control --reload",
            .risk = Risk::none,
            .stage = Stage::hosts,
            .sources = {"fabrics"}});
}

}  // namespace

void add_wiring(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  std::string text = "# server\tinterface\tswitch\tport (names the switch may use)\tlink\n";
  for (std::uint32_t i = 0; i < pool.group->count; ++i) {
    for (const model::PortId id : input.cluster.ports_of(host_member(*pool.group, i))) {
      if (host_is_system_port(input.cluster.port(id))) append_row(input.cluster, id, text);
    }
  }
  sink.add({.path = "host/" + pool.name() + "/wiring.tsv",
            .content = std::move(text),
            .device = pool.name(),
            .consumer = "weft-name-nics",
            .install = fmt::format("{}/wiring.tsv", kHostFolder),
            .apply = fmt::format("{}/weft-name-nics", kHostPrograms),
            .risk = Risk::none,
            .stage = Stage::hosts,
            .sources = {"fabrics", "pools." + pool.name()}});
}

void add_naming(const RenderInput& input, FileSink& sink) {
  // Reads `lldpcli -f json show neighbors` and, if the wiring table has InfiniBand links, `ibnetdiscover`. The JSON of
  // lldpcli has a map for a single member and a list for several (lldpcli(8), "json").
  add_program(input, sink, "name-nics", "Writes udev rules that name this host's ports by their cabling.",
              "/usr/bin/python3", asset<"render/hosts/name-nics.py">());
  add_program(input, sink, "rdma-name", "Prints the name of a port's RDMA device: mlx5_be1, mlx5_be1v0.", "/bin/sh",
              asset<"render/hosts/rdma-name.sh">());
  LineFile masked(input.cluster,
                  "Overrides rdma-core's rules file of this name: 71-weft-rdma.rules names the devices.");
  add_rules(input, sink, "60-rdma-persistent-naming.rules", masked.take());
  LineFile rules(input.cluster, "RDMA devices are named after their port: mlx5_be1; a virtual function mlx5_be1v0.");
  rules.line(fmt::format(
      R"(ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM=="{}/weft-rdma-name %k", ENV{{WEFT_RDMA_NAME}}="%c")",
      kHostPrograms));
  rules.line(
      R"(ACTION=="add", SUBSYSTEM=="infiniband", ENV{WEFT_RDMA_NAME}=="?*", PROGRAM="rdma_rename %k NAME_FIXED $env{WEFT_RDMA_NAME}")");
  add_rules(input, sink, "71-weft-rdma.rules", rules.take());
}

}  // namespace weft::render
