// The interfaces of one host as a table.
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
