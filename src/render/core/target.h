// Renderers behind one interface, selected by name with `--target`. A target is a pure function of a compiled cluster,
// the jobs passed in and a few options; all names, addresses, VLANs and classes come from the Cluster and core/plan.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "model/job.h"
#include "render/core/file_sink.h"
#include "render/core/plan.h"

namespace weft::render {

// Options that are not in the cluster file, set with --set KEY=VALUE. The first value is the default.
struct RenderChoice {
  std::string_view key;
  std::string_view summary;
  std::vector<std::string_view> values;
};
// ipam: whereabouts | nv-ipam | host-local; attachments: definition | sriovnetwork; bgp: v2 | v1
// (CiliumBGPPeeringPolicy); ingress: gateway | ingress | route; job: all | pytorchjob | trainjob | indexed | sbatch;
// slurm: 22.05 | 24.05.
[[nodiscard]] std::span<const RenderChoice> render_choices();

class RenderOptions {
 public:
  // The chosen value for a key of render_choices(), or its default.
  [[nodiscard]] std::string_view operator[](std::string_view key) const;
  // Rejects unknown keys and values, and lists the valid ones.
  [[nodiscard]] Status set(std::string_view assignment);
  // The chosen values in the form that set() accepts, sorted by key.
  [[nodiscard]] std::vector<std::string> chosen() const;

 private:
  std::vector<std::pair<std::string, std::string>> chosen_;
};

struct RenderInput {
  const model::Cluster& cluster;
  const RenderPlan& plan;
  const RenderOptions& options;
  std::span<const model::JobSpec> jobs;  // resolved
};

struct RenderTarget {
  std::string_view name;      // "sonic", "kubernetes/network"
  std::string_view summary;   // what it writes
  std::string_view consumer;  // what reads it
  // Whether the target applies to the cluster: a fabric with that system, Slurm, Kubernetes, jobs.
  bool (*applies)(const RenderInput&);
  void (*render)(const RenderInput&, FileSink&);
};

// In rendering order; the order of application is in the manifest.
[[nodiscard]] std::span<const RenderTarget> all_targets();
// Looks up a target by name, or all of a group: "kubernetes" means kubernetes/*. Empty if there is none.
[[nodiscard]] std::vector<const RenderTarget*> find_targets(std::string_view name);

// Header of a file that allows comments: what it is, from which cluster, and that weft generated it. Lines without a
// comment marker.
[[nodiscard]] std::string heading(const model::Cluster& cluster, std::string_view what);

}  // namespace weft::render
