// Files of every InfiniBand fabric: OpenSM configuration, the script that discovers the site's GUIDs, the same fabric
// for ibsim, and the management configuration of the switches.
#include <fmt/format.h>

#include "base/asset.h"
#include "render/core/targets.h"
#include "render/switches/infiniband_plan.h"

namespace weft::render {
namespace {

using ib::Fabric;
using ib::Node;
using ib::Role;

class FabricFiles {
 public:
  FabricFiles(const RenderInput& input, model::FabricKind kind, FileSink& sink)
      : input_(input),
        cluster_(input.cluster),
        sink_(sink),
        fabric_(ib::plan_fabric(input, kind)),
        folder_(fmt::format("infiniband/{}/", model::to_text(kind))),
        source_(fmt::format("fabrics.{}", model::to_text(kind))) {
    for (const model::DeviceId id : fabric_.managers) {
      managers_ += (managers_.empty() ? "" : " ") + cluster_.name_of(id);
    }
  }

  void write() {
    write_manager();
    write_simulator();
    write_switches();
    if (!fabric_.has_managers) {
      sink_.note(fmt::format("the {} fabric has no subnet managers: run OpenSM on {}", model::to_text(fabric_.kind),
                             managers_));
    }
    sink_.note(fmt::format("GUIDs are read from the hardware: run {}guids.sh when the fabric is cabled", folder_));
  }

 private:
  void add(std::string path, std::string content, std::string install, std::string apply, std::string mode = "0644") {
    const bool service = !install.empty();
    sink_.add({.path = folder_ + std::move(path),
               .content = std::move(content),
               .device = service ? managers_ : "",
               .consumer = "OpenSM",
               .install = std::move(install),
               .apply = std::move(apply),
               .mode = std::move(mode),
               .risk = service ? Risk::reload : Risk::none,
               .stage = fabric_.kind == model::FabricKind::backend ? Stage::backend : Stage::storage,
               .sources = {source_, "tenants"}});
  }

  void write_manager() {
    const std::string place = fmt::format("/etc/opensm/{}/", model::to_text(fabric_.kind));
    const std::string restart = fmt::format("systemctl restart opensm@{}", model::to_text(fabric_.kind));
    add("opensm.conf", ib::opensm_conf(cluster_, fabric_, false), place + "opensm.conf", restart);
    add("partitions.conf", ib::partitions_conf(cluster_, fabric_, false), place + "partitions.conf", restart);
    add("nodes.tsv", ib::node_table(cluster_, fabric_), "", "");
    add("guids.sh", script("Writes the GUID lists of OpenSM", asset<"render/infiniband/guids.bash">()), "",
        folder_ + "guids.sh --host $(hostname -s)", "0755");
    std::string switches = ib::comment_heading(cluster_, "Switches by name and out-of-band address, for UFM");
    for (const Node& node : fabric_.nodes) {
      if (node.is_switch())
        switches += fmt::format("{} {}\n", node.description, to_text(cluster_.oob_address(node.device)));
    }
    add("switches.txt", std::move(switches), "", "");
  }

  void write_simulator() {
    add("sim/fabric.net", ib::netlist(cluster_, fabric_), "", "");
    add("sim/opensm.conf", ib::opensm_conf(cluster_, fabric_, true), "", "");
    add("sim/partitions.conf", ib::partitions_conf(cluster_, fabric_, true), "", "");
    add("sim/root_guids.conf", guids([](const Node& node) { return node.role == Role::root; }), "", "");
    add("sim/cn_guids.conf", guids([](const Node& node) { return node.role == Role::compute; }), "", "");
    add("sim/io_guids.conf",
        guids([](const Node& node) { return node.role == Role::io || node.role == Role::manager; }), "", "");
    std::string names;
    for (const Node& node : fabric_.nodes) {
      names += fmt::format("{} \"{}\"\n", ib::guid_text(node.port_guid()), node.description);
    }
    add("sim/node-name-map", std::move(names), "", "");
    add("sim/run.sh", script("Runs the simulated fabric", asset<"render/infiniband/simulator.bash">()), "",
        folder_ + "sim/run.sh", "0755");
  }

  template <class Wanted>
  [[nodiscard]] std::string guids(Wanted wanted) const {
    std::string text;
    for (const Node& node : fabric_.nodes) {
      if (wanted(node)) text += ib::guid_text(node.port_guid()) + "\n";
    }
    return text;
  }

  [[nodiscard]] std::string script(std::string_view what, std::string_view body) const {
    return "#!/usr/bin/env bash\n" +
           ib::comment_heading(cluster_, fmt::format("{} ({} fabric)", what, model::to_text(fabric_.kind))) +
           std::string(body);
  }

  void write_switches() {
    for (const Node& node : fabric_.nodes) {
      if (!node.is_switch()) continue;
      std::string text = ib::switch_config(input_, fabric_, node.device);
      if (text.empty()) {
        sink_.note(fmt::format("no configuration for switches of the {} fabric: `{}` is neither mlnx-os nor nvos",
                               model::to_text(fabric_.kind), fabric_.spec->system.value));
        return;
      }
      const bool nvos = fabric_.spec->system.value == "nvos";
      sink_.add({.path = fmt::format("{}{}.cfg", folder_, node.description),
                 .content = std::move(text),
                 .device = node.description,
                 .consumer = nvos ? "NVOS" : "MLNX-OS",
                 .apply = nvos ? "nv config apply" : "configuration text file FILE apply",
                 .risk = Risk::none,
                 .stage = fabric_.kind == model::FabricKind::backend ? Stage::backend : Stage::storage,
                 .sources = {source_, "fabrics.oob"}});
    }
  }

  const RenderInput& input_;
  const model::Cluster& cluster_;
  FileSink& sink_;
  const Fabric fabric_;
  const std::string folder_;
  const std::string source_;
  std::string managers_;
};

}  // namespace

bool applies_infiniband(const RenderInput& input) {
  return ib::has_fabric(input.cluster, model::FabricKind::backend) ||
         ib::has_fabric(input.cluster, model::FabricKind::storage);
}

void render_infiniband(const RenderInput& input, FileSink& sink) {
  for (const model::FabricKind kind : {model::FabricKind::backend, model::FabricKind::storage}) {
    if (ib::has_fabric(input.cluster, kind)) FabricFiles(input, kind, sink).write();
  }
}

}  // namespace weft::render
