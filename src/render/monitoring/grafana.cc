// Grafana: dashboards and provisioning.
#include <fmt/format.h>

#include "render/core/targets.h"
#include "render/monitoring/dashboards.h"
#include "render/monitoring/scrape.h"

namespace weft::render {
namespace {

constexpr std::string_view kDashboards = "/var/lib/grafana/dashboards/weft";

RenderedFile grafana_file(std::string path, std::string content, std::string install) {
  return {.path = std::move(path),
          .content = std::move(content),
          .consumer = "Grafana",
          .install = std::move(install),
          .apply = "systemctl restart grafana-server",
          .risk = Risk::reload,
          .stage = Stage::monitoring,
          .sources = {"fabrics", "pools", "operations"}};
}

Value data_source(std::string_view uid, std::string_view name, std::string_view type, const std::string& url,
                  bool usual) {
  Value settings = type == "prometheus" ? Value::map({{"httpMethod", "POST"}, {"timeInterval", "15s"}})
                                        : Value::map({{"implementation", "prometheus"}});
  return Value::map({{"name", name},
                     {"uid", uid},
                     {"type", type},
                     {"access", "proxy"},
                     {"url", url},
                     {"isDefault", usual},
                     {"editable", false},
                     {"jsonData", std::move(settings)}});
}

void write_sources(const watch::Watch& watch, bool lifeline, FileSink& sink) {
  Value list = Value::list();
  list.add(data_source("weft-prometheus", "Prometheus", "prometheus",
                       fmt::format("http://127.0.0.1:{}", kPrometheusPort), true));
  list.add(data_source("weft-alertmanager", "Alertmanager", "alertmanager",
                       fmt::format("http://127.0.0.1:{}", kAlertmanagerPort), false));
  const Value document = Value::map({{"apiVersion", 1}, {"datasources", std::move(list)}});
  const std::string what =
      lifeline ? "Grafana on a jump host: local Prometheus." : "Grafana on the control plane: local Prometheus.";
  sink.add(grafana_file(
      lifeline ? "grafana/provisioning/datasources/weft-oob.yml" : "grafana/provisioning/datasources/weft.yml",
      write_yaml(std::span(&document, 1), heading(watch.cluster(), what)),
      "/etc/grafana/provisioning/datasources/weft.yml"));
}

void write_provider(const watch::Watch& watch, FileSink& sink) {
  Value provider = Value::map({{"name", "weft"},
                               {"orgId", 1},
                               {"folder", watch.cluster().name()},
                               {"type", "file"},
                               {"disableDeletion", true},
                               {"allowUiUpdates", false},
                               {"updateIntervalSeconds", 60},
                               {"options", Value::map({{"path", kDashboards}})}});
  const Value document = Value::map({{"apiVersion", 1}, {"providers", Value::list({std::move(provider)})}});
  sink.add(
      grafana_file("grafana/provisioning/dashboards/weft.yml",
                   write_yaml(std::span(&document, 1), heading(watch.cluster(), "Grafana: dashboard provisioning.")),
                   "/etc/grafana/provisioning/dashboards/weft.yml"));
}

}  // namespace

bool applies_grafana(const RenderInput& input) { return input.cluster.spec().operations->monitoring.value; }

void render_grafana(const RenderInput& input, FileSink& sink) {
  const watch::Watch watch(input);
  const auto add = [&](const char* name, const watch::Dashboard& dashboard) {
    RenderedFile file = grafana_file(fmt::format("grafana/dashboards/{}.json", name), write_json(dashboard.value()),
                                     fmt::format("{}/{}.json", kDashboards, name));
    file.apply.clear();  // reloaded every minute
    file.risk = Risk::none;
    sink.add(std::move(file));
  };
  add("overview", watch::overview_dashboard(watch));
  add("gpu", watch::gpu_dashboard(watch));
  if (watch.fabric(model::FabricKind::backend).present)
    add("backend", watch::fabric_dashboard(watch, model::FabricKind::backend));
  if (watch.fabric(model::FabricKind::storage).present) add("storage", watch::storage_dashboard(watch));
  add("frontend", watch::fabric_dashboard(watch, model::FabricKind::frontend));
  add("oob", watch::oob_dashboard(watch));
  add("jobs", watch::jobs_dashboard(watch));
  write_sources(watch, false, sink);
  if (!watch.lifeline().empty()) write_sources(watch, true, sink);
  write_provider(watch, sink);
}

}  // namespace weft::render
