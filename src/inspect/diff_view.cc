#include "inspect/diff_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "design/cable_labels.h"
#include "design/views_common.h"

namespace weft::inspect {
namespace {

namespace views = design::views;
using views::left;
using views::right;
using views::text_cell;

constexpr std::size_t kShownValue = 60;

class DiffView {
 public:
  DiffView(const DiffInput& input, bool for_people)
      : in_(input), people_(for_people), labels_before_(input.before), labels_after_(input.after) {}

  Document make() {
    document_.kind = "cluster-diff";
    if (in_.settings.empty() && in_.diff.empty()) {
      document_.notes.emplace_back("No difference.");
      return std::move(document_);
    }
    add_impact();
    add_settings();
    add_totals();
    add_devices();
    add_changes("device_changes", "Changed devices", "device", in_.diff.device_changes);
    add_addresses();
    add_subnets();
    add_ports();
    add_cable_groups();
    if (!people_) add_cables();
    add_racks();
    add_bom();
    return std::move(document_);
  }

 private:
  void add(TableSection table) {
    if (!table.rows.empty()) document_.sections.emplace_back(std::move(table));
  }

  // What a person has to know first.
  void add_impact() {
    const std::size_t addresses = renumbered(in_.diff);
    std::set<model::DeviceId> devices;
    std::size_t swaps = 0;
    for (const AddressDifference& one : in_.diff.addresses) {
      if (one.change == AddressChange::renumbered) devices.insert(one.device);
      swaps += one.held_by.empty() ? 0U : 1U;
    }
    FactsSection facts{"impact", "Impact on what exists", {}};
    facts.facts.push_back(
        {"renumbered",
         "Renumbered",
         {static_cast<std::int64_t>(addresses),
          addresses == 0 ? std::string("no address of an existing device changes")
                         : fmt::format("{} of {} existing {} CHANGE", grouped_plural(addresses, "address", "addresses"),
                                       group_digits(devices.size()), devices.size() == 1 ? "device" : "devices")}});
    if (swaps > 0) {
      facts.facts.push_back({"address_conflicts",
                             "Address conflicts",
                             {static_cast<std::int64_t>(swaps),
                              fmt::format("{} held by another port today: both have to change together",
                                          grouped_plural(swaps, "new address is", "new addresses are"))}});
    }
    const auto count = [&](std::string key, std::string title, std::size_t number, std::string_view what) {
      facts.facts.push_back({std::move(key),
                             std::move(title),
                             {static_cast<std::int64_t>(number),
                              number == 0 ? std::string("none") : fmt::format("{} {}", group_digits(number), what)}});
    };
    count("devices_renamed", "Renamed devices", in_.diff.devices_renamed.size(), "with the same model and place");
    count("cables_moved", "Moved cables", in_.diff.cables_moved.size(), "keep one end");
    count("cables_relabeled", "Relabeled cables", in_.diff.cables_relabeled.size(),
          "keep both ends and get another label");
    document_.sections.emplace_back(std::move(facts));
  }

  [[nodiscard]] std::string shown(const std::string& text) const {
    return people_ && text.size() > kShownValue ? text.substr(0, kShownValue - 3) + "..." : text;
  }

  // "cluster.yaml:12:5", "default", "derived"
  static Cell source_of(const SettingSide& side) { return text_cell(side.place.empty() ? side.origin : side.place); }

  void add_settings() {
    TableSection table{"settings", "Settings", {}, {}};
    table.columns = {left("setting", "Setting"), left("before", "Before"), left("after", "After"),
                     left("before_source", "Before from"), left("after_source", "After from")};
    for (const SettingChange& change : in_.settings) {
      table.rows.push_back({change.path + (change.order ? " (order)" : ""), text_cell(shown(change.before.value)),
                            text_cell(shown(change.after.value)), source_of(change.before), source_of(change.after)});
    }
    add(std::move(table));
  }

  struct Totals {
    std::int64_t servers = 0;
    std::int64_t switches = 0;
    std::int64_t pdus = 0;
    std::int64_t addresses = 0;
    std::int64_t cable_mm = 0;
  };

  static Totals totals_of(const model::Cluster& cluster) {
    Totals totals;
    for (const model::DeviceGroup& group : cluster.groups()) {
      if (group.kind == model::DeviceKind::server) totals.servers += group.count;
      if (group.kind == model::DeviceKind::network_switch) totals.switches += group.count;
      if (group.kind == model::DeviceKind::pdu) totals.pdus += group.count;
    }
    for (const model::Device& device : cluster.devices()) totals.addresses += device.loopback.bits != 0 ? 1 : 0;
    for (const model::Port& port : cluster.ports()) totals.addresses += port.address.bits != 0 ? 1 : 0;
    std::set<std::uint32_t> assemblies;
    for (const model::Cable& cable : cluster.cables()) {
      if (assemblies.insert(cable.assembly).second) totals.cable_mm += cable.length_mm;
    }
    return totals;
  }

  void add_totals() {
    TableSection table{"totals", "Totals", {}, {}};
    table.columns = {left("what", "What"), right("before", "Before"), right("after", "After"),
                     right("change", "Change")};
    const Totals before = totals_of(in_.before);
    const Totals after = totals_of(in_.after);
    const auto row = [&](std::string_view what, std::int64_t was, std::int64_t is) {
      table.rows.push_back({what, was, is, {is - was, is == was ? std::string("-") : fmt::format("{:+}", is - was)}});
    };
    const auto size = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
    row("servers", before.servers, after.servers);
    row("GPUs", in_.before.gpu_count(), in_.after.gpu_count());
    row("switches", before.switches, after.switches);
    row("PDUs", before.pdus, after.pdus);
    row("racks", size(in_.before.racks()), size(in_.after.racks()));
    row("ports", size(in_.before.ports()), size(in_.after.ports()));
    row("links", size(in_.before.cables()), size(in_.after.cables()));
    row("cable length (m)", before.cable_mm / 1000, after.cable_mm / 1000);
    row("addresses", before.addresses, after.addresses);
    row("subnets", size(in_.before.subnets()), size(in_.after.subnets()));
    row("power (W)", in_.before.total_power().count() / 1000, in_.after.total_power().count() / 1000);
    add(std::move(table));
  }

  void add_devices() {
    TableSection table{"devices", "Devices added, removed, renamed", {}, {}};
    table.columns = {left("change", "Change"), left("device", people_ ? "Devices" : "Device"),
                     left("was", "Was"),       left("role", "Role"),
                     left("model", "Model"),   left("rack", people_ ? "Racks" : "Rack")};
    if (people_) table.columns.push_back(right("count", "Count"));
    struct Members {
      std::vector<std::string> names;
      std::vector<std::string> old_names;
      std::vector<std::string> racks;
    };
    std::map<std::tuple<std::string, std::string, std::string, std::uint32_t>, Members> groups;
    const auto note = [&](std::string_view change, const model::Cluster& cluster, model::DeviceId id,
                          const std::string& was) {
      const std::string role = views::role_of(cluster, cluster.group_of(id));
      const std::string model = views::model_id(cluster, id);
      const std::string rack = views::rack_name(cluster, id);
      if (!people_) {
        table.rows.push_back({change, cluster.name_of(id), text_cell(was), role, text_cell(model), text_cell(rack)});
        return;
      }
      Members& members = groups[{std::string(change), role, model, cluster.device(id).group}];
      members.names.push_back(cluster.name_of(id));
      if (!was.empty()) members.old_names.push_back(was);
      if (!rack.empty()) members.racks.push_back(rack);
    };
    for (const model::DeviceId id : in_.diff.devices_added) note("added", in_.after, id, {});
    for (const model::DeviceId id : in_.diff.devices_removed) note("removed", in_.before, id, {});
    for (const auto& pair : in_.diff.devices_renamed) {
      note("renamed", in_.after, pair.after, in_.before.name_of(pair.before));
    }
    for (auto& [key, members] : groups) {
      const auto& [change, role, model, group] = key;
      const std::size_t count = members.names.size();
      table.rows.push_back({change, fold_hosts(std::move(members.names)),
                            text_cell(fold_hosts(std::move(members.old_names))), role, text_cell(model),
                            text_cell(fold_hosts(std::move(members.racks))), count});
    }
    add(std::move(table));
  }

  void add_changes(std::string key, std::string title, std::string subject,
                   const std::vector<PropertyChange>& changes) {
    TableSection table{std::move(key), std::move(title), {}, {}};
    std::string heading = subject;
    heading.front() = to_upper(heading.front());
    table.columns = {left(std::move(subject), std::move(heading)), left("property", "Property"),
                     left("before", "Before"), left("after", "After")};
    for (const PropertyChange& change : changes) {
      table.rows.push_back({change.subject, change.property, text_cell(change.before), text_cell(change.after)});
    }
    add(std::move(table));
  }

  void add_addresses() {
    TableSection table{"addresses", "Addresses of existing devices", {}, {}};
    table.columns = {left("change", "Change"), left("device", "Device"), left("port", "Port"),
                     left("before", "Before"), left("after", "After"),   left("held_by", "New address held today by")};
    std::vector<const AddressDifference*> order;
    for (const AddressDifference& one : in_.diff.addresses) order.push_back(&one);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->change < b->change; });
    for (const AddressDifference* one : order) {
      table.rows.push_back({to_text(one->change), in_.after.name_of(one->device), one->port, text_cell(one->before),
                            text_cell(one->after), text_cell(one->held_by)});
    }
    add(std::move(table));
  }

  static const model::Subnet* subnet_named(const model::Cluster& cluster, const std::string& name) {
    for (const model::Subnet& subnet : cluster.subnets()) {
      if (subnet.name == name) return &subnet;
    }
    return nullptr;
  }

  void add_subnets() {
    TableSection table{"subnets", "Subnets", {}, {}};
    table.columns = {left("change", "Change"), left("subnet", "Subnet"), left("property", "Property"),
                     left("before", "Before"), left("after", "After")};
    const auto prefix = [](const model::Cluster& cluster, const std::string& name) {
      const model::Subnet* subnet = subnet_named(cluster, name);
      return subnet == nullptr ? Cell() : Cell(weft::to_text(subnet->prefix));
    };
    for (const std::string& name : in_.diff.subnets_added) {
      table.rows.push_back({"added", name, "prefix", Cell(), prefix(in_.after, name)});
    }
    for (const std::string& name : in_.diff.subnets_removed) {
      table.rows.push_back({"removed", name, "prefix", prefix(in_.before, name), Cell()});
    }
    for (const PropertyChange& one : in_.diff.subnet_changes) {
      table.rows.push_back({"changed", one.subject, one.property, text_cell(one.before), text_cell(one.after)});
    }
    add(std::move(table));
  }

  void add_ports() {
    struct Members {
      std::set<std::string> devices;
      std::int64_t count = 0;
    };
    std::map<std::tuple<std::string, std::string>, Members> groups;
    TableSection list{"ports", "Ports of existing devices", {}, {}};
    list.columns = {left("change", "Change"), left("fabric", "Fabric"), left("port", "Port")};
    const auto note = [&](std::string_view change, const model::Cluster& cluster, model::PortId id) {
      const std::string fabric(model::to_text(cluster.port(id).fabric));
      if (!people_) list.rows.push_back({change, fabric, cluster.full_port_name(id)});
      Members& members = groups[{std::string(change), fabric}];
      members.devices.insert(cluster.name_of(cluster.port(id).device));
      ++members.count;
    };
    for (const model::PortId id : in_.diff.ports_added) note("added", in_.after, id);
    for (const model::PortId id : in_.diff.ports_removed) note("removed", in_.before, id);
    if (people_) {
      list.columns = {left("change", "Change"), left("fabric", "Fabric"), right("count", "Ports"),
                      left("devices", "Devices")};
      for (const auto& [key, members] : groups) {
        list.rows.push_back({std::get<0>(key), std::get<1>(key), members.count,
                             fold_hosts({members.devices.begin(), members.devices.end()})});
      }
    }
    add(std::move(list));
    add_changes("port_changes", "Changed ports", "port", in_.diff.port_changes);
  }

  static std::string part_of(const model::Cluster& cluster, const model::Cable& cable) {
    const model::CableModel* part = cluster.media()[cable.medium].cable;
    return part == nullptr ? std::string() : part->id->text;
  }

  // Calls `note` with (change, cluster of the link, its cable).
  template <class Note>
  void for_each_cable(const Note& note) const {
    for (const model::CableId id : in_.diff.cables_added) note("added", in_.after, id);
    for (const model::CableId id : in_.diff.cables_removed) note("removed", in_.before, id);
    for (const auto& pair : in_.diff.cables_moved) note("moved", in_.after, pair.after);
    for (const auto& pair : in_.diff.cables_replaced) note("replaced", in_.after, pair.after);
  }

  void add_cable_groups() {
    std::map<std::tuple<std::string, std::string, std::string, std::string, std::uint32_t>, std::int64_t> groups;
    for_each_cable([&](const char* change, const model::Cluster& cluster, model::CableId id) {
      const model::Cable& cable = cluster.cable(id);
      ++groups[{change, std::string(model::to_text(cable.fabric)), std::string(model::to_text(cable.role)),
                part_of(cluster, cable), cable.length_mm}];
    });
    TableSection table{"cable_groups", "Links added, removed, moved, replaced", {}, {}};
    table.columns = {left("change", "Change"), left("fabric", "Fabric"),        left("role", "Role"),
                     left("part", "Part"),     right("length_m", "Length (m)"), right("links", "Links")};
    for (const auto& [key, count] : groups) {
      const auto& [change, fabric, role, part, length_mm] = key;
      table.rows.push_back({change, fabric, role, text_cell(part), views::meters_cell(length_mm), count});
    }
    add(std::move(table));
  }

  // One row per link, also those that only get another label.
  void add_cables() {
    TableSection table{"cables", "Links", {}, {}};
    table.columns = {left("change", "Change"),
                     left("label", "Label"),
                     left("a", "A"),
                     left("b", "B"),
                     left("part", "Part"),
                     right("length_m", "Length (m)"),
                     left("was_label", "Was label"),
                     left("was_a", "Was A"),
                     left("was_b", "Was B"),
                     left("was_part", "Was part"),
                     right("was_length_m", "Was (m)")};
    using Cells = std::vector<Cell>;
    const auto cells = [](const model::Cluster& cluster, const design::CableLabels& labels, model::CableId id) {
      if (id == model::kNone<model::CableId>) return Cells(5);
      const model::Cable& cable = cluster.cable(id);
      return Cells{labels.label(id), cluster.full_port_name(cable.a), cluster.full_port_name(cable.b),
                   text_cell(part_of(cluster, cable)), views::meters_cell(cable.length_mm)};
    };
    const auto note = [&](const char* change, const Pair<model::CableId>& pair) {
      Cells row{change};
      for (Cell& cell : cells(in_.after, labels_after_, pair.after)) row.push_back(std::move(cell));
      for (Cell& cell : cells(in_.before, labels_before_, pair.before)) row.push_back(std::move(cell));
      table.rows.push_back(std::move(row));
    };
    for (const model::CableId id : in_.diff.cables_added) note("added", {model::kNone<model::CableId>, id});
    for (const model::CableId id : in_.diff.cables_removed) note("removed", {id, model::kNone<model::CableId>});
    for (const auto& pair : in_.diff.cables_moved) note("moved", pair);
    for (const auto& pair : in_.diff.cables_replaced) note("replaced", pair);
    for (const auto& pair : in_.diff.cables_relabeled) note("relabeled", pair);
    add(std::move(table));
  }

  void add_racks() {
    TableSection table{"racks", "Racks", {}, {}};
    table.columns = {left("change", "Change"), left("rack", "Rack"), left("property", "Property"),
                     left("before", "Before"), left("after", "After")};
    const auto list = [&](const char* change, const std::vector<std::string>& racks) {
      if (people_ && !racks.empty()) {
        table.rows.push_back({change, fold_hosts(racks), Cell(), Cell(), Cell()});
        return;
      }
      for (const std::string& rack : racks) table.rows.push_back({change, rack, Cell(), Cell(), Cell()});
    };
    list("added", in_.diff.racks_added);
    list("removed", in_.diff.racks_removed);
    for (const PropertyChange& one : in_.diff.rack_changes) {
      table.rows.push_back({"changed", one.subject, one.property, text_cell(one.before), text_cell(one.after)});
    }
    add(std::move(table));
  }

  void add_bom() {
    TableSection table{"bom", "Bill of materials", {}, {}};
    table.columns = {left("category", "Category"), left("fabric", "Fabric"),  left("item", "Item"),
                     left("purpose", "Purpose"),   right("before", "Before"), right("after", "After"),
                     right("change", "Change")};
    for (const BomDifference& one : in_.diff.bom) {
      table.rows.push_back({one.line.category,
                            one.line.fabric ? Cell(model::to_text(*one.line.fabric)) : Cell(),
                            one.line.item,
                            one.line.purpose,
                            one.before,
                            one.after,
                            {one.after - one.before, fmt::format("{:+}", one.after - one.before)}});
    }
    add(std::move(table));
  }

  const DiffInput& in_;
  bool people_;
  design::CableLabels labels_before_;
  design::CableLabels labels_after_;
  Document document_;
};

}  // namespace

std::size_t renumbered(const ClusterDiff& diff) {
  return static_cast<std::size_t>(
      std::count_if(diff.addresses.begin(), diff.addresses.end(),
                    [](const AddressDifference& one) { return one.change == AddressChange::renumbered; }));
}

Document diff_document(const DiffInput& input, bool for_people) { return DiffView(input, for_people).make(); }

}  // namespace weft::inspect
