// A small cluster with a job on it, for tests of storage and control paths.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/job.h"
#include "model/load.h"

namespace weft::workload {

struct Lab {
  std::unique_ptr<model::Loaded> loaded;
  std::optional<model::JobSpec> job;
  std::vector<model::DeviceId> hosts;

  [[nodiscard]] const model::Cluster& cluster() const { return *loaded->cluster; }
};

// 16 servers of 8 H100, each with 2 x 200G on the storage fabric; `store` storage servers, each with 80 GB/s read, 40
// GB/s write, 4 x 200G and 240,000 opens per second.
struct LabOptions {
  int store = 4;
  std::string pool_more = "";     // of the training pool: ", links: {storage: 1}"
  std::string storage_more = "";  // keys of the storage system: "    stripe_count: 2\n"
  std::string volume_more = "";   // of the checkpoint volume: ", replicas: 2"
  std::string more = "";          // further top-level keys
  std::string profile = "converged";
};

inline std::string lab_cluster(const LabOptions& options) {
  return "weft: 1\nname: lab\nprofile: " + options.profile +
         "\nsite: {pdu: pdu-35kw}\npools:\n"
         "  - {name: train, role: training, server: hgx-h100, count: 16, unit: 16" +
         options.pool_more +
         "}\n"
         "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
         "  - {name: flash, role: storage, server: storage-nvme-2u, count: " +
         std::to_string(options.store) +
         ", racks: service}\n"
         "fabrics:\n"
         "  backend: {leaf: sn5600, speed: 400G}\n"
         "  storage: {leaf: sn5600}\n"
         "  frontend: {leaf: sn4600c, external: {links: 4}}\n"
         "storage:\n"
         "  - name: fast\n    kind: nvmeof\n    pool: flash\n" +
         options.storage_more +
         "    volumes:\n"
         "      - {name: images, purpose: dataset, size: 10TB, read_only: true}\n"
         "      - {name: state, purpose: checkpoint, size: 10TB" +
         options.volume_more + "}\n      - {name: copy, purpose: scratch, size: 1TB}\n" + options.more;
}

// `training` holds the keys below `training:`, indented by two.
inline Lab make_lab(const std::string& cluster, const std::string& training, int nodes = 8) {
  Lab lab;
  lab.loaded = model::load_cluster_text("cluster.yaml", cluster);
  EXPECT_NE(lab.loaded->cluster, nullptr) << render_all(lab.loaded->diagnostics, lab.loaded->sources, false);
  if (lab.loaded->cluster == nullptr) return lab;
  const std::string text = "job: 1\nname: run\nnodes: " + std::to_string(nodes) +
                           "\ncommand: [train.py]\ntraining:\n  model: llama3-8b\n" + training;
  Diagnostics diagnostics;
  const FileId file = lab.loaded->sources.add("job.yaml", text);
  if (const auto root = parse_yaml(lab.loaded->sources, file, diagnostics))
    lab.job = model::read_job(*root, diagnostics);
  if (lab.job) model::resolve(*lab.job, lab.cluster(), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << render_all(diagnostics, lab.loaded->sources, false);
  for (const model::DeviceGroup& group : lab.cluster().groups()) {
    if (group.name != *lab.job->pool) continue;
    for (int i = 0; i < nodes; ++i) {
      lab.hosts.push_back(static_cast<model::DeviceId>(model::index_of(group.first) + static_cast<std::uint32_t>(i)));
    }
  }
  return lab;
}

inline Lab make_lab(const LabOptions& options, const std::string& training, int nodes = 8) {
  return make_lab(lab_cluster(options), training, nodes);
}

}  // namespace weft::workload
