// Published component counts, and weft's own for the same designs. The tests require equality; `make validate` prints
// both. Expected values are as published and are never taken from weft's output.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "design/bom.h"
#include "model/load.h"

namespace weft::published {

struct Row {
  std::string source;
  std::string design;
  std::string quantity;
  std::int64_t expected = 0;
  std::int64_t found = 0;
};

inline std::shared_ptr<const model::Cluster> compile_or_die(const std::string& name, const std::string& text) {
  auto loaded = model::load_cluster_text(name, text);
  if (!loaded->cluster) {
    fmt::print(stderr, "{}", render_all(loaded->diagnostics, loaded->sources, false));
    std::abort();
  }
  return loaded->cluster;
}

inline std::int64_t cables(const model::Cluster& cluster, model::FabricKind fabric, model::CableRole role) {
  std::int64_t count = 0;
  for (const model::Cable& cable : cluster.cables()) count += cable.fabric == fabric && cable.role == role ? 1 : 0;
  return count;
}

// --- DGX SuperPOD H100 table 3 and the B200 row of two units: full units, no fabric managers.
inline void superpod_scale(std::vector<Row>& rows) {
  const std::string source = "DGX SuperPOD H100 RA-11333-001 V11, table 3";
  const std::string b200 = "DGX SuperPOD B200 reference architecture, architecture table";
  struct Published {
    int units;
    std::int64_t nodes, gpus, leaf, spine, core, node_leaf, leaf_spine, spine_core;
  };
  const std::vector<Published> table{{2, 64, 512, 16, 8, 0, 512, 512, 0},
                                     {4, 128, 1024, 32, 16, 0, 1024, 1024, 0},
                                     {8, 256, 2048, 64, 32, 0, 2048, 2048, 0},
                                     {16, 512, 4096, 128, 128, 64, 4096, 4096, 4096},
                                     {32, 1024, 8192, 256, 256, 128, 8192, 8192, 8192},
                                     {64, 2048, 16384, 512, 512, 256, 16384, 16384, 16384}};
  for (const Published& row : table) {
    for (const char* server : {"dgx-h100", "dgx-b200"}) {
      const bool is_b200 = std::string(server) == "dgx-b200";
      if (row.units == 2 && !is_b200) continue;  // only the B200 document has this row
      const auto cluster = compile_or_die(
          "table3.yaml", fmt::format("weft: 1\nname: sp\nsite: {{switches: row, rack_power: 80kW}}\n"
                                     "pools: [{{name: dgx, server: {}, count: {}, per_rack: 4}}]\n"
                                     "fabrics:\n  backend: {{network: infiniband, leaf: qm9700}}\n"
                                     "  storage: {{network: infiniband, leaf: qm9700}}\n"
                                     "  frontend: {{subnets: [10.20.0.0/16]}}\n  oob: {{spine: nexus-9364c-gx}}\n",
                                     server, row.units * 32));
      const model::FabricPlan& plan = cluster->fabric(model::FabricKind::backend);
      const std::string design = fmt::format("{} {} SU", server, row.units);
      const auto add = [&](const char* what, std::int64_t expected, std::int64_t found) {
        rows.push_back({is_b200 ? b200 : source, design, what, expected, found});
      };
      add("nodes", row.nodes, static_cast<std::int64_t>(cluster->groups()[0].count));
      add("GPUs", row.gpus, cluster->gpu_count());
      add("leaf", row.leaf, plan.leaves);
      add("spine", row.spine, plan.spines);
      add("core", row.core, plan.cores);
      add("node-leaf cables", row.node_leaf, cables(*cluster, model::FabricKind::backend, model::CableRole::host_leaf));
      add("leaf-spine cables", row.leaf_spine,
          cables(*cluster, model::FabricKind::backend, model::CableRole::leaf_spine));
      add("spine-core cables", row.spine_core,
          cables(*cluster, model::FabricKind::backend, model::CableRole::spine_core));
    }
  }
}

// --- Table 4 of both documents: one slot of the last unit is used by the fabric managers.
inline void superpod_managers(std::vector<Row>& rows) {
  const std::string source = "DGX SuperPOD H100 and B200, table 4";
  struct Published {
    int units;
    std::int64_t nodes, gpus, leaf, spine, compute_and_ufm, spine_leaf;
  };
  for (const Published& row : {Published{1, 31, 248, 8, 4, 252, 256}, Published{2, 63, 504, 16, 8, 508, 512},
                               Published{3, 95, 760, 24, 16, 764, 768}, Published{4, 127, 1016, 32, 16, 1020, 1024}}) {
    const auto cluster = compile_or_die(
        "table4.yaml",
        fmt::format("weft: 1\nname: sp\nsite: {{rack_power: 80kW}}\n"
                    "pools: [{{name: dgx, server: dgx-h100, count: {}, per_rack: 4, unit: 32}}]\n"
                    "fabrics:\n  backend:\n    network: infiniband\n    leaf: qm9700\n    media: [fibre]\n"
                    "    managers: [{{name: ufm, server: ufm-appliance-ndr, count: 2, ports: 2, speed: 200G, "
                    "breakout: 4x200G}}]\n"
                    "  storage: {{network: infiniband, leaf: qm9700}}\n  frontend: {{subnets: [10.20.0.0/16]}}\n",
                    row.nodes));
    const model::FabricPlan& plan = cluster->fabric(model::FabricKind::backend);
    const std::string design = fmt::format("{} SU", row.units);
    const auto add = [&](const char* what, std::int64_t expected, std::int64_t found) {
      rows.push_back({source, design, what, expected, found});
    };
    add("GPUs", row.gpus, cluster->gpu_count());
    add("leaf", row.leaf, plan.leaves);
    add("spine", row.spine, plan.spines);
    add("compute and UFM cables", row.compute_and_ufm,
        cables(*cluster, model::FabricKind::backend, model::CableRole::host_leaf) +
            cables(*cluster, model::FabricKind::backend, model::CableRole::manager_leaf));
    add("spine-leaf cables", row.spine_leaf,
        cables(*cluster, model::FabricKind::backend, model::CableRole::leaf_spine));
  }
}

// --- B300: two planes, 64-cage switches split to 128 ports of 400G; the document counts a cage as one cable.
inline void superpod_b300(std::vector<Row>& rows) {
  const std::string source = "DGX SuperPOD B300 reference architecture, table 3";
  struct Published {
    int units;
    std::int64_t nodes, gpus, leaf, spine, node_leaf, leaf_spine;
  };
  for (const Published& row :
       {Published{1, 64, 512, 16, 8, 512, 512}, Published{2, 128, 1024, 32, 16, 1024, 1024},
        Published{4, 256, 2048, 64, 32, 2048, 2048}, Published{8, 512, 4096, 128, 64, 4096, 4096},
        Published{16, 1024, 8192, 256, 128, 8192, 8192}}) {
    const auto cluster = compile_or_die(
        "b300.yaml", fmt::format("weft: 1\nname: b300\nsite: {{switches: row, rack_power: 80kW}}\n"
                                 "pools: [{{name: dgx, server: dgx-b300, count: {}, per_rack: 4}}]\n"
                                 "fabrics:\n  backend: {{leaf: sn5600, planes: 2}}\n"
                                 "  frontend: {{subnets: [10.20.0.0/16]}}\n  oob: {{spine: nexus-9364c-gx}}\n",
                                 row.nodes));
    const model::FabricPlan& plan = cluster->fabric(model::FabricKind::backend);
    const std::string design = fmt::format("{} SU, two planes", row.units);
    const auto add = [&](const char* what, std::int64_t expected, std::int64_t found) {
      rows.push_back({source, design, what, expected, found});
    };
    add("GPUs", row.gpus, cluster->gpu_count());
    add("leaf", row.leaf, plan.leaves);
    add("spine", row.spine, plan.spines);
    add("node-leaf cables (cages)", row.node_leaf, plan.host_cages);
    add("leaf-spine cables (cages)", row.leaf_spine, plan.leaf_spine_cages);
  }
}

// --- Juniper: the maximum number of servers of a stripe (unit) of eight leaves at 1:1.
inline void juniper_stripes(std::vector<Row>& rows) {
  const std::string source = "Juniper JVD-AICLUSTERDC-EVPNType5-01-04, table 5";
  struct Published {
    const char* leaf;
    std::int64_t servers, gpus;
  };
  for (const Published& row : {Published{"juniper-qfx5220-32cd", 16, 128}, Published{"juniper-qfx5230-64cd", 32, 256},
                               Published{"juniper-qfx5240-64od", 64, 512}}) {
    // One server more than the table's maximum: it must open a second stripe.
    for (const std::int64_t extra : {0, 1}) {
      const auto cluster = compile_or_die(
          "stripe.yaml", fmt::format("weft: 1\nname: jvd\nsite: {{rack_power: 80kW}}\n"
                                     "pools: [{{name: gpu, server: hgx-h100, count: {}, per_rack: 4}}]\n"
                                     "fabrics:\n  backend: {{leaf: {}, wiring: rail-optimized}}\n"
                                     "  storage: {{leaf: sn5600}}\n  frontend: {{subnets: [10.20.0.0/16]}}\n",
                                     row.servers + extra, row.leaf));
      rows.push_back({source, fmt::format("{} with {} servers", row.leaf, row.servers + extra), "stripes of 8 leaves",
                      1 + extra, cluster->fabric(model::FabricKind::backend).leaves / 8});
      if (extra == 0) rows.push_back({source, row.leaf, "GPUs of a full stripe", row.gpus, cluster->gpu_count()});
    }
  }
}

inline std::int64_t bom_count(const design::Bom& bom, std::string_view category,
                              std::optional<model::FabricKind> fabric, std::string_view item,
                              std::string_view purpose) {
  std::int64_t count = 0;
  for (const design::BomLine& line : bom.lines) {
    const bool match = line.category == category && (!fabric || line.fabric == fabric) &&
                       (item.empty() || line.item == item) && line.purpose.find(purpose) != std::string::npos;
    if (match) count += line.count;
  }
  return count;
}

// Management cables by the kind of device they connect.
inline std::int64_t oob_cables(const model::Cluster& cluster, model::DeviceKind kind,
                               const std::set<std::string>& groups, std::optional<model::FabricKind> fabric = {}) {
  std::int64_t count = 0;
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.fabric != model::FabricKind::oob || cable.role != model::CableRole::host_leaf) continue;
    const model::DeviceGroup& group = cluster.group_of(cluster.port(cable.a).device);
    if (group.kind != kind || (!groups.empty() && !groups.contains(group.name))) continue;
    if (fabric && group.fabric != *fabric) continue;
    ++count;
  }
  return count;
}

// --- Tables 7 and 8: the bill of materials of four units, all four fabrics.
inline void superpod_bom(std::vector<Row>& rows, const std::string& source_dir) {
  auto text = read_file(source_dir + "/examples/superpod-h100-4su.yaml");
  CHECK(text.ok(), "the example file is part of the repository");
  const auto cluster = compile_or_die("superpod-h100-4su.yaml", *text);
  const design::Bom bom = design::make_bom(*cluster, nullptr);
  const auto add = [&](const char* what, std::int64_t expected, std::int64_t found) {
    rows.push_back({"DGX SuperPOD H100 RA-11333-001 V11, tables 7 and 8", "4 SU", what, expected, found});
  };
  using F = model::FabricKind;
  add("racks", 38, static_cast<std::int64_t>(cluster->racks().size()));
  add("DGX systems", 127, bom_count(bom, "server", {}, "dgx-h100", ""));
  add("UFM appliances", 4, bom_count(bom, "manager", {}, "", ""));
  add("management servers", 4, bom_count(bom, "server", {}, "", "bcm"));
  add("compute fabric QM9700", 48, bom_count(bom, "switch", F::backend, "qm9700", ""));
  add("storage fabric QM9700", 16, bom_count(bom, "switch", F::storage, "qm9700", ""));
  add("in-band SN4600C", 8, bom_count(bom, "switch", F::frontend, "sn4600c", ""));
  add("OOB SN2201", 8, bom_count(bom, "switch", F::oob, "sn2201", ""));
  add("rack PDUs, DGX racks", 96, bom_count(bom, "pdu", {}, "", "dgx"));
  add("rack PDUs, management racks", 12, bom_count(bom, "pdu", {}, "", "service"));
  add("compute NDR 400G cables", 2040,
      bom_count(bom, "cable", F::backend, "", "host-leaf") + bom_count(bom, "cable", F::backend, "", "leaf-spine"));
  add("UFM-to-leaf 200G cables", 2, bom_count(bom, "cable", F::backend, "", "manager-leaf"));
  add("UFM transceivers", 4, bom_count(bom, "transceiver", F::backend, "", "manager"));
  add("compute switch OSFP transceivers", 1536, bom_count(bom, "transceiver", F::backend, "", "switch"));
  add("compute system OSFP transceivers", 508, bom_count(bom, "transceiver", F::backend, "", "host"));
  const std::int64_t splitters = bom_count(bom, "cable", F::storage, "aoc-osfp-2x-qsfp56-200g", "");
  add("storage NDR 400G cables", 494,
      bom_count(bom, "cable", F::storage, "", "host-leaf") + bom_count(bom, "cable", F::storage, "", "leaf-spine") -
          splitters);
  add("storage 2x200G cables", 48, splitters);
  add("storage switch transceivers", 369, bom_count(bom, "transceiver", F::storage, "", "switch"));
  add("storage DGX QSFP112 transceivers", 254, bom_count(bom, "transceiver", F::storage, "", "host"));
  add("in-band 200G AOC to DGX", 254, bom_count(bom, "cable", F::frontend, "aoc-qsfp56-100g", "host-leaf"));
  // The management and NFS servers have eight cables each.
  add("in-band management and NFS 100G", 8 + 8, bom_count(bom, "cable", F::frontend, "", "host-leaf") - 254);
  add("in-band uplinks to the core", 4, bom_count(bom, "cable", F::frontend, "", "external"));
  add("in-band ISL", 6, bom_count(bom, "cable", F::frontend, "", "peer"));
  add("in-band leaf-core", 24, bom_count(bom, "cable", F::frontend, "", "leaf-spine"));
  add("OOB Cat5e to DGX", 127, oob_cables(*cluster, model::DeviceKind::server, {"dgx"}));
  add("OOB Cat5e to InfiniBand switches", 64,
      oob_cables(*cluster, model::DeviceKind::network_switch, {}, F::backend) +
          oob_cables(*cluster, model::DeviceKind::network_switch, {}, F::storage));
  add("OOB Cat5e to management servers and UFM", 8,
      oob_cables(*cluster, model::DeviceKind::server, {"bcm", "ufm-compute", "ufm-storage"}));
  add("OOB Cat5e to in-band switches", 8, oob_cables(*cluster, model::DeviceKind::network_switch, {}, F::frontend));
  add("OOB Cat5e UFM back to back", 2, bom_count(bom, "cable", F::oob, "", "back-to-back"));
  add("OOB Cat5e to PDUs", 108, oob_cables(*cluster, model::DeviceKind::pdu, {}));
  add("OOB 100G uplinks to in-band", 16, bom_count(bom, "cable", F::oob, "", "oob-frontend"));
}

inline std::vector<Row> all_rows(const std::string& source_dir) {
  std::vector<Row> rows;
  superpod_scale(rows);
  superpod_managers(rows);
  superpod_b300(rows);
  juniper_stripes(rows);
  superpod_bom(rows, source_dir);
  return rows;
}

}  // namespace weft::published
