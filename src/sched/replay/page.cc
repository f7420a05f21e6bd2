#include "sched/replay/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/asset.h"
#include "base/text.h"
#include "html/page.h"
#include "html/svg.h"
#include "sched/replay/choice.h"
#include "sched/replay/plot.h"
#include "sched/replay/policies.h"

namespace weft::sched {
namespace {

std::string escaped(std::string_view text) { return picture::xml_escape(text); }

std::string shown(const Cell& cell) {
  if (!cell.shown.empty()) return cell.shown;
  if (const auto* text = std::get_if<std::string>(&cell.value)) return text->empty() ? "-" : *text;
  if (const auto* number = std::get_if<std::int64_t>(&cell.value)) return std::to_string(*number);
  if (const auto* value = std::get_if<double>(&cell.value)) return fmt::format("{:g}", *value);
  return "-";
}

class PageWriter {
 public:
  explicit PageWriter(const ReplayReport& report) : report_(report), document_(replay_document(report, false)) {}

  std::string write() {
    head();
    choice();
    findings();
    plots();
    tables();
    policies();
    notes();
    out_ += "</main>\n" + html::page_foot(frame_);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    append_format(out_, format, std::forward<Args>(args)...);
  }

  void head() {
    const std::string title = fmt::format("{} <span>on</span> {}", escaped(report_.trace), escaped(report_.machine));
    out_ += html::page_head(frame_);
    add("<a class=\"skip\" href=\"#tables\">Skip to the tables</a>\n<header>\n<p class=\"kind\">Replay of a trace</p>\n"
        "<h1>{}</h1>\n",
        title);
    add("<p class=\"sub\">{} jobs &middot; {} servers, {} GPUs", report_.jobs.size(), report_.nodes, report_.gpus);
    const double load = offered_load(report_);
    if (load > 0) add(" &middot; load {:.0f} % of the GPUs while jobs arrive", load * 100);
    out_ += "</p>\n</header>\n<main>\n";
  }

  void findings() {
    const std::vector<std::string> found = replay_findings(report_);
    if (found.empty()) return;
    out_ += "<section class=\"verdict\" aria-label=\"Findings\">\n<h2>Findings</h2>\n<ul>\n";
    for (const std::string& each : found) add("<li>{}</li>\n", escaped(each));
    out_ += "</ul>\n</section>\n";
  }

  // Why one would choose a policy: what is better and what is worse under it in this replay.
  void choice() {
    const std::vector<PolicyChoice> choices = policy_choices(report_);
    if (choices.empty()) return;
    add("<section aria-labelledby=\"h-choice\"><h2 id=\"h-choice\">Which policy</h2>\n<p>{}</p>\n"
        "<div class=\"choice\">\n",
        escaped(choice_summary(report_)));
    for (const PolicyChoice& each : choices) {
      add("<article><h3>{}</h3><dl>", escaped(each.policy));
      points("win", "Better", "in nothing: no figure is better than under all others", each.wins);
      points("pay", "Worse", "in nothing", each.pays);
      out_ += "</dl></article>\n";
    }
    out_ +=
        "</div>\n<p class=\"note\">Differences that count: more than 5 % and a minute of waiting, a point of "
        "utilization, 0.03 of fairness. They hold for this trace on this machine.</p></section>\n";
  }

  void points(std::string_view kind, std::string_view title, std::string_view none,
              const std::vector<std::string>& points) {
    add("<dt class=\"{}\">{}</dt>", kind, title);
    for (const std::string& point : points) add("<dd>{}</dd>", escaped(point));
    if (points.empty()) add("<dd>{}</dd>", none);
  }

  void plots() {
    out_ += "<section aria-label=\"Plots\">\n<ul class=\"lines\" aria-label=\"Policies\">\n";
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      add("<li>{}{}</li>\n", line_sample(i), escaped(report_.runs[i].metrics.policy));
    }
    out_ += "</ul>\n<div class=\"plots\">\n";
    for (const std::string& plot : replay_plots(report_)) out_ += "<figure>" + plot + "</figure>\n";
    out_ += "</div></section>\n";
  }

  void tables() {
    out_ += "<div id=\"tables\">\n";
    for (const auto& section : document_.sections) {
      const auto* table = std::get_if<TableSection>(&section);
      if (table != nullptr && !table->rows.empty()) this->table(*table);
    }
    out_ += "</div>\n";
  }

  void table(const TableSection& table) {
    add("<section class=\"wide\" aria-label=\"{0}\"><h2>{0}</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
        "aria-label=\"{0}\"><table>\n<caption>{0}</caption><thead><tr>",
        escaped(table.title));
    for (const Column& column : table.columns) {
      add("<th scope=\"col\"{}>{}</th>", column.align == Column::Align::right ? " class=\"n\"" : "",
          escaped(column.title));
    }
    out_ += "</tr></thead>\n<tbody>\n";
    std::string group;
    for (const std::vector<Cell>& row : table.rows) {
      const std::string name = shown(row.front());
      const bool opens = table.key != "policies" && !group.empty() && name != group;
      out_ += opens ? "<tr class=\"group\">" : "<tr>";
      // The name of a group is shown once.
      const bool again = table.key != "policies" && name == group;
      group = name;
      add("<th scope=\"row\">{}</th>", escaped(again ? std::string(" ") : name));
      for (std::size_t i = 1; i < row.size(); ++i) cell(table.columns[i], row[i]);
      out_ += "</tr>\n";
    }
    out_ += "</tbody></table></div></section>\n";
  }

  void cell(const Column& column, const Cell& cell) {
    std::string text = shown(cell);
    const bool best = text.size() > 2 && text.substr(text.size() - 2) == " *";
    const bool right = column.align == Column::Align::right;
    while (right && !text.empty() && text.back() == ' ') text.pop_back();
    add("<td{}>{}</td>", right ? best ? " class=\"n best\"" : " class=\"n\"" : "", escaped(text));
  }

  void policies() {
    out_ +=
        "<section aria-label=\"Policies\"><h2>The policies</h2>\n<table><thead><tr><th scope=\"col\">Policy</th>"
        "<th scope=\"col\">What it does</th></tr></thead><tbody>\n";
    for (const ReplayRun& run : report_.runs) {
      const NamedPolicy* named = find_policy(run.metrics.policy);
      if (named == nullptr) continue;
      add("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(named->name), escaped(named->about));
    }
    out_ += "</tbody></table></section>\n";
  }

  void notes() {
    if (!report_.notes.empty()) {
      out_ += "<section aria-label=\"Notes\"><h2>How the trace was read</h2>\n<ul>\n";
      for (const std::string& note : report_.notes) add("<li>{}</li>\n", escaped(note));
      out_ += "</ul></section>\n";
    }
    out_ += "<p class=\"note\">Replayed by weft in virtual time. Hashes of the runs:";
    for (const ReplayRun& run : report_.runs) {
      add(" {} <code>{:016x}</code>", escaped(run.metrics.policy), run.metrics.hash);
    }
    out_ += "</p>\n";
  }

  const ReplayReport& report_;
  const std::string title_ = fmt::format("Replay of {} on {}", report_.trace, report_.machine);
  const html::PageFrame frame_{title_, asset<"sched/replay.css">(), {}};
  Document document_;
  std::string out_;
};

}  // namespace

std::string replay_page(const ReplayReport& report) { return PageWriter(report).write(); }

}  // namespace weft::sched
