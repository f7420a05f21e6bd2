#include "render/switches/out_of_band.h"

namespace weft::render {
namespace {

constexpr int kSyslogPort = 514;
constexpr int kTimePort = 123;
constexpr int kNamePort = 53;
constexpr int kDhcpServer = 67;
constexpr int kDhcpClient = 68;

Ipv4Prefix host_prefix(Ipv4 address) { return {address, 32}; }

using Protocol = GuardRule::Protocol;

// A request and its response.
void add_service(std::vector<GuardRule>& rules, Protocol protocol, const Ipv4Prefix& all, Ipv4 server, int port) {
  rules.push_back({protocol, all, 0, host_prefix(server), port, false});
  rules.push_back({protocol, host_prefix(server), port, all, 0, true});
}

void add_services(const model::Cluster& cluster, std::vector<GuardRule>& rules) {
  const Ipv4Prefix all = cluster.spec().fabrics->oob->subnet.value;
  const SwitchServices services = switch_services(cluster);
  if (const auto logs = parse_ipv4(services.syslog); logs.ok()) {
    add_service(rules, Protocol::udp, all, *logs, kSyslogPort);
    add_service(rules, Protocol::tcp, all, *logs, kSyslogPort);
  }
  if (services.time != Ipv4{}) add_service(rules, Protocol::udp, all, services.time, kTimePort);
  if (services.dns != Ipv4{}) {
    add_service(rules, Protocol::udp, all, services.dns, kNamePort);
    add_service(rules, Protocol::tcp, all, services.dns, kNamePort);  // RFC 7766: both are required
  }
}

// RFC 2131: a client without an address broadcasts, one with an address renews it with the server by unicast (4.3.2).
void add_dhcp(const model::OobSpec& oob, bool closed, std::vector<GuardRule>& rules) {
  if (oob.services->dhcp.value != model::Whereabouts::oob) return;
  const Ipv4Prefix all = oob.subnet.value;
  const Ipv4Prefix everyone{Ipv4{0xFFFFFFFFU}, 32};
  rules.push_back({Protocol::udp, host_prefix(Ipv4{}), kDhcpClient, everyone, kDhcpServer, false});
  if (!closed) return;
  rules.push_back({Protocol::udp, all, kDhcpClient, all, kDhcpServer, false});
  rules.push_back({Protocol::udp, all, kDhcpServer, all, kDhcpClient, true});
}

// Leaves whose management ports are on this switch send keepalives to their pair.
void add_keepalives(const model::Cluster& cluster, const SwitchPlan& plan, std::vector<GuardRule>& rules) {
  for (const SwitchPort& port : plan.ports) {
    const model::DeviceId pair =
        port.use == SwitchPort::Use::host ? pair_of(cluster, port.peer) : model::kNone<model::DeviceId>;
    if (pair == model::kNone<model::DeviceId>) continue;
    const Ipv4 here = cluster.oob_address(port.peer);
    const Ipv4 there = cluster.oob_address(pair);
    if (here != Ipv4{} && there != Ipv4{})
      rules.push_back({Protocol::any, host_prefix(here), 0, host_prefix(there), 0, false});
  }
}

}  // namespace

SwitchServices switch_services(const model::Cluster& cluster) {
  const model::OobSpec& oob = cluster.spec().fabrics->oob.value;
  SwitchServices out;
  out.syslog = oob.syslog.has_value() ? oob.syslog.value : to_text(oob.subnet->at(kOobSyslogNumber));
  if (oob.services->time.value == model::Whereabouts::oob) out.time = oob.subnet->at(kOobTimeNumber);
  if (oob.services->dns.value == model::Whereabouts::oob) out.dns = oob.subnet->at(kOobNameNumber);
  return out;
}

bool is_host_text(std::string_view text) {
  if (parse_ipv4(text).ok() || parse_ipv6(text).ok()) return true;
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > 253) return false;
  char before = '.';
  for (const char c : text) {
    const bool edge = before == '.' || c == '.';
    if (!plain(c) && c != '-' && c != '.') return false;
    if (edge && (c == '-' || (c == '.' && !plain(before)))) return false;
    before = c;
  }
  return plain(before);
}

std::vector<Ipv4> jump_addresses(const RenderPlan& plan) {
  const model::Cluster& cluster = plan.cluster();
  std::vector<Ipv4> out;
  for (const model::DeviceId host : plan.jump_hosts()) {
    const std::size_t before = out.size();
    Ipv4 bmc;
    for (const model::PortId id : cluster.ports_of(host)) {
      const model::Port& port = cluster.port(id);
      if (port.fabric != model::FabricKind::oob || port.address == Ipv4{}) continue;
      if (port.rail == 0) {
        bmc = port.address;
      } else {
        out.push_back(port.address);
      }
    }
    if (out.size() == before && bmc != Ipv4{}) out.push_back(bmc);
  }
  return out;
}

std::vector<GuardRule> guard_rules(const RenderPlan& render, const SwitchPlan& plan) {
  const model::Cluster& cluster = render.cluster();
  const model::OobSpec& oob = cluster.spec().fabrics->oob.value;
  const Ipv4Prefix all = oob.subnet.value;
  std::vector<GuardRule> rules;
  if (!plan.oob() || !oob.jump_only.value) return rules;
  const std::vector<Ipv4> jumps = jump_addresses(render);
  for (const Ipv4 jump : jumps) {
    rules.push_back({Protocol::any, host_prefix(jump), 0, all, 0, true});
    rules.push_back({Protocol::any, all, 0, host_prefix(jump), 0, false});
  }
  if (jumps.empty()) {
    rules.push_back({Protocol::any, all, 0, all, 0, false});
    add_dhcp(oob, false, rules);
    return rules;
  }
  add_services(cluster, rules);
  add_dhcp(oob, true, rules);
  add_keepalives(cluster, plan, rules);
  return rules;
}

}  // namespace weft::render
