#include "render/monitoring/dashboards.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::render::watch {
namespace {

constexpr int kColumns = 24;        // of Grafana's grid
constexpr int kSchemaVersion = 41;  // of the classic model (Grafana 12)

Value source() { return Value::map({{"type", "prometheus"}, {"uid", "${source}"}}); }

Value thresholds(const Panel& panel) {
  if (!panel.limited) {
    return Value::map(
        {{"mode", "absolute"}, {"steps", Value::list({Value::map({{"color", "green"}, {"value", Value()}})})}});
  }
  return Value::map(
      {{"mode", "absolute"},
       {"steps", Value::list({Value::map({{"color", panel.below ? "red" : "green"}, {"value", Value()}}),
                              Value::map({{"color", panel.below ? "green" : "red"}, {"value", panel.limit}})})}});
}

Value field_config(const Panel& panel) {
  Value defaults = Value::map({{"unit", panel.unit}, {"thresholds", thresholds(panel)}});
  if (panel.type == "timeseries") {
    Value custom = Value::map({{"drawStyle", "line"}, {"lineWidth", 1}, {"fillOpacity", 0}, {"showPoints", "never"}});
    if (panel.limited) custom["thresholdsStyle"] = Value::map({{"mode", "line"}});
    defaults["custom"] = std::move(custom);
  } else {
    defaults["color"] = Value::map({{"mode", "thresholds"}});
  }
  return Value::map({{"defaults", std::move(defaults)}, {"overrides", Value::list()}});
}

Value options_of(const Panel& panel) {
  if (panel.type == "timeseries") {
    return Value::map({{"legend", Value::map({{"displayMode", "list"}, {"placement", "bottom"}, {"showLegend", true}})},
                       {"tooltip", Value::map({{"mode", "multi"}, {"sort", "desc"}})}});
  }
  if (panel.type == "table") return Value::map({{"showHeader", true}});
  return Value::map(
      {{"reduceOptions", Value::map({{"calcs", Value::list({"lastNotNull"})}, {"fields", ""}, {"values", false}})},
       {"colorMode", "background"},
       {"graphMode", "none"},
       {"textMode", "auto"}});
}

Value targets_of(const Panel& panel) {
  Value list = Value::list();
  char reference = 'A';
  for (const Query& query : panel.queries) {
    Value target = Value::map({{"refId", std::string(1, reference++)},
                               {"datasource", source()},
                               {"editorMode", "code"},
                               {"expr", query.expr},
                               {"legendFormat", query.legend.empty() ? "__auto" : query.legend},
                               {"range", panel.type == "timeseries"},
                               {"instant", panel.type != "timeseries"}});
    if (panel.type == "table") target["format"] = "table";
    list.add(std::move(target));
  }
  return list;
}

Value source_variable() {
  return Value::map({{"name", "source"},
                     {"label", "Prometheus"},
                     {"type", "datasource"},
                     {"query", "prometheus"},
                     {"refresh", 1},
                     {"hide", 0},
                     {"includeAll", false},
                     {"multi", false},
                     {"options", Value::list()},
                     {"current", Value::map()}});
}

}  // namespace

void Dashboard::row(std::string title) {
  y_ += line_height_;
  x_ = 0;
  line_height_ = 0;
  panels_.add(Value::map({{"id", next_id_++},
                          {"type", "row"},
                          {"title", std::move(title)},
                          {"collapsed", false},
                          {"panels", Value::list()},
                          {"gridPos", Value::map({{"h", 1}, {"w", kColumns}, {"x", 0}, {"y", y_}})}}));
  ++y_;
}

void Dashboard::add(Panel panel) {
  if (x_ + panel.width > kColumns) {
    y_ += line_height_;
    x_ = 0;
    line_height_ = 0;
  }
  Value value = Value::map({{"id", next_id_++},
                            {"type", panel.type},
                            {"title", panel.title},
                            {"datasource", source()},
                            {"gridPos", Value::map({{"h", panel.height}, {"w", panel.width}, {"x", x_}, {"y", y_}})},
                            {"fieldConfig", field_config(panel)},
                            {"options", options_of(panel)},
                            {"targets", targets_of(panel)}});
  if (!panel.description.empty()) value["description"] = panel.description;
  panels_.add(std::move(value));
  x_ += panel.width;
  line_height_ = std::max(line_height_, panel.height);
}

void Dashboard::variable(std::string name, std::string label, std::string metric) {
  const std::string query = fmt::format("label_values({}, {})", metric, name);
  variables_.add(Value::map({{"name", std::move(name)},
                             {"label", std::move(label)},
                             {"type", "query"},
                             {"datasource", source()},
                             {"definition", query},
                             {"query", Value::map({{"query", query}, {"refId", "variable"}})},
                             {"refresh", 2},
                             {"sort", 1},
                             {"multi", true},
                             {"includeAll", true},
                             {"allValue", ".*"},
                             {"hide", 0},
                             {"options", Value::list()},
                             {"current", Value::map({{"text", "All"}, {"value", "$__all"}})}}));
}

Value Dashboard::value() const {
  Value variables = Value::list({source_variable()});
  for (const Value& variable : variables_.items()) variables.add(variable);
  return Value::map({{"id", Value()},
                     {"uid", uid_},
                     {"title", title_},
                     {"tags", Value::list({"weft"})},
                     {"schemaVersion", kSchemaVersion},
                     {"version", 1},
                     {"editable", false},
                     {"graphTooltip", 1},
                     {"refresh", "30s"},
                     {"timezone", "browser"},
                     {"time", Value::map({{"from", "now-6h"}, {"to", "now"}})},
                     {"timepicker", Value::map()},
                     {"links", Value::list({Value::map({{"type", "dashboards"},
                                                        {"title", "weft"},
                                                        {"tags", Value::list({"weft"})},
                                                        {"asDropdown", true},
                                                        {"includeVars", true},
                                                        {"keepTime", true}})})},
                     {"annotations", Value::map({{"list", Value::list()}})},
                     {"templating", Value::map({{"list", std::move(variables)}})},
                     {"panels", panels_}});
}

}  // namespace weft::render::watch
