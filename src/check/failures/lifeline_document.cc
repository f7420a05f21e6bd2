// The recovery path to one device, for use during an outage.
#include <fmt/format.h>

#include <algorithm>

#include "check/failures/failure_analysis.h"
#include "check/failures/lifeline.h"

namespace weft::check {
namespace {

// "rack svc-r01, feeds A B"
std::string describe_location(const model::Cluster& cluster, model::DeviceId id) {
  std::string text;
  if (const std::string rack = design::views::rack_name(cluster, id); !rack.empty()) text = "rack " + rack;
  if (const std::string feeds = design::views::feeds_of(cluster, id); !feeds.empty()) {
    text += fmt::format("{}feed{} {}", text.empty() ? "" : ", ", feeds.size() > 1 ? "s" : "", feeds);
  }
  return text;
}

std::string services_text(const model::OobSpec& oob) {
  std::string text;
  const auto add = [&](const char* name, model::Whereabouts where) {
    if (where == model::Whereabouts::none) return;
    text += fmt::format(
        "{}{} on {}", text.empty() ? "" : ", ", name,
        where == model::Whereabouts::oob ? std::string_view("the out-of-band network") : model::text_of(where));
  };
  add("names", *oob.services->dns);
  add("directory", *oob.services->directory);
  add("time", *oob.services->time);
  return text;
}

std::string system_text(const model::Cluster& cluster, model::DeviceId id) {
  const model::OobSpec& oob = *cluster.spec().fabrics->oob;
  const model::SwitchModel& model = *cluster.group_of(id).network_switch;
  const bool leaf = cluster.group_of(id).tier == model::Tier::leaf;
  const std::string system = leaf && oob.system.has_value() ? *oob.system
                             : model.systems->empty()       ? std::string("unknown system")
                                                            : model.systems->front();
  return fmt::format("{} {}", *model.vendor, system);
}

class HopTable {
 public:
  explicit HopTable(TableSection& table) : table_(table) {}
  void add(std::string hop, std::string where, std::string port, std::string dependencies) {
    const auto cell = [](std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); };
    table_.rows.push_back({table_.rows.size() + 1, cell(std::move(hop)), cell(std::move(where)), cell(std::move(port)),
                           cell(std::move(dependencies))});
  }

 private:
  TableSection& table_;
};

std::string protocols_of(const model::Cluster& cluster, model::DeviceId id) {
  if (cluster.group_of(id).kind != model::DeviceKind::server) return "its management port";
  std::string text;
  const bool ipmi = *cluster.spec().fabrics->oob->bmc->ipmi_over_lan;
  for (const model::BmcProtocol protocol : *cluster.server_of(id).bmc) {
    if (protocol == model::BmcProtocol::ipmi && !ipmi) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", model::text_of(protocol));
  }
  return text.empty() ? "BMC" : text;
}

void add_path(const model::Cluster& cluster, const RecoveryPath& path, model::DeviceId target, TableSection& table) {
  const model::OobSpec& oob = *cluster.spec().fabrics->oob;
  HopTable hops(table);
  hops.add(fmt::format("entry ({})", model::text_of(*oob.entry)), "", "",
           *oob.gateway == model::Whereabouts::none ? "" : fmt::format("route to {}", model::text_of(*oob.gateway)));
  if (path.jump != model::kNone<model::DeviceId>) {
    std::string dependencies = describe_location(cluster, path.jump);
    if (const std::string services = services_text(oob); !services.empty()) dependencies += "; " + services;
    hops.add("jump host", cluster.name_of(path.jump), "", dependencies);
  }
  for (const model::DeviceId id : path.switches) {
    hops.add("out-of-band switch", cluster.name_of(id), "",
             fmt::format("{}; {}", describe_location(cluster, id), system_text(cluster, id)));
  }
  if (path.port == model::kNone<model::PortId>) return;
  std::string dependencies = describe_location(cluster, target);
  if (cluster.group_of(target).kind == model::DeviceKind::server) dependencies += ", standby power";
  if (*oob.services->dhcp != model::Whereabouts::none)
    dependencies += fmt::format("; address from {}", model::text_of(*oob.services->dhcp));
  hops.add(protocols_of(cluster, target), cluster.name_of(target),
           fmt::format("{} to {}", cluster.port_name(path.port), cluster.full_port_name(cluster.peer_of(path.port))),
           dependencies);
}

}  // namespace

Document recovery_document(const model::Cluster& cluster, const Lifeline& lifeline, model::DeviceId target) {
  Document document;
  document.kind = "recovery";
  const RecoveryPath path = lifeline.path_to(target);
  FactsSection facts{"recovery", "Recovery", {}};
  facts.facts = {{"device", "Device", cluster.name_of(target)},
                 {"rack", "Rack", design::views::rack_name(cluster, target)},
                 {"address", "Out-of-band address", to_text(cluster.oob_address(target))},
                 {"reachable", "Reached with all other fabrics down", path.exists}};
  if (!path.exists) facts.facts.push_back({"obstacle", "Because", path.obstacle});
  const RecoveryPath second =
      path.jump == model::kNone<model::DeviceId> ? RecoveryPath{} : lifeline.path_to(target, path.jump);
  if (path.exists) {
    facts.facts.push_back({"second_jump_host", "If that jump host is down",
                           second.exists ? Cell(cluster.name_of(second.jump)) : Cell("nothing else")});
  }
  document.sections.emplace_back(std::move(facts));
  if (path.exists) {
    TableSection table{"hops", "Hops", {}, {}};
    const auto left = [](const char* key, const char* title) { return Column{key, title, Column::Align::left, false}; };
    table.columns = {{"number", "#", Column::Align::right, false},
                     left("hop", "Hop"),
                     left("device", "Device"),
                     left("port", "Port"),
                     left("leans_on", "Depends on")};
    add_path(cluster, path, target, table);
    document.sections.emplace_back(std::move(table));
  }
  for (const model::DeviceId id : path.switches) {
    for (const LifelineLoss& loss : lifeline.losses()) {
      if (loss.device != id || loss.devices == 0) continue;
      document.notes.push_back(
          fmt::format("If {} fails, {} management port{} cannot be reached; it is reached through its own console.",
                      cluster.name_of(id), loss.devices, loss.devices == 1 ? "" : "s"));
    }
  }
  for (const LifelineCycle& cycle : lifeline.cycles()) {
    document.notes.push_back(fmt::format("Recovery depends on what it recovers: {} ({}).", cycle.text(), cycle.key));
  }
  return document;
}

}  // namespace weft::check
