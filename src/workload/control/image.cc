#include "workload/control/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/control/events.h"
#include "workload/storage/limits.h"

namespace weft::workload {
namespace {

// "nvcr.io" for "nvcr.io/nvidia/pytorch:24.04-py3"; a first component without a dot or port is a path on Docker Hub.
std::string registry_of(const std::string& image) {
  const std::size_t slash = image.find('/');
  std::string first = slash == std::string::npos ? std::string() : image.substr(0, slash);
  if (first.find_first_of(".:") != std::string::npos || first == "localhost") return first;
  return "docker.io";
}

bool within(const std::string& host, const std::string& domain) {
  const std::string name = host.substr(0, host.find(':'));
  return name == domain ||
         (name.size() > domain.size() && name.ends_with(domain) && name[name.size() - domain.size() - 1] == '.');
}

double pool_links(const model::Cluster& cluster, const std::string& pool) {
  std::vector<model::DeviceId> servers;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.name != pool) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      servers.push_back(static_cast<model::DeviceId>(model::index_of(group.first) + i));
    }
  }
  return servers.empty() ? 0.0 : fabric_capacity(cluster, servers, model::FabricKind::frontend);
}

double external_links(const model::Cluster& cluster) {
  double sum = 0;
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.role != model::CableRole::external || cable.fabric != model::FabricKind::frontend) continue;
    sum += static_cast<double>(cluster.port(cable.a).speed_mbps) * 125'000;
  }
  return sum;
}

}  // namespace

ImagePull image_pull(const model::Cluster& cluster, const model::JobSpec& job,
                     const std::vector<model::DeviceId>& hosts, const ControlOptions& options, int downloads) {
  ImagePull pull;
  const double image = std::max(0.0, static_cast<double>(options.image.count()));
  const double share = 1 - std::clamp(options.cached, 0.0, 1.0);
  pull.servers = static_cast<std::size_t>(std::llround(std::ceil(share * static_cast<double>(hosts.size()) - 1e-9)));
  if (pull.servers == 0 || image <= 0) return pull;
  const auto servers = static_cast<double>(pull.servers);
  pull.bytes = servers * image;
  pull.unpack = image / kUnpackRate;

  const std::string registry = registry_of(*job.image);
  pull.external = !within(registry, *cluster.spec().site->domain);
  const model::ControlPlaneSpec& control = *cluster.spec().control_plane;
  const std::string pool = control.pool.has_value() ? *control.pool : std::string();
  const double egress = pull.external ? external_links(cluster) : pool_links(cluster, pool);
  pull.from = pull.external || pool.empty() ? registry : fmt::format("{} on pool `{}`", registry, pool);

  const double link = fabric_capacity(cluster, hosts, model::FabricKind::frontend) / static_cast<double>(hosts.size());
  const double sockets = downloads * kTcpConnection;
  const double node = link > 0 ? std::min(link, sockets) : sockets;
  pull.download = image / node;
  pull.bound_by = link > 0 && link < sockets ? "the frontend link of a server"
                                             : fmt::format("{} connections at 42 Gb/s", downloads);
  if (egress > 0 && pull.bytes / egress > pull.download) {
    pull.download = pull.bytes / egress;
    pull.bound_by = pull.external ? "the site's external links" : "the links of the registry's servers";
  }
  return pull;
}

}  // namespace weft::workload
