// Renderers behind one interface, chosen by name with `--target`. A target is a pure function of a compiled cluster,
// the jobs handed in and a few choices; all names, addresses, VLANs and classes come from the Cluster and core/plan.h.
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

// Choices that the cluster file does not make, given as --set KEY=VALUE. The first value is the default.
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
  // The chosen value of a key of render_choices(), or its default.
  [[nodiscard]] std::string_view operator[](std::string_view key) const;
  // Refuses unknown keys and values, saying what there is.
  [[nodiscard]] Status set(std::string_view assignment);
  // What was chosen, as set() takes it, by key.
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
  std::string_view consumer;  // who reads it
  // Whether the cluster has anything for it: a fabric of that system, Slurm, Kubernetes, jobs.
  bool (*applies)(const RenderInput&);
  void (*render)(const RenderInput&, FileSink&);
};

// In the order in which they are rendered; the manifest orders what is applied.
[[nodiscard]] std::span<const RenderTarget> all_targets();
// By its name, or every one of a group: "kubernetes" means all of kubernetes/*. Empty when there is none.
[[nodiscard]] std::vector<const RenderTarget*> find_targets(std::string_view name);

// What is written at the top of a file that allows comments: what it is, from which cluster, that weft made it. Lines
// without a comment sign.
[[nodiscard]] std::string heading(const model::Cluster& cluster, std::string_view what);

}  // namespace weft::render
