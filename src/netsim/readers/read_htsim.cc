// htsim's connection matrices (.cm): a header of counts, then "src->dst key value ..." for each flow and
// "trigger id n kind" for each trigger, in any order.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "netsim/readers/flow_rows.h"
#include "netsim/readers/read_simulators.h"

namespace weft::netsim {

namespace {

constexpr std::int64_t kMaxDependencies = 50'000'000;

class MatrixReader {
 public:
  MatrixReader(const Sources& sources, FileId file, const Network& network, Diagnostics& diagnostics)
      : lines_(sources, file, diagnostics, '#'), hosts_(lines_, network), network_(network) {}

  std::optional<TransferGraph> read() {
    while (lines_.next_line()) read_line();
    if (!lines_.failed()) check_counts();
    if (!lines_.failed() && flow_ids_.finish(lines_, "flow") && triggers_.finish(lines_, "trigger")) link();
    if (lines_.failed()) return std::nullopt;
    return std::move(graph_);
  }

 private:
  enum class Kind : std::uint8_t { unknown, oneshot, multishot, barrier };

  struct Trigger {
    Kind kind = Kind::unknown;
    std::int64_t count = 0;  // barrier: number of firings it waits for
    std::uint32_t line = 0;
    std::uint32_t first_firer = 0;  // in firers_, once sorted
    std::uint32_t firers = 0;
    std::uint32_t targets = 0;
  };
  // A flow that fires a trigger or waits for one.
  struct Use {
    std::int64_t id;
    std::uint32_t flow;
    std::uint32_t line;
    std::uint32_t column;
  };
  struct Count {  // of the header
    std::string_view name;
    std::string_view what;
    std::int64_t declared = 0;
    std::int64_t seen = 0;
    Word place;
  };

  void read_line() {
    const Word first = lines_.word();
    const auto header =
        std::find_if(counts_.begin(), counts_.end(), [&](const Count& c) { return c.name == first.text; });
    if (header != counts_.end()) {
      const Word number = lines_.word();
      const auto value = lines_.integer(number, header->what, 0, kMaxFlows);
      if (!value) return;
      header->declared = *value;
      header->place = number;
      lines_.ends_here();
    } else if (first.text.find("->") != std::string_view::npos) {
      read_connection(first);
    } else if (first.text == "trigger") {
      read_trigger(first);
    } else if (first.text == "failure") {
      if (counts_[kFailures].seen++ == 0) lines_.warning(first, "failures in connection matrices are not supported");
    } else {
      lines_.expected("`src->dst`, `trigger`, `failure` or a count of the header", first,
                      did_you_mean(first.text, {"Nodes", "Connections", "Triggers", "Failures", "trigger", "failure"}));
    }
  }

  void read_connection(const Word& pair) {
    if (++counts_[kConnections].seen > kMaxFlows) {
      if (counts_[kConnections].seen == kMaxFlows + 1) lines_.error(pair, fmt::format("more than {} flows", kMaxFlows));
      return;
    }
    const std::size_t arrow = pair.text.find("->");
    const Word source{pair.text.substr(0, arrow), pair.line, pair.column};
    const auto behind = static_cast<std::uint32_t>(arrow + 2);
    const Word destination{pair.text.substr(behind), pair.line, pair.column + behind};
    netsim::Transfer transfer;
    if (!hosts_.set_pair(source, destination, transfer)) return;
    Fields fields;
    while (!lines_.peek().text.empty()) {
      if (!read_field(fields, transfer)) return;
    }
    if (transfer.bytes.count() == 0) return lines_.expected("`size` and the bytes of this flow", lines_.line_end());
    if (fields.started == (fields.trigger != 0)) {
      const char* const message = fields.started ? "a flow has either a start time or a trigger, not both"
                                                 : "expected `start` and picoseconds, or `trigger` and its id";
      return lines_.error(fields.started ? fields.trigger_place : lines_.line_end(), message);
    }
    const auto flow = static_cast<std::uint32_t>(graph_.size());
    if (fields.id != 0 && !fields.message) flow_ids_.add(fields.id, pair);
    if (fields.trigger != 0) waits_.push_back(use(fields.trigger, flow, fields.trigger_place));
    for (const auto& [id, place] : fields.fires) {
      if (id != 0) fires_.push_back(use(id, flow, place));
    }
    flow_lines_.push_back(pair.line);
    graph_.add(transfer);
  }

  struct Fields {
    std::int64_t id = 0;
    std::int64_t trigger = 0;
    Word trigger_place;
    bool started = false;
    bool message = false;  // one of several messages of a connection: its id may repeat
    std::array<std::pair<std::int64_t, Word>, 2> fires{};
  };

  bool read_field(Fields& fields, Transfer& transfer) {
    const Word key = lines_.word();
    if (key.text == "addon") return true;
    if (key.text == "msg") {
      fields.message = true;
      const Word number = lines_.peek();
      if (!number.text.empty() && number.text[0] >= '0' && number.text[0] <= '9') lines_.word();
      return true;
    }
    const Word value = lines_.word();
    if (key.text == "size") {
      if (value.text == "0") {
        lines_.error(value, "a flow of 0 bytes (endless in htsim) is not supported");
        return false;
      }
      const auto bytes = lines_.integer(value, "the size in bytes", 1, kMaxFlowBytes);
      if (bytes) transfer.bytes = Bytes(*bytes);
      return bytes.has_value();
    }
    if (key.text == "start") {
      const auto start = lines_.decimal(value, "the start in picoseconds", 0, kLatestStart);
      if (start) transfer.start = picoseconds(*start);
      fields.started = true;
      return start.has_value();
    }
    if (key.text == "id") return read_id(value, "the flow's id", fields.id);
    if (key.text == "prio") return lines_.integer(value, "the priority", INT32_MIN, INT32_MAX).has_value();
    if (key.text == "trigger") {
      fields.trigger_place = value;
      return read_id(value, "the trigger's id", fields.trigger);
    }
    if (key.text == "send_done_trigger" || key.text == "recv_done_trigger") {
      auto& fires = fields.fires[key.text[0] == 's' ? 0 : 1];
      fires.second = value;
      return read_id(value, "the trigger's id", fires.first);
    }
    lines_.error(key, fmt::format("unknown key {} of a flow", quoted(key.text)),
                 did_you_mean(key.text, {"start", "size", "id", "trigger", "send_done_trigger", "recv_done_trigger",
                                         "prio", "addon", "msg"}));
    return false;
  }

  bool read_id(const Word& word, std::string_view what, std::int64_t& id) {
    const auto value = lines_.integer(word, what, 1, INT64_MAX);
    if (value) id = *value;
    return value.has_value();
  }

  void read_trigger(const Word& first) {
    ++counts_[kTriggers].seen;
    if (counts_[kTriggers].seen > kMaxFlows) return;
    Trigger trigger;
    trigger.line = first.line;
    std::int64_t id = 0;
    while (!lines_.peek().text.empty()) {
      const Word key = lines_.word();
      if (key.text == "id") {
        if (!read_id(lines_.word(), "the trigger's id", id)) return;
      } else if (key.text == "count") {
        const auto count = lines_.integer("the count of a barrier", 1, kMaxFlows);
        if (!count) return;
        trigger.count = *count;
      } else {
        const Kind kind = kind_of(key.text);
        if (kind == Kind::unknown) {
          return lines_.expected("`id`, `count`, `oneshot`, `multishot` or `barrier`", key);
        }
        trigger.kind = kind;
      }
    }
    if (id == 0) return lines_.expected("`id` and the trigger's number", lines_.line_end());
    if (trigger.kind == Kind::unknown) {
      return lines_.expected("`oneshot`, `multishot` or `barrier`", lines_.line_end());
    }
    triggers_.add(id, first);
    trigger_list_.push_back(trigger);
  }

  static Kind kind_of(std::string_view text) {
    if (text == "oneshot") return Kind::oneshot;
    if (text == "multishot") return Kind::multishot;
    return text == "barrier" ? Kind::barrier : Kind::unknown;
  }

  static Use use(std::int64_t id, std::uint32_t flow, const Word& place) {
    return {id, flow, place.line, place.column};
  }
  static Word place_of(const Use& use) { return {{}, use.line, use.column}; }

  void check_counts() {
    const Count& nodes = counts_[kNodes];
    const auto hosts = static_cast<std::int64_t>(network_.endpoints().size());
    if (nodes.declared > hosts) {
      return lines_.error(nodes.place,
                          fmt::format("the file is for {} hosts but the network has {}", nodes.declared, hosts));
    }
    for (const Count& count : counts_) {
      if (count.name == "Nodes" || count.declared == count.seen) continue;
      const Word at = count.place.line > 0 ? count.place : Word{{}, 1, 1};
      lines_.error(at, fmt::format("{} is {} but the file has {}", count.name, count.declared, count.seen));
    }
    if (!lines_.failed() && graph_.size() == 0) lines_.error({{}, 1, 1}, "the file has no flows");
  }

  // Resolves the trigger of each use, and counts the uses of each trigger.
  bool resolve() {
    for (Use& fire : fires_) {
      const std::uint32_t row = find_trigger(fire);
      if (row != kNoRow) ++trigger_list_[row].firers;
    }
    for (Use& wait : waits_) {
      const std::uint32_t row = find_trigger(wait);
      if (row != kNoRow) ++trigger_list_[row].targets;
    }
    if (lines_.failed()) return false;
    std::stable_sort(fires_.begin(), fires_.end(), [](const Use& a, const Use& b) { return a.id < b.id; });
    for (std::size_t i = fires_.size(); i-- > 0;) {
      trigger_list_[static_cast<std::size_t>(fires_[i].id)].first_firer = static_cast<std::uint32_t>(i);
    }
    return true;
  }

  std::uint32_t find_trigger(Use& use) {
    const std::uint32_t row = triggers_.find(use.id);
    if (row == kNoRow) lines_.error(place_of(use), fmt::format("the file has no `trigger id {}`", use.id));
    use.id = row;  // from here on a row number
    return row;
  }

  // Only triggers that do not depend on the order in which flows end can be expressed as dependencies.
  void check_trigger(const Trigger& trigger) {
    if (trigger.targets == 0) return;
    const Word at{{}, trigger.line, 1};
    if (trigger.firers == 0) {
      lines_.error(at, "no flow fires this trigger, so the flows that wait for it would never start");
    } else if (trigger.kind == Kind::oneshot && trigger.firers > 1) {
      lines_.error(at, fmt::format("{} flows fire this oneshot trigger", trigger.firers),
                   "use a barrier with a count to wait for several flows");
    } else if (trigger.kind == Kind::barrier && trigger.count != trigger.firers) {
      lines_.error(at, fmt::format("this barrier waits for {} flows but {} fire it", trigger.count, trigger.firers));
    } else if (trigger.kind == Kind::multishot && (trigger.firers > 1 || trigger.targets > 1)) {
      lines_.error(at, "a multishot trigger for several flows starts them in the order in which others end",
                   "give each flow its own oneshot trigger");
    }
    dependencies_ += std::int64_t{trigger.firers} * trigger.targets;
  }

  void link() {
    if (!resolve()) return;
    for (const Trigger& trigger : trigger_list_) check_trigger(trigger);
    if (lines_.failed()) return;
    if (dependencies_ > kMaxDependencies) {
      return lines_.error({{}, 1, 1}, fmt::format("the triggers create more than {} dependencies", kMaxDependencies));
    }
    std::vector<RowEdge> edges;
    edges.reserve(static_cast<std::size_t>(dependencies_));
    for (const Use& wait : waits_) {
      const Trigger& trigger = trigger_list_[static_cast<std::size_t>(wait.id)];
      for (std::uint32_t i = 0; i < trigger.firers; ++i) {
        const std::uint32_t earlier = fires_[trigger.first_firer + i].flow;
        edges.push_back({earlier, wait.flow});
        graph_.depend(static_cast<TransferId>(wait.flow), static_cast<TransferId>(earlier));
      }
    }
    const std::uint32_t cycle = find_cycle(graph_.size(), edges);
    if (cycle == kNoRow) return;
    lines_.error({{}, flow_lines_[cycle], 1},
                 "dependency cycle: this flow waits for itself, directly or through others");
  }

  static constexpr std::size_t kNodes = 0;
  static constexpr std::size_t kConnections = 1;
  static constexpr std::size_t kTriggers = 2;
  static constexpr std::size_t kFailures = 3;
  static constexpr std::int64_t kLatestStart = 1'000'000'000'000'000'000;  // picoseconds: 11 days

  LineReader lines_;
  HostColumns hosts_;
  const Network& network_;
  std::array<Count, 4> counts_{{{"Nodes", "the number of hosts", 0, 0, {}},
                                {"Connections", "the number of flows", 0, 0, {}},
                                {"Triggers", "the number of triggers", 0, 0, {}},
                                {"Failures", "the number of failures", 0, 0, {}}}};
  RowIds flow_ids_;
  RowIds triggers_;
  std::vector<Trigger> trigger_list_;
  std::vector<Use> waits_;
  std::vector<Use> fires_;
  std::vector<std::uint32_t> flow_lines_;
  std::int64_t dependencies_ = 0;
  TransferGraph graph_;
};

}  // namespace

std::optional<TransferGraph> read_htsim_matrix(const Sources& sources, FileId file, const Network& network,
                                               Diagnostics& diagnostics) {
  return MatrixReader(sources, file, network, diagnostics).read();
}

}  // namespace weft::netsim
