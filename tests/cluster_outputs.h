// What weft prints and renders for a cluster file, as texts to compare: all of it but `show effective`, which repeats
// the file.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/yaml.h"
#include "check/core/checker.h"
#include "check/failures/failure_analysis.h"
#include "design/bom.h"
#include "design/checklist.h"
#include "design/sizing.h"
#include "design/views.h"
#include "model/load.h"
#include "render/core/memory_sink.h"

namespace weft::cluster_outputs {

inline std::string json_text(const Document& document) {
  OutputStyle style;
  style.format = OutputFormat::json;
  return write(document, style);
}

inline std::string warnings(const model::Loaded& loaded) {
  std::string text;
  for (const Diagnostic& diagnostic : loaded.diagnostics.sorted()) text += diagnostic.message + "\n";
  return text;
}

inline std::string failures(const model::Loaded& loaded) {
  const check::FailureAnalysis analysis(*loaded.cluster);
  return json_text(check::failures_document(*loaded.cluster, analysis)) +
         json_text(check::resiliency_matrix(*loaded.cluster, config::ConfigSet(), analysis));
}

inline std::string findings(const model::Loaded& loaded) {
  const config::ConfigSet config;
  const check::CheckInput input(loaded.cluster.get(), config, loaded.sources, false);
  check::CheckOptions options;
  options.today = "2026-11-15";
  const check::CheckResult result = check::run_checks(input, options);
  std::string text;
  for (const auto* list : {&result.findings, &result.suppressed}) {
    for (const check::Finding& finding : *list)
      text += fmt::format("{} {} {} {}\n", finding.rule->id, finding.subject, finding.message, finding.fix);
  }
  return text;
}

inline std::string views(const model::Loaded& loaded) {
  const model::Cluster& cluster = *loaded.cluster;
  std::string text;
  for (const auto view :
       {design::summary_view, design::racks_view, design::nodes_view, design::subnets_view,
        design::failure_domains_view, design::storage_view, design::vf_view, design::mig_view, design::checklist_view})
    text += json_text(view(cluster));
  for (const auto view : {design::switches_view, design::cables_view, design::ports_view, design::addresses_view})
    text += json_text(view(cluster, std::nullopt));
  return text + json_text(design::bom_view(cluster, design::make_bom(cluster, nullptr), nullptr));
}

inline std::string rendered_tree(const model::Loaded& loaded) {
  const render::RenderPlan plan(*loaded.cluster);
  const render::RenderOptions options;
  const render::RenderInput input{*loaded.cluster, plan, options, {}};
  render::MemorySink sink;
  for (const render::RenderTarget& target : render::all_targets()) {
    if (target.applies(input)) target.render(input, sink);
  }
  std::string text;
  for (const auto& [path, file] : sink.files) text += path + "\n" + file.content + "\n";
  for (const std::string& note : sink.notes) text += note + "\n";
  return text;
}

// Compiles a cluster with a catalog that was loaded before: reading the built-in catalog takes longer than the rest.
inline std::shared_ptr<const model::Loaded> compile(const model::Loaded& catalog, std::string text) {
  auto loaded = std::make_shared<model::Loaded>();
  loaded->sources = catalog.sources;
  loaded->catalog = catalog.catalog;
  const FileId file = loaded->sources.add("cluster.yaml", std::move(text));
  const std::optional<YamlNode> root = parse_yaml(loaded->sources, file, loaded->diagnostics);
  if (root) loaded->spec = model::read_spec(*root, loaded->diagnostics);
  if (!loaded->spec) return loaded;
  model::resolve(*loaded->spec, *loaded->catalog, loaded->diagnostics);
  if (!loaded->diagnostics.has_errors())
    loaded->cluster = model::compile(*loaded->spec, loaded->catalog, loaded->diagnostics);
  return loaded;
}

// By cost; empty if the file is refused.
inline std::vector<std::function<std::string()>> all_outputs(const std::shared_ptr<const model::Loaded>& loaded) {
  if (loaded->cluster == nullptr || loaded->diagnostics.has_errors()) return {};
  std::vector<std::function<std::string()>> outputs;
  for (const auto output : {warnings, findings, views, failures, rendered_tree})
    outputs.emplace_back([loaded, output] { return output(*loaded); });
  return outputs;
}

}  // namespace weft::cluster_outputs
