// FRR configuration of every switch of the routed fabrics, for a lab: one format for all, regardless of the switch's
// own OS. Sessions are eBGP with the design's AS numbers (RFC 7938); a session to any other AS number, i.e. over a
// miswired cable, stays down.
#include <fmt/format.h>

#include <algorithm>

#include "render/core/targets.h"
#include "render/switches/frr_plan.h"
#include "render/switches/switch_plan.h"

namespace weft::render {
namespace {

using frr::FabricPart;
using frr::Gateway;
using frr::Session;
using frr::SwitchPart;
using frr::Underlay;

constexpr int kBfdIntervalMs = 100;
constexpr int kBfdMultiplier = 3;
// Debian's and the project's own packages are built with --enable-multipath=256.
constexpr std::uint32_t kMaxPaths = 256;
// Unnumbered peers find each other by router advertisements; the default interval of 10 s delays links that come back.
constexpr int kRouterAdvertisementSeconds = 1;

// Lines of an FRR configuration. Control characters, which could start another command, are removed.
class FrrText {
 public:
  void line(int depth, std::string_view text) {
    text_.append(static_cast<std::size_t>(depth), ' ');
    for (const char c : text) text_ += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
    text_ += '\n';
  }
  void gap() { text_ += "!\n"; }
  void raw(std::string_view text) { text_ += text; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class SwitchConfig {
 public:
  SwitchConfig(const Underlay& underlay, const FabricPart& fabric, model::DeviceId id)
      : underlay_(underlay),
        cluster_(underlay.cluster()),
        fabric_(fabric),
        device_(cluster_.device(id)),
        part_(underlay.switch_part(id)),
        name_(cluster_.name_of(id)),
        leaf_(cluster_.group_of(id).tier == model::Tier::leaf),
        numbered_(fabric.spec->switch_links.value == model::LinkAddressing::numbered),
        bfd_(fabric.spec->bfd.value && !part_.sessions.empty()),
        ipv6_(!underlay.allowed_ipv6(fabric).empty()) {}

  [[nodiscard]] std::string write() {
    out_.raw(frr::comment_heading(
        cluster_, fmt::format("{}: {} of the {} fabric", name_, tier(), model::to_text(fabric_.kind)), "!"));
    out_.line(0, "frr defaults traditional");
    out_.line(0, fmt::format("hostname {}", name_));
    out_.line(0, "log syslog informational");
    out_.line(0, "service integrated-vtysh-config");
    // FRR 8.4 keeps using a kernel nexthop group after the kernel has dropped members whose link went down: routes with
    // their own next hops get them back with the session.
    out_.line(0, "no zebra nexthop kernel enable");
    out_.gap();
    write_bfd();
    write_interfaces();
    write_host_routes();
    write_filters();
    write_bgp();
    return out_.take();
  }
  [[nodiscard]] bool bfd() const { return bfd_; }

 private:
  [[nodiscard]] std::string_view tier() const { return model::to_text(cluster_.group_of(part_.id).tier); }

  void write_bfd() {
    if (!bfd_) return;
    out_.line(0, "bfd");
    out_.line(1, "profile fabric");
    out_.line(2, fmt::format("detect-multiplier {}", kBfdMultiplier));
    out_.line(2, fmt::format("receive-interval {}", kBfdIntervalMs));
    out_.line(2, fmt::format("transmit-interval {}", kBfdIntervalMs));
    out_.line(1, "exit");
    out_.line(0, "exit");
    out_.gap();
  }

  void write_interfaces() {
    out_.line(0, "interface lo");
    out_.line(1, fmt::format("ip address {}/32", to_text(device_.loopback)));
    out_.line(0, "exit");
    write_vlans();
    for (const Session& session : part_.sessions) {
      out_.line(0, fmt::format("interface {}", frr::interface_name(cluster_, session.port)));
      out_.line(1, fmt::format("description {} {}", cluster_.name_of(cluster_.port(session.peer).device),
                               frr::interface_name(cluster_, session.peer)));
      if (numbered_) {
        out_.line(1, fmt::format("ip address {}/31", to_text(cluster_.port(session.port).address)));
      } else {
        out_.line(1, fmt::format("ipv6 nd ra-interval {}", kRouterAdvertisementSeconds));
        out_.line(1, "no ipv6 nd suppress-ra");
      }
      out_.line(0, "exit");
    }
    out_.gap();
  }

  // One interface per VLAN; pools that share a leaf have separate subnets on it.
  void write_vlans() {
    std::vector<std::string> done;
    for (const Gateway& first : part_.gateways) {
      const std::string vlan = frr::vlan_name(cluster_, first.subnet);
      if (std::find(done.begin(), done.end(), vlan) != done.end()) continue;
      done.push_back(vlan);
      out_.line(0, fmt::format("interface {}", vlan));
      out_.line(1, fmt::format("description {} hosts", model::to_text(fabric_.kind)));
      for (const Gateway& gateway : part_.gateways) {
        const model::Subnet& subnet = cluster_.subnet(gateway.subnet);
        if (frr::vlan_name(cluster_, gateway.subnet) != vlan || subnet.gateway == Ipv4{}) continue;
        out_.line(1, fmt::format("ip address {}/{}", to_text(subnet.gateway), subnet.prefix.length));
        if (subnet.ipv6.length > 0) {
          out_.line(1, fmt::format("ipv6 address {}/{}", to_text(embed_address(subnet.ipv6, subnet.gateway)),
                                   subnet.ipv6.length));
        }
      }
      out_.line(0, "exit");
    }
  }

  // Host routes for subnets that are on other leaves too: there the longer prefix wins.
  template <class Visit>
  void each_host_route(Visit visit) const {
    if (fabric_.evpn) return;
    for (const model::PortId host : part_.host_ports) {
      const model::Port& port = cluster_.port(host);
      const auto shared = std::any_of(part_.gateways.begin(), part_.gateways.end(), [&](const Gateway& gateway) {
        return gateway.subnet == port.subnet && gateway.shared;
      });
      if (shared && port.address != Ipv4{}) visit(port);
    }
  }

  void write_host_routes() {
    bool any = false;
    each_host_route([&](const model::Port& port) {
      any = true;
      out_.line(0, fmt::format("ip route {}/32 {}", to_text(port.address), frr::vlan_name(cluster_, port.subnet)));
    });
    if (any) out_.gap();
  }

  // Prefixes that this switch originates.
  [[nodiscard]] std::vector<std::string> own() const {
    std::vector<std::string> prefixes;
    if (!fabric_.evpn) {
      for (const Gateway& gateway : part_.gateways) {
        if (!gateway.shared) prefixes.push_back(to_text(cluster_.subnet(gateway.subnet).prefix));
      }
    }
    each_host_route([&](const model::Port& port) { prefixes.push_back(to_text(port.address) + "/32"); });
    prefixes.push_back(to_text(device_.loopback) + "/32");
    return prefixes;
  }
  [[nodiscard]] std::vector<std::string> own_ipv6() const {
    std::vector<std::string> prefixes;
    for (const Gateway& gateway : part_.gateways) {
      const Ipv6Prefix& prefix = cluster_.subnet(gateway.subnet).ipv6;
      if (ipv6_ && prefix.length > 0) prefixes.push_back(to_text(prefix));
    }
    return prefixes;
  }

  void write_list(std::string_view family, std::string_view name, const std::vector<std::string>& entries) {
    int sequence = 0;
    for (const std::string& entry : entries) {
      out_.line(0, fmt::format("{} prefix-list {} seq {} permit {}", family, name, sequence += 5, entry));
    }
    if (entries.empty()) out_.line(0, fmt::format("{} prefix-list {} seq 5 deny any", family, name));
  }

  // A leaf announces only its own prefixes, never learned ones: no transit traffic between spines.
  void write_filters() {
    if (part_.sessions.empty()) return;
    const auto allowed = underlay_.allowed(fabric_);
    write_list("ip", "FABRIC", allowed);
    if (leaf_) write_list("ip", "OWN", own());
    if (ipv6_) write_list("ipv6", "FABRIC6", underlay_.allowed_ipv6(fabric_));
    if (ipv6_ && leaf_) write_list("ipv6", "OWN6", own_ipv6());
    out_.gap();
    write_route_map("IN", "FABRIC");
    write_route_map("OUT", leaf_ ? "OWN" : "FABRIC");
    if (fabric_.evpn) {
      // eBGP exchanges nothing without a policy (RFC 8212); permit all, since only hosts of the one subnet are
      // announced.
      out_.line(0, "route-map EVPN permit 10");
      out_.line(0, "exit");
    }
    out_.gap();
  }
  void write_route_map(std::string_view name, std::string_view list) {
    out_.line(0, fmt::format("route-map {} permit 10", name));
    out_.line(1, fmt::format("match ip address prefix-list {}", list));
    out_.line(0, "exit");
    if (!ipv6_) return;
    out_.line(0, fmt::format("route-map {} permit 20", name));
    out_.line(1, fmt::format("match ipv6 address prefix-list {}6", list));
    out_.line(0, "exit");
  }

  void write_bgp() {
    out_.line(0, fmt::format("router bgp {}", device_.asn));
    out_.line(1, fmt::format("bgp router-id {}", to_text(device_.loopback)));
    out_.line(1, "bgp log-neighbor-changes");
    out_.line(1, "no bgp default ipv4-unicast");
    out_.line(1, "bgp bestpath as-path multipath-relax");
    out_.line(1, "timers bgp 3 9");
    if (!part_.sessions.empty()) write_neighbors();
    write_family("ipv4", own());
    if (ipv6_) write_family("ipv6", own_ipv6());
    if (fabric_.evpn) write_evpn();
    out_.line(0, "exit");
  }

  void write_neighbors() {
    out_.line(1, "neighbor FABRIC peer-group");
    out_.line(1, "neighbor FABRIC timers connect 1");
    out_.line(1, "neighbor FABRIC advertisement-interval 0");
    if (bfd_) out_.line(1, "neighbor FABRIC bfd profile fabric");
    for (const Session& session : part_.sessions) {
      const std::uint32_t asn = cluster_.device(cluster_.port(session.peer).device).asn;
      const std::string peer = peer_name(session);
      out_.line(1, fmt::format("neighbor {} {}remote-as {}", peer, numbered_ ? "" : "interface v6only ", asn));
      out_.line(1, fmt::format("neighbor {} peer-group FABRIC", peer));
      out_.line(1,
                fmt::format("neighbor {} description {}", peer, cluster_.name_of(cluster_.port(session.peer).device)));
    }
  }
  [[nodiscard]] std::string peer_name(const Session& session) const {
    return numbered_ ? to_text(cluster_.port(session.peer).address) : frr::interface_name(cluster_, session.port);
  }

  void write_family(std::string_view family, const std::vector<std::string>& networks) {
    out_.line(1, fmt::format("address-family {} unicast", family));
    for (const std::string& network : networks) out_.line(2, fmt::format("network {}", network));
    if (!part_.sessions.empty()) {
      out_.line(2, "neighbor FABRIC activate");
      out_.line(2, "neighbor FABRIC route-map IN in");
      out_.line(2, "neighbor FABRIC route-map OUT out");
    }
    out_.line(2, fmt::format("maximum-paths {}", std::min(part_.most_paths, kMaxPaths)));
    out_.line(1, "exit-address-family");
  }

  void write_evpn() {
    out_.line(1, "address-family l2vpn evpn");
    if (!part_.sessions.empty()) {
      out_.line(2, "neighbor FABRIC activate");
      out_.line(2, "neighbor FABRIC route-map EVPN in");
      out_.line(2, "neighbor FABRIC route-map EVPN out");
    }
    if (leaf_) out_.line(2, "advertise-all-vni");
    out_.line(1, "exit-address-family");
  }

  const Underlay& underlay_;
  const model::Cluster& cluster_;
  const FabricPart& fabric_;
  const model::Device& device_;
  const SwitchPart part_;
  const std::string& name_;
  const bool leaf_;
  const bool numbered_;
  const bool bfd_;
  const bool ipv6_;
  FrrText out_;
};

std::string daemons_file(const model::Cluster& cluster, const std::string& name, bool bfd) {
  std::string text = frr::comment_heading(cluster, fmt::format("FRR daemons of {}", name), "#");
  text += fmt::format("bgpd=yes\nbfdd={}\nstaticd=yes\n", bfd ? "yes" : "no");
  for (const char* off : {"ospfd", "ospf6d", "ripd", "ripngd", "isisd", "pimd", "ldpd", "nhrpd", "eigrpd", "babeld"}) {
    text += fmt::format("{}=no\n", off);
  }
  text += "vtysh_enable=yes\n";
  text += "zebra_options=\"-A 127.0.0.1 -s 90000000\"\n";
  for (const char* daemon : {"bgpd", "bfdd", "staticd"}) text += fmt::format("{}_options=\"-A 127.0.0.1\"\n", daemon);
  return text;
}

void add_switch(const Underlay& underlay, const FabricPart& fabric, model::DeviceId id, FileSink& sink) {
  const model::Cluster& cluster = underlay.cluster();
  const std::string& name = cluster.name_of(id);
  SwitchConfig config(underlay, fabric, id);
  const std::string source = fmt::format("fabrics.{}", model::to_text(fabric.kind));
  sink.add({.path = fmt::format("frr/{}/frr.conf", name),
            .content = config.write(),
            .device = name,
            .consumer = "FRR",
            .install = "/etc/frr/frr.conf",
            .apply = "systemctl reload frr",
            .mode = "0640",
            .owner = "frr",
            .group = "frr",
            .risk = Risk::none,
            .stage = Stage::acceptance,
            .sources = {source}});
  sink.add({.path = fmt::format("frr/{}/daemons", name),
            .content = daemons_file(cluster, name, config.bfd()),
            .device = name,
            .consumer = "FRR",
            .install = "/etc/frr/daemons",
            .apply = "systemctl restart frr",
            .mode = "0640",
            .owner = "frr",
            .group = "frr",
            .risk = Risk::none,
            .stage = Stage::acceptance,
            .sources = {source}});
}

}  // namespace

bool applies_frr(const RenderInput& input) { return !Underlay(input.cluster).fabrics().empty(); }

void render_frr(const RenderInput& input, FileSink& sink) {
  const Underlay underlay(input.cluster);
  for (const FabricPart& fabric : underlay.fabrics()) {
    underlay.each_switch(fabric, [&](model::DeviceId id) { add_switch(underlay, fabric, id, sink); });
    if (!fabric.spec->routes_to->empty()) {
      sink.note(
          fmt::format("the lab isolates the {} fabric despite `routes_to`: no cable connects switches of two fabrics",
                      model::to_text(fabric.kind)));
    }
  }
  const model::FabricPlan& frontend = input.cluster.fabric(model::FabricKind::frontend);
  if (frontend.present && frontend.tiers < 2) {
    sink.note("the frontend is one bridging pair of leaves; the lab omits it");
  }
  frr::render_lab(underlay, sink);
}

}  // namespace weft::render
