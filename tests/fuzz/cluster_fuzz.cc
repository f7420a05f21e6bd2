// Bytes as a cluster file: parsed, resolved and compiled against the built-in catalog. Any input must yield a cluster
// or a list of diagnostics; a compiled cluster uses each port, cable and address once.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "base/check.h"
#include "model/cluster.h"

namespace weft {
namespace {

// Larger clusters only take longer; the tests compile some.
constexpr std::int64_t kMaxServers = 500;

std::shared_ptr<const model::Catalog> load_built_in() {
  Sources sources;
  Diagnostics diagnostics;
  auto catalog = std::make_shared<model::Catalog>(model::Catalog::built_in(sources, diagnostics));
  catalog->check(diagnostics);
  CHECK(!diagnostics.has_errors(), "the built-in catalog is sound");
  return catalog;
}

bool small_enough(const model::Spec& spec) {
  std::int64_t servers = 0;
  for (const model::PoolSpec& pool : spec.pools.value) servers += pool.count.value;
  return servers <= kMaxServers;
}

void check_ports(const model::Cluster& cluster) {
  std::unordered_set<std::uint32_t> lanes;
  for (std::size_t d = 0; d < cluster.devices().size(); ++d) {
    const auto device = static_cast<model::DeviceId>(d);
    CHECK(cluster.find_device(cluster.name_of(device)) == device, "a name leads to its device");
    if (cluster.group_of(device).kind == model::DeviceKind::external)
      continue;  // the site's end counts links, not lanes
    lanes.clear();
    for (const model::PortId id : cluster.ports_of(device)) {
      const model::Port& port = cluster.port(id);
      CHECK(port.device == device, "a port belongs to the device that lists it");
      for (std::uint32_t lane = port.lane; lane < std::uint32_t{port.lane} + port.lanes; ++lane) {
        CHECK(lanes.insert((std::uint32_t{port.cage} << 8U) | lane).second, "a lane carries one cable");
      }
    }
  }
}

void check_cables(const model::Cluster& cluster) {
  for (std::size_t c = 0; c < cluster.cables().size(); ++c) {
    const model::Cable& cable = cluster.cables()[c];
    CHECK(cable.a != cable.b, "a cable has two ends");
    CHECK(model::index_of(cluster.cable_of(cable.a)) == c, "the near end knows its cable");
    CHECK(model::index_of(cluster.cable_of(cable.b)) == c, "the far end knows its cable");
    CHECK(cluster.port(cable.a).speed_mbps == cluster.port(cable.b).speed_mbps, "both ends run at one speed");
    CHECK(cable.medium < cluster.media().size(), "a cable is made of something");
  }
}

void check_addresses(const model::Cluster& cluster) {
  std::unordered_set<std::uint32_t> seen;
  for (const model::Port& port : cluster.ports()) {
    if (cluster.group_of(port.device).kind != model::DeviceKind::server || port.address.bits == 0) continue;
    CHECK(seen.insert(port.address.bits).second, "an address has one port");
    CHECK(port.subnet != model::kNone<model::SubnetId>, "an address lies in a subnet");
    CHECK(cluster.subnet(port.subnet).prefix.contains(port.address), "an address lies in its own subnet");
  }
}

// The output of `weft show effective` for a valid file is a valid file, and prints as itself.
void check_effective(const model::Spec& spec, const model::Catalog& catalog) {
  std::string text = model::write_effective(spec);
  for (int round = 0; round < 2; ++round) {
    Sources sources;
    Diagnostics diagnostics;
    const auto root = parse_yaml(sources, sources.add("effective.yaml", text), diagnostics);
    CHECK(root.has_value(), "the effective file can be read");
    std::optional<model::Spec> again = model::read_spec(*root, diagnostics);
    CHECK(again.has_value(), "the effective file has the right form");
    model::resolve(*again, catalog, diagnostics);
    CHECK(!diagnostics.has_errors(), "the effective file is as sound as the file");
    const std::string next = model::write_effective(*again);
    CHECK(round == 0 || next == text, "the effective file prints as itself");  // the first still has its notes
    text = next;
  }
}

void run_cluster(std::string text) {
  static const std::shared_ptr<const model::Catalog> catalog = load_built_in();
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("cluster.yaml", std::move(text));
  std::shared_ptr<const model::Cluster> cluster;
  if (const auto root = parse_yaml(sources, file, diagnostics)) {
    std::optional<model::Spec> spec = model::read_spec(*root, diagnostics);
    CHECK(spec.has_value() != diagnostics.has_errors(), "a file without a spec says why");
    if (spec) {
      model::resolve(*spec, *catalog, diagnostics);
      CHECK(!model::write_effective(*spec).empty(), "every spec can be written");
      if (!diagnostics.has_errors()) check_effective(*spec, *catalog);
      if (!diagnostics.has_errors() && small_enough(*spec)) {
        cluster = model::compile(std::move(*spec), catalog, diagnostics);
        CHECK((cluster != nullptr) != diagnostics.has_errors(), "what cannot be built says why");
      }
    }
  } else {
    CHECK(diagnostics.has_errors(), "a file that cannot be read says why");
  }
  (void)render_all(diagnostics, sources, true);
  if (cluster == nullptr) return;
  check_ports(*cluster);
  check_cables(*cluster);
  check_addresses(*cluster);
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::run_cluster(std::string(data, data + size));
  return 0;
}
