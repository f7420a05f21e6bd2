#include "workload/life/page.h"

#include <fmt/format.h>

#include <cstdint>
#include <variant>

#include "base/asset.h"
#include "base/human_format.h"
#include "base/text.h"
#include "html/page.h"
#include "html/svg.h"
#include "netsim/views/result_cells.h"
#include "workload/life/page_internal.h"
#include "workload/life/view.h"
#include "workload/life/view_cells.h"

namespace weft::workload {
namespace page {

std::string escaped(std::string_view text) { return picture::xml_escape(text); }

namespace {

std::string shown(const Cell& cell) {
  if (!cell.shown.empty()) return cell.shown;
  if (const auto* text = std::get_if<std::string>(&cell.value)) return text->empty() ? "-" : *text;
  if (const auto* truth = std::get_if<bool>(&cell.value)) return *truth ? "yes" : "no";
  if (const auto* number = std::get_if<std::int64_t>(&cell.value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&cell.value)) return format_number(*real);
  return "-";
}

std::string_view class_of(const Column& column) { return column.align == Column::Align::right ? " class=\"n\"" : ""; }

}  // namespace

std::string table_html(const TableSection& table) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>"
      "<caption>{0}</caption><thead><tr>",
      escaped(table.title));
  for (const Column& column : table.columns) {
    if (column.wide) continue;
    const std::string title = column.title.empty() ? column.key : column.title;
    out += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(column), escaped(title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < table.columns.size() && i < row.size(); ++i) {
      if (table.columns[i].wide) continue;
      out += fmt::format("<td{}>{}</td>", class_of(table.columns[i]), escaped(shown(row[i])));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  return out;
}

std::string facts_html(const FactsSection& facts) {
  std::string out = "<dl class=\"facts\">\n";
  for (const Fact& fact : facts.facts) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(fact.title), escaped(shown(fact.value)));
  }
  out += "</dl>\n";
  return out;
}

std::string heat_maps(const LifeResult& life) {
  std::string out;
  std::size_t bytes = 0;
  for (const FabricHeat& heat : life.heat) {
    // Text before the element (an XML declaration) is not allowed inside a page.
    const std::size_t start = heat.svg.find("<svg");
    if (start == std::string::npos) continue;
    if (bytes + heat.svg.size() > kHeatBytes) {
      out += fmt::format("<p class=\"note\">The heat map of the {} fabric is omitted: it has {}.</p>\n",
                         model::to_text(heat.fabric), format_bytes(static_cast<double>(heat.svg.size())));
      continue;
    }
    bytes += heat.svg.size();
    out += fmt::format(
        "<figure class=\"heat\"><figcaption>{} fabric</figcaption><div class=\"zoom\" role=\"group\" tabindex=\"0\" "
        "aria-label=\"Heat map of the {} fabric\">",
        title_of(heat.fabric), model::to_text(heat.fabric));
    out.append(heat.svg, start);
    out += "</div></figure>\n";
  }
  if (!out.empty()) {
    out +=
        "<p class=\"note\">Color and number: mean use of the link over the simulated time. To zoom: the buttons, two "
        "fingers, Ctrl + wheel, or + and - once the map has the focus. Hold the pointer over a cell for its "
        "link.</p>\n";
  }
  return out;
}

}  // namespace page

namespace {

using page::escaped;

class PageWriter {
 public:
  explicit PageWriter(const LifeResult& life) : life_(life), document_(life_document(life)) {}

  std::string write() {
    head();
    header();
    section("states", "Five states", page::states_picture(life_) + page::search_box() + page::state_events(life_));
    section("step", "Where the time of a step goes", page::step_bar(life_.parts) + table("step_parts"));
    section("timeline", "One iteration", page::timeline_html(life_));
    section("heat", "Links of the fabrics", page::heat_maps(life_));
    section("communication", "Communication", table("communication"));
    section("memory", "Memory", page::memory_bar(life_.memory) + table("memory"));
    section("tail", "Tail", page::tail_histogram(life_.tail) + facts("tail"));
    section("changes", "What if", page::change_bars(life_.verdict));
    section("figures", "All figures", facts("job") + facts("figures"));
    assumptions();
    foot();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    append_format(out_, format, std::forward<Args>(args)...);
  }

  void head() {
    out_ += html::page_head(frame_);
    out_ += "<a class=\"skip\" href=\"#states\">Skip to the five states</a>\n";
  }

  void tile(std::string_view value, std::string_view title, std::string_view more) {
    add("<li><b>{}</b><span>{}</span><small>{}</small></li>\n", escaped(value), escaped(title), escaped(more));
  }

  void header() {
    add("<header>\n<p class=\"kind\">Timeline of a job</p>\n<h1>{} <span>on</span> {}</h1>\n<p class=\"sub\">{}, {} "
        "parameters "
        "&middot; {} GPUs in {} servers &middot; {} &middot; {} sequences of {} tokens per step</p>\n<ul "
        "class=\"tiles\">\n",
        escaped(life_.job), escaped(life_.cluster), escaped(life_.model), escaped(format_count(life_.parameters)),
        group_digits(life_.gpus), group_digits(life_.servers), escaped(life_.layout), group_digits(life_.global_batch),
        group_digits(life_.sequence));
    tile(format_time(life_.step), "a step, without checkpoints",
         plural(life_.micro_batches, "micro-batch", "micro-batches"));
    tile(format_number(life_.tokens_per_second), "tokens/s",
         life_.gpus > 0 ? format_number(life_.tokens_per_second / life_.gpus) + " per GPU" : std::string());
    tile(format_percent(life_.mfu), "MFU", fmt::format("{:.0f} TFLOP/s per GPU", life_.tflops_per_gpu));
    tile(format_percent(life_.gpu_utilization), "GPU utilization", "checkpoints included");
    tile(format_percent(life_.backend_dark), "of a step the backend is dark", "it carries nothing");
    tile(format_time(life_.run_time), "the run",
         fmt::format("{} of it for checkpoints", format_percent(life_.checkpoint_overhead)));
    out_ += "</ul>\n";
    verdict();
    out_ +=
        "<nav aria-label=\"Sections\"><a href=\"#states\">States</a> <a href=\"#step\">Step</a> "
        "<a href=\"#timeline\">Timeline</a> <a href=\"#communication\">Communication</a> "
        "<a href=\"#memory\">Memory</a> <a href=\"#tail\">Tail</a> <a href=\"#changes\">What if</a> "
        "<a href=\"#assumptions\">Assumptions</a></nav>\n</header>\n<main>\n";
  }

  void verdict() {
    add("<section class=\"verdict\" aria-label=\"Verdict\">\n<h2>Bounded by {}</h2>\n<p>{}</p>\n",
        escaped(life_.verdict.bound_by.empty() ? "unknown" : life_.verdict.bound_by), escaped(life_.verdict.because));
    if (!life_.verdict.changes.empty()) {
      out_ += "<ol>\n";
      for (const Change& change : life_.verdict.changes) {
        add("<li>{}: <b>{}</b> throughput <code>{}</code></li>\n", escaped(change.what),
            escaped(format_signed_percent(change.gain)), escaped(change.how));
      }
      out_ += "</ol>\n";
    }
    out_ += "</section>\n";
    if (life_.faults.any) failure();
  }

  void failure() {
    out_ +=
        "<section class=\"verdict\" aria-label=\"Failure\">\n<h2>Failure</h2>\n" + facts("failure") + "</section>\n";
  }

  // An empty section gets no heading.
  void section(std::string_view id, std::string_view title, const std::string& content) {
    if (content.empty()) return;
    add("<section id=\"{0}\" aria-labelledby=\"h-{0}\">\n<h2 id=\"h-{0}\">{1}</h2>\n", id, title);
    out_ += content;
    out_ += "</section>\n";
  }

  [[nodiscard]] std::string table(std::string_view key) const {
    for (const auto& section : document_.sections) {
      const auto* found = std::get_if<TableSection>(&section);
      if (found != nullptr && found->key == key) return page::table_html(*found);
    }
    return {};
  }
  [[nodiscard]] std::string facts(std::string_view key) const {
    for (const auto& section : document_.sections) {
      const auto* found = std::get_if<FactsSection>(&section);
      if (found != nullptr && found->key == key) return page::facts_html(*found);
    }
    return {};
  }

  void assumptions() {
    std::string list;
    for (const std::string& one : life_.assumptions) list += "<li>" + escaped(one) + "</li>\n";
    if (!list.empty()) list = "<ul class=\"plain\">\n" + list + "</ul>\n";
    list += fmt::format("<p class=\"note\">Simulated by weft, fidelity {}, trace hash <code>{:016x}</code>.</p>\n",
                        to_text(life_.fidelity), life_.trace_hash);
    section("assumptions", "Assumptions", list);
  }

  void foot() { out_ += "</main>\n" + html::page_foot(frame_); }

  // zoom.js zooms the heat maps. life.js draws the timeline, searches events and operations and hands the trace over to
  // Perfetto; names reach the page only as canvas text or textContent. When done, it sets attributes on the root
  // element: data-weft="ready", data-spans.
  const std::string script_ = std::string(asset<"base/zoom.js">()) + std::string(asset<"workload/life.js">());
  const LifeResult& life_;
  const std::string title_ = fmt::format("{} on {}", life_.job, life_.cluster);
  const html::PageFrame frame_{title_, asset<"workload/life.css">(), script_};
  Document document_;
  std::string out_;
};

}  // namespace

std::string life_page(const LifeResult& life) { return PageWriter(life).write(); }

}  // namespace weft::workload
