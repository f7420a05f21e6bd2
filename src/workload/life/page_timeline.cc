#include "workload/life/page_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/document.h"
#include "base/human_format.h"
#include "base/quoting.h"
#include "base/text.h"
#include "html/page.h"
#include "netsim/views/result_cells.h"
#include "workload/life/page_internal.h"
#include "workload/life/perfetto_lanes.h"
#include "workload/life/view_cells.h"

namespace weft::workload::page {
namespace {

constexpr std::string_view kTools =
    R"(<div class="tools" id="tl-tools" hidden><button type="button" data-do="in">Zoom in</button>
<button type="button" data-do="out">Zoom out</button>
<button type="button" data-do="left" aria-label="Earlier">&larr;</button>
<button type="button" data-do="right" aria-label="Later">&rarr;</button>
<button type="button" data-do="all">All</button>
<small>drag to move, Ctrl + wheel or + and - to zoom, click on an operation or n and p for its details</small></div>
<div id="tl" tabindex="0" role="application" aria-label="Timeline of one iteration; the table below has the same data">
<canvas></canvas><div id="tip" role="status" hidden></div></div>
<aside id="op" aria-label="Chosen operation" aria-live="polite" hidden></aside>
<ul id="names" class="legend" aria-label="Operations by color" hidden></ul>
<noscript><p class="note">The timeline needs JavaScript, which is disabled. The table has its figures.</p></noscript>
)";
// The page itself needs no network: only the button for it opens another site.
constexpr std::string_view kPerfetto =
    R"(<div class="tools" id="trace" hidden><button type="button" id="perfetto">Open in Perfetto</button>
<button type="button" id="download">Download the trace (JSON)</button><output id="trace-state"></output></div>
<details><summary>How to open the trace</summary><ol class="plain">
<li><b>Open in Perfetto</b> opens ui.perfetto.dev in a new tab and hands over the spans of this page. The trace is not
uploaded: Perfetto runs in the browser.</li>
<li>Without a connection: download the trace, and open it where ui.perfetto.dev or a copy of it can be reached, with
<b>Open trace file</b>. <code>chrome://tracing</code> reads it too.</li>
<li>The trace of this page has the spans that are drawn here. <code>weft sim life ... --trace life.json</code> writes
all of them, with the states before this iteration.</li></ol></details>
)";
constexpr std::size_t kCounters = 12;  // maximum drawn
constexpr std::size_t kPoints = 1000;  // per counter

std::int64_t floor_ns(SimTime time) { return time.count() / 1000; }

// Spans of one depth, in order, merged below the resolution.
void thin_row(const std::vector<DrawnSpan>& row, std::int64_t resolution, std::vector<DrawnSpan>& out) {
  const std::size_t first = out.size();
  std::int64_t longest = 0;  // length of the span that named the last block
  for (const DrawnSpan& span : row) {
    DrawnSpan* last = out.size() > first ? &out.back() : nullptr;
    if (last == nullptr || span.start_ns + span.length_ns - last->start_ns > resolution) {
      out.push_back(span);
      longest = span.length_ns;
      continue;
    }
    if (span.length_ns > longest) {
      longest = span.length_ns;
      last->name = span.name;
    }
    last->length_ns = std::max(last->length_ns, span.start_ns + span.length_ns - last->start_ns);
    last->count += span.count;
    last->busy_ns += span.busy_ns;
  }
}

std::vector<DrawnSpan> thinned(const std::vector<DrawnSpan>& spans, std::uint32_t depths, std::int64_t resolution) {
  std::vector<std::vector<DrawnSpan>> rows(depths);
  for (const DrawnSpan& span : spans) rows[span.depth].push_back(span);
  std::vector<DrawnSpan> out;
  for (const std::vector<DrawnSpan>& row : rows) thin_row(row, resolution, out);
  return out;
}

std::size_t count_spans(const std::vector<DrawnTrack>& tracks) {
  std::size_t count = 0;
  for (const DrawnTrack& track : tracks) count += track.spans.size();
  return count;
}

void thin(DrawnTimeline& drawn, std::size_t most) {
  drawn.drawn = count_spans(drawn.tracks);
  if (drawn.drawn <= most) return;
  // A high-resolution screen has about 4000 columns.
  for (std::int64_t r = std::max<std::int64_t>(1, drawn.length_ns / 4096); drawn.drawn > most; r *= 2) {
    for (DrawnTrack& track : drawn.tracks) track.spans = thinned(track.spans, track.depths, r);
    drawn.drawn = count_spans(drawn.tracks);
    drawn.resolution_ns = r;
    if (r > drawn.length_ns) break;
  }
}

std::int64_t busy_percent(const DrawnSpan& span) {
  return span.length_ns > 0 ? std::min<std::int64_t>(100, span.busy_ns * 100 / span.length_ns) : 100;
}

std::string data_text(const DrawnTimeline& drawn, const Timeline& timeline) {
  std::vector<std::int64_t> index(timeline.names.size(), -1);
  std::string names;
  std::int64_t used = 0;
  std::string tracks;
  for (const DrawnTrack& track : drawn.tracks) {
    tracks += fmt::format("{}{{\"p\":{},\"t\":{},\"n\":{},\"d\":[", tracks.empty() ? "" : ",\n",
                          json_quote(track.process), json_quote(track.thread), track.depths);
    std::int64_t before = 0;
    bool first = true;
    for (const DrawnSpan& span : track.spans) {
      std::int64_t& name = index[span.name];
      if (name < 0) {
        name = used++;
        names += (names.empty() ? "" : ",") + json_quote(timeline.names[span.name]);
      }
      append_format(tracks, "{}{},{},{},{},{},{}", first ? "" : ",", span.start_ns - before, span.length_ns, name,
                    span.depth, span.count, busy_percent(span));
      before = span.start_ns;
      first = false;
    }
    tracks += "]}";
  }
  return fmt::format("{{\"length\":{},\"names\":[{}],\"tracks\":[{}]", drawn.length_ns, names, tracks);
}

// At most kPoints points: of those that coincide the highest is kept, so no peak is lost.
std::string counter_points(const TimelineCounter& counter, const Timeline& timeline) {
  const std::int64_t from = floor_ns(timeline.iteration_start);
  const std::int64_t length = floor_ns(timeline.iteration_end) - from;
  const std::int64_t slot = std::max<std::int64_t>(1, length / static_cast<std::int64_t>(kPoints));
  std::string out;
  std::int64_t last = -1;
  std::pair<std::int64_t, double> highest;
  const auto flush = [&] {
    if (last < 0) return;
    append_format(out, "{}{},{:.6g}", out.empty() ? "" : ",", highest.first, highest.second);
  };
  for (const auto& [at, value] : counter.points) {
    const std::int64_t ns = floor_ns(at) - from;
    if (ns < 0 || ns > length || !std::isfinite(value)) continue;
    if (ns / slot != last) {
      flush();
      last = ns / slot;
      highest = {ns, value};
    } else if (value > highest.second) {
      highest.second = value;
    }
  }
  flush();
  return out;
}

std::string counters_text(const Timeline& timeline) {
  std::string out;
  std::size_t drawn = 0;
  for (const TimelineCounter& counter : timeline.counters) {
    const std::string points = counter_points(counter, timeline);
    if (points.empty() || ++drawn > kCounters) continue;
    out += fmt::format("{}{{\"p\":{},\"t\":{},\"u\":{},\"d\":[{}]}}", out.empty() ? "" : ",\n",
                       json_quote(counter.process), json_quote(counter.name), json_quote(counter.unit), points);
  }
  return out;
}

std::string tracks_table(const DrawnTimeline& drawn) {
  TableSection table;
  table.title = "Tracks of the timeline";
  table.columns = {netsim::left_column("process", "Process"), netsim::left_column("thread", "Track"),
                   netsim::right_column("busy", "Busy"), netsim::right_column("share", "Share of the iteration")};
  for (const DrawnTrack& track : drawn.tracks) {
    const SimTime busy(track.busy_ns * 1000);
    table.rows.push_back({track.process, track.thread, seconds_cell(busy),
                          percent_cell(share_of(busy, SimTime(drawn.length_ns * 1000)))});
  }
  return "<details><summary>The same as a table</summary>\n" + table_html(table) + "</details>\n";
}

std::string notes_of(const DrawnTimeline& drawn) {
  std::string out;
  if (drawn.resolution_ns > 0) {
    out += fmt::format(
        "<p class=\"note\">The iteration has {} spans; {} are drawn: adjacent spans that together take less than {} "
        "are merged. `--trace` writes all of them.</p>\n",
        group_digits(drawn.spans), group_digits(drawn.drawn), format_time(SimTime(drawn.resolution_ns * 1000)));
  }
  if (drawn.left_out > 0) {
    out += fmt::format("<p class=\"note\">{} further tracks are not drawn; `--trace` writes them.</p>\n",
                       group_digits(drawn.left_out));
  }
  return out;
}

// Within their rank, processes keep the order of first appearance.
void order_tracks(std::vector<DrawnTrack>& tracks) {
  std::map<std::string, std::size_t> met;
  for (const DrawnTrack& track : tracks) met.emplace(track.process, met.size());
  const auto place = [&](const DrawnTrack& track) {
    return std::tuple(process_rank(track.process), met.find(track.process)->second, thread_rank(track.thread));
  };
  std::stable_sort(tracks.begin(), tracks.end(),
                   [&](const DrawnTrack& a, const DrawnTrack& b) { return place(a) < place(b); });
}

}  // namespace

DrawnTimeline drawn_timeline(const Timeline& timeline, std::size_t most, std::size_t most_tracks) {
  DrawnTimeline drawn;
  const std::int64_t from = floor_ns(timeline.iteration_start);
  drawn.length_ns = std::max<std::int64_t>(0, floor_ns(timeline.iteration_end) - from);
  if (drawn.length_ns == 0) return drawn;
  std::uint32_t track = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t lane = 0;
  std::int64_t covered = 0;  // end of the covered time on the current track
  for (const PlacedSpan& placed : place_spans(timeline)) {
    const std::int64_t start = std::max<std::int64_t>(placed.start_ns - from, 0);
    const std::int64_t end = std::min(placed.end_ns - from, drawn.length_ns);
    const bool touches = placed.end_ns > from && placed.start_ns < from + drawn.length_ns;
    if (!touches || end < start) continue;
    const TimelineSpan& span = timeline.spans[placed.span];
    if (span.track != track || placed.lane != lane) {
      track = span.track;
      lane = placed.lane;
      covered = 0;
      const TimelineTrack& names = timeline.tracks[track];
      const std::string thread = lane == 0 ? names.thread : fmt::format("{} ({})", names.thread, lane + 1);
      drawn.tracks.push_back({names.process, thread, 1, 0, {}});
    }
    DrawnTrack& row = drawn.tracks.back();
    row.depths = std::max(row.depths, placed.depth + 1);
    row.spans.push_back({start, end - start, span.name, placed.depth, 1, end - start});
    row.busy_ns += std::max<std::int64_t>(0, end - std::max(start, covered));
    covered = std::max(covered, end);
  }
  order_tracks(drawn.tracks);
  if (drawn.tracks.size() > most_tracks) {
    drawn.left_out = drawn.tracks.size() - most_tracks;
    drawn.tracks.resize(most_tracks);
  }
  drawn.spans = count_spans(drawn.tracks);
  thin(drawn, most);
  return drawn;
}

std::string timeline_html(const LifeResult& life) {
  const DrawnTimeline drawn = drawn_timeline(life.timeline, kSpans, kTracks);
  if (drawn.tracks.empty()) return {};
  std::string out = fmt::format("<p>{} from {} after submit.</p>\n", format_time(SimTime(drawn.length_ns * 1000)),
                                format_moment(life.timeline.iteration_start));
  out += kTools;
  out += notes_of(drawn);
  out += kPerfetto;
  out += tracks_table(drawn);
  out += "<script type=\"application/json\" id=\"tl-data\">";
  out += html::json_in_script(fmt::format("{},\"counters\":[{}],\"start\":{},\"title\":{},\"ops\":{}}}",
                                          data_text(drawn, life.timeline), counters_text(life.timeline),
                                          floor_ns(life.timeline.iteration_start),
                                          json_quote(life.job + " on " + life.cluster), operations_json(life)));
  out += "</script>\n";
  return out;
}

}  // namespace weft::workload::page
