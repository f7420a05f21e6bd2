// Isolation as the cluster file intends it.
#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "check/rules/isolation.h"

namespace weft::check {
namespace {

constexpr model::FabricKind kDataFabrics[] = {model::FabricKind::backend, model::FabricKind::storage,
                                              model::FabricKind::frontend};
// Each proof searches the graph from every zone; a few are enough.
constexpr std::size_t kMaxProofs = 64;

bool has_fabric(const CheckInput& input, model::FabricKind kind) { return input.cluster().fabric(kind).present; }

bool is_ethernet(const CheckInput& input, model::FabricKind kind) {
  return has_fabric(input, kind) && input.cluster().fabric(kind).network == model::NetworkKind::ethernet;
}

// VRF and VLANs of a fabric, for comparison with the others.
struct Labels {
  model::FabricKind kind;
  const model::Sourced<model::Name>* vrf;
  const model::Sourced<std::int64_t>* vlan;
  std::int64_t vlans;
  SourceLocation place;
};

std::vector<Labels> all_labels(const CheckInput& input) {
  std::vector<Labels> out;
  for (const model::FabricKind kind : kDataFabrics) {
    if (!is_ethernet(input, kind)) continue;
    const model::FabricSpec& fabric = input.cluster().data_fabric_spec(kind);
    const bool rails = kind != model::FabricKind::frontend;
    out.push_back(
        {kind, &fabric.vrf, &fabric.vlan, rails ? std::max(1U, input.cluster().fabric(kind).rails) : 1U, fabric.place});
  }
  const model::OobSpec& oob = *input.spec().fabrics->oob;
  if (has_fabric(input, model::FabricKind::oob))
    out.push_back({model::FabricKind::oob, &oob.vrf, &oob.vlan, 1, oob.place});
  return out;
}

void report_gateway(const CheckInput& input, Report& report, model::Whereabouts where, std::string message) {
  const model::OobSpec& oob = *input.spec().fabrics->oob;
  if (!has_fabric(input, model::FabricKind::oob) || *oob.gateway != where) return;
  Finding& finding = report.at(oob.gateway, oob.place, "oob", std::move(message));
  const Reachability& reachability = input.reachability();
  for (std::uint32_t i = 0; i < reachability.crossings().size(); ++i) {
    if (reachability.crossings()[i].kind != CrossingKind::oob_gateway) continue;
    const auto proof = reachability.proof(i, 1);
    if (!proof.empty()) add_path(finding, reachability, proof.front());
  }
}

bool overlap(const Ipv6Prefix& a, const Ipv6Prefix& b) {
  const unsigned length = std::min(a.length, b.length);
  for (unsigned bit = 0; bit < length; ++bit) {
    const unsigned mask = 0x8000U >> (bit % 16U);
    if ((a.base.groups[bit / 16U] & mask) != (b.base.groups[bit / 16U] & mask)) return false;
  }
  return true;
}

}  // namespace

void add_path(Finding& finding, const Reachability& reachability, const ReachViolation& violation) {
  const std::vector<ReachZone>& zones = reachability.zones();
  finding.related.push_back({{},
                             fmt::format("{} reaches {}: {}", zones[violation.from].name, zones[violation.to].name,
                                         to_text(violation.path.packet))});
  for (const ReachHop& hop : violation.path.hops) {
    finding.related.push_back({hop.place, fmt::format("{}: {}", hop.where, hop.what)});
  }
}

void report_crossings(const CheckInput& input, Report& report, CrossingKind kind, bool whole_path) {
  const Reachability& reachability = input.reachability();
  const std::vector<ReachZone>& zones = reachability.zones();
  // One line may connect several VRFs, or enable forwarding in several pools.
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::uint32_t i = 0; i < reachability.crossings().size(); ++i) {
    const Crossing& crossing = reachability.crossings()[i];
    if (crossing.kind != kind) continue;
    const SourceLocation& place = crossing.members.front().place;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const std::vector<std::uint32_t>& group) {
      return place.known() && reachability.crossings()[group.front()].members.front().place == place;
    });
    if (same != groups.end()) {
      same->push_back(i);
    } else {
      groups.push_back({i});
    }
  }
  std::size_t proofs = 0;
  for (const std::vector<std::uint32_t>& group : groups) {
    std::vector<ReachViolation> found;
    std::vector<std::string> devices;
    bool examined = true;
    for (const std::uint32_t i : group) {
      examined = examined && proofs < kMaxProofs;
      if (found.empty() && proofs++ < kMaxProofs) found = reachability.proof(i, 1);
      for (const Crossing::Member& member : reachability.crossings()[i].members) devices.push_back(member.device);
    }
    if (whole_path && examined && found.empty()) continue;
    const Crossing::Member& first = reachability.crossings()[group.front()].members.front();
    std::string message = first.text;
    if (!found.empty()) {
      message += fmt::format(": {} reaches {}", zones[found.front().from].name, zones[found.front().to].name);
    }
    Finding& finding = report.add(fold_hosts(std::move(devices)), first.place, std::move(message));
    if (!found.empty()) add_path(finding, reachability, found.front());
  }
}

void check_route_exchange(const CheckInput& input, Report& report) {
  report_crossings(input, report, CrossingKind::routes_to, false);
}

void check_data_fabric_default_route(const CheckInput& input, Report& report) {
  for (const model::FabricKind kind : {model::FabricKind::backend, model::FabricKind::storage}) {
    const model::FabricSpec& fabric = input.cluster().data_fabric_spec(kind);
    if (!has_fabric(input, kind) || !*fabric.default_route) continue;
    report.at(fabric.default_route, fabric.place, std::string(model::to_text(kind)),
              fmt::format("hosts have a default route on the {} fabric", model::to_text(kind)));
  }
}

void check_frontend_default_route(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = input.cluster().data_fabric_spec(model::FabricKind::frontend);
  if (!has_fabric(input, model::FabricKind::frontend) || *fabric.default_route) return;
  report.at(fabric.default_route, fabric.place, "frontend", "hosts have no default route on the frontend");
}

void check_shared_vrf(const CheckInput& input, Report& report) {
  const std::vector<Labels> labels = all_labels(input);
  for (std::size_t j = 1; j < labels.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const Labels& a = labels[i];
      const Labels& b = labels[j];
      if ((*a.vrf)->text != (*b.vrf)->text) continue;
      const bool second = b.vrf->from_file();
      Finding& finding = report.at(
          second ? *b.vrf : *a.vrf, second ? b.place : a.place, std::string(model::to_text(second ? b.kind : a.kind)),
          fmt::format("{} and {} share the VRF `{}`", model::to_text(a.kind), model::to_text(b.kind), (*a.vrf)->text));
      const Reachability& reachability = input.reachability();
      for (std::uint32_t c = 0; c < reachability.crossings().size(); ++c) {
        if (reachability.crossings()[c].kind != CrossingKind::shared_vrf) continue;
        const auto proof = reachability.proof(c, 1);
        if (!proof.empty()) add_path(finding, reachability, proof.front());
      }
    }
  }
}

void check_shared_vlan(const CheckInput& input, Report& report) {
  const std::vector<Labels> labels = all_labels(input);
  for (std::size_t j = 1; j < labels.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const Labels& a = labels[i];
      const Labels& b = labels[j];
      const std::int64_t low = std::max(**a.vlan, **b.vlan);
      const std::int64_t high = std::min(**a.vlan + a.vlans, **b.vlan + b.vlans) - 1;
      if (low > high) continue;
      const bool second = b.vlan->from_file();
      report.at(second ? *b.vlan : *a.vlan, second ? b.place : a.place,
                std::string(model::to_text(second ? b.kind : a.kind)),
                fmt::format("{} and {} both use VLAN {}", model::to_text(a.kind), model::to_text(b.kind),
                            low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high)));
    }
  }
}

void check_bmc_access(const CheckInput& input, Report& report) {
  const model::OobSpec& oob = *input.spec().fabrics->oob;
  if (!has_fabric(input, model::FabricKind::oob) || *oob.jump_only) return;
  const Reachability& reachability = input.reachability();
  const std::vector<ReachZone>& zones = reachability.zones();
  std::vector<std::string> from;
  const ZoneReach* path = nullptr;
  ReachViolation shown;
  for (std::size_t to = 0; to < zones.size(); ++to) {
    if (zones[to].kind != ZoneKind::oob) continue;
    for (std::size_t i = 0; i < zones.size(); ++i) {
      const ZoneReach& reach = reachability.between(i, to);
      if (zones[i].kind == ZoneKind::jump || !reach.reachable()) continue;
      from.push_back(zones[i].kind == ZoneKind::oob ? "every device on the out-of-band network"
                                                    : "the " + zones[i].name);
      if (reach.path && (path == nullptr || zones[i].kind != ZoneKind::oob)) {
        path = &reach;
        shown = {i, to, *reach.path};
      }
    }
  }
  std::string message = "no access list restricts access to the BMCs to the jump hosts";
  if (!from.empty()) message += ": " + fmt::format("{}", fmt::join(from, ", ")) + " can reach them";
  Finding& finding = report.at(oob.jump_only, oob.place, "oob", std::move(message));
  if (path != nullptr) add_path(finding, reachability, shown);
}

void check_oob_route_to_frontend(const CheckInput& input, Report& report) {
  report_gateway(input, report, model::Whereabouts::frontend, "the out-of-band VRF routes to the frontend");
}

void check_oob_route_to_site(const CheckInput& input, Report& report) {
  report_gateway(input, report, model::Whereabouts::site, "the out-of-band VRF routes to the site's network");
}

void check_data_fabric_external_links(const CheckInput& input, Report& report) {
  const Reachability& reachability = input.reachability();
  for (const model::FabricKind kind : {model::FabricKind::backend, model::FabricKind::storage}) {
    const model::FabricSpec& fabric = input.cluster().data_fabric_spec(kind);
    if (!has_fabric(input, kind) || *fabric.external->links <= 0) continue;
    Finding& finding = report.at(fabric.external->links, fabric.place, std::string(model::to_text(kind)),
                                 fmt::format("the {} fabric has links to the site's network", model::to_text(kind)));
    for (std::uint32_t i = 0; i < reachability.crossings().size(); ++i) {
      const Crossing& crossing = reachability.crossings()[i];
      if (crossing.kind != CrossingKind::external || crossing.members.front().device != model::to_text(kind)) continue;
      const auto proof = reachability.proof(i, 1);
      if (proof.empty()) continue;
      add_path(finding, reachability, proof.front());
      break;
    }
  }
}

void check_ipv6_prefix_overlap(const CheckInput& input, Report& report) {
  for (std::size_t j = 1; j < std::size(kDataFabrics); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const model::FabricSpec& a = input.cluster().data_fabric_spec(kDataFabrics[i]);
      const model::FabricSpec& b = input.cluster().data_fabric_spec(kDataFabrics[j]);
      if (!has_fabric(input, kDataFabrics[i]) || !has_fabric(input, kDataFabrics[j])) continue;
      if (!a.ipv6.has_value() || !b.ipv6.has_value() || !overlap(*a.ipv6, *b.ipv6)) continue;
      report.at(b.ipv6, b.place, std::string(model::to_text(kDataFabrics[j])),
                fmt::format("IPv6 prefixes of {} and {} overlap: {} and {}", model::to_text(kDataFabrics[i]),
                            model::to_text(kDataFabrics[j]), to_text(*a.ipv6), to_text(*b.ipv6)));
    }
  }
}

}  // namespace weft::check
