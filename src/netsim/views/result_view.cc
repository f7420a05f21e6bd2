#include "netsim/views/result_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_format.h"
#include "netsim/views/diagnosis.h"
#include "netsim/views/link_class.h"
#include "netsim/views/result_cells.h"
#include "netsim/views/storm_tree.h"

namespace weft::netsim {
namespace {

bool ended(const SimResult& result, std::size_t transfer) {
  return transfer < result.finished.size() && transfer < result.started.size() && result.finished[transfer] != kNever &&
         result.started[transfer] != kNever;
}

// Transfers, not rounds of them.
std::uint64_t unfinished_of(const SimResult& result) {
  return static_cast<std::uint64_t>(std::count(result.finished.begin(), result.finished.end(), kNever));
}

SimTime length_of(const SimResult& result, std::size_t transfer) {
  return result.finished[transfer] - result.started[transfer];
}

// Engines record the duration of every round; without such a record, whole transfers are used.
std::vector<SimTime> completion_times(const SimResult& result) {
  if (!result.completion_times.empty()) return result.completion_times;
  std::vector<SimTime> times;
  for (std::size_t i = 0; i < result.finished.size(); ++i) {
    if (ended(result, i)) times.push_back(length_of(result, i));
  }
  return times;
}

// Payload of the transfers that ended, over the whole run; in bits per second.
double goodput(const TransferGraph& transfers, const SimResult& result) {
  if (result.end.count() <= 0) return 0;
  double bytes = 0;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (!ended(result, i)) continue;
    const Transfer& transfer = transfers.transfers()[i];
    bytes += static_cast<double>(transfer.bytes.count()) * transfer.rounds;
  }
  return bytes * 8e12 / static_cast<double>(result.end.count());
}

FactsSection summary(const ResultContext& context, const SimResult& result) {
  const Percentiles times = percentiles_of(completion_times(result));
  FactsSection facts;
  facts.key = "summary";
  facts.title = "Simulation";
  const auto add = [&](const char* key, const char* title, Cell cell) {
    facts.facts.push_back({key, title, std::move(cell)});
  };
  add("network", "Network", context.where);
  add("traffic", "Traffic", context.what);
  add("fidelity", "Fidelity", Cell(to_text(result.fidelity)));
  add("transport", "Transport", transport_words(context.options));
  add("routing", "Routing", Cell(to_text(context.routing.mode)));
  add("state", "State", state_text(result, context.transfers.size()));
  add("transfers", "Transfers", count_cell(context.transfers.size()));
  add("unfinished", "Unfinished", count_cell(unfinished_of(result)));
  add("bytes", "Payload", size_cell(context.transfers.total_bytes()));
  add("end_us", "Simulated time", time_cell(result.end));
  if (times.count > 0) {
    add("mean_us", "Completion, mean", time_cell(times.mean));
    add("p50_us", "Completion, p50", time_cell(times.p50));
    add("p99_us", "Completion, p99", time_cell(times.p99));
    add("max_us", "Completion, max", time_cell(times.max));
  }
  const double rate = goodput(context.transfers, result);
  const bool any = unfinished_of(result) < result.finished.size();
  add("goodput_bps", "Goodput, total", any ? Cell(std::round(rate), format_bit_rate(rate)) : Cell());
  add("bound", "Bounded by", Cell(to_text(bound_of(context.network, context.transfers, context.options, result))));
  add("trace_hash", "Trace hash", fmt::format("{:016x}", result.trace_hash));
  return facts;
}

FactsSection totals(const SimResult& result) {
  const SimTotals& all = result.totals;
  FactsSection facts;
  facts.key = "totals";
  facts.title = "Totals";
  const auto add = [&](const char* key, const char* title, std::uint64_t count) {
    facts.facts.push_back({key, title, count_cell(count)});
  };
  add("events", "Events", all.events);
  if (result.fidelity != Fidelity::packet) {
    add("solves", "Rate computations", all.solves);
    return facts;
  }
  add("data_packets", "Data packets", all.data_packets);
  add("data_hops", "Data packet-hops", all.data_hops);
  add("control_hops", "Control packet-hops", all.control_hops);
  add("marked", "Marked", all.marked);
  add("notifications", "Notifications", all.notifications);
  add("pauses", "Pauses", all.pauses);
  add("dropped", "Dropped", all.dropped);
  add("retransmitted", "Retransmitted", all.retransmitted);
  add("out_of_order", "Out of order", all.out_of_order);
  add("timeouts", "Timeouts", all.timeouts);
  if (all.watchdog_trips > 0) add("watchdog_trips", "Watchdog trips", all.watchdog_trips);
  return facts;
}

TableSection classes_table(const ResultContext& context, const SimResult& result) {
  TableSection table;
  table.key = "link_classes";
  table.title = "Links by class";
  table.columns = {left_column("class", "Class"),          right_column("links", "Links"),
                   right_column("used", "Used"),           right_column("mean_percent", "Utilization"),
                   right_column("max_percent", "Hottest"), right_column("max_queue_bytes", "Max queue"),
                   right_column("marked", "Marked"),       right_column("paused_us", "Paused (us)"),
                   right_column("dropped", "Dropped"),     wide_column("pauses", "Pauses")};
  for (const ClassLoad& load : class_loads(context.network, result)) {
    table.rows.push_back({Cell(to_text(load.kind)), count_cell(load.links), count_cell(load.used),
                          percent_cell(load.mean_utilization), percent_cell(load.max_utilization),
                          size_cell(load.max_queue), count_cell(load.marked), microseconds_cell(load.paused),
                          count_cell(load.dropped), count_cell(load.pauses)});
  }
  return table;
}

// By utilization, then pauses, then id.
std::vector<LinkId> hottest_links(const ResultContext& context, const SimResult& result) {
  std::vector<LinkId> links;
  std::vector<double> shares(result.links.size());
  for (std::size_t i = 0; i < result.links.size(); ++i) {
    const auto id = static_cast<LinkId>(i);
    shares[i] = utilization(context.network.link(id), result.links[i], result.end);
    if (result.links[i].bytes.count() > 0 || result.links[i].pauses > 0) links.push_back(id);
  }
  const std::size_t kept = std::min(context.hottest, links.size());
  std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(kept), links.end(),
                    [&](LinkId a, LinkId b) {
                      if (shares[model::index_of(a)] != shares[model::index_of(b)])
                        return shares[model::index_of(a)] > shares[model::index_of(b)];
                      const std::uint32_t x = result.links[model::index_of(a)].pauses;
                      const std::uint32_t y = result.links[model::index_of(b)].pauses;
                      return x != y ? x > y : model::index_of(a) < model::index_of(b);
                    });
  links.resize(kept);
  return links;
}

TableSection hottest_table(const ResultContext& context, const SimResult& result) {
  TableSection table;
  table.key = "hottest_links";
  table.title = "Hottest links";
  table.columns = {left_column("link", "Link"),
                   right_column("rate_bps", "Rate"),
                   right_column("utilisation_percent", "Use"),  // a JSON key that scripts read (words: allow)
                   right_column("max_queue_bytes", "Max queue"),
                   right_column("marked", "Marked"),
                   right_column("pauses", "Pauses"),
                   right_column("paused_us", "Paused (us)"),
                   right_column("dropped", "Dropped"),
                   wide_column("bytes", "Bytes"),
                   wide_column("packets", "Packets"),
                   wide_column("mean_queue_bytes", "Mean queue"),
                   wide_column("connections", "Connections")};
  for (const LinkId id : hottest_links(context, result)) {
    const LinkStats& stats = result.links[model::index_of(id)];
    const Link& link = context.network.link(id);
    const bool counted = model::index_of(id) < context.connections.size();
    table.rows.push_back({context.network.link_name(id), Cell(link.rate.count(), to_text(link.rate)),
                          percent_cell(utilization(link, stats, result.end)), size_cell(stats.max_queue),
                          count_cell(stats.marked), count_cell(stats.pauses), microseconds_cell(stats.paused),
                          count_cell(stats.dropped), size_cell(stats.bytes), count_cell(stats.packets),
                          Cell(std::round(stats.mean_queue)),
                          counted ? count_cell(context.connections[model::index_of(id)]) : Cell()});
  }
  return table;
}

TableSection tags_table(const ResultContext& context, const SimResult& result) {
  TableSection table;
  table.key = "patterns";
  table.title = "By pattern";
  table.columns = {left_column("pattern", "Pattern"),        right_column("transfers", "Transfers"),
                   right_column("unfinished", "Unfinished"), right_column("mean_us", "Mean (us)"),
                   right_column("p50_us", "p50 (us)"),       right_column("p99_us", "p99 (us)"),
                   right_column("max_us", "Max (us)")};
  for (std::size_t tag = 0; tag < context.tags.size(); ++tag) {
    std::vector<SimTime> times;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < context.transfers.size(); ++i) {
      if (context.transfers.transfers()[i].tag != tag) continue;
      ++count;
      if (ended(result, i)) times.push_back(length_of(result, i));
    }
    const std::uint64_t done = times.size();
    const Percentiles each = percentiles_of(std::move(times));
    const auto cell = [&](SimTime time) { return done == 0 ? Cell() : microseconds_cell(time); };
    table.rows.push_back({context.tags[tag], count_cell(count), count_cell(count - done), cell(each.mean),
                          cell(each.p50), cell(each.p99), cell(each.max)});
  }
  return table;
}

// The rate at which an endpoint can send (or receive) to another: over NVLink within a host, over all NICs beyond it.
double endpoint_rate(const Network& network, NodeId node, bool within_host) {
  double fabric = 0;
  double scale_up = 0;
  for (const LinkId id : network.out_links(node)) {
    const Link& link = network.link(id);
    (network.node(link.to).scale_up ? scale_up : fabric) += static_cast<double>(link.rate.count());
  }
  return within_host && scale_up > 0 ? scale_up : fabric > 0 ? fabric : scale_up;
}

TableSection slowest_table(const ResultContext& context, const SimResult& result) {
  TableSection table;
  table.key = "slowest_transfers";
  table.title = "Slowest transfers";
  table.columns = {left_column("source", "From"),
                   left_column("destination", "To"),
                   right_column("bytes", "Bytes"),
                   right_column("start_us", "Start (us)"),
                   right_column("time_us", "Time (us)"),
                   right_column("goodput_bps", "Goodput"),
                   right_column("line_rate_percent", "Share of line rate"),
                   wide_column("transfer", "Transfer")};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < context.transfers.size(); ++i) {
    if (ended(result, i)) order.push_back(i);
  }
  const std::size_t kept = std::min<std::size_t>(5, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      const SimTime x = length_of(result, a);
                      const SimTime y = length_of(result, b);
                      return x != y ? x > y : a < b;
                    });
  order.resize(kept);
  for (const std::size_t i : order) {
    const Transfer& transfer = context.transfers.transfers()[i];
    const Network& network = context.network;
    const bool local = network.node(transfer.source).group == network.node(transfer.destination).group;
    const double line =
        std::min(endpoint_rate(network, transfer.source, local), endpoint_rate(network, transfer.destination, local));
    const SimTime time = length_of(result, i);
    const double bits = static_cast<double>(transfer.bytes.count()) * transfer.rounds * 8;
    const double rate = time.count() > 0 ? bits * 1e12 / static_cast<double>(time.count()) : 0;
    table.rows.push_back({network.name_of(transfer.source), network.name_of(transfer.destination),
                          size_cell(transfer.bytes * std::int64_t{transfer.rounds}),
                          microseconds_cell(result.started[i]), microseconds_cell(time),
                          Cell(std::round(rate), format_bit_rate(rate)), percent_cell(line > 0 ? rate / line : 0),
                          count_cell(i)});
  }
  return table;
}

TableSection series_table(const SimResult& result) {
  TableSection table;
  table.key = "series";
  table.title = "Time series";
  table.columns = {right_column("at_us", "At (us)"),
                   right_column("goodput_bps", "Goodput"),
                   right_column("queued_bytes", "Queued"),
                   right_column("deepest_queue_bytes", "Deepest"),
                   right_column("paused_links", "Paused links"),
                   right_column("marked", "Marked"),
                   right_column("dropped", "Dropped"),
                   wide_column("delivered_bytes", "Delivered")};
  SimTime before;
  for (const SeriesPoint& point : result.series) {
    const SimTime length = point.at - before;
    const double rate = length.count() > 0
                            ? static_cast<double>(point.delivered.count()) * 8e12 / static_cast<double>(length.count())
                            : 0;
    before = point.at;
    table.rows.push_back({microseconds_cell(point.at), Cell(std::round(rate), format_bit_rate(rate)),
                          size_cell(point.queued), size_cell(point.deepest_queue), count_cell(point.paused_links),
                          count_cell(point.marked), count_cell(point.dropped), size_cell(point.delivered)});
  }
  return table;
}

void append_details(Document& document, const ResultContext& context, const SimResult& result) {
  document.sections.emplace_back(totals(result));
  if (context.tags.size() > 1) document.sections.emplace_back(tags_table(context, result));
  document.sections.emplace_back(classes_table(context, result));
  document.sections.emplace_back(hottest_table(context, result));
  document.sections.emplace_back(slowest_table(context, result));
  const StormTree tree = storm_tree(context.network, result);
  if (!tree.empty()) document.sections.emplace_back(storm_table(context.network, tree, context.storm_rows));
  if (!result.series.empty()) document.sections.emplace_back(series_table(result));
  const DiagnosisInput input{context.network, context.transfers,  context.options, context.routing,
                             result,          context.connections};
  for (std::string& finding : diagnose(input)) document.notes.push_back(std::move(finding));
  if (tree.branches.size() > context.storm_rows) {
    document.notes.push_back(fmt::format(
        "the storm tree has {} branches, {} of them shown; --storm-tree FILE.svg draws all, machine formats "
        "contain more",
        group_digits(tree.branches.size()), context.storm_rows));
  }
  for (const std::string& warning : result.warnings) document.notes.push_back("warning: " + warning);
}

TableSection comparison_table(const ResultContext& context, std::span<const SimResult> results) {
  TableSection table;
  table.key = "fidelities";
  table.title = "The same run at each fidelity";
  table.columns = {left_column("fidelity", "Fidelity"),
                   right_column("mean_us", "Mean (us)"),
                   right_column("p50_us", "p50 (us)"),
                   right_column("p99_us", "p99 (us)"),
                   right_column("max_us", "Max (us)"),
                   right_column("goodput_bps", "Goodput"),
                   left_column("against", "Against"),
                   right_column("mean_error_percent", "Mean error"),
                   right_column("worst_error_percent", "Worst"),
                   right_column("end_error_percent", "End"),
                   wide_column("compared", "Compared"),
                   wide_column("unfinished", "Unfinished")};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const SimResult& result = results[i];
    const Percentiles times = percentiles_of(completion_times(result));
    const double rate = goodput(context.transfers, result);
    std::vector<Cell> row = {Cell(to_text(result.fidelity)), microseconds_cell(times.mean),
                             microseconds_cell(times.p50),   microseconds_cell(times.p99),
                             microseconds_cell(times.max),   Cell(std::round(rate), format_bit_rate(rate))};
    if (i + 1 < results.size()) {
      const FidelityError error = fidelity_error(result, results[i + 1]);
      const double percent = std::round(error.end * 1e4) / 100;
      row.insert(row.end(),
                 {Cell(to_text(results[i + 1].fidelity)), percent_cell(error.mean), percent_cell(error.worst),
                  Cell(percent, fmt::format("{:+.1f} %", percent)), count_cell(error.compared)});
    } else {
      row.resize(row.size() + 5);
    }
    row.push_back(count_cell(unfinished_of(result)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

namespace {

bool heeds_marks(Transport transport) {
  return transport == Transport::dcqcn || transport == Transport::nscc || transport == Transport::tcp;
}

}  // namespace

std::string transport_words(const SimOptions& options) {
  std::string words;
  for (const TrafficClassOptions& each : options.classes) {
    words += (words.empty() ? "" : "; ") + std::string(to_text(each.transport.kind));
    words += each.lossless && options.switches.pfc ? ", PFC" : ", no PFC";
    if (heeds_marks(each.transport.kind)) words += each.ecn ? ", ECN" : ", no ECN";
    words += fmt::format(", {} payload", to_text(each.transport.payload));
    if (each.transport.host_limit.count() > 0) {
      words += fmt::format(", hosts move {} per connection", to_text(each.transport.host_limit));
    }
  }
  return words;
}

FidelityError fidelity_error(const SimResult& coarse, const SimResult& fine) {
  FidelityError error;
  const std::size_t count = std::min(coarse.finished.size(), fine.finished.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!ended(coarse, i) || !ended(fine, i) || length_of(fine, i).count() <= 0) continue;
    const auto wanted = static_cast<double>(length_of(fine, i).count());
    const double off = std::abs(static_cast<double>(length_of(coarse, i).count()) - wanted) / wanted;
    error.mean += off;
    error.worst = std::max(error.worst, off);
    ++error.compared;
  }
  if (error.compared > 0) error.mean /= static_cast<double>(error.compared);
  if (fine.end.count() > 0) {
    error.end = (static_cast<double>(coarse.end.count()) - static_cast<double>(fine.end.count())) /
                static_cast<double>(fine.end.count());
  }
  return error;
}

std::string state_text(const SimResult& result, std::size_t transfers) {
  if (result.complete) return "complete";
  const std::string left = fmt::format("{} of {} did not finish", group_digits(unfinished_of(result)),
                                       grouped_plural(transfers, "transfer", "transfers"));
  if (result.deadlock) return fmt::format("deadlock at {}: {}", format_fine_time(result.end), left);
  return fmt::format("{} at {}: {}", result.interrupted ? "interrupted" : "cut", format_fine_time(result.end), left);
}

Document result_document(const ResultContext& context, const SimResult& result) {
  Document document;
  document.kind = "simulation";
  document.sections.emplace_back(summary(context, result));
  append_details(document, context, result);
  return document;
}

Document comparison_document(const ResultContext& context, std::span<const SimResult> results) {
  CHECK(!results.empty(), "nothing to compare");
  Document document;
  document.kind = "simulation";
  document.sections.emplace_back(summary(context, results.back()));
  document.sections.emplace_back(comparison_table(context, results));
  append_details(document, context, results.back());
  for (const SimResult& result : results.first(results.size() - 1)) {
    for (const std::string& warning : result.warnings) {
      document.notes.push_back(fmt::format("warning ({}): {}", to_text(result.fidelity), warning));
    }
  }
  return document;
}

}  // namespace weft::netsim
