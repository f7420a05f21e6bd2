#include "workload/graph/graph_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "netsim/views/result_cells.h"

namespace weft::workload {
namespace {

constexpr std::size_t kShownClasses = 16;
constexpr std::size_t kShownParts = 12;

std::uint32_t index(OpId id) { return static_cast<std::uint32_t>(id); }
double ratio(SimTime part, SimTime whole) {
  return whole.count() == 0 ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

bool computes(OpKind kind) { return kind == OpKind::compute || kind == OpKind::memory; }
bool communicates(OpKind kind) { return kind == OpKind::collective || kind == OpKind::send || kind == OpKind::receive; }

// Time intervals; join() sorts and merges them.
class Intervals {
 public:
  void add(SimTime start, SimTime end) {
    if (start < end) all_.emplace_back(start, end);
  }
  void join() {
    std::sort(all_.begin(), all_.end());
    std::size_t kept = 0;
    for (const auto& [start, end] : all_) {
      if (kept > 0 && start <= all_[kept - 1].second) {
        all_[kept - 1].second = std::max(all_[kept - 1].second, end);
      } else {
        all_[kept++] = {start, end};
      }
    }
    all_.resize(kept);
  }
  [[nodiscard]] SimTime length() const {
    SimTime sum;
    for (const auto& [start, end] : all_) sum += end - start;
    return sum;
  }
  // Total length that does not overlap any of `others`.
  [[nodiscard]] SimTime outside(const Intervals& others) const {
    SimTime sum = length();
    std::size_t from = 0;
    for (const auto& [start, end] : all_) {
      while (from < others.all_.size() && others.all_[from].second <= start) ++from;
      for (std::size_t i = from; i < others.all_.size() && others.all_[i].first < end; ++i) {
        sum -= std::min(end, others.all_[i].second) - std::max(start, others.all_[i].first);
      }
    }
    return sum;
  }
  void add_all(const Intervals& others) { all_.insert(all_.end(), others.all_.begin(), others.all_.end()); }

 private:
  std::vector<std::pair<SimTime, SimTime>> all_;
};

struct ByKind {
  Intervals compute;
  Intervals communication;
  Intervals host;
  SimTime end;
};

class Summary {
 public:
  Summary(const OpGraph& graph, const Execution& execution, GraphRun& run)
      : graph_(graph), execution_(execution), run_(run) {}

  void make() {
    sort_by_class();
    for (std::uint32_t c = 0; c < graph_.class_count(); ++c) add_class(ClassId{c});
    if (!run_.classes.empty()) add_communication(ClassId{run_.slowest});
    add_chain();
  }

 private:
  void sort_by_class() {
    offsets_.assign(graph_.class_count() + 1, 0);
    for (std::uint32_t i = 0; i < graph_.size(); ++i)
      ++offsets_[static_cast<std::size_t>(graph_.class_of(OpId{i})) + 1];
    for (std::size_t c = 1; c < offsets_.size(); ++c) offsets_[c] += offsets_[c - 1];
    ops_.resize(graph_.size());
    std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      ops_[next[static_cast<std::size_t>(graph_.class_of(OpId{i}))]++] = OpId{i};
    }
  }
  [[nodiscard]] std::span<const OpId> ops_of(ClassId id) const {
    const auto c = static_cast<std::size_t>(id);
    return {ops_.data() + offsets_[c], offsets_[c + 1] - offsets_[c]};
  }

  [[nodiscard]] ByKind intervals_of(ClassId id) const {
    ByKind times;
    for (const OpId op : ops_of(id)) {
      const OpKind kind = graph_[op].kind;
      Intervals& to = computes(kind) ? times.compute : communicates(kind) ? times.communication : times.host;
      to.add(execution_.started[index(op)], execution_.ended[index(op)]);
      times.end = std::max(times.end, execution_.ended[index(op)]);
    }
    times.compute.join();
    times.communication.join();
    times.host.join();
    return times;
  }

  void add_class(ClassId id) {
    const ByKind times = intervals_of(id);
    ClassUse use;
    use.name = graph_.class_name(id);
    use.ranks = graph_.class_ranks(id);
    use.end = times.end;
    use.compute = times.compute.length();
    use.communication = times.communication.length();
    use.exposed = times.communication.outside(times.compute);
    Intervals device = times.compute;
    device.add_all(times.communication);
    device.join();
    use.host = times.host.outside(device);
    use.idle = run_.end - device.length() - use.host;
    run_.ranks += use.ranks;
    if (!run_.classes.empty() && use.end > run_.classes[run_.slowest].end) {
      run_.slowest = static_cast<std::uint32_t>(run_.classes.size());
    }
    run_.classes.push_back(std::move(use));
  }

  void add_communication(ClassId id) {
    struct Kind {
      CommunicationUse use;
      Intervals times;
    };
    // By the group's name and size: several communicators of one purpose are one row.
    std::map<std::tuple<std::string, std::uint32_t, std::string_view>, Kind> kinds;
    Intervals compute;
    for (const OpId op : ops_of(id)) {
      const Op& what = graph_[op];
      const SimTime start = execution_.started[index(op)];
      const SimTime end = execution_.ended[index(op)];
      if (computes(what.kind)) compute.add(start, end);
      if (!communicates(what.kind)) continue;
      const OpGroup& group = graph_.group(what.group);
      const std::string_view operation =
          what.kind == OpKind::collective ? netsim::to_text(what.collective) : to_text(what.kind);
      Kind& kind = kinds[{group.name, group.ranks, operation}];
      kind.use.group = group.name;
      kind.use.ranks = group.ranks;
      kind.use.operation = operation;
      ++kind.use.calls;
      kind.use.bytes = what.bytes > Bytes(INT64_MAX) - kind.use.bytes ? Bytes(INT64_MAX) : kind.use.bytes + what.bytes;
      kind.times.add(start, end);
    }
    compute.join();
    for (auto& [key, kind] : kinds) {
      kind.times.join();
      kind.use.busy = kind.times.length();
      kind.use.exposed = kind.times.outside(compute);
      kind.use.share = ratio(kind.use.exposed, run_.total);
      run_.communication.push_back(std::move(kind.use));
    }
    std::stable_sort(run_.communication.begin(), run_.communication.end(),
                     [](const auto& a, const auto& b) { return a.exposed > b.exposed; });
  }

  // An operation counts from the end of the previous one, which exceeds its duration if a receive waited.
  void add_chain() {
    run_.path = slowest_chain(graph_, execution_);
    std::map<std::pair<std::uint32_t, OpKind>, ChainPart> parts;
    SimTime before;
    for (const OpId op : run_.path) {
      const Op& what = graph_[op];
      ChainPart& part = parts[{what.name, what.kind}];
      part.kind = what.kind;
      ++part.operations;
      part.time += std::max(execution_.ended[index(op)] - before, SimTime(0));
      before = std::max(before, execution_.ended[index(op)]);
    }
    for (auto& [key, part] : parts) {
      Op named;
      named.name = key.first;
      part.name = graph_.name_of(named);
      if (part.name.empty()) part.name = to_text(key.second);
      part.share = ratio(part.time, run_.total);
      run_.chain.push_back(std::move(part));
    }
    std::stable_sort(run_.chain.begin(), run_.chain.end(),
                     [](const ChainPart& a, const ChainPart& b) { return a.time > b.time; });
  }

  const OpGraph& graph_;
  const Execution& execution_;
  GraphRun& run_;
  std::vector<std::uint32_t> offsets_;
  std::vector<OpId> ops_;
};

SimTime bubble_of(const OpGraph& graph, const Execution& execution, CommunicationTimer& timer,
                  const Pipeline& pipeline) {
  if (pipeline.stages <= 1 || graph.class_count() == 0) return SimTime(0);
  // Serialized work: kernels and the communication that they wait for.
  const Exposure work = exposure(graph, execution, ClassId{0}, 3, 0);
  const std::int64_t slots = std::int64_t{pipeline.micro_batches} * pipeline.chunks;
  const SimTime filling(multiply_divide(work.busy.count(), pipeline.stages - 1, slots));
  const OpGroup next{"pipeline", 2, 1, pipeline.stride};
  const SimTime message = pipeline.message.count() > 0 ? timer.message(pipeline.message, next) : SimTime(0);
  return filling + SimTime(multiply_divide(message.count(), 2 * (std::int64_t{pipeline.stages} - 1), 1));
}

TableSection communication_table(const GraphRun& run) {
  TableSection table;
  table.key = "communication";
  table.title = fmt::format("Communication of {}", run.classes[run.slowest].name);
  table.columns = {netsim::left_column("group", "group"),
                   netsim::left_column("operation", "operation"),
                   netsim::right_column("ranks", "ranks"),
                   netsim::right_column("calls", "calls"),
                   netsim::right_column("bytes", "bytes"),
                   netsim::right_column("busy_us", "busy (us)"),
                   netsim::right_column("exposed_us", "exposed (us)"),
                   netsim::right_column("share_percent", "share of total")};
  for (const CommunicationUse& use : run.communication) {
    table.rows.push_back({use.group, use.operation, netsim::count_cell(use.ranks), netsim::count_cell(use.calls),
                          netsim::size_cell(use.bytes), netsim::microseconds_cell(use.busy),
                          netsim::microseconds_cell(use.exposed), netsim::percent_cell(use.share)});
  }
  return table;
}

TableSection chain_table(const GraphRun& run) {
  TableSection table;
  table.key = "chain";
  table.title = "Slowest chain";
  table.columns = {netsim::left_column("name", "operation"), netsim::left_column("kind", "kind"),
                   netsim::right_column("operations", "count"), netsim::right_column("time_us", "time (us)"),
                   netsim::right_column("share_percent", "share of total")};
  for (std::size_t i = 0; i < std::min(run.chain.size(), kShownParts); ++i) {
    const ChainPart& part = run.chain[i];
    table.rows.push_back({part.name, Cell(to_text(part.kind)), netsim::count_cell(part.operations),
                          netsim::microseconds_cell(part.time), netsim::percent_cell(part.share)});
  }
  return table;
}

TableSection class_table(const GraphRun& run) {
  TableSection table;
  table.key = "classes";
  table.title = "Ranks";
  table.columns = {netsim::left_column("class", "class"),
                   netsim::right_column("ranks", "ranks"),
                   netsim::right_column("end_us", "end (us)"),
                   netsim::right_column("compute_us", "compute (us)"),
                   netsim::right_column("communication_us", "communication (us)"),
                   netsim::right_column("exposed_us", "exposed (us)"),
                   netsim::right_column("host_us", "host (us)"),
                   netsim::right_column("idle_us", "idle (us)")};
  for (std::size_t i = 0; i < std::min(run.classes.size(), kShownClasses); ++i) {
    const ClassUse& use = run.classes[i];
    table.rows.push_back({use.name, netsim::count_cell(use.ranks), netsim::microseconds_cell(use.end),
                          netsim::microseconds_cell(use.compute), netsim::microseconds_cell(use.communication),
                          netsim::microseconds_cell(use.exposed), netsim::microseconds_cell(use.host),
                          netsim::microseconds_cell(use.idle)});
  }
  return table;
}

FactsSection facts_of(const GraphRunContext& context, const GraphRun& run) {
  FactsSection facts;
  facts.key = "summary";
  facts.title = "Workload";
  const auto add = [&](const char* key, const char* title, Cell cell) {
    facts.facts.push_back({key, title, std::move(cell)});
  };
  const ClassUse& slowest = run.classes[run.slowest];
  add("workload", "Workload", context.workload);
  add("machine", "Machine", context.where);
  add("timer", "Communication by", context.timer);
  add("ranks", "Ranks", netsim::count_cell(run.ranks));
  add("operations", "Operations", netsim::count_cell(run.operations));
  add("total_us", "Total", netsim::time_cell(run.total));
  add("compute_us", "Computing", netsim::time_cell(slowest.compute));
  add("communication_us", "Communication", netsim::time_cell(slowest.communication));
  add("exposed_us", "Not hidden", netsim::time_cell(slowest.exposed));
  if (run.bubble.count() > 0) add("bubble_us", "Pipeline bubble", netsim::time_cell(run.bubble));
  add("compute_percent", "Time computing", netsim::percent_cell(ratio(slowest.compute, run.total)));
  return facts;
}

}  // namespace

Result<GraphRun> run_graph(const OpGraph& graph, CommunicationTimer& timer, StreamOrder order,
                           const Pipeline& pipeline) {
  if (graph.size() == 0) return Error{ErrorCode::invalid_input, "the workload has no operations", {}};
  const Result<Execution> execution = execute(graph, timer, order);
  if (!execution.ok()) return execution.error();
  GraphRun run;
  run.operations = graph.size();
  run.end = execution->end;
  const SimTime bubble = bubble_of(graph, *execution, timer, pipeline);
  if (run.end == netsim::kNever || bubble > netsim::kNever - run.end) {
    return Error{ErrorCode::invalid_input, "the workload lasts longer than 106 days", {}};
  }
  run.bubble = bubble;
  run.total = run.end + run.bubble;
  Summary(graph, *execution, run).make();
  return run;
}

Document graph_run_document(const GraphRunContext& context, const GraphRun& run) {
  Document document;
  document.kind = "workload";
  document.sections.emplace_back(facts_of(context, run));
  if (!run.communication.empty()) document.sections.emplace_back(communication_table(run));
  document.sections.emplace_back(chain_table(run));
  if (run.classes.size() > 1) document.sections.emplace_back(class_table(run));
  if (run.classes.size() > kShownClasses) {
    document.notes.push_back(
        fmt::format("the first {} of {} rank classes are shown", kShownClasses, run.classes.size()));
  }
  if (run.chain.size() > kShownParts) {
    document.notes.push_back(fmt::format("the {} of {} names with the most time in the slowest chain are shown",
                                         kShownParts, run.chain.size()));
  }
  return document;
}

}  // namespace weft::workload
