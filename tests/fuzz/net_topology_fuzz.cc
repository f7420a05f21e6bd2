// Bytes as a topology file, in both formats. Any input must yield a network whose links are in pairs between its nodes,
// or a list of diagnostics.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "netsim/readers/workload_file.h"

namespace weft::netsim {
namespace {

void check_network(const Network& network) {
  for (std::size_t i = 0; i < network.links().size(); ++i) {
    const Link& link = network.links()[i];
    CHECK(model::index_of(link.from) < network.nodes().size() && model::index_of(link.to) < network.nodes().size(),
          "it has its ends");
    const Link& back = network.link(link.reverse);
    CHECK(back.from == link.to && back.to == link.from && model::index_of(back.reverse) == i, "and a way back");
    CHECK(link.rate.count() > 0 && link.delay.count() >= 0, "and a speed");
  }
  for (const NodeId endpoint : network.endpoints()) {
    CHECK(network.node(endpoint).kind == NodeKind::endpoint, "endpoints are endpoints");
  }
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    CHECK(network.nodes()[i].buffer < network.buffers().size(), "every node has a buffer");
    (void)network.out_links(static_cast<NodeId>(i));
  }
}

template <class Reader>
void check(Reader reader, const Sources& sources, FileId file) {
  Diagnostics diagnostics;
  const std::optional<Network> network = reader(sources, file, diagnostics);
  CHECK(network.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
  CHECK(diagnostics.error_count() <= 22, "and not too often");
  if (network) check_network(*network);
  (void)render_all(diagnostics, sources, true);
}

// A few bytes can request the largest allowed network, which takes seconds under sanitizers.
bool has_large_number(const std::string& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (auto at = text.begin(); at != text.end();) {
    at = std::find_if(at, text.end(), is_digit);
    const auto end = std::find_if_not(at, text.end(), is_digit);
    if (end - at > 3) return true;
    at = end;
  }
  return false;
}

void run_net_topology(std::string text) {
  Sources sources;
  const bool large = has_large_number(text);
  const FileId file = sources.add("input", std::move(text));
  check(read_hpcc_topology, sources, file);
  if (large) return;
  check(read_htsim_topology, sources, file);
  check(read_topology, sources, file);
}

}  // namespace
}  // namespace weft::netsim

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::netsim::run_net_topology(std::string(data, data + size));
  return 0;
}
