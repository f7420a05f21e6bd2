#include "explore/page.h"

#include <fmt/format.h>

#include <variant>

#include "base/asset.h"
#include "base/text.h"
#include "explore/plot.h"
#include "explore/view.h"
#include "html/document_parts.h"
#include "html/page.h"
#include "html/svg.h"

namespace weft::explore {
namespace {

std::string escaped(std::string_view text) { return picture::xml_escape(text); }

void add_list(std::string& out, std::string_view title, const std::vector<std::string>& sentences,
              std::string_view style) {
  if (sentences.empty()) return;
  append_format(out, "<section{} aria-label=\"{}\">\n<h2>{}</h2>\n<ul>\n", style, title, title);
  for (const std::string& each : sentences) append_format(out, "<li>{}</li>\n", escaped(each));
  out += "</ul>\n</section>\n";
}

void add_plots(std::string& out, const SearchResult& result) {
  const std::vector<FrontPlot> plots = front_plots(result);
  if (plots.empty()) return;
  out += "<section aria-labelledby=\"h-plots\"><h2 id=\"h-plots\">Simulated designs</h2>\n<div class=\"plots\">\n";
  for (const FrontPlot& plot : plots) {
    append_format(out, "<figure><figcaption>{}</figcaption>\n{}", escaped(plot.title), plot.svg);
    out += "<ul class=\"lines\" aria-label=\"Colors\">";
    for (const auto& [color, gpu] : plot_legend(result))
      append_format(out, "<li>{}{}</li>", html::swatch(color), escaped(gpu));
    out += "</ul>\n</figure>\n";
  }
  out +=
      "</div>\n<p class=\"note\">Each dot is a design that was simulated with failures. Those with a letter are on "
      "the front: no other is better in days, power and cost together. Designs that were not simulated are "
      "excluded by a limit, or no better even at their best.</p></section>\n";
}

// The document as a terminal shows it, and the jobs: columns for wide terminals would make the rows of a page high.
Document page_document(const SearchResult& result) {
  Document document = search_document(result, false);
  for (auto& section : document.sections) {
    auto* table = std::get_if<TableSection>(&section);
    if (table == nullptr) continue;
    for (std::size_t i = table->columns.size(); i-- > 0;) {
      if (!table->columns[i].wide) continue;
      const auto at = static_cast<std::ptrdiff_t>(i);
      table->columns.erase(table->columns.begin() + at);
      for (std::vector<Cell>& row : table->rows) row.erase(row.begin() + at);
    }
  }
  document.sections.emplace_back(jobs_table(result));
  return document;
}

}  // namespace

std::string search_page(const SearchResult& result) {
  const std::string title = to_text(result.goal);
  const std::string style = std::string(asset<"twin/report.css">()).append(asset<"explore/search.css">());
  const html::PageFrame frame{title, style, {}};
  std::string out = html::page_head(frame);
  append_format(out,
                "<a class=\"skip\" href=\"#tables\">Skip to the tables</a>\n<header>\n<p class=\"kind\">Search of "
                "designs</p>\n<h1>{}</h1>\n<p class=\"sub\">{}</p>\n</header>\n<main>\n",
                escaped(title), escaped(headline(result)));
  add_plots(out, result);
  add_list(out, result.met ? "Why these designs" : "What the nearest designs miss", front_reasons(result),
           " class=\"verdict\"");
  out += "<div id=\"tables\">\n" + html::document_sections(page_document(result)) + "</div>\n";
  add_list(out, "Assumptions", result.notes, "");
  return out + "</main>\n" + html::page_foot(frame);
}

}  // namespace weft::explore
