// Actual state as tables: the comparison with the design, and the interfaces of one host.
#include <fmt/format.h>

#include "base/text.h"
#include "check/live/classify.h"
#include "check/live/comparison.h"

namespace weft::check {
namespace {

constexpr auto kRight = Column::Align::right;

Cell speed_cell(std::int64_t mbps) {
  if (mbps == 0) return {};
  return {mbps * 1'000'000, to_text(BitRate(mbps * 1'000'000))};
}

Cell count_cell(std::int64_t value) { return value < 0 ? Cell() : Cell(value); }

std::vector<Cell> interface_row(const config::HostInterface& interface, const InterfaceGuess& guess,
                                const model::Cluster* cluster) {
  std::string addresses;
  for (std::size_t i = 0; i < interface.addresses.size(); ++i) {
    const int length = i < interface.prefixes.size() ? interface.prefixes[i].length : 32;
    addresses += fmt::format("{}{}/{}", i == 0 ? "" : ", ", to_text(interface.addresses[i]), length);
  }
  const bool port = cluster != nullptr && guess.port != model::kNone<model::PortId>;
  return {interface.name,
          guess.fabric ? Cell(model::to_text(*guess.fabric)) : Cell("none"),
          port ? Cell(cluster->port_name(guess.port)) : Cell(),
          to_text(guess.confidence),
          interface.state,
          speed_cell(interface.speed_mbps),
          interface.mtu == 0 ? Cell() : Cell(interface.mtu),
          interface.driver,
          interface.rdma_device,
          count_cell(interface.vfs),
          count_cell(interface.vfs_max),
          count_cell(interface.numa),
          addresses,
          interface.pci,
          interface.address,
          join(guess.reasons, "; ")};
}

}  // namespace

Document live_document(const LiveComparison& comparison) {
  Document document;
  document.kind = "live";
  const CableCount& cables = comparison.cables();
  FactsSection counts{"cables", "Cables", {}};
  counts.facts = {{"planned", "Planned", cables.planned},
                  {"matching", "As planned", cables.matching},
                  {"certain", "Of these, seen from both ends", cables.certain},
                  {"differing", "Different", cables.differing},
                  {"missing", "Missing", cables.missing},
                  {"not_reported", "Not reported", cables.not_reported}};
  document.sections.emplace_back(std::move(counts));
  TableSection table{"differences",
                     "Differences",
                     {{"verdict", "Verdict"},
                      {"device", "Device"},
                      {"port", "Port"},
                      {"planned", "Planned"},
                      {"seen", "Seen"},
                      {"confidence", "Confidence"},
                      {"where", "Where"},
                      {"message", "Message", Column::Align::left, true}},
                     {}};
  for (const LiveDifference& difference : comparison.differences()) {
    table.rows.push_back({to_text(difference.kind), difference.device, difference.port, difference.planned,
                          difference.seen, to_text(difference.confidence),
                          comparison.sources().describe(difference.place), difference.message});
  }
  document.sections.emplace_back(std::move(table));
  document.notes = comparison.notes();
  return document;
}

Document discover_document(const config::HostFacts& facts, const model::Cluster* cluster) {
  const model::DeviceId host = cluster == nullptr ? model::kNone<model::DeviceId> : cluster->find_device(facts.host);
  const bool known = host != model::kNone<model::DeviceId> && cluster->group_of(host).kind == model::DeviceKind::server;
  const auto guesses = known ? classify(*cluster, host, facts) : classify(facts);
  Document document;
  document.kind = "interfaces";
  FactsSection about{"host", "Host", {}};
  about.facts = {{"name", "Name", facts.host},
                 {"kernel", "Kernel", facts.kernel},
                 {"gpus", "GPUs", static_cast<std::int64_t>(facts.gpus.size())}};
  document.sections.emplace_back(std::move(about));
  TableSection table{"interfaces",
                     "Interfaces",
                     {{"interface", "Interface"},
                      {"fabric", "Fabric"},
                      {"port", "Port"},
                      {"confidence", "Confidence"},
                      {"state", "State"},
                      {"speed_bps", "Speed", kRight},
                      {"mtu", "MTU (bytes)", kRight},
                      {"driver", "Driver"},
                      {"rdma", "RDMA"},
                      {"virtual_functions", "VFs", kRight},
                      {"virtual_functions_most", "Max VFs", kRight},
                      {"numa", "NUMA", kRight},
                      {"addresses", "Addresses"},
                      {"pci", "PCI", Column::Align::left, true},
                      {"mac", "MAC", Column::Align::left, true},
                      {"reasons", "Reasons", Column::Align::left, true}},
                     {}};
  for (const InterfaceGuess& guess : guesses) {
    table.rows.push_back(interface_row(facts.interfaces[guess.interface], guess, known ? cluster : nullptr));
  }
  document.sections.emplace_back(std::move(table));
  if (cluster != nullptr && !known) {
    document.notes.push_back(fmt::format("The cluster has no server `{}`: fabrics are inferred.", facts.host));
  }
  for (const std::string& line : facts.not_read) document.notes.push_back("Not read: " + line + ".");
  return document;
}

}  // namespace weft::check
