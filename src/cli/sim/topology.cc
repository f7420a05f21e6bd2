// Generated topologies by name.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/diagnostic.h"
#include "base/utf8.h"
#include "cli/sim/input.h"
#include "netsim/network/topologies.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kMaxHosts = 1'000'000;
constexpr std::int64_t kMaxCables = 5'000'000;
const std::vector<std::string_view> kKinds = {"fat-tree", "leaf-spine", "star", "ring"};

Error bad(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

// "16x8x8"
Result<std::vector<std::int64_t>> parse_sizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  while (true) {
    const std::size_t cross = text.find('x');
    const Result<std::int64_t> number = parse_integer(text.substr(0, cross));
    if (!number.ok() || number.value() < 1 || number.value() > kMaxHosts) {
      return bad(fmt::format("{} is not an integer between 1 and {}", in_backticks(text.substr(0, cross)), kMaxHosts));
    }
    sizes.push_back(number.value());
    if (cross == std::string_view::npos) return sizes;
    text.remove_prefix(cross + 1);
  }
}

// Saturates: each factor is at most a million.
std::int64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t all = 1;
  for (const std::int64_t factor : factors) all = multiply_divide(all, factor, 1);
  return all;
}

std::optional<Error> too_large(std::int64_t hosts, std::int64_t cables) {
  if (hosts < 2) return bad("a network needs at least two hosts");
  if (hosts <= kMaxHosts && cables <= kMaxCables) return std::nullopt;
  return bad(
      fmt::format("{} hosts and {} cables exceed the maximum of {} and {}", hosts, cables, kMaxHosts, kMaxCables));
}

std::uint32_t small(std::int64_t number) { return static_cast<std::uint32_t>(number); }

class Generator {
 public:
  explicit Generator(const TopologyDefaults& defaults) : defaults_(defaults) {}

  [[nodiscard]] Result<GeneratedTopology> make(std::string_view kind, const std::vector<std::int64_t>& sizes) const {
    if (kind == "fat-tree") return fat_tree(sizes);
    if (kind == "leaf-spine") return leaf_spine(sizes);
    return kind == "star" ? star(sizes) : ring(sizes);
  }

 private:
  [[nodiscard]] netsim::SimTime delay() const {
    return defaults_.delay ? netsim::from_duration(*defaults_.delay) : netsim::microseconds(1);
  }

  [[nodiscard]] Result<GeneratedTopology> fat_tree(std::vector<std::int64_t> sizes) const {
    if (sizes.size() == 1) {
      // k-ary: k pods of k/2 ToRs with k/2 hosts each make k^3/4 hosts (Al-Fares et al., SIGCOMM 2008).
      std::int64_t k = 2;
      while (k * k * k / 4 < sizes[0]) k += 2;
      if (k * k * k / 4 != sizes[0]) {
        return bad(fmt::format("a fat tree has k^3/4 hosts: {} or {}, not {}; or write fat-tree:PODSxTORSxHOSTS",
                               (k - 2) * (k - 2) * (k - 2) / 4, k * k * k / 4, sizes[0]));
      }
      sizes = {k, k / 2, k / 2};
    }
    if (sizes.size() != 3) return bad("write fat-tree:HOSTS or fat-tree:PODSxTORSxHOSTS");
    const std::int64_t hosts = product({sizes[0], sizes[1], sizes[2]});
    const std::int64_t up = product({sizes[0], sizes[1], sizes[2], 2});
    if (const auto error = too_large(hosts, hosts > kMaxHosts ? hosts : hosts + up)) return *error;
    netsim::FatTreeShape shape;
    shape.pods = small(sizes[0]);
    shape.tors_per_pod = small(sizes[1]);
    shape.hosts_per_tor = small(sizes[2]);
    shape.aggs_per_pod = shape.hosts_per_tor;
    shape.cores = shape.aggs_per_pod * shape.tors_per_pod;
    shape.rate = defaults_.rate.value_or(shape.rate);
    shape.delay = delay();
    return GeneratedTopology{netsim::fat_tree(shape), fmt::format("fat tree of {} hosts ({} pods), {} links", hosts,
                                                                  shape.pods, to_text(shape.rate))};
  }

  [[nodiscard]] Result<GeneratedTopology> leaf_spine(const std::vector<std::int64_t>& sizes) const {
    if (sizes.size() != 3) return bad("write leaf-spine:LEAVESxHOSTSxSPINES, hosts those of one leaf");
    const std::int64_t hosts = product({sizes[0], sizes[1]});
    const std::int64_t cables = product({sizes[0], sizes[2]});
    if (const auto error = too_large(hosts, std::max(hosts, cables))) return *error;
    netsim::LeafSpineShape shape;
    shape.leaves = small(sizes[0]);
    shape.hosts_per_leaf = small(sizes[1]);
    shape.spines = small(sizes[2]);
    shape.host_rate = defaults_.rate.value_or(shape.host_rate);
    shape.uplink_rate = shape.host_rate;
    shape.delay = delay();
    return GeneratedTopology{netsim::leaf_spine(shape),
                             fmt::format("{} leaves with {} hosts each, {} spines, {} links", shape.leaves,
                                         shape.hosts_per_leaf, shape.spines, to_text(shape.host_rate))};
  }

  [[nodiscard]] Result<GeneratedTopology> star(const std::vector<std::int64_t>& sizes) const {
    if (sizes.size() != 1) return bad("write star:HOSTS");
    if (const auto error = too_large(sizes[0], sizes[0])) return *error;
    const BitRate rate = defaults_.rate.value_or(gigabits(100));
    return GeneratedTopology{netsim::star(small(sizes[0]), rate, delay()),
                             fmt::format("one switch with {} hosts, {} links", sizes[0], to_text(rate))};
  }

  [[nodiscard]] Result<GeneratedTopology> ring(const std::vector<std::int64_t>& sizes) const {
    if (sizes.size() != 2 || sizes[0] < 3) return bad("write ring:SWITCHESxHOSTS, with at least 3 switches");
    const std::int64_t hosts = product({sizes[0], sizes[1]});
    if (const auto error = too_large(hosts, hosts)) return *error;
    const BitRate rate = defaults_.rate.value_or(gigabits(100));
    return GeneratedTopology{
        netsim::ring_of_switches(small(sizes[0]), small(sizes[1]), rate, delay()),
        fmt::format("ring of {} switches with {} hosts each, {} links", sizes[0], sizes[1], to_text(rate))};
  }

  const TopologyDefaults& defaults_;
};

}  // namespace

bool names_generator(std::string_view text) {
  const std::string_view kind = text.substr(0, text.find(':'));
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

Result<GeneratedTopology> generate_topology(std::string_view text, const TopologyDefaults& defaults) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (!names_generator(text)) {
    return bad(fmt::format("unknown topology {}; use fat-tree, leaf-spine, star or ring", in_backticks(kind)));
  }
  if (colon == std::string_view::npos) return bad(fmt::format("the size is missing; write {}:SIZE", kind));
  const Result<std::vector<std::int64_t>> sizes = parse_sizes(text.substr(colon + 1));
  if (!sizes.ok()) return sizes.error();
  return Generator(defaults).make(kind, sizes.value());
}

}  // namespace weft::cli
