#include "twin/page.h"

#include <fmt/format.h>

#include "base/asset.h"
#include "base/human_format.h"
#include "base/text.h"
#include "html/document_parts.h"
#include "html/page.h"
#include "html/svg.h"
#include "twin/plot.h"
#include "twin/view.h"

namespace weft::twin {
namespace {

std::string escaped(std::string_view text) { return picture::xml_escape(text); }

class ReportWriter {
 public:
  explicit ReportWriter(const TwinResult& result) : result_(result) {}

  std::string write() {
    head();
    headline();
    found();
    time();
    plots();
    tables();
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
    out_ += html::page_head(frame_);
    add("<a class=\"skip\" href=\"#tables\">Skip to the tables</a>\n<header>\n<p class=\"kind\">Simulated "
        "operation</p>\n<h1>{}</h1>\n",
        escaped(result_.cluster));
    add("<p class=\"sub\">{} &middot; {}, {} &middot; {} &middot; seed {} &middot; {} failures per 1,000 node-days "
        "(source: {})</p>\n</header>\n<main>\n",
        escaped(format_duration(result_.length)),
        grouped_plural(static_cast<std::uint64_t>(result_.nodes), "node", "nodes"),
        grouped_plural(static_cast<std::uint64_t>(result_.gpus), "GPU", "GPUs"),
        grouped_plural(result_.jobs.size(), "job", "jobs"), result_.seed, format_number(result_.fault_rate),
        escaped(result_.fault_source.empty() ? "not named" : result_.fault_source));
  }

  void figure(std::string_view title, const std::string& value) {
    add("<div><dt>{}</dt><dd>{}</dd></div>\n", title, escaped(value));
  }
  void headline() {
    out_ += "<dl class=\"headline\" aria-label=\"Headline figures\">\n";
    figure("Effective training time ratio (ETTR)", format_percent(result_.ettr(), 2));
    figure("Goodput: productive GPU time", format_percent(result_.goodput(), 2));
    figure("Availability of GPUs", format_percent(result_.availability(), 2));
    figure("Incidents", group_digits(result_.courses.size()));
    figure("Interruptions of jobs", group_digits(result_.interruptions()));
    figure("GPU-hours lost by incidents", format_number(result_.lost_hours()));
    out_ += "</dl>\n";
  }

  void found() {
    const std::vector<std::string> sentences = findings(result_);
    if (sentences.empty()) return;
    out_ += "<section class=\"verdict\" aria-label=\"Findings\">\n<h2>Findings</h2>\n<ul>\n";
    for (const std::string& each : sentences) add("<li>{}</li>\n", escaped(each));
    out_ += "</ul>\n</section>\n";
  }

  void time() {
    out_ +=
        "<section aria-labelledby=\"h-time\"><h2 id=\"h-time\">Where the GPU time went</h2>\n<figure class=\"bar\">\n";
    out_ += time_bar(result_);
    out_ += "<ul class=\"parts\" aria-label=\"Parts of the GPU time: share and GPU-hours\">\n";
    for (std::size_t u = 0; u < kUses; ++u) {
      const auto use = static_cast<Use>(u);
      if (result_.time[u] == 0) continue;
      add("<li>{}<b>{}</b><span>{}</span><span>{} GPU-h</span></li>\n", html::swatch(use_color(use)), to_text(use),
          format_percent(result_.share(use), 2), format_number(gpu_hours(result_.time[u])));
    }
    out_ +=
        "</ul></figure>\n<p class=\"note\">The lower bar is the part of the upper one that was not productive, "
        "enlarged.</p></section>\n";
  }

  void plots() {
    out_ += "<section aria-labelledby=\"h-plots\"><h2 id=\"h-plots\">Plots</h2>\n<div class=\"plots\">\n";
    for (const TwinPlot& plot : twin_plots(result_)) {
      add("<figure><figcaption>{}</figcaption>\n", plot.title);
      out_ += plot.svg;
      if (!plot.legend.empty()) {
        add("<ul class=\"lines\" aria-label=\"Legend: {}\">", plot.title);
        for (const auto& [color, meaning] : plot.legend) add("<li>{}{}</li>", html::swatch(color), meaning);
        out_ += "</ul>\n";
      }
      out_ += "</figure>\n";
    }
    out_ += "</div></section>\n";
  }

  void tables() {
    out_ += "<div id=\"tables\">\n" + html::document_sections(result_document(result_, false)) + "</div>\n";
  }

  void notes() {
    if (!result_.notes.empty()) {
      out_ += "<section aria-label=\"Assumptions\"><h2>Assumptions</h2>\n<ul>\n";
      for (const std::string& note : result_.notes) add("<li>{}</li>\n", escaped(note));
      out_ += "</ul></section>\n";
    }
    add("<p class=\"note\">Simulated by weft: {} records of the journal, hash <code>{:016x}</code>.</p>\n",
        group_digits(result_.records), result_.hash);
  }

  const TwinResult& result_;
  const std::string title_ = fmt::format("Simulated operation of {}", result_.cluster);
  const html::PageFrame frame_{title_, asset<"twin/report.css">(), {}};
  std::string out_;
};

}  // namespace

std::string twin_page(const TwinResult& result) { return ReportWriter(result).write(); }

}  // namespace weft::twin
