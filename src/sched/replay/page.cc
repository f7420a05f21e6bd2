#include "sched/replay/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/asset.h"
#include "base/svg.h"
#include "base/text.h"
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
    findings();
    plots();
    tables();
    policies();
    notes();
    out_ += "</main>\n</body>\n</html>\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    append_format(out_, format, std::forward<Args>(args)...);
  }

  void head() {
    const std::string title = fmt::format("{} <span>on</span> {}", escaped(report_.trace), escaped(report_.machine));
    add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Replay of {} on {}</title>\n<style>",
        escaped(report_.trace), escaped(report_.machine));
    // Text has a contrast of at least 4.5 to its background (WCAG 2.1, 1.4.3). Plots have a white background, in dark
    // mode too.
    out_ += '\n';
    out_ += asset<"sched/replay.css">();
    add("</style>\n</head>\n<body>\n<header>\n<p class=\"kind\">Replay of a trace</p>\n<h1>{}</h1>\n", title);
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

  void plots() {
    const std::string picture = replay_picture(report_);
    const std::size_t start = picture.find("<svg");
    if (start == std::string::npos) return;
    out_ += "<section aria-label=\"Plots\"><div class=\"paper scroll\" tabindex=\"0\">";
    out_.append(picture, start);
    out_ += "</div></section>\n";
  }

  void tables() {
    for (const auto& section : document_.sections) {
      const auto* table = std::get_if<TableSection>(&section);
      if (table != nullptr && !table->rows.empty()) this->table(*table);
    }
  }

  void table(const TableSection& table) {
    add("<section class=\"wide\" aria-label=\"{0}\"><h2>{0}</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>"
        "<tr>",
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
      for (std::size_t i = 0; i < row.size(); ++i) cell(table.columns[i], i == 0 && again ? Cell(" ") : row[i]);
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
    out_ += "<section aria-label=\"Policies\"><h2>The policies</h2>\n<table><tbody>\n";
    for (const ReplayRun& run : report_.runs) {
      const NamedPolicy* named = find_policy(run.metrics.policy);
      if (named == nullptr) continue;
      add("<tr><td>{}</td><td>{}</td></tr>\n", escaped(named->name), escaped(named->about));
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
  Document document_;
  std::string out_;
};

}  // namespace

std::string replay_page(const ReplayReport& report) { return PageWriter(report).write(); }

}  // namespace weft::sched
