// For tests of the readers: a text as a file, the parsed result, and the errors as "line:column message".
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "netsim/readers/read_simulators.h"

namespace weft::netsim::fixtures {

template <class T>
struct ReadText {
  std::optional<T> value;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

template <class T, class Reader, class... Arguments>
ReadText<T> read_text(Reader reader, std::string text, const Arguments&... arguments) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("input", std::move(text));
  ReadText<T> out;
  out.value = reader(sources, file, arguments..., diagnostics);
  for (const Diagnostic& d : diagnostics.sorted()) {
    auto& list = d.severity == Severity::error ? out.errors : out.warnings;
    list.push_back(fmt::format("{}:{} {}", d.place.line, d.place.column, d.message));
  }
  return out;
}

inline ReadText<TransferGraph> flows_from(std::string text, const Network& network) {
  return read_text<TransferGraph>(read_flows, std::move(text), network);
}
inline ReadText<TransferGraph> matrix_from(std::string text, const Network& network) {
  return read_text<TransferGraph>(read_htsim_matrix, std::move(text), network);
}
inline ReadText<TransferGraph> hpcc_flows_from(std::string text, const Network& network) {
  return read_text<TransferGraph>(read_hpcc_flows, std::move(text), network);
}
inline ReadText<Network> htsim_topology_from(std::string text) {
  return read_text<Network>(read_htsim_topology, std::move(text));
}
inline ReadText<Network> hpcc_topology_from(std::string text) {
  return read_text<Network>(read_hpcc_topology, std::move(text));
}

}  // namespace weft::netsim::fixtures
