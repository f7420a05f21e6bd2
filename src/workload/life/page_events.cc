// The events of the five states as folded lists, and what is known of each operation: when, on which network, how many
// bytes, and why it takes as long as it does.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/human_format.h"
#include "base/quoting.h"
#include "base/text.h"
#include "workload/life/page_internal.h"
#include "workload/life/view_cells.h"

namespace weft::workload::page {
namespace {

using Rows = std::vector<std::pair<std::string_view, std::string>>;

// All calls of one kind of communication together.
struct Calls {
  std::uint64_t count = 0;  // per rank and step
  Bytes bytes;              // of all calls
  SimTime total;
  SimTime exposed;
  double bandwidth = 0;  // of the slowest
  double slowdown = 1;   // of the slowest
  std::string algorithm;
};

Calls calls_of(const LifeResult& life, std::string_view what, const Medium* medium) {
  Calls calls;
  for (const CommunicationRow& row : life.communication) {
    if (row.what != what || (medium != nullptr && row.medium != *medium)) continue;
    if (calls.count == 0 || row.slowdown > calls.slowdown) {
      calls.slowdown = row.slowdown;
      calls.bandwidth = row.bus_bandwidth;
      calls.algorithm = row.algorithm;
    }
    calls.count += row.calls;
    calls.bytes = Bytes(calls.bytes.count() + row.bytes.count() * static_cast<std::int64_t>(row.calls));
    calls.total += row.total;
    calls.exposed += row.exposed;
  }
  return calls;
}

// A slowdown below this is the cost of the protocol, not of other traffic.
constexpr double kSlow = 1.05;

std::string why_slow(const Calls& calls) {
  const double rate = calls.bandwidth / 1e9;
  if (calls.slowdown >= kSlow) {
    return fmt::format(
        "The network slows it: {:.2f} times the same call on an idle network (congestion, hash collisions or slower "
        "links), at {:.3g} GB/s of bus bandwidth.",
        calls.slowdown, rate);
  }
  return fmt::format("Its bytes: it is as fast as on an idle network ({:.2f} times), at {:.3g} GB/s of bus bandwidth.",
                     calls.slowdown, rate);
}

void add_calls(const Calls& calls, const StepParts& parts, Rows& rows) {
  if (calls.count == 0) return;
  rows.emplace_back("Calls", fmt::format("{} per rank and step, {} together, {} per rank", group_digits(calls.count),
                                         format_time(calls.total), format_bytes(calls.bytes)));
  rows.emplace_back("Algorithm", calls.algorithm);
  rows.emplace_back("Exposed",
                    fmt::format("{} of it not hidden behind compute, {} of a step", format_time(calls.exposed),
                                format_percent(share_of(calls.exposed, parts.step))));
  rows.emplace_back("Why so long", why_slow(calls));
}

Rows facts_of(const LifeResult& life, const LifeState& state, const LifeEvent& event) {
  Rows rows;
  rows.emplace_back("When", fmt::format("{} to {} after submit", format_moment(event.start),
                                        format_moment(event.start + event.duration)));
  std::string takes = format_time(event.duration);
  if (state.duration.count() > 0 && event.duration <= state.duration) {
    takes += fmt::format(", {} of the state", format_percent(share_of(event.duration, state.duration)));
  } else if (state.duration.count() > 0) {
    takes += ", beside the next steps: longer than its share of the state";
  }
  rows.emplace_back("Takes", takes);
  rows.emplace_back("Network", fmt::format("{}, {}", title_of(event.medium), event.protocol));
  if (event.bytes.count() > 0) {
    std::string bytes = format_bytes(event.bytes) + " by all servers";
    if (event.duration.count() > 0) {
      bytes += fmt::format(", {}/s on average", format_bytes(static_cast<double>(event.bytes.count()) /
                                                             (static_cast<double>(event.duration.count()) / 1e12)));
    }
    rows.emplace_back("Bytes", bytes);
  }
  const Calls calls = calls_of(life, event.what, &event.medium);
  if (!event.detail.empty()) rows.emplace_back(calls.count > 0 ? "How" : "Why so long", event.detail);
  add_calls(calls, life.parts, rows);
  return rows;
}

std::string row_html(const Rows& rows) {
  std::string out = "<dl>";
  for (const auto& [what, value] : rows) out += fmt::format("<dt>{}</dt><dd>{}</dd>", what, escaped(value));
  return out + "</dl>";
}

std::string rows_json(const Rows& rows) {
  std::string out = "[";
  for (const auto& [what, value] : rows) {
    out += fmt::format("{}[{},{}]", out.size() > 1 ? "," : "", json_quote(what), json_quote(value));
  }
  return out + "]";
}

}  // namespace

std::string search_box() {
  return R"(<div class="find" id="find-box" hidden><label for="find">Search events and operations</label>
<input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="all-gather, NVMe, bottleneck ...">
<button type="button" id="find-next">Next in the timeline</button><output id="found" for="find"></output></div>
)";
}

std::string state_events(const LifeResult& life) {
  std::string out = "<div class=\"events\">\n";
  for (const LifeState& state : life.states) {
    out += fmt::format("<details class=\"state\"><summary><b>{}. {}</b> {}, {}</summary>\n<ul>\n", state.number,
                       escaped(state.name), format_time(state.duration),
                       grouped_plural(state.events.size(), "event", "events"));
    for (std::size_t i = 0; i < state.events.size(); ++i) {
      const LifeEvent& event = state.events[i];
      out += fmt::format(
          "<li><details class=\"event-row\" id=\"e{}-{}\"><summary>{} <span class=\"tag\">{}</span> <b>{}</b></summary>"
          "{}</details></li>\n",
          state.number, i, escaped(event.what), title_of(event.medium), format_time(event.duration),
          row_html(facts_of(life, state, event)));
    }
    if (state.events.empty()) out += "<li>no events</li>\n";
    out += "</ul></details>\n";
  }
  out += "</div>\n";
  return out;
}

std::string operations_json(const LifeResult& life) {
  std::string out;
  std::set<std::string_view> known;
  const auto add = [&](std::string_view what, const Rows& rows) {
    if (!known.insert(what).second) return;
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",\n", json_quote(what), rows_json(rows));
  };
  for (const CommunicationRow& row : life.communication) {
    Rows rows = {{"Network", std::string(title_of(row.medium))}};
    add_calls(calls_of(life, row.what, nullptr), life.parts, rows);
    add(row.what, rows);
  }
  for (const LifeState& state : life.states) {
    for (const LifeEvent& event : state.events) {
      Rows rows = {{"Network", fmt::format("{}, {}", title_of(event.medium), event.protocol)}};
      if (event.bytes.count() > 0) rows.emplace_back("Bytes", format_bytes(event.bytes) + " by all servers");
      if (!event.detail.empty()) rows.emplace_back("Why so long", event.detail);
      add(event.what, rows);
    }
  }
  return "{" + out + "}";
}

}  // namespace weft::workload::page
