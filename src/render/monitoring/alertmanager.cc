// Alertmanager: routing of alerts to receivers, and inhibition of alerts that are symptoms of another.
#include <fmt/format.h>

#include "base/asset.h"
#include "base/value.h"
#include "render/core/targets.h"
#include "render/monitoring/watch.h"

namespace weft::render {
namespace {

// Teams and their fabrics. The label fabric of an alert decides; alerts without one of the four go to the platform
// team.
struct Team {
  std::string_view name;
  std::string_view fabrics;  // regular expression
};
constexpr Team kTeams[] = {
    {"network", "backend"}, {"storage", "storage"}, {"oob", "oob"}, {"platform", "frontend|host"}};

constexpr std::string_view kSecrets = "/etc/alertmanager/secrets/";
constexpr std::string_view kReload =
    "amtool check-config /etc/alertmanager/alertmanager.yml && systemctl reload alertmanager";

Value matchers(std::initializer_list<std::string_view> texts) {
  Value list = Value::list();
  for (const std::string_view text : texts) list.add(text);
  return list;
}

Value team_route(const Team& team) {
  Value pager = Value::map({{"matchers", matchers({"severity=\"critical\""})},
                            {"receiver", fmt::format("pager-{}", team.name)},
                            {"group_wait", "10s"},
                            {"repeat_interval", "1h"}});
  return Value::map({{"matchers", matchers({fmt::format("fabric=~\"{}\"", team.fabrics)})},
                     {"receiver", fmt::format("chat-{}", team.name)},
                     {"routes", Value::list({std::move(pager)})}});
}

Value routes() {
  Value list = Value::list({Value::map({{"matchers", matchers({"severity=\"info\""})}, {"receiver", "dashboard"}})});
  for (const Team& team : kTeams) list.add(team_route(team));
  return Value::map({{"receiver", "chat-platform"},
                     {"group_by", Value::list({"alertname", "fabric", "unit", "rack"})},
                     {"group_wait", "30s"},
                     {"group_interval", "5m"},
                     {"repeat_interval", "4h"},
                     {"routes", std::move(list)}});
}

Value chat(const Team& team, const model::Cluster& cluster) {
  return Value::list({Value::map({{"api_url_file", fmt::format("{}chat-{}", kSecrets, team.name)},
                                  {"channel", fmt::format("#{}-{}", cluster.name(), team.name)},
                                  {"send_resolved", true},
                                  {"title", "{{ template \"weft.title\" . }}"},
                                  {"text", "{{ template \"weft.text\" . }}"}})});
}

Value receivers(const model::Cluster& cluster) {
  Value list = Value::list({Value::map({{"name", "dashboard"}})});
  for (const Team& team : kTeams) {
    Value pager = Value::map({{"routing_key_file", fmt::format("{}pager-{}", kSecrets, team.name)},
                              {"description", "{{ template \"weft.title\" . }}"},
                              {"details", Value::map({{"text", "{{ template \"weft.text\" . }}"}})}});
    list.add(Value::map({{"name", fmt::format("pager-{}", team.name)},
                         {"pagerduty_configs", Value::list({std::move(pager)})},
                         {"slack_configs", chat(team, cluster)}}));
    list.add(Value::map({{"name", fmt::format("chat-{}", team.name)}, {"slack_configs", chat(team, cluster)}}));
  }
  return list;
}

struct Inhibition {
  std::string_view source;  // alert name
  std::string_view target;  // regular expression of alert names
  std::vector<std::string_view> equal;
};

// Symptoms of a problem for which an alert fires already.
const std::vector<Inhibition>& inhibitions() {
  static const std::vector<Inhibition> kRules = {
      {"LeafUnreachable", "Rdma.*", {"fabric", "pool", "unit", "device"}},
      {"LeafUnreachable", "FabricPathLost", {"fabric", "unit"}},
      {"ServerDown",
       "ExporterDown|Gpu.*|Nvlink.*|Rdma.*|Roce.*|Pfc.*|Link.*|Fec.*|FabricPathLost|Storage.*|LocalDiskFull|ClockOff",
       {"instance"}},
      {"SwitchDown", "SwitchExporterDown|SwitchPort.*|SwitchPfc.*|Bgp.*|Bfd.*", {"instance"}},
      {"OobRackDark", "BmcUnreachable|SwitchDown|RackFeedDown", {"rack"}},
      {"RackFeedDown", "HardwareFault|BmcUnreachable", {"rack"}},
      {"StorageUnreachable", "StoragePathsMissing", {"instance", "subsystem"}},
      {"StorageServerDown", "FabricPathLost", {"instance"}},
      {"SlurmUnwatched", "Slurm(Queue|Idle|Nodes|Accounting).*", {}},
      {"GpuLost", "GpuXid.*", {"instance"}},
  };
  return kRules;
}

Value inhibit_rules() {
  Value list = Value::list();
  for (const Inhibition& rule : inhibitions()) {
    Value value = Value::map({{"source_matchers", matchers({fmt::format("alertname=\"{}\"", rule.source)})},
                              {"target_matchers", matchers({fmt::format("alertname=~\"{}\"", rule.target)})}});
    for (const std::string_view label : rule.equal) value["equal"].add(label);
    list.add(std::move(value));
  }
  return list;
}

}  // namespace

bool applies_alertmanager(const RenderInput& input) { return input.cluster.spec().operations->monitoring.value; }

void render_alertmanager(const RenderInput& input, FileSink& sink) {
  const Value document = Value::map({{"global", Value::map({{"resolve_timeout", "5m"}})},
                                     {"templates", Value::list({"templates/*.tmpl"})},
                                     {"route", routes()},
                                     {"inhibit_rules", inhibit_rules()},
                                     {"receivers", receivers(input.cluster)}});
  const std::string what = heading(
      input.cluster,
      "Alertmanager, the same on the control plane and on the jump hosts. Keys and addresses of receivers are files "
      "in\n"
      "/etc/alertmanager/secrets (mode 0400): chat-TEAM contains a webhook URL, pager-TEAM an integration key.");
  sink.add({.path = "alertmanager/alertmanager.yml",
            .content = write_yaml(std::span(&document, 1), what),
            .consumer = "Alertmanager",
            .install = "/etc/alertmanager/alertmanager.yml",
            .apply = std::string(kReload),
            .mode = "0640",
            .group = "prometheus",
            .stage = Stage::monitoring,
            .sources = {"fabrics", "operations"}});
  // Go templates: they contain no text from the cluster file.
  sink.add({.path = "alertmanager/templates/weft.tmpl",
            .content = std::string(asset<"render/monitoring/alertmanager.tmpl">()),
            .consumer = "Alertmanager",
            .install = "/etc/alertmanager/templates/weft.tmpl",
            .apply = std::string(kReload),
            .stage = Stage::monitoring,
            .sources = {"operations"}});
}

}  // namespace weft::render
