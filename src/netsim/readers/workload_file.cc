#include "netsim/readers/workload_file.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "netsim/readers/line_reader.h"

namespace weft::netsim {

namespace {

// The first words of the first non-empty line; counts above seven are not distinguished.
std::vector<std::string_view> first_words(const Sources& sources, FileId file) {
  Diagnostics unused;
  LineReader lines(sources, file, unused, '#');
  std::vector<std::string_view> words;
  if (!lines.next_line()) return words;
  while (words.size() < 8 && !lines.peek().text.empty()) words.push_back(lines.word().text);
  return words;
}

bool is_integer(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
}

bool all_integers(const std::vector<std::string_view>& words) {
  return std::all_of(words.begin(), words.end(), is_integer);
}

bool begins_with_letter(std::string_view word) { return !word.empty() && is_letter(word[0]); }

}  // namespace

std::optional<FlowFormat> flow_format(const Sources& sources, FileId file) {
  const std::string_view path = sources.path(file);
  if (path.ends_with(".flows")) return FlowFormat::neutral;
  if (path.ends_with(".cm")) return FlowFormat::htsim;
  const std::vector<std::string_view> words = first_words(sources, file);
  if (words.empty()) return std::nullopt;
  if (begins_with_letter(words[0]) || words[0].find("->") != std::string_view::npos) return FlowFormat::htsim;
  if (words.size() == 1 && all_integers(words)) return FlowFormat::hpcc;
  if (words.size() == 6 && all_integers(words)) return FlowFormat::neutral;
  return std::nullopt;
}

std::optional<TopologyFormat> topology_format(const Sources& sources, FileId file) {
  const std::string_view path = sources.path(file);
  if (path.ends_with(".topo")) return TopologyFormat::htsim;
  const std::vector<std::string_view> words = first_words(sources, file);
  if (words.empty()) return std::nullopt;
  if (begins_with_letter(words[0])) return TopologyFormat::htsim;
  if (is_integer(words[0]) && (words.size() == 3 || words.size() == 6)) return TopologyFormat::hpcc;
  return std::nullopt;
}

std::optional<TransferGraph> read_transfers(const Sources& sources, FileId file, const Network& network,
                                            Diagnostics& diagnostics) {
  const std::optional<FlowFormat> format = flow_format(sources, file);
  if (!format) {
    diagnostics.error(
        {file, 1, 1}, "unknown flow file format",
        "supported are `id src dst bytes start_ns after_id` (.flows), htsim's connection matrices (.cm) and "
        "HPCC's flow files");
    return std::nullopt;
  }
  switch (*format) {
    case FlowFormat::neutral:
      return read_flows(sources, file, network, diagnostics);
    case FlowFormat::htsim:
      return read_htsim_matrix(sources, file, network, diagnostics);
    case FlowFormat::hpcc:
      return read_hpcc_flows(sources, file, network, diagnostics);
  }
  return std::nullopt;
}

std::optional<Network> read_topology(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::optional<TopologyFormat> format = topology_format(sources, file);
  if (!format) {
    diagnostics.error({file, 1, 1}, "unknown topology file format",
                      "supported are htsim's topologies (.topo) and the topology files of HPCC and SimAI");
    return std::nullopt;
  }
  return *format == TopologyFormat::htsim ? read_htsim_topology(sources, file, diagnostics)
                                          : read_hpcc_topology(sources, file, diagnostics);
}

}  // namespace weft::netsim
