// Prometheus: configuration, targets, rules with their tests, runbooks, and exporter configuration.
#include <fmt/format.h>

#include "render/core/targets.h"
#include "render/monitoring/scrape.h"

namespace weft::render {
namespace {

using watch::AlertGroup;
using watch::ScrapeJob;
using watch::Watch;

constexpr std::string_view kFolder = "/etc/prometheus/";
constexpr std::string_view kReload =
    "promtool check config /etc/prometheus/prometheus.yml && systemctl reload prometheus";
// Series of a GPU server with eight GPUs and ten ports, with the exporters configured here; and the capacity of one
// Prometheus with 64 GB. Estimates, only for a note.
constexpr std::size_t kSeriesPerServer = 6000;
constexpr std::size_t kSeriesPerPrometheus = 10'000'000;

RenderedFile monitoring_file(std::string path, std::string content) {
  std::string install = std::string(kFolder) + path.substr(path.find('/') + 1);
  return {.path = std::move(path),
          .content = std::move(content),
          .consumer = "Prometheus",
          .install = std::move(install),
          .apply = std::string(kReload),
          .risk = Risk::none,
          .stage = Stage::monitoring,
          .sources = {"pools", "fabrics", "operations"}};
}

Value job_value(ScrapeJob& job) {
  Value value = Value::map({{"job_name", job.name}});
  if (!job.targets.empty()) {
    value["file_sd_configs"] =
        Value::list({Value::map({{"files", Value::list({fmt::format("targets/{}.json", job.name)})}})});
  }
  for (const Value::Entry& entry : job.config.entries()) value.set(entry.key, entry.value);
  return value;
}

Value alertmanagers(const Watch& watch, bool lifeline) {
  Value targets = Value::list();
  for (const model::DeviceId id : lifeline ? watch.lifeline() : watch.stations()) {
    const Ipv4 address = lifeline ? watch.lifeline_address(id) : watch.plan().frontend_address(id);
    targets.add(watch::with_port(address, kAlertmanagerPort));
  }
  if (targets.empty()) targets.add(fmt::format("127.0.0.1:{}", kAlertmanagerPort));
  return Value::map(
      {{"alertmanagers", Value::list({Value::map(
                             {{"static_configs", Value::list({Value::map({{"targets", std::move(targets)}})})}})})}});
}

Value configuration(const Watch& watch, std::vector<ScrapeJob>& jobs, bool lifeline, bool alone) {
  Value scrapes = Value::list();
  for (ScrapeJob& job : jobs) {
    if (alone || job.lifeline == lifeline) scrapes.add(job_value(job));
  }
  return Value::map(
      {{"global", Value::map({{"scrape_interval", "15s"},
                              {"scrape_timeout", "10s"},
                              {"evaluation_interval", "30s"},
                              {"external_labels", Value::map({{"cluster", watch.cluster().name()},
                                                              {"view", lifeline ? "oob" : "frontend"}})}})},
       {"alerting", alertmanagers(watch, lifeline)},
       {"rule_files", Value::list({"rules/*.yml"})},
       {"scrape_configs", std::move(scrapes)}});
}

// Installation steps for the operator, as lines of the header.
std::string conditions(const Watch& watch, bool alone) {
  std::string out = "Prometheus of the control plane.";
  if (alone) out += "\nThere are no jump hosts: it needs a route to the out-of-band network.";
  if (watch.storage_bridge() != model::kNone<model::DeviceId>) {
    out += fmt::format(
        "\nStorage servers are only on the storage fabric: they are scraped through a forward proxy on {},\n"
        "which must allow only port {} of them.",
        watch.cluster().name_of(watch.storage_bridge()), kNodeExporterPort);
  }
  return out;
}

void write_configuration(const Watch& watch, FileSink& sink) {
  std::vector<ScrapeJob> jobs = watch::scrape_jobs(watch);
  std::size_t servers = 0;
  for (ScrapeJob& job : jobs) {
    if (job.name == "node") servers = job.targets.size();
    if (job.targets.empty()) continue;
    sink.add(monitoring_file(fmt::format("prometheus/targets/{}.json", job.name), job.targets.text()));
  }
  const bool alone = watch.lifeline().empty();
  const Value inband = configuration(watch, jobs, false, alone);
  sink.add(monitoring_file("prometheus/prometheus.yml",
                           write_yaml(std::span(&inband, 1), heading(watch.cluster(), conditions(watch, alone)))));
  if (!alone) {
    const Value outband = configuration(watch, jobs, true, false);
    RenderedFile file = monitoring_file(
        "prometheus/prometheus-oob.yml",
        write_yaml(std::span(&outband, 1),
                   heading(watch.cluster(),
                           "Prometheus of the out-of-band network, on the jump hosts: it is independent of the "
                           "other three fabrics.")));
    file.install = std::string(kFolder) + "prometheus.yml";
    sink.add(std::move(file));
  }
  if (servers * kSeriesPerServer > kSeriesPerPrometheus) {
    sink.note(fmt::format(
        "{} servers produce about {} million series: shard the jobs node and dcgm over {} Prometheus servers "
        "(relabel action hashmod)",
        servers, servers * kSeriesPerServer / 1'000'000, servers * kSeriesPerServer / kSeriesPerPrometheus + 1));
  }
}

Value recording_document(const Watch& watch) {
  Value groups = Value::list();
  const std::pair<const char*, std::vector<watch::RecordingRule>> kParts[] = {
      {"designed", watch::designed_rules(watch)}, {"derived", watch::derived_rules(watch)}};
  for (const auto& [name, rules] : kParts) {
    Value list = Value::list();
    for (const watch::RecordingRule& rule : rules) {
      Value value = Value::map({{"record", rule.name}, {"expr", rule.expr}});
      for (const auto& [label, text] : rule.labels) value["labels"][label] = text;
      list.add(std::move(value));
    }
    if (!list.empty()) groups.add(Value::map({{"name", name}, {"rules", std::move(list)}}));
  }
  return Value::map({{"groups", std::move(groups)}});
}

void write_rules(const Watch& watch, FileSink& sink) {
  const Value recording = recording_document(watch);
  sink.add(monitoring_file(
      "prometheus/rules/recording.yml",
      write_yaml(std::span(&recording, 1), heading(watch.cluster(), "Design values and ratios used by the alerts."))));
  std::vector<AlertGroup> groups = {watch::gpu_alerts(watch),        watch::network_alerts(watch),
                                    watch::storage_alerts(watch),    watch::host_alerts(watch),
                                    watch::scheduling_alerts(watch), watch::oob_alerts(watch)};
  for (const AlertGroup& group : groups) {
    if (group.alerts.empty()) continue;
    const Value rules = watch::rules_document(group);
    const std::string what = fmt::format("Alerts: {}.\n{}", group.name, group.source);
    sink.add(monitoring_file(fmt::format("prometheus/rules/{}.yml", group.name),
                             write_yaml(std::span(&rules, 1), heading(watch.cluster(), what))));
    const Value tests = watch::tests_document(group);
    RenderedFile file = monitoring_file(
        fmt::format("prometheus/tests/{}_test.yml", group.name),
        write_yaml(std::span(&tests, 1),
                   heading(watch.cluster(), fmt::format("promtool test rules {}_test.yml", group.name))));
    file.consumer = "promtool";
    file.install.clear();
    file.apply = fmt::format("promtool test rules prometheus/tests/{}_test.yml", group.name);
    sink.add(std::move(file));
  }
  sink.add(monitoring_file("prometheus/runbooks.md", watch::runbooks_text(watch, groups)));
}

void write_exporters(const Watch& watch, FileSink& sink) {
  const auto add = [&](std::string path, std::string content, std::string consumer, std::string install) {
    RenderedFile file = monitoring_file(std::move(path), std::move(content));
    file.apply = "systemctl restart " + consumer;
    file.risk = Risk::reload;
    file.consumer = std::move(consumer);
    file.install = std::move(install);
    sink.add(std::move(file));
  };
  add("prometheus/exporters/snmp.yml", watch::snmp_modules(watch), "snmp_exporter", "/etc/prometheus/snmp.yml");
  add("prometheus/exporters/blackbox.yml", watch::blackbox_modules(watch), "blackbox_exporter",
      "/etc/prometheus/blackbox.yml");
  add("prometheus/exporters/dcgm-counters.csv", watch::dcgm_counters(watch), "dcgm-exporter",
      "/etc/dcgm-exporter/counters.csv");
}

}  // namespace

bool applies_prometheus(const RenderInput& input) { return input.cluster.spec().operations->monitoring.value; }

void render_prometheus(const RenderInput& input, FileSink& sink) {
  const Watch watch(input);
  write_configuration(watch, sink);
  write_rules(watch, sink);
  write_exporters(watch, sink);
}

}  // namespace weft::render
