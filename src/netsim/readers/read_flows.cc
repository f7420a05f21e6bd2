// The neutral format: "id src dst bytes start_ns after_id", one flow per line.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "netsim/readers/flow_rows.h"
#include "netsim/readers/read_simulators.h"

namespace weft::netsim {

namespace {

constexpr std::int64_t kLatestStart = 1'000'000'000'000'000;  // nanoseconds: 11 days

class FlowsReader {
 public:
  FlowsReader(const Sources& sources, FileId file, const Network& network, Diagnostics& diagnostics)
      : lines_(sources, file, diagnostics, '#'), hosts_(lines_, network) {}

  std::optional<TransferGraph> read() {
    while (lines_.next_line()) {
      if (static_cast<std::int64_t>(graph_.size()) == kMaxFlows) {
        lines_.error(lines_.peek(), fmt::format("more than {} flows", kMaxFlows));
        break;
      }
      read_flow();
    }
    if (!lines_.failed() && graph_.size() == 0) lines_.error({{}, 1, 1}, "the file has no flows", kForm);
    if (!lines_.failed()) link();
    if (lines_.failed()) return std::nullopt;
    return std::move(graph_);
  }

 private:
  static constexpr const char* kForm = "expected fields: id src dst bytes start_ns after_id (-1 for none)";

  struct Wait {
    std::int64_t id;     // of the flow to wait for
    std::uint32_t flow;  // index of the waiting flow
    std::uint32_t line;  // line of this dependency
    std::uint32_t column;

    [[nodiscard]] Word place() const { return {{}, line, column}; }
  };

  void read_flow() {
    const Word first = lines_.peek();
    const auto id = lines_.integer("the flow's id", 0, INT64_MAX);
    if (!id) return;
    Transfer transfer;
    if (!hosts_.read_pair(transfer)) return;
    const auto bytes = lines_.integer("the size in bytes", 1, kMaxFlowBytes);
    if (!bytes) return;
    const auto start = lines_.integer("the start in nanoseconds", 0, kLatestStart);
    if (!start) return;
    const Word after_word = lines_.word();
    const auto after = lines_.integer(after_word, "the id of the flow to wait for (-1 for none)", -1, INT64_MAX);
    if (!after || !lines_.ends_here()) return;
    transfer.bytes = Bytes(*bytes);
    transfer.start = nanoseconds(*start);
    const auto index = static_cast<std::uint32_t>(graph_.size());
    ids_.add(*id, first);
    graph_.add(transfer);
    if (*after >= 0) waits_.push_back({*after, index, after_word.line, after_word.column});
  }

  void link() {
    if (!ids_.finish(lines_, "flow")) return;
    std::vector<RowEdge> edges;
    edges.reserve(waits_.size());
    for (const Wait& wait : waits_) {
      const std::uint32_t found = ids_.find(wait.id);
      if (found == kNoRow) {
        lines_.error(wait.place(), fmt::format("flow {} to wait for does not exist", wait.id));
        continue;
      }
      edges.push_back({found, wait.flow});
      graph_.depend(static_cast<TransferId>(wait.flow), static_cast<TransferId>(found));
    }
    if (lines_.failed()) return;
    const std::uint32_t cycle = find_cycle(graph_.size(), edges);
    if (cycle == kNoRow) return;
    const auto at = std::find_if(waits_.begin(), waits_.end(), [&](const Wait& w) { return w.flow == cycle; });
    lines_.error(at->place(), "dependency cycle: this flow waits for itself, directly or through others");
  }

  LineReader lines_;
  HostColumns hosts_;
  RowIds ids_;
  std::vector<Wait> waits_;
  TransferGraph graph_;
};

}  // namespace

std::optional<TransferGraph> read_flows(const Sources& sources, FileId file, const Network& network,
                                        Diagnostics& diagnostics) {
  return FlowsReader(sources, file, network, diagnostics).read();
}

}  // namespace weft::netsim
